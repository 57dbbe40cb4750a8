// SPDX-License-Identifier: BSD-2-Clause
/*
 * A queue cuts its stream into segments and, once these are decoded, concatenates their events: see
 * pt_queue.h. All of this runs in the thread that reads the events.
 */
#include "pt_queue.h"
#include "pt_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pt_queue_init(struct pt_queue *q, const struct pt_shared *shared)
{
	memset(q, 0, sizeof(*q));
	q->shared = shared;
	q->cpu = q->queue_tid = q->queue_pid = q->pid = q->tid = -1;
}

void pt_queue_free(struct pt_queue *q)
{
	pt_stream_free(&q->stream);
	callstack_free(&q->calls);
	flow_gap_free(q->gap);
	q->gap = NULL;
}

/* ---- cutting ---- */

/* Whether the segment ends before the time window, so that it need not be decoded. */
static bool before_window(const struct pt_queue *q, const struct pt_segment *seg)
{
	uint64_t from = q->shared->opts.time_start;
	struct pt_psb_plus psb_plus;

	if (!from || seg->total == seg->size)
		return false;
	pt_psb_plus_read(seg->data + seg->size, seg->total - seg->size, &psb_plus);
	return psb_plus.has_tsc && time_from_tsc(&q->shared->sideband->conv, psb_plus.tsc) < from;
}

/*
 * A segment without a time of its own starts with the time of the newest PSB+ that has one, not
 * with that of the end of the previous segment, which may not have been decoded yet.
 */
static void note_tsc(struct pt_queue *q, const struct pt_segment *seg)
{
	struct pt_psb_plus psb_plus;

	pt_psb_plus_read(seg->data, seg->size, &psb_plus);
	if (psb_plus.has_tsc)
		q->psb_tsc = psb_plus.tsc;
}

uint64_t pt_queue_first_time(struct pt_queue *q)
{
	const struct trace_extent *extent = q->stream.extents;
	struct pt_psb_plus psb_plus;
	uint8_t buf[4096];
	ssize_t got;
	size_t pos;

	/* With a time window, skipped segments and the gaps between them have no times. */
	if (!q->stream.nr_extents || q->shared->opts.time_start)
		return 0;
	got = q->stream.pread(q->stream.ctx, buf,
			      extent->size < sizeof(buf) ? extent->size : sizeof(buf),
			      extent->file_off);
	if (got <= 0)
		return 0;
	pos = pt_find_psb(buf, (size_t)got, 0);
	/* near the end of buf the PSB+ may be incomplete */
	if (pos >= (size_t)got || (got == sizeof(buf) && (size_t)got - pos < 256))
		return 0;
	pt_psb_plus_read(buf + pos, (size_t)got - pos, &psb_plus);
	return psb_plus.has_tsc ? time_from_tsc(&q->shared->sideband->conv, psb_plus.tsc) : 0;
}

/*
 * Makes a job for each segment, also for one that is not decoded (skip), and for the end of the
 * stream (last). So losses that the stream reports reach the reader in order.
 */
struct pt_job *pt_queue_next_job(struct pt_queue *q)
{
	struct pt_job *job = calloc(1, sizeof(*job));
	struct pt_segment seg;
	int ret;

	if (!job)
		return NULL;
	ret = pt_stream_next(&q->stream, &seg);
	job->queue = q;
	job->seg = seg;
	job->seg.data = NULL;
	job->nr_bytes = q->stream.nr_bytes;
	if (ret <= 0) {
		job->last = true;
		job->error = ret;
		q->all_jobs_made = true;
		pt_stream_release(&q->stream);
		return job;
	}
	if (!seg.size) {
		job->skip = true;
		return job;
	}
	note_tsc(q, &seg);
	job->tsc = q->psb_tsc;
	if (before_window(q, &seg)) {
		job->skip = true;
		return job;
	}
	/* Copied, as many segments are decoded at once, and a restart writes into the bytes. */
	job->mem_size = PT_STREAM_HEADROOM + seg.total;
	job->mem = malloc(job->mem_size);
	if (!job->mem) {
		free(job);
		return NULL;
	}
	job->seg.data = job->mem + PT_STREAM_HEADROOM;
	memcpy(job->seg.data, seg.data, seg.total);
	return job;
}

/* ---- gaps ---- */

/*
 * If trace ends inside a packet, because the AUX area was full, the gap that follows is the real
 * cause: this drops the decode error that was reported first.
 */
static void drop_cut_short(struct flow_gap **list)
{
	struct flow_gap **at = list;

	while (*at && !(*at)->cut_short)
		at = &(*at)->next;
	if (!*at)
		return;
	free(*at);
	*at = NULL; /* it was the last one in the list */
}

/* Opens a gap, or adds its cause to the open gap: adjacent gaps become a single event. */
static void gap_opens(struct pt_queue *q, struct flow_gap *gap)
{
	struct auxtap_gap where = {.cpu = q->cpu,
				   .pid = q->pid,
				   .tid = q->tid,
				   .time_begin = q->time};

	q->pending.valid = false;
	if (!gap || gap->gap.cause != AUXTAP_GAP_UNCOUNTED)
		callstack_gap(&q->calls);
	if (!gap)
		return;
	if (q->gap)
		where = q->gap->gap;
	drop_cut_short(&q->gap);
	gap->gap.cpu = where.cpu;
	gap->gap.pid = where.pid;
	gap->gap.tid = where.tid;
	gap->gap.time_begin = where.time_begin;
	flow_gap_add(&q->gap, gap);
}

/* Opens a gap between two segments. */
static void boundary_gap(struct pt_queue *q, enum auxtap_gap_cause cause, uint64_t nr_bytes,
			 bool exact, const char *fmt, ...) AUXTAP_PRINTF(5, 6);

static void boundary_gap(struct pt_queue *q, enum auxtap_gap_cause cause, uint64_t nr_bytes,
			 bool exact, const char *fmt, ...)
{
	struct flow_gap *gap;
	va_list args;

	va_start(args, fmt);
	gap = flow_gap_new(cause, fmt, args);
	va_end(args);
	if (!gap) {
		q->error = -ENOMEM; /* a gap must not be silent */
		return;
	}
	gap->gap.nr_bytes = nr_bytes;
	gap->gap.exact = exact;
	gap_opens(q, gap);
}

static bool wanted(const struct pt_queue *q, uint32_t type, uint64_t time)
{
	return flow_wanted(&q->shared->opts, type, time, q->tid, q->cpu);
}

/* Makes ev the event of the open gap; ev->type is 0 if there is none, or it is not wanted. */
static void gap_ends(struct pt_queue *q, struct flow_event *ev)
{
	struct flow_gap *gap = q->gap;

	ev->type = 0;
	if (!gap)
		return;
	q->gap = NULL;
	for (struct flow_gap *g = gap; g; g = g->next) {
		g->gap.time_end = q->time;
		q->sum.gaps++;
		if (g->gap.cause == AUXTAP_GAP_DECODE_ERROR)
			q->sum.errors++;
		if (!g->gap.time_begin)
			g->gap.time_begin = q->time;
	}
	if (!wanted(q, AUXTAP_EVENT_GAP, gap->gap.time_begin)) {
		flow_gap_free(gap);
		return;
	}
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = gap->gap.time_begin;
	ev->pid = gap->gap.pid;
	ev->tid = gap->gap.tid;
	ev->nr_insns = q->insns_since;
	q->insns_since = 0;
	ev->gap = gap;
}

/* ---- segment boundaries ---- */

static void extent_starts(struct pt_queue *q, const struct pt_segment *seg)
{
	const struct trace_extent *extent = seg->extent;
	const char *whose =
		extent->unsure ? "; the record of the loss names no thread, it may be another's" :
				 "";

	if (extent->border == TRACE_STARTS && !seg->nr_skipped)
		return;
	if (seg->nr_skipped)
		boundary_gap(q, extent->cause, extent->nr_lost + seg->nr_skipped, extent->exact,
			     "%llu bytes before the first synchronisation point at offset 0x%llx%s",
			     (unsigned long long)seg->nr_skipped, (unsigned long long)seg->off,
			     whose);
	else
		boundary_gap(q, extent->cause, extent->nr_lost, extent->exact,
			     "the trace goes on at offset 0x%llx%s", (unsigned long long)seg->off,
			     whose);
}

static bool finish_queue(struct pt_queue *q, struct pt_batch *out)
{
	struct flow_event *ev = &out->events[0];

	memset(ev, 0, sizeof(*ev));
	gap_ends(q, ev);
	out->nr = 1;
	out->at = 0;
	q->done = true;
	return false;
}

bool pt_queue_begin_segment(struct pt_queue *q, struct pt_job *job, struct pt_batch *out)
{
	const struct pt_segment *seg = &job->seg;

	job->reported = true;
	q->sum.bytes = job->nr_bytes;
	if (job->last) {
		q->error = q->error ? q->error : job->error;
		return finish_queue(q, out);
	}
	if (seg->starts_extent) {
		extent_starts(q, seg);
		q->pending.valid = false;
	} else if (seg->nr_skipped) {
		boundary_gap(q, AUXTAP_GAP_DECODE_ERROR, seg->nr_skipped, true,
			     "no synchronisation point in %llu bytes up to offset 0x%llx",
			     (unsigned long long)seg->nr_skipped, (unsigned long long)seg->off);
	}
	if (job->skip) {
		q->pending.valid = false;
		callstack_gap(&q->calls);
		return true;
	}
	if (q->shared->opts.time_stop && q->time >= q->shared->opts.time_stop)
		return finish_queue(q, out);
	return true;
}

/* Time never goes back: a segment's clock, which is an estimate between packets, may run ahead. */
static void set_time(struct pt_queue *q, uint64_t time)
{
	if (time > q->time)
		q->time = time;
}

void pt_queue_take_start(struct pt_queue *q, const struct pt_job *job)
{
	bool was_on = q->enabled, lost = q->shared->sideband->nr_lost;

	q->enabled = job->start.enabled;
	q->pid = job->start.pid;
	q->tid = job->start.tid;
	/* Tracing is off at this PSB, but no packet or record says that it was switched off. */
	if (was_on && !q->enabled && !job->seg.starts_extent && !q->gap)
		boundary_gap(q, lost ? AUXTAP_GAP_RECORD_LOST : AUXTAP_GAP_UNKNOWN, 0, false,
			     "tracing ended unannounced before offset 0x%llx",
			     (unsigned long long)job->seg.off);
	set_time(q, job->start.time);
}

void pt_queue_take_end(struct pt_queue *q, const struct pt_job *job)
{
	const struct pt_boundary *end = &job->end;

	if (job->error && !q->error)
		q->error = job->error;
	if (job->skip)
		return;
	q->sum.instructions += job->nr_insns;
	q->sum.branches += job->nr_branches;
	q->enabled = end->enabled;
	q->pid = end->pid;
	q->tid = end->tid;
	set_time(q, end->time);
	if (end->last_ip)
		q->last_ip = end->last_ip;
	if (!end->pending.maybe_inherited)
		q->pending = end->pending;
	q->insns_since += end->nr_insns;
}

/* ---- events ---- */

/* Drops the event; the instructions counted for it are added to the next one. */
static void drop_event(struct pt_queue *q, struct flow_event *ev)
{
	q->insns_since += ev->nr_insns;
	ev->type = 0;
}

static void take_count(struct pt_queue *q, struct flow_event *ev)
{
	ev->nr_insns += q->insns_since;
	q->insns_since = 0;
}

static void set_depth(struct pt_queue *q, struct flow_event *ev)
{
	if (ev->type == AUXTAP_EVENT_CALL)
		ev->depth = callstack_call(&q->calls, ev->ip + ev->insn_size);
	else
		ev->depth = callstack_return(&q->calls, ev->has_addr ? ev->addr : 0);
}

/*
 * Makes ev the branch that the previous segment left pending, and the event after ev its call or
 * return.
 */
static void boundary_branch(struct pt_queue *q, struct flow_event *ev)
{
	const uint32_t call_types = AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN;
	const struct pt_pending *p = &q->pending;
	struct flow_event *call = ev + 1;
	uint32_t type = 0;

	q->insns_since += ev->nr_insns;
	ev->nr_insns = 0;
	ev->type = 0;
	if (!p->valid)
		return;
	q->pending.valid = false;
	if (p->kind == AUXTAP_BRANCH_COND && (!ev->has_addr || ev->addr == p->ip + p->size))
		return;
	q->sum.branches++;
	ev->kind = p->kind;
	ev->ip = p->ip;
	ev->has_ip = true;
	ev->isa = p->isa;
	ev->insn_size = p->size;
	memcpy(ev->insn, p->raw, p->size);
	if (p->kind == AUXTAP_BRANCH_RETURN)
		type = AUXTAP_EVENT_RETURN;
	else if ((p->kind == AUXTAP_BRANCH_CALL || p->kind == AUXTAP_BRANCH_CALL_INDIRECT) &&
		 !p->fetches_ip)
		type = AUXTAP_EVENT_CALL;
	*call = *ev;
	if (wanted(q, AUXTAP_EVENT_BRANCH, ev->time)) {
		ev->type = AUXTAP_EVENT_BRANCH;
		take_count(q, ev);
	}
	if (!type || !(q->shared->opts.events & call_types))
		return;
	call->type = type;
	set_depth(q, call);
	if (wanted(q, type, call->time))
		take_count(q, call);
	else
		call->type = 0;
}

/*
 * Turns an event or message of a segment decoder into the event that the reader gets; type 0: none.
 * Events come here in the order of the stream, so this is where state that crosses segments is
 * kept. If the event's time is before q->time, it becomes q->time; the event may then be outside of
 * the time window.
 */
static void finish_event(struct pt_queue *q, struct flow_event *ev)
{
	/* set q->time, pid and tid first: the gaps and branches of messages get them */
	bool late = ev->time < q->time;

	if (late)
		ev->time = q->time;
	else
		q->time = ev->time;
	q->pid = ev->pid;
	q->tid = ev->tid;
	switch (ev->type) {
	case PT_BOUNDARY_BRANCH:
		boundary_branch(q, ev);
		return;
	case PT_BOUNDARY_NO_BRANCH:
		q->pending.valid = false;
		ev->type = 0;
		return;
	case PT_GAP_OPENS:
		q->insns_since += ev->nr_insns;
		gap_opens(q, ev->gap);
		ev->gap = NULL;
		ev->type = 0;
		return;
	case PT_GAP_ENDS:
		q->insns_since += ev->nr_insns;
		gap_ends(q, ev);
		return;
	case AUXTAP_EVENT_CALL:
	case AUXTAP_EVENT_RETURN:
		set_depth(q, ev);
		if (ev->hidden) {
			ev->type = 0;
			return;
		}
		break;
	case AUXTAP_EVENT_INSN:
	case AUXTAP_EVENT_BLOCK:
		if (late && !wanted(q, ev->type, ev->time))
			ev->type = 0;
		return;
	case AUXTAP_EVENT_TRACE:
		/* no instruction of this segment ran before tracing was switched off */
		if (!ev->trace_on && !ev->has_ip) {
			ev->ip = q->last_ip;
			ev->has_ip = q->last_ip != 0;
		}
		break;
	default:
		break;
	}
	if (late && !wanted(q, ev->type, ev->time))
		drop_event(q, ev);
	else
		take_count(q, ev);
}

void pt_queue_finish_batch(struct pt_queue *q, struct pt_batch *batch)
{
	for (unsigned int i = 0; i < batch->nr; i++) {
		struct flow_event *ev = &batch->events[i];

		if (ev->type == PT_BOUNDARY_BRANCH)
			i++; /* the next slot is for its call or return */
		if (ev->type)
			finish_event(q, ev);
	}
}
