// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tail frames of the backtrace: functions that left their frame by a tail call. The stack does not
 * show them; the trace contains the jump. The frames of the stack and the open calls of the trace
 * are compared, from the innermost on, as long as both agree.
 */
#include "call_tree.h"
#include "report_frames.h"
#include "report_out.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INSN 15

/* Did the function of 'from' make a tail call to that of 'to'? */
static bool is_tail_call(const struct report_out *ro, const struct call_open *to,
			 const struct call_open *from)
{
	return to->is_proven && to->node && !to->node->lost && !to->node->nr_above && to->site &&
	       from->addr && report_function_start(ro, to->addr) == to->addr &&
	       report_function_start(ro, to->site) == from->addr;
}

/* Adds the functions that led to open[at] by tail calls; returns the outermost one's index. */
static size_t add_tails(const struct report_out *ro, const struct call_open *open, size_t nr,
			size_t at, int frame, struct unwind_frames *frames)
{
	while (at + 1 < nr && open[at].by_tail_call && frames->nr_tails < UNWIND_MAX_TAILS &&
	       is_tail_call(ro, &open[at], &open[at + 1])) {
		frames->tails[frames->nr_tails].frame = frame;
		frames->tails[frames->nr_tails++].site = open[at++].site;
	}
	return at;
}

/* Is it the call that returns to frame nr? */
static bool is_call_of(const struct call_open *open, const struct unwind_frames *frames, int nr)
{
	return !open->by_tail_call && !open->async && open->known_caller &&
	       frames->call_mask >> nr & 1 && open->site && frames->pcs[nr] >= open->site &&
	       frames->pcs[nr] - open->site < MAX_INSN;
}

/*
 * True if the stack shows that the frame was called from another place: a recursion by direct calls
 * has no packets, so that the trace may show a different call of the function than the frame.
 */
static bool contradicts(const struct call_open *open, const struct unwind_frames *frames, int nr)
{
	return !open->by_tail_call && !open->async && open->known_caller && open->site &&
	       frames->call_mask >> nr & 1 && !is_call_of(open, frames, nr);
}

void report_tails_find(const struct report_out *ro, struct call_tree *tree,
		       struct unwind_frames *frames)
{
	struct call_node *current = call_tree_current(tree);
	struct call_open *open = NULL;
	size_t nr = current ? call_tree_open_calls(tree, current, &open) : 0, at = 0;
	int nr_tails;

	for (int i = 0; i < frames->nr && at < nr; i++) {
		if (!open[at].addr || report_function_start(ro, frames->pcs[i]) != open[at].addr)
			break;
		nr_tails = frames->nr_tails;
		at = add_tails(ro, open, nr, at, i, frames);
		if (i + 1 < frames->nr ? contradicts(&open[at], frames, i + 1) :
					 !i && call_node_is_uncounted(current))
			frames->nr_tails = nr_tails;
		if (i + 1 == frames->nr || !is_call_of(&open[at], frames, i + 1))
			break;
		at++;
	}
	free(open);
}
