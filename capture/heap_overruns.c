// SPDX-License-Identifier: BSD-2-Clause
/*
 * glibc's malloc keeps a chunk's size in the word before the block that it returns: rounded up to
 * 16 bytes, with three flags in the low bits. Right after the chunk is the size word of the next
 * one. So a block in use with a correct size word tells where the next size word is, and that one
 * must follow rules, too: its PREV_INUSE bit is set while the block is in use. A word that breaks
 * the rules was not written by malloc. (glibc 2.3 to 2.42, malloc/malloc.c: "chunk
 * representation".) Another malloc has other words before its blocks.
 */
#include "heap_overruns.h"

#include <stdlib.h>
#include <string.h>

#define WORD 8
/* Bytes from a chunk to its block: the size of the previous chunk, if that is free, and its own. */
#define CHUNK_HEAD 16
#define CHUNK_MIN  32

/* Flags in the size word. */
#define PREV_IN_USE 1
#define MMAPPED	    2 /* the chunk is a mapping of its own: no chunk follows */
#define OTHER_ARENA 4
#define FLAGS	    7

#define CACHE_BYTES	65536u
#define MAX_OPEN	64
#define MAX_OVERWRITTEN 16

/* A block that was not freed. */
struct live_block {
	uint64_t addr, nr_bytes;
	size_t event;
	bool dropped; /* it overlaps another block */
};

/* The memory that was read last. */
struct memory_cache {
	const struct heap_reader *reader;
	uint64_t addr;
	size_t nr;
	unsigned char bytes[CACHE_BYTES];
};

/* ---- which blocks are in use ---- */

static bool is_heap_call(const struct auxtap_heap_event *e)
{
	return e->kind == AUXTAP_HEAP_ALLOCATED || e->kind == AUXTAP_HEAP_FREED ||
	       e->kind == AUXTAP_HEAP_KEPT;
}

static int compare_address(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/*
 * blocks[] has the events, by address and time. Keeps the allocations of the blocks in use: the
 * last event of each address decides.
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
 * Marks blocks that overlap: either the older was freed unseen, or the newer is a part of it that
 * the program's own allocator returned. Neither has reliable size words.
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
	/* blocks that are older than a missed event may have been freed */
	while (oldest && event[oldest - 1].kind != AUXTAP_HEAP_NONE &&
	       event[oldest - 1].kind != AUXTAP_HEAP_MISSED &&
	       event[oldest - 1].kind <= AUXTAP_HEAP_THROWN)
		oldest--;
	for (size_t i = oldest; i < nr_events; i++) {
		const struct auxtap_heap_event *e = &event[i];

		if (is_heap_call(e) && e->addr > CHUNK_HEAD && !(e->addr & 15) &&
		    e->addr + e->nr_bytes + CHUNK_MIN > e->addr)
			blocks[(*nr)++] = (struct live_block){.addr = e->addr,
							      .nr_bytes = e->nr_bytes,
							      .event = i};
	}
	qsort(blocks, *nr, sizeof(*blocks), compare_address);
	*nr = keep_live(event, blocks, *nr);
	drop_overlapping(blocks, *nr);
	return blocks;
}

/* ---- malloc's size words ---- */

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

/* Is it the size word of such a block? A chunk may be 16 bytes larger than needed. */
static bool is_own_word(const struct live_block *b, uint64_t word)
{
	uint64_t size = (b->nr_bytes + WORD + 15) & ~15ull;

	if (size < CHUNK_MIN)
		size = CHUNK_MIN;
	return !(word & MMAPPED) && ((word & ~FLAGS) == size || (word & ~FLAGS) == size + 16);
}

/* Is it a size word that malloc cannot have written after a block? before: the word before. */
static bool is_impossible_word(const struct heap_reader *r, uint64_t at, uint64_t word,
			       uint64_t own, uint64_t before)
{
	const uint64_t size = word & ~FLAGS;

	if (size & 8 || size < CHUNK_HEAD || word & MMAPPED ||
	    (word & OTHER_ARENA && !(own & OTHER_ARENA)) || at - WORD + size < at ||
	    !r->is_mapped(r->ctx, at - WORD + size - 1))
		return true;
	/* PREV_INUSE is clear: if the block was freed unseen, the word before has its size */
	return !(word & PREV_IN_USE) && !(word & 0xff) && before != (own & ~FLAGS);
}

enum block_state {
	STATE_UNREAD,  /* the word cannot be read, or the block overlaps another */
	STATE_FOREIGN, /* its size word is not one of glibc's */
	STATE_UNKNOWN, /* its size word is, but the next one decides nothing */
	STATE_SOUND,
	STATE_OVERRUN,
	NR_STATES,
};

static bool is_mapping_word(const struct live_block *b, uint64_t word)
{
	return word & MMAPPED && !(word & (PREV_IN_USE | OTHER_ARENA)) && !(word & 8) &&
	       (word & ~FLAGS) >= b->nr_bytes + CHUNK_HEAD;
}

/* Sets *next to the address of the following block, and *after to that block's size word. */
static enum block_state check_block(struct memory_cache *head, struct memory_cache *tail,
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
	if (is_impossible_word(head->reader, *next - WORD, *after, own, before))
		return STATE_OVERRUN;
	return *after & PREV_IN_USE ? STATE_SOUND : STATE_UNKNOWN;
}

/*
 * At least nine of ten blocks must have glibc's size words: memalign() may leave larger chunks. At
 * least four blocks must be sound if no file name tells whose malloc it is, or if very many size
 * words were overwritten while some others are not glibc's; at least one if more than one size word
 * was overwritten.
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

static struct heap_block make_found_block(const struct auxtap_heap_event *event,
					  const struct live_block *b, uint32_t flags,
					  uint64_t after)
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
				   .before_allocated = -1,
				   .before_freed = -1};
}

int heap_overruns_find(const struct auxtap_heap_event *event, size_t nr_events,
		       const struct heap_reader *reader, struct heap_block *found)
{
	struct memory_cache *cache = malloc(2 * sizeof(*cache));
	size_t nr_blocks = 0, nr[NR_STATES] = {0};
	struct live_block *blocks = find_live(event, nr_events, &nr_blocks);
	size_t nr_overwritten = 0;
	bool overrun = false; /* the previous block was overrun, and perhaps those after it */
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
		enum block_state state = check_block(&cache[0], &cache[1], b, &next, &after);

		if (state == STATE_FOREIGN && overrun) {
			nr_overwritten++;
			continue;
		}
		nr[state]++;
		overrun = state == STATE_OVERRUN;
		if (!overrun || nr_found + 2 > AUXTAP_MAX_OVERRUNS)
			continue;
		found[nr_found++] =
			make_found_block(event, b,
					 AUXTAP_BLOCK_OVERRUN | AUXTAP_BLOCK_HAS_AFTER_END, after);
		if (i + 1 < nr_blocks && blocks[i + 1].addr == next && !blocks[i + 1].dropped)
			found[nr_found++] = make_found_block(event, &blocks[i + 1],
							     AUXTAP_BLOCK_AFTER_OVERRUN, 0);
	}
	free(blocks);
	free(cache);
	return is_glibc(reader, nr, nr_overwritten) ? nr_found : 0;
}
