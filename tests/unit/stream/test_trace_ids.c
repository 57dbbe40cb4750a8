// SPDX-License-Identifier: BSD-2-Clause
/* Events by identifier: several times the same, many. */
#include "decode/stream/trace_ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static void add(struct trace_ids *ids, uint64_t id, int cpu, int32_t tid)
{
	const struct auxtap_perfdata_id event = {id, cpu, tid};

	assert_int_equal(trace_ids_add(ids, &event), 0);
}

static void expect(const struct trace_ids *ids, uint64_t id, int cpu, int32_t tid)
{
	const struct auxtap_perfdata_id *found = trace_ids_find(ids, id);

	assert_non_null(found);
	assert_int_equal(found->id, id);
	assert_int_equal(found->cpu, cpu);
	assert_int_equal(found->tid, tid);
}

/* The first word counts; only a missing thread is filled in. */
static void test_again(void **state)
{
	struct trace_ids ids = {0};

	(void)state;
	add(&ids, 41, -1, 700);
	add(&ids, 41, 3, 701);
	expect(&ids, 41, -1, 700);
	add(&ids, 42, 3, -1);
	add(&ids, 42, 4, 702);
	expect(&ids, 42, 3, 702);
	add(&ids, 0, 1, 1);
	assert_null(trace_ids_find(&ids, 0));
	trace_ids_free(&ids);
}

/* Many: the table grows, and none is lost. */
static void test_many(void **state)
{
	struct trace_ids ids = {0};

	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		add(&ids, i << (i & 31), (int)i, -1);
	for (uint64_t i = 1; i <= 5000; i++) {
		const struct auxtap_perfdata_id *found = trace_ids_find(&ids, i << (i & 31));

		assert_non_null(found);
		assert_int_equal(found->id, i << (i & 31));
	}
	assert_true(ids.nr * 2 <= ids.index.nr_slots);
	trace_ids_free(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
