/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that are open at a position, as the trace proves them: their call is before it, or
 * their return after it, with no gap between.
 */
#ifndef GDB_HISTORY_CALLS_H
#define GDB_HISTORY_CALLS_H

#include "history.h"

/* One frame, from the innermost on. */
struct history_frame {
	uint64_t pc;	/* the first one: where the thread is; others: where the call returns to */
	uint64_t entry; /* the function that was called; 0: the call is not in the trace */
	int64_t depth;	/* names the frame, wherever in the thread's history it is met */
	bool interrupted; /* by a signal's handler */
};

/*
 * Fills frames for a thread that is at pc, before entry 'at'. How many, at least 1; those of
 * callers that the trace does not prove are missing. 0: out of memory.
 */
size_t history_calls(struct history *h, uint32_t thread, uint64_t pos, uint64_t pc,
		     struct history_frame *frames, size_t max);

#endif
