/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the report as JSON; docs/report-json.md is the schema. */
#ifndef AUXTAP_REPORT_JSON_H
#define AUXTAP_REPORT_JSON_H

#include "report_state.h"
#include "util/json_out.h"
#include "report_callers.h"

#define REPORT_JSON_VERSION 1
#define REPORT_JSON_CALLS   2000 /* rows of the tree of calls by default */

struct report_json {
	struct json_out j;
	const struct report *r;
	unsigned int nr_sources; /* how many more source files may be read */
};

/* Writes one of the functions at loc: members 'function' to 'source'. level 0 is the innermost. */
void report_json_place(struct report_json *json, const struct auxtap_location *loc,
		       unsigned int level, bool source);
/* Writes an object: one of the functions at loc, with its source line; level 0 is the innermost. */
void report_json_function(struct report_json *json, const char *key,
			  const struct auxtap_location *loc, unsigned int level, bool source);
/*
 * Writes where addr is: image, function, line. called: those of the called function, not of one
 * that is inlined into it.
 */
void report_json_location(struct report_json *json, const struct report_out *ro, const char *key,
			  uint64_t addr, bool called);
/* Writes where the caller is. key: NULL in an array. */
void report_json_caller(struct report_json *json, const char *key, struct report_caller caller);
void report_json_signal(struct json_out *j, const char *key, int signo);
void report_json_time(struct json_out *j, const char *key, uint64_t time);

/*
 * report_json_flow.c: writes the tree of calls and the last branches of a thread as members of an
 * object. out_of_memory: the end of the tree is missing.
 */
void report_json_calls(struct report_json *json, struct call_tree *tree, bool out_of_memory);
/* Writes members of an open object: the hottest calls. ro: for the thread's process. */
void report_json_hot_calls(struct report_json *json, const struct report_out *ro,
			   struct call_tree *tree, unsigned int nr_rows);
/* Writes another thread's last calls of the program's own functions. */
void report_json_last_calls(struct report_json *json, struct call_tree *tree);
void report_json_branches(struct report_json *json, const struct report_branches *branches);

/* report_blocks.c: regs of the dying thread, or NULL. */
void report_json_pointed_memory(struct report_json *json, const struct auxtap_regs *regs);
/* report_exception.c */
void report_exception_json(struct report_json *json, const struct auxtap_regs *regs, bool uncaught);
void report_json_origin(struct report_json *json, const struct report_origin *origin);
void report_json_slice(struct report_json *json, const struct report_slice *slice);
void report_json_overruns(struct report_json *json, const struct auxtap_regs *regs);
/* report_json_frames.c */
void report_json_backtrace(struct report_json *json, const struct report_death *death);
/* report_functions.c: the hottest functions. */
void report_json_functions(struct report_json *json);

/* report_overview.c: the trees of calls of threads. */
void report_json_trees(struct report_json *json);

/* The whole report. */
void report_json_print(struct report *r);

#endif
