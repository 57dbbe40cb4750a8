// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data ring's writer: space, losses, nesting, wakeups (docs/kernel-rules.md, section E).
 * Readers are in another process; they see data_head and the bytes before it. aux_output.c and
 * core_sideband.c write their records through this file.
 */
#include "core/perf_buffer.h"
#include <linux/slab.h>
#include <poll.h>

/* F: PERF_RECORD_LOST, without its sample id */
struct lost_record {
	struct perf_event_header header;
	u64 id, lost;
};

/* E4: one byte stays free. The reader writes tail; the mask makes any value safe. */
static bool ring_has_space(u64 head, u64 tail, u64 data_size, unsigned int size, bool backward)
{
	u64 space = backward ? (head - tail - 1) & (data_size - 1) :
			       (tail - head - 1) & (data_size - 1);

	return space >= size;
}

/* E10: the outermost writer publishes; handle->wakeup keeps the value that E11 compares with. */
static void output_get(struct perf_output_handle *handle)
{
	handle->rb->nest++;
	handle->wakeup = handle->rb->wakeup;
}

static void output_put(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;
	u64 head;

	if (rb->nest > 1) {
		rb->nest--;
		return;
	}
	/* A writer that interrupted between publish and nest = 0 saw nest 1 and did not publish. */
	for (;;) {
		head = rb->head;
		ring_store_data_head(rb, head);
		WRITE_ONCE(rb->nest, 0);
		if (head == READ_ONCE(rb->head))
			break;
		WRITE_ONCE(rb->nest, 1);
	}
	if (handle->wakeup != rb->wakeup) /* E11 */
		perf_output_wakeup(handle);
}

static int output_begin(struct perf_output_handle *handle, struct perf_sample_id *id,
			struct perf_event *event, unsigned int size, bool backward)
{
	struct lost_record lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(lost)}};
	struct perf_buffer *rb;
	bool have_lost;
	u64 offset, head_abs;

	if (event->parent) /* E1 */
		event = event->parent;
	rb = event->rb;
	if (!rb) /* E2 */
		return -ENOSPC;
	if (rb->paused) { /* E2; without data pages losses are not counted (B16) */
		if (rb->nr_pages) {
			rb->lost++;
			event->lost_samples++;
		}
		return -ENOSPC;
	}
	handle->rb = rb;
	handle->event = event;
	have_lost = rb->lost != 0;
	if (have_lost) { /* E3: both or none */
		size += sizeof(lost);
		if (event->attr.sample_id_all)
			size += (unsigned int)event->id_header_size;
	}
	output_get(handle);
	if (!rb->overwrite && /* E14 */
	    !ring_has_space(rb->head, ring_load_data_tail(rb), perf_data_size(rb), size,
			    backward)) {
		rb->lost++;
		event->lost_samples++; /* E9 */
		output_put(handle);    /* E11: a failed begin publishes too */
		return -ENOSPC;
	}
	if (backward) { /* E5 */
		rb->head -= size;
		offset = rb->head;
		head_abs = -rb->head;
	} else {
		offset = rb->head;
		rb->head += size;
		head_abs = rb->head;
	}
	if (head_abs - rb->wakeup > rb->watermark) /* E6: strictly greater, one step per record */
		rb->wakeup += rb->watermark;
	handle->pos = offset;
	handle->end = offset + size;
	if (have_lost) { /* E8 */
		lost.id = event->id;
		lost.lost = rb->lost;
		rb->lost = 0;
		perf_event_header__init_id(&lost.header, id, event);
		perf_output_put(handle, lost);
		perf_event__output_id_sample(event, handle, id);
	}
	return 0;
}

int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_id *id,
			      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, id, event, size, false);
}

int perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_id *id,
			       struct perf_event *event, unsigned int size)
{
	return output_begin(handle, id, event, size, true);
}

int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_id *id,
		      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, id, event, size, event->attr.write_backward);
}

/* E15: all sizes are multiples of 8, so the wrap can split a record only inside its body. */
void perf_output_copy(struct perf_output_handle *handle, const void *buf, unsigned int len)
{
	struct perf_buffer *rb = handle->rb;
	u64 mask = perf_data_size(rb) - 1;
	const char *from = buf;

	if (WARN_ON_ONCE(len > handle->end - handle->pos))
		return;
	while (len) {
		u64 off = handle->pos & mask;
		unsigned int part = (unsigned int)min((u64)len, mask + 1 - off);

		memcpy(rb->data + off, from, part);
		from += part;
		handle->pos += part;
		len -= part;
	}
}

/* Skips bytes; the ring keeps what it contained there. */
void perf_output_skip(struct perf_output_handle *handle, unsigned int len)
{
	if (WARN_ON_ONCE(len > handle->end - handle->pos))
		return;
	handle->pos += len;
}

void perf_output_end(struct perf_output_handle *handle)
{
	output_put(handle);
}

/* E12: sets what the reader's poll() returns; the irq_work wakes every event of the ring. */
void perf_output_wakeup(struct perf_output_handle *handle)
{
	handle->rb->poll = POLLIN | POLLRDNORM;
	handle->event->pending_wakeup = true;
	core_irq_work_queue(handle->event);
}

/* E7: wakeup_events counts samples only, and shifts E6 by one byte. */
void perf_output_count_sample(struct perf_event *event, struct perf_buffer *rb)
{
	if (event->attr.watermark || !event->attr.wakeup_events)
		return;
	if (++rb->events >= event->attr.wakeup_events) {
		rb->events -= event->attr.wakeup_events;
		rb->wakeup++;
	}
}

/* E13, B16: a ring without data pages stays paused. */
void rb_toggle_paused(struct perf_buffer *rb, bool pause)
{
	rb->paused = pause || !rb->nr_pages;
}
