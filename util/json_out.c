// SPDX-License-Identifier: BSD-2-Clause
/* See json_out.h. */
#include "util/json_out.h"
#include "util/json_text.h"

#include <assert.h>
#include <inttypes.h>

void json_out_init(struct json_out *j, FILE *out, unsigned int line_depth)
{
	*j = (struct json_out){.out = out, .line_depth = line_depth};
}

static void new_line(struct json_out *j)
{
	fputc('\n', j->out);
	for (unsigned int i = 0; i < j->depth; i++)
		fputc(' ', j->out);
}

/* Writes the comma, the newline and the key before a value. */
static void begin_value(struct json_out *j, const char *key)
{
	if (j->has_members[j->depth])
		fputc(',', j->out);
	j->has_members[j->depth] = true;
	if (j->depth && j->depth <= j->line_depth)
		new_line(j);
	if (!key)
		return;
	json_text_print(key, j->out);
	fputs(j->depth <= j->line_depth ? ": " : ":", j->out);
}

void json_out_open(struct json_out *j, const char *key, char kind)
{
	begin_value(j, key);
	assert(j->depth + 1 < JSON_OUT_DEPTH);
	fputc(kind, j->out);
	j->has_members[++j->depth] = false;
}

void json_out_close(struct json_out *j, char kind)
{
	bool has_members = j->has_members[j->depth];

	assert(j->depth);
	if (j->depth-- <= j->line_depth && has_members)
		new_line(j);
	fputc(kind, j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void json_out_null(struct json_out *j, const char *key)
{
	begin_value(j, key);
	fputs("null", j->out);
}

void json_out_bool(struct json_out *j, const char *key, bool value)
{
	begin_value(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_out_u64(struct json_out *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_out_i64(struct json_out *j, const char *key, int64_t value)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void json_out_hex(struct json_out *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_out_text(struct json_out *j, const char *key, const char *text)
{
	if (!text) {
		json_out_null(j, key);
		return;
	}
	begin_value(j, key);
	json_text_print(text, j->out);
}
