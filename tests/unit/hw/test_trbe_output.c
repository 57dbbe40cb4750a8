// SPDX-License-Identifier: BSD-2-Clause
/* The trace buffer's output stage alone: modes, events, the interrupt line, errata, counters. */
#include "hw/trbe_output.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define BASE 0x10000ull

static u8 memory[4 * 4096];
static unsigned int nr_irqs;
static struct trbe_output out;

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

static const struct trbe_output_bus bus = {memory, virt, irq};

static u64 reg(u32 number)
{
	u64 value;

	assert_true(trbe_output_read(&out, number, &value));
	return value;
}

static void begin(u64 base, u64 ptr, u64 limit, u64 mode)
{
	memset(memory, 0xee, sizeof(memory));
	nr_irqs = 0;
	trbe_output_init(&out, &bus, 64);
	assert_true(trbe_output_write_reg(&out, SYS_TRBBASER, BASE + base));
	assert_true(trbe_output_write_reg(&out, SYS_TRBPTR, BASE + ptr));
	assert_true(
		trbe_output_write_reg(&out, SYS_TRBLIMITR,
				      (BASE + limit) | mode << TRBLIMITR_FM_SHIFT | TRBLIMITR_E));
}

static size_t trace(u8 byte, size_t nr_bytes)
{
	static u8 bytes[16384];

	memset(bytes, byte, nr_bytes);
	return trbe_output_write(&out, bytes, nr_bytes);
}

static void registers(void **state)
{
	u64 value;

	(void)state;
	begin(0, 100, 4096, TRBLIMITR_FM_FILL);
	assert_int_equal(reg(SYS_TRBPTR), BASE + 64); /* low bits are RES0 */
	assert_int_equal(reg(SYS_TRBIDR), 6);
	assert_true(trbe_output_write_reg(&out, SYS_TRBBASER, BASE + 4097));
	assert_int_equal(reg(SYS_TRBBASER), BASE + 4096);
	assert_int_equal(reg(SYS_TRBLIMITR), BASE + 4096 + TRBLIMITR_E);
	assert_false(trbe_output_read(&out, 0xc4d0, &value));
	assert_false(trbe_output_write_reg(&out, SYS_TRBIDR, 0));
}

static void fill(void **state)
{
	(void)state;
	begin(0, 64, 4096, TRBLIMITR_FM_FILL);
	out.irq_delay_bytes = 100;
	assert_int_equal(trace(1, 4000), 4000);
	assert_int_equal(reg(SYS_TRBSR), 0);
	assert_int_equal(trace(2, 100), 32);
	assert_int_equal(reg(SYS_TRBSR), TRBSR_S | TRBSR_IRQ | TRBSR_WRAP | TRBSR_BSC_FILLED);
	assert_int_equal(reg(SYS_TRBPTR), BASE);
	assert_int_equal(memory[4095], 2);
	assert_int_equal(memory[4096], 0xee);
	assert_int_equal(memory[63], 0xee);
	assert_int_equal(nr_irqs, 0); /* 68 bytes of overshoot have passed */
	assert_false(trbe_output_irq(&out));
	assert_int_equal(trace(3, 40), 0);
	assert_int_equal(nr_irqs, 1);
	assert_true(trbe_output_irq(&out));
	assert_int_equal(out.nr_written, 4032);
	assert_int_equal(out.nr_dropped, 108);
	/* clearing IRQ alone lowers the line and continues nothing */
	assert_true(trbe_output_write_reg(&out, SYS_TRBSR, reg(SYS_TRBSR) & ~TRBSR_IRQ));
	assert_false(trbe_output_irq(&out));
	assert_int_equal(trace(3, 40), 0);
	assert_int_equal(nr_irqs, 1);
}

static void other_modes(void **state)
{
	(void)state;
	begin(4096, 4096, 8192, TRBLIMITR_FM_CIRC);
	assert_int_equal(trace(1, 5000), 5000);
	assert_int_equal(reg(SYS_TRBSR), TRBSR_WRAP);
	assert_int_equal(reg(SYS_TRBPTR), BASE + 5000);
	assert_int_equal(nr_irqs, 0);
	begin(4096, 4096, 8192, TRBLIMITR_FM_WRAP);
	assert_int_equal(trace(1, 5000), 5000);
	assert_int_equal(reg(SYS_TRBSR), TRBSR_WRAP | TRBSR_IRQ | TRBSR_BSC_FILLED);
	assert_int_equal(nr_irqs, 1);
}

static void faults(void **state)
{
	(void)state;
	begin(0, 3 * 4096, 8 * 4096, TRBLIMITR_FM_FILL); /* beyond the mapping */
	assert_int_equal(trace(1, 4096), 4096);
	assert_int_equal(trace(1, 1), 0);
	assert_int_equal(reg(SYS_TRBSR),
			 TRBSR_S | TRBSR_IRQ | TRBSR_EC(TRBSR_EC_STAGE1) | TRBSR_FSC_TRANSLATION);
	assert_int_equal(reg(SYS_TRBPTR), BASE + sizeof(memory));
	begin(0, 4096, 4096, TRBLIMITR_FM_FILL); /* nothing below the limit */
	assert_int_equal(trace(1, 1), 0);
	assert_true(reg(SYS_TRBSR) & TRBSR_S);
	begin(0, 0, 4096, TRBLIMITR_FM_FILL);
	trbe_output_fail(&out, TRBSR_EA | 0x10);
	assert_int_equal(trace(1, 10), 0);
	assert_int_equal(reg(SYS_TRBSR), TRBSR_S | TRBSR_IRQ | TRBSR_EA | 0x10);
	assert_int_equal(nr_irqs, 1);
	assert_true(trbe_output_write_reg(&out, SYS_TRBSR, 0));
	assert_int_equal(trace(1, 10), 10); /* once */
	trbe_output_spurious(&out);
	assert_int_equal(reg(SYS_TRBSR), TRBSR_IRQ);
	assert_int_equal(nr_irqs, 2);
	assert_int_equal(trace(1, 10), 10);
	/* off: only counted */
	assert_true(trbe_output_write_reg(&out, SYS_TRBLIMITR, BASE + 4096));
	assert_int_equal(trace(1, 10), 0);
	assert_int_equal(out.nr_dropped, 20);
}

static void errata(void **state)
{
	(void)state;
	begin(0, 256, 4096, TRBLIMITR_FM_FILL);
	out.overwrite_bytes = 192;
	out.beyond_bytes = 64;
	assert_int_equal(trace(1, 3840 + 100), 3840);
	assert_int_equal(memory[4096 + 63], 1);
	assert_int_equal(memory[4096 + 64], 0xee);
	assert_int_equal(memory[35], 1);
	assert_int_equal(memory[36], 0xee);
	assert_int_equal(reg(SYS_TRBPTR), BASE + 36); /* no longer at base */
	trace(1, 1000);
	assert_int_equal(memory[191], 1);
	assert_int_equal(memory[192], 0xee);
	assert_int_equal(out.nr_errata_bytes, 256);
	assert_int_equal(out.nr_dropped, 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers),   cmocka_unit_test(fill),
		cmocka_unit_test(other_modes), cmocka_unit_test(faults),
		cmocka_unit_test(errata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
