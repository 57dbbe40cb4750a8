// SPDX-License-Identifier: BSD-2-Clause
/* From steps of the flow to events in the queue's batch: kinds, depth, counts, open gaps. */
#include "pt_queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_time(const struct pt_queue *q, uint64_t time)
{
	const struct auxtap_decode_opts *opts = &q->shared->opts;

	if (!time)
		return true;
	return time >= opts->time_start && (!opts->time_stop || time < opts->time_stop);
}

static struct flow_event *emit(struct pt_queue *q, uint32_t type)
{
	const struct auxtap_decode_opts *opts = &q->shared->opts;
	struct flow_event *ev;

	if (!(opts->events & type) || !in_time(q, q->time) ||
	    (opts->tid >= 0 && opts->tid != q->tid) || (opts->cpu >= 0 && opts->cpu != q->cpu) ||
	    q->out->nr >= PT_BATCH)
		return NULL;
	ev = &q->out->events[q->out->nr++];
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->time = q->time;
	ev->pid = q->pid;
	ev->tid = q->tid;
	return ev;
}

static void count(struct pt_queue *q, uint64_t ip, unsigned int nr)
{
	const struct image_map *map;

	q->sum.instructions += nr;
	q->insns_since += nr;
	if (ip < q->count_lo || ip >= q->count_hi) {
		pt_count_flush(q);
		pthread_mutex_lock(&q->shared->images->lock);
		map = image_lookup(q->shared->images, q->pid, q->mem.time, ip);
		q->count_image = map ? map->image : NULL;
		q->count_lo = map ? map->start : ip;
		q->count_hi = map ? map->end : ip + 1;
		pthread_mutex_unlock(&q->shared->images->lock);
	}
	q->count_nr += nr;
}

void pt_count_flush(struct pt_queue *q)
{
	if (q->count_image && q->count_nr)
		__atomic_add_fetch(&q->count_image->nr_insns, q->count_nr, __ATOMIC_RELAXED);
	q->count_image = NULL;
	q->count_nr = q->count_lo = q->count_hi = 0;
}

void pt_emit_insn(struct pt_queue *q, const struct pt_step *step)
{
	struct flow_event *ev;

	count(q, step->ip, 1);
	ev = emit(q, AUXTAP_EVENT_INSN);
	if (!ev)
		return;
	ev->ip = step->ip;
	ev->has_ip = true;
	ev->nr_insns = 1;
	ev->insn_size = step->size;
	memcpy(ev->insn, step->raw, step->size);
}

void pt_emit_block(struct pt_queue *q, const struct pt_step *step)
{
	struct flow_event *ev;

	count(q, step->ip, step->nr_insns);
	ev = emit(q, AUXTAP_EVENT_BLOCK);
	if (!ev)
		return;
	ev->ip = step->ip;
	ev->addr = step->end_ip;
	ev->has_ip = ev->has_addr = true;
	ev->nr_insns = step->nr_insns;
}

static void branch_event(struct pt_queue *q, uint32_t type, uint64_t target, bool has_target,
			 uint32_t depth)
{
	const struct pt_pending *p = &q->pending;
	struct flow_event *ev = emit(q, type);

	if (!ev)
		return;
	ev->kind = (uint8_t)p->insn.kind;
	ev->ip = p->ip;
	ev->has_ip = true;
	ev->addr = has_target ? target : 0;
	ev->has_addr = has_target;
	ev->depth = depth;
	ev->insn_size = p->insn.size;
	memcpy(ev->insn, p->raw, p->insn.size);
	ev->nr_insns = q->insns_since;
	q->insns_since = 0;
}

/* The pending branch went to target. */
void pt_emit_branch(struct pt_queue *q, uint64_t target, bool has_target)
{
	struct pt_pending *p = &q->pending;
	uint64_t next = p->ip + p->insn.size;

	if (!p->valid)
		return;
	p->valid = false;
	if (p->insn.kind == AUXTAP_BRANCH_COND && (!has_target || target == next))
		return;
	q->sum.branches++;
	branch_event(q, AUXTAP_EVENT_BRANCH, target, has_target, 0);
	switch (p->insn.kind) {
	case AUXTAP_BRANCH_CALL:
	case AUXTAP_BRANCH_CALL_INDIRECT:
		/* call +0 only fetches the instruction pointer */
		if (p->insn.direct && !p->insn.disp)
			break;
		branch_event(q, AUXTAP_EVENT_CALL, target, has_target,
			     callstack_call(&q->calls, next));
		break;
	case AUXTAP_BRANCH_RETURN:
		branch_event(q, AUXTAP_EVENT_RETURN, target, has_target,
			     callstack_return(&q->calls, has_target ? target : 0));
		break;
	default:
		break;
	}
}

void pt_emit_trace(struct pt_queue *q, bool on, uint64_t ip, bool has_ip)
{
	struct flow_event *ev = emit(q, AUXTAP_EVENT_TRACE);

	if (!ev)
		return;
	ev->trace_on = on;
	if (on) {
		ev->addr = ip;
		ev->has_addr = has_ip;
	} else {
		ev->ip = ip;
		ev->has_ip = has_ip;
	}
	ev->nr_insns = q->insns_since;
	q->insns_since = 0;
}

void pt_emit_async(struct pt_queue *q, uint64_t ip, uint64_t to, bool has_to)
{
	struct flow_event *ev = emit(q, AUXTAP_EVENT_ASYNC);

	if (!ev)
		return;
	ev->ip = ip;
	ev->has_ip = true;
	ev->addr = has_to ? to : 0;
	ev->has_addr = has_to;
	ev->nr_insns = q->insns_since;
	q->insns_since = 0;
}

/* Gaps that touch are one: the first cause led to the others. */
void pt_gap_open(struct pt_queue *q, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		 const char *fmt, ...)
{
	va_list args;

	q->pending.valid = false;
	callstack_gap(&q->calls);
	if (q->gap) {
		q->gap->gap.nr_bytes += nr_bytes;
		q->gap->gap.exact = q->gap->gap.exact && exact;
		return;
	}
	q->gap = calloc(1, sizeof(*q->gap));
	if (!q->gap) {
		q->error = -12; /* ENOMEM: a gap must not be silent */
		return;
	}
	q->gap->gap.cause = cause;
	q->gap->gap.cpu = q->cpu;
	q->gap->gap.pid = q->pid;
	q->gap->gap.tid = q->tid;
	q->gap->gap.time_begin = q->time;
	q->gap->gap.nr_bytes = nr_bytes;
	q->gap->gap.exact = exact;
	va_start(args, fmt);
	vsnprintf(q->gap->text, sizeof(q->gap->text), fmt, args);
	va_end(args);
}

/* Flow goes on, or the trace ends: now the gap can be told. */
void pt_gap_close(struct pt_queue *q)
{
	struct flow_gap *gap = q->gap;
	struct flow_event *ev;
	uint64_t now = q->time;

	if (!gap)
		return;
	q->gap = NULL;
	gap->gap.time_end = now;
	q->sum.gaps++;
	if (gap->gap.cause == AUXTAP_GAP_DECODE_ERROR)
		q->sum.errors++;
	if (gap->gap.time_begin)
		q->time = gap->gap.time_begin;
	else
		gap->gap.time_begin = now;
	ev = emit(q, AUXTAP_EVENT_GAP);
	q->time = now;
	if (!ev) {
		free(gap);
		return;
	}
	ev->pid = gap->gap.pid;
	ev->tid = gap->gap.tid;
	ev->nr_insns = q->insns_since;
	q->insns_since = 0;
	ev->gap = gap;
}
