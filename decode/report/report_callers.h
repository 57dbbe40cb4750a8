/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the program that led to a call of malloc() or free(), or to a write to memory. */
#ifndef AUXTAP_REPORT_CALLERS_H
#define AUXTAP_REPORT_CALLERS_H

#include "report_facts.h"

struct report_out;
struct unwind_frames;

#define REPORT_MAX_CALLERS 6
/* Instead of a level: other code was mapped at pc, too; which of them called is not known. */
#define REPORT_REPLACED (-2)
/*
 * Instead of a level: the function left its frame by the jump at pc, a tail call; or by one of
 * several, and pc is its entry.
 */
#define REPORT_BY_JUMP	   (-3)
#define REPORT_BY_ANY_JUMP (-4)

/*
 * Functions of the program, innermost first: pc is in the call; level selects one of the functions
 * inlined there.
 */
struct report_callers {
	struct report_caller {
		uint64_t pc;
		int level;
		bool returns; /* to pc + 1, which is shown where the function has no name */
	} at[REPORT_MAX_CALLERS];
	int nr;
	/* at[0] made a call in which it happened; which function did it then is not known */
	bool in_call;
};

/* Has the process had other code at pc before? Which one ran there is not known. */
bool report_is_replaced(const struct report_out *ro, uint64_t pc);
/*
 * Adds those at pc (in a call, if returns: see struct report_caller), and those that the frames
 * after the first one return to, up to a frame in code that has been replaced.
 */
void report_callers_add(const struct report_out *ro, uint64_t pc, bool returns,
			const struct unwind_frames *frames, struct report_callers *callers);

/*
 * report_block_calls.c: finds the callers of the function that allocated or freed a block and that
 * returns to return_addr. There is at least one: if none is the program's own, the function at
 * return_addr.
 */
void report_block_callers(const struct report_out *ro, const struct report_facts *facts,
			  uint32_t arch, const struct auxtap_crash_block *block,
			  enum auxtap_block_action action, uint64_t return_addr,
			  struct report_callers *callers);

#endif
