// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls of the traced program: corrects what single stepping would make visible to it, and
 * tracks their effects on its code. ptrace.c calls this before and after the instruction.
 */
#include "ptrace.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Of a signal's frame, from the stack pointer at the handler's first instruction. */
#define X86_FRAME_SIGMASK 304

/* The kernel's internal restart codes: the call is restarted unless a handler runs first. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

bool ptrace_will_restart(const struct user_regs_struct *regs)
{
	long ret = (long)regs->rax;

	return (long)regs->orig_rax >= 0 &&
	       (ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
		ret == -ERESTART_RESTARTBLOCK);
}

/* SYSCALL leaves rflags in r11, with the TF of our step. */
void ptrace_clear_tf_in_r11(struct ptrace_thread *t, struct user_regs_struct *regs)
{
	if (t->own_tf || !(regs->r11 & TF))
		return;
	regs->r11 &= ~TF;
	ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user, regs.r11), regs->r11);
}

/*
 * The kernel forces a step's SIGTRAP through: if it is blocked, the kernel unblocks it and resets
 * the program's handler. So it is never blocked while we step: trap_blocked keeps the program's own
 * setting, which is restored whenever the mask can be observed.
 */
void ptrace_restore_mask(struct ptrace_thread *t)
{
	u64 mask;

	if (!t->trap_blocked || ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask))
		return;
	mask |= SIGNAL_BIT(SIGTRAP);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
}

/*
 * Is the thread in a system call that has replaced its mask for a while? ptrace shows the mask that
 * the kernel will restore, and one that is set then replaces the call's: a signal that only the
 * call lets through would wait for ever.
 */
static bool has_other_mask(const struct user_regs_struct *regs)
{
	switch ((long)regs->orig_rax) { /* -1 outside of system calls */
	case SYS_rt_sigsuspend:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
		return true;
	default:
		return false;
	}
}

void ptrace_restore_mask_for(struct ptrace_thread *t, const struct user_regs_struct *regs)
{
	t->mask_in_frame = t->trap_blocked && has_other_mask(regs);
	if (!t->mask_in_frame)
		ptrace_restore_mask(t);
}

void ptrace_mask_in_frame(struct ptrace_thread *t, u64 sp)
{
	const u64 addr = sp + X86_FRAME_SIGMASK;
	long word;

	if (!t->mask_in_frame)
		return;
	t->mask_in_frame = false;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, t->tid, addr, 0);
	if (word != -1 || !errno)
		ptrace(PTRACE_POKEDATA, t->tid, addr, (u64)word | SIGNAL_BIT(SIGTRAP));
}

void ptrace_save_mask(struct ptrace_thread *t)
{
	u64 mask;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask))
		return;
	t->trap_blocked = mask & SIGNAL_BIT(SIGTRAP);
	if (!t->trap_blocked)
		return;
	mask &= ~SIGNAL_BIT(SIGTRAP);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
}

static void before_affinity(struct ptrace_thread *t)
{
	struct ptrace_thread *target = t->sys.rdi ? ptrace_find(t->engine, (pid_t)t->sys.rdi) : t;

	if (!target || !target->pinned)
		return;
	ptrace_unpin(target);
	t->unpinned = target->tid;
}

void ptrace_before_syscall(struct ptrace_thread *t)
{
	t->in_syscall = true;
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->sys)) {
		t->sys.rax = (unsigned long long)-1;
		return;
	}
	switch ((long)t->sys.rax) {
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
		/* from entry to exit without a step: no trap is forced through the new mask */
		ptrace_restore_mask(t);
		t->whole_call = true;
		break;
	case SYS_sched_getaffinity:
	case SYS_sched_setaffinity:
		before_affinity(t);
		break;
	default:
		break;
	}
}

static void after_affinity(struct ptrace_thread *t)
{
	struct ptrace_thread *target = t->unpinned ? ptrace_find(t->engine, t->unpinned) : NULL;

	t->unpinned = 0;
	if (!target)
		return;
	if (t->sys.rax == SYS_sched_setaffinity)
		sched_getaffinity(target->tid, sizeof(target->affinity), &target->affinity);
	ptrace_pin(target);
}

static void after_mm(struct ptrace_thread *t, u64 ret)
{
	const struct user_regs_struct *in = &t->sys;
	bool failed = ret > -4096ull;

	switch ((long)in->rax) {
	case SYS_mmap:
		if (failed)
			return;
		ptrace_code_forget(t->mm, ret, in->rsi);
		if (in->rdx & PROT_EXEC)
			ptrace_maps_sync(t, true);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		/* even a failed call may have changed part of the range */
		ptrace_code_forget(t->mm, in->rdi, in->rsi);
		if (in->rdx & PROT_EXEC)
			ptrace_maps_sync(t, true);
		break;
	case SYS_munmap:
		ptrace_code_forget(t->mm, in->rdi, in->rsi);
		break;
	case SYS_mremap:
		ptrace_code_forget(t->mm, in->rdi, in->rsi);
		if (!failed)
			ptrace_code_forget(t->mm, ret, in->rdx);
		ptrace_maps_sync(t, true);
		break;
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_remap_file_pages:
		ptrace_code_forget_all(t->mm);
		ptrace_maps_sync(t, true);
		break;
	default:
		break;
	}
}

void ptrace_after_syscall(struct ptrace_thread *t, struct user_regs_struct *regs)
{
	t->in_syscall = false;
	if ((long)t->sys.rax != SYS_rt_sigreturn)
		ptrace_clear_tf_in_r11(t, regs);
	switch ((long)t->sys.rax) {
	case SYS_rt_sigreturn:
		t->own_tf = regs->eflags & TF;
		break;
	case SYS_sched_getaffinity:
	case SYS_sched_setaffinity:
		after_affinity(t);
		break;
	default:
		after_mm(t, regs->rax);
		break;
	}
}
