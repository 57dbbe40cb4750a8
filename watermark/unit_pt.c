// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Intel PT output stage (driver/hw/pt_output.c) as a trace unit of the simulator: it has the
 * MSRs, reads tables over the bus, and reports its stores, each within one region.
 */
#include "units.h"

#include "hw/pt_output.h"
#include <stdlib.h>

struct pt {
	const struct auxtap_unit_bus *bus;
	struct pt_output_bus stage_bus;
	struct pt_output out;
	u64 ctl;
	u64 entry; /* the table entry that the stage reads */
	u64 region_phys, region_size;
};

static u8 any_region[16]; /* stands for any region: the stage only counts positions */

/*
 * The stage reads table entries. It also maps regions, but stores nothing into them: it only needs
 * to know that they exist.
 */
static void *stage_phys(void *ctx, u64 addr, u64 size)
{
	struct pt *pt = ctx;

	if (size == sizeof(pt->entry))
		return pt->bus->load(pt->bus->ctx, addr, &pt->entry, sizeof(pt->entry)) ?
			       NULL :
			       &pt->entry;
	if (pt->bus->store(pt->bus->ctx, addr, NULL, 0))
		return NULL;
	pt->region_phys = addr;
	pt->region_size = size;
	return any_region;
}

static void stage_irq(void *ctx)
{
	struct pt *pt = ctx;

	pt->bus->irq(pt->bus->ctx);
}

static void *pt_create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct pt *pt = calloc(1, sizeof(*pt));

	if (!pt)
		return NULL;
	pt->bus = bus;
	pt->stage_bus = (struct pt_output_bus){pt, stage_phys, stage_irq};
	pt_output_init(&pt->out, &pt->stage_bus);
	pt->out.irq_delay_bytes = (u32)setup->irq_delay_bytes;
	return pt;
}

static uint64_t pt_reg_read(void *unit, uint32_t reg)
{
	const struct pt *pt = unit;

	switch (reg) {
	case MSR_RTIT_OUTPUT_BASE:
		return pt->out.base;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		if (pt->out.region) /* output is running: the stage has the offset */
			return (u32)pt->out.mask_ptrs | pt->out.region_off << 32;
		return pt->out.mask_ptrs;
	case MSR_RTIT_CTL:
		return pt->ctl;
	case MSR_RTIT_STATUS:
		return pt->out.status;
	default:
		return 0;
	}
}

static void pt_reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct pt *pt = unit;

	switch (reg) {
	case MSR_RTIT_OUTPUT_BASE:
		pt->out.base = value;
		break;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		pt->out.mask_ptrs = value | 0x7f;
		break;
	case MSR_RTIT_STATUS:
		pt->out.status = value;
		break;
	case MSR_RTIT_CTL:
		if (value & RTIT_CTL_TRACEEN && !(pt->ctl & RTIT_CTL_TRACEEN))
			pt_output_start(&pt->out, value & RTIT_CTL_TOPA);
		else if (!(value & RTIT_CTL_TRACEEN))
			pt_output_stop(&pt->out);
		pt->ctl = value;
		break;
	default:
		break;
	}
}

/* Consumes up to the end of a region or of an interrupt's delay: events occur at that byte. */
static uint64_t pt_produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	struct pt *pt = unit;
	u64 addr, now = pt->out.nr_written + pt->out.nr_dropped, stored;

	if (pt->out.irq_pending && pt->out.irq_at > now && nr_bytes > pt->out.irq_at - now)
		nr_bytes = pt->out.irq_at - now;
	if (pt->out.region) {
		u64 space = pt->out.region_size - pt->out.region_off;

		if (nr_bytes > space)
			nr_bytes = space;
		addr = pt->region_phys + pt->out.region_off;
		/* store first: at the end of a region the stage may raise the interrupt line */
		if (pt->bus->store(pt->bus->ctx, addr, bytes, nr_bytes))
			pt->out.status |= RTIT_STATUS_ERROR;
	}
	*taken = nr_bytes;
	stored = pt_output_write(&pt->out, NULL, nr_bytes);
	return stored;
}

static const struct auxtap_trace_unit pt_unit = {
	.size = sizeof(pt_unit),
	.name = "intel_pt",
	.driver = "intel_pt",
	.create = pt_create,
	.destroy = free,
	.reg_read = pt_reg_read,
	.reg_write = pt_reg_write,
	.produce = pt_produce,
};

static void normalise(void *unit, bool closed)
{
	struct pt *pt = unit;

	(void)closed;
	pt->out.irq_at -=
		pt->out.irq_pending ? pt->out.nr_written + pt->out.nr_dropped : pt->out.irq_at;
	pt->out.nr_written = pt->out.nr_dropped = 0;
}

const struct unit_state unit_pt_state = {sizeof(struct pt), normalise};

const struct auxtap_trace_unit *unit_pt(void)
{
	return &pt_unit;
}
