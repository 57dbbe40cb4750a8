// SPDX-License-Identifier: BSD-2-Clause
/* See callstack.h. */
#include "callstack.h"

#include "util/growing_ring.h"

#include <stdlib.h>
#include <string.h>

/*
 * How many frames are searched for the target of a return that skips frames (longjmp, unwinding).
 */
#define SEARCH_DEPTH 4096

/* The newest frame (back 0), the one before (1), ... */
static uint64_t *frame_at(const struct callstack *cs, size_t back)
{
	return &cs->ret[ring_index(cs->first, cs->nr - 1 - back, cs->size)];
}

static uint32_t call_depth(const struct callstack *cs)
{
	uint64_t all = cs->dropped + cs->nr;

	return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

uint32_t callstack_call(struct callstack *cs, uint64_t return_addr)
{
	if (cs->nr == CALLSTACK_MAX) {
		cs->first = ring_index(cs->first, 1, cs->size);
		cs->nr--;
		cs->dropped++;
	} else if (ring_grow(cs->ret, cs->first, cs->nr, cs->size)) {
		return UINT32_MAX;
	}
	cs->ret[ring_index(cs->first, cs->nr++, cs->size)] = return_addr;
	return call_depth(cs);
}

uint32_t callstack_return(struct callstack *cs, uint64_t target)
{
	size_t back;

	for (back = 0; back < cs->nr && back < SEARCH_DEPTH; back++)
		if (*frame_at(cs, back) == target)
			break;
	/*
	 * A return to an address that is not that of a known call (a signal frame, a switched
	 * stack) ends no known call.
	 */
	if (back == cs->nr || back == SEARCH_DEPTH)
		return call_depth(cs);
	cs->nr -= back + 1;
	return call_depth(cs);
}

uint64_t callstack_newest(const struct callstack *cs, size_t back)
{
	return back < cs->nr ? *frame_at(cs, back) : 0;
}

bool callstack_has(const struct callstack *cs, uint64_t target)
{
	for (size_t back = 0; back < cs->nr && back < SEARCH_DEPTH; back++)
		if (*frame_at(cs, back) == target)
			return true;
	return false;
}

void callstack_gap(struct callstack *cs)
{
	cs->nr = cs->first = 0;
	cs->dropped = 0;
}

void callstack_free(struct callstack *cs)
{
	free(cs->ret);
	memset(cs, 0, sizeof(*cs));
}
