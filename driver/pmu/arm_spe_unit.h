/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The contents of PMSIDR and PMBIDR: for arm_spe.c and arm_spe_attrs.c. */
#ifndef AUXTAP_PMU_ARM_SPE_UNIT_H
#define AUXTAP_PMU_ARM_SPE_UNIT_H

#include <linux/types.h>

struct arm_spe_hw;
struct attribute_group;

struct arm_spe_unit {
	const struct arm_spe_hw *hw;
	u64 pmsidr;
	u64 events_res0; /* of PMSEVFR: filters that this version lacks */
	unsigned long align;
	unsigned long max_record;
	unsigned int min_interval;
	unsigned int count_size; /* bits of the counters in samples */
};

bool arm_spe_cpu_present(const struct arm_spe_unit *unit, int cpu);
/*
 * Whether events can be filtered by absence. Requires support by the unit, and a kernel with
 * config3.
 */
bool arm_spe_has_inverted(const struct arm_spe_unit *unit);

/* arm_spe_attrs.c */
const struct attribute_group **arm_spe_attr_groups(const struct arm_spe_unit *unit);

#endif
