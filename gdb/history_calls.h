/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that are open at a position, as far as the trace proves them: by a call before it, or a
 * return after it, without a gap in between.
 */
#ifndef GDB_HISTORY_CALLS_H
#define GDB_HISTORY_CALLS_H

#include "history.h"

struct history_frame {
	uint64_t pc;	  /* of the innermost frame the thread's; of others the return address */
	uint64_t entry;	  /* the function that was called; 0: the call is not in the trace */
	int64_t depth;	  /* identifies the frame throughout the thread's history */
	bool interrupted; /* by a signal handler */
};

/*
 * Fills frames, innermost first, for a thread that is at pc, before entry 'pos'. Returns their
 * number, at least 1; callers that the trace does not prove are missing. 0: out of memory.
 */
size_t history_calls(struct history *h, uint32_t thread, uint64_t pos, uint64_t pc,
		     struct history_frame *frames, size_t max);

#endif
