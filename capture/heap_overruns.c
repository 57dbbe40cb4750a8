// SPDX-License-Identifier: BSD-2-Clause
/*
 * glibc's malloc keeps a chunk's size in the word before the block that it gives away, rounded up
 * to 16 bytes, with three flags in the low bits; and right after the chunk is the word of the next
 * one. So a block that is in use, and whose own word is as it must be, says where the next word is,
 * and that one has rules of its own: while the block is in use its lowest bit is set. What breaks
 * them was not written by malloc. (glibc 2.3 to 2.42, malloc/malloc.c: "chunk representation".)
 * Of another malloc the words before its blocks are not those.
 */
#include "heap_overruns.h"

#include <stdlib.h>
#include <string.h>

#define WORD 8
/* From a chunk to its block: the size of the chunk before it, if that is free, and its own. */
#define CHUNK_HEAD 16
#define CHUNK_MIN  32

/* Flags in the word. */
#define PREV_IN_USE 1
#define MMAPPED	    2 /* a mapping of its own: nothing of malloc's follows it */
#define OTHER_ARENA 4
#define FLAGS	    7

#define CACHE_BYTES	65536u
#define MAX_OPEN	64
#define MAX_OVERWRITTEN 16

/* A block that was not freed. */
struct live_block {
	uint64_t addr, nr_bytes;
	size_t event;
	bool dropped; /* memory of it is another block's now */
};

/* What was read last. */
struct memory_cache {
	const struct heap_reader *reader;
	uint64_t addr;
	size_t nr;
	unsigned char bytes[CACHE_BYTES];
};

/* ---- which blocks are in use ---- */

static bool is_of_heap(const struct auxtap_heap_event *e)
{
	return e->kind == AUXTAP_HEAP_ALLOCATED || e->kind == AUXTAP_HEAP_FREED ||
	       e->kind == AUXTAP_HEAP_KEPT;
}

static int by_address(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/*
 * Events by address and time in blocks[]: the last of each address decides. nr_bytes is that of the
 * allocation.
 */
static size_t keep_live(const struct auxtap_heap_event *event, struct live_block *blocks, size_t nr)
{
	size_t live = 0;

	for (size_t i = 0; i < nr;) {
		const uint64_t addr = blocks[i].addr;
		const struct live_block *allocated = NULL;
		bool in_use = false;

		for (; i < nr && blocks[i].addr == addr; i++) {
			switch (event[blocks[i].event].kind) {
			case AUXTAP_HEAP_ALLOCATED:
				allocated = &blocks[i];
				in_use = true;
				break;
			case AUXTAP_HEAP_FREED:
				in_use = false;
				break;
			default: /* KEPT */
				in_use = allocated != NULL;
				break;
			}
		}
		if (in_use)
			blocks[live++] = *allocated;
	}
	return live;
}

/*
 * Of two that overlap the older was freed without being seen; or the newer is a part of it that the
 * program's own allocator gave away. Either says nothing about malloc's words.
 */
static void drop_overlapping(struct live_block *blocks, size_t nr)
{
	struct live_block *open[MAX_OPEN];
	size_t nr_open = 0;

	for (size_t i = 0; i < nr; i++) {
		struct live_block *b = &blocks[i];
		size_t kept = 0;

		for (size_t k = 0; k < nr_open; k++)
			if (open[k]->addr + open[k]->nr_bytes > b->addr - WORD)
				open[kept++] = open[k];
		nr_open = kept;
		for (size_t k = 0; k < nr_open; k++)
			b->dropped = open[k]->dropped = true;
		if (nr_open == MAX_OPEN)
			b->dropped = true;
		else
			open[nr_open++] = b;
	}
}

static struct live_block *find_live(const struct auxtap_heap_event *event, size_t nr_events,
				    size_t *nr)
{
	struct live_block *blocks = malloc((nr_events + 1) * sizeof(*blocks));
	size_t oldest = nr_events;

	*nr = 0;
	if (!blocks)
		return NULL;
	/* before what was missed, a block may have been freed without being seen */
	while (oldest && event[oldest - 1].kind != AUXTAP_HEAP_NONE &&
	       event[oldest - 1].kind != AUXTAP_HEAP_MISSED &&
	       event[oldest - 1].kind <= AUXTAP_HEAP_THROWN)
		oldest--;
	for (size_t i = oldest; i < nr_events; i++) {
		const struct auxtap_heap_event *e = &event[i];

		if (is_of_heap(e) && e->addr > CHUNK_HEAD && !(e->addr & 15) &&
		    e->addr + e->nr_bytes + CHUNK_MIN > e->addr)
			blocks[(*nr)++] = (struct live_block){.addr = e->addr,
							      .nr_bytes = e->nr_bytes,
							      .event = i};
	}
	qsort(blocks, *nr, sizeof(*blocks), by_address);
	*nr = keep_live(event, blocks, *nr);
	drop_overlapping(blocks, *nr);
	return blocks;
}

/* ---- malloc's words ---- */

static bool read_word(struct memory_cache *c, uint64_t addr, uint64_t *word)
{
	if (addr < c->addr || addr - c->addr + WORD > c->nr) {
		ssize_t n = c->reader->read(c->reader->ctx, addr, c->bytes, sizeof(c->bytes));

		c->addr = addr;
		c->nr = n > 0 ? (size_t)n : 0;
	}
	if (c->nr < WORD || addr - c->addr + WORD > c->nr)
		return false;
	memcpy(word, c->bytes + (addr - c->addr), WORD);
	return true;
}

/* Exactly what malloc writes for as many bytes: it leaves less than the smallest chunk over. */
static bool is_own_word(const struct live_block *b, uint64_t word)
{
	uint64_t size = (b->nr_bytes + WORD + 15) & ~15ull;

	if (size < CHUNK_MIN)
		size = CHUNK_MIN;
	return !(word & MMAPPED) && ((word & ~FLAGS) == size || (word & ~FLAGS) == size + 16);
}

/* What the word after a block in use cannot be. before: the last word of the block's chunk. */
static bool is_impossible(const struct heap_reader *r, uint64_t at, uint64_t word, uint64_t own,
			  uint64_t before)
{
	const uint64_t size = word & ~FLAGS;

	if (size & 8 || size < CHUNK_HEAD || word & MMAPPED ||
	    (word & OTHER_ARENA && !(own & OTHER_ARENA)) || at - WORD + size < at ||
	    !r->is_mapped(r->ctx, at - WORD + size - 1))
		return true;
	/* cleared: of a block that was freed unseen, the word before has its size */
	return !(word & PREV_IN_USE) && !(word & 0xff) && before != (own & ~FLAGS);
}

enum block_state {
	STATE_UNREAD,  /* or memory of another block */
	STATE_FOREIGN, /* glibc would not write the word before it */
	STATE_UNKNOWN, /* that is, but what follows cannot be judged */
	STATE_SOUND,
	STATE_OVERRUN,
	NR_STATES,
};

static bool is_mapping_word(const struct live_block *b, uint64_t word)
{
	return word & MMAPPED && !(word & (PREV_IN_USE | OTHER_ARENA)) && !(word & 8) &&
	       (word & ~FLAGS) >= b->nr_bytes + CHUNK_HEAD;
}

/* *next: the address of the block after it in memory; *after: the word before that. */
static enum block_state check(struct memory_cache *head, struct memory_cache *tail,
			      const struct live_block *b, uint64_t *next, uint64_t *after)
{
	uint64_t own, before;

	*next = 0;
	if (b->dropped || !read_word(head, b->addr - WORD, &own))
		return STATE_UNREAD;
	if (is_mapping_word(b, own))
		return STATE_UNKNOWN;
	if (!is_own_word(b, own))
		return STATE_FOREIGN;
	*next = b->addr + (own & ~FLAGS);
	if (!read_word(tail, *next - CHUNK_HEAD, &before) || !read_word(tail, *next - WORD, after))
		return STATE_UNKNOWN;
	if (is_impossible(head->reader, *next - WORD, *after, own, before))
		return STATE_OVERRUN;
	return *after & PREV_IN_USE ? STATE_SOUND : STATE_UNKNOWN;
}

/*
 * Nine of ten blocks, or more: memalign() may leave larger chunks. A few have to be sound if no
 * name says whose malloc it is, or if the words of very many were overwritten, unless all others
 * are glibc's; at least one if the words of more than one block were overwritten.
 */
static bool is_glibc(const struct heap_reader *r, const size_t nr[NR_STATES], size_t nr_overwritten)
{
	const size_t known = nr[STATE_UNKNOWN] + nr[STATE_SOUND] + nr[STATE_OVERRUN];
	const bool is_named =
		r->is_glibc && (nr_overwritten <= MAX_OVERWRITTEN || !nr[STATE_FOREIGN]);
	const size_t least = !is_named ? 4 : nr_overwritten > 1 ? 1 : 0;

	return nr[STATE_FOREIGN] * 9 <= known && nr[STATE_SOUND] >= least &&
	       (nr[STATE_OVERRUN] == 1 || nr[STATE_SOUND] > nr[STATE_OVERRUN]);
}

static struct heap_block found_block(const struct auxtap_heap_event *event,
				     const struct live_block *b, uint32_t flags, uint64_t after)
{
	const struct auxtap_heap_event *e = &event[b->event];

	return (struct heap_block){.record = {.size = sizeof(struct auxtap_crash_block),
					      .flags = flags,
					      .addr = b->addr,
					      .nr_bytes = b->nr_bytes,
					      .allocated_at = e->caller,
					      .allocated_tid = e->tid,
					      .after_end = after},
				   .allocated = (ssize_t)b->event,
				   .freed = -1,
				   .bad_free = -1,
				   .was_allocated = -1,
				   .was_freed = -1};
}

int heap_overruns_find(const struct auxtap_heap_event *event, size_t nr_events,
		       const struct heap_reader *reader, struct heap_block *found)
{
	struct memory_cache *cache = malloc(2 * sizeof(*cache));
	size_t nr_blocks = 0, nr[NR_STATES] = {0};
	struct live_block *blocks = find_live(event, nr_events, &nr_blocks);
	size_t nr_overwritten = 0;
	bool overrun = false; /* up to here */
	int nr_found = 0;

	if (!cache || !blocks)
		nr_blocks = 0;
	for (int i = 0; cache && i < 2; i++) {
		cache[i].reader = reader;
		cache[i].addr = cache[i].nr = 0;
	}
	for (size_t i = 0; i < nr_blocks; i++) {
		const struct live_block *b = &blocks[i];
		uint64_t next, after = 0;
		enum block_state state = check(&cache[0], &cache[1], b, &next, &after);

		if (state == STATE_FOREIGN && overrun) {
			nr_overwritten++;
			continue;
		}
		nr[state]++;
		overrun = state == STATE_OVERRUN;
		if (!overrun || nr_found + 2 > AUXTAP_MAX_OVERRUNS)
			continue;
		found[nr_found++] =
			found_block(event, b, AUXTAP_BLOCK_OVERRUN | AUXTAP_BLOCK_HAS_AFTER_END,
				    after);
		if (i + 1 < nr_blocks && blocks[i + 1].addr == next && !blocks[i + 1].dropped)
			found[nr_found++] =
				found_block(event, &blocks[i + 1], AUXTAP_BLOCK_AFTER_OVERRUN, 0);
	}
	free(blocks);
	free(cache);
	return is_glibc(reader, nr, nr_overwritten) ? nr_found : 0;
}
