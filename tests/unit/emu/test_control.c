// SPDX-License-Identifier: BSD-2-Clause
/* Attach, detach, hang-up, refusals. The program must survive unharmed. */
#include "support_emu_client.h"
#include "tests/support/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PROGRAM AUXTAP_BIN "/emu_program"

static char *word(const char *s)
{
	return (char *)(uintptr_t)s;
}

static void sleep_ms(long ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* The writer is one of our descendants, or was until auxtap-emu hung up. */
static void expect_line(int fd, const char *line)
{
	const pid_t self = getpid();
	struct progress progress = {.roots = &self, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};
	char buf[64] = "";
	size_t n = 0;

	while (n < strlen(line)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		while (poll(&p, 1, 100) != 1)
			assert_false(progress_stalled(&progress));
		ssize_t got = read(fd, buf + n, strlen(line) - n);

		assert_true(got > 0);
		n += (size_t)got;
	}
	assert_string_equal(buf, line);
}

static void pipes(struct client *c, int to[2], int from[2])
{
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	c->stdio[0] = to[0];
	c->stdio[1] = from[1];
	c->stdio[2] = 2;
}

/* The program's input and output work; a hang-up in a system call leaves it there, untraced. */
static void test_hang_up_in_read(void **state)
{
	struct client c = {0};
	char *const argv[] = {word(PROGRAM), word("cat"), NULL};
	int to[2], from[2];
	pid_t pid;

	(void)state;
	pipes(&c, to, from);
	client_start(&c, NULL);
	pid = client_spawn(&c, argv);
	assert_true(pid > 0);
	close(to[0]);
	close(from[1]);
	assert_int_equal(client_simple(&c, EMU_RESUME, (uint64_t)pid, 0), 0);
	assert_int_equal(write(to[1], "traced\n", 7), 7);
	expect_line(from[0], "traced\n");
	sleep_ms(50); /* in read() again */
	client_hang_up(&c);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(write(to[1], "alone\n", 6), 6);
	expect_line(from[0], "alone\n");
	close(to[1]);
	char end;

	assert_int_equal(read(from[0], &end, 1), 0);
	close(from[0]);
	client_stop(&c);
}

/* A hang-up in the middle of steps: no step's trap is left over that would kill it. */
static void test_hang_up_in_steps(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct client c = {0};
		char *const argv[] = {word("/bin/sh"), word("-c"),
				      word(PROGRAM " loops 3000000; echo $?"), NULL};
		struct auxtap_target_event ev;
		int to[2], from[2];
		pid_t pid;

		pipes(&c, to, from);
		client_start(&c, NULL);
		pid = client_spawn(&c, argv);
		close(from[1]);
		close(to[0]);
		assert_int_equal(client_simple(&c, EMU_RESUME, (uint64_t)pid, 0), 0);
		for (int i = 0; i < 2; i++) {
			/* the fork, then the exec of the program */
			assert_true(client_wait_event(&c, &ev));
			assert_int_equal(ev.type, i ? AUXTAP_TARGET_EXEC : AUXTAP_TARGET_FORK);
			assert_int_equal(client_simple(&c, EMU_RESUME, (uint64_t)ev.tid, 0), 0);
		}
		sleep_ms(37 * round);
		client_hang_up(&c);
		expect_line(from[0], "42\n");
		close(from[0]);
		close(to[1]);
		client_stop(&c);
	}
}

/* Held for capture when capture ends: it must not stay stopped. */
static void test_hang_up_held(void **state)
{
	struct client c = {0};
	char *const argv[] = {word("/bin/echo"), word("free"), NULL};
	int to[2], from[2];

	(void)state;
	pipes(&c, to, from);
	client_start(&c, NULL);
	assert_true(client_spawn(&c, argv) > 0);
	close(from[1]);
	client_hang_up(&c);
	expect_line(from[0], "free\n");
	close(from[0]);
	close(to[0]);
	close(to[1]);
	client_stop(&c);
}

/* Returns when it executes the program, and for "cat" when it waits in read(). */
static pid_t start_alone(const char *what, int in, int out)
{
	int executed[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		if (in >= 0)
			dup2(in, 0);
		if (out >= 0)
			dup2(out, 1);
		execl(PROGRAM, PROGRAM, what, (char *)NULL);
		_exit(127);
	}
	close(executed[1]);
	assert_int_equal(read(executed[0], &c, 1), 0);
	close(executed[0]);
	while (!strcmp(what, "cat") && progress_state(pid) != 'S')
		sleep_ms(1);
	return pid;
}

static void attach(struct client *c, pid_t pid, int nr_threads)
{
	const uint64_t arg[5] = {(uint64_t)pid, 0};
	struct auxtap_target_event ev[8];

	client_start(c, NULL);
	assert_int_equal(client_call(c, EMU_ATTACH, 0, arg, c->truth, strlen(c->truth) + 1, NULL,
				     0),
			 0);
	for (int i = 0; i < nr_threads; i++) {
		assert_true(client_wait_event(c, &ev[i]));
		assert_int_equal(ev[i].type, AUXTAP_TARGET_THREAD);
		assert_int_equal(ev[i].parent_pid, 0);
		if (!i)
			client_read_maps(c, pid);
		client_trace_task(c, pid, ev[i].tid);
	}
	for (int i = 0; i < nr_threads; i++)
		assert_int_equal(client_simple(c, EMU_RESUME, (uint64_t)ev[i].tid, 0), 0);
}

static void detach(struct client *c, pid_t pid)
{
	struct auxtap_target_event ev;

	assert_int_equal(client_simple(c, EMU_DETACH, (uint64_t)pid, 0), 0);
	assert_true(client_wait_event(c, &ev));
	assert_int_equal(ev.type, AUXTAP_TARGET_THREAD_EXIT);
	client_drain(c);
	for (int i = 0; i < c->nr_traces; i++) {
		const uint64_t none[5] = {0};
		struct client_trace *t = &c->traces[i];

		assert_int_equal(client_call(c, EMU_STATS, t->event, none, NULL, 0, NULL, 0), 0);
		memcpy(&t->stats, c->answer, sizeof(t->stats));
		assert_int_equal(t->stats.nr_written, t->stream_size);
	}
}

/* Waits until the first traced task has executed nr instructions, at any load. */
static void wait_for_insns(struct client *c, uint64_t nr)
{
	struct progress progress = {.roots = &c->emu, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};
	const uint64_t none[5] = {0};

	while (!progress_stalled(&progress)) {
		struct client_trace *t = &c->traces[0];

		assert_int_equal(client_call(c, EMU_STATS, t->event, none, NULL, 0, NULL, 0), 0);
		memcpy(&t->stats, c->answer, sizeof(t->stats));
		if (t->stats.nr_insns >= nr)
			return;
		sleep_ms(20);
		client_drain(c);
	}
	fail_msg("no progress");
}

static void test_attach_spinning(void **state)
{
	struct client c = {0};
	pid_t pid = start_alone("spin", -1, -1);
	int status;

	(void)state;
	attach(&c, pid, 1);
	wait_for_insns(&c, 500);
	detach(&c, pid);
	assert_true(client_verify(&c) > 100);
	sleep_ms(50);
	/* alive, not killed by a leftover trap */
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	client_stop(&c);
}

static void test_attach_reading(void **state)
{
	struct client c = {0};
	int to[2], from[2], status;
	pid_t pid;

	(void)state;
	pipes(&c, to, from);
	pid = start_alone("cat", to[0], from[1]);
	close(to[0]);
	close(from[1]);
	attach(&c, pid, 1);
	assert_int_equal(write(to[1], "traced\n", 7), 7);
	expect_line(from[0], "traced\n");
	sleep_ms(50);
	detach(&c, pid);
	assert_true(client_verify(&c) > 20);
	assert_int_equal(write(to[1], "alone\n", 6), 6);
	expect_line(from[0], "alone\n");
	close(to[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(from[0]);
	client_stop(&c);
}

static void refused(struct client *c, int64_t result, int err, const char *text)
{
	assert_int_equal(result, -err);
	assert_true(c->answer_size > 0 && c->answer_size < 512);
	c->answer[c->answer_size] = '\0';
	if (!strstr((const char *)c->answer, text))
		fail_msg("'%s' does not say '%s'", (const char *)c->answer, text);
}

static void test_refusals(void **state)
{
	struct client c = {0};
	char *const missing[] = {word("/nonexistent/prog"), NULL};
	char *const dir[] = {word("/etc"), NULL};
	char *const good[] = {word("true"), NULL};

	(void)state;
	char truth[64];

	client_start(&c, NULL);
	strcpy(truth, c.truth);
	refused(&c, client_spawn(&c, missing), ENOENT, "No such file");
	refused(&c, client_spawn(&c, dir), EACCES, "Permission denied");
	refused(&c, client_simple(&c, EMU_ATTACH, 0x3fffffff, 0), ESRCH, "no such process");
	refused(&c, client_simple(&c, EMU_ATTACH, (uint64_t)c.emu, 0), EPERM, "ptrace_scope");
	assert_int_equal(client_simple(&c, EMU_RESUME, 1, 0), -ESRCH);
	assert_int_equal(client_simple(&c, EMU_REGS, 1, 0), -ESRCH);
	assert_int_equal(client_simple(&c, EMU_MEM, 1, 0), -ESRCH);
	assert_int_equal(client_simple(&c, EMU_DETACH, 1, 0), -ESRCH);
	assert_int_equal(client_simple(&c, EMU_MUNMAP, 7, 0), -EINVAL);
	assert_int_equal(client_simple(&c, 99, 0, 0), -ENOSYS);
	assert_int_equal(client_call(&c, EMU_IOCTL, 3, NULL, NULL, 0, NULL, 0), -EBADF);
	assert_int_equal(client_call(&c, EMU_OPEN, 0, NULL, "", 1, NULL, 0), -E2BIG);
	assert_int_equal(client_call(&c, EMU_SPAWN, 0, NULL, "\1\0\0\0\377\377\377\377", 8, NULL,
				     0),
			 -EINVAL);
	assert_int_equal(client_call(&c, EMU_PMU_ATTR, 0, NULL, "intel_pt", 8, NULL, 0), -EINVAL);
	strcpy(c.truth, "/nonexistent/truth");
	refused(&c, client_spawn(&c, good), ENOENT, "truth file");
	strcpy(c.truth, truth);
	/* and it still works */
	assert_int_equal(client_trace_program(&c, good), 0);
	client_verify(&c);
	client_stop(&c);
}

static void poke(struct client *c, pid_t pid)
{
	sleep_ms(200);
	assert_int_equal(client_simple(c, EMU_SIGNAL, (uint64_t)pid, SIGINT), 0);
}

struct killer {
	int round;
	pid_t pid;
};

/* Signal at the creation of its second thread: at another point and from another process each time.
 */
static void kill_soon(struct client *c, const struct auxtap_target_event *ev)
{
	struct killer *killer = c->ctx;

	if (ev->type != AUXTAP_TARGET_THREAD)
		return;
	killer->pid = fork();
	if (killer->pid)
		return;
	sleep_ms(10 + 17 * killer->round);
	kill(ev->pid, SIGKILL);
	_exit(0);
}

/* The engine waits for a thread's stop after each POPF: SIGKILL arrives meanwhile. */
static void test_killed_while_awaited(void **state)
{
	char *const argv[] = {word(PROGRAM), word("popf_threads"), NULL};

	(void)state;
	for (int round = 0; round < 6; round++) {
		struct killer killer = {.round = round};
		struct client c = {.on_event = kill_soon, .ctx = &killer};

		assert_int_equal(client_trace_program(&c, argv), SIGKILL);
		assert_int_equal(client_count(&c, AUXTAP_TARGET_THREAD_EXIT), 2);
		assert_int_equal(c.events[c.nr_events - 1].type, AUXTAP_TARGET_PROCESS_EXIT);
		client_verify(&c);
		client_stop(&c);
		assert_int_equal(waitpid(killer.pid, NULL, 0), killer.pid);
	}
}

static void late(const char *which, const char *ms)
{
	setenv("AUXTAP_EMU", AUXTAP_BIN "/../tests/emu_lossy", 1);
	setenv("EMU_LATE", which, 1);
	setenv("EMU_LATE_MS", ms, 1);
}

static void in_time(void)
{
	unsetenv("AUXTAP_EMU");
	unsetenv("EMU_LATE");
	unsetenv("EMU_LATE_MS");
}

/* A new process whose first stop is late: it is detached at that stop, and reported. */
static void test_late_child(void **state)
{
	struct client c = {0};
	char *const argv[] = {word("/bin/sh"), word("-c"), word("/bin/true; exit 3"), NULL};

	(void)state;
	late("1", "10500");
	assert_int_equal(client_trace_program(&c, argv), 3 << 8);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_FORK), 0);
	assert_int_equal(client_count(&c, AUXTAP_TARGET_NOTICE), 1);
	assert_non_null(strstr(client_find(&c, AUXTAP_TARGET_NOTICE, 0)->text, "in time"));
	client_verify(&c);
	client_stop(&c);
	in_time();
}

/* Capture dies before the program starts: no process stays. */
static void test_gone_before_exec(void **state)
{
	char *const argv[] = {word(PROGRAM), word("spin"), NULL};
	int alive[2]; /* every living process holds the other end */
	struct pollfd p;
	pid_t pid;
	char c;

	(void)state;
	late("0", "600000");
	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	assert_int_equal(fcntl(alive[1], F_DUPFD, 30), 30); /* away from auxtap-emu's descriptors */
	close(alive[1]);
	pid = fork();
	if (!pid) {
		struct client cl = {0};

		client_start(&cl, NULL);
		client_spawn(&cl, argv);
		_exit(1);
	}
	close(30);
	sleep_ms(700);
	p = (struct pollfd){.fd = alive[0], .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/*
	 * less than the 30 s after which auxtap-emu gives up by itself; it needs almost no CPU
	 * time
	 */
	assert_int_equal(poll(&p, 1, 25000), 1);
	assert_int_equal(read(alive[0], &c, 1), 0);
	close(alive[0]);
	in_time();
}

/* Checks its exit status and a text that it prints. */
static void command_ends(FILE *f, int status, const char *prints)
{
	char all[4096] = "";
	size_t n;

	assert_non_null(f);
	n = fread(all, 1, sizeof(all) - 1, f);
	all[n] = '\0';
	assert_int_equal(pclose(f), status << 8);
	if (!strstr(all, prints))
		fail_msg("'%s' does not say '%s'", all, prints);
}

static void command(int status, const char *prints, const char *line)
{
	command_ends(popen(line, "re"), status, prints);
}

/* The engine gives up after 30 s: they pass while the other tests run. */
static FILE *never_begins;

static int start_never_begins(void **state)
{
	(void)state;
	late("0", "60000");
	never_begins =
		popen(AUXTAP_BIN "/auxtap record --source ptrace -o /dev/null -- /bin/true 2>&1",
		      "re");
	in_time();
	return never_begins ? 0 : -1;
}

/* It does not start, and nothing gives up before the engine does. */
static void test_never_begins(void **state)
{
	(void)state;
	command_ends(never_begins, 125, "no start within 30 s");
}

/*
 * Its end is never reported: the engine learns that no task is left. Capture must not wait, must
 * keep the trace that it has, and must report what it does not know.
 */
static void test_vanished(void **state)
{
	char path[] = "/tmp/emu-vanished-XXXXXX", line[256];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	setenv("AUXTAP_EMU", AUXTAP_BIN "/../tests/emu_lossy", 1);
	setenv("EMU_VANISH", "1", 1);
	snprintf(line, sizeof(line),
		 AUXTAP_BIN "/auxtap record --source ptrace -o %s -- " PROGRAM " exit 3 2>&1",
		 path);
	command(125, "ended while it could not be traced", line);
	unsetenv("AUXTAP_EMU");
	unsetenv("EMU_VANISH");
	snprintf(line, sizeof(line), AUXTAP_BIN "/auxtap decode --summary %s 2>&1", path);
	command(0, "gaps: 1\n", line);
	command(0, "errors: 0\n", line);
	unlink(path);
}

static void test_signal(void **state)
{
	struct client c = {.on_running = poke};
	char *const argv[] = {word(PROGRAM), word("spin"), NULL};

	(void)state;
	assert_int_equal(client_trace_program(&c, argv), SIGINT);
	client_verify(&c);
	client_stop(&c);
}

/* The terminal's signals, sent to the whole process group, end the program, not auxtap-emu. */
static void test_terminal_signals(void **state)
{
	struct client c = {0};
	char *const argv[] = {word(PROGRAM), word("exit"), word("0"), NULL};

	(void)state;
	client_start(&c, NULL);
	kill(c.emu, SIGINT);
	kill(c.emu, SIGQUIT);
	kill(c.emu, SIGTSTP);
	kill(c.emu, SIGHUP);
	assert_int_equal(client_trace_program(&c, argv), 0);
	client_stop(&c);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hang_up_in_read),
		cmocka_unit_test(test_hang_up_in_steps),
		cmocka_unit_test(test_hang_up_held),
		cmocka_unit_test(test_attach_spinning),
		cmocka_unit_test(test_attach_reading),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_killed_while_awaited),
		cmocka_unit_test(test_late_child),
		cmocka_unit_test(test_gone_before_exec),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_terminal_signals),
		cmocka_unit_test(test_never_begins),
	};
	/* clang-format on */

	signal(SIGPIPE, SIG_IGN);
	if (getenv("TEST"))
		cmocka_set_test_filter(getenv("TEST"));
	return cmocka_run_group_tests(tests, start_never_begins, NULL);
}
