/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* There is no CPU hotplug here. */
#ifndef AUXTAP_SHIM_LINUX_CPU_H
#define AUXTAP_SHIM_LINUX_CPU_H

#include <linux/smp.h>

#define cpus_read_lock()   ((void)0)
#define cpus_read_unlock() ((void)0)

#endif
