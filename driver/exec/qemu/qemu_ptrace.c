// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What this engine uses ptrace for: qemu runs freely, and stops only when a process or thread is
 * created, exits, execs, or gets a signal, or is interrupted at a death. An action that must wait
 * until the ring is consumed up to that point is a todo of the thread, which stays stopped.
 */
#include "qemu.h"
#include "qemu_exec.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORPHAN_NS      1000000000ull /* limit from the child's stop to its parent's event */
#define DYING_NS       1000000000ull /* limit for the threads of a dying process to stop */
#define UNKNOWN_STATUS (125 << 8)    /* as auxtap's own failures are reported */

u64 qemu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* ---- threads and processes ---- */

struct qemu_thread *qemu_thread_find(struct qemu_engine *q, pid_t tid)
{
	for (struct qemu_thread *t = q->threads; t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

struct qemu_thread *qemu_thread_new(struct qemu_engine *q, struct qemu_process *p, pid_t tid)
{
	struct qemu_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->process = p;
	t->rec = -1;
	t->next = q->threads;
	q->threads = t;
	return t;
}

static void thread_free(struct qemu_engine *q, struct qemu_thread *t)
{
	struct qemu_thread **link = &q->threads;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	if (t->todo)
		q->nr_todo--;
	if (t->rec >= 0 && q->rec_thread[t->rec] == t)
		q->rec_thread[t->rec] = NULL;
	qemu_stream_free(t);
	free(t);
}

struct qemu_process *qemu_process_find(struct qemu_engine *q, pid_t pid)
{
	for (struct qemu_process *p = q->processes; p; p = p->next)
		if (p->pid == pid)
			return p;
	return NULL;
}

struct qemu_process *qemu_process_new(struct qemu_engine *q, pid_t pid)
{
	struct qemu_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->arch = &qemu_arch_x86; /* until its record says otherwise */
	p->next = q->processes;
	q->processes = p;
	return p;
}

static void process_free(struct qemu_engine *q, struct qemu_process *p)
{
	struct qemu_process **link = &q->processes;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	qemu_maps_clear(p);
	code_store_clear(&p->code, 0);
	free(p);
}

void qemu_ptrace_free_all(struct qemu_engine *q)
{
	while (q->threads)
		thread_free(q, q->threads);
	while (q->processes)
		process_free(q, q->processes);
}

void qemu_ptrace_continue(struct qemu_thread *t, int signo)
{
	if (!t->stopped)
		return;
	t->stopped = false;
	ptrace(PTRACE_CONT, t->tid, 0, (long)signo);
}

static void set_todo(struct qemu_engine *q, struct qemu_thread *t, enum qemu_todo todo, long arg)
{
	if (!t->todo)
		q->nr_todo++;
	t->todo = todo;
	t->arg = arg;
	t->barrier = q->shm->tail;
	t->barrier_set = todo != QEMU_TODO_DYING;
	t->todo_ns = todo == QEMU_TODO_DYING ? qemu_now_ns() : 0;
}

/* ---- actions that waited for the ring ---- */

static void task_gone(struct qemu_engine *q, struct qemu_thread *t)
{
	if (t->task) {
		t->newest = NULL;
		emu_task_set_priv(t->task, NULL);
		emu_task_exit(t->task);
		t->task = NULL;
	}
	qemu_ring_free_rec(q, t);
}

static void do_child(struct qemu_engine *q, struct qemu_thread *parent, pid_t tid, bool process)
{
	struct qemu_thread *child = qemu_thread_find(q, tid);
	struct qemu_rec *rec = qemu_ring_rec(q, parent);
	bool guest = parent->task && !parent->process->native && rec && rec->in_syscall &&
		     parent->process->arch->call(rec->syscall_nr) == QEMU_CALL_CLONE;
	struct qemu_process *p = parent->process;
	char comm[16] = "";
	bool no_map = false;

	if (process) {
		p = qemu_process_find(q, tid);
		if (!p)
			p = qemu_process_new(q, tid);
		if (!p)
			return;
		p->native = !guest;
		p->started = p->reported_maps = p->announced = guest;
		p->guest_base = parent->process->guest_base;
		p->arch = parent->process->arch;
		no_map = guest && qemu_maps_copy(p, parent->process);
		if (guest)
			qemu_code_copy(q, p, parent->process);
	}
	if (!child) {
		child = qemu_thread_new(q, p, tid);
		if (!child) {
			emu_report_problem(q->emu, p->pid, "no memory for a thread");
			return;
		}
		child->initial = true; /* its first stop will be reported */
	}
	child->process = p;
	child->orphan_ns = 0;
	if (guest) {
		child->in_kernel = true;
		child->nr_resumes = 1;
		emu_read_comm(parent->tid, comm);
		child->task = emu_task_new(q->emu, parent->task, p->pid, tid, comm);
		if (child->task)
			emu_task_set_priv(child->task, child);
	}
	if (no_map) /* after capture knows the process */
		emu_report_problem(q->emu, tid, "no memory for the map of a process");
	if (child->gone) {
		child->frozen = true;
		set_todo(q, child, QEMU_TODO_GONE, child->arg);
	} else if (!child->task && !child->initial) {
		qemu_ptrace_continue(child, 0);
	}
}

static void do_exec(struct qemu_engine *q, struct qemu_thread *t, pid_t former)
{
	struct qemu_process *p = t->process;
	struct qemu_thread *old = former != t->tid ? qemu_thread_find(q, former) : NULL;
	struct qemu_thread *other, *next;
	struct qemu_rec *rec = qemu_ring_rec(q, old ? old : t);
	bool native = !rec || rec->native;

	if (!p->announced) { /* the initial exec, into qemu */
		qemu_ptrace_continue(t, 0);
		return;
	}
	qemu_ring_drain(q, old ? old : t);
	if (rec)
		rec->text[sizeof(rec->text) - 1] = 0;
	if (native && !p->native)
		emu_report_problem(q->emu, p->pid,
				   rec ? rec->text : "exec of a program outside qemu");
	if (old && old->task) {
		/* the thread that called exec continues as the leader */
		if (t->task)
			task_gone(q, t);
		if (!native) {
			t->task = emu_task_new(q->emu, old->task, p->pid, t->tid, "");
			if (t->task) {
				emu_task_set_priv(t->task, t);
				t->nr_resumes++;
			}
		}
	}
	for (other = q->threads; other; other = next) {
		next = other->next;
		if (other->process != p || other == t)
			continue;
		task_gone(q, other);
		thread_free(q, other);
	}
	qemu_ring_free_rec(q, t);
	qemu_maps_clear(p);
	code_store_clear(&p->code, emu_now(q->emu) + 1);
	p->started = p->reported_maps = false;
	p->native = native;
	if (native)
		task_gone(q, t);
	t->newest = NULL;
	t->in_kernel = true;
	qemu_ptrace_continue(t, 0);
}

static void do_exit(struct qemu_engine *q, struct qemu_thread *t)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);

	if (t->task && !rec && __atomic_exchange_n(&q->shm->nr_unrecorded, 0, __ATOMIC_RELAXED))
		emu_report_problem(q->emu, t->process->pid,
				   "more threads than records: some were not traced");
	if (t->task)
		qemu_death_flush(q, t, rec && rec->dying, false);
	task_gone(q, t);
	t->exited = true;
	qemu_ptrace_continue(t, 0);
}

/* True if all threads of the process have stopped; interrupts those that run. */
static bool all_stopped(struct qemu_engine *q, struct qemu_process *p)
{
	bool all = true;

	for (struct qemu_thread *t = q->threads; t; t = t->next) {
		if (t->process != p || t->stopped || t->exited)
			continue;
		all = false;
		if (!t->frozen)
			ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		t->frozen = true; /* interrupted; it will not run guest code again */
	}
	return all;
}

static void do_gone(struct qemu_engine *q, struct qemu_thread *t, int status)
{
	struct qemu_process *p = t->process;
	bool leader = p && t->tid == p->pid;
	struct qemu_thread *next;

	if (t->task) {
		t->frozen = true;
		qemu_death_flush(q, t, false, false);
	}
	task_gone(q, t);
	thread_free(q, t);
	if (!leader)
		return;
	/* the kernel reports a leader's exit last: remaining threads vanished in an exec */
	for (t = q->threads; t; t = next) {
		next = t->next;
		if (t->process != p)
			continue;
		task_gone(q, t);
		thread_free(q, t);
	}
	if (p->announced)
		emu_process_exit(q->emu, p->pid, status);
	process_free(q, p);
}

bool qemu_ptrace_todo(struct qemu_engine *q)
{
	struct qemu_thread *t, *next;
	bool worked = false;

	for (t = q->nr_todo ? q->threads : NULL; t; t = next) {
		enum qemu_todo todo = t->todo;

		next = t->next;
		if (!todo)
			continue;
		if (todo == QEMU_TODO_DYING && !t->barrier_set) {
			if (!all_stopped(q, t->process) && qemu_now_ns() - t->todo_ns < DYING_NS)
				continue;
			/* a thread that still runs is blocked in the kernel: it executes nothing */
			t->barrier = q->shm->tail;
			t->barrier_set = true;
		}
		if (!q->closed && q->head < t->barrier)
			continue;
		t->todo = QEMU_TODO_NOTHING;
		q->nr_todo--;
		worked = true;
		switch (todo) {
		case QEMU_TODO_CHILD:
			do_child(q, t, (pid_t)(t->arg >> 1), t->arg & 1);
			qemu_ptrace_continue(t, 0);
			break;
		case QEMU_TODO_EXEC:
			do_exec(q, t, (pid_t)t->arg);
			break;
		case QEMU_TODO_EXIT:
			do_exit(q, t);
			break;
		case QEMU_TODO_DYING:
			qemu_death_report(q, t);
			break;
		case QEMU_TODO_GONE:
			do_gone(q, t, (int)t->arg);
			break;
		case QEMU_TODO_NOTHING:
			break;
		}
		break; /* the list may have changed */
	}
	return worked;
}

/* ---- stops ---- */

static bool dumps_core(int signo)
{
	switch (signo) {
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS:
		return true;
	}
	return false;
}

/*
 * Stores the program's signal number in host_info. qemu 10 does not catch SIGABRT, with which it
 * kills itself: a SIGABRT from outside is converted to the signal that qemu uses for the program's
 * SIGABRT. Returns the host's number.
 */
static int as_program_signal(struct qemu_thread *t, const struct qemu_process *p,
			     struct qemu_rec *rec, int signo)
{
	int api = (int)rec->api, theirs = qemu_exec_signal(api, signo);

	if (signo == SIGABRT && api == QEMU_PLUGIN_API_4 && !p->native &&
	    t->host_info.si_pid != p->pid) {
		siginfo_t info = t->host_info;

		info.si_signo = QEMU_HOST_SIGABRT;
		if (!ptrace(PTRACE_SETSIGINFO, t->tid, 0, &info))
			signo = QEMU_HOST_SIGABRT;
	}
	t->host_info.si_signo = theirs;
	if (t->host_info.si_code <= 0 && theirs <= 64)
		__atomic_fetch_or(&rec->sent, 1ull << (theirs - 1), __ATOMIC_ACQ_REL);
	return signo;
}

static void on_signal(struct qemu_engine *q, struct qemu_thread *t, int signo)
{
	const struct qemu_process *p = t->process;
	struct qemu_rec *rec = t->task && p ? qemu_ring_rec(q, t) : NULL;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info))
		info.si_signo = 0;
	else if (p && emu_signal_seen(q->emu, p->pid, &info))
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, &info);
	if (rec && rec->dying == (u32)signo && !p->native) {
		if (dumps_core(signo)) {
			qemu_death_info(q, t, signo);
			t->frozen = true;
			/*
			 * We have taken the stop's signal: if we are killed now, the kernel
			 * continues the thread without it, in qemu's endless wait for its own
			 * death.
			 */
			ptrace(PTRACE_SETOPTIONS, t->tid, 0,
			       QEMU_PTRACE_OPTIONS | PTRACE_O_EXITKILL);
			set_todo(q, t, QEMU_TODO_DYING, signo);
			return;
		}
	} else if (rec) {
		t->host_info = info;
		if (info.si_signo)
			signo = as_program_signal(t, p, rec, signo);
		t->host_flushes = qemu_load(&rec->nr_flushes);
		t->host_nr = qemu_load(&rec->nr);
	}
	qemu_ptrace_continue(t, signo);
}

static void on_event(struct qemu_engine *q, struct qemu_thread *t, int event, int signo)
{
	unsigned long message = 0;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &message);
	switch (event) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		set_todo(q, t, QEMU_TODO_CHILD, (long)message << 1 | (event != PTRACE_EVENT_CLONE));
		break;
	case PTRACE_EVENT_EXEC:
		/* the thread that called exec goes on as the leader, which has exited */
		t->frozen = t->exited = false;
		t->taken = 0;
		set_todo(q, t, QEMU_TODO_EXEC, (long)message);
		break;
	case PTRACE_EVENT_EXIT:
		t->frozen = true;
		/* killed before its child was reported */
		if (t->todo == QEMU_TODO_CHILD)
			do_child(q, t, (pid_t)(t->arg >> 1), t->arg & 1);
		set_todo(q, t, QEMU_TODO_EXIT, (long)message);
		break;
	case PTRACE_EVENT_STOP:
		if (t->frozen)
			break; /* interrupted, because its process dies */
		if (signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU) {
			t->stopped = false;
			ptrace(PTRACE_LISTEN, t->tid, 0, 0);
			break;
		}
		if (t->initial) {
			t->initial = false;
			if (t->task && t->nr_resumes)
				break; /* until capture resumes it */
		}
		qemu_ptrace_continue(t, 0);
		break;
	default:
		qemu_ptrace_continue(t, 0);
		break;
	}
}

/* Handles a child whose parent's stop comes later, or never, if the parent is killed in it. */
static void on_foreign(struct qemu_engine *q, pid_t tid, int status)
{
	struct qemu_thread *t = qemu_thread_new(q, NULL, tid);

	if (!t) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	t->orphan_ns = qemu_now_ns();
	q->nr_orphans++;
	t->stopped = WIFSTOPPED(status);
	if (!t->stopped) {
		t->frozen = t->gone = true;
		t->arg = status;
	} else if (status >> 16 == PTRACE_EVENT_EXIT) {
		/* killed before its first instruction: nothing to wait for */
		t->frozen = t->exited = true;
		qemu_ptrace_continue(t, 0);
	}
}

static pid_t tgid_of(pid_t tid)
{
	char path[64], line[128];
	int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

/*
 * SIGKILL ended the parent's clone or fork stop before we saw it: no event will identify the
 * parent. A thread dies with its parent; a process continues, and is followed but not traced.
 */
static void adopt(struct qemu_engine *q, struct qemu_thread *t)
{
	pid_t tgid = tgid_of(t->tid);

	t->orphan_ns = 0;
	t->process = qemu_process_find(q, tgid ? tgid : t->tid);
	if (!t->process) {
		t->process = qemu_process_new(q, tgid ? tgid : t->tid);
		if (t->process)
			t->process->native = true;
	}
	emu_report_problem(q->emu, tgid ? tgid : t->tid,
			   "its parent was killed before it reported the fork");
	qemu_ptrace_continue(t, 0);
}

void qemu_ptrace_orphans(struct qemu_engine *q)
{
	struct qemu_thread *t, *next;
	u64 now = qemu_now_ns();

	q->nr_orphans = 0;
	for (t = q->threads; t; t = next) {
		next = t->next;
		if (!t->orphan_ns)
			continue;
		if (now - t->orphan_ns < ORPHAN_NS)
			q->nr_orphans++;
		else if (t->gone)
			thread_free(q, t);
		else
			adopt(q, t);
	}
}

bool qemu_ptrace_reap(struct qemu_engine *q)
{
	bool worked = false;
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		struct qemu_thread *t = qemu_thread_find(q, tid);

		worked = true;
		if (!t) {
			on_foreign(q, tid, status);
			continue;
		}
		if (!WIFSTOPPED(status)) {
			t->stopped = false;
			t->frozen = true;
			if (t->orphan_ns) {
				t->gone = true;
				t->arg = status;
				continue;
			}
			if (t->todo == QEMU_TODO_CHILD)
				do_child(q, t, (pid_t)(t->arg >> 1), t->arg & 1);
			/* it was killed without an exit stop: what it sent has not been read yet */
			if (t->task)
				set_todo(q, t, QEMU_TODO_GONE, status);
			else
				do_gone(q, t, status);
			continue;
		}
		t->stopped = true;
		if (status >> 16)
			on_event(q, t, status >> 16, WSTOPSIG(status));
		else
			on_signal(q, t, WSTOPSIG(status));
	}
	/* nothing is left to wait for: exits that were not seen never will be */
	if (tid < 0 && errno == ECHILD) {
		for (struct qemu_thread *t = q->threads; t; t = t->next) {
			if (t->gone || t->todo == QEMU_TODO_GONE)
				continue;
			if (t->process && t->process->announced)
				emu_report_problem(q->emu, t->process->pid,
						   "ended while it could not be traced");
			t->stopped = false;
			t->frozen = true;
			set_todo(q, t, QEMU_TODO_GONE, UNKNOWN_STATUS);
			worked = true;
		}
	}
	return worked;
}

static bool is_dying(const struct qemu_engine *q, const struct qemu_process *p)
{
	for (const struct qemu_thread *t = q->threads; t; t = t->next)
		if (t->process == p && (t->dying.si_signo || t->todo == QEMU_TODO_DYING))
			return true;
	return false;
}

/*
 * First all threads are stopped, wherever they are in qemu; then one of them reports the death. In
 * this order no event of a running thread can replace that report.
 */
void qemu_ptrace_over_memory(struct qemu_engine *q)
{
	struct qemu_process *p;
	struct qemu_thread *t;

	if (!q->too_large) {
		q->too_large = emu_process_over_memory(q->emu);
		q->too_large_ns = qemu_now_ns();
	}
	if (!q->too_large)
		return;
	p = qemu_process_find(q, q->too_large);
	if (!p || is_dying(q, p)) {
		q->too_large = 0;
		return;
	}
	if (!all_stopped(q, p) && qemu_now_ns() - q->too_large_ns < DYING_NS)
		return;
	q->too_large = 0;
	for (t = q->threads; t; t = t->next)
		if (t->process == p && t->task && !t->todo && !t->nr_resumes && !t->exited)
			break;
	if (!t) {
		emu_report_problem(q->emu, p->pid,
				   "killed for its memory use while it had no traced thread");
		kill(p->pid, SIGKILL);
		return;
	}
	emu_task_over_memory(t->task);
	for (struct qemu_thread *other = q->threads; other; other = other->next)
		other->cut_off |= other->process == p;
	memset(&t->dying, 0, sizeof(t->dying));
	t->dying.si_signo = SIGKILL;
	t->dying.si_code = SI_KERNEL;
	set_todo(q, t, QEMU_TODO_DYING, SIGKILL);
}

/* Capture disconnected or stops tracing: the program continues untraced. */
void qemu_ptrace_detach_all(struct qemu_engine *q)
{
	struct qemu_thread *t, *next;
	u64 until = qemu_now_ns() + DYING_NS;

	for (t = q->threads; t; t = next) {
		int status, signo = t->todo == QEMU_TODO_DYING ? (int)t->arg : t->dying.si_signo;
		pid_t got = 0;

		next = t->next;
		if (!t->stopped && !t->exited && !t->gone) {
			ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
			/*
			 * a thread that does not stop in time is detached by the kernel when we
			 * exit
			 */
			while (!(got = waitpid(t->tid, &status, __WALL | WNOHANG)) &&
			       qemu_now_ns() < until)
				usleep(500);
			if (got == t->tid && WIFSTOPPED(status) && !(status >> 16))
				signo = WSTOPSIG(status);
		}
		ptrace(PTRACE_DETACH, t->tid, 0, (long)signo);
		thread_free(q, t);
	}
}
