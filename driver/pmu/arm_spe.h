/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Arm SPE PMU driver as its users see it: registration, and the interrupt entry. It accesses
 * the unit through registers only.
 */
#ifndef AUXTAP_PMU_ARM_SPE_H
#define AUXTAP_PMU_ARM_SPE_H

#include <linux/perf_event.h>

/* Registers (arm_spe_regs.h) of the calling CPU's unit; mrs and msr on hardware. */
struct arm_spe_hw {
	u64 (*read)(int cpu, u32 reg);
	void (*write)(int cpu, u32 reg, u64 value);
	/*
	 * psb csync, dsb nsh, isb: afterwards all samples are in memory, and the registers say so
	 */
	void (*drain)(int cpu);
	/* Whether this CPU has a unit. NULL: every CPU has one. */
	bool (*present)(int cpu);
	u8 version;	  /* ID_AA64DFR0_EL1.PMSVer; 1 is the first */
	bool context_ids; /* CONTEXTIDR_EL1 contains thread ids, which samples may contain */
};

/*
 * 0 or a negative errno: -ENODEV: an unsupported unit (a higher exception level owns its buffer, or
 * it needs an alignment above 2 KiB). name: "arm_spe_0" for tools to find it.
 */
int arm_spe_register(const char *name, const struct arm_spe_hw *hw);
void arm_spe_unregister(void);
/* The unit's interrupt (I11), on the CPU of the unit; false: not raised by this unit. */
bool arm_spe_interrupt(void);

#endif
