// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * AUX transactions (section D): what a PMU driver opens before its hardware may store, and
 * closes with the number of bytes stored. Their records go through data_ring.c; the area
 * itself comes from aux_area.c.
 */
#include "core/perf_buffer.h"

/* F: PERF_RECORD_AUX */
struct aux_record {
	struct perf_event_header header;
	u64 offset, size, flags;
};

/* D5: one byte stays free, so that full and empty differ; a tail ahead of head, or a lap behind, gives no room. */
static unsigned long aux_space(u64 head_abs, u64 tail_abs, u64 aux_size)
{
	if (head_abs - tail_abs >= aux_size)
		return 0;
	return (tail_abs - head_abs - 1) & (aux_size - 1);
}

/*
 * D18: >=, and to the last multiple passed, whatever number of them that is. Signed: an area
 * that was overwritten before it was mapped anew may have left aux_head behind aux_wakeup.
 */
static bool rb_need_aux_wakeup(struct perf_buffer *rb)
{
	if (rb->aux_overwrite)
		return false;
	if ((s64)(rb->aux_head - rb->aux_wakeup) >= (s64)rb->aux_watermark) {
		rb->aux_wakeup = (u64)rounddown((s64)rb->aux_head, (s64)rb->aux_watermark);
		return true;
	}
	return false;
}

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	struct perf_event *output_event = event->parent ? event->parent : event; /* D1 */
	struct perf_buffer *rb;

	/* D2: from here in this order; D3: without a ring handle->event stays as it was. */
	rb = ring_buffer_get(output_event);
	if (!rb)
		return NULL;
	if (!rb_has_aux(rb))
		goto err;
	/* Read before the reference is taken: B18 clears the count first, then drops its reference. */
	if (!READ_ONCE(rb->aux_mmap_count))
		goto err;
	if (!rb->aux_refcount)
		goto err;
	rb->aux_refcount++;
	if (WARN_ON_ONCE(rb->aux_nest))
		goto err_put;
	rb->aux_nest = 1;

	handle->rb = rb; /* D4 */
	handle->event = event;
	handle->head = rb->aux_head;
	handle->size = 0;
	handle->aux_flags = 0; /* A: until here those of the transaction before can be read */
	if (!rb->aux_overwrite) { /* D7: else the tail is ignored, wakeup not set */
		u64 tail_abs = ring_load_aux_tail(rb); /* D8 */

		handle->wakeup = rb->aux_wakeup + rb->aux_watermark;
		handle->size = aux_space(rb->aux_head, tail_abs, perf_aux_size(rb));
		if (!handle->size) { /* D6: no record, no flag */
			perf_event_mark_disable(event);
			perf_output_wakeup(handle);
			rb->aux_nest = 0;
			goto err_put;
		}
	}
	return rb->aux_priv;

err_put:
	rb_free_aux(rb);
err:
	ring_buffer_put(rb);
	handle->event = NULL;
	return NULL;
}

/* D9 */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	if (WARN_ON_ONCE(flags & PERF_AUX_FLAG_OVERWRITE))
		return;
	handle->aux_flags |= flags;
}

/* F3: through the ring as any record, so it can be lost; the handle's event may be a child. */
static void perf_event_aux_event(struct perf_event *event, u64 offset, u64 size, u64 flags)
{
	struct aux_record rec = {
		.header = { .type = PERF_RECORD_AUX, .size = sizeof(rec) },
		.offset = offset,
		.size = size,
		.flags = flags,
	};
	struct perf_output_handle handle = { 0 };
	struct perf_sample_id id = { 0 };

	perf_event_header__init_id(&rec.header, &id, event);
	if (perf_output_begin(&handle, &id, event, rec.header.size))
		return;
	perf_output_put(&handle, rec);
	perf_event__output_id_sample(event, &handle, &id);
	perf_output_end(&handle);
}

/* D14 */
static bool aux_worth_a_record(const struct perf_event *event, unsigned long size, u64 flags)
{
	u64 silent = PERF_AUX_FLAG_OVERWRITE;

	if (event->kernel->aux_gate_masks_format) /* L2 */
		silent |= PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;
	return size || flags & ~silent;
}

void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	bool wakeup = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	struct perf_event *event = handle->event;
	struct perf_buffer *rb = handle->rb;
	u64 offset;

	if (WARN_ON_ONCE(!event))
		return;
	if (rb->aux_overwrite) { /* D13: the driver's position; the record tells the end */
		handle->aux_flags |= PERF_AUX_FLAG_OVERWRITE;
		rb->aux_head = handle->head;
		offset = rb->aux_head;
	} else { /* D12 */
		handle->aux_flags &= ~(u64)PERF_AUX_FLAG_OVERWRITE;
		offset = rb->aux_head;
		rb->aux_head += size;
	}
	if (aux_worth_a_record(event, size, handle->aux_flags))
		perf_event_aux_event(event, offset, size, handle->aux_flags);
	ring_store_aux_head(rb, rb->aux_head); /* D15: after the record */
	if (rb_need_aux_wakeup(rb))
		wakeup = true;
	if (wakeup) { /* D16 */
		if (handle->aux_flags & PERF_AUX_FLAG_TRUNCATED)
			perf_event_mark_disable(event);
		perf_output_wakeup(handle);
	}
	handle->event = NULL; /* D17 */
	rb->aux_nest = 0;
	rb_free_aux(rb);
	ring_buffer_put(rb);
}

int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_buffer *rb = handle->rb;

	if (WARN_ON_ONCE(!handle->event))
		return -EINVAL;
	if (size > handle->size) /* D10 */
		return -ENOSPC;
	rb->aux_head += size; /* D11: published at once, no record */
	ring_store_aux_head(rb, rb->aux_head);
	if (rb_need_aux_wakeup(rb)) {
		perf_output_wakeup(handle);
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
