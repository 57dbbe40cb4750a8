// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program to trace that only uses CPU time. replay_spin left SECONDS: until the module has
 * nothing left to replay, at most that long (then exit 1); replay_spin for SECONDS. With a FILE as
 * last argument, writes the CPU time that it used there, in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long long left(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/sys/kernel/debug/auxtap/replay/left", "re");

	if (!f || fscanf(f, "%llu", &n) != 1)
		exit(2);
	fclose(f);
	return n;
}

static int end(const char *path, int status)
{
	struct rusage used;
	FILE *f;

	if (!path)
		return status;
	f = fopen(path, "we");
	if (!f || getrusage(RUSAGE_SELF, &used))
		return 2;
	fprintf(f, "%ld\n",
		(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
			used.ru_stime.tv_usec);
	return fclose(f) ? 2 : status;
}

int main(int argc, char **argv)
{
	double begin = now(), seconds = argc > 2 ? atof(argv[2]) : 0;
	int until_left = argc > 1 && !strcmp(argv[1], "left");

	if (argc != 3 && argc != 4)
		return 2;
	while (now() - begin < seconds) {
		double pause = now() + 0.005;

		if (until_left && !left())
			return end(argv[3], 0);
		while (now() < pause) {
			for (int i = 0; i < 1000; i++)
				__asm__ volatile("");
			/* gives way to the other processor if they take turns (run --icount) */
			__builtin_ia32_pause();
		}
	}
	return end(argv[3], until_left);
}
