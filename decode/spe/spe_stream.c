// SPDX-License-Identifier: BSD-2-Clause
/* Streams of Arm SPE's records, read ahead: see spe_stream.h. */
#include "spe_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (64u << 10)

void spe_streams_init(struct spe_streams *ss,
		      ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off), void *ctx)
{
	memset(ss, 0, sizeof(*ss));
	ss->pread = pread;
	ss->ctx = ctx;
	pthread_mutex_init(&ss->lock, NULL);
	pthread_cond_init(&ss->work, NULL);
	pthread_cond_init(&ss->done, NULL);
}

/* ---- bytes ---- */

static bool joins_next(const struct spe_stream *s)
{
	return s->at + 1 < s->queue->nr && s->queue->extents[s->at + 1].border == TRACE_JOINS;
}

/* Reads more bytes after those that were not parsed yet; false: no bytes continue them. */
static bool more_bytes(struct spe_streams *ss, struct spe_stream *s, struct spe_batch *batch)
{
	size_t keep = s->reader.size - s->reader.at, want;
	uint64_t offset = s->reader.offset + s->reader.at;
	const struct trace_extent *e;
	ssize_t got;

	if (!s->buf) {
		s->buf = malloc(CHUNK);
		if (!s->buf) {
			batch->error = -ENOMEM;
			return false;
		}
		offset = s->queue->extents[0].off;
	}
	if (keep)
		memmove(s->buf, s->buf + s->reader.at, keep);
	s->reader.trace = s->buf;
	s->reader.at = 0;
	s->reader.size = keep;
	s->reader.offset = offset;
	while (s->at < s->queue->nr && s->done == s->queue->extents[s->at].size &&
	       (joins_next(s) || !keep)) {
		bool joins = joins_next(s);

		s->at++;
		s->done = 0;
		if (!joins && s->at < s->queue->nr) {
			s->reader.offset = s->queue->extents[s->at].off;
			s->reader.align_to = 0;
		}
	}
	if (s->at == s->queue->nr || s->done == s->queue->extents[s->at].size || keep == CHUNK)
		return false;
	e = &s->queue->extents[s->at];
	want = CHUNK - keep;
	if (want > e->size - s->done)
		want = (size_t)(e->size - s->done);
	got = ss->pread(ss->ctx, s->buf + keep, want, e->file_off + s->done);
	if (got <= 0) {
		batch->error = got ? (int)got : -EBADMSG;
		return false;
	}
	s->done += (uint64_t)got;
	s->reader.size += (size_t)got;
	batch->nr_bytes += (uint64_t)got;
	return true;
}

/* Parses the next record. One that is invalid at the end of the buffer is retried with more. */
static int next_record(struct spe_streams *ss, struct spe_stream *s, struct spe_batch *batch,
		       struct auxtap_spe_record *record)
{
	int ret;

	for (;;) {
		struct auxtap_spe_reader before = s->reader;

		ret = s->buf ? spe_next(&s->reader, record) : 0;
		if (ret > 0 || (ret < 0 && s->reader.at < s->reader.size))
			return ret;
		if (ret < 0) /* it may be incomplete: retry with more bytes */
			s->reader = before;
		if (more_bytes(ss, s, batch))
			continue;
		if (!ret || batch->error)
			return 0;
		/* more_bytes() has moved the bytes to the front */
		return spe_next(&s->reader, record);
	}
}

static void fill(struct spe_streams *ss, struct spe_stream *s, struct spe_batch *batch)
{
	batch->nr = batch->at = 0;
	batch->nr_bytes = 0;
	batch->last = false;
	while (batch->nr < SPE_BATCH) {
		struct spe_item *item = &batch->items[batch->nr];

		item->ret = next_record(ss, s, batch, &item->record);
		if (!item->ret) {
			batch->last = true;
			break;
		}
		batch->nr++;
	}
}

/* ---- threads ---- */

static struct spe_stream *find_work(struct spe_streams *ss)
{
	for (size_t i = 0; i < ss->nr; i++) {
		struct spe_stream *s = &ss->streams[(ss->next_stream + i) % ss->nr];

		if (s->state != SPE_BATCH_WANTED)
			continue;
		ss->next_stream = (ss->next_stream + i + 1) % ss->nr;
		return s;
	}
	return NULL;
}

/* The caller holds the lock, which is released while the batch is filled. */
static void fill_back(struct spe_streams *ss, struct spe_stream *s)
{
	s->state = SPE_BATCH_BEING_FILLED;
	pthread_mutex_unlock(&ss->lock);
	fill(ss, s, s->back);
	pthread_mutex_lock(&ss->lock);
	s->state = SPE_BATCH_FULL;
}

static void *work(void *arg)
{
	struct spe_streams *ss = arg;

	pthread_mutex_lock(&ss->lock);
	while (!ss->stop) {
		struct spe_stream *s = find_work(ss);

		if (s) {
			fill_back(ss, s);
			pthread_cond_signal(&ss->done);
		} else {
			pthread_cond_wait(&ss->work, &ss->lock);
		}
	}
	pthread_mutex_unlock(&ss->lock);
	return NULL;
}

int spe_streams_start(struct spe_streams *ss, unsigned int nr_jobs)
{
	size_t nr = ss->queues.keys.nr;

	ss->streams = calloc(nr ? nr : 1, sizeof(*ss->streams));
	if (!ss->streams)
		return -ENOMEM;
	ss->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct spe_stream *s = &ss->streams[i];

		s->queue = &ss->queues.queues[i];
		s->front = calloc(1, sizeof(*s->front));
		s->back = calloc(1, sizeof(*s->back));
		if (!s->front || !s->back)
			return -ENOMEM;
		s->state = SPE_BATCH_WANTED;
	}
	if (nr_jobs < 2)
		return 0;
	nr_jobs--;
	if (nr_jobs > ss->nr)
		nr_jobs = (unsigned int)ss->nr;
	ss->threads = calloc(nr_jobs ? nr_jobs : 1, sizeof(*ss->threads));
	if (!ss->threads)
		return -ENOMEM;
	while (ss->nr_threads < nr_jobs &&
	       !pthread_create(&ss->threads[ss->nr_threads], NULL, work, ss))
		ss->nr_threads++;
	return 0;
}

/* Makes the back batch the front one, once it is full; the old front one is to be filled again. */
static void take_batch(struct spe_streams *ss, struct spe_stream *s)
{
	struct spe_batch *used = s->front;

	pthread_mutex_lock(&ss->lock);
	while (s->state != SPE_BATCH_FULL) {
		if (s->state == SPE_BATCH_WANTED)
			fill_back(ss, s);
		else
			pthread_cond_wait(&ss->done, &ss->lock);
	}
	s->front = s->back;
	s->back = used;
	if (!s->front->last) {
		s->state = SPE_BATCH_WANTED;
		if (ss->nr_threads)
			pthread_cond_signal(&ss->work);
	}
	pthread_mutex_unlock(&ss->lock);
	ss->nr_bytes += s->front->nr_bytes;
}

const struct spe_item *spe_streams_next_batch(struct spe_streams *ss, struct spe_stream *s,
					      int *error)
{
	while (s->front->at == s->front->nr) {
		if (s->front->last) {
			*error = s->front->error;
			return NULL;
		}
		take_batch(ss, s);
	}
	return &s->front->items[s->front->at++];
}

void spe_streams_free(struct spe_streams *ss)
{
	pthread_mutex_lock(&ss->lock);
	ss->stop = true;
	pthread_cond_broadcast(&ss->work);
	pthread_mutex_unlock(&ss->lock);
	for (unsigned int i = 0; i < ss->nr_threads; i++)
		pthread_join(ss->threads[i], NULL);
	free(ss->threads);
	for (size_t i = 0; i < ss->nr; i++) {
		free(ss->streams[i].buf);
		free(ss->streams[i].front);
		free(ss->streams[i].back);
	}
	free(ss->streams);
	trace_queues_free(&ss->queues);
	pthread_mutex_destroy(&ss->lock);
	pthread_cond_destroy(&ss->work);
	pthread_cond_destroy(&ss->done);
}
