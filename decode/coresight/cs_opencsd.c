// SPDX-License-Identifier: BSD-2-Clause
/*
 * See cs_opencsd.h. The library decodes all bytes that it is given before it returns, and reports
 * elements by callbacks. So the callbacks queue steps, which next() returns.
 */
#include "cs_opencsd.h"
#include "cs_frames.h"
#include "util/vector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_KEEP (1u << 14) /* a larger array of steps is freed after use */
#define RANGES	   1024

/*
 * How much code the library may read for a byte of trace: enough for two dozen branches, each to
 * another of its 512-byte pages. Without a limit it would read megabytes if an address is in data,
 * as it reads on until it finds a branch.
 */
#define CODE_PER_BYTE (16u << 10)
#define CODE_FIRST    (4u << 20)
#define CODE_MOST     (64u << 20)

struct text {
	struct text *next;
	char why[96];
};

struct opencsd_flow {
	struct cs_flow_source source;
	struct cs_tree *tree; /* NULL: broken, or not yet created */
	struct flow_bytes bytes;
	bool fed; /* the bytes were given to the tree */
	uint64_t position;
	struct flow_step *steps;
	size_t nr, max;
	struct text *texts; /* that the steps point to */
	bool no_memory;
	uint32_t space;	     /* of the code that the library read last */
	uint32_t mode;	     /* of the last context */
	uint64_t code_left;  /* bytes of code that the library may still read */
	bool code_limit_hit; /* it wanted more */
	/* errors of the library in use (cs_limits.h) */
	uint32_t version;
	bool unreliable; /* its steps from unreliable_off on may be wrong */
	uint64_t unreliable_off;
	uint32_t generation; /* incremented when the memory may have changed */
	struct range {
		uint64_t start, last;
		uint32_t generation;
	} ranges[RANGES]; /* cache of blocks without an instruction that the library misreads */
};

static struct opencsd_flow *to_opencsd(struct flow *flow)
{
	return (struct opencsd_flow *)flow;
}

/* ---- steps ---- */

static struct flow_step *add_step(struct opencsd_flow *f, const struct flow_step *from)
{
	if (vector_grow(f->steps, f->nr, f->max)) {
		f->no_memory = true;
		return NULL;
	}
	f->steps[f->nr] = *from;
	return &f->steps[f->nr++];
}

static void add_loss(struct opencsd_flow *f, enum flow_loss loss, uint64_t off, const char *fmt,
		     ...) AUXTAP_PRINTF(4, 5);

static void add_loss(struct opencsd_flow *f, enum flow_loss loss, uint64_t off, const char *fmt,
		     ...)
{
	struct text *text = malloc(sizeof(*text));
	struct flow_step step = {.kind = FLOW_LOST, .loss = (uint8_t)loss, .on = true, .pos = off};
	va_list args;

	if (!text) {
		f->no_memory = true;
		return;
	}
	va_start(args, fmt);
	vsnprintf(text->why, sizeof(text->why), fmt, args);
	va_end(args);
	text->next = f->texts;
	f->texts = text;
	step.why = text->why;
	add_step(f, &step);
}

static void add_error(struct opencsd_flow *f, enum flow_loss loss, uint64_t off, const char *why)
{
	add_loss(f, loss, off, "offset 0x%llx: %.64s",
		 (unsigned long long)cs_bytes_offset(f->source.format, off), why);
}

static void drop_steps(struct opencsd_flow *f)
{
	while (f->texts) {
		struct text *text = f->texts;

		f->texts = text->next;
		free(text);
	}
	f->nr = 0;
	if (f->max > STEPS_KEEP) {
		free(f->steps);
		f->steps = NULL;
		f->max = 0;
	}
}

static void memory_changed(struct opencsd_flow *f)
{
	f->generation++;
	if (f->tree)
		cs_tree_memory_changed(f->tree);
}

/* ---- errors of the library (cs_limits.h) ---- */

/* Reports an error: steps from offset off up to the next synchronisation point are dropped. */
static void mark_unreliable(struct opencsd_flow *f, uint64_t off, const char *what, uint64_t addr)
{
	f->unreliable = true;
	f->unreliable_off = off;
	add_loss(f, FLOW_LOSS_ERROR, off, "OpenCSD %s does not know %s at 0x%llx",
		 cs_tree_version(), what, (unsigned long long)addr);
}

static uint64_t end_of(const struct flow_step *block)
{
	return block->nr_insns ? block->last_ip + block->size : block->ip;
}

/*
 * Makes the block end with its first instruction that is a branch, but that the library does not
 * know as one. False: it has no such instruction.
 */
static bool cut_block(struct opencsd_flow *f, struct flow_step *block)
{
	bool t32 = block->isa == AUXTAP_ISA_T32;
	uint64_t addr = block->ip, end = end_of(block);
	uint32_t nr = 0;
	uint8_t code[256];

	while (addr < end) {
		uint64_t left = end - addr;
		uint32_t want = left < sizeof(code) ? (uint32_t)left : sizeof(code), i = 0;
		uint32_t got = f->source.read(f->source.ctx, addr, f->space, want, code);

		while (i + (t32 ? 2 : 4) <= got) {
			uint16_t first = (uint16_t)(code[i] | code[i + 1] << 8), second;
			uint8_t size = t32 && first >> 11 < 0x1d ? 2 : 4;

			if (i + size > got)
				break;
			nr++;
			block->last_ip = addr + i;
			i += size;
			if (size == 2)
				continue;
			second = (uint16_t)(code[i - 2] | code[i - 1] << 8);
			if (t32 ? cs_limits_misses_t32(f->version, first, second) :
				  cs_limits_misses_a64(f->version,
						       first | (uint32_t)second << 16)) {
				block->size = size;
				block->nr_insns = nr;
				block->branch = AUXTAP_BRANCH_NONE;
				return true;
			}
		}
		if (!i)
			return false; /* the code is not readable any more */
		addr += i;
	}
	return false;
}

/* Whether the block was checked before, as most were: programs execute the same blocks again. */
static bool block_is_known(struct opencsd_flow *f, const struct flow_step *block)
{
	uint64_t hash = (block->ip >> 1) ^ (block->last_ip << 7);
	struct range *r = &f->ranges[(hash ^ hash >> 11) % RANGES];

	if (r->generation == f->generation && r->start == block->ip && r->last == block->last_ip)
		return true;
	*r = (struct range){block->ip, block->last_ip, f->generation};
	return false;
}

/* If the block has a branch that the library misreads: adds the part up to it, drops the rest. */
static bool add_known_part(struct opencsd_flow *f, const struct flow_step *block)
{
	struct flow_step known = *block;

	if (!cut_block(f, &known))
		return false;
	f->generation++; /* forget all blocks, so that the branch is found the next time, too */
	add_step(f, &known);
	mark_unreliable(f, block->pos, "the instruction", known.last_ip);
	return true;
}

static void on_block(struct opencsd_flow *f, const struct flow_step *block)
{
	bool a64 = block->isa == AUXTAP_ISA_A64;

	if ((!a64 && block->isa != AUXTAP_ISA_T32) || (a64 && f->version >= CS_VERSION(1, 8, 0)) ||
	    block_is_known(f, block) || !add_known_part(f, block))
		add_step(f, block);
}

#define M_PROFILE_CHAINED 0xfffffffe /* this value replaces the return address (tail-chaining) */

/*
 * Older versions find an exception's address by following the code from the current address. If
 * that code does not lead there (after a Q element, or if M-profile exceptions are tail-chained),
 * they run through whatever follows in memory and report it as a block of the exception's packet.
 * This drops such a block.
 */
static void drop_block_before(struct opencsd_flow *f, const struct flow_step *exception)
{
	size_t nr = f->nr;

	while (nr && f->steps[nr - 1].pos == exception->pos && f->steps[nr - 1].kind == FLOW_LOST &&
	       (f->steps[nr - 1].loss == FLOW_LOSS_ERROR ||
		f->steps[nr - 1].loss == FLOW_LOSS_NO_CODE))
		nr--;
	if (!nr || f->steps[nr - 1].pos != exception->pos || f->steps[nr - 1].kind != FLOW_BLOCK)
		return;
	if (f->steps[nr - 1].ip < exception->ip && exception->ip != M_PROFILE_CHAINED)
		return;
	f->nr = nr - 1;
	f->code_left = CODE_FIRST;
	f->code_limit_hit = false;
	mark_unreliable(f, exception->pos, "the way to the exception", exception->ip);
	f->unreliable = false; /* the exception step has an address, so the flow is known again */
}

/* ---- callbacks of the tree ---- */

static void on_context(struct opencsd_flow *f, const struct flow_step *step, uint32_t mode)
{
	const struct cs_flow_source *source = &f->source;

	if (source->context && source->context(source->ctx, step->pos, step->tid))
		memory_changed(f);
	if (f->mode != mode)
		memory_changed(f);
	f->mode = mode;
}

static void on_no_code(struct opencsd_flow *f, const struct flow_step *step)
{
	if (!f->code_limit_hit) {
		add_step(f, step);
		return;
	}
	f->code_limit_hit = false;
	add_loss(f, FLOW_LOSS_ERROR, step->pos, "offset 0x%llx: no branch in the code from %llx on",
		 (unsigned long long)cs_bytes_offset(f->source.format, step->pos),
		 (unsigned long long)step->ip);
}

static void on_step(void *ctx, const struct flow_step *step, uint32_t mode)
{
	struct opencsd_flow *f = ctx;

	if (f->unreliable)
		return;
	if (step->kind == FLOW_BLOCK) {
		on_block(f, step);
		return;
	}
	if (step->kind == FLOW_LOST && step->loss == FLOW_LOSS_NO_CODE) {
		on_no_code(f, step);
		return;
	}
	if (step->kind == FLOW_ASYNC && cs_limits_overruns_exception(f->version) && step->has_ip)
		drop_block_before(f, step);
	else if (step->kind == FLOW_CONTEXT)
		on_context(f, step, mode);
	add_step(f, step);
}

static uint32_t on_read(void *ctx, uint64_t addr, uint32_t space, uint32_t size, uint8_t *buf)
{
	struct opencsd_flow *f = ctx;
	uint32_t got;

	f->space = space;
	got = f->source.read(f->source.ctx, addr, space, size, buf);
	if (got > f->code_left) {
		f->code_limit_hit = true;
		return 0;
	}
	f->code_left -= got;
	return got;
}

/* ---- bytes ---- */

static void drop_tree(struct opencsd_flow *f)
{
	cs_tree_free(f->tree);
	f->tree = NULL;
}

/* Creates or resets the tree, so that it starts at off without any state. */
static bool reset_tree(struct opencsd_flow *f, uint64_t off)
{
	const struct cs_tree_opts opts = {.format = f->source.format,
					  .step = on_step,
					  .read = on_read,
					  .ctx = f};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char why[160];

	if (f->tree) {
		if (cs_tree_reset(f->tree, why, sizeof(why)) >= 0)
			return true;
		add_error(f, FLOW_LOSS_ERROR, off, why);
		drop_tree(f);
	}
	if (!cs_tree_new(&f->tree, &opts, &f->source.unit, 1, &err))
		return true;
	f->tree = NULL;
	add_error(f, FLOW_LOSS_BROKEN, off, err.why);
	return false;
}

static void add_broken(struct opencsd_flow *f)
{
	const struct flow_step step = {.kind = FLOW_LOST,
				       .loss = FLOW_LOSS_BROKEN,
				       .on = true,
				       .pos = f->position};

	drop_tree(f);
	add_step(f, &step);
}

/* Continues at the first multiple of grain, from 'off', after the unreliable packet. */
static void resynchronise(struct opencsd_flow *f)
{
	uint64_t grain = cs_tree_granularity(f->source.format), off = f->bytes.off;
	char why[160];

	f->unreliable = false;
	if (f->unreliable_off >= off)
		f->position = off + ((f->unreliable_off - off) / grain + 1) * grain;
	else
		f->position = off - (off - f->unreliable_off - 1) / grain * grain;
	if (f->tree && cs_tree_reset(f->tree, why, sizeof(why)) < 0)
		add_broken(f);
}

static void feed(struct opencsd_flow *f)
{
	const struct flow_bytes *b = &f->bytes;
	char why[192] = "";
	size_t used;
	int ret;

	f->code_left += b->size * CODE_PER_BYTE;
	if (f->code_left > CODE_MOST)
		f->code_left = CODE_MOST;
	ret = cs_tree_feed(f->tree, b->off, b->data, b->size, &used, why, sizeof(why));
	f->position = b->off + used;
	if (ret && !f->unreliable)
		add_error(f, FLOW_LOSS_ERROR, f->position, why);
	if (ret && ret != -EBADMSG)
		add_broken(f);
	if (f->unreliable)
		resynchronise(f);
}

static void end(struct opencsd_flow *f)
{
	char why[160];

	if (cs_tree_end(f->tree, why, sizeof(why)) && !f->unreliable)
		add_error(f, FLOW_LOSS_ERROR, f->bytes.off, why);
	f->unreliable = false;
}

/* ---- the flow ---- */

static void *open_library(const void *config)
{
	static char none; /* trees share no state; the result must only be non-NULL */

	(void)config;
	return &none;
}

static void close_library(void *shared)
{
	(void)shared;
}

static enum flow_speculation speculation(const void *source)
{
	const struct cs_flow_source *s = source;
	bool cycles;

	if (!cs_limits_miscounts_commits(cs_tree_version_number(), s->unit, &cycles))
		return FLOW_SPECULATION_FOLLOWED;
	return cycles ? FLOW_SPECULATION_NOT_WITH_CYCLES : FLOW_SPECULATION_NOT_ACROSS_SYNC;
}

static struct flow *create(void *shared, const void *source)
{
	struct opencsd_flow *f = calloc(1, sizeof(*f));

	(void)shared;
	if (!f)
		return NULL;
	f->source = *(const struct cs_flow_source *)source;
	f->version = cs_tree_version_number();
	f->code_left = CODE_FIRST;
	f->generation = 1;
	f->fed = true;
	return (struct flow *)f;
}

static void destroy(struct flow *flow)
{
	struct opencsd_flow *f = to_opencsd(flow);

	if (!f)
		return;
	drop_steps(f);
	cs_tree_free(f->tree);
	free(f->steps);
	free(f);
}

/* The source knows whose code to read: only code that was read before must be read again. */
static bool set_code(struct flow *flow, int32_t pid, uint64_t time)
{
	(void)pid;
	(void)time;
	memory_changed(to_opencsd(flow));
	return true;
}

static void start(struct flow *flow, const struct flow_bytes *bytes)
{
	struct opencsd_flow *f = to_opencsd(flow);

	f->bytes = *bytes;
	f->position = bytes->off;
	f->fed = false;
}

static size_t next(struct flow *flow, const struct flow_step **steps)
{
	static const struct flow_step no_memory = {.kind = FLOW_LOST, .loss = FLOW_LOSS_NO_MEMORY};
	struct opencsd_flow *f = to_opencsd(flow);

	drop_steps(f);
	if (f->fed)
		return 0;
	f->fed = true;
	if (!f->tree && f->bytes.joins)
		add_broken(f);
	else if (f->bytes.joins || reset_tree(f, f->bytes.off)) {
		if (f->bytes.size)
			feed(f);
		if (f->bytes.last && f->tree)
			end(f);
	}
	*steps = f->no_memory ? &no_memory : f->steps;
	return f->no_memory ? 1 : f->nr;
}

static uint64_t position(struct flow *flow)
{
	return to_opencsd(flow)->position;
}

static void stop(struct flow *flow)
{
	to_opencsd(flow)->fed = true;
}

const struct flow_ops cs_opencsd_ops = {
	.name = "OpenCSD",
	.version = cs_tree_name,
	.open = open_library,
	.close = close_library,
	.speculation = speculation,
	.create = create,
	.destroy = destroy,
	.set_code = set_code,
	.start = start,
	.next = next,
	.position = position,
	.stop = stop,
};
