// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits and padding that SPE and TRBE share: rules I2 to I5, J2 of docs/kernel-rules.md. Both
 * units stop at a page boundary, so wakeups are rounded up (PT rounds down), and space that ends
 * inside a page is padded.
 */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "arm_area.h"

struct arm_area *arm_area_new(void **pages, int nr_pages, bool snapshot, u8 pad, int node)
{
	struct arm_area *area;
	struct page **list;
	int i;

	/* I1: so that each half of a snapshot's area is a whole number of pages, too */
	if (nr_pages < 2 || !is_power_of_2(nr_pages))
		return NULL;
	area = kzalloc_node(sizeof(*area), GFP_KERNEL, node);
	list = kcalloc(nr_pages, sizeof(*list), GFP_KERNEL);
	if (!area || !list)
		goto fail;
	for (i = 0; i < nr_pages; i++)
		list[i] = virt_to_page(pages[i]);
	/* The chunks (C5) need not be contiguous; the unit uses virtual addresses. */
	area->base = vmap(list, nr_pages, VM_MAP, PAGE_KERNEL);
	if (!area->base)
		goto fail;
	kfree(list);
	area->nr_pages = nr_pages;
	area->snapshot = snapshot;
	area->pad = pad;
	return area;
fail:
	kfree(list);
	kfree(area);
	return NULL;
}

void arm_area_free(struct arm_area *area)
{
	if (!area)
		return;
	vunmap(area->base);
	kfree(area);
}

u64 arm_area_bytes(const struct arm_area *area)
{
	return (u64)area->nr_pages << PAGE_SHIFT;
}

u64 arm_area_off(const struct arm_area *area, u64 pos_abs)
{
	return pos_abs & (arm_area_bytes(area) - 1);
}

void arm_area_pad(const struct arm_area *area, struct perf_output_handle *handle,
		  unsigned long nr_bytes)
{
	u64 head_off = arm_area_off(area, handle->head);
	unsigned long first = min((u64)nr_bytes, arm_area_bytes(area) - head_off);

	memset(area->base + head_off, area->pad, first);
	memset(area->base, area->pad, nr_bytes - first);
	if (!area->snapshot)
		perf_aux_output_skip(handle, nr_bytes);
}

u64 arm_area_limit(const struct arm_area *area, struct perf_output_handle *handle,
		   unsigned long align)
{
	unsigned long delta = -handle->head & (align - 1);
	u64 head_off, tail_off, wakeup_off, limit = arm_area_bytes(area);

	/*
	 * I2: the unit starts only at multiples of align, but head need not be one: a unit may stop
	 * after any record, and an area that was filled with padding ends one byte before the tail
	 * (D5).
	 */
	if (delta)
		arm_area_pad(area, handle, min(delta, handle->size));
	if (!handle->size)
		return 0;
	head_off = arm_area_off(area, handle->head);
	tail_off = arm_area_off(area, handle->head + handle->size);
	wakeup_off = arm_area_off(area, handle->wakeup);
	/* I3: if both are equal the area is empty; a tail below head: free up to the area's end */
	if (head_off < tail_off)
		limit = round_down(tail_off, PAGE_SIZE);
	/* I4: compares the difference, not the sum: neither may overflow (L8). */
	if (handle->wakeup - handle->head < handle->size && head_off <= wakeup_off)
		limit = min(limit, round_up(wakeup_off, (u64)PAGE_SIZE));
	if (limit > head_off)
		return limit;
	arm_area_pad(area, handle, handle->size); /* I5, I7 */
	return 0;
}
