/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON to a stream, with commas, line ends and indentation. The caller keeps objects and
 * lists balanced; key is NULL in a list. Errors are those of the stream: ferror().
 */
#ifndef UTIL_JSON_OUT_H
#define UTIL_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_OUT_DEPTH 32

struct json_out {
	FILE *out;
	unsigned int depth, line_depth;	  /* up to line_depth each member has a line of its own */
	bool has_members[JSON_OUT_DEPTH]; /* by depth: the open container has a member */
};

void json_out_init(struct json_out *j, FILE *out, unsigned int line_depth);
/* kind: '{' or '[' */
void json_out_open(struct json_out *j, const char *key, char kind);
/* kind: '}' or ']'. After the outermost one a newline is written. */
void json_out_close(struct json_out *j, char kind);
void json_out_null(struct json_out *j, const char *key);
void json_out_bool(struct json_out *j, const char *key, bool value);
void json_out_u64(struct json_out *j, const char *key, uint64_t value);
void json_out_i64(struct json_out *j, const char *key, int64_t value);
/* "0x7f00" */
void json_out_hex(struct json_out *j, const char *key, uint64_t value);
/* As json_text_print(); text NULL: null. */
void json_out_text(struct json_out *j, const char *key, const char *text);

#endif
