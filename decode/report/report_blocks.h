/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the heap: those that the death has to do with, and those that were written past their
 * end (report_blocks.c, report_block_vars.c).
 */
#ifndef AUXTAP_REPORT_BLOCKS_H
#define AUXTAP_REPORT_BLOCKS_H

#include "report_facts.h"

struct report_origin;
struct report_out;
struct unwind_frames;

/*
 * Drops the blocks that have nothing to do with the death, and sorts the others by their distance
 * from the fault. regs: of the dying thread, or NULL; insn: the text of the faulting instruction,
 * or "".
 */
void report_blocks_choose(const struct report_out *ro, struct report_facts *facts,
			  const struct auxtap_regs *regs, const char *insn,
			  const struct unwind_frames *frames, const struct report_origin *origin);
void report_blocks_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
/* True if the block was freed before, not just now, by a call that returned. */
bool report_block_was_freed(const struct report_block *block);
/*
 * report_block_vars.c: finds the variables that point into freed blocks. is_null: the fault is that
 * of a null pointer.
 */
void report_block_variables(const struct report_out *ro, struct report_facts *facts,
			    const struct unwind_frames *frames, bool is_null);

/* The bytes of a word as text; false: they are not at least four printable ones, then zeros. */
bool report_word_text(uint64_t word, char text[9]);
/* Prints a line of the report's head about blocks that were written past their end, if any were. */
void report_overrun_line(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
/* Prints all blocks that were written past their end. */
void report_overruns_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct auxtap_regs *regs);

#endif
