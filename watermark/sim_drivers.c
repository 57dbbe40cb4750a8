// SPDX-License-Identifier: BSD-2-Clause
/*
 * The drivers of the simulated machine: registration, interrupt handlers, and the register
 * accesses, which go to the trace unit. Hardware faults that a driver would see in a register are
 * injected here.
 */
#include "sim.h"
#include "units.h"

#include "core/core.h"
#include "pmu/arm_spe.h"
#include "pmu/cs_etm.h"
#include "pmu/intel_pt.h"
#include "pmu/intel_pt_buffer.h"
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

void driver_show_status(struct sim *sim, u64 written)
{
	const struct sim_driver *d = sim->driver;
	u64 status, pointer, off;
	char text[64];

	if (!sim->on_event)
		return;
	status = reg_read(sim->c.cpu, d->status_reg);
	pointer = reg_read(sim->c.cpu, d->pointer_reg);
	off = d->pointer_off(sim, pointer);
	put_bits(text, sizeof(text), status, d->status_bits);
	if (written == NOT_WRITTEN || status & ~written)
		sim_status(sim, status, off, written, text);
}

/* PT: OUTPUT_MASK_PTRS has the index of the ToPA entry, and the offset in its region. */
static u64 pt_pointer_off(struct sim *sim, u64 pointer)
{
	u64 base = reg_read(sim->c.cpu, MSR_OUTPUT_BASE) & ~0xfffull;
	const u64 *table = core_phys_to_virt(base, 4096);
	u64 index = pointer >> 7 & 0x1ffffff;
	u64 off = table && index < 512 ? machine_offset(sim, table[index] & ~0xfffull) : NO_OFFSET;

	if (off != NO_OFFSET)
		off = (off + (pointer >> 32)) & (sim->aux_size - 1);
	return off;
}

/* Arm: the pointer is an address, at most the end of the area. */
static u64 arm_pointer_off(struct sim *sim, u64 pointer)
{
	if (pointer == (u64)(uintptr_t)sim->aux + sim->aux_size)
		return sim->aux_size;
	return machine_offset(sim, pointer);
}

/* Forwards a write to the unit; before a write that enables the unit, reads the thresholds. */
static void reg_write(int cpu, u32 reg, u64 value)
{
	struct sim *sim = current_sim;
	bool was_on = machine_tracing(sim);

	(void)cpu;
	switch (reg) {
	case MSR_OUTPUT_BASE:
		sim->pt_base = value;
		break;
	case MSR_MASK_PTRS:
		sim->pt_mask_ptrs = value;
		break;
	case MSR_CTL:
		sim->unit_on = sim->buffer_on = value & ENABLE;
		break;
	case PMSCR:
		sim->unit_on = value & 3;
		break;
	case PMBPTR:
	case TRBPTR:
		sim->regs_ptr = value;
		sim->ptr_written = true;
		break;
	case TRBBASER:
		sim->regs_base = value;
		break;
	case PMBLIMITR:
	case TRBLIMITR:
		sim->regs_limit = value & ~0xfffull;
		sim->buffer_on = value & ENABLE;
		break;
	default:
		break;
	}
	/* before the write reaches the unit, which may reach its thresholds at once */
	if (value & ENABLE &&
	    ((reg == MSR_CTL && !was_on) || reg == PMBLIMITR || reg == TRBLIMITR)) {
		if (sim->mon.open)
			sim->driver->read_thresholds(sim);
		driver_show_status(sim, NOT_WRITTEN);
	}
	sim->unit->reg_write(sim->u, reg, faults_reg_write(sim, reg, value));
	if (reg == MSR_STATUS || reg == PMBSR || reg == TRBSR)
		driver_show_status(sim, value);
	if ((reg == MSR_CTL && was_on && !(value & ENABLE)) || (reg == PMSCR && was_on && !value))
		faults_at_unit_off(sim);
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
	faults_at_unit_off(current_sim);
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

static _Thread_local struct cs_etm_hw etm_hw = {
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

/* ---- PT's description of the area, for explore.c, which compares states ---- */

/* The driver sets position and thresholds before it switches the unit on (H4, D4). */
static void pt_normalise_area(void *area)
{
	pt_buffer_clear_thresholds(area);
	pt_buffer_seek(area, 0);
}

static void pt_rebase_area(void *area, u64 by)
{
	struct pt_buffer *buf = area;

	buf->head -= by;
}

/* ---- the table ---- */

static const struct status_bit pt_bits[] = {{0x20, "Stopped"}, {0x10, "Error"}, {0}};
static const struct status_bit spe_bits[] = {{0x80000, "DL"},
					     {0x40000, "EA"},
					     {0x20000, "S"},
					     {0x10000, "COLL"},
					     {0}};
static const struct status_bit trbe_bits[] = {{0x400000, "IRQ"},  {0x200000, "TRG"},
					      {0x100000, "WRAP"}, {0x40000, "EA"},
					      {0x20000, "S"},	  {0}};

static const struct sim_driver drivers[] = {
	{
		.name = "intel_pt",
		.pmu = "intel_pt",
		.start = pt_start,
		.end = intel_pt_unregister,
		.interrupt = pt_interrupt,
		.unit = unit_pt,
		.unit_state = &unit_pt_state,
		.flags = DRIVER_PHYSICAL | DRIVER_IRQ_KEEPS_TRACING,
		.attr_config = 0x2001,
		.pad = 0x00,
		.stop_flag = PERF_AUX_FLAG_TRUNCATED,
		.min_pages = 1,
		.max_page = 4096,
		.setup = {.align = 1, .record_bytes = 16},
		.sweep_overshoot = 64,
		.status_bits = pt_bits,
		.status_reg = MSR_STATUS,
		.pointer_reg = MSR_MASK_PTRS,
		.pointer_off = pt_pointer_off,
		.read_thresholds = thresholds_read_tables,
		.normalise_area = pt_normalise_area,
		.rebase_area = pt_rebase_area,
	},
	{
		.name = "arm_spe",
		.pmu = "arm_spe_0",
		.start = spe_start,
		.end = arm_spe_unregister,
		.interrupt = arm_spe_interrupt,
		.unit = unit_spe,
		.unit_state = &unit_spe_state,
		.flags = DRIVER_TRACE_IS_RECORDS,
		.pad = 0x00,
		.min_pages = 2,
		.max_page = 65536,
		.setup = {.align = 64, .record_bytes = 64, .max_record = 64},
		.status_bits = spe_bits,
		.status_reg = PMBSR,
		.pointer_reg = PMBPTR,
		.pointer_off = arm_pointer_off,
		.read_thresholds = thresholds_read_registers,
	},
	{
		.name = "trbe",
		.pmu = "cs_etm",
		.start = trbe_start,
		.end = cs_etm_unregister,
		.interrupt = trbe_irq,
		.unit = unit_trbe,
		.unit_state = &unit_trbe_state,
		.flags = DRIVER_SNAPSHOT_HEAD_COUNTS | DRIVER_WRAPS,
		.pad = 0x70,
		.stop_flag = PERF_AUX_FLAG_COLLISION,
		.min_pages = 2,
		.max_page = 65536,
		.errata = AUXTAP_ERRATUM_OVERWRITE | AUXTAP_ERRATUM_BEYOND,
		.setup = {.align = 64, .record_bytes = 16},
		.status_bits = trbe_bits,
		.status_reg = TRBSR,
		.pointer_reg = TRBPTR,
		.pointer_off = arm_pointer_off,
		.read_thresholds = thresholds_read_registers,
	},
};

#define NR_DRIVERS (sizeof(drivers) / sizeof(drivers[0]))

const struct sim_driver *sim_driver_find(const char *name)
{
	for (size_t i = 0; i < NR_DRIVERS; i++)
		if (name && !strcmp(drivers[i].name, name))
			return &drivers[i];
	return NULL;
}

bool driver_has(const struct sim *sim, unsigned int flag)
{
	return sim->driver->flags & flag;
}

const struct auxtap_trace_unit *auxtap_trace_unit_find(const char *driver)
{
	const struct sim_driver *d = sim_driver_find(driver);

	return d ? d->unit() : NULL;
}

const struct unit_state *unit_state(const struct auxtap_trace_unit *unit)
{
	for (size_t i = 0; i < NR_DRIVERS; i++)
		if (unit == drivers[i].unit())
			return drivers[i].unit_state;
	return NULL;
}
