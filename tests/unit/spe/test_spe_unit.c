// SPDX-License-Identifier: BSD-2-Clause
/*
 * The emulated SPE unit against our decoder of samples: the decoder reads what was sampled.
 * Operation words are the assembler's.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "hw/spe_unit.h"
#include "decode/spe/spe_reader.h"
#include <stdlib.h>
#include <string.h>

#define SIZE (1024 * 1024)

static u8 memory[SIZE] __attribute__((aligned(4096)));
static u64 clock_ticks;
static unsigned int nr_irqs;
static struct spe_unit unit;

static void *virt(void *ctx, u64 addr, u64 size)
{
	u64 base = (u64)(uintptr_t)memory;

	(void)ctx;
	return addr >= base && addr + size <= base + SIZE ? (void *)(uintptr_t)addr : NULL;
}

static void irq(void *ctx)
{
	(void)ctx;
	nr_irqs++;
}

static const struct spe_output_bus bus = {NULL, virt, irq};

static void set(u32 reg, u64 value)
{
	assert_true(spe_unit_write(&unit, reg, value));
}

static void begin(u64 pmscr)
{
	const struct spe_unit_config config = {.clock = &clock_ticks,
					       .max_record = 64,
					       .align = 64};

	memset(memory, 0, sizeof(memory));
	nr_irqs = 0;
	spe_unit_init(&unit, &config, &bus);
	set(SYS_PMBPTR, (u64)(uintptr_t)memory);
	set(SYS_PMBLIMITR, (u64)(uintptr_t)(memory + SIZE) | PMBLIMITR_E);
	set(SYS_PMSCR, PMSCR_E0SPE | pmscr);
}

static size_t nr_bytes(void)
{
	u64 ptr;

	assert_true(spe_unit_read(&unit, SYS_PMBPTR, &ptr));
	return ptr - (u64)(uintptr_t)memory;
}

/* The only record after an operation. */
static struct auxtap_spe_record one(const struct spe_op *op, u64 pmscr)
{
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record record = {.size = sizeof(record)}, more = record;

	begin(pmscr);
	spe_unit_sample(&unit, op);
	spe_reader_init(&reader, memory, nr_bytes(), 0);
	assert_int_equal(auxtap_spe_next(&reader, &record), 1);
	assert_null(record.error);
	assert_int_equal(auxtap_spe_next(&reader, &more), 0);
	return record;
}

/* ---- classes ---- */

static void test_classes(void **state)
{
	/* clang-format off */
	static const struct {
		u32 code;
		const char *text; /* stock perf's text of the operation packet */
	} ops[] = {
		{ 0xf9400020, "LD GP-REG" },	       /* ldr x0, [x1] */
		{ 0xf9000020, "ST GP-REG" },	       /* str x0, [x1] */
		{ 0x39400020, "LD GP-REG" },	       /* ldrb w0, [x1] */
		{ 0xb8827020, "LD GP-REG" },	       /* ldursw x0, [x1, #39]: unscaled */
		{ 0x3dc00020, "LD SIMD-FP" },	       /* ldr q0, [x1] */
		{ 0x3d800020, "ST SIMD-FP" },	       /* str q0, [x1] */
		{ 0xfd000020, "ST SIMD-FP" },	       /* str d0, [x1] */
		{ 0xa9400440, "LD GP-REG" },	       /* ldp x0, x1, [x2] */
		{ 0xa9bf7bfd, "ST GP-REG" },	       /* stp x29, x30, [sp, #-16]! */
		{ 0x6d400440, "LD SIMD-FP" },	       /* ldp d0, d1, [x2] */
		{ 0x58000060, "LD GP-REG" },	       /* ldr x0, . + 12 */
		{ 0x4c407020, "LD SIMD-FP" },	       /* ld1 {v0.16b}, [x1] */
		{ 0xf8626820, "LD GP-REG" },	       /* ldr x0, [x1, x2] */
		{ 0xc85f7c20, "LD EXCL" },	       /* ldxr x0, [x1] */
		{ 0xc85ffc20, "LD EXCL AR" },	       /* ldaxr x0, [x1] */
		{ 0xc8027c20, "ST EXCL" },	       /* stxr w2, x0, [x1] */
		{ 0xc87f0440, "LD EXCL" },	       /* ldxp x0, x1, [x2] */
		{ 0xc8dffc20, "LD AR" },	       /* ldar x0, [x1] */
		{ 0xc89ffc20, "ST AR" },	       /* stlr x0, [x1] */
		{ 0xf8bfc020, "LD AR" },	       /* ldapr x0, [x1] */
		{ 0xf8220020, "LD AT" },	       /* ldadd x2, x0, [x1] */
		{ 0xf8e20020, "LD AT AR" },	       /* ldaddal x2, x0, [x1] */
		{ 0xf822003f, "ST AT" },	       /* stadd x2, [x1] */
		{ 0xf8208041, "LD AT" },	       /* swp x0, x1, [x2] */
		{ 0xc8a07c41, "LD AT" },	       /* cas x0, x1, [x2] */
		{ 0xc8e0fc41, "LD AT AR" },	       /* casal x0, x1, [x2] */
		{ 0x48207c82, "LD AT" },	       /* casp x0, x1, x2, x3, [x4] */
		{ 0x54000040, "B COND" },	       /* b.eq . + 8 */
		{ 0xb4000040, "B COND" },	       /* cbz x0, . + 8 */
		{ 0x14000002, "B" },		       /* b . + 8 */
		{ 0x94000002, "B" },		       /* bl . + 8 */
		{ 0xd61f0020, "B IND" },	       /* br x1 */
		{ 0xd65f03c0, "B IND" },	       /* ret */
		{ 0x9a821020, "OTHER COND-SELECT" },	       /* csel x0, x1, x2, ne */
		{ 0x8b020020, "OTHER INSN-OTHER" },	       /* add x0, x1, x2 */
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct spe_op op = {.pc = 0x400000, .code = ops[i].code, .next = 0x400004};
		struct auxtap_spe_packet pkt = {.size = sizeof(pkt), .type = AUXTAP_SPE_OPERATION};
		struct auxtap_spe_record r = one(&op, 0);
		char text[64];

		pkt.index = r.op_class;
		pkt.payload = r.op;
		auxtap_spe_packet_text(&pkt, text, sizeof(text));
		if (strcmp(text, ops[i].text))
			print_error("%08x: %s\n", ops[i].code, text);
		assert_string_equal(text, ops[i].text);
	}
}

/* ---- fields ---- */

static void test_fields(void **state)
{
	struct spe_op load = {.pc = 0x7fff12345678,
			      .code = 0xf9400020,
			      .next = 0x7fff1234567c,
			      .has_addr = true,
			      .size = 8,
			      .addr = 0x55007ffff008};
	struct spe_op back = {.pc = 0x401000, .code = 0x54ffff00, .next = 0x400fe0};
	struct auxtap_spe_record r = {.size = sizeof(r)};

	(void)state;
	clock_ticks = 0x123456789a;
	unit.contextid = 0;
	r = one(&load, PMSCR_TS | PMSCR_PA);
	assert_int_equal(r.has, AUXTAP_SPE_HAS_PC | AUXTAP_SPE_HAS_VIRT | AUXTAP_SPE_HAS_PHYS |
					AUXTAP_SPE_HAS_LAT_TOTAL | AUXTAP_SPE_HAS_LAT_ISSUE |
					AUXTAP_SPE_HAS_LAT_XLAT | AUXTAP_SPE_HAS_OP |
					AUXTAP_SPE_HAS_EVENTS | AUXTAP_SPE_HAS_SOURCE |
					AUXTAP_SPE_HAS_TIMESTAMP);
	assert_true(r.pc == load.pc && r.virt == load.addr && r.phys == load.addr);
	assert_true(r.timestamp == clock_ticks);
	assert_int_equal(r.pc_el, 0);
	assert_true(r.pc_ns);
	assert_int_equal(r.source, 14); /* nothing is in the caches yet */
	assert_true(r.events & 1u << AUXTAP_SPE_EV_RETIRED);
	assert_true(r.events & 1u << AUXTAP_SPE_EV_TLB_WALK);
	assert_true(r.events & 1u << AUXTAP_SPE_EV_LLC_MISS);
	assert_false(r.events & 1u << AUXTAP_SPE_EV_MISALIGNED);
	load.addr++;
	r = one(&load, PMSCR_CX);
	assert_true(r.has & AUXTAP_SPE_HAS_CONTEXT);
	assert_false(r.has & (AUXTAP_SPE_HAS_TIMESTAMP | AUXTAP_SPE_HAS_PHYS));
	assert_true(r.events & 1u << AUXTAP_SPE_EV_MISALIGNED);
	r = one(&back, PMSCR_TS);
	assert_true(r.pc == back.pc && r.target == back.next);
	assert_false(r.events & 1u << AUXTAP_SPE_EV_NOT_TAKEN);
	back.next = back.pc + 4;
	r = one(&back, PMSCR_TS);
	assert_true(r.events & 1u << AUXTAP_SPE_EV_NOT_TAKEN);
	assert_false(r.has & AUXTAP_SPE_HAS_VIRT);
}

static void test_caches(void **state)
{
	struct spe_op op = {.pc = 0x400000,
			    .code = 0xf9400020,
			    .next = 0x400004,
			    .has_addr = true,
			    .size = 8,
			    .addr = 0x10000};
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record r = {.size = sizeof(r)};
	static const u8 source[] = {14, 0, 14, 14, 14, 14, 8, 0};
	/*
	 * the same line; four more of its set, which is full then; the first moves to the next
	 * cache
	 */
	static const u32 step[] = {0, 8, 1, 2, 3, 4, 0, 0};

	(void)state;
	begin(PMSCR_TS);
	for (int i = 0; i < 8; i++) {
		op.addr = 0x10000 + (step[i] == 8 ? 8 : (u64)step[i] * 64 * SPE_L1_SETS);
		spe_unit_sample(&unit, &op);
	}
	spe_reader_init(&reader, memory, nr_bytes(), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(auxtap_spe_next(&reader, &r), 1);
		assert_int_equal(r.source, source[i]);
		assert_int_equal(!(r.events & 1u << AUXTAP_SPE_EV_L1D_REFILL), !r.source);
		assert_int_equal(!(r.events & 1u << AUXTAP_SPE_EV_LLC_MISS), r.source != 14);
		assert_true(r.lat_total >= r.lat_issue + r.lat_xlat);
	}
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
}

/* ---- a run ---- */

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void test_random(void **state)
{
	static const u32 codes[] = {0xf9400020, 0xf9000020, 0x54000040, 0xd61f0020, 0x8b020020};
	static struct spe_op ops[10000];
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record r = {.size = sizeof(r)};
	u32 seed = 1;

	(void)state;
	begin(PMSCR_TS | PMSCR_PA);
	clock_ticks = 1000;
	for (int i = 0; i < 10000; i++) {
		struct spe_op *op = &ops[i];

		op->pc = 0x5500000000 + next_random(&seed) * 4;
		op->code = codes[next_random(&seed) % 5];
		op->next = op->code == 0xd61f0020 ? next_random(&seed) * 4 : op->pc + 4;
		op->has_addr = op->code >> 24 == 0xf9;
		op->size = 8;
		op->addr = 0x5501000000 + next_random(&seed) % 65536;
		clock_ticks += 7;
		spe_unit_sample(&unit, op);
	}
	assert_int_equal(unit.nr_samples, 10000);
	assert_int_equal(unit.out.nr_records, 10000);
	spe_reader_init(&reader, memory, nr_bytes(), 0);
	for (int i = 0; i < 10000; i++) {
		const struct spe_op *op = &ops[i];

		assert_int_equal(auxtap_spe_next(&reader, &r), 1);
		assert_true(r.pc == op->pc);
		assert_true(r.timestamp == 1000 + 7 * (u64)(i + 1));
		assert_int_equal(r.has & AUXTAP_SPE_HAS_VIRT ? 1 : 0, op->has_addr);
		assert_true(!op->has_addr || r.virt == op->addr);
		if (op->code == 0xd61f0020)
			assert_true(r.target == op->next);
	}
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
	assert_int_equal(nr_irqs, 0);
	/* until it is full: the interrupt, and every record is complete */
	for (int i = 0; i < 10000; i++)
		spe_unit_sample(&unit, &ops[i]);
	assert_int_equal(nr_irqs, 1);
	assert_int_equal(unit.out.nr_records + unit.out.nr_records_dropped, 20000);
	spe_reader_init(&reader, memory, nr_bytes(), 0);
	for (u64 i = 0; i < unit.out.nr_records; i++)
		assert_int_equal(auxtap_spe_next(&reader, &r), 1);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
}

/* ---- filters ---- */

static u64 kept(u64 pmsfcr, u64 events, u64 without, u64 latency)
{
	static const u32 codes[] = {0xf9400020, 0xf9000020, 0x54000040, 0x8b020020, 0xf8220020};

	begin(0);
	set(SYS_PMSFCR, pmsfcr);
	set(SYS_PMSEVFR, events);
	set(SYS_PMSNEVFR, without);
	set(SYS_PMSLATFR, latency);
	for (u32 i = 0; i < 10; i++) {
		u32 code = codes[i % 5];
		struct spe_op op = {.pc = 0x400000 + 4 * (i % 5),
				    .code = code,
				    .next = 0x400004 + 4 * (i % 5),
				    .size = 8,
				    .addr = 0x2000,
				    .has_addr = code != 0x54000040 && code != 0x8b020020};

		spe_unit_sample(&unit, &op);
	}
	assert_int_equal(unit.nr_samples, 10);
	assert_int_equal(unit.out.nr_records, 10 - unit.nr_filtered);
	return unit.out.nr_records;
}

static void test_filters(void **state)
{
	(void)state;
	assert_int_equal(kept(0, ~0ull, ~0ull, 4095), 10); /* no filter is enabled */
	assert_int_equal(kept(PMSFCR_FT, 0, 0, 0), 0);
	assert_int_equal(kept(PMSFCR_FT | PMSFCR_B, 0, 0, 0), 2);
	/* an atomic is both */
	assert_int_equal(kept(PMSFCR_FT | PMSFCR_LD, 0, 0, 0), 4);
	assert_int_equal(kept(PMSFCR_FT | PMSFCR_ST, 0, 0, 0), 4);
	assert_int_equal(kept(PMSFCR_FT | PMSFCR_LD | PMSFCR_ST, 0, 0, 0), 6);
	assert_int_equal(kept(PMSFCR_FE, SPE_EVENT_NOT_TAKEN, 0, 0), 2);
	assert_int_equal(kept(PMSFCR_FE, SPE_EVENT_TLB_WALK | SPE_EVENT_LLC_MISS, 0, 0), 1);
	assert_int_equal(kept(PMSFCR_FNE, 0, SPE_EVENT_L1D_ACCESS, 0), 4);
	assert_int_equal(kept(PMSFCR_FL, 0, 0, 100), 1);
}

/* ---- the interval ---- */

static void test_interval(void **state)
{
	bool seen[256] = {false};
	u64 at = 0, last = 0;
	u32 nr = 0, hit;

	(void)state;
	begin(0);
	set(SYS_PMSIRR, 1024);
	for (int i = 0; i < 100000; i++) {
		u32 left = 1 + (u32)i % 37;

		while ((hit = spe_unit_count(&unit, left))) {
			assert_true(hit <= left);
			at += hit;
			left -= hit;
			assert_int_equal(at - last, 1024);
			last = at;
		}
		at += left;
	}
	begin(0);
	set(SYS_PMSIRR, 1024 | PMSIRR_RND);
	for (at = last = 0; nr < 10000; at += 5) {
		hit = spe_unit_count(&unit, 5);
		if (!hit)
			continue;
		nr++;
		assert_in_range(at + hit - last, 1024, 1024 + 255);
		seen[at + hit - last - 1024] = true;
		last = at + hit;
		assert_int_equal(spe_unit_count(&unit, 5 - hit), 0);
	}
	for (int i = 0; i < 256; i++)
		assert_true(seen[i]);
	/* off: nothing is counted */
	set(SYS_PMSCR, 0);
	assert_int_equal(spe_unit_count(&unit, 100000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_fields),
		cmocka_unit_test(test_caches),	cmocka_unit_test(test_random),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
