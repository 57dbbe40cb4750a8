// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Starts and ends tracing: spawn, attach, detach. Pins tracer and tracee to one CPU: otherwise a
 * step costs two to five times as much.
 */
#include "ptrace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHY_SIZE      384
#define EXEC_MS	      30000
#define EXEC_SLICE_MS 200
#define REAP_MS	      2000

/* ---- one CPU ---- */

static void choose_cpu(struct ptrace_engine *e)
{
	cpu_set_t one;

	if (e->affinity_known)
		return;
	e->affinity_known = true;
	e->cpu = -1;
	if (sched_getaffinity(0, sizeof(e->affinity), &e->affinity))
		return;
	e->cpu = sched_getcpu();
	if (e->cpu < 0 || !CPU_ISSET((size_t)e->cpu, &e->affinity)) {
		e->cpu = -1;
		return;
	}
	CPU_ZERO(&one);
	CPU_SET((size_t)e->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		e->cpu = -1;
}

/* t->affinity is the program's own mask, which sched_getaffinity() still returns to it. */
void ptrace_pin(struct ptrace_thread *t)
{
	cpu_set_t one;

	t->pinned = false;
	if (t->engine->cpu < 0 || !CPU_ISSET((size_t)t->engine->cpu, &t->affinity))
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)t->engine->cpu, &one);
	t->pinned = !sched_setaffinity(t->tid, sizeof(one), &one);
}

void ptrace_unpin(struct ptrace_thread *t)
{
	if (t->pinned)
		sched_setaffinity(t->tid, sizeof(t->affinity), &t->affinity);
	t->pinned = false;
}

/* ---- information from /proc ---- */

pid_t ptrace_tgid(pid_t tid)
{
	char path[32], line[128];
	pid_t tgid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (tgid < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:", 5))
			tgid = (pid_t)atoi(line + 5);
	fclose(f);
	return tgid;
}

static int refused(int err, char *why)
{
	if (err == EPERM || err == EACCES)
		snprintf(why, WHY_SIZE,
			 "ptrace: %s (another user's, the kernel's own, already traced, or "
			 "kernel.yama.ptrace_scope forbids it)",
			 strerror(err));
	else
		snprintf(why, WHY_SIZE, "ptrace: %s", strerror(err));
	return -err;
}

/* ---- spawn ---- */

struct start_pipes {
	int go[2], failed[2];
};

/*
 * Like execvp, but without its fallback for text without '#!': the kernel does not execute that,
 * and no shell must do it for us. Returns errno.
 */
static int exec_program(char *const *argv)
{
	extern char **environ;
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	int err = ENOENT;
	size_t len;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, environ);
		return errno;
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (; *argv[0] && path; path = path[len] ? path + len + 1 : NULL) {
		len = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s%s%s", (int)len, path, len ? "/" : "", argv[0]);
		execve(file, argv, environ);
		if (errno == EACCES)
			err = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG &&
			 errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT)
			return errno;
	}
	return err;
}

static void __attribute__((noreturn))
child(struct emu *emu, struct start_pipes *p, char *const *argv, char *const *envp, const char *cwd,
      const int stdio[3])
{
	extern char **environ;
	int high[3], err;
	char c;

	close(p->go[1]);
	/* tracer killed: no byte arrives, do not start the program */
	if (read(p->go[0], &c, 1) != 1)
		_exit(125);
	for (int i = 0; i < 3; i++)
		high[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		if (high[i] < 0 || dup2(high[i], i) < 0)
			goto failed;
	if (chdir(cwd))
		goto failed;
	emu_restore_signals(emu);
	environ = (char **)(uintptr_t)envp;
	err = exec_program(argv);
	goto send_errno;
failed:
	err = errno;
send_errno:
	if (write(p->failed[1], &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int make_pipes(struct start_pipes *p)
{
	if (pipe2(p->go, O_CLOEXEC))
		return -errno;
	if (pipe2(p->failed, O_CLOEXEC)) {
		int err = errno;

		close(p->go[0]);
		close(p->go[1]);
		return -err;
	}
	return 0;
}

/* Kills the process, unless it exited by itself, and reaps it. */
static void reap(struct ptrace_engine *e, pid_t pid, bool kill_it)
{
	int status;

	if (kill_it)
		kill(pid, SIGKILL);
	while (!ptrace_await(e, pid, &status, REAP_MS) && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
}

/* Handles one report of the child before exec. 1: keep waiting. */
static int before_exec(pid_t pid, int status, int failed_fd, char *why)
{
	int err;

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		if (read(failed_fd, &err, sizeof(err)) == sizeof(err)) {
			snprintf(why, WHY_SIZE, "%s%s", strerror(err),
				 err == ENOEXEC ? EMU_NO_FORMAT : "");
			return -err;
		}
		snprintf(why, WHY_SIZE, "ended before exec, wait status %#x", status);
		return -ESRCH;
	}
	if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		return 0;
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
		ptrace(PTRACE_LISTEN, pid, 0, 0);
	else
		ptrace(PTRACE_CONT, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	return 1;
}

/*
 * Waits for the new program's first instruction. Returns 0, or the child's error. A directory or
 * file on a server that does not respond, or a stopped child, must not block us forever.
 */
static int wait_exec(struct ptrace_engine *e, pid_t pid, int failed_fd, char *why)
{
	int status, ret;

	for (int ms = 0; ms < EXEC_MS; ms += EXEC_SLICE_MS) {
		do {
			ret = ptrace_await(e, pid, &status, EXEC_SLICE_MS);
			if (!ret)
				ret = before_exec(pid, status, failed_fd, why);
		} while (ret == 1);
		if (ret != -ETIMEDOUT)
			return ret;
		if (emu_capture_gone(e->emu)) {
			snprintf(why, WHY_SIZE, "capture disconnected");
			reap(e, pid, true);
			return -ECANCELED;
		}
	}
	snprintf(why, WHY_SIZE,
		 "no start within %d s: the program is stopped, or its file cannot be read",
		 EXEC_MS / 1000);
	reap(e, pid, true);
	return -ETIME;
}

static int first_thread(struct ptrace_engine *e, pid_t pid, bool held)
{
	struct ptrace_mm *mm = ptrace_mm_new();
	struct ptrace_process *proc = mm ? ptrace_process_new(e, pid, mm) : NULL;
	struct ptrace_thread *t = proc ? ptrace_thread_new(e, pid, proc) : NULL;

	if (!t)
		return -ENOMEM;
	sched_getaffinity(pid, sizeof(t->affinity), &t->affinity);
	t->state = held ? PTRACE_TASK_HELD : PTRACE_TASK_NEW;
	return 0;
}

int ptrace_spawn(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
		 const int stdio[3], pid_t *pid_out, struct emu_spawned *engine, char *why)
{
	struct ptrace_engine *e = ptrace_engine_of(emu);
	struct start_pipes p;
	struct ptrace_thread *t;
	char comm[16];
	pid_t pid;
	int ret = make_pipes(&p);

	(void)engine; /* this engine has no version */
	if (ret) {
		snprintf(why, WHY_SIZE, "pipe: %s", strerror(-ret));
		return ret;
	}
	choose_cpu(e);
	pid = fork();
	if (!pid)
		child(emu, &p, argv, envp, cwd, stdio);
	ret = pid < 0 ? -errno : 0;
	close(p.go[0]);
	close(p.failed[1]);
	if (ret) {
		snprintf(why, WHY_SIZE, "fork: %s", strerror(-ret));
		goto out;
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_OUR_OPTIONS)) {
		ret = refused(errno, why);
		goto reap;
	}
	if (write(p.go[1], "", 1) != 1) {
		ret = -errno;
		goto reap;
	}
	ret = wait_exec(e, pid, p.failed[0], why);
	if (ret)
		goto out;
	ret = first_thread(e, pid, true);
	t = ret ? NULL : ptrace_find(e, pid);
	if (!t) {
		ret = -ENOMEM;
		goto kill;
	}
	t->proc->child = true;
	t->resume_in_user = false;
	if (e->cpu >= 0) {
		t->affinity = e->affinity;
		t->pinned = true;
	}
	emu_read_comm(pid, comm);
	t->task = emu_task_new(emu, NULL, pid, pid, comm);
	if (!t->task) {
		ret = -ENOMEM;
		ptrace_thread_free(t);
		goto kill;
	}
	emu_task_set_priv(t->task, t);
	ptrace_maps_sync(t, false);
	*pid_out = pid;
	goto out;

kill:
	kill(pid, SIGKILL);
reap:
	close(p.go[1]);
	p.go[1] = -1;
	reap(e, pid, false);
out:
	if (p.go[1] >= 0)
		close(p.go[1]);
	close(p.failed[0]);
	return ret;
}

/* ---- attach ---- */

/*
 * A thread that has ended, or is about to, cannot be traced: EPERM does not mean missing permission
 * then.
 */
static bool has_ended(pid_t tid)
{
	char path[32], line[512], *after;
	unsigned int flags = 0;
	char state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return true;
	after = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (after)
		sscanf(after, ") %c %*d %*d %*d %*d %*d %u", &state, &flags);
	fclose(f);
	return state == 'Z' || state == 'X' || flags & 4 /* PF_EXITING */;
}

static int seize(pid_t tid, struct ptrace_process *proc)
{
	struct ptrace_thread *t;
	int err;

	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_OUR_OPTIONS)) {
		err = errno;
		return err == EPERM && has_ended(tid) ? -ESRCH : -err;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0)) {
		err = errno;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return -err;
	}
	t = ptrace_thread_new(proc->engine, tid, proc);
	if (!t)
		return -ENOMEM;
	sched_getaffinity(tid, sizeof(t->affinity), &t->affinity);
	ptrace_pin(t);
	t->state = PTRACE_TASK_NEW;
	return 0;
}

/* Threads may start meanwhile: repeats until a pass finds no new one. */
static int seize_all(struct ptrace_process *proc)
{
	char path[32];
	struct dirent *entry;
	int err = 0, nr_new;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", proc->pid);
	do {
		nr_new = 0;
		dir = opendir(path);
		if (!dir)
			return -ESRCH;
		while (!err && (entry = readdir(dir))) {
			pid_t tid = (pid_t)atoi(entry->d_name);

			if (tid <= 0 || ptrace_find(proc->engine, tid))
				continue;
			err = seize(tid, proc);
			if (err == -ESRCH)
				err = 0; /* it exited meanwhile */
			else
				nr_new++;
		}
		closedir(dir);
	} while (!err && nr_new);
	return err;
}

int ptrace_attach(struct emu *emu, pid_t pid, bool one_thread, char *why)
{
	struct ptrace_engine *e = ptrace_engine_of(emu);
	pid_t tgid = ptrace_tgid(pid);
	struct ptrace_process *proc;
	struct ptrace_mm *mm;
	int ret;

	if (pid <= 0 || tgid < 0) {
		snprintf(why, WHY_SIZE, "no such process");
		return -ESRCH;
	}
	if (ptrace_find(e, pid)) {
		snprintf(why, WHY_SIZE, "already traced");
		return -EBUSY;
	}
	choose_cpu(e);
	mm = ptrace_mm_new();
	proc = mm ? ptrace_process_new(e, tgid, mm) : NULL;
	if (!proc)
		return -ENOMEM;
	proc->one_thread = one_thread;
	ret = one_thread ? seize(pid, proc) : seize_all(proc);
	if (!ret && !proc->nr_threads)
		ret = -ESRCH;
	if (ret == -ESRCH)
		snprintf(why, WHY_SIZE, "it ended before tracing began");
	else if (ret)
		refused(-ret, why);
	if (ret) {
		if (proc->nr_threads)
			ptrace_detach(emu, tgid); /* the loop detaches those already attached */
		else
			ptrace_process_free(proc);
	}
	return ret;
}

/* ---- detach ---- */

/* The thread is in a stop that is not a trap of ours; sig is the program's own, or 0. */
void ptrace_detach_thread(struct ptrace_thread *t, int sig)
{
	ptrace_restore_mask(t);
	ptrace_unpin(t);
	if (t->task) {
		struct user_regs_struct regs;

		if (t->reported && !ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
			ptrace_resolve(t, regs.rip);
		emu_task_exit(t->task);
	}
	ptrace(PTRACE_DETACH, t->tid, 0, sig);
	ptrace_thread_free(t);
}

static void release_thread(struct ptrace_thread *t)
{
	switch (t->state) {
	case PTRACE_TASK_HELD:
		t->passive_execs = 0; /* capture resumes no more threads */
		ptrace_resume(t);     /* its next stop detaches it */
		break;
	case PTRACE_TASK_LISTENING:
	case PTRACE_TASK_NEW:
	case PTRACE_TASK_RUNNING:
		/* a step ends by itself; a blocked system call must be interrupted */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		break;
	case PTRACE_TASK_ORPHAN:
		ptrace_detach_thread(t, 0);
		break;
	case PTRACE_TASK_EXITING:
		break;
	}
}

int ptrace_detach(struct emu *emu, pid_t pid)
{
	struct ptrace_process *proc = ptrace_process_find(ptrace_engine_of(emu), pid);

	if (!proc || !proc->nr_threads)
		return -ESRCH;
	proc->detaching = true;
	ptrace_next_thread_each(proc, release_thread);
	return 0;
}

void ptrace_detach_all(struct ptrace_engine *e)
{
	for (struct ptrace_process *proc = e->processes; proc; proc = proc->next) {
		if (!proc->nr_threads || proc->detaching)
			continue;
		proc->detaching = true;
		ptrace_next_thread_each(proc, release_thread);
	}
}
