// SPDX-License-Identifier: BSD-2-Clause
/*
 * Segments decoded by several threads: state that crosses from one to the next, and the same
 * events for every number of threads.
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

#define FLOW                                                                                  \
	(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC | \
	 AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

/* Every field of an event, one event a line, and the sums. */
static void decode_text(const char *dir, const struct pt_bytes *pt,
			const struct auxtap_decode_opts *opts, char *out, size_t size,
			struct auxtap_decode_summary *sum)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt", .time_mult = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	char code[64], trace[64];
	FILE *f;
	int ret;

	snprintf(code, sizeof(code), "%s/code", dir);
	snprintf(trace, sizeof(trace), "%s/trace", dir);
	pt_write_program(code);
	f = fopen(trace, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(pt->at, 1, pt->nr, f), pt->nr);
	fclose(f);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, &err), 0);
	assert_int_equal(auxtap_decoder_open_raw(&dec, trace, &raw, images, opts, &err), 0);
	f = fmemopen(out, size, "w");
	assert_non_null(f);
	while ((ret = auxtap_decoder_next(dec, &ev, &err)) == 1) {
		fprintf(f, "%" PRIu64 " %x/%d", ev.time, ev.type, ev.kind);
		if (ev.has_ip)
			fprintf(f, " %" PRIx64, ev.ip);
		if (ev.has_addr)
			fprintf(f, " > %" PRIx64, ev.addr);
		fprintf(f, " n%u d%u s%u", ev.nr_insns, ev.depth, ev.insn_size);
		if (ev.type == AUXTAP_EVENT_GAP)
			fprintf(f, " %s %" PRIu64 "..%" PRIu64 " %" PRIu64 " %s",
				auxtap_gap_cause_name(ev.gap->cause), ev.gap->time_begin,
				ev.gap->time_end, ev.gap->nr_bytes, ev.text);
		fputc('\n', f);
	}
	assert_int_equal(ret, 0);
	sum->size = sizeof(*sum);
	assert_int_equal(auxtap_decoder_summary(dec, sum), 0);
	fprintf(f,
		"%" PRIu64 " instructions, %" PRIu64 " branches, %" PRIu64 " gaps, %" PRIu64
		" errors, %" PRIu64 " bytes\n",
		sum->instructions, sum->branches, sum->gaps, sum->errors, sum->bytes);
	assert_true(ftell(f) < (long)size - 1);
	fclose(f);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	unlink(code);
	unlink(trace);
}

static void decode_with(const struct pt_bytes *pt, struct auxtap_decode_opts opts,
			unsigned int jobs, char *out, size_t size)
{
	struct auxtap_decode_summary sum;
	char dir[] = "/tmp/auxtap-segments-XXXXXX";

	assert_non_null(mkdtemp(dir));
	opts.size = sizeof(opts);
	opts.jobs = jobs;
	decode_text(dir, pt, &opts, out, size, &sum);
	rmdir(dir);
}

#define OUT_SIZE (4u << 20)

static void same_lines(const char *one, const char *other)
{
	while (*one && *one == *other) {
		one++;
		other++;
	}
	if (*one || *other)
		fail_msg("'%.200s' instead of '%.200s'", other, one);
}

/* The events of one thread, and the same ones with others. */
static void expect_same(const struct pt_bytes *pt, struct auxtap_decode_opts opts, char *one,
			char *other)
{
	static const unsigned int jobs[] = {2, 5, 0};

	decode_with(pt, opts, 1, one, OUT_SIZE);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		decode_with(pt, opts, jobs[i], other, OUT_SIZE);
		same_lines(one, other);
	}
}

static void expect(const struct pt_bytes *pt, uint32_t events, const char *lines)
{
	struct auxtap_decode_opts opts = {.events = events};
	char *one = malloc(OUT_SIZE), *other = malloc(OUT_SIZE);

	assert_non_null(one);
	assert_non_null(other);
	expect_same(pt, opts, one, other);
	assert_string_equal(one, lines);
	free(one);
	free(other);
}

static void psb_at(struct pt_bytes *pt, unsigned int tsc, const char *mode_tsx, uint64_t ip)
{
	char hex[32];

	pt_raw(pt, "02820282028202820282028202820282");
	if (tsc) {
		snprintf(hex, sizeof(hex), "19%02x%02x0000000000", tsc & 0xff, tsc >> 8 & 0xff);
		pt_raw(pt, hex);
	}
	pt_raw(pt, mode_tsx);
	if (ip) {
		pt_raw(pt, "9901");
		pt_fup(pt, ip);
	}
	pt_raw(pt, "0223");
}

/*
 * MODE.TSX comes first in the PSB+: libipt reports it before the address, and the segment ends
 * without the target of its last branch. The next one's first instruction is the target.
 */
static void branch_over_a_boundary(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	psb_at(&pt, 0, "", 0x1000);
	pt_tnt(&pt, "0");
	psb_at(&pt, 0, "9920", 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, FLOW,
	       "0 2/4 1004 > 1010 n4 d0 s5\n"
	       "0 4/4 1004 > 1010 n0 d1 s5\n"
	       "0 2/6 1011 > 1009 n2 d0 s1\n"
	       "0 8/6 1011 > 1009 n0 d0 s1\n"
	       "6 instructions, 2 branches, 0 gaps, 0 errors, 64 bytes\n");
	/* instructions are counted up to the next reported event */
	expect(&pt, AUXTAP_EVENT_RETURN,
	       "0 8/6 1011 > 1009 n6 d0 s1\n"
	       "6 instructions, 2 branches, 0 gaps, 0 errors, 64 bytes\n");
}

/* A gap that starts in one segment and ends in the next; and both times. */
static void gap_over_a_boundary(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	psb_at(&pt, 100, "", 0x1000);
	pt_tnt(&pt, "1");
	pt_ovf(&pt); /* tracing is off after it */
	psb_at(&pt, 300, "", 0);
	pt_pge(&pt, 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, FLOW,
	       "100 40/0 n3 d0 s0 hw_overflow 100..300 0 the trace unit's buffer overflowed\n"
	       "300 20/0 > 1010 n0 d0 s0\n"
	       "300 2/6 1011 > 1009 n2 d0 s1\n"
	       "300 8/6 1011 > 1009 n0 d0 s1\n"
	       "5 instructions, 1 branches, 1 gaps, 0 errors, 80 bytes\n");
}

/* The next segment's clock is earlier (estimates overshoot): time stays constant instead. */
static void time_never_goes_back(void **state)
{
	struct pt_bytes pt = {.nr = 0};

	(void)state;
	psb_at(&pt, 500, "", 0x1010);
	pt_tip(&pt, 0x1009);
	pt_tip(&pt, 0x1010);
	psb_at(&pt, 400, "", 0x1010);
	pt_tip(&pt, 0x1009);
	pt_tip(&pt, 0x1010);
	psb_at(&pt, 0, "", 0x1010); /* no PSB: continues */
	pt_tip(&pt, 0x1009);
	pt_tip(&pt, 0x1010);
	psb_at(&pt, 600, "", 0x1010);
	pt_tip(&pt, 0x1009);
	expect(&pt, AUXTAP_EVENT_RETURN,
	       "500 8/6 1011 > 1009 n2 d0 s1\n500 8/6 1011 > 1009 n3 d0 s1\n"
	       "500 8/6 1011 > 1009 n3 d0 s1\n600 8/6 1011 > 1009 n3 d0 s1\n"
	       "11 instructions, 7 branches, 0 gaps, 0 errors, 181 bytes\n");
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

/* Packets in any order, segments of any length; most of it is valid. */
static void any_trace(struct pt_bytes *pt, uint32_t *seed)
{
	static const uint64_t ips[] = {0x1000, 0x1004, 0x1009, 0x100d,
				       0x1010, 0x1012, 0x5000, 0x100b};
	static const char *const bits[] = {"1", "0", "1110", "111111", "10"};
	unsigned int tsc = 0;

	pt->nr = 0;
	while (pt->nr < sizeof(pt->at) - 128) {
		uint64_t ip = ips[random_next(seed) % 8];

		switch (random_next(seed) % 12) {
		case 0:
			tsc += random_next(seed) % 64;
			psb_at(pt, random_next(seed) % 4 ? 1000 + tsc - random_next(seed) % 32 : 0,
			       random_next(seed) % 4 ? "" : "9920", random_next(seed) % 3 ? ip : 0);
			break;
		case 1:
			pt_pgd(pt);
			break;
		case 2:
			pt_pge(pt, ip);
			break;
		case 3:
			pt_fup(pt, ip);
			break;
		case 4:
			if (!(random_next(seed) % 4))
				pt_ovf(pt);
			break;
		case 5:
			if (!(random_next(seed) % 16))
				pt_raw(pt, "02ff02ff");
			break;
		case 6:
		case 7:
			/* returns to after the call, and from there anywhere */
			pt_tip(pt, 0x1009);
			pt_tip(pt, ip);
			break;
		case 8:
			pt_tip(pt, ip);
			break;
		default:
			pt_tnt(pt, bits[random_next(seed) % 5]);
			break;
		}
	}
}

static void any_number_of_threads(void **state)
{
	static const uint32_t masks[] = {FLOW, FLOW | AUXTAP_EVENT_INSN,
					 AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP, AUXTAP_EVENT_CALL,
					 AUXTAP_EVENT_GAP};
	char *one = malloc(OUT_SIZE), *other = malloc(OUT_SIZE);
	size_t longest = 0;
	uint32_t seed = 1;

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	for (int i = 0; i < 40; i++) {
		struct auxtap_decode_opts opts = {.events = masks[i % 5]};
		struct pt_bytes pt;

		if (i % 3 == 1)
			opts.time_start = 1100 + random_next(&seed) % 100;
		if (i % 4 == 2)
			opts.time_stop = 1300 + random_next(&seed) % 100;
		any_trace(&pt, &seed);
		expect_same(&pt, opts, one, other);
		longest = strlen(one) > longest ? strlen(one) : longest;
	}
	assert_true(longest > 50000); /* it decoded something */
	free(one);
	free(other);
}

static unsigned int nr_lines(const char *text)
{
	unsigned int nr = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		nr++;
	}
	return nr;
}

/* With fewer events the sums are the same. */
static void only_the_summary(void **state)
{
	static const uint32_t masks[] = {AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_TRACE,
					 AUXTAP_EVENT_BRANCH, FLOW, AUXTAP_EVENT_TRACE};
	char *one = malloc(OUT_SIZE), *other = malloc(OUT_SIZE);
	unsigned int nr_events = 0, nr_left = 0;
	char dir[] = "/tmp/auxtap-segments-XXXXXX";
	uint32_t seed = 1;

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	assert_non_null(mkdtemp(dir));
	for (unsigned int i = 0; i < 40; i++) {
		struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = masks[i % 4]};
		struct auxtap_decode_summary all = {0}, only = {0};
		struct pt_bytes pt;

		if (i % 3 == 1)
			opts.time_start = 1100 + random_next(&seed) % 100;
		if (i % 5 == 2)
			opts.time_stop = 1300 + random_next(&seed) % 100;
		any_trace(&pt, &seed);
		decode_text(dir, &pt, &opts, one, OUT_SIZE, &all);
		opts.only_summary = true;
		decode_text(dir, &pt, &opts, other, OUT_SIZE, &only);
		assert_memory_equal(&all, &only, sizeof(all));
		assert_true(all.instructions && all.threads);
		if (masks[i % 4] == AUXTAP_EVENT_BRANCH) {
			nr_events += nr_lines(one);
			nr_left += nr_lines(other);
		}
	}
	assert_true(nr_left < nr_events * 3 / 4);
	rmdir(dir);
	free(one);
	free(other);
}

/* Times: none, then two, all in one segment. */
static void summary_of_times(void **state)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = AUXTAP_EVENT_BRANCH};
	static const char *const times[] = {"", "196400000000000000", "196500000000000000"};
	struct auxtap_decode_summary sum;
	char dir[] = "/tmp/auxtap-segments-XXXXXX";
	struct pt_bytes pt = {.nr = 0};
	char text[4096];

	(void)state;
	assert_non_null(mkdtemp(dir));
	psb_at(&pt, 0, "", 0x1010);
	for (size_t i = 0; i < 3; i++) {
		pt_raw(&pt, times[i]);
		for (unsigned int k = 0; k < 4; k++) {
			pt_tip(&pt, 0x1009);
			pt_tip(&pt, 0x1010);
		}
	}
	for (unsigned int only = 0; only < 2; only++) {
		opts.only_summary = only;
		decode_text(dir, &pt, &opts, text, sizeof(text), &sum);
		assert_int_equal(sum.branches, 24);
		assert_int_equal(sum.time_begin, 100);
		assert_int_equal(sum.time_end, 101);
		assert_int_equal(nr_lines(text), only ? 11 : 25);
	}
	rmdir(dir);
}

/* A reader that stops in the middle leaks no thread and no memory. */
static void closed_early(void **state)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = FLOW, .jobs = 3};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char dir[] = "/tmp/auxtap-segments-XXXXXX", code[64], trace[64];
	struct auxtap_image_set *images;
	struct pt_bytes pt;
	uint32_t seed = 7;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(code, sizeof(code), "%s/code", dir);
	snprintf(trace, sizeof(trace), "%s/trace", dir);
	pt_write_program(code);
	any_trace(&pt, &seed);
	f = fopen(trace, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(pt.at, 1, pt.nr, f), pt.nr);
	fclose(f);
	for (int nr = 0; nr < 200; nr += 7) {
		struct auxtap_decoder *dec;
		struct auxtap_event ev = {.size = sizeof(ev)};

		assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
		assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, &err),
				 0);
		assert_int_equal(auxtap_decoder_open_raw(&dec, trace, &raw, images, &opts, &err),
				 0);
		for (int i = 0; i < nr; i++)
			assert_int_equal(auxtap_decoder_next(dec, &ev, &err), 1);
		auxtap_decoder_close(dec);
		auxtap_image_set_free(images);
	}
	unlink(code);
	unlink(trace);
	rmdir(dir);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branch_over_a_boundary),
		cmocka_unit_test(gap_over_a_boundary),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(any_number_of_threads),
		cmocka_unit_test(only_the_summary),
		cmocka_unit_test(summary_of_times),
		cmocka_unit_test(closed_early),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
