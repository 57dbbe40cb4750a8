// SPDX-License-Identifier: BSD-2-Clause
/* The word that an instruction reads. The bytes are those that gas made of the text beside them. */
#include "capture/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* Each register's value is its own: a wrong one gives a wrong address. */
#define VALUE(reg) (0x100000000ull * ((reg) + 1) + 0x1000 * (uint64_t)(reg))
#define R(reg)	   VALUE(AUXTAP_X86_##reg)

static struct auxtap_regs every_register(void)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64};

	for (unsigned int i = 0; i < AUXTAP_X86_NR_REGS; i++) {
		regs.reg[i] = VALUE(i);
		regs.valid |= 1ull << i;
	}
	return regs;
}

static void operands(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		unsigned char code[16];
		uint64_t addr;
	} cases[] = {
		{"call *(%rcx)", {0xff, 0x11}, R(CX)},
		{"call *8(%rax)", {0xff, 0x50, 8}, R(AX) + 8},
		{"call *0x12345(%r13)", {0x41, 0xff, 0x95, 0x45, 0x23, 1, 0}, R(R13) + 0x12345},
		{"jmp *(%r13)", {0x41, 0xff, 0x65, 0}, R(R13)},
		{"call *(%rsp)", {0xff, 0x14, 0x24}, R(SP)},
		{"call *-8(%r12,%r9,4)", {0x43, 0xff, 0x54, 0x8c, 0xf8}, R(R12) + R(R9) * 4 - 8},
		{"jmp *0x100(,%rbx,8)", {0xff, 0x24, 0xdd, 0, 1}, R(BX) * 8 + 0x100},
		{"call *0x10(%rip)", {0xff, 0x15, 0x10}, R(IP) + 6 + 0x10},
		{"call *%fs:0x20", {0x64, 0xff, 0x14, 0x25, 0x20}, R(FS) + 0x20},
		{"call *%gs:(%rdx)", {0x65, 0xff, 0x12}, R(GS) + R(DX)},
		{"notrack jmp *(%rdi,%rax,8)", {0x3e, 0xff, 0x24, 0xc7}, R(DI) + R(AX) * 8},
		{"bnd call *(%r11)", {0xf2, 0x41, 0xff, 0x13}, R(R11)},
		{"divl (%rbx)", {0xf7, 0x33}, R(BX)},
		{"idivq -16(%rbp)", {0x48, 0xf7, 0x7d, 0xf0}, R(BP) - 16},
		{"divb 1(%rsi,%r15)", {0x42, 0xf6, 0x74, 0x3e, 1}, R(SI) + R(R15) + 1},
		{"idivw (%r8)", {0x66, 0x41, 0xf7, 0x38}, R(R8)},
		{"rex.B, then a prefix: call *(%rcx)", {0x41, 0x3e, 0xff, 0x11}, R(CX)},
	};
	/* clang-format on */
	const struct auxtap_regs regs = every_register();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t addr = 0;

		if (!x86_word_operand(cases[i].code, sizeof(cases[i].code), &regs, &addr) ||
		    addr != cases[i].addr)
			fail_msg("%s: 0x%llx", cases[i].text, (unsigned long long)addr);
	}
}

/* Other instructions, and those that no word of memory explains. */
static void others(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		unsigned char code[8];
	} cases[] = {
		{"call *%rax", {0xff, 0xd0}},	  {"ljmp *(%rax)", {0xff, 0x28}},
		{"lcall *(%rax)", {0xff, 0x18}},  {"push (%rax)", {0xff, 0x30}},
		{"negl (%rbx)", {0xf7, 0x1b}},	  {"mull (%rbx)", {0xf7, 0x23}},
		{"divl %ebx", {0xf7, 0xf3}},	  {"incb (%rax)", {0xfe, 0x00}},
		{"call *(%eax)", {0x67, 0xff, 0x10}}, {"ud2", {0x0f, 0x0b}},
	};
	/* clang-format on */
	const struct auxtap_regs regs = every_register();
	uint64_t addr;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (x86_word_operand(cases[i].code, sizeof(cases[i].code), &regs, &addr))
			fail_msg("%s", cases[i].text);
}

/* Cut off at each byte, with a register that is not known, and with prefixes alone. */
static void unknown(void **state)
{
	static const unsigned char call[] = {0x43, 0xff, 0x94, 0x8c, 1, 2, 3, 4};
	static const unsigned char prefixes[15] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
						   0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
	struct auxtap_regs regs = every_register();
	uint64_t addr;

	(void)state;
	for (size_t nr = 0; nr < sizeof(call); nr++)
		assert_false(x86_word_operand(call, nr, &regs, &addr));
	assert_true(x86_word_operand(call, sizeof(call), &regs, &addr));
	assert_int_equal(addr, R(R12) + R(R9) * 4 + 0x04030201);
	assert_false(x86_word_operand(prefixes, sizeof(prefixes), &regs, &addr));
	regs.valid &= ~(1ull << AUXTAP_X86_R9);
	assert_false(x86_word_operand(call, sizeof(call), &regs, &addr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands),
		cmocka_unit_test(others),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
