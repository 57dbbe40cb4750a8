/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random A64 program in made-up memory, and a machine that runs it under a trace unit
 * and notes the ground truth: which instructions ran, when, what interrupted them.
 */
#ifndef AUXTAP_TEST_A64_H
#define AUXTAP_TEST_A64_H

#include "support_etm.h"

#define A64_NR_REGIONS	 4 /* the last is the kernel's */
#define A64_KERNEL	 (A64_NR_REGIONS - 1)
#define A64_REGION_WORDS 3072

struct a64_program {
	u64 base[A64_NR_REGIONS];
	u32 code[A64_NR_REGIONS][A64_REGION_WORDS];
	u32 block[A64_NR_REGIONS][A64_REGION_WORDS]; /* starts of blocks */
	u32 nr_blocks[A64_NR_REGIONS];
};

/* Chances are in 1/1000 of a block. */
struct a64_run {
	struct etm_unit_config config; /* except the clock */
	u32 configr, victlr, ccctlr, syncpr;
	u32 timestamp_period;
	unsigned int nr_insns;
	unsigned int async, lost_return, overflow, event;
	/* a driver switches the unit off and on: in user mode, and during exceptions */
	unsigned int restart;
	u8 max_idle; /* ticks that pass in addition to an instruction, at most */
};

struct a64_loss {
	size_t last;   /* decoders stop exactly here */
	size_t resume; /* and continue here */
	bool restart;  /* no overflow: the unit was off; its stream continues at 'offset' */
	size_t offset;
};

struct a64_exception {
	size_t at;
	u64 preferred_return;
	enum etm_exception type;
};

struct a64_sync {
	size_t offset;
	size_t first_insn; /* first instruction after it */
	size_t exceptions; /* number of exceptions before it */
	size_t losses;
	bool in_loss; /* the unit overflowed again before it emitted anything */
};

struct a64_machine {
	const struct a64_program *program;
	struct a64_run run;
	struct etm_unit unit;
	struct etm_stream stream;
	u64 clock, seed;
	u64 *executed_ip, *executed_clock;
	u32 *executed_cid;
	size_t nr_executed;
	struct a64_loss *losses;
	size_t nr_losses;
	struct a64_exception *exceptions;
	size_t nr_exceptions;
	struct a64_sync *syncs;
	size_t nr_syncs;
	size_t nr_events, nr_erets, nr_rets, nr_restarts;
	/* internal */
	u8 el;
	u64 ip, elr;
	u32 cid;
	u64 stack[256];
	unsigned int depth;
	bool overflow_pending;
	size_t call_start, call_p0;
	size_t p0[64]; /* nr_executed after the last P0 elements */
	size_t nr_p0, nr_p0_resumed;
};

u64 a64_random(u64 *seed);
void a64_program_make(struct a64_program *program, u64 seed);
u32 a64_program_read(const struct a64_program *program, u64 addr, u32 nr, u8 *bytes);
/* Runs to the end of trace; a64_machine_free afterwards. */
void a64_machine_run(struct a64_machine *m, const struct a64_program *program,
		     const struct a64_run *run, u64 seed);
void a64_machine_free(struct a64_machine *m);

#endif
