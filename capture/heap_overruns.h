/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds heap blocks that were written past their end, by glibc's chunk headers after them. */
#ifndef AUXTAP_HEAP_OVERRUNS_H
#define AUXTAP_HEAP_OVERRUNS_H

#include "heap_blocks.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the memory of the process that died. */
struct heap_reader {
	/* returns the number of bytes read from addr on, or a negative errno */
	ssize_t (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	bool (*is_mapped)(void *ctx, uint64_t addr);
	void *ctx;
	bool is_glibc; /* by the names of the mapped files, malloc is that of glibc */
};

/*
 * Events as in heap_blocks_find(). found has space for AUXTAP_MAX_OVERRUNS: each block in use whose
 * following chunk header malloc cannot have written (AUXTAP_BLOCK_OVERRUN), and after it the next
 * block in memory if that is in use (AUXTAP_BLOCK_AFTER_OVERRUN), by ascending address. Returns 0
 * if no overrun is certain, or if the heap is not one of glibc's.
 */
int heap_overruns_find(const struct auxtap_heap_event *event, size_t nr_events,
		       const struct heap_reader *reader, struct heap_block *found);

#endif
