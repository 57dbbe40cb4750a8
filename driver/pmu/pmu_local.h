/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The storage class of a driver's variables: a kernel has one instance of a driver; the model of
 * the kernel (driver/core) has one in each thread, so that simulations can run at the same time.
 */
#ifndef AUXTAP_PMU_LOCAL_H
#define AUXTAP_PMU_LOCAL_H

#ifdef __KERNEL__
#define PMU_LOCAL
#else
#define PMU_LOCAL _Thread_local
#endif

#endif
