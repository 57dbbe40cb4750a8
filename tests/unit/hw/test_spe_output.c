// SPDX-License-Identifier: BSD-2-Clause
/* The SPE output stage alone: where records go, each management event, the interrupt line,
 * counters. */
#include "hw/spe_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define BASE  0x10000ull
#define PAGES 4

static u8 memory[PAGES * 4096];
static unsigned int nr_irqs;
static struct spe_output out;

static void *virt(void *ctx, u64 addr, u64 size)
{
	assert_ptr_equal(ctx, memory);
	if (addr < BASE || addr + size > BASE + sizeof(memory))
		return NULL;
	return memory + (addr - BASE);
}

static void irq(void *ctx)
{
	assert_ptr_equal(ctx, memory);
	nr_irqs++;
}

static const struct spe_output_bus bus = {memory, virt, irq};

static u64 reg(u32 number)
{
	u64 value;

	assert_true(spe_output_read(&out, number, &value));
	return value;
}

static void set(u32 number, u64 value)
{
	assert_true(spe_output_write(&out, number, value));
}

static void begin(u32 max_record, u32 align, u64 ptr, u64 limit)
{
	memset(memory, 0xee, sizeof(memory));
	nr_irqs = 0;
	spe_output_init(&out, &bus, max_record, align);
	set(SYS_PMBPTR, BASE + ptr);
	set(SYS_PMBLIMITR, (BASE + limit) | PMBLIMITR_E);
}

static bool record(u8 byte, u32 nr_bytes)
{
	u8 bytes[2048];

	memset(bytes, byte, nr_bytes);
	return spe_output_record(&out, bytes, nr_bytes);
}

static void counted(u64 written, u64 dropped, u64 records, u64 records_dropped)
{
	assert_int_equal(out.nr_written, written);
	assert_int_equal(out.nr_dropped, dropped);
	assert_int_equal(out.nr_records, records);
	assert_int_equal(out.nr_records_dropped, records_dropped);
}

static void registers(void **state)
{
	u64 value;

	(void)state;
	begin(64, 64, 0, 4096);
	assert_int_equal(reg(SYS_PMBIDR), 6);
	assert_int_equal(reg(SYS_PMBPTR), BASE);
	set(SYS_PMBPTR, BASE + 100); /* low bits are RES0 */
	assert_int_equal(reg(SYS_PMBPTR), BASE + 64);
	set(SYS_PMBLIMITR, BASE + 4096 + 0x7e);
	assert_int_equal(reg(SYS_PMBLIMITR), BASE + 4096);
	assert_false(spe_output_read(&out, 0xc4c8, &value));
	assert_false(spe_output_write(&out, 0xc4c8, 0));
	assert_false(spe_output_write(&out, SYS_PMBIDR, 0));
}

static void full(void **state)
{
	(void)state;
	begin(64, 64, 0, 4096);
	for (int i = 0; i < 63; i++)
		assert_true(record(7, 64));
	assert_int_equal(reg(SYS_PMBSR), 0);
	assert_true(record(8, 64)); /* complete, and the last one */
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_BSC_FULL);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 4096);
	assert_int_equal(nr_irqs, 1);
	assert_true(spe_output_irq(&out));
	/* stopped: further records are counted */
	assert_false(record(9, 64));
	assert_int_equal(memory[4095], 8);
	assert_int_equal(memory[4096], 0xee);
	counted(4096, 64, 64, 1);
	/* a level: up until S is cleared, not raised again */
	assert_int_equal(nr_irqs, 1);
	set(SYS_PMBLIMITR, (BASE + 8192) | PMBLIMITR_E);
	set(SYS_PMBSR, 0);
	assert_false(spe_output_irq(&out));
	assert_true(record(9, 64));
	assert_int_equal(memory[4096], 9);
}

/* Full: no space for the largest record; a unit that may write 2 KiB stops that much earlier. */
static void full_is_for_the_largest(void **state)
{
	(void)state;
	begin(2048, 64, 0, 4096);
	for (int i = 0; i < 32; i++)
		record(7, 64);
	assert_int_equal(reg(SYS_PMBSR), 0);
	record(7, 64);
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_BSC_FULL);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 33 * 64);
	/* programmed with less space than that, it is full at the first record */
	begin(2048, 64, 3072, 4096);
	assert_false(record(7, 64));
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_BSC_FULL);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 3072);
	counted(0, 64, 0, 1);
	/* also with a limit after it */
	begin(64, 64, 4096, 4096);
	assert_false(record(7, 64));
	assert_int_equal(memory[4096], 0xee);
}

static void alignment(void **state)
{
	(void)state;
	begin(128, 128, 0, 4096);
	record(7, 100);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 100); /* the first byte after it */
	record(8, 10);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 138);
	assert_int_equal(memory[99], 7);
	for (int i = 100; i < 128; i++)
		assert_int_equal(memory[i], 0);
	assert_int_equal(memory[128], 8);
	assert_int_equal(memory[138], 0xee);
	counted(110, 0, 2, 0);
	assert_int_equal(out.nr_padding, 28);
}

static void off(void **state)
{
	(void)state;
	begin(64, 64, 0, 4096);
	set(SYS_PMBLIMITR, BASE + 4096);
	assert_false(record(7, 64));
	assert_int_equal(memory[0], 0xee);
	counted(0, 64, 0, 1);
	assert_int_equal(nr_irqs, 0);
}

static void overshoot(void **state)
{
	(void)state;
	begin(64, 64, 0, 4096);
	out.irq_delay_bytes = 130;
	for (int i = 0; i < 64; i++)
		record(7, 64);
	assert_true(reg(SYS_PMBSR) & PMBSR_S);
	assert_false(spe_output_irq(&out));
	record(7, 64);
	record(7, 64);
	assert_int_equal(nr_irqs, 0);
	record(7, 64);
	assert_int_equal(nr_irqs, 1);
	assert_true(spe_output_irq(&out));
	counted(4096, 192, 64, 3);
	/* a driver that reads the registers in time is not interrupted */
	begin(64, 64, 0, 4096);
	out.irq_delay_bytes = 130;
	for (int i = 0; i < 65; i++)
		record(7, 64);
	set(SYS_PMBSR, 0);
	set(SYS_PMBLIMITR, (BASE + 8192) | PMBLIMITR_E);
	for (int i = 0; i < 10; i++)
		record(7, 64);
	assert_int_equal(nr_irqs, 0);
}

static void data_lost(void **state)
{
	(void)state;
	begin(64, 64, 0, 4096);
	record(7, 64);
	spe_output_fail(&out, PMBSR_DL | PMBSR_BSC_FULL, 20);
	assert_false(record(8, 64));
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_DL | PMBSR_BSC_FULL);
	assert_int_equal(reg(SYS_PMBPTR), BASE + 84);
	assert_int_equal(memory[83], 8);
	assert_int_equal(memory[84], 0xee);
	counted(84, 44, 1, 0);
	assert_int_equal(nr_irqs, 1);
}

static void faults(void **state)
{
	(void)state;
	/* a fault of the machine: the programmed address is not mapped */
	begin(64, 64, 4 * 4096 - 128, 8 * 4096);
	assert_true(record(7, 64));
	assert_true(record(7, 64));
	assert_false(record(7, 64));
	assert_int_equal(reg(SYS_PMBSR),
			 PMBSR_S | PMBSR_EC(PMBSR_EC_STAGE1) | PMBSR_FSC_TRANSLATION);
	assert_int_equal(reg(SYS_PMBPTR), BASE + sizeof(memory));
	counted(128, 64, 2, 1);
	/* injected: an external abort of a write that stage 2 let through */
	begin(64, 64, 0, 4096);
	spe_output_fail(&out, PMBSR_EC(PMBSR_EC_STAGE2) | PMBSR_EA | 0x10, 0);
	assert_false(record(7, 64));
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_EC(PMBSR_EC_STAGE2) | PMBSR_EA | 0x10);
	assert_int_equal(memory[0], 0xee);
	counted(0, 64, 0, 1);
	/* once */
	set(SYS_PMBSR, 0);
	assert_true(record(7, 64));
}

static void collision(void **state)
{
	(void)state;
	begin(64, 64, 0, 4096);
	spe_output_collide(&out);
	assert_int_equal(reg(SYS_PMBSR), PMBSR_COLL);
	assert_true(record(7, 64)); /* it continues */
	assert_int_equal(nr_irqs, 0);
	for (int i = 1; i < 64; i++)
		record(7, 64);
	assert_int_equal(reg(SYS_PMBSR), PMBSR_S | PMBSR_COLL | PMBSR_BSC_FULL);
	set(SYS_PMBSR, 0);
	assert_int_equal(reg(SYS_PMBSR), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers),
		cmocka_unit_test(full),
		cmocka_unit_test(full_is_for_the_largest),
		cmocka_unit_test(alignment),
		cmocka_unit_test(off),
		cmocka_unit_test(overshoot),
		cmocka_unit_test(data_lost),
		cmocka_unit_test(faults),
		cmocka_unit_test(collision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
