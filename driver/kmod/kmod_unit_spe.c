// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The SPE unit of each CPU: registers for the driver, memory and an interrupt line for the output
 * stage, records from the replay engine. The driver accesses them with interrupts off, on its own
 * CPU.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "arm_units.h"
#include "kmod_faults.h"
#include "irq_line.h"
#include "pmu/arm_spe.h"
#include "pmu/arm_spe_regs.h"
#include "replay.h"
#include "hw/spe_output.h"
#include "hw/unit_faults.h"
#include "unit_log.h"

#define MAX_RECORD_LOG2 6u
#define ALIGN_LOG2	6u
/* all filters; 12 bits of counters; an interval of at least 256 */
#define PMSIDR                                                            \
	(SPE_PMSIDR_FE | SPE_PMSIDR_FT | SPE_PMSIDR_FL | SPE_PMSIDR_FNE | \
	 (u64)MAX_RECORD_LOG2 << SPE_PMSIDR_MAXSIZE_SHIFT | 2ull << SPE_PMSIDR_COUNTSIZE_SHIFT)

#define FIRST_REG 0xc4c8u /* PMSCR */
#define NR_REGS	  7

/* The state of one CPU. Accessed only by that CPU, with interrupts off. */
struct spe_cpu {
	struct spe_output out;
	struct spe_output_bus bus;
	u64 regs[NR_REGS]; /* PMSCR to PMSLATFR, which control sampling */
	struct irq_line interrupt;
	struct unit_faults faults;
	struct unit_log log;
};

static DEFINE_PER_CPU(struct spe_cpu, spe_cpus);
static struct replay spe_replay;

static void handle_irqs(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		unit_log_irq(spe_unit_log());
	for (i = 0; i < nr; i++)
		arm_spe_interrupt();
}

static void raise_irq(void *ctx)
{
	struct spe_cpu *c = ctx;

	irq_line_raise(&c->interrupt, &c->faults);
}

struct unit_log *spe_unit_log(void)
{
	return &this_cpu_ptr(&spe_cpus)->log;
}

static const struct unit_log_kind log_kind = {
	.name = "arm_spe",
	.max_record = 1u << MAX_RECORD_LOG2,
	.area_bytes = arm_unit_area_bytes,
	.area_is_snapshot = arm_unit_area_is_snapshot,
	.offset = arm_unit_area_offset,
};

/* ---- registers ---- */

static u64 unit_read(int cpu, u32 reg)
{
	const struct spe_cpu *c = &per_cpu(spe_cpus, cpu);
	u64 value;

	if (reg == SPE_PMSIDR)
		return PMSIDR;
	if (spe_output_read(&c->out, reg, &value))
		return value;
	if (reg >= FIRST_REG && reg < FIRST_REG + NR_REGS)
		return c->regs[reg - FIRST_REG];
	pr_err_ratelimited("auxtap: undefined: read of register %x\n", reg);
	return 0;
}

static void unit_write(int cpu, u32 reg, u64 value)
{
	struct spe_cpu *c = &per_cpu(spe_cpus, cpu);
	u64 cleared;
	bool was_on;

	c->faults.fault = fault_of_unit();
	/* the driver clears the status only after an event, so the next session would see it */
	cleared = unit_faults_cleared(&c->faults);
	if (cleared)
		spe_output_write(&c->out, SYS_PMBSR, c->out.status & ~cleared);
	c->out.irq_delay_bytes =
		irq_line_delay_bytes() + unit_faults_irq_delay_bytes(&c->faults, PAGE_SIZE);
	if (reg == SPE_PMBLIMITR)
		arm_unit_log_limit(&c->log, value, c->out.ptr);
	value = unit_faults_write(&c->faults, reg, value, c->out.status, PAGE_SIZE);
	if (spe_output_write(&c->out, reg, value))
		return;
	if (reg < FIRST_REG || reg >= FIRST_REG + NR_REGS) {
		pr_err_ratelimited("auxtap: undefined: write of %llx to register %x\n", value, reg);
		return;
	}
	was_on = c->regs[0];
	c->regs[reg - FIRST_REG] = value;
	if (reg != SPE_PMSCR)
		return;
	if (!value && was_on && unit_faults_stopping(&c->faults))
		irq_line_raise(&c->interrupt, NULL);
	if (!value)
		replay_off(&spe_replay);
	else if (replay_selected() && value & SPE_PMSCR_E0SPE)
		replay_on(&spe_replay);
}

/* Nothing to wait for: only this CPU stores records, in order. */
static void unit_drain(int cpu)
{
}

const struct arm_spe_hw spe_unit_hw = {
	.read = unit_read,
	.write = unit_write,
	.drain = unit_drain,
	.version = 3,
};

/* ---- records from the replay engine ---- */

#define CHUNK_MAX 2048u

/* Size of the packet at bytes. */
static size_t packet_bytes(const u8 *bytes, size_t nr_bytes)
{
	u8 header = bytes[0];

	if (header < 0x20)
		return 1; /* padding, end */
	if (header >= 0x40)
		return 1 + (1u << (header >> 4 & 3));
	/* an extended header: the second byte contains the size; an alignment packet has none */
	if (nr_bytes < 2 || !bytes[1])
		return 2;
	return 2 + (1u << (bytes[1] >> 4 & 3));
}

/*
 * A record ends with END or a timestamp. Padding after it comes from the unit that recorded it; the
 * replaying unit writes its own. So it is consumed with the record, and counted as written or
 * dropped with it.
 */
static size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written)
{
	struct spe_cpu *c = this_cpu_ptr(&spe_cpus);
	size_t nr = 0, record;
	u64 at = c->out.ptr;
	u8 header;

	do {
		if (nr >= nr_bytes)
			return 0;
		header = bytes[nr];
		nr += packet_bytes(bytes + nr, nr_bytes - nr);
	} while (header != 0x01 && header != 0x71 && nr < CHUNK_MAX / 2);
	if (nr > nr_bytes)
		return 0;
	record = min_t(size_t, nr, c->out.max_record);
	while (nr < nr_bytes && !bytes[nr])
		nr++;
	*nr_written = spe_output_record(&c->out, bytes, record) ? nr : 0;
	unit_log_write(&c->log, at, c->out.ptr - at);
	unit_log_lost(&c->log, nr - *nr_written);
	return nr;
}

static bool unit_interrupt_pending(void)
{
	return irq_line_pending(&this_cpu_ptr(&spe_cpus)->interrupt);
}

static const struct replay_unit spe_replay_unit = {
	.produce = unit_produce,
	.interrupt_pending = unit_interrupt_pending,
	.chunk_max = CHUNK_MAX,
};

/* ---- injected management events ---- */

/*
 * "fail STATUS BYTES": that many bytes of the next record are written, then the buffer stops with
 * these bits of PMBSR. "collide": samples collide. "spurious": an interrupt without a status.
 */
static int inject_event(const char *word, u64 status, u32 nr_bytes)
{
	struct spe_cpu *c = this_cpu_ptr(&spe_cpus);

	if (!strcmp(word, "fail"))
		spe_output_fail(&c->out, status, nr_bytes);
	else if (!strcmp(word, "collide"))
		spe_output_collide(&c->out);
	else if (!strcmp(word, "spurious"))
		irq_line_raise(&c->interrupt, NULL);
	else
		return -EINVAL;
	return 0;
}

static const struct inject spe_inject = {.event = inject_event};

/* ---- the units of all CPUs ---- */

static void logs_exit(void)
{
	int cpu;

	for_each_possible_cpu (cpu)
		unit_log_exit(&per_cpu(spe_cpus, cpu).log);
}

static int logs_init(struct dentry *dir)
{
	int cpu, err = 0;

	dir = debugfs_create_dir("log", dir);
	for_each_possible_cpu (cpu) {
		struct unit_log *log = &per_cpu(spe_cpus, cpu).log;

		err = err ?: unit_log_init(log, &log_kind, cpu);
		unit_log_show(log, dir);
	}
	return err;
}

int spe_units_init(struct dentry *dir)
{
	int cpu, err;

	for_each_possible_cpu (cpu) {
		struct spe_cpu *c = &per_cpu(spe_cpus, cpu);

		c->bus = (struct spe_output_bus){.ctx = c, .virt = arm_unit_virt, .irq = raise_irq};
		spe_output_init(&c->out, &c->bus, 1u << MAX_RECORD_LOG2, 1u << ALIGN_LOG2);
		irq_line_init(&c->interrupt, handle_irqs);
	}
	dir = debugfs_create_dir("spe", dir);
	err = logs_init(dir);
	if (err)
		goto fail;
	inject_init(&spe_inject, dir);
	err = replay_init(&spe_replay, &spe_replay_unit, dir);
fail:
	if (err)
		logs_exit();
	return err;
}

void spe_units_exit(void)
{
	int cpu;

	replay_exit(&spe_replay);
	for_each_possible_cpu (cpu)
		irq_line_sync(&per_cpu(spe_cpus, cpu).interrupt);
	logs_exit();
}
