// SPDX-License-Identifier: BSD-2-Clause
/*
 * Turns steps of the flow into events in the segment's batch. What depends on earlier segments is
 * left to the queue, which gets a message in place of the event: see pt_queue.h.
 */
#include "pt_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wanted(const struct pt_segment_decoder *w, uint32_t type)
{
	const struct auxtap_decode_opts *opts = &w->shared->opts;

	/* this is called for each block, and most types are not wanted: test them first */
	return opts->events & type && flow_wanted(opts, type, w->time, w->tid, w->queue->cpu);
}

static struct flow_event *add_event(struct pt_segment_decoder *w, uint32_t type)
{
	struct flow_event *ev;

	if (w->out->nr >= PT_BATCH) {
		w->job->error = -ENOBUFS; /* no step has that many; losing one must not be silent */
		return NULL;
	}
	ev = &w->out->events[w->out->nr++];
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->isa = w->isa;
	ev->time = w->time;
	ev->pid = w->pid;
	ev->tid = w->tid;
	return ev;
}

/* Adds the instructions since the last event to this event. */
static void take_count(struct pt_segment_decoder *w, struct flow_event *ev)
{
	ev->nr_insns = w->insns_since;
	w->insns_since = 0;
}

static void count(struct pt_segment_decoder *w, uint64_t ip, unsigned int nr)
{
	const struct image_map *map;

	w->job->nr_insns += nr;
	w->insns_since += nr;
	if (ip < w->count_lo || ip >= w->count_hi) {
		pt_count_flush(w);
		pthread_mutex_lock(&w->shared->images->lock);
		map = image_find_map(w->shared->images, w->pid, w->mem.time, ip);
		w->count_image = map ? map->image : NULL;
		w->count_lo = map ? map->start : ip;
		w->count_hi = map ? map->end : ip + 1;
		pthread_mutex_unlock(&w->shared->images->lock);
	}
	w->count_nr += nr;
}

void pt_count_flush(struct pt_segment_decoder *w)
{
	if (w->count_image && w->count_nr)
		__atomic_add_fetch(&w->count_image->nr_insns, w->count_nr, __ATOMIC_RELAXED);
	w->count_image = NULL;
	w->count_nr = w->count_lo = w->count_hi = 0;
}

void pt_emit_insn(struct pt_segment_decoder *w, const struct flow_step *step)
{
	struct flow_event *ev;

	count(w, step->ip, 1);
	ev = wanted(w, AUXTAP_EVENT_INSN) ? add_event(w, AUXTAP_EVENT_INSN) : NULL;
	if (!ev)
		return;
	ev->ip = step->ip;
	ev->has_ip = true;
	ev->nr_insns = 1;
	ev->insn_size = step->size;
	memcpy(ev->insn, step->code, step->size);
}

void pt_emit_block(struct pt_segment_decoder *w, const struct flow_step *step)
{
	struct flow_event *ev;

	count(w, step->ip, step->nr_insns);
	ev = wanted(w, AUXTAP_EVENT_BLOCK) ? add_event(w, AUXTAP_EVENT_BLOCK) : NULL;
	if (!ev)
		return;
	ev->ip = step->ip;
	ev->addr = step->last_ip;
	ev->has_ip = ev->has_addr = true;
	ev->nr_insns = step->nr_insns;
}

/*
 * A summary needs only the times of the first and the last of a thread's consecutive branches: the
 * new branch replaces the last one.
 */
static bool extend_last(struct pt_segment_decoder *w)
{
	struct flow_event *last = &w->out->events[w->out->nr - 1];

	if (!w->shared->opts.only_summary || w->out->nr < 2 ||
	    last[0].type != AUXTAP_EVENT_BRANCH || last[-1].type != AUXTAP_EVENT_BRANCH ||
	    last[0].tid != w->tid || !last[-1].time)
		return false;
	last->time = w->time;
	last->nr_insns += w->insns_since;
	w->insns_since = 0;
	return true;
}

static void branch_event(struct pt_segment_decoder *w, uint32_t type, uint64_t target,
			 bool has_target)
{
	const uint32_t call_types = AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN;
	const struct pt_pending *p = &w->pending;
	bool reported = wanted(w, type);
	struct flow_event *ev;

	/* the call depth needs every call and return, also those outside the time window */
	if (!reported && !(type & call_types && w->shared->opts.events & call_types))
		return;
	if (reported && type == AUXTAP_EVENT_BRANCH && extend_last(w))
		return;
	ev = add_event(w, type);
	if (!ev)
		return;
	ev->hidden = !reported;
	ev->kind = p->kind;
	ev->ip = p->ip;
	ev->has_ip = true;
	ev->isa = p->isa;
	ev->addr = has_target ? target : 0;
	ev->has_addr = has_target;
	ev->insn_size = p->size;
	memcpy(ev->insn, p->raw, p->size);
	if (reported)
		take_count(w, ev);
}

/* Emits the pending branch, which went to target. */
void pt_emit_branch(struct pt_segment_decoder *w, uint64_t target, bool has_target)
{
	struct pt_pending *p = &w->pending;

	if (p->maybe_inherited) {
		struct flow_event *ev = add_event(w, PT_BOUNDARY_BRANCH);

		p->maybe_inherited = false;
		if (!ev)
			return;
		ev->addr = has_target ? target : 0;
		ev->has_addr = has_target;
		take_count(w, ev);
		/* if it is a call or return, the queue needs a second event */
		if (!add_event(w, 0))
			ev->type = 0;
		return;
	}
	if (!p->valid)
		return;
	p->valid = false;
	if (p->kind == AUXTAP_BRANCH_COND && (!has_target || target == p->ip + p->size))
		return;
	w->job->nr_branches++;
	branch_event(w, AUXTAP_EVENT_BRANCH, target, has_target);
	switch (p->kind) {
	case AUXTAP_BRANCH_CALL:
	case AUXTAP_BRANCH_CALL_INDIRECT:
		/* a call of the next instruction only fetches the instruction pointer */
		if (!p->fetches_ip)
			branch_event(w, AUXTAP_EVENT_CALL, target, has_target);
		break;
	case AUXTAP_BRANCH_RETURN:
		branch_event(w, AUXTAP_EVENT_RETURN, target, has_target);
		break;
	default:
		break;
	}
}

void pt_emit_no_branch(struct pt_segment_decoder *w)
{
	if (w->pending.maybe_inherited)
		add_event(w, PT_BOUNDARY_NO_BRANCH);
	w->pending.maybe_inherited = w->pending.valid = false;
}

void pt_emit_trace(struct pt_segment_decoder *w, bool on, uint64_t ip, bool has_ip)
{
	struct flow_event *ev;

	ev = wanted(w, AUXTAP_EVENT_TRACE) ? add_event(w, AUXTAP_EVENT_TRACE) : NULL;
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
	take_count(w, ev);
}

void pt_emit_async(struct pt_segment_decoder *w, uint64_t ip, uint64_t to, bool has_to)
{
	struct flow_event *ev;

	ev = wanted(w, AUXTAP_EVENT_ASYNC) ? add_event(w, AUXTAP_EVENT_ASYNC) : NULL;
	if (!ev)
		return;
	ev->ip = ip;
	ev->has_ip = true;
	ev->addr = has_to ? to : 0;
	ev->has_addr = has_to;
	take_count(w, ev);
}

struct flow_gap *pt_gap_open(struct pt_segment_decoder *w, enum auxtap_gap_cause cause,
			     const char *fmt, ...)
{
	struct flow_event *ev = add_event(w, PT_GAP_OPENS);
	va_list args;

	w->pending.valid = w->pending.maybe_inherited = false;
	w->in_gap = true;
	if (!ev)
		return NULL;
	va_start(args, fmt);
	ev->gap = flow_gap_new(cause, fmt, args);
	va_end(args);
	if (!ev->gap)
		w->job->error = -ENOMEM; /* a gap must not be silent */
	take_count(w, ev);
	return ev->gap;
}

/* The flow resumes: the open gap can be reported. */
void pt_gap_close(struct pt_segment_decoder *w)
{
	struct flow_event *ev;

	if (!w->in_gap)
		return;
	w->in_gap = false;
	ev = add_event(w, PT_GAP_ENDS);
	if (ev)
		take_count(w, ev);
}
