// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ground truth of AArch64 programs on this machine: against qemu's own log of single steps,
 * and against counts that programs make themselves.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_qemu_reference.h"
#include "support_engine.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM(name) AUXTAP_BIN "/../fixtures/a64/" name

static void same(char *program, int status)
{
	struct client_run run = {0};
	char *argv[] = {program, NULL};

	reference_compare(&reference_a64, argv, &run, 0);
	assert_int_equal(run.status, status);
	assert_int_equal(run.nr_notices, 0);
	assert_string_equal(run.stderr_text, "");
}

static void test_static(void **state)
{
	(void)state;
	same(PROGRAM("recursion_static"), 0);
}

static void test_dynamic(void **state)
{
	(void)state;
	same(PROGRAM("recursion"), 0);
}

static void test_exceptions(void **state)
{
	(void)state;
	if (access(PROGRAM("exceptions"), X_OK)) {
		printf("skipped: no C++ compiler for AArch64\n");
		skip();
	}
	same(PROGRAM("exceptions"), 0);
}

static void test_crash(void **state)
{
	struct client_run run = {0};
	char *argv[] = {PROGRAM("null_deref"), NULL};

	(void)state;
	/* the last one of the reference is the one that died */
	reference_compare(&reference_a64, argv, &run, 1);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGSEGV);
	assert_int_equal(run.nr_dying, 1);
}

static void test_faults(void **state)
{
	struct client_run run = {0};
	char *argv[] = {PROGRAM("qemu_a64"), "faults", NULL};

	(void)state;
	/* the reference does not list the fetch that faults: 12 less 1 */
	reference_compare(&reference_a64, argv, &run, 11);
	assert_int_equal(run.nr_faults, 12);
	assert_string_equal(run.stdout_text, "segv 10 ill 1 trap 1 usr 2 nested 3\n");
}

/* ---- threads ---- */

struct range {
	uint64_t begin, end;
};

static struct range symbol(const char *program, const char *name)
{
	char command[512], line[512], have[256];
	struct range r = {0, 0};
	unsigned long long at, size;
	FILE *f;

	snprintf(command, sizeof(command), "aarch64-linux-gnu-nm -S %s", program);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %llx %*c %255s", &at, &size, have) == 3 &&
		    !strcmp(have, name))
			r = (struct range){at, at + size};
	pclose(f);
	assert_true(r.end > r.begin);
	return r;
}

/* What one thread does in the functions that only threads of the program run. */
struct thread_steps {
	uint64_t *ip;
	size_t nr, allocated;
};

static void add_step(struct thread_steps *steps, uint64_t ip)
{
	if (steps->nr == steps->allocated) {
		steps->allocated = steps->allocated ? 2 * steps->allocated : 4096;
		steps->ip = realloc(steps->ip, steps->allocated * sizeof(ip));
		assert_non_null(steps->ip);
	}
	steps->ip[steps->nr++] = ip;
}

static bool in_range(const struct range *r, uint64_t ip)
{
	return ip >= r->begin && ip < r->end;
}

#define NR_WORKERS 4

/*
 * The reference numbers its threads, and gives the number of one that has ended to the next: each
 * call of the function that a thread starts in begins the steps of another thread.
 */
static void read_reference(char *const *argv, const struct range *worker,
			   const struct range *collatz, struct thread_steps steps[NR_WORKERS])
{
	int stream[NR_WORKERS + 1] = {0}; /* 1 + index in steps; 0: none yet */
	int nr = 0, cpu, status;
	uint64_t ip, last[NR_WORKERS + 1] = {0};
	pid_t pid;
	FILE *log = reference_start(&reference_a64, argv, &pid);

	assert_non_null(log);
	while (reference_next(log, &ip, &cpu)) {
		assert_in_range(cpu, 0, NR_WORKERS);
		if (ip != last[cpu] && (in_range(worker, ip) || in_range(collatz, ip))) {
			if (ip == worker->begin) {
				assert_true(nr < NR_WORKERS);
				stream[cpu] = ++nr;
			}
			assert_true(stream[cpu] > 0);
			add_step(&steps[stream[cpu] - 1], ip);
		}
		last[cpu] = ip;
	}
	fclose(log);
	waitpid(pid, &status, 0);
	assert_int_equal(nr, NR_WORKERS);
}

/* Takes the steps that equal those of a thread out of those of the reference. */
static bool take_equal(struct thread_steps *reference, const struct thread_steps *thread)
{
	for (int i = 0; i < NR_WORKERS; i++) {
		if (reference[i].nr != thread->nr ||
		    memcmp(reference[i].ip, thread->ip, thread->nr * sizeof(*thread->ip)))
			continue;
		free(reference[i].ip);
		reference[i] = (struct thread_steps){0};
		return true;
	}
	return false;
}

/* What each of four threads does in its own functions, undisturbed. */
static void test_threads(void **state)
{
	char *argv[] = {PROGRAM("threads4_static"), NULL};
	struct range worker = symbol(argv[0], "worker"), collatz = symbol(argv[0], "collatz");
	struct client_run run = {.truth = truth_path, .envp = env_of_run};
	struct thread_steps reference[NR_WORKERS] = {0};
	size_t nr_compared = 0, nr_workers = 0;

	(void)state;
	assert_int_equal(client_run(&run, argv), 0);
	assert_int_equal(run.status, 0);
	assert_int_equal(run.nr_threads, NR_WORKERS);
	read_reference(argv, &worker, &collatz, reference);
	for (int i = 0; i < run.nr_tids; i++) {
		struct thread_steps steps = {0};
		size_t nr;
		uint64_t *truth = client_truth(truth_path, run.tids[i], &nr);

		assert_non_null(truth);
		for (size_t k = 0; k < nr; k++)
			if (in_range(&worker, truth[k]) || in_range(&collatz, truth[k]))
				add_step(&steps, truth[k]);
		free(truth);
		if (!steps.nr)
			continue; /* the first thread */
		assert_true(take_equal(reference, &steps));
		free(steps.ip);
		nr_compared += steps.nr;
		nr_workers++;
	}
	assert_int_equal(nr_workers, NR_WORKERS);
	assert_true(nr_compared > 10000);
	forget_truth(&run);
}

static void check_counts(struct client_run *run)
{
	static const char *const names[] = {"counted", "atomically", "widely", "handled"};
	char *argv[] = {PROGRAM("qemu_a64"), "threads", NULL};

	run->truth = truth_path;
	assert_int_equal(client_run(run, argv), 0);
	assert_int_equal(run->status, 0);
	assert_int_equal(run->nr_threads, 4);
	assert_int_equal(run->nr_notices, 0);
	for (int i = 0; i < 4; i++) {
		const char *line = strstr(run->stdout_text, names[i]);
		unsigned long long ip = 0;
		long expected = -1, got = 0;

		assert_non_null(line);
		assert_int_equal(sscanf(line, "%*s %llx %ld", &ip, &expected), 2);
		for (int k = 0; k < run->nr_tids; k++) {
			size_t nr;
			uint64_t *truth = client_truth(truth_path, run->tids[k], &nr);

			for (size_t j = 0; truth && j < nr; j++)
				got += truth[j] == ip;
			free(truth);
		}
		assert_int_equal(got, expected);
		assert_true(expected >= 10);
	}
	forget_truth(run);
}

static void test_counts(void **state)
{
	struct client_run ordinary = {0}, full = {.blocks = "40"}, narrow = {.slots = "2"};

	(void)state;
	check_counts(&ordinary);
	check_counts(&full);
	check_counts(&narrow);
}

/* ---- exec, fork ---- */

static void test_exec(void **state)
{
	char *own[] = {PROGRAM("qemu_a64"), "exec", PROGRAM("null_deref"), NULL};
	char *other[] = {"/usr/bin/env", PROGRAM("recursion_static"), NULL};
	char *back[] = {PROGRAM("qemu_a64"), "exec", "/bin/true", NULL};
	char *fork[] = {PROGRAM("qemu_a64"), "fork", NULL};
	struct client_run a = {0}, b = {0}, c = {0}, d = {0};
	struct range main_of;
	size_t nr, nr_main = 0;
	uint64_t *truth;

	(void)state;
	/* AArch64 to AArch64, and it dies there */
	assert_int_equal(client_run(&a, own), 0);
	assert_int_equal(a.nr_execs, 1);
	assert_int_equal(a.nr_dying, 1);
	assert_true(WIFSIGNALED(a.status));
	/* x86-64 to AArch64: the ground truth continues with the other's addresses */
	b.truth = truth_path;
	assert_int_equal(client_run(&b, other), 0);
	assert_int_equal(b.status, 0);
	assert_int_equal(b.nr_execs, 1);
	assert_int_equal(b.nr_notices, 0);
	main_of = symbol(PROGRAM("recursion_static"), "main");
	truth = client_truth(truth_path, b.pid, &nr);
	assert_non_null(truth);
	for (size_t i = 0; i < nr; i++)
		nr_main += truth[i] == main_of.begin;
	assert_int_equal(nr_main, 1);
	free(truth);
	forget_truth(&b);
	/* and AArch64 to x86-64 */
	assert_int_equal(client_run(&c, back), 0);
	assert_int_equal(c.status, 0);
	assert_int_equal(c.nr_execs, 1);
	assert_int_equal(c.nr_notices, 0);
	assert_int_equal(client_run(&d, fork), 0);
	assert_int_equal(d.nr_forks, 1);
	assert_int_equal(d.status, 0);
}

static void test_no_qemu(void **state)
{
	struct client_run run = {0};
	char *argv[] = {PROGRAM("recursion"), NULL};

	(void)state;
	setenv("AUXTAP_QEMU_AARCH64", "/nowhere/qemu-aarch64", 1);
	assert_int_equal(client_run(&run, argv), 0);
	unsetenv("AUXTAP_QEMU_AARCH64");
	/* another one is used instead, and the message says why */
	assert_true(run.result > 0);
	assert_ptr_equal(strstr(run.engine.why,
				"AUXTAP_QEMU_AARCH64=/nowhere/qemu-aarch64: No such file"),
			 run.engine.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static),	   cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_exceptions), cmocka_unit_test(test_crash),
		cmocka_unit_test(test_faults),	   cmocka_unit_test(test_threads),
		cmocka_unit_test(test_counts),	   cmocka_unit_test(test_exec),
		cmocka_unit_test(test_no_qemu),
	};

	if (access(PROGRAM("recursion"), X_OK)) {
		printf("skipped: no compiler for AArch64\n");
		return 77;
	}
	if (engine_skip("aarch64"))
		return 77;
	/* the reference uses it unchanged ("/."); auxtap knows more names for the libraries there
	 */
	setenv("AUXTAP_SYSROOT", "/usr/aarch64-linux-gnu/.", 1);
	snprintf(truth_path, sizeof(truth_path), "/tmp/auxtap-qemu-a64-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
