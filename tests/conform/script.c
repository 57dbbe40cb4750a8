// SPDX-License-Identifier: BSD-2-Clause
/*
 * See conform.h. The text form: one operation a line, its name and name=number pairs; # starts a
 * comment.
 */
#include "conform.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
	const char *name;
	const char *args[NR_ARGS];
} forms[NR_OPCODES] = {
	[OP_CPU] = { "cpu", { "n" } },
	[OP_OPEN] = { "open", { "e", "pmu", "task", "cpu", "config", "disabled", "inherit",
				"pinned", "comm", "mmap", "mmap2", "backward", "id_all",
				"sample_type", "watermark", "wakeup", "aux_watermark",
				"read_format", "group", "clock", "aux_action" } },
	[OP_CLOSE] = { "close", { "e" } },
	[OP_ENABLE] = { "enable", { "e" } },
	[OP_DISABLE] = { "disable", { "e" } },
	[OP_MAP] = { "map", { "m", "e", "length", "off", "write", "private" } },
	[OP_ANNOUNCE] = { "announce", { "m", "off", "size" } },
	[OP_UNMAP] = { "unmap", { "m" } },
	[OP_OUTPUT] = { "output", { "e", "to" } },
	[OP_PAUSE] = { "pause", { "e", "on" } },
	[OP_POLL] = { "poll", { "e" } },
	[OP_READ] = { "read", { "e" } },
	[OP_LIMITS] = { "limits", { "mlock_kb", "memlock", "paranoid" } },
	[OP_USER] = { "user", { "n", "ipc_lock" } },
	[OP_HOLD] = { "hold", { "on" } },
	[OP_FORK] = { "fork", { NULL } },
	[OP_TURN] = { "turn", { "who" } },
	[OP_EXIT] = { "exit", { NULL } },
	[OP_COMM] = { "comm", { "length" } },
	[OP_FILE] = { "file", { "which" } },
	[OP_DTAIL] = { "data_tail", { "m", "mode", "value" } },
	[OP_ATAIL] = { "aux_tail", { "m", "mode", "value" } },
	[OP_SAMPLE] = { "sample", { "e", "nr" } },
	[OP_BEGIN] = { "begin", { "e" } },
	[OP_FLAG] = { "flag", { "e", "flags" } },
	[OP_SKIP] = { "skip", { "e", "mode", "size" } },
	[OP_END] = { "end", { "e", "mode", "size" } },
	[OP_HEAD] = { "head", { "e", "to" } },
	[OP_ATSTOP] = { "at_stop", { "e", "size", "flags" } },
	[OP_GET] = { "get", { "e" } },
};
/* clang-format on */

const char *op_name(enum opcode code)
{
	return forms[code].name;
}

void script_add(struct script *script, const struct op *op)
{
	if (script->nr == script->max) {
		script->max = script->max ? 2 * script->max : 64;
		script->ops = realloc(script->ops, (size_t)script->max * sizeof(*op));
		if (!script->ops)
			abort();
	}
	script->ops[script->nr++] = *op;
}

void script_free(struct script *script)
{
	free(script->ops);
	memset(script, 0, sizeof(*script));
}

/* Arguments that are 0 are omitted. */
void op_print(const struct op *op, FILE *to)
{
	fputs(forms[op->code].name, to);
	for (int i = 0; i < NR_ARGS && forms[op->code].args[i]; i++) {
		int64_t v = op->arg[i];

		if (!v && i)
			continue;
		if (v > 0xffff || v < -0xffff)
			fprintf(to, " %s=0x%llx", forms[op->code].args[i], (unsigned long long)v);
		else
			fprintf(to, " %s=%lld", forms[op->code].args[i], (long long)v);
	}
	fputc('\n', to);
}

void script_print(const struct script *script, FILE *to)
{
	if (script->only[0])
		fprintf(to, "only %s\n", script->only);
	for (int i = 0; i < script->nr; i++)
		op_print(&script->ops[i], to);
}

static int parse_op(struct op *op, char *line)
{
	char *save = NULL, *word = strtok_r(line, " \t\n", &save);
	int code = 0;

	memset(op, 0, sizeof(*op));
	while (code < NR_OPCODES && strcmp(forms[code].name, word) != 0)
		code++;
	if (code == NR_OPCODES)
		return -1;
	op->code = (enum opcode)code;
	while ((word = strtok_r(NULL, " \t\n", &save))) {
		char *value = strchr(word, '='), *end;
		int i = 0;

		if (!value)
			return -1;
		*value++ = '\0';
		while (i < NR_ARGS && forms[code].args[i] && strcmp(forms[code].args[i], word) != 0)
			i++;
		if (i == NR_ARGS || !forms[code].args[i])
			return -1;
		errno = 0;
		op->arg[i] = value[0] == '-' ? strtoll(value, &end, 0) :
					       (int64_t)strtoull(value, &end, 0);
		if (errno || *end || end == value)
			return -1;
	}
	return 0;
}

int script_read(struct script *script, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	struct op op;
	int ret = 0;

	memset(script, 0, sizeof(*script));
	if (!f) {
		fprintf(stderr, "conform: %s: %s\n", path, strerror(errno));
		return -1;
	}
	for (int nr = 1; !ret && fgets(line, sizeof(line), f); nr++) {
		char *text = line + strspn(line, " \t\n"), *hash = strchr(line, '#');

		if (hash)
			*hash = '\0';
		if (!*text)
			continue;
		if (sscanf(text, "only %31s", script->only) == 1)
			continue;
		ret = parse_op(&op, text);
		if (ret)
			fprintf(stderr, "conform: %s:%d: unknown operation or argument\n", path,
				nr);
		else
			script_add(script, &op);
	}
	fclose(f);
	if (!ret && !script->nr) {
		fprintf(stderr, "conform: %s: empty\n", path);
		ret = -1;
	}
	return ret;
}
