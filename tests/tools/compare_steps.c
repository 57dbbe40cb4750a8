// SPDX-License-Identifier: BSD-2-Clause
/*
 * compare_steps STEPS < LINES: compares the module's log of stepped addresses (records {u64 ip, u32
 * tid, u32 pid}) with a decoder's lines 'TID IP' (hexadecimal). Every thread must have the same
 * addresses in the same order. Prints how many there were; exit status 1 and where if they differ.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 4096

struct step {
	uint64_t ip;
	uint32_t tid, pid;
};

struct thread {
	uint32_t tid;
	size_t next; /* step, of any thread, where the search continues */
	size_t nr;
	int bad;
};

static struct step *steps;
static size_t nr_steps;
static struct thread threads[MAX_THREADS];
static size_t nr_threads;

static void read_steps(const char *path)
{
	size_t max = 0;
	FILE *f = fopen(path, "re");

	if (!f) {
		perror(path);
		exit(2);
	}
	for (;;) {
		if (nr_steps == max) {
			max = max ? 2 * max : 65536;
			steps = realloc(steps, max * sizeof(*steps));
			if (!steps)
				exit(2);
		}
		if (fread(&steps[nr_steps], sizeof(*steps), 1, f) != 1)
			break;
		nr_steps++;
	}
	fclose(f);
}

static struct thread *find(uint32_t tid)
{
	for (size_t i = 0; i < nr_threads; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	if (nr_threads == MAX_THREADS)
		exit(2);
	threads[nr_threads].tid = tid;
	return &threads[nr_threads++];
}

/* The thread's next step, or NULL. */
static const struct step *next_step(struct thread *t)
{
	while (t->next < nr_steps && steps[t->next].tid != t->tid)
		t->next++;
	return t->next < nr_steps ? &steps[t->next++] : NULL;
}

int main(int argc, char **argv)
{
	char line[512];
	int bad = 0;

	if (argc != 2)
		return 2;
	read_steps(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		const struct step *step;
		struct thread *t;
		unsigned int tid;
		uint64_t ip;

		if (sscanf(line, "%u %" SCNx64, &tid, &ip) != 2) {
			printf("not an address: %s", line);
			bad = 1;
			continue;
		}
		t = find(tid);
		step = next_step(t);
		t->nr++;
		if (t->bad || (step && step->ip == ip))
			continue;
		t->bad = bad = 1;
		printf("thread %u: instruction %zu is %" PRIx64 ", stepped was ", tid, t->nr, ip);
		if (step)
			printf("%" PRIx64 "\n", step->ip);
		else
			printf("nothing more\n");
	}
	for (size_t i = 0; i < nr_steps; i++)
		find(steps[i].tid);
	for (size_t i = 0; i < nr_threads; i++) {
		struct thread *t = &threads[i];
		size_t left = 0;

		while (next_step(t))
			left++;
		if (left && !t->bad) {
			printf("thread %u: ends after %zu of %zu instructions\n", t->tid, t->nr,
			       t->nr + left);
			bad = 1;
		}
	}
	printf("%zu instructions of %zu threads%s\n", nr_steps, nr_threads, bad ? ": differ" : "");
	return bad || !nr_steps;
}
