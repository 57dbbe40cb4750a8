// SPDX-License-Identifier: BSD-2-Clause
/* Of the records of blocks, and of who allocated and freed them, what a damaged file has is left
 * out. */
#include "decode/report/report_blocks.h"
#include "decode/report/report_facts.h"
#include "decode/report/report_frames.h"
#include "decode/report/report_origin.h"
#include "decode/report/report_out.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct report_facts facts;
static struct auxtap_block_call note;

static int start(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&note, 0, sizeof(note));
	note.size = sizeof(note);
	note.addr = 0x1000;
	note.return_addr = 0x400100;
	note.call.sp = 0x7000;
	note.call.nr_stack = AUXTAP_CALL_STACK;
	return 0;
}

static int end(void **state)
{
	(void)state;
	report_facts_free(&facts);
	return 0;
}

static void add(size_t size)
{
	assert_int_equal(report_facts_add(&facts, AUXTAP_METADATA_HEAP_BLOCK_CALL, &note, size), 0);
}

static void whole(void **state)
{
	(void)state;
	add(sizeof(note));
	assert_int_equal(facts.nr_block_calls, 1);
	assert_memory_equal(&facts.block_calls[0], &note, sizeof(note));
}

static void damaged(void **state)
{
	(void)state;
	add(sizeof(note) - 1);
	note.call.nr_stack = AUXTAP_CALL_STACK + 1;
	add(sizeof(note));
	note.call.nr_stack = AUXTAP_CALL_STACK;
	note.call.sp = UINT64_MAX - 8;
	add(sizeof(note));
	assert_int_equal(facts.nr_block_calls, 0);
}

static void too_many(void **state)
{
	(void)state;
	for (int i = 0; i < 6 * AUXTAP_MAX_BLOCKS; i++)
		add(sizeof(note));
	assert_int_equal(facts.nr_block_calls, 5 * AUXTAP_MAX_BLOCKS + AUXTAP_MAX_OVERRUNS + 1);
}

static void add_block(uint32_t flags, uint64_t addr, size_t size)
{
	const struct auxtap_crash_block block = {.size = sizeof(block),
						 .flags = flags,
						 .addr = addr,
						 .nr_bytes = 24};

	assert_int_equal(report_facts_add(&facts, AUXTAP_METADATA_HEAP_BLOCK, &block, size), 0);
}

/* The next block is one of the overrun right before it. */
static void overruns(void **state)
{
	const size_t whole_size = sizeof(struct auxtap_crash_block);

	(void)state;
	add_block(AUXTAP_BLOCK_AFTER_OVERRUN, 0x1000, whole_size);
	assert_int_equal(facts.nr_overruns, 0);
	add_block(AUXTAP_BLOCK_OVERRUN, UINT64_MAX - 8, whole_size);
	add_block(AUXTAP_BLOCK_OVERRUN, 0x1000, 8);
	assert_int_equal(facts.nr_overruns, 0);
	add_block(AUXTAP_BLOCK_OVERRUN, 0x1000, whole_size);
	add_block(AUXTAP_BLOCK_AFTER_OVERRUN, 0x1020, whole_size);
	add_block(AUXTAP_BLOCK_AFTER_OVERRUN, 0x1040, whole_size);
	assert_int_equal(facts.nr_overruns, 2);
	assert_int_equal(facts.overruns[1].record.addr, 0x1020);
	for (uint64_t i = 0; i < 2 * AUXTAP_MAX_OVERRUNS; i++)
		add_block(AUXTAP_BLOCK_OVERRUN, 0x2000 + 32 * i, whole_size);
	assert_int_equal(facts.nr_overruns, AUXTAP_MAX_OVERRUNS);
	assert_int_equal(facts.nr_blocks, 0);
	/* of a file without after_end */
	add_block(0, 0x3000, whole_size - 8);
	assert_int_equal(facts.nr_blocks, 1);
	assert_int_equal(facts.blocks[0].record.addr, 0x3000);
}

/* The block that had been in the memory of one in use. */
static void before(void **state)
{
	const size_t whole_size = sizeof(struct auxtap_crash_block);

	(void)state;
	add_block(AUXTAP_BLOCK_BEFORE, 0x1000, whole_size); /* of none */
	add_block(0, 0x1000, whole_size);
	add_block(AUXTAP_BLOCK_BEFORE, 0x1018, whole_size); /* right after it */
	add_block(AUXTAP_BLOCK_BEFORE, 0xfe8, whole_size);  /* right before it */
	assert_int_equal(facts.nr_blocks, 1);
	assert_int_equal(facts.blocks[0].before.size, 0);
	add_block(AUXTAP_BLOCK_BEFORE, 0x1010, whole_size);
	assert_int_equal(facts.blocks[0].before.addr, 0x1010);
	add_block(AUXTAP_BLOCK_FREED, 0x2000, whole_size);
	add_block(AUXTAP_BLOCK_BEFORE, 0x2000, whole_size);
	assert_int_equal(facts.nr_blocks, 2);
	assert_int_equal(facts.blocks[1].before.size, 0);
}

/* A fault at an address, by a pointer that was read from 'origin'; rdx is in the block, too. */
static bool shows_before(uint64_t addr, uint64_t origin)
{
	struct report_origin from = {.kind = origin ? REPORT_ORIGIN_READ : REPORT_ORIGIN_UNKNOWN,
				     .has_addr = origin != 0,
				     .addr = origin};
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64, .valid = 1ull << AUXTAP_X86_DX};
	const struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	const size_t whole_size = sizeof(struct auxtap_crash_block);
	struct unwind_frames frames = {.nr = 0};
	struct report_out ro = {.pid = 1};
	bool shown;

	start(NULL);
	assert_int_equal(auxtap_image_set_new(&ro.images, &opts, NULL), 0);
	add_block(0, 0x1000, whole_size);
	add_block(AUXTAP_BLOCK_BEFORE, 0x1010, whole_size);
	facts.crash.signo = SIGSEGV;
	facts.crash.si_code = SEGV_ACCERR;
	facts.crash.fault_addr = addr;
	facts.crash.flags = addr ? AUXTAP_CRASH_ADDR_VALID : 0;
	regs.reg[AUXTAP_X86_DX] = 0x1014;
	report_blocks_choose(&ro, &facts, &regs, "movl (%rdx), %eax", &frames, &from);
	assert_int_equal(facts.nr_blocks, 1);
	shown = facts.blocks[0].before.size;
	auxtap_image_set_free(ro.images);
	report_facts_free(&facts);
	return shown;
}

/* It is shown if the pointer that the fault is about would be in it. */
static void before_a_pointer(void **state)
{
	(void)state;
	assert_false(shows_before(0, 0));
	assert_true(shows_before(0x1010, 0));
	assert_true(shows_before(0, 0x1010));
	assert_true(shows_before(0x5000, 0x1017));
	assert_false(shows_before(0x5000, 0x100f));
	assert_false(shows_before(0x100f, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, start, end),
		cmocka_unit_test_setup_teardown(damaged, start, end),
		cmocka_unit_test_setup_teardown(too_many, start, end),
		cmocka_unit_test_setup_teardown(overruns, start, end),
		cmocka_unit_test_setup_teardown(before, start, end),
		cmocka_unit_test(before_a_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
