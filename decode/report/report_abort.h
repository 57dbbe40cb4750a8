/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deaths by abort(): who called it, and the C++ exception that led to it (report_abort.c,
 * report_exception.c).
 */
#ifndef AUXTAP_REPORT_ABORT_H
#define AUXTAP_REPORT_ABORT_H

#include "report_facts.h"

#include <auxtap/decode.h>

struct fault;
struct report_branches_at_calls;
struct report_out;
struct unwind_frames;

/* report_abort.c: finds who called abort() in the backtrace, and sets 'why' and 'uncaught'. */
bool report_abort(const struct report_out *ro, const struct report_facts *facts,
		  const struct unwind_frames *frames, struct fault *fault);
/* report_exception.c: prints the C++ exception that the dying thread handled, and who threw it. */
void report_exception_print(const struct report_out *ro, const struct report_facts *facts,
			    const struct auxtap_regs *regs, bool uncaught);
/*
 * For a death by abort(): adds the calls on the stack, innermost first, that the program itself may
 * have made. Called before the trace is decoded; uses the maps of the snapshot. opts: how to find
 * images.
 */
void report_abort_calls(const struct report_facts *facts, const struct auxtap_regs *regs,
			const struct auxtap_image_set_opts *opts, struct auxtap_perfdata *pd,
			struct report_branches_at_calls *at_calls);

#endif
