// SPDX-License-Identifier: BSD-2-Clause
/* Arrays that grow, the hash map, the heap. */
#include "util/hash_map.h"
#include "util/heap.h"
#include "util/vector.h"

#include <setjmp.h>
#include <stdarg.h>
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

/* A size that no address space has is refused, and what was there stays. */
static void test_vector_refuses_overflow(void **state)
{
	uint64_t *v = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(vector_grow(v, 0, capacity), 0);
	v[0] = 7;
	assert_int_equal(vector_reserve(v, SIZE_MAX / 2, capacity), -ENOMEM);
	assert_int_equal(vector_reserve(v, SIZE_MAX, capacity), -ENOMEM);
	assert_int_equal(capacity, VECTOR_FIRST_CAPACITY);
	assert_int_equal(v[0], 7);
	free(v);
}

struct item {
	int key;
	struct hash_node node;
};

static struct item *find(const struct hash_map *map, int key, uint64_t hash)
{
	struct hash_node *node = hash_map_find(map, hash);

	for (; node; node = hash_map_next(node))
		if (hash_entry(node, struct item, node)->key == key)
			return hash_entry(node, struct item, node);
	return NULL;
}

static void test_map_finds_and_removes(void **state)
{
	struct item *items = calloc(NR, sizeof(*items));
	struct hash_map map = {0};

	(void)state;
	assert_null(hash_map_find(&map, 1));
	for (int i = 0; i < NR; i++) {
		items[i].key = i;
		assert_int_equal(hash_map_add(&map, &items[i].node, hash_number((uint64_t)i)), 0);
	}
	for (int i = 0; i < NR; i += 2)
		hash_map_remove(&map, &items[i].node);
	assert_int_equal(map.nr, NR / 2);
	for (int i = 0; i < NR; i++)
		assert_ptr_equal(find(&map, i, hash_number((uint64_t)i)), i & 1 ? &items[i] : NULL);
	hash_map_free(&map);
	assert_null(hash_map_find(&map, 1));
	free(items);
}

/* All in one bucket, of few hashes; while the table grows around them. */
static void test_map_with_equal_hashes(void **state)
{
	struct item *items = calloc(NR, sizeof(*items));
	struct hash_map map = {0};
	int nr = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		items[i].key = i;
		assert_int_equal(hash_map_add(&map, &items[i].node, (uint64_t)(i % 3) << 40), 0);
	}
	for (int i = 0; i < 300; i++)
		assert_ptr_equal(find(&map, i, (uint64_t)(i % 3) << 40), &items[i]);
	/* the newest first, each once */
	for (struct hash_node *n = hash_map_find(&map, 1ull << 40); n; n = hash_map_next(n), nr++)
		assert_int_equal(hash_entry(n, struct item, node)->key, 298 - 3 * nr);
	assert_int_equal(nr, 100);
	hash_map_free(&map);
	free(items);
}

static bool smaller(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b;
}

static void test_heap_sorts(void **state)
{
	static int values[NR];
	static void *heap[NR];
	size_t nr = 0;
	int last = -1;

	(void)state;
	for (int i = 0; i < NR; i++) {
		values[i] = (int)(hash_number((uint64_t)i) % 1000);
		heap_push(heap, &nr, &values[i], smaller);
	}
	while (nr) {
		int *first = heap[0];

		assert_true(*first >= last);
		last = *first;
		heap_pop(heap, &nr, smaller);
	}
}

/* The first one becomes larger again and again: what a merge does. */
static void test_heap_sifts_down(void **state)
{
	int values[7] = {5, 1, 4, 2, 8, 0, 3}, last = -1;
	void *heap[7];
	size_t nr = 0;

	(void)state;
	for (int i = 0; i < 7; i++)
		heap_push(heap, &nr, &values[i], smaller);
	for (int i = 0; i < 1000; i++) {
		int *first = heap[0];

		assert_true(*first >= last);
		last = *first;
		*first += 1 + i % 5;
		heap_sift_down(heap, nr, 0, smaller);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector_keeps_elements),
		cmocka_unit_test(test_vector_reserves_at_once),
		cmocka_unit_test(test_vector_refuses_overflow),
		cmocka_unit_test(test_map_finds_and_removes),
		cmocka_unit_test(test_map_with_equal_hashes),
		cmocka_unit_test(test_heap_sorts),
		cmocka_unit_test(test_heap_sifts_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
