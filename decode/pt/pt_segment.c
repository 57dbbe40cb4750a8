// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decodes one segment to events, without state of earlier segments (but for the newest TSC in a
 * PSB+). No event is emitted that a
 * later packet does not confirm: the flow continues after the segment's last packet up to the
 * address in the next PSB+, and without such an address it ends at the last packet. If the flow is
 * lost, a gap lasts until it resumes.
 */
#include "pt_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The maximum number of events that one step may produce: gaps, branches, calls, async, trace,
 * instruction.
 */
#define STEP_EVENTS 12

struct pt_segment_decoder *pt_segment_decoder_new(const struct pt_shared *shared)
{
	struct pt_segment_decoder *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->shared = shared;
	w->flow = shared->flow_ops->create(shared->flow, NULL);
	if (!w->flow) {
		free(w);
		return NULL;
	}
	pt_memory_init(&w->mem, shared->images);
	return w;
}

void pt_segment_decoder_free(struct pt_segment_decoder *w)
{
	if (!w)
		return;
	w->shared->flow_ops->destroy(w->flow);
	free(w);
}

void pt_segment_decoder_stop(struct pt_segment_decoder *w)
{
	w->shared->flow_ops->stop(w->flow);
	w->nr_steps = 0;
}

/* The clock never goes back; 0: not known. */
static void set_time(struct pt_segment_decoder *w, uint64_t tsc)
{
	if (tsc <= w->tsc)
		return;
	w->tsc = tsc;
	w->time = time_from_tsc(&w->shared->sideband->conv, tsc);
}

/* The time for looking up mappings; if clocks are not comparable, the newest mappings are used. */
static uint64_t map_time(const struct pt_segment_decoder *w)
{
	return w->shared->sideband->conv.valid && w->time ? w->time : UINT64_MAX;
}

/* Updates which thread runs and its mappings: both may change while tracing is off. */
static void update_context(struct pt_segment_decoder *w)
{
	const struct sideband *sb = w->shared->sideband;

	/*
	 * In this order: switch records; the thread that the AUX record names; ITRACE_START. The
	 * trace of one AUX record may be of more threads than the one that it names: the kernel
	 * swaps the contexts of two threads whose events are clones, without stopping the unit.
	 */
	if (w->queue->per_cpu &&
	    !(sb->has_switches && sb->conv.valid && w->time &&
	      sideband_running(sb, w->queue->cpu, w->time, &w->pid, &w->tid)) &&
	    !sideband_owner(sb, w->queue->cpu, w->job->seg.off, &w->pid, &w->tid) &&
	    !sideband_running(sb, w->queue->cpu, w->time, &w->pid, &w->tid)) {
		w->pid = w->tid = -1;
	}
	w->mem.pid = w->pid;
	w->mem.time = map_time(w);
	if (w->shared->flow_ops->set_code(w->flow, w->pid, w->mem.time))
		pt_count_flush(w); /* the instructions so far are of the old image */
}

/*
 * The idle task has no user code: so the thread was switched after the last time stamp in the
 * trace, and it is not known which thread runs.
 */
static void set_unknown_if_idle(struct pt_segment_decoder *w, uint64_t ip)
{
	if (w->queue->per_cpu && !w->tid && ip && !(ip >> 63))
		w->pid = w->tid = -1;
}

static void end_segment(struct pt_segment_decoder *w)
{
	pt_segment_decoder_stop(w);
	w->over = true;
}

/* ---- steps ---- */

static struct pt_boundary current_state(const struct pt_segment_decoder *w)
{
	return (struct pt_boundary){.time = w->time,
				    .last_ip = w->last_ip,
				    .pid = w->pid,
				    .tid = w->tid,
				    .enabled = w->enabled,
				    .pending = w->pending,
				    .nr_insns = w->insns_since};
}

static void on_sync(struct pt_segment_decoder *w, const struct flow_step *step)
{
	w->enabled = step->on;
	update_context(w);
	if (w->job->begun)
		return;
	w->job->begun = true;
	w->job->start = current_state(w);
}

static struct flow_gap *decode_error(struct pt_segment_decoder *w, const struct flow_step *step,
				     uint64_t ip)
{
	char at_ip[32] = "";
	struct flow_gap *gap;

	if (ip)
		snprintf(at_ip, sizeof(at_ip), ", ip %llx", (unsigned long long)ip);
	/* Not an error of the trace: decoding fails, because gaps would depend on the memory. */
	if (step->loss == FLOW_LOSS_NO_MEMORY)
		w->job->error = -ENOMEM;
	gap = pt_gap_open(w, AUXTAP_GAP_DECODE_ERROR, "%s at offset 0x%llx%s", step->why,
			  (unsigned long long)step->pos, at_ip);
	if (gap)
		gap->cut_short = step->loss == FLOW_LOSS_CUT;
	return gap;
}

static void on_lost(struct pt_segment_decoder *w, const struct flow_step *step)
{
	uint64_t ip = step->has_ip ? step->ip : w->last_ip;
	struct flow_gap *gap;

	pt_count_flush(w);
	set_unknown_if_idle(w, ip);
	if (step->loss == FLOW_LOSS_NO_CODE && !pt_memory_readable(&w->mem, ip, true)) {
		pt_emit_branch(w, ip, true);
		if (w->mem.fault_mapped)
			gap = pt_gap_open(w, AUXTAP_GAP_NO_IMAGE, "no image %s for %llx",
					  w->mem.fault_image, (unsigned long long)ip);
		else
			gap = pt_gap_open(w, AUXTAP_GAP_NO_IMAGE, "no mapping known at %llx",
					  (unsigned long long)ip);
	} else {
		gap = decode_error(w, step, ip);
	}
	/* the queue gets the gap together with this batch: until then it can be changed */
	if (gap && !gap->cut_short && step->next > step->pos) {
		gap->gap.nr_bytes = step->next - step->pos;
		gap->gap.exact = true;
	}
}

static void on_overflow(struct pt_segment_decoder *w, const struct flow_step *step)
{
	pt_gap_open(w, AUXTAP_GAP_HW_OVERFLOW, "the trace unit's buffer overflowed");
	w->enabled = step->on;
	update_context(w);
	if (w->enabled)
		pt_gap_close(w);
}

/*
 * The flow came to the step's ip. Endless loops and recursion by direct branches generate no
 * packets: the decode stops when it comes to ip for the first time, although the program may have
 * passed it many times.
 */
static void report_uncounted_loop(struct pt_segment_decoder *w, const struct flow_step *step)
{
	if (step->may_loop)
		pt_gap_open(
			w, AUXTAP_GAP_UNCOUNTED,
			"which code followed 0x%llx then is not known, nor how often it came back there",
			(unsigned long long)step->ip);
	else if (!step->loops)
		return;
	else
		pt_gap_open(
			w, AUXTAP_GAP_UNCOUNTED,
			"code without packets comes back to 0x%llx: how often it ran is not recorded",
			(unsigned long long)step->ip);
	pt_gap_close(w);
}

static void on_trace_on(struct pt_segment_decoder *w, const struct flow_step *step)
{
	w->enabled = true;
	pt_emit_no_branch(w);
	update_context(w);
	set_unknown_if_idle(w, step->ip);
	pt_gap_close(w);
	pt_emit_trace(w, true, step->ip, true);
}

static void on_trace_off(struct pt_segment_decoder *w, const struct flow_step *step)
{
	pt_gap_close(w);
	pt_emit_branch(w, step->to, step->has_to);
	pt_emit_trace(w, false, w->last_ip, w->last_ip != 0);
	w->enabled = false;
}

static void on_async(struct pt_segment_decoder *w, const struct flow_step *step)
{
	pt_gap_close(w);
	pt_emit_branch(w, step->ip, true);
	report_uncounted_loop(w, step);
	pt_emit_async(w, step->ip, step->to, step->has_to);
	w->enabled = step->on;
	if (w->enabled)
		update_context(w);
	else
		pt_emit_trace(w, false, step->ip, true);
}

static void on_end(struct pt_segment_decoder *w, const struct flow_step *step)
{
	if (step->has_ip)
		pt_emit_branch(w, step->ip, true);
	report_uncounted_loop(w, step);
	w->enabled = step->on;
	end_segment(w);
}

static void set_pending(struct pt_segment_decoder *w, const struct flow_step *step)
{
	struct pt_pending *p = &w->pending;

	p->valid = step->branch != AUXTAP_BRANCH_NONE;
	if (!p->valid)
		return;
	p->ip = step->last_ip;
	p->kind = step->branch;
	p->isa = step->isa;
	p->size = step->size;
	p->fetches_ip = step->fetches_ip;
	memcpy(p->raw, step->code, sizeof(p->raw));
}

static void on_block(struct pt_segment_decoder *w, const struct flow_step *step)
{
	set_unknown_if_idle(w, step->ip);
	pt_gap_close(w);
	pt_emit_branch(w, step->ip, true);
	if (w->shared->opts.events & AUXTAP_EVENT_INSN)
		pt_emit_insn(w, step);
	else
		pt_emit_block(w, step);
	w->last_ip = step->last_ip;
	set_pending(w, step);
	/* The block keeps the previous time: the packets read for it have the time of its end. */
	set_time(w, step->tsc);
}

static void take_step(struct pt_segment_decoder *w, const struct flow_step *step)
{
	w->isa = step->isa;
	if (step->kind == FLOW_BLOCK) {
		on_block(w, step);
		return;
	}
	set_time(w, step->tsc);
	switch ((enum flow_kind)step->kind) {
	case FLOW_SYNC:
		on_sync(w, step);
		break;
	case FLOW_ON:
		on_trace_on(w, step);
		break;
	case FLOW_OFF:
		on_trace_off(w, step);
		break;
	case FLOW_ASYNC:
		on_async(w, step);
		break;
	case FLOW_CONTEXT:
		update_context(w);
		break;
	case FLOW_OVERFLOW:
		on_overflow(w, step);
		break;
	case FLOW_LOST:
		on_lost(w, step);
		break;
	case FLOW_END:
		on_end(w, step);
		break;
	case FLOW_BLOCK:
	case FLOW_TIME:
		break;
	}
}

/* ---- the segment ---- */

void pt_segment_decoder_start(struct pt_segment_decoder *w, struct pt_job *job)
{
	const struct flow_bytes bytes = {.data = job->seg.data,
					 .size = job->seg.size,
					 .total = job->seg.total,
					 .off = job->seg.off,
					 .tsc = job->tsc};

	w->job = job;
	w->queue = job->queue;
	w->over = false;
	w->pid = w->queue->queue_pid;
	w->tid = w->queue->queue_tid;
	w->tsc = w->time = w->last_ip = 0;
	memset(&w->pending, 0, sizeof(w->pending));
	w->pending.maybe_inherited = true;
	w->in_gap = true;
	w->insns_since = 0;
	w->nr_steps = 0;
	set_time(w, job->tsc);
	update_context(w);
	w->shared->flow_ops->start(w->flow, &bytes);
}

/* False: the flow decoder has no more steps. */
static bool more_steps(struct pt_segment_decoder *w)
{
	if (!w->nr_steps)
		w->nr_steps = w->shared->flow_ops->next(w->flow, &w->steps);
	return w->nr_steps > 0;
}

bool pt_segment_decoder_fill(struct pt_segment_decoder *w, struct pt_batch *out)
{
	out->nr = out->at = 0;
	w->out = out;
	while (!w->over && out->nr + STEP_EVENTS <= PT_BATCH) {
		if (!more_steps(w)) {
			end_segment(w);
			break;
		}
		w->nr_steps--;
		take_step(w, w->steps++);
	}
	if (w->over) {
		pt_count_flush(w);
		w->job->end = current_state(w);
	}
	return w->over;
}
