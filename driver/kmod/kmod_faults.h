/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The zoo in the module (docs/kernel-module.md): parameter fault. What a unit gets wrong is
 * driver/hw/unit_faults.c, asked by unit*.c; what the kernel gets wrong is in aux_calls.c,
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

/* As the parameter says now; at most one of them is not NONE. */
enum unit_fault fault_of_unit(void);
enum kernel_fault fault_of_kernel(void);
/* How often the parameter was set. */
unsigned int fault_nr_set(void);
/* The module is about to go. */
void faults_exit(void);

#endif
