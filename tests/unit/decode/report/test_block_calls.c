// SPDX-License-Identifier: BSD-2-Clause
/* Of the records of who allocated and freed a block, what a damaged file has is left out. */
#include "decode/report/report_facts.h"

#include <setjmp.h>
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
	assert_int_equal(report_facts_add(&facts, AUXTAP_METADATA_BLOCK_CALL, &note, size), 0);
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
	for (int i = 0; i < 4 * AUXTAP_MAX_BLOCKS; i++)
		add(sizeof(note));
	assert_int_equal(facts.nr_block_calls, 3 * AUXTAP_MAX_BLOCKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, start, end),
		cmocka_unit_test_setup_teardown(damaged, start, end),
		cmocka_unit_test_setup_teardown(too_many, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
