/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the report is printed: colours, and the names of functions, images and places
 * (report_print.c, short_name.c, report_own.c).
 */
#ifndef AUXTAP_REPORT_OUT_H
#define AUXTAP_REPORT_OUT_H

#include "report_callers.h"

#include <auxtap/decode.h>
#include <stdio.h>

struct report_style {
	const char *title, *bad, *dim, *name, *off;
};
extern const struct report_style report_plain, report_coloured;

#define REPORT_TEXT_RING 8
#define REPORT_TEXT_SIZE 4096

/* The newest strings that report_text() returned. */
struct report_text_ring {
	char text[REPORT_TEXT_RING][REPORT_TEXT_SIZE];
	unsigned int next;
};

#define REPORT_NAME_WIDTH 60 /* longer names of functions are shortened */
/* a name that is still longer without its template arguments and parameters is truncated to this */
#define REPORT_NAME_MAX 100

/* short_name.c: the short names that a report has used so far. NULL: no memory. */
struct report_names *report_names_new(void);
void report_names_free(struct report_names *names);
/*
 * Shortens a name to REPORT_NAME_WIDTH by "<...>" for template arguments and "(...)" for
 * parameters, no more of them than necessary: always the same way for one function, and different
 * for different ones. False if the name is short enough, or cannot be made different.
 */
bool report_short_name(struct report_names *names, const char *full, char *out, size_t size);

struct report_out {
	FILE *out;
	struct report_text_ring *text_ring;
	struct report_names *names; /* NULL: names are not shortened */
	const struct report_style *style;
	unsigned int width;
	struct auxtap_image_set *images;
	pid_t pid;
	uint64_t time;
	uid_t owner; /* of the recording; (uid_t)-1: unknown */
};

/*
 * A copy of ro that looks up addr as of that time; if that is 0, or nothing was mapped there then,
 * as of ro->time.
 */
struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr);
/* A name from a file, made safe to print; valid for the next REPORT_TEXT_RING - 1 calls. */
const char *report_text(const struct report_out *ro, const char *text);
/* The same for the name of a function, which is shortened. */
const char *report_symbol(const struct report_out *ro, const char *symbol);
/* The part after the last slash. */
const char *report_base_name(const char *path);
/* Names an address without a symbol by its offset in the image. */
void report_offset(const struct report_out *ro, const char *image, uint64_t off, char *name,
		   size_t name_size);
/* The entry of the function around addr by its symbol; 0: unknown. */
uint64_t report_function_start(const struct report_out *ro, uint64_t addr);
/* Name "age_of"; location, which may be NULL, receives "null_deref.c:29". */
void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *location, size_t location_size);
/* The same for the call before a return address, which is shown if the function has no name. */
void report_caller_name(const struct report_out *ro, uint64_t return_addr, char *name,
			size_t name_size, char *location, size_t location_size);
/*
 * The same for the function that was called, not one inlined into it: the instruction at an entry
 * address may be one of an inlined function.
 */
void report_function_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
			  char *location, size_t location_size);
/*
 * Prints "age_of at null_deref.c:29", or "age_of in PROGRAM" if no source line is known.
 */
void report_print_location(const struct report_out *ro, uint64_t addr);
/* The same for a caller: one of the functions inlined there, or a level that is negative. */
void report_print_caller(const struct report_out *ro, struct report_caller caller);
/* The same for the function that was called, not one inlined into it. */
void report_print_outermost(const struct report_out *ro, uint64_t addr);

/* Is it a C or C++ library, or the dynamic linker, which rarely contains the bug? */
bool report_is_runtime(const char *image);
bool report_is_linker(const char *image); /* the dynamic linker */
/* Is it a library's function, even if statically linked? frame may be NULL. */
bool report_is_library(const char *image, const struct auxtap_frame *frame);
/* Is the function at this level of those inlined at loc a library's? */
bool report_is_library_function(const struct auxtap_location *loc, unsigned int level);
/* The level of the innermost function inlined at loc that is the program's own; -1: none. */
int report_own_level(const struct auxtap_location *loc);
/* Is it a function that the compiler adds to each program, not the program's own? */
bool report_is_helper(const struct auxtap_location *loc);

#endif
