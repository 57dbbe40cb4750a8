/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities of the caller of a system call: the machine sets them (core.h). */
#ifndef AUXTAP_SHIM_LINUX_CAPABILITY_H
#define AUXTAP_SHIM_LINUX_CAPABILITY_H

#include <stdbool.h>

bool perfmon_capable(void);

#endif
