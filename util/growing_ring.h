/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing rings: queues of which both ends move. As with vector.h the array, the index of its
 * oldest element, the number of elements and the capacity are four variables of the caller, which
 * are initially zero (the array NULL); free() releases the array. The capacity is 0 or a power of
 * 2.
 */
#ifndef UTIL_GROWING_RING_H
#define UTIL_GROWING_RING_H

#include "util/vector.h"

#include <string.h>

/* Array index of element i; 0 is the oldest one, the number of elements the next one. */
static inline size_t ring_index(size_t first, size_t i, size_t capacity)
{
	return (first + i) & (capacity - 1);
}

/* Makes space for one element after the nr elements. 0; or -ENOMEM, and the ring is unchanged. */
#define ring_grow(array, first, nr, capacity)                                                   \
	({                                                                                      \
		size_t before_ = (size_t)(capacity);                                            \
		int grown_ = (nr) < (capacity) ? 0 : vector_grow(array, before_, capacity);     \
                                                                                                \
		/* elements that had wrapped now follow those from index 'first' on */          \
		if (!grown_ && (size_t)(capacity) > before_ && (first))                         \
			memcpy((array) + before_, (array), (size_t)(first) * sizeof(*(array))); \
		grown_;                                                                         \
	})

#endif
