// SPDX-License-Identifier: BSD-2-Clause
/* The queues merged by time. Each generates its events a batch at a time. */
#include "decode/flow/decoder_private.h"

#include <errno.h>
#include <stdlib.h>

struct decoder_queue *decoder_add_queue(struct auxtap_decoder *dec)
{
	struct decoder_queue **grown, *queue;

	if (dec->nr_queues == dec->max_queues) {
		size_t max = dec->max_queues ? dec->max_queues * 2 : 16;

		grown = realloc(dec->queues, max * sizeof(*grown));
		if (!grown)
			return NULL;
		dec->queues = grown;
		dec->max_queues = max;
	}
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	pt_queue_init(&queue->pt, &dec->shared);
	queue->index = dec->nr_queues;
	dec->queues[dec->nr_queues++] = queue;
	return queue;
}

/* ---- merge ---- */

static bool before(uint64_t time_a, int32_t tid_a, uint64_t time_b, int32_t tid_b)
{
	return time_a != time_b ? time_a < time_b : tid_a < tid_b;
}

static int by_first(const void *a, const void *b)
{
	const struct decoder_queue *x = *(struct decoder_queue *const *)a;
	const struct decoder_queue *y = *(struct decoder_queue *const *)b;

	if (before(x->first_time, x->first_tid, y->first_time, y->first_tid))
		return -1;
	if (before(y->first_time, y->first_tid, x->first_time, x->first_tid))
		return 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int pt_merge_start(struct auxtap_decoder *dec)
{
	if (dec->nr_queues) {
		dec->closed = calloc(dec->nr_queues, sizeof(struct decoder_queue *));
		dec->heap = calloc(dec->nr_queues, sizeof(struct decoder_queue *));
		if (!dec->closed || !dec->heap)
			return -ENOMEM;
	}
	for (size_t i = 0; i < dec->nr_queues; i++) {
		struct decoder_queue *queue = dec->queues[i];

		queue->first_time = pt_queue_first_time(&queue->pt);
		/* all events of a thread's queue are that thread's */
		queue->first_tid = queue->pt.per_cpu ? INT32_MIN : queue->pt.queue_tid;
		dec->closed[dec->nr_closed++] = queue;
	}
	if (dec->nr_closed)
		qsort(dec->closed, dec->nr_closed, sizeof(*dec->closed), by_first);
	return 0;
}

static void refill(struct auxtap_decoder *dec, struct decoder_queue *queue)
{
	while (!queue->finished) {
		struct pt_batch *front = queue->front;

		while (front && front->at < front->nr && !front->events[front->at].type)
			front->at++;
		if (front && front->at < front->nr)
			return;
		queue->finished = !decoder_jobs_take(dec, queue);
	}
}

static const struct flow_event *head_of(const struct decoder_queue *queue)
{
	return &queue->front->events[queue->front->at];
}

static bool comes_first(const struct decoder_queue *a, const struct decoder_queue *b)
{
	const struct flow_event *x = head_of(a), *y = head_of(b);

	if (x->time != y->time)
		return x->time < y->time;
	return x->tid != y->tid ? x->tid < y->tid : a->index < b->index;
}

static void sift_up(struct auxtap_decoder *dec, size_t at)
{
	struct decoder_queue *queue = dec->heap[at];

	while (at && comes_first(queue, dec->heap[(at - 1) / 2])) {
		dec->heap[at] = dec->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	dec->heap[at] = queue;
}

/* The first one's head has moved on, or it is finished. */
static void sift_down(struct auxtap_decoder *dec)
{
	struct decoder_queue *queue = dec->heap[0];
	size_t at = 0, child;

	if (queue->finished) {
		queue = dec->heap[--dec->nr_heap];
		if (!dec->nr_heap)
			return;
	}
	while ((child = 2 * at + 1) < dec->nr_heap) {
		if (child + 1 < dec->nr_heap && comes_first(dec->heap[child + 1], dec->heap[child]))
			child++;
		if (!comes_first(dec->heap[child], queue))
			break;
		dec->heap[at] = dec->heap[child];
		at = child;
	}
	dec->heap[at] = queue;
}

/* Begins the queues that may have an event before the first one known. */
static void open_queues(struct auxtap_decoder *dec)
{
	while (dec->closed_at < dec->nr_closed) {
		struct decoder_queue *queue = dec->closed[dec->closed_at];
		const struct flow_event *head = dec->nr_heap ? head_of(dec->heap[0]) : NULL;

		if (head && before(head->time, head->tid, queue->first_time, queue->first_tid))
			return;
		dec->closed_at++;
		/* it counts as one of those that share the threads */
		refill(dec, queue);
		if (queue->finished)
			continue;
		dec->heap[dec->nr_heap] = queue;
		sift_up(dec, dec->nr_heap++);
	}
}

static void set_limit(struct auxtap_decoder *dec, uint64_t time, int32_t tid)
{
	if (dec->limited && !before(time, tid, dec->limit_time, dec->limit_tid))
		return;
	dec->limited = true;
	dec->limit_time = time;
	dec->limit_tid = tid;
}

/* The queue whose head is first; its limit is what may come second. */
static void choose(struct auxtap_decoder *dec)
{
	const struct flow_event *unattributed = NULL;

	if (dec->current)
		sift_down(dec);
	open_queues(dec);
	dec->current = dec->nr_heap ? dec->heap[0] : NULL;
	dec->limited = false;
	if (dec->unattributed_at < dec->nr_unattributed)
		unattributed = &dec->unattributed[dec->unattributed_at];
	if (unattributed && (!dec->current || unattributed->time < head_of(dec->current)->time)) {
		dec->current = NULL;
		return;
	}
	for (size_t i = 1; i <= 2 && i < dec->nr_heap; i++)
		set_limit(dec, head_of(dec->heap[i])->time, head_of(dec->heap[i])->tid);
	if (dec->closed_at < dec->nr_closed)
		set_limit(dec, dec->closed[dec->closed_at]->first_time,
			  dec->closed[dec->closed_at]->first_tid);
	if (unattributed)
		set_limit(dec, unattributed->time, INT32_MIN);
}

struct flow_event *pt_merge_next(struct auxtap_decoder *dec)
{
	struct decoder_queue *queue = dec->current;
	struct flow_event *ev;

	if (queue) {
		refill(dec, queue);
		if (!queue->finished) {
			ev = &queue->front->events[queue->front->at];
			if (!dec->limited ||
			    before(ev->time, ev->tid, dec->limit_time, dec->limit_tid)) {
				queue->front->at++;
				return ev;
			}
		}
	}
	choose(dec);
	queue = dec->current;
	if (!queue) {
		if (dec->unattributed_at < dec->nr_unattributed)
			return &dec->unattributed[dec->unattributed_at++];
		return NULL;
	}
	return &queue->front->events[queue->front->at++];
}
