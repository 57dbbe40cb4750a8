/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses time, pid, tid, cpu and id of a SAMPLE, or of the sample_id trailer of other records. */
#ifndef PERFDATA_SAMPLE_ID_H
#define PERFDATA_SAMPLE_ID_H

#include <auxtap/perfdata.h>

struct pd_sample_id {
	uint32_t fields; /* AUXTAP_REC_…: those that are known */
	uint32_t pid, tid, cpu;
	uint64_t time, id;
};

/* Size of the trailer that attr adds to each record that is not a SAMPLE; 0: none. */
uint32_t pd_trailer_size(const struct perf_event_attr *attr);

/*
 * The position of the event id: for a SAMPLE its offset in the body, for other records its distance
 * from the end of the record. -1: there is no id.
 */
int pd_sample_id_pos(const struct perf_event_attr *attr);
int pd_trailer_id_pos(const struct perf_event_attr *attr);

/* Fills *sid from a body of size bytes; fields that the body is too short for stay unset. */
void pd_sample_id_parse(const struct perf_event_attr *attr, uint32_t type, const void *body,
			uint32_t size, struct pd_sample_id *sid);

#endif
