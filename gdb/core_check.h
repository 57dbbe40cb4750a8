/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a core file is of the process of a recording, and of the moment at which that ends. */
#ifndef GDB_CORE_CHECK_H
#define GDB_CORE_CHECK_H

#include "gdb_core.h"
#include "recording.h"

/*
 * end: the program counter at which the trace of the core's first thread ends; NULL: unknown. Only
 * needed where the recording has no registers of that thread. 0 or -EINVAL: what is different.
 */
int core_check(const struct core_dump *core, const struct recording *rec, const uint64_t *end,
	       struct auxtap_error *err);

#endif
