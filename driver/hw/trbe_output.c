// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trace buffer of a PE (Arm ARM, Trace Buffer Extension): stores bytes, handles the full
 * buffer, and models two known errata. Freestanding.
 */
#include "trbe_output.h"

#define PAGE_BITS 0xfffull

static u64 limit_of(const struct trbe_output *out)
{
	return out->limitr & ~PAGE_BITS;
}

static u64 mode_of(const struct trbe_output *out)
{
	return out->limitr >> TRBLIMITR_FM_SHIFT & 3;
}

static void schedule_irq(struct trbe_output *out)
{
	out->irq_pending = true;
	out->irq_at = out->nr_written + out->nr_dropped + out->irq_delay_bytes;
}

static void raise_irq(struct trbe_output *out)
{
	if (!out->irq_pending || out->nr_written + out->nr_dropped < out->irq_at)
		return;
	out->irq_pending = false;
	out->bus->irq(out->bus->ctx);
}

static void halt(struct trbe_output *out, u64 status)
{
	out->status |= status | TRBSR_S | TRBSR_IRQ;
	schedule_irq(out);
}

/* False: a fault. */
static bool store(struct trbe_output *out, u64 at, const u8 *bytes, size_t nr_bytes)
{
	void *to = out->bus->virt(out->bus->ctx, at, nr_bytes);

	if (!to)
		return false;
	if (bytes)
		__builtin_memcpy(to, bytes, nr_bytes);
	return true;
}

/* The pointer has reached the limit. */
static void buffer_full(struct trbe_output *out)
{
	out->ptr = out->base;
	out->status |= TRBSR_WRAP;
	if (mode_of(out) == TRBLIMITR_FM_CIRC)
		return;
	if (mode_of(out) == TRBLIMITR_FM_WRAP) { /* reports it and continues */
		out->status |= TRBSR_IRQ | TRBSR_BSC_FILLED;
		schedule_irq(out);
		return;
	}
	out->beyond_at = limit_of(out);
	out->beyond_left = out->beyond_bytes;
	out->overwrite_left = out->overwrite_bytes;
	halt(out, TRBSR_EC(TRBSR_EC_BUFFER) | TRBSR_BSC_FILLED);
}

/*
 * Errata: some of the bytes after the buffer is full are still written to memory. (Those written at
 * base advance the pointer.)
 */
static void write_errata_bytes(struct trbe_output *out, const u8 *bytes, size_t nr_bytes)
{
	size_t i, beyond = nr_bytes < out->beyond_left ? nr_bytes : out->beyond_left;

	if (beyond && store(out, out->beyond_at, bytes, beyond)) {
		out->beyond_at += beyond;
		out->beyond_left -= (u32)beyond;
		out->nr_errata_bytes += beyond;
	}
	for (i = beyond; i < nr_bytes && out->overwrite_left; i++) {
		if (!store(out, out->ptr, bytes ? bytes + i : NULL, 1))
			break;
		out->ptr++;
		out->overwrite_left--;
		out->nr_errata_bytes++;
	}
}

void trbe_output_init(struct trbe_output *out, const struct trbe_output_bus *bus, u32 align)
{
	*out = (struct trbe_output){.bus = bus, .align = align};
}

bool trbe_output_read(const struct trbe_output *out, u32 reg, u64 *value)
{
	switch (reg) {
	case SYS_TRBLIMITR:
		*value = out->limitr;
		return true;
	case SYS_TRBPTR:
		*value = out->ptr;
		return true;
	case SYS_TRBBASER:
		*value = out->base;
		return true;
	case SYS_TRBSR:
		*value = out->status;
		return true;
	case SYS_TRBIDR:
		*value = (u64)__builtin_ctz(out->align);
		return true;
	default:
		return false;
	}
}

bool trbe_output_write_reg(struct trbe_output *out, u32 reg, u64 value)
{
	switch (reg) {
	case SYS_TRBLIMITR:
		out->limitr = value & (~PAGE_BITS | TRBLIMITR_LOW);
		out->beyond_left = out->overwrite_left = 0; /* a new buffer: errata end */
		return true;
	case SYS_TRBPTR:
		/* the low bits are RES0: a driver that sets them has its pointer rounded down */
		out->ptr = value & ~(u64)(out->align - 1);
		return true;
	case SYS_TRBBASER:
		out->base = value & ~PAGE_BITS;
		return true;
	case SYS_TRBSR:
		out->status = value;
		if (!(value &
		      TRBSR_IRQ)) /* lowers the interrupt line, or cancels a delayed raise */
			out->irq_pending = false;
		return true;
	default:
		return false;
	}
}

size_t trbe_output_write(struct trbe_output *out, const u8 *bytes, size_t nr_bytes)
{
	size_t done = 0;

	while (done < nr_bytes && out->limitr & TRBLIMITR_E && !(out->status & TRBSR_S)) {
		u64 space = limit_of(out) - out->ptr;
		size_t chunk = nr_bytes - done < space ? nr_bytes - done : space;

		if (out->inject) {
			halt(out, out->inject);
			out->inject = 0;
			break;
		}
		/* a pointer that is not below the limit would never reach it */
		if (out->ptr >= limit_of(out) ||
		    !store(out, out->ptr, bytes ? bytes + done : NULL, chunk)) {
			halt(out, TRBSR_EC(TRBSR_EC_STAGE1) | TRBSR_FSC_TRANSLATION);
			break;
		}
		done += chunk;
		out->ptr += chunk;
		out->nr_written += chunk;
		if (chunk == space)
			buffer_full(out);
	}
	if (done < nr_bytes && out->status & TRBSR_S)
		write_errata_bytes(out, bytes ? bytes + done : NULL, nr_bytes - done);
	out->nr_dropped += nr_bytes - done;
	raise_irq(out);
	return done;
}

bool trbe_output_irq(const struct trbe_output *out)
{
	return out->status & TRBSR_IRQ && !out->irq_pending;
}

void trbe_output_fail(struct trbe_output *out, u64 status)
{
	out->inject = status | TRBSR_S;
}

void trbe_output_spurious(struct trbe_output *out)
{
	out->status |= TRBSR_IRQ;
	out->bus->irq(out->bus->ctx);
}
