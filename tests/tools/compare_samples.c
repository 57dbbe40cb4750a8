// SPDX-License-Identifier: BSD-2-Clause
/*
 * compare_samples STEPS < LINES: compares what a decoder makes of AUX samples with the module's log
 * of steps (records {u64 ip, u32 tid, u32 pid}). Lines are 'TID EVENT: IP' of 'perf script
 * --itrace=i1i -F tid,event,ip': instructions, and samples at their time. A thread's instructions
 * must be runs of its steps, in order; a run starts after a sample or an instruction of another
 * thread (a sample contains what its CPU did last, switches included); and where a sample follows
 * an instruction, the next step is the one at which the sample was taken. Prints the numbers; exit
 * status 1 if they differ.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 256

struct step {
	uint64_t ip;
	uint32_t tid, pid;
};

struct item {
	uint64_t ip;
	int sample;
	int begins; /* the line before was not an instruction of the same thread */
};

struct thread {
	uint32_t tid;
	uint64_t *steps;
	size_t nr_steps;
	struct item *items;
	size_t nr_items;
};

static struct thread threads[MAX_THREADS];
static int nr_threads;

static struct thread *find(uint32_t tid)
{
	for (int i = 0; i < nr_threads; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	if (nr_threads == MAX_THREADS)
		exit(2);
	threads[nr_threads].tid = tid;
	return &threads[nr_threads++];
}

/* Space for one more; arrays double at powers of two. */
static void *grow(void *array, size_t nr, size_t size)
{
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		exit(2);
	return array;
}

static void read_steps(const char *path)
{
	FILE *f = fopen(path, "re");
	struct step step;

	if (!f) {
		perror(path);
		exit(2);
	}
	while (fread(&step, sizeof(step), 1, f) == 1) {
		struct thread *t = find(step.tid);

		t->steps = grow(t->steps, t->nr_steps, sizeof(*t->steps));
		t->steps[t->nr_steps++] = step.ip;
	}
	fclose(f);
}

/* True if the items up to 'to' equal the steps from there on; *end: the step after them. */
static int matched(const struct thread *t, size_t item, size_t to, size_t step, size_t *end)
{
	for (; item < to && step < t->nr_steps && t->items[item].ip == t->steps[step]; item++)
		step += !t->items[item].sample;
	*end = step;
	return item == to;
}

/*
 * Returns how many runs there are; 0 if the items do not fit. The items between two starts are
 * one run of the steps, after the run before. (In a loop several positions may fit: the first one
 * leaves most steps for the rest.)
 */
static size_t fragments(const struct thread *t)
{
	size_t nr = 0, item = 0, step = 0;

	while (item < t->nr_items) {
		size_t to = item + 1, at = step, end = step;

		if (t->items[item].sample) { /* its trace contained nothing new */
			item++;
			continue;
		}
		while (to < t->nr_items && !t->items[to].begins)
			to++;
		while (at < t->nr_steps && !matched(t, item, to, at, &end))
			at++;
		if (at == t->nr_steps) {
			printf("thread %u: items %zu to %zu, from %" PRIx64
			       ", do not follow step %zu of %zu\n",
			       t->tid, item, to, t->items[item].ip, step, t->nr_steps);
			return 0;
		}
		nr += !nr || at != step;
		item = to;
		step = end;
	}
	return nr;
}

int main(int argc, char **argv)
{
	size_t nr_samples = 0, nr_insns = 0, nr_fragments = 0;
	char line[512], event[64];
	unsigned int last_tid = 0; /* 0: the last line was a sample */
	int bad = 0;

	if (argc != 2)
		return 2;
	read_steps(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		struct item item;
		unsigned int tid;
		struct thread *t;

		if (sscanf(line, "%u %63s %" SCNx64, &tid, event, &item.ip) != 3)
			continue;
		t = find(tid);
		item.sample = strncmp(event, "instructions", 12) != 0;
		item.begins = last_tid != tid;
		last_tid = item.sample ? 0 : tid;
		t->items = grow(t->items, t->nr_items, sizeof(*t->items));
		t->items[t->nr_items++] = item;
		nr_samples += !!item.sample;
		nr_insns += !item.sample;
	}
	for (int i = 0; i < nr_threads; i++) {
		size_t nr = fragments(&threads[i]);

		bad |= !nr && threads[i].nr_items > 1;
		nr_fragments += nr;
	}
	bad |= !nr_insns;
	printf("%zu samples, %zu instructions in %zu pieces%s\n", nr_samples, nr_insns,
	       nr_fragments, bad ? ": differ" : "");
	return bad;
}
