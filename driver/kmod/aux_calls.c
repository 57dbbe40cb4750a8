// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See aux_calls.h. All functions are called on the unit's CPU with interrupts off, as the kernel
 * requires. The kernel sets flags in an event and queues its irq_work; until that runs, the flags
 * can be read and cleared. Rules D6, D10, D17: docs/kernel-rules.md.
 */
#define AUX_CALLS_UNWRAPPED
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "aux_calls.h"
#include "kmod_faults.h"
#include "pmu/arm_area.h"
#include "unit_log.h"

/* The aux_wakeup that a kernel with the bug would have for the ring last used on this CPU. */
struct buggy_wakeup {
	const struct perf_buffer *rb;
	unsigned int nr_set; /* fault_nr_set(): a later ring may be allocated at the same address */
	u64 aux_wakeup;
};
static DEFINE_PER_CPU(struct buggy_wakeup, buggy_wakeups);

static u64 watermark_of(struct perf_event *event)
{
	const struct perf_event *owner = event->parent ?: event;

	return owner->attr.aux_watermark ?:
		       unit_log_of(event)->kind->area_bytes(unit_log_of(event)->area) / 2;
}

/* ---- effects of the kernel's call ---- */

/*
 * Otherwise calls pass through unchanged: other CPUs may set an event's flags, too, and one that is
 * set between save_wakeup() and restore_wakeup() may be lost.
 */
static bool is_observed(const struct unit_log *log)
{
	return log->entries || fault_of_kernel() || fault_of_unit() == UNIT_PADDING_MISSING;
}

struct saved_wakeup {
	unsigned int wakeup;
};

static void save_wakeup(struct perf_event *event, struct saved_wakeup *saved)
{
	saved->wakeup = event->pending_wakeup;
	event->pending_wakeup = 0;
}

/* Returns whether the call in between has woken the reader. */
static bool restore_wakeup(struct perf_event *event, const struct saved_wakeup *saved)
{
	bool woken = event->pending_wakeup;

	event->pending_wakeup |= saved->wakeup;
	return woken;
}

static void wake_reader(struct perf_event *event)
{
	event->pending_wakeup = 1;
	irq_work_queue(&event->pending_irq);
}

/* The kernel has flagged a truncated event for disabling. */
static void note_truncated(struct perf_event *event)
{
	enum kernel_fault fault = fault_of_kernel();

	if (fault == KERNEL_TRUNCATION_GOES_ON ||
	    (fault == KERNEL_DISABLE_LOST && !smp_processor_id()))
		event->pending_disable = 0;
	unit_log_truncated(unit_log_of(event), event);
}

/* ---- wakeup-by-one, overwrite-watermark ---- */

static void begin_with_bug(struct perf_output_handle *handle, struct perf_event *event,
			   bool overwrite)
{
	struct buggy_wakeup *w = this_cpu_ptr(&buggy_wakeups);
	u64 watermark = watermark_of(event);

	if (w->rb != handle->rb || w->nr_set != fault_nr_set()) {
		w->rb = handle->rb;
		w->nr_set = fault_nr_set();
		w->aux_wakeup = overwrite ? 0 : handle->wakeup - watermark;
	}
	if (!overwrite && fault_of_kernel() == KERNEL_WAKEUP_BY_ONE)
		handle->wakeup = w->aux_wakeup + watermark;
}

/* Whether a kernel with the bug would wake the reader at this head. */
static bool bug_wakes(struct perf_output_handle *handle, u64 head, u64 watermark, bool overwrite)
{
	struct buggy_wakeup *w = this_cpu_ptr(&buggy_wakeups);
	enum kernel_fault fault = fault_of_kernel();

	if (w->rb != handle->rb ||
	    fault != (overwrite ? KERNEL_OVERWRITE_WATERMARK : KERNEL_WAKEUP_BY_ONE) ||
	    (s64)(head - w->aux_wakeup) < (s64)watermark)
		return false;
	if (overwrite)
		w->aux_wakeup = div64_u64(head, watermark) * watermark;
	else
		w->aux_wakeup += watermark;
	return true;
}

/* ---- the calls ---- */

void *aux_calls_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	struct unit_log *log = unit_log_of(event);
	struct saved_wakeup saved;
	void *area;
	bool woken;

	if (!is_observed(log)) {
		area = perf_aux_output_begin(handle, event);
		if (area)
			unit_log_open(log, handle, event, area);
		else
			area_end_refused(event);
		return area;
	}
	save_wakeup(event, &saved);
	area = perf_aux_output_begin(handle, event);
	woken = restore_wakeup(event, &saved);
	if (area) {
		unit_log_open(log, handle, event, area);
		begin_with_bug(handle, event, log->kind->area_is_snapshot(area));
	} else if (woken) { /* D6 */
		unit_log_refused(log, handle);
		note_truncated(event);
	} else {
		area_end_refused(event);
	}
	return area;
}

void aux_calls_end(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_event *event = handle->event;
	struct unit_log *log = event ? unit_log_of(event) : NULL;
	struct saved_wakeup saved;
	bool woken, overwrite, truncated;
	u64 watermark, head;

	if (!log || !is_observed(log)) { /* D17 */
		if (log)
			unit_log_close(log);
		perf_aux_output_end(handle, size);
		return;
	}
	if (area_end_keeps(handle, size)) {
		unit_log_close(log);
		return;
	}
	overwrite = log->area && log->kind->area_is_snapshot(log->area);
	watermark = log->area ? watermark_of(event) : 1;
	head = handle->head + (overwrite ? 0 : size);
	save_wakeup(event, &saved);
	perf_aux_output_end(handle, size);
	woken = restore_wakeup(event, &saved);
	truncated = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	if (log->area && bug_wakes(handle, head, watermark, overwrite) && !woken) {
		wake_reader(event);
		woken = true;
	}
	unit_log_close(log);
	/* a truncation wakes the reader in any case */
	unit_log_head(log, head, woken && (!truncated || overwrite || unit_log_passes(log, head)));
	if (truncated)
		note_truncated(event);
}

/* Overwrites the padding of the bytes that the driver skips; only Arm's drivers pad. */
static void overwrite_padding(struct perf_output_handle *handle, unsigned long size)
{
	const struct arm_area *area = perf_get_aux(handle);
	u64 bytes = (u64)area->nr_pages << PAGE_SHIFT, off = handle->head & (bytes - 1);
	u64 first = min_t(u64, size, bytes - off);

	memset(area->base + off, UNIT_NO_PADDING, first);
	memset(area->base, UNIT_NO_PADDING, size - first);
}

int aux_calls_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_event *event = handle->event;
	struct unit_log *log = event ? unit_log_of(event) : NULL;
	struct saved_wakeup saved;
	bool woken;
	int err;

	if (!log || !is_observed(log) || size > handle->size) /* D10 */
		return perf_aux_output_skip(handle, size);
	if (fault_of_unit() == UNIT_PADDING_MISSING)
		overwrite_padding(handle, size);
	save_wakeup(event, &saved);
	err = perf_aux_output_skip(handle, size);
	if (fault_of_kernel() == KERNEL_SKIP_WITHOUT_WAKEUP)
		event->pending_wakeup = 0;
	woken = restore_wakeup(event, &saved);
	if (fault_of_kernel() == KERNEL_WAKEUP_BY_ONE) {
		if (bug_wakes(handle, handle->head, watermark_of(event), false) && !woken) {
			wake_reader(event);
			woken = true;
		}
		handle->wakeup = this_cpu_ptr(&buggy_wakeups)->aux_wakeup + watermark_of(event);
	}
	unit_log_head(log, handle->head, woken);
	return err;
}

void aux_calls_flag(struct perf_output_handle *handle, u64 flags)
{
	if (fault_of_kernel() == KERNEL_PARTIAL_AS_TRUNCATED && flags & PERF_AUX_FLAG_PARTIAL)
		flags = (flags & ~(u64)PERF_AUX_FLAG_PARTIAL) | PERF_AUX_FLAG_TRUNCATED;
	perf_aux_output_flag(handle, flags);
}
