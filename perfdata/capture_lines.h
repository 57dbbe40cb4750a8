/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AUXTAP_METADATA_CAPTURE says how a recording was made, in "key: value" lines. The keys and values
 * below are also parsed: capture writes them; decode, report and audit read them.
 */
#ifndef AUXTAP_PERFDATA_CAPTURE_LINES_H
#define AUXTAP_PERFDATA_CAPTURE_LINES_H

#include "util/key_lines.h"

#include <stdio.h>

#define CAPTURE_LINE_BACKEND	   "backend"
#define CAPTURE_LINE_EMULATED	   "emulated"
#define CAPTURE_LINE_SOURCE	   "source"
#define CAPTURE_LINE_QEMU	   "qemu"
#define CAPTURE_LINE_DESCRIPTION   "description" /* "emulated, engine qemu 10.0.2" */
#define CAPTURE_LINE_MODE	   "mode"
#define CAPTURE_LINE_FULL	   "full" /* else the file has only parts of the trace */
#define CAPTURE_LINE_AUX_SIZE	   "aux_bytes_per_ring"
#define CAPTURE_LINE_TRUNCATIONS   "truncations"
#define CAPTURE_LINE_COLLISIONS	   "collisions"
#define CAPTURE_LINE_LOST_RECORDS  "lost_records"
#define CAPTURE_LINE_THREADS_ENDED "threads_ended"
/*
 * Crash mode. memory: enum auxtap_memory, by name; memory_cut: not all reachable memory was stored;
 * redacted: only what the control flow needs was stored.
 */
#define CAPTURE_LINE_MEMORY	  "memory"
#define CAPTURE_LINE_MEMORY_STACK "stack"
#define CAPTURE_LINE_MEMORY_REACH "reachable"
#define CAPTURE_LINE_MEMORY_NONE  "none"
#define CAPTURE_LINE_MEMORY_CUT	  "memory_cut"
#define CAPTURE_LINE_REDACTED	  "redacted"
/* The TID, not positive for the unit of a CPU, and exact numbers of bytes. */
#define CAPTURE_LINE_UNIT "unit %d: produced %llu written %llu dropped %llu"

static inline bool capture_lines_is_emulated(const char *text, size_t size)
{
	return key_lines_equals(text, size, CAPTURE_LINE_BACKEND, CAPTURE_LINE_EMULATED);
}

static inline bool capture_lines_is_full(const char *text, size_t size)
{
	return key_lines_equals(text, size, CAPTURE_LINE_MODE, CAPTURE_LINE_FULL);
}

/* Finds the next unit of a thread after *at: its TID and how many bytes it wrote. */
static inline bool capture_lines_next_unit(const char **at, const char *end, int *tid,
					   uint64_t *nr_written)
{
	unsigned long long produced, written, dropped;
	char line[128];

	while (key_lines_next(at, end, line, sizeof(line))) {
		if (sscanf(line, CAPTURE_LINE_UNIT, tid, &produced, &written, &dropped) == 4 &&
		    *tid > 0) {
			*nr_written = written;
			return true;
		}
	}
	return false;
}

#endif
