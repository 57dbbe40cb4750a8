// SPDX-License-Identifier: BSD-2-Clause
/*
 * How the kernel backend attaches to a program that runs natively under a flight recorder: it
 * reports deaths while the process can still be read, and changes nothing else. The programs are
 * this one in other roles.
 */
#include "tests/support/progress.h"
#include <auxtap/capture.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- traced programs ---- */

static sigjmp_buf back;
static int ready[2];

static void on_fault(int signo)
{
	(void)signo;
	siglongjmp(back, 1);
}

static void fault(void)
{
	volatile int *volatile nowhere = (volatile int *)8;

	*nowhere = 1;
}

static void *wait_for_ever(void *arg)
{
	char byte = 0;

	if (write(ready[1], &byte, 1) == 1)
		pause();
	return arg;
}

static void *exec_fault(void *arg)
{
	execl("/proc/self/exe", "native", "fault", NULL);
	return arg;
}

static int with_threads(void)
{
	pthread_t thread;
	char byte;

	if (pipe(ready))
		return 99;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, wait_for_ever, NULL);
	for (int i = 0; i < 3; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 99;
	abort();
}

static int killed_by_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	return (int)syscall(SYS_getppid);
}

static int play(const char *role)
{
	pthread_t thread;
	pid_t child;

	if (!strcmp(role, "fault")) {
		fault();
	} else if (!strcmp(role, "threads")) {
		return with_threads();
	} else if (!strcmp(role, "handler")) {
		signal(SIGSEGV, on_fault);
		if (!sigsetjmp(back, 1))
			fault();
		return 7;
	} else if (!strcmp(role, "fork")) {
		child = fork();
		if (!child)
			fault();
		waitpid(child, NULL, 0);
		return 3;
	} else if (!strcmp(role, "orphan")) { /* this process outlives its parent */
		if (fork())
			return 4;
		while (getppid() ==
		       (pid_t)strtol(getenv("PARENT") ? getenv("PARENT") : "0", NULL, 10))
			;
		usleep(100000);
		fault();
	} else if (!strcmp(role, "stop")) {
		raise(SIGSTOP);
		return 5;
	} else if (!strcmp(role, "exec")) {
		pthread_create(&thread, NULL, exec_fault, NULL);
		pause();
	} else if (!strcmp(role, "seccomp")) {
		return killed_by_seccomp();
	} else if (!strcmp(role, "wait")) {
		for (;;)
			pause();
	}
	return 98;
}

/* ---- what the backend reports ---- */

struct reported {
	int nr_dying, nr_faults, nr_exits, nr_threads, nr_regs;
	pid_t dead;
	int signo, status; /* status: of the main process */
	siginfo_t info;
	bool has_info, has_stack;
};

static char own_path[4096];

static void start(struct auxtap_backend *be, const char *role, pid_t *pid)
{
	char name[16];
	char *argv[] = {own_path, name, NULL};
	struct auxtap_spawn spawn = {.size = sizeof(spawn), .argv = argv};

	snprintf(name, sizeof(name), "%s", role);
	assert_int_equal(auxtap_backend_open_kernel(be, NULL), 0);
	assert_int_equal(be->target->report_deaths(be->target_ctx, NULL), 0);
	assert_int_equal(be->target->spawn(be->target_ctx, &spawn, pid, NULL), 0);
	assert_int_equal(be->target->resume(be->target_ctx, *pid), 0);
}

static void look_at_dead(struct auxtap_backend *be, const struct auxtap_target_event *ev,
			 struct reported *reported)
{
	struct auxtap_regs regs;
	pid_t tids[16];
	uint64_t word;

	reported->nr_dying++;
	reported->dead = ev->pid;
	reported->signo = ev->signo;
	reported->has_info = !be->target->siginfo(be->target_ctx, ev->tid, &reported->info);
	reported->nr_threads = be->target->threads(be->target_ctx, ev->pid, tids, 16);
	for (int i = 0; i < reported->nr_threads; i++)
		reported->nr_regs += !be->target->regs(be->target_ctx, tids[i], &regs);
	assert_int_equal(be->target->regs(be->target_ctx, ev->tid, &regs), 0);
	assert_int_equal(regs.reg[AUXTAP_X86_IP], ev->ip);
	reported->has_stack = be->target->mem(be->target_ctx, ev->pid, regs.reg[AUXTAP_X86_SP],
					      &word, sizeof(word)) == sizeof(word);
	assert_int_equal(be->target->resume(be->target_ctx, ev->tid), 0);
}

static void follow(struct auxtap_backend *be, pid_t pid, struct reported *reported)
{
	struct progress progress = {.roots = &pid, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};
	struct auxtap_target_event ev = {.size = sizeof(ev)};
	int ret = 0;

	memset(reported, 0, sizeof(*reported));
	reported->status = -1;
	while (!progress_stalled(&progress)) {
		struct pollfd pfd = {.fd = be->target->fd(be->target_ctx), .events = POLLIN};

		while ((ret = be->target->wait(be->target_ctx, &ev)) == 1) {
			if (ev.type == AUXTAP_TARGET_DYING)
				look_at_dead(be, &ev, reported);
			reported->nr_faults += ev.type == AUXTAP_TARGET_FAULT;
			if (ev.type != AUXTAP_TARGET_PROCESS_EXIT)
				continue;
			reported->nr_exits++;
			if (ev.pid == pid)
				reported->status = ev.status;
		}
		if (ret < 0)
			break;
		poll(&pfd, 1, 10);
	}
	assert_int_equal(ret, -ECHILD);
}

static void run(const char *role, struct reported *reported, pid_t *pid)
{
	struct auxtap_backend be = {.size = sizeof(be)};

	start(&be, role, pid);
	follow(&be, *pid, reported);
	auxtap_backend_close(&be);
}

static void test_fault(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("fault", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_equal(reported.dead, pid);
	assert_int_equal(reported.signo, SIGSEGV);
	assert_true(reported.has_info);
	assert_ptr_equal(reported.info.si_addr, (void *)8);
	assert_true(reported.has_stack);
	assert_true(WIFSIGNALED(reported.status) && WTERMSIG(reported.status) == SIGSEGV);
	assert_int_equal(reported.nr_exits, 1);
}

static void test_threads(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("threads", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_equal(reported.signo, SIGABRT);
	assert_true(reported.nr_threads >= 4); /* a sanitizer adds a thread */
	assert_int_equal(reported.nr_regs, reported.nr_threads);
	assert_true(WIFSIGNALED(reported.status) && WTERMSIG(reported.status) == SIGABRT);
}

static void test_handled(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("handler", &reported, &pid);
	assert_int_equal(reported.nr_dying, 0);
	assert_int_equal(reported.nr_faults, 1);
	assert_true(WIFEXITED(reported.status) && WEXITSTATUS(reported.status) == 7);
}

static void test_child_dies(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("fork", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_not_equal(reported.dead, pid);
	assert_int_equal(reported.nr_exits, 2);
	assert_true(WIFEXITED(reported.status) && WEXITSTATUS(reported.status) == 3);
	run("orphan", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_not_equal(reported.dead, pid);
	assert_true(WIFEXITED(reported.status) && WEXITSTATUS(reported.status) == 4);
}

static void test_exec_by_another_thread(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("exec", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_equal(reported.dead, pid);
	assert_int_equal(reported.signo, SIGSEGV);
	assert_int_equal(reported.nr_exits, 1);
}

static void test_seccomp(void **state)
{
	struct reported reported;
	pid_t pid;

	(void)state;
	run("seccomp", &reported, &pid);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_equal(reported.signo, SIGSYS);
	assert_false(reported.has_info);
	assert_true(WIFSIGNALED(reported.status) && WTERMSIG(reported.status) == SIGSYS);
}

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

static void do_nothing(int signo)
{
	(void)signo;
}

static void wait_for_state(pid_t pid, const char *states)
{
	struct progress progress = {.roots = &pid, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};

	while (!strchr(states, state_of(pid)) && !progress_stalled(&progress))
		usleep(1000);
	assert_non_null(strchr(states, state_of(pid)));
}

/*
 * A child that has not yet executed the program handles signals as the program would, even if its
 * parent has handlers for them.
 */
static void test_signals_before_exec(void **state)
{
	struct sigaction act = {.sa_handler = do_nothing}, old_cont, old_term;
	char *argv[] = {own_path, (char[]){"handler"}, NULL};
	struct auxtap_spawn spawn = {.size = sizeof(spawn), .argv = argv};
	struct auxtap_backend be = {.size = sizeof(be)};
	struct reported reported;
	pid_t pid;

	(void)state;
	assert_int_equal(sigaction(SIGCONT, &act, &old_cont), 0);
	assert_int_equal(sigaction(SIGTERM, &act, &old_term), 0);
	assert_int_equal(auxtap_backend_open_kernel(&be, NULL), 0);
	assert_int_equal(be.target->spawn(be.target_ctx, &spawn, &pid, NULL), 0);
	wait_for_state(pid, "S"); /* for the start of the program */
	kill(pid, SIGSTOP);
	wait_for_state(pid, "T");
	kill(pid, SIGCONT);
	wait_for_state(pid, "SZ");
	assert_int_equal(be.target->resume(be.target_ctx, pid), 0);
	follow(&be, pid, &reported);
	assert_true(WIFEXITED(reported.status));
	assert_int_equal(WEXITSTATUS(reported.status), 7);
	auxtap_backend_close(&be);

	assert_int_equal(auxtap_backend_open_kernel(&be, NULL), 0);
	assert_int_equal(be.target->spawn(be.target_ctx, &spawn, &pid, NULL), 0);
	wait_for_state(pid, "S");
	kill(pid, SIGTERM);
	follow(&be, pid, &reported);
	assert_true(WIFSIGNALED(reported.status));
	assert_int_equal(WTERMSIG(reported.status), SIGTERM);
	auxtap_backend_close(&be);
	sigaction(SIGCONT, &old_cont, NULL);
	sigaction(SIGTERM, &old_term, NULL);
}

/* Whether the program is at fault is a field of the error: 'what' names it in both cases. */
static void test_not_started(void **state)
{
	char missing[] = "/nonexistent/program";
	char *argv[] = {missing, NULL};
	struct auxtap_spawn spawn = {.size = sizeof(spawn), .argv = argv};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_backend be = {.size = sizeof(be)};
	pid_t pid;

	(void)state;
	assert_int_equal(auxtap_backend_open_kernel(&be, NULL), 0);
	assert_int_equal(be.target->spawn(be.target_ctx, &spawn, &pid, &err), -ENOENT);
	assert_string_equal(err.what, missing);
	assert_int_equal(err.subject, AUXTAP_ERROR_PROGRAM);
	spawn.truth_path = missing;
	assert_int_equal(be.target->spawn(be.target_ctx, &spawn, &pid, &err), -ENOTSUP);
	assert_string_equal(err.what, missing);
	assert_int_equal(err.subject, AUXTAP_ERROR_OTHER);
	auxtap_backend_close(&be);
}

/* A program in a group stop stays stopped until SIGCONT, then continues. */
static void test_stops(void **state)
{
	struct auxtap_target_event ev = {.size = sizeof(ev)};
	struct auxtap_backend be = {.size = sizeof(be)};
	struct reported reported;
	int nr_stopped = 0;
	pid_t pid;
	struct progress progress = {.roots = &pid, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};

	(void)state;
	start(&be, "stop", &pid);
	while (!progress_stalled(&progress) && nr_stopped < 20) {
		assert_int_equal(be.target->wait(be.target_ctx, &ev), 0);
		nr_stopped = strchr("tT", state_of(pid)) ? nr_stopped + 1 : 0;
		usleep(10000);
	}
	assert_int_equal(nr_stopped, 20);
	kill(pid, SIGCONT);
	follow(&be, pid, &reported);
	assert_true(WIFEXITED(reported.status) && WEXITSTATUS(reported.status) == 5);
	auxtap_backend_close(&be);
}

/* A running process, not our child: attached, detached, attached again until it dies. */
static void test_attach(void **state)
{
	struct auxtap_backend be = {.size = sizeof(be)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct reported reported;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		execl(own_path, own_path, "wait", NULL);
		_exit(99);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(auxtap_backend_open_kernel(&be, NULL), 0);
		assert_int_equal(be.target->report_deaths(be.target_ctx, NULL), 0);
		if (be.target->attach(be.target_ctx, pid, false, NULL, &err))
			fail_msg("%s: %s", err.what, err.why);
		if (i == 1)
			break;
		assert_int_equal(be.target->detach(be.target_ctx, pid), 0);
		auxtap_backend_close(&be);
		assert_int_equal(kill(pid, 0), 0);
	}
	kill(pid, SIGQUIT);
	follow(&be, pid, &reported);
	assert_int_equal(reported.nr_dying, 1);
	assert_int_equal(reported.signo, SIGQUIT);
	assert_true(reported.has_info);
	assert_int_equal(reported.info.si_pid, getpid());
	assert_true(WIFSIGNALED(reported.status));
	auxtap_backend_close(&be);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_handled),
		cmocka_unit_test(test_child_dies),
		cmocka_unit_test(test_exec_by_another_thread),
		cmocka_unit_test(test_seccomp),
		cmocka_unit_test(test_signals_before_exec),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_attach),
	};
	char parent[16];

	if (argc > 1) {
		snprintf(parent, sizeof(parent), "%d", getpid());
		setenv("PARENT", parent, 1);
		return play(argv[1]);
	}
	/* sanitizers must not handle the programs' faults */
	setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:detect_leaks=0", 1);
	setenv("TSAN_OPTIONS", "handle_segv=0:handle_abort=0", 1);
	snprintf(own_path, sizeof(own_path), "%s", argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
