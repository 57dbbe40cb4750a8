/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a recording as queues of extents. A queue is one ring's trace: the AUXTRACE buffers
 * of a CPU or thread in the order of the file. What lies between two extents is recorded in the
 * later one.
 *
 *   file     [AUXTRACE 0..4000 pad] [AUXTRACE 4000..9000] [AUXTRACE 9500..9900]
 *   extents   0 +4000 STARTS         4000 +5000 JOINS      9500 +400 LACKS, 500 bytes
 */
#ifndef STREAM_TRACE_QUEUE_H
#define STREAM_TRACE_QUEUE_H

#include "trace_aux.h"
#include "trace_keys.h"

#define TRACE_ALIGN 8 /* perf pads an AUXTRACE buffer to this with zeros */

enum trace_border {
	TRACE_STARTS,  /* the first one, and nothing is known to be missing before it */
	TRACE_JOINS,   /* the next byte of the extent before */
	TRACE_LACKS,   /* nr_lost bytes before it are not in the file */
	TRACE_REPEATS, /* it begins before the end of the extent before: bytes may come twice */
	TRACE_UNSURE,  /* of snapshots: what lies between is not known */
	TRACE_FLAGGED, /* the kernel reported a loss there */
};

struct trace_extent {
	uint64_t off;	   /* in the AUX stream */
	uint64_t file_off; /* of the bytes */
	uint64_t size;
	enum trace_border border;
	/* if it does not join: the gap */
	enum auxtap_gap_cause cause;
	uint64_t nr_lost;
	bool exact;
	bool unsure; /* FLAGGED: the record names no thread, another ring may have lost the bytes */
};

struct trace_queue {
	struct trace_key key;
	struct trace_extent *extents;
	size_t nr, max;
};

/* How the recording is to be read; zero: a linear one, no snapshots. */
struct trace_queue_opts {
	bool snapshot; /* buffers are snapshots of the ring: they may overlap */
	/* offsets of snapshots count from the first byte that the unit wrote; a crash's begin at 0
	 */
	bool by_auxtap;
	bool by_idx; /* perf's number of the queue is part of the key */
	/* of the file, to compare snapshots; the number of bytes read, or negative */
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	void *ctx;
};

struct trace_queues {
	struct trace_queue_opts opts;
	struct trace_queue *queues; /* in the order in which the file begins them */
	size_t max;
	struct trace_keys keys; /* numbers of queues */
};

/* The queue of a buffer, made if it is new. NULL: out of memory. */
struct trace_queue *trace_queues_get(struct trace_queues *qs, const struct auxtap_auxtrace *head);
/*
 * The queue's next buffer. Of a snapshot only what the one before does not have becomes an extent,
 * which may be nothing. 0 or -ENOMEM.
 */
int trace_queue_add(const struct trace_queue_opts *opts, struct trace_queue *q,
		    const struct auxtap_perfdata_aux *aux);
/* The same of trace in a sample: a snapshot without an offset. */
int trace_queue_add_sample(const struct trace_queue_opts *opts, struct trace_queue *q,
			   uint64_t file_off, uint64_t size);
/*
 * When all extents have been added: splits them where records with flags of loss end; lossy are
 * those of the queue, by their ends. One that ends after the last extent becomes an empty extent. 0
 * or -ENOMEM.
 *
 * Several threads' queues are split at a record that names none of them: the flow of one of them
 * must not continue there as if nothing was lost. only: there is no other ring.
 */
int trace_queue_split(struct trace_queue *q, const struct trace_aux *const *lossy, size_t nr,
		      bool only);
/* At most UINT64_MAX. */
static inline uint64_t trace_extent_end(const struct trace_extent *extent)
{
	return extent->off + extent->size < extent->off ? UINT64_MAX : extent->off + extent->size;
}
static inline uint64_t trace_queue_end(const struct trace_queue *q)
{
	return q->nr ? trace_extent_end(&q->extents[q->nr - 1]) : 0;
}
void trace_queues_free(struct trace_queues *qs);

/* Where the trace of each CPU and of each thread ends in the file. All zero: empty. */
struct trace_ends {
	struct trace_keys keys;
	uint64_t *ends;
	size_t max;
};

/* A queue's end counts for its CPU and for its thread. 0 or -ENOMEM. */
int trace_ends_add(struct trace_ends *ends, int cpu, int32_t tid, uint64_t end);
/* tid -1: of the CPU. 0: the file has nothing of it. */
uint64_t trace_ends_find(const struct trace_ends *ends, int cpu, int32_t tid);
void trace_ends_free(struct trace_ends *ends);

/* Two snapshots of one ring: how many of the newer one's first bytes the older one ends with. */
struct trace_overlap {
	int64_t seen;	  /* -1: they do not overlap as far as is known */
	bool sure;	  /* there is no other position where the newer one could go on */
	bool unique;	  /* the older one's last bytes come once in the newer one */
	unsigned int pad; /* zeros at the older one's end that are padding */
};

/*
 * new_off: where the newer one would begin by its offset; it has new_size bytes at file_off.
 * by_off_min: number of bytes overlapping by their offset that are proof. padded: zeros at the end
 * of the older one may be padding.
 */
struct trace_overlap trace_overlap_find(const struct trace_queue_opts *opts,
					const struct trace_extent *old, uint64_t new_off,
					uint64_t file_off, uint64_t new_size, uint64_t by_off_min,
					bool padded);

#endif
