// SPDX-License-Identifier: BSD-2-Clause
/*
 * See history_calls.h. Chunks in which no call of the wanted level begins or ends are skipped, so
 * the number of calls and returns between does not matter.
 */
#include "history_calls.h"

struct call_search {
	struct history *h;
	uint32_t thread;
	const struct history_thread *t;
	uint64_t at;
	int64_t level; /* at 'at' */
};

static bool ends_search(const struct token *token)
{
	return token->kind == TOKEN_GAP || token->kind == TOKEN_SWITCH;
}

/* The level before token 'at' of the chunk that it is in. */
static bool level_at(struct call_search *s)
{
	uint64_t i = s->at - s->at % HISTORY_CHUNK;

	if (s->at == s->t->nr && s->at && i == s->at)
		i -= HISTORY_CHUNK; /* the end, after a full chunk */
	if (!s->t->nr)
		return false;
	s->level = s->t->chunks[i / HISTORY_CHUNK].level;
	for (; i < s->at; i++) {
		const struct token *token = history_token(s->h, s->thread, i);

		if (!token)
			return false;
		s->level = history_level(token, s->level);
	}
	return true;
}

/* Back to the call that made 'level' the level; NULL: it is not in the history. */
static const struct token *call_before(struct call_search *s, int64_t level)
{
	while (s->at > s->t->first) {
		const struct history_chunk *chunk;
		const struct token *token;

		if (!(s->at % HISTORY_CHUNK)) {
			chunk = &s->t->chunks[s->at / HISTORY_CHUNK - 1];
			if (chunk->lowest >= level) { /* all of it is within the call */
				s->at -= HISTORY_CHUNK;
				s->level = chunk->level;
				continue;
			}
		}
		token = history_token(s->h, s->thread, s->at - 1);
		if (!token || ends_search(token))
			return NULL;
		s->at--;
		switch (token->kind) {
		case TOKEN_CALL:
		case TOKEN_SIGNAL:
			if (s->level-- == level)
				return token;
			break;
		case TOKEN_RETURN:
			s->level += token->nr;
			break;
		case TOKEN_OUT:
			s->level++;
			break;
		default:
			break;
		}
	}
	return NULL;
}

/* On to where the function of that level returns to a caller whose call is not in the history. */
static const struct token *out_after(struct call_search *s, int64_t level)
{
	while (s->at < s->t->nr) {
		const struct history_chunk *chunk = &s->t->chunks[s->at / HISTORY_CHUNK];
		const struct token *token;

		if (!(s->at % HISTORY_CHUNK) && chunk->lowest >= level &&
		    s->at + HISTORY_CHUNK < s->t->nr && chunk[1].level - level < INT32_MAX) {
			s->at += HISTORY_CHUNK;
			s->level = chunk[1].level;
			continue;
		}
		token = history_token(s->h, s->thread, s->at);
		if (!token || ends_search(token))
			return NULL;
		s->at++;
		s->level = history_level(token, s->level);
		if (token->kind == TOKEN_OUT && s->level == level - 1)
			return token;
	}
	return NULL;
}

size_t history_calls(struct history *h, uint32_t thread, uint64_t at, uint64_t pc,
		     struct call_frame *frames, size_t max)
{
	struct call_search s = {.h = h, .thread = thread, .t = &h->threads[thread], .at = at};
	struct call_search after;
	const struct token *token;
	int64_t level;
	size_t nr = 1;

	if (!max || !level_at(&s))
		return 0;
	after = s;
	level = s.level;
	frames[0] = (struct call_frame){.pc = pc, .level = level};
	while (nr < max && (token = call_before(&s, level))) {
		frames[nr - 1].entry = token->last;
		level--;
		frames[nr++] = (struct call_frame){.pc = token->ip,
						   .level = level,
						   .interrupted = token->kind == TOKEN_SIGNAL};
	}
	while (nr < max && (token = out_after(&after, level))) {
		level--;
		frames[nr++] = (struct call_frame){.pc = token->ip, .level = level};
	}
	return nr;
}
