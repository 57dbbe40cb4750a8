// SPDX-License-Identifier: BSD-2-Clause
/* See history.h. history_build.c builds the sequence from events. */
#include "history_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

void history_init(struct history *h, size_t max_bytes, const struct history_code *code)
{
	memset(h, 0, sizeof(*h));
	h->max_bytes = max_bytes;
	h->code = code;
	h->ordered = true;
}

static void chunk_free(struct history *h, struct history_chunk *chunk)
{
	if (chunk->successors)
		h->nr_bytes -= chunk->size + sizeof(*chunk);
	free(chunk->successors);
	chunk->successors = NULL;
}

static void thread_free(struct history *h, struct history_thread *t)
{
	for (size_t i = 0; i < t->nr_chunks; i++)
		chunk_free(h, &t->chunks[i]);
	free(t->chunks);
	free(t->partial);
	free(t->calls);
}

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->nr_threads; i++)
		thread_free(h, &h->threads[i]);
	for (size_t i = 0; i < h->nr_entries; i++)
		free(h->entries[i].next);
	for (size_t i = 0; i < h->nr_gaps; i++)
		free(h->gaps[i].text);
	for (size_t i = 0; i < sizeof(h->views) / sizeof(h->views[0]); i++)
		free(h->views[i].ids);
	free(h->threads);
	free(h->entries);
	free(h->gaps);
	free(h->slices);
	free(h->sizes);
	hash_map_free(&h->by_content);
	hash_map_free(&h->returns);
	memset(h, 0, sizeof(*h));
}

/* ---- entries ---- */

static uint64_t entry_hash(const struct history_entry *t)
{
	return hash_number(t->ip) * 31 + hash_number(t->last) * 17 +
	       hash_number((uint64_t)t->nr << 8 | (uint64_t)t->kind);
}

uint32_t history_intern(struct history *h, const struct history_entry *wanted)
{
	uint64_t hash = entry_hash(wanted);
	size_t step = 0, id;

	while ((id = hash_map_next(&h->by_content, hash, &step)) != HASH_MAP_NONE) {
		const struct history_entry *t = &h->entries[id];

		if (t->kind == wanted->kind && t->nr == wanted->nr && t->ip == wanted->ip &&
		    t->last == wanted->last)
			return (uint32_t)id;
	}
	if (h->nr_entries >= ENTRY_NONE || vector_grow(h->entries, h->nr_entries, h->max_entries) ||
	    hash_map_add(&h->by_content, hash, h->nr_entries))
		return ENTRY_NONE;
	h->entries[h->nr_entries] = *wanted;
	return (uint32_t)h->nr_entries++;
}

/* ---- chunks: each entry after the first is a slot number, or ESCAPE and a 4-byte number ---- */

#define SLOT_ESCAPE 255

/* The slot of 'next' among the successors of an entry; SLOT_ESCAPE: none. -1: out of memory */
static int slot_of(struct history_entry *t, uint32_t next)
{
	for (unsigned int i = 0; i < t->nr_next; i++)
		if (t->next[i] == next)
			return (int)i;
	if (t->nr_next == SLOT_ESCAPE)
		return SLOT_ESCAPE;
	if (vector_grow(t->next, t->nr_next, t->max_next))
		return -1;
	t->next[t->nr_next] = next;
	return t->nr_next++;
}

int chunk_pack(struct history *h, struct history_chunk *chunk, const uint32_t *ids, uint32_t nr)
{
	uint8_t packed[HISTORY_CHUNK * 5];
	uint32_t size = 0;

	chunk->first_id = ids[0];
	for (uint32_t i = 1; i < nr; i++) {
		int slot = slot_of(&h->entries[ids[i - 1]], ids[i]);

		if (slot < 0)
			return -ENOMEM;
		packed[size++] = (uint8_t)slot;
		if (slot == SLOT_ESCAPE) {
			memcpy(packed + size, &ids[i], sizeof(ids[i]));
			size += sizeof(ids[i]);
		}
	}
	chunk->successors = malloc(size ? size : 1);
	if (!chunk->successors)
		return -ENOMEM;
	memcpy(chunk->successors, packed, size);
	chunk->size = size;
	h->nr_bytes += size + sizeof(*chunk);
	return 0;
}

void chunk_drop(struct history *h, struct history_thread *t)
{
	chunk_free(h, &t->chunks[t->first_kept / HISTORY_CHUNK]);
	t->first_kept += HISTORY_CHUNK;
}

static void chunk_unpack(const struct history *h, const struct history_chunk *chunk, uint32_t nr,
			 uint32_t *ids)
{
	const uint8_t *slot = chunk->successors;

	ids[0] = chunk->first_id;
	for (uint32_t i = 1; i < nr; i++) {
		uint8_t id = *slot++;

		if (id == SLOT_ESCAPE) {
			memcpy(&ids[i], slot, sizeof(ids[i]));
			slot += sizeof(ids[i]);
		} else {
			ids[i] = h->entries[ids[i - 1]].next[id];
		}
	}
}

/* The unpacked entries of a chunk; replaces the least recently used view. */
static const uint32_t *chunk_view(struct history *h, uint32_t thread, size_t chunk)
{
	const struct history_thread *t = &h->threads[thread];
	struct chunk_view *oldest = &h->views[0];
	uint64_t left = t->nr - chunk * HISTORY_CHUNK;

	if (h->views[h->newest].used && h->views[h->newest].thread == thread &&
	    h->views[h->newest].chunk == chunk)
		return h->views[h->newest].ids;
	h->clock++;
	for (size_t i = 0; i < sizeof(h->views) / sizeof(h->views[0]); i++) {
		struct chunk_view *v = &h->views[i];

		if (v->used && v->thread == thread && v->chunk == chunk) {
			v->used = h->clock;
			h->newest = (unsigned int)i;
			return v->ids;
		}
		if (v->used < oldest->used)
			oldest = v;
	}
	if (!oldest->ids)
		oldest->ids = calloc(HISTORY_CHUNK, sizeof(*oldest->ids));
	if (!oldest->ids)
		return NULL;
	oldest->used = h->clock;
	h->newest = (unsigned int)(oldest - h->views);
	oldest->thread = thread;
	oldest->chunk = chunk;
	chunk_unpack(h, &t->chunks[chunk], left < HISTORY_CHUNK ? (uint32_t)left : HISTORY_CHUNK,
		     oldest->ids);
	return oldest->ids;
}

uint32_t history_entry_id(struct history *h, uint32_t thread, uint64_t pos)
{
	const uint32_t *ids = chunk_view(h, thread, pos / HISTORY_CHUNK);

	return ids ? ids[pos % HISTORY_CHUNK] : ENTRY_NONE;
}

const struct history_entry *history_entry_at(struct history *h, uint32_t thread, uint64_t pos)
{
	uint32_t id = history_entry_id(h, thread, pos);

	return id == ENTRY_NONE ? NULL : &h->entries[id];
}

int history_find(const struct history *h, int32_t tid)
{
	for (size_t i = 0; i < h->nr_threads; i++)
		if (h->threads[i].tid == tid)
			return (int)i;
	return -1;
}

/* ---- sizes of instructions ---- */

#define SIZES_UNKNOWN UINT32_MAX

/* Whether instructions of these sizes from ip on end with one that starts at last. */
static bool sizes_fit(const struct history_entry *block, const uint8_t *sizes, uint32_t nr)
{
	uint64_t ip = block->ip;

	if (nr != block->nr)
		return false;
	for (uint32_t i = 0; i + 1 < nr; i++)
		ip += sizes[i];
	return ip == block->last;
}

const uint8_t *history_sizes(struct history *h, uint32_t id)
{
	struct history_entry *block = &h->entries[id];
	uint32_t nr;

	if (block->sizes)
		return block->sizes == SIZES_UNKNOWN ? NULL : h->sizes + block->sizes - 1;
	if (!h->code || h->nr_sizes + block->nr >= SIZES_UNKNOWN ||
	    vector_grow_by(h->sizes, h->nr_sizes, block->nr, h->max_sizes))
		return NULL;
	nr = h->code->sizes(h->code->ctx, block, h->sizes + h->nr_sizes);
	if (!sizes_fit(block, h->sizes + h->nr_sizes, nr)) {
		block->sizes = SIZES_UNKNOWN;
		return NULL;
	}
	block->sizes = (uint32_t)h->nr_sizes + 1;
	h->nr_sizes += nr;
	return h->sizes + block->sizes - 1;
}
