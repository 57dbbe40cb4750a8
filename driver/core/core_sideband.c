// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sideband records of what a task does, for those of its events and of its CPU's events that ask
 * for them. The caller passes complete bodies. Rules F2, F4, E15: docs/kernel-rules.md.
 */
#include "perf_buffer.h"
#include <linux/slab.h>

/* PERF_RECORD_MMAP2 has fields between these offsets of the body that PERF_RECORD_MMAP lacks. */
#define MMAP_FIELDS  32u
#define MMAP2_FIELDS 64u

/* F2: also writes AUX_OUTPUT_HW_ID, for units that have a hardware id. */
int core_event_record(struct perf_event *event, uint32_t type, uint16_t misc, const void *body,
		      size_t size)
{
	static const char zeroes[8];
	struct perf_event_header header = {.type = type, .misc = misc};
	bool sample = type == PERF_RECORD_SAMPLE;
	struct perf_output_handle handle = {0};
	struct perf_sample_id id = {0};
	size_t padding = -size & 7; /* E15 */

	if (sizeof(header) + size + padding + (size_t)event->id_header_size > U16_MAX)
		return -E2BIG;
	header.size = (u16)(sizeof(header) + size + padding);
	if (!sample)
		perf_event_header__init_id(&header, &id, event);
	if (perf_output_begin(&handle, &id, event, header.size))
		return -ENOSPC;
	perf_output_put(&handle, header);
	perf_output_copy(&handle, body, (unsigned int)size);
	perf_output_copy(&handle, zeroes, (unsigned int)padding);
	if (sample)
		perf_output_count_sample(event, handle.rb);
	else
		perf_event__output_id_sample(event, &handle, &id);
	perf_output_end(&handle);
	return 0;
}

static bool event_wants(const struct perf_event_attr *attr, uint32_t type, uint16_t misc)
{
	switch (type) {
	case PERF_RECORD_COMM:
		return attr->comm;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return misc & PERF_RECORD_MISC_MMAP_DATA ? attr->mmap_data :
							   attr->mmap || attr->mmap2;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return attr->comm || attr->mmap || attr->mmap2 || attr->mmap_data || attr->task;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return attr->context_switch;
	case PERF_RECORD_NAMESPACES:
		return attr->namespaces;
	default:
		return false;
	}
}

/* An event that did not ask for MMAP2 gets the older record. */
static void record_mmap(struct perf_event *event, uint16_t misc, const void *body, size_t size)
{
	char *shorter;

	if (event->attr.mmap2 || size < MMAP2_FIELDS) {
		core_event_record(event, PERF_RECORD_MMAP2, misc, body, size);
		return;
	}
	shorter = kmalloc(size - (MMAP2_FIELDS - MMAP_FIELDS), GFP_KERNEL);
	if (!shorter)
		return;
	memcpy(shorter, body, MMAP_FIELDS);
	memcpy(shorter + MMAP_FIELDS, (const char *)body + MMAP2_FIELDS, size - MMAP2_FIELDS);
	core_event_record(event, PERF_RECORD_MMAP, misc, shorter,
			  size - (MMAP2_FIELDS - MMAP_FIELDS));
	kfree(shorter);
}

static struct perf_event *event_before(const struct core_task *ctx, const struct perf_event *next)
{
	struct perf_event *e = ctx->events;

	while (e && e->next_in_ctx != next)
		e = e->next_in_ctx;
	return e;
}

/* F4: the most recently opened event first. */
static void context_record(struct core_task *ctx, uint32_t type, uint16_t misc, const void *body,
			   size_t size)
{
	struct perf_event *first = ctx->events;

	if (!first)
		return;
	for (struct perf_event *e = event_before(ctx, NULL); e;
	     e = e == first ? NULL : event_before(ctx, e)) {
		if (e->state < PERF_EVENT_STATE_INACTIVE)
			continue;
		if (e->cpu != -1 && e->cpu != core_cpu())
			continue;
		if (!event_wants(&e->attr, type, misc))
			continue;
		if (type == PERF_RECORD_MMAP2)
			record_mmap(e, misc, body, size);
		else
			core_event_record(e, type, misc, body, size);
	}
}

void core_task_record(struct core_task *task, uint32_t type, uint16_t misc, const void *body,
		      size_t size)
{
	struct core_task *ctx = core_cpu_context(core_cpu());

	core_set_record_task(task); /* the kernel writes these while the task is current */
	/* F4: EXIT is written after the task's events are scheduled out, to its context first */
	if (type == PERF_RECORD_EXIT) {
		event_sched_out_all(task);
		context_record(task, type, misc, body, size);
	}
	if (ctx != task)
		context_record(ctx, type, misc, body, size);
	if (type != PERF_RECORD_EXIT)
		context_record(task, type, misc, body, size);
	core_set_record_task(NULL);
}
