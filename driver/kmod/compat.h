/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between the kernels that the module is built for, and nothing else. */
#ifndef AUXTAP_KMOD_COMPAT_H
#define AUXTAP_KMOD_COMPAT_H

#include <linux/sched.h>
#include <linux/version.h>

/* Threads with a user's memory that never run user code. */
#ifdef PF_USER_WORKER /* since 6.4 */
#define COMPAT_PF_WORKER (PF_IO_WORKER | PF_USER_WORKER)
#else
#define COMPAT_PF_WORKER PF_IO_WORKER
#endif

/* Has the task perf events of its own? */
static inline bool compat_has_task_events(const struct task_struct *task)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return task->perf_event_ctxp[perf_sw_context];
#else
	return task->perf_event_ctxp;
#endif
}

#endif
