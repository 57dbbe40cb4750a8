// SPDX-License-Identifier: BSD-2-Clause
/*
 * One segment as events, whatever came before it. Nothing is listed that a later packet
 * does not confirm: at the end of a run the flow stops after the last packet; where the
 * next PSB+ names an address, it goes on straight up to there. After an error the flow is
 * taken up again where a packet next names an address; between lies a gap.
 */
#include "pt_limits.h"
#include "pt_queue.h"
#include "pt_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step that neither executes nor consumes anything must not be repeated for ever. */
#define MAX_EMPTY_STEPS 64
/*
 * Events that one step may produce, an error's included: gaps, branches, calls, async, trace,
 * instruction.
 */
#define STEP_EVENTS 12

struct pt_segment_decoder *pt_segment_decoder_new(const struct pt_shared *shared)
{
	struct pt_segment_decoder *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->shared = shared;
	w->generation = 1;
	w->version = PT_VERSION(pt_library_version().major, pt_library_version().minor);
	pt_memory_init(&w->mem, shared->images, shared->sections);
	return w;
}

void pt_segment_decoder_free(struct pt_segment_decoder *w)
{
	if (!w)
		return;
	pt_flow_stop(w);
	pt_memory_free(&w->mem);
	free(w);
}

static void spin_reset(struct pt_segment_decoder *w)
{
	w->spin_ip = 0;
	w->spin_power = 1;
	w->spin_length = 0;
}

/* Brent: true when the decode without packets came to ip before. */
static bool spin_check(struct pt_segment_decoder *w, uint64_t ip)
{
	if (w->spin_length && ip == w->spin_ip)
		return true;
	if (w->spin_length >= w->spin_power || !w->spin_length) {
		w->spin_ip = ip;
		w->spin_power = w->spin_length ? w->spin_power * 2 : 1;
		w->spin_length = 0;
	}
	w->spin_length++;
	return false;
}

static void set_time(struct pt_segment_decoder *w, uint64_t tsc)
{
	if (!tsc)
		return;
	if (tsc > w->tsc)
		w->tsc = tsc;
	w->time = time_from_tsc(&w->shared->sideband->conv, w->tsc);
}

/* Which mappings hold now; without comparable clocks all of the sideband does. */
static uint64_t map_time(const struct pt_segment_decoder *w)
{
	return w->shared->sideband->conv.valid && w->time ? w->time : UINT64_MAX;
}

/* Who runs, and what it has mapped: may have changed whenever tracing was off. */
static void look_around(struct pt_segment_decoder *w)
{
	const struct sideband *sb = w->shared->sideband;
	struct pt_image *image;

	/*
	 * A transaction may hold more threads than the one that its record names: the kernel
	 * leaves the unit on between two threads whose events are clones of each other.
	 */
	if (w->queue->per_cpu &&
	    !(sb->has_switches && sb->conv.valid && w->time &&
	      sideband_running(sb, w->queue->cpu, w->time, &w->pid, &w->tid)) &&
	    !sideband_owner(sb, w->queue->cpu, w->job->seg.off, &w->pid, &w->tid) &&
	    !sideband_running(sb, w->queue->cpu, w->time, &w->pid, &w->tid)) {
		w->pid = w->tid = -1;
	}
	image = pt_memory_image(&w->mem, w->pid, map_time(w));
	if (image == w->image)
		return;
	pt_count_flush(w);
	w->image = image;
	w->generation++;
	pt_flow_set_image(w, image);
}

/*
 * The idle task has no user code: the switch to another thread is between two time stamps, and
 * whose code it is, is not known.
 */
static void not_idle(struct pt_segment_decoder *w, uint64_t ip)
{
	if (w->queue->per_cpu && !w->tid && ip && !(ip >> 63))
		w->pid = w->tid = -1;
}

static bool usable(void *ctx, uint64_t ip)
{
	struct pt_segment_decoder *w = ctx;

	return pt_memory_readable(&w->mem, ip, false);
}

static void end_segment(struct pt_segment_decoder *w)
{
	pt_flow_stop(w);
	w->over = true;
}

static uint64_t stream_offset(const struct pt_segment_decoder *w, size_t pos)
{
	return w->job->seg.off + (uint64_t)(w->base - w->job->seg.data) + pos;
}

static int start(struct pt_segment_decoder *w)
{
	int ret = pt_flow_start(w);

	spin_reset(w);
	w->empty_steps = 0;
	if (ret)
		return ret;
	set_time(w, pt_flow_tsc(w));
	look_around(w);
	return 0;
}

/*
 * The flow is lost at 'pos'. Take it up where the rest of the segment names an address
 * that can be read: a small PSB+ is written over packets that are done with, and libipt
 * starts there. No such position: the next segment begins by itself.
 */
/* Where in the stream it goes on. */
static uint64_t resume(struct pt_segment_decoder *w, size_t pos)
{
	uint64_t end = stream_offset(w, w->own);
	struct pt_restart r = {.tsc = w->tsc};
	uint8_t header[PT_RESTART_HEADER_MAX];

	for (;;) {
		size_t size, skip;

		if (pos > w->own)
			pos = w->own;
		if (!pt_scan_restart(w->base, w->own, pos, &r, usable, w)) {
			end_segment(w);
			return end;
		}
		size = pt_restart_header(&r, header);
		memcpy(w->base + r.end - size, header, size);
		if (r.end >= size) {
			skip = r.end - size;
			w->base += skip;
			w->own -= skip;
			w->total -= skip;
		} else {
			skip = size - r.end;
			w->base -= skip;
			w->own += skip;
			w->total += skip;
		}
		if (!start(w))
			return stream_offset(w, size);
		pos = size; /* of the new base: after the header */
	}
}

static void lose(struct pt_segment_decoder *w, int code, uint64_t ip)
{
	size_t pos = pt_flow_offset(w);
	uint64_t from = stream_offset(w, pos), on;
	struct flow_gap *gap;

	pt_count_flush(w);
	not_idle(w, ip);
	if (code == -pte_nomap && !pt_memory_readable(&w->mem, ip, true)) {
		pt_emit_branch(w, ip, true);
		if (w->mem.fault_mapped)
			gap = pt_gap_open(w, AUXTAP_GAP_NO_IMAGE, "no image %s for %llx",
					  w->mem.fault_image, (unsigned long long)ip);
		else
			gap = pt_gap_open(w, AUXTAP_GAP_NO_IMAGE, "no mapping known at %llx",
					  (unsigned long long)ip);
	} else {
		char at_ip[32] = "";

		if (ip)
			snprintf(at_ip, sizeof(at_ip), ", ip %llx", (unsigned long long)ip);
		/* No fault of the trace: what follows would be resynchronised at random. */
		if (code == -pte_nomem)
			w->job->error = -ENOMEM;
		gap = pt_gap_open(w, AUXTAP_GAP_DECODE_ERROR, "%s at offset 0x%llx%s",
				  pt_errstr(pt_errcode(code)),
				  (unsigned long long)stream_offset(w, pos), at_ip);
		if (gap)
			gap->cut = code == -pte_eos;
	}
	/* the queue gets the gap when this batch is full: until then it is ours */
	on = resume(w, pos);
	if (gap && !gap->cut && on > from) {
		gap->gap.nr_bytes = on - from;
		gap->gap.exact = true;
	}
}

/* ---- events ---- */

/*
 * The own PSB+ repeats what holds; the next one's says that this segment is over, as soon
 * as something of it is bound to an address: the decode has come to that PSB+'s FUP. Without
 * an address tracing was off there.
 */
static bool is_next_psb(struct pt_segment_decoder *w, const struct pt_event *ev)
{
	if (!ev->status_update)
		return false;
	if (w->flow.nr_status_left) {
		w->flow.nr_status_left--;
		return false;
	}
	return ev->type == ptev_exec_mode || ev->type == ptev_tsx ||
	       ev->type == ptev_async_paging || ev->type == ptev_async_vmcs;
}

static void on_overflow(struct pt_segment_decoder *w, const struct pt_event *ev)
{
	pt_gap_open(w, AUXTAP_GAP_HW_OVERFLOW, "the trace unit's buffer overflowed");
	w->enabled = !ev->ip_suppressed;
	look_around(w);
	if (w->enabled)
		pt_gap_close(w);
}

/*
 * An event at ip, which the decode has come to. Endless loops and recursion by direct branches have
 * no packets: the decode stops the first time that it comes to ip, the program may have passed it
 * often.
 */
static void arrive(struct pt_segment_decoder *w, uint64_t ip)
{
	if (!pt_flow_comes_back(w, ip))
		return;
	pt_gap_open(w, AUXTAP_GAP_UNCOUNTED,
		    "code without packets comes back to 0x%llx: how often it ran is not recorded",
		    (unsigned long long)ip);
	pt_gap_close(w);
}

static void on_event(struct pt_segment_decoder *w, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		w->enabled = true;
		pt_emit_no_branch(w);
		look_around(w);
		not_idle(w, ev->variant.enabled.ip);
		pt_gap_close(w);
		pt_emit_trace(w, true, ev->variant.enabled.ip, true);
		break;
	case ptev_disabled:
		pt_gap_close(w);
		pt_emit_branch(w, ev->variant.disabled.ip, !ev->ip_suppressed);
		pt_emit_trace(w, false, w->last_ip, w->last_ip != 0);
		w->enabled = false;
		break;
	case ptev_async_disabled:
		pt_gap_close(w);
		pt_emit_branch(w, ev->variant.async_disabled.at, true);
		arrive(w, ev->variant.async_disabled.at);
		pt_emit_async(w, ev->variant.async_disabled.at, ev->variant.async_disabled.ip,
			      !ev->ip_suppressed);
		pt_emit_trace(w, false, ev->variant.async_disabled.at, true);
		w->enabled = false;
		break;
	case ptev_async_branch:
		pt_gap_close(w);
		pt_emit_branch(w, ev->variant.async_branch.from, true);
		arrive(w, ev->variant.async_branch.from);
		pt_emit_async(w, ev->variant.async_branch.from, ev->variant.async_branch.to,
			      !ev->ip_suppressed);
		look_around(w);
		break;
	case ptev_overflow:
		on_overflow(w, ev);
		break;
	case ptev_paging:
	case ptev_async_paging:
		look_around(w);
		break;
	default:
		break;
	}
}

static void take_event(struct pt_segment_decoder *w)
{
	struct pt_event ev;
	int ret = pt_flow_event(w, &ev);

	if (ret < 0) {
		/* A PSB+ of tracing that is off ends the segment, however it puts it. */
		if (!w->enabled && pt_flow_offset(w) >= w->own)
			end_segment(w);
		else
			lose(w, ret, w->last_ip);
		return;
	}
	set_time(w, ev.has_tsc ? ev.tsc : pt_flow_tsc(w));
	spin_reset(w);
	if (is_next_psb(w, &ev)) {
		if (ev.type == ptev_exec_mode && !ev.ip_suppressed && w->enabled)
			pt_emit_branch(w, ev.variant.exec_mode.ip, true);
		if (ev.type == ptev_exec_mode && !ev.ip_suppressed && w->enabled)
			arrive(w, ev.variant.exec_mode.ip);
		end_segment(w);
		return;
	}
	on_event(w, &ev);
}

/* ---- instructions ---- */

/* The branch at the end of a block whose bytes libipt does not hand out. */
static const struct pt_branch *branch_at(struct pt_segment_decoder *w, const struct pt_step *step)
{
	uint64_t ip = step->end_ip;
	struct pt_branch *b = &w->branches[(ip ^ ip >> 10) % PT_BRANCHES];
	ssize_t got;

	if (b->ip == ip && b->generation == w->generation)
		return b;
	b->ip = ip;
	b->generation = w->generation;
	got = auxtap_image_set_read(w->shared->images, w->mem.pid, w->mem.time, ip, b->raw,
				    sizeof(b->raw));
	b->valid = got > 0 && !branch_insn_decode(b->raw, (size_t)got, step->bits_32, &b->insn);
	return b;
}

static void set_pending(struct pt_segment_decoder *w, const struct pt_step *step)
{
	struct pt_pending *p = &w->pending;

	p->valid = false;
	if (step->iclass == ptic_other || step->iclass == ptic_ptwrite)
		return;
	p->ip = step->end_ip;
	if (step->have_raw) {
		memcpy(p->raw, step->raw, step->size);
		p->valid = !branch_insn_decode(p->raw, step->size, step->bits_32, &p->insn);
	} else {
		const struct pt_branch *b = branch_at(w, step);

		p->valid = b->valid;
		p->insn = b->insn;
		memcpy(p->raw, b->raw, sizeof(p->raw));
	}
}

/* Does the decode consume packets? A step that does not may repeat for ever. */
static bool spins(struct pt_segment_decoder *w, const struct pt_step *step)
{
	const struct pt_pending *p = &w->pending;

	if (p->valid && !p->insn.direct)
		spin_reset(w);
	else if (p->valid && p->insn.kind == AUXTAP_BRANCH_COND)
		spin_reset(w);
	else if (p->valid)
		return spin_check(w, step->end_ip);
	return false;
}

/* Makes the block end with its first instruction that libipt does not know; false: it knows all. */
static bool cut_block(struct pt_segment_decoder *w, struct pt_step *step)
{
	uint64_t size = step->end_ip - step->ip + 15, at = 0;
	uint8_t code[4096];
	char text[64];
	ssize_t got;

	if (step->end_ip < step->ip || size > sizeof(code))
		size = sizeof(code);
	got = auxtap_image_set_read(w->shared->images, w->mem.pid, w->mem.time, step->ip, code,
				    size);
	if (got <= 0 || !pt_limits_bytes(w->version, code, (size_t)got))
		return false;
	for (unsigned int nr = 1; nr <= step->nr_insns && at < (uint64_t)got; nr++) {
		int len;

		if (pt_limits_insn(w->version, step->bits_32, code + at, (size_t)got - at)) {
			step->nr_insns = nr;
			step->end_ip = step->ip + at;
			step->iclass = ptic_other;
			return true;
		}
		len = step->bits_32 ?
			      -1 :
			      auxtap_disassemble(w->shared->images, step->ip + at, code + at,
						 (size_t)got - at, text, sizeof(text));
		if (len <= 0)
			return false;
		at += (uint64_t)len;
	}
	return false;
}

static bool has_unknown(struct pt_segment_decoder *w, struct pt_step *step)
{
	struct pt_checked *c = &w->checked[(step->ip ^ step->end_ip >> 4) % PT_CHECKED];

	if (w->version >= PT_VERSION(2, 2) || !step->nr_insns)
		return false;
	if (w->flow.insn)
		return pt_limits_insn(w->version, step->bits_32, step->raw, step->size);
	if (c->ip == step->ip && c->end_ip == step->end_ip && c->generation == w->generation)
		return false;
	if (cut_block(w, step))
		return true;
	*c = (struct pt_checked){step->ip, step->end_ip, w->generation};
	return false;
}

static void take_step(struct pt_segment_decoder *w)
{
	struct pt_step step;
	int ret = pt_flow_next(w, &step);
	bool unknown = has_unknown(w, &step);

	if (step.nr_insns) {
		not_idle(w, step.ip);
		pt_gap_close(w);
		pt_emit_branch(w, step.ip, true);
		/* The packets just consumed carry the time of the step before. */
		if (w->flow.insn)
			pt_emit_insn(w, &step);
		else
			pt_emit_block(w, &step);
		w->last_ip = step.end_ip;
		w->bits_32 = step.bits_32;
		if (!unknown)
			set_pending(w, &step);
		w->empty_steps = 0;
		if (w->pending.valid || step.iclass != ptic_other)
			set_time(w, pt_flow_tsc(w));
	}
	if (unknown) {
		lose(w, -pte_bad_insn, step.end_ip);
		return;
	}
	if (ret < 0) {
		if (ret == -pte_eos && w->total == w->own)
			end_segment(w);
		else if (ret == -pte_nomap && step.nr_insns && !w->flow.insn)
			w->flow.status = 0; /* the next step names the address */
		else if (ret == -pte_eos && !w->enabled)
			end_segment(w);
		else
			lose(w, ret, step.nr_insns ? step.end_ip : step.ip);
		return;
	}
	if (step.nr_insns ? spins(w, &step) : ++w->empty_steps > MAX_EMPTY_STEPS)
		lose(w, -pte_bad_query, step.ip);
}

/* No packets are left: the target of the last branch is known, and nothing after it. */
static void end_of_packets(struct pt_segment_decoder *w)
{
	struct pt_step step;

	if ((w->pending.valid || w->pending.inherited) && w->enabled) {
		pt_flow_next(w, &step);
		if (step.ip)
			pt_emit_branch(w, step.ip, true);
	}
	end_segment(w);
}

/* ---- the segment ---- */

void pt_segment_decoder_start(struct pt_segment_decoder *w, struct pt_job *job)
{
	w->job = job;
	w->queue = job->queue;
	w->base = job->seg.data;
	w->own = job->seg.size;
	w->total = job->seg.total;
	w->over = false;
	w->pid = w->queue->queue_pid;
	w->tid = w->queue->queue_tid;
	w->tsc = w->time = w->last_ip = 0;
	memset(&w->pending, 0, sizeof(w->pending));
	w->pending.inherited = true;
	w->in_gap = true;
	w->insns_since = 0;
	set_time(w, job->tsc);
	look_around(w);
}

static struct pt_boundary boundary(const struct pt_segment_decoder *w)
{
	return (struct pt_boundary){.time = w->time,
				    .last_ip = w->last_ip,
				    .pid = w->pid,
				    .tid = w->tid,
				    .enabled = w->enabled,
				    .pending = w->pending,
				    .nr_insns = w->insns_since};
}

static void first_step(struct pt_segment_decoder *w)
{
	int ret = start(w);

	w->job->begun = true;
	w->job->start = boundary(w);
	if (ret == -pte_eos)
		end_segment(w); /* nothing but a PSB+ */
	else if (ret)
		lose(w, ret, 0);
}

static void step(struct pt_segment_decoder *w)
{
	if (!w->job->begun)
		first_step(w);
	else if (w->flow.status & pts_event_pending)
		take_event(w);
	else if (w->flow.status & pts_eos || !w->enabled)
		end_of_packets(w);
	else
		take_step(w);
}

bool pt_segment_decoder_fill(struct pt_segment_decoder *w, struct pt_batch *out)
{
	out->nr = out->at = 0;
	w->out = out;
	while (!w->over && out->nr + STEP_EVENTS <= PT_BATCH)
		step(w);
	if (w->over) {
		pt_count_flush(w);
		w->job->end = boundary(w);
	}
	return w->over;
}
