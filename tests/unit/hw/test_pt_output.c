// SPDX-License-Identifier: BSD-2-Clause
/* The PT output stage: where bytes go, where they stop, when the interrupt line rises.
 */
#include "hw/pt_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define P	 4096ull
#define PHYS	 0x100000000ull
#define NR_PAGES 64
#define INT	 TOPA_INT
#define STOP	 TOPA_STOP

/* Physical memory of 64 pages, of which pages in `holes` do not exist. Fresh bytes are
 * 0xee. */
static struct machine {
	u8 mem[NR_PAGES * 4096];
	u64 holes;
	int nr_irqs;
	u64 irq_written; /* nr_written when the line last rose */
	struct pt_output out;
	void (*handler)(struct machine *m);
} m;

static void *phys(void *ctx, u64 addr, u64 size)
{
	struct machine *machine = ctx;

	if (addr < PHYS || size > sizeof(machine->mem) || addr - PHYS > sizeof(machine->mem) - size)
		return NULL;
	for (u64 page = (addr - PHYS) / P; page <= (addr - PHYS + size - 1) / P; page++)
		if (machine->holes >> page & 1)
			return NULL;
	return machine->mem + (addr - PHYS);
}

static void irq(void *ctx)
{
	struct machine *machine = ctx;

	machine->nr_irqs++;
	machine->irq_written = machine->out.nr_written;
	if (machine->handler)
		machine->handler(machine);
}

static const struct pt_output_bus bus = {.ctx = &m, .phys = phys, .irq = irq};

static void reset(void)
{
	memset(&m, 0, sizeof(m));
	memset(m.mem, 0xee, sizeof(m.mem));
	pt_output_init(&m.out, &bus);
}

static u64 page_phys(unsigned int page)
{
	return PHYS + page * P;
}

static u64 entry(unsigned int page, unsigned int order, u64 flags)
{
	return page_phys(page) | order << TOPA_SIZE_SHIFT | flags;
}

static void set_entry(unsigned int table_page, unsigned int index, u64 value)
{
	memcpy(m.mem + table_page * P + 8 * index, &value, 8);
}

static u64 mask_ptrs(u64 index, u64 offset)
{
	return offset << 32 | index << 7 | 0x7f;
}

static void start_at(unsigned int table_page, u64 index, u64 offset)
{
	m.out.base = page_phys(table_page);
	m.out.mask_ptrs = mask_ptrs(index, offset);
	m.out.status = 0;
	pt_output_start(&m.out, true);
}

/* Byte number n of the stream. */
static u8 stream(u64 n)
{
	return (u8)(n * 167 + (n >> 8) * 13 + 1);
}

static u64 produced; /* by feed() */

static size_t feed(size_t nr_bytes)
{
	u8 bytes[256];
	size_t written = 0;

	while (nr_bytes) {
		size_t chunk = nr_bytes < sizeof(bytes) ? nr_bytes : sizeof(bytes);

		for (size_t i = 0; i < chunk; i++)
			bytes[i] = stream(produced + i);
		produced += chunk;
		written += pt_output_write(&m.out, bytes, chunk);
		nr_bytes -= chunk;
	}
	return written;
}

static void assert_stream(unsigned int page, u64 offset, u64 from, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++)
		assert_int_equal(m.mem[page * P + offset + i], stream(from + i));
}

static void assert_fresh(unsigned int page, u64 offset, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++)
		assert_int_equal(m.mem[page * P + offset + i], 0xee);
}

static void regions_in_table_order(void **state)
{
	(void)state;
	reset();
	produced = 0;
	set_entry(0, 0, entry(20, 0, 0));
	set_entry(0, 1, entry(16, 1, 0)); /* two pages */
	set_entry(0, 2, entry(30, 0, 0));
	set_entry(0, 3, page_phys(0) | TOPA_END);
	start_at(0, 0, 0);
	assert_int_equal(feed(3 * P + 10), 3 * P + 10);
	pt_output_stop(&m.out);
	assert_stream(20, 0, 0, P);
	assert_stream(16, 0, P, 2 * P);
	assert_stream(30, 0, 3 * P, 10);
	assert_fresh(30, 10, P - 10);
	assert_true(m.out.mask_ptrs == mask_ptrs(2, 10));
	assert_true(m.out.nr_written == 3 * P + 10 && !m.out.nr_dropped);
	assert_int_equal(m.nr_irqs, 0);

	/* Resumed from the registers alone, around through the link; at a region's end the
	 * registers name the next one. */
	pt_output_start(&m.out, true);
	assert_int_equal(feed(P - 10), P - 10);
	pt_output_stop(&m.out);
	assert_true(m.out.mask_ptrs == mask_ptrs(0, 0));
	assert_true(m.out.base == page_phys(0));
	assert_stream(30, 0, 3 * P, P);
}

static void link_to_other_table(void **state)
{
	(void)state;
	reset();
	produced = 0;
	set_entry(0, 0, entry(20, 0, 0));
	set_entry(0, 1, page_phys(1) | TOPA_END);
	set_entry(1, 0, entry(21, 0, 0));
	set_entry(1, 1, page_phys(0) | TOPA_END);
	start_at(0, 0, 0);
	feed(P + 5);
	pt_output_stop(&m.out);
	assert_true(m.out.base == page_phys(1) && m.out.mask_ptrs == mask_ptrs(0, 5));
	assert_stream(21, 0, P, 5);

	/* registers that name the link itself */
	start_at(0, 1, 0);
	feed(3);
	pt_output_stop(&m.out);
	assert_true(m.out.base == page_phys(1) && m.out.mask_ptrs == mask_ptrs(0, 3));
}

static void stop_is_never_passed(void **state)
{
	(void)state;
	/* every size of a write across the end: the bytes up to it are stored, the others
	 * counted */
	for (size_t size = 1; size <= 40; size++) {
		for (size_t space = 0; space < size; space++) {
			reset();
			produced = 0;
			set_entry(0, 0, entry(20, 0, STOP));
			set_entry(0, 1, entry(21, 0, 0));
			start_at(0, 0, P - space - 1);
			assert_int_equal(feed(size), space + 1 < size ? space + 1 : size);
			assert_stream(20, P - space - 1, 0, space + 1 < size ? space + 1 : size);
			assert_fresh(21, 0, P);
			assert_int_equal(m.out.nr_written + m.out.nr_dropped, size);
			assert_int_equal(feed(20), space + 1 < size ? 0 : space + 1 - size);
			assert_true(m.out.status == RTIT_STATUS_STOPPED);
			assert_true(m.out.mask_ptrs == mask_ptrs(0, P));
			assert_int_equal(m.out.nr_dropped, size + 20 - space - 1);
			pt_output_stop(&m.out);
			assert_true(m.out.mask_ptrs == mask_ptrs(0, P));
			assert_int_equal(m.nr_irqs, 0);
		}
	}
	/* Stopped is sticky: until software clears it nothing is written. */
	pt_output_start(&m.out, true);
	assert_int_equal(feed(8), 0);
	pt_output_stop(&m.out);
	assert_true(m.out.mask_ptrs == mask_ptrs(0, P));
	start_at(0, 1, 0);
	assert_int_equal(feed(8), 8);
	assert_stream(21, 0, produced - 8, 8);
}

static void interrupt_with_overshoot(void **state)
{
	(void)state;
	for (u32 overshoot = 0; overshoot < 70; overshoot++) {
		for (size_t size = 1; size <= 17; size++) {
			u64 want = P + overshoot;

			reset();
			produced = 0;
			set_entry(0, 0, entry(20, 0, INT));
			set_entry(0, 1, entry(21, 0, 0));
			set_entry(0, 2, page_phys(0) | TOPA_END);
			m.out.irq_delay_bytes = overshoot;
			start_at(0, 0, 0);
			while (m.out.nr_written < want) {
				assert_int_equal(m.nr_irqs, 0);
				feed(size);
			}
			/* H7: with the write that reaches INT plus the overshoot; tracing
			 * continues */
			assert_int_equal(m.nr_irqs, 1);
			assert_true(m.irq_written >= want && m.irq_written < want + size);
			assert_true(!m.out.status);
			feed(P - 100);
			assert_int_equal(m.nr_irqs, 1);
			assert_int_equal(m.out.nr_dropped, 0);
		}
	}
}

static void interrupt_at_stop(void **state)
{
	(void)state;
	/* Bytes that the unit would have produced count as time: the interrupt comes although
	 * nothing is written. */
	reset();
	set_entry(0, 0, entry(20, 0, INT | STOP));
	m.out.irq_delay_bytes = 50;
	start_at(0, 0, P - 8);
	feed(8);
	assert_int_equal(m.nr_irqs, 0);
	feed(49);
	assert_int_equal(m.nr_irqs, 0);
	feed(1);
	assert_int_equal(m.nr_irqs, 1);
	assert_int_equal(m.irq_written, 8);
	assert_int_equal(m.out.nr_dropped, 50);

	/* bytes dropped before do not shorten the overshoot */
	start_at(0, 0, P - 8);
	feed(8 + 49);
	assert_int_equal(m.nr_irqs, 1);
	feed(1);
	assert_int_equal(m.nr_irqs, 2);

	/* Two INT entries within one overshoot are one interrupt; one that is still due at the
	 * stop is cancelled. */
	reset();
	set_entry(0, 0, entry(20, 0, INT));
	set_entry(0, 1, entry(21, 0, INT));
	set_entry(0, 2, page_phys(0) | TOPA_END);
	m.out.irq_delay_bytes = P + 10;
	start_at(0, 0, 0);
	feed(2 * P + 10);
	assert_int_equal(m.nr_irqs, 1);
	m.out.irq_delay_bytes = 50;
	start_at(0, 0, P - 10);
	feed(20);
	pt_output_stop(&m.out);
	start_at(0, 1, 0);
	feed(P - 1);
	assert_int_equal(m.nr_irqs, 1);
}

static void restart_in_handler(struct machine *machine)
{
	pt_output_stop(&machine->out);
	start_at(0, 2, 7);
}

static void handler_may_restart(void **state)
{
	(void)state;
	reset();
	produced = 0;
	set_entry(0, 0, entry(20, 0, INT));
	set_entry(0, 1, entry(21, 0, 0));
	set_entry(0, 2, entry(22, 0, 0));
	set_entry(0, 3, page_phys(0) | TOPA_END);
	m.handler = restart_in_handler;
	start_at(0, 0, P - 3);
	feed(8);
	assert_stream(20, P - 3, 0, 3);
	assert_stream(21, 0, 3, 5);
	feed(4);
	assert_stream(22, 7, 8, 4);
	assert_fresh(21, 5, 100);
}

/* ERROR at start: nothing is written, and the counters say so. */
static void assert_bad_start(u64 index, u64 offset)
{
	struct machine *before = malloc(sizeof(m));

	assert_non_null(before);
	start_at(0, index, offset);
	*before = m;
	assert_true(m.out.status == RTIT_STATUS_ERROR);
	assert_int_equal(feed(100), 0);
	assert_memory_equal(m.mem, before->mem, sizeof(m.mem));
	assert_int_equal(m.out.nr_dropped, 100);
	pt_output_stop(&m.out);
	assert_true(m.out.mask_ptrs == mask_ptrs(index, offset));
	free(before);
}

static void malformed_tables(void **state)
{
	static const u64 reserved[] = {1ull << 1,  1ull << 3,  1ull << 5, 1ull << 10,
				       1ull << 11, 1ull << 52, 1ull << 63};

	(void)state;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
		reset();
		set_entry(0, 0, entry(20, 0, reserved[i]));
		assert_bad_start(0, 0);
		/* reached while tracing: the region before is complete, ERROR, nothing more */
		reset();
		produced = 0;
		set_entry(0, 0, entry(20, 0, 0));
		set_entry(0, 1, entry(21, 0, reserved[i]));
		start_at(0, 0, 0);
		assert_int_equal(feed(P + 9), P);
		assert_stream(20, 0, 0, P);
		assert_fresh(21, 0, P);
		assert_true(m.out.status == RTIT_STATUS_ERROR && m.out.nr_dropped == 9);
		pt_output_stop(&m.out);
		assert_true(m.out.mask_ptrs == mask_ptrs(1, 0));
	}
	reset(); /* END as the first entry, which could also loop for ever */
	set_entry(0, 0, page_phys(0) | TOPA_END);
	assert_bad_start(0, 0);
	reset(); /* the same after a link */
	set_entry(0, 0, entry(20, 0, 0));
	set_entry(0, 1, page_phys(1) | TOPA_END);
	set_entry(1, 0, page_phys(1) | TOPA_END);
	start_at(0, 0, 0);
	assert_int_equal(feed(P + 1), P);
	assert_true(m.out.status == RTIT_STATUS_ERROR);
	for (int is_int = 0; is_int < 2; is_int++) {
		reset();
		set_entry(0, 0, entry(20, 0, 0));
		set_entry(0, 1, page_phys(0) | TOPA_END | (is_int ? INT : STOP));
		start_at(0, 0, 0);
		assert_int_equal(feed(P + 1), P);
		assert_true(m.out.status == RTIT_STATUS_ERROR);
	}
	reset(); /* offset at and beyond the region's end */
	set_entry(0, 0, entry(20, 0, 0));
	assert_bad_start(0, P);
	m.out.nr_dropped = 0;
	assert_bad_start(0, P + 1);
	reset(); /* region not aligned to its size */
	set_entry(0, 0, entry(21, 1, 0));
	assert_bad_start(0, 0);
	reset(); /* half a region missing */
	m.holes = 1ull << 21;
	set_entry(0, 0, entry(20, 1, 0));
	assert_bad_start(0, 0);
	reset(); /* larger than memory */
	set_entry(0, 0, entry(0, 15, 0));
	assert_bad_start(0, 0);
	reset(); /* no table at that address */
	m.holes = 1;
	assert_bad_start(0, 0);
	reset(); /* a table without END, its page is the last before a hole */
	m.holes = 2;
	for (unsigned int i = 0; i < 512; i++)
		set_entry(0, i, entry(20, 0, 0));
	start_at(0, 0, 0);
	assert_int_equal(feed(600 * P), 512 * P);
	assert_true(m.out.status == RTIT_STATUS_ERROR);
	assert_int_equal(m.out.nr_dropped, 88 * P);
}

static void single_range(void **state)
{
	(void)state;
	reset();
	produced = 0;
	m.out.base = page_phys(20);
	m.out.mask_ptrs = 0xfff;
	m.out.irq_delay_bytes = 1;
	pt_output_start(&m.out, false);
	feed(3 * P + 77);
	pt_output_stop(&m.out);
	assert_stream(20, 0, 3 * P, 77);
	assert_stream(20, 77, 2 * P + 77, P - 77);
	assert_fresh(21, 0, P);
	assert_true(m.out.mask_ptrs == (77ull << 32 | 0xfff));
	assert_true(m.out.nr_written == 3 * P + 77 && !m.out.nr_dropped && !m.nr_irqs);

	for (u64 exact = 0; exact <= 1; exact++) { /* an exact end is offset 0 */
		pt_output_start(&m.out, false);
		feed(P - 77 - 1 + exact);
		pt_output_stop(&m.out);
		assert_true(m.out.mask_ptrs >> 32 == (exact ? 0 : P - 1));
		m.out.mask_ptrs = 77ull << 32 | 0xfff;
	}

	/* clang-format off */
	static const struct {
		u64 base, mask_ptrs;
	} bad[] = {
		{PHYS + 20 * P + 64, 0x7f},       /* below the smallest alignment */
		{PHYS + 21 * P, 0x1fff},          /* base not aligned to the size */
		{PHYS + 20 * P, 0x2fff},          /* a hole in the mask */
		{PHYS + 20 * P, P << 32 | 0xfff}, /* offset beyond the end */
		{PHYS - P, 0xfff},                /* no memory */
		{1ull << 52, 0xfff},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		reset();
		m.out.base = bad[i].base;
		m.out.mask_ptrs = bad[i].mask_ptrs;
		pt_output_start(&m.out, false);
		assert_int_equal(feed(10), 0);
		assert_true(m.out.status == RTIT_STATUS_ERROR);
		assert_int_equal(m.out.nr_dropped, 10);
	}
}

/* Against a byte-by-byte reference: random tables, INT and STOP bits, writes, stops and restarts.
 */
static void random_against_reference(void **state)
{
	static struct {
		unsigned int page, order;
		u64 flags;
	} regions[12];
	static u8 want[sizeof(m.mem)];

	(void)state;
	srand(4711);
	for (int round = 0; round < 400; round++) {
		unsigned int nr = 1 + rand() % 12, index = 0;
		u64 off = 0, written = 0, total = 0;
		bool stopped = false;

		reset();
		produced = 0;
		for (unsigned int i = 0; i < nr; i++) {
			regions[i].order = rand() % 3;
			regions[i].page = 16 + 4 * i;
			regions[i].flags = (rand() % 12 ? 0 : STOP) | (rand() % 4 ? 0 : INT);
			set_entry(0, i, entry(regions[i].page, regions[i].order, regions[i].flags));
		}
		set_entry(0, nr, page_phys(0) | TOPA_END);
		m.out.irq_delay_bytes = rand() % 3 ? 0 : rand() % 5000;
		memcpy(want, m.mem, sizeof(want));
		start_at(0, 0, 0);
		for (int step = 0; step < 2000; step++) {
			size_t size = rand() % 8 ? 1 + rand() % 16 : rand() % 5000;

			if (!(rand() % 50)) {
				pt_output_stop(&m.out);
				assert_true(m.out.mask_ptrs == mask_ptrs(index, off));
				assert_true(m.out.status == (stopped ? RTIT_STATUS_STOPPED : 0));
				pt_output_start(&m.out, true);
			}
			for (size_t i = 0; i < size && !stopped; i++) {
				want[regions[index].page * P + off++] = stream(produced + i);
				written++;
				if (off < P << regions[index].order)
					continue;
				stopped = regions[index].flags & STOP;
				if (!stopped) {
					off = 0;
					index = (index + 1) % nr;
				}
			}
			total += size;
			feed(size);
			assert_true(m.out.nr_written == written);
			assert_true(m.out.nr_dropped == total - written);
		}
		assert_memory_equal(m.mem, want, sizeof(want));
	}
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_in_table_order),
		cmocka_unit_test(link_to_other_table),
		cmocka_unit_test(stop_is_never_passed),
		cmocka_unit_test(interrupt_with_overshoot),
		cmocka_unit_test(interrupt_at_stop),
		cmocka_unit_test(handler_may_restart),
		cmocka_unit_test(malformed_tables),
		cmocka_unit_test(single_range),
		cmocka_unit_test(random_against_reference),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
