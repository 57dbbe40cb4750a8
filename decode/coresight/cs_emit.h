/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the steps of one trace unit's flow (flow_ops.h) into events. A branch is emitted once the
 * next step shows its target, a gap once the flow resumes.
 */
#ifndef AUXTAP_CS_EMIT_H
#define AUXTAP_CS_EMIT_H

#include "cs_memory.h"
#include "decode/flow/callstack.h"
#include "decode/flow/flow_event.h"
#include "decode/flow/flow_ops.h"

#define CS_EMIT_OUT 8

struct cs_emit {
	const struct auxtap_decode_opts *opts;
	const struct cs_unit *unit;
	int cpu;
	/* thread and time of the next step's events: set by the caller */
	int32_t pid, tid;
	uint64_t time;
	struct cs_memory mem;
	/* events that are ready, to be returned before the instructions of the range below */
	struct flow_event out[CS_EMIT_OUT];
	unsigned int nr_out, at_out;
	struct flow_event insn; /* the next instruction of the range */
	uint64_t range_end;
	uint32_t range_left; /* instructions */
	uint8_t code[256];   /* of the range, from address code_at on */
	uint64_t code_at;
	uint32_t code_size;
	/* a branch whose target will be in the next step */
	bool branch_pending;
	struct flow_event branch;
	bool direct;
	/* an exception whose handler's address will be in the next step */
	bool exception_pending;
	uint64_t exception_ip;
	bool trace_enabled, trace_on_pending;
	uint64_t last_ip, last_end; /* of the last block; 0: none since tracing was enabled */
	struct flow_gap *gap;
	struct callstack calls;
	uint32_t insns_since;
	struct auxtap_decode_summary sum;
	int error;
};

void cs_emit_init(struct cs_emit *emit, const struct auxtap_decode_opts *opts,
		  const struct cs_unit *unit);
void cs_emit_free(struct cs_emit *emit);
/* Call this only after cs_emit_event() has returned NULL. */
void cs_emit_step(struct cs_emit *emit, const struct flow_step *step);
/* The trace up to here is not continued, for the reason 'why': opens a gap. */
void cs_emit_lost(struct cs_emit *emit, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		  const char *why);
/* From here on another thread runs, or the same one after a pause; nothing was lost. */
void cs_emit_discontinuity(struct cs_emit *emit);
void cs_emit_end(struct cs_emit *emit);
/* The next event; NULL: another step is needed. The caller owns the event's gap. */
struct flow_event *cs_emit_event(struct cs_emit *emit);

#endif
