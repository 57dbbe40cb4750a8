/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers and memory of a thread in the past, from its ring of recorded values (auxtap/values.h).
 * Each entry of the ring is assigned to the instruction of the history that it belongs to: the two
 * are compared backwards from the end, instruction by instruction; the values start where they
 * first differ.
 */
#ifndef GDB_VALUES_H
#define GDB_VALUES_H

#include "gdb_replay.h"
#include "recording.h"

/* Memory that instruction number 'at' of the thread wrote, or may have written. */
struct value_event {
	uint64_t at, addr, nr_bytes; /* all memory: 0, UINT64_MAX */
	const uint8_t *bytes;	     /* NULL: unknown */
};

/* Registers before instruction number 'at'. */
struct value_regs {
	uint64_t at;
	uint64_t reg[AUXTAP_VALUES_REGS];
};

struct values {
	bool has_values; /* there are values for the last part of the history */
	bool memory;	 /* they include writes to memory */
	uint32_t thread;
	uint64_t first;		    /* the oldest instruction with values */
	struct value_event *events; /* ascending */
	size_t nr_events, max_events;
	struct value_regs *regs; /* ascending, if has_regs */
	size_t nr_regs, max_regs;
	bool has_regs;
	const char *why_none; /* NULL: there are values */
};

/* 0 or -ENOMEM. */
int values_build(struct values *v, const struct recording *rec, struct replay *r, uint32_t thread,
		 const struct value_log *from);
void values_free(struct values *v);

/* The general registers before an instruction. False: unknown. */
bool values_regs(const struct values *v, uint64_t at, struct auxtap_regs *regs);
/* Reads memory as before an instruction. Returns how many bytes from addr on are known. */
size_t values_memory(const struct values *v, const struct recording *rec, uint64_t at,
		     uint64_t addr, void *buf, size_t size);
/*
 * The newest event before instruction 'at', or the oldest at or after it, that touches the range;
 * NULL: none. *nr_all: the number of skipped events that may have changed all memory.
 */
const struct value_event *values_before(const struct values *v, uint64_t at, uint64_t addr,
					uint64_t nr_bytes, size_t *nr_all);
const struct value_event *values_after(const struct values *v, uint64_t at, uint64_t addr,
				       uint64_t nr_bytes, size_t *nr_all);

#endif
