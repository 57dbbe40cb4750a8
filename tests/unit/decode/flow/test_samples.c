// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trace in samples (PERF_SAMPLE_AUX): packets and files by hand; what is decoded, to which thread
 * and CPU it belongs, how overlaps are handled, and that unreadable samples are reported.
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

#define SAMPLED                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_AUX)
#define PT_TYPE 9

static char dir[] = "/tmp/auxtap-samples-XXXXXX";
static char path[64], code[64];
static struct auxtap_perfdata_writer *w;

struct record {
	struct perf_event_header header;
	uint8_t body[60000];
};

static void put(struct record *rec, const void *data, size_t size)
{
	assert_true(rec->header.size + size <= sizeof(*rec));
	memcpy((uint8_t *)rec + rec->header.size, data, size);
	rec->header.size = (uint16_t)(rec->header.size + size);
}

static void put_u64(struct record *rec, uint64_t value)
{
	put(rec, &value, 8);
}

static void write_record(const struct record *rec)
{
	assert_int_equal(auxtap_perfdata_writer_record(w, rec, rec->header.size, NULL, 0, NULL), 0);
}

/* Ids 21 and 22 are of the sampled event on CPUs 0 and 1. */
static void begin(uint64_t sample_type)
{
	uint64_t info[AUXTAP_PT_INFO_NR] = {0};
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PT_TYPE, .sample_id_all = 1};
	struct record rec = {.header = {AUXTAP_RECORD_ID_INDEX, 0, 8}};

	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	attr.sample_type = SAMPLED & ~(uint64_t)PERF_SAMPLE_AUX;
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_pt//u"), 0);
	auxtap_perfdata_writer_add_id(w, 0, 11);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.sample_type = sample_type;
	attr.aux_sample_size = 4096;
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "cpu-clock:u"), 1);
	auxtap_perfdata_writer_add_id(w, 1, 21);
	auxtap_perfdata_writer_add_id(w, 1, 22);
	auxtap_perfdata_writer_add_id(w, 1, 23);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	info[AUXTAP_PT_INFO_PMU_TYPE] = PT_TYPE;
	info[AUXTAP_PT_INFO_TIME_MULT] = 1;
	info[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = 1;
	info[AUXTAP_PT_INFO_PER_CPU_MMAPS] = 1;
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_PT, info,
							      AUXTAP_PT_INFO_NR, NULL),
			 0);
	put_u64(&rec, 2);
	for (uint64_t cpu = 0; cpu < 2; cpu++) {
		put_u64(&rec, 21 + cpu);
		put_u64(&rec, cpu);
		put_u64(&rec, cpu);
		put_u64(&rec, (uint64_t)-1);
	}
	write_record(&rec);
}

/* With the fields of SAMPLED; extra: the bytes before the trace. */
static void sample(uint64_t id, uint64_t time, const struct record *extra, const void *trace,
		   uint64_t size, uint64_t said)
{
	struct record rec = {.header = {PERF_RECORD_SAMPLE, 2, 8}};

	put_u64(&rec, id);
	put_u64(&rec, 0x1000);
	put_u64(&rec, 100ull << 32 | 100);
	put_u64(&rec, time);
	if (extra)
		put(&rec, extra->body, extra->header.size);
	put_u64(&rec, said);
	put(&rec, trace, size);
	write_record(&rec);
}

/* On a CPU, by thread 100. */
static void start(uint64_t id, uint64_t time)
{
	struct record rec = {.header = {PERF_RECORD_ITRACE_START, 0, 8}};

	put_u64(&rec, 100ull << 32 | 100);
	put_u64(&rec, 100ull << 32 | 100);
	put_u64(&rec, time);
	put_u64(&rec, id);
	write_record(&rec);
}

static void decode(char *out, size_t size)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .jobs = 1,
					  .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	FILE *f = fmemopen(out, size, "w");
	int ret;

	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, path, &err), 0);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, &err), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, &err), 0);
	while ((ret = auxtap_decoder_next(dec, &ev, &err)) == 1) {
		if (ev.type == AUXTAP_EVENT_INSN)
			fprintf(f, "%d:%" PRIx64 " ", ev.cpu, ev.ip);
		else
			fprintf(f, "%d:%s(%s) ", ev.cpu, auxtap_gap_cause_name(ev.gap->cause),
				ev.text);
	}
	assert_int_equal(ret, 0);
	assert_true(ftell(f) < (long)size - 1);
	fclose(f);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
	unlink(path);
}

static void expect(const char *wanted)
{
	char out[4096] = "";

	decode(out, sizeof(out));
	assert_string_equal(out, wanted);
}

/* 1000, 1001, 1002, by a jump that is not taken 1004, the call, 1010, 1011: the return to 1009. */

static void pt_time(struct pt_bytes *pt, unsigned int time)
{
	char hex[32];

	snprintf(hex, sizeof(hex), "19%02x%02x0000000000", time & 0xff, time >> 8 & 0xff);
	pt_raw(pt, "02820282028202820282028202820282");
	pt_raw(pt, hex);
	pt_raw(pt, "99010223");
}

static void one_round(struct pt_bytes *pt, unsigned int time)
{
	pt_time(pt, time);
	pt_pge(pt, 0x1000);
	pt_tnt(pt, "0");
	pt_tip(pt, 0x1009); /* the return */
	pt_fup(pt, 0x1009);
	pt_pgd(pt);
}

static void loop(struct pt_bytes *pt, unsigned int nr_rounds)
{
	while (nr_rounds--) {
		pt_pge(pt, 0x1000);
		pt_tnt(pt, "0");
		pt_tip(pt, 0x1009);
		pt_fup(pt, 0x1009);
		pt_pgd(pt);
	}
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, word)); text++)
		nr++;
	return nr;
}

/* In a loop packets repeat: only the way a sample continues shows what precedes it. */
static void overlapping_in_a_loop(void **state)
{
	struct pt_bytes pt = {.nr = 0};
	char out[16384] = "";
	size_t first, psb;

	(void)state;
	pt_time(&pt, 100);
	loop(&pt, 15);
	first = pt.nr;
	loop(&pt, 5);
	pt_time(&pt, 200);
	loop(&pt, 5);
	begin(SAMPLED);
	sample(21, 150, NULL, pt.at, first, first);
	sample(21, 250, NULL, pt.at, pt.nr, pt.nr);
	decode(out, sizeof(out));
	assert_int_equal(count(out, "0:1000 "), 25);
	assert_int_equal(count(out, "overwritten"), 1); /* before the first */

	/* it starts and ends in the loop: the number of iterations in between is unknown */
	psb = 35; /* offset of the time */
	begin(SAMPLED);
	sample(21, 150, NULL, pt.at, first, first);
	sample(21, 250, NULL, pt.at + psb, pt.nr - psb, pt.nr - psb);
	memset(out, 0, sizeof(out));
	decode(out, sizeof(out));
	assert_int_equal(count(out, "overwritten"), 2);
	assert_true(count(out, "0:1000 ") >= 20 && count(out, "0:1000 ") <= 25);
}

static void two_cpus(void **state)
{
	struct pt_bytes a = {.nr = 0}, b = {.nr = 0};

	(void)state;
	one_round(&a, 100);
	pt_time(&b, 200);
	pt_pge(&b, 0x100d);
	pt_fup(&b, 0x100f);
	pt_pgd(&b);
	begin(SAMPLED);
	sample(21, 150, NULL, a.at, a.nr, a.nr);
	sample(22, 250, NULL, b.at, b.nr, b.nr);
	expect("0:overwritten(the trace goes on at offset 0x0) 0:1000 0:1001 0:1002 0:1004 0:1010 0:1011 "
	       "1:overwritten(the trace goes on at offset 0x0) 1:100d 1:100e ");
}

/* The second sample starts with the first one's bytes; PAD fills bytes not yet written. */
static void overlapping(void **state)
{
	struct pt_bytes old = {.nr = 0}, both;

	(void)state;
	while (old.nr < 200)
		pt_raw(&old, "00");
	one_round(&old, 100);
	both = old;
	one_round(&both, 200);
	begin(SAMPLED);
	sample(21, 150, NULL, old.at, old.nr, old.nr);
	sample(21, 250, NULL, both.at + 150, both.nr - 150, both.nr - 150);
	expect("0:overwritten(the trace goes on at offset 0xc8) 0:1000 0:1001 0:1002 0:1004 0:1010 0:1011 "
	       "0:1000 0:1001 0:1002 0:1004 0:1010 0:1011 ");
}

static void before_the_trace(void **state)
{
	struct record extra = {.header.size = 0};
	struct pt_bytes a = {.nr = 0};
	uint8_t raw[16] = {9}; /* u32 9, nine bytes, to 8 */

	(void)state;
	/* put() counts from the header: the first 8 bytes of extra are not used */
	extra.header.size = 8;
	put_u64(&extra, 3000000); /* period */
	put_u64(&extra, 2);	  /* call chain of two */
	put_u64(&extra, 0x1000);
	put_u64(&extra, 0x1009);
	put(&extra, raw, sizeof(raw));
	extra.header.size = (uint16_t)(extra.header.size - 8);
	one_round(&a, 100);
	begin(SAMPLED | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW);
	sample(21, 150, &extra, a.at, a.nr, a.nr);
	expect("0:overwritten(the trace goes on at offset 0x0) 0:1000 0:1001 0:1002 0:1004 0:1010 0:1011 ");
}

static void not_read(void **state)
{
	struct pt_bytes a = {.nr = 0};

	(void)state;
	one_round(&a, 100);
	begin(SAMPLED); /* its size is larger than the data */
	sample(21, 150, NULL, a.at, a.nr, a.nr + 64);
	sample(21, 160, NULL, a.at, a.nr, ~0ull);
	sample(21, 170, NULL, a.at, 0, 0); /* G3: nothing lost */
	expect("-1:unknown(the trace in 2 samples is not read: where it lies in the record is not known) ");
	/* an event of a CPU is not that of the thread that it was started in */
	begin(SAMPLED);
	start(23, 90);
	sample(23, 150, NULL, a.at, a.nr, a.nr);
	expect("-1:unknown(the trace in 1 samples is not read: the file does not say whose it is) ");
	begin(SAMPLED | PERF_SAMPLE_STACK_USER);
	sample(21, 150, NULL, a.at, a.nr, a.nr);
	expect("-1:unknown(the trace in 1 samples is not read: where it lies in the record is not known) ");
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/data", dir);
	snprintf(code, sizeof(code), "%s/code", dir);
	pt_write_program(code);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(code);
	return rmdir(dir);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cpus), cmocka_unit_test(overlapping_in_a_loop),
		cmocka_unit_test(overlapping),
		cmocka_unit_test(before_the_trace),
		cmocka_unit_test(not_read),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
