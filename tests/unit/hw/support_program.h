/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random program in made-up memory, and a machine that runs it under a PT unit while
 * noting the ground truth: which instructions ran, when, and where the unit lost trace.
 */
#ifndef AUXTAP_TEST_PROGRAM_H
#define AUXTAP_TEST_PROGRAM_H

#include "hw/pt_unit.h"

#define NR_REGIONS  5
#define REGION_SIZE 8192
#define TRACE_SIZE  (32u << 20)

struct program {
	int bits;
	u64 base[NR_REGIONS];
	u8 code[NR_REGIONS][REGION_SIZE];
	/* starts of blocks: targets of indirect branches */
	u64 block[NR_REGIONS * REGION_SIZE];
	unsigned int nr_blocks;
};

/* Options of a run. Chances are in 1/1000 of a block. */
struct run_config {
	u64 ctl; /* RTIT_CTL without TraceEn */
	u32 tsc_ctc_n, tsc_ctc_d;
	u8 core_bus_ratio, max_nonturbo_ratio;
	unsigned int nr_insns;
	unsigned int async, overflow, lost_return, pause;
	/* address ranges, inclusive, with their ADDRn_CFG in ctl; restart: chance that the
	 * kernel restarts a unit that a TraceStop has stopped */
	struct {
		u64 first, last;
	} range[PT_NR_RANGES];
	unsigned int restart;
};

struct lost_run {
	size_t at_least; /* decoders reach at least this instruction */
	size_t resume;	 /* and continue here */
	u64 ip;		 /* the next instruction, unless an interrupt came first */
};

struct machine {
	const struct program *program;
	struct run_config config;
	struct pt_unit unit;
	u64 tsc;
	u64 seed;
	u8 *trace;
	u64 *executed_ip, *executed_tsc;
	size_t nr_executed;
	struct lost_run lost[4096];
	size_t nr_lost;
	u64 enter_tsc[65536];
	size_t nr_enters;
	size_t psb_executed[65536]; /* first instruction after the k-th PSB+ */
	size_t psb_lost[65536];	    /* overflows reported before it */
	size_t nr_psbs;
	size_t nr_compressed_rets, nr_rets;
	size_t nr_left, nr_stops; /* branches out of the filter, TraceStops */
	/* internal */
	u64 stack[256];
	unsigned int depth;
	size_t traced; /* nr_executed after the last branch with a packet or a pending bit */
	size_t sent;   /* and after the last one whose packet was sent */
	u64 seen_psb_at;
	bool tracing, stopped;
	u64 perf_stack[4096]; /* a decoder that pops on every RET and is cleared at a PSB */
	unsigned int perf_depth;
};

void program_make(struct program *program, u64 seed, int bits);
const u8 *program_bytes(const struct program *program, u64 ip, unsigned int *avail);

/* Runs the program to the end of trace; machine_free() afterwards. */
void machine_run(struct machine *machine, const struct program *program,
		 const struct run_config *config, u64 seed);
void machine_free(struct machine *machine);
u64 random_next(u64 *seed);

#endif
