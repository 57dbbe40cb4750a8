/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Intel PT PMU driver as its users see it: registration, and the interrupt entry.
 * The unit is reached through registers only.
 */
#ifndef AUXTAP_PMU_INTEL_PT_H
#define AUXTAP_PMU_INTEL_PT_H

#include <linux/perf_event.h>

/* Registers of the unit of the CPU that runs the call. On real silicon: rdmsr, wrmsr. */
struct intel_pt_hw {
	u64 (*read)(int cpu, u32 msr);
	void (*write)(int cpu, u32 msr, u64 value);
	bool single_range; /* CPUID 14H: single-range output */
	bool topa_multiple_entries;
};

/* 0 or a negative errno. name: "intel_pt" or "auxtap_pt". */
int intel_pt_register(const char *name, const struct intel_pt_hw *hw);
void intel_pt_unregister(void);
/* The unit's interrupt (H13), on the CPU of the unit. */
void intel_pt_interrupt(void);

#endif
