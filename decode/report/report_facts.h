/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording's metadata says about the process that died (crash.h), for the report and for
 * gdb/. It is untrusted; records that make no sense are ignored.
 */
#ifndef AUXTAP_REPORT_FACTS_H
#define AUXTAP_REPORT_FACTS_H

#include "value_log.h"

#include <auxtap/crash.h>
#include <auxtap/perfdata.h>
#include <stdbool.h>

struct report_thread {
	struct auxtap_crash_thread record;
};

struct report_memory {
	uint64_t addr, nr_bytes;
	unsigned char *bytes;
};

struct report_map {
	uint64_t start, end, pgoff;
	char perms[5];
	char *name; /* "" for anonymous memory */
};

/* Memory that the dying thread points to; report_blocks_choose() sets all but record and before. */
struct report_block {
	struct auxtap_crash_block record;
	int rank;
	bool being_freed;	/* the call that frees it has not returned */
	bool freed_again;	/* ... and malloc found that the block was free already */
	bool variable_is_whole; /* the pointer is the variable, not a part of it */
	char variable[64];	/* variable of the function that points there; "": none */
	char function[256];
	uint64_t variable_offset;
	struct auxtap_crash_block before; /* earlier block in its memory; size 0: none is known */
};

/* At most five per block, and one for the exception that was thrown. */
#define REPORT_MAX_BLOCK_CALLS (5 * AUXTAP_MAX_BLOCKS + AUXTAP_MAX_OVERRUNS + 1)

struct report_facts {
	bool have_record; /* a CRASH record; without a crash if the program went on or exited */
	bool have_crash;  /* a CRASH record with a signal */
	bool redacted;	  /* arguments and local variables are not shown */
	struct auxtap_crash crash;
	struct report_thread *threads;
	size_t nr_threads, max_threads;
	struct report_memory *memory;
	size_t nr_memory, max_memory;
	struct report_map *maps;
	size_t nr_maps, max_maps;
	struct report_block blocks[AUXTAP_MAX_BLOCKS];
	size_t nr_blocks;
	/* blocks that were written past their end; each is followed by the next in memory, if in
	 * use */
	struct report_block overruns[AUXTAP_MAX_OVERRUNS];
	size_t nr_overruns;
	struct auxtap_block_call *block_calls;
	size_t nr_block_calls, max_block_calls;
	struct value_log *value_logs; /* of 'crash --values' */
	size_t nr_value_logs, max_value_logs;
	char *capture;	 /* "key: value" lines, or NULL */
	char *message;	 /* of the C library, or NULL */
	char *exception; /* AUXTAP_METADATA_EXCEPTION, or NULL */
	/* state of /tmp/perf-PID.map and of a jitdump; size 0: there was none */
	struct auxtap_crash_code_names code_names, code_dump;
};

/* Adds one metadata record; facts are zero before the first. 0 or -ENOMEM. */
int report_facts_add(struct report_facts *facts, uint32_t type, const void *data, size_t size);
/* Reads all metadata records of a file. */
int report_facts_read(struct report_facts *facts, struct auxtap_perfdata *pd,
		      struct auxtap_error *err);
void report_facts_free(struct report_facts *facts);
const struct report_map *report_facts_map(const struct report_facts *facts, uint64_t addr);
/* Copies memory of the dead process; false unless all size bytes are known. */
bool report_facts_memory(const struct report_facts *facts, uint64_t addr, void *buf, size_t size);
/* Copies the value of a line of the CAPTURE record into buf; false: there is no such line. */
bool report_facts_capture(const struct report_facts *facts, const char *key, char *buf,
			  size_t size);

#endif
