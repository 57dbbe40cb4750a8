// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The output stage of a PT unit (SDM vol. 3, "Trace Output"): stores packet bytes, raises the
 * interrupt, stops output. Freestanding. Neighbour: pt_unit.c.
 */
#include "pt_output.h"

#define OFFSET_SHIFT	  32	  /* OUTPUT_MASK_PTRS: OutputOffset */
#define LOW_BITS	  0x7full /* OUTPUT_MASK_PTRS: always read as ones */
#define TABLE_INDEX_SHIFT 7	  /* bits 27:3 of the offset into the table, so this is an index */
#define TABLE_INDEX_MASK  0x1ffffffull
#define PHYS_BITS	  52 /* MAXPHYADDR */
#define PHYS_RESERVED	  (~0ull << PHYS_BITS)
#define TOPA_RESERVED	  (PHYS_RESERVED | 0xc00ull | (1ull << 5) | (1ull << 3) | (1ull << 1))
#define TOPA_BASE(entry)  ((entry) & ~((1ull << TOPA_BASE_SHIFT) - 1))
#define TOPA_SIZE(entry)  (1ull << (12 + ((entry) >> TOPA_SIZE_SHIFT & 0xf)))

/* Most writes are a packet, 1 to 16 bytes: a few moves of a fixed size are cheaper than a call. */
static inline void copy_packet(u8 *to, const u8 *from, size_t nr_bytes)
{
	u64 a8, b8;
	u32 a4, b4;

	if (nr_bytes > 16) {
		__builtin_memcpy(to, from, nr_bytes);
	} else if (nr_bytes >= 8) {
		__builtin_memcpy(&a8, from, 8);
		__builtin_memcpy(&b8, from + nr_bytes - 8, 8);
		__builtin_memcpy(to, &a8, 8);
		__builtin_memcpy(to + nr_bytes - 8, &b8, 8);
	} else if (nr_bytes >= 4) {
		__builtin_memcpy(&a4, from, 4);
		__builtin_memcpy(&b4, from + nr_bytes - 4, 4);
		__builtin_memcpy(to, &a4, 4);
		__builtin_memcpy(to + nr_bytes - 4, &b4, 4);
	} else if (nr_bytes) {
		to[0] = from[0];
		to[nr_bytes / 2] = from[nr_bytes / 2];
		to[nr_bytes - 1] = from[nr_bytes - 1];
	}
}

/*
 * The last byte of a region, and any byte between the end of a region with INT and its interrupt,
 * take the slow path.
 */
static void set_fast_end(struct pt_output *out)
{
	out->fast_end = out->region && !out->irq_pending ? out->region_size - 1 : 0;
}

static void set_offset(struct pt_output *out)
{
	out->mask_ptrs = (u32)out->mask_ptrs | LOW_BITS | out->region_off << OFFSET_SHIFT;
}

/* From now on nothing is written. The registers contain the position. */
static void halt(struct pt_output *out, u64 status)
{
	out->status |= status;
	set_offset(out);
	out->region = NULL;
	out->region_off = 0;
	out->region_size = 0;
	out->fast_end = 0;
}

/* Reads one entry of the current table. False: there is no memory at its address. */
static bool read_entry(const struct pt_output *out, u64 index, u64 *entry)
{
	u64 addr = TOPA_BASE(out->base) + index * sizeof(*entry);
	const void *mem;

	mem = out->bus->phys(out->bus->ctx, addr, sizeof(*entry));
	if (!mem)
		return false;
	__builtin_memcpy(entry, mem, sizeof(*entry));
	return true;
}

/*
 * Makes the entry at index the current region, following an END link to its table. Entry 0 of a
 * table must not be END, so at most two entries are read, however the tables are linked.
 */
static bool enter_topa(struct pt_output *out, u64 index, u64 offset)
{
	u64 entry, size;

	for (;;) {
		out->mask_ptrs = index << TABLE_INDEX_SHIFT | LOW_BITS | offset << OFFSET_SHIFT;
		if (!read_entry(out, index, &entry) || entry & TOPA_RESERVED)
			return false;
		if (!(entry & TOPA_END))
			break;
		if (entry & (TOPA_INT | TOPA_STOP) || !index || offset)
			return false;
		out->base = TOPA_BASE(entry);
		index = 0;
	}
	size = TOPA_SIZE(entry);
	if (offset >= size || TOPA_BASE(entry) & (size - 1))
		return false;
	out->region = out->bus->phys(out->bus->ctx, TOPA_BASE(entry), size);
	if (!out->region)
		return false;
	out->entry = entry;
	out->region_size = size;
	out->region_off = offset;
	set_fast_end(out);
	return true;
}

/* The base is aligned to the size, mask + 1, which is a power of two of at least 128 bytes. */
static bool enter_single_range(struct pt_output *out)
{
	u64 mask = (u32)out->mask_ptrs | LOW_BITS;
	u64 offset = out->mask_ptrs >> OFFSET_SHIFT;

	if (mask & (mask + 1) || out->base & mask || offset > mask)
		return false;
	out->region = out->bus->phys(out->bus->ctx, out->base, mask + 1);
	if (!out->region)
		return false;
	out->entry = 0;
	out->region_size = mask + 1;
	out->region_off = offset;
	set_fast_end(out);
	return true;
}

/* The current region is full. */
static void region_end(struct pt_output *out)
{
	u64 index;

	if (!out->topa) { /* a single range wraps, and has no INT or STOP */
		out->region_off = 0;
		return;
	}
	if (out->entry & TOPA_INT && !out->irq_pending) {
		out->irq_pending = true;
		out->irq_at = out->nr_written + out->nr_dropped + out->irq_delay_bytes;
	}
	if (out->entry & TOPA_STOP) {
		halt(out, RTIT_STATUS_STOPPED);
		return;
	}
	index = (out->mask_ptrs >> TABLE_INDEX_SHIFT & TABLE_INDEX_MASK) + 1;
	if (index > TABLE_INDEX_MASK || !enter_topa(out, index, 0)) {
		out->region_off = 0;
		halt(out, RTIT_STATUS_ERROR);
	}
}

void pt_output_init(struct pt_output *out, const struct pt_output_bus *bus)
{
	*out = (struct pt_output){.bus = bus, .mask_ptrs = LOW_BITS};
}

void pt_output_start(struct pt_output *out, bool topa)
{
	bool ok;

	out->topa = topa;
	out->running = true;
	out->region = NULL;
	out->region_off = out->mask_ptrs >> OFFSET_SHIFT;
	if (out->status & (RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED)) {
		halt(out, 0);
		return;
	}
	if (topa)
		ok = enter_topa(out, out->mask_ptrs >> TABLE_INDEX_SHIFT & TABLE_INDEX_MASK,
				out->mask_ptrs >> OFFSET_SHIFT);
	else
		ok = enter_single_range(out);
	if (!ok)
		halt(out, RTIT_STATUS_ERROR);
}

void pt_output_stop(struct pt_output *out)
{
	if (!out->running)
		return;
	if (out->region)
		halt(out, 0);
	out->running = false;
	out->irq_pending = false;
}

void pt_output_trace_stop(struct pt_output *out)
{
	if (out->region)
		halt(out, RTIT_STATUS_STOPPED);
	else
		out->status |= RTIT_STATUS_STOPPED;
}

static size_t write_slow(struct pt_output *out, const u8 *bytes, size_t nr_bytes)
{
	size_t done = 0;

	while (done < nr_bytes && out->region) {
		u64 space = out->region_size - out->region_off;
		u64 chunk = nr_bytes - done < space ? nr_bytes - done : space;

		if (bytes)
			copy_packet(out->region + out->region_off, bytes + done, chunk);
		done += chunk;
		out->region_off += chunk;
		out->nr_written += chunk;
		if (chunk == space)
			region_end(out);
	}
	out->nr_dropped += nr_bytes - done;
	if (out->irq_pending && out->nr_written + out->nr_dropped >= out->irq_at) {
		out->irq_pending = false;
		set_fast_end(out);
		out->bus->irq(out->bus->ctx);
	}
	return done;
}

size_t pt_output_write(struct pt_output *out, const u8 *bytes, size_t nr_bytes)
{
	u64 off = out->region_off;

	if (off + nr_bytes > out->fast_end) /* fast_end is 0 while nothing can be written */
		return write_slow(out, bytes, nr_bytes);
	if (bytes)
		copy_packet(out->region + off, bytes, nr_bytes);
	out->region_off = off + nr_bytes;
	out->nr_written += nr_bytes;
	return nr_bytes;
}
