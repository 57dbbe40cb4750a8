// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which blocks were written past their end: a heap laid out as glibc does it, with one thing wrong.
 * cli/test_heap_overruns runs real ones.
 */
#include "capture/heap_overruns.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define BASE   0x555555559000ull
#define SIZE   0x8000u
#define BLOCKS 12
#define BYTES  40u /* that each asks for: its chunk has 48 */
#define CHUNK  48u

static unsigned char heap[SIZE];
static struct auxtap_heap_event events[64];
static size_t nr_events, readable;
static struct heap_block found[AUXTAP_MAX_OVERRUNS];

static void put_word(uint64_t addr, uint64_t word)
{
	memcpy(heap + (addr - BASE), &word, sizeof(word));
}

static void event(enum auxtap_heap_kind kind, uint64_t addr, uint64_t nr_bytes)
{
	events[nr_events] = (struct auxtap_heap_event){.addr = addr,
						       .nr_bytes = nr_bytes,
						       .caller = 1000 + nr_events,
						       .tid = 7,
						       .kind = kind};
	nr_events++;
}

static uint64_t block(unsigned int nr)
{
	return BASE + 0x290 + 16 + (uint64_t)nr * CHUNK;
}

/* BLOCKS of them, one after the other, and malloc's top chunk up to the end of the heap. */
static int start(void **state)
{
	(void)state;
	memset(heap, 0, sizeof(heap));
	memset(found, 0, sizeof(found));
	nr_events = 0;
	readable = SIZE;
	for (unsigned int i = 0; i < BLOCKS; i++) {
		put_word(block(i) - 8, CHUNK | 1);
		event(AUXTAP_HEAP_ALLOCATED, block(i), BYTES);
	}
	put_word(block(BLOCKS) - 8, (BASE + SIZE - (block(BLOCKS) - 16)) | 1);
	return 0;
}

static ssize_t read_heap(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	if (addr < BASE || addr >= BASE + readable)
		return -EFAULT;
	if (size > BASE + readable - addr)
		size = BASE + readable - addr;
	memcpy(buf, heap + (addr - BASE), size);
	return (ssize_t)size;
}

static bool in_heap(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr >= BASE && addr < BASE + SIZE;
}

static int find(bool is_glibc)
{
	const struct heap_reader reader = {.read = read_heap,
					   .is_mapped = in_heap,
					   .is_glibc = is_glibc};

	return heap_overruns_find(events, nr_events, &reader, found);
}

/* Block nr is the only one, and the one after it is in use. */
static void only(unsigned int nr)
{
	assert_int_equal(find(true), 2);
	assert_int_equal(found[0].record.flags, AUXTAP_BLOCK_OVERRUN | AUXTAP_BLOCK_HAS_AFTER_END);
	assert_int_equal(found[0].record.addr, block(nr));
	assert_int_equal(found[0].record.nr_bytes, BYTES);
	assert_int_equal(found[0].record.allocated_at, 1000 + nr);
	assert_int_equal(found[0].allocated, nr);
	assert_int_equal(found[1].record.flags, AUXTAP_BLOCK_AFTER_OVERRUN);
	/* what was in their memory before is not looked for */
	assert_int_equal(found[0].before_freed, -1);
	assert_int_equal(found[1].before_freed, -1);
	assert_int_equal(found[1].record.addr, block(nr + 1));
	assert_int_equal(found[1].allocated, nr + 1);
}

static void sound(void **state)
{
	(void)state;
	assert_int_equal(find(true), 0);
	/* less was left over than the smallest chunk */
	events[4].nr_bytes = 24;
	assert_int_equal(find(true), 0);
	put_word(block(7) - 8, (CHUNK + 16) | 1);
	event(AUXTAP_HEAP_FREED, block(8), 0);
	put_word(block(8) + 8, 0x21);
	assert_int_equal(find(true), 0);
	/* in an arena of a thread, whose top has no flag of that */
	start(NULL);
	for (unsigned int i = 0; i < BLOCKS; i++)
		put_word(block(i) - 8, CHUNK | 5);
	assert_int_equal(find(true), 0);
}

static void overwritten(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0x6e6f6c2065687420); /* a text */
	only(3);
	assert_int_equal(found[0].record.after_end, 0x6e6f6c2065687420);
	put_word(block(4) - 8, 0); /* zeros */
	only(3);
	put_word(block(4) - 8, 1); /* a size of 0 */
	only(3);
	put_word(block(4) - 8, 7ull << 32 | 1); /* an array of int */
	only(3);
	put_word(block(4) - 8, CHUNK | 8 | 1); /* no multiple of 16 */
	only(3);
	put_word(block(4) - 8, CHUNK | 2); /* a mapping of its own */
	only(3);
	put_word(block(4) - 8, CHUNK | 5); /* in another arena than the one before */
	only(3);
}

/* The zero that ends a text, one byte too far. */
static void one_byte(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0x100);
	put_word(block(4) - 16, 0x74786574);
	only(3);
	/* the chunk before was freed without being seen: malloc writes its size there */
	put_word(block(4) - 16, CHUNK);
	assert_int_equal(find(true), 0);
	/* no zero byte: not what a text leaves */
	put_word(block(4) - 16, 0x74786574);
	put_word(block(4) - 8, CHUNK);
	assert_int_equal(find(true), 0);
	put_word(block(4) - 8, 0x100);
	/* the block before it is known to be freed */
	event(AUXTAP_HEAP_FREED, block(3), 0);
	assert_int_equal(find(true), 0);
	/* realloc() could not, and leaves it as it is */
	event(AUXTAP_HEAP_KEPT, block(3), 0);
	only(3);
}

/* The last block: what is after it is no block. */
static void top(void **state)
{
	(void)state;
	put_word(block(BLOCKS) - 8, 0x4141414141414141);
	assert_int_equal(find(true), 1);
	assert_int_equal(found[0].record.addr, block(BLOCKS - 1));
	readable = (size_t)(block(BLOCKS) - 8 - BASE); /* nothing can be read there */
	assert_int_equal(find(true), 0);
}

/* Small blocks, in chunks that are as large as they may be; and one that is a mapping. */
static void small(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < BLOCKS; i++)
		events[i].nr_bytes = 4;
	put_word(BASE + 0x4000 - 8, 0x1000 | 2);
	event(AUXTAP_HEAP_ALLOCATED, BASE + 0x4000, 0xff0);
	put_word(BASE + 0x5000 - 8, 0);
	put_word(block(4) - 8, 0);
	assert_int_equal(find(true), 2);
	assert_int_equal(found[0].record.addr, block(3));
	assert_int_equal(found[1].record.addr, block(4));
}

/* What is after it is not in use, or is a part of another block's memory. */
static void alone(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0);
	event(AUXTAP_HEAP_FREED, block(4), 0);
	assert_int_equal(find(true), 1);
	assert_int_equal(found[0].record.addr, block(3));
	event(AUXTAP_HEAP_KEPT, block(4), 0);
	only(3);
	event(AUXTAP_HEAP_ALLOCATED, block(4) + 16, 8);
	assert_int_equal(find(true), 1);
	assert_int_equal(found[0].record.addr, block(3));
}

/* Over many blocks: the first is the one. */
static void many(void **state)
{
	(void)state;
	memset(heap + (block(5) - 8 - BASE), 0x41, 4 * CHUNK);
	only(4);
	/* over all but three: if no name says so, that it is glibc's heap is not known */
	memset(heap + (block(3) - 8 - BASE), 0x41, (BLOCKS - 3) * CHUNK);
	only(2);
	assert_int_equal(find(false), 0);
	start(NULL);
	/* over very many; unless one before it is another malloc's: then most may be */
	for (unsigned int i = BLOCKS; i < 3 * BLOCKS; i++)
		event(AUXTAP_HEAP_ALLOCATED, block(i), BYTES);
	memset(heap + (block(5) - 8 - BASE), 0x41, (3 * BLOCKS - 5) * CHUNK);
	only(4);
	put_word(block(1) - 8, 2 * CHUNK | 1);
	assert_int_equal(find(true), 0);
}

/* Six records at most, of the lowest addresses. */
static void several(void **state)
{
	(void)state;
	for (unsigned int i = 1; i < 9; i += 2)
		put_word(block(i) - 8, 0);
	/* as many as are sound, or more: no malloc of glibc's */
	assert_int_equal(find(true), 0);
	for (unsigned int i = BLOCKS; i < 2 * BLOCKS; i++) {
		put_word(block(i) - 8, CHUNK | 1);
		event(AUXTAP_HEAP_ALLOCATED, block(i), BYTES);
	}
	put_word(block(2 * BLOCKS) - 8, 0x21);
	assert_int_equal(find(true), AUXTAP_MAX_OVERRUNS);
	assert_int_equal(found[0].record.addr, block(0));
	assert_int_equal(found[4].record.addr, block(4));
	event(AUXTAP_HEAP_FREED, block(1), 0);
	assert_int_equal(find(true), AUXTAP_MAX_OVERRUNS - 1);
	assert_int_equal(found[0].record.addr, block(0));
	assert_int_equal(found[1].record.addr, block(2));
}

/* A malloc whose blocks have no such words, and a heap of which no name says whose it is. */
static void foreign(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0);
	assert_int_equal(find(false), 2);
	for (unsigned int i = 6; i < 8; i++)
		put_word(block(i) - 8, 2 * CHUNK | 1);
	assert_int_equal(find(true), 0);
	start(NULL);
	put_word(block(4) - 8, 0);
	nr_events = 6; /* 0 to 2 and 5 are sound */
	assert_int_equal(find(true), 2);
	assert_int_equal(find(false), 2);
	nr_events = 5;
	assert_int_equal(find(true), 2);
	assert_int_equal(find(false), 0);
}

/* Memory of one block that is another's by now, or a part of it. */
static void overlapping(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0x4141414141414141);
	event(AUXTAP_HEAP_ALLOCATED, block(2) + 16, 3 * CHUNK);
	assert_int_equal(find(true), 0);
	event(AUXTAP_HEAP_FREED, block(2) + 16, 0);
	only(3);
	event(AUXTAP_HEAP_ALLOCATED, block(3) + 16, 8);
	assert_int_equal(find(true), 0);
}

/* What was missed may have been a free. */
static void missed(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0);
	event(AUXTAP_HEAP_THROWN, 0x1000, 0);
	only(3);
	event(AUXTAP_HEAP_MISSED, 0, 0);
	assert_int_equal(find(true), 0);
	nr_events = 0;
	assert_int_equal(find(true), 0);
}

/* Events are the program's memory: whatever is in them. */
static void untrusted(void **state)
{
	(void)state;
	put_word(block(4) - 8, 0);
	event(AUXTAP_HEAP_ALLOCATED, UINT64_MAX - 15, 100);
	event(AUXTAP_HEAP_ALLOCATED, 16, UINT64_MAX - 20);
	event(AUXTAP_HEAP_ALLOCATED, 0x10, 0);
	event(AUXTAP_HEAP_ALLOCATED, block(3) + 1, 4);
	event(AUXTAP_HEAP_FREED, 0x20, 0);
	event(AUXTAP_HEAP_KEPT, 0x30, 0);
	only(3);
	put_word(block(3) - 8, 0x7ffffffffffffff1);
	find(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sound, start),
		cmocka_unit_test_setup(overwritten, start),
		cmocka_unit_test_setup(one_byte, start),
		cmocka_unit_test_setup(top, start),
		cmocka_unit_test_setup(many, start),
		cmocka_unit_test_setup(several, start),
		cmocka_unit_test_setup(foreign, start),
		cmocka_unit_test_setup(missed, start),
		cmocka_unit_test_setup(small, start),
		cmocka_unit_test_setup(alone, start),
		cmocka_unit_test_setup(overlapping, start),
		cmocka_unit_test_setup(untrusted, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
