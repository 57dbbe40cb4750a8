// SPDX-License-Identifier: BSD-2-Clause
/*
 * The threads that decode segments: workers ahead of the reader (the thread that calls
 * auxtap_decoder_next()), and the reader itself if it needs a segment that no worker is decoding. A
 * segment is decoded by one thread at a time, and its result depends on nothing but the job, so it
 * does not depend on the number of workers. How far they decode ahead is bounded by memory.
 *
 * A job (struct pt_job) is a segment; its decoded events come in batches. 'waiting' is the list of
 * jobs for workers. A job that has as many batches as may wait leaves the workers until the reader
 * has taken some.
 */
#include "pt_decoder.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES_AHEAD	  ((48u << 20) / sizeof(struct pt_batch))
#define BYTES_AHEAD	  (32u << 20) /* of trace in jobs made ahead */
#define MAX_IDLE_BATCHES  32
#define MAX_IDLE_DECODERS 64
#define MANY_QUEUES	  64 /* with this many open queues, unused space in batches is freed */

struct pt_jobs {
	const struct pt_shared *shared;
	pthread_mutex_t lock; /* protects all below */
	/* work: for workers, a job waits; done: for the reader, the wanted job has a batch */
	pthread_cond_t work, done;
	struct pt_job *waiting, *waiting_end;
	const struct pt_job *wanted;	     /* the reader sleeps until it has a batch */
	struct pt_segment_decoder *decoders; /* idle ones */
	struct pt_batch *batches;	     /* idle ones */
	unsigned int nr_decoders, nr_batches;
	size_t nr_begun; /* jobs that have a decoder */
	size_t nr_bytes; /* bytes of trace in all jobs */
	bool stop;
	unsigned int nr; /* threads */
	pthread_t threads[];
};

/* ---- the list of waiting jobs ---- */

static void enqueue(struct pt_jobs *jobs, struct pt_job *job, bool in_front)
{
	job->state = PT_JOB_WAITING;
	job->waiting_prev = in_front ? NULL : jobs->waiting_end;
	job->waiting_next = in_front ? jobs->waiting : NULL;
	if (job->waiting_prev)
		job->waiting_prev->waiting_next = job;
	else
		jobs->waiting = job;
	if (job->waiting_next)
		job->waiting_next->waiting_prev = job;
	else
		jobs->waiting_end = job;
	if (jobs->nr)
		pthread_cond_signal(&jobs->work);
}

static void dequeue(struct pt_jobs *jobs, struct pt_job *job)
{
	if (job->waiting_prev)
		job->waiting_prev->waiting_next = job->waiting_next;
	else
		jobs->waiting = job->waiting_next;
	if (job->waiting_next)
		job->waiting_next->waiting_prev = job->waiting_prev;
	else
		jobs->waiting_end = job->waiting_prev;
}

/* ---- idle batches and decoders, for reuse ---- */

static struct pt_batch *get_batch(struct pt_jobs *jobs)
{
	struct pt_batch *batch = jobs->batches;

	if (batch) {
		jobs->batches = batch->next;
		jobs->nr_batches--;
	} else {
		batch = malloc(sizeof(*batch));
	}
	if (batch) {
		batch->next = NULL;
		batch->nr = batch->at = 0;
		batch->shrunk = false;
	}
	return batch;
}

static void put_batch(struct pt_jobs *jobs, struct pt_batch *batch)
{
	if (!batch)
		return;
	for (unsigned int i = batch->at; i < batch->nr; i++)
		flow_gap_free(batch->events[i].gap);
	if (batch->shrunk || jobs->nr_batches >= MAX_IDLE_BATCHES) {
		free(batch);
		return;
	}
	batch->next = jobs->batches;
	jobs->batches = batch;
	jobs->nr_batches++;
}

/* Prefers the decoder that had this queue's last segment: it has the images cached. */
static struct pt_segment_decoder *get_decoder(struct pt_jobs *jobs, const struct pt_queue *queue)
{
	struct pt_segment_decoder **at = &jobs->decoders, *decoder;

	while (*at && (*at)->queue != queue && (*at)->next)
		at = &(*at)->next;
	decoder = *at;
	if (!decoder)
		return pt_segment_decoder_new(jobs->shared);
	*at = decoder->next;
	jobs->nr_decoders--;
	return decoder;
}

static void put_decoder(struct pt_jobs *jobs, struct pt_segment_decoder *decoder)
{
	if (jobs->nr_decoders >= MAX_IDLE_DECODERS) {
		pt_segment_decoder_free(decoder);
		return;
	}
	decoder->next = jobs->decoders;
	jobs->decoders = decoder;
	jobs->nr_decoders++;
}

static void release_decoder(struct pt_jobs *jobs, struct pt_job *job)
{
	if (!job->decoder)
		return;
	pt_segment_decoder_stop(job->decoder);
	put_decoder(jobs, job->decoder);
	job->decoder = NULL;
	jobs->nr_begun--;
}

static void free_job(struct pt_jobs *jobs, struct pt_job *job)
{
	release_decoder(jobs, job);
	while (job->first) {
		struct pt_batch *batch = job->first;

		job->first = batch->next;
		put_batch(jobs, batch);
	}
	jobs->nr_bytes -= job->mem_size;
	free(job->mem);
	free(job);
}

/* ---- decoding ---- */

/* How many batches of one segment may wait for the reader. */
static unsigned int max_batches(const struct pt_jobs *jobs)
{
	size_t most = BATCHES_AHEAD / (jobs->nr_begun ? jobs->nr_begun : 1);

	return most > 2 ? (unsigned int)most : 2;
}

static int prepare(struct pt_jobs *jobs, struct pt_job *job, struct pt_batch **batch)
{
	*batch = get_batch(jobs);
	if (!*batch)
		return -ENOMEM;
	if (job->decoder)
		return 0;
	job->decoder = get_decoder(jobs, job->queue);
	if (!job->decoder) {
		put_batch(jobs, *batch);
		return -ENOMEM;
	}
	jobs->nr_begun++;
	return 0;
}

/*
 * Decodes at most 'max' more batches. The caller holds the lock, which is released while a batch is
 * filled. Meanwhile the state is PT_JOB_DECODING, so no other thread touches the decoder, but the
 * reader may take finished batches. On return the job is done, full, or waiting again.
 */
static void decode_job(struct pt_jobs *jobs, struct pt_job *job, unsigned int max)
{
	job->state = PT_JOB_DECODING;
	while (job->state == PT_JOB_DECODING) {
		bool fresh = !job->decoder, over;
		struct pt_batch *batch;
		int ret = prepare(jobs, job, &batch);

		if (ret) {
			job->error = ret;
			job->state = PT_JOB_DONE;
			break;
		}
		pthread_mutex_unlock(&jobs->lock);
		if (fresh)
			pt_segment_decoder_start(job->decoder, job);
		over = pt_segment_decoder_fill(job->decoder, batch);
		pthread_mutex_lock(&jobs->lock);
		if (job->first)
			job->newest->next = batch;
		else
			job->first = batch;
		job->newest = batch;
		job->nr_batches++;
		if (over || job->error || job->cancelled)
			job->state = PT_JOB_DONE;
		else if (job->nr_batches >= max_batches(jobs))
			job->state = PT_JOB_FULL;
		else if (!--max || jobs->stop)
			enqueue(jobs, job, true);
		else if (jobs->wanted == job)
			pthread_cond_signal(&jobs->done);
	}
	if (job->state == PT_JOB_DONE)
		release_decoder(jobs, job);
	if (jobs->wanted == job)
		pthread_cond_signal(&jobs->done);
}

static void *worker(void *arg)
{
	struct pt_jobs *jobs = arg;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		struct pt_job *job;

		while (!jobs->waiting && !jobs->stop)
			pthread_cond_wait(&jobs->work, &jobs->lock);
		if (jobs->stop)
			break;
		job = jobs->waiting;
		dequeue(jobs, job);
		decode_job(jobs, job, UINT32_MAX);
		if (job->cancelled)
			free_job(jobs, job);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

int pt_jobs_start(struct pt_decoder *pt, unsigned int nr)
{
	struct pt_jobs *jobs;

	jobs = calloc(1, sizeof(*jobs) + nr * sizeof(jobs->threads[0]));
	if (!jobs)
		return -ENOMEM;
	jobs->shared = &pt->shared;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->work, NULL);
	pthread_cond_init(&jobs->done, NULL);
	pt->jobs = jobs;
	/* With 0 or 1 the reader decodes alone. */
	while (nr > 1 && jobs->nr < nr) {
		int ret = pthread_create(&jobs->threads[jobs->nr], NULL, worker, jobs);

		if (ret)
			return -ret;
		jobs->nr++;
	}
	return 0;
}

/* Frees all jobs of the queue; one that is being decoded is cancelled and freed by its worker. */
static void drop_jobs(struct pt_jobs *jobs, struct pt_queue *q)
{
	while (q->jobs) {
		struct pt_job *job = q->jobs;

		q->jobs = job->next;
		if (job->state == PT_JOB_DECODING) {
			job->cancelled = true;
			continue;
		}
		if (job->state == PT_JOB_WAITING)
			dequeue(jobs, job);
		free_job(jobs, job);
	}
	q->nr_jobs = 0;
	q->newest_job = NULL;
}

void pt_jobs_stop(struct pt_decoder *pt)
{
	struct pt_jobs *jobs = pt->jobs;

	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->stop = true;
	pthread_cond_broadcast(&jobs->work);
	for (size_t i = 0; i < pt->nr_queues; i++) {
		drop_jobs(jobs, &pt->queues[i]->pt);
		put_batch(jobs, pt->queues[i]->front);
		pt->queues[i]->front = NULL;
	}
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned int i = 0; i < jobs->nr; i++)
		pthread_join(jobs->threads[i], NULL);
	while (jobs->batches) {
		struct pt_batch *batch = jobs->batches;

		jobs->batches = batch->next;
		free(batch);
	}
	while (jobs->decoders) {
		struct pt_segment_decoder *idle = jobs->decoders;

		jobs->decoders = idle->next;
		pt_segment_decoder_free(idle);
	}
	pthread_cond_destroy(&jobs->work);
	pthread_cond_destroy(&jobs->done);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
	pt->jobs = NULL;
}

/* ---- the reader's side ---- */

/* Makes the job that is needed now and, if there are workers, some of the following ones. */
static int make_jobs(struct pt_jobs *jobs, struct pt_queue *q, size_t nr_open)
{
	size_t ahead = jobs->nr ? 2 * jobs->nr / (nr_open ? nr_open : 1) : 0;

	if (jobs->nr && !ahead)
		ahead = 1;
	while (!q->all_jobs_made && q->nr_jobs <= ahead &&
	       (!q->nr_jobs || jobs->nr_bytes < BYTES_AHEAD)) {
		struct pt_job *job = pt_queue_next_job(q);

		if (!job)
			return -ENOMEM;
		if (q->jobs)
			q->newest_job->next = job;
		else
			q->jobs = job;
		q->newest_job = job;
		q->nr_jobs++;
		job->state = PT_JOB_DONE;
		pthread_mutex_lock(&jobs->lock);
		jobs->nr_bytes += job->mem_size;
		if (!job->skip && !job->last)
			enqueue(jobs, job, false);
		pthread_mutex_unlock(&jobs->lock);
	}
	return 0;
}

/* The job's next batch; NULL at its end. */
static struct pt_batch *next_batch(struct pt_jobs *jobs, struct pt_job *job)
{
	struct pt_batch *batch;

	while (!job->first && job->state != PT_JOB_DONE) {
		if (job->state == PT_JOB_WAITING) {
			dequeue(jobs, job);
			decode_job(jobs, job, 1);
			continue;
		}
		jobs->wanted = job;
		pthread_cond_wait(&jobs->done, &jobs->lock);
		jobs->wanted = NULL;
	}
	batch = job->first;
	if (!batch)
		return NULL;
	job->first = batch->next;
	job->nr_batches--;
	if (job->state == PT_JOB_FULL && job->nr_batches <= max_batches(jobs) / 2)
		enqueue(jobs, job, true);
	return batch;
}

/* The queue has ended: releases its buffer and its jobs. */
static void end_queue(struct pt_jobs *jobs, struct pt_queue *q)
{
	q->done = true;
	q->all_jobs_made = true;
	pt_stream_release(&q->stream);
	pthread_mutex_lock(&jobs->lock);
	drop_jobs(jobs, q);
	pthread_mutex_unlock(&jobs->lock);
}

static void finish_job(struct pt_jobs *jobs, struct pt_queue *q, struct pt_job *job)
{
	pt_queue_take_end(q, job);
	q->jobs = job->next;
	q->nr_jobs--;
	pthread_mutex_lock(&jobs->lock);
	free_job(jobs, job);
	pthread_mutex_unlock(&jobs->lock);
}

/* Replaces a front batch with few events by one of just their size: there are many queues. */
static void shrink(struct pt_jobs *jobs, struct pt_merge_queue *queue)
{
	struct pt_batch *batch = queue->front, *shrunk;
	size_t size = offsetof(struct pt_batch, events) + batch->nr * sizeof(batch->events[0]);

	if (batch->nr > PT_BATCH / 4)
		return;
	shrunk = malloc(size);
	if (!shrunk)
		return;
	memcpy(shrunk, batch, size);
	shrunk->shrunk = true;
	batch->nr = 0; /* the copy owns its gaps now */
	queue->front = shrunk;
	pthread_mutex_lock(&jobs->lock);
	put_batch(jobs, batch);
	pthread_mutex_unlock(&jobs->lock);
}

/*
 * Puts the queue's next batch of finished events into queue->front; false: the queue has ended. For
 * each job in order, pt_queue_begin_segment() first reports the losses before the segment. Then the
 * job's batches are taken as they come; before the first one, when the decode has begun and
 * job->start is known, pt_queue_take_start() runs. All pt_queue_*() run in the reader's thread.
 */
bool pt_jobs_take(struct pt_decoder *pt, struct pt_merge_queue *queue)
{
	struct pt_jobs *jobs = pt->jobs;
	struct pt_queue *q = &queue->pt;

	while (!q->done) {
		struct pt_batch *batch;
		struct pt_job *job;

		if (q->error || make_jobs(jobs, q, pt->nr_heap)) {
			q->error = q->error ? q->error : -ENOMEM;
			end_queue(jobs, q);
			break;
		}
		job = q->jobs;
		pthread_mutex_lock(&jobs->lock);
		if (!job->reported) {
			batch = get_batch(jobs);
			if (batch && !pt_queue_begin_segment(q, job, batch)) {
				put_batch(jobs, queue->front);
				queue->front = batch;
				pthread_mutex_unlock(&jobs->lock);
				end_queue(jobs, q);
				return true;
			}
			if (!batch)
				q->error = -ENOMEM;
			put_batch(jobs, batch);
			pthread_mutex_unlock(&jobs->lock);
			continue;
		}
		batch = job->skip ? NULL : next_batch(jobs, job);
		if (batch) {
			put_batch(jobs, queue->front);
			queue->front = batch;
		}
		pthread_mutex_unlock(&jobs->lock);
		if (!job->start_taken && job->begun) {
			job->start_taken = true;
			pt_queue_take_start(q, job);
		}
		if (batch) {
			pt_queue_finish_batch(q, batch);
			if (pt->nr_heap >= MANY_QUEUES)
				shrink(jobs, queue);
			return true;
		}
		finish_job(jobs, q, job);
	}
	pthread_mutex_lock(&jobs->lock);
	put_batch(jobs, queue->front);
	queue->front = NULL;
	pthread_mutex_unlock(&jobs->lock);
	return false;
}
