/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders the stores of a trace unit before aux_head (barrier B, the driver's job). The model's unit
 * and driver are one thread, and the core publishes with release stores, so a compiler barrier
 * suffices.
 */
#ifndef AUXTAP_SHIM_ASM_BARRIER_H
#define AUXTAP_SHIM_ASM_BARRIER_H

#include <linux/compiler.h>

#define mb()	  barrier()
#define rmb()	  barrier()
#define wmb()	  barrier()
#define smp_mb()  barrier()
#define smp_rmb() barrier()
#define smp_wmb() barrier()

#endif
