// SPDX-License-Identifier: BSD-2-Clause
/*
 * A faulty trace unit, made of a correct one: honest.c, which test_trace_unit.sh writes from
 * examples/. HOSTILE selects the fault; 0: none.
 */
#include "honest.c"

#define ZEROS	   1
#define NEIGHBOURS 2 /* every two bytes swapped */
#define DOUBLED	   3 /* each byte twice, so that half of them are stored */
#define FRAGMENTS  4 /* every two blocks of 111 bytes swapped */
#define WORDS	   5 /* every other word stored twice */
#define PADDING	   6
#define MISCOUNTS  7 /* stores everything, returns one byte less */
#define DEAF	   8 /* accepts everything, stores nothing */
#define FIRST	   9 /* stores the first 16 bytes offered, loses the rest */

static struct auxtap_unit_bus inner, outer;

static uint64_t from(uint64_t i, uint64_t nr)
{
	uint64_t at = i;

	if (HOSTILE == NEIGHBOURS)
		at = i ^ 1;
	if (HOSTILE == DOUBLED)
		at = i / 2;
	if (HOSTILE == FRAGMENTS)
		at = i / 222 * 222 + (i % 222 + 111) % 222;
	if (HOSTILE == WORDS)
		at = i & ~8ull;
	return at < nr ? at : i;
}

static int hostile_store(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr)
{
	static uint8_t own[1 << 20];

	for (uint64_t i = 0; bytes && i < nr; i++)
		own[i] = HOSTILE == ZEROS ? 0 : HOSTILE == PADDING ? 0x70 : bytes[from(i, nr)];
	return inner.store(ctx, addr, bytes ? own : NULL, nr);
}

static void *hostile_create(const struct auxtap_unit_bus *bus,
			    const struct auxtap_unit_setup *setup)
{
	inner = outer = *bus;
	outer.store = hostile_store;
	return honest.create(&outer, setup);
}

static uint64_t hostile_produce(void *unit, const uint8_t *bytes, uint64_t nr, uint64_t *taken)
{
	uint64_t stored;

	if (HOSTILE == DEAF) {
		*taken = nr;
		return 0;
	}
	stored = honest.produce(unit, bytes, HOSTILE == FIRST && nr > 16 ? 16 : nr, taken);
	if (HOSTILE == FIRST && stored)
		*taken = nr;
	return stored - (HOSTILE == MISCOUNTS && stored);
}

const struct auxtap_trace_unit auxtap_trace_unit = {
	.size = sizeof(auxtap_trace_unit),
	.name = "hostile",
	.driver = HOSTILE_DRIVER,
	.create = hostile_create,
	.destroy = free,
	.reg_read = reg_read,
	.reg_write = reg_write,
	.produce = hostile_produce,
	.irq_level = HOSTILE_LEVEL,
};
