/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace buffer of a CPU as the sink of its trace unit. Its only user is cs_etm.c, which handles
 * the events. All calls run on the CPU of the buffer, with interrupts off.
 */
#ifndef AUXTAP_PMU_TRBE_H
#define AUXTAP_PMU_TRBE_H

#include <linux/types.h>

struct perf_output_handle;

/* Registers (trbe_regs.h) of the CPU that runs the call; mrs and msr on hardware. */
struct trbe_hw {
	u64 (*read)(int cpu, u32 reg);
	void (*write)(int cpu, u32 reg, u64 value);
	/* tsb csync, dsb nsh, isb: afterwards all trace is in memory, and the registers say so */
	void (*drain)(int cpu);
	/* errata */
	bool overwrites_in_fill_mode; /* J6: up to 256 bytes at its base, after it was filled */
	bool writes_out_of_range;     /* J2: up to a page after its limit */
};

/* Call on a CPU that has one. 0, or -ENODEV: unsupported. */
int trbe_probe(const struct trbe_hw *hw);
void *trbe_setup(void **pages, int nr_pages, bool overwrite, int node);
void trbe_free(void *aux);
/*
 * Starts it in an open transaction. -ENOSPC: no space, and the transaction has been ended as
 * truncated.
 */
int trbe_enable(struct perf_output_handle *handle);
/*
 * Stops it. Returns the bytes in this transaction, to be passed to its end; 0 if it has been
 * closed.
 */
unsigned long trbe_update(struct perf_output_handle *handle);
/* Takes no interrupt for the transaction any more. */
void trbe_disable(void);
/* Its interrupt; false: not raised by this TRBE. */
bool trbe_interrupt(void);

#endif
