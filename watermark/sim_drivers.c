// SPDX-License-Identifier: BSD-2-Clause
/*
 * The drivers of the simulated machine: their registers led to the trace unit, their start, their
 * interrupt. Hardware faults that a driver would meet in a register are injected here.
 */
#include "sim.h"

#include "core/core.h"
#include "pmu/arm_spe.h"
#include "pmu/cs_etm.h"
#include "pmu/intel_pt.h"
#include <stdio.h>
#include <string.h>

#define MSR_OUTPUT_BASE 0x560
#define MSR_MASK_PTRS	0x561
#define MSR_CTL		0x570
#define PMSCR		0xc4c8
#define PMBLIMITR	0xc4d0
#define PMBPTR		0xc4d1
#define TRBLIMITR	0xc4d8
#define TRBPTR		0xc4d9
#define TRBBASER	0xc4da
#define ENABLE		0x1
#define MSR_STATUS	0x571
#define PMBSR		0xc4d3
#define TRBSR		0xc4db

/* ---- registers ---- */

struct status_bit {
	u64 bit;
	const char *name;
};

static u64 reg_read(int cpu, u32 reg)
{
	(void)cpu;
	return faults_reg_read(current_sim, reg, current_sim->unit->reg_read(current_sim->u, reg));
}

static void put_bits(char *text, size_t size, u64 value, const struct status_bit *bits)
{
	size_t len = 0;

	text[0] = '\0';
	for (; bits->name; bits++)
		if (value & bits->bit && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "|" : "",
						bits->name);
}

/* For observers: what the driver is going to find. */
void driver_show_status(struct sim *w, u64 written)
{
	static const struct status_bit pt[] = {{0x20, "Stopped"}, {0x10, "Error"}, {0}};
	static const struct status_bit spe[] = {{0x80000, "DL"},
						{0x40000, "EA"},
						{0x20000, "S"},
						{0x10000, "COLL"},
						{0}};
	static const struct status_bit trb[] = {{0x400000, "IRQ"},  {0x200000, "TRG"},
						{0x100000, "WRAP"}, {0x40000, "EA"},
						{0x20000, "S"},	    {0}};
	const struct status_bit *bits = trb;
	u32 status_reg = TRBSR, pointer_reg = TRBPTR;
	u64 status, pointer, off;
	char text[64];

	if (!w->on_event)
		return;
	if (!strcmp(w->driver->name, "intel_pt")) {
		bits = pt;
		status_reg = MSR_STATUS;
		pointer_reg = MSR_MASK_PTRS;
	} else if (!strcmp(w->driver->name, "arm_spe")) {
		bits = spe;
		status_reg = PMBSR;
		pointer_reg = PMBPTR;
	}
	status = reg_read(w->c.cpu, status_reg);
	pointer = reg_read(w->c.cpu, pointer_reg);
	if (bits == pt) { /* the table's entry, and the offset in it */
		u64 base = reg_read(w->c.cpu, MSR_OUTPUT_BASE) & ~0xfffull;
		const u64 *table = core_phys_to_virt(base, 4096);
		u64 index = pointer >> 7 & 0x1ffffff;

		off = table && index < 512 ? machine_offset(w, table[index] & ~0xfffull) : NEVER;
		if (off != NEVER)
			off = (off + (pointer >> 32)) & (w->aux_size - 1);
	} else {
		off = machine_offset(w, pointer);
		if (pointer == (u64)(uintptr_t)w->aux + w->aux_size)
			off = w->aux_size;
	}
	put_bits(text, sizeof(text), status, bits);
	if (written == NEVER || status & ~written)
		sim_status(w, status, off, written, text);
}

/* A write, after which the driver may have set the buffer up anew: that is looked at. */
static void reg_write(int cpu, u32 reg, u64 value)
{
	struct sim *w = current_sim;
	bool was_on = machine_tracing(w);

	(void)cpu;
	switch (reg) {
	case MSR_OUTPUT_BASE:
		w->pt_base = value;
		break;
	case MSR_MASK_PTRS:
		w->pt_mask_ptrs = value;
		break;
	case MSR_CTL:
		w->unit_on = w->buffer_on = value & ENABLE;
		break;
	case PMSCR:
		w->unit_on = value & 3;
		break;
	case PMBPTR:
	case TRBPTR:
		w->regs_ptr = value;
		w->ptr_written = true;
		break;
	case TRBBASER:
		w->regs_base = value;
		break;
	case PMBLIMITR:
	case TRBLIMITR:
		w->regs_limit = value & ~0xfffull;
		w->buffer_on = value & ENABLE;
		break;
	default:
		break;
	}
	/* before the unit runs: it may reach its thresholds at once */
	if (value & ENABLE &&
	    ((reg == MSR_CTL && !was_on) || reg == PMBLIMITR || reg == TRBLIMITR)) {
		thresholds_read(w);
		driver_show_status(w, NEVER);
	}
	w->unit->reg_write(w->u, reg, faults_reg_write(w, reg, value));
	if (reg == MSR_STATUS || reg == PMBSR || reg == TRBSR)
		driver_show_status(w, value);
	if ((reg == MSR_CTL && was_on && !(value & ENABLE)) || (reg == PMSCR && was_on && !value))
		faults_stopping(w);
}

static void drain(int cpu)
{
	(void)cpu;
}

static int etm_on(int cpu, const struct perf_event_attr *attr)
{
	(void)cpu;
	(void)attr;
	current_sim->unit_on = true;
	return 0;
}

static void etm_off(int cpu)
{
	(void)cpu;
	current_sim->unit_on = false;
	faults_stopping(current_sim);
}

/* ---- drivers ---- */

static int pt_start(void)
{
	static const struct intel_pt_hw hw = {
		.read = reg_read,
		.write = reg_write,
		.topa_multiple_entries = true,
	};

	return intel_pt_register("intel_pt", &hw);
}

static bool pt_interrupt(void)
{
	intel_pt_interrupt();
	return true;
}

static int spe_start(void)
{
	static const struct arm_spe_hw hw = {
		.read = reg_read,
		.write = reg_write,
		.drain = drain,
		.version = 4,
	};

	return arm_spe_register("arm_spe_0", &hw);
}

static struct cs_etm_hw etm_hw = {
	.trbe = {.read = reg_read, .write = reg_write, .drain = drain},
	.trace_on = etm_on,
	.trace_off = etm_off,
};

static int trbe_start(void)
{
	etm_hw.trbe.overwrites_in_fill_mode =
		current_sim->c.setup.errata & AUXTAP_ERRATUM_OVERWRITE;
	etm_hw.trbe.writes_out_of_range = current_sim->c.setup.errata & AUXTAP_ERRATUM_BEYOND;
	return cs_etm_register("cs_etm", &etm_hw);
}

static bool trbe_irq(void)
{
	return cs_etm_interrupt();
}

static const struct sim_driver drivers[] = {
	{"intel_pt", "intel_pt", pt_start, intel_pt_unregister, pt_interrupt, 0x2001, 0x00},
	{"arm_spe", "arm_spe_0", spe_start, arm_spe_unregister, arm_spe_interrupt, 0, 0x00},
	{"trbe", "cs_etm", trbe_start, cs_etm_unregister, trbe_irq, 0, 0x70},
};

const struct sim_driver *sim_driver_find(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (name && !strcmp(drivers[i].name, name))
			return &drivers[i];
	return NULL;
}
