// SPDX-License-Identifier: BSD-2-Clause
/* Merges the queues by time. Each queue returns its events in batches. */
#include "pt_decoder.h"
#include "util/heap.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>

struct pt_merge_queue *pt_add_queue(struct pt_decoder *pt)
{
	struct pt_merge_queue *queue;

	if (vector_grow(pt->queues, pt->nr_queues, pt->max_queues))
		return NULL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	pt_queue_init(&queue->pt, &pt->shared);
	queue->index = pt->nr_queues;
	pt->queues[pt->nr_queues++] = queue;
	return queue;
}

/* ---- merge ---- */

static bool before(uint64_t time_a, int32_t tid_a, uint64_t time_b, int32_t tid_b)
{
	return time_a != time_b ? time_a < time_b : tid_a < tid_b;
}

static int by_first(const void *a, const void *b)
{
	const struct pt_merge_queue *x = *(struct pt_merge_queue *const *)a;
	const struct pt_merge_queue *y = *(struct pt_merge_queue *const *)b;

	if (before(x->first_time, x->first_tid, y->first_time, y->first_tid))
		return -1;
	if (before(y->first_time, y->first_tid, x->first_time, x->first_tid))
		return 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int start(struct auxtap_decoder *dec, unsigned int nr_jobs)
{
	struct pt_decoder *pt = pt_of(dec);
	const struct pt_flow_config config = {
		.images = dec->images,
		.cpu = pt->cpu,
		.insns = dec->opts.events & AUXTAP_EVENT_INSN,
	};

	pt->shared.flow_ops = dec->flow_ops;
	pt->shared.flow = dec->flow_ops->open(&config);
	if (!pt->shared.flow)
		return -ENOMEM;
	if (pt->nr_queues) {
		pt->unopened = calloc(pt->nr_queues, sizeof(struct pt_merge_queue *));
		pt->heap = calloc(pt->nr_queues, sizeof(struct pt_merge_queue *));
		if (!pt->unopened || !pt->heap)
			return -ENOMEM;
	}
	for (size_t i = 0; i < pt->nr_queues; i++) {
		struct pt_merge_queue *queue = pt->queues[i];

		queue->first_time = pt_queue_first_time(&queue->pt);
		/* all events of a thread's queue are that thread's */
		queue->first_tid = queue->pt.per_cpu ? INT32_MIN : queue->pt.queue_tid;
		pt->unopened[pt->nr_unopened++] = queue;
	}
	if (pt->nr_unopened)
		qsort(pt->unopened, pt->nr_unopened, sizeof(*pt->unopened), by_first);
	return pt_jobs_start(pt, nr_jobs);
}

static void refill(struct pt_decoder *pt, struct pt_merge_queue *queue)
{
	while (!queue->finished) {
		struct pt_batch *front = queue->front;

		while (front && front->at < front->nr && !front->events[front->at].type)
			front->at++;
		if (front && front->at < front->nr)
			return;
		queue->finished = !pt_jobs_take(pt, queue);
	}
}

static const struct flow_event *head_of(const struct pt_merge_queue *queue)
{
	return &queue->front->events[queue->front->at];
}

static bool comes_first(const struct pt_merge_queue *a, const struct pt_merge_queue *b)
{
	const struct flow_event *x = head_of(a), *y = head_of(b);

	if (x->time != y->time)
		return x->time < y->time;
	return x->tid != y->tid ? x->tid < y->tid : a->index < b->index;
}

/* Restores the heap after the first queue's head has changed or the queue has finished. */
static void sift_down(struct pt_decoder *pt)
{
	if (pt->heap[0]->finished)
		heap_pop(pt->heap, pt->nr_heap, comes_first);
	else
		heap_sift_down(pt->heap, pt->nr_heap, 0, comes_first);
}

/* Opens the queues that may have an event before the first one of the opened queues. */
static void open_queues(struct pt_decoder *pt)
{
	while (pt->unopened_at < pt->nr_unopened) {
		struct pt_merge_queue *queue = pt->unopened[pt->unopened_at];
		const struct flow_event *head = pt->nr_heap ? head_of(pt->heap[0]) : NULL;

		if (head && before(head->time, head->tid, queue->first_time, queue->first_tid))
			return;
		pt->unopened_at++;
		/* the opened queues share the worker threads */
		refill(pt, queue);
		if (queue->finished)
			continue;
		heap_push(pt->heap, pt->nr_heap, queue, comes_first);
	}
}

static void set_limit(struct pt_decoder *pt, uint64_t time, int32_t tid)
{
	if (pt->limited && !before(time, tid, pt->limit_time, pt->limit_tid))
		return;
	pt->limited = true;
	pt->limit_time = time;
	pt->limit_tid = tid;
}

/*
 * Chooses the queue whose head is first as pt->current; none if that head is later than 'until'.
 * The limit is the earliest possible event of the other queues: up to there, next() returns events
 * of this queue without comparing heads.
 */
static void choose_queue(struct pt_decoder *pt, uint64_t until)
{
	if (pt->current)
		sift_down(pt);
	open_queues(pt);
	pt->current = pt->nr_heap ? pt->heap[0] : NULL;
	pt->limited = false;
	if (pt->current && until < head_of(pt->current)->time)
		pt->current = NULL;
	if (!pt->current)
		return;
	for (size_t i = 1; i <= 2 && i < pt->nr_heap; i++)
		set_limit(pt, head_of(pt->heap[i])->time, head_of(pt->heap[i])->tid);
	if (pt->unopened_at < pt->nr_unopened)
		set_limit(pt, pt->unopened[pt->unopened_at]->first_time,
			  pt->unopened[pt->unopened_at]->first_tid);
	if (until < UINT64_MAX)
		set_limit(pt, until, INT32_MIN);
}

static struct flow_event *next(struct auxtap_decoder *dec, uint64_t until, int *cpu)
{
	struct pt_decoder *pt = pt_of(dec);
	struct pt_merge_queue *queue = pt->current;
	struct flow_event *ev;

	if (queue) {
		refill(pt, queue);
		if (!queue->finished) {
			ev = &queue->front->events[queue->front->at];
			if (!pt->limited ||
			    before(ev->time, ev->tid, pt->limit_time, pt->limit_tid)) {
				queue->front->at++;
				*cpu = queue->pt.cpu;
				return ev;
			}
		}
	}
	choose_queue(pt, until);
	queue = pt->current;
	if (!queue)
		return NULL;
	*cpu = queue->pt.cpu;
	return &queue->front->events[queue->front->at++];
}

/* ---- the family ---- */

static int create(struct auxtap_decoder *dec)
{
	struct pt_decoder *pt = calloc(1, sizeof(*pt));

	if (!pt)
		return -ENOMEM;
	pt->shared.opts = dec->opts;
	pt->shared.images = dec->images;
	pt->shared.sideband = &dec->sideband;
	dec->trace = pt;
	return 0;
}

static void destroy(struct auxtap_decoder *dec)
{
	struct pt_decoder *pt = pt_of(dec);

	pt_jobs_stop(pt);
	for (size_t i = 0; i < pt->nr_queues; i++) {
		pt_queue_free(&pt->queues[i]->pt);
		free(pt->queues[i]);
	}
	free(pt->queues);
	free(pt->unopened);
	free(pt->heap);
	if (pt->shared.flow)
		pt->shared.flow_ops->close(pt->shared.flow);
	free(pt);
	dec->trace = NULL;
}

static int error_of(const struct auxtap_decoder *dec)
{
	const struct pt_decoder *pt = pt_of(dec);

	for (size_t i = 0; i < pt->nr_queues; i++)
		if (pt->queues[i]->pt.error)
			return pt->queues[i]->pt.error;
	return 0;
}

static void add_sums(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum)
{
	const struct pt_decoder *pt = pt_of(dec);

	for (size_t i = 0; i < pt->nr_queues; i++) {
		const struct auxtap_decode_summary *q = &pt->queues[i]->pt.sum;

		sum->instructions += q->instructions;
		sum->branches += q->branches;
		sum->gaps += q->gaps;
		sum->errors += q->errors;
		sum->bytes += q->bytes;
	}
}

static const struct flow_ops *const flows[] = {&pt_libipt, NULL};

extern const struct trace_family pt_family;
const struct trace_family pt_family = {
	.info =
		{
			.size = sizeof(struct auxtap_trace_family),
			.name = "Intel PT",
			.contents = "Intel PT trace",
			.auxtrace_type = AUXTAP_AUXTRACE_INTEL_PT,
			.lacks = AUXTAP_EVENT_MEM,
			.lacks_text = "memory samples",
			.raw_name = "pt",
			.raw_takes_cpu_model = true,
		},
	.pmu = "intel_pt",
	.info_snapshot = AUXTAP_PT_INFO_SNAPSHOT_MODE,
	.perf_prints_times = true,
	.dump = &dump_family_pt,
	.flows = flows,
	.create = create,
	.destroy = destroy,
	.configure = pt_configure,
	.open_file = pt_open_file,
	.configure_raw = pt_configure_raw,
	.open_raw = pt_open_raw,
	.start = start,
	.next = next,
	.error = error_of,
	.add_sums = add_sums,
};
