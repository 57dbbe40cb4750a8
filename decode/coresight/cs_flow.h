/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of one trace unit's flow (flow_ops.h) as events: branches are known
 * when their target is, gaps when they are over.
 */
#ifndef AUXTAP_CS_FLOW_H
#define AUXTAP_CS_FLOW_H

#include "cs_memory.h"
#include "decode/flow/callstack.h"
#include "decode/flow/flow_event.h"
#include "decode/flow/flow_ops.h"

#define CS_FLOW_OUT 8

struct cs_flow {
	const struct auxtap_decode_opts *opts;
	const struct cs_unit *unit;
	int cpu;
	/* who, when: set by the caller before each step */
	int32_t pid, tid;
	uint64_t time;
	struct cs_memory mem;
	/* events that are ready; then the instructions of a range, one at a time */
	struct flow_event out[CS_FLOW_OUT];
	unsigned int nr_out, at_out;
	struct flow_event insn; /* the range's next one */
	uint64_t range_end;
	uint32_t range_left; /* instructions */
	uint8_t code[256];   /* of the range, from code_at on */
	uint64_t code_at;
	uint32_t code_size;
	/* a branch whose target is in the next step */
	bool pending;
	struct flow_event branch;
	bool direct;
	/* an exception, likewise */
	bool async;
	uint64_t async_ip;
	bool enabled, turns_on;
	uint64_t last_ip, last_end; /* of the last range; 0: none since tracing went on */
	struct flow_gap *gap;
	struct callstack calls;
	uint32_t insns_since;
	struct auxtap_decode_summary sum;
	int error;
};

void cs_flow_init(struct cs_flow *flow, const struct auxtap_decode_opts *opts,
		  const struct cs_unit *unit);
void cs_flow_free(struct cs_flow *flow);
/* Only when cs_flow_event() gives NULL. */
void cs_flow_step(struct cs_flow *flow, const struct flow_step *step);
/* What was before is not continued, and this is why. */
void cs_flow_lost(struct cs_flow *flow, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		  const char *why);
/* Another thread runs from here on, or the same after a pause; no loss. */
void cs_flow_break(struct cs_flow *flow);
void cs_flow_end(struct cs_flow *flow);
/* The next event; NULL: it needs another step. Its gap is the caller's. */
struct flow_event *cs_flow_event(struct cs_flow *flow);

#endif
