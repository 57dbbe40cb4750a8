// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See aux_calls.h. All are called on their CPU with interrupts off, as the kernel wants it. */
#define AUX_CALLS_OF_THE_KERNEL
#include <linux/string.h>
#include "aux_calls.h"
#include "faults.h"
#include "pmu/arm_area.h"
#include "unit_log.h"

void *aux_calls_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	void *area = perf_aux_output_begin(handle, event);

	if (area)
		unit_log_open(unit_log_of(event), handle, event, area);
	return area;
}

void aux_calls_end(struct perf_output_handle *handle, unsigned long size)
{
	if (handle->event)
		unit_log_close(unit_log_of(handle->event));
	perf_aux_output_end(handle, size);
}

/* What the driver has just filled is something else: of the drivers only Arm's pad. */
static void lose_padding(struct perf_output_handle *handle, unsigned long size)
{
	const struct arm_area *area = perf_get_aux(handle);
	u64 bytes = (u64)area->nr_pages << PAGE_SHIFT, off = handle->head & (bytes - 1);
	u64 first = min_t(u64, size, bytes - off);

	memset(area->base + off, UNIT_NO_PADDING, first);
	memset(area->base, UNIT_NO_PADDING, size - first);
}

int aux_calls_skip(struct perf_output_handle *handle, unsigned long size)
{
	if (fault_of_unit() == UNIT_PADDING_MISSING && size <= handle->size)
		lose_padding(handle, size);
	return perf_aux_output_skip(handle, size);
}

void aux_calls_flag(struct perf_output_handle *handle, u64 flags)
{
	perf_aux_output_flag(handle, flags);
}
