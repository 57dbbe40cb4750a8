/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON as it comes, with commas, line ends and indentation. Whoever calls it keeps objects
 * and lists balanced; key is NULL in a list. Errors are those of the stream: ferror().
 */
#ifndef UTIL_JSON_OUT_H
#define UTIL_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_OUT_DEPTH 32

struct json_out {
	FILE *out;
	unsigned int depth, nr_lines; /* containers down to this depth have a line per member */
	bool some[JSON_OUT_DEPTH];    /* the open container of that depth has a member */
};

void json_out_init(struct json_out *j, FILE *out, unsigned int nr_lines);
/* kind: '{' or '[' */
void json_out_open(struct json_out *j, const char *key, char kind);
/* kind: '}' or ']'. After the outermost one the line ends. */
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
