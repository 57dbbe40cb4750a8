// SPDX-License-Identifier: BSD-2-Clause
/* Moves threads to the next breakpoint in either direction; see gdb_replay.h. */
#include "replay_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

/* ---- breakpoints ---- */

/* Index of the first breakpoint at or after addr. */
static size_t breakpoint_from(const struct replay *r, uint64_t addr)
{
	size_t lo = 0, hi = r->nr_breakpoints;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->breakpoints[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_breakpoint(const struct replay *r, uint64_t addr)
{
	size_t at = breakpoint_from(r, addr);

	return at < r->nr_breakpoints && r->breakpoints[at] == addr;
}

int replay_breakpoint_add(struct replay *r, uint64_t addr)
{
	size_t at = breakpoint_from(r, addr);

	if (is_breakpoint(r, addr))
		return 0;
	if (vector_grow(r->breakpoints, r->nr_breakpoints, r->max_breakpoints))
		return -ENOMEM;
	memmove(r->breakpoints + at + 1, r->breakpoints + at,
		(r->nr_breakpoints - at) * sizeof(*r->breakpoints));
	r->breakpoints[at] = addr;
	r->nr_breakpoints++;
	free(r->may_hit);
	r->may_hit = NULL;
	return 0;
}

void replay_breakpoint_remove(struct replay *r, uint64_t addr)
{
	size_t at = breakpoint_from(r, addr);

	if (!is_breakpoint(r, addr))
		return;
	r->nr_breakpoints--;
	memmove(r->breakpoints + at, r->breakpoints + at + 1,
		(r->nr_breakpoints - at) * sizeof(*r->breakpoints));
	free(r->may_hit);
	r->may_hit = NULL;
}

/* Finds the entries that may contain a breakpoint: once, not whenever a block is reached. */
static int find_may_hit(struct replay *r)
{
	if (r->may_hit)
		return 0;
	r->may_hit = calloc(r->h->nr_entries ? r->h->nr_entries : 1, 1);
	if (!r->may_hit)
		return -ENOMEM;
	for (size_t i = 0; i < r->h->nr_entries; i++) {
		const struct history_entry *t = &r->h->entries[i];
		size_t at = breakpoint_from(r, t->ip);

		r->may_hit[i] = t->kind == ENTRY_BLOCK && at < r->nr_breakpoints &&
				r->breakpoints[at] <= t->last;
	}
	return 0;
}

/* The last instruction before 'end' with a breakpoint; -1: none. */
static long last_hit(struct replay *r, uint32_t id, uint32_t end)
{
	uint64_t pc;

	for (uint32_t i = end; r->may_hit[id] && i-- > 0;)
		if (replay_address(r, id, i, &pc) && is_breakpoint(r, pc))
			return i;
	return -1;
}

/* The first instruction from 'begin' on with a breakpoint; -1: none. */
static long first_hit(struct replay *r, uint32_t id, uint32_t begin)
{
	uint64_t pc;

	for (uint32_t i = begin; r->may_hit[id] && i < r->h->entries[id].nr; i++)
		if (replay_address(r, id, i, &pc) && is_breakpoint(r, pc))
			return i;
	return -1;
}

/* ---- backwards ---- */

struct scan {
	const struct replay_request *req;
	bool crossing; /* it crosses a gap at which the previous request has stopped */
	uint32_t thread;
};

/* Moves a thread back by one entry. */
static enum replay_stop entry_back(struct replay *r, struct scan *s)
{
	struct replay_thread *t = &r->threads[s->thread];
	bool asked = s->req->all_threads || s->thread == s->req->thread;
	bool under_way = t->insn > 0;
	uint64_t at = t->pos - !under_way;
	uint32_t id, end;
	long hit;

	if (at < r->h->threads[s->thread].first) {
		replay_rewind(r, s->thread, 1); /* the entry was dropped, or is before an exec */
		return REPLAY_STEPPED;
	}
	id = history_entry_id(r->h, s->thread, at);
	if (id == UINT32_MAX)
		return REPLAY_FAILED;
	end = under_way ? t->insn : r->h->entries[id].nr;
	if (r->h->entries[id].kind == ENTRY_GAP && s->thread == s->req->thread && !s->crossing &&
	    t->gap_reported != t->pos) {
		t->gap_reported = t->pos;
		return REPLAY_GAP;
	}
	if (r->h->entries[id].kind == ENTRY_GAP && s->thread == s->req->thread)
		s->crossing = true;
	hit = asked ? last_hit(r, id, end) : -1;
	if (under_way)
		t->insn = 0;
	else
		replay_rewind(r, s->thread, 1);
	if (hit < 0) {
		if (r->h->entries[id].kind == ENTRY_BLOCK)
			s->crossing = false;
		return REPLAY_STEPPED;
	}
	t->insn = (uint32_t)hit;
	t->gap_reported = 0;
	return REPLAY_BREAKPOINT;
}

/* Finds the thread of the previous entry; false: there is none. */
static bool thread_before(struct replay *r, struct scan *s)
{
	const struct history_thread *t = &r->h->threads[s->req->thread];

	s->thread = s->req->thread;
	if (!r->h->ordered || !s->req->all_threads)
		if (r->threads[s->thread].pos <= t->first && !r->threads[s->thread].insn)
			return false;
	if (!r->h->ordered)
		return true;
	for (;;) {
		if (r->slice < r->h->nr_slices) {
			s->thread = r->h->slices[r->slice].thread;
			if (r->slice_pos || r->threads[s->thread].insn)
				return true;
		}
		if (!replay_prev_slice(r))
			return false;
	}
}

static enum replay_stop go_back(struct replay *r, struct scan *s)
{
	enum replay_stop stop = REPLAY_STEPPED;

	while (stop == REPLAY_STEPPED)
		stop = thread_before(r, s) ? entry_back(r, s) : REPLAY_BEGIN;
	return stop;
}

/* ---- forwards ---- */

/* Whether the next entry after a position that is a gap or a block is a gap. */
static bool gap_follows(struct replay *r, uint32_t thread, uint64_t at)
{
	const struct history_thread *t = &r->h->threads[thread];

	for (at++; at < t->nr; at++) {
		const struct history_entry *entry = history_entry_at(r->h, thread, at);

		if (!entry || entry->kind == ENTRY_BLOCK)
			return false;
		if (entry->kind == ENTRY_GAP)
			return true;
	}
	return false;
}

static enum replay_stop entry_forward(struct replay *r, struct scan *s)
{
	struct replay_thread *t = &r->threads[s->thread];
	bool asked = s->req->all_threads || s->thread == s->req->thread;
	const struct history_entry *entry;
	uint32_t id;
	long hit = -1;

	if (t->pos < r->h->threads[s->thread].first) {
		replay_advance(r, s->thread, 1);
		return REPLAY_STEPPED;
	}
	id = history_entry_id(r->h, s->thread, t->pos);
	if (id == UINT32_MAX)
		return REPLAY_FAILED;
	entry = &r->h->entries[id];
	if (entry->kind == ENTRY_BLOCK && asked)
		hit = first_hit(r, id, t->insn);
	if (hit >= 0) {
		t->insn = (uint32_t)hit;
		t->gap_reported = 0;
		return REPLAY_BREAKPOINT;
	}
	if (entry->kind == ENTRY_BLOCK && s->thread == s->req->thread && !s->crossing &&
	    gap_follows(r, s->thread, t->pos)) {
		t->insn = entry->nr - 1;
		return replay_step_forward(r, s->thread); /* reports the gap */
	}
	if (entry->kind == ENTRY_BLOCK)
		s->crossing = false;
	replay_advance(r, s->thread, 1);
	return REPLAY_STEPPED;
}

static bool thread_after(struct replay *r, struct scan *s)
{
	s->thread = s->req->thread;
	if (!r->h->ordered || !s->req->all_threads)
		if (replay_at_end(r, s->thread))
			return false;
	if (!r->h->ordered)
		return true;
	while (r->slice < r->h->nr_slices && r->slice_pos == r->h->slices[r->slice].nr) {
		r->slice++;
		r->slice_pos = 0;
	}
	if (r->slice == r->h->nr_slices)
		return false;
	s->thread = r->h->slices[r->slice].thread;
	return true;
}

static enum replay_stop go_forward(struct replay *r, struct scan *s)
{
	enum replay_stop stop;
	uint64_t pc;

	/* a breakpoint where the resume starts does not count */
	if (!thread_after(r, s))
		return REPLAY_END;
	if (!s->req->all_threads)
		s->thread = s->req->thread;
	stop = replay_step_forward(r, s->thread);
	/* others continue when this thread has ended; their gaps do not stop it */
	if (s->req->all_threads &&
	    (stop == REPLAY_END || (stop == REPLAY_GAP && s->thread != s->req->thread))) {
		replay_advance(r, s->thread, 1);
		stop = REPLAY_STEPPED;
	} else if (stop == REPLAY_STEPPED && r->threads[s->thread].insn &&
		   replay_pc(r, s->thread, &pc) && is_breakpoint(r, pc)) {
		/* it is in the same block: no other thread can come first */
		return REPLAY_BREAKPOINT;
	}
	while (stop == REPLAY_STEPPED)
		stop = thread_after(r, s) ? entry_forward(r, s) : REPLAY_END;
	return stop;
}

enum replay_stop replay_resume(struct replay *r, const struct replay_request *req,
			       uint32_t *stopped)
{
	struct scan s = {.req = req, .thread = req->thread};
	enum replay_stop stop;

	*stopped = req->thread;
	if (!req->cont)
		return req->reverse ? replay_step_back(r, req->thread) :
				      replay_step_forward(r, req->thread);
	if (find_may_hit(r))
		return REPLAY_FAILED;
	stop = req->reverse ? go_back(r, &s) : go_forward(r, &s);
	if (stop == REPLAY_BREAKPOINT)
		*stopped = s.thread;
	return stop;
}
