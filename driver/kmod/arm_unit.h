/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SPE unit of each CPU of an arm64 machine (arm_unit.c), for arm_main.c. */
#ifndef AUXTAP_KMOD_ARM_UNIT_H
#define AUXTAP_KMOD_ARM_UNIT_H

struct arm_spe_hw;

extern unsigned int spe_skid_bytes, spe_irq_delay_us;
extern const struct arm_spe_hw spe_unit_hw;
void spe_units_init(void);
void spe_units_exit(void);

#endif
