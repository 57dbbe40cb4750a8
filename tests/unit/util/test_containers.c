// SPDX-License-Identifier: BSD-2-Clause
/* Arrays and rings that grow, heaps, hash maps. */
#include "util/hash_map.h"
#include "util/heap.h"
#include "util/growing_ring.h"
#include "util/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define NR 5000

static void test_vector_keeps_elements(void **state)
{
	unsigned int nr = 0, capacity = 0, *v = NULL;

	(void)state;
	for (unsigned int i = 0; i < NR; i++) {
		assert_int_equal(vector_grow(v, nr, capacity), 0);
		assert_true(capacity > nr);
		v[nr++] = i * 3;
	}
	for (unsigned int i = 0; i < NR; i++)
		assert_int_equal(v[i], i * 3);
	assert_true(capacity < 4 * NR); /* it doubles */
	free(v);
}

static void test_vector_reserves_at_once(void **state)
{
	size_t capacity = 0;
	char *v = NULL;

	(void)state;
	assert_int_equal(vector_reserve(v, 1000, capacity), 0);
	assert_true(capacity >= 1000);
	memset(v, 1, capacity);
	assert_int_equal(vector_reserve(v, 900, capacity), 0);
	assert_int_equal(v[999], 1);
	free(v);
}

/* Elements leave at one end, join at the other, and more join than leave, at each offset. */
static void test_ring_keeps_order(void **state)
{
	(void)state;
	for (size_t left = 0; left < 3 * VECTOR_FIRST_CAPACITY; left++) {
		size_t first = 0, nr = 0, capacity = 0;
		unsigned int *ring = NULL, next = 0, oldest = 0;

		while (next < NR) {
			assert_int_equal(ring_grow(ring, first, nr, capacity), 0);
			ring[ring_index(first, nr++, capacity)] = next++;
			if (next > left && next % 3)
				continue;
			assert_int_equal(ring[first], oldest++);
			first = ring_index(first, 1, capacity);
			nr--;
		}
		assert_int_equal(nr, next - oldest);
		assert_int_equal(capacity & (capacity - 1), 0);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(ring[ring_index(first, i, capacity)], oldest + i);
		free(ring);
	}
}

/* A size larger than the address space is refused, and the array stays unchanged. */
static void test_vector_refuses_overflow(void **state)
{
	uint64_t *v = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(vector_grow(v, 0, capacity), 0);
	v[0] = 7;
	assert_int_equal(vector_reserve(v, SIZE_MAX / 2, capacity), -ENOMEM);
	assert_int_equal(vector_reserve(v, SIZE_MAX, capacity), -ENOMEM);
	/* the elements can be counted, their bytes not */
	assert_int_equal(vector_reserve(v, SIZE_MAX / sizeof(*v), capacity), -ENOMEM);
	assert_int_equal(capacity, VECTOR_FIRST_CAPACITY);
	assert_int_equal(v[0], 7);
	free(v);
}

static void test_vector_grows_by_several(void **state)
{
	uint32_t *v = NULL;
	size_t nr = 0, capacity = 0;

	(void)state;
	for (size_t more = 1; more < 300; more++) {
		assert_int_equal(vector_grow_by(v, nr, more, capacity), 0);
		assert_true(capacity >= nr + more);
		memset(v + nr, (int)more, more * sizeof(*v));
		nr += more;
	}
	assert_int_equal(v[0], 0x01010101);
	assert_int_equal(v[nr - 1], 0x2b2b2b2b); /* 299 */
	/* the sum is more than a size_t contains */
	assert_int_equal(vector_grow_by(v, nr, SIZE_MAX - nr + 1, capacity), -ENOMEM);
	assert_int_equal(v[1], 0x02020202);
	free(v);
}

/* A capacity that its type cannot hold is refused. */
static void test_vector_narrow_capacity(void **state)
{
	unsigned char nr = 0, capacity = 0;
	signed char most = 0;
	char *v = NULL, *w = NULL;

	(void)state;
	while (!vector_grow(v, nr, capacity))
		v[nr++] = 1;
	assert_int_equal(nr, 64);
	assert_int_equal(capacity, 64);
	assert_int_equal(vector_reserve(w, 64, most), 0);
	assert_int_equal(vector_reserve(w, 65, most), -ENOMEM);
	assert_int_equal(most, 64);
	free(v);
	free(w);
}

/* ---- heaps ---- */

struct item {
	unsigned int key, serial;
};

static bool item_first(struct item a, struct item b)
{
	return a.key != b.key ? a.key < b.key : a.serial < b.serial;
}

static unsigned int random_next(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void pop_all_in_order(struct item *heap, size_t nr)
{
	struct item last = {0};

	for (size_t popped = 0, all = nr; popped < all; popped++) {
		struct item first = heap[0];

		assert_true(!popped || item_first(last, first));
		last = first;
		heap_pop(heap, nr, item_first);
	}
	assert_int_equal(nr, 0);
}

static void test_heap_of_each_size(void **state)
{
	struct item heap[101];
	unsigned int seed = 1;

	(void)state;
	for (size_t all = 1; all <= 100; all++) {
		size_t nr = 0;

		for (unsigned int i = 0; i < all; i++) {
			struct item item = {random_next(&seed) % 50, i};

			heap_push(heap, nr, item, item_first);
		}
		assert_int_equal(nr, all);
		pop_all_in_order(heap, nr);
		for (unsigned int i = 0; i < all; i++)
			heap[i] = (struct item){random_next(&seed) % 50 + 1, i};
		heap[all] = (struct item){0}; /* would come first, but is not part of it */
		heap_build(heap, all, item_first);
		assert_int_equal(heap[all].key, 0);
		pop_all_in_order(heap, all);
	}
}

/* A merge: the first element becomes larger, and moves down. */
static void test_heap_sifts_down(void **state)
{
	struct item *heap[7], items[7];
	unsigned int seed = 7, last = 0;

	(void)state;
#define FIRST(a, b) item_first(*(a), *(b))
	for (unsigned int i = 0; i < 7; i++) {
		items[i] = (struct item){random_next(&seed) % 50, i};
		heap[i] = &items[i];
	}
	heap_build(heap, 7, FIRST);
	for (unsigned int round = 0; round < 1000; round++) {
		assert_true(heap[0]->key >= last);
		for (unsigned int i = 0; i < 7; i++)
			assert_false(FIRST(&items[i], heap[0]));
		last = heap[0]->key;
		heap[0]->key += random_next(&seed) % 20;
		heap_sift_down(heap, 7, 0, FIRST);
	}
#undef FIRST
}

/* ---- hash maps ---- */

static void test_hash_map_finds(void **state)
{
	struct hash_map map = {0};

	(void)state;
	assert_true(hash_map_find(&map, hash_number(0)) == HASH_MAP_NONE);
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(hash_map_add(&map, hash_number(i << 20), i), 0);
	assert_true(map.nr_slots >= 2 * map.nr); /* half of it is free */
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(hash_map_find(&map, hash_number(i << 20)), i);
	for (size_t i = 0; i < NR; i++)
		assert_true(hash_map_find(&map, hash_number((i << 20) + 1)) == HASH_MAP_NONE);
	hash_map_free(&map);
	assert_true(hash_map_find(&map, hash_number(0)) == HASH_MAP_NONE);
}

/* Also where the slots of one hash continue at the start of the table when it grows. */
static void test_hash_map_keeps_order(void **state)
{
	(void)state;
	for (uint64_t hash = 0; hash < 64; hash++) {
		struct hash_map map = {0};
		size_t step = 0, number;

		for (size_t i = 0; i < 40; i++)
			assert_int_equal(hash_map_add(&map, i % 3 ? hash : hash + 1, i), 0);
		for (size_t i = 0; i < 40; i++) {
			if (i % 3 == 0)
				continue;
			number = hash_map_next(&map, hash, &step);
			assert_int_equal(number, i);
		}
		assert_true(hash_map_next(&map, hash, &step) == HASH_MAP_NONE);
		assert_true(step <= 41); /* it ends at the first free slot */
		assert_true(hash_map_find(&map, hash + 2) == HASH_MAP_NONE);
		hash_map_free(&map);
	}
}

/* A full table without a free slot ends a search, and what cannot grow is refused. */
static void test_hash_map_is_bounded(void **state)
{
	struct hash_slot slots[4] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
	struct hash_map full = {slots, 4, 4};
	const struct hash_map large = {NULL, (size_t)1 << 63, (size_t)1 << 63};
	struct hash_map map = large;

	(void)state;
	assert_int_equal(hash_map_find(&full, 3), 3);
	assert_true(hash_map_find(&full, 4) == HASH_MAP_NONE);
	assert_int_equal(hash_map_add(&map, 0, 0), -ENOMEM);
	assert_memory_equal(&map, &large, sizeof(map));
}

static void test_hash_text(void **state)
{
	(void)state;
	assert_true(hash_text("libc.so.6") == hash_text("libc.so.6"));
	assert_true(hash_text("libc.so.6") != hash_text("libm.so.6"));
	assert_true(hash_text("ab") != hash_text("ba"));
	assert_true(hash_text("") != hash_text("\xff"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector_keeps_elements),
		cmocka_unit_test(test_vector_reserves_at_once),
		cmocka_unit_test(test_vector_refuses_overflow),
		cmocka_unit_test(test_vector_grows_by_several),
		cmocka_unit_test(test_vector_narrow_capacity),
		cmocka_unit_test(test_ring_keeps_order),
		cmocka_unit_test(test_heap_of_each_size),
		cmocka_unit_test(test_heap_sifts_down),
		cmocka_unit_test(test_hash_map_finds),
		cmocka_unit_test(test_hash_map_keeps_order),
		cmocka_unit_test(test_hash_map_is_bounded),
		cmocka_unit_test(test_hash_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
