// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sample id (docs/kernel-rules.md, section F): 8 bytes for each bit set, in the order TID,
 * TIME, ID, STREAM_ID, CPU, IDENTIFIER.
 */
#include "perf_buffer.h"

#define SAMPLE_ID_BITS                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

int perf_event_id_header_size(const struct perf_event_attr *attr)
{
	return 8 * __builtin_popcountll(attr->sample_type & SAMPLE_ID_BITS);
}

/* Fills in the sample id and adds its size to the record's. */
void perf_event_header__init_id(struct perf_event_header *header, struct perf_sample_id *id,
				struct perf_event *event)
{
	const struct core_task *task = core_record_task();

	if (!event->attr.sample_id_all)
		return;
	header->size = (u16)(header->size + event->id_header_size);
	id->pid = task ? (u32)task->pid : 0;
	id->tid = task ? (u32)task->tid : 0;
	id->time = core_clock();
	id->id = event->parent ? event->parent->id : event->id;
	id->stream_id = event->id;
	id->cpu = (u32)core_cpu();
}

void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  const struct perf_sample_id *id)
{
	u64 type = event->attr.sample_type, words[6];
	unsigned int n = 0;

	if (!event->attr.sample_id_all)
		return;
	if (type & PERF_SAMPLE_TID)
		words[n++] = (u64)id->tid << 32 | id->pid;
	if (type & PERF_SAMPLE_TIME)
		words[n++] = id->time;
	if (type & PERF_SAMPLE_ID)
		words[n++] = id->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		words[n++] = id->stream_id;
	if (type & PERF_SAMPLE_CPU)
		words[n++] = id->cpu;
	if (type & PERF_SAMPLE_IDENTIFIER)
		words[n++] = id->id;
	perf_output_copy(handle, words, n * 8);
}
