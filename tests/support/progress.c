// SPDX-License-Identifier: BSD-2-Clause
/* The CPU time of processes and their descendants, from /proc. */
#include "progress.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct task {
	pid_t pid, parent;
	uint64_t ticks; /* its own and those of the children that it has waited for */
	char state;
	bool counted;
};

static bool read_task(pid_t pid, struct task *t)
{
	unsigned long long own[2], waited_for[2];
	char path[64], line[1024], *rest;
	size_t n;
	FILE *f;
	int ppid;

	*t = (struct task){.pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	rest = strrchr(line, ')'); /* the name before it may contain anything */
	if (!rest ||
	    sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &t->state, &ppid, &own[0], &own[1], &waited_for[0], &waited_for[1]) != 6)
		return false;
	t->parent = ppid;
	t->ticks = own[0] + own[1] + waited_for[0] + waited_for[1];
	return true;
}

char progress_state(pid_t pid)
{
	struct task t;

	return read_task(pid, &t) && t.state != 'Z' && t.state != 'X' ? t.state : 0;
}

static struct task *read_tasks(size_t *nr)
{
	struct task *tasks = NULL, *bigger;
	size_t space = 0;
	struct dirent *e;
	DIR *d = opendir("/proc");

	*nr = 0;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		if (*nr == space) {
			space = space ? 2 * space : 256;
			bigger = realloc(tasks, space * sizeof(*tasks));
			if (!bigger)
				break;
			tasks = bigger;
		}
		if (read_task((pid_t)atoi(e->d_name), &tasks[*nr]))
			++*nr;
	}
	if (d)
		closedir(d);
	return tasks;
}

static bool is_counted(const struct task *tasks, size_t nr, pid_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (tasks[i].pid == pid)
			return tasks[i].counted;
	return false;
}

/* Reads all tasks and marks those of the tree as counted. */
static struct task *read_tree(const pid_t *roots, int nr_roots, size_t *nr)
{
	struct task *tasks = read_tasks(nr);
	bool more = true;

	for (size_t i = 0; i < *nr; i++)
		for (int r = 0; r < nr_roots; r++)
			tasks[i].counted |= tasks[i].pid == roots[r];
	/* until no pass finds one more: process numbers need not grow from parent to child */
	while (more) {
		more = false;
		for (size_t i = 0; i < *nr; i++)
			if (!tasks[i].counted && is_counted(tasks, *nr, tasks[i].parent))
				more = tasks[i].counted = true;
	}
	return tasks;
}

int progress_list(const pid_t *roots, int nr_roots, pid_t *pids, int max)
{
	size_t nr_tasks;
	struct task *tasks = read_tree(roots, nr_roots, &nr_tasks);
	int nr = 0;

	for (size_t i = 0; i < nr_tasks && nr < max; i++)
		if (tasks[i].counted)
			pids[nr++] = tasks[i].pid;
	free(tasks);
	return nr;
}

uint64_t progress_cpu_ms(const pid_t *roots, int nr_roots)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t sum = 0;
	size_t nr;
	struct task *tasks = read_tree(roots, nr_roots, &nr);

	for (size_t i = 0; i < nr; i++)
		if (tasks[i].counted)
			sum += tasks[i].ticks;
	free(tasks);
	return sum * 1000 / hz;
}

bool progress_stalled(struct progress *p)
{
	struct timespec t;
	uint64_t now, used;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (p->begun && now - p->last_look_ns < 1000000000)
		return false;
	p->last_look_ns = now;
	p->cpu_ms = progress_cpu_ms(p->roots, p->nr_roots);
	/*
	 * Less than before: a process ended and no parent waited for it. That is progress.
	 */
	used = p->cpu_ms - p->cpu_ms_at_progress;
	if (!p->begun || p->cpu_ms < p->cpu_ms_at_progress ||
	    used * 200 >= (uint64_t)p->idle_s * 1000) {
		p->begun = true;
		p->cpu_ms_at_progress = p->cpu_ms;
		p->nr_looks = 0;
		return false;
	}
	/* Counts looks, not seconds: an observer that got no CPU itself saw nothing. */
	return ++p->nr_looks >= p->idle_s;
}
