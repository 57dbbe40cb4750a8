/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields that say when and by whom: of a SAMPLE, or of the sample_id trailer of other
 * records. */
#ifndef PERFDATA_SAMPLE_ID_H
#define PERFDATA_SAMPLE_ID_H

#include <auxtap/perfdata.h>

struct pd_sample_id {
	uint32_t have; /* AUXTAP_REC_… */
	uint32_t pid, tid, cpu;
	uint64_t time, id;
};

/* Bytes of the trailer that attr gives to every record that is not a SAMPLE; 0: none. */
uint32_t pd_trailer_size(const struct perf_event_attr *attr);

/*
 * Where the event id is: for a SAMPLE the byte offset in the body, for others the
 * bytes from the end of the record. -1: nowhere.
 */
int pd_sample_id_pos(const struct perf_event_attr *attr);
int pd_trailer_id_pos(const struct perf_event_attr *attr);

/* Fill *sid from a body (after the header) of size bytes; what does not fit is left out.
 */
void pd_sample_id_parse(const struct perf_event_attr *attr, uint32_t type, const void *body,
			uint32_t size, struct pd_sample_id *sid);

#endif
