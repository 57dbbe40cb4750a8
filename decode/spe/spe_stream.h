/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arm SPE's buffers as streams of records, one for each CPU or thread, read ahead by threads: a
 * batch of every stream is with the reader while the next one is filled.
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
	int ret; /* spe_next()'s: 1, or negative and record says what is none */
	struct auxtap_spe_record record;
};

struct spe_batch {
	size_t nr, at;	   /* filled; what the reader has taken */
	uint64_t nr_bytes; /* of trace, read for it */
	int error;	   /* the trace cannot be read further */
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
	/* of who fills */
	size_t at;     /* extent being read */
	uint64_t done; /* bytes of it that are in buf or were */
	uint8_t *buf;
	struct auxtap_spe_reader reader;
	/* one of these is the reader's, the other one's state is under the lock */
	struct spe_batch *front, *back;
	enum spe_batch_state state;
};

struct spe_streams {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off); /* by any thread */
	void *ctx;
	struct trace_queues queues; /* of whoever opens: filled before the start */
	struct spe_stream *streams; /* of each queue one, once started */
	size_t nr;
	uint64_t nr_bytes; /* of trace, of the batches that were taken */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	bool stop;
	size_t turn; /* where a thread looks for work first */
	unsigned int nr_threads;
	pthread_t *threads;
};

void spe_streams_init(struct spe_streams *ss,
		      ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off), void *ctx);
/*
 * A stream for each queue. nr_jobs threads in all, the caller's among them. 0 or -ENOMEM; fewer
 * threads than asked for are no error.
 */
int spe_streams_start(struct spe_streams *ss, unsigned int nr_jobs);
/*
 * The stream's next item, valid until the next call for it; NULL at its end. *error: why it ends
 * early.
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
