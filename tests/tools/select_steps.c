// SPDX-License-Identifier: BSD-2-Clause
/*
 * select_steps [until:]FIRST-LAST... < STEPS > SELECTED: selects from the module's log of stepped
 * addresses (records {u64 ip, u32 tid, u32 pid}) those in one of the ranges (hexadecimal, both
 * ends included). 'until:' ends a thread's log before its first step in that range; without
 * a range of the other kind all steps before that are selected.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANGES  8
#define MAX_THREADS 4096

struct step {
	uint64_t ip;
	uint32_t tid, pid;
};

struct range {
	uint64_t first, last;
};

static struct range in[MAX_RANGES], until[MAX_RANGES];
static int nr_in, nr_until;
static uint32_t ended[MAX_THREADS];
static int nr_ended;

static int inside(const struct range *ranges, int nr, uint64_t ip)
{
	for (int i = 0; i < nr; i++)
		if (ip >= ranges[i].first && ip <= ranges[i].last)
			return 1;
	return 0;
}

static int has_ended(const struct step *step)
{
	for (int i = 0; i < nr_ended; i++)
		if (ended[i] == step->tid)
			return 1;
	if (!inside(until, nr_until, step->ip))
		return 0;
	if (nr_ended < MAX_THREADS)
		ended[nr_ended++] = step->tid;
	return 1;
}

int main(int argc, char **argv)
{
	struct step step;

	for (int i = 1; i < argc; i++) {
		int stops = !strncmp(argv[i], "until:", 6);
		struct range *range = stops ? &until[nr_until++] : &in[nr_in++];

		if (nr_in > MAX_RANGES - 1 || nr_until > MAX_RANGES - 1 ||
		    sscanf(argv[i] + (stops ? 6 : 0), "%" SCNx64 "-%" SCNx64, &range->first,
			   &range->last) != 2) {
			fprintf(stderr, "select_steps: not a range: %s\n", argv[i]);
			return 2;
		}
	}
	while (fread(&step, sizeof(step), 1, stdin) == 1)
		if (!has_ended(&step) && (!nr_in || inside(in, nr_in, step.ip)))
			fwrite(&step, sizeof(step), 1, stdout);
	return fflush(stdout) ? 2 : 0;
}
