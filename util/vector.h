/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays that grow. The array, the number of its elements and its capacity stay three variables of
 * the caller, of any integer types; both start at zero, the array at NULL, and free() releases it.
 */
#ifndef UTIL_VECTOR_H
#define UTIL_VECTOR_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR_FIRST_CAPACITY 16

/*
 * array: the address of a pointer to elements. Doubles the capacity until need elements fit. 0 or
 * -ENOMEM.
 */
static inline int vector_reserve_bytes(void *array, size_t *capacity, size_t need, size_t element)
{
	size_t grown = *capacity ? *capacity : VECTOR_FIRST_CAPACITY, bytes;
	void *memory;

	while (grown < need)
		if (__builtin_mul_overflow(grown, 2, &grown))
			return -ENOMEM;
	if (__builtin_mul_overflow(grown, element, &bytes))
		return -ENOMEM;
	/* by memcpy: the pointer's own type is not known here */
	memcpy(&memory, array, sizeof(memory));
	memory = realloc(memory, bytes);
	if (!memory)
		return -ENOMEM;
	memcpy(array, &memory, sizeof(memory));
	*capacity = grown;
	return 0;
}

/*
 * Makes space for need elements. 0; or -ENOMEM, and the array is as it was. What is gained is not
 * initialised.
 */
#define vector_reserve(array, need, capacity)                                    \
	({                                                                       \
		size_t capacity_ = (size_t)(capacity);                           \
		size_t need_ = (size_t)(need);                                   \
		int ret_ = 0;                                                    \
                                                                                 \
		if (need_ > capacity_) {                                         \
			ret_ = vector_reserve_bytes(&(array), &capacity_, need_, \
						    sizeof(*(array)));           \
			(capacity) = (__typeof__(capacity))capacity_;            \
		}                                                                \
		ret_;                                                            \
	})

/* Makes space for one element after the first nr. */
#define vector_grow(array, nr, capacity) vector_reserve(array, (size_t)(nr) + 1, capacity)

#endif
