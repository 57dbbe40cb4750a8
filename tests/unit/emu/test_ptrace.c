// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap-emu with the ptrace engine, over its sockets: real programs, traced completely, with
 * libipt as the reference.
 */
#include "support_emu_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PROGRAM AUXTAP_BIN "/emu_program"
#define GOOD	42

/*
 * Runs a scenario of emu_program.c traced; returns its wait status. Everything decoded must be the
 * ground truth.
 */
static int scenario(struct client *c, const char *name, const char *arg)
{
	char *const argv[] = {(char *)(uintptr_t)PROGRAM, (char *)(uintptr_t)name,
			      (char *)(uintptr_t)arg, NULL};
	int status = client_trace_program(c, argv);

	client_verify(c);
	return status;
}

static void good(const char *name)
{
	struct client c = {0};
	int status = scenario(&c, name, NULL);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != GOOD)
		fail_msg("%s: wait status %#x", name, status);
	client_stop(&c);
}

static void test_true(void **state)
{
	struct client c = {0};
	char *const argv[] = {(char *)"true", NULL};

	(void)state;
	assert_int_equal(client_trace_program(&c, argv), 0);
	assert_true(client_verify(&c) > 10000);
	assert_int_equal(c.traces[0].itrace_starts, 1);
	client_stop(&c);
}

#define GOOD_TEST(name)                       \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		good(#name);                  \
	}
GOOD_TEST(signals)
GOOD_TEST(tf)
GOOD_TEST(own_tf)
GOOD_TEST(restart)
GOOD_TEST(masks)
GOOD_TEST(affinity)
GOOD_TEST(stopped)
GOOD_TEST(jit)
GOOD_TEST(vsyscall)
GOOD_TEST(storm)
GOOD_TEST(targets)

/* Without signals user code continues where it was left: no instruction ran unseen. */
static void test_shadow(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "shadow", NULL), GOOD << 8);
	assert_int_equal(c.astray, 0);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_NOTICE), 0);
	client_stop(&c);
}

/* REP is one instruction, however often it traps, and even with a fault in between. */
static void test_rep(void **state)
{
	struct client c = {0};
	uint64_t *truth;
	size_t nr, twice = 0;

	(void)state;
	assert_int_equal(scenario(&c, "rep", NULL), GOOD << 8);
	truth = client_truth(&c, c.traces[0].tid, &nr);
	for (size_t i = 1; i < nr; i++)
		twice += truth[i] == truth[i - 1];
	assert_int_equal(twice, 0);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_FAULT), 1);
	twice = 0;
	for (size_t i = 0; i < nr; i++)
		twice += truth[i] == client_find(&c, AUXTAP_TARGET_FAULT, 0)->ip;
	assert_int_equal(twice, 1);
	free(truth);
	client_stop(&c);
}

/*
 * Code that changes between its runs: the images of each version, which libipt would need, are not
 * kept here. The executed addresses show that no stale instruction was traced.
 */
static void test_rewrite(void **state)
{
	static const uint64_t offs[] = {0, 1, 6, 0, 1, 2, 7, 0, 1, 2, 3, 8};
	struct client c = {0};
	char *const argv[] = {(char *)(uintptr_t)PROGRAM, (char *)(uintptr_t) "rewrite", NULL};
	size_t nr, at = 0;
	uint64_t *truth;

	(void)state;
	assert_int_equal(client_trace_program(&c, argv), GOOD << 8);
	truth = client_truth(&c, c.traces[0].tid, &nr);
	const struct client_map *page = NULL;

	for (int i = 0; i < c.nr_maps; i++)
		if (c.maps[i].bytes && c.maps[i].len == 4096 && c.maps[i].time)
			page = &c.maps[i];
	assert_non_null(page);
	for (size_t i = 0; i < nr; i++)
		if (truth[i] - page->addr < 4096) {
			assert_true(at < sizeof(offs) / sizeof(*offs));
			assert_int_equal(truth[i] - page->addr, offs[at++]);
		}
	assert_int_equal(at, sizeof(offs) / sizeof(*offs));
	free(truth);
	client_stop(&c);
}

/* A fault that goes to a handler is reported, with its address; the program continues. */
static void test_faults(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "faults", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_FAULT), 7);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_FAULT, 0)->signo, SIGSEGV);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_FAULT, 3)->signo, SIGFPE);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_FAULT, 4)->signo, SIGILL);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_FAULT, 5)->signo, SIGTRAP);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_FAULT, 6)->ip, 0x10);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_DYING), 0);
	/* the faulting instruction did not retire */
	size_t nr;
	uint64_t *truth = client_truth(&c, c.traces[0].tid, &nr);

	for (int f = 0; f < 7; f++) {
		for (size_t i = 0; f != 5 && i < nr; i++)
			assert_true(truth[i] != client_find(&c, AUXTAP_TARGET_FAULT, f)->ip);
	}
	free(truth);
	client_stop(&c);
}

static void test_threads(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "threads", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_THREAD), 4);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_THREAD_EXIT), 5);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_PROCESS_EXIT), 1);
	client_stop(&c);
}

static void test_forks(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "forks", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_FORK), 3);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_PROCESS_EXIT), 4);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_PROCESS_EXIT, 0)->status, 7 << 8);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_PROCESS_EXIT, 1)->status, SIGTERM);
	client_stop(&c);
}

static void test_execs(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "execs", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_EXEC), 2);
	assert_string_equal(client_find(&c, AUXTAP_TARGET_EXEC, 0)->comm, "emu_program");
	client_stop(&c);
}

static void test_thread_exec(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "thread_exec", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_EXEC), 1);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_THREAD), 2);
	client_stop(&c);
}

static void test_exit_from_thread(void **state)
{
	struct client c = {0};

	(void)state;
	assert_int_equal(scenario(&c, "exit_from_thread", NULL), GOOD << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_THREAD_EXIT), 3);
	client_stop(&c);
}

/* A script: its interpreter is executed in the same exec. */
static void test_script(void **state)
{
	struct client c = {0};
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exec " PROGRAM " exit 3",
			      NULL};

	(void)state;
	assert_int_equal(client_trace_program(&c, argv), 3 << 8);
	client_verify(&c);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_EXEC), 1);
	client_stop(&c);
}

static void look_at_dying(struct client *c, const struct auxtap_target_event *ev)
{
	struct auxtap_regs regs;
	siginfo_t info;
	int *nr = c->ctx;

	if (ev->type != AUXTAP_TARGET_DYING)
		return;
	(*nr)++;
	assert_int_equal(client_simple(c, EMU_THREADS, (uint64_t)ev->pid, 0), 2);
	for (uint32_t i = 0; i < c->answer_size / 4; i++) {
		int32_t tid;
		int32_t tids[2];

		memcpy(tids, c->answer, sizeof(tids));
		tid = tids[i];
		assert_int_equal(client_simple(c, EMU_REGS, (uint64_t)tid, 0), 0);
		memcpy(&regs, c->answer, sizeof(regs));
		assert_int_equal(regs.arch, AUXTAP_ARCH_X86_64);
		if (tid == ev->tid)
			assert_int_equal(regs.reg[AUXTAP_X86_IP], ev->ip);
		assert_int_equal(client_simple(c, EMU_THREADS, (uint64_t)ev->pid, 0), 2);
	}
	assert_int_equal(client_simple(c, EMU_SIGINFO, (uint64_t)ev->tid, 0), 0);
	memcpy(&info, c->answer, sizeof(info));
	assert_int_equal(info.si_signo, SIGSEGV);
	assert_ptr_equal(info.si_addr, (void *)8);
	/* everything is in the rings while it waits: no byte arrives later */
	client_drain(c);
	nr[1] = (int)c->traces[0].stream_size;
}

static void test_dying(void **state)
{
	int nr[2] = {0, 0};
	struct client c = {.on_event = look_at_dying, .ctx = nr};
	int status;

	(void)state;
	status = scenario(&c, "segv_in_thread", NULL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	assert_int_equal(nr[0], 1);
	assert_true(nr[1] > 0);
	assert_int_equal(nr[1], c.traces[0].stream_size);
	client_stop(&c);
}

static void test_badjump(void **state)
{
	struct client c = {0};
	int status;

	(void)state;
	status = scenario(&c, "badjump", NULL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_DYING), 1);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_DYING, 0)->ip, 0x1234);
	client_stop(&c);
}

static void test_filtered(void **state)
{
	struct client c = {0};
	int status;

	(void)state;
	status = scenario(&c, "filtered", NULL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_DYING), 1);
	assert_int_equal(client_find(&c, AUXTAP_TARGET_DYING, 0)->signo, SIGSYS);
	client_stop(&c);
}

/* A 32-bit program after an exec: it runs untraced, and this is reported. */
static void test_32bit(void **state)
{
	/* ELF32 header, one segment, then: mov $7, %bl; mov $1, %al; int $0x80 */
	/* clang-format off */
	static const unsigned char elf[] = {
		0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0,
		0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0,
		0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08,
		0x5c, 0, 0, 0, 0x5c, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
		0xb3, 7, 0x6a, 1, 0x58, 0xcd, 0x80, 0x90,
	};
	/* clang-format on */
	char path[] = "/tmp/emu-elf32-XXXXXX";
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", NULL, NULL};
	char *args[] = {argv[0], argv[1], path, NULL};
	struct client c = {0};
	int fd = mkstemp(path), status;

	(void)state;
	assert_int_equal(write(fd, elf, sizeof(elf)), sizeof(elf));
	fchmod(fd, 0700);
	close(fd);
	status = system(path);
	if (WEXITSTATUS(status) != 7) {
		unlink(path);
		print_message("no 32-bit programs on this kernel\n");
		skip();
	}
	assert_int_equal(client_trace_program(&c, args), 7 << 8);
	client_verify(&c);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_NOTICE), 1);
	assert_non_null(strstr(client_find(&c, AUXTAP_TARGET_NOTICE, 0)->text, "32-bit"));
	unlink(path);
	client_stop(&c);
}

/* Signals that end it: those that dump core are reported before the death, the others are not. */
static void test_killed(void **state)
{
	static const struct {
		const char *arg;
		int signo, dying;
	} list[] = {
		{"6", SIGABRT, 1}, {"9", SIGKILL, 0},  {"15", SIGTERM, 0},
		{"5", SIGTRAP, 1}, {"14", SIGALRM, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct client c = {0};
		int status = scenario(&c, "kill", list[i].arg);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), list[i].signo);
		assert_int_equal(client_count(&c, AUXTAP_TARGET_DYING), list[i].dying);
		client_stop(&c);
	}
}

static char **by_hand;

/* test_ptrace PROGRAM ARGS: traces and checks any program. */
static void test_by_hand(void **state)
{
	struct client c = {0};
	struct timespec a, b;
	struct rusage u;
	int status;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &a);
	status = client_trace_program(&c, by_hand);
	clock_gettime(CLOCK_MONOTONIC, &b);
	client_hang_up(&c);
	getrusage(RUSAGE_CHILDREN, &u); /* times of auxtap-emu and the program */
	printf("wait_status: %#x\n", (unsigned int)status);
	printf("instructions: %llu\n", (unsigned long long)client_verify(&c));
	printf("seconds: %.3f\n",
	       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	printf("cpu_seconds: %.3f\n",
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	client_stop(&c);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest hand[] = {cmocka_unit_test(test_by_hand)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_rep),
		cmocka_unit_test(test_tf),
		cmocka_unit_test(test_own_tf),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_affinity),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_vsyscall),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_32bit),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_execs),
		cmocka_unit_test(test_thread_exec),
		cmocka_unit_test(test_exit_from_thread),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_dying),
		cmocka_unit_test(test_badjump),
		cmocka_unit_test(test_killed),
	};

	by_hand = argv + 1;
	if (argc > 1)
		return cmocka_run_group_tests(hand, NULL, NULL);
	/* one test, by name: TEST=test_tf */
	if (getenv("TEST"))
		cmocka_set_test_filter(getenv("TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
