// SPDX-License-Identifier: BSD-2-Clause
/* See json_out.h. */
#include "util/json_out.h"
#include "util/json_text.h"

#include <assert.h>
#include <inttypes.h>

void json_out_init(struct json_out *j, FILE *out, unsigned int nr_lines)
{
	*j = (struct json_out){.out = out, .nr_lines = nr_lines};
}

static void line(struct json_out *j)
{
	fputc('\n', j->out);
	for (unsigned int i = 0; i < j->depth; i++)
		fputc(' ', j->out);
}

/* What precedes a value. */
static void member(struct json_out *j, const char *key)
{
	if (j->some[j->depth])
		fputc(',', j->out);
	j->some[j->depth] = true;
	if (j->depth && j->depth <= j->nr_lines)
		line(j);
	if (!key)
		return;
	json_text_print(key, j->out);
	fputs(j->depth <= j->nr_lines ? ": " : ":", j->out);
}

void json_out_open(struct json_out *j, const char *key, char kind)
{
	member(j, key);
	assert(j->depth + 1 < JSON_OUT_DEPTH);
	fputc(kind, j->out);
	j->some[++j->depth] = false;
}

void json_out_close(struct json_out *j, char kind)
{
	bool some = j->some[j->depth];

	assert(j->depth);
	if (j->depth-- <= j->nr_lines && some)
		line(j);
	fputc(kind, j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void json_out_null(struct json_out *j, const char *key)
{
	member(j, key);
	fputs("null", j->out);
}

void json_out_bool(struct json_out *j, const char *key, bool value)
{
	member(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_out_u64(struct json_out *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_out_i64(struct json_out *j, const char *key, int64_t value)
{
	member(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void json_out_hex(struct json_out *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_out_text(struct json_out *j, const char *key, const char *text)
{
	if (!text) {
		json_out_null(j, key);
		return;
	}
	member(j, key);
	json_text_print(text, j->out);
}
