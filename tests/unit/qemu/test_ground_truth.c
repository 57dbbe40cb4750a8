// SPDX-License-Identifier: BSD-2-Clause
/*
 * The qemu engine's ground truth against independent references: qemu's own log of single steps,
 * and counts that a program makes itself.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_qemu_client.h"
#include "support_engine.h"
#include "support_qemu_reference.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM(name) AUXTAP_BIN "/../tests/qemu_" name

static void test_true(void **state)
{
	struct client_run run = {0};
	char *argv[] = {"true", NULL};

	(void)state;
	reference_compare(&reference_x86, argv, &run, 0);
	assert_int_equal(run.status, 0);
}

static void test_ls(void **state)
{
	struct client_run run = {0};
	char *argv[] = {"ls", "-l", "/usr", NULL};

	(void)state;
	reference_compare(&reference_x86, argv, &run, 0);
	assert_non_null(strstr(run.stdout_text, "bin"));
}

static void test_sort_and_gzip(void **state)
{
	struct client_run sort = {0}, gzip = {0};
	char *argv_sort[] = {"sort", "-r", AUXTAP_SOURCE "/CMakeLists.txt", NULL};
	char *argv_gzip[] = {"gzip", "-c", AUXTAP_SOURCE "/CMakeLists.txt", NULL};

	(void)state;
	reference_compare(&reference_x86, argv_sort, &sort, 0);
	reference_compare(&reference_x86, argv_gzip, &gzip, 0);
}

static void test_faults(void **state)
{
	struct client_run run = {0};
	char *argv[] = {PROGRAM("faults"), NULL};

	(void)state;
	/* the reference does not list a faulting fetch, and int3 retires: 12 faults less 2 */
	reference_compare(&reference_x86, argv, &run, 10);
	assert_int_equal(run.nr_faults, 12);
	assert_string_equal(run.stdout_text, "segv 9 fpe 1 ill 1 usr 2 nested 4\n");
}

static void test_selfmod(void **state)
{
	struct client_run run = {0}, full = {.blocks = "40"};
	char *argv[] = {PROGRAM("selfmod"), NULL};

	(void)state;
	reference_compare(&reference_x86, argv, &run, 0);
	/* tables full: every later block is sent in full */
	reference_compare(&reference_x86, argv, &full, 0);
}

static size_t count_in_truth(const struct client_run *run, const char *name, long *expected)
{
	const char *at = run->stdout_text;
	size_t nr, sum = 0;
	uint64_t ip = 0;

	while (at && *at) {
		char what[32];
		unsigned long long value;

		if (sscanf(at, "%31s %llx %ld", what, &value, expected) == 3 &&
		    !strcmp(what, name)) {
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
	static const char *const names[] = {"counted", "repeated", "wide_cas", "handled"};
	char *argv[] = {PROGRAM("async"), threads, NULL};

	run->truth = truth_path;
	assert_int_equal(client_run(run, argv), 0);
	assert_int_equal(run->status, 0);
	for (int i = 0; i < 4; i++) {
		long expected = -1;
		size_t got = count_in_truth(run, names[i], &expected);

		if ((long)got != expected)
			fail_msg("%s with %s threads: the ground truth has %zu, not %ld", names[i],
				 threads, got, expected);
		/* timer signals did arrive */
		assert_true(i != 3 || expected > 5);
	}
	forget_truth(run);
}

static void test_async(void **state)
{
	struct client_run one = {0}, many = {0}, full = {.blocks = "40"}, narrow = {.slots = "2"};

	(void)state;
	check_counts(&one, "0");
	check_counts(&many, "3");
	assert_int_equal(many.nr_threads, 3);
	check_counts(&full, "2");
	check_counts(&narrow, "2");
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true),   cmocka_unit_test(test_ls),
		cmocka_unit_test(test_sort_and_gzip),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_selfmod),
		cmocka_unit_test(test_async),
	};
	/* clang-format on */

	if (engine_skip("x86_64"))
		return 77;
	snprintf(truth_path, sizeof(truth_path), "/tmp/auxtap-qemu-truth-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
