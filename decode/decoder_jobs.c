// SPDX-License-Identifier: BSD-2-Clause
/*
 * Worker threads: each queue is one batch ahead of the reader, filled by whichever worker
 * is free. A queue is filled by one worker at a time and owned by it meanwhile, so what
 * comes out does not depend on the number of workers.
 */
#include "decoder_private.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_JOBS 256

struct decoder_jobs {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct decoder_queue *head, **tail;
	bool stop;
	unsigned int nr;
	pthread_t threads[];
};

static void *worker(void *arg)
{
	struct decoder_jobs *jobs = arg;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		struct decoder_queue *queue;

		while (!jobs->head && !jobs->stop)
			pthread_cond_wait(&jobs->work, &jobs->lock);
		if (jobs->stop)
			break;
		queue = jobs->head;
		jobs->head = queue->next;
		if (!jobs->head)
			jobs->tail = &jobs->head;
		pthread_mutex_unlock(&jobs->lock);
		pt_queue_fill(&queue->pt, queue->back);
		pthread_mutex_lock(&jobs->lock);
		queue->ready = true;
		pthread_cond_broadcast(&jobs->done);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

static void put(struct decoder_jobs *jobs, struct decoder_queue *queue)
{
	queue->queued = true;
	queue->ready = false;
	queue->next = NULL;
	*jobs->tail = queue;
	jobs->tail = &queue->next;
	pthread_cond_signal(&jobs->work);
}

int decoder_jobs_start(struct auxtap_decoder *dec, unsigned int nr)
{
	struct decoder_jobs *jobs;

	if (nr > MAX_JOBS)
		nr = MAX_JOBS;
	jobs = calloc(1, sizeof(*jobs) + nr * sizeof(jobs->threads[0]));
	if (!jobs)
		return -ENOMEM;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->work, NULL);
	pthread_cond_init(&jobs->done, NULL);
	jobs->tail = &jobs->head;
	dec->jobs = jobs;
	for (size_t i = 0; i < dec->nr_queues; i++) {
		dec->queues[i]->back = malloc(sizeof(*dec->queues[i]->back));
		if (!dec->queues[i]->back)
			return -ENOMEM;
		dec->queues[i]->back->nr = dec->queues[i]->back->at = 0;
	}
	while (jobs->nr < nr) {
		int ret = pthread_create(&jobs->threads[jobs->nr], NULL, worker, jobs);

		if (ret)
			return -ret;
		jobs->nr++;
	}
	pthread_mutex_lock(&jobs->lock);
	for (size_t i = 0; i < dec->nr_queues; i++)
		put(jobs, dec->queues[i]);
	pthread_mutex_unlock(&jobs->lock);
	return 0;
}

void decoder_jobs_stop(struct auxtap_decoder *dec)
{
	struct decoder_jobs *jobs = dec->jobs;

	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->stop = true;
	pthread_cond_broadcast(&jobs->work);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned int i = 0; i < jobs->nr; i++)
		pthread_join(jobs->threads[i], NULL);
	pthread_cond_destroy(&jobs->work);
	pthread_cond_destroy(&jobs->done);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
	dec->jobs = NULL;
}

void decoder_jobs_take(struct auxtap_decoder *dec, struct decoder_queue *queue)
{
	struct decoder_jobs *jobs = dec->jobs;
	struct pt_batch *batch;

	pthread_mutex_lock(&jobs->lock);
	while (queue->queued && !queue->ready)
		pthread_cond_wait(&jobs->done, &jobs->lock);
	batch = queue->front;
	queue->front = queue->back;
	queue->back = batch;
	queue->back->nr = queue->back->at = 0;
	queue->queued = false;
	if (!queue->pt.done)
		put(jobs, queue);
	pthread_mutex_unlock(&jobs->lock);
}
