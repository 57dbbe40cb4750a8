// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thousands of queues in one file: their events come in order of time, and memory does not grow
 * with their number.
 */
#include "support_pt.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define NR_QUEUES 3001 /* a prime: every step visits all of them */
#define SEGMENTS  2
#define NR_BYTES  (NR_QUEUES * 2ul * 1024)

static char dir[] = "/tmp/auxtap-queues-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int leave(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static void psb_at(struct pt_bytes *pt, uint32_t tsc)
{
	char hex[32];

	pt_raw(pt, "02820282028202820282028202820282");
	snprintf(hex, sizeof(hex), "19%02x%02x%02x%02x000000", tsc & 0xff, tsc >> 8 & 0xff,
		 tsc >> 16 & 0xff, tsc >> 24);
	if (tsc)
		pt_raw(pt, hex);
	pt_raw(pt, "9901");
	pt_fup(pt, 0x1010);
	pt_raw(pt, "0223");
}

/*
 * Each starts at its own time, and continues after the next ones have started. timed false: no
 * times.
 */
static void write_trace(const char *path, bool per_cpu, bool timed)
{
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr), .sample_id_all = 1};
	uint64_t info[AUXTAP_PT_INFO_NR] = {0};
	struct auxtap_perfdata_writer *w;
	int index;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	info[AUXTAP_PT_INFO_PMU_TYPE] = 8;
	info[AUXTAP_PT_INFO_TIME_MULT] = 1;
	info[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1;
	info[AUXTAP_PT_INFO_PER_CPU_MMAPS] = per_cpu;
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	index = auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u");
	assert_int_equal(auxtap_perfdata_writer_add_id(w, index, 1), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
	for (uint32_t i = 0; i < NR_QUEUES; i++) {
		uint32_t n = (uint32_t)((uint64_t)i * 1000 % NR_QUEUES);
		struct auxtap_auxtrace head = {.idx = i, .tid = 100 + n, .cpu = UINT32_MAX};
		struct pt_bytes pt = {.nr = 0};

		if (per_cpu) {
			head.cpu = n;
			head.tid = UINT32_MAX;
		}
		for (uint32_t s = 0; s < SEGMENTS; s++) {
			psb_at(&pt, timed ? 1000 + 100 * n + 350 * s : 0);
			pt_tip(&pt, 0x1009);
			pt_tip(&pt, 0x1010);
		}
		assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, pt.at, pt.nr, NULL, 0,
								 NULL),
				 0);
	}
	assert_int_equal(auxtap_perfdata_writer_round(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
}

static unsigned long rss_anon(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %lu", &kib);
	fclose(f);
	return kib * 1024;
}

static void in_order(bool per_cpu, bool timed, unsigned int jobs)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .events = AUXTAP_EVENT_RETURN,
					  .jobs = jobs};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	unsigned long nr = 0, before, most = 0;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint64_t time = 0;
	char path[64], code[64];
	int32_t who = -1;

	snprintf(path, sizeof(path), "%s/data", dir);
	snprintf(code, sizeof(code), "%s/code", dir);
	unlink(path);
	write_trace(path, per_cpu, timed);
	pt_write_program(code);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	malloc_trim(0); /* what an earlier case has freed is not there to be used again */
	before = rss_anon();
	assert_int_not_equal(before, 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		int32_t by = per_cpu ? ev.cpu : ev.tid;

		assert_true(ev.time > time || (ev.time == time && (per_cpu || by >= who)));
		assert_true(!timed || (ev.time >= 1000 && ev.time < 1000 + 100 * NR_QUEUES + 350));
		time = ev.time;
		who = by;
		if (!(nr++ % 512) && rss_anon() > before + most)
			most = rss_anon() - before;
	}
	assert_int_equal(nr, NR_QUEUES * SEGMENTS);
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* the kernel counts pages of a thread in batches: few may be none */
	assert_true(most <= NR_BYTES * (per_cpu && !timed ? 10 : 3));
#endif
}

static void threads_by_time(void **state)
{
	(void)state;
	in_order(false, true, 1);
	in_order(false, true, 3);
}

/* The ties: by tid. */
static void threads_without_time(void **state)
{
	(void)state;
	in_order(false, false, 1);
	in_order(false, false, 3);
}

static void cpus(void **state)
{
	(void)state;
	in_order(true, true, 1);
	in_order(true, true, 3);
	/* all are equal: all are open at the same time */
	in_order(true, false, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_by_time),
		cmocka_unit_test(threads_without_time),
		cmocka_unit_test(cpus),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
