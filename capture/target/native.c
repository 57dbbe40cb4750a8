// SPDX-License-Identifier: BSD-2-Clause
/*
 * struct auxtap_target_ops for the kernel backend: forks a child that waits at a pipe, and sees its
 * end through a pidfd. In crash mode it also uses ptrace (native_trace.c).
 */
#include "util/sized.h"
#include "emulated.h"
#include "native.h"
#include "util/vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void native_target_init(struct native_target *t)
{
	memset(t, 0, sizeof(*t));
	t->pid = -1;
	t->pidfd = t->hold_fd = t->result_fd = -1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void native_target_free(struct native_target *t)
{
	native_trace_end(&t->trace);
	/* The child was never released; it must not run untraced. */
	if (t->child && t->hold_fd >= 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	close_fd(&t->hold_fd);
	close_fd(&t->result_fd);
	close_fd(&t->pidfd);
}

static int native_report_deaths(void *ctx, struct auxtap_error *err)
{
	struct native_target *t = ctx;

	return t->trace.on ? 0 : native_trace_begin(&t->trace, err);
}

/* seccomp or Yama may refuse it: then a crash is noticed only after the process has ended. */
static void seize_child(struct native_target *t)
{
	if (t->trace.on && native_trace_seize(&t->trace, t->pid, t->pid) < 0)
		native_trace_end(&t->trace);
}

/*
 * Resets the child's signal handlers before exec: a handler of the recorder would run in the child,
 * on a copy of the recorder's memory, and interrupt the read() below. All signals are blocked.
 */
static void reset_signals(const sigset_t *mask)
{
	struct sigaction act;

	for (int signo = 1; signo < NSIG; signo++)
		if (!sigaction(signo, NULL, &act) && act.sa_handler != SIG_IGN)
			signal(signo, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static int spawn_held(struct native_target *t, const struct auxtap_spawn *spawn, pid_t *pid,
		      struct auxtap_error *err)
{
	int hold[2], result[2], ret;
	sigset_t all, mask;
	char path[4096];

	if (spawn->truth_path)
		return auxtap_error_set(err, -ENOTSUP, spawn->truth_path,
					"only an emulated run knows every executed address");
	ret = auxtap_find_program(spawn->argv[0], path, sizeof(path));
	if (ret) {
		auxtap_error_set(err, ret, spawn->argv[0], "%s", strerror(-ret));
		auxtap_error_set_subject(err, AUXTAP_ERROR_PROGRAM);
		return ret;
	}
	if (pipe2(hold, O_CLOEXEC))
		return auxtap_error_set(err, -errno, spawn->argv[0], "pipe: %m");
	if (pipe2(result, O_CLOEXEC)) {
		ret = auxtap_error_set(err, -errno, spawn->argv[0], "pipe: %m");
		goto close_hold;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	t->pid = fork();
	if (t->pid)
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (t->pid < 0) {
		ret = auxtap_error_set(err, -errno, spawn->argv[0], "fork: %m");
		goto close_result;
	}
	if (t->pid == 0) {
		char go;
		int code;

		close(hold[1]);
		reset_signals(t->trace.on ? &t->trace.old_mask : &mask);
		if (read(hold[0], &go, 1) != 1)
			_exit(125); /* the recorder died */
		execvp(spawn->argv[0], spawn->argv);
		code = errno;
		if (write(result[1], &code, sizeof(code)) != sizeof(code))
			_exit(125);
		_exit(code == ENOENT ? 127 : 126);
	}
	close(hold[0]);
	close(result[1]);
	t->hold_fd = hold[1];
	t->result_fd = result[0];
	t->child = true;
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0) {
		ret = auxtap_error_set(err, -errno, spawn->argv[0], "pidfd_open: %m");
		auxtap_error_hint(err, "a kernel of 5.3 or later is needed");
		return ret;
	}
	seize_child(t);
	*pid = t->pid;
	return 0;
close_result:
	close(result[0]);
	close(result[1]);
close_hold:
	close(hold[0]);
	close(hold[1]);
	return ret;
}

static int native_spawn(void *ctx, const struct auxtap_spawn *spawn, pid_t *pid,
			struct auxtap_error *err)
{
	struct auxtap_spawn copy;
	int ret = backend_copy_spawn(&copy, spawn, err);

	return ret ? ret : spawn_held(ctx, &copy, pid, err);
}

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* Lists the numeric names in a directory of /proc; returns as native_threads(). */
static int list_numbers(const char *path, pid_t *tids, int max)
{
	struct dirent *entry;
	int nr = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		if (nr < max)
			tids[nr] = tid;
		nr++;
	}
	closedir(dir);
	if (max)
		qsort(tids, (size_t)(nr < max ? nr : max), sizeof(*tids), compare_tids);
	return nr;
}

static int native_threads(void *ctx, pid_t pid, pid_t *tids, int max)
{
	char path[64];

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return list_numbers(path, tids, max);
}

static int native_processes(void *ctx, pid_t *pids, int max)
{
	(void)ctx;
	return list_numbers("/proc", pids, max);
}

/* Traces all threads of a process, or only tid; repeats while new threads appear. */
static int seize_process(struct native_target *t, pid_t pid, pid_t tid, const char *what,
			 struct auxtap_error *err)
{
	static const int max = 4096;
	pid_t *tids = calloc((size_t)max, sizeof(*tids));
	int ret = 0, nr, nr_new;

	if (!tids)
		return auxtap_error_set(err, -ENOMEM, what, "no memory");
	do {
		nr_new = 0;
		tids[0] = tid;
		nr = tid ? 1 : native_threads(t, pid, tids, max);
		if (nr <= 0)
			ret = -ESRCH;
		for (int i = 0; i < nr && i < max && !ret; i++) {
			ret = native_trace_seize(&t->trace, pid, tids[i]);
			nr_new += ret == 1;
			if (ret == 1 || (ret == -ESRCH && nr > 1)) /* it may have exited already */
				ret = 0;
		}
	} while (nr_new && !ret && !tid);
	free(tids);
	if (!ret)
		return 0;
	auxtap_error_set(err, ret, what, "cannot trace it: %s", strerror(-ret));
	if (ret == -EPERM)
		auxtap_error_hint(err, "kernel.yama.ptrace_scope must be 0, or run as root; and no "
				       "debugger may be attached");
	return ret;
}

static int native_attach(void *ctx, pid_t pid, bool one_thread, const char *truth_path,
			 struct auxtap_error *err)
{
	struct native_target *t = ctx;
	char what[32], path[64], line[256];
	pid_t leader = pid;
	FILE *f;

	if (truth_path)
		return auxtap_error_set(err, -ENOTSUP, truth_path,
					"only an emulated run knows every executed address");
	snprintf(what, sizeof(what), "%s %d", one_thread ? "thread" : "process", pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return auxtap_error_set(err, -ESRCH, what, "no such process or thread");
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Tgid:", 5))
			leader = (pid_t)strtol(line + 5, NULL, 10);
	}
	fclose(f);
	/* pidfd_open() accepts only thread-group leaders. */
	t->pidfd = (int)syscall(SYS_pidfd_open, leader, 0);
	if (t->pidfd < 0)
		return auxtap_error_set(err, -errno, what, "pidfd_open: %m");
	t->pid = leader;
	return t->trace.on ? seize_process(t, leader, one_thread ? pid : 0, what, err) : 0;
}

static int native_fd(void *ctx)
{
	const struct native_target *t = ctx;

	return t->trace.on ? t->trace.fd : t->pidfd;
}

static int next_event(struct native_target *t, struct auxtap_target_event *ev)
{
	struct pollfd pfd = {.fd = t->pidfd, .events = POLLIN};
	int status = 0;

	if (t->trace.on) {
		if (native_trace_next(&t->trace, ev))
			return 1;
		native_trace_poll(&t->trace);
		if (native_trace_next(&t->trace, ev))
			return 1;
		if (t->trace.lost_event)
			return -ENOMEM;
		return t->trace.nr ? 0 : -ECHILD;
	}
	if (t->gone || t->pid < 0)
		return -ECHILD;
	if (t->child) {
		pid_t got = waitpid(t->pid, &status, WNOHANG);

		if (got == 0)
			return 0;
		if (got < 0)
			return -errno;
	} else if (poll(&pfd, 1, 0) <= 0) {
		return 0;
	}
	t->gone = true;
	memset(ev, 0, sizeof(*ev));
	ev->type = AUXTAP_TARGET_PROCESS_EXIT;
	ev->pid = ev->tid = t->pid;
	ev->status = status;
	return 1;
}

static int native_wait(void *ctx, struct auxtap_target_event *ev)
{
	struct auxtap_target_event event;
	int ret =
		sized_check(ev, sizeof(event), SIZED_UP_TO(struct auxtap_target_event, frame_signo),
			    "struct auxtap_target_event", NULL);

	if (!ret)
		ret = next_event(ctx, &event);
	if (ret == 1)
		sized_copy_out(ev, &event, sizeof(event));
	return ret;
}

static int native_regs(void *ctx, pid_t tid, struct auxtap_regs *regs)
{
	struct native_target *t = ctx;

	return t->trace.on ? native_trace_regs(&t->trace, tid, regs) : -ENOTSUP;
}

static int native_siginfo(void *ctx, pid_t tid, void *info)
{
	struct native_target *t = ctx;

	return t->trace.on ? native_trace_siginfo(&t->trace, tid, info) : -ENOTSUP;
}

static int native_regset(void *ctx, pid_t tid, int type, void *buf, size_t *size)
{
	struct native_target *t = ctx;

	return t->trace.on ? native_trace_regset(&t->trace, tid, type, buf, size) : -ENOTSUP;
}

#define MAPS_CHUNK 16384

static int native_maps(void *ctx, pid_t pid, char **text)
{
	size_t capacity = 0, len = 0;
	char path[64], *buf = NULL;
	int fd, ret = -ENOMEM;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (vector_grow_by(buf, len, MAPS_CHUNK, capacity))
			goto close_file;
		n = read(fd, buf + len, capacity - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			ret = -errno;
			goto close_file;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	buf[len] = '\0';
	*text = buf;
	return 0;
close_file:
	close(fd);
	free(buf);
	return ret;
}

static ssize_t native_mem(void *ctx, pid_t pid, uint64_t addr, void *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, buf, size, (off_t)addr);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static int native_resume(void *ctx, pid_t tid)
{
	struct native_target *t = ctx;
	int code = 0;
	ssize_t n;

	if (t->hold_fd < 0)
		return t->trace.on ? native_trace_resume(&t->trace, tid) : 0;
	n = write(t->hold_fd, "g", 1);
	close_fd(&t->hold_fd);
	if (n != 1)
		return -ESRCH;
	/* Wait for end of file: exec closes its side. Handle signals that stop the child before. */
	while (t->trace.on) {
		struct pollfd pfd = {.fd = t->result_fd, .events = POLLIN};

		if (poll(&pfd, 1, 10) == 1)
			break;
		native_trace_poll(&t->trace);
	}
	do {
		n = read(t->result_fd, &code, sizeof(code));
	} while (n < 0 && errno == EINTR);
	close_fd(&t->result_fd);
	return n == sizeof(code) ? -code : 0;
}

static int native_signal(void *ctx, pid_t pid, int signo)
{
	(void)ctx;
	return kill(pid, signo) ? -errno : 0;
}

static int native_detach(void *ctx, pid_t pid)
{
	struct native_target *t = ctx;

	(void)pid;
	native_trace_end(&t->trace);
	t->gone = true;
	return 0;
}

const struct auxtap_target_ops target_native_ops = {
	.size = sizeof(struct auxtap_target_ops),
	.name = "native",
	.report_deaths = native_report_deaths,
	.spawn = native_spawn,
	.attach = native_attach,
	.fd = native_fd,
	.wait = native_wait,
	.regs = native_regs,
	.siginfo = native_siginfo,
	.regset = native_regset,
	.maps = native_maps,
	.mem = native_mem,
	.threads = native_threads,
	.resume = native_resume,
	.signal = native_signal,
	.detach = native_detach,
	.processes = native_processes,
	.host_arch_only = true,
	.native = true,
};
