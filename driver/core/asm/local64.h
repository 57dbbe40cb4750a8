/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Per-CPU counters. All CPUs run in one thread, so plain integers suffice. */
#ifndef AUXTAP_SHIM_ASM_LOCAL64_H
#define AUXTAP_SHIM_ASM_LOCAL64_H

#include <linux/types.h>

#define local64_read(l)	   ((l)->v)
#define local64_set(l, to) ((void)((l)->v = (s64)(to)))

#endif
