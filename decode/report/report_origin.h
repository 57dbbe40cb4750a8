/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the dying thread got the pointer from that it used (report_origin.c). */
#ifndef AUXTAP_REPORT_ORIGIN_H
#define AUXTAP_REPORT_ORIGIN_H

#include "report_facts.h"

struct report_headline;
struct report_out;

enum report_origin_kind {
	REPORT_ORIGIN_UNKNOWN,
	REPORT_ORIGIN_READ,	/* from memory */
	REPORT_ORIGIN_RETURNED, /* by a function */
	REPORT_ORIGIN_SET,	/* to a constant */
};

/* report_origin.c: where the dying thread got the pointer from that it used. */
struct report_origin {
	enum report_origin_kind kind;
	bool is_code; /* it called the pointer, or jumped there */
	bool has_value;
	uint64_t value; /* the pointer, before constants were added to it */
	uint64_t used;	/* the pointer itself */
	uint64_t ip;	/* of the instruction that read it, returned or set it */
	bool in_call;	/* ... or of a call: a function of a library's header that was called did it
			 */
	bool has_addr;
	uint64_t addr; /* that it was read from */
	bool is_local; /* ... in the frame of the function that read it */
	/* a function of a library has run since: it may have allocated or freed what was there */
	bool library_ran;
	const char *variable; /* ... which is there; NULL: unknown. Belongs to the images */
	uint64_t variable_off, variable_size;
};

/* Finds head->origin. */
void report_origin_find(const struct report_out *ro, const struct report_facts *facts,
			struct report_headline *head);
/* Was the pointer read from this block of the heap? */
bool report_origin_is_in(const struct auxtap_crash_block *block,
			 const struct report_origin *origin);
/*
 * Drops an origin that says nothing new: read from a local variable; or, in the line of the fault,
 * set, or read from memory that has no name and is in none of the blocks to be printed.
 */
void report_origin_check(const struct report_out *ro, const struct report_facts *facts,
			 struct report_headline *head);
void report_origin_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct report_origin *origin);

#endif
