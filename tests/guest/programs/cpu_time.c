// SPDX-License-Identifier: BSD-2-Clause
/*
 * cpu_time FILE COMMAND...: runs COMMAND; writes the CPU time of it and its children to FILE, in
 * microseconds.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 2;
	f = fopen(argv[1], "we");
	if (!f)
		return 2;
	fprintf(f, "%ld\n",
		(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
			used.ru_stime.tv_usec);
	if (fclose(f))
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
