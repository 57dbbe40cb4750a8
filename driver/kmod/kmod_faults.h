/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fault injection in the module (docs/kernel-module.md): parameter fault. Faults of a unit are in
 * driver/hw/unit_faults.c, applied by kmod_unit_*.c; faults of the kernel are in aux_calls.c and
 * area_end.c.
 */
#ifndef AUXTAP_KMOD_FAULTS_H
#define AUXTAP_KMOD_FAULTS_H

#include "hw/unit_faults.h"

enum kernel_fault {
	KERNEL_FAULT_NONE,
	KERNEL_WAKEUP_BY_ONE,
	KERNEL_OVERWRITE_WATERMARK,
	KERNEL_TRUNCATION_GOES_ON,
	KERNEL_DISABLE_LOST,
	KERNEL_PARTIAL_AS_TRUNCATED,
	KERNEL_HEAD_32_BIT,
	KERNEL_SKIP_WITHOUT_WAKEUP,
	KERNEL_REFCOUNT_FIRST,
	KERNEL_NR_FAULTS
};

/* The current value of the parameter; at most one of the two is not NONE. */
enum unit_fault fault_of_unit(void);
enum kernel_fault fault_of_kernel(void);
/* Number of times that the parameter was set. */
unsigned int fault_nr_set(void);
/* Call when the module is unloaded. */
void faults_exit(void);

#endif
