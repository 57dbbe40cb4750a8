// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trace unit of each CPU: registers for the driver, memory and an interrupt line for the unit.
 * The driver accesses the registers with interrupts off, on its own CPU, as with rdmsr. Rule H12:
 * docs/kernel-rules.md.
 */
#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <asm/msr.h>
#include <asm/tsc.h>
#include "aux_calls.h"
#include "kmod_faults.h"
#include "kmod.h"
#include "pmu/intel_pt.h"
#include "pmu/intel_pt_buffer.h"

DEFINE_PER_CPU(struct kmod_cpu, kmod_cpus);
static struct replay pt_replay;

/*
 * Values for CPUID. The bus clock is 100 MHz, the core runs at the rate of the TSC, the CTC at a
 * fortieth of it.
 */
#define TSC_CTC_N 80
#define TSC_CTC_D 2

void kmod_unit_clock(struct kmod_cpu *c)
{
	u64 now = rdtsc_ordered();

	/* time in packets must not go backwards, whatever the processors' counters do */
	if ((s64)(now - c->tsc) > 0)
		c->tsc = now;
}

static void *phys_mem(u64 phys_addr, u64 size)
{
	u64 pfn = phys_addr >> PAGE_SHIFT, end = (phys_addr + size + PAGE_SIZE - 1) >> PAGE_SHIFT;

	for (; pfn < end; pfn++)
		if (!pfn_valid(pfn))
			return NULL;
	return phys_to_virt(phys_addr);
}

static void *unit_phys(void *ctx, u64 phys_addr, u64 size)
{
	struct kmod_cpu *c = ctx;
	void *mem = phys_mem(phys_addr, size);

	if (size != sizeof(c->entry) || !mem || !c->faults.fault)
		return mem;
	c->entry = unit_faults_entry(&c->faults, *(u64 *)mem, phys_mem(phys_addr + size, size));
	return &c->entry;
}

static void raise_irq(void *ctx)
{
	struct kmod_cpu *c = ctx;

	irq_line_raise(&c->interrupt, &c->faults);
}

static void handle_irqs(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		unit_log_irq(&this_cpu_ptr(&kmod_cpus)->log);
	for (i = 0; i < nr; i++)
		intel_pt_interrupt();
}

/* ---- the area and its thresholds, for the log ---- */

static u64 area_bytes(const void *area)
{
	return (u64)((const struct pt_buffer *)area)->nr_pages << PAGE_SHIFT;
}

static bool area_is_snapshot(const void *area)
{
	return ((const struct pt_buffer *)area)->snapshot;
}

/* The address is usually in the page of the previous call, or in the page after it. */
static u64 area_offset(const void *area, u64 addr, unsigned long *hint)
{
	const struct pt_buffer *buf = area;
	unsigned long i, page;

	for (i = 0; i < buf->nr_pages; i++) {
		page = (*hint + i) & (buf->nr_pages - 1);
		if (addr - (u64)buf->pages[page] >= PAGE_SIZE)
			continue;
		*hint = page;
		return ((u64)page << PAGE_SHIFT) + addr - (u64)buf->pages[page];
	}
	return UNIT_LOG_NO_OFFSET;
}

static const struct unit_log_kind log_kind = {
	.name = "intel_pt",
	.area_bytes = area_bytes,
	.area_is_snapshot = area_is_snapshot,
	.offset = area_offset,
};

struct unit_log *unit_log_of(const struct perf_event *event)
{
	return &this_cpu_ptr(&kmod_cpus)->log;
}

/*
 * Reads interrupt threshold and stop position from the tables, as the unit does: one wrap from its
 * current entry on.
 */
static void log_thresholds(struct kmod_cpu *c, const u64 *table, u64 index, u64 off)
{
	u64 at = c->log.pos - off, wrap = at + c->log.area_bytes;
	u64 threshold = UNIT_LOG_NO_OFFSET, stop = UNIT_LOG_NO_OFFSET;

	while (at < wrap) {
		u64 entry = table[index++];

		if (entry & TOPA_END) {
			table = phys_mem(entry & ~0xfffull, PAGE_SIZE);
			index = 0;
			if (!table)
				return;
			continue;
		}
		at += 4096ull << (entry >> TOPA_SIZE_SHIFT & 0xf);
		if (entry & TOPA_STOP && stop == UNIT_LOG_NO_OFFSET)
			stop = at;
		else if (entry & TOPA_INT && threshold == UNIT_LOG_NO_OFFSET)
			threshold = at;
	}
	if (threshold == UNIT_LOG_NO_OFFSET)
		threshold = stop;
	/* a threshold after the stop is never reached: it belongs to the previous wrap */
	else if (threshold > stop)
		threshold = threshold > c->log.area_bytes ? threshold - c->log.area_bytes : 0;
	unit_log_thresholds(&c->log, threshold, stop);
}

/* The driver is about to switch the unit on. */
static void log_on(struct kmod_cpu *c, bool topa)
{
	const struct pt_output *out = &c->unit.out;
	u64 index = out->mask_ptrs >> 7 & 0x1ffffff, off = out->mask_ptrs >> 32;
	const u64 *table;

	if (!c->log.entries)
		return;
	if (!topa) {
		unit_log_on(&c->log, (u64)phys_mem(out->base, 1) + off);
		return;
	}
	table = phys_mem(out->base & ~0xfffull, PAGE_SIZE);
	if (!table || index >= PAGE_SIZE / sizeof(*table))
		return;
	unit_log_on(&c->log, (u64)phys_mem(table[index] & ~0xfffull, 1) + off);
	log_thresholds(c, table, index, off);
}

/* ---- bytes from the replay engine ---- */

/* H12: flags PARTIAL, as for VMX operation; the injected fault makes TRUNCATED of it. */
static void inject_partial(struct kmod_cpu *c)
{
	if (fault_of_kernel() != KERNEL_PARTIAL_AS_TRUNCATED ||
	    c->nr_starts - c->last_partial_start < 3)
		return;
	c->last_partial_start = c->nr_starts;
	unit_log_partial(&c->log);
	intel_pt_flag_partial();
}

/*
 * The output stage checks its interrupt line at the end of each write. For exact positions a write
 * ends where a region ends, or where a delayed interrupt is due.
 */
static size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written)
{
	struct kmod_cpu *c = this_cpu_ptr(&kmod_cpus);
	struct pt_output *out = &c->unit.out;
	u64 produced = out->nr_written + out->nr_dropped, at = (u64)out->region + out->region_off;

	inject_partial(c);
	if (out->irq_pending && out->irq_at > produced)
		nr_bytes = min_t(u64, nr_bytes, out->irq_at - produced);
	if (out->region)
		nr_bytes = min_t(u64, nr_bytes, out->region_size - out->region_off);
	*nr_written = pt_output_write(out, bytes, nr_bytes);
	unit_log_write(&c->log, at, *nr_written);
	unit_log_lost(&c->log, nr_bytes - *nr_written);
	return nr_bytes;
}

static bool unit_interrupt_pending(void)
{
	return irq_line_pending(&this_cpu_ptr(&kmod_cpus)->interrupt);
}

static const struct replay_unit pt_replay_unit = {
	.produce = unit_produce,
	.interrupt_pending = unit_interrupt_pending,
	.chunk_max = 1,
};

/* ---- registers ---- */

static u64 unit_read(int cpu, u32 msr)
{
	struct kmod_cpu *c = &per_cpu(kmod_cpus, cpu);

	return unit_faults_read(&c->faults, msr, pt_unit_rdmsr(&c->unit, msr), 0, PAGE_SIZE);
}

/* Called before the unit is switched on or off. */
static void before_switch(struct kmod_cpu *c, u64 value, bool on)
{
	kmod_unit_clock(c);
	c->unit.out.irq_delay_bytes =
		irq_line_delay_bytes() + unit_faults_irq_delay_bytes(&c->faults, PAGE_SIZE);
	if (on) {
		c->nr_starts++;
		log_on(c, value & RTIT_CTL_TOPA);
		return;
	}
	replay_off(&pt_replay);
	trap_off(c);
	unit_log_off(&c->log);
	if (c->unit.ctl & RTIT_CTL_TRACEEN && unit_faults_stopping(&c->faults))
		irq_line_raise(&c->interrupt, NULL);
}

static void unit_write(int cpu, u32 msr, u64 value)
{
	struct kmod_cpu *c = &per_cpu(kmod_cpus, cpu);
	bool on = msr == MSR_RTIT_CTL && value & RTIT_CTL_TRACEEN;

	c->faults.fault = fault_of_unit();
	if (msr == MSR_RTIT_CTL)
		before_switch(c, value, on);
	value = unit_faults_write(&c->faults, msr, value, pt_unit_rdmsr(&c->unit, MSR_RTIT_STATUS),
				  PAGE_SIZE);
	if (pt_unit_wrmsr(&c->unit, msr, value)) {
		pr_err_ratelimited("auxtap: unchecked access: write of %llx to MSR %x\n", value,
				   msr);
		return;
	}
	if (!on)
		return;
	if (!replay_selected())
		trap_on(c);
	else if (c->unit.ctl & RTIT_CTL_USR)
		replay_on(&pt_replay);
}

/* An NMI may have interrupted the unit, or code that holds the lock of trap_work.c. */
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

static void logs_exit(void)
{
	int cpu;

	for_each_possible_cpu (cpu)
		unit_log_exit(&per_cpu(kmod_cpus, cpu).log);
}

static int logs_init(struct dentry *dir)
{
	int cpu, err = 0;

	dir = debugfs_create_dir("log", dir);
	for_each_possible_cpu (cpu) {
		struct unit_log *log = &per_cpu(kmod_cpus, cpu).log;

		err = err ?: unit_log_init(log, &log_kind, cpu);
		unit_log_show(log, dir);
	}
	return err;
}

int kmod_units_init(struct dentry *dir)
{
	struct pt_unit_config config = {
		.tsc_ctc_n = TSC_CTC_N,
		.tsc_ctc_d = TSC_CTC_D,
		.mtc_freq = 3,
		.nr_ranges = PT_NR_RANGES,
	};
	int cpu, err;

	kmod_hw.max_nonturbo_ratio = clamp(tsc_khz / 100000, 1u, 255u);
	config.core_bus_ratio = kmod_hw.max_nonturbo_ratio;
	config.max_nonturbo_ratio = kmod_hw.max_nonturbo_ratio;
	for_each_possible_cpu (cpu) {
		struct kmod_cpu *c = &per_cpu(kmod_cpus, cpu);

		c->bus = (struct pt_output_bus){.ctx = c, .phys = unit_phys, .irq = raise_irq};
		config.tsc = &c->tsc;
		pt_unit_init(&c->unit, &config, &c->bus);
		irq_line_init(&c->interrupt, handle_irqs);
	}
	err = logs_init(dir);
	if (!err)
		err = replay_init(&pt_replay, &pt_replay_unit, dir);
	if (err)
		logs_exit();
	return err;
}

void kmod_units_exit(void)
{
	int cpu;

	replay_exit(&pt_replay);
	for_each_possible_cpu (cpu)
		irq_line_sync(&per_cpu(kmod_cpus, cpu).interrupt);
	logs_exit();
}
