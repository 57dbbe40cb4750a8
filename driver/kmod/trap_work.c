// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Task work that runs before the task to be stepped returns to user mode. It is queued with the
 * runqueue locked and in interrupts, where allocation is not possible, so the nodes are
 * preallocated. A queued node holds a module reference; it is cancelled when its task is switched
 * away, so that no sleeping task holds one.
 */
#include <linux/hashtable.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/uprobes.h>
#include <linux/vmalloc.h>
#include <asm/ptrace.h>
#include "kmod.h"
#include "pmu/intel_pt.h"

#define NR_NODES    8192 /* tasks that return to user mode at the same time */
#define QUEUED_BITS 10

struct work_node {
	struct callback_head work;
	/* dereferenced only while queued: a task with queued work exists */
	struct task_struct *task;
	struct hlist_node hash; /* while queued */
	struct llist_node free; /* while free */
};

static struct work_node *nodes;
static LLIST_HEAD(free_nodes);
static DEFINE_HASHTABLE(queued, QUEUED_BITS);
static DEFINE_RAW_SPINLOCK(lock); /* protects both */
static unsigned int nr_queued;	  /* read without the lock, to skip the work if it is 0 */
static atomic64_t nr_lost;	  /* returns to user mode without tracing: no node was free */

static struct work_node *find_node(const struct task_struct *task)
{
	struct work_node *node;

	hash_for_each_possible (queued, node, hash, (unsigned long)task)
		if (node->task == task)
			return node;
	return NULL;
}

static struct work_node *take_node(struct task_struct *task)
{
	struct llist_node *first;
	struct work_node *node;

	if (find_node(task))
		return NULL;
	first = llist_del_first(&free_nodes);
	if (!first) {
		atomic64_inc(&nr_lost);
		intel_pt_flag_partial();
		return NULL;
	}
	node = llist_entry(first, struct work_node, free);
	node->task = task;
	hash_add(queued, &node->hash, (unsigned long)task);
	WRITE_ONCE(nr_queued, nr_queued + 1);
	return node;
}

static void put_node(struct work_node *node)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	hash_del(&node->hash);
	WRITE_ONCE(nr_queued, nr_queued - 1);
	node->task = NULL;
	llist_add(&node->free, &free_nodes);
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* The kernel steps a copy of a probed instruction; on_debug() is called at its end. */
static bool in_uprobe(void)
{
	return current->utask && current->utask->state == UTASK_SSTEP;
}

static void before_user_mode(struct callback_head *work)
{
	struct work_node *node = container_of(work, struct work_node, work);
	struct kmod_cpu *c;

	put_node(node);
	local_irq_disable();
	c = this_cpu_ptr(&kmod_cpus);
	if (c->on && !c->stepped && trap_may_step(current) && !in_uprobe())
		trap_enter(c, task_pt_regs(current));
	local_irq_enable();
	module_put(THIS_MODULE); /* trap_work_exit() waits for the rest of this function */
}

void trap_work_queue(struct task_struct *task)
{
	struct work_node *node;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	node = take_node(task);
	raw_spin_unlock_irqrestore(&lock, flags);
	if (!node)
		return;
	__module_get(THIS_MODULE);
	init_task_work(&node->work, before_user_mode);
	if (task_work_add(task, &node->work, TWA_RESUME)) { /* the task is exiting */
		put_node(node);
		module_put(THIS_MODULE);
	}
}

/*
 * Like task_work_cancel(), which is not exported. Only current runs its work, so it does not run
 * now; other CPUs may add work in front at any time (cmpxchg), and remove work with pi_lock held.
 * That lock is ordered before the runqueue's, which may be held here: if pi_lock is taken, most
 * likely by a waker of the task, the node stays queued.
 */
static bool unlink_work(struct callback_head *work)
{
	struct callback_head **at, *next;

	if (!raw_spin_trylock(&current->pi_lock))
		return false;
	do {
		at = &current->task_works;
		while ((next = READ_ONCE(*at)) && next != work)
			at = &next->next;
		/* another CPU may have added work in front meanwhile */
	} while (next && cmpxchg(at, work, work->next) != work);
	raw_spin_unlock(&current->pi_lock);
	return next;
}

void trap_work_cancel(void)
{
	struct work_node *node;
	unsigned long flags;

	if (!READ_ONCE(nr_queued))
		return;
	local_irq_save(flags);
	raw_spin_lock(&lock);
	node = find_node(current);
	raw_spin_unlock(&lock);
	if (node && unlink_work(&node->work)) {
		put_node(node);
		module_put(THIS_MODULE);
	}
	local_irq_restore(flags);
}

u64 trap_work_nr_lost(void)
{
	return atomic64_read(&nr_lost);
}

int trap_work_init(void)
{
	int i;

	nodes = vzalloc(array_size(NR_NODES, sizeof(*nodes)));
	if (!nodes)
		return -ENOMEM;
	for (i = 0; i < NR_NODES; i++)
		llist_add(&nodes[i].free, &free_nodes);
	return 0;
}

void trap_work_exit(void)
{
	/* nothing is queued, but the last callback may be in its last instructions */
	synchronize_rcu_tasks();
	vfree(nodes);
}
