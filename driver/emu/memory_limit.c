// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits the total resident memory of the traced processes: an emulated program that takes all
 * memory of the machine would take down auxtap and the user's other programs. It is checked
 * periodically instead of set with setrlimit(), because sanitizers map terabytes and use little of
 * them.
 */
#include "emu_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_NS 100000000ull
#define EXACT_NS 1000000000ull /* interval of checks for which the kernel reads page tables */

static u64 number_after(const char *path, const char *key)
{
	char line[256];
	u64 kb = 0;
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kb * 1024;
}

/* Resident bytes of a process; shared pages count in full. */
static u64 resident(pid_t pid)
{
	unsigned long long pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

/* Proportional set size; the resident size if the kernel does not report it. */
static u64 proportional(pid_t pid)
{
	char path[64];
	u64 pss;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	pss = number_after(path, "Pss:");
	return pss ? pss : resident(pid);
}

/* Each process counts once: for its leader, or for its first task if the leader has exited. */
static bool represents_process(struct emu *emu, const struct emu_task *t)
{
	if (t->core.tid == t->core.pid)
		return true;
	return !emu_task_find(emu, t->core.pid) && emu_task_next(emu, t->core.pid, NULL) == t;
}

static u64 sum(struct emu *emu, u64 (*of)(pid_t pid), pid_t *largest)
{
	u64 total = 0, most = 0;

	for (int i = 0; i < EMU_TASK_HASH; i++) {
		for (struct emu_task *t = emu->hash[i]; t; t = t->hash_next) {
			u64 one;

			if (!represents_process(emu, t))
				continue;
			one = of(t->core.pid);
			total += one;
			if (one > most) {
				most = one;
				*largest = t->core.pid;
			}
		}
	}
	return total;
}

pid_t emu_process_over_memory(struct emu *emu)
{
	struct emu_memory_limit *limit = &emu->memory;
	u64 now = emu_now_ns();
	pid_t largest = 0;

	if (now < limit->next_ns)
		return 0;
	if (!limit->bytes && !limit->off)
		limit->bytes = number_after("/proc/meminfo", "MemAvailable:") / 2;
	if (!limit->bytes)
		return 0;
	limit->next_ns = now + CHECK_NS;
	if (sum(emu, resident, &largest) <= limit->bytes)
		return 0;
	limit->next_ns = now + EXACT_NS;
	return sum(emu, proportional, &largest) > limit->bytes ? largest : 0;
}

void emu_memory_attached(struct emu *emu)
{
	emu->memory.off = !emu->memory.bytes;
}

void emu_task_over_memory(struct emu_task *task)
{
	task->over_memory = true;
}
