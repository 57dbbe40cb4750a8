// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handles the end of traced threads: by exit, by a signal, by a core-dumping one that capture must
 * see before the kernel acts on it. Called from ptrace_stop.c.
 */
#include "ptrace.h"
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define CORE_SIGNALS                                                                            \
	(SIGNAL_BIT(SIGQUIT) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGABRT) | \
	 SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGXCPU) |  \
	 SIGNAL_BIT(SIGXFSZ) | SIGNAL_BIT(SIGSYS))

#define HALT_NS	     500000000ull
#define SECCOMP_DEAD 3 /* mode of a thread that a filter has killed, since Linux 5.17 */
#define CODE_SECCOMP 1 /* SYS_SECCOMP of <asm-generic/siginfo.h>, which glibc lacks */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* Stops a thread of a dying process, if possible: one in a vfork() cannot be stopped. */
static void halt(struct ptrace_thread *t, u64 until_ns)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	struct user_regs_struct regs;
	int status;

	if (t->state == PTRACE_TASK_HELD || !t->task)
		return;
	if (t->state == PTRACE_TASK_LISTENING) {
		t->state = PTRACE_TASK_HELD;
		return;
	}
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	/*
	 * a time limit, not a number of rounds: on a busy machine a round of 1 ms takes much longer
	 */
	do {
		pid_t got = ptrace_poll(t->engine, t->tid, &status);

		if (got == t->tid) {
			if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
				ptrace_stop(t, status);
				return;
			}
			if (!ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
				ptrace_resolve(t, regs.rip);
			t->state = PTRACE_TASK_HELD;
			t->resume_sig = 0;
			return;
		}
		if (got < 0)
			return;
		nanosleep(&ms, NULL);
	} while (now_ns() < until_ns);
	/* it is blocked in the kernel for good: the reported system call has started */
	if (t->reported) {
		t->reported = false;
		emu_task_enter_kernel(t->task);
	}
}

/* Stops all threads of the process except one; 0: all. */
static void halt_others(pid_t but, const struct ptrace_process *proc)
{
	/* one limit for all of them: capture's requests wait meanwhile */
	u64 until_ns = now_ns() + HALT_NS;

	for (int i = 0; i < THREAD_HASH; i++) {
		struct ptrace_thread *t = proc->engine->threads[i], *next;

		for (; t; t = next) {
			next = t->hash_next;
			if (t->tid != but && t->proc == proc)
				halt(t, until_ns);
		}
	}
}

void ptrace_die_of(struct ptrace_thread *t, int sig, const siginfo_t *info)
{
	bool dumps = CORE_SIGNALS & SIGNAL_BIT(sig);

	t->slow = true;
	if (!dumps || t->proc->exiting) {
		emu_task_offline(t->task);
		ptrace_step(t, sig);
		return;
	}
	t->proc->exiting = true;
	halt_others(t->tid, t->proc);
	t->state = PTRACE_TASK_HELD;
	t->resume_sig = sig;
	t->resume_in_user = false;
	emu_task_dying(t->task, info);
}

void ptrace_gone(struct ptrace_thread *t, int status)
{
	struct ptrace_engine *e = t->engine;
	struct ptrace_process *proc = t->proc;
	pid_t pid = proc ? proc->pid : t->tid;
	bool leader = t->tid == pid;
	bool last = proc && proc->nr_threads == 1;

	if (t->task)
		emu_task_exit(t->task);
	if (proc && (leader || (last && proc->one_thread))) {
		proc->child = false;
		emu_process_exit(e->emu, pid, status);
	}
	ptrace_thread_free(t);
	if (leader)
		e->orphans_due = true;
}

/*
 * The kernel killed the thread with a core-dumping signal that no tracer sees. seccomp does so, and
 * has restored the registers of the system call: rax contains its number again, while in any other
 * death it contains its result, initially -ENOSYS.
 */
static int code_of_unseen(const struct ptrace_thread *t)
{
	struct user_regs_struct regs;
	char path[64], line[128];
	int mode = 0;
	FILE *f;

	if (t->died_of != SIGSYS || ptrace(PTRACE_GETREGS, t->tid, 0, &regs) ||
	    (int)regs.orig_rax < 0 || regs.rax != regs.orig_rax)
		return SI_KERNEL;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode == SECCOMP_MODE_FILTER || mode == SECCOMP_DEAD ? CODE_SECCOMP : SI_KERNEL;
}

static bool died_unseen(struct ptrace_thread *t)
{
	unsigned long status = 0;

	if (!t->task || t->proc->exiting || t->proc->detaching ||
	    ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &status))
		return false;
	t->died_of = (int)(status & 0x7f);
	if (!t->died_of || !(CORE_SIGNALS & SIGNAL_BIT(t->died_of)))
		return false;
	/* of another thread, which is gone, nothing is known */
	if (t->proc->passive && t->proc->signal_tid && t->proc->signal_tid != t->tid)
		return false;
	t->proc->exiting = true;
	halt_others(t->tid, t->proc);
	t->state = PTRACE_TASK_HELD;
	t->resume_sig = 0;
	t->resume_in_user = false;
	memset(&t->died_info, 0, sizeof(t->died_info));
	t->died_info.si_signo = t->died_of;
	t->died_info.si_code = code_of_unseen(t);
	if (t->proc->passive && t->proc->signal_tid && t->proc->signal.si_signo == t->died_of)
		t->died_info = t->proc->signal;
	/*
	 * no stop since the signal was delivered, so the kernel ended the process while building
	 * the frame
	 */
	if (t->entering && t->died_of == SIGSEGV)
		emu_task_no_frame(t->task, t->entering);
	emu_task_dying(t->task, &t->died_info);
	return true;
}

void ptrace_exit_event(struct ptrace_thread *t)
{
	struct user_regs_struct regs;

	if (t->task) {
		if (t->reported && !ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
			ptrace_resolve(t, regs.rip);
		t->reported = false;
		emu_task_learn_comm(t->task);
		emu_task_offline(t->task);
	}
	t->slow = true;
	t->whole_call = false;
	if (died_unseen(t))
		return;
	t->state = PTRACE_TASK_EXITING;
	ptrace(PTRACE_CONT, t->tid, 0, 0);
}

/* The thread that represents its process in the event of its death: a stopped one, if any. */
static struct emu_task *task_of_death(struct emu *emu, pid_t pid)
{
	struct emu_task *task = NULL, *running = NULL;

	while ((task = emu_task_next(emu, pid, task))) {
		const struct ptrace_thread *t = emu_task_priv(task);

		if (t && t->state == PTRACE_TASK_HELD)
			return task;
		if (t && t->state == PTRACE_TASK_RUNNING)
			running = task;
	}
	return running;
}

void ptrace_over_memory(struct ptrace_engine *e)
{
	pid_t pid = emu_process_over_memory(e->emu);
	struct ptrace_process *proc = pid ? ptrace_process_find(e, pid) : NULL;
	struct emu_task *task = NULL;
	struct ptrace_thread *t;

	if (!proc || proc->exiting || proc->detaching || proc->passive)
		return;
	/* if a thread waits for a reply of capture, retry at the next check */
	while ((task = emu_task_next(e->emu, pid, task))) {
		t = emu_task_priv(task);
		if (t && t->state == PTRACE_TASK_HELD)
			return;
	}
	proc->exiting = true;
	halt_others(0, proc);
	task = task_of_death(e->emu, pid);
	if (!task) /* all of its threads are exiting */
		return;
	t = emu_task_priv(task);
	t->state = PTRACE_TASK_HELD;
	t->resume_sig = t->died_of = SIGKILL;
	t->died_info = (siginfo_t){.si_signo = SIGKILL, .si_code = SI_KERNEL};
	t->resume_in_user = false;
	emu_task_over_memory(task);
	emu_task_dying(task, &t->died_info);
}
