// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bits 5:4 of a header byte are the size of the payload, 1 << n bytes, if the packet has one. */
#include "spe_encoder.h"

#define COUNTER_MAX 0xfffu

static void put(struct spe_record *r, u8 header, u64 payload, u32 nr_bytes)
{
	if (r->nr + 1 + nr_bytes > SPE_RECORD_MAX)
		return; /* cannot happen: spe_unit.c's largest record is smaller */
	r->bytes[r->nr++] = header;
	for (u32 i = 0; i < nr_bytes; i++)
		r->bytes[r->nr++] = (u8)(payload >> 8 * i);
}

u64 spe_code_address(u64 addr, u8 el)
{
	return (addr & 0x00ffffffffffffffull) | (u64)(el & 3) << 61 | 1ull << 63;
}

void spe_put_address(struct spe_record *r, enum spe_address index, u64 payload)
{
	put(r, (u8)(0xb0 | index), payload, 8);
}

void spe_put_counter(struct spe_record *r, enum spe_latency index, u32 cycles)
{
	put(r, (u8)(0x98 | index), cycles < COUNTER_MAX ? cycles : COUNTER_MAX, 2);
}

void spe_put_context(struct spe_record *r, u8 el, u32 contextid)
{
	put(r, el == 2 ? 0x65 : 0x64, contextid, 4);
}

void spe_put_operation(struct spe_record *r, enum spe_op_class cls, u8 subclass)
{
	put(r, (u8)(0x48 | cls), subclass, 1);
}

void spe_put_events(struct spe_record *r, u64 events)
{
	u32 log2_size = events >> 32 ? 3 : events >> 16 ? 2 : events >> 8 ? 1 : 0;

	put(r, (u8)(0x42 | log2_size << 4), events, 1u << log2_size);
}

void spe_put_source(struct spe_record *r, u16 source)
{
	put(r, source >> 8 ? 0x53 : 0x43, source, source >> 8 ? 2 : 1);
}

void spe_put_timestamp(struct spe_record *r, u64 ticks)
{
	put(r, 0x71, ticks, 8);
}

void spe_put_end(struct spe_record *r)
{
	put(r, 0x01, 0, 0);
}
