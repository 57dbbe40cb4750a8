// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Module auxtap_conform, for tests only: the PMUs of pmu.c, and a file in debugfs through which
 * root runs their operations. No argument can harm the kernel: events are named by id and looked
 * up, and calls that a driver must not make are refused.
 */
#include "pmu.h"
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

static struct conform_event *events;
static DEFINE_RAW_SPINLOCK(events_lock); /* protects the list; while held, no event is freed */
static DEFINE_RAW_SPINLOCK(claims_lock); /* nests inside events_lock */
static struct dentry *file;

unsigned long conform_lock(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&claims_lock, flags);
	return flags;
}

void conform_unlock(unsigned long flags)
{
	raw_spin_unlock_irqrestore(&claims_lock, flags);
}

void conform_event_added(struct conform_event *ce)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&events_lock, flags);
	ce->next = events;
	events = ce;
	raw_spin_unlock_irqrestore(&events_lock, flags);
}

void conform_event_removed(struct conform_event *ce)
{
	struct conform_event **at;
	unsigned long flags;

	raw_spin_lock_irqsave(&events_lock, flags);
	for (at = &events; *at && *at != ce; at = &(*at)->next)
		;
	if (*at)
		*at = ce->next;
	raw_spin_unlock_irqrestore(&events_lock, flags);
}

static struct conform_event *find_event(u64 id)
{
	struct conform_event *ce;

	for (ce = events; ce; ce = ce->next)
		if (ce->event->id == id)
			return ce;
	return NULL;
}

static s64 find_child(u64 parent, pid_t tid)
{
	struct conform_event *ce;

	for (ce = events; ce; ce = ce->next)
		if (ce->event->parent && ce->event->parent->id == parent && ce->event->ctx &&
		    ce->event->ctx->task && !IS_ERR(ce->event->ctx->task) &&
		    task_pid_nr(ce->event->ctx->task) == tid)
			return (s64)ce->event->id;
	return -ENOENT;
}

/* ---- other activity of the CPU ---- */

static DEFINE_PER_CPU(u64, nr_switches);
static struct tracepoint *switch_point;

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	this_cpu_inc(nr_switches);
}

static void find_switch_point(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_switch"))
		switch_point = point;
}

/* ---- operations ---- */

static void empty_work(struct irq_work *work)
{
}

/* Returns when every irq_work that this CPU queued before has run. */
static void drain_irq_work(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(empty_work);

	irq_work_queue(&work);
	irq_work_sync(&work);
}

static void queue_here(void *work)
{
	irq_work_queue(work);
}

static void drain_irq_work_on(int cpu)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(empty_work);

	if (!smp_call_function_single(cpu, queue_here, &work, 1))
		irq_work_sync(&work);
}

/*
 * Whether any of the events belongs to that CPU. Then irq_work of that CPU may change the views
 * (B18 makes it stop events).
 */
static bool any_event_of(const struct conform_call *call, int cpu)
{
	struct conform_event *ce;
	int i;

	for (i = 0; i < CONFORM_NR_VIEWS; i++) {
		ce = call->views[i].id ? find_event(call->views[i].id) : NULL;
		if (ce && (ce->event->cpu == cpu || ce->event->oncpu == cpu))
			return true;
	}
	return false;
}

static long run_call(struct conform_call *call)
{
	struct cpumask others = {0};
	struct conform_event *ce;
	unsigned long flags;
	int i, cpu;

	if (call->op >= CONFORM_NR_OPS || call->target >= CONFORM_NR_VIEWS)
		return -EINVAL;
	migrate_disable();
	raw_spin_lock_irqsave(&events_lock, flags);
	ce = find_event(call->views[call->target].id);
	if (call->op == CONFORM_CHILD)
		call->ret = find_child(call->views[call->target].id, (pid_t)call->arg);
	else
		call->ret = ce ? conform_run_op(ce, call->op, call->arg) : -ENODEV;
	for_each_online_cpu (cpu)
		if (cpu != smp_processor_id() && any_event_of(call, cpu))
			cpumask_set_cpu(cpu, &others);
	raw_spin_unlock_irqrestore(&events_lock, flags);
	drain_irq_work();
	for_each_cpu(cpu, &others) drain_irq_work_on(cpu);
	migrate_enable();

	raw_spin_lock_irqsave(&events_lock, flags);
	for (i = 0; i < CONFORM_NR_VIEWS; i++) {
		struct conform_view *view = &call->views[i];

		ce = view->id ? find_event(view->id) : NULL;
		*view = (struct conform_view){.id = view->id};
		if (ce)
			conform_get_view(ce, view);
	}
	/* taken at the same time as the views */
	call->switches = current->nvcsw + current->nivcsw;
	call->cpu_switches = this_cpu_read(nr_switches);
	call->pmus_after = (unsigned long)conform_pmus() > (unsigned long)&init_task;
	raw_spin_unlock_irqrestore(&events_lock, flags);
	return 0;
}

static long get_orders(struct conform_orders *orders)
{
	struct conform_event *ce;
	unsigned long flags;

	memset(orders->orders, 0, sizeof(orders->orders));
	raw_spin_lock_irqsave(&events_lock, flags);
	ce = find_event(orders->id);
	if (ce) {
		orders->nr = ce->nr_chunks;
		memcpy(orders->orders, ce->orders, sizeof(orders->orders));
	}
	raw_spin_unlock_irqrestore(&events_lock, flags);
	return ce ? 0 : -ENODEV;
}

static long conform_ioctl(struct file *filp, unsigned int cmd, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	union {
		struct conform_call call;
		struct conform_orders orders;
	} * u;
	long ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (cmd != CONFORM_IOC_CALL && cmd != CONFORM_IOC_ORDERS)
		return -ENOTTY;
	u = memdup_user(user, _IOC_SIZE(cmd));
	if (IS_ERR(u))
		return PTR_ERR(u);
	ret = cmd == CONFORM_IOC_CALL ? run_call(&u->call) : get_orders(&u->orders);
	if (!ret && copy_to_user(user, u, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	kfree(u);
	return ret;
}

static const struct file_operations conform_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.unlocked_ioctl = conform_ioctl,
	.llseek = noop_llseek,
};

static int __init conform_init(void)
{
	int ret;

	for_each_kernel_tracepoint(find_switch_point, NULL);
	if (!switch_point)
		return -ENOENT;
	ret = tracepoint_probe_register(switch_point, on_switch, NULL);
	if (ret)
		return ret;
	ret = conform_register();
	if (ret)
		goto no_probe;
	file = debugfs_create_file("auxtap_conform", 0600, NULL, NULL, &conform_fops);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto no_pmus;
	}
	return 0;

no_pmus:
	conform_unregister();
no_probe:
	tracepoint_probe_unregister(switch_point, on_switch, NULL);
	tracepoint_synchronize_unregister();
	return ret;
}

static void __exit conform_exit(void)
{
	debugfs_remove(file);
	conform_unregister();
	tracepoint_probe_unregister(switch_point, on_switch, NULL);
	tracepoint_synchronize_unregister();
}

module_init(conform_init);
module_exit(conform_exit);
MODULE_DESCRIPTION("auxtap: conformance test of the perf AUX core (debugging only)");
MODULE_LICENSE("Dual BSD/GPL");
