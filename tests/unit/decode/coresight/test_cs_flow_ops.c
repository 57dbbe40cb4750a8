// SPDX-License-Identifier: BSD-2-Clause
/*
 * CoreSight streams with a decoder that plays steps from a script: the way from a unit's bytes to
 * events needs nothing of OpenCSD. The test's part of decode/flow/test_flow_ops.c for a decoder
 * that takes a stream a little at a time.
 */
#include "support_events.h"
#include "decode/coresight/cs_opencsd.h"
#include "decode/flow/decoder_private.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

extern const struct trace_family cs_family;

#define NR(a)	   (sizeof(a) / sizeof((a)[0]))
#define CODE	   0x8000
#define TRACE_SIZE 600

/* What is given to the decoder, in order, and what it makes of that. */
struct piece {
	uint64_t off;
	size_t size;
	bool joins, last;
	size_t used;
	const struct flow_step *steps;
	size_t nr;
};

static struct {
	const struct piece *pieces;
	size_t nr, at;
	unsigned int nr_open, nr_flows, nr_code;
	struct cs_flow_source source;
	bool given; /* the piece before 'at', its steps not yet taken */
	struct flow_step steps[16];
} stage;

/* What the decoder says of its unit. */
static enum flow_speculation speculation;

static void script_version(char *text, size_t size)
{
	snprintf(text, size, "a script");
}

static void *script_open(const void *config)
{
	assert_null(config);
	stage.nr_open++;
	return &stage;
}

static void script_close(void *shared)
{
	assert_ptr_equal(shared, &stage);
	assert_int_equal(stage.nr_flows, 0);
	stage.nr_open--;
}

static enum flow_speculation script_speculation(const void *source)
{
	const struct cs_flow_source *s = source;

	assert_int_equal(s->unit->protocol, CS_PROTOCOL_ETE);
	return speculation;
}

static struct flow *script_create(void *shared, const void *source)
{
	assert_ptr_equal(shared, &stage);
	stage.source = *(const struct cs_flow_source *)source;
	assert_int_equal(stage.source.unit->protocol, CS_PROTOCOL_ETE);
	assert_int_equal(stage.source.format, CS_FORMAT_SOURCE);
	stage.nr_flows++;
	return (struct flow *)&stage;
}

static void script_destroy(struct flow *flow)
{
	assert_ptr_equal(flow, &stage);
	stage.nr_flows--;
}

static bool script_set_code(struct flow *flow, int32_t pid, uint64_t time)
{
	(void)flow;
	(void)pid;
	(void)time;
	stage.nr_code++;
	return true;
}

static void script_start(struct flow *flow, const struct flow_bytes *bytes)
{
	const struct piece *p = &stage.pieces[stage.at++];

	(void)flow;
	assert_true(stage.at <= stage.nr);
	assert_int_equal(bytes->off, p->off);
	assert_int_equal(bytes->size, p->size);
	assert_int_equal(bytes->total, p->size);
	assert_int_equal(bytes->joins, p->joins);
	assert_int_equal(bytes->last, p->last);
	for (size_t i = 0; i < bytes->size; i++)
		assert_int_equal(bytes->data[i], (uint8_t)(bytes->off + i));
	stage.given = true;
}

static size_t script_next(struct flow *flow, const struct flow_step **steps)
{
	const struct piece *p = &stage.pieces[stage.at - 1];

	(void)flow;
	memset(stage.steps, 0xa5, sizeof(stage.steps));
	if (!stage.given)
		return 0;
	stage.given = false;
	for (size_t i = 0; i < p->nr; i++) {
		stage.steps[i] = p->steps[i];
		/* the trace names a thread: asked before the steps are taken */
		if (p->steps[i].kind == FLOW_CONTEXT)
			stage.source.context(stage.source.ctx, p->steps[i].pos, p->steps[i].tid);
	}
	*steps = stage.steps;
	return p->nr;
}

static uint64_t script_position(struct flow *flow)
{
	const struct piece *p = &stage.pieces[stage.at - 1];

	(void)flow;
	return p->off + p->used;
}

static void script_stop(struct flow *flow)
{
	(void)flow;
	stage.given = false;
}

static const struct flow_ops script_ops = {
	.name = "script",
	.version = script_version,
	.open = script_open,
	.close = script_close,
	.speculation = script_speculation,
	.create = script_create,
	.destroy = script_destroy,
	.set_code = script_set_code,
	.start = script_start,
	.next = script_next,
	.position = script_position,
	.stop = script_stop,
};

/* ---- from a script to lines ---- */

static void print_event(FILE *f, const struct auxtap_event *ev)
{
	fprintf(f, "%" PRIu64 " %d %s", ev->time, ev->tid, event_word(ev));
	if (ev->has_ip)
		fprintf(f, " %" PRIx64, ev->ip);
	if (ev->has_addr)
		fprintf(f, " > %" PRIx64, ev->addr);
	if (ev->insn_size)
		fprintf(f, " [%02x/%u]", ev->insn[0], ev->insn_size);
	if (ev->type == AUXTAP_EVENT_GAP)
		fprintf(f, " %s %s", auxtap_gap_cause_name(ev->gap->cause), ev->text);
	fputc('\n', f);
}

static void write_file(char *path, const void *data, size_t size)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void expect(const struct piece *pieces, size_t nr, uint32_t events, const char *lines)
{
	static const char unit[] = "[device]\nname=ETE_3\ntype=ETE\n[regs]\nTRCCONFIGR=0x841\n"
				   "TRCTRACEIDR=2\nTRCIDR0=0x8000aa1\nTRCIDR2=0xc0001088\n";
	char trace[] = "/tmp/auxtap-cs-trace-XXXXXX", ini[] = "/tmp/auxtap-cs-unit-XXXXXX",
	     code[] = "/tmp/auxtap-cs-code-XXXXXX", out[4096];
	const char *const configs[] = {ini};
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events};
	struct auxtap_raw_opts raw = {.size = sizeof(raw),
				      .family = "etm",
				      .etm_configs = configs,
				      .nr_etm_configs = 1};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	uint8_t bytes[TRACE_SIZE];
	struct auxtap_event ev = {.size = sizeof(ev)};
	int ret;
	FILE *f = fmemopen(out, sizeof(out), "w");

	assert_non_null(f);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	write_file(trace, bytes, sizeof(bytes));
	write_file(code, bytes, sizeof(bytes));
	write_file(ini, unit, sizeof(unit) - 1);
	memset(&stage, 0, sizeof(stage));
	stage.pieces = pieces;
	stage.nr = nr;
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, CODE, &err), 0);
	assert_int_equal(decoder_new(&dec, &cs_family, images, &opts, &err), 0);
	assert_ptr_equal(dec->flow_ops, &cs_opencsd_ops);
	dec->flow_ops = &script_ops;
	dec->sideband.conv = (struct time_conv){.valid = true, .mult = 1};
	sideband_finish(&dec->sideband);
	assert_int_equal(cs_family.open_raw(dec, trace, &raw, -1, &err), 0);
	assert_int_equal(decoder_start(dec), 0);
	while ((ret = auxtap_decoder_next(dec, &ev, &err)) == 1)
		print_event(f, &ev);
	assert_int_equal(ret, 0);
	assert_true(ftell(f) < (long)sizeof(out) - 1);
	fclose(f);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	unlink(trace);
	unlink(code);
	unlink(ini);
	assert_string_equal(out, lines);
	assert_int_equal(stage.at, nr); /* all was given */
	assert_int_equal(stage.nr_code, nr ? 1 : 0);
	assert_int_equal(stage.nr_open, 0);
}

#define ALL                                                                                   \
	(AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC | \
	 AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

static void test_flow(void **state)
{
	const struct flow_step first[] = {
		{.kind = FLOW_SYNC},
		{.kind = FLOW_CONTEXT, .tid = 77, .pos = 4},
		{.kind = FLOW_ON, .pos = 5},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE,
		 .last_ip = CODE + 8,
		 .size = 4,
		 .nr_insns = 3,
		 .branch = AUXTAP_BRANCH_CALL,
		 .pos = 6},
		/* the first time is that of all before */
		{.kind = FLOW_TIME, .tsc = 1000, .pos = 7},
	};
	const struct flow_step second[] = {
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE + 0x40,
		 .last_ip = CODE + 0x44,
		 .size = 4,
		 .nr_insns = 2,
		 .branch = AUXTAP_BRANCH_RETURN,
		 .pos = 300},
		{.kind = FLOW_TIME, .tsc = 1100, .pos = 301},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE + 0xc,
		 .last_ip = CODE + 0x10,
		 .size = 4,
		 .nr_insns = 2,
		 .pos = 302},
		/* a system call after the block, an interrupt at an address */
		{.kind = FLOW_ASYNC, .has_ip = true, .calls = true, .ip = CODE + 0x14, .pos = 303},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE + 0x14,
		 .last_ip = CODE + 0x14,
		 .size = 4,
		 .nr_insns = 1,
		 .pos = 304},
		{.kind = FLOW_ASYNC, .has_ip = true, .ip = CODE + 0x18, .pos = 305},
	};
	const struct flow_step third[] = {
		{.kind = FLOW_CONTEXT, .tid = 78, .pos = 400},
		{.kind = FLOW_ON, .pos = 401, .loss = FLOW_LOSS_OVERFLOW},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_T32,
		 .ip = CODE + 0x80,
		 .last_ip = CODE + 0x82,
		 .size = 2,
		 .nr_insns = 2,
		 .branch = AUXTAP_BRANCH_COND,
		 .pos = 402},
	};
	const struct flow_step end[] = {{.kind = FLOW_TIME, .tsc = 1300, .pos = 600}};
	const struct piece pieces[] = {
		{.off = 0, .size = 256, .used = 256, .steps = first, .nr = NR(first)},
		/* not all of it: the rest is given again */
		{.off = 256,
		 .size = 256,
		 .joins = true,
		 .used = 100,
		 .steps = second,
		 .nr = NR(second)},
		{.off = 356,
		 .size = 244,
		 .joins = true,
		 .used = 244,
		 .steps = third,
		 .nr = NR(third)},
		{.off = 600, .joins = true, .last = true, .steps = end, .nr = NR(end)},
	};

	(void)state;
	expect(pieces, NR(pieces), ALL,
	       "1000 77 on > 8000\n"
	       "1000 77 call 8008 > 8040 [08/4]\n"
	       "1000 77 depth+ 8008 > 8040 [08/4]\n"
	       "1100 77 ret 8044 > 800c [44/4]\n"
	       "1100 77 depth- 8044 > 800c [44/4]\n"
	       "1100 77 syscall 8010 > 8014 [10/4]\n"
	       "1100 77 async 8018\n" /* where its handler is, is not in the trace */
	       "1100 78 off\n"
	       "1100 78 gap hw_overflow the trace unit's own buffer was full\n"
	       "1100 78 on > 8080\n");
	expect(pieces, NR(pieces), AUXTAP_EVENT_INSN,
	       "1000 77 insn 8000 [00/4]\n"
	       "1000 77 insn 8004 [04/4]\n"
	       "1000 77 insn 8008 [08/4]\n"
	       "1000 77 insn 8040 [40/4]\n"
	       "1000 77 insn 8044 [44/4]\n"
	       "1100 77 insn 800c [0c/4]\n"
	       "1100 77 insn 8010 [10/4]\n"
	       "1100 77 insn 8014 [14/4]\n"
	       "1100 78 insn 8080 [80/2]\n"
	       "1100 78 insn 8082 [82/2]\n");
}

static void test_losses(void **state)
{
	const struct flow_step first[] = {
		{.kind = FLOW_ON, .pos = 5},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE,
		 .last_ip = CODE + 8,
		 .size = 4,
		 .nr_insns = 3,
		 .branch = AUXTAP_BRANCH_JUMP_INDIRECT,
		 .pos = 6},
		{.kind = FLOW_LOST,
		 .loss = FLOW_LOSS_NO_CODE,
		 .has_ip = true,
		 .ip = 0x123450,
		 .pos = 7},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE,
		 .last_ip = CODE + 4,
		 .size = 4,
		 .nr_insns = 2,
		 .pos = 8},
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_NO_ADDRESS, .pos = 9},
		{.kind = FLOW_LOST,
		 .loss = FLOW_LOSS_NO_PATH,
		 .has_ip = true,
		 .ip = CODE + 0x20,
		 .nr_insns = 9,
		 .pos = 10},
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_PACKET, .pos = 11, .why = "what is that"},
		{.kind = FLOW_ON, .pos = 12},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE,
		 .last_ip = CODE,
		 .size = 4,
		 .nr_insns = 1,
		 .pos = 13},
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_RESET, .pos = 14}, /* of no interest */
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_OVERFLOW, .pos = 15},
		{.kind = FLOW_ON, .pos = 16},
		{.kind = FLOW_BLOCK,
		 .isa = AUXTAP_ISA_A64,
		 .ip = CODE + 4,
		 .last_ip = CODE + 4,
		 .size = 4,
		 .nr_insns = 1,
		 .pos = 17},
	};
	const struct flow_step second[] = {
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_ERROR, .pos = 256, .why = "first"},
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_BROKEN, .pos = 257, .why = "second"},
	};
	const struct piece pieces[] = {
		{.off = 0, .size = 256, .used = 256, .steps = first, .nr = NR(first)},
		/* after that the decoder gets no more of the run, and no end of it */
		{.off = 256,
		 .size = 256,
		 .joins = true,
		 .used = 1,
		 .steps = second,
		 .nr = NR(second)},
	};

	(void)state;
	expect(pieces, NR(pieces), ALL,
	       "0 -1 on > 8000\n"
	       "0 -1 ijump 8008 > 123450 [08/4]\n"
	       "0 -1 gap no_image no mapping known at 123450\n"
	       "0 -1 gap unknown the trace does not contain the address\n"
	       "0 -1 gap unknown 9 instructions whose path the trace does not contain\n"
	       "0 -1 off\n"
	       "0 -1 gap decode_error what is that\n"
	       "0 -1 on > 8000\n"
	       "0 -1 off 8004\n"
	       "0 -1 gap hw_overflow the trace unit's own buffer was full\n"
	       "0 -1 on > 8004\n"
	       "0 -1 gap decode_error first\n"
	       "0 -1 gap decode_error second\n");
}

/* Whether speculation can be followed says the decoder, and its name is in the gap. */
static void test_speculation(void **state)
{
	const struct flow_step steps[] = {
		{.kind = FLOW_LOST, .loss = FLOW_LOSS_BROKEN, .pos = 1, .why = "followed"},
	};
	const struct piece pieces[] = {
		{.off = 0, .size = 256, .used = 1, .steps = steps, .nr = NR(steps)},
	};

	(void)state;
	/* the trace has no synchronisation point with uncommitted elements */
	speculation = FLOW_SPECULATION_NOT_ACROSS_SYNC;
	expect(pieces, NR(pieces), ALL, "0 -1 gap decode_error followed\n");
	speculation = FLOW_SPECULATION_NOT_WITH_CYCLES;
	expect(NULL, 0, ALL,
	       "0 -1 gap unknown a script cannot follow speculation with cycle counts\n");
	speculation = FLOW_SPECULATION_FOLLOWED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_speculation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
