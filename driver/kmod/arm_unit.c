// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The SPE unit of each CPU: registers for the driver, memory and an interrupt line for the
 * output stage, records from the replay source. The driver reads and writes with interrupts
 * off, on its own CPU.
 */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include "pmu/arm_spe.h"
#include "pmu/arm_spe_regs.h"
#include "replay.h"
#include "silicon/spe_output.h"
#include "arm_unit.h"

#define MAX_RECORD_LOG2 6u
#define ALIGN_LOG2	6u
/* filters, no more; 12 bits of counters; an interval of 256 at least */
#define PMSIDR (SPE_PMSIDR_FE | SPE_PMSIDR_FT | SPE_PMSIDR_FL |                          \
		(u64)MAX_RECORD_LOG2 << SPE_PMSIDR_MAXSIZE_SHIFT |                       \
		2ull << SPE_PMSIDR_COUNTSIZE_SHIFT)

#define FIRST_REG 0xc4c8u /* PMSCR */
#define NR_REGS	  7

/* One CPU. Touched by that CPU only, with interrupts off. */
struct spe_cpu {
	struct spe_output out;
	struct spe_output_bus bus;
	u64 regs[NR_REGS]; /* PMSCR to PMSLATFR: what the sampler would go by */
	struct irq_work interrupt;
	struct hrtimer interrupt_timer; /* the interrupt, when it is to come late */
};

static DEFINE_PER_CPU(struct spe_cpu, spe_cpus);
unsigned int spe_skid_bytes, spe_irq_delay_us;

/* ---- memory: a range of virtual addresses, of which each page must be there ---- */

static void *unit_virt(void *ctx, u64 addr, u64 size)
{
	u64 at;

	for (at = addr & PAGE_MASK; at < addr + size; at += PAGE_SIZE)
		if (!is_vmalloc_addr((void *)at) || !vmalloc_to_page((void *)at))
			return NULL;
	return (void *)addr;
}

/* ---- the interrupt: never from within the unit, as on a processor ---- */

static void interrupt_work(struct irq_work *work)
{
	arm_spe_interrupt();
}

static enum hrtimer_restart interrupt_late(struct hrtimer *timer)
{
	arm_spe_interrupt();
	return HRTIMER_NORESTART;
}

static void unit_irq(void *ctx)
{
	struct spe_cpu *c = ctx;
	unsigned int delay_us = READ_ONCE(spe_irq_delay_us);

	if (delay_us)
		hrtimer_start(&c->interrupt_timer,
			      ns_to_ktime((u64)delay_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
	else
		irq_work_queue(&c->interrupt);
}

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

	c->out.irq_skid_bytes = READ_ONCE(spe_skid_bytes);
	if (spe_output_write(&c->out, reg, value))
		return;
	if (reg < FIRST_REG || reg >= FIRST_REG + NR_REGS) {
		pr_err_ratelimited("auxtap: undefined: write of %llx to register %x\n", value,
				   reg);
		return;
	}
	c->regs[reg - FIRST_REG] = value;
	if (reg != SPE_PMSCR)
		return;
	if (!value)
		replay_off();
	else if (replay_selected() && value & SPE_PMSCR_E0SPE)
		replay_on();
}

/* Stores are made by this CPU, in order. */
static void unit_drain(int cpu)
{
}

const struct arm_spe_hw spe_unit_hw = {
	.read = unit_read,
	.write = unit_write,
	.drain = unit_drain,
	.version = 3,
};

/* ---- records from the replay source ---- */

const unsigned int unit_piece_max = 2048;

/* Bytes of the packet that begins here. */
static size_t packet_bytes(const u8 *bytes, size_t nr_bytes)
{
	u8 header = bytes[0];

	if (header < 0x20)
		return 1; /* padding, end */
	if (header >= 0x40)
		return 1 + (1u << (header >> 4 & 3));
	/* an extended header: the second byte has the size; alignment has none */
	if (nr_bytes < 2 || !bytes[1])
		return 2;
	return 2 + (1u << (bytes[1] >> 4 & 3));
}

/*
 * A record is what ends with END or a timestamp. Padding behind it was made by the unit that
 * wrote it, as ours makes its own: it is taken, and shares the record's fate in the accounts.
 */
size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written)
{
	struct spe_cpu *c = this_cpu_ptr(&spe_cpus);
	size_t nr = 0, record;
	u8 header;

	do {
		if (nr >= nr_bytes)
			return 0;
		header = bytes[nr];
		nr += packet_bytes(bytes + nr, nr_bytes - nr);
	} while (header != 0x01 && header != 0x71 && nr < unit_piece_max / 2);
	if (nr > nr_bytes)
		return 0;
	record = min_t(size_t, nr, c->out.max_record);
	while (nr < nr_bytes && !bytes[nr])
		nr++;
	*nr_written = spe_output_record(&c->out, bytes, record) ? nr : 0;
	return nr;
}

bool unit_interrupt_pending(void)
{
	return irq_work_is_pending(&this_cpu_ptr(&spe_cpus)->interrupt);
}

/* ---- all of them ---- */

void spe_units_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct spe_cpu *c = &per_cpu(spe_cpus, cpu);

		c->bus = (struct spe_output_bus){
			.ctx = c, .virt = unit_virt, .irq = unit_irq};
		spe_output_init(&c->out, &c->bus, 1u << MAX_RECORD_LOG2, 1u << ALIGN_LOG2);
		c->interrupt = IRQ_WORK_INIT_HARD(interrupt_work);
		hrtimer_init(&c->interrupt_timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
		c->interrupt_timer.function = interrupt_late;
	}
}

void spe_units_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		irq_work_sync(&per_cpu(spe_cpus, cpu).interrupt);
		hrtimer_cancel(&per_cpu(spe_cpus, cpu).interrupt_timer);
	}
}
