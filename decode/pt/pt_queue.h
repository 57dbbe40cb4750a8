/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One queue (the trace of a thread or CPU) is decoded in two stages. A segment decoder
 * (pt_segment.c, pt_emit.c) turns the flow (flow_ops.h) of one segment, from PSB to PSB
 * (pt_stream.h), into events. It needs no state of earlier segments but the newest TSC in a PSB+,
 * so any number of segments can be decoded at the same time. The queue
 * (pt_queue.c) takes their events in order and adds the state that crosses segments: the branch
 * that is pending at a boundary, the call depth, open gaps, the instructions since the last event,
 * and a clock that never goes back. So the result does not depend on which thread decoded which
 * segment when.
 */
#ifndef AUXTAP_PT_QUEUE_H
#define AUXTAP_PT_QUEUE_H

#include "decode/flow/callstack.h"
#include "decode/flow/flow_event.h"
#include "decode/flow/flow_ops.h"
#include "pt_libipt.h"
#include "pt_memory.h"
#include "pt_stream.h"
#include "decode/flow/sideband.h"

#include <stdarg.h>

#define PT_BATCH 1024

/*
 * Types of flow_event besides AUXTAP_EVENT_…: messages of a segment decoder to its queue, for what
 * depends on earlier segments. Type 0 is an empty slot.
 */
/* the branch that was pending at the segment's start went to addr; an empty slot follows */
#define PT_BOUNDARY_BRANCH    0x10000
#define PT_BOUNDARY_NO_BRANCH 0x20000 /* its target is not known */
#define PT_GAP_OPENS	      0x40000
#define PT_GAP_ENDS	      0x80000 /* if one is open */

struct pt_batch {
	struct pt_batch *next;
	unsigned int nr, at;
	bool shrunk; /* allocated for only nr events */
	struct flow_event events[PT_BATCH];
};

/* Shared by all queues of a decoder. */
struct pt_shared {
	struct auxtap_decode_opts opts;
	const struct sideband *sideband;
	struct auxtap_image_set *images;
	const struct flow_ops *flow_ops;
	void *flow; /* returned by flow_ops.open */
};

/* A branch whose target is not known yet. */
struct pt_pending {
	bool valid;
	bool maybe_inherited; /* the previous segment may have left one: only the queue knows */
	bool fetches_ip;
	uint8_t kind; /* enum auxtap_branch_kind */
	uint8_t isa;  /* enum auxtap_isa */
	uint8_t size;
	uint8_t raw[15];
	uint64_t ip;
};

/* The state of the decode at a segment's start or end. */
struct pt_boundary {
	uint64_t time, last_ip; /* 0: none in this segment */
	int32_t pid, tid;
	bool enabled;
	struct pt_pending pending;
	uint32_t nr_insns; /* since the last event */
};

enum pt_job_state {
	PT_JOB_WAITING,	 /* in the list of waiting jobs */
	PT_JOB_DECODING, /* a thread decodes it */
	PT_JOB_FULL,	 /* has enough batches: waits again when the reader has taken some */
	PT_JOB_DONE,	 /* decoded, or nothing to decode */
};

/* A segment and the state of its decoding. */
struct pt_job {
	struct pt_job *next; /* the queue's next segment */
	const struct pt_queue *queue;
	struct pt_segment seg; /* its data is this job's own copy */
	uint8_t *mem;
	size_t mem_size;
	uint64_t tsc;	   /* of the newest PSB+ that has one, up to this segment's */
	uint64_t nr_bytes; /* of the queue's trace, read so far */
	bool skip;	   /* not decoded: no bytes, or before the time window */
	bool last;	   /* no segment: the stream has ended, or failed (error) */
	/* used by pt_jobs.c, under its lock */
	enum pt_job_state state;
	bool cancelled;
	struct pt_job *waiting_prev, *waiting_next;
	struct pt_batch *first, *newest; /* decoded, not yet taken by the reader */
	unsigned int nr_batches;
	struct pt_segment_decoder *decoder;
	/* set by the segment decoder, in the thread that decodes the job */
	bool begun;
	struct pt_boundary start, end;
	uint64_t nr_insns, nr_branches;
	int error;
	/* which of pt_queue_begin_segment() and pt_queue_take_start() were called */
	bool reported, start_taken;
};

/* Decodes segments, one at a time; between them it keeps only caches. */
struct pt_segment_decoder {
	struct pt_segment_decoder *next; /* in the list of idle ones */
	const struct pt_shared *shared;
	const struct pt_queue *queue;
	struct pt_job *job;
	struct flow *flow;
	const struct flow_step *steps; /* not yet turned into events */
	size_t nr_steps;
	bool enabled, over;
	struct pt_memory mem;
	int32_t pid, tid; /* of the thread that runs */
	uint64_t tsc, time;
	uint64_t last_ip; /* of the last instruction */
	uint8_t isa;	  /* enum auxtap_isa, of the last step */
	struct pt_pending pending;
	bool in_gap;	      /* a gap is open; also before the first step that resumes the flow */
	uint32_t insns_since; /* the last event */
	/* instructions executed in an image, not yet added to its counter */
	uint64_t count_lo, count_hi, count_nr;
	struct auxtap_image *count_image;
	struct pt_batch *out;
};

struct pt_queue {
	const struct pt_shared *shared;
	/* fixed when decoding starts */
	int32_t queue_tid, queue_pid;
	int cpu;
	bool per_cpu;
	/* making jobs */
	struct pt_stream stream;
	uint64_t psb_tsc;
	bool all_jobs_made; /* the stream has ended, or failed */
	/* merging */
	struct pt_job *jobs, *newest_job; /* made, and not yet freed */
	unsigned int nr_jobs;
	bool enabled, done;
	int error;
	int32_t pid, tid;
	uint64_t time;
	uint64_t last_ip;
	struct pt_pending pending;
	struct flow_gap *gap; /* the open gap, reported when the flow resumes */
	struct callstack calls;
	uint32_t insns_since;
	struct auxtap_decode_summary sum;
};

/* pt_emit.c: adds events to w->out if the caller of the decoder wants such events */
void pt_emit_insn(struct pt_segment_decoder *w, const struct flow_step *step);
void pt_emit_block(struct pt_segment_decoder *w, const struct flow_step *step);
void pt_emit_branch(struct pt_segment_decoder *w, uint64_t target, bool has_target);
void pt_emit_no_branch(struct pt_segment_decoder *w);
void pt_emit_trace(struct pt_segment_decoder *w, bool on, uint64_t ip, bool has_ip);
void pt_emit_async(struct pt_segment_decoder *w, uint64_t ip, uint64_t to, bool has_to);
/* opens or closes a gap; counts the instructions since the last count for their image */
struct flow_gap *pt_gap_open(struct pt_segment_decoder *w, enum auxtap_gap_cause cause,
			     const char *fmt, ...) AUXTAP_PRINTF(3, 4);
void pt_gap_close(struct pt_segment_decoder *w);
void pt_count_flush(struct pt_segment_decoder *w);

/* pt_segment.c */
struct pt_segment_decoder *pt_segment_decoder_new(const struct pt_shared *shared);
void pt_segment_decoder_free(struct pt_segment_decoder *w);
void pt_segment_decoder_start(struct pt_segment_decoder *w, struct pt_job *job);
/* Fills out until it has no space for a step; true: the segment has ended, and job->end is set. */
bool pt_segment_decoder_fill(struct pt_segment_decoder *w, struct pt_batch *out);
/* The job has ended, or is not needed any more. */
void pt_segment_decoder_stop(struct pt_segment_decoder *w);

/* pt_queue.c: called only by the thread that reads the events */
void pt_queue_init(struct pt_queue *q, const struct pt_shared *shared);
void pt_queue_free(struct pt_queue *q);
/* No event of the queue has a time before this; 0: not known. Called before the first job. */
uint64_t pt_queue_first_time(struct pt_queue *q);
/* Makes a job for the next segment of the stream; NULL: out of memory. */
struct pt_job *pt_queue_next_job(struct pt_queue *q);
/* Called first for each job. False: the queue has ended, and its last event is in out. */
bool pt_queue_begin_segment(struct pt_queue *q, struct pt_job *job, struct pt_batch *out);
/* Called when job->start is known. */
void pt_queue_take_start(struct pt_queue *q, const struct pt_job *job);
/* Finishes the segment's next events, in place: messages become events. */
void pt_queue_finish_batch(struct pt_queue *q, struct pt_batch *batch);
/* Called when the job is done and all its events were taken. */
void pt_queue_take_end(struct pt_queue *q, const struct pt_job *job);

#endif
