// SPDX-License-Identifier: BSD-2-Clause
/*
 * The interface of decoders that follow the flow. The whole way from segments to events runs with a
 * decoder that plays steps from a script: nothing on that way depends on libipt. And libipt keeps
 * the interface's rules.
 */
#include "support_events.h"
#include "support_pt.h"
#include "decode/flow/decoder_private.h"
#include "decode/pt/pt_libipt.h"

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

extern const struct trace_family pt_family;

#define NR(a)	(sizeof(a) / sizeof((a)[0]))
#define SEGMENT 32 /* bytes */
#define FLOW_ALL                                                                              \
	(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC | \
	 AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

/* ---- a decoder that plays a script ---- */

struct script {
	const struct flow_step *steps;
	size_t nr;
};

/* What a script is opened with: one for each segment, by its place in the stream. */
static struct {
	const struct script *scripts;
	size_t nr;
	size_t batch; /* steps at a time */
	bool refuse;  /* create() fails */
	unsigned int nr_open, nr_flows, nr_started, nr_stopped, nr_code;
	bool insns;
} stage;

struct player {
	const struct script *script;
	size_t at;
	bool has_code, started;
	struct flow_step steps[8];
};

static unsigned int add(unsigned int *counter, unsigned int nr)
{
	return __atomic_add_fetch(counter, nr, __ATOMIC_RELAXED);
}

static void script_version(char *text, size_t size)
{
	snprintf(text, size, "a script");
}

static void *script_open(const void *config)
{
	const struct pt_flow_config *from = config;

	assert_non_null(from->images);
	stage.insns = from->insns;
	stage.nr_open++;
	return &stage;
}

static void script_close(void *shared)
{
	assert_ptr_equal(shared, &stage);
	assert_int_equal(stage.nr_flows, 0); /* each was destroyed */
	stage.nr_open--;
}

static struct flow *script_create(void *shared, const void *source)
{
	assert_null(source);
	assert_ptr_equal(shared, &stage);
	if (stage.refuse)
		return NULL;
	add(&stage.nr_flows, 1);
	return calloc(1, sizeof(struct player));
}

static void script_stop(struct flow *flow)
{
	struct player *p = (struct player *)flow;

	if (p->started)
		add(&stage.nr_stopped, 1);
	p->started = false;
}

static void script_destroy(struct flow *flow)
{
	script_stop(flow);
	free(flow);
	add(&stage.nr_flows, -1u);
}

static bool script_set_code(struct flow *flow, int32_t pid, uint64_t time)
{
	struct player *p = (struct player *)flow;
	bool first = !p->has_code;

	assert_int_equal(pid, -1);
	assert_true(time > 0);
	p->has_code = true;
	add(&stage.nr_code, 1);
	return first;
}

static void script_start(struct flow *flow, const struct flow_bytes *bytes)
{
	struct player *p = (struct player *)flow;

	assert_true(p->has_code && !p->started);
	assert_true(bytes->off % SEGMENT == 0 && bytes->off / SEGMENT < stage.nr);
	assert_int_equal(bytes->size, SEGMENT);
	p->script = &stage.scripts[bytes->off / SEGMENT];
	/* the PSB+ of the next segment, if there is one */
	assert_int_equal(bytes->total - bytes->size, bytes->off / SEGMENT + 1 < stage.nr ? 18 : 0);
	/* the decoder may write to all of its bytes */
	memset(bytes->data - FLOW_HEADROOM, 0x5a, FLOW_HEADROOM + bytes->total);
	p->at = 0;
	p->started = true;
	add(&stage.nr_started, 1);
}

static bool may_change_code(const struct flow_step *step)
{
	return step->kind != FLOW_BLOCK && step->kind != FLOW_TIME && step->kind != FLOW_LOST;
}

static size_t script_next(struct flow *flow, const struct flow_step **steps)
{
	struct player *p = (struct player *)flow;
	size_t nr = 0;

	assert_true(p->started);
	/* steps of the call before are overwritten: nothing may still point to them */
	memset(p->steps, 0xa5, sizeof(p->steps));
	while (nr < stage.batch && p->at < p->script->nr) {
		p->steps[nr] = p->script->steps[p->at++];
		if (may_change_code(&p->steps[nr++]))
			break;
	}
	*steps = p->steps;
	return nr;
}

static const struct flow_ops script_ops = {
	.name = "script",
	.version = script_version,
	.open = script_open,
	.close = script_close,
	.create = script_create,
	.destroy = script_destroy,
	.set_code = script_set_code,
	.start = script_start,
	.next = script_next,
	.stop = script_stop,
};

/* ---- from a script to lines ---- */

static void print_event(FILE *f, const struct auxtap_event *ev)
{
	fprintf(f, "%" PRIu64 " %s", ev->time, event_word(ev));
	if (ev->has_ip)
		fprintf(f, " %" PRIx64, ev->ip);
	if (ev->has_addr)
		fprintf(f, " > %" PRIx64, ev->addr);
	if (ev->type == AUXTAP_EVENT_CALL || ev->type == AUXTAP_EVENT_RETURN)
		fprintf(f, " %u", ev->depth);
	if (ev->insn_size)
		fprintf(f, " [%02x/%u]", ev->insn[0], ev->insn_size);
	if (ev->type == AUXTAP_EVENT_GAP)
		fprintf(f, " %s %" PRIu64 "..%" PRIu64 " %" PRIu64 "%s %s",
			auxtap_gap_cause_name(ev->gap->cause), ev->gap->time_begin,
			ev->gap->time_end, ev->gap->nr_bytes, ev->gap->exact ? "" : "?", ev->text);
	fprintf(f, " n%u\n", ev->nr_insns);
}

/* Each segment is a PSB+, and bytes that are no packets. */
static void write_trace(const char *path)
{
	struct pt_bytes pt = {.nr = 0};
	FILE *f = fopen(path, "wb");

	for (size_t i = 0; i < stage.nr; i++) {
		pt_psb(&pt, 0);
		while (pt.nr < (i + 1) * SEGMENT)
			pt_raw(&pt, "d9");
	}
	assert_non_null(f);
	assert_int_equal(fwrite(pt.at, 1, pt.nr, f), pt.nr);
	fclose(f);
}

/* As auxtap_decoder_open_raw(), with another decoder of the flow. */
static struct auxtap_decoder *open_script(const char *path, struct auxtap_image_set *images,
					  uint32_t events, unsigned int jobs)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = jobs};
	struct auxtap_raw_opts raw = {.size = sizeof(raw)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_decoder *dec;

	assert_int_equal(decoder_new(&dec, &pt_family, images, &opts, &err), 0);
	assert_ptr_equal(dec->flow_ops, &pt_libipt);
	dec->flow_ops = &script_ops;
	dec->sideband.conv = (struct time_conv){.valid = true, .mult = 1};
	dec->sideband.aux_offsets_unusable = true;
	sideband_finish(&dec->sideband);
	dec->sideband.first_pid = dec->sideband.first_tid = -1;
	assert_int_equal(pt_family.open_raw(dec, path, &raw, -1, &err), 0);
	return dec;
}

static int decode_script(uint32_t events, unsigned int jobs, size_t batch, char *out, size_t size)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	char path[] = "/tmp/auxtap-flow-XXXXXX";
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_decode_summary sum = {.size = sizeof(sum)};
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	FILE *f = fmemopen(out, size, "w");
	int fd = mkstemp(path), ret;

	assert_non_null(f);
	assert_true(fd >= 0);
	close(fd);
	write_trace(path);
	stage.batch = batch;
	stage.nr_started = stage.nr_stopped = stage.nr_code = 0;
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	dec = open_script(path, images, events, jobs);
	assert_int_equal(decoder_start(dec), 0);
	while ((ret = auxtap_decoder_next(dec, &ev, &err)) == 1)
		print_event(f, &ev);
	auxtap_decoder_summary(dec, &sum);
	fprintf(f, "%" PRIu64 " insns %" PRIu64 " branches %" PRIu64 " gaps %" PRIu64 " errors\n",
		sum.instructions, sum.branches, sum.gaps, sum.errors);
	assert_true(ftell(f) < (long)size - 1);
	fclose(f);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	unlink(path);
	assert_int_equal(stage.nr_open, 0);
	assert_int_equal(stage.nr_started, stage.nr_stopped);
	return ret;
}

/* The same lines for every number of threads, and of steps at a time. */
static void expect(const struct script *scripts, size_t nr, uint32_t events, const char *lines)
{
	static const unsigned int jobs[] = {1, 2, 5};
	static const size_t batches[] = {1, 2, 8};
	char out[4096];

	stage.scripts = scripts;
	stage.nr = nr;
	for (size_t i = 0; i < NR(jobs); i++)
		for (size_t j = 0; j < NR(batches); j++) {
			assert_int_equal(decode_script(events, jobs[i], batches[j], out,
						       sizeof(out)),
					 0);
			assert_string_equal(out, lines);
			assert_int_equal(stage.insns, !!(events & AUXTAP_EVENT_INSN));
			assert_int_equal(stage.nr_started, nr);
		}
}

/* ---- scripts ---- */

static const uint8_t call_code[15] = {0xe8, 1, 0, 0, 0}, ret_code[15] = {0xc3},
		     jcc_code[15] = {0x75, 4}, nop_code[15] = {0x90};

#define SYNC(is_on)                                        \
	{                                                  \
		.kind = FLOW_SYNC, .on = (is_on), .tsc = 0 \
	}
#define END                                  \
	{                                    \
		.kind = FLOW_END, .on = true \
	}
#define BLOCK(from, to_ip, nr)                                                                     \
	{                                                                                          \
		.kind = FLOW_BLOCK, .on = true, .ip = (from), .last_ip = (to_ip), .nr_insns = (nr) \
	}
#define BRANCH(from, at, nr, how, bytes, len, when)                                              \
	{                                                                                        \
		.kind = FLOW_BLOCK, .on = true, .ip = (from), .last_ip = (at), .nr_insns = (nr), \
		.branch = AUXTAP_BRANCH_##how, .code = (bytes), .size = (len), .tsc = (when)     \
	}

static void test_branches_and_boundaries(void **state)
{
	const struct flow_step first[] = {
		SYNC(true),
		BRANCH(0x7000, 0x7008, 3, COND, jcc_code, 2, 10), /* taken */
		BRANCH(0x7100, 0x7101, 1, COND, jcc_code, 2, 0),  /* not taken */
		BLOCK(0x7103, 0x7104, 2),			  /* followed by the next */
		BRANCH(0x7105, 0x7105, 1, CALL, call_code, 5, 20),
		END, /* the call went to where the next segment begins */
	};
	const struct flow_step second[] = {
		SYNC(true),
		BRANCH(0x8000, 0x8010, 4, RETURN, ret_code, 1, 30),
		{.kind = FLOW_END, .on = true, .has_ip = true, .ip = 0x710a},
	};
	/* nothing is known of what was before: no target of its own */
	const struct flow_step third[] = {SYNC(true), BLOCK(0x710a, 0x710b, 2), END};
	const struct script scripts[] = {{first, NR(first)},
					 {second, NR(second)},
					 {third, NR(third)}};

	(void)state;
	expect(scripts, NR(scripts), FLOW_ALL,
	       "10 cond 7008 > 7100 [75/2] n3\n"
	       "20 call 7105 > 8000 [e8/5] n4\n"
	       "20 depth+ 7105 > 8000 1 [e8/5] n0\n"
	       "30 ret 8010 > 710a [c3/1] n4\n"
	       "30 depth- 8010 > 710a 0 [c3/1] n0\n"
	       "13 insns 3 branches 0 gaps 0 errors\n");
	expect(scripts, NR(scripts), AUXTAP_EVENT_BLOCK,
	       "0 block 7000 > 7008 n3\n"
	       "10 block 7100 > 7101 n1\n"
	       "10 block 7103 > 7104 n2\n"
	       "10 block 7105 > 7105 n1\n"
	       "20 block 8000 > 8010 n4\n"
	       "30 block 710a > 710b n2\n"
	       "13 insns 3 branches 0 gaps 0 errors\n");
}

static void test_instructions(void **state)
{
	const struct flow_step steps[] = {
		SYNC(true),
		{.kind = FLOW_BLOCK,
		 .on = true,
		 .ip = 0x7000,
		 .last_ip = 0x7000,
		 .nr_insns = 1,
		 .code = nop_code,
		 .size = 1},
		BRANCH(0x7001, 0x7001, 1, CALL, call_code, 5, 7),
		/* a call of the next instruction: no frame */
		{.kind = FLOW_BLOCK,
		 .on = true,
		 .ip = 0x7900,
		 .last_ip = 0x7900,
		 .nr_insns = 1,
		 .branch = AUXTAP_BRANCH_CALL,
		 .code = call_code,
		 .size = 5,
		 .fetches_ip = true},
		BRANCH(0x7905, 0x7905, 1, RETURN, ret_code, 1, 9),
		{.kind = FLOW_END, .on = true, .has_ip = true, .ip = 0x7006},
	};
	const struct script scripts[] = {{steps, NR(steps)}};

	(void)state;
	expect(scripts, NR(scripts), FLOW_ALL | AUXTAP_EVENT_INSN,
	       "0 insn 7000 [90/1] n1\n"
	       "0 insn 7001 [e8/5] n1\n"
	       "7 call 7001 > 7900 [e8/5] n2\n"
	       "7 depth+ 7001 > 7900 1 [e8/5] n0\n"
	       "7 insn 7900 [e8/5] n1\n"
	       "7 call 7900 > 7905 [e8/5] n1\n"
	       "7 insn 7905 [c3/1] n1\n"
	       "9 ret 7905 > 7006 [c3/1] n1\n"
	       "9 depth- 7905 > 7006 0 [c3/1] n0\n"
	       "4 insns 3 branches 0 gaps 0 errors\n");
}

static void test_events(void **state)
{
	const struct flow_step steps[] = {
		SYNC(false),
		{.kind = FLOW_ON, .on = true, .has_ip = true, .ip = 0x7000, .tsc = 5},
		BRANCH(0x7000, 0x7000, 1, JUMP_INDIRECT, jcc_code, 2, 6),
		/* the jump went to where the event was */
		{.kind = FLOW_ASYNC,
		 .on = true,
		 .has_ip = true,
		 .ip = 0x7200,
		 .has_to = true,
		 .to = 0xf000,
		 .tsc = 8},
		{.kind = FLOW_CONTEXT, .on = true, .tsc = 9},
		{.kind = FLOW_TIME, .on = true, .tsc = 11},
		BRANCH(0xf000, 0xf004, 2, FAR, jcc_code, 2, 12),
		{.kind = FLOW_OFF, .has_to = true, .to = 0x7200, .tsc = 13},
		{.kind = FLOW_ON, .on = true, .has_ip = true, .ip = 0x7300, .tsc = 14},
		{.kind = FLOW_ASYNC,
		 .on = false,
		 .has_ip = true,
		 .ip = 0x7300,
		 .tsc = 15,
		 .loops = true},
		{.kind = FLOW_END, .on = false},
	};
	const struct script scripts[] = {{steps, NR(steps)}};

	(void)state;
	expect(scripts, NR(scripts), FLOW_ALL,
	       "5 on > 7000 n0\n"
	       "8 ijump 7000 > 7200 [75/2] n1\n"
	       "8 async 7200 > f000 n0\n"
	       "13 far f004 > 7200 [75/2] n2\n"
	       "13 off f004 n0\n"
	       "14 on > 7300 n0\n"
	       "15 gap uncounted 15..15 0? code without packets comes back to 0x7300: how often it "
	       "ran is not recorded n0\n"
	       "15 async 7300 n0\n"
	       "15 off 7300 n0\n"
	       "3 insns 2 branches 1 gaps 0 errors\n");
}

static void test_losses(void **state)
{
	const struct flow_step first[] = {
		SYNC(true),
		BRANCH(0x7000, 0x7000, 1, JUMP_INDIRECT, jcc_code, 2, 4),
		{.kind = FLOW_LOST,
		 .loss = FLOW_LOSS_NO_CODE,
		 .has_ip = true,
		 .ip = 0x9000,
		 .pos = 20,
		 .next = 26,
		 .why = "not printed"},
		{.kind = FLOW_SYNC, .on = true, .pos = 26, .tsc = 9},
		BRANCH(0x7100, 0x7102, 2, COND, jcc_code, 2, 10),
		/* without an address: after the last block */
		{.kind = FLOW_LOST,
		 .loss = FLOW_LOSS_ERROR,
		 .pos = 28,
		 .next = 32,
		 .why = "no such packet"},
		END, /* the gap goes on in the next segment */
	};
	const struct flow_step second[] = {
		SYNC(true),
		{.kind = FLOW_LOST,
		 .loss = FLOW_LOSS_ERROR,
		 .has_ip = true,
		 .pos = 40,
		 .next = 42,
		 .why = "at once"},
		{.kind = FLOW_SYNC, .on = true, .pos = 42, .tsc = 20},
		BLOCK(0x7200, 0x7204, 3),
		{.kind = FLOW_OVERFLOW, .on = true, .tsc = 22},
		BLOCK(0x7300, 0x7304, 3),
		{.kind = FLOW_OVERFLOW, .on = false, .tsc = 25},
		{.kind = FLOW_ON, .on = true, .has_ip = true, .ip = 0x7400, .tsc = 27},
		BLOCK(0x7400, 0x7404, 3),
		/* cut off: what follows says why, here nothing does */
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_CUT, .pos = 60, .next = 64, .why = "cut"},
		{.kind = FLOW_END, .on = true},
	};
	const struct script scripts[] = {{first, NR(first)}, {second, NR(second)}};

	(void)state;
	expect(scripts, NR(scripts), FLOW_ALL,
	       "4 ijump 7000 > 9000 [75/2] n1\n"
	       "4 gap no_image 4..9 6 no mapping known at 9000 n0\n"
	       "10 gap decode_error 10..20 6 no such packet at offset 0x1c, ip 7102 n2\n"
	       "22 gap hw_overflow 22..22 0? the trace unit's buffer overflowed n3\n"
	       "25 gap hw_overflow 25..27 0? the trace unit's buffer overflowed n3\n"
	       "27 on > 7400 n0\n"
	       "27 gap decode_error 27..27 0? cut at offset 0x3c, ip 7404 n3\n"
	       "12 insns 1 branches 5 gaps 2 errors\n");
}

/* Whether tracing is on where a segment ends, and where the next one begins. */
static void test_ends(void **state)
{
	const struct flow_step on[] = {SYNC(true),
				       BLOCK(0x7000, 0x7004, 3),
				       {.kind = FLOW_END, .on = true}};
	const struct flow_step off[] = {SYNC(true),
					BLOCK(0x7000, 0x7004, 3),
					{.kind = FLOW_END, .on = false}};
	const struct flow_step none[] = {SYNC(false), {.kind = FLOW_END}};
	const struct script on_off[] = {{on, NR(on)}, {none, NR(none)}};
	const struct script off_off[] = {{off, NR(off)}, {none, NR(none)}};

	(void)state;
	expect(on_off, 2, FLOW_ALL,
	       "0 gap unknown 0..0 0? tracing ended unannounced before offset 0x20 n3\n"
	       "3 insns 0 branches 1 gaps 0 errors\n");
	expect(off_off, 2, FLOW_ALL, "3 insns 0 branches 0 gaps 0 errors\n");
}

/* What a decoder does not deliver is not made up, and errors of its own end the decoding. */
static void test_failures(void **state)
{
	const struct flow_step no_memory[] = {
		SYNC(true),
		BLOCK(0x7000, 0x7000, 1),
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_NO_MEMORY, .pos = 20, .why = "out of memory"},
		END,
	};
	const struct flow_step silent[] = {SYNC(true), BLOCK(0x7000, 0x7000, 1)}; /* no END */
	const struct script scripts[] = {{no_memory, NR(no_memory)}};
	const struct script silent_scripts[] = {{silent, NR(silent)}, {NULL, 0}};
	char out[4096];

	(void)state;
	stage.scripts = scripts;
	stage.nr = 1;
	assert_int_equal(decode_script(FLOW_ALL, 1, 8, out, sizeof(out)), -ENOMEM);
	stage.refuse = true;
	assert_int_equal(decode_script(FLOW_ALL, 1, 8, out, sizeof(out)), -ENOMEM);
	assert_string_equal(out, "0 insns 0 branches 0 gaps 0 errors\n");
	stage.refuse = false;
	expect(silent_scripts, 2, FLOW_ALL, "1 insns 0 branches 0 gaps 0 errors\n");
}

/* ---- libipt ---- */

static void print_step(FILE *f, const struct flow_step *s)
{
	static const char *const names[] = {"sync",    "block", "on",	    "off",  "async",
					    "context", "time",	"overflow", "lost", "end"};

	fprintf(f, "%s%s", names[s->kind], s->on ? "" : " off");
	if (s->kind == FLOW_BLOCK)
		fprintf(f, " %" PRIx64 "-%" PRIx64 " n%u b%u", s->ip, s->last_ip, s->nr_insns,
			s->branch);
	else if (s->has_ip)
		fprintf(f, " %" PRIx64, s->ip);
	if (s->kind == FLOW_BLOCK && s->branch)
		fprintf(f, " [%02x/%u]", s->code[0], s->size);
	if (s->kind == FLOW_LOST)
		fprintf(f, " %u at %" PRIu64 " to %" PRIu64, s->loss, s->pos, s->next);
	if (s->has_to)
		fprintf(f, " to %" PRIx64, s->to);
	fputc('\n', f);
}

/* The steps of the bytes from 100 on, and the rules that each decoder keeps. */
static void steps_of(const struct flow_ops *ops, struct flow *flow, const struct pt_bytes *pt,
		     char *out, size_t size)
{
	uint8_t *mem = malloc(FLOW_HEADROOM + pt->nr);
	const struct flow_bytes bytes = {.data = mem + FLOW_HEADROOM,
					 .size = pt->nr,
					 .total = pt->nr,
					 .off = 100};
	const struct flow_step *steps;
	FILE *f = fmemopen(out, size, "w");
	bool first = true, over = false, lost = false;
	size_t nr;

	assert_non_null(mem);
	assert_non_null(f);
	memcpy(mem + FLOW_HEADROOM, pt->at, pt->nr);
	ops->start(flow, &bytes);
	while ((nr = ops->next(flow, &steps))) {
		assert_false(over);
		for (size_t i = 0; i < nr; i++) {
			const struct flow_step *s = &steps[i];

			assert_int_equal(s->kind == FLOW_SYNC,
					 first || (lost && !over && s->kind != FLOW_END));
			assert_false(may_change_code(s) && i + 1 < nr);
			over = s->kind == FLOW_END;
			lost = s->kind == FLOW_LOST;
			first = false;
			print_step(f, s);
		}
	}
	assert_true(over);
	assert_int_equal(ops->next(flow, &steps), 0);
	ops->stop(flow);
	ops->stop(flow); /* harmless */
	fclose(f);
	free(mem);
}

static void test_libipt(void **state)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct pt_flow_config config = {.insns = false};
	char path[] = "/tmp/auxtap-flow-XXXXXX", out[4096], text[32];
	struct pt_bytes pt = {.nr = 0}, bad = {.nr = 0}, garbage = {.nr = 0};
	struct flow *flow;
	int fd = mkstemp(path);
	void *shared;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	pt_write_program(path);
	assert_int_equal(auxtap_image_set_new(&config.images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(config.images, path, 0, 0, PROGRAM_BASE, &err),
			 0);
	pt_libipt.version(text, sizeof(text));
	assert_memory_equal(text, "libipt 2.", 9);
	shared = pt_libipt.open(&config);
	assert_non_null(shared);
	flow = pt_libipt.create(shared, NULL);
	assert_non_null(flow);
	assert_true(pt_libipt.set_code(flow, -1, UINT64_MAX));
	assert_false(pt_libipt.set_code(flow, -1, UINT64_MAX));

	pt_psb(&pt, 0x1000);
	pt_tnt(&pt, "10");
	pt_tip(&pt, 0x1009); /* the return is not compressed */
	pt_fup(&pt, 0x1009);
	pt_tip(&pt, 0x1010); /* a signal's handler */
	pt_tip(&pt, 0x1012);
	pt_pgd(&pt);
	steps_of(&pt_libipt, flow, &pt, out, sizeof(out));
	assert_string_equal(out, "sync\n"
				 "time\n" /* the mode */
				 "block 1000-1002 n3 b1 [75/2]\n"
				 "block 1000-1002 n3 b1 [75/2]\n"
				 "block 1004-1004 n1 b4 [e8/5]\n"
				 "block 1010-1011 n2 b6 [c3/1]\n"
				 "async 1009 to 1010\n"
				 "block 1010-1011 n2 b6 [c3/1]\n"
				 "block 1012-1012 n1 b7 [0f/2]\n"
				 "off off\n"
				 "end off\n");

	pt_psb(&bad, 0x1000);
	pt_tnt(&bad, "0");
	pt_tip(&bad, 0x5000); /* no code there */
	pt_tip(&bad, 0x100d);
	pt_tip(&bad, 0x1000);
	steps_of(&pt_libipt, flow, &bad, out, sizeof(out));
	assert_string_equal(out, "sync\n"
				 "time\n"
				 "block 1000-1002 n3 b1 [75/2]\n"
				 "block 1004-1004 n1 b4 [e8/5]\n"
				 "block 1010-1011 n2 b6 [c3/1]\n"
				 "lost 5000 3 at 135 to 142\n"
				 "sync\n"
				 "time\n"
				 "block 100d-100f n3 b0\n"
				 "block 1010-1011 n2 b6 [c3/1]\n"
				 "end 1000\n");

	pt_psb(&garbage, 0x1000);
	pt_raw(&garbage, "d9d9");
	steps_of(&pt_libipt, flow, &garbage, out, sizeof(out));
	assert_string_equal(out, "sync\n"
				 "lost 0 1 at 100 to 129\n"
				 "end\n");

	pt_libipt.destroy(flow);
	pt_libipt.close(shared);
	auxtap_image_set_free(config.images);
	unlink(path);
}

/* What was learned of one process's code is not used for another's at the same addresses. */
static void test_other_code(void **state)
{
	static const uint8_t other[] = {0x90, 0x90, 0xeb, 0x00, 0xc3}; /* jmp to the next; ret */
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct pt_flow_config config = {.insns = false};
	char one[] = "/tmp/auxtap-flow-XXXXXX", two[] = "/tmp/auxtap-flow-XXXXXX", out[4096];
	struct pt_bytes cond = {.nr = 0}, jmp = {.nr = 0};
	int fd = mkstemp(one), other_fd = mkstemp(two);
	struct flow *flow;
	void *shared;

	(void)state;
	assert_true(fd >= 0 && other_fd >= 0);
	close(fd);
	pt_write_program(one);
	assert_int_equal(write(other_fd, other, sizeof(other)), sizeof(other));
	close(other_fd);
	assert_int_equal(auxtap_image_set_new(&config.images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_mapping(config.images, 1, 0, PROGRAM_BASE, 4096, 0,
						      one, NULL, 0),
			 0);
	assert_int_equal(auxtap_image_set_add_mapping(config.images, 2, 0, PROGRAM_BASE, 4096, 0,
						      two, NULL, 0),
			 0);
	shared = pt_libipt.open(&config);
	flow = pt_libipt.create(shared, NULL);
	assert_non_null(flow);

	pt_psb(&cond, 0x1000);
	pt_tnt(&cond, "110");
	pt_tip(&cond, 0x1012);
	pt_psb(&jmp, 0x1000);
	pt_tip(&jmp, 0x1000);
	pt_tip(&jmp, 0x1004);
	for (int i = 0; i < 3; i++) {
		assert_true(pt_libipt.set_code(flow, 1, UINT64_MAX));
		steps_of(&pt_libipt, flow, &cond, out, sizeof(out));
		assert_string_equal(out, "sync\n"
					 "time\n"
					 "block 1000-1002 n3 b1 [75/2]\n"
					 "block 1000-1002 n3 b1 [75/2]\n"
					 "block 1000-1002 n3 b1 [75/2]\n"
					 "block 1004-1004 n1 b4 [e8/5]\n"
					 "block 1010-1011 n2 b6 [c3/1]\n"
					 "end 1012\n");
		assert_true(pt_libipt.set_code(flow, 2, UINT64_MAX));
		steps_of(&pt_libipt, flow, &jmp, out, sizeof(out));
		assert_string_equal(out, "sync\n"
					 "time\n"
					 "block 1000-1002 n3 b2 [eb/2]\n"
					 "block 1004-1004 n1 b6 [c3/1]\n"
					 "block 1000-1002 n3 b2 [eb/2]\n"
					 "block 1004-1004 n1 b6 [c3/1]\n"
					 "end 1004\n");
	}

	pt_libipt.destroy(flow);
	pt_libipt.close(shared);
	auxtap_image_set_free(config.images);
	unlink(one);
	unlink(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches_and_boundaries),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_libipt),
		cmocka_unit_test(test_other_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
