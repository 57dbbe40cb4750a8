// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trace unit of one's own for the watermark simulator: the trace buffer of an Arm PE (Trace
 * Buffer Extension), in fill mode, written from the Arm ARM alone. The registers and the
 * interrupt are here; the driver, the kernel and the reader are the simulator's.
 *
 *	cc -shared -fPIC -o trace_unit.so trace_unit.c
 *	auxtap watermark sim --unit ./trace_unit.so --contents
 *
 * -DLATE_BYTES=4096 makes a unit whose interrupt comes a page late.
 */
#include <auxtap/watermark.h>
#include <stdlib.h>

#define TRBLIMITR AUXTAP_SYSREG(3, 0, 9, 11, 0)
#define TRBPTR	  AUXTAP_SYSREG(3, 0, 9, 11, 1)
#define TRBBASER  AUXTAP_SYSREG(3, 0, 9, 11, 2)
#define TRBSR	  AUXTAP_SYSREG(3, 0, 9, 11, 3)
#define TRBIDR	  AUXTAP_SYSREG(3, 0, 9, 11, 7)

#define PAGES	    (~0xfffull) /* base and limit are pages */
#define LIMITR_E    0x1ull	/* the buffer is on */
#define SR_IRQ	    (1ull << 22)
#define SR_WRAP	    (1ull << 20)
#define SR_S	    (1ull << 17)    /* collection has stopped */
#define SR_FILLED   0x1ull	    /* of buffer events (EC 0): why */
#define SR_EC_FAULT (0x24ull << 26) /* a stage 1 fault on a write */

#ifndef LATE_BYTES
#define LATE_BYTES 0
#endif

struct buffer {
	const struct auxtap_unit_bus *bus;
	uint64_t limitr, ptr, base, sr;
	uint64_t align, irq_delay_bytes;
	uint64_t nr_until_irq; /* bytes until the interrupt line rises … */
	int irq_pending;       /* … if an interrupt is due */
};

static void *create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->bus = bus;
	b->align = setup->align;
	b->irq_delay_bytes = setup->irq_delay_bytes + LATE_BYTES;
	return b;
}

static uint64_t reg_read(void *unit, uint32_t reg)
{
	const struct buffer *b = unit;

	switch (reg) {
	case TRBLIMITR:
		return b->limitr;
	case TRBPTR:
		return b->ptr;
	case TRBBASER:
		return b->base;
	case TRBSR:
		return b->sr;
	case TRBIDR: /* Align: log2 of what the pointer must be a multiple of */
		return (uint64_t)__builtin_ctzll(b->align);
	default:
		return 0;
	}
}

static void reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct buffer *b = unit;

	if (reg == TRBLIMITR)
		b->limitr = value;
	else if (reg == TRBPTR)
		b->ptr = value & ~(b->align - 1);
	else if (reg == TRBBASER)
		b->base = value & PAGES;
	else if (reg == TRBSR)
		b->sr = value;
	if (!(b->sr & SR_IRQ)) /* the driver has cleared the interrupt */
		b->irq_pending = 0;
}

/* Stop storing and interrupt the driver. */
static void stop(struct buffer *b, uint64_t why)
{
	b->sr |= SR_S | SR_IRQ | why;
	b->irq_pending = 1;
	b->nr_until_irq = b->irq_delay_bytes;
}

static uint64_t produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	struct buffer *b = unit;
	uint64_t limit = b->limitr & PAGES, stored = 0;

	if (!(b->sr & SR_S)) { /* collecting: at most up to the limit */
		if (nr_bytes > limit - b->ptr)
			nr_bytes = limit - b->ptr;
		if (b->ptr >= limit || b->bus->store(b->bus->ctx, b->ptr, bytes, nr_bytes)) {
			stop(b, SR_EC_FAULT);
			nr_bytes = 1; /* lost; the next call decides about the other bytes */
		} else {
			stored = nr_bytes;
			b->ptr += nr_bytes;
		}
		if (b->ptr == limit) { /* filled: wrap, stop, interrupt */
			b->ptr = b->base;
			stop(b, SR_WRAP | SR_FILLED);
		}
	} else if (b->irq_pending) { /* lost, but the interrupt may rise before the end */
		if (nr_bytes > b->nr_until_irq)
			nr_bytes = b->nr_until_irq;
		b->nr_until_irq -= nr_bytes;
	}
	if (b->irq_pending && !b->nr_until_irq) {
		b->irq_pending = 0;
		b->bus->irq(b->bus->ctx);
	}
	*taken = nr_bytes;
	return stored;
}

static int irq_level(void *unit)
{
	const struct buffer *b = unit;

	return b->sr & SR_IRQ && !b->irq_pending;
}

const struct auxtap_trace_unit auxtap_trace_unit = {
	.size = sizeof(auxtap_trace_unit),
	.name = LATE_BYTES ? "example-late" : "example",
	.driver = "trbe",
	.create = create,
	.destroy = free,
	.reg_read = reg_read,
	.reg_write = reg_write,
	.produce = produce,
	.irq_level = irq_level,
};
