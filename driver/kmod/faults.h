/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The zoo in the module (docs/kernel-module.md): parameter fault. What a unit gets wrong is
 * driver/silicon/unit_faults.c, asked by unit*.c; what the kernel gets wrong is in aux_calls.c.
 */
#ifndef AUXTAP_KMOD_FAULTS_H
#define AUXTAP_KMOD_FAULTS_H

#include "silicon/unit_faults.h"

enum kernel_fault {
	KERNEL_FAULT_NONE,
	KERNEL_NR_FAULTS
};

/* As the parameter says now; at most one of them is not NONE. */
enum unit_fault fault_of_unit(void);
enum kernel_fault fault_of_kernel(void);

#endif
