// SPDX-License-Identifier: BSD-2-Clause
/* Which block a pointer is into, by lists of allocations and frees that each test writes. */
#include "capture/heap_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define DYING 7
#define OTHER 8

static struct auxtap_heap_event events[40];
static size_t nr_events;
static struct heap_block found[AUXTAP_MAX_BLOCKS];

static int start(void **state)
{
	(void)state;
	nr_events = 0;
	memset(found, 0, sizeof(found));
	return 0;
}

/* The caller of event number n is 1000 + n. */
static void event(enum auxtap_heap_kind kind, uint64_t addr, uint64_t nr_bytes, pid_t tid)
{
	events[nr_events] = (struct auxtap_heap_event){
		.addr = addr,
		.nr_bytes = nr_bytes,
		.caller = 1000 + nr_events,
		.tid = tid,
		.kind = kind,
	};
	nr_events++;
}

static int find(uint64_t pointer)
{
	return heap_blocks_find(events, nr_events, DYING, &pointer, 1, found);
}

static void inside_and_right_past(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x2000, 16, OTHER);
	assert_int_equal(find(0xfff), 0);
	assert_int_equal(find(0x100f), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	assert_int_equal(found[0].record.nr_bytes, 16);
	assert_int_equal(found[0].record.allocated_at, 1000);
	assert_int_equal(found[0].record.flags, 0);
	assert_int_equal(find(0x2010), 1);
	assert_int_equal(found[0].record.addr, 0x2000);
	assert_int_equal(found[0].record.allocated_tid, OTHER);
	assert_int_equal(find(0x2011), 0);
}

/* A block begins where another ends: the pointer is of the one that it is inside. */
static void inside_comes_first(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	assert_int_equal(find(0x1010), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	start(NULL);
	event(AUXTAP_HEAP_MAPPED, 0x1010, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	assert_int_equal(find(0x1010), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	/* of one that is freed, only the inside counts */
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1010), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING);
}

static void freed_and_allocated_again(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.freed_at, 1001);
	assert_int_equal(found[0].record.freed_tid, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 8, DYING);
	assert_int_equal(find(0x1004), 1);
	assert_int_equal(found[0].record.flags, 0);
	assert_int_equal(found[0].record.allocated_at, 1002);
	/* the old block was larger: the pointer may be one past the new one's, by 4 bytes */
	assert_int_equal(find(0x100c), 0);
}

/* A second free is the program's error only if the thread dies of it. */
static void freed_twice(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x9000, 16, OTHER);
	event(AUXTAP_HEAP_MAPPED, 0xa000, 16, DYING);
	/* no register has to point to it */
	assert_int_equal(find(0), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED | AUXTAP_BLOCK_BAD_FREE);
	assert_int_equal(found[0].record.freed_at, 1001);
	assert_int_equal(found[0].record.bad_free_at, 1003);
	assert_int_equal(found[0].record.bad_free_offset, 0);
	/* an exception is not a call of the heap's functions */
	event(AUXTAP_HEAP_THROWN, 0x7000, 0, DYING);
	assert_int_equal(find(0), 1);
	assert_int_equal(found[0].record.bad_free_at, 1003);
	/* as the thread ends, the C library frees its cache */
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	assert_int_equal(find(0), 1);
	assert_int_equal(found[0].record.bad_free_at, 1003);
	event(AUXTAP_HEAP_ALLOCATED, 0xb000, 16, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
}

/* realloc() frees the block before it is known whether it can. */
static void kept(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_KEPT, 0x1000, 0, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, 0);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.freed_at, 1003);
}

/* An own allocator, which gives away a part of each block of the C library's. */
static void a_part_of_a_block(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 56, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 40, DYING);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	assert_int_equal(found[0].record.flags, 0);
	assert_int_equal(find(0x1004), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.freed_at, 1002);
	/* another block of the C library is a part of it now */
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 8, DYING);
	assert_int_equal(find(0x1004), 0);
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].record.addr, 0x1020);
}

static void freed_inside(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1010, 0, DYING);
	assert_int_equal(find(0x1000), 2);
	assert_int_equal(found[1].record.flags, 0);
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1008, 0, DYING);
	assert_int_equal(find(0), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_BAD_FREE);
	assert_int_equal(found[0].record.bad_free_offset, 8);
	/* the block had been freed */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_FREED, 0x1008, 0, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	/* that was not the last thing the thread did, or not known to be */
	start(NULL);
	event(AUXTAP_HEAP_FREED, 0x1008, 0, DYING);
	event(AUXTAP_HEAP_MISSED, 0, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, OTHER);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, 0);
}

/* Its allocation is too old: only the first byte's address is known. */
static void free_without_allocation(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED | AUXTAP_BLOCK_UNKNOWN);
	assert_int_equal(found[0].record.allocated_at, 0);
	assert_int_equal(found[0].record.nr_bytes, 0);
	assert_int_equal(find(0x1001), 0);
	/* it is known, but was given away in parts since */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 100, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1040, 16, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.nr_bytes, 0);
	assert_int_equal(find(0x1020), 0);
	/* of the newest block there: an older one had been freed, too */
	start(NULL);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 100, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1040, 16, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].record.freed_at, 1002);
}

/* What was missed may have been any block; what is no event may be a trace of that. */
static void nothing_before_a_miss(void **state)
{
	static const struct auxtap_heap_event wrong[] = {
		{.kind = AUXTAP_HEAP_MISSED, .addr = 1},
		{.kind = AUXTAP_HEAP_NONE, .addr = 1},
		{.kind = 77, .addr = 1},
		{.kind = AUXTAP_HEAP_FREED, .addr = 0},
		{.kind = AUXTAP_HEAP_ALLOCATED, .addr = 0x10, .nr_bytes = UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		start(NULL);
		event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
		events[nr_events++] = wrong[i];
		assert_int_equal(find(0x1000), 0);
		event(AUXTAP_HEAP_ALLOCATED, 0x1000, 32, DYING);
		assert_int_equal(find(0x1000), 1);
		assert_int_equal(found[0].record.nr_bytes, 32);
	}
	/* not after a mapping that was made before, either */
	start(NULL);
	event(AUXTAP_HEAP_MAPPED, 0x1000, 0x1000, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_MISSED, 0, 0, DYING);
	assert_int_equal(find(0x1008), 0);
}

static void a_mapping_ends_blocks(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_MAPPED, 0x1000, 0x1000, DYING);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING);
	assert_int_equal(found[0].record.nr_bytes, 0x1000);
	assert_int_equal(found[0].record.allocated_at, 1002);
	events[2].caller = 0; /* made by code that is not known: nothing to say */
	assert_int_equal(find(0x1008), 0);
}

static void unmapped(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_MAPPED, 0x1000, 0x3000, DYING);
	event(AUXTAP_HEAP_UNMAPPED, 0x2000, 0x1000, OTHER);
	assert_int_equal(find(0x2004), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING | AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.addr, 0x2000);
	assert_int_equal(found[0].record.nr_bytes, 0x1000);
	assert_int_equal(found[0].record.freed_at, 1001);
	assert_int_equal(found[0].record.freed_tid, OTHER);
	assert_int_equal(found[0].record.allocated_at, 1000);
	assert_int_equal(find(0x1004), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING);
	/* what was mapped between the two is unknown */
	event(AUXTAP_HEAP_UNMAPPED, 0x2000, 0x1000, DYING);
	assert_int_equal(find(0x2004), 1);
	assert_int_equal(found[0].record.freed_at, 1002);
	assert_int_equal(found[0].record.allocated_at, 0);
}

/* The C library unmaps a large block as it is freed: the free is what counts. */
static void freed_and_unmapped(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_MAPPED, 0x1000, 0x1000, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 0xf00, DYING);
	event(AUXTAP_HEAP_FREED, 0x1010, 0, DYING);
	event(AUXTAP_HEAP_UNMAPPED, 0x1000, 0x1000, DYING);
	assert_int_equal(find(0x1100), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[0].record.freed_at, 1002);
	/* unmapped by the program, which did not free it */
	events[2].tid = OTHER;
	events[2].addr = 0x5000;
	assert_int_equal(find(0x1100), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING | AUXTAP_BLOCK_FREED);
}

static void a_part_of_a_mapping(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_MAPPED, 0x10000, 0x5000, DYING);
	event(AUXTAP_HEAP_UNMAPPED, 0x12000, 0x1000, OTHER);
	event(AUXTAP_HEAP_MAPPED, 0x14000, 0x1000, DYING); /* MAP_FIXED */
	assert_int_equal(find(0x11fff), 1);
	assert_int_equal(found[0].record.addr, 0x10000);
	assert_int_equal(found[0].record.nr_bytes, 0x2000);
	assert_int_equal(found[0].record.allocated_at, 1000);
	assert_int_equal(find(0x12008), 1);
	assert_int_equal(found[0].record.addr, 0x12000);
	assert_int_equal(found[0].record.nr_bytes, 0x1000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING | AUXTAP_BLOCK_FREED);
	assert_int_equal(find(0x13000), 1);
	assert_int_equal(found[0].record.addr, 0x13000);
	assert_int_equal(found[0].record.nr_bytes, 0x1000);
	assert_int_equal(found[0].record.allocated_at, 1000);
	assert_int_equal(find(0x14000), 1);
	assert_int_equal(found[0].record.allocated_at, 1002);
	/* right past what is not there any more */
	start(NULL);
	event(AUXTAP_HEAP_MAPPED, 0x10000, 0x2000, DYING);
	event(AUXTAP_HEAP_UNMAPPED, 0x11000, 0x1000, DYING);
	assert_int_equal(find(0x12000), 1);
	assert_int_equal(found[0].record.addr, 0x11000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_MAPPING | AUXTAP_BLOCK_FREED);
	/* another is mapped over its end, or from there on, by code that is not known */
	start(NULL);
	event(AUXTAP_HEAP_MAPPED, 0x10000, 0x2000, DYING);
	event(AUXTAP_HEAP_MAPPED, 0x11000, 0x2000, DYING);
	events[1].caller = 0;
	assert_int_equal(find(0x12000), 0);
	events[1].addr = 0x12000;
	assert_int_equal(find(0x12000), 1);
	assert_int_equal(found[0].record.addr, 0x10000);
	/* what was unmapped, and mapped again in part */
	start(NULL);
	event(AUXTAP_HEAP_UNMAPPED, 0x10000, 0x4000, DYING);
	event(AUXTAP_HEAP_MAPPED, 0x11000, 0x1000, DYING);
	assert_int_equal(find(0x13000), 1);
	assert_int_equal(found[0].record.addr, 0x12000);
	assert_int_equal(found[0].record.nr_bytes, 0x2000);
}

static void each_once_and_not_more_than_fit(void **state)
{
	uint64_t pointer[40];

	(void)state;
	for (int i = 0; i < 40; i++) {
		event(AUXTAP_HEAP_ALLOCATED, 0x1000 + 0x100ull * i, 16, DYING);
		pointer[i] = 0x1000 + 0x100ull * i;
	}
	assert_int_equal(heap_blocks_find(events, nr_events, DYING, pointer, 40, found),
			 AUXTAP_MAX_BLOCKS);
	assert_int_equal(found[AUXTAP_MAX_BLOCKS - 1].record.addr, 0x2f00);
	pointer[1] = pointer[0] + 1;
	assert_int_equal(heap_blocks_find(events, nr_events, DYING, pointer, 2, found), 1);
	assert_int_equal(heap_blocks_find(events, 0, DYING, pointer, 2, found), 0);
}

/* Those in use only where the innermost functions have their variables. */
static void near_words(void)
{
	uint64_t word[129] = {0};

	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	word[128] = 0x1000;
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 129, found, 0), 0);
	word[127] = 0x1000;
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 129, found, 0), 1);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	word[127] = 0;
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 129, found, 0), 1);
}

/* Words of a stack: first what was freed, then what is in use; nothing is there twice. */
static void blocks_of_words(void **state)
{
	uint64_t word[45] = {0, 1, 0x1000, 0x1108, 0x1110, 0x1200, 0x1004, UINT64_MAX};

	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1100, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1200, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_FREED, 0x1100, 0, OTHER);
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 8, found, 0), 3);
	assert_int_equal(found[0].record.addr, 0x1000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	assert_int_equal(found[1].record.addr, 0x1100);
	assert_int_equal(found[1].record.freed_tid, OTHER);
	assert_int_equal(found[2].record.addr, 0x1200);
	assert_int_equal(found[2].record.flags, 0);
	/* right past its end */
	assert_int_equal(heap_blocks_find_words(events, nr_events, word + 4, 1, found, 0), 0);
	/* found already, by a register */
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 8, found, 1), 3);
	assert_int_equal(found[0].record.addr, 0x1000);
	/* allocated again, and what was missed */
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 8, DYING);
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 8, found, 0), 3);
	assert_int_equal(found[0].record.addr, 0x1100);
	assert_int_equal(found[1].record.addr, 0x1000);
	/* an exception is no block */
	event(AUXTAP_HEAP_THROWN, 0x1200, 0, DYING);
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 8, found, 0), 3);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(find(0x1200), 1);
	assert_int_equal(found[0].record.nr_bytes, 16);
	event(AUXTAP_HEAP_MISSED, 0, 0, DYING);
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 8, found, 0), 0);
	near_words();
	start(NULL);
	for (uint64_t i = 0; i < 20; i++) {
		event(AUXTAP_HEAP_ALLOCATED, 0x1000 + 0x100 * i, 16, DYING);
		event(AUXTAP_HEAP_FREED, 0x1000 + 0x100 * i, 0, DYING);
		word[i] = 0x1000 + 0x100 * i;
	}
	assert_int_equal(heap_blocks_find_words(events, nr_events, word, 20, found,
						AUXTAP_MAX_BLOCKS - 3),
			 AUXTAP_MAX_BLOCKS);
	assert_int_equal(found[AUXTAP_MAX_BLOCKS - 1].record.addr, 0x1200);
}

/* The block that was there before one in use. */
static void before_it(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, OTHER);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 32, DYING);
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].record.addr, 0x1020);
	assert_int_equal(found[0].before_allocated, 0);
	assert_int_equal(found[0].before_freed, 1);
	assert_int_equal(found[0].before.flags, AUXTAP_BLOCK_BEFORE);
	assert_int_equal(found[0].before.addr, 0x1000);
	assert_int_equal(found[0].before.nr_bytes, 64);
	assert_int_equal(found[0].before.allocated_at, 1000);
	assert_int_equal(found[0].before.allocated_tid, OTHER);
	assert_int_equal(found[0].before.freed_at, 1001);
	assert_int_equal(found[0].before.freed_tid, DYING);
	/* the newest one */
	event(AUXTAP_HEAP_FREED, 0x1020, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 24, DYING);
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].before.nr_bytes, 32);
	/* the C library frees the cache of a thread that exits */
	event(AUXTAP_HEAP_FREED, 0x1020, 0, DYING);
	event(AUXTAP_HEAP_FREED, 0x1020, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 28, DYING);
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].before.nr_bytes, 24);
	assert_int_equal(found[0].before_freed, 6);
	assert_int_equal(found[0].before.freed_tid, DYING);
	/* freed itself: who had it before is of no interest */
	event(AUXTAP_HEAP_FREED, 0x1020, 0, DYING);
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].before_freed, -1);
	/* not as far as the pointer */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	assert_int_equal(find(0x1020), 1);
	assert_int_equal(found[0].before_freed, -1);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].before_freed, 1);
	/* an own allocator's block is still in use around it */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	assert_int_equal(found[0].before_freed, -1);
	/* operator new calls malloc, and delete free: both are events */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 32, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 24, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 24, DYING);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].before_freed, 1);
	/* realloc() left it where it was */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	events[nr_events - 1].caller = events[nr_events - 2].caller;
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].before_freed, -1);
	events[nr_events - 1].tid = OTHER; /* another's call */
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].before_freed, 1);
	/* its allocation was missed */
	start(NULL);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].before_freed, -1);
}

/* A smaller block, or a call of realloc() that moved another, between the two is passed over. */
static void before_others(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, OTHER);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 8, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	assert_int_equal(find(0x1020), 1);
	assert_int_equal(found[0].before_allocated, 0);
	assert_int_equal(found[0].before_freed, 1);
	/* one call of realloc(), which took a block out of another one's memory */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 16, DYING);
	events[2].caller = events[1].caller;
	assert_int_equal(find(0x1028), 1);
	assert_int_equal(found[0].before_freed, 1);
	/* the pointer is right past the block in use: nothing is said of what was there */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	assert_int_equal(find(0x1010), 1);
	assert_int_equal(found[0].record.flags, 0);
	assert_int_equal(found[0].before_freed, -1);
}

/* What it was allocated by is an allocation, and not from before events that are missing. */
static void before_unknown(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	assert_int_equal(find(0x1000), 1);
	assert_int_equal(found[0].before_allocated, 0);
	assert_int_equal(found[0].before_freed, 1); /* the block was free then */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_MISSED, 0, 0, OTHER);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].before_freed, -1);
}

/* Memory beside a block may be used anew; what is in it is of an own allocator, or was freed. */
static void reused(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0xff0, 16, DYING);
	assert_int_equal(find(0x1008), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	/* in use: no free was between */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0xf00, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1020, 8, DYING);
	assert_int_equal(find(0x1004), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	/* what was freed may have been the whole that it is in, if that is not too far away */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x10000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x10000 - 4097, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x10020, 8, DYING);
	assert_int_equal(find(0x10004), 1);
	assert_int_equal(found[0].record.flags, 0);
	events[1].addr = 0x10000 - 4096;
	assert_int_equal(find(0x10004), 0);
}

/* How far before an own allocator's block the whole may begin, and that it reaches there. */
static void a_part_far_inside(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 0x3000, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x2000, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x2008), 1);
	assert_int_equal(found[0].record.addr, 0x2000);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	events[1].addr = 0x2001;
	assert_int_equal(find(0x2008), 1);
	assert_int_equal(found[0].record.flags, 0);
	/* it ends where the other begins */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 16, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.flags, 0);
	/* its size is not known */
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_MISSED, 0, 0, OTHER);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.flags, 0);
}

/* A realloc() that failed has freed nothing: neither a part of the block, nor what was there. */
static void kept_around(void **state)
{
	(void)state;
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_MAPPED, 0x1000, 8, OTHER);
	event(AUXTAP_HEAP_KEPT, 0x1000, 0, DYING);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	assert_int_equal(found[0].record.flags, 0);
	/* then it was freed after all */
	event(AUXTAP_HEAP_FREED, 0x1000, 0, OTHER);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_FREED);
	start(NULL);
	event(AUXTAP_HEAP_ALLOCATED, 0x1000, 64, DYING);
	event(AUXTAP_HEAP_FREED, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_KEPT, 0x1000, 0, DYING);
	event(AUXTAP_HEAP_ALLOCATED, 0x1010, 16, OTHER);
	assert_int_equal(find(0x1018), 1);
	assert_int_equal(found[0].record.addr, 0x1010);
	assert_int_equal(found[0].before_freed, -1);
	assert_int_equal(find(0x1004), 1);
	assert_int_equal(found[0].record.addr, 0x1000);
	assert_int_equal(found[0].record.flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(kept_around, start),
		cmocka_unit_test_setup(inside_and_right_past, start),
		cmocka_unit_test_setup(inside_comes_first, start),
		cmocka_unit_test_setup(freed_and_allocated_again, start),
		cmocka_unit_test_setup(freed_twice, start),
		cmocka_unit_test_setup(kept, start),
		cmocka_unit_test_setup(a_part_of_a_block, start),
		cmocka_unit_test_setup(freed_inside, start),
		cmocka_unit_test_setup(free_without_allocation, start),
		cmocka_unit_test_setup(nothing_before_a_miss, start),
		cmocka_unit_test_setup(a_mapping_ends_blocks, start),
		cmocka_unit_test_setup(unmapped, start),
		cmocka_unit_test_setup(freed_and_unmapped, start),
		cmocka_unit_test_setup(a_part_of_a_mapping, start),
		cmocka_unit_test_setup(each_once_and_not_more_than_fit, start),
		cmocka_unit_test_setup(blocks_of_words, start),
		cmocka_unit_test_setup(before_it, start),
		cmocka_unit_test_setup(before_others, start),
		cmocka_unit_test_setup(before_unknown, start),
		cmocka_unit_test_setup(reused, start),
		cmocka_unit_test_setup(a_part_far_inside, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
