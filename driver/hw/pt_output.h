/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The output stage of a PT unit: stores packet bytes into memory through the ToPA tables that the
 * driver built, or into a single range. Registers and table entries as in the Intel SDM, vol. 3,
 * "Intel Processor Trace", section on trace output. It reads the tables and never calls the driver.
 * Neighbours: pt_unit.c, which owns one; driver/pmu/intel_pt.c, which programs it.
 */
#ifndef AUXTAP_PT_OUTPUT_H
#define AUXTAP_PT_OUTPUT_H

#include "hw_types.h"

/* MSR numbers (SDM vol. 4). */
#define MSR_RTIT_OUTPUT_BASE	  0x560
#define MSR_RTIT_OUTPUT_MASK_PTRS 0x561
#define MSR_RTIT_CTL		  0x570
#define MSR_RTIT_STATUS		  0x571
#define MSR_RTIT_CR3_MATCH	  0x572
#define MSR_RTIT_ADDR0_A	  0x580 /* ADDRn_A: 0x580 + 2n, ADDRn_B: one more */

#define RTIT_CTL_TRACEEN	  (1ull << 0)
#define RTIT_CTL_CYCEN		  (1ull << 1)
#define RTIT_CTL_OS		  (1ull << 2)
#define RTIT_CTL_USR		  (1ull << 3)
#define RTIT_CTL_TOPA		  (1ull << 8)
#define RTIT_CTL_MTCEN		  (1ull << 9)
#define RTIT_CTL_TSCEN		  (1ull << 10)
#define RTIT_CTL_DISRETC	  (1ull << 11)
#define RTIT_CTL_BRANCHEN	  (1ull << 13)
#define RTIT_CTL_MTC_RANGE_SHIFT  14 /* 4 bits */
#define RTIT_CTL_CYC_THRESH_SHIFT 19 /* 4 bits */
#define RTIT_CTL_PSB_FREQ_SHIFT	  24 /* 4 bits: PSB every 2^(n+11) bytes */
#define RTIT_CTL_ADDR_CFG_SHIFT	  32 /* ADDRn_CFG, 4 bits each */

#define RTIT_STATUS_FILTEREN  (1ull << 0)
#define RTIT_STATUS_CONTEXTEN (1ull << 1)
#define RTIT_STATUS_TRIGGEREN (1ull << 2)
#define RTIT_STATUS_ERROR     (1ull << 4)
#define RTIT_STATUS_STOPPED   (1ull << 5)

#define TOPA_END	(1ull << 0)
#define TOPA_INT	(1ull << 2)
#define TOPA_STOP	(1ull << 4)
#define TOPA_SIZE_SHIFT 6 /* 4 bits: 2^(12+n) bytes */
#define TOPA_BASE_SHIFT 12

/*
 * The environment of the stage. ctx is passed to both functions. phys: host memory at a physical
 * address, at least size bytes contiguous, or NULL (an unreadable address makes the unit stop with
 * ERROR, never fault). irq: raises the performance-monitoring interrupt.
 */
struct pt_output_bus {
	void *ctx;
	void *(*phys)(void *ctx, u64 phys_addr, u64 size);
	void (*irq)(void *ctx);
};

struct pt_output {
	const struct pt_output_bus *bus;
	u64 base;      /* RTIT_OUTPUT_BASE */
	u64 mask_ptrs; /* RTIT_OUTPUT_MASK_PTRS */
	u64 status;    /* RTIT_STATUS: ERROR, STOPPED */
	bool topa;
	bool running;
	/* current region, looked up at start and at region ends; NULL: nothing reaches memory */
	u8 *region;
	u64 region_size, region_off;
	u64 fast_end; /* up to this region_off the fast path needs no check */
	u64 entry;
	/*
	 * settable behaviour: bytes that the unit produces after an interrupt threshold before it
	 * raises the interrupt line
	 */
	u32 irq_delay_bytes;
	bool irq_pending;
	u64 irq_at; /* nr_written + nr_dropped at which a pending interrupt is raised */
	/* counters */
	u64 nr_written;
	u64 nr_dropped; /* produced while stopped */
};

void pt_output_init(struct pt_output *out, const struct pt_output_bus *bus);
/*
 * start: TraceEn 0 -> 1 with the current registers (write base, mask_ptrs and status only while
 * stopped). With ERROR or STOPPED still set nothing is written, as in hardware. stop: TraceEn 1 ->
 * 0: afterwards all bytes are in memory and the registers contain the end position; after a STOP
 * the offset is the region's size. A delayed interrupt is cancelled, because the code that stops
 * the unit reads the registers anyway.
 */
void pt_output_start(struct pt_output *out, bool topa);
void pt_output_stop(struct pt_output *out);
/*
 * Appends bytes. Returns how many reached memory; the rest is counted in nr_dropped. irq is called
 * last, so its handler may stop and restart the stage. bytes NULL: does not store, but does
 * everything else (for models that need positions, not contents).
 */
size_t pt_output_write(struct pt_output *out, const u8 *bytes, size_t nr_bytes);
/* TraceStop: sets STOPPED. Nothing is written until STOPPED and ERROR are cleared. */
void pt_output_trace_stop(struct pt_output *out);

#endif
