/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jitdump: what a compiler writes about the code that it makes at run time, into a file
 * jit-PID.dump (perf's jitdump-specification.txt). The file is the program's: nothing in it is
 * taken on trust. Snapshots contain it without the code (jitdump_condense()).
 */
#ifndef AUXTAP_PERFDATA_JITDUMP_H
#define AUXTAP_PERFDATA_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITDUMP_NAME_MAX 4096 /* with the NUL; a longer name is cut */

enum jitdump_id {
	JITDUMP_LOAD,	   /* code at an address, and its name */
	JITDUMP_MOVE,	   /* code, by the number of its LOAD, is at another address from now on */
	JITDUMP_DEBUG,	   /* source lines of the code that the next LOAD names */
	JITDUMP_CLOSE,	   /* the end */
	JITDUMP_UNWINDING, /* for the next LOAD; skipped */
};

struct jitdump_record {
	uint32_t id; /* JITDUMP_LOAD, JITDUMP_MOVE or JITDUMP_DEBUG */
	uint64_t addr;
	uint64_t size;	 /* of the code; 0 for JITDUMP_DEBUG */
	uint64_t number; /* of the code (code_index), for JITDUMP_LOAD and JITDUMP_MOVE */
	const char *name;
	/* JITDUMP_DEBUG: entries, for jitdump_line() */
	uint64_t nr_lines;
	const uint8_t *lines;
	size_t lines_size;
};

/*
 * The next record of these three, of condensed bytes: false at the end, or where they are damaged.
 * *at is 0 at first.
 */
bool jitdump_next(const uint8_t *bytes, size_t size, size_t *at, struct jitdump_record *record);

struct jitdump_line {
	uint64_t addr; /* of the first instruction of the line */
	uint32_t line;
	const char *file; /* of a JITDUMP_DEBUG's bytes */
};

/*
 * The next line of a JITDUMP_DEBUG, which the call shortens by it. line: of the call before, or
 * zeroed. False at the end.
 */
bool jitdump_line(struct jitdump_record *record, struct jitdump_line *line);

/*
 * The records of a file without its code and without those that jitdump_next() skips, up to max
 * bytes: how many bytes, or -EBADMSG if it is not a jitdump of this byte order, or the errno of a
 * read. The last record may be incomplete (the program died writing it): it is left out. *cut: more
 * was left out, for lack of space or because the file is damaged there.
 */
int64_t jitdump_condense(int fd, uint8_t *out, size_t max, bool *cut);

#endif
