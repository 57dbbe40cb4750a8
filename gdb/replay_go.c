// SPDX-License-Identifier: BSD-2-Clause
/* Motion of threads to the next breakpoint in either direction; see gdb_replay.h. */
#include "replay_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

/* ---- breakpoints ---- */

/* The first one at or after addr. */
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
	free(r->hits);
	r->hits = NULL;
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
	free(r->hits);
	r->hits = NULL;
}

/* Which tokens may contain a breakpoint: asked for once, not in each block. */
static int find_hits(struct replay *r)
{
	if (r->hits)
		return 0;
	r->hits = calloc(r->h->nr_tokens ? r->h->nr_tokens : 1, 1);
	if (!r->hits)
		return -ENOMEM;
	for (size_t i = 0; i < r->h->nr_tokens; i++) {
		const struct token *t = &r->h->tokens[i];
		size_t at = breakpoint_from(r, t->ip);

		r->hits[i] = t->kind == TOKEN_BLOCK && at < r->nr_breakpoints &&
			     r->breakpoints[at] <= t->last;
	}
	return 0;
}

/* The last instruction before 'end' with a breakpoint; -1: none. */
static long last_hit(struct replay *r, uint32_t number, uint32_t end)
{
	uint64_t pc;

	for (uint32_t i = end; r->hits[number] && i-- > 0;)
		if (replay_address(r, number, i, &pc) && is_breakpoint(r, pc))
			return i;
	return -1;
}

/* The first instruction from 'begin' on with a breakpoint; -1: none. */
static long first_hit(struct replay *r, uint32_t number, uint32_t begin)
{
	uint64_t pc;

	for (uint32_t i = begin; r->hits[number] && i < r->h->tokens[number].nr; i++)
		if (replay_address(r, number, i, &pc) && is_breakpoint(r, pc))
			return i;
	return -1;
}

/* ---- backwards ---- */

struct scan {
	const struct replay_motion *m;
	bool crossing; /* a gap at which the motion before has stopped */
	uint32_t thread;
};

/* One token of a thread back. */
static enum replay_stop token_back(struct replay *r, struct scan *s)
{
	struct replay_thread *t = &r->threads[s->thread];
	bool asked = s->m->all || s->thread == s->m->thread;
	bool under_way = t->insn > 0;
	uint64_t at = t->at - !under_way;
	uint32_t number, end;
	long hit;

	if (at < r->h->threads[s->thread].first) {
		replay_put_back(r, s->thread, 1); /* dropped, or before an exec */
		return REPLAY_STEPPED;
	}
	number = history_token_number(r->h, s->thread, at);
	if (number == UINT32_MAX)
		return REPLAY_FAILED;
	end = under_way ? t->insn : r->h->tokens[number].nr;
	if (r->h->tokens[number].kind == TOKEN_GAP && s->thread == s->m->thread && !s->crossing &&
	    t->shown != t->at) {
		t->shown = t->at;
		return REPLAY_GAP;
	}
	if (r->h->tokens[number].kind == TOKEN_GAP && s->thread == s->m->thread)
		s->crossing = true;
	hit = asked ? last_hit(r, number, end) : -1;
	if (under_way)
		t->insn = 0;
	else
		replay_put_back(r, s->thread, 1);
	if (hit < 0) {
		if (r->h->tokens[number].kind == TOKEN_BLOCK)
			s->crossing = false;
		return REPLAY_STEPPED;
	}
	t->insn = (uint32_t)hit;
	t->shown = 0;
	return REPLAY_BREAKPOINT;
}

/* Finds whose token is the one before; false: nothing is before. */
static bool thread_before(struct replay *r, struct scan *s)
{
	const struct history_thread *t = &r->h->threads[s->m->thread];

	s->thread = s->m->thread;
	if (!r->h->ordered || !s->m->all)
		if (r->threads[s->thread].at <= t->first && !r->threads[s->thread].insn)
			return false;
	if (!r->h->ordered)
		return true;
	for (;;) {
		if (r->run < r->h->nr_runs) {
			s->thread = r->h->runs[r->run].thread;
			if (r->run_at || r->threads[s->thread].insn)
				return true;
		}
		if (!replay_run_before(r))
			return false;
	}
}

static enum replay_stop go_back(struct replay *r, struct scan *s)
{
	enum replay_stop stop = REPLAY_STEPPED;

	while (stop == REPLAY_STEPPED)
		stop = thread_before(r, s) ? token_back(r, s) : REPLAY_BEGIN;
	return stop;
}

/* ---- forwards ---- */

/* The thread is before its last instruction, after which nothing is known. */
static bool nothing_known_after(struct replay *r, uint32_t thread, uint64_t at)
{
	const struct history_thread *t = &r->h->threads[thread];

	for (at++; at < t->nr; at++) {
		const struct token *token = history_token(r->h, thread, at);

		if (!token || token->kind == TOKEN_BLOCK)
			return false;
		if (token->kind == TOKEN_GAP)
			return true;
	}
	return false;
}

static enum replay_stop token_forward(struct replay *r, struct scan *s)
{
	struct replay_thread *t = &r->threads[s->thread];
	bool asked = s->m->all || s->thread == s->m->thread;
	const struct token *token;
	uint32_t number;
	long hit = -1;

	if (t->at < r->h->threads[s->thread].first) {
		replay_take(r, s->thread, 1);
		return REPLAY_STEPPED;
	}
	number = history_token_number(r->h, s->thread, t->at);
	if (number == UINT32_MAX)
		return REPLAY_FAILED;
	token = &r->h->tokens[number];
	if (token->kind == TOKEN_BLOCK && asked)
		hit = first_hit(r, number, t->insn);
	if (hit >= 0) {
		t->insn = (uint32_t)hit;
		t->shown = 0;
		return REPLAY_BREAKPOINT;
	}
	if (token->kind == TOKEN_BLOCK && s->thread == s->m->thread && !s->crossing &&
	    nothing_known_after(r, s->thread, t->at)) {
		t->insn = token->nr - 1;
		return replay_step_forward(r, s->thread); /* reports the gap */
	}
	if (token->kind == TOKEN_BLOCK)
		s->crossing = false;
	replay_take(r, s->thread, 1);
	return REPLAY_STEPPED;
}

static bool thread_after(struct replay *r, struct scan *s)
{
	s->thread = s->m->thread;
	if (!r->h->ordered || !s->m->all)
		if (replay_at_end(r, s->thread))
			return false;
	if (!r->h->ordered)
		return true;
	while (r->run < r->h->nr_runs && r->run_at == r->h->runs[r->run].nr) {
		r->run++;
		r->run_at = 0;
	}
	if (r->run == r->h->nr_runs)
		return false;
	s->thread = r->h->runs[r->run].thread;
	return true;
}

static enum replay_stop go_forward(struct replay *r, struct scan *s)
{
	enum replay_stop stop;
	uint64_t pc;

	/* a breakpoint where the motion begins does not count */
	if (!thread_after(r, s))
		return REPLAY_END;
	if (!s->m->all)
		s->thread = s->m->thread;
	stop = replay_step_forward(r, s->thread);
	/* the others go on where this one has ended; gaps of theirs stop no motion of this one */
	if (s->m->all &&
	    (stop == REPLAY_END || (stop == REPLAY_GAP && s->thread != s->m->thread))) {
		replay_take(r, s->thread, 1);
		stop = REPLAY_STEPPED;
	} else if (stop == REPLAY_STEPPED && r->threads[s->thread].insn &&
		   replay_pc(r, s->thread, &pc) && is_breakpoint(r, pc)) {
		/* in the same block; whether another thread is before the next one is seen below */
		return REPLAY_BREAKPOINT;
	}
	while (stop == REPLAY_STEPPED)
		stop = thread_after(r, s) ? token_forward(r, s) : REPLAY_END;
	return stop;
}

enum replay_stop replay_move(struct replay *r, const struct replay_motion *m, uint32_t *stopped)
{
	struct scan s = {.m = m, .thread = m->thread};
	enum replay_stop stop;

	*stopped = m->thread;
	if (!m->go)
		return m->back ? replay_step_back(r, m->thread) : replay_step_forward(r, m->thread);
	if (find_hits(r))
		return REPLAY_FAILED;
	stop = m->back ? go_back(r, &s) : go_forward(r, &s);
	if (stop == REPLAY_BREAKPOINT)
		*stopped = s.thread;
	return stop;
}
