// SPDX-License-Identifier: BSD-2-Clause
/*
 * Length, kind and displacement of x86 branches: encodings of the SDM's opcode maps, as binutils
 * disassembles them; the same cut off anywhere; and instructions beside them that are no branches.
 */
#include "decode/flow/branch_insn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COND AUXTAP_BRANCH_COND
#define CALL AUXTAP_BRANCH_CALL
#define CALR AUXTAP_BRANCH_CALL_INDIRECT
#define JUMP AUXTAP_BRANCH_JUMP
#define JMPR AUXTAP_BRANCH_JUMP_INDIRECT
#define RET  AUXTAP_BRANCH_RETURN
#define SYS  AUXTAP_BRANCH_SYSCALL
#define INT  AUXTAP_BRANCH_INT
#define FAR  AUXTAP_BRANCH_FAR

/* clang-format off */
static const struct {
	const char *code;
	uint8_t size;
	bool bits_32, direct;
	enum auxtap_branch_kind kind;
	int64_t disp;
} branches[] = {
	{"\x70\x7f", 2, 0, 1, COND, 127},                       /* jo */
	{"\x7f\x80", 2, 0, 1, COND, -128},                      /* jg */
	{"\x0f\x80\x00\x00\x00\x80", 6, 0, 1, COND, -2147483648ll}, /* jo */
	{"\x0f\x8f\xff\xff\xff\x7f", 6, 0, 1, COND, 2147483647},  /* jg */
	{"\xe0\xfe", 2, 0, 1, COND, -2},                        /* loopne */
	{"\xe1\xfe", 2, 0, 1, COND, -2},                        /* loope */
	{"\xe2\xfe", 2, 0, 1, COND, -2},                        /* loop */
	{"\xe3\x01", 2, 0, 1, COND, 1},                         /* jrcxz */
	{"\x67\xe3\x01", 3, 0, 1, COND, 1},                     /* jecxz */
	{"\x3e\x74\x05", 3, 0, 1, COND, 5},                     /* je,pt */
	{"\xe8\xfb\xff\xff\xff", 5, 0, 1, CALL, -5},            /* call */
	{"\x67\xe8\x01\x02\x03\x04", 6, 0, 1, CALL, 0x04030201}, /* addr32 call */
	{"\x48\xe8\x01\x00\x00\x00", 6, 0, 1, CALL, 1},         /* rex.W call */
	{"\xe9\x00\x01\x00\x00", 5, 0, 1, JUMP, 256},           /* jmp */
	{"\xeb\xfe", 2, 0, 1, JUMP, -2},                        /* jmp, short */
	{"\xf2\xeb\x7f", 3, 0, 1, JUMP, 127},                   /* bnd jmp */
	{"\xff\xd0", 2, 0, 0, CALR, 0},                         /* call *%rax */
	{"\x41\xff\xd7", 3, 0, 0, CALR, 0},                     /* call *%r15 */
	{"\x3e\xff\xe0", 3, 0, 0, JMPR, 0},                     /* notrack jmp *%rax */
	{"\xff\x25\x01\x02\x03\x04", 6, 0, 0, JMPR, 0},         /* jmp *disp32(%rip) */
	{"\xff\x24\xc5\x01\x02\x03\x04", 7, 0, 0, JMPR, 0},     /* jmp *disp32(,%rax,8) */
	{"\xff\x24\x24", 3, 0, 0, JMPR, 0},                     /* jmp *(%rsp) */
	{"\xff\x64\x24\x08", 4, 0, 0, JMPR, 0},                 /* jmp *8(%rsp) */
	{"\xff\x50\x10", 3, 0, 0, CALR, 0},                     /* call *16(%rax) */
	{"\xff\x90\x01\x02\x03\x04", 6, 0, 0, CALR, 0},         /* call *disp32(%rax) */
	{"\xff\x94\xc3\x01\x02\x03\x04", 7, 0, 0, CALR, 0},     /* call *disp32(%rbx,%rax,8) */
	{"\xc3", 1, 0, 0, RET, 0},
	{"\xf3\xc3", 2, 0, 0, RET, 0},                          /* repz ret */
	{"\xc2\x08\x00", 3, 0, 0, RET, 0},                      /* ret $8 */
	{"\xca\x08\x00", 3, 0, 0, FAR, 0},                      /* lret $8 */
	{"\x40\xc3", 2, 0, 0, RET, 0},                          /* rex ret */
	{"\x4f\xc3", 2, 0, 0, RET, 0},                          /* rex.WRXB ret */
	{"\xcb", 1, 0, 0, FAR, 0},                              /* lret */
	{"\xcf", 1, 0, 0, FAR, 0},                              /* iret */
	{"\x48\xcf", 2, 0, 0, FAR, 0},                          /* iretq */
	{"\xff\x28", 2, 0, 0, FAR, 0},                          /* ljmp *(%rax) */
	{"\xff\x18", 2, 0, 0, FAR, 0},                          /* lcall *(%rax) */
	{"\x0f\x05", 2, 0, 0, SYS, 0},                          /* syscall */
	{"\x0f\x34", 2, 0, 0, SYS, 0},                          /* sysenter */
	{"\x0f\x07", 2, 0, 0, FAR, 0},                          /* sysretl */
	{"\x48\x0f\x07", 3, 0, 0, FAR, 0},                      /* sysretq */
	{"\x0f\x35", 2, 0, 0, FAR, 0},                          /* sysexit */
	{"\x0f\x01\xc1", 3, 0, 0, FAR, 0},                      /* vmcall */
	{"\xcd\x80", 2, 0, 0, SYS, 0},                          /* int $0x80 */
	{"\xcd\x03", 2, 0, 0, INT, 0},                          /* int $3 */
	{"\xcc", 1, 0, 0, INT, 0},                              /* int3 */
	{"\xf1", 1, 0, 0, INT, 0},                              /* int1 */
	{"\xce", 1, 1, 0, INT, 0},                              /* into */
	{"\x9a\x01\x02\x03\x04\x23\x01", 7, 1, 0, FAR, 0},      /* lcall $0x123,$0x4030201 */
	{"\xea\x01\x02\x03\x04\x23\x01", 7, 1, 0, FAR, 0},      /* ljmp $0x123,$0x4030201 */
};
/* the last byte of each decides, or the mode */
static const struct {
	const char *code;
	uint8_t size;
	bool bits_32;
} others[] = {
	{"\x90", 1, 0}, {"\x6f", 1, 0}, {"\x80\xc0\x01", 3, 0}, {"\xe4\x01", 2, 0},
	{"\x0f\x7f\xc0\x00\x00\x00", 6, 0}, {"\x0f\x90\xc0\x00\x00\x00", 6, 0}, {"\x0f\xa2", 2, 0},
	{"\xff\xc0", 2, 0}, {"\xff\xf0", 2, 0}, {"\xff\x08", 2, 0},
	{"\x9a\x01\x02\x03\x04\x23\x01", 7, 0}, {"\xea\x01\x02\x03\x04\x23\x01", 7, 0},
	{"\x40\xc3", 2, 1}, /* inc %eax, ret */ {"\x4f\xc3", 2, 1}, {"\x50\xc3", 2, 0},
	{"\x3f\xc3", 2, 1}, {"\x66", 1, 0}, {"", 0, 0},
};
/* clang-format on */

static void test_branches(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++) {
		const uint8_t *code = (const uint8_t *)branches[i].code;
		struct branch_insn insn;

		for (size_t avail = 0; avail < branches[i].size; avail++)
			if (!branch_insn_decode(code, avail, branches[i].bits_32, &insn))
				fail_msg("branch %zu of %zu bytes is complete", i, avail);
		if (branch_insn_decode(code, branches[i].size, branches[i].bits_32, &insn))
			fail_msg("branch %zu is refused", i);
		if (insn.size != branches[i].size || insn.kind != branches[i].kind ||
		    insn.direct != branches[i].direct || insn.disp != branches[i].disp)
			fail_msg("branch %zu: size %u, kind %d, direct %d, displacement %lld", i,
				 insn.size, insn.kind, insn.direct, (long long)insn.disp);
	}
}

static void test_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct branch_insn insn;

		if (!branch_insn_decode((const uint8_t *)others[i].code, others[i].size,
					others[i].bits_32, &insn))
			fail_msg("instruction %zu is no branch", i);
	}
}

/* The processor takes at most 15 bytes. */
static void test_longest(void **state)
{
	uint8_t code[17];
	struct branch_insn insn;

	(void)state;
	memset(code, 0x66, sizeof(code));
	code[14] = 0xc3;
	assert_int_equal(branch_insn_decode(code, sizeof(code), false, &insn), 0);
	assert_int_equal(insn.size, 15);
	code[14] = 0x66;
	code[15] = 0xc3;
	assert_int_equal(branch_insn_decode(code, sizeof(code), false, &insn), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
