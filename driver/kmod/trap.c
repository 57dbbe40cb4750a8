// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trap engine: user code runs with TF set, and each trap reports one instruction to the unit.
 * This file interprets a step. Its callers are trap_hooks.c (traps, system calls, signals and
 * switches), trap_work.c (the return to user mode) and kmod_unit_pt.c (the driver's switch).
 */
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/processor-flags.h>
#include "compat.h"
#include "kmod.h"
#include "pmu/intel_pt.h"

/* ---- code ---- */

/* Must not fault: a page that is not in memory counts as unreadable. */
static unsigned int read_code(u64 ip, u8 *code)
{
	const void __user *from = (const void __user *)(unsigned long)ip;
	unsigned int left = PAGE_SIZE - offset_in_page(ip);

	if (!copy_from_user_nofault(code, from, KMOD_INSN_MAX))
		return KMOD_INSN_MAX;
	if (left < KMOD_INSN_MAX && !copy_from_user_nofault(code, from, left))
		return left;
	return 0;
}

static bool decode(struct kmod_cpu *c)
{
	unsigned int avail = read_code(c->ip, c->code);

	if (avail && !x86_insn_decode(c->code, avail, 64, &c->insn))
		return true;
	c->insn.len = 0;
	return false;
}

/* Whether the instruction at c->ip can lead to next_ip. Always true for indirect branches. */
static bool leads_to(const struct kmod_cpu *c, u64 next_ip)
{
	u64 fall_through = c->ip + c->insn.len, target = fall_through + (s64)c->insn.disp;

	switch (c->insn.cls) {
	case X86_PLAIN:
		return next_ip == fall_through;
	case X86_JCC:
		return next_ip == fall_through || next_ip == target;
	case X86_JMP:
	case X86_CALL:
		return next_ip == target;
	default:
		return true;
	}
}

/* SYSCALL itself, which puts the flags into r11 and the address after it into rcx. */
static bool is_syscall_insn(const struct kmod_cpu *c)
{
	const u8 *end = c->code + c->insn.len;

	return c->insn.cls == X86_SYSCALL && c->insn.len >= 2 && end[-2] == 0x0f && end[-1] == 0x05;
}

/* mov ss suppresses the trap until after the next instruction. */
static bool is_mov_ss(const struct kmod_cpu *c)
{
	unsigned int i;

	for (i = 0; i + 1 < c->insn.len; i++) {
		switch (c->code[i]) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64 ... 0x67:
		case 0xf2:
		case 0xf3:
		case 0x40 ... 0x4f:
			continue;
		}
		return c->code[i] == 0x8e && (c->code[i + 1] >> 3 & 7) == 2;
	}
	return false;
}

/* ---- user mode, as reported to the unit ---- */

static void set_tf(struct pt_regs *regs, bool on)
{
	if (on)
		regs->flags |= X86_EFLAGS_TF;
	else
		regs->flags &= ~X86_EFLAGS_TF;
}

bool trap_may_step(const struct task_struct *task)
{
	return task->mm && !(task->flags & (PF_KTHREAD | PF_EXITING | COMPAT_PF_WORKER));
}

/*
 * A task that was interrupted in a restartable sequence continues at the abort handler, which the
 * kernel sets up on the way to user mode, after the module's task work. Returns the handler's
 * address; 0: the task continues where it was.
 */
static u64 rseq_abort_ip(const struct pt_regs *regs)
{
	struct rseq __user *rseq = compat_rseq_event(current);
	struct rseq_cs cs;
	u64 at;

	if (!rseq || copy_from_user_nofault(&at, &rseq->rseq_cs, sizeof(at)) || !at ||
	    copy_from_user_nofault(&cs, (const void __user *)(unsigned long)at, sizeof(cs)))
		return 0;
	return regs->ip - cs.start_ip < cs.post_commit_offset ? cs.abort_ip : 0;
}

void trap_enter(struct kmod_cpu *c, struct pt_regs *regs)
{
	u64 abort_ip;

	if (!user_64bit_mode(regs)) {
		atomic64_inc(&kmod_counts.not_64bit);
		intel_pt_flag_partial();
		return;
	}
	abort_ip = rseq_abort_ip(regs);
	c->stepped = current;
	c->own_tf = regs->flags & X86_EFLAGS_TF;
	c->ip = abort_ip ? abort_ip : regs->ip;
	c->regs_ip = regs->ip;
	set_tf(regs, true);
	kmod_unit_clock(c);
	pt_unit_enter_user(&c->unit, c->ip);
	decode(c);
}

static void stop_stepping(struct kmod_cpu *c)
{
	set_tf(task_pt_regs(current), c->own_tf);
	c->stepped = NULL;
}

static void note_retired(struct kmod_cpu *c)
{
	steps_add(c->ip);
	atomic64_inc(&kmod_counts.steps);
	kmod_unit_clock(c);
}

/* Retires the instruction at c->ip if it suppressed its trap and the one after it has run, too. */
static void pass_mov_ss(struct kmod_cpu *c, u64 next_ip)
{
	u64 fall_through = c->ip + c->insn.len;

	if (!c->insn.len || next_ip == c->ip || next_ip == fall_through || !is_mov_ss(c))
		return;
	note_retired(c);
	pt_unit_retire(&c->unit, 1, fall_through);
	c->ip = c->regs_ip = fall_through;
	decode(c);
}

static void leave_async(struct kmod_cpu *c)
{
	kmod_unit_clock(c);
	pt_unit_leave_async(&c->unit, c->ip);
	stop_stepping(c);
}

/*
 * Whatever made the task leave user mode, with or without a hook: its saved IP shows whether the
 * instruction at c->ip has run. An instruction that has run without a trap entered the kernel by
 * itself, or the kernel emulated it (vsyscall, UMIP, a debugger).
 */
void trap_leave(struct kmod_cpu *c)
{
	struct pt_regs *regs;

	if (!c->stepped)
		return;
	regs = task_pt_regs(current);
	if (regs->ip != c->regs_ip)
		pass_mov_ss(c, regs->ip);
	if (regs->ip == c->regs_ip || regs->ip == c->ip) {
		leave_async(c);
		return;
	}
	if (!c->insn.len) /* it has run: so its page is in memory now */
		decode(c);
	if (!c->insn.len || c->insn.cls != X86_SYSCALL || regs->ip != c->ip + c->insn.len) {
		atomic64_inc(c->insn.len ? &kmod_counts.lost_track : &kmod_counts.unreadable);
		intel_pt_flag_partial();
		leave_async(c);
		return;
	}
	if (is_syscall_insn(c) && !c->own_tf && regs->cx == regs->ip)
		regs->r11 &= ~(unsigned long)X86_EFLAGS_TF;
	note_retired(c);
	pt_unit_leave_syscall(&c->unit, c->ip);
	stop_stepping(c);
}

/* SYSCALL and int 0x80 have two bytes: the kernel sets IP back that far to restart a call. */
#define RESTART_BYTES 2

void trap_syscall(struct kmod_cpu *c, const struct pt_regs *regs)
{
	if (c->stepped && regs->ip == c->ip) {
		/* IP was set back after the module's task work: no user code ran at c->ip */
		kmod_unit_clock(c);
		pt_unit_leave_async(&c->unit, c->ip);
		c->ip -= RESTART_BYTES;
		c->regs_ip = c->ip;
		pt_unit_enter_user(&c->unit, c->ip);
		decode(c);
	}
	trap_leave(c);
}

/*
 * int3 has run. If a uprobe or a debugger wrote it, it is not part of the program: the instruction
 * at its address has not run yet.
 */
void trap_int3(struct kmod_cpu *c, const struct pt_regs *regs)
{
	pass_mov_ss(c, regs->ip);
	if (test_bit(MMF_HAS_UPROBES, &current->mm->flags) || current->ptrace)
		leave_async(c);
	else
		trap_leave(c);
}

/* It is unknown which code ran since c->ip: flags PARTIAL and continues at next_ip. */
static void report_missed(struct kmod_cpu *c, u64 next_ip, atomic64_t *count)
{
	atomic64_inc(count);
	intel_pt_flag_partial();
	kmod_unit_clock(c);
	pt_unit_leave_async(&c->unit, c->ip);
	pt_unit_enter_user(&c->unit, next_ip);
}

/* Clears TF, bit 8, in the flags that pushf has stored, whatever their size. */
static void hide_pushed_tf(const struct pt_regs *regs)
{
	u16 __user *top = (u16 __user *)regs->sp;
	u16 flags;

	if (copy_from_user_nofault(&flags, top, sizeof(flags)))
		return;
	flags &= ~(u16)X86_EFLAGS_TF;
	/*
	 * The program has just written to this page; if it is gone meanwhile, TF stays in the
	 * stored flags.
	 */
	if (copy_to_user_nofault(top, &flags, sizeof(flags)))
		atomic64_inc(&kmod_counts.unreadable);
}

void trap_retire(struct kmod_cpu *c, struct pt_regs *regs, u64 next_ip)
{
	if (!c->insn.len && !decode(c)) { /* it has run: so its page is in memory now */
		report_missed(c, next_ip, &kmod_counts.unreadable);
		goto next;
	}
	/* each iteration of a REP instruction traps; to the unit they are one instruction */
	if (c->insn.flags & X86_INSN_REP && next_ip == c->ip)
		return;
	pass_mov_ss(c, next_ip);
	if (!c->insn.len || !leads_to(c, next_ip)) { /* for example, a debugger changed IP */
		report_missed(c, next_ip, &kmod_counts.lost_track);
		goto next;
	}
	note_retired(c);
	switch (c->insn.cls) {
	case X86_PLAIN:
		pt_unit_retire(&c->unit, 1, next_ip);
		break;
	case X86_SYSCALL:
	case X86_FAR:
		pt_unit_leave_syscall(&c->unit, c->ip);
		pt_unit_enter_user(&c->unit, next_ip);
		break;
	default:
		pt_unit_branch(&c->unit, c->insn.cls, c->ip, c->insn.len, next_ip);
		break;
	}
	if (c->insn.flags & X86_INSN_PUSHF && !c->own_tf)
		hide_pushed_tf(regs);
	if (c->insn.flags & X86_INSN_POPF)
		c->own_tf = regs->flags & X86_EFLAGS_TF;
next:
	c->ip = c->regs_ip = next_ip;
	if (!user_64bit_mode(regs)) {
		trap_leave(c);
		atomic64_inc(&kmod_counts.not_64bit);
		intel_pt_flag_partial();
		return;
	}
	set_tf(regs, true);
	decode(c);
}

/* ---- the driver's switch ---- */

void trap_on(struct kmod_cpu *c)
{
	const struct perf_event *event = intel_pt_traced_event();

	c->on = c->unit.ctl & RTIT_CTL_USR;
	c->all_tasks = event && !(event->attach_state & PERF_ATTACH_TASK);
	if (c->on && trap_may_step(current))
		trap_work_queue(current);
}

void trap_off(struct kmod_cpu *c)
{
	trap_leave(c);
	trap_work_cancel();
	c->on = false;
}
