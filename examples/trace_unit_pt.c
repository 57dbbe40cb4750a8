// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trace unit of one's own for the watermark simulator: the output stage of Intel PT with its
 * tables (ToPA), written from the Software Developer's Manual, vol. 3, "Trace Output", alone.
 * Unlike examples/trace_unit.c, an Arm one, the unit finds its buffer in tables in memory, which
 * the driver writes and changes; the interrupt does not stop the unit.
 *
 *	cc -shared -fPIC -o trace_unit_pt.so trace_unit_pt.c
 *	auxtap watermark sim --unit ./trace_unit_pt.so --contents
 *
 * -DLATE_BYTES=4096 makes a unit whose interrupt comes a page late.
 */
#include <auxtap/watermark.h>
#include <stdlib.h>

#define OUTPUT_BASE	 0x560 /* physical address of the table */
#define OUTPUT_MASK_PTRS 0x561 /* where in it: index of the entry, offset in its region */
#define CTL		 0x570
#define STATUS		 0x571

#define CTL_TRACEEN    (1ull << 0)
#define CTL_TOPA       (1ull << 8)
#define STATUS_ERROR   (1ull << 4)
#define STATUS_STOPPED (1ull << 5)

/* an entry of a table */
#define ENTRY_END	 (1ull << 0) /* no region: the address of the next table */
#define ENTRY_INT	 (1ull << 2)
#define ENTRY_STOP	 (1ull << 4)
#define ENTRY_SIZE(e)	 (4096ull << ((e) >> 6 & 0xf))
#define ENTRY_ADDRESS(e) ((e)&0xffffffffff000ull)

#ifndef LATE_BYTES
#define LATE_BYTES 0
#endif

struct pt {
	const struct auxtap_unit_bus *bus;
	uint64_t ctl, status, base, index, offset;
	uint64_t entry; /* the current one, valid while writing */
	int writing;	/* trace goes to memory */
	uint64_t irq_delay_bytes;
	uint64_t nr_until_irq; /* bytes until the interrupt … */
	int irq_pending;       /* … if one is due */
};

static void *create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct pt *pt = calloc(1, sizeof(*pt));

	if (!pt)
		return NULL;
	pt->bus = bus;
	pt->irq_delay_bytes = setup->irq_delay_bytes + LATE_BYTES;
	return pt;
}

static void halt(struct pt *pt, uint64_t why)
{
	pt->status |= why;
	pt->writing = 0;
}

/* Makes the entry at index the current one; follows a link to the next table. */
static void enter(struct pt *pt)
{
	for (int links = 0; links < 2; links++) {
		if (pt->bus->load(pt->bus->ctx, pt->base + pt->index * sizeof(pt->entry),
				  &pt->entry, sizeof(pt->entry)))
			break;
		if (!(pt->entry & ENTRY_END)) {
			pt->writing = pt->offset < ENTRY_SIZE(pt->entry);
			if (pt->writing)
				return;
			break;
		}
		pt->base = ENTRY_ADDRESS(pt->entry);
		pt->index = 0;
	}
	halt(pt, STATUS_ERROR);
}

static uint64_t reg_read(void *unit, uint32_t reg)
{
	const struct pt *pt = unit;

	switch (reg) {
	case OUTPUT_BASE:
		return pt->base;
	case OUTPUT_MASK_PTRS: /* the low seven bits read as ones */
		return pt->offset << 32 | pt->index << 7 | 0x7f;
	case CTL:
		return pt->ctl;
	case STATUS:
		return pt->status;
	default:
		return 0;
	}
}

static void reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct pt *pt = unit;
	uint64_t was = pt->ctl;

	switch (reg) {
	case OUTPUT_BASE:
		pt->base = value;
		break;
	case OUTPUT_MASK_PTRS:
		pt->offset = value >> 32;
		pt->index = value >> 7 & 0x1ffffff;
		break;
	case STATUS:
		pt->status = value;
		break;
	case CTL:
		pt->ctl = value;
		if (!(value & CTL_TRACEEN)) {
			pt->writing = 0;
			pt->irq_pending = 0; /* a driver that stops it reads the registers anyway */
		} else if (!(was & CTL_TRACEEN) &&
			   !(pt->status & (STATUS_ERROR | STATUS_STOPPED))) {
			if (value & CTL_TOPA)
				enter(pt);
			else
				halt(pt, STATUS_ERROR); /* this unit supports ToPA output only */
		}
		break;
	default:
		break;
	}
}

/* The region is full: act on its INT and STOP bits, then go to the next region. */
static void region_end(struct pt *pt)
{
	if (pt->entry & ENTRY_INT && !pt->irq_pending) {
		pt->irq_pending = 1;
		pt->nr_until_irq = pt->irq_delay_bytes;
	}
	if (pt->entry & ENTRY_STOP) { /* the offset stays at the end: the region is full */
		halt(pt, STATUS_STOPPED);
		return;
	}
	pt->index++;
	pt->offset = 0;
	enter(pt);
}

static uint64_t produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	struct pt *pt = unit;
	uint64_t stored = 0;

	/* return at the next event: the interrupt, or the region's end */
	if (pt->irq_pending && nr_bytes > pt->nr_until_irq)
		nr_bytes = pt->nr_until_irq;
	if (pt->writing) {
		uint64_t space = ENTRY_SIZE(pt->entry) - pt->offset;
		uint64_t at = ENTRY_ADDRESS(pt->entry) + pt->offset;

		if (nr_bytes > space)
			nr_bytes = space;
		if (pt->bus->store(pt->bus->ctx, at, bytes, nr_bytes)) {
			halt(pt, STATUS_ERROR);
		} else {
			stored = nr_bytes;
			pt->offset += nr_bytes;
		}
	}
	if (pt->irq_pending)
		pt->nr_until_irq -= nr_bytes;
	if (pt->writing && pt->offset == ENTRY_SIZE(pt->entry))
		region_end(pt);
	if (pt->irq_pending && !pt->nr_until_irq) {
		pt->irq_pending = 0;
		pt->bus->irq(pt->bus->ctx);
	}
	*taken = nr_bytes;
	return stored;
}

const struct auxtap_trace_unit auxtap_trace_unit = {
	.size = sizeof(auxtap_trace_unit),
	.name = LATE_BYTES ? "example-pt-late" : "example-pt",
	.driver = "intel_pt",
	.create = create,
	.destroy = free,
	.reg_read = reg_read,
	.reg_write = reg_write,
	.produce = produce,
	/* no irq_level: the interrupt is an edge */
};
