/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call depth from calls and returns alone. After a gap nothing of it is known: the stack
 * starts anew, and a return without a known call only says that there was a caller.
 */
#ifndef AUXTAP_CALLSTACK_H
#define AUXTAP_CALLSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLSTACK_MAX 65536 /* deeper frames are forgotten, oldest first */

struct callstack {
	uint64_t *ret; /* return addresses; a ring */
	size_t first, nr, size;
	uint64_t dropped; /* frames that fell off the bottom */
};

/* Depth of the function entered, or UINT32_MAX out of memory. The outermost known one is 0. */
uint32_t callstack_call(struct callstack *cs, uint64_t return_addr);
/* Depth of the function returned to. */
uint32_t callstack_return(struct callstack *cs, uint64_t target);
/* The return address of the newest call but 'back'; 0 if the stack has fewer calls. */
uint64_t callstack_newest(const struct callstack *cs, size_t back);
/* Is there a call that callstack_return() finds for target? */
bool callstack_has(const struct callstack *cs, uint64_t target);
void callstack_gap(struct callstack *cs);
void callstack_free(struct callstack *cs);

#endif
