// SPDX-License-Identifier: BSD-2-Clause
/*
 * Callers outside of the backtrace that the trace shows: calls without a return. They are found
 * only if all frames of the backtrace are open calls of the trace.
 */
#include "call_tree.h"
#include "report_facts.h"
#include "report_frames.h"
#include "report_out.h"

#include <stdlib.h>

#define NR_ROWS 16

/* The index after the call at 'at' and those whose frame it has taken over by tail calls. */
static size_t next_frame(const struct call_open *open, size_t nr, size_t at)
{
	while (at < nr && open[at].by_tail_call)
		at++;
	return at + 1;
}

/* The index of the first open call outside of the frames; nr: none, or unknown. */
static size_t first_outer(const struct report_out *ro, const struct unwind_frames *frames,
			  const struct call_open *open, size_t nr)
{
	size_t at = 0, before = nr;

	for (int i = 0; i < frames->nr; i++) {
		uint64_t function = report_function_start(ro, frames->pcs[i]);

		if (frames->signal_mask >> i & 1) {
			if (before == nr || !open[before].async)
				return nr;
			continue;
		}
		if (at >= nr || !function ||
		    function != report_function_start(ro, open[at].addr ? open[at].addr :
									  open[at].last_ip))
			return nr;
		before = at;
		at = next_frame(open, nr, at);
	}
	return at < nr ? at : nr;
}

/* Did the call at 'at', and each period-th of the len from there on, end with a tail call? */
static bool left_by_tail_calls(const struct call_open *open, size_t at, size_t len, size_t period)
{
	for (size_t i = at; i < at + len; i += period)
		if (!i || !open[i - 1].is_proven)
			return false;
	return true;
}

/* Is one of the calls, each period-th of the len from 'call' on, at another instruction? */
static bool at_other_places(const struct call_open *call, size_t len, size_t period)
{
	for (size_t i = period; i < len; i += period)
		if (call[i].last_ip != call->last_ip)
			return true;
	return false;
}

/*
 * Calls fn for the rows from 'at' on that are before 'head' or from 'tail' on; a recursion has one
 * row for each of its functions. Returns the number of all rows.
 */
static size_t each_row(const struct report_outer *outer, size_t head, size_t tail,
		       report_outer_fn *fn, void *ctx)
{
	size_t rows = 0, left_out = 0, len, period;

	for (size_t at = outer->at; at < outer->nr; at += len) {
		period = call_open_period(outer->open, outer->nr, at, &len);
		if (!period)
			period = len = 1;
		for (size_t i = 0; i < period; i++, rows++) {
			const struct call_open *call = &outer->open[at + i];
			const struct report_outer_row row = {
				.call = call,
				.depth = (len - i + period - 1) / period,
				.nr_between = rows == tail ? tail - head : 0,
				.calls_between = rows == tail ? left_out : 0,
				.other_places = at_other_places(call, len - i, period),
				.is_tail = left_by_tail_calls(outer->open, at + i, len - i, period),
			};

			if (rows >= head && rows < tail)
				left_out += row.depth;
			else if (fn)
				fn(ctx, &row);
		}
	}
	return rows;
}

bool report_outer_find(const struct report_out *ro, const struct report_facts *facts,
		       struct call_tree *tree, const struct unwind_frames *frames,
		       struct report_outer *outer)
{
	const enum report_frames_end end = report_frames_end(ro, facts, frames);
	struct call_node *current = call_tree_current(tree);
	*outer = (struct report_outer){.nr = 0};
	if (!current || (end != REPORT_FRAMES_TOO_MANY && end != REPORT_FRAMES_NOT_IN_SNAPSHOT &&
			 end != REPORT_FRAMES_OVERWRITTEN && end != REPORT_FRAMES_CONTRADICTED &&
			 end != REPORT_FRAMES_ENTERED_WITHIN))
		return false;
	outer->nr = call_tree_open_calls(tree, current, &outer->open);
	outer->at = outer->open ? first_outer(ro, frames, outer->open, outer->nr) : outer->nr;
	outer->perhaps_more = call_tree_gap(tree);
	outer->nr_more = call_tree_forgotten(tree, &outer->more_is_max);
	if (outer->at < outer->nr)
		return true;
	free(outer->open);
	outer->open = NULL;
	return false;
}

void report_outer_each(const struct report_outer *outer, size_t most, report_outer_fn *fn,
		       void *ctx)
{
	const size_t rows = each_row(outer, 0, 0, NULL, NULL);

	each_row(outer, rows > most ? most / 2 : rows, rows > most ? rows - most / 2 : rows, fn,
		 ctx);
}

static void print_row(void *ctx, const struct report_outer_row *row)
{
	const struct report_out *ro = ctx;

	if (row->calls_between)
		fprintf(ro->out, "      ... %zu more\n", row->calls_between);
	fputs("      ", ro->out);
	report_print_outermost(ro, row->call->last_ip);
	if (row->other_places)
		fputs(" and other places", ro->out);
	if (row->depth > 1)
		fprintf(ro->out, ", depth %zu (recursive)", row->depth);
	fputs(row->is_tail ? " (tail call)\n" : "\n", ro->out);
}

void report_outer_print(const struct report_out *ro, const struct report_facts *facts,
			struct call_tree *tree, const struct unwind_frames *frames)
{
	struct report_outer outer;

	if (!report_outer_find(ro, facts, tree, frames, &outer))
		return;
	fputs("  Known from the trace, not from the stack (calls that have not returned):\n",
	      ro->out);
	report_outer_each(&outer, NR_ROWS, print_row, (void *)ro);
	if (outer.nr_more)
		fprintf(ro->out, "      ... and %s%zu further ones, too many to be kept\n",
			outer.more_is_max ? "at most " : "", outer.nr_more);
	if (outer.perhaps_more)
		fputs("      ... and perhaps further ones, from before what the trace contains\n",
		      ro->out);
	free(outer.open);
}
