/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the trace of a perf.data file is: AUX records say which bytes are trace, of what format,
 * whose; AUXTRACE records hold them, padded. Several AUX records share one AUXTRACE, and either may
 * be missing.
 */
#ifndef AUXTAP_CS_EXTENTS_H
#define AUXTAP_CS_EXTENTS_H

#include "cs_stream.h"

/* AUX record whose trace is not in the file, or trace that comes twice. */
struct cs_missing {
	int cpu;
	int32_t pid, tid;
	uint64_t time, nr_bytes;
	const char *why;
};

struct cs_extents {
	struct cs_buffer *buffers; /* in the order in which the file begins them */
	size_t nr, max;
	struct cs_missing *missing;
	size_t nr_missing, max_missing;
};

/* of_one_thread is left to the caller. */
int cs_extents_read(struct cs_extents *extents, struct auxtap_perfdata *pd,
		    const struct cs_config *config, struct auxtap_error *err);
void cs_extents_free(struct cs_extents *extents);
/* Registers and trace IDs of the file: AUXTRACE_INFO, then what AUX_OUTPUT_HW_ID records change. */
int cs_config_from_file(struct cs_config *config, struct auxtap_perfdata *pd,
			struct auxtap_error *err);
/* Sets since and until of the extents; started: when the trace began, 0 if not known. */
void cs_buffer_bound(struct cs_buffer *buffer, uint64_t started);
/* At the end of the list; NULL: out of memory. */
struct cs_extent *cs_buffer_add(struct cs_buffer *buffer);
struct cs_buffer *cs_extents_add_buffer(struct cs_extents *extents);

#endif
