// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CoreSight: each traced task has its own trace unit (ETE or ETMv4) and trace buffer (TRBE), which
 * the driver (pmu/cs_etm.c, trbe.c) programs as those of the task's CPU. (In hardware an ETMv4 has
 * another kind of sink; here it writes to a TRBE as an ETE does.)
 */
#include "emu_unit.h"
#include "pmu/cs_etm.h"
#include "hw/etm_unit.h"
#include "hw/trbe_output.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct etm {
	struct emu_unit unit;
	struct trbe_output_bus bus;
	struct trbe_output trbe;
	struct etm_sink sink;
	struct etm_unit etm;
	u64 page; /* the page that bus_virt() checked last; NO_PAGE: a register was written since */
};

/* Bits of perf's attr.config, and their bits in TRCCONFIGR. */
static const struct {
	u8 bit;
	u32 configr;
} config_bits[] = {
	{8, TRCCONFIGR_BB},  {12, TRCCONFIGR_CCI}, {14, TRCCONFIGR_CID},
	{28, TRCCONFIGR_TS}, {29, TRCCONFIGR_RS},
};
#define CONFIG_ALL	 (1ull << 8 | 1ull << 12 | 1ull << 14 | 1ull << 28 | 1ull << 29)
#define PAGE_BYTES	 4096
#define NO_PAGE		 (~0ull)
#define SYNC_LOG2	 12  /* log2 of the bytes between A-Syncs */
#define TIMESTAMP_PERIOD 256 /* ticks; the timestamp comes with the next branch */
#define NR_TRACE_IDS	 48
#define TRACE_ID(cpu)	 (0x10 + 2 * ((u32)(cpu) % NR_TRACE_IDS)) /* as in kernels before 6.2 */

static struct etm *etm_of(int cpu)
{
	const struct emu *emu = emu_the_machine();
	const struct emu_task *task = emu->cpus[cpu];

	for (struct emu_unit *u = task ? task->arm_units : NULL; u; u = u->next)
		if (u->family->create == emu_etm_create)
			return (struct etm *)u;
	return NULL;
}

/* ---- registers, for the driver ---- */

static u64 trbe_read(int cpu, u32 reg)
{
	const struct etm *e = etm_of(cpu);
	u64 value = 0;

	if (e)
		trbe_output_read(&e->trbe, reg, &value);
	return value;
}

static void trbe_write(int cpu, u32 reg, u64 value)
{
	struct etm *e = etm_of(cpu);

	if (!e)
		return;
	e->page = NO_PAGE;
	trbe_output_write_reg(&e->trbe, reg, value);
}

static void trbe_drain(int cpu)
{
	(void)cpu; /* the trace unit's output is in memory at once */
}

static u32 configr_of(u64 perf_config)
{
	u32 configr = 0;

	for (size_t i = 0; i < sizeof(config_bits) / sizeof(config_bits[0]); i++)
		if (perf_config >> config_bits[i].bit & 1)
			configr |= config_bits[i].configr;
	return configr;
}

static int trace_on(int cpu, const struct perf_event_attr *attr)
{
	struct etm *e = etm_of(cpu);
	/* clang-format off */
	const u32 writes[][2] = {
		{ TRCCONFIGR, configr_of(attr->config) },
		{ TRCTRACEIDR, TRACE_ID(cpu) },
		{ TRCSYNCPR, SYNC_LOG2 },
		/* traces user code only */
		{ TRCVICTLR, 1u | TRCVICTLR_SSSTATUS | 6u << TRCVICTLR_EXLEVEL_NS_SHIFT },
		{ TRCCCCTLR, 256 },
		/* a timestamp each time counter 0 reaches zero, as kernels set it up */
		{ TRCCNTRLDVR0, TIMESTAMP_PERIOD - 1 },
		{ TRCCNTCTLR0, TRCCNTCTLR_RLDSELF | 1 },
		{ TRCRSCTLR2, TRCRSCTLR_COUNTER0 },
		{ TRCTSCTLR, 2 },
		{ TRCPRGCTLR, TRCPRGCTLR_EN },
	};
	/* clang-format on */

	if (!e)
		return -ENODEV;
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		if (etm_unit_write(&e->etm, writes[i][0], writes[i][1]))
			return -EIO;
	return 0;
}

static void trace_off(int cpu)
{
	struct etm *e = etm_of(cpu);

	if (e)
		etm_unit_write(&e->etm, TRCPRGCTLR, 0);
}

static const struct cs_etm_hw hw = {
	.trbe = {.read = trbe_read, .write = trbe_write, .drain = trbe_drain},
	.trace_on = trace_on,
	.trace_off = trace_off,
	.config = CONFIG_ALL,
};

/* ---- execution ---- */

static void enter(struct emu_unit *unit, u64 ip)
{
	etm_unit_enter(&((struct etm *)unit)->etm, 0, ip);
}

static void retire(struct emu_unit *unit, const struct emu_block *block, u32 nr, u64 next_ip)
{
	struct etm_unit *etm = &((struct etm *)unit)->etm;

	if (nr < block->nr_insns || block->last_cls == A64_PLAIN || block->last_cls == A64_SVC ||
	    block->last_cls == A64_HVC || block->last_cls == A64_TRAP) {
		etm_unit_retire(etm, nr, next_ip);
		return;
	}
	/* the instructions before the branch generate packets only if one is pending */
	if (nr > 1 && (etm->address_due || etm->overflow_due))
		etm_unit_retire(etm, nr - 1, block->last_ip);
	if (block->last_cls == A64_ERET)
		etm_unit_eret(etm, block->last_ip, next_ip, 0);
	else
		etm_unit_branch(etm, block->last_cls, block->last_ip, next_ip);
}

static void leave(struct emu_unit *unit, u64 ip, bool by_call)
{
	etm_unit_exception(&((struct etm *)unit)->etm, by_call ? ETM_CALL : ETM_IRQ, ip);
}

static void interrupt(struct emu_unit *unit)
{
	(void)unit;
	cs_etm_interrupt();
}

static void stats(const struct emu_unit *unit, struct emu_event_stats *stats)
{
	const struct etm *e = (const struct etm *)unit;

	stats->nr_produced = e->etm.nr_produced;
	stats->nr_written = e->trbe.nr_written;
	stats->nr_dropped = e->trbe.nr_dropped;
}

static void free_unit(struct emu_unit *unit)
{
	free(unit);
}

static const struct emu_unit_ops ops = {
	.enter = enter,
	.retire = retire,
	.leave = leave,
	.interrupt = interrupt,
	.stats = stats,
	.free = free_unit,
};

/*
 * Packets are short: almost all are stored in the same page as the previous one, which is not
 * checked again.
 */
static void *bus_virt(void *ctx, u64 addr, u64 size)
{
	struct etm *e = ctx;

	if (addr / PAGE_BYTES != e->page || (addr + size - 1) / PAGE_BYTES != e->page) {
		if (!core_is_memory(addr, size))
			return NULL;
		e->page = addr / PAGE_BYTES;
	}
	return (void *)(uintptr_t)addr;
}

static void bus_irq(void *ctx)
{
	emu_unit_raise(ctx);
}

static void sink_write(void *ctx, const u8 *bytes, size_t nr_bytes)
{
	trbe_output_write(&((struct etm *)ctx)->trbe, bytes, nr_bytes);
}

struct emu_unit *emu_etm_create(struct emu_task *task)
{
	struct etm *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->unit.ops = &ops;
	e->bus = (struct trbe_output_bus){.ctx = e, .virt = bus_virt, .irq = bus_irq};
	e->page = NO_PAGE;
	trbe_output_init(&e->trbe, &e->bus, 1);
	e->sink = (struct etm_sink){.ctx = e, .write = sink_write};
	etm_unit_init(&e->etm, &task->emu->etm_config, &e->sink);
	/* as a kernel in EL1 with CONFIG_PID_IN_CONTEXTIDR does at each switch */
	etm_unit_set_context(&e->etm, (u32)task->core.tid, 0);
	return &e->unit;
}

int emu_etm_choose(struct emu *emu, const char *name)
{
	bool ete = !strcmp(name, "ete");

	if (!ete && strcmp(name, "etmv4"))
		return -EINVAL;
	emu->etm_config.ete = ete;
	return 0;
}

int emu_etm_start(struct emu *emu)
{
	emu->etm_config.clock = &emu->tsc;
	return cs_etm_register("cs_etm", &hw);
}

/* The trace unit of a CPU in sysfs: "cpuN/trcidr/trcidr0" and so on. */
int emu_etm_attr(const struct emu *emu, const char *attr, char *text, size_t size)
{
	/* clang-format off */
	static const struct {
		const char *name;
		u32 reg;
	} regs[] = {
		{ "trcidr/trcidr0", TRCIDR0 },	   { "trcidr/trcidr1", TRCIDR0 + 4 },
		{ "trcidr/trcidr2", TRCIDR0 + 8 }, { "trcidr/trcidr8", TRCIDR8 },
		{ "mgmt/trcauthstatus", TRCAUTHSTATUS }, { "mgmt/trcdevarch", TRCDEVARCH },
	};
	/* clang-format on */
	struct etm_unit unit;
	static const struct etm_sink unused_sink;
	unsigned int cpu;
	int at = 0;

	/* all units are alike; only CPUs with a trace ID of their own have these files */
	if (sscanf(attr, "cpu%u/%n", &cpu, &at) != 1 || !at || cpu >= NR_TRACE_IDS)
		return -ENOENT;
	etm_unit_init(&unit, &emu->etm_config, &unused_sink);
	if (!strcmp(attr + at, "ts_source")) /* TRFCR.TS: the virtual counter */
		return snprintf(text, size, "1");
	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		if (!strcmp(attr + at, regs[i].name))
			return snprintf(text, size, "0x%x", etm_unit_read(&unit, regs[i].reg));
	return -ENOENT;
}
