// SPDX-License-Identifier: BSD-2-Clause
/*
 * Crash mode on the kernel backend: the program runs natively under PTRACE_SEIZE. It stops only for
 * signals, forks, execs and exits, so that a crashing process can be read before the kernel
 * destroys it. Nothing is single-stepped; signals are delivered unchanged.
 */
#include "native.h"
#include "util/vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HALT_NS	  500000000u
#define USER32_CS 0x23
#define OPTIONS                                                                                \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_TRACEEXIT)
#define BIT(signo) (1ull << ((signo)-1))
#define CORE_SIGNALS                                                                            \
	(BIT(SIGQUIT) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | \
	 BIT(SIGSEGV) | BIT(SIGXCPU) | BIT(SIGXFSZ) | BIT(SIGSYS))
#define SYNC_SIGNALS \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

/* ---- threads and events ---- */

static struct traced_thread *find_thread(struct native_trace *w, pid_t tid)
{
	for (size_t i = 0; i < w->nr; i++) {
		if (w->threads[i].tid == tid)
			return &w->threads[i];
	}
	return NULL;
}

static pid_t read_status_pid(pid_t tid, const char *key)
{
	char path[64], line[256];
	pid_t value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, strlen(key)))
			value = (pid_t)strtol(line + strlen(key), NULL, 10);
	}
	if (f)
		fclose(f);
	return value;
}

static struct traced_thread *add_thread(struct native_trace *w, pid_t tid, pid_t pid)
{
	struct traced_thread *t = find_thread(w, tid);

	if (t)
		return t;
	if (vector_grow(w->threads, w->nr, w->max))
		return NULL;
	t = &w->threads[w->nr++];
	*t = (struct traced_thread){.tid = tid, .pid = pid};
	return t;
}

static void remove_thread(struct native_trace *w, struct traced_thread *t)
{
	*t = w->threads[--w->nr];
}

static struct auxtap_target_event *queue_event(struct native_trace *w,
					       const struct traced_thread *t,
					       enum auxtap_target_event_type type)
{
	static struct auxtap_target_event discarded;
	struct auxtap_target_event *ev;

	if (vector_grow(w->events, w->nr_events, w->max_events)) {
		w->lost_event = true;
		return &discarded;
	}
	ev = &w->events[w->nr_events++];
	*ev = (struct auxtap_target_event){.type = type, .pid = t->pid, .tid = t->tid};
	return ev;
}

static void cont_thread(struct traced_thread *t, int signo)
{
	t->state = TRACED_RUNS;
	t->signo = 0;
	ptrace(PTRACE_CONT, t->tid, 0, signo); /* fails only if the thread was killed */
}

static void hold_thread(struct traced_thread *t, int signo)
{
	t->state = TRACED_HELD;
	t->signo = signo;
}

/* ---- death ---- */

static uint64_t read_ip(pid_t tid)
{
#ifdef __x86_64__
	struct user_regs_struct regs;

	if (!ptrace(PTRACE_GETREGS, tid, 0, &regs))
		return regs.rip;
#endif
	(void)tid;
	return 0;
}

static bool is_fork_event(unsigned int event)
{
	return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	       event == PTRACE_EVENT_VFORK;
}

/* t has created a thread or process, which is about to report its own first stop. */
static void add_child(struct native_trace *w, const struct traced_thread *t)
{
	unsigned long tid = 0;
	pid_t parent_pid = t->pid, pid;
	struct auxtap_target_event *ev;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &tid) || !tid)
		return;
	pid = read_status_pid((pid_t)tid, "Tgid:");
	/* if it has exited already, only its exit remains to be reported */
	if (!add_thread(w, (pid_t)tid, pid > 0 ? pid : (pid_t)tid)) {
		ev = queue_event(w, &(struct traced_thread){.pid = parent_pid, .tid = (pid_t)tid},
				 AUXTAP_TARGET_NOTICE);
		snprintf(ev->text, sizeof(ev->text), "no memory to trace it");
	}
}

/* Stops the other threads of a crashing process, to read their registers and stacks. */
static void halt_others(struct native_trace *w, pid_t pid, pid_t dying)
{
	uint64_t until = perf_kernel_ops.clock(NULL) + HALT_NS;
	const struct timespec pause = {.tv_nsec = 200000};
	size_t waiting;

	for (size_t i = 0; i < w->nr; i++) {
		struct traced_thread *t = &w->threads[i];

		if (t->pid != pid)
			continue;
		t->dying = true;
		if (t->tid != dying && t->state == TRACED_RUNS)
			ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		else if (t->tid != dying)
			t->state = TRACED_HELD;
	}
	do {
		waiting = 0;
		for (size_t i = 0; i < w->nr; i++) {
			pid_t tid = w->threads[i].tid, got;
			int status = 0;

			if (w->threads[i].pid != pid || w->threads[i].state != TRACED_RUNS)
				continue;
			got = waitpid(tid, &status, WNOHANG | __WALL);
			if (got != tid) {
				waiting += got == 0;
				continue;
			}
			if (!WIFSTOPPED(status)) {
				native_trace_stopped(w, tid, status);
				i--;
				continue;
			}
			hold_thread(&w->threads[i], 0);
			if (is_fork_event((unsigned int)status >> 16)) {
				add_child(w, &w->threads[i]);
				waiting++; /* the new one may be a thread of the same process */
			}
		}
		if (waiting)
			nanosleep(&pause, NULL);
	} while (waiting && perf_kernel_ops.clock(NULL) < until);
}

static void report_dying(struct native_trace *w, pid_t tid, int signo, bool pass_on)
{
	struct traced_thread *t = find_thread(w, tid);
	struct auxtap_target_event *ev;

	hold_thread(t, pass_on ? signo : 0);
	halt_others(w, t->pid, tid);
	t = find_thread(w, tid); /* the array may have changed: threads were added or removed */
	ev = queue_event(w, t, AUXTAP_TARGET_DYING);
	ev->signo = signo;
	ev->ip = read_ip(tid);
}

static void on_signal_stop(struct native_trace *w, struct traced_thread *t, int signo)
{
	char path[64], line[256];
	uint64_t ignored = 0, caught = 0;
	bool known;
	siginfo_t info;
	FILE *f;

	if (t->dying || !(CORE_SIGNALS & BIT(signo))) {
		cont_thread(t, signo);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	f = fopen(path, "re");
	known = f != NULL;
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "SigIgn:", 7))
			ignored = strtoull(line + 7, NULL, 16);
		else if (!strncmp(line, "SigCgt:", 7))
			caught = strtoull(line + 7, NULL, 16);
	}
	if (f)
		fclose(f);
	if (!known || (ignored & BIT(signo))) {
		cont_thread(t, signo);
	} else if (caught & BIT(signo)) {
		if ((SYNC_SIGNALS & BIT(signo)) && !ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) &&
		    info.si_code > 0) {
			struct auxtap_target_event *ev = queue_event(w, t, AUXTAP_TARGET_FAULT);

			ev->signo = signo;
			ev->ip = read_ip(t->tid);
			ev->time = perf_kernel_ops.clock(NULL);
		}
		cont_thread(t, signo);
	} else {
		report_dying(w, t->tid, signo, true);
	}
}

/* ---- other stops ---- */

/* seccomp kills a process without a signal-delivery-stop, so look at the exit status. */
static void on_exit_stop(struct native_trace *w, struct traced_thread *t)
{
	unsigned long status = 0;
	int signo;

	if (!t->dying && !ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &status)) {
		signo = (int)(status & 0x7f);
		if (signo && (CORE_SIGNALS & BIT(signo))) {
			report_dying(w, t->tid, signo, false);
			return;
		}
	}
	cont_thread(t, 0);
}

/* A set-user-ID program gets no privileges under an unprivileged tracer. */
static bool lost_privileges(const struct traced_thread *t)
{
	char path[64], line[256];
	unsigned int euid = 0;
	struct stat st;
	bool lost = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->tid);
	if (stat(path, &st) || !(st.st_mode & S_ISUID))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %*u %u", &euid) == 1)
			lost = euid != st.st_uid;
	}
	if (f)
		fclose(f);
	return lost;
}

static void on_exec_stop(struct native_trace *w, pid_t tid)
{
	unsigned long old_tid = 0;
	struct traced_thread *t;

	/* a thread that is not the leader called exec: it now has the leader's TID */
	if (!ptrace(PTRACE_GETEVENTMSG, tid, 0, &old_tid) && (pid_t)old_tid != tid) {
		t = find_thread(w, (pid_t)old_tid);
		if (t)
			remove_thread(w, t);
	}
	t = find_thread(w, tid);
	t->dying = false;
	if (lost_privileges(t)) {
		struct auxtap_target_event *ev = queue_event(w, t, AUXTAP_TARGET_NOTICE);

		ev->notice = AUXTAP_NOTICE_UNPRIVILEGED;
		snprintf(ev->text, sizeof(ev->text),
			 "set-user-ID program: runs without its privileges while traced");
	}
	cont_thread(t, 0);
}

/* SIGKILL ends a parent's fork stop before it was seen; its child is stopped and unknown. */
static void adopt_child(struct native_trace *w)
{
	siginfo_t info = {0};

	if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT | __WALL) || !info.si_pid ||
	    find_thread(w, info.si_pid) || read_status_pid(info.si_pid, "TracerPid:") != gettid())
		return;
	add_thread(w, info.si_pid, read_status_pid(info.si_pid, "Tgid:"));
}

static void on_thread_exit(struct native_trace *w, struct traced_thread *t, int status)
{
	if (t->tid == t->pid)
		queue_event(w, t, AUXTAP_TARGET_PROCESS_EXIT)->status = status;
	remove_thread(w, t);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		adopt_child(w);
}

void native_trace_stopped(struct native_trace *w, pid_t tid, int status)
{
	struct traced_thread *t = find_thread(w, tid);
	int signo = WSTOPSIG(status);

	if (!WIFSTOPPED(status)) {
		on_thread_exit(w, t, status);
		return;
	}
	switch ((unsigned int)status >> 16) {
	case 0:
		on_signal_stop(w, t, signo);
		break;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		add_child(w, t);
		cont_thread(find_thread(w, tid), 0);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec_stop(w, tid);
		break;
	case PTRACE_EVENT_EXIT:
		on_exit_stop(w, t);
		break;
	case PTRACE_EVENT_STOP:
		if (signo == SIGTRAP) {
			cont_thread(t, 0);
			break;
		}
		t->state = TRACED_LISTENS; /* group-stop: stopped until SIGCONT */
		ptrace(PTRACE_LISTEN, tid, 0, 0);
		break;
	default:
		cont_thread(t, 0);
		break;
	}
}

/* ---- what native.c calls ---- */

int native_trace_begin(struct native_trace *w, struct auxtap_error *err)
{
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	w->fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->fd < 0)
		return auxtap_error_set(err, -errno, "signalfd", "%m");
	pthread_sigmask(SIG_BLOCK, &chld, &w->old_mask);
	w->on = true;
	return 0;
}

int native_trace_seize(struct native_trace *w, pid_t pid, pid_t tid)
{
	if (find_thread(w, tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS))
		return -errno;
	return add_thread(w, tid, pid) ? 1 : -ENOMEM;
}

/*
 * The thread disappeared without an exit status: it called exec and so became the leader of its
 * process. Traces the leader, which is not known yet if only one thread was traced.
 */
static void on_thread_vanished(struct native_trace *w, struct traced_thread *t)
{
	pid_t pid = t->pid;

	remove_thread(w, t);
	if (!find_thread(w, pid) && read_status_pid(pid, "TracerPid:") == gettid())
		add_thread(w, pid, pid);
}

void native_trace_poll(struct native_trace *w)
{
	struct signalfd_siginfo info;
	bool again;

	while (read(w->fd, &info, sizeof(info)) > 0)
		;
	do {
		again = false;
		for (size_t i = 0; i < w->nr; i++) {
			pid_t tid = w->threads[i].tid, got;
			int status;

			if (w->threads[i].state == TRACED_HELD)
				continue;
			got = waitpid(tid, &status, WNOHANG | __WALL);
			if (got < 0 && errno == ECHILD) {
				on_thread_vanished(w, &w->threads[i]);
				again = true;
				break;
			}
			if (got != tid)
				continue;
			if (w->threads[i].state == TRACED_LISTENS)
				w->threads[i].state = TRACED_RUNS;
			native_trace_stopped(w, tid, status);
			again = true; /* the array may have changed */
		}
	} while (again && !w->nr_events);
}

bool native_trace_next(struct native_trace *w, struct auxtap_target_event *ev)
{
	if (!w->nr_events)
		return false;
	*ev = w->events[0];
	memmove(&w->events[0], &w->events[1], --w->nr_events * sizeof(*ev));
	return true;
}

int native_trace_resume(struct native_trace *w, pid_t tid)
{
	struct traced_thread *t = find_thread(w, tid);

	if (!t || t->state != TRACED_HELD)
		return -ESRCH;
	cont_thread(t, t->signo);
	/* The kernel kills the others while they are stopped; their exits may be waited for now. */
	for (size_t i = 0; i < w->nr; i++) {
		if (w->threads[i].pid == t->pid)
			w->threads[i].state = TRACED_RUNS;
	}
	return 0;
}

/* Detaches from all threads; each is stopped first, as ptrace requires. */
void native_trace_end(struct native_trace *w)
{
	uint64_t until = perf_kernel_ops.clock(NULL) + HALT_NS;
	const struct timespec pause = {.tv_nsec = 200000};

	if (!w->on)
		return;
	for (size_t i = 0; i < w->nr; i++)
		ptrace(PTRACE_INTERRUPT, w->threads[i].tid, 0, 0);
	while (w->nr && perf_kernel_ops.clock(NULL) < until) {
		for (size_t i = w->nr; i-- > 0;) {
			struct traced_thread *t = &w->threads[i];
			int status = 0, signo = 0;
			pid_t got = t->state == TRACED_HELD ?
					    t->tid :
					    waitpid(t->tid, &status, WNOHANG | __WALL);

			if (got == 0)
				continue;
			if (t->state == TRACED_HELD)
				signo = t->signo;
			else if (got == t->tid && WIFSTOPPED(status) && !(status >> 16))
				signo = WSTOPSIG(status);
			if (is_fork_event((unsigned int)status >> 16)) {
				pid_t tid = t->tid;

				add_child(w, t);
				t = find_thread(w, tid);
			}
			ptrace(PTRACE_DETACH, t->tid, 0, signo);
			remove_thread(w, t);
		}
		if (w->nr)
			nanosleep(&pause, NULL);
	}
	close(w->fd);
	pthread_sigmask(SIG_SETMASK, &w->old_mask, NULL);
	free(w->threads);
	free(w->events);
	memset(w, 0, sizeof(*w));
}

int native_trace_regs(struct native_trace *w, pid_t tid, struct auxtap_regs *out)
{
#ifdef __x86_64__
	const struct traced_thread *t = find_thread(w, tid);
	struct user_regs_struct in;

	if (!t || t->state != TRACED_HELD)
		return -ESRCH;
	if (ptrace(PTRACE_GETREGS, tid, 0, &in))
		return -errno;
	if (in.cs == USER32_CS)
		return -ENOTSUP;
	memset(out, 0, sizeof(*out));
	out->arch = AUXTAP_ARCH_X86_64;
	out->valid = (1ull << AUXTAP_X86_NR_REGS) - 1;
	out->reg[AUXTAP_X86_AX] = in.rax;
	out->reg[AUXTAP_X86_BX] = in.rbx;
	out->reg[AUXTAP_X86_CX] = in.rcx;
	out->reg[AUXTAP_X86_DX] = in.rdx;
	out->reg[AUXTAP_X86_SI] = in.rsi;
	out->reg[AUXTAP_X86_DI] = in.rdi;
	out->reg[AUXTAP_X86_BP] = in.rbp;
	out->reg[AUXTAP_X86_SP] = in.rsp;
	out->reg[AUXTAP_X86_IP] = in.rip;
	out->reg[AUXTAP_X86_FLAGS] = in.eflags;
	out->reg[AUXTAP_X86_CS] = in.cs;
	out->reg[AUXTAP_X86_SS] = in.ss;
	out->reg[AUXTAP_X86_DS] = in.ds;
	out->reg[AUXTAP_X86_ES] = in.es;
	out->reg[AUXTAP_X86_FS] = in.fs_base;
	out->reg[AUXTAP_X86_GS] = in.gs_base;
	out->reg[AUXTAP_X86_R8] = in.r8;
	out->reg[AUXTAP_X86_R9] = in.r9;
	out->reg[AUXTAP_X86_R10] = in.r10;
	out->reg[AUXTAP_X86_R11] = in.r11;
	out->reg[AUXTAP_X86_R12] = in.r12;
	out->reg[AUXTAP_X86_R13] = in.r13;
	out->reg[AUXTAP_X86_R14] = in.r14;
	out->reg[AUXTAP_X86_R15] = in.r15;
	return 0;
#else
	(void)w;
	(void)tid;
	(void)out;
	return -ENOTSUP;
#endif
}

int native_trace_siginfo(struct native_trace *w, pid_t tid, siginfo_t *info)
{
	const struct traced_thread *t = find_thread(w, tid);

	/* without a signal to deliver, it is in its exit stop, which has another siginfo */
	if (!t || t->state != TRACED_HELD || !t->signo)
		return -ESRCH;
	return ptrace(PTRACE_GETSIGINFO, tid, 0, info) ? -errno : 0;
}

int native_trace_regset(struct native_trace *w, pid_t tid, int type, void *buf, size_t *size)
{
	const struct traced_thread *t = find_thread(w, tid);
	struct iovec set = {buf, *size};

	if (!t || t->state != TRACED_HELD)
		return -ESRCH;
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)(unsigned int)type, &set))
		return -errno;
	*size = set.iov_len;
	return 0;
}
