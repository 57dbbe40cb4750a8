// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cause of a death on AArch64: addresses and sizes are those of the Arm ARM; the words were
 * assembled by binutils.
 */
#include "decode/report/report_facts.h"
#include "decode/report/report_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static char empty[] = "", stack_name[] = "[stack]", prog[] = "/bin/prog";
static struct report_map maps[] = {
	{0x400000, 0x401000, 0, "r-xp", prog},
	{0x402000, 0x403000, 0, "r--p", prog},
	{0x7ff0000000, 0x7ff0010000, 0, "rw-p", stack_name},
	{0x500000, 0x501000, 0, "rw-p", empty},
};

static struct auxtap_regs regs_at(uint64_t pc)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_AARCH64,
				   .valid = (1ull << AUXTAP_A64_NR_REGS) - 1};

	regs.reg[1] = 0x1000;
	regs.reg[2] = 0x20;
	regs.reg[3] = 0x77000000ffffffff;
	regs.reg[AUXTAP_A64_SP] = 0x8000;
	regs.reg[AUXTAP_A64_PC] = pc;
	return regs;
}

static struct fault explain(int signo, int code, uint64_t addr, uint32_t word,
			    const struct auxtap_regs *regs)
{
	struct report_facts facts = {.have_crash = true, .maps = maps, .nr_maps = 4};
	struct fault fault;

	facts.crash.signo = signo;
	facts.crash.si_code = code;
	facts.crash.fault_addr = addr;
	facts.crash.pid = facts.crash.tid = 7;
	facts.crash.flags = AUXTAP_CRASH_ADDR_VALID;
	fault_explain(&facts, regs, (const uint8_t *)&word, sizeof(word), &fault);
	return fault;
}

static const struct {
	uint32_t word;
	const char *text;
	uint64_t addr;
	unsigned int nr_bytes;
	char how;
} table[] = {
	{0xb9400820, "ldr w0, [x1, #8]", 0x1008, 4, 'r'},
	{0xf8408c20, "ldr x0, [x1, #8]!", 0x1008, 8, 'r'},
	{0xf8408420, "ldr x0, [x1], #8", 0x1000, 8, 'r'},
	{0x39400c20, "ldrb w0, [x1, #3]", 0x1003, 1, 'r'},
	{0x79800420, "ldrsh x0, [x1, #2]", 0x1002, 2, 'r'},
	{0xb9800420, "ldrsw x0, [x1, #4]", 0x1004, 4, 'r'},
	{0xf85f8020, "ldur x0, [x1, #-8]", 0xff8, 8, 'r'},
	{0xb85fc820, "ldtr w0, [x1, #-4]", 0xffc, 4, 'r'},
	{0x3d800420, "str q0, [x1, #16]", 0x1010, 16, 'w'},
	{0xbd000420, "str s0, [x1, #4]", 0x1004, 4, 'w'},
	{0xfc626820, "ldr d0, [x1, x2]", 0x1020, 8, 'r'},
	{0xf8627820, "ldr x0, [x1, x2, lsl #3]", 0x1100, 8, 'r'},
	{0xb863d820, "ldr w0, [x1, w3, sxtw #2]", 0xffc, 4, 'r'},
	{0x78234820, "strh w0, [x1, w3, uxtw]", 0x100000fff, 2, 'w'},
	{0xa9be7bfd, "stp x29, x30, [sp, #-32]!", 0x7fe0, 16, 'w'},
	{0x29410420, "ldp w0, w1, [x1, #8]", 0x1008, 8, 'r'},
	{0x69410820, "ldpsw x0, x2, [x1, #8]", 0x1008, 8, 'r'},
	{0xacc10420, "ldp q0, q1, [x1], #32", 0x1000, 32, 'r'},
	{0x6c010420, "stnp d0, d1, [x1, #16]", 0x1010, 16, 'w'},
	{0xc85f7c20, "ldxr x0, [x1]", 0x1000, 8, 'r'},
	{0x0800fc22, "stlxrb w0, w2, [x1]", 0x1000, 1, 'w'},
	{0xc87f8820, "ldaxp x0, x2, [x1]", 0x1000, 16, 'r'},
	{0x88200c22, "stxp w0, w2, w3, [x1]", 0x1000, 8, 'w'},
	{0x889ffc20, "stlr w0, [x1]", 0x1000, 4, 'w'},
	{0xc8dffc20, "ldar x0, [x1]", 0x1000, 8, 'r'},
	{0xb8bfc020, "ldapr w0, [x1]", 0x1000, 4, 'r'},
	{0xd91ff020, "stlur x0, [x1, #-1]", 0xfff, 8, 'w'},
	{0x99804020, "ldapursw x0, [x1, #4]", 0x1004, 4, 'r'},
	{0x88a07c22, "cas w0, w2, [x1]", 0x1000, 4, 'r'},
	{0x48247c26, "casp x4, x5, x6, x7, [x1]", 0x1000, 16, 'r'},
	{0xf8200022, "ldadd x0, x2, [x1]", 0x1000, 8, 'r'},
	{0x38208022, "swpb w0, w2, [x1]", 0x1000, 1, 'r'},
	{0x4c407020, "ld1 {v0.16b}, [x1]", 0x1000, 16, 'r'},
	{0x0c402020, "ld1 {v0.8b-v3.8b}, [x1]", 0x1000, 32, 'r'},
	{0x4c9f4820, "st3 {v0.4s-v2.4s}, [x1], #48", 0x1000, 48, 'w'},
	{0x0d409020, "ld1 {v0.s}[1], [x1]", 0x1000, 4, 'r'},
	{0x4d208420, "st2 {v0.d, v1.d}[1], [x1]", 0x1000, 16, 'w'},
	{0x4d60e420, "ld4r {v0.8h-v3.8h}, [x1]", 0x1000, 8, 'r'},
	{0x0d402c20, "ld3 {v0.b-v2.b}[3], [x1]", 0x1000, 3, 'r'},
	{0x58000080, "ldr x0, .+16", 0x400110, 8, 'r'},
	{0x9cffff80, "ldr q0, .-16", 0x4000f0, 16, 'r'},
	{0x98000040, "ldrsw x0, .+8", 0x400108, 4, 'r'},
	{0xf9800420, "prfm pldl1keep, [x1, #8]", 0, 0, 0},
	{0x91002020, "add x0, x1, #8", 0, 0, 0},
	{0xf8201420, "ldraa x0, [x1, #8]", 0, 0, 0},
	{0xd9200821, "stg x1, [x1]", 0, 0, 0},
};

static void each_form(void **state)
{
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		/* the literals' own page is mapped: their read access is removed */
		uint64_t addr = table[i].addr, end = addr + table[i].nr_bytes;
		struct fault fault =
			explain(SIGSEGV, SEGV_MAPERR, end ? end - 1 : 0x1008, table[i].word, &regs);

		if (fault.access.known != (table[i].how != 0) ||
		    (table[i].how &&
		     (fault.access.addr != addr || fault.access.nr_bytes != table[i].nr_bytes ||
		      fault.access.write != (table[i].how == 'w'))))
			fail_msg("%s: %d 0x%llx %u %d: %s", table[i].text, fault.access.known,
				 (unsigned long long)fault.access.addr, fault.access.nr_bytes,
				 fault.access.write, fault.why);
		/* an address that it does not access */
		fault = explain(SIGSEGV, SEGV_MAPERR, end, table[i].word, &regs);
		assert_false(fault.access.known);
		fault = explain(SIGSEGV, SEGV_MAPERR, addr - 1, table[i].word, &regs);
		assert_false(fault.access.known);
	}
}

static void text_of_causes(void **state)
{
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	fault = explain(SIGSEGV, SEGV_MAPERR, 8, 0xb9400820, (regs.reg[1] = 0, &regs));
	assert_string_equal(
		fault.why,
		"it read from 0x8 (4 bytes); nothing is mapped there: a null pointer and a small offset");
	/* bits above the address space */
	regs.reg[1] = 0x4004000000000000;
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x4000000000008, 0xb9400820, &regs);
	assert_string_equal(
		fault.why,
		"it read from 0x4000000000008 (4 bytes); nothing is mapped there; x1 is "
		"0x4004000000000000, whose top byte the processor ignores; only programs that ask "
		"for it have addresses of more than 48 bits");
	regs.reg[1] = 0x4000000000;
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x4000000008, 0xb9400820, &regs);
	assert_string_equal(fault.why,
			    "it read from 0x4000000008 (4 bytes); nothing is mapped there");
	/* a tag in the top byte */
	regs.reg[1] = 0x5500000000402000;
	fault = explain(SIGSEGV, SEGV_ACCERR, 0x402010, 0x3d800420, &regs);
	assert_string_equal(fault.why,
			    "it wrote to 0x402010 (16 bytes); it is mapped r--p, /bin/prog");
	/* atomics read first: if reading is allowed, the write faulted */
	fault = explain(SIGSEGV, SEGV_ACCERR, 0x402000, 0xf8200022, &regs);
	assert_true(fault.access.write);
	fault = explain(SIGBUS, BUS_ADRALN, 0x402001, 0xc85f7c20, (regs.reg[1] = 0x402001, &regs));
	assert_string_equal(
		fault.why,
		"it read from 0x402001 (8 bytes); the address is not aligned as this instruction needs it");
	fault = explain(SIGBUS, BUS_ADRERR, 0x402ff8, 0xf8408420, (regs.reg[1] = 0x402ff8, &regs));
	assert_string_equal(
		fault.why,
		"it read from 0x402ff8 (8 bytes); it is mapped r--p, but /bin/prog ends before it");
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x41414141414141, 0x39400c20,
			(regs.reg[1] = 0x414141414141413e, &regs));
	assert_non_null(strstr(fault.why, "no such address exists"));
	/* stp x29, x30, [sp] below a stack that has ended */
	regs.reg[AUXTAP_A64_SP] = 0x7fefffffc0;
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x7fefffffc0, 0xa9007bfd, &regs);
	assert_string_equal(
		fault.why,
		"it wrote to 0x7fefffffc0 (16 bytes); it lies just below the stack: the stack is exhausted");
	/* dc zva, x1: a block of unknown size */
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x600000, 0xd50b7421,
			(regs.reg[1] = 0x600013, &regs));
	assert_string_equal(fault.why, "it wrote to 0x600000; nothing is mapped there");
	/* sve: ld1d {z0.d}, p0/z, [x1] */
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x600013, 0xa5e0a020, &regs);
	assert_string_equal(fault.why, "it touched 0x600013; nothing is mapped there");
}

static bool copied(uint32_t word, const struct auxtap_regs *regs, uint64_t addr, bool write)
{
	struct fault fault = explain(SIGSEGV, SEGV_MAPERR, addr, word, regs);

	return fault.access.known && fault.access.write == write && fault.access.addr == addr;
}

/* cpy* [x3]!, [x1]!, x2! and set* [x3]!, x2!, x1 */
static void copies(void **state)
{
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[1] = 0x610000;
	regs.reg[2] = 0x2000;
	regs.reg[3] = 0x620000;
	for (uint32_t op = 0x19010443; op <= 0x1d010443; op += 0x04000000) { /* cpyfp, cpyp */
		assert_true(copied(op, &regs, 0x611fff, false));
		assert_true(copied(op, &regs, 0x620000, true));
		assert_false(copied(op, &regs, 0x612000, false));
		assert_false(copied(op, &regs, 0x61ffff, true));
	}
	assert_true(copied(0x19c10443, &regs, 0x621fff, true));	  /* setp */
	assert_false(copied(0x19c10443, &regs, 0x611fff, false)); /* x1 is a value */
	/* in progress: option A ends at the registers, option B starts there */
	regs.reg[2] = (uint64_t)-0x1000;
	assert_true(copied(0x19410443, &regs, 0x60ffff, false)); /* cpyfm */
	assert_true(copied(0x19810443, &regs, 0x61f000, true));	 /* cpyfe */
	assert_false(copied(0x19810443, &regs, 0x620000, true));
	assert_true(copied(0x19c14443, &regs, 0x61f000, true)); /* setm */
	regs.reg[2] = 0x1000;
	regs.reg[AUXTAP_A64_PSTATE] = 1u << 29;
	assert_true(copied(0x19410443, &regs, 0x610fff, false));
	regs.reg[AUXTAP_A64_PSTATE] |= 1u << 31; /* backwards: cpym only */
	assert_true(copied(0x1d410443, &regs, 0x60f000, false));
	assert_false(copied(0x1d410443, &regs, 0x610000, false));
	assert_true(copied(0x19410443, &regs, 0x610000, false));
	/* source and destination overlap: either access may have faulted */
	regs.reg[3] = 0x610800;
	regs.reg[AUXTAP_A64_PSTATE] = 0;
	assert_false(explain(SIGSEGV, SEGV_MAPERR, 0x610900, 0x19010443, &regs).access.known);
}

static void jumps(void **state)
{
	struct auxtap_regs regs = regs_at(0x2a2a2a2a);
	struct fault fault = explain(SIGSEGV, SEGV_MAPERR, 0x2a2a2a2a, 0, &regs);

	(void)state;
	assert_true(fault.bad_ip);
	assert_string_equal(fault.why, "it jumped to 0x2a2a2a2a, where nothing is mapped, "
				       "as text \"****\"");
	regs = regs_at(0x500010);
	fault = explain(SIGSEGV, SEGV_ACCERR, 0x500010, 0, &regs);
	assert_string_equal(fault.why,
			    "it jumped to 0x500010, which is mapped rw-p, not executable");
	regs = regs_at(0x400102);
	fault = explain(SIGBUS, BUS_ADRALN, 0x400102, 0, &regs);
	assert_true(fault.bad_ip);
	assert_string_equal(
		fault.why,
		"it jumped to 0x400102, where no instruction begins: their addresses are multiples of 4");
	regs = regs_at(0x41414141414140);
	fault = explain(SIGSEGV, SEGV_MAPERR, 0x41414141414140, 0, &regs);
	assert_string_equal(fault.why, "it jumped to 0x41414141414140, which is no address at all, "
				       "as text \"@AAAAAA\"");
}

static void undefined(void **state)
{
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault = explain(SIGTRAP, TRAP_BRKPT, 0x400100, 0xd4207d00, &regs);

	(void)state;
	assert_string_equal(
		fault.why,
		"it ran into brk #1000, the instruction that compilers put where a program must not go");
	fault = explain(SIGTRAP, TRAP_BRKPT, 0x400100, 0xd4200540, &regs);
	assert_string_equal(fault.why, "it ran into brk #42, a breakpoint, without a debugger");
	fault = explain(SIGILL, ILL_ILLOPC, 0x400100, 0x00000000, &regs);
	assert_string_equal(
		fault.why,
		"it ran into udf #0, which is never an instruction: zeroes, perhaps data");
	fault = explain(SIGILL, ILL_ILLOPC, 0x400100, 0x0000002a, &regs);
	assert_string_equal(fault.why, "it ran into udf #42, which is never an instruction");
	fault = explain(SIGILL, ILL_ILLOPC, 0x400100, 0xffffffff, &regs);
	assert_string_equal(fault.why,
			    "the bytes at this address are no instruction of this processor");
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form),
		cmocka_unit_test(text_of_causes),
		cmocka_unit_test(copies),
		cmocka_unit_test(jumps),
		cmocka_unit_test(undefined),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
