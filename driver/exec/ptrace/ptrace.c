// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ptrace execution engine: the native program, one instruction at a time. This file contains
 * the loop, the step and the tables; ptrace_stop.c handles all other stops.
 *
 * A step is reported before it is made (emu_task_block), and resolved by the next report. If it is
 * not certain that the instruction will run (a system call about to be restarted, a signal that may
 * be ignored), it is reported after it has run (late_ip).
 */
#include "ptrace.h"
#include <sys/uio.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define UNKNOWN_STATUS (125 << 8) /* as auxtap's own failures are reported */
#define VSYSCALL_PAGE  0xffffffffff600000ull

/* ---- tables ---- */

static struct ptrace_thread **bucket(struct ptrace_engine *e, pid_t tid)
{
	return &e->threads[(unsigned int)tid % THREAD_HASH];
}

struct ptrace_thread *ptrace_find(struct ptrace_engine *e, pid_t tid)
{
	struct ptrace_thread *t = *bucket(e, tid);

	while (t && t->tid != tid)
		t = t->hash_next;
	return t;
}

struct ptrace_thread *ptrace_thread_new(struct ptrace_engine *e, pid_t tid,
					struct ptrace_process *proc)
{
	struct ptrace_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->engine = e;
	t->tid = tid;
	t->proc = proc;
	t->slow = true;
	if (proc) {
		t->mm = proc->mm;
		proc->nr_threads++;
	}
	t->hash_next = *bucket(e, tid);
	*bucket(e, tid) = t;
	e->nr_threads++;
	return t;
}

void ptrace_thread_free(struct ptrace_thread *t)
{
	struct ptrace_thread **link = bucket(t->engine, t->tid);

	while (*link != t)
		link = &(*link)->hash_next;
	*link = t->hash_next;
	t->engine->nr_threads--;
	t->engine->nr_deferred -= t->deferred;
	if (t->proc && !--t->proc->nr_threads && !t->proc->child)
		ptrace_process_free(t->proc);
	free(t);
}

struct ptrace_process *ptrace_process_find(struct ptrace_engine *e, pid_t pid)
{
	struct ptrace_process *proc = e->processes;

	while (proc && proc->pid != pid)
		proc = proc->next;
	return proc;
}

/* Takes over the reference of mm. */
struct ptrace_process *ptrace_process_new(struct ptrace_engine *e, pid_t pid, struct ptrace_mm *mm)
{
	struct ptrace_process *proc = calloc(1, sizeof(*proc));

	if (!proc) {
		ptrace_mm_put(mm);
		return NULL;
	}
	proc->engine = e;
	proc->pid = pid;
	proc->mm = mm;
	proc->next = e->processes;
	e->processes = proc;
	return proc;
}

void ptrace_process_free(struct ptrace_process *proc)
{
	struct ptrace_process **link = &proc->engine->processes;

	while (*link != proc)
		link = &(*link)->next;
	*link = proc->next;
	ptrace_mm_put(proc->mm);
	free(proc);
}

/* fn may free the thread. */
void ptrace_next_thread_each(struct ptrace_process *proc, void (*fn)(struct ptrace_thread *t))
{
	for (int i = 0; i < THREAD_HASH; i++) {
		struct ptrace_thread *t = proc->engine->threads[i], *next;

		for (; t; t = next) {
			next = t->hash_next;
			if (t->proc == proc)
				fn(t);
		}
	}
}

/* ---- steps ---- */

void ptrace_step(struct ptrace_thread *t, int sig)
{
	t->state = PTRACE_TASK_RUNNING;
	/* ESRCH: killed meanwhile; its exit follows */
	ptrace(t->whole_call ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, t->tid, 0, sig);
}

static inline void report_insn(struct ptrace_thread *t, u64 ip)
{
	const struct emu_block block = {
		.ip = ip,
		.last_ip = ip,
		.nr_insns = 1,
		.last_len = t->insn.len,
		.last_cls = t->insn.cls,
		.last_flags = t->insn.flags,
		.code = t->generated ? &t->code[t->code_at].code : NULL,
	};

	if (unlikely(t->generated))
		t->code_at ^= 1;

	emu_task_block(t->task, &block);
	t->reported = true;
}

/* The kernel emulates the vsyscall page: as a call that returns at once. */
static bool vsyscall_return(struct ptrace_thread *t, u64 *ip)
{
	struct user_regs_struct regs;

	if ((*ip & ~(CODE_PAGE - 1)) != VSYSCALL_PAGE || ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return false;
	return ptrace_mem_read(t->tid, regs.rsp, ip, sizeof(*ip)) == sizeof(*ip);
}

static void __attribute__((noinline)) go_nowhere(struct ptrace_thread *t, u64 ip)
{
	u64 back = ip;

	/* nothing can be executed at ip: the flow ends there, a fault will follow */
	emu_task_leave_async(t->task, ip, false);
	t->reported = false;
	t->slow = true;
	t->target_known = false;
	t->late_ip = 0;
	if (vsyscall_return(t, &back) && ptrace_code_at(t, back, &t->insn)) {
		/*
		 * the fault that performs the call does not trap: the step ends after the next
		 * instruction
		 */
		t->ip = back;
		report_insn(t, back);
	}
	ptrace_step(t, 0);
}

static void __attribute__((noinline)) prepare(struct ptrace_thread *t)
{
	unsigned long long rsp;

	t->slow = true;
	if ((t->insn.flags & X86_INSN_PUSHF) && ptrace_stack_top(t, &rsp))
		t->pushed = rsp - (t->insn.len == 1 ? 8 : 2);
	if (t->insn.cls != X86_SYSCALL)
		return;
	if (ptrace_mem_read(t->tid, t->ip, &t->opcode, 1) != 1)
		t->opcode = 0;
	if (t->opcode == 0x0f)
		ptrace_before_syscall(t);
}

/*
 * Whether to compute the target of the branch before the step: if it is not encoded in the
 * instruction, or if the branch may skip a single instruction, whose end is the target, too.
 */
static inline bool needs_target(const struct x86_insn *insn)
{
	switch (insn->cls) {
	case X86_JCC:
		return insn->disp > 0 && insn->disp <= 15;
	case X86_JMP_INDIRECT:
	case X86_CALL_INDIRECT:
	case X86_RET:
	case X86_FAR:
		return true;
	default:
		return false;
	}
}

/* The thread is stopped and its next instruction is at ip. */
void ptrace_continue_at(struct ptrace_thread *t, u64 ip)
{
	t->ip = ip;
	t->late_ip = 0;
	if (unlikely(!ptrace_code_at(t, ip, &t->insn))) {
		go_nowhere(t, ip);
		return;
	}
	report_insn(t, ip);
	t->slow = t->own_tf;
	t->target_known = false;
	if (unlikely(needs_target(&t->insn)))
		ptrace_compute_target(t);
	if (unlikely((t->insn.flags & (X86_INSN_PUSHF | X86_INSN_POPF)) ||
		     t->insn.cls >= X86_SYSCALL))
		prepare(t);
	ptrace_step(t, 0);
}

/* late_ip ran and is not reported yet. */
void ptrace_report_late(struct ptrace_thread *t)
{
	u64 ip = t->late_ip;

	t->late_ip = 0;
	t->target_known = false;
	if (!ptrace_code_at(t, ip, &t->insn))
		return;
	t->ip = ip;
	report_insn(t, ip);
	if (t->insn.cls == X86_SYSCALL)
		t->in_syscall = true;
}

/* The thread stopped in the kernel with this ip: resolves the reported instruction. */
void ptrace_resolve(struct ptrace_thread *t, u64 ip)
{
	struct user_regs_struct regs;

	if (!t->reported)
		return;
	if (unlikely(ip != t->ip && !ptrace_plausible(t, ip)) &&
	    !ptrace(PTRACE_GETREGS, t->tid, 0, &regs) && !ptrace_find_lost(t, &regs))
		return;
	t->reported = false;
	if (ip == t->ip)
		emu_task_leave_async(t->task, ip, true);
	else if (t->insn.cls == X86_SYSCALL || t->insn.cls == X86_FAR)
		emu_task_enter_kernel(t->task);
	else
		emu_task_leave_async(t->task, ip, false);
}

static void on_status(struct ptrace_engine *e, pid_t tid, int status)
{
	struct ptrace_thread *t = ptrace_find(e, tid);
	siginfo_t info;
	u64 ip;

	if (unlikely(!t)) {
		ptrace_foreign(e, tid, status);
		return;
	}
	if (likely(status == (SIGTRAP << 8 | 0x7f) && !t->slow && t->reported)) {
		errno = 0;
		ip = (u64)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rip), 0);
		/* a SIGTRAP from another process hides ours, if both arrive at the same time */
		if (likely(ptrace_plausible(t, ip) && !(ip == (u64)-1 && errno) &&
			   !ptrace(PTRACE_GETSIGINFO, tid, 0, &info) &&
			   info.si_code == TRAP_TRACE)) {
			if (unlikely(t->proc->detaching))
				ptrace_detach_thread(t, 0);
			else
				ptrace_continue_at(t, ip);
			return;
		}
	}
	ptrace_stop(t, status);
	if (e->orphans_due)
		ptrace_orphans(e);
}

/*
 * There is nothing left to wait for, so exits that were not seen never will be: capture must not
 * wait for these threads either. True: there were such threads or processes.
 */
static bool forget_vanished(struct ptrace_engine *e)
{
	bool any = e->nr_threads || e->processes;

	for (int i = 0; i < THREAD_HASH; i++)
		while (e->threads[i]) { /* freed threads leave the table */
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			if (e->threads[i]->proc)
				e->threads[i]->proc->child = true; /* reported below */
			if (e->threads[i]->task)
				emu_task_exit(e->threads[i]->task);
			ptrace_thread_free(e->threads[i]);
		}
	while (e->processes) {
		emu_report_problem(e->emu, e->processes->pid, "ended while it could not be traced");
		emu_process_exit(e->emu, e->processes->pid, UNKNOWN_STATUS);
		ptrace_process_free(e->processes);
	}
	return any;
}

static int run(struct emu *emu)
{
	struct ptrace_engine *e = ptrace_engine_of(emu);
	unsigned int rounds = 0;
	int status;
	pid_t tid;

	for (;;) {
		if (unlikely(emu_has_requests(emu)))
			emu_serve(emu);
		if (unlikely(emu_hung_up(emu)) && !e->detaching_all) {
			e->detaching_all = true;
			ptrace_detach_all(e);
		}
		if (unlikely(!e->nr_threads)) {
			if (emu_hung_up(emu))
				return 0;
			if (!e->processes) {
				emu_wait(emu, -1);
				continue;
			}
		}
		if (unlikely(!(++rounds & 15) || e->nr_deferred))
			ptrace_over_memory(e);
		tid = 0;
		if (unlikely(e->nr_deferred))
			tid = ptrace_deferred(e, &status);
		if (likely(!tid))
			tid = waitpid(-1, &status, __WALL);
		if (likely(tid > 0))
			on_status(e, tid, status);
		else if (errno == ECHILD && !forget_vanished(e))
			emu_wait(emu, 100);
	}
}

/* ---- requests of capture ---- */

static int resume(struct emu_task *task)
{
	return ptrace_resume(emu_task_priv(task));
}

static int send_signal(struct emu *emu, pid_t pid, int signo)
{
	if (pid <= 0 || !ptrace_process_find(ptrace_engine_of(emu), pid))
		return -ESRCH;
	return kill(pid, signo) ? -errno : 0;
}

static int get_siginfo(struct emu_task *task, siginfo_t *info)
{
	const struct ptrace_thread *t = emu_task_priv(task);

	if (t->died_of) {
		*info = t->died_info;
		return 0;
	}
	return ptrace(PTRACE_GETSIGINFO, t->tid, 0, info) ? -errno : 0;
}

static int get_regset(struct emu_task *task, int type, void *buf, size_t *size)
{
	struct iovec set = {buf, *size};

	if (ptrace(PTRACE_GETREGSET, emu_task_tid(task), (void *)(uintptr_t)(unsigned int)type,
		   &set))
		return -errno;
	*size = set.iov_len;
	return 0;
}

static ssize_t read_mem(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size)
{
	ssize_t n;

	if (!ptrace_process_find(ptrace_engine_of(emu), pid) &&
	    !ptrace_find(ptrace_engine_of(emu), pid))
		return -ESRCH;
	n = ptrace_mem_read(pid, addr, buf, size);
	return n < 0 ? -errno : n;
}

static ssize_t read_maps(struct emu *emu, pid_t pid, char **text)
{
	if (!ptrace_process_find(ptrace_engine_of(emu), pid) &&
	    !ptrace_find(ptrace_engine_of(emu), pid))
		return -ESRCH;
	return ptrace_maps_text(pid, text);
}

static int open_engine(struct emu *emu)
{
	struct ptrace_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->emu = emu;
	e->cpu = -1;
	emu_set_engine_priv(emu, e);
	return 0;
}

static void close_engine(struct emu *emu)
{
	free(ptrace_engine_of(emu));
}

const struct emu_engine_ops emu_engine_ptrace = {
	.name = "ptrace",
	.open = open_engine,
	.close = close_engine,
	.spawn = ptrace_spawn,
	.attach = ptrace_attach,
	.run = run,
	.resume = resume,
	.detach = ptrace_detach,
	.signal = send_signal,
	.regs = ptrace_regs,
	.siginfo = get_siginfo,
	.regset = get_regset,
	.mem = read_mem,
	.maps = read_maps,
	.before_encoding = ptrace_code_executes,
	.code = ptrace_code_notes,
};
