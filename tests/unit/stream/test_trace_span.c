// SPDX-License-Identifier: BSD-2-Clause
/* Which bytes of some spans are in none of others. */
#include "decode/stream/trace_span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static char found[256];

static void note(void *ctx, const struct trace_span *span, uint64_t first, uint64_t nr, bool at_end)
{
	size_t len = strlen(found);

	assert_ptr_equal(ctx, found);
	snprintf(found + len, sizeof(found) - len, "%s:%u+%u%s ", (const char *)span->of,
		 (unsigned int)first, (unsigned int)nr, at_end ? "$" : "");
}

static const char *uncovered(struct trace_span *spans, size_t nr, struct trace_span *others,
			     size_t nr_others)
{
	found[0] = '\0';
	trace_spans_sort(spans, nr);
	trace_spans_sort(others, nr_others);
	trace_spans_uncovered(spans, nr, others, nr_others, note, found);
	return found;
}

static void test_covered(void **state)
{
	struct trace_span spans[] = {{10, 20, "b"}, {0, 10, "a"}, {20, 40, "c"}};
	struct trace_span whole[] = {{0, 40, NULL}};
	struct trace_span parts[] = {{5, 25, NULL}, {0, 6, NULL}, {25, 40, NULL}};

	(void)state;
	assert_string_equal(uncovered(spans, NR(spans), whole, NR(whole)), "");
	assert_string_equal(uncovered(spans, NR(spans), parts, NR(parts)), "");
	assert_string_equal(uncovered(spans, 0, parts, NR(parts)), "");
}

static void test_uncovered(void **state)
{
	struct trace_span spans[] = {{0, 10, "a"}, {10, 30, "b"}, {30, 50, "c"}};
	struct trace_span holes[] = {{2, 4, NULL}, {6, 7, NULL}, {12, 35, NULL}, {36, 40, NULL}};

	(void)state;
	/* the first byte, and how many of each span; '$' where none of the others comes after */
	assert_string_equal(uncovered(spans, NR(spans), holes, NR(holes)),
			    "a:0+7 b:10+2 c:35+11$ ");
	assert_string_equal(uncovered(spans, NR(spans), holes, 0), "a:0+10$ b:10+20$ c:30+20$ ");
}

/* A long one that began earlier covers what short ones after it do not. */
static void test_overlapping(void **state)
{
	struct trace_span spans[] = {{0, 5, "a"}, {10, 20, "b"}, {15, 30, "c"}};
	struct trace_span others[] = {{0, 18, NULL}, {1, 2, NULL}, {3, 4, NULL}, {50, 60, NULL}};

	(void)state;
	assert_string_equal(uncovered(spans, NR(spans), others, NR(others)), "b:18+2 c:18+12 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_uncovered),
		cmocka_unit_test(test_overlapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
