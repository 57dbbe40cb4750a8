// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See area_end.h. In a kernel with the bug, a begin that runs while the area is being unmapped
 * takes a reference, notices the unmapping, and drops the last reference. The kernel calls no
 * module between those two steps. So the module keeps the reference of the transaction that the
 * unmapping stops, and drops it in the next begin, which the kernel refuses because it has unmapped
 * the area meanwhile.
 */
#define AUX_CALLS_UNWRAPPED
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include "area_end.h"
#include "aux_calls.h"
#include "kmod_faults.h"
#include "unit_log.h"

/* ---- refcount-first: one ring at a time ---- */

static struct {
	/* the event whose area is being unmapped, or NULL */
	struct perf_event *event;
	void (*destroy)(struct perf_event *event); /* the original event->destroy */
	struct perf_output_handle handle;	   /* event is NULL: no reference is kept */
	unsigned long size;
	int cpu;
	bool armed; /* keep the reference of the next transaction that ends */
} kept;

static void drop_reference(void)
{
	struct perf_output_handle handle = kept.handle;

	kept.handle.event = NULL;
	perf_aux_output_end(&handle, kept.size);
}

/*
 * Kernels without preemption do not maintain the preemption count, so it is raised here: freeing
 * checks it before rescheduling, which is not allowed here.
 */
static void drop_in_transaction(void)
{
	__preempt_count_add(1);
	drop_reference();
	__preempt_count_sub(1);
}

/*
 * The event has no ring any more and no begin can run: drops a reference that is still kept,
 * because freeing is allowed here.
 */
static void event_destroy(struct perf_event *event)
{
	if (kept.handle.event) {
		drop_reference();
		irq_work_sync(&event->pending_irq); /* drop_reference() may have queued it */
	}
	event->destroy = kept.destroy;
	WRITE_ONCE(kept.event, NULL);
	if (event->destroy)
		event->destroy(event);
}

/* Called before the kernel unmaps the area, or the data pages, which it unmaps after the area. */
static void event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	if (fault_of_kernel() != KERNEL_REFCOUNT_FIRST || cmpxchg(&kept.event, NULL, event))
		return;
	kept.destroy = event->destroy;
	event->destroy = event_destroy;
	kept.armed = true;
}

bool area_end_keeps(struct perf_output_handle *handle, unsigned long size)
{
	if (handle->event != READ_ONCE(kept.event) || !kept.armed)
		return false;
	kept.armed = false;
	if (fault_of_kernel() != KERNEL_REFCOUNT_FIRST)
		return false;
	kept.handle = *handle;
	kept.size = size;
	kept.cpu = smp_processor_id();
	handle->event = NULL;
	return true;
}

void area_end_refused(const struct perf_event *event)
{
	/* in an interrupt arm64 cannot free an area at all */
	if (event == READ_ONCE(kept.event) && kept.handle.event && kept.cpu == smp_processor_id() &&
	    !in_interrupt())
		drop_in_transaction();
}

/* ---- the drivers' areas ---- */

#define MAX_PMUS 2

static void (*free_aux[MAX_PMUS])(void *area);
static unsigned int nr_pmus;

static void free_area(unsigned int nr, void *area)
{
	unit_logs_freed(area, irqs_disabled() || in_interrupt());
	free_aux[nr](area);
}

static void free_first(void *area)
{
	free_area(0, area);
}

static void free_second(void *area)
{
	free_area(1, area);
}

int area_end_register(struct pmu *pmu, const char *name, int type)
{
	static void (*const frees[MAX_PMUS])(void *) = {free_first, free_second};

	if (WARN_ON(nr_pmus == MAX_PMUS))
		return -ENOSPC;
	free_aux[nr_pmus] = pmu->free_aux;
	pmu->free_aux = frees[nr_pmus++];
	pmu->event_unmapped = event_unmapped;
	return perf_pmu_register(pmu, name, type);
}
