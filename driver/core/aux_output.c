// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * AUX transactions (docs/kernel-rules.md, section D): a PMU driver opens one before its hardware
 * may store, and closes it with the number of bytes stored. data_ring.c stores their records;
 * aux_area.c allocates the area.
 */
#include "core/perf_buffer.h"

/* PERF_RECORD_AUX (section F of the rules) */
struct aux_record {
	struct perf_event_header header;
	u64 offset, size, flags;
};

static const struct core_injected_bugs *injected_bugs_of(const struct perf_event *event)
{
	static const struct core_injected_bugs none;

	return event->kernel->bugs ? event->kernel->bugs : &none;
}

#define notify_observer(call, ...)                                                  \
	do {                                                                        \
		if (core_machine.observer && core_machine.observer->call)           \
			core_machine.observer->call(core_machine.ctx, __VA_ARGS__); \
	} while (0)

static void aux_wakeup(struct perf_output_handle *handle)
{
	notify_observer(aux_wakeup, handle->event);
	perf_output_wakeup(handle);
}

static void aux_disable(struct perf_event *event)
{
	if (!injected_bugs_of(event)->truncation_goes_on)
		perf_event_disable_inatomic(event);
}

/*
 * D5: one byte stays free, so that full and empty differ. A tail ahead of head, or the area's size
 * or more below it, leaves no space.
 */
static unsigned long aux_space(u64 head_abs, u64 tail_abs, u64 aux_size)
{
	if (head_abs - tail_abs >= aux_size)
		return 0;
	return (tail_abs - head_abs - 1) & (aux_size - 1);
}

/*
 * D18: one wakeup, however many watermarks were passed; rb->aux_wakeup becomes the last one.
 * Signed: if the area was in overwrite mode before it was mapped again, aux_head may be smaller
 * than aux_wakeup.
 */
static bool rb_need_aux_wakeup(struct perf_buffer *rb, const struct core_injected_bugs *bugs)
{
	if (rb->aux_overwrite && !bugs->overwrite_watermark)
		return false;
	if ((s64)(rb->aux_head - rb->aux_wakeup) >= (s64)rb->aux_watermark) {
		/* 0 is for overwrite mode, which has returned */
		if (WARN_ON_ONCE(!rb->aux_watermark))
			return true;
		if (bugs->wakeup_by_one)
			rb->aux_wakeup += rb->aux_watermark;
		else
			rb->aux_wakeup = (u64)rounddown((s64)rb->aux_head, (s64)rb->aux_watermark);
		return true;
	}
	return false;
}

/* If this bug is injected, aux_head behaves as if it were 32 bits wide (section A of the rules). */
static void cut_head_to_32_bits(struct perf_buffer *rb, const struct core_injected_bugs *bugs)
{
	if (bugs->head_32_bit)
		rb->aux_head = (u32)rb->aux_head;
}

/* D2: check the count first, then take the reference. */
static bool aux_get(struct perf_buffer *rb, const struct core_injected_bugs *bugs)
{
	bool used;

	if (bugs->refcount_first) {
		if (!rb->aux_refcount)
			return false;
		rb->aux_refcount++;
		if (core_machine.observer && core_machine.observer->race)
			core_machine.observer->race(core_machine.ctx);
		used = READ_ONCE(rb->aux_mmap_count);
		if (!used)
			rb_free_aux(rb);
		return used;
	}
	/*
	 * Read before the reference is taken: unmapping (B18) clears the count first, then drops
	 * its reference.
	 */
	used = READ_ONCE(rb->aux_mmap_count);
	if (core_machine.observer && core_machine.observer->race)
		core_machine.observer->race(core_machine.ctx);
	if (!used || !rb->aux_refcount)
		return false;
	rb->aux_refcount++;
	return true;
}

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	struct perf_event *output_event = event->parent ? event->parent : event; /* D1 */
	const struct core_injected_bugs *bugs = injected_bugs_of(event);
	struct perf_buffer *rb;
	bool full = false;

	/* D2 demands this order; D3: without a ring handle->event stays as it was. */
	rb = ring_buffer_get(output_event);
	if (!rb)
		return NULL;
	if (!rb_has_aux(rb))
		goto err;
	if (!aux_get(rb, bugs))
		goto err;
	if (WARN_ON_ONCE(rb->aux_nest))
		goto err_put;
	rb->aux_nest = 1;

	handle->rb = rb; /* D4 */
	handle->event = event;
	handle->head = rb->aux_head;
	handle->size = 0;
	/* until here the flags of the previous transaction are readable (section A) */
	handle->aux_flags = 0;
	/* D7: in overwrite mode the tail is ignored and wakeup is not set */
	if (!rb->aux_overwrite) {
		u64 tail_abs = ring_load_aux_tail(rb); /* D8 */

		handle->wakeup = rb->aux_wakeup + rb->aux_watermark;
		handle->size = aux_space(rb->aux_head, tail_abs, perf_aux_size(rb));
		if (!handle->size) { /* D6: no record, no flag */
			aux_disable(event);
			aux_wakeup(handle);
			rb->aux_nest = 0;
			full = true;
			goto err_put;
		}
	}
	notify_observer(aux_begin, handle, event, false);
	return rb->aux_priv;

err_put:
	rb_free_aux(rb);
err:
	ring_buffer_put(rb);
	handle->event = NULL;
	notify_observer(aux_begin, handle, event, full);
	return NULL;
}

/* D9 */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	if (WARN_ON_ONCE(flags & PERF_AUX_FLAG_OVERWRITE))
		return;
	if (handle->event && injected_bugs_of(handle->event)->partial_is_truncated &&
	    flags & PERF_AUX_FLAG_PARTIAL)
		flags = (flags & ~PERF_AUX_FLAG_PARTIAL) | PERF_AUX_FLAG_TRUNCATED;
	handle->aux_flags |= flags;
}

/* F3: written to the ring like any record, so it can be lost; the handle's event may be a child. */
static int perf_event_aux_event(struct perf_event *event, u64 offset, u64 size, u64 flags)
{
	struct aux_record rec = {
		.header = {.type = PERF_RECORD_AUX, .size = sizeof(rec)},
		.offset = offset,
		.size = size,
		.flags = flags,
	};
	struct perf_output_handle handle = {0};
	struct perf_sample_id id = {0};

	perf_event_header__init_id(&rec.header, &id, event);
	if (perf_output_begin(&handle, &id, event, rec.header.size))
		return -ENOSPC;
	perf_output_put(&handle, rec);
	perf_event__output_id_sample(event, &handle, &id);
	perf_output_end(&handle);
	return 0;
}

/* D14 */
static bool aux_needs_record(const struct perf_event *event, unsigned long size, u64 flags)
{
	u64 ignored = PERF_AUX_FLAG_OVERWRITE;

	if (event->kernel->aux_gate_masks_format) /* L2 */
		ignored |= PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;
	return size || flags & ~ignored;
}

void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	bool wakeup = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	struct perf_event *event = handle->event;
	struct perf_buffer *rb = handle->rb;
	bool record_expected, lost = false;
	u64 offset;

	if (WARN_ON_ONCE(!event))
		return;
	/* D13: handle->head is the driver's position; the record gives the end, not a start */
	if (rb->aux_overwrite) {
		handle->aux_flags |= PERF_AUX_FLAG_OVERWRITE;
		rb->aux_head = handle->head;
		offset = rb->aux_head;
	} else { /* D12 */
		handle->aux_flags &= ~(u64)PERF_AUX_FLAG_OVERWRITE;
		offset = rb->aux_head;
		rb->aux_head += size;
	}
	cut_head_to_32_bits(rb, injected_bugs_of(event));
	record_expected = aux_needs_record(event, size, handle->aux_flags);
	if (record_expected)
		lost = perf_event_aux_event(event, offset, size, handle->aux_flags);
	ring_store_aux_head(rb, rb->aux_head); /* D15: after the record */
	notify_observer(aux_end, handle, offset, size, record_expected, lost);
	if (rb_need_aux_wakeup(rb, injected_bugs_of(event)))
		wakeup = true;
	if (wakeup) { /* D16 */
		if (handle->aux_flags & PERF_AUX_FLAG_TRUNCATED)
			aux_disable(event);
		aux_wakeup(handle);
	}
	handle->event = NULL; /* D17 */
	rb->aux_nest = 0;
	rb_free_aux(rb);
	ring_buffer_put(rb);
}

int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_buffer *rb = handle->rb;
	const struct core_injected_bugs *bugs;

	if (WARN_ON_ONCE(!handle->event))
		return -EINVAL;
	bugs = injected_bugs_of(handle->event);
	if (size > handle->size) { /* D10 */
		notify_observer(aux_skip, handle, size, -ENOSPC);
		return -ENOSPC;
	}
	rb->aux_head += size; /* D11: published at once, no record */
	cut_head_to_32_bits(rb, bugs);
	ring_store_aux_head(rb, rb->aux_head);
	notify_observer(aux_skip, handle, size, 0);
	if (rb_need_aux_wakeup(rb, bugs)) {
		if (!bugs->skip_without_wakeup)
			aux_wakeup(handle);
		handle->wakeup = rb->aux_wakeup + rb->aux_watermark;
	}
	handle->head = rb->aux_head;
	handle->size -= size;
	return 0;
}

/* D20 */
void *perf_get_aux(struct perf_output_handle *handle)
{
	return handle->event ? handle->rb->aux_priv : NULL;
}
