/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Arm SPE PMU driver as its users see it: registration, and the interrupt entry. The unit
 * is reached through registers only.
 */
#ifndef AUXTAP_PMU_ARM_SPE_H
#define AUXTAP_PMU_ARM_SPE_H

#include <linux/perf_event.h>

/* Registers (arm_spe_regs.h) of the unit of the CPU that runs the call; on silicon mrs, msr. */
struct arm_spe_hw {
	u64 (*read)(int cpu, u32 reg);
	void (*write)(int cpu, u32 reg, u64 value);
	/* psb csync, dsb nsh, isb: what was sampled is in memory, and the registers tell so */
	void (*drain)(int cpu);
	/* Has this CPU such a unit? NULL: every one has. */
	bool (*present)(int cpu);
	u8 version;	  /* ID_AA64DFR0_EL1.PMSVer; 1 is the first */
	bool context_ids; /* CONTEXTIDR_EL1 holds thread ids: to be put into samples */
};

/*
 * 0 or a negative errno: -ENODEV: a unit that cannot be driven (its buffer is another's, or it
 * wants an alignment beyond 2 KiB). name: "arm_spe_0" for tools to find it.
 */
int arm_spe_register(const char *name, const struct arm_spe_hw *hw);
void arm_spe_unregister(void);
/* The unit's interrupt (I11), on the CPU of the unit; false: it was not for us. */
bool arm_spe_interrupt(void);

#endif
