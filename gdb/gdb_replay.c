// SPDX-License-Identifier: BSD-2-Clause
/* See gdb_replay.h. replay_go.c moves to breakpoints. */
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
	free(r->may_hit);
	memset(r, 0, sizeof(*r));
}

void replay_to_end(struct replay *r)
{
	for (size_t i = 0; i < r->h->nr_threads; i++)
		r->threads[i] = (struct replay_thread){.pos = r->h->threads[i].nr};
	r->slice = r->h->nr_slices;
	r->slice_pos = 0;
}

bool replay_at_end(const struct replay *r, uint32_t thread)
{
	return r->threads[thread].pos == r->h->threads[thread].nr;
}

bool replay_all_at_end(const struct replay *r)
{
	for (uint32_t i = 0; i < r->h->nr_threads; i++)
		if (!replay_at_end(r, i))
			return false;
	return true;
}

/* ---- the sequence of slices ---- */

void replay_advance(struct replay *r, uint32_t thread, uint64_t nr)
{
	r->threads[thread].pos += nr;
	r->threads[thread].insn = 0;
	if (r->h->ordered)
		r->slice_pos += nr;
}

void replay_rewind(struct replay *r, uint32_t thread, uint64_t nr)
{
	r->threads[thread].pos -= nr;
	r->threads[thread].insn = 0;
	if (r->h->ordered)
		r->slice_pos -= nr;
}

bool replay_prev_slice(struct replay *r)
{
	if (!r->slice)
		return false;
	r->slice--;
	r->slice_pos = r->h->slices[r->slice].nr;
	return true;
}

bool replay_seek_back(struct replay *r, uint32_t thread)
{
	if (!r->h->ordered)
		return r->threads[thread].pos > 0;
	for (;;) {
		if (r->slice < r->h->nr_slices) {
			uint32_t other = r->h->slices[r->slice].thread;

			if (other == thread && r->slice_pos)
				return true;
			replay_rewind(r, other, r->slice_pos);
		}
		if (!replay_prev_slice(r))
			return false;
	}
}

bool replay_seek_forward(struct replay *r, uint32_t thread)
{
	if (!r->h->ordered)
		return r->threads[thread].pos < r->h->threads[thread].nr;
	while (r->slice < r->h->nr_slices) {
		const struct history_slice *slice = &r->h->slices[r->slice];

		if (slice->thread == thread && r->slice_pos < slice->nr)
			return true;
		replay_advance(r, slice->thread, slice->nr - r->slice_pos);
		r->slice++;
		r->slice_pos = 0;
	}
	return false;
}

/* ---- position of a thread ---- */

static bool is_location(const struct history_entry *t)
{
	return t->kind == ENTRY_BLOCK || t->kind == ENTRY_GAP;
}

/* The position of the next block or gap at or after pos; the number of entries: none. */
static uint64_t next_location(struct replay *r, uint32_t thread, uint64_t pos,
			      const struct history_entry **entry)
{
	*entry = NULL;
	for (; pos < r->h->threads[thread].nr; pos++) {
		*entry = history_entry_at(r->h, thread, pos);
		if (!*entry || is_location(*entry))
			break;
		*entry = NULL;
	}
	return pos;
}

bool replay_address(struct replay *r, uint32_t id, uint32_t insn, uint64_t *pc)
{
	const struct history_entry *block = &r->h->entries[id];
	const uint8_t *sizes;

	*pc = insn ? block->last : block->ip;
	if (!insn || insn + 1 == block->nr)
		return true;
	sizes = history_sizes(r->h, id);
	if (!sizes)
		return false;
	*pc = block->ip;
	for (uint32_t i = 0; i < insn; i++)
		*pc += sizes[i];
	return true;
}

/* The address of the last instruction of the last block before a position. */
static bool last_before(struct replay *r, uint32_t thread, uint64_t pos, uint64_t *pc)
{
	while (pos > r->h->threads[thread].first) {
		const struct history_entry *t = history_entry_at(r->h, thread, --pos);

		if (!t || t->kind == ENTRY_GAP)
			return false;
		*pc = t->last;
		if (t->kind == ENTRY_BLOCK)
			return true;
	}
	return false;
}

bool replay_pc(struct replay *r, uint32_t thread, uint64_t *pc)
{
	const struct history_thread *t = &r->h->threads[thread];
	const struct history_entry *entry;
	uint64_t pos = r->threads[thread].pos;

	for (;;) {
		pos = next_location(r, thread, pos, &entry);
		if (pos == t->nr)
			break;
		if (!entry)
			return false;
		if (entry->kind == ENTRY_BLOCK)
			return replay_address(r, history_entry_id(r->h, thread, pos),
					      r->threads[thread].insn, pc);
		pos++;
	}
	*pc = t->end_ip;
	return t->end_known || last_before(r, thread, t->nr, pc);
}

uint64_t replay_icount(struct replay *r, uint32_t thread)
{
	const struct history_thread *t = &r->h->threads[thread];
	uint64_t pos = r->threads[thread].pos, icount;

	if (pos == t->nr)
		return t->nr_insns;
	icount = t->chunks[pos / HISTORY_CHUNK].icount + r->threads[thread].insn;
	for (uint64_t i = pos - pos % HISTORY_CHUNK; i < pos; i++) {
		const struct history_entry *entry = history_entry_at(r->h, thread, i);

		if (entry && entry->kind == ENTRY_BLOCK)
			icount += entry->nr;
	}
	return icount;
}

uint64_t replay_time(struct replay *r, uint32_t thread)
{
	const struct history_thread *t = &r->h->threads[thread];
	uint64_t pos = r->threads[thread].pos;

	return pos == t->nr ? t->time_last : t->chunks[pos / HISTORY_CHUNK].time;
}

/* ---- one instruction ---- */

/* Whether a request may cross the gap at a position: the previous one stopped there. */
static bool may_cross(struct replay_thread *t, uint64_t gap)
{
	if (t->gap_reported == gap + 1)
		return true;
	t->gap_reported = gap + 1;
	return false;
}

enum replay_stop replay_step_back(struct replay *r, uint32_t thread)
{
	struct replay_thread *t = &r->threads[thread];
	bool crossing = false;

	if (t->insn) {
		uint32_t id;
		uint64_t pc;

		/* insn is not 0: it is within a block */
		id = history_entry_id(r->h, thread, t->pos);
		t->insn--;
		if (!replay_address(r, id, t->insn, &pc))
			t->insn = 0;
		t->gap_reported = 0;
		return REPLAY_STEPPED;
	}
	for (;;) {
		const struct history_entry *entry;
		uint64_t pc;

		if (t->pos <= r->h->threads[thread].first || !replay_seek_back(r, thread))
			return REPLAY_BEGIN;
		entry = history_entry_at(r->h, thread, t->pos - 1);
		if (!entry)
			return REPLAY_FAILED;
		if (entry->kind == ENTRY_GAP && !crossing) {
			if (!may_cross(t, t->pos - 1))
				return REPLAY_GAP;
			crossing = true;
		}
		replay_rewind(r, thread, 1);
		if (entry->kind != ENTRY_BLOCK)
			continue;
		t->insn = entry->nr - 1;
		if (!replay_address(r, history_entry_id(r->h, thread, t->pos), t->insn, &pc))
			t->insn = 0;
		t->gap_reported = 0;
		return REPLAY_STEPPED;
	}
}

/* Moves a thread forward to a position, and the others past their entries before it. */
static void advance_to(struct replay *r, uint32_t thread, uint64_t pos)
{
	while (r->threads[thread].pos < pos && replay_seek_forward(r, thread)) {
		uint64_t nr = pos - r->threads[thread].pos;

		if (r->h->ordered && nr > r->h->slices[r->slice].nr - r->slice_pos)
			nr = r->h->slices[r->slice].nr - r->slice_pos;
		replay_advance(r, thread, nr);
	}
}

/* Leaves a block after its last instruction, and finds the next location. */
static enum replay_stop leave_block(struct replay *r, uint32_t thread, uint64_t pos)
{
	const struct history_thread *history = &r->h->threads[thread];
	struct replay_thread *t = &r->threads[thread];
	const struct history_entry *entry;
	uint64_t next = next_location(r, thread, pos + 1, &entry);

	if (next == history->nr && !history->end_known)
		return REPLAY_END;
	if (next < history->nr && !entry)
		return REPLAY_FAILED;
	if (next < history->nr && entry->kind == ENTRY_GAP && !may_cross(t, next))
		return REPLAY_GAP;
	while (next < history->nr && entry->kind == ENTRY_GAP) {
		next = next_location(r, thread, next + 1, &entry);
		if (next < history->nr && !entry)
			return REPLAY_FAILED;
	}
	advance_to(r, thread, next);
	t->gap_reported = 0;
	return REPLAY_STEPPED;
}

enum replay_stop replay_step_forward(struct replay *r, uint32_t thread)
{
	struct replay_thread *t = &r->threads[thread];
	const struct history_entry *entry;
	uint64_t pos = next_location(r, thread, t->pos, &entry), pc;

	while (pos < r->h->threads[thread].nr && entry && entry->kind == ENTRY_GAP)
		pos = next_location(r, thread, pos + 1, &entry);
	if (pos == r->h->threads[thread].nr) {
		advance_to(r, thread, pos);
		return REPLAY_END;
	}
	if (!entry)
		return REPLAY_FAILED;
	if (pos != t->pos)
		advance_to(r, thread, pos);
	else if (!t->insn)
		replay_seek_forward(r, thread);
	if (t->insn + 1 < entry->nr &&
	    replay_address(r, history_entry_id(r->h, thread, pos), t->insn + 1, &pc)) {
		t->insn++;
		t->gap_reported = 0;
		return REPLAY_STEPPED;
	}
	return leave_block(r, thread, pos);
}

const char *replay_gap_text(struct replay *r, uint32_t thread, unsigned int nr)
{
	uint64_t shown = r->threads[thread].gap_reported;
	const struct history_entry *entry;

	/* adjacent gaps are shown together: those before it, and those after it */
	while (shown > r->h->threads[thread].first + 1) {
		entry = history_entry_at(r->h, thread, shown - 2);
		if (!entry || entry->kind != ENTRY_GAP)
			break;
		shown--;
	}
	if (!shown || shown - 1 + nr >= r->h->threads[thread].nr)
		return NULL;
	entry = history_entry_at(r->h, thread, shown - 1 + nr);
	return entry && entry->kind == ENTRY_GAP ? r->h->gaps[entry->nr].text : NULL;
}

bool replay_goto(struct replay *r, uint32_t thread, uint64_t icount)
{
	const struct history_thread *t = &r->h->threads[thread];
	size_t lo = t->first / HISTORY_CHUNK, hi = t->nr_chunks;
	uint64_t pos, before;

	if (t->first == t->nr)
		return false;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->chunks[mid].icount <= icount)
			lo = mid;
		else
			hi = mid;
	}
	before = t->chunks[lo].icount;
	for (pos = (uint64_t)lo * HISTORY_CHUNK; pos < t->nr; pos++) {
		const struct history_entry *entry = history_entry_at(r->h, thread, pos);

		if (!entry)
			return false;
		if (entry->kind != ENTRY_BLOCK)
			continue;
		if (icount < before + entry->nr && pos >= t->first)
			break;
		before += entry->nr;
	}
	replay_to_end(r);
	if (pos == t->nr)
		return true;
	while (r->threads[thread].pos > pos && replay_seek_back(r, thread)) {
		uint64_t nr = r->threads[thread].pos - pos;

		if (r->h->ordered && nr > r->slice_pos)
			nr = r->slice_pos;
		replay_rewind(r, thread, nr);
	}
	r->threads[thread].insn = icount > before ? (uint32_t)(icount - before) : 0;
	return true;
}
