/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A binary heap of pointers in an array of the caller's. less() says which of two comes first;
 * where it is a function known at compile time, the compiler resolves the calls.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef bool heap_less(const void *a, const void *b);

/* items[at] may come later than its children. */
static inline void heap_sift_down(void **items, size_t nr, size_t at, heap_less *less)
{
	void *item = items[at];
	size_t child;

	while ((child = 2 * at + 1) < nr) {
		if (child + 1 < nr && less(items[child + 1], items[child]))
			child++;
		if (!less(items[child], item))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

/* items has space for one more than *nr. */
static inline void heap_push(void **items, size_t *nr, void *item, heap_less *less)
{
	size_t at = (*nr)++;

	while (at && less(item, items[(at - 1) / 2])) {
		items[at] = items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	items[at] = item;
}

/* Removes the first one; there is at least one. */
static inline void heap_pop(void **items, size_t *nr, heap_less *less)
{
	items[0] = items[--*nr];
	if (*nr)
		heap_sift_down(items, *nr, 0, less);
}

#endif
