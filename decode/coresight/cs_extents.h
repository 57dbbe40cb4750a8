/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the trace in a perf.data file. AUX records say which bytes of a ring are trace, in which
 * format and of which thread; AUXTRACE records contain the bytes, with padding. One AUXTRACE record
 * may contain the bytes of several AUX records, and either may be missing.
 */
#ifndef AUXTAP_CS_EXTENTS_H
#define AUXTAP_CS_EXTENTS_H

#include "cs_stream.h"

/* An AUX record whose trace is not in the file, or trace that the file has twice; becomes a gap. */
struct cs_missing {
	int cpu;
	int32_t pid, tid;
	uint64_t time, nr_bytes;
	const char *why;
};

struct cs_extents {
	struct cs_buffer *buffers; /* in the order of their first AUXTRACE record */
	size_t nr, max;
	struct cs_missing *missing;
	size_t nr_missing, max_missing;
};

/* Sets all members of the buffers but of_one_thread, which the caller sets. */
int cs_extents_read(struct cs_extents *extents, struct auxtap_perfdata *pd,
		    const struct cs_config *config, struct auxtap_error *err);
void cs_extents_free(struct cs_extents *extents);
/* Registers and trace IDs from AUXTRACE_INFO; AUX_OUTPUT_HW_ID records override the trace IDs. */
int cs_config_from_file(struct cs_config *config, struct auxtap_perfdata *pd,
			struct auxtap_error *err);
/* Sets since and until of all extents. started: when tracing was started; 0: not known. */
void cs_buffer_set_times(struct cs_buffer *buffer, uint64_t started);
/* Both append a zeroed element and return it; NULL: out of memory. */
struct cs_extent *cs_buffer_add(struct cs_buffer *buffer);
struct cs_buffer *cs_extents_add_buffer(struct cs_extents *extents);

#endif
