// SPDX-License-Identifier: BSD-2-Clause
/*
 * The truth of the qemu source against independent judges: qemu's own log of single steps,
 * and counts that a program makes itself.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_client.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM(name) AUXTAP_BIN "/../tests/qemu_" name

static char truth_path[64];

/* Small and the same for both runs; qemu itself hands variables on in reverse order. */
static char *const env_of_run[] = { "PATH=/usr/bin:/bin", "LANG=C", "HOME=/", NULL };
static char *const env_of_judge[] = { "HOME=/", "LANG=C", "PATH=/usr/bin:/bin", NULL };

static void forget_truth(const struct client_run *run)
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

/* qemu's log of every instruction it begins, REP with every iteration. */
static FILE *start_judge(char *const *argv, pid_t *pid)
{
	char *judge[32] = { "qemu-x86_64", "-cpu", "max", "-singlestep", "-d", "exec,nochain",
			    "-D", "/proc/self/fd/9", "-0" };
	int fds[2], nr = 9;
	char program[256];

	snprintf(program, sizeof(program), "%s%s", strchr(argv[0], '/') ? "" : "/usr/bin/", argv[0]);
	judge[nr++] = argv[0];
	judge[nr++] = program;
	for (int i = 1; argv[i]; i++)
		judge[nr++] = argv[i];
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
		execve("/usr/bin/qemu-x86_64", judge, env_of_judge);
		_exit(127);
	}
	close(fds[1]);
	return fdopen(fds[0], "r");
}

static bool next_of_judge(FILE *log, uint64_t *ip)
{
	static char line[4096];

	while (fgets(line, sizeof(line), log)) {
		const char *at = strncmp(line, "Trace ", 6) ? NULL : strchr(line, '[');

		at = at ? strchr(at, '/') : NULL;
		if (at) {
			*ip = strtoull(at + 1, NULL, 16);
			return true;
		}
	}
	return false;
}

/* removed: instructions that began and did not retire, because they faulted. */
static void compare(char *const *argv, struct client_run *run, int removed)
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
	log = start_judge(argv, &pid);
	assert_non_null(log);
	while (next_of_judge(log, &ip)) {
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

static void test_true(void **state)
{
	struct client_run run = { 0 };
	char *argv[] = { "true", NULL };

	(void)state;
	compare(argv, &run, 0);
	assert_int_equal(run.status, 0);
}

static void test_ls(void **state)
{
	struct client_run run = { 0 };
	char *argv[] = { "ls", "-l", "/usr", NULL };

	(void)state;
	compare(argv, &run, 0);
	assert_non_null(strstr(run.stdout_text, "bin"));
}

static void test_sort_and_gzip(void **state)
{
	struct client_run sort = { 0 }, gzip = { 0 };
	char *argv_sort[] = { "sort", "-r", AUXTAP_SOURCE "/CMakeLists.txt", NULL };
	char *argv_gzip[] = { "gzip", "-c", AUXTAP_SOURCE "/CMakeLists.txt", NULL };

	(void)state;
	compare(argv_sort, &sort, 0);
	compare(argv_gzip, &gzip, 0);
}

static void test_faults(void **state)
{
	struct client_run run = { 0 };
	char *argv[] = { PROGRAM("faults"), NULL };

	(void)state;
	/* the judge does not list the fetch that faults, and int3 retires: 12 faults less 2 */
	compare(argv, &run, 10);
	assert_int_equal(run.nr_faults, 12);
	assert_string_equal(run.stdout_text, "segv 9 fpe 1 ill 1 usr 2 nested 4\n");
}

static void test_selfmod(void **state)
{
	struct client_run run = { 0 }, full = { .blocks = "40" };
	char *argv[] = { PROGRAM("selfmod"), NULL };

	(void)state;
	compare(argv, &run, 0);
	/* tables full: every later block is sent in full */
	compare(argv, &full, 0);
}

static size_t count_in_truth(const struct client_run *run, const char *name, long *expected)
{
	const char *at = run->stdout_text;
	size_t nr, sum = 0;
	uint64_t ip = 0;

	while (at && *at) {
		char what[32];
		unsigned long long value;

		if (sscanf(at, "%31s %llx %ld", what, &value, expected) == 3 && !strcmp(what, name)) {
			ip = value;
			break;
		}
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	assert_int_not_equal(ip, 0);
	for (int i = 0; i < run->nr_tids; i++) {
		uint64_t *truth = client_truth(run->truth, run->tids[i], &nr);

		for (size_t k = 0; truth && k < nr; k++)
			sum += truth[k] == ip;
		free(truth);
	}
	return sum;
}

static void check_counts(struct client_run *run, char *threads)
{
	static const char *const names[] = { "counted", "repeated", "wide_cas", "handled" };
	char *argv[] = { PROGRAM("async"), threads, NULL };

	run->truth = truth_path;
	assert_int_equal(client_run(run, argv), 0);
	assert_int_equal(run->status, 0);
	for (int i = 0; i < 4; i++) {
		long expected = -1;
		size_t got = count_in_truth(run, names[i], &expected);

		assert_int_equal(got, expected);
		/* timer signals did come */
		assert_true(i != 3 || expected > 5);
	}
	forget_truth(run);
}

static void test_async(void **state)
{
	struct client_run one = { 0 }, many = { 0 }, full = { .blocks = "40" }, narrow = { .slots = "2" };

	(void)state;
	check_counts(&one, "0");
	check_counts(&many, "3");
	assert_int_equal(many.nr_threads, 3);
	check_counts(&full, "2");
	check_counts(&narrow, "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true),   cmocka_unit_test(test_ls),
		cmocka_unit_test(test_sort_and_gzip),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_selfmod),
		cmocka_unit_test(test_async),
	};

	if (access("/usr/bin/qemu-x86_64", X_OK)) {
		printf("skipped: /usr/bin/qemu-x86_64 is not installed\n");
		return 77;
	}
	snprintf(truth_path, sizeof(truth_path), "/tmp/auxtap-qemu-truth-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
