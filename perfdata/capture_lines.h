/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AUXTAP_METADATA_CAPTURE, how a recording was made: "key: value" lines for people, and for readers
 * the keys and values below. Capture writes it; decode, report and audit read it.
 */
#ifndef AUXTAP_PERFDATA_CAPTURE_NOTE_H
#define AUXTAP_PERFDATA_CAPTURE_NOTE_H

#include "util/key_lines.h"

#include <stdio.h>

#define CAPTURE_LINE_BACKEND	   "backend"
#define CAPTURE_LINE_EMULATED	   "emulated"
#define CAPTURE_LINE_SOURCE	   "source"
#define CAPTURE_LINE_QEMU	   "qemu"
#define CAPTURE_LINE_MODE	   "mode"
#define CAPTURE_LINE_FULL	   "full" /* else parts of the trace alone are in the file */
#define CAPTURE_LINE_AUX_SIZE	   "aux_bytes_per_ring"
#define CAPTURE_LINE_TRUNCATIONS   "truncations"
#define CAPTURE_LINE_COLLISIONS	   "collisions"
#define CAPTURE_LINE_LOST_RECORDS  "lost_records"
#define CAPTURE_LINE_THREADS_ENDED "threads_ended"
/* Crash: enum auxtap_memory, by name; more would have been reachable; nothing but the flow */
#define CAPTURE_LINE_MEMORY	  "memory"
#define CAPTURE_LINE_MEMORY_STACK "stack"
#define CAPTURE_LINE_MEMORY_REACH "reachable"
#define CAPTURE_LINE_MEMORY_NONE  "none"
#define CAPTURE_LINE_MEMORY_CUT	  "memory_cut"
#define CAPTURE_LINE_REDACTED	  "redacted"
/* tid; a CPU's unit has that of no thread. Exact numbers of bytes. */
#define CAPTURE_LINE_UNIT "unit %d: produced %llu written %llu dropped %llu"

static inline bool capture_lines_is_emulated(const char *text, size_t size)
{
	return key_lines_is(text, size, CAPTURE_LINE_BACKEND, CAPTURE_LINE_EMULATED);
}

static inline bool capture_lines_is_full(const char *text, size_t size)
{
	return key_lines_is(text, size, CAPTURE_LINE_MODE, CAPTURE_LINE_FULL);
}

/* The next thread's unit after *at: true, its tid and how many bytes it wrote. */
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
