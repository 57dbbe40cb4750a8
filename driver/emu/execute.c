// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The hot path: reports executed blocks to the task's trace units, and takes the units' interrupts
 * and interprocessor interrupts where a processor would. The engines supply the blocks; tasks:
 * task.c.
 */
#include "emu_state.h"
#include "emu_unit.h"
#include "pmu/intel_pt.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <unistd.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * The only global of the emulated machine: drivers are kernel code, and the functions that they
 * call (struct intel_pt_hw, arm_spe_hw, cs_etm_hw: rdmsr, mrs) name a CPU, not a machine. For the
 * same reason driver/core has globals and per-CPU variables where a kernel has them.
 */
static struct emu *machine;

struct emu *emu_the_machine(void)
{
	return machine;
}

/* ---- callbacks of the PT unit ---- */

static void *unit_phys(void *ctx, u64 phys_addr, u64 size)
{
	(void)ctx;
	return core_phys_to_virt(phys_addr, size);
}

static void raise_irq(void *ctx)
{
	struct emu_task *task = ctx;

	if (!(task->pending_work & WORK_IRQ))
		task->irq_delay_left = task->emu->irq_delay_blocks;
	task->pending_work |= WORK_IRQ;
	task->pt_irq_raised = true;
}

/* The shadow unit's output is discarded: no address is readable. */
static void *shadow_phys(void *ctx, u64 phys_addr, u64 size)
{
	(void)ctx;
	(void)phys_addr;
	(void)size;
	return NULL;
}

static void shadow_irq(void *ctx)
{
	(void)ctx;
}

void emu_task_start_unit(struct emu_task *task)
{
	task->pt_bus = (struct pt_output_bus){.ctx = task, .phys = unit_phys, .irq = raise_irq};
	task->pt_shadow_bus =
		(struct pt_output_bus){.ctx = task, .phys = shadow_phys, .irq = shadow_irq};
	pt_unit_init(&task->pt, &task->emu->pt_config, &task->pt_bus);
	task->pt.out.irq_delay_bytes = task->emu->irq_delay_bytes;
	task->pt_active = &task->pt;
	task->pending_work = WORK_ENTER;
}

/*
 * If tracing is enabled, but the driver has switched the unit off, or not on, for lack of space,
 * the shadow unit runs instead. Called in kernel mode: the shadow unit traces from the next return
 * to user mode on.
 */
static void shadow_check(struct emu_task *task)
{
	if (!task->trace_wanted || (task->pt.ctl & RTIT_CTL_TRACEEN) || !task->scheduled ||
	    task->pt_active == &task->pt_shadow)
		return;
	pt_unit_init(&task->pt_shadow, &task->emu->pt_config, &task->pt_shadow_bus);
	if (task->pt.ret_compression_off)
		pt_unit_disable_ret_compression(&task->pt_shadow);
	if (pt_unit_wrmsr(&task->pt_shadow, MSR_RTIT_OUTPUT_BASE, 0) ||
	    pt_unit_wrmsr(&task->pt_shadow, MSR_RTIT_OUTPUT_MASK_PTRS, 0x7f) ||
	    pt_unit_wrmsr(&task->pt_shadow, MSR_RTIT_CTL, task->trace_ctl | RTIT_CTL_TOPA))
		return;
	task->pt_active = &task->pt_shadow;
}

static void shadow_end(struct emu_task *task)
{
	if (task->pt_active != &task->pt_shadow)
		return;
	task->shadow_produced += task->pt_shadow.nr_produced;
	task->pt_active = &task->pt;
}

static u64 hw_read(int cpu, u32 msr)
{
	const struct emu_task *task = machine->cpus[cpu];

	return task ? pt_unit_rdmsr(&task->pt, msr) : 0;
}

static void hw_write(int cpu, u32 msr, u64 value)
{
	struct emu_task *task = machine->cpus[cpu];
	char why[96];

	if (!task)
		return;
	if (pt_unit_wrmsr(&task->pt, msr, value)) {
		/* a kernel would log 'unchecked MSR access error' and continue */
		snprintf(why, sizeof(why), "driver: refused write of %#llx to MSR %#x",
			 (unsigned long long)value, msr);
		emu_report_problem(machine, task->core.pid, why);
		return;
	}
	if (msr == MSR_RTIT_CTL && (value & RTIT_CTL_TRACEEN)) {
		task->trace_wanted = true;
		task->trace_ctl = value;
		shadow_end(task);
	}
}

bool emu_task_tracing(const struct emu_task *task)
{
	return task->pt_active == &task->pt && (task->pt.ctl & RTIT_CTL_TRACEEN) &&
	       !(task->pt.out.status & RTIT_STATUS_STOPPED);
}

void emu_task_set_enabled(struct emu_task *task, bool enabled, bool was_tracing)
{
	/*
	 * If a truncation has already switched the unit off, the shadow counts what runs now: it is
	 * not untraced.
	 */
	if (!enabled && !task->paused && was_tracing) {
		task->paused = true;
		task->paused_at = task->nr_insns;
	} else if (enabled && task->paused) {
		task->paused = false;
		task->nr_untraced += task->nr_insns - task->paused_at;
	}
	task->trace_wanted = enabled && task->trace_ctl;
	/* after a truncation capture disables and enables the event (D21): the shadow continues */
	if (enabled)
		shadow_check(task);
}

void emu_task_trace_closed(struct emu_task *task)
{
	task->trace_wanted = false;
	shadow_end(task);
}

/* CPUID values of the emulated processor, for the PT unit, and through sysfs for decoders. */
#define TSC_CTC_N  80
#define TSC_CTC_D  2
#define CORE_RATIO 10

static const struct intel_pt_hw hw = {
	.read = hw_read,
	.write = hw_write,
	.single_range = true,
	.topa_multiple_entries = true,
	.max_nonturbo_ratio = CORE_RATIO,
	.tsc_art_n = TSC_CTC_N,
	.tsc_art_d = TSC_CTC_D,
};

static uint64_t machine_clock(void *ctx)
{
	return emu_tick(ctx);
}

static void machine_wakeup(void *ctx, struct perf_event *event)
{
	const struct emu_event *ev = core_event_priv(event);
	uint64_t one = 1;

	/* EAGAIN: the counter is full, so it is readable already */
	if (ev && write(ev->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		emu_report_problem(ctx, ev->task->core.pid, "wakeup failed");
}

int emu_pmu_start(struct emu *emu)
{
	const struct core_machine m = {
		.ctx = emu,
		.clock = machine_clock,
		.wakeup = machine_wakeup,
	};
	int ret;

	machine = emu;
	/*
	 * One instruction is one TSC tick and one core cycle; perf time is the TSC, so a tick
	 * appears as a nanosecond: 1 GHz, ten times the bus clock. CTC: 25 MHz.
	 */
	emu->pt_config = (struct pt_unit_config){
		.tsc = &emu->tsc,
		.tsc_ctc_n = TSC_CTC_N,
		.tsc_ctc_d = TSC_CTC_D,
		.mtc_freq = 3,
		.core_bus_ratio = CORE_RATIO,
		.max_nonturbo_ratio = CORE_RATIO,
	};
	core_machine_set(&m);
	ret = intel_pt_register("intel_pt", &hw);
	return ret ? ret : emu_unit_start_all(emu);
}

/* ---- the task's trace units ---- */

static inline bool is_x86(const struct emu_task *task)
{
	return __builtin_expect(task->arch == AUXTAP_ARCH_X86_64, 1);
}

static void enter_user(struct emu_task *task, u64 ip)
{
	if (is_x86(task))
		pt_unit_enter_user(task->pt_active, ip);
	else
		for (struct emu_unit *u = task->arm_units; u; u = u->next)
			u->ops->enter(u, ip);
}

static void arm_units_leave(struct emu_task *task, u64 ip, bool by_call)
{
	for (struct emu_unit *u = task->arm_units; u; u = u->next)
		u->ops->leave(u, ip, by_call);
}

static void arm_units_sample(struct emu_task *task, u32 nr, u64 next_ip)
{
	u64 index = (task->sample.pc - task->unresolved.ip) / A64_INSN_LEN;

	task->has_sample = false;
	if (index >= nr)
		return; /* the sampled instruction has not retired */
	for (struct emu_unit *u = task->arm_units; u; u = u->next)
		if (u->ops->sample)
			u->ops->sample(u, &task->sample,
				       index + 1 == nr ? next_ip : task->sample.pc + A64_INSN_LEN);
}

static void arm_units_retire(struct emu_task *task, u32 nr, u64 next_ip)
{
	for (struct emu_unit *u = task->arm_units; u; u = u->next)
		u->ops->retire(u, &task->unresolved, nr, next_ip);
	if (unlikely(task->has_sample))
		arm_units_sample(task, nr, next_ip);
}

void emu_task_sample(struct emu_task *task, const struct emu_sample *sample)
{
	task->sample = *sample;
	task->has_sample = true;
}

static void units_interrupt(struct emu_task *task)
{
	if (task->pt_irq_raised)
		intel_pt_interrupt();
	task->pt_irq_raised = false;
	for (struct emu_unit *u = task->arm_units; u; u = u->next) {
		if (u->irq) {
			u->irq = false;
			u->ops->interrupt(u);
		}
	}
}

/* ---- entering and leaving user mode ---- */

void emu_task_schedule(struct emu_task *task, bool in)
{
	if (task->scheduled == in || task->cpu < 0)
		return;
	core_set_cpu(task->cpu);
	emu_tick(task->emu);
	if (in) {
		task->scheduled = true;
		core_task_sched_in(&task->core);
		shadow_check(task);
	} else {
		task->scheduled = false;
		task->pending_work |= WORK_ENTER;
		core_task_sched_out(&task->core);
	}
	core_irq_work_run();
}

void emu_task_kernel_exit(struct emu_task *task, u64 ip)
{
	task->pending_work &= ~WORK_ENTER;
	task->in_user = true;
	task->ip = ip;
	enter_user(task, ip);
}

static void leave_async(struct emu_task *task, u64 ip)
{
	if (is_x86(task))
		pt_unit_leave_async(task->pt_active, ip);
	else
		arm_units_leave(task, ip, false);
	task->in_user = false;
	task->ip = ip;
	task->pending_work |= WORK_ENTER;
	emu_tick(task->emu);
}

/* The PMI (H13 in docs/kernel-rules.md), or an Arm unit's interrupt. */
static void take_irq(struct emu_task *task, u64 ip)
{
	bool in_user = task->in_user;

	if (in_user)
		leave_async(task, ip);
	task->pending_work &= ~WORK_IRQ;
	core_set_cpu(task->cpu);
	emu_tick(task->emu);
	units_interrupt(task);
	core_irq_work_run();
	shadow_check(task);
	if (in_user)
		emu_task_kernel_exit(task, ip);
}

void emu_task_run_ipi(struct emu_task *task, void (*fn)(void *arg), void *arg)
{
	bool in_user = task->in_user;
	u64 ip = task->ip;

	/* The unresolved block has not retired yet: the interrupt precedes it. */
	if (in_user)
		leave_async(task, ip);
	if (task->cpu >= 0)
		core_set_cpu(task->cpu);
	emu_tick(task->emu);
	fn(arg);
	core_irq_work_run();
	if (in_user)
		emu_task_kernel_exit(task, ip);
}

void __attribute__((noinline)) emu_task_do_work(struct emu_task *task, u64 ip)
{
	if (!task->scheduled)
		emu_task_schedule(task, true);
	if (task->pending_work & WORK_IRQ) {
		if (task->irq_delay_left)
			task->irq_delay_left--;
		else
			take_irq(task, ip);
	}
	if (task->pending_work & WORK_IPI) {
		task->pending_work &= ~WORK_IPI;
		if (task->in_user)
			leave_async(task, ip);
	}
	if (!task->in_user) {
		emu_tick(task->emu);
		emu_task_kernel_exit(task, ip);
	}
	task->pending_work &= ~WORK_ENTER;
}

/* ---- blocks ---- */

static inline void count_retired(struct emu_task *task, u32 nr_insns)
{
	task->emu->tsc += nr_insns;
	task->nr_insns += nr_insns;
	if (unlikely(task->has_truth))
		emu_ground_truth_block(task, &task->unresolved, nr_insns);
}

/* Only the first nr_insns of the unresolved block retired; the next instruction is at next_ip. */
static void retire_part(struct emu_task *task, u32 nr_insns, u64 next_ip)
{
	if (nr_insns) {
		count_retired(task, nr_insns);
		if (is_x86(task))
			pt_unit_retire(task->pt_active, nr_insns, next_ip);
		else
			arm_units_retire(task, nr_insns, next_ip);
	}
	task->ip = next_ip;
}

/* retire_unresolved() for AArch64. */
static __attribute__((noinline)) void retire_unresolved_a64(struct emu_task *task, u64 next_ip)
{
	const struct emu_block *p = &task->unresolved;
	u64 fall_through = p->last_ip + p->last_len;
	bool stays = p->last_cls == A64_PLAIN || p->last_cls == A64_ISB || p->last_cls == A64_WFX ||
		     p->last_cls == A64_TSTART;

	count_retired(task, p->nr_insns);
	arm_units_retire(task, p->nr_insns, stays ? fall_through : next_ip);
	task->ip = next_ip;
	if (p->last_cls == A64_SVC || p->last_cls == A64_HVC) {
		arm_units_leave(task, fall_through, true);
		task->in_user = false;
		task->pending_work |= WORK_ENTER;
	} else if (unlikely(stays && next_ip != fall_through)) {
		/* an asynchronous change of flow that the engine did not report: rseq */
		leave_async(task, fall_through);
		emu_task_kernel_exit(task, next_ip);
	}
}

/*
 * Call before the unresolved block retires: reports it to the engine if its code was generated at
 * run time. Returns false if there is no such block. Blocks of all threads are encoded in the order
 * of these calls, whatever order they ran in, so the bytes at an address have one value at a time.
 */
static inline bool begin_retire(struct emu_task *task)
{
	if (unlikely(task->unresolved.code && task->unresolved.nr_insns))
		task->emu->engine->before_encoding(task, &task->unresolved);
	return task->unresolved.nr_insns;
}

/* The unresolved block retires; its last instruction went to next_ip, or into the kernel. */
static inline void retire_unresolved(struct emu_task *task, u64 next_ip)
{
	const struct emu_block *p = &task->unresolved;
	u32 nr = p->nr_insns;
	u64 fall_through = p->last_ip + p->last_len;

	if (!is_x86(task)) {
		retire_unresolved_a64(task, next_ip);
		return;
	}
	if (unlikely((p->last_flags & X86_INSN_REP) && next_ip == p->last_ip)) {
		/* REP: one instruction, even if it traps; the engine reports it again */
		retire_part(task, nr - 1, next_ip);
		return;
	}
	count_retired(task, nr);
	switch (p->last_cls) {
	case X86_PLAIN:
		pt_unit_retire(task->pt_active, nr, fall_through);
		task->ip = fall_through;
		if (unlikely(next_ip != fall_through)) {
			/*
			 * an asynchronous change of flow that the engine did not report:
			 * transaction abort, rseq
			 */
			leave_async(task, fall_through);
			emu_task_kernel_exit(task, next_ip);
		}
		break;
	case X86_SYSCALL:
	case X86_FAR:
		if (nr > 1)
			pt_unit_retire(task->pt_active, nr - 1, p->last_ip);
		pt_unit_leave_syscall(task->pt_active, p->last_ip);
		task->in_user = false;
		task->pending_work |= WORK_ENTER;
		break;
	default:
		if (nr > 1)
			pt_unit_retire(task->pt_active, nr - 1, p->last_ip);
		pt_unit_branch(task->pt_active, p->last_cls, p->last_ip, p->last_len, next_ip);
		break;
	}
	task->ip = next_ip;
}

void emu_task_block(struct emu_task *task, const struct emu_block *block)
{
	if (begin_retire(task)) {
		retire_unresolved(task, block->ip);
	} else if (task->in_user && unlikely(task->ip != block->ip)) {
		/* unreported code ran: the trace must show the discontinuity */
		leave_async(task, task->ip);
	}
	if (unlikely(task->pending_work))
		emu_task_do_work(task, block->ip);
	task->unresolved = *block;
}

void emu_task_emit_tsc(struct emu_task *task)
{
	if (is_x86(task))
		pt_unit_request_tsc(task->pt_active);
}

u64 emu_clock(const struct emu *emu)
{
	return emu->tsc;
}

/* Number of instructions of the unresolved block before ip, and the address of the next one. */
static u32 insns_before(const struct emu_block *p, u64 ip, u64 *at)
{
	u32 nr = 0;

	*at = p->ip;
	if (!p->lens) {
		if (p->nr_insns > 1 && ip >= p->last_ip) {
			*at = p->last_ip;
			return p->nr_insns - 1;
		}
		return 0;
	}
	while (nr < p->nr_insns - 1 && *at + p->lens[nr] <= ip)
		*at += p->lens[nr++];
	return nr;
}

void emu_task_leave_async(struct emu_task *task, u64 ip, bool cut)
{
	const struct emu_block *p = &task->unresolved;
	u64 at = ip;

	if (begin_retire(task)) {
		if (cut && ip >= p->ip && ip < p->last_ip + p->last_len)
			retire_part(task, insns_before(p, ip, &at), at);
		else
			retire_unresolved(task, ip);
		task->unresolved.nr_insns = 0;
	}
	if (task->in_user)
		leave_async(task, at);
	task->ip = ip;
	if (task->pending_work & WORK_IRQ)
		take_irq(task, ip);
}

/*
 * Whether a block can retire although the next one is not known: its last instruction falls through
 * or enters the kernel.
 */
static bool outcome_known(const struct emu_task *task, u8 cls)
{
	if (is_x86(task))
		return cls == X86_SYSCALL || cls == X86_FAR || cls == X86_PLAIN;
	return cls == A64_PLAIN || cls >= A64_SVC;
}

void emu_task_enter_kernel(struct emu_task *task)
{
	const struct emu_block *p = &task->unresolved;

	if (begin_retire(task)) {
		if (outcome_known(task, p->last_cls))
			retire_unresolved(task, p->last_ip + p->last_len);
		else
			retire_part(task, p->nr_insns - 1, p->last_ip);
		task->unresolved.nr_insns = 0;
	}
	if (task->in_user)
		leave_async(task, task->ip);
	if (task->pending_work & WORK_IRQ)
		take_irq(task, task->ip);
}

void emu_task_offline(struct emu_task *task)
{
	if (task->unresolved.nr_insns || task->in_user)
		emu_task_leave_async(task, task->ip, true);
	emu_task_schedule(task, false);
}

void emu_task_stats(const struct emu_task *task, const struct emu_unit *unit,
		    struct emu_event_stats *stats)
{
	u64 off = task->shadow_produced;

	if (unit) {
		unit->ops->stats(unit, stats);
	} else {
		if (task->pt_active == &task->pt_shadow)
			off += task->pt_shadow.nr_produced;
		stats->nr_produced = task->pt.nr_produced + off;
		stats->nr_written = task->pt.out.nr_written;
		stats->nr_dropped = task->pt.out.nr_dropped + off;
	}
	stats->nr_insns = task->nr_insns;
	stats->nr_untraced = task->nr_untraced;
	if (task->paused)
		stats->nr_untraced += task->nr_insns - task->paused_at;
}
