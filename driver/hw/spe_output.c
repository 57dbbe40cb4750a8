// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The output stage of an SPE unit (Arm ARM, the profiling buffer): stores records, detects the full
 * buffer, and reports it in the registers. Freestanding.
 */
#include "spe_output.h"

#define PAGE_BITS 0xfffull

static u64 limit_of(const struct spe_output *out)
{
	return out->limitr & ~PAGE_BITS;
}

static u64 aligned(const struct spe_output *out, u64 addr)
{
	return (addr + out->align - 1) & ~(u64)(out->align - 1);
}

/* A management event: nothing is written until S is cleared. */
static void halt(struct spe_output *out, u64 status)
{
	out->status |= status | PMBSR_S;
	out->irq_pending = true;
	out->irq_at = out->nr_written + out->nr_dropped + out->irq_delay_bytes;
}

/* Full: no space is left for a record of the largest size. */
static bool is_full(const struct spe_output *out)
{
	return aligned(out, out->ptr) + out->max_record > limit_of(out);
}

static void raise_irq(struct spe_output *out)
{
	if (!out->irq_pending || out->nr_written + out->nr_dropped < out->irq_at)
		return;
	out->irq_pending = false;
	out->bus->irq(out->bus->ctx);
}

/* Stores nr_bytes at ptr, after zeros up to the next multiple of align. False: a fault. */
static bool store(struct spe_output *out, const u8 *bytes, u32 nr_bytes)
{
	u64 at = aligned(out, out->ptr);
	u8 *to = out->bus->virt(out->bus->ctx, out->ptr, at - out->ptr + nr_bytes);

	if (!to)
		return false;
	for (; out->ptr < at; out->ptr++, out->nr_padding++)
		*to++ = 0;
	if (bytes)
		__builtin_memcpy(to, bytes, nr_bytes);
	out->ptr += nr_bytes;
	out->nr_written += nr_bytes;
	return true;
}

void spe_output_init(struct spe_output *out, const struct spe_output_bus *bus, u32 max_record,
		     u32 align)
{
	*out = (struct spe_output){.bus = bus, .max_record = max_record, .align = align};
}

bool spe_output_read(const struct spe_output *out, u32 reg, u64 *value)
{
	switch (reg) {
	case SYS_PMBLIMITR:
		*value = out->limitr;
		return true;
	case SYS_PMBPTR:
		*value = out->ptr;
		return true;
	case SYS_PMBSR:
		*value = out->status;
		return true;
	case SYS_PMBIDR:
		*value = (u64)__builtin_ctz(out->align);
		return true;
	default:
		return false;
	}
}

bool spe_output_write(struct spe_output *out, u32 reg, u64 value)
{
	switch (reg) {
	case SYS_PMBLIMITR:
		out->limitr = value & (~PAGE_BITS | PMBLIMITR_E);
		return true;
	case SYS_PMBPTR:
		/* the low bits are RES0: a driver that sets them has its pointer rounded down */
		out->ptr = value & ~(u64)(out->align - 1);
		return true;
	case SYS_PMBSR:
		out->status = value;
		if (!(value & PMBSR_S)) /* lowers the interrupt line, or cancels a delayed raise */
			out->irq_pending = false;
		return true;
	default:
		return false;
	}
}

bool spe_output_record(struct spe_output *out, const u8 *bytes, u32 nr_bytes)
{
	u32 part = nr_bytes;
	u64 status = 0;
	bool whole = false;

	if (!(out->limitr & PMBLIMITR_E) || out->status & PMBSR_S)
		goto drop;
	/* The driver has programmed a buffer without space for a record: it is full at once. */
	if (is_full(out)) {
		halt(out, PMBSR_EC(PMBSR_EC_BUFFER) | PMBSR_BSC_FULL);
		goto drop;
	}
	if (out->inject) {
		status = out->inject;
		part = out->inject_bytes < nr_bytes ? out->inject_bytes : nr_bytes;
		out->inject = 0;
	}
	if (part && !store(out, bytes, part)) {
		halt(out, PMBSR_EC(PMBSR_EC_STAGE1) | PMBSR_FSC_TRANSLATION);
		goto drop;
	}
	if (status)
		halt(out, status);
	else if (is_full(out))
		halt(out, PMBSR_EC(PMBSR_EC_BUFFER) | PMBSR_BSC_FULL);
	whole = part == nr_bytes;
	out->nr_dropped += nr_bytes - part;
	out->nr_records += whole;
	out->nr_records_dropped += !part;
	raise_irq(out);
	return whole;

drop:
	out->nr_dropped += nr_bytes;
	out->nr_records_dropped++;
	raise_irq(out);
	return false;
}

u64 spe_output_advance(struct spe_output *out, u32 nr_bytes, u64 nr_records)
{
	u64 space, fit;

	if (!(out->limitr & PMBLIMITR_E) || out->status & PMBSR_S || out->inject ||
	    out->irq_pending || !nr_bytes || nr_bytes & (out->align - 1) ||
	    out->ptr + out->max_record > limit_of(out))
		return 0;
	space = limit_of(out) - out->max_record - out->ptr;
	fit = space / nr_bytes;
	if (fit > nr_records)
		fit = nr_records;
	if (!fit || !out->bus->virt(out->bus->ctx, out->ptr, fit * nr_bytes))
		return 0;
	out->ptr += fit * nr_bytes;
	out->nr_written += fit * nr_bytes;
	out->nr_records += fit;
	return fit;
}

bool spe_output_irq(const struct spe_output *out)
{
	return out->status & PMBSR_S && !out->irq_pending;
}

void spe_output_collide(struct spe_output *out)
{
	out->status |= PMBSR_COLL;
}

void spe_output_fail(struct spe_output *out, u64 status, u32 nr_bytes)
{
	out->inject = status | PMBSR_S;
	out->inject_bytes = nr_bytes;
}
