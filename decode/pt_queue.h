/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One queue (a thread's or a CPU's trace) as a generator of events. pt_queue.c turns
 * segments into events, pt_flow.c runs libipt over one segment; decoder.c merges queues.
 * A queue is worked on by one thread at a time.
 */
#ifndef AUXTAP_PT_QUEUE_H
#define AUXTAP_PT_QUEUE_H

#include "branch_insn.h"
#include "callstack.h"
#include "pt_memory.h"
#include "pt_stream.h"
#include "sideband.h"

#define PT_BATCH 1024

struct flow_gap {
	struct auxtap_gap gap;
	char text[96];
};

/* struct auxtap_event, compact. */
struct flow_event {
	uint64_t time, ip, addr;
	uint32_t type, nr_insns, depth;
	int32_t pid, tid;
	uint8_t kind, insn_size;
	bool has_ip, has_addr, trace_on;
	uint8_t insn[15];
	struct flow_gap *gap; /* owned */
};

struct pt_batch {
	struct flow_event events[PT_BATCH];
	unsigned int nr, at;
};

/* The same for all queues of a decoder. */
struct pt_shared {
	struct auxtap_decode_opts opts;
	const struct sideband *sideband;
	struct auxtap_image_set *images;
	struct pt_image_section_cache *sections;
	struct pt_config config; /* without begin and end */
	uint64_t mtc_shift;
};

/* What libipt said last. */
struct pt_step {
	uint64_t ip, end_ip;
	unsigned int nr_insns; /* 0: none */
	enum pt_insn_class iclass;
	bool have_raw, bits_32;
	uint8_t raw[15], size;
};

struct pt_flow {
	struct pt_block_decoder *blk; /* one of the two */
	struct pt_insn_decoder *insn;
	int status;
	unsigned int nr_status_left; /* status updates of the segment's own PSB+ */
};

struct pt_pending {
	bool valid;
	uint64_t ip;
	struct branch_insn insn;
	uint8_t raw[15];
};

/* Branches met lately: reading and taking them apart costs more than libipt's whole block. */
#define PT_BRANCHES 1024
struct pt_branch {
	uint64_t ip;
	uint32_t generation; /* of the image; 0: empty */
	bool valid;	     /* it is a branch */
	struct branch_insn insn;
	uint8_t raw[15];
};

struct pt_queue {
	const struct pt_shared *shared;
	int32_t queue_tid, queue_pid;
	int cpu;
	bool per_cpu, snapshot;
	struct pt_stream stream;
	struct pt_segment seg;
	uint8_t *base;	 /* what libipt sees of the segment */
	size_t own, total; /* from base: the segment's own bytes, and with the next PSB+ */
	bool in_segment, enabled, done;
	int error;
	struct pt_flow flow;
	struct pt_memory mem;
	struct pt_image *image;
	uint32_t generation; /* one more with every change of image */
	struct pt_branch branches[PT_BRANCHES];
	int32_t pid, tid; /* who runs */
	uint64_t tsc, time;
	uint64_t last_ip; /* of the last instruction */
	struct pt_pending pending;
	struct flow_gap *gap; /* open: told when it is over */
	struct callstack calls;
	uint32_t insns_since;
	/* a walk without packets comes back to where it was: Brent's search for a cycle */
	uint64_t spin_ip;
	uint32_t spin_power, spin_length, empty_steps;
	/* instructions not yet added to their image */
	uint64_t count_lo, count_hi, count_nr;
	struct auxtap_image *count_image;
	struct pt_batch *out;
	struct auxtap_decode_summary sum;
};

/* pt_flow.c: 0, or a negative libipt code */
int pt_flow_start(struct pt_queue *q);
void pt_flow_stop(struct pt_queue *q);
int pt_flow_next(struct pt_queue *q, struct pt_step *step); /* the new status */
int pt_flow_event(struct pt_queue *q, struct pt_event *ev);
size_t pt_flow_offset(struct pt_queue *q); /* from base */
uint64_t pt_flow_tsc(struct pt_queue *q);
void pt_flow_set_image(struct pt_queue *q, struct pt_image *image);

/* pt_emit.c: events into q->out, as far as they are wanted */
void pt_emit_insn(struct pt_queue *q, const struct pt_step *step);
void pt_emit_block(struct pt_queue *q, const struct pt_step *step);
void pt_emit_branch(struct pt_queue *q, uint64_t target, bool has_target);
void pt_emit_trace(struct pt_queue *q, bool on, uint64_t ip, bool has_ip);
void pt_emit_async(struct pt_queue *q, uint64_t ip, uint64_t to, bool has_to);
void pt_gap_open(struct pt_queue *q, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		 const char *fmt, ...) AUXTAP_PRINTF(5, 6);
void pt_gap_close(struct pt_queue *q);
void pt_count_flush(struct pt_queue *q);

/* pt_queue.c: fills out until it has no room for a step or the queue is done. */
void pt_queue_fill(struct pt_queue *q, struct pt_batch *out);
void pt_queue_init(struct pt_queue *q, const struct pt_shared *shared);
void pt_queue_free(struct pt_queue *q);

#endif
