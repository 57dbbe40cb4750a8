/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libipt does not say of a block: how its last instruction changes the flow, whether libipt
 * misreads one of its instructions (pt_limits.h), whether the flow makes progress.
 */
#ifndef AUXTAP_PT_BLOCKS_H
#define AUXTAP_PT_BLOCKS_H

#include "decode/flow/branch_insn.h"
#include "pt_memory.h"

/* Branches met lately: reading and taking them apart costs more than libipt's whole block. */
#define PT_BRANCHES 1024
struct pt_branch {
	uint64_t ip;
	uint32_t generation; /* of the code; 0: empty */
	bool valid;	     /* it is a branch */
	struct branch_insn insn;
	uint8_t raw[15];
};

/* Blocks looked at lately: libipt knows all of their instructions. */
#define PT_CHECKED 1024
struct pt_checked {
	uint64_t ip, end_ip;
	uint32_t generation;  /* of the code; 0: empty */
	uint64_t valid_since; /* pt_memory_code_since() */
};

/* Instructions in a row, from ip to end_ip. */
struct pt_run {
	uint64_t ip, end_ip;
	unsigned int nr_insns; /* 0: none */
	bool branches;	       /* the last one may change the flow */
	bool may_have_time;    /* the packets that it consumed may have a time */
	bool bits_32;
	uint8_t size;	    /* of raw */
	const uint8_t *raw; /* the last one's 15 bytes; NULL: not known */
};

struct pt_blocks {
	struct pt_memory *mem;
	unsigned int version; /* libipt's, PT_VERSION() */
	bool needs_check;     /* it misreads some instructions */
	uint32_t generation;  /* one more with every change of the code */
	/* code without packets returns to an earlier ip: Brent's cycle detection */
	uint64_t spin_ip;
	uint32_t spin_power, spin_length;
	struct pt_branch branches[PT_BRANCHES];
	struct pt_checked checked[PT_CHECKED];
};

void pt_blocks_init(struct pt_blocks *blocks, struct pt_memory *mem, unsigned int version);
/* mem has other code than before. */
void pt_blocks_new_code(struct pt_blocks *blocks);
/* How the run ends; NULL: it does not branch. Valid until the next call. */
const struct pt_branch *pt_blocks_branch(struct pt_blocks *blocks, const struct pt_run *run);
enum pt_cut {
	PT_CUT_NOTHING,
	PT_CUT_MISREAD, /* the run ends with the first instruction that libipt does not know */
	PT_CUT_UNKNOWN, /* ... before 'at', where other code may have been at that time */
};
/* one: the run is one instruction. */
enum pt_cut pt_blocks_cut(struct pt_blocks *blocks, struct pt_run *run, bool one, uint64_t *at);

/* The entry of the branch at ip, if it was met lately. It may say that no branch is there. */
static inline const struct pt_branch *pt_blocks_met(const struct pt_blocks *blocks, uint64_t ip)
{
	const struct pt_branch *b = &blocks->branches[(ip ^ ip >> 10) % PT_BRANCHES];

	return b->ip == ip && b->generation == blocks->generation ? b : NULL;
}

/* Is there nothing to cut, as far as is known without reading the code? */
static inline bool pt_blocks_checked(const struct pt_blocks *blocks, uint64_t ip, uint64_t end_ip)
{
	const struct pt_checked *c = &blocks->checked[(ip ^ end_ip >> 4) % PT_CHECKED];

	return (!blocks->needs_check && !blocks->mem->code) ||
	       (c->ip == ip && c->end_ip == end_ip && c->generation == blocks->generation &&
		pt_memory_is_valid_since(blocks->mem, c->valid_since));
}

/* Something else than a run was taken out of the trace. */
static inline void pt_blocks_progress(struct pt_blocks *blocks)
{
	blocks->spin_ip = 0;
	blocks->spin_power = 1;
	blocks->spin_length = 0;
}
/* Did the flow come to ip before, without packets since? */
bool pt_blocks_came_back(struct pt_blocks *blocks, uint64_t ip);
/*
 * Is the flow endless? A run ended with b. Direct branches consume no packets: where only such
 * follow, and come back to the same address, they would be followed for ever.
 */
static inline bool pt_blocks_spins(struct pt_blocks *blocks, const struct pt_branch *b)
{
	if (!b)
		return false;
	if (b->insn.direct && b->insn.kind != AUXTAP_BRANCH_COND)
		return pt_blocks_came_back(blocks, b->ip);
	pt_blocks_progress(blocks);
	return false;
}

#endif
