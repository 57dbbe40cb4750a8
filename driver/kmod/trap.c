// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trap source: user code runs under TF, each trap tells the unit of one instruction.
 * Here is what a step means; who calls: trap_hooks.c (the traps, and what else the kernel
 * does to the task), trap_work.c (the way back to user mode), unit.c (the driver's
 * switch).
 */
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/processor-flags.h>
#include "compat.h"
#include "kmod.h"
#include "pmu/intel_pt.h"

#define INSN_MAX 15

/* ---- code ---- */

/* Nothing may fault here: a page that is not in memory is as good as none. */
static unsigned int read_code(u64 ip, u8 *code)
{
	const void __user *from = (const void __user *)(unsigned long)ip;
	unsigned int left = PAGE_SIZE - offset_in_page(ip);

	if (!copy_from_user_nofault(code, from, INSN_MAX))
		return INSN_MAX;
	if (left < INSN_MAX && !copy_from_user_nofault(code, from, left))
		return left;
	return 0;
}

static bool decode(struct kmod_cpu *c)
{
	u8 code[INSN_MAX];
	unsigned int avail = read_code(c->ip, code);

	if (avail && !x86_insn_decode(code, avail, 64, &c->insn))
		return true;
	c->insn.len = 0;
	return false;
}

/* Does the instruction at c->ip lead to next_ip? Where no address is written down, yes.
 */
static bool leads_to(const struct kmod_cpu *c, u64 next_ip)
{
	u64 fall = c->ip + c->insn.len, target = fall + (s64)c->insn.disp;

	switch (c->insn.cls) {
	case X86_PLAIN:
		return next_ip == fall;
	case X86_JCC:
		return next_ip == fall || next_ip == target;
	case X86_JMP:
	case X86_CALL:
		return next_ip == target;
	default:
		return true;
	}
}

/* ---- user mode as the unit is told of it ---- */

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

void trap_enter(struct kmod_cpu *c, struct pt_regs *regs)
{
	if (!user_64bit_mode(regs)) {
		atomic64_inc(&kmod_counts.not_64bit);
		intel_pt_hole();
		return;
	}
	c->stepped = current;
	c->own_tf = regs->flags & X86_EFLAGS_TF;
	c->ip = regs->ip;
	set_tf(regs, true);
	kmod_unit_clock(c);
	pt_unit_enter_user(&c->unit, c->ip);
	decode(c);
}

static void forget(struct kmod_cpu *c)
{
	set_tf(task_pt_regs(current), c->own_tf);
	c->stepped = NULL;
}

void trap_leave(struct kmod_cpu *c)
{
	if (!c->stepped)
		return;
	kmod_unit_clock(c);
	pt_unit_leave_async(&c->unit, c->ip);
	forget(c);
}

void trap_leave_by_syscall(struct kmod_cpu *c)
{
	steps_add(c->ip);
	atomic64_inc(&kmod_counts.steps);
	kmod_unit_clock(c);
	pt_unit_leave_syscall(&c->unit, c->ip);
	forget(c);
}

/* What ran since c->ip is not known. */
static void hole(struct kmod_cpu *c, u64 next_ip, atomic64_t *count)
{
	atomic64_inc(count);
	intel_pt_hole();
	kmod_unit_clock(c);
	pt_unit_leave_async(&c->unit, c->ip);
	pt_unit_enter_user(&c->unit, next_ip);
}

static void hide_pushed_tf(const struct pt_regs *regs)
{
	unsigned long __user *top = (unsigned long __user *)regs->sp;
	unsigned long flags;

	if (copy_from_user_nofault(&flags, top, sizeof(flags)))
		return;
	flags &= ~(unsigned long)X86_EFLAGS_TF;
	/* it was written a moment ago; if the page has gone meanwhile, TF stays in the
	 * image */
	if (copy_to_user_nofault(top, &flags, sizeof(flags)))
		atomic64_inc(&kmod_counts.unreadable);
}

void trap_retire(struct kmod_cpu *c, struct pt_regs *regs, u64 next_ip)
{
	if (!c->insn.len && !decode(c)) { /* it has run: now its page is in memory */
		hole(c, next_ip, &kmod_counts.unreadable);
		goto next;
	}
	/* TF traps on every iteration; to the unit it is one instruction */
	if (c->insn.flags & X86_INSN_REP && next_ip == c->ip)
		return;
	if (!leads_to(c, next_ip)) { /* held-back traps (mov ss), rseq, a debugger */
		hole(c, next_ip, &kmod_counts.lost_track);
		goto next;
	}
	steps_add(c->ip);
	atomic64_inc(&kmod_counts.steps);
	kmod_unit_clock(c);
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
	c->ip = next_ip;
	if (!user_64bit_mode(regs)) {
		trap_leave(c);
		atomic64_inc(&kmod_counts.not_64bit);
		intel_pt_hole();
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
	c->on = false;
}
