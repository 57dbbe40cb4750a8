// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the arguments and the auxiliary vector of a process: from /proc, or, for one that qemu
 * executes, from its initial stack (argc, arguments, 0, environment, 0, auxiliary vector), which
 * the program may have changed since.
 */
#include "process_start.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_READ (256u << 10)
#define AUXV_MAX   4096u

static size_t read_proc(pid_t tid, const char *name, void *buf, size_t size)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(buf, 1, size, f);
	fclose(f);
	return n;
}

static void read_start_from_proc(struct process_start *start, pid_t tid)
{
	size_t n = read_proc(tid, "cmdline", start->args, sizeof(start->args) - 1);

	for (size_t i = 0; i < n; i++) {
		if (!start->args[i])
			start->args[i] = ' ';
	}
	start->auxv = malloc(AUXV_MAX);
	if (start->auxv)
		start->nr_auxv = read_proc(tid, "auxv", start->auxv, AUXV_MAX) / sizeof(uint64_t);
}

static void read_stack_args(struct process_start *start, const struct auxtap_backend *be, pid_t pid,
			    const uint64_t *words, size_t nr)
{
	const size_t max = sizeof(start->args) - 1;
	size_t at = 0;

	for (size_t i = 1; i < nr && i <= words[0] && words[i] && at < max; i++) {
		char text[PROCESS_ARGS_SIZE];
		ssize_t n = be->target->mem(be->target_ctx, pid, words[i], text, max - at);
		size_t len = n > 0 ? strnlen(text, (size_t)n) : 0;

		memcpy(start->args + at, text, len);
		at += len;
		if (at < max)
			start->args[at++] = ' ';
	}
}

static void read_stack_auxv(struct process_start *start, const uint64_t *words, size_t nr)
{
	size_t at, end;

	if (nr < 2 || words[0] > nr)
		return;
	for (at = (size_t)words[0] + 2; at < nr && words[at]; at++)
		;
	for (end = ++at; end + 1 < nr && words[end] != AT_NULL; end += 2)
		;
	if (end + 1 >= nr || (end + 2 - at) * sizeof(*words) > AUXV_MAX)
		return;
	start->auxv = malloc((end + 2 - at) * sizeof(*words));
	if (!start->auxv)
		return;
	start->nr_auxv = end + 2 - at;
	memcpy(start->auxv, words + at, start->nr_auxv * sizeof(*words));
}

void process_start_read(struct process_start *start, const struct auxtap_backend *be, pid_t pid,
			pid_t tid, const struct map_list *maps, uint64_t stack)
{
	const struct map_entry *e = stack ? map_list_find(maps, stack) : NULL;
	size_t size = STACK_READ;
	uint64_t *words;
	ssize_t n;

	*start = (struct process_start){0};
	if (!stack) {
		read_start_from_proc(start, tid);
		return;
	}
	if (e && e->end - stack < size)
		size = (size_t)(e->end - stack);
	words = e ? malloc(size) : NULL;
	if (!words)
		return;
	n = be->target->mem(be->target_ctx, pid, stack, words, size);
	if (n > 0) {
		read_stack_args(start, be, pid, words, (size_t)n / sizeof(*words));
		read_stack_auxv(start, words, (size_t)n / sizeof(*words));
	}
	free(words);
}

void process_start_free(struct process_start *start)
{
	free(start->auxv);
	start->auxv = NULL;
}

uint64_t process_start_auxv(const struct process_start *start, uint64_t type)
{
	for (size_t i = 0; i + 1 < start->nr_auxv; i += 2) {
		if (start->auxv[i] == type)
			return start->auxv[i + 1];
	}
	return 0;
}
