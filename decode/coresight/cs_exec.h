/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the places in a thread's trace where an execve() started another program: a system call
 * that does not return, after which tracing goes on at another address. This needs no code of the
 * programs, as exceptions and addresses are in the trace itself.
 */
#ifndef AUXTAP_CS_EXEC_H
#define AUXTAP_CS_EXEC_H

#include "cs_opencsd.h"
#include "cs_frames.h"

/* The start of a program. */
struct cs_start {
	uint64_t off; /* of the packet where tracing goes on at addr */
	uint64_t addr;
};

struct cs_starts {
	bool (*is_entry)(void *ctx, uint64_t addr); /* whether a program may start at addr */
	void *ctx;
	struct cs_start *list; /* by offset; the caller frees it */
	size_t nr, max;
	/* Reasons why a start may be missing in the list. */
	bool lost; /* some of the trace was not decoded */
	bool open; /* the trace ends in a system call */
	/* a system call did not return, and the flow went on where is_entry() is false */
	bool elsewhere;
	uint64_t elsewhere_off; /* the last time */
};

/* Scans one unit's bytes (CS_FORMAT_SOURCE), of which the first has offset off. 0 or -ENOMEM. */
int cs_starts_find(struct cs_starts *starts, const struct flow_ops *ops, void *shared,
		   const struct cs_unit *unit, struct cs_bytes *bytes, uint64_t off);

#endif
