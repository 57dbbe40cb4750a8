// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cost of single steps alone: PTRACE_SINGLESTEP and waitpid(), tracer and
 * program pinned to one CPU. Prints instructions and seconds. bench_ptrace.sh compares.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	unsigned long nr = 0;
	struct rusage self, program;
	struct timespec a, b;
	cpu_set_t one;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 3;
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (!ptrace(PTRACE_SINGLESTEP, pid, 0, 0) && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status))
		nr++;
	clock_gettime(CLOCK_MONOTONIC, &b);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &program);
	printf("instructions: %lu\nseconds: %.3f\ncpu_seconds: %.3f\n", nr,
	       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
	       cpu(&self) + cpu(&program));
	return WIFEXITED(status) ? 0 : 3;
}
