// SPDX-License-Identifier: BSD-2-Clause
/* Arrays that grow. */
#include "util/vector.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector_keeps_elements),
		cmocka_unit_test(test_vector_reserves_at_once),
		cmocka_unit_test(test_vector_refuses_overflow),
		cmocka_unit_test(test_vector_grows_by_several),
		cmocka_unit_test(test_vector_narrow_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
