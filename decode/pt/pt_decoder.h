/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace family of Intel PT: pt_open.c (opens the queues of a file), pt_jobs.c (worker threads),
 * pt_merge.c (merges the queues by time).
 */
#ifndef AUXTAP_PT_DECODER_H
#define AUXTAP_PT_DECODER_H

#include "decode/flow/decoder_private.h"
#include "pt_queue.h"

struct pt_jobs;

struct pt_merge_queue {
	struct pt_queue pt;
	struct pt_batch *front; /* the batch whose events are returned; NULL: none yet */
	bool finished;		/* it has no more events */
	size_t index;		/* in the decoder's list: orders events of equal time and tid */
	/* its first event is not before these */
	uint64_t first_time;
	int32_t first_tid;
};

/* The array of AUXTRACE_INFO. */
struct pt_info {
	uint64_t v[AUXTAP_PT_INFO_NR];
	size_t nr;
	bool snapshot;
};

struct pt_decoder {
	struct pt_shared shared;
	struct pt_info info;
	struct pt_source_cpu cpu;
	struct pt_merge_queue **queues;
	size_t nr_queues, max_queues;
	/* queues not opened yet, by first_time; the others are a heap by their next event */
	struct pt_merge_queue **unopened, **heap;
	size_t nr_unopened, unopened_at, nr_heap;
	struct pt_jobs *jobs;
	/* events of this queue are returned, without looking at the others, up to the limit */
	struct pt_merge_queue *current;
	uint64_t limit_time;
	int32_t limit_tid;
	bool limited;
};

static inline struct pt_decoder *pt_of(const struct auxtap_decoder *dec)
{
	return dec->trace;
}

/* pt_open.c: see struct trace_family. */
void pt_configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr);
int pt_open_file(struct auxtap_decoder *dec, struct auxtap_error *err);
void pt_configure_raw(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw);
int pt_open_raw(struct auxtap_decoder *dec, const char *path, const struct auxtap_raw_opts *raw,
		int cpu, struct auxtap_error *err);

/* pt_merge.c; NULL: out of memory */
struct pt_merge_queue *pt_add_queue(struct pt_decoder *pt);

/* pt_jobs.c: nr threads decode segments ahead of the reader; with 0 or 1 the reader decodes. */
int pt_jobs_start(struct pt_decoder *pt, unsigned int nr);
void pt_jobs_stop(struct pt_decoder *pt);
/*
 * Replaces the queue's front batch by the next one, in which events of type 0 are to be skipped.
 * False: the queue has ended.
 */
bool pt_jobs_take(struct pt_decoder *pt, struct pt_merge_queue *queue);

#endif
