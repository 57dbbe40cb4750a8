// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All stops of a traced thread but those after steps that need only a check of the ip: other steps,
 * signal delivery, clone, exec, exit, group stops, death. The program must behave as it would
 * untraced. The loop is ptrace.c.
 */
#include "ptrace.h"
#include <auxtap/crash.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USER32_CS 0x23
#define AWAIT_MS  10000
#define STOP_SIGNALS \
	(SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define IGNORE_SIGNALS \
	(SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))
#define SYNC_SIGNALS                                                                          \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | \
	 SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS))

struct signal_sets {
	u64 pending, ignored, caught;
};

static void read_signal_sets(pid_t tid, struct signal_sets *sets)
{
	char path[32], line[128];
	FILE *f;

	memset(sets, 0, sizeof(*sets));
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "SigPnd:", 7))
			sets->pending = strtoull(line + 7, NULL, 16);
		else if (!strncmp(line, "SigIgn:", 7))
			sets->ignored = strtoull(line + 7, NULL, 16);
		else if (!strncmp(line, "SigCgt:", 7))
			sets->caught = strtoull(line + 7, NULL, 16);
	}
	fclose(f);
}

/*
 * Continues user code, at once or by restarting a system call. A restart is reported only after it
 * was executed, because a signal may come first.
 */
static void resume_user_code(struct ptrace_thread *t, const struct user_regs_struct *regs)
{
	if (ptrace_will_restart(regs)) {
		t->late_ip = regs->rip - 2;
		t->reported = false;
		t->slow = true;
		ptrace_step(t, 0);
		return;
	}
	ptrace_continue_at(t, regs->rip);
}

/* ---- signals ---- */

static void signal_stop(struct ptrace_thread *t, int sig, struct user_regs_struct *regs,
			const siginfo_t *info)
{
	struct signal_sets sets;

	ptrace_resolve(t, regs->rip);
	t->late_ip = 0;
	t->slow = true;
	if (t->whole_call) {
		/* before the call started */
		t->whole_call = false;
		t->in_syscall = false;
		ptrace_save_mask(t);
	}
	if (t->in_syscall)
		ptrace_clear_tf_in_r11(t, regs);
	if (t->proc->detaching) {
		ptrace_detach_thread(t, sig);
		return;
	}
	read_signal_sets(t->tid, &sets);
	if (sets.caught & SIGNAL_BIT(sig)) {
		t->entering = sig;
		t->entering_fault = (SYNC_SIGNALS & SIGNAL_BIT(sig)) && info->si_code > 0;
		t->entering_ip = regs->rip;
		ptrace_restore_mask_for(t, regs);
		t->in_syscall = false;
		ptrace_step(t, sig); /* stops at the handler's first instruction */
	} else if ((sets.ignored | IGNORE_SIGNALS) & SIGNAL_BIT(sig)) {
		resume_user_code(t, regs);
	} else if (STOP_SIGNALS & SIGNAL_BIT(sig)) {
		/* ignored after all, in an orphaned process group */
		t->late_ip = ptrace_will_restart(regs) ? regs->rip - 2 : regs->rip;
		ptrace_step(t, sig);
	} else {
		ptrace_die_of(t, sig, info);
	}
}

/* ---- steps that need further checks ---- */

static bool is_our_trap(const struct ptrace_thread *t, const siginfo_t *info)
{
	switch (info->si_code) {
	case TRAP_TRACE:
		return true;
	case TRAP_BRKPT: /* the end of a system call; or icebp */
		return !(t->reported && t->insn.cls == X86_SYSCALL && t->opcode == 0xf1);
	case SIGTRAP: /* at the entry of a handler */
		return true;
	default:
		return false;
	}
}

/* Clears our TF, which PUSHF wrote to the program's memory. */
void ptrace_clear_tf(struct ptrace_thread *t, u64 addr, const struct user_regs_struct *regs)
{
	long word;

	if (regs->eflags & TF) /* not hidden: the program's own */
		return;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, t->tid, addr, 0);
	if (word == -1 && errno)
		return;
	if ((u64)word & TF)
		ptrace(PTRACE_POKEDATA, t->tid, addr, (u64)word & ~TF);
}

/*
 * Before it steps over POPF or IRET the kernel clears the note that TF is ours (TIF_FORCED_TF), and
 * from then on shows it to the program. A CONT that ends before user code resets that. False: the
 * thread stopped for another reason, which has been handled.
 */
static bool reset_step_state(struct ptrace_thread *t)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) || ptrace(PTRACE_CONT, t->tid, 0, 0))
		return false;
	if (ptrace_await(t->engine, t->tid, &status, AWAIT_MS))
		return false; /* it is frozen: when it stops, the loop continues from there */
	if (!WIFSTOPPED(status)) {
		ptrace_defer(t, status); /* handle it after the exits of its threads */
		return false;
	}
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
		return true;
	ptrace_stop(t, status);
	return false;
}

static void stop_tracing(struct ptrace_thread *t)
{
	t->untraced = true;
	t->reported = false;
	t->late_ip = 0;
	t->slow = true;
	t->state = PTRACE_TASK_RUNNING;
	if (t->task)
		emu_task_offline(t->task);
	ptrace_restore_mask(t);
	ptrace_unpin(t);
	/* no longer stepped: if the tracer dies, the thread can continue without it */
	ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_OUR_OPTIONS & ~PTRACE_O_EXITKILL);
}

static void become_passive(struct ptrace_thread *t, const char *why)
{
	emu_report_problem(t->engine->emu, t->proc->pid, why);
	t->proc->passive = true;
	stop_tracing(t);
	ptrace(PTRACE_CONT, t->tid, 0, 0);
}

static void step_stop(struct ptrace_thread *t, struct user_regs_struct *regs, const siginfo_t *info)
{
	bool ran = t->reported || t->late_ip;
	bool was_own_tf = t->own_tf; /* POPF that sets TF does not trap yet */
	bool was_syscall;
	u8 flags = t->reported ? t->insn.flags : 0;

	if (t->reported && info->si_code == TRAP_BRKPT && t->insn.cls != X86_SYSCALL &&
	    regs->rip == t->ip) {
		/* left over from a system call: the reported instruction has not run */
		ptrace_step(t, 0);
		return;
	}
	if (t->reported && !ptrace_plausible(t, regs->rip))
		ptrace_find_lost(t, regs);
	else if (!t->reported && t->late_ip)
		ptrace_report_late(t);
	if (ran && (t->insn.flags & X86_INSN_PUSHF))
		ptrace_clear_tf(t, regs->rsp, regs);
	if (ran && ((flags | t->insn.flags) & X86_INSN_POPF)) {
		t->own_tf = regs->eflags & TF;
		if (!t->own_tf && !reset_step_state(t))
			return;
	}
	was_syscall = t->in_syscall;
	if (was_syscall)
		ptrace_after_syscall(t, regs);
	if (regs->cs == USER32_CS) {
		ptrace_resolve(t, regs->rip);
		become_passive(t, "32-bit code is not traced");
		return;
	}
	if (t->proc->detaching) {
		ptrace_detach_thread(t, 0);
		return;
	}
	if (was_own_tf && ran && !was_syscall && info->si_code == TRAP_TRACE) {
		/* the program single-steps itself: the trap is for the program */
		t->own_tf = regs->eflags & TF;
		signal_stop(t, SIGTRAP, regs, info);
		return;
	}
	if (was_syscall && ptrace_will_restart(regs)) {
		ptrace_resolve(t, regs->rip);
		resume_user_code(t, regs);
		return;
	}
	ptrace_continue_at(t, regs->rip);
}

/* Handles entry and exit stops of a system call that runs without a step. */
static void whole_call_stop(struct ptrace_thread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return;
	if (t->reported) {
		/* this is the entry stop: the call has started */
		t->reported = false;
		emu_task_enter_kernel(t->task);
		ptrace_step(t, 0);
		return;
	}
	t->whole_call = false;
	ptrace_save_mask(t);
	ptrace_after_syscall(t, &regs);
	if (t->proc->detaching)
		ptrace_detach_thread(t, 0);
	else
		ptrace_continue_at(t, regs.rip);
}

/* Notes a signal that is about to be delivered; a forwarded one keeps its sender. */
static void note_signal(struct ptrace_thread *t, siginfo_t *info)
{
	if (emu_signal_seen(t->engine->emu, t->proc->pid, info))
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, info);
}

static void trap_or_signal(struct ptrace_thread *t, int sig)
{
	struct user_regs_struct regs;
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) || ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info))
		return; /* killed: its exit comes next */
	note_signal(t, &info);
	if (sig == SIGTRAP && info.si_code == SIGTRAP) {
		/* in the handler more signals are blocked, and TF is off */
		ptrace_mask_in_frame(t, regs.rsp);
		ptrace_save_mask(t);
		t->own_tf = false;
		if (t->entering && t->entering_fault)
			emu_task_fault(t->task, t->entering_ip, t->entering);
	} else if (t->entering && sig == SIGSEGV && info.si_code == SI_KERNEL &&
		   regs.rip == t->entering_ip) {
		/* no instruction has run since: the kernel sends it in place of the handler */
		emu_task_no_frame(t->task, t->entering);
	}
	t->entering = 0;
	if (sig == SIGTRAP && is_our_trap(t, &info))
		step_stop(t, &regs, &info);
	else
		signal_stop(t, sig, &regs, &info);
}

/* ---- events ---- */

static bool same_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

static struct ptrace_process *process_of_child(struct ptrace_thread *parent, pid_t tid)
{
	pid_t tgid = ptrace_tgid(tid);
	struct ptrace_process *proc;
	struct ptrace_mm *mm;

	if (tgid == parent->proc->pid)
		return parent->proc;
	if (same_memory(parent->tid, tid))
		mm = ptrace_mm_get(parent->mm);
	else
		mm = ptrace_mm_copy(parent->engine, parent->mm);
	proc = mm ? ptrace_process_new(parent->engine, tgid > 0 ? tgid : tid, mm) : NULL;
	if (proc)
		proc->passive = parent->proc->passive;
	return proc;
}

/* Waits for the new thread's first stop, which may have come before its parent's event. */
static int first_stop(struct ptrace_thread *child, int *status)
{
	*status = SIGTRAP << 8 | 0x7f;
	return child->state == PTRACE_TASK_ORPHAN ?
		       0 :
		       ptrace_await(child->engine, child->tid, status, AWAIT_MS);
}

static void start_child(struct ptrace_thread *parent, struct ptrace_thread *child)
{
	struct user_regs_struct regs;
	char comm[16];

	child->affinity = parent->affinity;
	child->pinned = parent->pinned;
	child->trap_blocked = parent->trap_blocked;
	child->slow = true;
	if (!ptrace(PTRACE_GETREGS, child->tid, 0, &regs)) {
		child->own_tf = regs.eflags & TF;
		ptrace_clear_tf_in_r11(child, &regs);
	}
	if (child->proc->passive) {
		child->untraced = true;
		child->state = PTRACE_TASK_RUNNING;
		ptrace(PTRACE_CONT, child->tid, 0, 0);
		return;
	}
	emu_read_comm(child->tid, comm);
	child->task =
		emu_task_new(child->engine->emu, parent->task, child->proc->pid, child->tid, comm);
	if (!child->task) {
		ptrace_detach_thread(child, 0);
		return;
	}
	emu_task_set_priv(child->task, child);
	child->state = PTRACE_TASK_HELD;
	child->resume_sig = 0;
	child->resume_in_user = true;
	if (parent->proc->detaching) {
		child->proc->detaching = true;
		ptrace_detach_thread(child, 0);
	}
}

static void clone_event(struct ptrace_thread *t)
{
	struct user_regs_struct regs;
	unsigned long tid = 0;
	struct ptrace_thread *child;
	struct ptrace_process *proc;
	int status, err;

	if (t->reported && !ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		ptrace_resolve(t, regs.rip);
	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &tid) || !tid)
		goto go;
	child = ptrace_find(t->engine, (pid_t)tid);
	if (!child)
		child = ptrace_thread_new(t->engine, (pid_t)tid, NULL);
	if (!child) {
		emu_report_problem(t->engine->emu, t->proc->pid, "no memory for a new thread");
		goto go;
	}
	err = first_stop(child, &status);
	if (err == -ETIMEDOUT) {
		emu_report_problem(t->engine->emu, t->proc->pid,
				   "a new thread or process did not stop in time");
		child->late = true;
		child->affinity = t->affinity;
		child->pinned = t->pinned;
		child->trap_blocked = t->trap_blocked;
		goto go;
	}
	if (err) {
		ptrace_thread_free(child);
		goto go;
	}
	proc = process_of_child(t, (pid_t)tid);
	if (!proc) {
		emu_report_problem(t->engine->emu, (pid_t)tid, "no memory for a new process");
		ptrace(PTRACE_DETACH, (pid_t)tid, 0, 0);
		ptrace_thread_free(child);
		goto go;
	}
	child->proc = proc;
	child->mm = proc->mm;
	proc->nr_threads++;
	if (WIFSTOPPED(status))
		start_child(t, child);
	else
		ptrace_gone(child, status); /* killed before it started */
go:
	t->slow = true;
	if (t->proc->passive)
		ptrace(PTRACE_CONT, t->tid, 0, 0);
	else
		ptrace_step(t, 0);
}

/* A thread other than the leader called exec: it continues under the leader's tid. */
static void take_over(struct ptrace_thread *t, pid_t old_tid)
{
	struct ptrace_thread *old = old_tid != t->tid ? ptrace_find(t->engine, old_tid) : NULL;

	if (!old)
		return;
	if (old->task) {
		if (old->reported)
			emu_task_enter_kernel(old->task);
		old->reported = false;
		emu_task_exit(old->task);
	}
	t->affinity = old->affinity;
	t->pinned = old->pinned;
	t->trap_blocked = old->trap_blocked;
	old->task = NULL;
	ptrace_thread_free(old);
}

/* Reports a set-user-ID program, which does not gain its privileges under this tracer. */
static void report_unprivileged(const struct ptrace_thread *t)
{
	char path[32], line[128];
	unsigned int euid = 0;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->tid);
	if (stat(path, &st) || !(st.st_mode & S_ISUID))
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %*u %u", &euid) == 1 && euid != st.st_uid)
			emu_report_problem(
				t->engine->emu, t->proc->pid,
				"set-user-ID program: runs without its privileges while traced");
	fclose(f);
}

static void exec_event(struct ptrace_thread *t)
{
	struct user_regs_struct regs;
	unsigned long old_tid = 0;
	struct ptrace_mm *mm = ptrace_mm_new();
	bool is_32bit;
	char comm[16];

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &old_tid);
	take_over(t, (pid_t)old_tid);
	if (mm) {
		ptrace_mm_put(t->proc->mm);
		t->proc->mm = mm;
		t->mm = mm;
	} else {
		ptrace_code_forget_all(t->mm);
	}
	code_store_clear(&t->mm->code, emu_now(t->engine->emu) + 1);
	is_32bit = !ptrace(PTRACE_GETREGS, t->tid, 0, &regs) && regs.cs == USER32_CS;
	t->reported = false;
	t->late_ip = 0;
	t->in_syscall = false;
	t->own_tf = false;
	t->slow = true;
	t->proc->exiting = false;
	t->proc->passive = t->untraced = false;
	t->proc->signal_tid = 0;
	ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_OUR_OPTIONS);
	emu_read_comm(t->tid, comm);
	t->state = PTRACE_TASK_HELD;
	t->resume_sig = 0;
	t->resume_in_user = false;
	if (t->task) {
		emu_task_exec(t->task, comm);
	} else if (!is_32bit) {
		t->task = emu_task_new(t->engine->emu, NULL, t->proc->pid, t->tid, comm);
		if (!t->task) {
			ptrace_detach_thread(t, 0);
			return;
		}
		emu_task_set_priv(t->task, t);
	}
	if (t->task)
		ptrace_maps_sync(t, true);
	if (is_32bit) {
		t->passive_execs += t->task != NULL;
		become_passive(t, "a 32-bit program is not traced");
		return;
	}
	report_unprivileged(t);
	if (t->proc->detaching)
		ptrace_step(t, 0);
}

static void event_stop(struct ptrace_thread *t, int sig)
{
	struct user_regs_struct regs;
	struct signal_sets sets;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return;
	if (t->state == PTRACE_TASK_NEW) { /* attached */
		char comm[16];

		t->own_tf = regs.eflags & TF;
		if (t->proc->detaching) {
			ptrace_detach_thread(t, 0);
			return;
		}
		if (regs.cs == USER32_CS) {
			become_passive(t, "32-bit code is not traced");
			return;
		}
		emu_read_comm(t->tid, comm);
		t->task = emu_task_new(t->engine->emu, NULL, t->proc->pid, t->tid, comm);
		if (!t->task) {
			ptrace_detach_thread(t, 0);
			return;
		}
		emu_task_set_priv(t->task, t);
		if (!t->mm->nr_maps)
			ptrace_maps_sync(t, false);
		t->state = PTRACE_TASK_HELD;
		t->resume_in_user = true;
		t->resume_sig = 0;
		return;
	}
	if (t->reported && regs.rip == t->ip && sig == SIGTRAP && !t->proc->detaching) {
		ptrace_step(t, 0); /* before the reported instruction: nothing to report */
		return;
	}
	ptrace_resolve(t, regs.rip);
	t->slow = true;
	if (t->whole_call && regs.rip == t->ip) {
		/* before the call started */
		t->whole_call = false;
		t->in_syscall = false;
		ptrace_save_mask(t);
	}
	read_signal_sets(t->tid, &sets);
	if (sets.pending & SIGNAL_BIT(SIGTRAP)) {
		/* the last step's trap is still to come, at this address */
		t->late_ip = 0;
		ptrace_step(t, 0);
		return;
	}
	if (t->proc->detaching) {
		if (t->in_syscall)
			ptrace_clear_tf_in_r11(t, &regs);
		ptrace_detach_thread(t, 0);
	} else if (sig != SIGTRAP) {
		emu_task_offline(t->task);
		t->state = PTRACE_TASK_LISTENING;
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	} else {
		resume_user_code(t, &regs);
	}
}

/* Handles a process that cannot be traced: passes signals and stops on, follows its children. */
static void passive_stop(struct ptrace_thread *t, int status)
{
	int event = status >> 16, sig = event ? 0 : WSTOPSIG(status);
	struct user_regs_struct regs;
	siginfo_t info;

	if (!t->untraced) { /* another thread has made the process passive during this one's step */
		if (!ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
			ptrace_resolve(t, regs.rip);
		stop_tracing(t);
		if (sig == (SIGTRAP | 0x80) ||
		    (sig == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) &&
		     is_our_trap(t, &info)))
			sig = 0;
	}
	if (sig && !ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info)) {
		note_signal(t, &info);
		t->proc->signal = info;
		t->proc->signal_tid = t->tid;
	}
	if (t->proc->detaching)
		ptrace_detach_thread(t, sig);
	else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	else
		ptrace(PTRACE_CONT, t->tid, 0, sig);
}

void ptrace_stop(struct ptrace_thread *t, int status)
{
	if (!WIFSTOPPED(status)) {
		ptrace_gone(t, status);
		return;
	}
	if (!t->proc) {
		/* an orphan keeps its state, unless it is killed */
		if (t->late)
			ptrace_detach_thread(t, 0);
		else if (status >> 16 == PTRACE_EVENT_EXIT)
			ptrace(PTRACE_CONT, t->tid, 0, 0);
		return;
	}
	switch (status >> 16) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		clone_event(t);
		return;
	case PTRACE_EVENT_EXEC:
		exec_event(t);
		return;
	case PTRACE_EVENT_EXIT:
		ptrace_exit_event(t);
		return;
	default:
		break;
	}
	if (t->proc->passive)
		passive_stop(t, status);
	else if (status >> 16 == PTRACE_EVENT_STOP)
		event_stop(t, WSTOPSIG(status));
	else if (WSTOPSIG(status) == (SIGTRAP | 0x80))
		whole_call_stop(t);
	else
		trap_or_signal(t, WSTOPSIG(status));
}

static bool parent_is_known(struct ptrace_engine *e, pid_t tid)
{
	char path[32], line[128];
	int pid;
	bool known = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && !known && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1 || sscanf(line, "PPid: %d", &pid) == 1)
			known = ptrace_process_find(e, pid) || pid == getpid();
	if (f)
		fclose(f);
	return known;
}

/*
 * SIGKILL ended the parent's fork stop before we saw it: no event will identify the parent. The
 * child continues untraced.
 */
void ptrace_orphans(struct ptrace_engine *e)
{
	e->orphans_due = false;
	for (int i = 0; i < THREAD_HASH; i++) {
		struct ptrace_thread *t = e->threads[i], *next;

		for (; t; t = next) {
			next = t->hash_next;
			if (t->state != PTRACE_TASK_ORPHAN || t->proc || parent_is_known(e, t->tid))
				continue;
			emu_report_problem(e->emu, t->tid,
					   "its parent was killed before it reported the fork");
			ptrace_detach_thread(t, 0);
		}
	}
}

/*
 * A status of an unknown thread: a new one whose stop comes before its parent's event, or the exit
 * of a detached child.
 */
void ptrace_foreign(struct ptrace_engine *e, pid_t tid, int status)
{
	struct ptrace_process *proc = ptrace_process_find(e, tid);

	if (WIFSTOPPED(status)) {
		struct ptrace_thread *t = ptrace_thread_new(e, tid, NULL);

		if (t)
			t->state = PTRACE_TASK_ORPHAN;
		if (t && status >> 16 == PTRACE_EVENT_EXIT)
			ptrace(PTRACE_CONT, tid, 0, 0); /* killed before it started */
		else if (t && !parent_is_known(e, tid))
			ptrace_orphans(e);
		return;
	}
	if (proc && !proc->nr_threads) {
		emu_process_exit(e->emu, tid, status);
		ptrace_process_free(proc);
	}
}

int ptrace_resume(struct ptrace_thread *t)
{
	struct user_regs_struct regs;

	if (!t->proc)
		return t->state == PTRACE_TASK_EXITING ? -ESRCH : -EINVAL;
	if (t->passive_execs) {
		t->passive_execs--; /* that was not held; if the thread is, it is by its death */
		return 0;
	}
	if (t->state != PTRACE_TASK_HELD)
		return t->state == PTRACE_TASK_EXITING ? -ESRCH : -EINVAL;
	if (!t->resume_in_user) {
		/*
		 * held at exec, whose trap is still to come, or before the death by resume_sig: no
		 * instruction is executed next, so none is reported
		 */
		if (t->resume_sig == SIGKILL) /* not in a signal stop, so ptrace cannot inject it */
			return kill(t->proc->pid, SIGKILL) ? -errno : 0;
		ptrace_step(t, t->resume_sig);
		return 0;
	}
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return -errno;
	t->resume_in_user = false;
	if (t->proc && t->proc->detaching)
		ptrace_detach_thread(t, 0);
	else
		resume_user_code(t, &regs);
	return 0;
}

int ptrace_regs(struct emu_task *task, struct auxtap_regs *out)
{
	struct user_regs_struct in;

	if (ptrace(PTRACE_GETREGS, emu_task_tid(task), 0, &in))
		return -errno;
	/* clang-format off */
	const u64 regs[AUXTAP_X86_NR_REGS] = {
		[AUXTAP_X86_AX] = in.rax, [AUXTAP_X86_BX] = in.rbx, [AUXTAP_X86_CX] = in.rcx,
		[AUXTAP_X86_DX] = in.rdx, [AUXTAP_X86_SI] = in.rsi, [AUXTAP_X86_DI] = in.rdi,
		[AUXTAP_X86_BP] = in.rbp, [AUXTAP_X86_SP] = in.rsp, [AUXTAP_X86_IP] = in.rip,
		[AUXTAP_X86_FLAGS] = in.eflags, [AUXTAP_X86_CS] = in.cs,
		[AUXTAP_X86_SS] = in.ss, [AUXTAP_X86_DS] = in.ds, [AUXTAP_X86_ES] = in.es,
		[AUXTAP_X86_FS] = in.fs_base, [AUXTAP_X86_GS] = in.gs_base,
		[AUXTAP_X86_R8] = in.r8, [AUXTAP_X86_R9] = in.r9, [AUXTAP_X86_R10] = in.r10,
		[AUXTAP_X86_R11] = in.r11, [AUXTAP_X86_R12] = in.r12,
		[AUXTAP_X86_R13] = in.r13, [AUXTAP_X86_R14] = in.r14,
		[AUXTAP_X86_R15] = in.r15,
	};
	/* clang-format on */

	memset(out, 0, sizeof(*out));
	out->arch = AUXTAP_ARCH_X86_64;
	out->valid = (1ull << AUXTAP_X86_NR_REGS) - 1;
	memcpy(out->reg, regs, sizeof(regs));
	return 0;
}
