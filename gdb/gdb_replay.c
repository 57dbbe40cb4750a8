// SPDX-License-Identifier: BSD-2-Clause
/* See gdb_replay.h. Motion to breakpoints is in replay_go.c. */
#include "replay_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

int replay_init(struct replay *r, struct history *h)
{
	memset(r, 0, sizeof(*r));
	r->h = h;
	r->threads = calloc(h->nr_threads ? h->nr_threads : 1, sizeof(*r->threads));
	if (!r->threads)
		return -ENOMEM;
	replay_to_end(r);
	return 0;
}

void replay_free(struct replay *r)
{
	free(r->threads);
	free(r->breakpoints);
	free(r->hits);
	memset(r, 0, sizeof(*r));
}

void replay_to_end(struct replay *r)
{
	for (size_t i = 0; i < r->h->nr_threads; i++)
		r->threads[i] = (struct replay_thread){.at = r->h->threads[i].nr};
	r->run = r->h->nr_runs;
	r->run_at = 0;
}

bool replay_at_end(const struct replay *r, uint32_t thread)
{
	return r->threads[thread].at == r->h->threads[thread].nr;
}

bool replay_all_at_end(const struct replay *r)
{
	for (uint32_t i = 0; i < r->h->nr_threads; i++)
		if (!replay_at_end(r, i))
			return false;
	return true;
}

/* ---- the sequence of runs ---- */

void replay_take(struct replay *r, uint32_t thread, uint64_t nr)
{
	r->threads[thread].at += nr;
	r->threads[thread].insn = 0;
	if (r->h->ordered)
		r->run_at += nr;
}

void replay_put_back(struct replay *r, uint32_t thread, uint64_t nr)
{
	r->threads[thread].at -= nr;
	r->threads[thread].insn = 0;
	if (r->h->ordered)
		r->run_at -= nr;
}

bool replay_run_before(struct replay *r)
{
	if (!r->run)
		return false;
	r->run--;
	r->run_at = r->h->runs[r->run].nr;
	return true;
}

bool replay_seek_back(struct replay *r, uint32_t thread)
{
	if (!r->h->ordered)
		return r->threads[thread].at > 0;
	for (;;) {
		if (r->run < r->h->nr_runs) {
			uint32_t other = r->h->runs[r->run].thread;

			if (other == thread && r->run_at)
				return true;
			replay_put_back(r, other, r->run_at);
		}
		if (!replay_run_before(r))
			return false;
	}
}

bool replay_seek_forward(struct replay *r, uint32_t thread)
{
	if (!r->h->ordered)
		return r->threads[thread].at < r->h->threads[thread].nr;
	while (r->run < r->h->nr_runs) {
		const struct history_run *run = &r->h->runs[r->run];

		if (run->thread == thread && r->run_at < run->nr)
			return true;
		replay_take(r, run->thread, run->nr - r->run_at);
		r->run++;
		r->run_at = 0;
	}
	return false;
}

/* ---- where a thread is ---- */

static bool is_place(const struct token *t)
{
	return t->kind == TOKEN_BLOCK || t->kind == TOKEN_GAP;
}

/* The next block or gap at or after a position; the number of tokens: there is no more. */
static uint64_t next_place(struct replay *r, uint32_t thread, uint64_t at,
			   const struct token **token)
{
	*token = NULL;
	for (; at < r->h->threads[thread].nr; at++) {
		*token = history_token(r->h, thread, at);
		if (!*token || is_place(*token))
			break;
		*token = NULL;
	}
	return at;
}

bool replay_address(struct replay *r, uint32_t number, uint32_t insn, uint64_t *pc)
{
	const struct token *block = &r->h->tokens[number];
	const uint8_t *sizes;

	*pc = insn ? block->last : block->ip;
	if (!insn || insn + 1 == block->nr)
		return true;
	sizes = history_sizes(r->h, number);
	if (!sizes)
		return false;
	*pc = block->ip;
	for (uint32_t i = 0; i < insn; i++)
		*pc += sizes[i];
	return true;
}

/* The last instruction of the last block before a position. */
static bool last_before(struct replay *r, uint32_t thread, uint64_t at, uint64_t *pc)
{
	while (at > r->h->threads[thread].first) {
		const struct token *t = history_token(r->h, thread, --at);

		if (!t || t->kind == TOKEN_GAP)
			return false;
		*pc = t->last;
		if (t->kind == TOKEN_BLOCK)
			return true;
	}
	return false;
}

bool replay_pc(struct replay *r, uint32_t thread, uint64_t *pc)
{
	const struct history_thread *t = &r->h->threads[thread];
	const struct token *token;
	uint64_t at = r->threads[thread].at;

	for (;;) {
		at = next_place(r, thread, at, &token);
		if (at == t->nr)
			break;
		if (!token)
			return false;
		if (token->kind == TOKEN_BLOCK)
			return replay_address(r, history_token_number(r->h, thread, at),
					      r->threads[thread].insn, pc);
		at++;
	}
	*pc = t->end_ip;
	return t->end_known || last_before(r, thread, t->nr, pc);
}

uint64_t replay_number(struct replay *r, uint32_t thread)
{
	const struct history_thread *t = &r->h->threads[thread];
	uint64_t at = r->threads[thread].at, number;

	if (at == t->nr)
		return t->nr_insns;
	number = t->chunks[at / HISTORY_CHUNK].insns + r->threads[thread].insn;
	for (uint64_t i = at - at % HISTORY_CHUNK; i < at; i++) {
		const struct token *token = history_token(r->h, thread, i);

		if (token && token->kind == TOKEN_BLOCK)
			number += token->nr;
	}
	return number;
}

uint64_t replay_time(struct replay *r, uint32_t thread)
{
	const struct history_thread *t = &r->h->threads[thread];
	uint64_t at = r->threads[thread].at;

	return at == t->nr ? t->time_last : t->chunks[at / HISTORY_CHUNK].time;
}

/* ---- one instruction ---- */

/* Whether a motion may cross the gap at a position: the previous one stopped there. */
static bool may_cross(struct replay_thread *t, uint64_t gap)
{
	if (t->shown == gap + 1)
		return true;
	t->shown = gap + 1;
	return false;
}

enum replay_stop replay_step_back(struct replay *r, uint32_t thread)
{
	struct replay_thread *t = &r->threads[thread];
	bool crossing = false;

	if (t->insn) {
		uint32_t number;
		uint64_t pc;

		/* insn is not 0: it is within a block */
		number = history_token_number(r->h, thread, t->at);
		t->insn--;
		if (!replay_address(r, number, t->insn, &pc))
			t->insn = 0;
		t->shown = 0;
		return REPLAY_STEPPED;
	}
	for (;;) {
		const struct token *token;
		uint64_t pc;

		if (t->at <= r->h->threads[thread].first || !replay_seek_back(r, thread))
			return REPLAY_BEGIN;
		token = history_token(r->h, thread, t->at - 1);
		if (!token)
			return REPLAY_FAILED;
		if (token->kind == TOKEN_GAP && !crossing) {
			if (!may_cross(t, t->at - 1))
				return REPLAY_GAP;
			crossing = true;
		}
		replay_put_back(r, thread, 1);
		if (token->kind != TOKEN_BLOCK)
			continue;
		t->insn = token->nr - 1;
		if (!replay_address(r, history_token_number(r->h, thread, t->at), t->insn, &pc))
			t->insn = 0;
		t->shown = 0;
		return REPLAY_STEPPED;
	}
}

/* Takes tokens of a thread up to 'at', and of others what is before them. */
static void take_to(struct replay *r, uint32_t thread, uint64_t at)
{
	while (r->threads[thread].at < at && replay_seek_forward(r, thread)) {
		uint64_t nr = at - r->threads[thread].at;

		if (r->h->ordered && nr > r->h->runs[r->run].nr - r->run_at)
			nr = r->h->runs[r->run].nr - r->run_at;
		replay_take(r, thread, nr);
	}
}

/* The last instruction of the block at 'at': where is the next one? */
static enum replay_stop leave_block(struct replay *r, uint32_t thread, uint64_t at)
{
	const struct history_thread *history = &r->h->threads[thread];
	struct replay_thread *t = &r->threads[thread];
	const struct token *token;
	uint64_t next = next_place(r, thread, at + 1, &token);

	if (next == history->nr && !history->end_known)
		return REPLAY_END;
	if (next < history->nr && !token)
		return REPLAY_FAILED;
	if (next < history->nr && token->kind == TOKEN_GAP && !may_cross(t, next))
		return REPLAY_GAP;
	while (next < history->nr && token->kind == TOKEN_GAP) {
		next = next_place(r, thread, next + 1, &token);
		if (next < history->nr && !token)
			return REPLAY_FAILED;
	}
	take_to(r, thread, next);
	t->shown = 0;
	return REPLAY_STEPPED;
}

enum replay_stop replay_step_forward(struct replay *r, uint32_t thread)
{
	struct replay_thread *t = &r->threads[thread];
	const struct token *token;
	uint64_t at = next_place(r, thread, t->at, &token), pc;

	while (at < r->h->threads[thread].nr && token && token->kind == TOKEN_GAP)
		at = next_place(r, thread, at + 1, &token);
	if (at == r->h->threads[thread].nr) {
		take_to(r, thread, at);
		return REPLAY_END;
	}
	if (!token)
		return REPLAY_FAILED;
	if (at != t->at)
		take_to(r, thread, at);
	else if (!t->insn)
		replay_seek_forward(r, thread);
	if (t->insn + 1 < token->nr &&
	    replay_address(r, history_token_number(r->h, thread, at), t->insn + 1, &pc)) {
		t->insn++;
		t->shown = 0;
		return REPLAY_STEPPED;
	}
	return leave_block(r, thread, at);
}

const char *replay_gap_text(struct replay *r, uint32_t thread, unsigned int nr)
{
	uint64_t shown = r->threads[thread].shown;
	const struct token *token;

	/* gaps that touch: those before it, and those after it */
	while (shown > r->h->threads[thread].first + 1) {
		token = history_token(r->h, thread, shown - 2);
		if (!token || token->kind != TOKEN_GAP)
			break;
		shown--;
	}
	if (!shown || shown - 1 + nr >= r->h->threads[thread].nr)
		return NULL;
	token = history_token(r->h, thread, shown - 1 + nr);
	return token && token->kind == TOKEN_GAP ? r->h->gaps[token->nr].text : NULL;
}

bool replay_goto(struct replay *r, uint32_t thread, uint64_t number)
{
	const struct history_thread *t = &r->h->threads[thread];
	size_t lo = t->first / HISTORY_CHUNK, hi = t->nr_chunks;
	uint64_t at, before;

	if (t->first == t->nr)
		return false;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->chunks[mid].insns <= number)
			lo = mid;
		else
			hi = mid;
	}
	before = t->chunks[lo].insns;
	for (at = (uint64_t)lo * HISTORY_CHUNK; at < t->nr; at++) {
		const struct token *token = history_token(r->h, thread, at);

		if (!token)
			return false;
		if (token->kind != TOKEN_BLOCK)
			continue;
		if (number < before + token->nr && at >= t->first)
			break;
		before += token->nr;
	}
	replay_to_end(r);
	if (at == t->nr)
		return true;
	while (r->threads[thread].at > at && replay_seek_back(r, thread)) {
		uint64_t nr = r->threads[thread].at - at;

		if (r->h->ordered && nr > r->run_at)
			nr = r->run_at;
		replay_put_back(r, thread, nr);
	}
	r->threads[thread].insn = number > before ? (uint32_t)(number - before) : 0;
	return true;
}
