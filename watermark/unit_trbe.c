// SPDX-License-Identifier: BSD-2-Clause
/*
 * The TRBE (driver/hw/trbe_output.c) as a trace unit of the simulator; the setup selects its
 * errata.
 */
#include "units.h"

#include "hw/trbe_output.h"
#include <stdlib.h>

#define OVERWRITE_BYTES 256
#define BEYOND_BYTES	4096

struct trbe {
	const struct auxtap_unit_bus *bus;
	struct trbe_output_bus stage_bus;
	struct trbe_output out;
	const u8 *bytes; /* those of produce() */
	u64 done;	 /* how many of them are stored */
};

/* Called once before each store, in the order of the bytes. */
static void *stage_virt(void *ctx, u64 addr, u64 size)
{
	struct trbe *trbe = ctx;
	const u8 *bytes = trbe->bytes ? trbe->bytes + trbe->done : NULL;

	trbe->done += size;
	return trbe->bus->store(trbe->bus->ctx, addr, bytes, size) ? NULL : trbe;
}

static void stage_irq(void *ctx)
{
	struct trbe *trbe = ctx;

	trbe->bus->irq(trbe->bus->ctx);
}

static void *trbe_create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct trbe *trbe = calloc(1, sizeof(*trbe));

	if (!trbe)
		return NULL;
	trbe->bus = bus;
	trbe->stage_bus = (struct trbe_output_bus){trbe, stage_virt, stage_irq};
	trbe_output_init(&trbe->out, &trbe->stage_bus, setup->align);
	trbe->out.irq_delay_bytes = (u32)setup->irq_delay_bytes;
	trbe->out.overwrite_bytes = setup->errata & AUXTAP_ERRATUM_OVERWRITE ? OVERWRITE_BYTES : 0;
	trbe->out.beyond_bytes = setup->errata & AUXTAP_ERRATUM_BEYOND ? BEYOND_BYTES : 0;
	return trbe;
}

static uint64_t trbe_reg_read(void *unit, uint32_t reg)
{
	const struct trbe *trbe = unit;
	u64 value = 0;

	trbe_output_read(&trbe->out, reg, &value);
	return value;
}

static void trbe_reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct trbe *trbe = unit;

	trbe_output_write_reg(&trbe->out, reg, value);
}

/* Consumes up to the limit or the end of an interrupt's delay. */
static uint64_t trbe_produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	struct trbe *trbe = unit;
	struct trbe_output *out = &trbe->out;
	u64 now = out->nr_written + out->nr_dropped;
	u64 limit = out->limitr & ~0xfffull;

	if (out->irq_pending && out->irq_at > now && nr_bytes > out->irq_at - now)
		nr_bytes = out->irq_at - now;
	if (out->limitr & TRBLIMITR_E && !(out->status & TRBSR_S) && limit > out->ptr &&
	    nr_bytes > limit - out->ptr)
		nr_bytes = limit - out->ptr;
	*taken = nr_bytes;
	trbe->bytes = bytes;
	trbe->done = 0;
	/* bytes NULL: stage_virt() has stored them */
	return trbe_output_write(out, NULL, nr_bytes);
}

static int trbe_irq_level(void *unit)
{
	return trbe_output_irq(&((struct trbe *)unit)->out);
}

static const struct auxtap_trace_unit trbe_unit = {
	.size = sizeof(trbe_unit),
	.name = "trbe",
	.driver = "trbe",
	.create = trbe_create,
	.destroy = free,
	.reg_read = trbe_reg_read,
	.reg_write = trbe_reg_write,
	.produce = trbe_produce,
	.irq_level = trbe_irq_level,
};

static void normalise(void *unit, bool closed)
{
	struct trbe *trbe = unit;
	struct trbe_output *out = &trbe->out;

	out->irq_at -= out->irq_pending ? out->nr_written + out->nr_dropped : out->irq_at;
	out->nr_written = out->nr_dropped = out->nr_errata_bytes = 0;
	trbe->done = 0;
	if (closed && !(out->limitr & 1))
		out->limitr = out->ptr = out->base = 0;
}

const struct unit_state unit_trbe_state = {sizeof(struct trbe), normalise};

const struct auxtap_trace_unit *unit_trbe(void)
{
	return &trbe_unit;
}
