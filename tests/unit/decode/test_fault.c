// SPDX-License-Identifier: BSD-2-Clause
/* Why it died: which operand, read or write, and what is mapped there. */
#include "decode/report.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static char empty[] = "", stack_name[] = "[stack]", prog[] = "/bin/prog";
static struct report_map maps[] = {
	{0x400000, 0x401000, 0, "r-xp", prog},
	{0x402000, 0x403000, 0, "r--p", prog},
	{0x7ffff0000000, 0x7ffff0010000, 0, "rw-p", stack_name},
	{0x500000, 0x501000, 0, "rw-p", empty},
};

static struct auxtap_regs regs_at(uint64_t ip)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64, .valid = (1u << AUXTAP_X86_NR_REGS) - 1};

	regs.reg[AUXTAP_X86_IP] = ip;
	regs.reg[AUXTAP_X86_SP] = 0x7ffff0008000;
	return regs;
}

static struct report_facts facts_of(int signo, int code, uint64_t addr)
{
	struct report_facts facts = {.have_crash = true, .maps = maps, .nr_maps = 4};

	facts.crash.signo = signo;
	facts.crash.si_code = code;
	facts.crash.fault_addr = addr;
	facts.crash.pid = facts.crash.tid = 7;
	if (code > 0 && code != SI_KERNEL)
		facts.crash.flags = AUXTAP_CRASH_ADDR_VALID;
	return facts;
}

static void null_read(void **state)
{
	static const uint8_t insn[] = {0x8b, 0x40, 0x08}; /* mov 8(%rax),%eax */
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 8);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_true(fault.access.known);
	assert_false(fault.access.write);
	assert_int_equal(fault.access.nr_bytes, 4);
	assert_non_null(strstr(fault.why, "read from 0x8 (4 bytes); nothing is mapped there: a null pointer"));
}

/* Two memory operands: the one that hits the address did it. */
static void write_of_a_string_move(void **state)
{
	static const uint8_t insn[] = {0x48, 0xa5}; /* movsq */
	struct report_facts facts = facts_of(SIGSEGV, SEGV_ACCERR, 0x402010);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_SI] = 0x500000;
	regs.reg[AUXTAP_X86_DI] = 0x402010;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_true(fault.access.write);
	assert_int_equal(fault.access.nr_bytes, 8);
	assert_non_null(strstr(fault.why, "it is mapped r--p, /bin/prog"));
}

static void push_below_the_stack(void **state)
{
	static const uint8_t insn[] = {0xe8, 0, 0, 0, 0}; /* call */
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x7fffeffffff8);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_SP] = 0x7ffff0000000;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_true(fault.access.write);
	assert_non_null(strstr(fault.why, "the stack is exhausted"));
}

static void non_canonical_pointer(void **state)
{
	static const uint8_t insn[] = {0x88, 0x13}; /* mov %dl,(%rbx) */
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_BX] = 0x4141414141414141;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_true(fault.access.write);
	assert_non_null(strstr(fault.why, "wrote to 0x4141414141414141 (1 byte); no such address"));
}

static void overwritten_return_address(void **state)
{
	static const uint8_t insn[] = {0xc3};
	static unsigned char stack[8] = "AAAAAAAA";
	struct report_memory memory = {0x7ffff0008000, 8, stack};
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	facts.memory = &memory;
	facts.nr_memory = 1;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_non_null(strstr(fault.why, "returns to 0x4141414141414141"));
}

static void jump_to_nowhere(void **state)
{
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x2a2a2a);
	struct auxtap_regs regs = regs_at(0x2a2a2a);
	struct fault fault;

	(void)state;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_true(fault.bad_ip);
	assert_non_null(strstr(fault.why, "jumped to 0x2a2a2a, where nothing is mapped"));
	regs = regs_at(0x500010);
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "data, not code"));
}

static void other_signals(void **state)
{
	static const uint8_t ud2[] = {0x0f, 0x0b};
	struct report_facts facts = facts_of(SIGFPE, FPE_INTDIV, 0x400100);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "integer division by zero");
	facts = facts_of(SIGILL, ILL_ILLOPN, 0x400100);
	fault_explain(&facts, &regs, ud2, 2, &fault);
	assert_non_null(strstr(fault.why, "ud2"));
	facts = facts_of(SIGABRT, SI_TKILL, 0);
	facts.crash.sender_pid = 7;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "the program called abort()");
	facts = facts_of(SIGSEGV, SI_USER, 0);
	facts.crash.sender_pid = 99;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "sent by process 99");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_read),
		cmocka_unit_test(write_of_a_string_move),
		cmocka_unit_test(push_below_the_stack),
		cmocka_unit_test(non_canonical_pointer),
		cmocka_unit_test(overwritten_return_address),
		cmocka_unit_test(jump_to_nowhere),
		cmocka_unit_test(other_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
