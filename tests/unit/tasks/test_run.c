// SPDX-License-Identifier: BSD-2-Clause
/*
 * emu_task_blocks() against emu_task_block(): the same random sequences of blocks must leave the
 * same bytes in memory, the same emulated time, the same list of executed addresses and the
 * same state of the trace unit, whatever stops the runs.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "emu/emu_state.h"
#include "emu/emu_unit.h"
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_BLOCKS 300
#define NR_IDS	  60000
#define NR_PAGES  4
#define PAGE	  4096
#define MEMORY	  0x10000000ull /* physical addresses of the test's machine */
#define TABLE	  0x20000000ull
#define MESSAGE	  0xf0000000u /* a word of the stream that is not a block */

static struct emu_block table[NR_BLOCKS];
static u8 lens[NR_BLOCKS][8];
static u32 ids[NR_IDS];
static u8 memory[NR_PAGES * PAGE];
static u64 topa[NR_PAGES + 1];
static struct emu *emu;
static u64 seed;

static u32 any(u32 below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % below;
}

static void *machine_phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	if (addr >= MEMORY && addr + size <= MEMORY + sizeof(memory))
		return memory + (addr - MEMORY);
	if (addr >= TABLE && addr + size <= TABLE + sizeof(topa))
		return (u8 *)topa + (addr - TABLE);
	return NULL;
}

/* ---- a program, and a path through it ---- */

static void make_blocks(void)
{
	static const u8 classes[] = {X86_JCC,		X86_JCC,  X86_JCC,
				     X86_JCC,		X86_JMP,  X86_PLAIN,
				     X86_CALL,		X86_RET,  X86_JMP_INDIRECT,
				     X86_CALL_INDIRECT, X86_CALL, X86_RET,
				     X86_JCC,		X86_JCC};
	u64 ip = 0x401000;

	for (u32 i = 0; i < NR_BLOCKS; i++) {
		struct emu_block *b = &table[i];

		*b = (struct emu_block){.ip = ip,
					.last_ip = ip,
					.nr_insns = 1 + any(6),
					.lens = lens[i]};
		for (u32 k = 0; k < b->nr_insns; k++) {
			lens[i][k] = (u8)(1 + any(7));
			if (k + 1 < b->nr_insns)
				b->last_ip += lens[i][k];
		}
		b->last_len = lens[i][b->nr_insns - 1];
		b->last_cls = classes[any(sizeof(classes))];
		if (!any(40))
			b->last_cls = any(2) ? X86_SYSCALL : X86_FAR;
		if (!any(30)) {
			b->last_cls = X86_PLAIN;
			b->last_flags = X86_INSN_REP;
		}
		b->batchable =
			emu_block_batchable(AUXTAP_ARCH_X86_64, b, b->nr_insns == 1 && any(2));
		ip = b->last_ip + b->last_len;
		if (any(2))
			ip += any(4) ? any(64) : 0x100000ull * any(1000);
		if (!any(50))
			/* far away: full addresses */
			ip += 0x7f0000000000ull - ip % 0x1000000000ull;
		ip &= 0x7fffffffffffull;
	}
}

static u32 block_at(u64 ip)
{
	for (u32 i = 0; i < NR_BLOCKS; i++)
		if (table[i].ip == ip)
			return i;
	return any(NR_BLOCKS);
}

/* Most branches go where they went before: calls return, plain blocks fall through. */
static void make_path(void)
{
	u64 stack[200];
	u32 depth = 0, at = 0;

	for (u32 i = 0; i < NR_IDS; i++) {
		const struct emu_block *b = &table[at];
		u64 fall = b->last_ip + b->last_len;

		ids[i] = at;
		if (b->last_cls == X86_CALL || b->last_cls == X86_CALL_INDIRECT) {
			if (depth < 200)
				stack[depth++] = fall;
			at = any(NR_BLOCKS);
		} else if (b->last_cls == X86_RET && depth && any(20)) {
			at = block_at(stack[--depth]);
		} else if (b->last_flags & X86_INSN_REP && any(3)) {
			continue; /* again */
		} else if (b->last_cls == X86_PLAIN) {
			at = any(100) ? block_at(fall) : any(NR_BLOCKS);
		} else {
			at = any(NR_BLOCKS);
		}
	}
}

/* ---- the task ---- */

struct outcome {
	u8 memory[sizeof(memory)];
	struct pt_unit unit;
	u64 tsc, nr_insns, ip;
	u8 *truth;
	size_t truth_size;
};

static void write_msr(struct emu_task *task, u32 msr, u64 value)
{
	assert_int_equal(pt_unit_wrmsr(&task->pt, msr, value), 0);
}

static struct emu_task *make_task(u64 ctl)
{
	struct emu_task *task;

	emu->tsc = 1000;
	memset(memory, 0, sizeof(memory));
	task = emu_task_new(emu, NULL, 4711, 4711, "walk");
	assert_non_null(task);
	task->pt_bus.phys = machine_phys;
	for (u32 i = 0; i < NR_PAGES; i++)
		topa[i] = (MEMORY + i * PAGE) | (i % 3 == 2 ? TOPA_INT : 0);
	topa[NR_PAGES] = TABLE | TOPA_END;
	write_msr(task, MSR_RTIT_OUTPUT_BASE, ctl & RTIT_CTL_TOPA ? TABLE : MEMORY);
	write_msr(task, MSR_RTIT_OUTPUT_MASK_PTRS, ctl & RTIT_CTL_TOPA ? 0x7f : sizeof(memory) - 1);
	write_msr(task, MSR_RTIT_CTL, ctl | RTIT_CTL_TRACEEN | RTIT_CTL_USR | RTIT_CTL_BRANCHEN);
	return task;
}

static void read_truth(struct outcome *out)
{
	char name[4200];
	FILE *f;

	snprintf(name, sizeof(name), "%s.4711", emu->truth_path);
	f = fopen(name, "rb");
	assert_non_null(f);
	out->truth = malloc(8 * 8 * NR_IDS);
	out->truth_size = fread(out->truth, 1, 8 * 8 * NR_IDS, f);
	fclose(f);
	unlink(name);
	emu->nr_truth_tids = 0;
}

static void finish(struct emu_task *task, struct outcome *out)
{
	emu_task_leave_async(task, 0x1234, false);
	out->tsc = emu->tsc;
	out->nr_insns = task->nr_insns;
	out->ip = task->ip;
	out->unit = task->pt;
	/* beyond its depth the return stack is undefined; pointers differ */
	out->unit.out.bus = NULL;
	memcpy(out->memory, memory, sizeof(memory));
	emu_task_exit(task);
	out->truth = NULL;
	if (emu->truth_path)
		read_truth(out);
}

static void feed_one_by_one(struct emu_task *task, struct outcome *out)
{
	for (u32 i = 0; i < NR_IDS; i++)
		emu_task_block(task, &table[ids[i]]);
	finish(task, out);
}

/*
 * Feeds them as the qemu engine does, in chunks, some with words that are not blocks. Returns how
 * many were run.
 */
static u32 feed_in_runs(struct emu_task *task, struct outcome *out)
{
	const struct emu_block *held = &table[ids[0]];
	u32 at = 1, taken = 0;

	while (at < NR_IDS) {
		u32 nr = 1 + any(250), done = 0, saved = 0, *message = NULL;

		if (nr > NR_IDS - at)
			nr = NR_IDS - at;
		if (!any(4) && nr > 2) {
			message = &ids[at + nr / 2];
			saved = *message;
			*message = MESSAGE;
		}
		held = emu_task_blocks(task, held, table, NR_BLOCKS, &ids[at], nr, &done);
		assert_true(done <= nr);
		if (message) {
			assert_true(done <= nr / 2);
			*message = saved;
		}
		at += done;
		taken += done;
		if (done) {
			assert_ptr_equal(held, &table[ids[at - 1]]);
			continue;
		}
		emu_task_block(task, held);
		held = &table[ids[at++]];
	}
	emu_task_block(task, held);
	finish(task, out);
	return taken;
}

static void compare(u64 ctl, u32 least)
{
	struct outcome *slow = malloc(sizeof(*slow)), *fast = malloc(sizeof(*fast));

	for (u64 round = 1; round <= 8; round++) {
		u32 taken;

		seed = round * 7919 + ctl;
		make_blocks();
		make_path();
		feed_one_by_one(make_task(ctl), slow);
		taken = feed_in_runs(make_task(ctl), fast);
		assert_true(taken >= least);
		assert_int_equal(fast->tsc, slow->tsc);
		assert_int_equal(fast->nr_insns, slow->nr_insns);
		assert_int_equal(fast->ip, slow->ip);
		assert_true(slow->unit.nr_produced > 2 * sizeof(memory));
		assert_memory_equal(fast->memory, slow->memory, sizeof(memory));
		assert_memory_equal(&fast->unit, &slow->unit, sizeof(slow->unit));
		if (emu->truth_path) {
			assert_true(slow->truth_size > 8 * NR_IDS);
			assert_int_equal(fast->truth_size, slow->truth_size);
			assert_memory_equal(fast->truth, slow->truth, slow->truth_size);
			free(fast->truth);
			free(slow->truth);
		}
	}
	free(slow);
	free(fast);
}

static void test_default(void **state)
{
	(void)state;
	compare(RTIT_CTL_TSCEN, NR_IDS / 4);
}

static void test_no_return_compression(void **state)
{
	(void)state;
	compare(RTIT_CTL_TSCEN | RTIT_CTL_DISRETC, NR_IDS / 4);
}

/* Each packet has the time at which its branch retired. */
static void test_cycles(void **state)
{
	(void)state;
	compare(RTIT_CTL_TSCEN | RTIT_CTL_CYCEN, NR_IDS / 4);
}

/* Interrupts of the unit arrive in the middle of runs, at once or some blocks late. */
static void test_interrupts(void **state)
{
	(void)state;
	compare(RTIT_CTL_TSCEN | RTIT_CTL_TOPA, NR_IDS / 4);
	emu->irq_delay_blocks = 5;
	compare(RTIT_CTL_TSCEN | RTIT_CTL_TOPA, NR_IDS / 4);
	emu->irq_delay_blocks = 0;
}

/* With MTC time itself makes packets: block by block. */
static void test_mtc(void **state)
{
	(void)state;
	compare(RTIT_CTL_TSCEN | RTIT_CTL_MTCEN | 3ull << RTIT_CTL_MTC_RANGE_SHIFT, 0);
}

static void test_ground_truth(void **state)
{
	static char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/auxtap-test-run.%d", (int)getpid());
	emu->truth_path = path;
	compare(RTIT_CTL_TSCEN, NR_IDS / 4);
	emu->truth_path = NULL;
}

static int setup(void **state)
{
	(void)state;
	emu = calloc(1, sizeof(*emu));
	emu->queue_tail = &emu->queue;
	emu->event_fd = -1;
	emu->request_fd = -1;
	return emu_pmu_start(emu);
}

/* A block of one instruction that starts inside the block before it: the caller must see it. */
static void test_alone(void **state)
{
	static const u8 one[] = {4, 4, 4, 4};
	const struct emu_block blocks[] = {
		{.ip = 0x1000,
		 .last_ip = 0x100c,
		 .nr_insns = 4,
		 .last_len = 4,
		 .last_cls = X86_JCC,
		 .batchable = EMU_BATCH_YES,
		 .lens = one},
		{.ip = 0x1004,
		 .last_ip = 0x1004,
		 .nr_insns = 1,
		 .last_len = 4,
		 .last_cls = X86_CALL,
		 .batchable = EMU_BATCH_UNLESS_RESTART,
		 .lens = one},
		{.ip = 0x100c,
		 .last_ip = 0x100c,
		 .nr_insns = 1,
		 .last_len = 4,
		 .last_cls = X86_CALL,
		 .batchable = EMU_BATCH_UNLESS_RESTART,
		 .lens = one},
		{.ip = 0x1010,
		 .last_ip = 0x1010,
		 .nr_insns = 1,
		 .last_len = 4,
		 .last_cls = X86_CALL,
		 .batchable = EMU_BATCH_UNLESS_RESTART,
		 .lens = one},
		{.ip = 0x1014,
		 .last_ip = 0x1014,
		 .nr_insns = 1,
		 .last_len = 4,
		 .last_cls = X86_CALL,
		 /* not in the table passed to emu_task_blocks() */
		 .batchable = EMU_BATCH_YES,
		 .lens = one},
	};
	struct emu_task *task = make_task(RTIT_CTL_TSCEN);
	const u32 id[] = {0, 1, 2, 3, 4};
	u32 done;

	(void)state;
	emu_task_block(task, &blocks[0]);
	assert_ptr_equal(emu_task_blocks(task, blocks, blocks, 4, &id[1], 1, &done), blocks);
	assert_int_equal(done, 0);
	assert_ptr_equal(emu_task_blocks(task, blocks, blocks, 4, &id[2], 1, &done), blocks);
	assert_int_equal(done, 0);
	assert_ptr_equal(emu_task_blocks(task, blocks, blocks, 4, &id[3], 1, &done), &blocks[3]);
	assert_int_equal(done, 1);
	/* and a number that is no block */
	assert_ptr_equal(emu_task_blocks(task, &blocks[3], blocks, 4, id + 4, 1, &done),
			 &blocks[3]);
	assert_int_equal(done, 0);
	emu_task_exit(task);
}

/* ---- AArch64: calls of a trace unit ---- */

static struct recorder {
	struct emu_unit unit;
	u64 hash, nr_calls, nr_interrupts;
} recorder;

static void record(u64 what, u64 a, u64 b, u64 c)
{
	const u64 values[] = {what, a, b, c, emu->tsc};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		recorder.hash = (recorder.hash ^ values[i]) * 0x100000001b3ull;
	recorder.nr_calls++;
}

static void on_enter(struct emu_unit *unit, u64 ip)
{
	(void)unit;
	record(1, ip, 0, 0);
}

static void on_retire(struct emu_unit *unit, const struct emu_block *block, u32 nr, u64 next_ip)
{
	record(2, block->ip, nr, next_ip);
	if (recorder.nr_calls % 777 == 0)
		emu_unit_raise(unit);
}

static void on_leave(struct emu_unit *unit, u64 ip, bool by_call)
{
	(void)unit;
	record(3, ip, by_call, 0);
}

static void on_interrupt(struct emu_unit *unit)
{
	(void)unit;
	record(4, 0, 0, 0);
	recorder.nr_interrupts++;
}

static void on_free(struct emu_unit *unit)
{
	(void)unit;
}

static const struct emu_unit_ops recorder_ops = {
	.enter = on_enter,
	.retire = on_retire,
	.leave = on_leave,
	.interrupt = on_interrupt,
	.free = on_free,
};

static void make_a64_blocks(void)
{
	static const u8 classes[] = {A64_COND, A64_COND, A64_COND, A64_B,     A64_BL,
				     A64_BR,   A64_BLR,	 A64_RET,  A64_PLAIN, A64_PLAIN,
				     A64_COND, A64_COND, A64_B,	   A64_B};
	static const u8 rare[] = {A64_SVC, A64_TRAP, A64_ISB, A64_WFX, A64_ERET};
	u64 ip = 0x401000;

	for (u32 i = 0; i < NR_BLOCKS; i++) {
		struct emu_block *b = &table[i];

		memset(lens[i], A64_INSN_LEN, sizeof(lens[i]));
		*b = (struct emu_block){.ip = ip,
					.nr_insns = 1 + any(6),
					.last_len = A64_INSN_LEN,
					.lens = lens[i]};
		b->last_ip = ip + (b->nr_insns - 1) * A64_INSN_LEN;
		b->last_cls = any(12) ? classes[any(sizeof(classes))] : rare[any(sizeof(rare))];
		b->batchable =
			emu_block_batchable(AUXTAP_ARCH_AARCH64, b, b->nr_insns == 1 && any(2));
		ip = b->last_ip + A64_INSN_LEN * (1 + (any(3) ? 0 : any(100)));
	}
}

static struct emu_task *make_a64_task(void)
{
	struct emu_task *task;

	emu->tsc = 1000;
	task = emu_task_new(emu, NULL, 4711, 4711, "walk");
	assert_non_null(task);
	emu_task_set_arch(task, AUXTAP_ARCH_AARCH64);
	recorder = (struct recorder){.unit = {.ops = &recorder_ops, .task = task}};
	task->arm_units = &recorder.unit;
	return task;
}

static void test_a64(void **state)
{
	struct outcome *out = calloc(1, sizeof(*out));

	(void)state;
	for (u64 round = 1; round <= 8; round++) {
		struct recorder slow;
		u64 tsc, nr_insns, ip;

		seed = round * 104729;
		emu->irq_delay_blocks = round % 3;
		make_a64_blocks();
		for (u32 i = 0, at = 0; i < NR_IDS; i++) {
			const struct emu_block *b = &table[at];
			bool falls = b->last_cls == A64_PLAIN || b->last_cls >= A64_SVC;

			ids[i] = at;
			at = falls && any(100) ? block_at(b->last_ip + A64_INSN_LEN) :
						 any(NR_BLOCKS);
		}
		feed_one_by_one(make_a64_task(), out);
		slow = recorder;
		tsc = out->tsc;
		nr_insns = out->nr_insns;
		ip = out->ip;
		assert_true(feed_in_runs(make_a64_task(), out) > NR_IDS / 4);
		assert_true(slow.nr_interrupts > 20);
		assert_int_equal(recorder.nr_interrupts, slow.nr_interrupts);
		assert_int_equal(recorder.nr_calls, slow.nr_calls);
		assert_int_equal(recorder.hash, slow.hash);
		assert_int_equal(out->tsc, tsc);
		assert_int_equal(out->nr_insns, nr_insns);
		assert_int_equal(out->ip, ip);
	}
	emu->irq_delay_blocks = 0;
	free(out);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_no_return_compression),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_mtc),
		cmocka_unit_test(test_ground_truth),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_a64),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, setup, NULL);
}
