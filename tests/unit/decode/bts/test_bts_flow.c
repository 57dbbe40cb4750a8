// SPDX-License-Identifier: BSD-2-Clause
/*
 * Intel BTS: records written by hand, each as three words (SDM, "Branch Trace Store"). What event
 * each becomes, call depths, whose it is, and a gap for everything that the file lacks.
 */
#include "support_events.h"

#include <auxtap/decode.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define BTS_TYPE 9
#define TID	 100
#define KERNEL	 0xffffffff81000000ull
#define NO_CPU	 UINT32_MAX

/* 1000 jne 1010; 1002 call 1010; 1007 call *%rax; 1009 call 100e; 100e ret; 1010 nop; 1011 ret;
 * 1012 syscall; 1014 jmp 1014; 1016 jmp 1025, with prefixes; 1025 a call that is cut */
static const uint8_t code[] = {
	0x75, 0x0e, 0xe8, 9,	0,    0,    0,	  0xff, 0xd0, 0xe8, 0,	  0,	0,
	0,    0xc3, 0x90, 0x90, 0xc3, 0x0f, 5,	  0xeb, 0xfe, 0x2e, 0x2e, 0x2e, 0x2e,
	0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xe9, 0,	0,    0,    0,	  0xe8,
};

static char dir[] = "/tmp/auxtap-bts-XXXXXX";
static char path[64], code_path[64], out[1 << 20];
static struct auxtap_perfdata_writer *w;
static struct auxtap_decode_summary sum;

static void record(uint32_t type, uint16_t misc, const void *body, size_t size)
{
	struct {
		struct perf_event_header header;
		uint8_t body[64];
	} rec = {.header = {type, misc, (uint16_t)(8 + size)}};

	memcpy(rec.body, body, size);
	assert_int_equal(auxtap_perfdata_writer_record(w, &rec, rec.header.size, NULL, 0, NULL), 0);
}

/* Records end with thread, time, CPU. */
static void begin(bool snapshot)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = BTS_TYPE, .sample_id_all = 1};
	const uint64_t info[6] = {BTS_TYPE, 0, 1, 0, 0, snapshot};

	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "intel_bts//u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_BTS, info, 6,
							      NULL),
			 0);
}

static void buffer(uint32_t tid, uint32_t cpu, uint64_t off, const void *data, size_t size)
{
	static uint64_t reference;
	const struct auxtap_auxtrace head = {.offset = off,
					     .tid = tid,
					     .cpu = cpu,
					     .idx = cpu == NO_CPU ? tid : cpu,
					     .reference = ++reference};

	assert_int_equal(auxtap_perfdata_writer_auxtrace(w, &head, data, size, NULL, 0, NULL), 0);
}

static struct auxtap_decoder *open_decoder(struct auxtap_perfdata **pd,
					   struct auxtap_image_set **images, uint32_t events,
					   int32_t tid)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .events = events,
					  .tids = &tid,
					  .nr_tids = tid != 0};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decoder *dec;

	assert_int_equal(auxtap_perfdata_open(pd, path, NULL), 0);
	assert_int_equal(auxtap_image_set_new(images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_image_set_add_file(*images, code_path, 0, 0, 0x1000, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, *pd, *images, &opts, NULL), 0);
	return dec;
}

static void put_event(FILE *f, const struct auxtap_event *ev)
{
	fprintf(f, "%d %s", ev->tid, event_word(ev));
	if (ev->type == AUXTAP_EVENT_GAP) {
		fprintf(f, " %s %" PRIu64 "%s %s\n", auxtap_gap_cause_name(ev->gap->cause),
			ev->gap->nr_bytes, ev->gap->exact ? "" : "?", ev->text);
		assert_int_equal(ev->gap->tid, ev->tid);
		return;
	}
	if (ev->has_ip)
		fprintf(f, " %" PRIx64, ev->ip);
	if (ev->has_addr)
		fprintf(f, " to %" PRIx64, ev->addr);
	if (ev->insn_size)
		fprintf(f, " size %u", ev->insn_size);
	if (ev->type == AUXTAP_EVENT_CALL || ev->type == AUXTAP_EVENT_RETURN)
		fprintf(f, " depth %u", ev->depth);
	for (unsigned int i = ev->insn_size; i < sizeof(ev->insn); i++)
		assert_int_equal(ev->insn[i], 0);
	if (ev->insn_size)
		assert_memory_equal(ev->insn, code + (ev->ip - 0x1000), ev->insn_size);
	fputc('\n', f);
}

/* The written file's events as lines in out; tid 0: of all threads. */
static void decode(uint32_t events, int32_t tid)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	FILE *f = fmemopen(out, sizeof(out), "w");
	int ret;

	if (w)
		assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	w = NULL;
	dec = open_decoder(&pd, &images, events, tid);
	while ((ret = auxtap_decoder_next(dec, &ev, NULL)) == 1) {
		if (tid)
			assert_int_equal(ev.tid, tid);
		put_event(f, &ev);
	}
	assert_int_equal(ret, 0);
	fclose(f);
	sum.size = sizeof(sum);
	assert_int_equal(auxtap_decoder_summary(dec, &sum), 0);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
}

/* ---- tests ---- */

/* clang-format off */
static const uint64_t all_kinds[][3] = {
	{0, 0x1002, 0},
	{0x1002, 0x1010, 0x10},
	{0x1007, 0x1010, 0},
	{0x1011, 0x1009, 0},
	{0x1009, 0x100e, 0}, /* a call of the next instruction reads its address: no call */
	{0x1011, 0x1007, 0},
	{0x1000, 0x1010, 0},
	{0x1010, KERNEL, 0}, /* an interrupt, and its end; the kernel's code is not known */
	{KERNEL, 0x1011, 0},
	{0x1012, KERNEL, 0},
	{KERNEL + 8, KERNEL, 0},
	{0x2000, 0x1014, 0}, /* code that is not known, then code that is not whole */
	{0x1025, 0x1000, 0},
	{0x1016, 0x1025, 0}, /* as long as an instruction can be */
	{0, 0, 0},
	{0x1014, 0x1014, 0},
	{0x1014, 0, 0},
};
/* clang-format on */

static void kinds(void **state)
{
	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, all_kinds, sizeof(all_kinds));
	decode(0, 0);
	assert_string_equal(out, "100 on to 1002\n"
				 "100 call 1002 to 1010 size 5\n"
				 "100 depth+ 1002 to 1010 size 5 depth 1\n"
				 "100 icall 1007 to 1010 size 2\n"
				 "100 depth+ 1007 to 1010 size 2 depth 2\n"
				 "100 ret 1011 to 1009 size 1\n"
				 "100 depth- 1011 to 1009 size 1 depth 1\n"
				 "100 call 1009 to 100e size 5\n"
				 "100 ret 1011 to 1007 size 1\n"
				 "100 depth- 1011 to 1007 size 1 depth 0\n"
				 "100 cond 1000 to 1010 size 2\n"
				 "100 async 1010 to ffffffff81000000\n"
				 "100 ? ffffffff81000000 to 1011\n"
				 "100 syscall 1012 to ffffffff81000000 size 2\n"
				 "100 ? ffffffff81000008 to ffffffff81000000\n"
				 "100 ? 2000 to 1014\n"
				 "100 ? 1025 to 1000\n"
				 "100 jump 1016 to 1025 size 15\n"
				 "100 jump 1014 to 1014 size 2\n"
				 "100 off 1014\n");
	assert_int_equal(sum.branches, 13);
	assert_int_equal(sum.bytes, sizeof(all_kinds));
	assert_int_equal(sum.gaps, 0);
	assert_int_equal(sum.errors, 0);
	assert_int_equal(sum.instructions, 0);
}

/* Calls that are not asked for count for the depth of returns. */
static void chosen_events(void **state)
{
	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, all_kinds, sizeof(all_kinds));
	decode(AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC, 0);
	assert_string_equal(out, "100 depth- 1011 to 1009 size 1 depth 1\n"
				 "100 depth- 1011 to 1007 size 1 depth 0\n"
				 "100 async 1010 to ffffffff81000000\n");
}

static void chosen_thread(void **state)
{
	const uint64_t one[] = {0x1000, 0x1010, 0}, other[] = {0x1014, 0x1014, 0};

	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, one, sizeof(one));
	buffer(TID + 1, NO_CPU, 0, other, sizeof(other));
	buffer(TID, NO_CPU, 24, one, sizeof(one));
	decode(0, 0);
	assert_string_equal(out, "100 cond 1000 to 1010 size 2\n"
				 "100 cond 1000 to 1010 size 2\n"
				 "101 jump 1014 to 1014 size 2\n");
	decode(0, TID + 1);
	assert_string_equal(out, "101 jump 1014 to 1014 size 2\n");
	assert_int_equal(sum.bytes, 24);
}

/* A record begins in one buffer and ends in the next one. */
static void joined(void **state)
{
	const uint64_t words[] = {0x1000, 0x1010, 0, 0x1014, 0x1014, 0, 0x1011, 0x1007, 0};

	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, words, 40);
	buffer(TID, NO_CPU, 40, words + 5, 32);
	decode(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP, 0);
	assert_string_equal(out, "100 cond 1000 to 1010 size 2\n"
				 "100 jump 1014 to 1014 size 2\n"
				 "100 ret 1011 to 1007 size 1\n");
	assert_int_equal(sum.bytes, sizeof(words));
}

static void lacking(void **state)
{
	const uint64_t words[] = {0x1002, 0x1010, 0, 0x1014, 0x1014, 0};
	const uint64_t back[] = {0x1011, 0x1007, 0};

	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, words, 40); /* the second record is cut */
	buffer(TID, NO_CPU, 72, back, sizeof(back));
	buffer(TID, NO_CPU, 80, words, 16);
	decode(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_GAP, 0);
	/* after a gap no caller is known */
	assert_string_equal(out, "100 call 1002 to 1010 size 5\n"
				 "100 gap decode_error 16 incomplete record\n"
				 "100 gap unknown 32 not in the file\n"
				 "100 ret 1011 to 1007 size 1\n"
				 "100 depth- 1011 to 1007 size 1 depth 0\n"
				 "100 gap unknown 0? a buffer begins before the end of the one "
				 "before: branches may come twice\n"
				 "100 gap decode_error 16 incomplete record\n");
	assert_int_equal(sum.gaps, 4);
	assert_int_equal(sum.errors, 2);
	assert_int_equal(sum.branches, 2);
	assert_int_equal(sum.bytes, 80);
}

static void snapshots(void **state)
{
	const uint64_t one[] = {0x1000, 0x1010, 0}, other[] = {0x1014, 0x1014, 0};

	(void)state;
	begin(true);
	buffer(TID, NO_CPU, 0, one, sizeof(one));
	buffer(TID, NO_CPU, 1000, other, sizeof(other));
	decode(0, 0);
	assert_string_equal(out, "100 cond 1000 to 1010 size 2\n"
				 "100 gap unknown 0? between two snapshots; branches of both may "
				 "come twice\n"
				 "100 jump 1014 to 1014 size 2\n");
}

/* More than is read at once: no record is lost, repeated or moved. */
static void long_buffer(void **state)
{
	const size_t nr = 7000;
	uint64_t(*words)[3] = calloc(nr, sizeof(*words));
	char *at = out;

	(void)state;
	assert_non_null(words);
	for (size_t i = 0; i < nr; i++) {
		words[i][0] = 0x100000 + i;
		words[i][1] = 0x1000;
	}
	begin(false);
	buffer(TID, NO_CPU, 0, words, nr * sizeof(*words));
	decode(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP, 0);
	for (size_t i = 0; i < nr; i++) {
		char line[64];
		size_t size =
			(size_t)snprintf(line, sizeof(line), "100 ? %zx to 1000\n", 0x100000 + i);

		assert_memory_equal(at, line, size);
		at += size;
	}
	assert_int_equal(*at, '\0');
	assert_int_equal(sum.bytes, nr * sizeof(*words));
	assert_int_equal(sum.branches, nr);
	free(words);
}

static void aux(uint64_t off, uint64_t size, uint64_t flags, int32_t tid, uint32_t cpu,
		uint64_t time)
{
	const uint64_t body[] = {off,  size, flags, (uint64_t)(uint32_t)tid << 32 | (uint32_t)tid,
				 time, cpu};

	record(PERF_RECORD_AUX, 0, body, sizeof(body));
}

static void start(int32_t tid, uint64_t cpu, uint64_t time)
{
	const uint64_t both = (uint64_t)(uint32_t)tid << 32 | (uint32_t)tid;
	const uint64_t body[] = {both, both, time, cpu};

	record(PERF_RECORD_ITRACE_START, 0, body, sizeof(body));
}

/* What the kernel reports as lost, and what AUX records have and the file lacks. */
static void reported(void **state)
{
	const uint64_t one[] = {0x1000, 0x1010, 0};

	(void)state;
	begin(false);
	aux(0, 24, PERF_AUX_FLAG_TRUNCATED, TID, 0, 10);
	aux(24, 48, 0, TID, 0, 20);
	buffer(TID, NO_CPU, 0, one, sizeof(one));
	decode(0, 0);
	assert_non_null(strstr(out, "100 cond 1000 to 1010 size 2\n"));
	assert_non_null(strstr(out, " 0? reported by the kernel\n"));
	assert_non_null(strstr(out, "100 gap unknown 48 the file lacks trace that AUX records "
				    "report\n"));
}

/* CPUs' buffers, one of them of two threads: AUX records say whose which bytes are. */
static void per_cpu(void **state)
{
	const uint64_t words[] = {0x1000, 0x1010, 0, 0x1014, 0x1014, 0, 0x1011, 0x1007, 0};

	(void)state;
	begin(false);
	start(TID, 0, 5);
	aux(0, 24, 0, TID, 0, 10);
	start(TID + 1, 0, 15);
	aux(24, 24, 0, TID + 1, 0, 20);
	aux(0, 24, 0, TID + 1, 1, 30);
	buffer(UINT32_MAX, 0, 0, words, 48);
	buffer(UINT32_MAX, 1, 0, words + 6, 24);
	decode(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP, 0);
	assert_string_equal(out, "100 cond 1000 to 1010 size 2\n"
				 "101 jump 1014 to 1014 size 2\n"
				 "101 ret 1011 to 1007 size 1\n");
	decode(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP, TID + 1);
	assert_string_equal(out, "101 jump 1014 to 1014 size 2\n"
				 "101 ret 1011 to 1007 size 1\n");
}

/* A file that becomes shorter while it is read is an error, not the end of the trace. */
static void file_cut(void **state)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, all_kinds, sizeof(all_kinds));
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	w = NULL;
	dec = open_decoder(&pd, &images, AUXTAP_EVENT_ALL, 0);
	assert_int_equal(truncate(path, 512), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(auxtap_decoder_next(dec, &ev, NULL), -EBADMSG);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
}

/* Nothing is left allocated (sanitizers) when a record's other events were not asked for yet. */
static void closed_early(void **state)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	(void)state;
	begin(false);
	buffer(TID, NO_CPU, 0, all_kinds, 2 * 24);
	buffer(TID, NO_CPU, 96, all_kinds, 24);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
	w = NULL;
	dec = open_decoder(&pd, &images, AUXTAP_EVENT_ALL, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(auxtap_decoder_next(dec, &ev, NULL), 1);
	assert_int_equal(ev.type, AUXTAP_EVENT_BRANCH);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	auxtap_perfdata_close(pd);
}

static int set_up(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/data", dir);
	snprintf(code_path, sizeof(code_path), "%s/code", dir);
	f = fopen(code_path, "w");
	if (!f || fwrite(code, 1, sizeof(code), f) != sizeof(code))
		return -1;
	return fclose(f);
}

static int tear_down(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),	 cmocka_unit_test(chosen_events),
		cmocka_unit_test(chosen_thread), cmocka_unit_test(joined),
		cmocka_unit_test(lacking),	 cmocka_unit_test(snapshots),
		cmocka_unit_test(long_buffer),	 cmocka_unit_test(reported),
		cmocka_unit_test(per_cpu),	 cmocka_unit_test(closed_early),
		cmocka_unit_test(file_cut),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
