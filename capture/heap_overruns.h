/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of the heap that were written past their end, by what glibc's malloc keeps there. */
#ifndef AUXTAP_HEAP_OVERRUNS_H
#define AUXTAP_HEAP_OVERRUNS_H

#include "heap_blocks.h"

#include <stdbool.h>
#include <stdint.h>

/* The memory of the process that died. */
struct heap_reader {
	/* the number of bytes from addr on that were read, or a negative errno */
	ssize_t (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	bool (*is_mapped)(void *ctx, uint64_t addr);
	void *ctx;
	bool is_glibc; /* its malloc is, by the names of what is mapped */
};

/*
 * Events as in heap_blocks_find(). found has space for AUXTAP_MAX_OVERRUNS: a block that is in use
 * and after whose end is what malloc cannot have written there (AUXTAP_BLOCK_OVERRUN), and after it
 * the next in memory, if that is in use (AUXTAP_BLOCK_AFTER_OVERRUN); those with the lowest
 * addresses. 0: nothing is known to be damaged, or the heap is not one of glibc's.
 */
int heap_overruns_find(const struct auxtap_heap_event *event, size_t nr_events,
		       const struct heap_reader *reader, struct heap_block *found);

#endif
