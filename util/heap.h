/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binary heaps in arrays: of the first nr elements heap[0] comes first. comes_first(a, b) is a
 * function or a macro of two elements; if neither comes first, their order is not defined. These
 * are macros so that elements can have any type and the comparison is inlined: merges of events use
 * them for each event.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stddef.h>

/* Restores the heap if heap[at] may come later than its children. */
#define heap_sift_down(heap, nr, at, comes_first)                                              \
	do {                                                                                   \
		__typeof__(&(heap)[0]) heap_ = (heap);                                         \
		size_t nr_ = (size_t)(nr), at_ = (size_t)(at), child_;                         \
		__typeof__((heap)[0]) moved_ = heap_[at_];                                     \
                                                                                               \
		while ((child_ = 2 * at_ + 1) < nr_) {                                         \
			if (child_ + 1 < nr_ && comes_first(heap_[child_ + 1], heap_[child_])) \
				child_++;                                                      \
			if (!comes_first(heap_[child_], moved_))                               \
				break;                                                         \
			heap_[at_] = heap_[child_];                                            \
			at_ = child_;                                                          \
		}                                                                              \
		heap_[at_] = moved_;                                                           \
	} while (0)

/* Makes a heap of an array in any order. */
#define heap_build(heap, nr, comes_first)                             \
	do {                                                          \
		for (size_t next_ = (size_t)(nr) / 2; next_-- > 0;)   \
			heap_sift_down(heap, nr, next_, comes_first); \
	} while (0)

/* Adds an element and increments nr. The array has space for it. */
#define heap_push(heap, nr, element, comes_first)                                             \
	do {                                                                                  \
		__typeof__(&(heap)[0]) heap_ = (heap);                                        \
		__typeof__((heap)[0]) moved_ = (element);                                     \
		size_t at_ = (size_t)(nr)++;                                                  \
                                                                                              \
		for (; at_ && comes_first(moved_, heap_[(at_ - 1) / 2]); at_ = (at_ - 1) / 2) \
			heap_[at_] = heap_[(at_ - 1) / 2];                                    \
		heap_[at_] = moved_;                                                          \
	} while (0)

/* Removes heap[0] and decrements nr, which is not 0. */
#define heap_pop(heap, nr, comes_first)                           \
	do {                                                      \
		(heap)[0] = (heap)[--(nr)];                       \
		if (nr)                                           \
			heap_sift_down(heap, nr, 0, comes_first); \
	} while (0)

#endif
