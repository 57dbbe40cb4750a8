// SPDX-License-Identifier: BSD-2-Clause
/* See callstack.h. */
#include "callstack.h"

#include <stdlib.h>
#include <string.h>

/* How far down a return that skips frames (longjmp, unwinding) is looked for. */
#define SEARCH_DEPTH 4096

static uint64_t *frame(const struct callstack *cs, size_t back)
{
	return &cs->ret[(cs->top + cs->size - 1 - back) % cs->size];
}

static uint32_t depth(const struct callstack *cs)
{
	uint64_t all = cs->dropped + cs->nr;

	return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static int grow(struct callstack *cs)
{
	size_t size = cs->size ? cs->size * 2 : 64;
	uint64_t *ret = malloc(size * sizeof(*ret));

	if (!ret)
		return -1;
	for (size_t i = 0; i < cs->nr; i++)
		ret[i] = *frame(cs, cs->nr - 1 - i);
	free(cs->ret);
	cs->ret = ret;
	cs->size = size;
	cs->top = cs->nr;
	return 0;
}

uint32_t callstack_call(struct callstack *cs, uint64_t return_addr)
{
	if (cs->nr == cs->size && cs->size < CALLSTACK_MAX && grow(cs))
		return UINT32_MAX;
	cs->top %= cs->size;
	cs->ret[cs->top] = return_addr;
	cs->top = (cs->top + 1) % cs->size;
	if (cs->nr < cs->size)
		cs->nr++;
	else
		cs->dropped++;
	return depth(cs);
}

uint32_t callstack_return(struct callstack *cs, uint64_t target)
{
	size_t back;

	for (back = 0; back < cs->nr && back < SEARCH_DEPTH; back++)
		if (*frame(cs, back) == target)
			break;
	/*
	 * A return to where no known call came from (a signal frame, a switched stack) ends no
	 * known call.
	 */
	if (back == cs->nr || back == SEARCH_DEPTH)
		return depth(cs);
	cs->top = (cs->top + cs->size - 1 - back) % cs->size;
	cs->nr -= back + 1;
	return depth(cs);
}

uint64_t callstack_newest(const struct callstack *cs, size_t back)
{
	return back < cs->nr ? *frame(cs, back) : 0;
}

bool callstack_has(const struct callstack *cs, uint64_t target)
{
	for (size_t back = 0; back < cs->nr && back < SEARCH_DEPTH; back++)
		if (*frame(cs, back) == target)
			return true;
	return false;
}

void callstack_gap(struct callstack *cs)
{
	cs->nr = cs->top = 0;
	cs->dropped = 0;
}

void callstack_free(struct callstack *cs)
{
	free(cs->ret);
	memset(cs, 0, sizeof(*cs));
}
