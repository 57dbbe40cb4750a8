/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Intel PT PMU driver as its users see it: registration, and the interrupt entry. It accesses
 * the unit through registers only.
 */
#ifndef AUXTAP_PMU_INTEL_PT_H
#define AUXTAP_PMU_INTEL_PT_H

#include <linux/perf_event.h>

/* Registers of the calling CPU's unit. On hardware: rdmsr, wrmsr. */
struct intel_pt_hw {
	u64 (*read)(int cpu, u32 msr);
	void (*write)(int cpu, u32 msr, u64 value);
	bool single_range; /* CPUID 14H: single-range output */
	bool topa_multiple_entries;
	u8 nr_addr_ranges; /* CPUID 14H; up to 4 */
	/* CPUID 14H: bit n set if the value n may be set; 0: all of 0 to 15 */
	u16 psb_periods, cyc_thresholds, mtc_periods;
	/* clock ratios that a decoder needs, in PMU attributes; 0: unknown, no attribute */
	u32 max_nonturbo_ratio;
	u32 tsc_art_n, tsc_art_d; /* TSC = ART * n / d (CPUID 15H: ebx, eax) */
	/*
	 * Whether the call interrupted other work on the unit (an emulated unit, in an NMI), so
	 * that the unit may be read but not switched. NULL: never.
	 */
	bool (*read_only)(void);
};

struct perf_output_handle;
/*
 * perf_output_copy(), which the kernel does not export: copies bytes of a sample; returns how many
 * did not fit. Set it before intel_pt_register(); without it there is no AUX sampling (G2).
 */
typedef unsigned int intel_pt_output_copy(struct perf_output_handle *handle, const void *buf,
					  unsigned int len);
void intel_pt_use_output_copy(intel_pt_output_copy *copy);

/* 0 or a negative errno. name: "intel_pt" or "auxtap_pt". */
int intel_pt_register(const char *name, const struct intel_pt_hw *hw);
void intel_pt_unregister(void);
/* The unit's interrupt (H13), on the CPU of the unit. */
void intel_pt_interrupt(void);
/*
 * A hypervisor calls this on this CPU before VMXON and after VMXOFF, if the unit cannot trace in
 * between (H12).
 */
void intel_pt_vmx(bool on);
/*
 * For emulated processors, on this CPU with interrupts off. User code ran that was not reported to
 * the unit: flags the open transaction PARTIAL.
 */
void intel_pt_flag_partial(void);
/* Likewise. The event that the unit traces, or NULL. */
struct perf_event *intel_pt_traced_event(void);

#endif
