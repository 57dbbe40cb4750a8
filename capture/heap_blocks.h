/* SPDX-License-Identifier: BSD-2-Clause */
/* Which blocks of the heap, and mappings, pointers are of: from what the engine saw. */
#ifndef AUXTAP_HEAP_BLOCKS_H
#define AUXTAP_HEAP_BLOCKS_H

#include <auxtap/crash.h>

#include <stddef.h>
#include <sys/types.h>

/* A block, and the numbers of the events that its calls are from; -1: none. */
struct heap_block {
	struct auxtap_crash_block record;
	ssize_t allocated, freed, bad_free;
	/* of a block in use: the one before it, if was_freed is not -1; its return addresses */
	struct auxtap_crash_block before;
	ssize_t was_allocated, was_freed;
};

/*
 * Events are in their order, the newest last, and untrusted: the program may have overwritten them.
 * tid: the thread that dies. found has space for AUXTAP_MAX_BLOCKS. The number found; each is there
 * once.
 */
int heap_blocks_find(const struct auxtap_heap_event *event, size_t nr_events, pid_t tid,
		     const uint64_t *pointer, int nr_pointers, struct heap_block *found);
/*
 * The same of words that may be pointers, without mappings: first blocks that were freed, then
 * those that the first few words point to. To the first nr of found those are added that are not
 * there yet; the number of all.
 */
int heap_blocks_find_words(const struct auxtap_heap_event *event, size_t nr_events,
			   const uint64_t *word, size_t nr_words, struct heap_block *found, int nr);

#endif
