/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call depth, computed from calls and returns. After a gap the depth is unknown: the stack starts
 * empty, and a return without a known call only shows that there was a caller.
 */
#ifndef AUXTAP_CALLSTACK_H
#define AUXTAP_CALLSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLSTACK_MAX 65536 /* frames; with more of them the oldest are dropped */

struct callstack {
	uint64_t *ret; /* return addresses; a ring */
	size_t first, nr, size;
	uint64_t dropped; /* number of oldest frames dropped because of CALLSTACK_MAX */
};

/* Depth of the entered function, or UINT32_MAX: out of memory. The outermost known one has 0. */
uint32_t callstack_call(struct callstack *cs, uint64_t return_addr);
/* Depth of the function that is returned to. */
uint32_t callstack_return(struct callstack *cs, uint64_t target);
/* The return address of the newest call (back 0), the one before (1), ...; 0: there are fewer. */
uint64_t callstack_newest(const struct callstack *cs, size_t back);
/* Whether callstack_return(target) would find a call. */
bool callstack_has(const struct callstack *cs, uint64_t target);
void callstack_gap(struct callstack *cs);
void callstack_free(struct callstack *cs);

#endif
