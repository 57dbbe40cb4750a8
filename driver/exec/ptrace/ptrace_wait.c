// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Waits for one thread, with a time limit: statuses of others are deferred until the loop
 * (ptrace.c) asks for them.
 */
#include "ptrace.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define SLICE_MS 100 /* polls at this interval even if no signal arrives */

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

/* A stopped thread does not run until it is continued: a later status is its death. */
void ptrace_defer(struct ptrace_thread *t, int status)
{
	t->engine->nr_deferred += !t->deferred;
	t->deferred = true;
	t->deferred_status = status;
}

static pid_t take(struct ptrace_thread *t, int *status)
{
	t->engine->nr_deferred--;
	t->deferred = false;
	*status = t->deferred_status;
	return t->tid;
}

/* Returns leaders last: the kernel reports their exit after those of their threads. */
pid_t ptrace_deferred(struct ptrace_engine *e, int *status)
{
	struct ptrace_thread *leader = NULL;

	for (int i = 0; e->nr_deferred && i < THREAD_HASH; i++) {
		for (struct ptrace_thread *t = e->threads[i]; t; t = t->hash_next) {
			if (t->deferred && !(t->proc && t->proc->pid == t->tid))
				return take(t, status);
			if (t->deferred)
				leader = t;
		}
	}
	return leader ? take(leader, status) : 0;
}

pid_t ptrace_poll(struct ptrace_engine *e, pid_t tid, int *status)
{
	struct ptrace_thread *t = tid > 0 ? ptrace_find(e, tid) : NULL;
	pid_t got;

	if (t && t->deferred)
		return take(t, status);
	do {
		got = waitpid(tid, status, __WALL | WNOHANG);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void defer_others(struct ptrace_engine *e, pid_t tid)
{
	struct ptrace_thread *t;
	siginfo_t info;
	int status;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    !info.si_pid || info.si_pid == tid)
			return;
		if (ptrace_poll(e, info.si_pid, &status) != info.si_pid)
			return;
		t = ptrace_find(e, info.si_pid);
		if (t)
			ptrace_defer(t, status);
		else
			ptrace_foreign(e, info.si_pid, status);
	}
}

int ptrace_await(struct ptrace_engine *e, pid_t tid, int *status, int timeout_ms)
{
	u64 until_ms = now_ms() + (u64)timeout_ms;
	sigset_t chld, old;
	int ret = -ETIMEDOUT;

	/* while SIGCHLD is blocked it stays pending: none is missed between check and sleep */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	do {
		const struct timespec slice = {.tv_nsec = SLICE_MS * 1000000};
		pid_t got = ptrace_poll(e, tid, status);

		if (got) {
			ret = got == tid ? 0 : -ESRCH;
			break;
		}
		defer_others(e, tid);
		sigtimedwait(&chld, NULL, &slice);
	} while (now_ms() < until_ms);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}
