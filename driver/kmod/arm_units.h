/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The units of each CPU of an arm64 machine, for arm_main.c: kmod_unit_spe.c (SPE), kmod_unit_etm.c
 * (a trace unit with its TRBE, and its registers in sysfs), inject.c (management events that a test
 * requests).
 */
#ifndef AUXTAP_KMOD_ARM_UNITS_H
#define AUXTAP_KMOD_ARM_UNITS_H

#include <linux/types.h>

struct arm_spe_hw;
struct cs_etm_hw;
struct dentry;
struct device;
struct unit_faults;
struct unit_log;
struct unit_log_kind;

/* The memory at a virtual address, for an output stage; NULL: one of its pages is not mapped. */
void *arm_unit_virt(void *ctx, u64 addr, u64 size);
/* For the logs of the units: their areas. */
u64 arm_unit_area_bytes(const void *area);
bool arm_unit_area_is_snapshot(const void *area);
u64 arm_unit_area_offset(const void *area, u64 addr, unsigned long *hint);
/* The driver writes limit to the limit register, while the unit's write pointer is at pointer. */
void arm_unit_log_limit(struct unit_log *log, u64 limit, u64 pointer);

extern const struct arm_spe_hw spe_unit_hw;
int spe_units_init(struct dentry *dir);
void spe_units_exit(void);
struct unit_log *spe_unit_log(void); /* this CPU's */

extern struct cs_etm_hw etm_unit_hw;
int etm_units_init(struct dentry *dir);
void etm_units_exit(void);
struct unit_log *etm_unit_log(void);
/* cpuN/trcidr, cpuN/mgmt below the PMU's device: 0 or a negative errno. */
int etm_registers_show(struct device *pmu);
void etm_registers_hide(void);

/*
 * Creates a file inject in dir: to write a word and two numbers to it causes a management event in
 * the unit of the writing CPU. The function is called on that CPU, with interrupts off; it returns
 * 0 or a negative errno.
 */
struct inject {
	int (*event)(const char *word, u64 status, u32 nr_bytes);
};
void inject_init(const struct inject *inject, struct dentry *dir);

#endif
