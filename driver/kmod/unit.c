// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trace unit of each CPU: registers for the driver, memory and an interrupt line for
 * the unit. The driver reads and writes with interrupts off, on its own CPU, as rdmsr
 * would.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <asm/msr.h>
#include <asm/tsc.h>
#include "kmod.h"
#include "pmu/intel_pt.h"

DEFINE_PER_CPU(struct kmod_cpu, kmod_cpus);
static struct replay pt_replay;

/*
 * What CPUID would tell. The bus clock is 100 MHz, the core runs at the TSC's rate, the
 * CTC is a fortieth of it.
 */
#define TSC_CTC_N 80
#define TSC_CTC_D 2

void kmod_unit_clock(struct kmod_cpu *c)
{
	u64 now = rdtsc_ordered();

	/* packets must not go back in time, whatever the processors' counters do */
	if ((s64)(now - c->tsc) > 0)
		c->tsc = now;
}

static void *unit_phys(void *ctx, u64 phys_addr, u64 size)
{
	u64 pfn = phys_addr >> PAGE_SHIFT,
	    end = (phys_addr + size + PAGE_SIZE - 1) >> PAGE_SHIFT;

	for (; pfn < end; pfn++)
		if (!pfn_valid(pfn))
			return NULL;
	return phys_to_virt(phys_addr);
}

static void unit_irq(void *ctx)
{
	irq_line_raise(&((struct kmod_cpu *)ctx)->interrupt);
}

/* ---- bytes from the replay source ---- */

/*
 * The stage looks at its interrupt line at the end of what it is given: so that it comes
 * to the byte, a piece ends where a region does, or a skid.
 */
static size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written)
{
	struct pt_output *out = &this_cpu_ptr(&kmod_cpus)->unit.out;
	u64 produced = out->nr_written + out->nr_dropped;

	if (out->irq_pending && out->irq_at > produced)
		nr_bytes = min_t(u64, nr_bytes, out->irq_at - produced);
	if (out->region)
		nr_bytes = min_t(u64, nr_bytes, out->region_size - out->region_off);
	*nr_written = pt_output_write(out, bytes, nr_bytes);
	return nr_bytes;
}

static bool unit_interrupt_pending(void)
{
	return irq_line_pending(&this_cpu_ptr(&kmod_cpus)->interrupt);
}

static const struct replay_unit pt_replay_unit = {
	.produce = unit_produce,
	.interrupt_pending = unit_interrupt_pending,
	.piece_max = 1,
};

/* ---- registers ---- */

static u64 unit_read(int cpu, u32 msr)
{
	return pt_unit_rdmsr(&per_cpu(kmod_cpus, cpu).unit, msr);
}

static void unit_write(int cpu, u32 msr, u64 value)
{
	struct kmod_cpu *c = &per_cpu(kmod_cpus, cpu);
	bool on = msr == MSR_RTIT_CTL && value & RTIT_CTL_TRACEEN;

	if (msr == MSR_RTIT_CTL) {
		kmod_unit_clock(c);
		c->unit.out.irq_skid_bytes = irq_line_skid_bytes();
		if (!on) {
			replay_off(&pt_replay);
			trap_off(c);
		}
	}
	if (pt_unit_wrmsr(&c->unit, msr, value)) {
		pr_err_ratelimited("auxtap: unchecked access: write of %llx to MSR %x\n",
				   value, msr);
		return;
	}
	if (!on)
		return;
	if (!replay_selected())
		trap_on(c);
	else if (c->unit.ctl & RTIT_CTL_USR)
		replay_on(&pt_replay);
}

/* The unit, and the lists of trap_work.c, may be what the NMI came into. */
static bool unit_read_only(void)
{
	return in_nmi();
}

struct intel_pt_hw kmod_hw = {
	.read = unit_read,
	.write = unit_write,
	.read_only = unit_read_only,
	.single_range = true,
	.topa_multiple_entries = true,
	.nr_addr_ranges = PT_NR_RANGES,
	.tsc_art_n = TSC_CTC_N,
	.tsc_art_d = TSC_CTC_D,
};

int kmod_units_init(struct dentry *dir)
{
	struct pt_unit_config config = {
		.tsc_ctc_n = TSC_CTC_N,
		.tsc_ctc_d = TSC_CTC_D,
		.mtc_freq = 3,
		.nr_ranges = PT_NR_RANGES,
	};
	int cpu;

	kmod_hw.max_nonturbo_ratio = clamp(tsc_khz / 100000, 1u, 255u);
	config.core_bus_ratio = kmod_hw.max_nonturbo_ratio;
	config.max_nonturbo_ratio = kmod_hw.max_nonturbo_ratio;
	for_each_possible_cpu(cpu)
	{
		struct kmod_cpu *c = &per_cpu(kmod_cpus, cpu);

		c->bus = (struct pt_output_bus){
			.ctx = c, .phys = unit_phys, .irq = unit_irq};
		config.tsc = &c->tsc;
		pt_unit_init(&c->unit, &config, &c->bus);
		irq_line_init(&c->interrupt, intel_pt_interrupt);
	}
	return replay_init(&pt_replay, &pt_replay_unit, dir);
}

void kmod_units_exit(void)
{
	int cpu;

	replay_exit(&pt_replay);
	for_each_possible_cpu(cpu)
		irq_line_sync(&per_cpu(kmod_cpus, cpu).interrupt);
}
