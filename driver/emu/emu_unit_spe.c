// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Arm SPE: each sampled task has its own unit, which the driver (pmu/arm_spe.c) programs as that of
 * the task's CPU. The execution engine chooses the samples.
 */
#include "emu_unit.h"
#include "pmu/arm_spe.h"
#include "hw/spe_unit.h"
#include <linux/perf_event.h>
#include <stdlib.h>

struct spe {
	struct emu_unit unit;
	struct spe_output_bus bus;
	struct spe_unit spe;
};

static struct spe *spe_of(int cpu)
{
	const struct emu *emu = emu_the_machine();
	const struct emu_task *task = emu->cpus[cpu];

	for (struct emu_unit *u = task ? task->arm_units : NULL; u; u = u->next)
		if (u->family->create == emu_spe_create)
			return (struct spe *)u;
	return NULL;
}

/* For a CPU whose task has no unit, reads return the ID registers and a unit that is off. */
static u64 hw_read(int cpu, u32 reg)
{
	const struct spe *s = spe_of(cpu);
	u64 value = 0;

	if (s)
		spe_unit_read(&s->spe, reg, &value);
	else if (reg == SYS_PMSIDR)
		value = spe_unit_idr(&emu_the_machine()->spe_config);
	else if (reg == SYS_PMBIDR)
		value = (u64)__builtin_ctz(emu_the_machine()->spe_config.align);
	return value;
}

static void hw_write(int cpu, u32 reg, u64 value)
{
	struct spe *s = spe_of(cpu);
	struct emu *emu = emu_the_machine();

	if (!s)
		return;
	spe_unit_write(&s->spe, reg, value);
	if (reg == SYS_PMSIRR && emu->engine->sample)
		emu->engine->sample(emu, (u32)value);
}

static void hw_drain(int cpu)
{
	(void)cpu; /* records reach memory at once */
}

static void *bus_virt(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return core_is_memory(addr, size) ? (void *)(uintptr_t)addr : NULL;
}

static void bus_irq(void *ctx)
{
	emu_unit_raise(ctx);
}

static void enter(struct emu_unit *unit, u64 ip)
{
	(void)unit;
	(void)ip;
}

static void retire(struct emu_unit *unit, const struct emu_block *block, u32 nr, u64 next_ip)
{
	(void)unit;
	(void)block;
	(void)nr;
	(void)next_ip;
}

static void leave(struct emu_unit *unit, u64 ip, bool by_call)
{
	(void)unit;
	(void)ip;
	(void)by_call;
}

static void sample(struct emu_unit *unit, const struct emu_sample *sample, u64 next_ip)
{
	const struct spe_op op = {
		.pc = sample->pc,
		.code = sample->code,
		.next = next_ip,
		.has_addr = sample->has_addr,
		.is_store = sample->is_store,
		.size = sample->size,
		.addr = sample->addr,
	};

	spe_unit_sample(&((struct spe *)unit)->spe, &op);
}

static void interrupt(struct emu_unit *unit)
{
	(void)unit;
	arm_spe_interrupt();
}

static void stats(const struct emu_unit *unit, struct emu_event_stats *stats)
{
	const struct spe_output *out = &((const struct spe *)unit)->spe.out;

	stats->nr_produced = out->nr_written + out->nr_padding + out->nr_dropped;
	stats->nr_written = out->nr_written + out->nr_padding;
	stats->nr_dropped = out->nr_dropped;
}

static void free_unit(struct emu_unit *unit)
{
	free(unit);
}

static const struct emu_unit_ops ops = {
	.enter = enter,
	.retire = retire,
	.sample = sample,
	.leave = leave,
	.interrupt = interrupt,
	.stats = stats,
	.free = free_unit,
};

static const struct arm_spe_hw hw = {
	.read = hw_read,
	.write = hw_write,
	.drain = hw_drain,
	.version = 3,
	.context_ids = true,
};

int emu_spe_start(struct emu *emu)
{
	emu->spe_config = (struct spe_unit_config){
		.max_record = 64,
		.align = 64,
		.clock = &emu->tsc,
	};
	return arm_spe_register("arm_spe_0", &hw);
}

struct emu_unit *emu_spe_create(struct emu_task *task)
{
	struct spe *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->unit.ops = &ops;
	s->bus = (struct spe_output_bus){.ctx = s, .virt = bus_virt, .irq = bus_irq};
	spe_unit_init(&s->spe, &task->emu->spe_config, &s->bus);
	s->spe.contextid = (u32)task->core.tid;
	return &s->unit;
}

/*
 * The program may run before the driver writes PMSIRR, which is at its first block: so this passes
 * the interval to the engine. A unit that is off drops samples.
 */
void emu_spe_opened(struct emu_unit *unit, const struct perf_event_attr *attr)
{
	struct emu *emu = unit->task->emu;
	u64 interval = attr->sample_period;

	if (interval > PMSIRR_INTERVAL)
		interval = PMSIRR_INTERVAL;
	if (interval < 256)
		interval = 256;
	if (emu->engine->sample)
		emu->engine->sample(emu, ((u32)interval & PMSIRR_INTERVAL) |
						 (attr->config >> 16 & 1 ? PMSIRR_RND : 0));
}
