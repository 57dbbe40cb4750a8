// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's last AUX record of a dying thread names no thread. Its loss is a gap of the thread
 * whose event it is, and of no other; without the event's number nothing shows whose it is, and it
 * is a gap of each, which says so, unless there is one thread.
 */
#include "support_pt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define FIRST_TID 100
#define NR	  3
#define UNKNOWN	  (NR + 1)
#define IN_INDEX  (NR + 2)

static struct auxtap_perfdata_writer *w;
static uint64_t time_ns;
static unsigned int nr_threads = NR;
static bool others_lack;       /* of the other threads the file has no trace */
static unsigned int nr_unsure; /* gaps that may be another thread's */

static void start(int32_t tid, uint64_t id)
{
	struct {
		struct perf_event_header header;
		int32_t pid, tid;
		int32_t of_pid, of_tid;
		uint64_t time, id;
	} rec = {{PERF_RECORD_ITRACE_START, 0, sizeof(rec)}, tid, tid, tid, tid, ++time_ns, id};

	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, sizeof(rec), NULL, 0, NULL), 0);
}

static void aux(uint64_t off, uint64_t size, uint64_t flags, int32_t tid, uint64_t id)
{
	struct {
		struct perf_event_header header;
		uint64_t off, size, flags;
		int32_t pid, tid;
		uint64_t time, id;
	} rec = {{PERF_RECORD_AUX, 0, sizeof(rec)}, off, size, flags, tid, tid, ++time_ns, id};

	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, sizeof(rec), NULL, 0, NULL), 0);
}

/* The event of the second thread that no other record has. */
static void put_index(uint64_t id)
{
	struct {
		struct perf_event_header header;
		uint64_t nr, id, idx, cpu, tid;
	} rec = {{AUXTAP_RECORD_ID_INDEX, 0, sizeof(rec)}, 1, id, 0, UINT64_MAX, FIRST_TID + 1};

	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, sizeof(rec), NULL, 0, NULL), 0);
}

/* Threads whose trace goes on after a loss of the second one. */
static void write_file(const char *path, uint64_t id_of_loss)
{
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr), .sample_id_all = 1};
	uint64_t info[AUXTAP_PT_INFO_NR] = {[AUXTAP_PT_INFO_PMU_TYPE] = 8};
	struct pt_bytes pt = {.nr = 0};

	pt_psb(&pt, 0);
	while (pt.nr % 8)
		pt_raw(&pt, "00");
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u"), 0);
	for (uint64_t id = 1; id <= IN_INDEX; id++)
		auxtap_perfdata_writer_add_id(w, 0, id);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
	put_index(IN_INDEX);
	for (unsigned int i = 0; i < nr_threads; i++)
		start(FIRST_TID + (int32_t)i, i + 1);
	for (unsigned int i = 0; i < nr_threads; i++) {
		struct auxtap_auxtrace head = {.tid = FIRST_TID + i, .cpu = UINT32_MAX, .idx = i};

		if (i == nr_threads / 2)
			aux(0, pt.nr, PERF_AUX_FLAG_TRUNCATED, -1, id_of_loss);
		else
			aux(0, pt.nr, 0, FIRST_TID + (int32_t)i, i + 1);
		for (unsigned int k = 0; k < 2 && (!others_lack || i == nr_threads / 2);
		     k++, head.offset += pt.nr)
			assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, pt.at, pt.nr,
									 NULL, 0, NULL),
					 0);
		aux(pt.nr, pt.nr, 0, FIRST_TID + (int32_t)i, i + 1);
	}
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
}

/* The numbers of gaps that the threads have. */
static void gaps(uint64_t id_of_loss, unsigned int nr[NR])
{
	char dir[] = "/tmp/auxtap-dying-XXXXXX", path[64];
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .jobs = 1,
					  .events = AUXTAP_EVENT_GAP};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/data", dir);
	write_file(path, id_of_loss);
	memset(nr, 0, NR * sizeof(*nr));
	nr_unsure = 0;
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		if (others_lack && ev.gap->cause == AUXTAP_GAP_UNKNOWN)
			continue;
		assert_int_equal(ev.gap->cause, AUXTAP_GAP_TRUNCATED);
		assert_in_range(ev.gap->tid, FIRST_TID, FIRST_TID + NR - 1);
		nr[ev.gap->tid - FIRST_TID]++;
		nr_unsure += strstr(ev.text, "names no thread, it may be another's") != NULL;
	}
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
	unlink(path);
	rmdir(dir);
}

static void test_named_by_its_event(void **state)
{
	unsigned int nr[NR];

	(void)state;
	gaps(2, nr);
	assert_int_equal(nr[0], 0);
	assert_int_equal(nr[1], 1);
	assert_int_equal(nr[2], 0);
	assert_int_equal(nr_unsure, 0);
}

static void test_named_by_the_index(void **state)
{
	unsigned int nr[NR];

	(void)state;
	gaps(IN_INDEX, nr);
	assert_int_equal(nr[0], 0);
	assert_int_equal(nr[1], 1);
	assert_int_equal(nr[2], 0);
}

/* No thread has this event. */
static void test_not_named(void **state)
{
	unsigned int nr[NR];

	(void)state;
	gaps(UNKNOWN, nr);
	for (unsigned int i = 0; i < NR; i++)
		assert_int_equal(nr[i], 1);
	assert_int_equal(nr_unsure, NR);
}

static void test_only_thread(void **state)
{
	unsigned int nr[NR];

	(void)state;
	nr_threads = 1;
	gaps(UNKNOWN, nr);
	assert_int_equal(nr[0], 1);
	assert_int_equal(nr_unsure, 0);
	nr_threads = NR;
}

/* Other threads were traced, but the file has none of it: the loss may be one of theirs. */
static void test_others_lack(void **state)
{
	unsigned int nr[NR];

	(void)state;
	others_lack = true;
	gaps(UNKNOWN, nr);
	assert_int_equal(nr[NR / 2], 1);
	assert_int_equal(nr_unsure, 1);
	others_lack = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_by_its_event),
		cmocka_unit_test(test_named_by_the_index),
		cmocka_unit_test(test_not_named),
		cmocka_unit_test(test_only_thread),
		cmocka_unit_test(test_others_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
