/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libipt does not report about a block: how its last instruction changes the flow, whether
 * libipt misreads one of its instructions (pt_limits.h), and whether the flow makes progress.
 */
#ifndef AUXTAP_PT_BLOCKS_H
#define AUXTAP_PT_BLOCKS_H

#include "decode/flow/branch_insn.h"
#include "pt_memory.h"

/* A cache of branches: to read and decode one costs more than libipt needs for the whole block. */
#define PT_BRANCHES 1024
struct pt_branch {
	uint64_t ip;
	uint32_t generation; /* of the code; 0: empty */
	bool valid;	     /* it is a branch */
	struct branch_insn insn;
	uint8_t raw[15];
};

/* A cache of blocks without an instruction that libipt misreads. */
#define PT_CHECKED 1024
struct pt_checked {
	uint64_t ip, end_ip;
	uint32_t generation;  /* of the code; 0: empty */
	uint64_t valid_since; /* pt_memory_code_since() */
};

/* Consecutive instructions: the first is at ip, the last at end_ip. */
struct pt_run {
	uint64_t ip, end_ip;
	unsigned int nr_insns; /* 0: none */
	bool branches;	       /* the last instruction may change the flow */
	bool may_have_time;    /* libipt may have read packets with a newer time for it */
	bool bits_32;
	uint8_t size;	    /* valid bytes of raw */
	const uint8_t *raw; /* 15 bytes from the last instruction on; NULL: not known */
};

struct pt_blocks {
	struct pt_memory *mem;
	unsigned int version; /* libipt's, PT_VERSION() */
	bool needs_check;     /* it misreads some instructions */
	uint32_t generation;  /* incremented with every change of the code */
	/* Brent's cycle detection, for code that returns to an earlier ip without any packet */
	uint64_t spin_ip;
	uint32_t spin_power, spin_length;
	struct pt_branch branches[PT_BRANCHES];
	struct pt_checked checked[PT_CHECKED];
};

void pt_blocks_init(struct pt_blocks *blocks, struct pt_memory *mem, unsigned int version);
/* mem may have other code than before: empties the caches. */
void pt_blocks_code_changed(struct pt_blocks *blocks);
/* The branch at the end of the run; NULL: there is none. Valid until the next call. */
const struct pt_branch *pt_blocks_branch(struct pt_blocks *blocks, const struct pt_run *run);
enum pt_cut {
	PT_CUT_NOTHING,
	PT_CUT_MISREAD, /* the run now ends with the first instruction that libipt misreads */
	PT_CUT_UNKNOWN, /* it now ends before 'at', where other code may have been at that time */
};
/* Cuts off the part of the run that may be wrong. single: the run is one instruction. */
enum pt_cut pt_blocks_cut(struct pt_blocks *blocks, struct pt_run *run, bool single, uint64_t *at);

/* The cached branch at ip, or NULL. If it is not valid, there is no branch at ip. */
static inline const struct pt_branch *pt_blocks_cached_branch(const struct pt_blocks *blocks,
							      uint64_t ip)
{
	const struct pt_branch *b = &blocks->branches[(ip ^ ip >> 10) % PT_BRANCHES];

	return b->ip == ip && b->generation == blocks->generation ? b : NULL;
}

/* Whether it is known without reading code that pt_blocks_cut() has nothing to cut. */
static inline bool pt_blocks_checked(const struct pt_blocks *blocks, uint64_t ip, uint64_t end_ip)
{
	const struct pt_checked *c = &blocks->checked[(ip ^ end_ip >> 4) % PT_CHECKED];

	return (!blocks->needs_check && !blocks->mem->code) ||
	       (c->ip == ip && c->end_ip == end_ip && c->generation == blocks->generation &&
		pt_memory_is_valid_since(blocks->mem, c->valid_since));
}

/* The decode consumed packets, so it cannot be in an endless loop. */
static inline void pt_blocks_progress(struct pt_blocks *blocks)
{
	blocks->spin_ip = 0;
	blocks->spin_power = 1;
	blocks->spin_length = 0;
}
/* Whether the flow came to ip before, and no packet was consumed since. */
bool pt_blocks_came_back(struct pt_blocks *blocks, uint64_t ip);
/*
 * Whether the decode is in an endless loop, after a run that ended with b. Direct jumps and calls
 * consume no packets: if only these follow and come back to the same address, libipt would follow
 * them forever.
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
