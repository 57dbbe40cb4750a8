// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hooks through which the kernel reports on the stepped task: traps and breakpoints by the die
 * chain, system calls, signals and switches by tracepoints. trap.c interprets them.
 */
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include <linux/uprobes.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>
#include "compat.h"
#include "kmod.h"

/* ---- traps ---- */

static int on_debug(struct pt_regs *regs, unsigned long *dr6)
{
	struct kmod_cpu *c = this_cpu_ptr(&kmod_cpus);

	if (c->stepped != current) {
		/* the end of a probed instruction; user code continues after it */
		if (*dr6 & DR_STEP && c->on && current->utask &&
		    current->utask->state == UTASK_SSTEP)
			trap_work_queue(current);
		return NOTIFY_DONE;
	}
	/* Without DR_STEP: a breakpoint before the instruction, a watchpoint or int1 after it */
	if (!(*dr6 & DR_STEP) && regs->ip == c->regs_ip)
		return NOTIFY_DONE;
	if (*dr6 & DR_STEP && !c->own_tf) {
		/*
		 * The kernel's own breakpoint handler has run before (registered earlier, at the
		 * same priority). Besides DR_STEP it leaves only bits of a breakpoint that will
		 * trap by itself, or of an unused register.
		 */
		*dr6 &= ~(DR_STEP | DR_TRAP_BITS);
		current->thread.virtual_dr6 &= ~DR_STEP;
	}
	trap_retire(c, regs, regs->ip);
	return NOTIFY_DONE;
}

/* int3 has run; uprobes run next and must not see the module's TF. */
static int on_int3(struct pt_regs *regs)
{
	struct kmod_cpu *c = this_cpu_ptr(&kmod_cpus);

	if (c->stepped != current)
		return NOTIFY_DONE;
	trap_int3(c, regs);
	trap_work_queue(current);
	return NOTIFY_DONE;
}

static int on_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	/* traps of kernel code come in NMI context and do not matter here */
	if (!args->regs || !user_mode(args->regs))
		return NOTIFY_DONE;
	switch (event) {
	case DIE_DEBUG: /* err points to the handler's copy of DR6 */
		return on_debug(args->regs, (unsigned long *)args->err);
	case DIE_INT3:
		return on_int3(args->regs);
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block die_notifier = {
	.notifier_call = on_die, .priority = INT_MAX, /* before uprobes */
};

/* ---- tracepoints ---- */

static void on_sys_enter(void *data, struct pt_regs *regs, long nr)
{
	unsigned long flags;
	struct kmod_cpu *c;

	local_irq_save(flags);
	c = this_cpu_ptr(&kmod_cpus);
	if (c->stepped == current)
		trap_syscall(c, regs);
	local_irq_restore(flags);
}

/* Only now it is known where user code continues, for example after exec or sigreturn. */
static void on_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	unsigned long flags;
	struct kmod_cpu *c;

	local_irq_save(flags);
	c = this_cpu_ptr(&kmod_cpus);
	if (c->on && trap_may_step(current)) {
		trap_leave(c);
		trap_work_queue(current);
	}
	local_irq_restore(flags);
}

/* Comes before the signal frame or a core dump is written: neither may contain the module's TF. */
static void on_signal(void *data, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	unsigned long flags;
	struct kmod_cpu *c;

	local_irq_save(flags);
	c = this_cpu_ptr(&kmod_cpus);
	if (c->on && trap_may_step(current)) {
		trap_leave(c);
		trap_work_queue(current);
	}
	local_irq_restore(flags);
}

/*
 * TF belongs to the task that is switched out. The unit may stay on: it traces all tasks of this
 * CPU, or the kernel is about to swap the contexts of two tasks whose events are clones of each
 * other. If the kernel switches the unit off and on instead, this call was early but harmless.
 * Interrupts are off.
 */
static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	struct kmod_cpu *c = this_cpu_ptr(&kmod_cpus);

	trap_work_cancel();
	if (!c->on)
		return;
	trap_leave(c);
	if (trap_may_step(next) && (c->all_tasks || compat_has_task_events(next)))
		trap_work_queue(next);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
	bool on;
} points[] = {
	{"sys_enter", on_sys_enter},
	{"sys_exit", on_sys_exit},
	{"signal_deliver", on_signal},
	{"sched_switch", on_switch},
};

/* The tracepoints are not exported, so they are found by name. */
static void find_point(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(tp->name, points[i].name))
			points[i].tp = tp;
}

int trap_hooks_init(void)
{
	int i, err;

	for_each_kernel_tracepoint(find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		err = points[i].tp ?
			      tracepoint_probe_register(points[i].tp, points[i].probe, NULL) :
			      -ENOENT;
		if (err) {
			pr_err("auxtap: no tracepoint %s\n", points[i].name);
			goto undo;
		}
		points[i].on = true;
	}
	err = register_die_notifier(&die_notifier);
	if (err)
		goto undo;
	return 0;
undo:
	trap_hooks_exit();
	return err;
}

void trap_hooks_exit(void)
{
	int i;

	unregister_die_notifier(&die_notifier); /* -ENOENT if it was not registered */
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		if (points[i].on)
			tracepoint_probe_unregister(points[i].tp, points[i].probe, NULL);
		points[i].on = false;
	}
	tracepoint_synchronize_unregister();
}
