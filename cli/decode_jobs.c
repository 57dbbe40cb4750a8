// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several threads format lines: see decode_jobs.h. The chunks are a ring: the caller fills one
 * while threads format others, and writes the oldest chunk before it reuses it. If no thread has
 * taken that one, the caller formats it itself.
 */
#include "decode_jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_EVENTS 256
#define MAX_THREADS  8 /* one thread merges their output: more would be idle */

enum chunk_state {
	CHUNK_EMPTY, /* the caller may fill it */
	CHUNK_WAITING,
	CHUNK_TAKEN,   /* a thread formats it */
	CHUNK_PRINTED, /* the caller may write it */
};

struct chunk {
	enum chunk_state state;
	bool failed;
	size_t nr, nr_text, size_text;
	char *text;
	struct auxtap_event events[CHUNK_EVENTS];
};

struct thread {
	pthread_t id;
	struct decode_jobs *jobs;
	struct decode_printer *printer;
};

struct decode_jobs {
	struct decode_printer *printer; /* the caller's; lines are written to its output */
	struct decode_printer *own;	/* for the chunks that the caller formats */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	bool stop, started;
	unsigned int nr_threads, max_threads;
	struct thread threads[MAX_THREADS];
	size_t nr_chunks, at; /* at: the chunk that is being filled */
	struct chunk *chunks;
};

static void print_chunk(struct decode_printer *p, struct chunk *chunk)
{
	p->buf = chunk->text;
	p->size = chunk->size_text;
	p->nr = 0;
	p->failed = false;
	for (size_t i = 0; i < chunk->nr; i++) {
		decode_print(p, &chunk->events[i]);
		decode_event_release(&chunk->events[i]);
	}
	chunk->text = p->buf;
	chunk->size_text = p->size;
	chunk->nr_text = p->nr;
	chunk->failed = p->failed;
	p->buf = NULL;
	p->size = 0;
}

/* Finds the oldest waiting chunk. */
static struct chunk *find_waiting_chunk(struct decode_jobs *jobs)
{
	for (size_t i = 1; i <= jobs->nr_chunks; i++) {
		struct chunk *chunk = &jobs->chunks[(jobs->at + i) % jobs->nr_chunks];

		if (chunk->state == CHUNK_WAITING)
			return chunk;
	}
	return NULL;
}

static void *format_chunks(void *arg)
{
	struct thread *thread = arg;
	struct decode_jobs *jobs = thread->jobs;

	pthread_mutex_lock(&jobs->lock);
	while (!jobs->stop) {
		struct chunk *chunk = find_waiting_chunk(jobs);

		if (!chunk) {
			pthread_cond_wait(&jobs->work, &jobs->lock);
			continue;
		}
		chunk->state = CHUNK_TAKEN;
		pthread_mutex_unlock(&jobs->lock);
		print_chunk(thread->printer, chunk);
		pthread_mutex_lock(&jobs->lock);
		chunk->state = CHUNK_PRINTED;
		pthread_cond_signal(&jobs->done);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

/* Allocates a printer with the same format that prints into memory. */
static struct decode_printer *clone_printer(const struct decode_printer *p)
{
	struct decode_printer *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->format = p->format;
	memcpy(new->fields, p->fields, sizeof(new->fields));
	new->nr_fields = p->nr_fields;
	new->has = p->has;
	new->addr_first = p->addr_first;
	new->events = p->events;
	new->images = p->images;
	return new;
}

struct decode_jobs *decode_jobs_new(struct decode_printer *printer, unsigned int nr)
{
	struct decode_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	if (nr > MAX_THREADS)
		nr = MAX_THREADS;
	jobs->printer = printer;
	jobs->own = clone_printer(printer);
	jobs->max_threads = nr ? nr - 1 : 0;
	jobs->nr_chunks = 2 + 2 * jobs->max_threads;
	jobs->chunks = calloc(jobs->nr_chunks, sizeof(*jobs->chunks));
	if (!jobs->chunks || !jobs->own) {
		free(jobs->chunks);
		free(jobs->own);
		free(jobs);
		return NULL;
	}
	for (size_t i = 0; i < jobs->nr_chunks; i++)
		for (size_t k = 0; k < CHUNK_EVENTS; k++)
			jobs->chunks[i].events[k].size = sizeof(jobs->chunks[i].events[k]);
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->work, NULL);
	pthread_cond_init(&jobs->done, NULL);
	decode_print_flush(printer); /* lines printed before come first */
	return jobs;
}

static void start_threads(struct decode_jobs *jobs)
{
	jobs->started = true;
	while (jobs->nr_threads < jobs->max_threads) {
		struct thread *thread = &jobs->threads[jobs->nr_threads];

		thread->jobs = jobs;
		thread->printer = clone_printer(jobs->printer);
		if (!thread->printer || pthread_create(&thread->id, NULL, format_chunks, thread)) {
			free(thread->printer);
			return; /* continue with fewer threads */
		}
		jobs->nr_threads++;
	}
}

/* Writes the chunk's lines; waits for the thread that formats them, or formats them itself. */
static void write_chunk(struct decode_jobs *jobs, struct chunk *chunk)
{
	bool format_here;

	pthread_mutex_lock(&jobs->lock);
	format_here = chunk->state == CHUNK_WAITING;
	if (format_here)
		chunk->state = CHUNK_TAKEN;
	while (!format_here && chunk->state == CHUNK_TAKEN)
		pthread_cond_wait(&jobs->done, &jobs->lock);
	pthread_mutex_unlock(&jobs->lock);
	if (format_here)
		print_chunk(jobs->own, chunk);
	else if (chunk->state != CHUNK_PRINTED)
		return;
	if (chunk->failed || (chunk->nr_text && fwrite(chunk->text, 1, chunk->nr_text,
						       jobs->printer->out) != chunk->nr_text))
		jobs->printer->failed = true;
	chunk->nr = 0;
	pthread_mutex_lock(&jobs->lock);
	chunk->state = CHUNK_EMPTY;
	pthread_mutex_unlock(&jobs->lock);
}

struct auxtap_event *decode_jobs_slot(struct decode_jobs *jobs)
{
	struct chunk *chunk = &jobs->chunks[jobs->at];

	return &chunk->events[chunk->nr];
}

static void submit_chunk(struct decode_jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->chunks[jobs->at].state = CHUNK_WAITING;
	jobs->at = (jobs->at + 1) % jobs->nr_chunks;
	pthread_cond_signal(&jobs->work);
	pthread_mutex_unlock(&jobs->lock);
	write_chunk(jobs, &jobs->chunks[jobs->at]);
}

void decode_jobs_add(struct decode_jobs *jobs)
{
	if (decode_event_keep(decode_jobs_slot(jobs))) {
		jobs->printer->failed = true;
		return;
	}
	if (++jobs->chunks[jobs->at].nr < CHUNK_EVENTS)
		return;
	if (!jobs->started)
		start_threads(jobs);
	submit_chunk(jobs);
}

void decode_jobs_finish(struct decode_jobs *jobs)
{
	if (!jobs)
		return;
	for (size_t i = 0; i < jobs->nr_chunks; i++)
		submit_chunk(jobs);
	pthread_mutex_lock(&jobs->lock);
	jobs->stop = true;
	pthread_cond_broadcast(&jobs->work);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned int i = 0; i < jobs->nr_threads; i++) {
		pthread_join(jobs->threads[i].id, NULL);
		free(jobs->threads[i].printer);
	}
	for (size_t i = 0; i < jobs->nr_chunks; i++)
		free(jobs->chunks[i].text);
	pthread_mutex_destroy(&jobs->lock);
	pthread_cond_destroy(&jobs->work);
	pthread_cond_destroy(&jobs->done);
	free(jobs->chunks);
	free(jobs->own);
	free(jobs);
}
