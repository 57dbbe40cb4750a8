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

bool origin_is_reg64(const ZydisDecodedOperand *op);
/*
 * May a constant be the offset of a member? A larger one may be the address of an array: then what
 * it is added to is an index.
 */
static inline bool origin_is_small(uint64_t constant)
{
	const uint64_t max = 0xffff;

	return constant + max <= 2 * max;
}

/*
 * Values as of before the instruction of an index was executed; -1: at the fault. False: unknown.
 * depth: ORIGIN_DEPTH.
 */
#define ORIGIN_DEPTH 6 /* nested registers that an address is computed from */
bool origin_value_before(const struct trail *t, int index, int reg, int depth, uint64_t *value);
/* Address of an operand of e, which is the instruction at index, or the one after all of them. */
bool origin_address_before(const struct trail *t, const struct executed *e, int index,
			   const ZydisDecodedOperand *op, int depth, uint64_t *addr);
/* The instruction before that of an index that wrote the register; -1: unknown. */
int origin_last_write(const struct trail *t, int index, int reg);

/* ---- origin_array_x86.c ---- */

/* Of the operand of the instruction at an index (-1: the one that faulted), which is at addr. */
void origin_find_starts(const struct trail *t, int index, const ZydisDecodedOperand *op,
			uint64_t addr, struct report_element *element);
/* Of the operand of the faulting instruction that accessed that address. */
void origin_find_accessed(const struct trail *t, const struct executed *e, uint64_t accessed,
			  struct report_element *element);

/* ---- origin_stack_x86.c ---- */

bool origin_is_call(const struct report_branch *b);
/* Finds the stack pointer before each instruction, from that at the fault. */
void origin_find_stack_pointers(struct trail *t);
/* Before the instruction at an index; -1: at the fault. False: unknown. */
bool origin_sp_before(const struct trail *t, int index, uint64_t *value);
/* After the instruction at an index, from what is known of it and of older ones. */
bool origin_sp_after(const struct trail *t, int index, uint64_t *sp);

#endif
