// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trace units that do one thing wrong, made of the built-in ones: everything passes through this
 * file, on the way to the bus and back. Each is found by its invariant, or ends the run.
 */
#include "support_run.h"

#include <errno.h>
#include <stdlib.h>

enum trick {
	NO_TRICK,
	STORE_OUTSIDE,	   /* trace is stored where no area is */
	STORE_AHEAD,	   /* … 64 bytes further on */
	STORE_PAST_END,	   /* … past the end of the area */
	STORE_OTHER_BYTES, /* … with a bit flipped */
	STORE_WHEN_OFF,	   /* one byte more, when the driver switches the unit off */
	NO_IRQ,
	IRQ_ALWAYS,
	COUNT_LESS,	/* one byte less than was stored is returned */
	STORE_NOTHING,	/* all is taken and lost */
	STOPPED_ALWAYS, /* status and pointer say that the TRBE has wrapped */
	POINTER_BACK,	/* the TRBE's pointer goes back to its base */
	STOPPED_NEVER,
	IRQ_FOR_NOTHING, /* all is lost, and the line goes up */
	DATA_LOST,	 /* SPE: the status says that records were dropped */
	TAKE_NOTHING,
	TAKE_TOO_MUCH,
	STORE_MORE_THAN_TAKEN,
	STORE_WITHOUT_BUS,
};

static enum trick trick;
static const struct auxtap_trace_unit *inner;

struct bad_unit {
	const struct auxtap_unit_bus *outer;
	struct auxtap_unit_bus bus;
	void *unit;
	uint64_t last_addr;
};

static int load(void *ctx, uint64_t addr, void *to, uint64_t nr_bytes)
{
	const struct bad_unit *bad = ctx;

	return bad->outer->load(bad->outer->ctx, addr, to, nr_bytes);
}

static int store(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr_bytes)
{
	struct bad_unit *bad = ctx;
	const struct auxtap_unit_bus *bus = bad->outer;
	uint8_t *other;
	int ret;

	if (!nr_bytes)
		return bus->store(bus->ctx, addr, bytes, nr_bytes);
	bad->last_addr = addr;
	switch (trick) {
	case STORE_OUTSIDE:
		bus->store(bus->ctx, 0x1000, NULL, nr_bytes);
		return 0;
	case STORE_AHEAD:
		return bus->store(bus->ctx, addr + 64, NULL, nr_bytes);
	case STORE_PAST_END:
		return bus->store(bus->ctx, addr, NULL, nr_bytes + (1 << 20));
	case STORE_OTHER_BYTES:
		other = malloc(nr_bytes);
		assert_non_null(other);
		memcpy(other, bytes, nr_bytes);
		other[nr_bytes / 2] ^= 0x80;
		ret = bus->store(bus->ctx, addr, other, nr_bytes);
		free(other);
		return ret;
	case STORE_WITHOUT_BUS:
		return 0;
	default:
		return bus->store(bus->ctx, addr, bytes, nr_bytes);
	}
}

static void irq(void *ctx)
{
	const struct bad_unit *bad = ctx;

	if (trick != NO_IRQ)
		bad->outer->irq(bad->outer->ctx);
}

static void *create(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	struct bad_unit *bad = calloc(1, sizeof(*bad));

	assert_non_null(bad);
	bad->outer = bus;
	assert_int_equal(bus->size, sizeof(*bus));
	bad->bus = (struct auxtap_unit_bus){sizeof(bad->bus), bad, load, store, irq};
	bad->unit = inner->create(&bad->bus, setup);
	assert_non_null(bad->unit);
	return bad;
}

static void destroy(void *unit)
{
	struct bad_unit *bad = unit;

	inner->destroy(bad->unit);
	free(bad);
}

#define PT_STATUS    0x571
#define PT_CTL	     0x570
#define PT_STOPPED   0x20
#define SPE_STATUS   0xc4d3
#define SPE_DL	     0x80000
#define SPE_S	     0x20000
#define SPE_CONTROL  0xc4c8
#define TRBE_STATUS  0xc4db
#define TRBE_LIMIT   0xc4d8
#define TRBE_POINTER 0xc4d9
#define TRBE_BASE    0xc4da
#define TRBE_WRAP    0x100000
#define TRBE_FILLED  0x520001 /* IRQ, WRAP, S; the buffer is filled */

static uint64_t reg_read(void *unit, uint32_t reg)
{
	const struct bad_unit *bad = unit;
	uint64_t value = inner->reg_read(bad->unit, reg);

	if (reg == TRBE_STATUS && trick == STOPPED_ALWAYS)
		value |= TRBE_FILLED;
	if (reg == SPE_STATUS && trick == DATA_LOST && value & SPE_S)
		value |= SPE_DL;
	if (reg == TRBE_POINTER && trick == STOPPED_ALWAYS)
		value = inner->reg_read(bad->unit, TRBE_BASE);
	if (reg == TRBE_POINTER && trick == POINTER_BACK &&
	    value - inner->reg_read(bad->unit, TRBE_BASE) > 8192)
		value = inner->reg_read(bad->unit, TRBE_BASE);
	if (trick == STOPPED_NEVER)
		value &= ~(uint64_t)(reg == PT_STATUS	? PT_STOPPED :
				     reg == TRBE_STATUS ? TRBE_WRAP :
							  0);
	return value;
}

static void reg_write(void *unit, uint32_t reg, uint64_t value)
{
	struct bad_unit *bad = unit;

	inner->reg_write(bad->unit, reg, value);
	if (trick == STORE_WHEN_OFF && bad->last_addr && !(value & 1) &&
	    (reg == PT_CTL || reg == SPE_CONTROL || reg == TRBE_LIMIT))
		bad->outer->store(bad->outer->ctx, bad->last_addr, NULL, 1);
}

static uint64_t produce(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken)
{
	const struct bad_unit *bad = unit;
	uint64_t stored;

	if (trick == STORE_NOTHING || trick == IRQ_FOR_NOTHING) {
		*taken = nr_bytes;
		if (trick == IRQ_FOR_NOTHING)
			bad->outer->irq(bad->outer->ctx);
		return 0;
	}
	stored = inner->produce(bad->unit, bytes, nr_bytes, taken);
	if (trick == IRQ_ALWAYS)
		bad->outer->irq(bad->outer->ctx);
	if (trick == TAKE_NOTHING)
		*taken = 0;
	if (trick == TAKE_TOO_MUCH)
		*taken = nr_bytes + 1;
	if (trick == STORE_MORE_THAN_TAKEN)
		*taken = stored - 1;
	return trick == COUNT_LESS && stored ? stored - 1 : stored;
}

static int irq_level(void *unit)
{
	return inner->irq_level(((struct bad_unit *)unit)->unit);
}

static struct auxtap_trace_unit bad_unit(const char *driver)
{
	inner = auxtap_trace_unit_find(driver);
	return (struct auxtap_trace_unit){
		.size = sizeof(struct auxtap_trace_unit),
		.name = "bad",
		.driver = driver,
		.create = create,
		.destroy = destroy,
		.reg_read = reg_read,
		.reg_write = reg_write,
		.produce = produce,
		.irq_level = inner->irq_level ? irq_level : NULL,
	};
}

/* A text that a violation must have, and whether one had it. */
static const char *wanted;
static bool had_wanted;

static void look(void *ctx, const struct auxtap_watermark_event *event)
{
	(void)ctx;
	if (event->what == AUXTAP_WM_VIOLATION && wanted && strstr(event->text, wanted))
		had_wanted = true;
}

static int run_bad(const char *driver, enum trick how, const struct auxtap_watermark_config *config,
		   struct auxtap_watermark_result *r, struct auxtap_error *err)
{
	struct auxtap_watermark_config c = *config;
	struct auxtap_trace_unit unit = bad_unit(driver);

	trick = how;
	c.unit = &unit;
	return auxtap_watermark_run(&c, look, NULL, r, err);
}

struct bad_case {
	enum trick trick;
	const char *drivers;
	enum auxtap_watermark_invariant invariant;
	const char *text; /* in a violation */
};

static const struct bad_case cases[] = {
	{STORE_OUTSIDE, "intel_pt arm_spe trbe", AUXTAP_INV_LIMIT_KEPT, "outside of the AUX area"},
	{STORE_AHEAD, "intel_pt arm_spe trbe", AUXTAP_INV_RECORDS_TRUE, "and were due at"},
	{STORE_PAST_END, "intel_pt arm_spe trbe", AUXTAP_INV_LIMIT_KEPT, "go past the end"},
	{STORE_PAST_END, "intel_pt", AUXTAP_INV_UNREAD_KEPT, NULL},
	{STORE_OTHER_BYTES, "intel_pt arm_spe trbe", AUXTAP_INV_CONTENTS_TRUE, "the unit produced"},
	{STORE_WHEN_OFF, "arm_spe", AUXTAP_INV_RECORDS_TRUE, NULL},
	{NO_IRQ, "intel_pt arm_spe trbe", AUXTAP_INV_IRQ_AT_THRESHOLD, "still down"},
	{IRQ_ALWAYS, "intel_pt arm_spe trbe", AUXTAP_INV_IRQ_HAS_CAUSE, "one comes at"},
	{COUNT_LESS, "intel_pt trbe", AUXTAP_INV_BYTES_ADD_UP, "returns that it has stored"},
	{STORE_NOTHING, "intel_pt arm_spe trbe", AUXTAP_INV_PROGRESS, "has not stored"},
	{STORE_NOTHING, "intel_pt arm_spe trbe", AUXTAP_INV_LOSS_FLAGGED, "the unit's fault"},
	{STOPPED_ALWAYS, "trbe", AUXTAP_INV_FLAG_HAS_CAUSE, "COLLISION"},
	{POINTER_BACK, "trbe", AUXTAP_INV_NO_WARNING, "trbe.c"},
	{POINTER_BACK, "trbe", AUXTAP_INV_RECORDS_TRUE, "the transaction reports 0 bytes"},
	{IRQ_FOR_NOTHING, "intel_pt", AUXTAP_INV_PROGRESS, "16 interrupts in a row"},
	{DATA_LOST, "arm_spe", AUXTAP_INV_FLAG_HAS_CAUSE,
	 "PARTIAL, although all user code was traced"},
	{STOPPED_NEVER, "intel_pt", AUXTAP_INV_LOSS_FLAGGED, "no flag"},
	{STOPPED_NEVER, "trbe", AUXTAP_INV_RECORDS_TRUE, NULL},
};

static struct auxtap_watermark_config config_for(const char *driver)
{
	struct auxtap_watermark_config c = run_config(driver);

	c.watermark = 16384;
	c.contents = 1;
	c.reader_latency_ns = 2000000; /* the area runs full, too */
	return c;
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (const char *const *driver = run_drivers; *driver; driver++) {
			struct auxtap_watermark_config c = config_for(*driver);
			struct auxtap_watermark_result r = {.size = sizeof(r)};

			if (!strstr(cases[i].drivers, *driver))
				continue;
			/* a slow reader's violations are kept first: this trick needs all bytes */
			if (cases[i].trick == STOPPED_ALWAYS || cases[i].trick == POINTER_BACK)
				c.switch_ns = 20000;
			if (cases[i].trick == STORE_OTHER_BYTES || cases[i].trick == IRQ_ALWAYS)
				c.reader_latency_ns = 1000;
			wanted = cases[i].text;
			had_wanted = false;
			assert_int_equal(run_bad(*driver, cases[i].trick, &c, &r, NULL), 0);
			run_assert_violated(&c, &r, cases[i].invariant);
			if (wanted && !had_wanted) {
				print_message("%s, trick %d:\n", *driver, cases[i].trick);
				for (uint64_t k = 0; k < r.nr_kept; k++)
					print_message("  %s\n", r.violations[k].text);
				fail_msg("no violation says '%s'", cases[i].text);
			}
		}
}

/* Through this file alone nothing changes. */
static void test_no_trick(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = config_for(*driver);
		struct auxtap_watermark_result r = {.size = sizeof(r)}, built_in = r;

		assert_int_equal(run_bad(*driver, NO_TRICK, &c, &r, NULL), 0);
		run_assert_clean(&c, &r);
		run_sim(&c, NULL, &built_in);
		assert_memory_equal(&r, &built_in, sizeof(r));
	}
}

/* A unit that stores nothing has a verdict of its own. */
static void test_no_progress(void **state)
{
	struct auxtap_watermark_config c = config_for("trbe");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	assert_int_equal(run_bad("trbe", STORE_NOTHING, &c, &r, NULL), 0);
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_NO_PROGRESS);
	assert_int_equal(r.stored, 0);
	assert_int_equal(r.lost[AUXTAP_LOSS_FAULT] + r.lost[AUXTAP_LOSS_STOPPED] +
				 r.lost[AUXTAP_LOSS_NO_SPACE],
			 r.produced);
}

/* What no unit can do ends the run. */
static void test_impossible_counts(void **state)
{
	static const enum trick tricks[] = {TAKE_NOTHING, TAKE_TOO_MUCH, STORE_MORE_THAN_TAKEN,
					    STORE_WITHOUT_BUS};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	for (size_t i = 0; i < sizeof(tricks) / sizeof(tricks[0]); i++)
		for (const char *const *driver = run_drivers; *driver; driver++) {
			struct auxtap_watermark_config c = config_for(*driver);

			assert_int_equal(run_bad(*driver, tricks[i], &c, &r, &err), -EPROTO);
			assert_string_equal(err.what, "bad");
			assert_true(*err.hint);
		}
}

/* A run that goes wrong at each byte ends, and keeps the first violations of each kind. */
static void test_enough(void **state)
{
	struct auxtap_watermark_config c = config_for("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	uint64_t sum = 0;

	(void)state;
	c.max_bytes = 1ull << 40;
	assert_int_equal(run_bad("intel_pt", IRQ_ALWAYS, &c, &r, NULL), 0);
	assert_in_range(r.nr_violations, AUXTAP_WM_ENOUGH, AUXTAP_WM_ENOUGH + 100);
	assert_int_equal(r.nr_kept, AUXTAP_WM_VIOLATIONS);
	for (int i = 0; i < AUXTAP_NR_INVARIANTS; i++)
		sum += r.by_invariant[i];
	assert_int_equal(sum, r.nr_violations);
	for (uint64_t i = 1; i < r.nr_kept; i++)
		assert_true(r.violations[i].time_ns >= r.violations[i - 1].time_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	    cmocka_unit_test(test_no_trick),
		cmocka_unit_test(test_no_progress), cmocka_unit_test(test_impossible_counts),
		cmocka_unit_test(test_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
