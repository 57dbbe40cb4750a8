// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which blocks the report lists and in which order, and what it says of the pointers to them. No
 * code is known here, so that all allocations are those of libraries.
 */
#include "decode/report/report_blocks.h"
#include "decode/report/report_facts.h"
#include "decode/report/report_frames.h"
#include "decode/report/report_origin.h"
#include "decode/report/report_out.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct report_facts facts;
static struct auxtap_regs regs;
static struct unwind_frames frames;
static struct auxtap_image_set *images;
static struct report_map maps[] = {{.start = 0x20000, .end = 0x21000}};

static int start(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&regs, 0, sizeof(regs));
	memset(&frames, 0, sizeof(frames));
	facts.crash.signo = SIGSEGV;
	facts.crash.si_code = SEGV_MAPERR;
	facts.maps = maps;
	facts.nr_maps = 1;
	regs.arch = AUXTAP_ARCH_X86_64;
	return 0;
}

static void reg(int index, uint64_t value)
{
	regs.valid |= 1ull << index;
	regs.reg[index] = value;
}

static void fault(uint64_t addr)
{
	facts.crash.flags |= AUXTAP_CRASH_ADDR_VALID;
	facts.crash.fault_addr = addr;
}

static struct auxtap_crash_block *block(uint32_t flags, uint64_t addr, uint64_t nr_bytes)
{
	struct report_block *b = &facts.blocks[facts.nr_blocks++];

	memset(b, 0, sizeof(*b));
	b->record.flags = flags;
	b->record.addr = addr;
	b->record.nr_bytes = nr_bytes;
	return &b->record;
}

static void print(const char *want)
{
	char text[1000] = "";
	struct report_out ro = {.out = fmemopen(text, sizeof(text), "w"),
				.images = images,
				.pid = 1};

	assert_non_null(ro.out);
	report_blocks_print(&ro, &facts, &regs);
	fclose(ro.out);
	assert_string_equal(text, want);
}

/* The addresses of those chosen, in their order. */
static void choose(const char *insn, const char *want)
{
	const struct report_origin origin = {.kind = REPORT_ORIGIN_UNKNOWN};
	const struct report_out ro = {.images = images, .pid = 1};
	char text[200] = "";

	report_blocks_choose(&ro, &facts, &regs, insn, &frames, &origin);
	for (size_t i = 0; i < facts.nr_blocks; i++)
		sprintf(text + strlen(text), "%s%llx", i ? " " : "",
			(unsigned long long)facts.blocks[i].record.addr);
	assert_string_equal(text, want);
}

static void pointers(void **state)
{
	(void)state;
	block(0, 0x1000, 16);
	reg(AUXTAP_X86_AX, 0xfff);
	reg(AUXTAP_X86_BX, 0x1000);
	reg(AUXTAP_X86_CX, 0x1008);
	reg(AUXTAP_X86_DX, 0x1010);
	reg(AUXTAP_X86_SI, 0x1011);
	print("  block of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end)\n");
	fault(0x1004);
	print("  block of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end), "
	      "the fault's address (byte 4)\n");
	fault(0x1000 + 16 + (256 << 10) - 1);
	print("  block of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end), "
	      "the fault's address (262143 bytes past its end)\n");
	fault(0x1000 + 16 + (256 << 10));
	print("  block of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end)\n");
	fault(0xff8);
	print("  block of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end)\n");
	/* no loop ran past a mapping, or what has no size */
	fault(0x1020);
	facts.blocks[0].record.flags = AUXTAP_BLOCK_MAPPING;
	print("  mapped memory of 16 bytes at 0x1000: rbx, rcx (byte 8), rdx (at its end)\n");
	facts.blocks[0].record.flags = AUXTAP_BLOCK_UNKNOWN;
	facts.blocks[0].record.nr_bytes = 0;
	print("  memory not known to be allocated, at 0x1000: rbx\n");
	/* nor where no register has its pointer */
	facts.blocks[0].record.flags = AUXTAP_BLOCK_FREED;
	facts.blocks[0].record.nr_bytes = 16;
	regs.valid = 0;
	fault(0x1010);
	print("  freed block of 16 bytes at 0x1000: the fault's address (at its end)\n");
	fault(0x1011);
	print("  freed block of 16 bytes at 0x1000\n");
}

/* Of a library's block in use only the instruction's register makes it of interest. */
static void operands(void **state)
{
	static const struct {
		enum auxtap_arch arch;
		int reg;
		const char *insn;
		bool is_there;
	} cases[] = {
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_DX, "movl (%rdx), %eax", true},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_DX, "movl (%rax), %edx", true},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_DX, "movw (%rax), %dx", true},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_DX, "movl (%rax), %ecx", false},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_DX, "call rdx", false},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_R8, "movl (%r8), %eax", true},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_R8, "movl %r8d, (%rax)", true},
		{AUXTAP_ARCH_X86_64, AUXTAP_X86_R10, "movl (%r8), %eax", false},
		{AUXTAP_ARCH_AARCH64, 6, "ldr x0, [x6]", true},
		{AUXTAP_ARCH_AARCH64, 6, "ldr w6, [x0]", true},
		{AUXTAP_ARCH_AARCH64, 6, "ldr x0, [x16]", false},
		{AUXTAP_ARCH_AARCH64, 1, "ldr x0, [x16]", false},
		{AUXTAP_ARCH_AARCH64, 6, "ldr q6, [x0]", false},
		{AUXTAP_ARCH_AARCH64, 6, "ldr x0, [x1, 0xx6]", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(NULL);
		regs.arch = cases[i].arch;
		block(0, 0x1000, 16);
		reg(cases[i].reg, 0x1008);
		choose(cases[i].insn, cases[i].is_there ? "1000" : "");
	}
}

/* What only scratch registers point to is of interest if it is freed, and the fault not at 0. */
static void scratch(void **state)
{
	(void)state;
	for (uint64_t addr = 0xffff; addr <= 0x10000; addr++) {
		start(NULL);
		reg(AUXTAP_X86_R9, 0x900000);
		fault(addr);
		block(AUXTAP_BLOCK_FREED, 0x900000, 16);
		choose("movl (%rdx), %eax", addr < 0x10000 ? "" : "900000");
	}
	start(NULL);
	reg(AUXTAP_X86_R9, 0x900000);
	fault(0xffff);
	reg(AUXTAP_X86_BX, 0x900000);
	block(AUXTAP_BLOCK_FREED, 0x900000, 16);
	choose("movl (%rdx), %eax", "900000");
	/* none points to it */
	start(NULL);
	block(AUXTAP_BLOCK_FREED, 0x900000, 16);
	choose("movl (%rdx), %eax", "");
}

static void order(void **state)
{
	(void)state;
	block(AUXTAP_BLOCK_FREED, 0x1000, 16);			    /* a scratch register */
	block(AUXTAP_BLOCK_FREED, 0x2000, 16);			    /* another */
	block(0, 0x3000, 16);					    /* the instruction's */
	block(AUXTAP_BLOCK_FREED, 0x4000, 16)->freed_at = 0x401001; /* is being freed */
	block(AUXTAP_BLOCK_FREED, 0x50000, 16);			    /* the fault's address */
	block(AUXTAP_BLOCK_FREED, 0x6000, 16);			    /* as the second */
	reg(AUXTAP_X86_R9, 0x1000);
	reg(AUXTAP_X86_BX, 0x2000);
	reg(AUXTAP_X86_DX, 0x3000);
	reg(AUXTAP_X86_SI, 0x6000);
	fault(0x50008);
	frames.nr = 2;
	frames.pcs[1] = 0x401000;
	frames.call_mask = 2;
	choose("movl (%rdx), %eax", "50000 4000 3000 2000 6000 1000");
	assert_true(facts.blocks[1].being_freed);
	assert_false(facts.blocks[0].being_freed);
	assert_false(facts.blocks[1].freed_again);
	/* malloc says that it was free already, or that, or damage */
	for (int i = 0; i < 3; i++) {
		static char tcache[] = "free(): double free detected in tcache 2",
			    top[] = "double free or corruption (fasttop)",
			    other[] = "double free or corruption (!prev)";

		start(NULL);
		facts.message = i == 0 ? tcache : i == 1 ? top : other;
		block(AUXTAP_BLOCK_FREED, 0x4000, 16)->freed_at = 0x401001;
		reg(AUXTAP_X86_BX, 0x4000);
		frames.nr = 2;
		frames.pcs[1] = 0x401000;
		frames.call_mask = 2;
		choose("movl (%rdx), %eax", "4000");
		assert_true(facts.blocks[0].being_freed);
		assert_int_equal(facts.blocks[0].freed_again, i < 2);
		facts.message = NULL;
	}
	/* those of one kind stay in their order */
	start(NULL);
	block(AUXTAP_BLOCK_FREED, 0x1000, 16);
	block(AUXTAP_BLOCK_FREED, 0x2000, 16);
	block(0, 0x3000, 16);
	reg(AUXTAP_X86_BX, 0x1000);
	reg(AUXTAP_X86_SI, 0x2000);
	reg(AUXTAP_X86_DX, 0x3000);
	choose("movl (%rdx), %eax", "3000 1000 2000");
	/* of two that the instruction has, the one that is being freed is first */
	start(NULL);
	block(0, 0x3000, 16);
	block(AUXTAP_BLOCK_FREED, 0x4000, 16)->freed_at = 0x401001;
	reg(AUXTAP_X86_DX, 0x3000);
	reg(AUXTAP_X86_DI, 0x4000);
	frames.nr = 1;
	frames.pcs[0] = 0x401000;
	frames.call_mask = 1;
	choose("movl (%rdx), %edi", "4000 3000");
}

/* The call of free() has returned, is another, is no call; or memory was unmapped. */
static void not_being_freed(void **state)
{
	(void)state;
	for (int what = 0; what < 5; what++) {
		struct auxtap_crash_block *b;

		start(NULL);
		b = block(AUXTAP_BLOCK_FREED, 0x1000, 16);
		b->freed_at = 0x401001;
		frames.nr = 1;
		frames.pcs[0] = 0x401000;
		frames.call_mask = 1;
		if (what == 1)
			b->flags |= AUXTAP_BLOCK_RETURNED;
		else if (what == 2)
			b->flags |= AUXTAP_BLOCK_MAPPING;
		else if (what == 3)
			b->freed_at++;
		else if (what == 4)
			frames.call_mask = 0;
		choose("movl (%rdx), %eax", what ? "" : "1000");
	}
}

/* Mapped memory that is not there any more, and unmapped memory that is there again. */
static void mappings(void **state)
{
	static const struct {
		uint32_t flags;
		uint64_t addr, nr_bytes;
		bool is_there;
	} cases[] = {
		{AUXTAP_BLOCK_FREED, 0x1f000, 0x1000, true},
		{AUXTAP_BLOCK_FREED, 0x1f000, 0x1001, false},
		{AUXTAP_BLOCK_FREED, 0x21000, 0x1000, true},
		{AUXTAP_BLOCK_FREED, 0x20fff, 0x1000, false},
		{0, 0x20000, 0x1000, true},
		{0, 0x22000, 0x1000, false},
	};
	char want[20];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(NULL);
		block(AUXTAP_BLOCK_MAPPING | cases[i].flags, cases[i].addr, cases[i].nr_bytes);
		fault(cases[i].addr);
		snprintf(want, sizeof(want), "%llx", (unsigned long long)cases[i].addr);
		choose("movl (%rdx), %eax", cases[i].is_there ? want : "");
	}
	/* a library's, by the instruction's register alone */
	start(NULL);
	block(AUXTAP_BLOCK_MAPPING, 0x20000, 0x1000);
	reg(AUXTAP_X86_DX, 0x20000);
	choose("movl (%rdx), %eax", "");
	/* a block of the heap in it: it is malloc's */
	start(NULL);
	block(AUXTAP_BLOCK_MAPPING, 0x20000, 0x1000);
	block(AUXTAP_BLOCK_FREED, 0x20ff0, 8);
	fault(0x20ff0);
	choose("movl (%rdx), %eax", "20ff0");
	/* nothing points to it */
	start(NULL);
	block(AUXTAP_BLOCK_MAPPING, 0x20000, 0x1000);
	block(AUXTAP_BLOCK_FREED, 0x20ff0, 8);
	fault(0x20000);
	choose("movl (%rdx), %eax", "20000");
	/* right after it */
	start(NULL);
	block(AUXTAP_BLOCK_MAPPING, 0x20000, 0xff0);
	block(AUXTAP_BLOCK_FREED, 0x20ff0, 8);
	fault(0x20ff0);
	choose("movl (%rdx), %eax", "20000 20ff0");
}

/* A program that ends itself, or another process: registers say nothing. */
static void no_fault(void **state)
{
	(void)state;
	block(AUXTAP_BLOCK_FREED, 0x1000, 16);
	reg(AUXTAP_X86_DX, 0x1000);
	facts.crash.si_code = SI_USER;
	choose("movl (%rdx), %eax", "");
}

static void words(void **state)
{
	static const struct {
		uint64_t word;
		const char *text;
	} cases[] = {
		{0x64636261, "abcd"},	{0x636261, NULL},   {0x6867666564636261, "abcdefgh"},
		{0x7e626120, " ab~"},	{0x7f626120, NULL}, {0x6462611f, NULL},
		{0x650064636261, NULL},
	};
	char text[9];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(report_word_text(cases[i].word, text), cases[i].text != NULL);
		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pointers, start),
		cmocka_unit_test_setup(operands, start),
		cmocka_unit_test_setup(scratch, start),
		cmocka_unit_test_setup(order, start),
		cmocka_unit_test_setup(not_being_freed, start),
		cmocka_unit_test_setup(mappings, start),
		cmocka_unit_test_setup(no_fault, start),
		cmocka_unit_test(words),
	};
	int ret = auxtap_image_set_new(&images, &opts, NULL);

	if (ret)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	auxtap_image_set_free(images);
	return ret;
}
