// SPDX-License-Identifier: BSD-2-Clause
/*
 * AUX records found by ring: which are a CPU's or a thread's, those that name neither, those that
 * were used; what the recorder noted of losses.
 */
#include "decode/stream/trace_aux.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TRUNCATED PERF_AUX_FLAG_TRUNCATED
#define PARTIAL	  PERF_AUX_FLAG_PARTIAL
#define COLLISION PERF_AUX_FLAG_COLLISION

static void add(struct trace_auxes *auxes, int cpu, int32_t tid, uint64_t off, uint64_t size,
		uint64_t flags)
{
	struct trace_aux aux = {.off = off,
				.size = size,
				.flags = flags,
				.cpu = cpu,
				.tid = tid,
				.time = 1000 + auxes->nr};

	assert_int_equal(trace_auxes_add(auxes, &aux), 0);
}

/* ---- one record ---- */

struct record {
	struct perf_event_header header;
	uint64_t v[3];
};

static void test_read(void **state)
{
	struct record body = {{PERF_RECORD_AUX, 0, sizeof(body)}, {0x1000, 0x200, TRUNCATED}};
	struct auxtap_record rec = {.size = sizeof(rec),
				    .header = &body.header,
				    .body_size = sizeof(body.v),
				    .fields = AUXTAP_REC_CPU | AUXTAP_REC_TIME | AUXTAP_REC_PID_TID,
				    .cpu = 3,
				    .pid = 10,
				    .tid = 11,
				    .time = 77};
	struct trace_aux aux;

	(void)state;
	assert_true(trace_aux_read(&aux, &rec));
	assert_int_equal(aux.off, 0x1000);
	assert_int_equal(trace_aux_end(&aux), 0x1200);
	assert_int_equal(aux.flags, TRUNCATED);
	assert_int_equal(aux.cpu, 3);
	assert_int_equal(aux.pid, 10);
	assert_int_equal(aux.tid, 11);
	assert_int_equal(aux.time, 77);
	rec.fields = 0;
	assert_true(trace_aux_read(&aux, &rec));
	assert_int_equal(aux.cpu, -1);
	assert_int_equal(aux.tid, -1);
	assert_int_equal(aux.time, 0);
	/* an end beyond what 64 bits can count */
	body.v[0] = UINT64_MAX - 5;
	assert_true(trace_aux_read(&aux, &rec));
	assert_int_equal(aux.size, 5);
	/* a record without flags */
	rec.body_size = 16;
	assert_false(trace_aux_read(&aux, &rec));
	assert_int_equal(aux.flags, 0);
}

static void test_cause(void **state)
{
	(void)state;
	assert_int_equal(trace_aux_cause(TRUNCATED), AUXTAP_GAP_TRUNCATED);
	assert_int_equal(trace_aux_cause(PARTIAL), AUXTAP_GAP_PARTIAL);
	assert_int_equal(trace_aux_cause(COLLISION | TRUNCATED), AUXTAP_GAP_COLLISION);
	assert_int_equal(trace_aux_cause(PARTIAL | TRUNCATED), AUXTAP_GAP_TRUNCATED);
}

/* ---- sorted ---- */

static void test_sort(void **state)
{
	struct trace_auxes auxes = {0};

	(void)state;
	add(&auxes, 1, 5, 300, 10, 0);
	add(&auxes, 0, 5, 100, 10, 0);
	add(&auxes, 0, 5, 100, 10, 0); /* at another time */
	add(&auxes, 0, 5, 100, 10, 0);
	auxes.list[3].time = auxes.list[2].time; /* saved twice */
	add(&auxes, 0, 5, 50, 10, 0);
	add(&auxes, 0, 5, 50, 10, 0);
	auxes.list[4].time = auxes.list[5].time = 0; /* without a time nothing shows it */
	trace_auxes_sort(&auxes);
	assert_int_equal(auxes.nr, 5);
	assert_int_equal(auxes.list[0].off, 50);
	assert_int_equal(auxes.list[1].off, 50);
	assert_int_equal(auxes.list[2].time, 1001);
	assert_int_equal(auxes.list[3].time, 1002);
	assert_int_equal(auxes.list[4].off, 300);
	trace_auxes_free(&auxes);
}

/* What differs in anything is another record. */
static void test_sort_keeps_others(void **state)
{
	static const struct trace_aux first =
		{.off = 100, .size = 10, .flags = TRUNCATED, .time = 5, .cpu = 1, .tid = 2};
	struct trace_auxes auxes = {0};
	struct trace_aux aux;

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		aux = first;
		aux.size += i == 1;
		aux.flags |= i == 2 ? PARTIAL : 0;
		aux.cpu += i == 3;
		aux.tid += i == 4;
		auxes.nr = 0;
		assert_int_equal(trace_auxes_add(&auxes, &first), 0);
		assert_int_equal(trace_auxes_add(&auxes, &aux), 0);
		trace_auxes_sort(&auxes);
		assert_int_equal(auxes.nr, i ? 2 : 1);
	}
	trace_auxes_free(&auxes);
}

/* ---- of a ring ---- */

/* Offsets as decimal digits of one number, in the order in which they come. */
static uint64_t offsets(struct trace_aux_cursor *c, bool unused)
{
	struct trace_aux *aux;
	uint64_t all = 0;

	while ((aux = trace_auxes_next(c, unused)))
		all = 10 * all + aux->off;
	return all;
}

static void test_cursor(void **state)
{
	struct trace_aux_cursor c;
	struct trace_auxes auxes = {0};

	(void)state;
	trace_auxes_first(&c, &auxes, 0, -1, 0);
	assert_null(trace_auxes_next(&c, true));
	add(&auxes, 0, 100, 1, 1, 0);
	add(&auxes, 1, 101, 2, 1, 0);
	add(&auxes, -1, 100, 3, 1, 0);
	add(&auxes, 0, -1, 4, 1, 0);
	add(&auxes, 1, 100, 5, 1, 0);
	add(&auxes, 0, 101, 6, 1, 0);
	add(&auxes, -1, -7, 7, 1, 0);
	trace_auxes_sort(&auxes);
	assert_int_equal(trace_auxes_index(&auxes), 0);
	trace_auxes_first(&c, &auxes, 0, -1, 0);
	assert_int_equal(offsets(&c, false), 13467);
	trace_auxes_first(&c, &auxes, 0, 101, 3); /* a CPU's: the thread does not matter */
	assert_int_equal(offsets(&c, false), 3467);
	assert_int_equal(trace_auxes_back(&c)->off, 7);
	assert_int_equal(trace_auxes_back(&c)->off, 6);
	assert_int_equal(trace_auxes_next(&c, false)->off, 6);
	for (unsigned int i = 0; i < 4; i++)
		assert_non_null(trace_auxes_back(&c));
	assert_null(trace_auxes_back(&c));
	trace_auxes_first(&c, &auxes, 9, -1, 0);
	assert_int_equal(offsets(&c, false), 37);
	trace_auxes_first(&c, &auxes, -1, 100, 0);
	assert_int_equal(offsets(&c, false), 13457);
	trace_auxes_first(&c, &auxes, -1, -1, 2);
	assert_int_equal(offsets(&c, false), 234567);
	/* those that were used are passed over in each ring */
	auxes.list[2].used = auxes.list[3].used = true;
	trace_auxes_first(&c, &auxes, 0, -1, 0);
	assert_int_equal(offsets(&c, true), 167);
	trace_auxes_first(&c, &auxes, -1, 100, 0);
	assert_int_equal(offsets(&c, true), 157);
	auxes.list[6].used = true;
	trace_auxes_first(&c, &auxes, -1, 100, 0);
	assert_int_equal(offsets(&c, true), 15);
	trace_auxes_first(&c, &auxes, -1, 100, 0);
	assert_int_equal(offsets(&c, false), 13457);
	trace_auxes_free(&auxes);
}

static uint64_t selected(const struct trace_auxes *auxes, bool per_cpu, int32_t key)
{
	const struct trace_aux **found;
	uint64_t all = 0;
	size_t nr;

	assert_int_equal(trace_auxes_select(auxes, per_cpu, key, &found, &nr), 0);
	for (size_t i = 0; i < nr; i++)
		all = 10 * all + found[i]->off;
	free((void *)found);
	return all;
}

static void test_select(void **state)
{
	struct trace_auxes auxes = {0};

	(void)state;
	assert_int_equal(selected(&auxes, true, 0), 0);
	add(&auxes, 0, 100, 5, 0, TRUNCATED);
	add(&auxes, 1, -1, 4, 0, TRUNCATED);
	add(&auxes, 0, 100, 1, 5, TRUNCATED); /* ends last */
	add(&auxes, -1, 101, 3, 0, PARTIAL);
	add(&auxes, 0, 101, 2, 3, PARTIAL); /* ends with the first one, after it in the file */
	assert_int_equal(trace_auxes_index(&auxes), 0);
	assert_int_equal(selected(&auxes, true, 0), 521);
	assert_int_equal(selected(&auxes, true, 1), 4);
	assert_int_equal(selected(&auxes, true, -1), 3);
	assert_int_equal(selected(&auxes, true, 2), 0);
	assert_int_equal(selected(&auxes, false, 100), 451);
	assert_int_equal(selected(&auxes, false, 101), 342);
	assert_int_equal(selected(&auxes, false, 102), 4);
	assert_int_equal(selected(&auxes, false, -1), 4);
	trace_auxes_free(&auxes);
}

/* ---- notes ---- */

static bool note(struct trace_auxes *auxes, enum auxtap_gap_cause cause, int cpu, int32_t tid,
		 uint64_t nr_bytes)
{
	return trace_auxes_add_loss_size(auxes, &(struct auxtap_gap){.cause = cause,
								     .cpu = cpu,
								     .tid = tid,
								     .nr_bytes = nr_bytes,
								     .exact = 1});
}

static void test_notes(void **state)
{
	struct trace_auxes auxes = {0};

	(void)state;
	assert_false(note(&auxes, AUXTAP_GAP_TRUNCATED, 0, -1, 1));
	add(&auxes, 0, 100, 0, 1, TRUNCATED);
	add(&auxes, 0, 101, 0, 1, PARTIAL | TRUNCATED);
	add(&auxes, 1, -1, 0, 1, TRUNCATED);
	add(&auxes, 1, 100, 0, 1, TRUNCATED);
	add(&auxes, 0, 100, 0, 1, COLLISION);
	assert_int_equal(trace_auxes_index(&auxes), 0);
	/* of a thread: its own, and those of a thread that is not named, as they come */
	assert_true(note(&auxes, AUXTAP_GAP_TRUNCATED, 1, 100, 10));
	assert_true(note(&auxes, AUXTAP_GAP_TRUNCATED, 1, 100, 20));
	assert_int_equal(auxes.list[0].nr_lost, 10);
	assert_true(auxes.list[0].exact);
	assert_int_equal(auxes.list[2].nr_lost, 20);
	/* of a CPU */
	assert_true(note(&auxes, AUXTAP_GAP_PARTIAL, 0, -1, 30));
	assert_int_equal(auxes.list[1].nr_lost, 30);
	assert_false(note(&auxes, AUXTAP_GAP_TRUNCATED, 0, -1, 40)); /* both are noted */
	/* of any */
	assert_true(note(&auxes, AUXTAP_GAP_TRUNCATED, -1, -1, 50));
	assert_int_equal(auxes.list[3].nr_lost, 50);
	assert_false(note(&auxes, AUXTAP_GAP_TRUNCATED, -1, -1, 60));
	assert_false(note(&auxes, AUXTAP_GAP_OVERWRITTEN, -1, -1, 60));
	assert_false(note(&auxes, AUXTAP_GAP_COLLISION, -1, 103, 60));
	assert_true(note(&auxes, AUXTAP_GAP_COLLISION, -1, 100, 60));
	assert_int_equal(auxes.list[4].nr_lost, 60);
	trace_auxes_free(&auxes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),   cmocka_unit_test(test_cause),
		cmocka_unit_test(test_sort),   cmocka_unit_test(test_sort_keeps_others),
		cmocka_unit_test(test_cursor), cmocka_unit_test(test_select),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
