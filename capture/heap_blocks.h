/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the heap blocks and mappings that pointers point into, by the engine's heap events. */
#ifndef AUXTAP_HEAP_BLOCKS_H
#define AUXTAP_HEAP_BLOCKS_H

#include <auxtap/crash.h>

#include <stddef.h>
#include <sys/types.h>

/* A block, and the indices of the events of its calls; -1: none. */
struct heap_block {
	struct auxtap_crash_block record;
	ssize_t allocated, freed, bad_free;
	/* if before_freed is not -1: the freed block that was at the same place before */
	struct auxtap_crash_block before;
	ssize_t before_allocated, before_freed;
};

/*
 * Events are in the order of time, the newest last, and untrusted: the program may have overwritten
 * them. tid is the thread that died. found has space for AUXTAP_MAX_BLOCKS. Returns the number of
 * blocks found, each once.
 */
int heap_blocks_find(const struct auxtap_heap_event *event, size_t nr_events, pid_t tid,
		     const uint64_t *pointer, int nr_pointers, struct heap_block *found);
/*
 * The same for words that may be pointers, but without mappings: first freed blocks, then blocks
 * that the first few words point into. Adds them to the nr blocks in found, each once, and returns
 * the new number.
 */
int heap_blocks_find_words(const struct auxtap_heap_event *event, size_t nr_events,
			   const uint64_t *word, size_t nr_words, struct heap_block *found, int nr);

#endif
