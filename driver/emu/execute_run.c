// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reports many blocks in one call: emu_task_block() (execute.c) for the usual case of code in user
 * mode that ends with a branch, and a task without pending work. Any other block ends the run, and
 * the caller passes it to emu_task_block().
 */
#include "emu_state.h"
#include "emu_unit.h"
#include "hw/pt_run.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

u8 emu_block_batchable(enum auxtap_arch arch, const struct emu_block *block, bool restarts)
{
	if (block->last_cls > (arch == AUXTAP_ARCH_X86_64 ? (u8)X86_RET : (u8)A64_RET))
		return EMU_BATCH_NO;
	return restarts ? EMU_BATCH_UNLESS_RESTART : EMU_BATCH_YES;
}

/*
 * Time and pending TNT bits (pt_run.h) are passed and returned by value: a variable whose address
 * is passed to a function stays in memory for the whole loop.
 */
/* Writes the state that a packet depends on back to the task and its unit. */
static inline void write_back(struct emu_task *task, u64 bits, u64 tsc, u64 ip)
{
	struct emu *emu = task->emu;

	task->nr_insns += tsc - emu->tsc;
	emu->tsc = tsc;
	pt_run_end(task->pt_active, bits, ip);
}

static __attribute__((noinline)) u64 send_tnt(struct emu_task *task, u64 bits, u64 tsc, u64 ip)
{
	write_back(task, bits, tsc, ip);
	pt_unit_send_tnt(task->pt_active);
	return pt_run_begin(task->pt_active);
}

static __attribute__((noinline)) u64 branch(struct emu_task *task, u64 bits, u64 tsc,
					    const struct emu_block *p, u64 target)
{
	write_back(task, bits, tsc, p->last_ip);
	pt_unit_branch(task->pt_active, p->last_cls, p->last_ip, p->last_len, target);
	return pt_run_begin(task->pt_active);
}

/* The block retired at tsc, and its last instruction went to target. */
static inline u64 retire_block(struct emu_task *task, u64 bits, u64 tsc, u64 limit,
			       const struct emu_block *p, u64 target)
{
	struct pt_unit *unit = task->pt_active;
	u64 fall_through = p->last_ip + p->last_len;
	u8 cls = p->last_cls;

	if (likely(cls == X86_JCC || cls == X86_JMP || cls == X86_PLAIN)) {
		bits = pt_run_direct(bits, cls == X86_JCC, target != fall_through);
	} else if (cls == X86_CALL) {
		if (target != fall_through)
			pt_push_return(unit, fall_through);
	} else if (cls == X86_RET && unit->ret_depth && unit->ret_stack[unit->ret_top] == target) {
		pt_pop_return(unit, target);
		bits = pt_run_direct(bits, true, true);
	} else {
		return branch(task, bits, tsc, p, target);
	}
	if (unlikely(bits >= limit))
		bits = send_tnt(task, bits, tsc, target);
	return bits;
}

static bool possible_x86(const struct emu_task *task)
{
	return task->arch == AUXTAP_ARCH_X86_64 && pt_run_possible(task->pt_active);
}

/* The task has one unit, which takes no samples. */
static bool possible_a64(const struct emu_task *task)
{
	const struct emu_unit *unit = task->arm_units;

	return task->arch == AUXTAP_ARCH_AARCH64 && unit && !unit->next && !unit->ops->sample &&
	       !task->has_sample;
}

/*
 * The block with the number *id, if the run can continue with it. The order is p, newest, this
 * block.
 */
static inline const struct emu_block *next_block(const struct emu_block *p,
						 const struct emu_block *newest,
						 const struct emu_block *blocks, u32 nr_blocks,
						 const u32 *id)
{
	/* read only once: the traced program can write to it */
	u32 number = *(const volatile u32 *)id;
	const struct emu_block *b;

	if (number >= nr_blocks)
		return NULL;
	b = &blocks[number];
	if (unlikely(b->batchable != EMU_BATCH_YES) &&
	    (!b->batchable || b->ip - newest->ip <= newest->last_ip - newest->ip))
		return NULL;
	/*
	 * A plain instruction (class 0 of either architecture) falls through. If it does not (REP,
	 * or an event that the engine did not report), execute.c handles it.
	 */
	if (p->last_cls == X86_PLAIN && unlikely(newest->ip != p->last_ip + p->last_len))
		return NULL;
	return b;
}
_Static_assert((int)X86_PLAIN == (int)A64_PLAIN, "next_block() tests for both");

/* Ends the run with p as the unresolved block. */

static inline void finish(struct emu_task *task, const struct emu_block *p)
{
	task->ip = p->ip;
	if (unlikely(task->pending_work))
		emu_task_do_work(task, p->ip);
	task->unresolved = *p;
}

static const struct emu_block *run_x86(struct emu_task *task, const struct emu_block *newest,
				       const struct emu_block *blocks, u32 nr_blocks, const u32 *id,
				       u32 nr, u32 *nr_done)
{
	const struct emu_block *p = &task->unresolved, *b;
	const u64 limit = pt_run_limit(task->pt_active);
	const bool truth = task->has_truth;
	u64 bits = pt_run_begin(task->pt_active);
	u64 tsc = task->emu->tsc;
	u32 i;

	for (i = 0; i < nr && !task->pending_work; i++) {
		b = next_block(p, newest, blocks, nr_blocks, &id[i]);
		if (!b)
			break;
		tsc += p->nr_insns;
		if (unlikely(truth)) {
			write_back(task, bits, tsc, p->ip);
			emu_ground_truth_block(task, p, p->nr_insns);
		}
		bits = retire_block(task, bits, tsc, limit, p, newest->ip);
		p = newest;
		newest = b;
	}
	if (i) {
		write_back(task, bits, tsc, p->ip);
		finish(task, p);
	}
	*nr_done = i;
	return newest;
}

static const struct emu_block *run_a64(struct emu_task *task, const struct emu_block *newest,
				       const struct emu_block *blocks, u32 nr_blocks, const u32 *id,
				       u32 nr, u32 *nr_done)
{
	const struct emu_block *p = &task->unresolved, *b;
	struct emu_unit *unit = task->arm_units;
	u32 i;

	for (i = 0; i < nr && !task->pending_work; i++) {
		b = next_block(p, newest, blocks, nr_blocks, &id[i]);
		if (!b)
			break;
		task->emu->tsc += p->nr_insns;
		task->nr_insns += p->nr_insns;
		if (unlikely(task->has_truth))
			emu_ground_truth_block(task, p, p->nr_insns);
		unit->ops->retire(unit, p, p->nr_insns, newest->ip);
		p = newest;
		newest = b;
	}
	if (i)
		finish(task, p);
	*nr_done = i;
	return newest;
}

const struct emu_block *emu_task_blocks(struct emu_task *task, const struct emu_block *newest,
					const struct emu_block *blocks, u32 nr_blocks,
					const u32 *id, u32 nr, u32 *nr_done)
{
	*nr_done = 0;
	if (!task->unresolved.batchable || !newest->batchable || task->pending_work ||
	    !task->in_user)
		return newest;
	if (possible_x86(task))
		return run_x86(task, newest, blocks, nr_blocks, id, nr, nr_done);
	if (possible_a64(task))
		return run_a64(task, newest, blocks, nr_blocks, id, nr, nr_done);
	return newest;
}
