// SPDX-License-Identifier: BSD-2-Clause
/* The cause of a death: which operand, read or write, and the mapping at its address. */
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
	{0x7ffff0000000, 0x7ffff0010000, 0, "rw-p", stack_name},
	{0x500000, 0x501000, 0, "rw-p", empty},
};

static struct auxtap_regs regs_at(uint64_t ip)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64,
				   .valid = (1u << AUXTAP_X86_NR_REGS) - 1};

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
	assert_non_null(strstr(fault.why,
			       "read from 0x8 (4 bytes); nothing is mapped there: a null pointer"));
}

/* Two memory operands: the one with the fault address faulted. */
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

/* Only a mapping that is named so is known to be the stack. */
static void above_the_stack_pointer(void **state)
{
	static const uint8_t insn[] = {0x88, 0x13}; /* mov %dl,(%rbx) */
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x7ffff0010010);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_non_null(strstr(fault.why, "it lies just above the stack"));
	facts.crash.fault_addr = regs.reg[AUXTAP_X86_BX] = 0x501010;
	regs.reg[AUXTAP_X86_SP] = 0x500800;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_non_null(strstr(fault.why, "just above the mapping that the stack pointer is in"));
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
	/* whether pointer, index or length was wrong is unknown */
	assert_string_equal(
		fault.why,
		"it wrote to 0x4141414141414141 (1 byte); no such address exists on this "
		"processor; as text \"AAAAAAAA\"");
}

/* Read from a pointer that is a part of a text; of bytes that cannot be printed nothing is said. */
static void text_as_pointer(void **state)
{
	static const uint8_t insn[] = {0x8b, 0x48, 0x08}; /* mov 8(%rax), %ecx */
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0x6675622073746920;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_string_equal(
		fault.why,
		"it read from 0x6675622073746928 (4 bytes); no such address exists on this "
		"processor; rax is 0x6675622073746920, as text \" its buf\"");
	/* an address that there could be */
	facts.crash.flags |= AUXTAP_CRASH_ADDR_VALID;
	facts.crash.fault_addr = 0x79656b76;
	facts.crash.si_code = SEGV_MAPERR;
	regs.reg[AUXTAP_X86_AX] = 0x79656b6e;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_string_equal(fault.why,
			    "it read from 0x79656b76 (4 bytes); nothing is mapped there; "
			    "rax is 0x79656b6e, as text \"nkey\"");
	facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	regs.reg[AUXTAP_X86_AX] = 0x6675620a73746920;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_string_equal(fault.why, "it read from 0x6675620a73746928 (4 bytes); no such address "
				       "exists on this processor");
}

/* The processor reports a stack fault for these, an emulator may not. */
static void non_canonical_stack_pointer(void **state)
{
	static const uint8_t insn[] = {0xff, 0x55, 0x10}; /* call *0x10(%rbp) */
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_BP] = 0x4141414141414141;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_non_null(
		strstr(fault.why, "on a real one the kernel sends SIGBUS for such an access"));
	facts.crash.signo = SIGBUS;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_null(strstr(fault.why, "emulator"));
}

/* Where nothing is mapped the signal is SIGSEGV: the list of mappings lacks one. */
static void bus_error_in_unlisted_memory(void **state)
{
	static const uint8_t insn[] = {0x8b, 0x00}; /* mov (%rax), %eax */
	struct report_facts facts = facts_of(SIGBUS, BUS_ADRERR, 0x7ffff7fc3014);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0x7ffff7fc3014;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_string_equal(fault.why, "it read from 0x7ffff7fc3014 (4 bytes); what is mapped "
				       "there is not known");
	facts.crash.signo = SIGSEGV;
	facts.crash.si_code = SEGV_MAPERR;
	fault_explain(&facts, &regs, insn, sizeof(insn), &fault);
	assert_non_null(strstr(fault.why, "nothing is mapped there"));
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
	assert_non_null(strstr(fault.why, "jumped to 0x500010, which is mapped rw-p"));
	assert_non_null(strstr(fault.why, ", not executable"));
}

static void other_signals(void **state)
{
	static const uint8_t ud2[] = {0x0f, 0x0b};
	struct report_facts facts = facts_of(SIGFPE, FPE_INTDIV, 0x400100);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the divisor is 0, or the quotient is too large"));
	facts = facts_of(SIGILL, ILL_ILLOPN, 0x400100);
	fault_explain(&facts, &regs, ud2, 2, &fault);
	assert_non_null(strstr(fault.why, "ud2"));
	facts = facts_of(SIGABRT, SI_TKILL, 0);
	facts.crash.sender_pid = 7;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	/* the backtrace shows whether it was abort() */
	assert_string_equal(fault.why, "the program sent it to itself");
	facts = facts_of(SIGSEGV, SI_USER, 0);
	facts.crash.sender_pid = 99;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "sent by process 99");
}

/* The kernel's own signals have SI_USER and the process, or SI_KERNEL. */
static void signals_without_a_fault(void **state)
{
	static unsigned char code[] = {0x90, 0x90, 0x0f, 0x05, 0x90};
	struct report_memory memory = {0x4000fc, sizeof(code), code};
	struct report_facts facts = facts_of(SIGXFSZ, SI_USER, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	facts.crash.sender_pid = 7;
	facts.memory = &memory;
	facts.nr_memory = 1;
	regs.reg[AUXTAP_X86_AX] = (uint64_t)-27; /* EFBIG */
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(
		strstr(fault.why, "the kernel sent it: the last system call would have made"));
	assert_false(fault.has_insn);
	regs.reg[AUXTAP_X86_AX] = 0;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the program sent it to itself, or the kernel did"));
	regs = regs_at(0x4000ff); /* not after a system call */
	regs.reg[AUXTAP_X86_AX] = (uint64_t)-27;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the program sent it to itself, or the kernel did"));
	facts.crash.si_code = SI_TKILL;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "the program sent it to itself");
	facts.crash.sender_pid = 0;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "sent by a process outside of its PID namespace");
	facts.crash.si_code = SI_TIMER;
	facts.crash.signo = SIGSEGV; /* the instruction has no part in it */
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "a timer of the program sent it");

	facts = facts_of(SIGXCPU, SI_KERNEL, 0);
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the kernel sent it: the limit of processor time"));
	assert_false(fault.has_insn);
	facts = facts_of(SIGSYS, SI_KERNEL, 0);
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why, "the kernel ended it");
}

/* rt_sigreturn of a bad frame is SIGSEGV without an address, as is a refused operand. */
static void after_a_system_call(void **state)
{
	static unsigned char code[] = {0x0f, 0x05, 0x90};
	static const uint8_t lea[] = {0x48, 0x8d, 0x35, 0, 0, 0, 0};
	struct report_memory memory = {0x4000fe, sizeof(code), code};
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	fault_explain(&facts, &regs, lea, sizeof(lea), &fault);
	assert_true(fault.has_insn);
	facts.memory = &memory;
	facts.nr_memory = 1;
	fault_explain(&facts, &regs, lea, sizeof(lea), &fault);
	assert_non_null(strstr(fault.why, "or the kernel the system call before it"));
	assert_false(fault.has_insn);
}

static void refused_system_calls(void **state)
{
	static unsigned char code[] = {0x0f, 0x05, 0xcd, 0x80, 0x90, 0x90, 0x01, 0x00, 0x00, 0xd4};
	struct report_memory memory = {0x4000fe, sizeof(code), code};
	struct report_facts facts = facts_of(SIGSYS, 1, 0);
	struct auxtap_regs regs = regs_at(0x400100);
	struct fault fault;

	(void)state;
	facts.memory = &memory;
	facts.nr_memory = 1;
	regs.reg[AUXTAP_X86_AX] = 41;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why,
			    "a seccomp filter does not allow the system call socket (41)");
	assert_true(fault.has_insn);
	assert_int_equal(fault.insn_ip, 0x4000fe);
	regs.reg[AUXTAP_X86_AX] = 9999;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the system call 9999"));
	regs = regs_at(0x400102);
	regs.reg[AUXTAP_X86_AX] = 102;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_non_null(strstr(fault.why, "the 32-bit system call 102"));
	regs = regs_at(0x400103); /* no such instruction before it: not shown */
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_false(fault.has_insn);
	regs = (struct auxtap_regs){.arch = AUXTAP_ARCH_AARCH64, .valid = UINT64_MAX};
	regs.reg[AUXTAP_A64_PC] = 0x400108;
	regs.reg[AUXTAP_A64_X0 + 8] = 198;
	facts.crash.si_code = 2;
	fault_explain(&facts, &regs, NULL, 0, &fault);
	assert_string_equal(fault.why,
			    "syscall user dispatch intercepted the system call socket (198)");
	assert_int_equal(fault.insn_ip, 0x400104);
}

static const char *why(struct report_facts facts, struct auxtap_regs regs, const char *insn,
		       size_t size)
{
	static struct fault fault;

	fault_explain(&facts, &regs, (const uint8_t *)insn, size, &fault);
	return fault.why;
}
#define WHY(facts, regs, insn) why(facts, regs, insn, sizeof(insn) - 1)

/* xsave: processors with AMX access the last of 11008 bytes first. */
static void the_last_byte_first(void **state)
{
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x7003aff);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0x7001000;
	assert_string_equal(WHY(facts, regs, "\x0f\xae\x20"),
			    "it wrote to 0x7001000 (11008 bytes or more), which failed at "
			    "0x7003aff; nothing is mapped there");
	facts.crash.fault_addr = 0x7001008;
	assert_string_equal(WHY(facts, regs, "\x0f\xae\x20"),
			    "it wrote to 0x7001000 (576 bytes or more), which failed at 0x7001008; "
			    "nothing is mapped there");
	facts.crash.fault_addr = 0x7005000;
	assert_null(strstr(WHY(facts, regs, "\x0f\xae\x20"), "or more"));
}

/* qemu reports no address of these; they begin where memory is, and end where it is not. */
static void across_the_end(void **state)
{
	static char anonymous[] = "", qemu[] = "backend: emulated\nsource: qemu\n";
	struct report_map pages[] = {
		{.start = 0x400000, .end = 0x401000, .perms = "r-xp", .name = anonymous},
		{.start = 0x7000000, .end = 0x7001000, .perms = "rw-p", .name = anonymous},
	};
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	facts.maps = pages;
	facts.nr_maps = 2;
	regs.reg[AUXTAP_X86_AX] = 0x7000ffa;
	/* fldt (%rax); fnsave (%rax); movaps (%rax), %xmm0; xsave (%rax); fldl (%rax) */
	assert_string_equal(WHY(facts, regs, "\xdb\x28"),
			    "it read from 0x7000ffa (10 bytes), which failed at 0x7001000; nothing "
			    "is mapped there");
	assert_string_equal(WHY(facts, regs, "\xdd\x30"),
			    "it wrote to 0x7000ffa (108 bytes), which failed at 0x7001000; nothing "
			    "is mapped there");
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x28\x00"),
			       "movaps needs an address that is a multiple of 16"));
	assert_non_null(strstr(WHY(facts, regs, "\x0f\xae\x20"), "a multiple of 64"));
	regs.reg[AUXTAP_X86_AX] = 0x7000ff8;
	assert_non_null(strstr(WHY(facts, regs, "\xdd\x00"), "a general protection fault"));
	memcpy(pages[1].perms, "r--p", 4);
	assert_string_equal(WHY(facts, regs, "\xdd\x18"),
			    "it wrote to 0x7000ff8 (8 bytes); it is mapped r--p");
	/* vmaskmovps (%rax), %ymm1, %ymm0; vmovups (%rax), %ymm0 */
	assert_null(strstr(WHY(facts, regs, "\xc4\xe2\x75\x2c\x00"), "mask"));
	facts.capture = qemu;
	assert_non_null(strstr(WHY(facts, regs, "\xc4\xe2\x75\x2c\x00"),
			       "(32 bytes), which failed at 0x7001000; nothing is mapped there; "
			       "qemu reads all of these bytes"));
	assert_null(strstr(WHY(facts, regs, "\xc5\xfc\x10\x00"), "mask"));
	/* cvtdq2pd (%rax), %xmm0 reads 8 bytes, and qemu 16; fldl (%rax) */
	facts.crash.flags |= AUXTAP_CRASH_ADDR_VALID;
	facts.crash.fault_addr = 0x7001000;
	assert_string_equal(
		WHY(facts, regs, "\xf3\x0f\xe6\x00"),
		"qemu reads more than the 8 bytes at 0x7000ff8, which the program may read: "
		"it failed at 0x7001000; a processor would not, and --source ptrace runs it "
		"on the processor");
	facts.capture = NULL;
	assert_null(strstr(WHY(facts, regs, "\xf3\x0f\xe6\x00"), "qemu"));
	facts.capture = qemu;
	facts.crash.fault_addr = 0x7001008; /* not where a page begins */
	assert_null(strstr(WHY(facts, regs, "\xf3\x0f\xe6\x00"), "qemu"));
	facts.crash.fault_addr = 0x7001000;
	memcpy(pages[1].perms, "---p", 4); /* the operand cannot be read either */
	assert_null(strstr(WHY(facts, regs, "\xf3\x0f\xe6\x00"), "qemu"));
}

/* The processor has one exception for both. */
static void divisions(void **state)
{
	struct report_facts facts = facts_of(SIGFPE, FPE_INTDIV, 0x400100);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_CX] = 0;
	assert_string_equal(WHY(facts, regs, "\xf7\xf9"), "integer division by zero");
	regs.reg[AUXTAP_X86_CX] = 0xffffffff;
	regs.reg[AUXTAP_X86_AX] = 0x80000000;
	regs.reg[AUXTAP_X86_DX] = 0xffffffff;
	assert_string_equal(WHY(facts, regs, "\xf7\xf9"),
			    "integer overflow: the most negative number divided by -1");
	/* the same of 8 bytes: another dividend, of 16 bytes */
	regs.reg[AUXTAP_X86_CX] = UINT64_MAX;
	assert_string_equal(WHY(facts, regs, "\x48\xf7\xf9"),
			    "integer overflow: the quotient of a division is too large");
	regs.reg[AUXTAP_X86_AX] = 1ull << 63;
	regs.reg[AUXTAP_X86_DX] = UINT64_MAX;
	assert_non_null(strstr(WHY(facts, regs, "\x48\xf7\xf9"), "the most negative number"));
	/* a divisor in memory that the snapshot does not have */
	regs.reg[AUXTAP_X86_BX] = 0x500000;
	assert_non_null(strstr(WHY(facts, regs, "\xf7\x3b"), "the divisor is 0, or"));
	/* with a dividend whose quotient always fits, the divisor must be 0 */
	regs.reg[AUXTAP_X86_AX] = 5;
	regs.reg[AUXTAP_X86_DX] = 0;
	assert_string_equal(WHY(facts, regs, "\xf7\x3b"), "integer division by zero"); /* idivl */
	assert_string_equal(WHY(facts, regs, "\xf7\x33"), "integer division by zero"); /* divl */
	assert_string_equal(WHY(facts, regs, "\x48\xf7\x3b"), "integer division by zero");
	regs.reg[AUXTAP_X86_AX] = (uint32_t)-5;
	assert_string_equal(WHY(facts, regs, "\xf7\x33"), "integer division by zero");
	assert_non_null(strstr(WHY(facts, regs, "\xf7\x3b"), "the divisor is 0, or"));
	regs.reg[AUXTAP_X86_DX] = UINT32_MAX;
	assert_string_equal(WHY(facts, regs, "\xf7\x3b"), "integer division by zero");
	regs.reg[AUXTAP_X86_AX] = 0x80000000; /* divided by -1 */
	assert_non_null(strstr(WHY(facts, regs, "\xf7\x3b"), "the divisor is 0, or"));
	regs.reg[AUXTAP_X86_AX] = 0x7f; /* ax divided by a byte */
	assert_string_equal(WHY(facts, regs, "\xf6\x3b"), "integer division by zero");
	regs.reg[AUXTAP_X86_AX] = 0x80;
	assert_non_null(strstr(WHY(facts, regs, "\xf6\x3b"), "the divisor is 0, or"));
	assert_string_equal(WHY(facts, regs, "\xf6\x33"), "integer division by zero");
	regs.reg[AUXTAP_X86_AX] = 0x100;
	assert_non_null(strstr(WHY(facts, regs, "\xf6\x33"), "the divisor is 0, or"));
}

static void traps(void **state)
{
	struct report_facts facts = facts_of(SIGILL, ILL_ILLOPN, 0x400100);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x0b"), "it ran into ud2, the instruction"));
	assert_non_null(
		strstr(WHY(facts, regs, "\x0f\xb9\xc0"), "it ran into ud1, the instruction"));
	assert_non_null(
		strstr(WHY(facts, regs, "\x0f\xff\xc0"), "it ran into ud0, the instruction"));
	/* as clang writes it */
	assert_non_null(
		strstr(WHY(facts, regs, "\x67\x0f\xb9\x40\x16"), "it ran into ud1, the instr"));
	assert_non_null(strstr(WHY(facts, regs, "\xc4\xff"), "no instruction of this processor"));
}

/* Without a fault address: the requirement that the instruction violated. */
static void general_protection(void **state)
{
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0x500000;
	regs.reg[AUXTAP_X86_BX] = 0x500008;
	assert_string_equal(WHY(facts, regs, "\x0f\x29\x03"),
			    "it wrote to 0x500008 (16 bytes); movaps needs an address that is a "
			    "multiple of 16");
	assert_non_null(strstr(WHY(facts, regs, "\x66\x0f\xfe\x03"), "read from 0x500008"));
	/* movups */
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x11\x03"), "reports no address"));
	/* vaddps */
	assert_non_null(strstr(WHY(facts, regs, "\xc5\xfc\x58\x03"), "reports no address"));
	assert_non_null(strstr(WHY(facts, regs, "\xc5\xfc\x28\x03"),
			       "vmovaps needs an address that "
			       "is a multiple of 32"));
	/* aligned */
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x28\x00"), "reports no address"));
	assert_non_null(strstr(WHY(facts, regs, "\xf4"), "hlt is a privileged instruction"));
	assert_non_null(strstr(WHY(facts, regs, "\xfa"), "cli is a privileged instruction"));
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x30"), "wrmsr is a privileged instruction"));
	assert_non_null(strstr(WHY(facts, regs, "\x0f\x20\xc0"),
			       "mov of a control or debug register is privileged"));
	assert_non_null(strstr(WHY(facts, regs, "\xec"), "in accesses an I/O port"));
	assert_non_null(strstr(WHY(facts, regs, "\xcd\x2d"), "int 0x2d: the kernel offers"));
}

/* If no instruction caused the signal, the kernel could not start a handler. */
static void no_signal_frame(void **state)
{
	static const char expected[] =
		"it is no fault of the instruction there: the kernel sends this signal "
		"where it cannot write the frame of a signal handler to the stack";
	struct report_facts facts = facts_of(SIGSEGV, SI_KERNEL, 0);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0x500000;
	assert_string_equal(WHY(facts, regs, "\x48\x83\xc0\x01"), expected); /* add $1,%rax */
	assert_string_equal(WHY(facts, regs, "\x8b\x40\x08"), expected);     /* mov 8(%rax),%eax */
	assert_null(strstr(WHY(facts, regs, "\x0f\x28\x00"), expected));     /* movaps */
	assert_null(strstr(WHY(facts, regs, "\xf4"), expected));	     /* hlt */
	assert_null(strstr(WHY(facts, regs, "\x8e\xd8"), expected));	     /* mov %eax,%ds */
	regs.reg[AUXTAP_X86_AX] = 0x8000000000000000;
	assert_null(strstr(WHY(facts, regs, "\x8b\x40\x08"), expected));
	facts.crash.si_code = SEGV_MAPERR;
	assert_null(strstr(WHY(facts, regs, "\x48\x83\xc0\x01"), expected));
}

/* A small address comes from a null pointer only if the register was 0. */
static void small_addresses(void **state)
{
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0xbb8);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_AX] = 0xbb8;
	assert_string_equal(WHY(facts, regs, "\x8b\x00"),
			    "it read from 0xbb8 (4 bytes); nothing is "
			    "mapped there; rax is 0xbb8");
	regs.reg[AUXTAP_X86_AX] = 0;
	assert_non_null(
		strstr(WHY(facts, regs, "\x8b\x80\xb8\x0b\x00\x00"), "a null pointer and a"));
	/* base and index: either may be the pointer */
	regs.reg[AUXTAP_X86_CX] = 0xbb8;
	assert_string_equal(
		WHY(facts, regs, "\x8b\x04\x08"),
		"it read from 0xbb8 (4 bytes); nothing is mapped there; rax is 0x0, rcx is 0xbb8");
	facts.crash.fault_addr = 0;
	assert_non_null(strstr(WHY(facts, regs, "\x8b\x00"), "; a null pointer"));
	/* without a register: mov 0x0,%eax, of thread-local memory, mov 0x8,%eax */
	assert_string_equal(WHY(facts, regs, "\x8b\x04\x25\x00\x00\x00\x00"),
			    "it read from 0x0 (4 bytes); a null pointer");
	assert_null(strstr(WHY(facts, regs, "\x64\x8b\x04\x25\x00\x00\x00\x00"), "null"));
	facts.crash.fault_addr = 8;
	assert_string_equal(WHY(facts, regs, "\x8b\x04\x25\x08\x00\x00\x00"),
			    "it read from 0x8 (4 bytes); nothing is mapped there: the address is a "
			    "constant, as compilers make it of a null pointer and an offset");
	facts.crash.fault_addr = 0;
	regs.reg[AUXTAP_X86_AX] = 8;
	assert_null(strstr(WHY(facts, regs, "\x8b\x40\xf8"), "null"));
}

/* A frame that is larger than the stack: the access may be far from the stack pointer. */
static void beyond_stack(void **state)
{
	static char stack[] = "[stack]", file[] = "/lib/x.so";
	static struct report_map mapped[] = {
		{0x7fffff000000, 0x7fffff800000, 0, "rw-p", stack},
		{0x7ffff7000000, 0x7ffff7100000, 0, "r-xp", file},
	};
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x7ffffeffffcf);
	struct auxtap_regs regs = regs_at(0x7ffff7000100);

	(void)state;
	facts.maps = mapped;
	facts.nr_maps = 2;
	regs.reg[AUXTAP_X86_DX] = 0x7ffffeffffcf;
	regs.reg[AUXTAP_X86_SP] = 0x7ffffec00000;
	assert_non_null(strstr(WHY(facts, regs, "\x88\x02"), "below the stack: the stack is"));
	regs.reg[AUXTAP_X86_SP] = 0x7fffff700000; /* in the stack */
	assert_null(strstr(WHY(facts, regs, "\x88\x02"), "exhausted"));
	regs.reg[AUXTAP_X86_SP] = 0x7ffff7000800; /* in another mapping */
	assert_null(strstr(WHY(facts, regs, "\x88\x02"), "exhausted"));
	regs.reg[AUXTAP_X86_SP] = 0x7ffff6000000; /* another mapping comes after it */
	assert_null(strstr(WHY(facts, regs, "\x88\x02"), "exhausted"));
	regs.reg[AUXTAP_X86_DX] = facts.crash.fault_addr = 0x7ffff6800000;
	assert_null(strstr(WHY(facts, regs, "\x88\x02"), "exhausted"));
}

/* Close to it, but in no mapping: whether there was ever a stack is unknown. */
static void close_to_the_stack_pointer(void **state)
{
	static const char neither[] =
		"nothing is mapped there, nor where the stack pointer points: ";
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x600010);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_SP] = 0x600010;
	assert_non_null(strstr(WHY(facts, regs, "\x5f"), neither)); /* pop %rdi */
	facts.crash.fault_addr = 0x600008;
	assert_non_null(strstr(WHY(facts, regs, "\x57"), neither)); /* push %rdi */
	regs.reg[AUXTAP_X86_SP] = 0x500000;
	facts.crash.fault_addr = 0x4ffff8;
	assert_string_equal(WHY(facts, regs, "\x57"),
			    "it wrote to 0x4ffff8 (8 bytes); nothing is mapped there: it lies just "
			    "below the mapping that the stack pointer is in");
	/* above the mapping that the stack pointer is in, which is not writable */
	regs.reg[AUXTAP_X86_SP] = 0x402800;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x403010;
	assert_string_equal(WHY(facts, regs, "\x88\x13"),
			    "it wrote to 0x403010 (1 byte); nothing is mapped there");
	/* the stack pointer of an empty stack, and one too far */
	regs.reg[AUXTAP_X86_SP] = 0x501000;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x501040;
	assert_string_equal(WHY(facts, regs, "\x88\x13"),
			    "it wrote to 0x501040 (1 byte); nothing is mapped there");
	regs.reg[AUXTAP_X86_SP] = 0x501008;
	assert_non_null(strstr(WHY(facts, regs, "\x88\x13"), neither));
	/* it is not known */
	regs.valid &= ~(1u << AUXTAP_X86_SP);
	regs.reg[AUXTAP_X86_SP] = 0;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x1010;
	assert_null(strstr(WHY(facts, regs, "\x88\x13"), "stack pointer"));
}

/* An access just below the stack: whether there was too little space, the stack pointer shows. */
static void just_below_the_stack(void **state)
{
	static char in_file[] = "/tmp/stack/prog";
	struct report_map named[] = {{0x600000, 0x601000, 0, "r--p", in_file}};
	struct report_facts facts = facts_of(SIGSEGV, SEGV_MAPERR, 0x7fffeffff000);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr;
	regs.reg[AUXTAP_X86_SP] = 0x7ffff0000010;
	assert_non_null(
		strstr(WHY(facts, regs, "\x88\x13"), "below the stack, far from the stack"));
	regs.reg[AUXTAP_X86_SP] = 0x7ffff0000000;
	assert_string_equal(
		WHY(facts, regs, "\x88\x13"),
		"it wrote to 0x7fffeffff000 (1 byte); it lies just below the stack: the "
		"stack is exhausted");
	regs.reg[AUXTAP_X86_SP] = 0x7fffeffff000;
	assert_string_equal(
		WHY(facts, regs, "\x88\x13"),
		"it wrote to 0x7fffeffff000 (1 byte); it lies just below the stack: the "
		"stack is exhausted");
	regs.reg[AUXTAP_X86_SP] = 0x7fffefff0000;
	assert_null(strstr(WHY(facts, regs, "\x88\x13"), "wrong"));
	regs.reg[AUXTAP_X86_SP] = 0x7fffeffeff00;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x7fffeffeff00;
	assert_non_null(strstr(WHY(facts, regs, "\x88\x13"), "or the stack pointer is wrong"));
	/* a file whose path has that word */
	facts.maps = named;
	facts.nr_maps = 1;
	regs.reg[AUXTAP_X86_SP] = regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x5fff00;
	assert_null(strstr(WHY(facts, regs, "\x88\x13"), "below the stack"));
	memcpy(named[0].perms, "rw-p", 4);
	regs.reg[AUXTAP_X86_SP] = 0x600800;
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x601010;
	assert_null(strstr(WHY(facts, regs, "\x88\x13"), "above the stack"));
}

static void guard_pages(void **state)
{
	static struct report_map thread[] = {
		{0x7f0000000000, 0x7f0000001000, 0, "---p", empty},
		{0x7f0000001000, 0x7f0000801000, 0, "rw-p", empty},
		{0x7f0000900000, 0x7f0000901000, 0, "---p", empty},
	};
	struct report_facts facts = facts_of(SIGSEGV, SEGV_ACCERR, 0x7f0000000ff8);
	struct auxtap_regs regs = regs_at(0x400100);

	(void)state;
	facts.maps = thread;
	facts.nr_maps = 3;
	thread[0].perms[2] = thread[1].perms[2] = '-';
	regs.reg[AUXTAP_X86_IP] = 0x7f0000001000;
	thread[1].perms[2] = 'x';
	regs.reg[AUXTAP_X86_SP] = 0x7f0000001000;
	assert_non_null(
		strstr(WHY(facts, regs, "\x50"), "below the stack: the stack is exhausted"));
	/* sp was decremented first */
	regs.reg[AUXTAP_X86_SP] = 0x7f0000000ff8;
	assert_non_null(strstr(WHY(facts, regs, "\x48\x89\x04\x24"), "the stack is exhausted"));
	/* a pointer into the guard of another thread's stack, and into one of no stack */
	regs.reg[AUXTAP_X86_SP] = 0x7ffff0008000;
	regs.reg[AUXTAP_X86_BX] = 0x7f0000000ff8;
	assert_non_null(strstr(WHY(facts, regs, "\x89\x03"), "it is mapped ---p"));
	regs.reg[AUXTAP_X86_BX] = facts.crash.fault_addr = 0x7f0000900010;
	assert_non_null(strstr(WHY(facts, regs, "\x89\x03"), "it is mapped ---p"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_read),
		cmocka_unit_test(write_of_a_string_move),
		cmocka_unit_test(push_below_the_stack),
		cmocka_unit_test(above_the_stack_pointer),
		cmocka_unit_test(close_to_the_stack_pointer),
		cmocka_unit_test(just_below_the_stack),
		cmocka_unit_test(non_canonical_stack_pointer),
		cmocka_unit_test(non_canonical_pointer),
		cmocka_unit_test(text_as_pointer),
		cmocka_unit_test(bus_error_in_unlisted_memory),
		cmocka_unit_test(overwritten_return_address),
		cmocka_unit_test(jump_to_nowhere),
		cmocka_unit_test(other_signals),
		cmocka_unit_test(signals_without_a_fault),
		cmocka_unit_test(after_a_system_call),
		cmocka_unit_test(refused_system_calls),
		cmocka_unit_test(the_last_byte_first),
		cmocka_unit_test(across_the_end),
		cmocka_unit_test(divisions),
		cmocka_unit_test(traps),
		cmocka_unit_test(general_protection),
		cmocka_unit_test(small_addresses),
		cmocka_unit_test(no_signal_frame),
		cmocka_unit_test(beyond_stack),
		cmocka_unit_test(guard_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
