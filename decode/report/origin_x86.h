/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of origin_x86.c: the executed instructions, and the stack pointer at each of them. */
#ifndef AUXTAP_ORIGIN_X86_H
#define AUXTAP_ORIGIN_X86_H

#include "origin.h"
#include "zydis_insn.h"

/* An executed instruction. The newest is the first; index -1 is the state at the fault. */
struct executed {
	struct x86_insn insn;
	uint64_t ip;
	const struct report_branch *branch; /* the taken branch that it is; NULL: none */
	bool has_sp;
	uint64_t sp; /* the stack pointer before it was executed */
};

struct trail {
	const struct origin_flow *flow;
	struct executed *at;
	int nr;
	bool called; /* the stack pointer at the fault is that after the call at the fault */
	unsigned int *work;
};

/* The operand that changes the register; NULL: none does. */
const ZydisDecodedOperand *origin_writes_reg(const struct executed *e, int reg);
/* "add register, constant", "sub", or "lea register, [register + constant]". */
bool origin_adds_constant(const struct executed *e, const ZydisDecodedOperand *op, int *from,
			  uint64_t *added);

/* ---- origin_stack_x86.c ---- */

bool origin_is_call(const struct report_branch *b);
/* Finds the stack pointer before each instruction, from that at the fault. */
void origin_find_stack_pointers(struct trail *t);
/* Before the instruction at an index; -1: at the fault. False: unknown. */
bool origin_sp_before(const struct trail *t, int index, uint64_t *value);
/* After the instruction at an index, from what is known of it and of older ones. */
bool origin_sp_after(const struct trail *t, int index, uint64_t *sp);

#endif
