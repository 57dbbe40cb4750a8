// SPDX-License-Identifier: BSD-2-Clause
/* Arrays that grow. */
#include "util/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector_keeps_elements),
		cmocka_unit_test(test_vector_reserves_at_once),
		cmocka_unit_test(test_vector_refuses_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
