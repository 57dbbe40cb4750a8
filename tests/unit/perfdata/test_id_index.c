// SPDX-License-Identifier: BSD-2-Clause
/* ID_INDEX records: numbers out of range, records that say more than they have, several in a file.
 */
#include "perfdata/id_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static void expect(const struct auxtap_perfdata_id *got, uint64_t id, int cpu, int32_t tid)
{
	assert_int_equal(got->id, id);
	assert_int_equal(got->cpu, cpu);
	assert_int_equal(got->tid, tid);
}

static void test_entries(void **state)
{
	static const struct {
		struct perf_event_header header;
		/* number; identifier, number of the ring, CPU, thread */
		uint64_t nr, entries[5][4];
	} body = {{AUXTAP_RECORD_ID_INDEX, 0, sizeof(body)},
		  5,
		  {{11, 0, 0, UINT64_MAX},
		   {12, 1, 5, 700},
		   {13, 2, UINT64_MAX, INT32_MAX},
		   {14, 3, INT32_MAX, 0},
		   {15, 4, 1ull << 31, 1ull << 32}}};
	static const struct auxtap_perfdata_id wanted[] = {
		{11, 0, -1}, {12, 5, 700}, {13, -1, INT32_MAX}, {14, INT32_MAX, 0}, {15, -1, -1},
	};
	const struct auxtap_record rec = {.header = &body.header,
					  .body_size = sizeof(body) - sizeof(body.header)};

	(void)state;
	assert_int_equal(id_index_entries(&rec), NR(wanted));
	for (size_t i = 0; i < NR(wanted); i++) {
		struct auxtap_perfdata_id got = id_index_entry(&rec, i);

		expect(&got, wanted[i].id, wanted[i].cpu, wanted[i].tid);
	}
}

/* The smaller one of the number in the record and what there is space for. */
static void test_sizes(void **state)
{
	static struct {
		struct perf_event_header header;
		uint64_t nr, entries[3][4];
	} body = {.header = {AUXTAP_RECORD_ID_INDEX, 0, sizeof(body)}};
	static const uint64_t numbers[] = {0, 2, 3, 4, 0x800000000000000, UINT64_MAX};
	struct auxtap_record rec = {.header = &body.header};

	(void)state;
	for (size_t i = 0; i < NR(numbers); i++) {
		body.nr = numbers[i];
		for (rec.body_size = 0; rec.body_size <= sizeof(body) - 8; rec.body_size++) {
			size_t fit = rec.body_size < 8 ? 0 : (rec.body_size - 8) / 32;

			assert_int_equal(id_index_entries(&rec),
					 numbers[i] < fit ? numbers[i] : fit);
		}
	}
}

/* Of all records of a file, in its order; the sorted records do not contain them. */
static void test_file(void **state)
{
	struct {
		struct perf_event_header header;
		uint64_t nr, entries[2][4];
	} rec = {{AUXTAP_RECORD_ID_INDEX, 0, sizeof(rec)}, 2, {{0}}};
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr)};
	char path[] = "/tmp/auxtap-ids-XXXXXX";
	const struct auxtap_perfdata_id *ids;
	struct auxtap_perfdata_writer *w;
	struct auxtap_perfdata *pd;
	struct auxtap_record got = {.size = sizeof(got)};
	size_t nr;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	for (uint64_t id = 30; id < 50; id += 2) {
		for (unsigned int i = 0; i < 2; i++) {
			rec.entries[i][0] = id + i;
			rec.entries[i][2] = UINT64_MAX;
			rec.entries[i][3] = 100 + id + i;
		}
		assert_int_equal(auxtap_perfdata_writer_record(w, &rec, sizeof(rec), NULL, 0, NULL),
				 0);
	}
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_ids(pd, &ids, &nr, NULL), 0);
	assert_int_equal(nr, 20);
	for (uint64_t i = 0; i < nr; i++)
		expect(&ids[i], 30 + i, -1, (int32_t)(130 + i));
	while (auxtap_perfdata_next_sorted(pd, &got, NULL) == 1)
		assert_int_not_equal(got.header->type, AUXTAP_RECORD_ID_INDEX);
	auxtap_perfdata_close(pd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
