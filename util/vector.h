/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing arrays. The array, the number of its elements and its capacity are three variables of the
 * caller; the two numbers have any integer types and are initially zero, the array is NULL. free()
 * releases it.
 */
#ifndef UTIL_VECTOR_H
#define UTIL_VECTOR_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VECTOR_FIRST_CAPACITY 4

/* The largest number of elements for a capacity of this type, signed or not. */
#define VECTOR_MAX(capacity) (SIZE_MAX >> (8 * (sizeof(size_t) - sizeof(capacity)) + 1))

/*
 * Doubles the capacity until 'need' elements fit; it cannot exceed 'most'. Returns the memory with
 * the old elements; NULL: out of memory, and nothing has changed.
 */
static inline void *vector_memory(void *array, size_t *capacity, size_t need, size_t most,
				  size_t element)
{
	size_t grown = *capacity ? *capacity : VECTOR_FIRST_CAPACITY, nr_bytes;

	while (grown < need)
		if (__builtin_mul_overflow(grown, 2, &grown))
			return NULL;
	if (grown > most || __builtin_mul_overflow(grown, element, &nr_bytes))
		return NULL;
	array = realloc(array, nr_bytes);
	if (array)
		*capacity = grown;
	return array;
}

/* Tells clang's analyzer that an array that is NULL has the capacity 0 and no elements. */
#ifdef __clang_analyzer__
#define VECTOR_IS_EMPTY(array) (!(array))
#define VECTOR_ASSUME(array, nr)                 \
	do {                                     \
		if (!(array) && (nr))            \
			__builtin_unreachable(); \
	} while (0)
#else
#define VECTOR_IS_EMPTY(array) 0
#define VECTOR_ASSUME(array, nr) \
	do {                     \
	} while (0)
#endif

/*
 * Makes space for 'need' elements. 0; or -ENOMEM, and the array is unchanged. New elements are not
 * initialised.
 */
#define vector_reserve(array, need, capacity)                                                  \
	({                                                                                     \
		size_t capacity_ = (size_t)(capacity);                                         \
		size_t need_ = (size_t)(need);                                                 \
		int ret_ = 0;                                                                  \
                                                                                               \
		if (need_ > capacity_ || VECTOR_IS_EMPTY(array)) {                             \
			void *memory_ = vector_memory((array), &capacity_, need_,              \
						      VECTOR_MAX(capacity), sizeof(*(array))); \
                                                                                               \
			if (memory_) {                                                         \
				(array) = memory_;                                             \
				(capacity) = (__typeof__(capacity))capacity_;                  \
			} else {                                                               \
				ret_ = -ENOMEM;                                                \
			}                                                                      \
		}                                                                              \
		ret_;                                                                          \
	})

/* Makes space for 'more' elements after the first nr. */
#define vector_grow_by(array, nr, more, capacity)                             \
	({                                                                    \
		size_t sum_;                                                  \
                                                                              \
		__builtin_add_overflow((size_t)(nr), (size_t)(more), &sum_) ? \
			-ENOMEM :                                             \
			vector_reserve(array, sum_, capacity);                \
	})

/* Makes space for one element after the first nr. */
#define vector_grow(array, nr, capacity)                           \
	({                                                         \
		VECTOR_ASSUME(array, nr);                          \
		vector_reserve(array, (size_t)(nr) + 1, capacity); \
	})

#endif
