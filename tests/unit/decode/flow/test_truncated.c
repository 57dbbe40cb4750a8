// SPDX-License-Identifier: BSD-2-Clause
/*
 * A full area ends inside a packet: the loss there is a truncation with the size that the
 * recorder noted, not an error of the bytes before. If nothing follows, it is an error.
 */
#include "support_pt.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define TID 100

static void record(struct auxtap_perfdata_writer *w, uint64_t off, uint64_t size, uint64_t flags)
{
	struct {
		struct perf_event_header header;
		uint64_t off, size, flags;
		uint32_t pid, tid;
		uint64_t time, id;
	} aux = {{PERF_RECORD_AUX, 0, sizeof(aux)}, off, size, flags, TID, TID, 200, 1};

	assert_int_equal(auxtap_perfdata_writer_record(w, &aux, sizeof(aux), NULL, 0, NULL), 0);
}

static void begin(struct pt_bytes *pt, unsigned int tsc)
{
	char hex[32];

	pt_raw(pt, "02820282028202820282028202820282");
	snprintf(hex, sizeof(hex), "19%02x%02x0000000000", tsc & 0xff, tsc >> 8);
	pt_raw(pt, hex);
	pt_raw(pt, "99010223");
	pt_pge(pt, 0x1010);
}

static bool saved_twice; /* save the first record twice, as stock perf may */

/* The gaps, as lines; flags: of the first buffer's AUX record. */
static void gaps_of(const char *end, bool goes_on, char *out, size_t size)
{
	char dir[] = "/tmp/auxtap-truncated-XXXXXX", path[64], code[64];
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr), .sample_id_all = 1};
	uint64_t info[AUXTAP_PT_INFO_NR] = {[AUXTAP_PT_INFO_PMU_TYPE] = 8,
					    [AUXTAP_PT_INFO_TIME_MULT] = 1,
					    [AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1};
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .jobs = 1,
					  .events = AUXTAP_EVENT_GAP};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_auxtrace head = {.tid = TID, .cpu = UINT32_MAX};
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_TRUNCATED,
				 .cpu = -1,
				 .pid = TID,
				 .tid = TID,
				 .time_begin = 200,
				 .time_end = 300,
				 .nr_bytes = 72,
				 .exact = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct pt_bytes first = {.nr = 0}, second = {.nr = 0};
	struct auxtap_perfdata_writer *w;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	FILE *f = fmemopen(out, size, "w");

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/data", dir);
	snprintf(code, sizeof(code), "%s/code", dir);
	pt_write_program(code);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u"), 0);
	auxtap_perfdata_writer_add_id(w, 0, 1);
	assert_int_equal(auxtap_perfdata_writer_begin(w, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, &err),
			 0);
	begin(&first, 100);
	while ((first.nr + strlen(end) / 2) % 8)
		pt_raw(&first, "00");
	pt_raw(&first, end);
	begin(&second, 300);
	pt_tip(&second, 0x1009);
	for (int i = 0; i < (saved_twice ? 2 : 1); i++)
		record(w, 0, first.nr, goes_on ? PERF_AUX_FLAG_TRUNCATED : 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, first.at, first.nr, NULL, 0,
							 &err),
			 0);
	if (goes_on) {
		head.offset = first.nr;
		record(w, first.nr, second.nr, 0);
		assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, second.at, second.nr,
								 NULL, 0, &err),
				 0);
		auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_GAP, &gap, sizeof(gap));
	}
	assert_int_equal(auxtap_perfdata_writer_finish(w, &err), 0);

	assert_int_equal(auxtap_perfdata_open(&pd, path, &err), 0);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, &err), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, &err), 0);
	while (auxtap_decoder_next(dec, &ev, &err) == 1)
		fprintf(f, "%s %" PRIu64 " %s\n", auxtap_gap_cause_name(ev.gap->cause),
			ev.gap->nr_bytes, ev.gap->exact ? "exact" : "at least");
	fclose(f);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
	unlink(path);
	unlink(code);
	rmdir(dir);
}

static void expect(const char *end, bool goes_on, const char *gaps)
{
	char out[1024] = "";

	gaps_of(end, goes_on, out, sizeof(out));
	assert_string_equal(out, gaps);
}

/* FUP of the return at 1011, then a TIP.PGD of seven bytes, of which one or four are in the file.
 */
static void in_a_packet(void **state)
{
	(void)state;
	expect("3d1110"
	       "61",
	       true, "truncated 72 exact\n");
	expect("3d1110"
	       "61051000",
	       true, "truncated 72 exact\n");
	/* between packets: as always */
	expect("", true, "truncated 72 exact\n");
}

static void reported_twice(void **state)
{
	(void)state;
	saved_twice = true;
	expect("", true, "truncated 72 exact\n");
	saved_twice = false;
}

static void at_the_end_of_all(void **state)
{
	(void)state;
	expect("3d1110"
	       "61",
	       false, "decode_error 0 at least\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_packet),
		cmocka_unit_test(reported_twice),
		cmocka_unit_test(at_the_end_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
