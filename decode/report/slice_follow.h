/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows a value backwards (slice_follow.c): from a register to the instruction that gave it its
 * value, from memory to the one that wrote it. report_slice.c says where it begins.
 */
#ifndef AUXTAP_SLICE_FOLLOW_H
#define AUXTAP_SLICE_FOLLOW_H

#include "report_past.h"
#include "report_slice.h"

#define SLICE_MAX_ADDED	    0xffffull
#define SLICE_MAX_ADDITIONS 8
#define SLICE_CACHED	    4096 /* blocks */

struct slice {
	struct past p;
	struct report_slice *out;
	unsigned int nr_moves;
	struct past load; /* the instruction that read the memory being followed */
	uint64_t load_ip;
	/* where the report's line about the origin begins: steps are older than this instruction */
	uint64_t origin_ip;
	int nr_newer; /* steps that are not; -1: it was not reached */
	unsigned int work;
	bool lacks_order; /* a write was not found because of other threads */
	uint64_t shift;	  /* the sum of the constants that were added since the last step */
	bool is_summed;	  /* a variable was added since the last step */
	/* instructions that added a constant to the value */
	uint64_t added[SLICE_MAX_ADDITIONS];
	int nr_added;
	/* registers that blocks write; UINT32_MAX: unknown */
	struct cached_block {
		uint64_t ip;
		uint32_t nr_insns, regs;
	} cache[SLICE_CACHED];
};

/* Adds a step: the instruction at which s->p is. False: there are too many. */
bool slice_add_step(struct slice *s, enum report_slice_kind kind, uint64_t ip, uint64_t addr);
/* The register, by its index in the log, has the value before the instruction s->p.insn. */
void slice_follow_reg(struct slice *s, int reg, uint64_t value);
/* The instruction read the value from memory. is_pop: it restores what the function has saved. */
void slice_follow_load(struct slice *s, uint64_t ip, uint64_t addr, unsigned int nr_bytes,
		       bool is_pop, uint64_t value);
/* Does the instruction write to memory, and not only what was there? */
bool slice_is_change(struct slice *s, const struct x86_insn *x, uint64_t addr,
		     unsigned int nr_bytes, uint64_t value);
/*
 * Did the line of the newest step, where s->p is, write all the bytes, be it with several
 * instructions, as memcpy() does? last: what its last one wrote.
 */
bool slice_wrote_all(const struct slice *s, uint64_t addr, unsigned int nr_bytes, uint64_t value,
		     const struct value_log_write *last);
/* slice_overwritten.c: what malloc keeps after a block was overwritten with 'value'. */
void slice_follow_overrun(struct slice *s, uint64_t addr, uint64_t value);
/*
 * The first write to a return address since a call pushed it, which is overwritten with 'value'. If
 * that call is not in the log, the callers are not known.
 */
void slice_follow_return(struct slice *s, uint64_t slot, uint64_t value);

/*
 * slice_protector.c: the first write to where a function keeps the stack protector's value, which
 * it found changed. call: the address of its call of __stack_chk_fail(); frame_slot: where in the
 * stack the return address of that function is.
 */
void slice_follow_protector(struct slice *s, uint64_t call, uint64_t frame_slot, uint64_t death_ip);

/*
 * Was a variable added to what the register has before the instruction s->p.insn? Then what is
 * added now is perhaps a loop's step, or a column after a row, and not the index.
 */
bool slice_is_sum(struct slice *s, int reg);
/*
 * Of two registers, the first of which is 0, before the instruction s->p.insn: was that read from
 * memory as a whole, and the other one extended from 32 bits? Then the first is a null pointer.
 */
bool slice_is_null_pointer(struct slice *s, int reg, int index);
/* Is it rather an index, or an offset, than a pointer? */
bool slice_is_small(uint64_t value);
/* May it be a wrong pointer rather than an index, or an offset? */
bool slice_may_be_pointer(uint64_t value);
bool slice_is_memory(const ZydisDecodedOperand *op);
/* Is it a general register, of 32 or 64 bits? */
bool slice_is_reg(const ZydisDecodedOperand *op);

#endif
