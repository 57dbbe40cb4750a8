// SPDX-License-Identifier: BSD-2-Clause
/* Steps whose trap is lost: emu_lossy loses them on purpose, and logs what really ran. */
#include "lossy_ptrace.h"
#include "support_emu_client.h"
#include "hw/x86_insn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PROGRAM	   AUXTAP_BIN "/emu_program"
#define LOSSY	   AUXTAP_BIN "/../tests/emu_lossy"
#define NR_CLASSES (X86_FAR + 1)

static unsigned long lost[NR_CLASSES];

static struct lossy_step *read_steps(const char *path, pid_t tid, size_t *nr)
{
	char name[128];
	struct lossy_step *steps = NULL;
	size_t max = 0;
	FILE *f;

	snprintf(name, sizeof(name), "%s.%d", path, (int)tid);
	f = fopen(name, "re");
	assert_non_null(f);
	*nr = 0;
	do {
		if (*nr == max) {
			max = max ? 2 * max : 4096;
			steps = realloc(steps, max * sizeof(*steps));
			assert_non_null(steps);
		}
	} while (fread(&steps[*nr], sizeof(*steps), 1, f) == 1 && ++*nr);
	fclose(f);
	unlink(name);
	return steps;
}

/*
 * REP is one instruction however often it is stepped, and an instruction before which a stop came
 * is stepped again: so repetitions of one instruction count once, on both sides.
 */
static void compare(struct client *c, pid_t tid, const char *path)
{
	size_t nr_steps, nr_truth, at = 0;
	struct lossy_step *steps = read_steps(path, tid, &nr_steps);
	uint64_t *truth = client_truth(c, tid, &nr_truth);

	assert_true(nr_steps > 100);
	for (size_t i = 0; i < nr_steps; i++) {
		struct x86_insn insn = {0};

		x86_insn_decode(steps[i].code, sizeof(steps[i].code), 64, &insn);
		lost[insn.cls] += steps[i].lost;
		if (i && steps[i].ip == steps[i - 1].ip)
			continue;
		if (at == nr_truth || truth[at] != steps[i].ip)
			fail_msg(
				"thread %d, step %zu of %zu: %#llx ran, the ground truth is %#llx at %zu",
				(int)tid, i, nr_steps, (unsigned long long)steps[i].ip,
				at < nr_truth ? (unsigned long long)truth[at] : 0, at);
		while (at < nr_truth && truth[at] == steps[i].ip)
			at++;
	}
	assert_int_equal(at, nr_truth);
	free(truth);
	free(steps);
}

static void run(char *const *argv, int wait_status, long every, long first)
{
	struct client c = {0};
	char path[] = "/tmp/emu-steps-XXXXXX", number[24];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	setenv("AUXTAP_EMU", LOSSY, 1);
	setenv("EMU_STEPS", path, 1);
	snprintf(number, sizeof(number), "%ld", every);
	setenv("EMU_LOSE", number, 1);
	snprintf(number, sizeof(number), "%ld", first);
	setenv("EMU_LOSE_FIRST", number, 1);
	assert_int_equal(client_trace_program(&c, argv), wait_status);
	client_verify(&c);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_NOTICE), 0);
	for (int i = 0; i < c.nr_traces; i++)
		compare(&c, c.traces[i].tid, path);
	client_stop(&c);
	unlink(path);
	unsetenv("AUXTAP_EMU");
}

static void run_often(const char *what)
{
	char *const argv[] = {(char *)(uintptr_t)PROGRAM, (char *)(uintptr_t)what, NULL};

	/* each instruction is the first of two once, and the second once */
	run(argv, 42 << 8, 1, 0);
	run(argv, 42 << 8, 2, 0);
	run(argv, 42 << 8, 2, 1);
	run(argv, 42 << 8, 3, 1);
}

/* Every kind of branch target. */
static void test_targets(void **state)
{
	(void)state;
	memset(lost, 0, sizeof(lost));
	run_often("targets");
	for (int cls = 0; cls < NR_CLASSES; cls++)
		if (cls != X86_SYSCALL && lost[cls] < 5)
			fail_msg("class %d was lost only %lu times", cls, lost[cls]);
}

/* A whole program with its dynamic linker; no trap is missed if none is lost. */
static void test_true(void **state)
{
	char *const argv[] = {(char *)"true", NULL};

	(void)state;
	run(argv, 0, 0, 0);
	run(argv, 0, 2, 0);
	run(argv, 0, 2, 1);
	run(argv, 0, 17, 0);
}

static void test_threads(void **state)
{
	char *const argv[] = {(char *)(uintptr_t)PROGRAM, (char *)"threads", NULL};

	(void)state;
	run(argv, 42 << 8, 5, 0);
	run(argv, 42 << 8, 7, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_true),
		cmocka_unit_test(test_threads),
	};

	if (getenv("TEST"))
		cmocka_set_test_filter(getenv("TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
