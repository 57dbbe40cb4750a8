// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_judge.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

const struct judge judge_x86 = { .qemu = "qemu-x86_64", .cpu = "max" };
const struct judge judge_a64 = {
	.qemu = "qemu-aarch64", .cpu = "max,pauth-impdef=on", .sysroot = "/usr/aarch64-linux-gnu",
};

char truth_path[64];

/* Small and the same for both runs; qemu itself hands variables on in reverse order. */
char *const env_of_run[] = { "PATH=/usr/bin:/bin", "LANG=C", "HOME=/", NULL };
static char *const env_of_judge[] = { "HOME=/", "LANG=C", "PATH=/usr/bin:/bin", NULL };

void forget_truth(const struct client_run *run)
{
	char name[128];

	for (int i = 0; i < run->nr_tids; i++) {
		snprintf(name, sizeof(name), "%s.%d", truth_path, (int)run->tids[i]);
		unlink(name);
	}
}

static bool is_fault(const struct client_run *run, uint64_t ip)
{
	for (int i = 0; i < run->nr_faults; i++)
		if (run->fault_ip[i] == ip)
			return true;
	return run->nr_dying && run->dying.ip == ip;
}

FILE *judge_start(const struct judge *judge, char *const *argv, pid_t *pid)
{
	const char *arg[32] = { judge->qemu, "-cpu", judge->cpu, "-singlestep", "-d",
				"exec,nochain", "-D", "/proc/self/fd/9", "-0" };
	int fds[2], nr = 9;
	char program[256], qemu[256];

	snprintf(program, sizeof(program), "%s%s", strchr(argv[0], '/') ? "" : "/usr/bin/", argv[0]);
	snprintf(qemu, sizeof(qemu), "/usr/bin/%s", judge->qemu);
	arg[nr++] = argv[0];
	if (judge->sysroot) {
		arg[nr++] = "-L";
		arg[nr++] = judge->sysroot;
	}
	arg[nr++] = program;
	for (int i = 1; argv[i]; i++)
		arg[nr++] = argv[i];
	assert_int_equal(pipe(fds), 0);
	*pid = fork();
	if (!*pid) {
		/* what isatty() and fstat() say must be the same as in the run */
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(memfd_create("stdout", 0), 1);
		dup2(memfd_create("stderr", 0), 2);
		dup2(fds[1], 9);
		close(fds[0]);
		close(fds[1]);
		execve(qemu, (char **)(uintptr_t)arg, env_of_judge);
		_exit(127);
	}
	close(fds[1]);
	return fdopen(fds[0], "r");
}

bool judge_next(FILE *log, uint64_t *ip, int *cpu)
{
	static char line[4096];

	while (fgets(line, sizeof(line), log)) {
		const char *at = strncmp(line, "Trace ", 6) ? NULL : strchr(line, '[');

		at = at ? strchr(at, '/') : NULL;
		if (at) {
			*ip = strtoull(at + 1, NULL, 16);
			if (cpu)
				*cpu = atoi(line + 6);
			return true;
		}
	}
	return false;
}

void judge_compare(const struct judge *judge, char *const *argv, struct client_run *run, int removed)
{
	uint64_t ip, last = 0, *truth;
	size_t nr, at = 0;
	int status, nr_removed = 0;
	FILE *log;
	pid_t pid;

	run->truth = truth_path;
	run->envp = env_of_run;
	assert_int_equal(client_run(run, argv), 0);
	assert_string_equal(run->why, "");
	truth = client_truth(truth_path, run->pid, &nr);
	assert_non_null(truth);
	assert_true(nr > 100);
	log = judge_start(judge, argv, &pid);
	assert_non_null(log);
	while (judge_next(log, &ip, NULL)) {
		if (ip == last)
			continue;
		last = ip;
		if (at < nr && truth[at] == ip) {
			at++;
			continue;
		}
		if (!is_fault(run, ip)) {
			fprintf(stderr, "%s: instruction %zu of %zu is %#llx, judge says %#llx\n",
				argv[0], at, nr, at < nr ? (unsigned long long)truth[at] : 0,
				(unsigned long long)ip);
			fail();
		}
		nr_removed++;
	}
	fclose(log);
	waitpid(pid, &status, 0);
	assert_int_equal(at, nr);
	assert_int_equal(nr_removed, removed);
	free(truth);
	forget_truth(run);
}
