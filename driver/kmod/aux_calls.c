// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See aux_calls.h. All are called on their CPU with interrupts off, as the kernel requires. The
 * kernel sets flags in an event and queues its irq_work; until that runs the flags can be seen and
 * cleared.
 */
#define AUX_CALLS_OF_THE_KERNEL
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "aux_calls.h"
#include "kmod_faults.h"
#include "pmu/arm_area.h"
#include "unit_log.h"

/* What aux_wakeup would be in a kernel with a bug, of the ring last used on this CPU. */
struct wrong_wakeup {
	const struct perf_buffer *rb;
	unsigned int nr_set; /* of the fault: another ring may be allocated at the same address */
	u64 aux_wakeup;
};
static DEFINE_PER_CPU(struct wrong_wakeup, wrong_wakeups);

static u64 watermark_of(struct perf_event *event)
{
	const struct perf_event *owner = event->parent ?: event;

	return owner->attr.aux_watermark ?:
		       unit_log_of(event)->kind->area_bytes(unit_log_of(event)->area) / 2;
}

/* ---- effects of the kernel's call ---- */

/*
 * Otherwise calls pass through unchanged: other CPUs may set an event's flags, too, and one set
 * here in between is lost.
 */
static bool watched(const struct unit_log *log)
{
	return log->entries || fault_of_kernel() || fault_of_unit() == UNIT_PADDING_MISSING;
}

struct saved {
	unsigned int wakeup;
};

static void before(struct perf_event *event, struct saved *saved)
{
	saved->wakeup = event->pending_wakeup;
	event->pending_wakeup = 0;
}

/* Whether the call has woken the reader. */
static bool after(struct perf_event *event, const struct saved *saved)
{
	bool woken = event->pending_wakeup;

	event->pending_wakeup |= saved->wakeup;
	return woken;
}

static void wake(struct perf_event *event)
{
	event->pending_wakeup = 1;
	irq_work_queue(&event->pending_irq);
}

/* The kernel has flagged a truncated event for disabling. */
static void truncated(struct perf_event *event)
{
	enum kernel_fault fault = fault_of_kernel();

	if (fault == KERNEL_TRUNCATION_GOES_ON ||
	    (fault == KERNEL_DISABLE_LOST && !smp_processor_id()))
		event->pending_disable = 0;
	unit_log_truncated(unit_log_of(event), event);
}

/* ---- wakeup-by-one, overwrite-watermark ---- */

static void begin_wrong(struct perf_output_handle *handle, struct perf_event *event, bool overwrite)
{
	struct wrong_wakeup *w = this_cpu_ptr(&wrong_wakeups);
	u64 watermark = watermark_of(event);

	if (w->rb != handle->rb || w->nr_set != fault_nr_set()) {
		w->rb = handle->rb;
		w->nr_set = fault_nr_set();
		w->aux_wakeup = overwrite ? 0 : handle->wakeup - watermark;
	}
	if (!overwrite && fault_of_kernel() == KERNEL_WAKEUP_BY_ONE)
		handle->wakeup = w->aux_wakeup + watermark;
}

/* Whether that kernel would wake at this head. */
static bool wrong_wake(struct perf_output_handle *handle, u64 head, u64 watermark, bool overwrite)
{
	struct wrong_wakeup *w = this_cpu_ptr(&wrong_wakeups);
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
	struct saved saved;
	void *area;
	bool woken;

	if (!watched(log)) {
		area = perf_aux_output_begin(handle, event);
		if (area)
			unit_log_open(log, handle, event, area);
		else
			area_end_refused(event);
		return area;
	}
	before(event, &saved);
	area = perf_aux_output_begin(handle, event);
	woken = after(event, &saved);
	if (area) {
		unit_log_open(log, handle, event, area);
		begin_wrong(handle, event, log->kind->area_overwritten(area));
	} else if (woken) { /* D6 */
		unit_log_refused(log, handle);
		truncated(event);
	} else {
		area_end_refused(event);
	}
	return area;
}

void aux_calls_end(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_event *event = handle->event;
	struct unit_log *log = event ? unit_log_of(event) : NULL;
	struct saved saved;
	bool woken, overwrite, cut;
	u64 watermark, head;

	if (!log || !watched(log)) { /* D17 */
		if (log)
			unit_log_close(log);
		perf_aux_output_end(handle, size);
		return;
	}
	if (area_end_keeps(handle, size)) {
		unit_log_close(log);
		return;
	}
	overwrite = log->area && log->kind->area_overwritten(log->area);
	watermark = log->area ? watermark_of(event) : 1;
	head = handle->head + (overwrite ? 0 : size);
	before(event, &saved);
	perf_aux_output_end(handle, size);
	woken = after(event, &saved);
	cut = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	if (log->area && wrong_wake(handle, head, watermark, overwrite) && !woken) {
		wake(event);
		woken = true;
	}
	unit_log_close(log);
	/* a truncation wakes it in any case */
	unit_log_head(log, head, woken && (!cut || overwrite || unit_log_passes(log, head)));
	if (cut)
		truncated(event);
}

/* Overwrites the bytes that the driver has just skipped: only Arm's drivers pad. */
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
	struct perf_event *event = handle->event;
	struct unit_log *log = event ? unit_log_of(event) : NULL;
	struct saved saved;
	bool woken;
	int err;

	if (!log || !watched(log) || size > handle->size) /* D10 */
		return perf_aux_output_skip(handle, size);
	if (fault_of_unit() == UNIT_PADDING_MISSING)
		lose_padding(handle, size);
	before(event, &saved);
	err = perf_aux_output_skip(handle, size);
	if (fault_of_kernel() == KERNEL_SKIP_WITHOUT_WAKEUP)
		event->pending_wakeup = 0;
	woken = after(event, &saved);
	if (fault_of_kernel() == KERNEL_WAKEUP_BY_ONE) {
		if (wrong_wake(handle, handle->head, watermark_of(event), false) && !woken) {
			wake(event);
			woken = true;
		}
		handle->wakeup = this_cpu_ptr(&wrong_wakeups)->aux_wakeup + watermark_of(event);
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
