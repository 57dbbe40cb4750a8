/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a recording as queues of extents. A queue is the trace of one ring: the AUXTRACE
 * buffers of a CPU or thread in the order of the file. The later one of two extents says what is
 * between them.
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
	TRACE_JOINS,   /* continues the previous extent */
	TRACE_LACKS,   /* nr_lost bytes before it are not in the file */
	TRACE_REPEATS, /* begins before the end of the previous extent: bytes may come twice */
	TRACE_UNSURE,  /* snapshots: unknown what is missing between the two */
	TRACE_FLAGGED, /* the kernel reported a loss there */
};

struct trace_extent {
	uint64_t off;	   /* in the AUX stream */
	uint64_t file_off; /* of the bytes in the file */
	uint64_t size;
	enum trace_border border;
	/* the gap before it, unless border is JOINS or STARTS */
	enum auxtap_gap_cause cause;
	uint64_t nr_lost;
	bool exact;
	bool unsure; /* FLAGGED: the record names no thread, so another ring may have the loss */
};

struct trace_queue {
	struct trace_key key;
	struct trace_extent *extents;
	size_t nr, max;
};

/* How to read the recording; all zero: a linear one, no snapshots. */
struct trace_queue_opts {
	bool snapshot; /* buffers are snapshots of the ring: they may overlap */
	/* snapshot offsets count from the first byte that the unit wrote; in a crash file from 0 */
	bool by_auxtap;
	bool by_idx; /* perf's queue index is part of the key */
	/* reads from the file, to compare snapshots; returns the number of bytes, or negative */
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	void *ctx;
};

struct trace_queues {
	struct trace_queue_opts opts;
	struct trace_queue *queues; /* in the order of their first buffers in the file */
	size_t max;
	struct trace_keys keys; /* to indices of queues */
};

/* The queue of a buffer; it is added if it is new. NULL: out of memory. */
struct trace_queue *trace_queues_get(struct trace_queues *qs, const struct auxtap_auxtrace *head);
/*
 * Adds the queue's next buffer. Of a snapshot only the bytes that the previous one does not
 * contain become an extent; no extent is added if there are none. 0 or -ENOMEM.
 */
int trace_queue_add(const struct trace_queue_opts *opts, struct trace_queue *q,
		    const struct auxtap_perfdata_aux *aux);
/* The same for trace in a sample, which is a snapshot without an offset. */
int trace_queue_add_sample(const struct trace_queue_opts *opts, struct trace_queue *q,
			   uint64_t file_off, uint64_t size);
/*
 * Call it when all extents have been added: splits them where AUX records with flags of loss end.
 * lossy: such records of the queue, sorted by their ends. A record that ends after the last extent
 * becomes an empty extent. 0 or -ENOMEM.
 *
 * A record that names no thread splits the queues of all threads: the flow of the one that has the
 * loss must not continue there as if nothing was lost. only_ring: there is no other ring.
 */
int trace_queue_split(struct trace_queue *q, const struct trace_aux *const *lossy, size_t nr,
		      bool only_ring);
/* Saturates at UINT64_MAX. */
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
/* tid -1: the end for the CPU. 0: the file has no trace of it. */
uint64_t trace_ends_find(const struct trace_ends *ends, int cpu, int32_t tid);
void trace_ends_free(struct trace_ends *ends);

/* Two snapshots of one ring: with how many of the newer one's first bytes the older one ends. */
struct trace_overlap {
	int64_t seen;	  /* size of the overlap; -1: none was found */
	bool sure;	  /* no other overlap is possible */
	bool unique;	  /* the older one's last bytes occur once in the newer one */
	unsigned int pad; /* number of padding zeros at the older one's end */
};

/*
 * new_off: the newer one's offset in the AUX stream; it has new_size bytes at file_off. by_off_min:
 * so many equal bytes at the position that new_off gives are a proof. padded: zeros at the end of
 * the older one may be padding.
 */
struct trace_overlap trace_overlap_find(const struct trace_queue_opts *opts,
					const struct trace_extent *old, uint64_t new_off,
					uint64_t file_off, uint64_t new_size, uint64_t by_off_min,
					bool padded);

#endif
