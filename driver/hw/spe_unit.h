/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One processor's Arm SPE unit: registers, selection of operations, filters, records, and the
 * output stage. An execution engine reports what the processor does; a driver sees only registers,
 * memory and the interrupt. Latencies and events come from small models of caches, TLB and branch
 * predictor, which see only the sampled operations.
 *
 * Thread safety: one unit belongs to one thread at a time.
 */
#ifndef AUXTAP_SPE_UNIT_H
#define AUXTAP_SPE_UNIT_H

#include "spe_encoder.h"
#include "spe_interval.h"
#include "spe_output.h"

/* S3_0_C9_C9_n, as MRS and MSR encode them; those of the buffer are in spe_output.h. */
#define SYS_PMSCR    0xc4c8
#define SYS_PMSNEVFR 0xc4c9
#define SYS_PMSICR   0xc4ca
#define SYS_PMSIRR   0xc4cb
#define SYS_PMSFCR   0xc4cc
#define SYS_PMSEVFR  0xc4cd
#define SYS_PMSLATFR 0xc4ce
#define SYS_PMSIDR   0xc4cf

#define PMSCR_E0SPE (1ull << 0)
#define PMSCR_CX    (1ull << 3)
#define PMSCR_PA    (1ull << 4)
#define PMSCR_TS    (1ull << 5)
#define PMSFCR_FE   (1ull << 0)
#define PMSFCR_FT   (1ull << 1)
#define PMSFCR_FL   (1ull << 2)
#define PMSFCR_FNE  (1ull << 3)
#define PMSFCR_B    (1ull << 16)
#define PMSFCR_LD   (1ull << 17)
#define PMSFCR_ST   (1ull << 18)

#define SPE_EVENT_RETIRED      (1ull << 1)
#define SPE_EVENT_L1D_ACCESS   (1ull << 2)
#define SPE_EVENT_L1D_REFILL   (1ull << 3)
#define SPE_EVENT_TLB_ACCESS   (1ull << 4)
#define SPE_EVENT_TLB_WALK     (1ull << 5)
#define SPE_EVENT_NOT_TAKEN    (1ull << 6)
#define SPE_EVENT_MISPREDICTED (1ull << 7)
#define SPE_EVENT_LLC_ACCESS   (1ull << 8)
#define SPE_EVENT_LLC_MISS     (1ull << 9)
#define SPE_EVENT_MISALIGNED   (1ull << 11)

/* Fixed for the life of a unit. */
struct spe_unit_config {
	const u64 *clock; /* the generic counter, for timestamps */
	u32 max_record, align;
};

struct spe_op { /* an operation that was selected and has retired */
	u64 pc;
	u32 code; /* the instruction's word */
	u64 next; /* the instruction that ran after it */
	bool has_addr;
	bool is_store;
	u32 size; /* bytes at addr */
	u64 addr;
};

#define SPE_L1_SETS  256
#define SPE_L1_WAYS  4
#define SPE_LLC_SETS 1024
#define SPE_LLC_WAYS 8
#define SPE_TLB_SIZE 64
#define SPE_BHT_SIZE 256

struct spe_unit {
	struct spe_unit_config config;
	struct spe_output out;
	/* registers */
	u64 pmscr, pmsnevfr, pmsicr, pmsirr, pmsfcr, pmsevfr, pmslatfr;
	u32 contextid;
	u32 random;
	u64 nr_samples;	 /* operations that were selected while the unit was on */
	u64 nr_filtered; /* those of them that the filters dropped */
	/* newest way first; 0: empty, else the line's number + 1 */
	u64 l1[SPE_L1_SETS][SPE_L1_WAYS];
	u64 llc[SPE_LLC_SETS][SPE_LLC_WAYS];
	u64 tlb[SPE_TLB_SIZE];
	u8 taken[SPE_BHT_SIZE]; /* the last direction of a branch: 1 not taken, 2 taken */
};

void spe_unit_init(struct spe_unit *unit, const struct spe_unit_config *config,
		   const struct spe_output_bus *bus);
/* The value of PMSIDR; the same for all units with this configuration. */
u64 spe_unit_idr(const struct spe_unit_config *config);
/* Registers, including the output stage's; false: unknown register, or not writable. */
bool spe_unit_read(const struct spe_unit *unit, u32 reg, u64 *value);
bool spe_unit_write(struct spe_unit *unit, u32 reg, u64 value);

/* Whether user code is sampled. */
static inline bool spe_unit_is_on(const struct spe_unit *unit)
{
	return unit->pmscr & PMSCR_E0SPE && unit->out.limitr & PMBLIMITR_E;
}

/*
 * For an engine that does not count the interval itself: nr operations are about to run. Returns
 * which of them to sample, counted from 1; 0: none. Call it again for the operations after that
 * one.
 */
u32 spe_unit_count(struct spe_unit *unit, u32 nr);
/* A selected operation has retired: writes its record if it passes the filters. */
void spe_unit_sample(struct spe_unit *unit, const struct spe_op *op);

/* The class and subclass of the operation packet for an instruction. */
enum spe_op_class spe_classify(const struct spe_op *op, u8 *subclass);

#endif
