/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences between the kernels that the module is built for, and nothing else. */
#ifndef AUXTAP_KMOD_COMPAT_H
#define AUXTAP_KMOD_COMPAT_H

#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/version.h>

/* Threads with user memory that never run user code. */
#ifdef PF_USER_WORKER /* since 6.4 */
#define COMPAT_PF_WORKER (PF_IO_WORKER | PF_USER_WORKER)
#else
#define COMPAT_PF_WORKER PF_IO_WORKER
#endif

/* Whether the task has perf events of its own. */
static inline bool compat_has_task_events(const struct task_struct *task)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return task->perf_event_ctxp[perf_sw_context];
#else
	return task->perf_event_ctxp;
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline bool compat_leave_context(struct task_struct *task)
{
	struct perf_event_context *ctx = READ_ONCE(task->perf_event_ctxp[perf_sw_context]);

	if (!ctx || ctx->pmu->module != THIS_MODULE)
		return false;
	/* the value that the kernel stores the next time it uses the context */
	WRITE_ONCE(ctx->pmu, raw_cpu_ptr(ctx->pmu->pmu_cpu_context)->ctx.pmu);
	return true;
}
#endif

/*
 * Call after the PMU is unregistered. Before 6.2 a task's software context refers to the PMU of its
 * first event, even after the event has been closed or refused: the kernel would use that PMU after
 * the module has been unloaded.
 */
static inline void compat_leave_contexts(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	struct task_struct *process, *task;
	bool found;

	do { /* again: a fork may have copied a context before this loop reached it */
		found = false;
		rcu_read_lock();
		for_each_process_thread (process, task)
			found |= compat_leave_context(task);
		rcu_read_unlock();
		synchronize_rcu();
	} while (found);
#endif
}

/* The field that reports an interruption of the task's restartable sequence, which aborts it. */
static inline struct rseq __user *compat_rseq_event(const struct task_struct *task)
{
#ifdef CONFIG_RSEQ
	return task->rseq_event_mask ? task->rseq : NULL;
#else
	return NULL;
#endif
}

#endif
