/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that a core file is of the recorded process, and of the moment when the recording ends. */
#ifndef GDB_CORE_CHECK_H
#define GDB_CORE_CHECK_H

#include "gdb_core.h"
#include "recording.h"

/*
 * end: the program counter at which the trace of the core's first thread ends; NULL: unknown. It is
 * only needed if the recording has no registers of that thread. 0, or -EINVAL and *err says what is
 * different.
 */
int core_check(const struct core_dump *core, const struct recording *rec, const uint64_t *end,
	       struct auxtap_error *err);

#endif
