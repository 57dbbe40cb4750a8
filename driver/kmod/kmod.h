/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The module's own state. x86_main.c loads and unloads; kmod_unit_pt.c is the trace unit of each
 * CPU, unit_log.c its log; trap.c executes the traced task in single steps and feeds the unit,
 * trap_hooks.c passes on what the kernel does to that task, trap_work.c runs before the task
 * returns to user mode; steps.c logs the addresses that were stepped; replay.c feeds the unit with
 * supplied bytes instead; kernel_symbols.c looks up functions that the kernel does not export.
 */
#ifndef AUXTAP_KMOD_H
#define AUXTAP_KMOD_H

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <asm/msr-index.h>

/* The kernel has these names for the same bits; the hardware model does not use kernel headers. */
#undef RTIT_CTL_TRACEEN
#undef RTIT_CTL_OS
#undef RTIT_CTL_USR
#undef RTIT_CTL_TOPA
#undef RTIT_CTL_DISRETC
#undef RTIT_STATUS_FILTEREN
#undef RTIT_STATUS_CONTEXTEN
#undef RTIT_STATUS_TRIGGEREN
#undef RTIT_STATUS_ERROR
#undef RTIT_STATUS_STOPPED
#include "hw/pt_unit.h"
#include "hw/unit_faults.h"
#include "irq_line.h"
#include "replay.h"
#include "unit_log.h"

struct dentry;

#define KMOD_INSN_MAX 15

/* The state of one CPU. Accessed only by that CPU, with interrupts off. */
struct kmod_cpu {
	struct pt_unit unit;
	struct pt_output_bus bus;
	u64 tsc; /* the unit's clock: the processor's TSC, read before each call of the unit */
	struct irq_line interrupt;
	struct unit_faults faults;
	u64 entry; /* the table entry that the unit has read, with a fault applied */
	struct unit_log log;
	u32 nr_starts;		/* times the unit was switched on */
	u32 last_partial_start; /* nr_starts when PARTIAL was injected last */

	/* trap.c */
	bool on;	/* the driver has enabled tracing of user code */
	bool all_tasks; /* ... of every task that runs on this CPU */
	/*
	 * current, while its user code runs with TF set by the module: the unit is in user mode,
	 * and ip is the task's next instruction. NULL: the unit is not in user mode.
	 */
	struct task_struct *stepped;
	u64 ip;
	u64 regs_ip; /* IP in the saved registers while the instruction at ip has not run */
	u8 code[KMOD_INSN_MAX];
	struct x86_insn insn; /* at ip; len 0: its bytes could not be read yet */
	bool own_tf;	      /* the program, or its debugger, has set TF, too */
};

DECLARE_PER_CPU(struct kmod_cpu, kmod_cpus);

/* kmod_unit_pt.c */
extern struct intel_pt_hw kmod_hw;
int kmod_units_init(struct dentry *dir);
void kmod_units_exit(void);
/* Sets the unit's clock; call before any other call of the unit. */
void kmod_unit_clock(struct kmod_cpu *c);

/* trap.c */
void trap_on(struct kmod_cpu *c);  /* the unit was switched on */
void trap_off(struct kmod_cpu *c); /* the unit is about to be switched off */
/* current has left user mode, or is about to continue elsewhere in it: clears TF. */
void trap_leave(struct kmod_cpu *c);
/* current is about to enter user mode with these registers. */
void trap_enter(struct kmod_cpu *c, struct pt_regs *regs);
/* The instruction at c->ip has retired and the next one is at next_ip. */
void trap_retire(struct kmod_cpu *c, struct pt_regs *regs, u64 next_ip);
/* current enters a system call, or has executed an int3. */
void trap_syscall(struct kmod_cpu *c, const struct pt_regs *regs);
void trap_int3(struct kmod_cpu *c, const struct pt_regs *regs);
bool trap_may_step(const struct task_struct *task);

/* trap_hooks.c */
int trap_hooks_init(void);
void trap_hooks_exit(void);

/*
 * trap_work.c. Before task (current, or one that is about to run here) returns to user mode,
 * trap_enter() is called for it, if tracing is still on then. Interrupts are off.
 */
void trap_work_queue(struct task_struct *task);
/* current is about to sleep, or is no longer traced; it is queued again when needed. */
void trap_work_cancel(void);
int trap_work_init(void);
void trap_work_exit(void);
u64 trap_work_nr_lost(void);

/* steps.c */
int steps_init(struct dentry *dir);
void steps_exit(void);
void steps_add(u64 ip);

/*
 * kernel_symbols.c: functions that the kernel does not export. If one is not found, its feature is
 * disabled.
 */
void symbols_init(void);

/* Counts in debugfs, auxtap/counts: what could not be traced, and why. */
struct kmod_counts {
	atomic64_t steps;
	atomic64_t unreadable; /* instructions whose bytes could not be read */
	atomic64_t lost_track; /* a step went to an address that its instruction cannot reach */
	atomic64_t not_64bit;  /* entries into 32-bit code */
};
extern struct kmod_counts kmod_counts;

#endif
