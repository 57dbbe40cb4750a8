// SPDX-License-Identifier: BSD-2-Clause
/*
 * See history_calls.h. Chunks in which no call of the wanted depth starts or ends are skipped, so
 * the number of calls and returns in between does not matter.
 */
#include "history_calls.h"

struct call_search {
	struct history *h;
	uint32_t thread;
	const struct history_thread *t;
	uint64_t pos;
	int64_t depth; /* before entry pos */
};

static bool ends_search(const struct history_entry *entry)
{
	return entry->kind == ENTRY_GAP || entry->kind == ENTRY_STACK_RESET;
}

/* Sets s->depth to the depth before entry s->pos. */
static bool depth_at(struct call_search *s)
{
	uint64_t i = s->pos - s->pos % HISTORY_CHUNK;

	if (s->pos == s->t->nr && s->pos && i == s->pos)
		i -= HISTORY_CHUNK; /* at the end, after a full chunk */
	if (!s->t->nr)
		return false;
	s->depth = s->t->chunks[i / HISTORY_CHUNK].depth;
	for (; i < s->pos; i++) {
		const struct history_entry *entry = history_entry_at(s->h, s->thread, i);

		if (!entry)
			return false;
		s->depth = history_depth(entry, s->depth);
	}
	return true;
}

/* Searches backwards for the call that increased the depth to 'depth'; NULL: not in the history. */
static const struct history_entry *call_before(struct call_search *s, int64_t depth)
{
	while (s->pos > s->t->first) {
		const struct history_chunk *chunk;
		const struct history_entry *entry;

		if (!(s->pos % HISTORY_CHUNK)) {
			chunk = &s->t->chunks[s->pos / HISTORY_CHUNK - 1];
			if (chunk->min_depth >= depth) { /* the whole chunk is within the call */
				s->pos -= HISTORY_CHUNK;
				s->depth = chunk->depth;
				continue;
			}
		}
		entry = history_entry_at(s->h, s->thread, s->pos - 1);
		if (!entry || ends_search(entry))
			return NULL;
		s->pos--;
		switch (entry->kind) {
		case ENTRY_CALL:
		case ENTRY_SIGNAL:
			if (s->depth-- == depth)
				return entry;
			break;
		case ENTRY_RETURN:
			s->depth += entry->nr;
			break;
		case ENTRY_RETURN_UNMATCHED:
			s->depth++;
			break;
		default:
			break;
		}
	}
	return NULL;
}

/* Searches forward for the return of that depth to a caller whose call is not in the history. */
static const struct history_entry *return_after(struct call_search *s, int64_t depth)
{
	while (s->pos < s->t->nr) {
		const struct history_chunk *chunk = &s->t->chunks[s->pos / HISTORY_CHUNK];
		const struct history_entry *entry;

		if (!(s->pos % HISTORY_CHUNK) && chunk->min_depth >= depth &&
		    s->pos + HISTORY_CHUNK < s->t->nr && chunk[1].depth - depth < INT32_MAX) {
			s->pos += HISTORY_CHUNK;
			s->depth = chunk[1].depth;
			continue;
		}
		entry = history_entry_at(s->h, s->thread, s->pos);
		if (!entry || ends_search(entry))
			return NULL;
		s->pos++;
		s->depth = history_depth(entry, s->depth);
		if (entry->kind == ENTRY_RETURN_UNMATCHED && s->depth == depth - 1)
			return entry;
	}
	return NULL;
}

size_t history_calls(struct history *h, uint32_t thread, uint64_t pos, uint64_t pc,
		     struct history_frame *frames, size_t max)
{
	struct call_search s = {.h = h, .thread = thread, .t = &h->threads[thread], .pos = pos};
	struct call_search after;
	const struct history_entry *entry;
	int64_t depth;
	size_t nr = 1;

	if (!max || !depth_at(&s))
		return 0;
	after = s;
	depth = s.depth;
	frames[0] = (struct history_frame){.pc = pc, .depth = depth};
	while (nr < max && (entry = call_before(&s, depth))) {
		frames[nr - 1].entry = entry->last;
		depth--;
		frames[nr++] = (struct history_frame){.pc = entry->ip,
						      .depth = depth,
						      .interrupted = entry->kind == ENTRY_SIGNAL};
	}
	while (nr < max && (entry = return_after(&after, depth))) {
		depth--;
		frames[nr++] = (struct history_frame){.pc = entry->ip, .depth = depth};
	}
	return nr;
}
