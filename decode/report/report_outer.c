// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames farther out than the backtrace, which the trace knows: calls that it shows, and no return
 * from. Only if all frames of the backtrace are open calls of the trace, too.
 */
#include "report.h"

#include <stdlib.h>

#define NR_ROWS 16

/* The begin of the function around addr; 0: not known. */
static uint64_t function_at(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (auxtap_image_set_symbol(ro->images, ro->pid, ro->time, addr, &loc) || !loc.image ||
	    !loc.nr_frames || !loc.frames[0].symbol)
		return 0;
	return addr - loc.frames[0].symbol_off;
}

/* After the call at 'at' and those whose frame it has taken over by jumps. */
static size_t next_frame(const struct call_open *path, size_t nr, size_t at)
{
	while (at < nr && path[at].tail)
		at++;
	return at + 1;
}

/* Which open call is the first one farther out than the frames; nr: not one, or not known. */
static size_t first_outer(const struct report_out *ro, const struct unwind_frames *frames,
			  const struct call_open *path, size_t nr)
{
	size_t at = 0, before = nr;

	for (int i = 0; i < frames->nr; i++) {
		uint64_t function = function_at(ro, frames->pcs[i]);

		if (frames->signals >> i & 1) {
			if (before == nr || !path[before].async)
				return nr;
			continue;
		}
		if (at >= nr || !function ||
		    function != function_at(ro, path[at].addr ? path[at].addr : path[at].last_ip))
			return nr;
		before = at;
		at = next_frame(path, nr, at);
	}
	return at < nr ? at : nr;
}

static void print_row(const struct report_out *ro, const struct call_open *call, size_t depth)
{
	fputs("      ", ro->out);
	report_print_outermost(ro, call->last_ip);
	if (depth > 1)
		fprintf(ro->out, ", depth %zu (recursive)", depth);
	fputs(call->tail ? " (tail call)\n" : "\n", ro->out);
}

/*
 * The rows from 'at' on, of a recursion one for each function: how many. print: those before 'head'
 * and those from 'tail' on are printed.
 */
static size_t each_row(const struct report_out *ro, const struct call_open *path, size_t nr,
		       size_t at, bool print, size_t head, size_t tail)
{
	size_t rows = 0, len, period;

	for (; at < nr; at += len) {
		period = call_path_period(path, nr, at, &len);
		if (!period)
			period = len = 1;
		for (size_t i = 0; i < period; i++, rows++)
			if (print && (rows < head || rows >= tail))
				print_row(ro, &path[at + i], (len - i + period - 1) / period);
			else if (print && rows == head)
				fprintf(ro->out, "      ... %zu more\n", tail - head);
	}
	return rows;
}

void report_outer_print(const struct report_out *ro, const struct report_facts *facts,
			struct call_tree *tree, const struct unwind_frames *frames)
{
	const enum report_frames_end end = report_frames_end(ro, facts, frames);
	struct call_node *current = call_tree_current(tree);
	struct call_open *path;
	size_t nr, at, rows;
	bool at_most;

	if (!current || (end != REPORT_FRAMES_TOO_MANY && end != REPORT_FRAMES_NOT_IN_SNAPSHOT))
		return;
	nr = call_tree_path(tree, current, &path);
	at = path ? first_outer(ro, frames, path, nr) : nr;
	if (at < nr) {
		fputs("  Known from the trace, not from the stack (calls that have not returned):\n",
		      ro->out);
		rows = each_row(ro, path, nr, at, false, 0, 0);
		each_row(ro, path, nr, at, true, rows > NR_ROWS ? NR_ROWS / 2 : rows,
			 rows > NR_ROWS ? rows - NR_ROWS / 2 : rows);
		if (call_tree_gap(tree) || call_tree_forgotten(tree, &at_most))
			fputs("      ... and perhaps further ones, from before what the trace "
			      "contains\n",
			      ro->out);
	}
	free(path);
}
