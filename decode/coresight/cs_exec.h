/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in a stretch of trace another program begins: a system call that does not return, and flow
 * that goes on at another address. No code is needed for that.
 */
#ifndef AUXTAP_CS_EXEC_H
#define AUXTAP_CS_EXEC_H

#include "cs_follow.h"
#include "cs_frames.h"

struct cs_start {
	uint64_t off; /* of the packet that begins the flow there */
	uint64_t addr;
};

struct cs_starts {
	bool (*wanted)(void *ctx, uint64_t addr); /* may it be a program's first instruction? */
	void *ctx;
	struct cs_start *list; /* by offset; the caller frees it */
	size_t nr, max;
	/* What else may be a start that is not in the list, or hide one. */
	bool lost; /* some of the trace was not decoded */
	bool open; /* at the end no flow followed a system call */
	/* calls that did not return, to other addresses than wanted() ones: */
	bool elsewhere;
	uint64_t elsewhere_off; /* the last of them */
};

/* For one unit's bytes, without frames; the first has offset off. 0 or -ENOMEM. */
int cs_starts_find(struct cs_starts *starts, const struct flow_ops *ops, void *shared,
		   const struct cs_unit *unit, struct cs_bytes *bytes, uint64_t off);

#endif
