/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arm SPE's buffers as streams of records, one for each CPU or thread, which worker threads read
 * ahead: while the reader uses the front batch of a stream, a worker fills its back batch.
 */
#ifndef AUXTAP_SPE_STREAM_H
#define AUXTAP_SPE_STREAM_H

#include "decode/stream/trace_queue.h"

#include "spe_reader.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define SPE_BATCH 256

struct spe_item {
	int ret; /* of spe_next(): 1; negative: record describes bytes that are no record */
	struct auxtap_spe_record record;
};

struct spe_batch {
	size_t nr, at;	   /* number of items; of these the reader has taken */
	uint64_t nr_bytes; /* bytes of trace that were read for it */
	int error;	   /* why the trace cannot be read further; 0 */
	bool last;
	struct spe_item items[SPE_BATCH];
};

enum spe_batch_state {
	SPE_BATCH_WANTED,
	SPE_BATCH_BEING_FILLED,
	SPE_BATCH_FULL,
};

struct spe_stream {
	const struct trace_queue *queue;
	/* used by the thread that fills the back batch */
	size_t at;     /* extent being read */
	uint64_t done; /* how many of its bytes were read into buf */
	uint8_t *buf;
	struct auxtap_spe_reader reader;
	/* front is used by the reader; state is that of back, and protected by the lock */
	struct spe_batch *front, *back;
	enum spe_batch_state state;
};

struct spe_streams {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off); /* by any thread */
	void *ctx;
	struct trace_queues queues; /* filled by the caller before the start */
	struct spe_stream *streams; /* one for each queue, once started */
	size_t nr;
	uint64_t nr_bytes; /* bytes of trace in the batches that the reader has taken */
	pthread_mutex_t lock;
	pthread_cond_t work, done; /* a back batch is wanted; one is full */
	bool stop;
	size_t next_stream; /* index where a worker starts to look for work */
	unsigned int nr_threads;
	pthread_t *threads;
};

void spe_streams_init(struct spe_streams *ss,
		      ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off), void *ctx);
/*
 * Makes a stream for each queue. nr_jobs is the number of threads, including the caller's; fewer
 * than that are not an error. 0 or -ENOMEM.
 */
int spe_streams_start(struct spe_streams *ss, unsigned int nr_jobs);
/*
 * The stream's next item, valid until the next call for this stream; NULL at its end. *error is set
 * if it ended early.
 */
const struct spe_item *spe_streams_next_batch(struct spe_streams *ss, struct spe_stream *s,
					      int *error);
static inline const struct spe_item *spe_streams_next(struct spe_streams *ss, struct spe_stream *s,
						      int *error)
{
	if (s->front->at < s->front->nr)
		return &s->front->items[s->front->at++];
	return spe_streams_next_batch(ss, s, error);
}
void spe_streams_free(struct spe_streams *ss);

#endif
