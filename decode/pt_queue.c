// SPDX-License-Identifier: BSD-2-Clause
/*
 * A queue's segments, one after the other, as events. Nothing is listed that a later packet
 * does not confirm: at the end of a run the flow stops behind the last packet; where the
 * next PSB+ names an address, it goes on straight up to there. After an error the flow is
 * taken up again where a packet next names an address; between lies a gap.
 */
#include "pt_queue.h"
#include "pt_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A step that neither executes nor consumes anything cannot be repeated for ever. */
#define MAX_EMPTY_STEPS 64
/* Events that one step may produce: gap, branch, call, async, trace, instruction. */
#define STEP_EVENTS 8

void pt_queue_init(struct pt_queue *q, const struct pt_shared *shared)
{
	memset(q, 0, sizeof(*q));
	q->shared = shared;
	q->cpu = q->queue_tid = q->queue_pid = q->pid = q->tid = -1;
	q->generation = 1;
	pt_memory_init(&q->mem, shared->images, shared->sections);
}

void pt_queue_free(struct pt_queue *q)
{
	pt_flow_stop(q);
	pt_memory_free(&q->mem);
	pt_stream_free(&q->stream);
	callstack_free(&q->calls);
	free(q->gap);
	q->gap = NULL;
}

static void spin_reset(struct pt_queue *q)
{
	q->spin_ip = 0;
	q->spin_power = 1;
	q->spin_length = 0;
}

/* Brent: true when the walk without packets came to ip before. */
static bool spin_check(struct pt_queue *q, uint64_t ip)
{
	if (q->spin_length && ip == q->spin_ip)
		return true;
	if (q->spin_length >= q->spin_power || !q->spin_length) {
		q->spin_ip = ip;
		q->spin_power = q->spin_length ? q->spin_power * 2 : 1;
		q->spin_length = 0;
	}
	q->spin_length++;
	return false;
}

static void set_time(struct pt_queue *q, uint64_t tsc)
{
	if (!tsc)
		return;
	if (tsc > q->tsc)
		q->tsc = tsc;
	q->time = time_from_tsc(&q->shared->sideband->conv, q->tsc);
}

/* Which mappings hold now; without comparable clocks all of the sideband does. */
static uint64_t map_time(const struct pt_queue *q)
{
	return q->shared->sideband->conv.valid && q->time ? q->time : UINT64_MAX;
}

/* Who runs, and what it has mapped: may have changed whenever tracing was off. */
static void look_around(struct pt_queue *q)
{
	struct pt_image *image;

	if (q->per_cpu &&
	    !sideband_owner(q->shared->sideband, q->cpu, q->seg.off, &q->pid, &q->tid) &&
	    !sideband_running(q->shared->sideband, q->cpu, q->time, &q->pid, &q->tid)) {
		q->pid = q->tid = -1;
	}
	image = pt_memory_image(&q->mem, q->pid, map_time(q));
	if (image == q->image)
		return;
	pt_count_flush(q);
	q->image = image;
	q->generation++;
	pt_flow_set_image(q, image);
}

static bool usable(void *ctx, uint64_t ip)
{
	struct pt_queue *q = ctx;

	return pt_memory_readable(&q->mem, ip, false);
}

static void end_segment(struct pt_queue *q)
{
	pt_flow_stop(q);
	q->in_segment = false;
}

static uint64_t stream_offset(const struct pt_queue *q, size_t pos)
{
	return q->seg.off + (uint64_t)(q->base - q->seg.data) + pos;
}

static int start(struct pt_queue *q)
{
	int ret = pt_flow_start(q);

	spin_reset(q);
	q->empty_steps = 0;
	if (ret)
		return ret;
	set_time(q, pt_flow_tsc(q));
	look_around(q);
	return 0;
}

/*
 * The flow is lost at 'pos'. Take it up where the rest of the segment names an address
 * that can be read: a small PSB+ is written over packets that are done with, and libipt
 * starts there. No such place: the next segment begins by itself.
 */
static void resume(struct pt_queue *q, size_t pos)
{
	struct pt_restart r = {.tsc = q->tsc};
	uint8_t header[PT_RESTART_HEADER_MAX];

	for (;;) {
		size_t size, skip;

		if (pos > q->own)
			pos = q->own;
		if (!pt_scan_restart(q->base, q->own, pos, &r, usable, q)) {
			end_segment(q);
			return;
		}
		size = pt_restart_header(&r, header);
		memcpy(q->base + r.end - size, header, size);
		if (r.end >= size) {
			skip = r.end - size;
			q->base += skip;
			q->own -= skip;
			q->total -= skip;
		} else {
			skip = size - r.end;
			q->base -= skip;
			q->own += skip;
			q->total += skip;
		}
		if (!start(q))
			return;
		pos = size; /* of the new base: behind the header */
	}
}

static void lose(struct pt_queue *q, int code, uint64_t ip)
{
	size_t pos = pt_flow_offset(q);

	pt_count_flush(q);
	if (code == -pte_nomap && !pt_memory_readable(&q->mem, ip, true)) {
		pt_emit_branch(q, ip, true);
		if (q->mem.fault_mapped)
			pt_gap_open(q, AUXTAP_GAP_NO_IMAGE, 0, false, "no image %s for %llx",
				    q->mem.fault_image, (unsigned long long)ip);
		else
			pt_gap_open(q, AUXTAP_GAP_NO_IMAGE, 0, false,
				    "no mapping known at %llx", (unsigned long long)ip);
	} else {
		pt_gap_open(q, AUXTAP_GAP_DECODE_ERROR, 0, false, "%s at offset 0x%llx, ip %llx",
			    pt_errstr(pt_errcode(code)),
			    (unsigned long long)stream_offset(q, pos), (unsigned long long)ip);
	}
	resume(q, pos);
}

/* ---- events ---- */

/*
 * The own PSB+ repeats what holds; the next one's says that this segment is over, as soon
 * as something of it is bound to an address: the walk has come to that PSB+'s FUP. Without
 * an address tracing was off there.
 */
static bool is_next_psb(struct pt_queue *q, const struct pt_event *ev)
{
	if (!ev->status_update)
		return false;
	if (q->flow.nr_status_left) {
		q->flow.nr_status_left--;
		return false;
	}
	return ev->type == ptev_exec_mode || ev->type == ptev_tsx ||
	       ev->type == ptev_async_paging || ev->type == ptev_async_vmcs;
}

static void on_overflow(struct pt_queue *q, const struct pt_event *ev)
{
	pt_gap_open(q, AUXTAP_GAP_HW_OVERFLOW, 0, false, "the trace unit's buffer overflowed");
	q->enabled = !ev->ip_suppressed;
	look_around(q);
	if (q->enabled)
		pt_gap_close(q);
}

static void on_event(struct pt_queue *q, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		q->enabled = true;
		q->pending.valid = false;
		look_around(q);
		pt_gap_close(q);
		pt_emit_trace(q, true, ev->variant.enabled.ip, true);
		break;
	case ptev_disabled:
		pt_gap_close(q);
		pt_emit_branch(q, ev->variant.disabled.ip, !ev->ip_suppressed);
		pt_emit_trace(q, false, q->last_ip, q->last_ip != 0);
		q->enabled = false;
		break;
	case ptev_async_disabled:
		pt_gap_close(q);
		pt_emit_branch(q, ev->variant.async_disabled.at, true);
		pt_emit_async(q, ev->variant.async_disabled.at, ev->variant.async_disabled.ip,
			      !ev->ip_suppressed);
		pt_emit_trace(q, false, ev->variant.async_disabled.at, true);
		q->enabled = false;
		break;
	case ptev_async_branch:
		pt_gap_close(q);
		pt_emit_branch(q, ev->variant.async_branch.from, true);
		pt_emit_async(q, ev->variant.async_branch.from, ev->variant.async_branch.to,
			      !ev->ip_suppressed);
		look_around(q);
		break;
	case ptev_overflow:
		on_overflow(q, ev);
		break;
	case ptev_paging:
	case ptev_async_paging:
		look_around(q);
		break;
	default:
		break;
	}
}

static void take_event(struct pt_queue *q)
{
	struct pt_event ev;
	int ret = pt_flow_event(q, &ev);

	if (ret < 0) {
		/* A PSB+ of tracing that is off ends the segment, however it puts it. */
		if (!q->enabled && pt_flow_offset(q) >= q->own)
			end_segment(q);
		else
			lose(q, ret, q->last_ip);
		return;
	}
	set_time(q, ev.has_tsc ? ev.tsc : pt_flow_tsc(q));
	spin_reset(q);
	if (is_next_psb(q, &ev)) {
		if (ev.type == ptev_exec_mode && !ev.ip_suppressed && q->enabled)
			pt_emit_branch(q, ev.variant.exec_mode.ip, true);
		end_segment(q);
		return;
	}
	on_event(q, &ev);
}

/* ---- instructions ---- */

/* The branch at the end of a block whose bytes libipt does not hand out. */
static const struct pt_branch *branch_at(struct pt_queue *q, const struct pt_step *step)
{
	uint64_t ip = step->end_ip;
	struct pt_branch *b = &q->branches[(ip ^ ip >> 10) % PT_BRANCHES];
	ssize_t got;

	if (b->ip == ip && b->generation == q->generation)
		return b;
	b->ip = ip;
	b->generation = q->generation;
	got = auxtap_image_set_read(q->shared->images, q->mem.pid, q->mem.time, ip, b->raw,
				    sizeof(b->raw));
	b->valid = got > 0 && !branch_insn_decode(b->raw, (size_t)got, step->bits_32, &b->insn);
	return b;
}

static void set_pending(struct pt_queue *q, const struct pt_step *step)
{
	struct pt_pending *p = &q->pending;

	p->valid = false;
	if (step->iclass == ptic_other || step->iclass == ptic_ptwrite)
		return;
	p->ip = step->end_ip;
	if (step->have_raw) {
		memcpy(p->raw, step->raw, step->size);
		p->valid = !branch_insn_decode(p->raw, step->size, step->bits_32, &p->insn);
	} else {
		const struct pt_branch *b = branch_at(q, step);

		p->valid = b->valid;
		p->insn = b->insn;
		memcpy(p->raw, b->raw, sizeof(p->raw));
	}
}

/* Does the walk consume packets? A step that does not may come round for ever. */
static bool spins(struct pt_queue *q, const struct pt_step *step)
{
	const struct pt_pending *p = &q->pending;

	if (p->valid && !p->insn.direct)
		spin_reset(q);
	else if (p->valid && p->insn.kind == AUXTAP_BRANCH_COND)
		spin_reset(q);
	else if (p->valid)
		return spin_check(q, step->end_ip);
	return false;
}

static void take_step(struct pt_queue *q)
{
	struct pt_step step;
	int ret = pt_flow_next(q, &step);

	if (step.nr_insns) {
		pt_gap_close(q);
		pt_emit_branch(q, step.ip, true);
		/* The packets just consumed carry the time of the step before. */
		if (q->flow.insn)
			pt_emit_insn(q, &step);
		else
			pt_emit_block(q, &step);
		q->last_ip = step.end_ip;
		set_pending(q, &step);
		q->empty_steps = 0;
		if (q->pending.valid || step.iclass != ptic_other)
			set_time(q, pt_flow_tsc(q));
	}
	if (ret < 0) {
		if (ret == -pte_eos && q->total == q->own)
			end_segment(q);
		else if (ret == -pte_nomap && step.nr_insns && !q->flow.insn)
			q->flow.status = 0; /* the next step names the address */
		else if (ret == -pte_eos && !q->enabled)
			end_segment(q);
		else
			lose(q, ret, step.nr_insns ? step.end_ip : step.ip);
		return;
	}
	if (step.nr_insns ? spins(q, &step) : ++q->empty_steps > MAX_EMPTY_STEPS)
		lose(q, -pte_bad_query, step.ip);
}

/* No packets are left: the target of the last branch is known, and nothing behind it. */
static void end_of_packets(struct pt_queue *q)
{
	struct pt_step step;

	if (q->pending.valid && q->enabled) {
		pt_flow_next(q, &step);
		if (step.ip)
			pt_emit_branch(q, step.ip, true);
	}
	end_segment(q);
}

/* ---- segments ---- */

static void run_starts(struct pt_queue *q)
{
	const struct pt_extent *run = q->seg.run;

	if (run->quiet && !q->seg.nr_skipped)
		return;
	if (q->seg.nr_skipped)
		pt_gap_open(q, run->cause, run->nr_lost + q->seg.nr_skipped, run->exact,
			    "%llu bytes before the first synchronisation point at offset 0x%llx",
			    (unsigned long long)q->seg.nr_skipped,
			    (unsigned long long)q->seg.off);
	else
		pt_gap_open(q, run->cause, run->nr_lost, run->exact,
			    "the trace goes on at offset 0x%llx",
			    (unsigned long long)q->seg.off);
}

/* With a wish for a time window, segments that end before it need no decoding. */
static bool before_window(struct pt_queue *q)
{
	uint64_t from = q->shared->opts.time_start;
	struct pt_scan_head head;

	if (!from || q->seg.total == q->seg.size)
		return false;
	pt_scan_head(q->seg.data + q->seg.size, q->seg.total - q->seg.size, &head);
	return head.has_tsc && time_from_tsc(&q->shared->sideband->conv, head.tsc) < from;
}

static void finish(struct pt_queue *q)
{
	pt_gap_close(q);
	pt_count_flush(q);
	pt_flow_stop(q);
	pt_stream_release(&q->stream);
	q->done = true;
}

/* Tracing was on and is off at the next PSB, without a packet or record that says so. */
static void check_silent_stop(struct pt_queue *q, bool was_on)
{
	bool lost = q->shared->sideband->nr_lost;

	if (!was_on || q->enabled || q->seg.starts_run || q->gap)
		return;
	pt_gap_open(q, lost ? AUXTAP_GAP_RECORD_LOST : AUXTAP_GAP_UNKNOWN, 0, false,
		    "tracing ended unannounced before offset 0x%llx",
		    (unsigned long long)q->seg.off);
}

static void next_segment(struct pt_queue *q)
{
	int ret = pt_stream_next(&q->stream, &q->seg);
	bool was_on = q->enabled;

	q->sum.bytes = q->stream.nr_bytes;
	if (ret <= 0) {
		q->error = ret;
		finish(q);
		return;
	}
	if (q->seg.starts_run) {
		run_starts(q);
		q->pending.valid = false;
	} else if (q->seg.nr_skipped) {
		pt_gap_open(q, AUXTAP_GAP_DECODE_ERROR, q->seg.nr_skipped, true,
			    "no synchronisation point in %llu bytes up to offset 0x%llx",
			    (unsigned long long)q->seg.nr_skipped,
			    (unsigned long long)q->seg.off);
	}
	if (!q->seg.size || before_window(q)) {
		q->pending.valid = false;
		callstack_gap(&q->calls);
		return;
	}
	if (q->shared->opts.time_stop && q->time >= q->shared->opts.time_stop) {
		finish(q);
		return;
	}
	q->base = q->seg.data;
	q->own = q->seg.size;
	q->total = q->seg.total;
	q->in_segment = true;
	ret = start(q);
	check_silent_stop(q, was_on);
	if (ret == -pte_eos)
		end_segment(q); /* nothing but a PSB+ */
	else if (ret)
		lose(q, ret, 0);
}

static void step(struct pt_queue *q)
{
	if (!q->in_segment)
		next_segment(q);
	else if (q->flow.status & pts_event_pending)
		take_event(q);
	else if (q->flow.status & pts_eos || !q->enabled)
		end_of_packets(q);
	else
		take_step(q);
}

void pt_queue_fill(struct pt_queue *q, struct pt_batch *out)
{
	out->nr = out->at = 0;
	q->out = out;
	while (!q->done && out->nr + STEP_EVENTS <= PT_BATCH)
		step(q);
}
