// SPDX-License-Identifier: BSD-2-Clause
/*
 * A real ETE trace packed into cs_etm files in every way that perf uses: however the AUX and
 * AUXTRACE records are cut, raw or in frames, the flow is that of the original snapshot, which is
 * the model's own log; missing trace is a gap with its bytes.
 */
#include <auxtap/decode.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "decode/dump/dump_private.h"

#define NR_INSNS  5146
#define CPU	  3
#define TID	  4242
#define ID_UNUSED 0x80000000u

static char snapshot[512];
static char data[64];
static uint8_t trace[4096];
static size_t nr_trace;
static uint64_t truth[NR_INSNS];

struct seen {
	uint64_t ips[NR_INSNS + 1000];
	size_t nr;
	struct auxtap_gap gaps[8];
	size_t nr_gaps;
	int32_t tid;
	int cpu;
};

static struct seen seen;

static void drain(struct auxtap_decoder *dec)
{
	struct auxtap_event ev = {.size = sizeof(ev)};

	memset(&seen, 0, sizeof(seen));
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		if (ev.type == AUXTAP_EVENT_INSN) {
			assert_true(seen.nr < sizeof(seen.ips) / sizeof(seen.ips[0]));
			assert_int_equal(ev.insn_size, 4);
			assert_int_equal(ev.isa, AUXTAP_ISA_A64);
			seen.ips[seen.nr++] = ev.ip;
			seen.tid = ev.tid;
			seen.cpu = ev.cpu;
		} else if (seen.nr_gaps < 8) {
			seen.gaps[seen.nr_gaps++] = *ev.gap;
		}
	}
	auxtap_decoder_close(dec);
}

static const struct auxtap_decode_opts opts = {.size = sizeof(opts),
					       .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};

static void decode_file(void)
{
	static const struct {
		const char *name;
		uint64_t addr;
	} dumps[] = {{"OTHERS_exec", 0x10000},		 {"code_9_0_exec", 0x1000000},
		     {"VAL_NON_DET_CODE_exec", 0x90000}, {"code_a_1_exec", 0x1000090},
		     {"code_b_0_exec", 0x10000ac},	 {"checkpoint_c_0_exec", 0x2f00000}};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	char path[640];

	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		snprintf(path, sizeof(path), "%s/bindir/%s", snapshot, dumps[i].name);
		assert_int_equal(auxtap_image_set_add_file(images, path, 0, 0, dumps[i].addr, NULL),
				 0);
	}
	assert_int_equal(auxtap_perfdata_open(&pd, data, NULL), 0);
	if (auxtap_decoder_open(&dec, pd, images, &opts, &err))
		fail_msg("%s: %s", err.what, err.why);
	drain(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
}

/* ---- writing files ---- */

struct out {
	struct auxtap_perfdata_writer *w;
};

static bool as_snapshot; /* --snapshot was given */

static void begin(struct out *out, uint32_t id_register)
{
	struct perf_event_attr attr = {.type = 8, .size = sizeof(attr), .sample_id_all = 1};
	const uint64_t info[] = {1, 8ull << 32 | 1, as_snapshot, 0x5050505050505050, CPU, 9,
				 /* TRCCONFIGR, TRCTRACEIDR, TRCIDR0, 1, 2, 8, TRCAUTHSTATUS */
				 0x1, id_register, 0x8000aa1, 0x4100fff0, 0xc0001088, 0, 0,
				 0x47705a13, UINT64_MAX};
	int index;

	attr.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	unlink(data);
	assert_int_equal(auxtap_perfdata_writer_create(&out->w, data, NULL), 0);
	index = auxtap_perfdata_writer_add_attr(out->w, &attr, "cs_etm//u");
	assert_int_equal(auxtap_perfdata_writer_add_id(out->w, index, 1), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(out->w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(out->w, AUXTAP_AUXTRACE_CS_ETM, info,
							      sizeof(info) / sizeof(info[0]), NULL),
			 0);
}

static void record(struct out *out, uint32_t type, const uint64_t *v, size_t nr)
{
	struct {
		struct perf_event_header header;
		uint64_t v[8];
	} rec = {.header = {.type = type, .size = (uint16_t)(8 + 8 * (nr + 4))}};

	memcpy(rec.v, v, nr * 8);
	rec.v[nr] = (uint64_t)TID << 32 | TID;
	rec.v[nr + 1] = 1000;
	rec.v[nr + 2] = CPU;
	rec.v[nr + 3] = 1;
	assert_int_equal(auxtap_perfdata_writer_record(out->w, &rec, rec.header.size, NULL, 0,
						       NULL),
			 0);
}

static void aux(struct out *out, uint64_t off, uint64_t size, uint64_t flags)
{
	const uint64_t v[] = {off, size, flags};

	record(out, PERF_RECORD_AUX, v, 3);
}

static void auxtrace(struct out *out, uint64_t off, const void *bytes, size_t size)
{
	struct auxtap_auxtrace head = {.offset = off, .cpu = CPU, .tid = UINT32_MAX};

	assert_int_equal(auxtap_perfdata_writer_auxtrace(out->w, &head, bytes, size, NULL, 0, NULL),
			 0);
}

static void finish(struct out *out)
{
	assert_int_equal(auxtap_perfdata_writer_round(out->w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(out->w, NULL), 0);
}

#define RAW 0x100

/* One frame: an ID, then up to 14 bytes of its trace, then zeros of ID 0. */
static size_t frame(uint8_t *f, uint8_t id, const uint8_t *bytes, size_t nr)
{
	size_t took = 0;
	unsigned int i;

	memset(f, 0, 16);
	f[0] = (uint8_t)(id << 1 | 1);
	for (i = 1; i < 15 && took < nr; i++) {
		if (i % 2 == 0 && took + 1 == nr && nr < 14) {
			/* the rest has ID 0: the ID changes after the next byte */
			f[i] = 1;
			f[15] |= (uint8_t)(1 << (i / 2));
			f[i + 1] = bytes[took++];
			return took;
		}
		f[i] = bytes[took];
		if (i % 2 == 0) {
			f[15] |= (uint8_t)((bytes[took] & 1) << (i / 2));
			f[i] &= 0xfe;
		}
		took++;
	}
	if (i < 15 && i % 2 == 0)
		f[i] = 1;
	return took;
}

static size_t frames(uint8_t *out, uint8_t id, const uint8_t *bytes, size_t nr)
{
	size_t at = 0, size = 0;

	for (; at < nr; size += 16)
		at += frame(out + size, id, bytes + at, nr - at);
	return size;
}

static void same_flow(size_t nr)
{
	assert_int_equal(seen.nr, nr);
	assert_memory_equal(seen.ips, truth, nr * sizeof(truth[0]));
	assert_int_equal(seen.tid, TID);
	assert_int_equal(seen.cpu, CPU);
}

/* Number of lines of the listing with this text. */
static size_t listed(const char *words)
{
	const struct dump_opts how = {.out = tmpfile(), .packets = true};
	struct auxtap_perfdata *pd;
	char line[512];
	size_t nr = 0;

	assert_non_null(how.out);
	assert_int_equal(auxtap_perfdata_open(&pd, data, NULL), 0);
	assert_int_equal(dump_perfdata(pd, &how, NULL), 0);
	auxtap_perfdata_close(pd);
	rewind(how.out);
	while (fgets(line, sizeof(line), how.out))
		nr += strstr(line, words) != NULL;
	fclose(how.out);
	return nr;
}

/* ---- tests ---- */

/* perf pads to 8: 921 bytes are in the record as 928 */
static void raw_in_one(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 0, nr_trace, RAW);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

/*
 * The reader ran between an end and the next begin, which skips 61 bytes of TRBE's padding: these
 * are in an AUXTRACE record of their own, followed by perf's padding to 64, and no AUX record
 * covers either.
 */
static void padding_of_its_own(void **state)
{
	uint8_t ignored[61];
	struct out out;
	size_t nr_on;

	(void)state;
	memset(ignored, 0x70, sizeof(ignored));
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 0, nr_trace, RAW);
	finish(&out);
	assert_int_equal(listed("I_INCOMPLETE_EOT"), 0);
	nr_on = listed("I_TRACE_ON");
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 0, nr_trace, RAW);
	auxtrace(&out, nr_trace, ignored, sizeof(ignored));
	finish(&out);
	assert_int_equal(listed("I_IGNORE"), sizeof(ignored));
	assert_int_equal(listed("I_INCOMPLETE_EOT"), 0);
	/* bytes that may be trace are listed */
	ignored[60] = 0;
	ignored[59] = 4;
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 0, nr_trace, RAW);
	auxtrace(&out, nr_trace, ignored, sizeof(ignored));
	finish(&out);
	assert_int_equal(listed("I_IGNORE"), sizeof(ignored) - 2);
	assert_int_equal(listed("I_TRACE_ON"), nr_on + 1);
}

/*
 * Zeros at the end of one AUXTRACE record that the next one continues are trace, whether or not an
 * AUX record covers them: here none does.
 */
static void zeros_in_the_middle(void **state)
{
	struct out out;

	(void)state;
	assert_int_equal(trace[7], 0);
	begin(&out, 2);
	auxtrace(&out, 0, trace, 8); /* of the first 11 of an I_ASYNC */
	auxtrace(&out, 8, trace + 8, nr_trace - 8);
	finish(&out);
	decode_file();
	assert_int_equal(seen.nr, NR_INSNS); /* of unknown thread */
	assert_memory_equal(seen.ips, truth, sizeof(truth));
	assert_int_equal(seen.nr_gaps, 0);
}

/* Contiguous AUX records, cut in the middle of packets, in one AUXTRACE record. */
static void several_aux_in_one_auxtrace(void **state)
{
	static const uint64_t cuts[] = {0, 1, 100, 333, 334, 500, 921};
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	for (size_t i = 0; i + 1 < sizeof(cuts) / sizeof(cuts[0]); i++)
		aux(&out, cuts[i], cuts[i + 1] - cuts[i], RAW);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

/* The same over two AUXTRACE records; the first has padding in the middle of the stream. */
static void several_auxtraces(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, 501);
	aux(&out, 0, 501, RAW);
	auxtrace(&out, 501, trace + 501, nr_trace - 501);
	aux(&out, 501, nr_trace - 501, RAW);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

static void half_is_missing(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, 504);
	aux(&out, 0, 504, RAW);
	aux(&out, 504, nr_trace - 504, RAW);
	finish(&out);
	decode_file();
	assert_in_range(seen.nr, 1000, NR_INSNS - 500);
	same_flow(seen.nr);
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_UNKNOWN);
	assert_int_equal(seen.gaps[0].nr_bytes, nr_trace - 504);
	assert_true(seen.gaps[0].exact);
}

/* In frames, with trace of an unknown unit in between. */
static void framed_with_a_foreign_id(void **state)
{
	uint8_t buf[4096], foreign[140];
	size_t at = 0, size;
	struct out out;

	(void)state;
	memset(foreign, 0x55, sizeof(foreign));
	size = frames(buf, 2, trace, 490); /* 35 complete frames */
	assert_int_equal(size, 35 * 16);
	at = size;
	at += frames(buf + at, 0x33, foreign, sizeof(foreign));
	at += frames(buf + at, 2, trace + 490, nr_trace - 490);
	begin(&out, 2);
	auxtrace(&out, 0, buf, at);
	aux(&out, 0, at, 0);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_UNKNOWN);
	assert_int_equal(seen.gaps[0].nr_bytes, sizeof(foreign));
}

/* The kernel assigns trace IDs during recording: HW_ID records name them. */
static void id_by_record(void **state)
{
	const uint64_t id = 0x41;
	uint8_t buf[4096];
	size_t size = frames(buf, 0x41, trace, nr_trace);
	struct out out;

	(void)state;
	begin(&out, ID_UNUSED | 2);
	record(&out, PERF_RECORD_AUX_OUTPUT_HW_ID, &id, 1);
	auxtrace(&out, 0, buf, size);
	aux(&out, 0, size, 0);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);

	/* without the record the unit is unknown */
	begin(&out, ID_UNUSED | 2);
	auxtrace(&out, 0, buf, size);
	aux(&out, 0, size, 0);
	finish(&out);
	decode_file();
	assert_int_equal(seen.nr, 0);
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].nr_bytes, nr_trace);
}

/* Stock perf may save the same AUX record twice. */
static void reported_twice(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, 501);
	aux(&out, 0, 100, RAW);
	aux(&out, 100, 401, RAW);
	auxtrace(&out, 501, trace + 501, nr_trace - 501);
	aux(&out, 0, 100, RAW);
	aux(&out, 100, 401, RAW);
	aux(&out, 501, nr_trace - 501, RAW);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

/*
 * After a record with a flag nothing is continued: the flow waits for the next sync, and the flag
 * is a gap.
 */
static void truncated(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 0, 500, RAW | PERF_AUX_FLAG_TRUNCATED);
	aux(&out, 500, nr_trace - 500, RAW);
	finish(&out);
	decode_file();
	assert_in_range(seen.nr, 1000, NR_INSNS - 500);
	same_flow(seen.nr);
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_TRUNCATED);
}

/* The same if the following bytes are in another AUXTRACE record. */
static void truncated_over_records(void **state)
{
	struct out out;

	(void)state;
	begin(&out, 2);
	auxtrace(&out, 0, trace, 504);
	aux(&out, 0, 504, RAW | PERF_AUX_FLAG_COLLISION);
	auxtrace(&out, 504, trace + 504, nr_trace - 504);
	aux(&out, 504, nr_trace - 504, RAW);
	finish(&out);
	decode_file();
	assert_in_range(seen.nr, 1000, NR_INSNS - 100);
	assert_memory_equal(seen.ips, truth, 1000 * sizeof(truth[0]));
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_COLLISION);
}

/*
 * A snapshot with only the newest record: the ring may have been full before that.
 */
static void snapshot_of_a_full_ring(void **state)
{
	struct out out;

	(void)state;
	as_snapshot = true;
	begin(&out, 2);
	as_snapshot = false;
	auxtrace(&out, 0, trace, nr_trace);
	aux(&out, 60000, nr_trace - 504, RAW | PERF_AUX_FLAG_OVERWRITE);
	finish(&out);
	decode_file();
	assert_in_range(seen.nr, 1000, NR_INSNS - 1);
	assert_memory_equal(seen.ips, truth, 1000 * sizeof(truth[0]));
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_COLLISION);
}

/* perf's AUX records of a snapshot name its end, and count all bytes written to the ring before. */
static void snapshot_of_a_ring(void **state)
{
	struct out out;

	(void)state;
	as_snapshot = true;
	begin(&out, 2);
	as_snapshot = false;
	aux(&out, 60000, 60000, RAW | PERF_AUX_FLAG_OVERWRITE);
	auxtrace(&out, 100000, trace, nr_trace);
	aux(&out, 100000 + nr_trace, 40000 + nr_trace, RAW | PERF_AUX_FLAG_OVERWRITE);
	finish(&out);
	decode_file();
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

static size_t differs_at; /* offset in the second snapshot's trace; 0: no difference */

static void snapshots(const size_t (*parts)[2], size_t nr, uint64_t (*offset)(size_t begin))
{
	uint8_t copy[sizeof(trace)];
	struct out out;

	as_snapshot = true;
	begin(&out, 2);
	as_snapshot = false;
	for (size_t i = 0; i < nr; i++) {
		uint64_t end = offset(parts[i][0]) + parts[i][1] - parts[i][0];

		memcpy(copy, trace, sizeof(copy));
		if (i == 1 && differs_at)
			copy[differs_at] ^= 1;
		auxtrace(&out, offset(parts[i][0]), copy + parts[i][0], parts[i][1] - parts[i][0]);
		aux(&out, end, end, RAW | PERF_AUX_FLAG_OVERWRITE);
	}
	finish(&out);
	decode_file();
}

static uint64_t in_stream(size_t begin)
{
	return 5000 + begin;
}

/* as perf versions do that start each snapshot anew */
static uint64_t zero(size_t begin)
{
	(void)begin;
	return 0;
}

/* Bytes that the next snapshot of the ring repeats are removed, by comparison. */
static void snapshots_overlap(void **state)
{
	static const size_t parts[][2] = {{0, 400}, {160, 640}, {200, 640}, {504, 921}};

	(void)state;
	snapshots(parts, 4, in_stream);
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
	snapshots(parts, 4, zero);
	same_flow(NR_INSNS);
	assert_int_equal(seen.nr_gaps, 0);
}

/* Trace between snapshots that do not overlap was overwritten; its size is known. */
static void snapshots_apart(void **state)
{
	static const size_t parts[][2] = {{0, 400}, {480, 921}};

	(void)state;
	snapshots(parts, 2, in_stream);
	assert_in_range(seen.nr, 100, NR_INSNS - 1);
	assert_memory_equal(seen.ips, truth, 1000 * sizeof(truth[0]));
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_OVERWRITTEN);
	assert_int_equal(seen.gaps[0].nr_bytes, 80);
}

/*
 * The offsets say that it is the same, the bytes say that it is not: nothing is removed, and a
 * gap says so.
 */
static void snapshots_differ(void **state)
{
	static const size_t parts[][2] = {{0, 400}, {304, 921}};

	(void)state;
	differs_at = 350;
	snapshots(parts, 2, in_stream);
	differs_at = 0;
	assert_in_range(seen.nr, 1000, NR_INSNS + 500);
	assert_memory_equal(seen.ips, truth, 1000 * sizeof(truth[0]));
	assert_int_equal(seen.nr_gaps, 1);
	assert_int_equal(seen.gaps[0].cause, AUXTAP_GAP_UNKNOWN);
}

static void read_truth(void)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	char path[640];
	FILE *f;

	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_decoder_open_snapshot(&dec, snapshot, images, &opts, NULL), 0);
	drain(dec);
	auxtap_image_set_free(images);
	assert_int_equal(seen.nr, NR_INSNS);
	memcpy(truth, seen.ips, sizeof(truth));
	snprintf(path, sizeof(path), "%s/session1.bin", snapshot);
	f = fopen(path, "rb");
	assert_non_null(f);
	nr_trace = fread(trace, 1, sizeof(trace), f);
	fclose(f);
	assert_int_equal(nr_trace, 921);
}

static int enter(void **state)
{
	int fd;

	(void)state;
	strcpy(data, "/tmp/auxtap-cs-XXXXXX");
	fd = mkstemp(data);
	if (fd < 0)
		return -1;
	close(fd);
	read_truth();
	return 0;
}

static int leave(void **state)
{
	(void)state;
	return unlink(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_in_one),
		cmocka_unit_test(padding_of_its_own),
		cmocka_unit_test(zeros_in_the_middle),
		cmocka_unit_test(several_aux_in_one_auxtrace),
		cmocka_unit_test(several_auxtraces),
		cmocka_unit_test(reported_twice),
		cmocka_unit_test(half_is_missing),
		cmocka_unit_test(framed_with_a_foreign_id),
		cmocka_unit_test(id_by_record),
		cmocka_unit_test(truncated),
		cmocka_unit_test(truncated_over_records),
		cmocka_unit_test(snapshot_of_a_ring),
		cmocka_unit_test(snapshot_of_a_full_ring),
		cmocka_unit_test(snapshots_overlap),
		cmocka_unit_test(snapshots_apart),
		cmocka_unit_test(snapshots_differ),
	};
	const char *root = getenv("AUXTAP_TRACES");

	snprintf(snapshot, sizeof(snapshot), "%s/ete-snapshot/002-ack_test_scr",
		 root ? root : AUXTAP_TRACES_DEFAULT);
	if (access(snapshot, R_OK)) {
		printf("skipped: no real traces: %s\n", snapshot);
		return 77;
	}
	return cmocka_run_group_tests(tests, enter, leave);
}
