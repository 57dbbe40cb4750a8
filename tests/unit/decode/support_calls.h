/* SPDX-License-Identifier: BSD-2-Clause */
/* Events for a tree of calls, and code for them to run in. */
#ifndef AUXTAP_SUPPORT_CALLS_H
#define AUXTAP_SUPPORT_CALLS_H

#include "decode/report/call_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static inline void event(struct call_tree *tree, uint32_t type, uint64_t ip, uint64_t addr,
			 uint32_t insns)
{
	struct auxtap_event ev = {.type = type, .ip = ip, .addr = addr, .nr_insns = insns};

	ev.has_ip = ip != 0;
	ev.has_addr = addr != 0;
	ev.trace_on = type == AUXTAP_EVENT_TRACE && addr;
	assert_int_equal(call_tree_event(tree, &ev), 0);
}

static inline size_t forgotten(const struct call_tree *tree)
{
	bool at_most;

	return call_tree_forgotten(tree, &at_most);
}

/*
 * Functions at every 0x1000 from 0x1000 to 0x6000; code from 0x7000 on has no symbol: at 0x8000 is
 * a PLT entry.
 */
static inline void look_up(void *ctx, uint64_t addr, struct call_code *code)
{
	(void)ctx;
	if (addr >= 0x1000 && addr < 0x7000)
		code->start = addr & ~0xfffull;
	code->plt_entry = addr == 0x8000;
}

static const struct call_code_ops ops __attribute__((unused)) = {.look_up = look_up};

/*
 * As look_up(); in addition 0x7000 to 0x7fff are parts of functions elsewhere: at 0x7000 one that
 * sets up its frame, from 0x7100 on one that a function may start with; 0x7800 is the landing pad
 * of the call at 0x2010, 0x3040 that of the call at 0x3010.
 */
static inline void look_up_parts(void *ctx, uint64_t addr, struct call_code *code)
{
	look_up(ctx, addr, code);
	if (addr < 0x7000 || addr >= 0x8000)
		return;
	code->fde_start = addr < 0x7100 ? 0x7000 : addr < 0x7800 ? 0x7100 : 0x7700;
	code->cold_part = addr < 0x7100;
}

static inline uint64_t landing_pad(void *ctx, uint64_t call)
{
	(void)ctx;
	return call == 0x2010 ? 0x7800 : call == 0x3010 ? 0x3040 : 0;
}

static const struct call_code_ops parts
	__attribute__((unused)) = {.look_up = look_up_parts, .landing_pad = landing_pad};

static inline void jump(struct call_tree *tree, enum auxtap_branch_kind kind, uint64_t ip,
			uint64_t addr)
{
	struct auxtap_event ev = {.type = AUXTAP_EVENT_BRANCH,
				  .kind = kind,
				  .has_ip = true,
				  .has_addr = true,
				  .ip = ip,
				  .addr = addr,
				  .nr_insns = 2};

	assert_int_equal(call_tree_event(tree, &ev), 0);
}

#endif
