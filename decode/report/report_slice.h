/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A backward slice: the instructions that a bad pointer, index or return address came through, by
 * the dying thread's log of values ('crash --values').
 */
#ifndef AUXTAP_REPORT_SLICE_H
#define AUXTAP_REPORT_SLICE_H

#include "report_callers.h"

#define REPORT_SLICE_STEPS 6

enum report_slice_of {
	REPORT_SLICE_NOTHING,
	REPORT_SLICE_POINTER,
	REPORT_SLICE_INDEX,
	REPORT_SLICE_RETURN_ADDRESS,
	REPORT_SLICE_AFTER_BLOCK, /* what malloc keeps after the first block that was overrun */
	REPORT_SLICE_PROTECTOR,	  /* the stack protector's value in a frame */
	REPORT_SLICE_DIVISOR,	  /* of 0 */
};

enum report_slice_kind {
	REPORT_SLICE_READ,    /* from memory */
	REPORT_SLICE_WRITTEN, /* to memory */
	REPORT_SLICE_SET,     /* to a constant */
	REPORT_SLICE_COMPUTED,
	REPORT_SLICE_NEVER_SET, /* read from a local variable that nothing had written to */
};

struct report_slice_step {
	enum report_slice_kind kind;
	uint64_t ip;
	uint64_t addr;	 /* of the memory, if any */
	bool is_local;	 /* it is a local variable */
	bool is_part;	 /* WRITTEN: only a part of the value */
	bool is_shifted; /* a constant was added to the value later */
	bool is_summed;	 /* a variable was added to the value later */
	int32_t tid;	 /* of another thread of the process; 0: of the one that died */
	struct report_callers callers; /* at[0] has the instruction, or called what has it */
};

struct report_slice {
	enum report_slice_of of;
	uint64_t value; /* of the pointer, index or return address */
	struct report_slice_step steps[REPORT_SLICE_STEPS]; /* the newest first */
	int nr;
	/* what wrote the value is not known, because other threads may have */
	bool lacks_order;
	int nr_newer;	      /* of them, not older than head->origin; -1: all may be */
	uint64_t origin_addr; /* where head->origin was read from; 0: unknown */
};

struct report_headline;

/* Finds head->slice; head->origin is found, and not checked. */
void report_slice_find(const struct report_out *ro, const struct report_facts *facts,
		       struct report_headline *head);
/* Drops what head->origin, which is complete, says. */
void report_slice_check(const struct report_out *ro, struct report_headline *head);
void report_slice_print(const struct report_out *ro, const struct report_headline *head);

#endif
