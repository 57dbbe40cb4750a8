/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds where the bad pointer came from: report_origin.c uses origin_x86.c. */
#ifndef AUXTAP_ORIGIN_H
#define AUXTAP_ORIGIN_H

#include "report_branches.h"
#include "report_facts.h"
#include "report_fault.h"
#include "report_origin.h"
#include "report_out.h"

#define ORIGIN_RUNS  48
#define ORIGIN_INSNS 256 /* instructions before the fault that are searched */

/* A run of instructions that were executed without a taken branch. */
struct origin_run {
	uint64_t first, end; /* end: address of the next instruction, which is not in the run */
	const struct report_branch *branch; /* the branch that ended it; NULL: the fault did */
};

/* The instructions that were executed before the faulting one, the newest run first. */
struct origin_flow {
	const struct report_out *ro;
	const struct report_facts *facts;
	const struct auxtap_regs *regs; /* at the fault */
	struct origin_run run[ORIGIN_RUNS];
	int nr;
	uint64_t insn_ip; /* of the instruction that faulted, or that branched to a bad address */
	bool is_branch;	  /* it was executed, and branched to 'target' */
	uint64_t target;
};

/* Is addr in a function of a library's header, such as operator*() of an iterator? */
bool origin_is_helper(const struct report_out *ro, uint64_t addr);
/* Is addr in a function of a library? */
bool origin_is_library(const struct report_out *ro, uint64_t addr);
/* Does the code of a line, or code without debug information, begin at addr? */
bool origin_begins_line(const struct report_out *ro, uint64_t addr);
/* Does the report name the same line for both? */
bool origin_same_line(const struct report_out *ro, uint64_t ip, uint64_t other_ip);
/* Finds the origin of the pointer that the instruction at insn_ip used. False: unknown. */
bool origin_x86_find(const struct origin_flow *flow, const struct fault *fault,
		     struct report_origin *origin);

#endif
