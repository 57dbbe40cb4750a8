/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace buffer of a CPU as the sink of its trace unit. Its only user is cs_etm.c, which handles
 * the events. All calls run on the CPU of the buffer, with interrupts off.
 */
#ifndef AUXTAP_PMU_TRBE_H
#define AUXTAP_PMU_TRBE_H

#include <linux/types.h>

struct perf_output_handle;

/* Registers (trbe_regs.h) of the calling CPU; mrs and msr on hardware. */
struct trbe_hw {
	u64 (*read)(int cpu, u32 reg);
	void (*write)(int cpu, u32 reg, u64 value);
	/* tsb csync, dsb nsh, isb: afterwards all trace is in memory, and the registers say so */
	void (*drain)(int cpu);
	/* errata */
	bool overwrites_in_fill_mode; /* J6: up to 256 bytes at the base, after a fill */
	bool writes_out_of_range;     /* J2: up to a page after the limit */
};

/* Call on a CPU that has a TRBE. Returns 0, or -ENODEV: unsupported. */
int trbe_probe(const struct trbe_hw *hw);
void *trbe_setup(void **pages, int nr_pages, bool overwrite, int node);
void trbe_free(void *aux);
/*
 * Starts the buffer in an open transaction. -ENOSPC: no space, and the transaction has been ended
 * as truncated.
 */
int trbe_enable(struct perf_output_handle *handle);
/*
 * Stops the buffer. Returns the number of bytes to pass to the end of the transaction; 0 if the
 * interrupt has ended it.
 */
unsigned long trbe_update(struct perf_output_handle *handle);
/* Stops the buffer; the interrupt does not end the transaction any more. */
void trbe_disable(void);
/* The buffer's interrupt; false: not raised by this TRBE. */
bool trbe_interrupt(void);

#endif
