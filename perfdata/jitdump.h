/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jitdump: a JIT compiler describes the code that it generates in a file jit-PID.dump (perf's
 * jitdump-specification.txt). The program writes the file, so it is untrusted. Snapshots contain it
 * without the code (jitdump_condense()).
 */
#ifndef AUXTAP_PERFDATA_JITDUMP_H
#define AUXTAP_PERFDATA_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITDUMP_NAME_MAX 4096 /* with the NUL; a longer name is cut */

enum jitdump_id {
	JITDUMP_LOAD,	   /* code at an address, and its name */
	JITDUMP_MOVE,	   /* the code with the number of a LOAD moved to another address */
	JITDUMP_DEBUG,	   /* source lines of the code of the next LOAD */
	JITDUMP_CLOSE,	   /* the end */
	JITDUMP_UNWINDING, /* unwind information of the next LOAD; skipped */
};

struct jitdump_record {
	uint32_t id; /* JITDUMP_LOAD, JITDUMP_MOVE or JITDUMP_DEBUG */
	uint64_t addr;
	uint64_t size;	 /* of the code; 0 for JITDUMP_DEBUG */
	uint64_t number; /* code_index of JITDUMP_LOAD and JITDUMP_MOVE */
	const char *name;
	/* JITDUMP_DEBUG: entries, for jitdump_line() */
	uint64_t nr_lines;
	const uint8_t *lines;
	size_t lines_size;
};

/*
 * The next LOAD, MOVE or DEBUG record in condensed bytes; false at the end, or if they are damaged.
 * *at is the position, initially 0.
 */
bool jitdump_next(const uint8_t *bytes, size_t size, size_t *at, struct jitdump_record *record);

struct jitdump_line {
	uint64_t addr; /* of the first instruction of the line */
	uint32_t line;
	const char *file; /* points into the bytes of the record */
};

/*
 * The next line of a JITDUMP_DEBUG record, which is removed from it. line must be that of the
 * previous call, or zeroed at first. False at the end.
 */
bool jitdump_line(struct jitdump_record *record, struct jitdump_line *line);

/*
 * Copies the records of a file without code and without those that jitdump_next() skips. Returns
 * the number of bytes written to out, at most max; -EBADMSG if it is not a jitdump of this byte
 * order; or the negative errno of a read. An incomplete last record is dropped, as the program may
 * have died while writing it. *cut: other records were dropped, too, because out is full or the
 * file is damaged.
 */
int64_t jitdump_condense(int fd, uint8_t *out, size_t max, bool *cut);

#endif
