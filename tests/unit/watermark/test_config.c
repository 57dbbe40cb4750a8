// SPDX-License-Identifier: BSD-2-Clause
/* Which configurations are accepted, which are refused, and what the error names. */
#include "support_run.h"

#include <errno.h>

/* One field of a configuration set to a value. */
struct change {
	const char *driver;
	size_t at, size;
	uint64_t value;
	const char *what; /* that the error names; NULL: accepted */
};
#define SET(field, value)                                \
	offsetof(struct auxtap_watermark_config, field), \
		sizeof(((struct auxtap_watermark_config *)NULL)->field), (uint64_t)(value)

static const struct change invalid[] = {
	{"intel_pt", SET(size, 1), "struct auxtap_watermark_config"},
	{"intel_pt", SET(page_size, 2048), "page size"},
	{"intel_pt", SET(page_size, 16384), "page size"},
	{"arm_spe", SET(page_size, 12288), "page size"},
	{"trbe", SET(page_size, 131072), "page size"},
	{"intel_pt", SET(nr_pages, 3), "pages of the AUX area"},
	{"intel_pt", SET(nr_pages, 1 << 21), "pages of the AUX area"},
	{"intel_pt", SET(data_pages, 3), "pages of the data ring"},
	{"intel_pt", SET(max_alloc_pages, 3), "largest allocation"},
	{"intel_pt", SET(watermark, 1ull << 32), "watermark"},
	{"intel_pt", SET(cpu, -1), "CPU"},
	{"intel_pt", SET(cpu, 8), "CPU"},
	{"intel_pt", SET(setup.record_bytes, 2049), "record size"},
	{"trbe", SET(setup.align, 48), "alignment"},
	{"trbe", SET(setup.align, 4096), "alignment"},
	{"arm_spe", SET(setup.max_record, 8), "largest record"},
	{"arm_spe", SET(setup.max_record, 96), "largest record"},
	{"arm_spe", SET(setup.max_record, 4096), "largest record"},
	{"arm_spe", SET(setup.max_record, 32), "largest record"}, /* records have 64 */
	{"arm_spe", SET(setup.errata, AUXTAP_ERRATUM_BEYOND), "errata"},
	{"trbe", SET(setup.errata, 4), "errata"},
	{"trbe", SET(setup.irq_delay_bytes, (1 << 20) + 1), "skid"},
	{"intel_pt", SET(rate, 1000000000001), "rate"},
};

static const struct change valid[] = {
	{"intel_pt", SET(nr_pages, 1), NULL},
	{"arm_spe", SET(page_size, 65536), NULL},
	{"trbe", SET(page_size, 16384), NULL},
	{"intel_pt", SET(data_pages, 0), NULL},
	{"intel_pt", SET(data_pages, 1), NULL},
	{"intel_pt", SET(watermark, 1), NULL},
	{"intel_pt", SET(watermark, UINT32_MAX), NULL},
	{"intel_pt", SET(cpu, 0), NULL},
	{"intel_pt", SET(cpu, 7), NULL},
	{"intel_pt", SET(setup.record_bytes, 1), NULL},
	{"trbe", SET(setup.record_bytes, 2048), NULL},
	{"arm_spe", SET(setup.record_bytes, 1), NULL},
	{"trbe", SET(setup.align, 1), NULL},
	{"trbe", SET(setup.align, 2048), NULL},
	{"arm_spe", SET(setup.max_record, 2048), NULL},
	{"trbe", SET(setup.errata, AUXTAP_ERRATUM_OVERWRITE | AUXTAP_ERRATUM_BEYOND), NULL},
	{"intel_pt", SET(setup.irq_delay_bytes, 1 << 20), NULL},
	{"intel_pt", SET(rate, 1), NULL},
	{"intel_pt", SET(rate, 1000000000000), NULL},
	{"intel_pt", SET(max_alloc_pages, 1), NULL},
	{"intel_pt", SET(max_alloc_pages, 1ull << 63), NULL},
	{"intel_pt", SET(no_data_ring, 1), NULL},
	/* zero is a default */
	{"intel_pt", SET(page_size, 0), NULL},
	{"intel_pt", SET(nr_pages, 0), NULL},
	{"intel_pt", SET(setup.record_bytes, 0), NULL},
	{"trbe", SET(setup.align, 0), NULL},
	{"arm_spe", SET(setup.max_record, 0), NULL},
	{"intel_pt", SET(rate, 0), NULL},
};

/* Little-endian, as all that the drivers run on. */
static void change(struct auxtap_watermark_config *config, const struct change *c)
{
	memcpy((char *)config + c->at, &c->value, c->size);
}

/* Invalid, and the error says what to do about what. */
static void assert_invalid(const struct auxtap_watermark_config *config, const char *what)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result result = {.size = sizeof(result)};

	assert_int_equal(auxtap_watermark_run(config, NULL, NULL, &result, &err), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.what, what);
	assert_true(*err.why && *err.hint);
	assert_int_equal(auxtap_watermark_run(config, NULL, NULL, &result, NULL), -EINVAL);
}

static void assert_valid(const struct auxtap_watermark_config *config)
{
	struct auxtap_watermark_result result = {.size = sizeof(result)};

	run_sim(config, NULL, &result);
	assert_true(result.refused || result.produced);
}

static void test_invalid_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		struct auxtap_watermark_config c = run_config(invalid[i].driver);

		change(&c, &invalid[i]);
		assert_invalid(&c, invalid[i].what);
	}
}

static void test_values_at_their_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		struct auxtap_watermark_config c = run_config(valid[i].driver);

		c.max_bytes = 300000;
		change(&c, &valid[i]);
		assert_valid(&c);
	}
}

static void test_names(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");

	(void)state;
	c.driver = "etb";
	assert_invalid(&c, "etb");
	c = run_config("intel_pt");
	c.kernel = "2.6.32";
	assert_invalid(&c, "2.6.32");
	c = run_config("intel_pt");
	c.fault = "no-such-fault";
	assert_invalid(&c, "no-such-fault");
	c.fault = "padding-missing"; /* PT has no padding */
	assert_invalid(&c, "padding-missing");
}

static void test_contents_need_memory(void **state)
{
	struct auxtap_watermark_config c = run_config("arm_spe");

	(void)state;
	c.contents = 1;
	c.page_size = 65536;
	c.nr_pages = 2048;
	assert_invalid(&c, "contents");
	c.nr_pages = 1024;
	assert_valid(&c);
}

/* Two values that are each valid. */
static void test_records(void **state)
{
	struct auxtap_watermark_config c = run_config("arm_spe");

	(void)state;
	c.setup.record_bytes = c.setup.max_record = 8;
	assert_invalid(&c, "largest record");
	c.setup.record_bytes = c.setup.max_record = 16;
	assert_valid(&c);
}

static void test_rates(void **state)
{
	static const struct auxtap_watermark_rate same[] = {{1000, 5}, {1000, 6}},
						  falling[] = {{2000, 5}, {1000, 6}},
						  rising[] = {{1000, 5000000000},
							      {200000, 0},
							      {300000, 1000000000}};
	struct auxtap_watermark_config c = run_config("trbe");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.rates = rising;
	c.nr_rates = 0;
	assert_invalid(&c, "rates");
	c.rates = same;
	c.nr_rates = 2;
	assert_invalid(&c, "rates");
	c.rates = falling;
	assert_invalid(&c, "rates");
	/* 5000 bytes in the first microsecond, 100000 in the last 100 us; whole records of 16 */
	c.rates = rising;
	c.nr_rates = 3;
	c.rate = 0; /* not used */
	run_sim(&c, NULL, &r);
	run_assert_clean(&c, &r);
	assert_in_range(r.produced, 105000 - 32, 105000);
}

/* Each of the three ends a run. */
static void test_ends(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.max_bytes = 100000;
	run_sim(&c, NULL, &r);
	/* up to the next event, which comes before the area is full */
	assert_in_range(r.produced, 100000, 100000 + c.nr_pages * c.page_size);
	c.max_bytes = 0;
	c.max_transactions = 5;
	run_sim(&c, NULL, &r);
	assert_in_range(r.nr_transactions, 5, 6); /* the end of the run may end one more */
	c.max_transactions = 0;
	c.max_ns = 1000000;
	run_sim(&c, NULL, &r);
	/* 100 MB/s; pending interrupts and reads complete */
	assert_in_range(r.produced, 100000 - 16, 100000 + 16);
	assert_true(r.time_ns >= 1000000);
}

/* ---- units of the user's own ---- */

static void assert_unit_invalid(const struct auxtap_trace_unit *unit, const char *what)
{
	struct auxtap_watermark_config c = run_config("intel_pt");

	c.unit = unit;
	assert_invalid(&c, what);
}

static void test_incomplete_units(void **state)
{
	const struct auxtap_trace_unit *whole = auxtap_trace_unit_find("intel_pt");
	struct auxtap_trace_unit u = *whole;

	(void)state;
	u.size--;
	assert_unit_invalid(&u, "trace unit");
	u = *whole;
	u.name = NULL;
	assert_unit_invalid(&u, "trace unit");
	u = *whole;
	u.driver = NULL;
	assert_unit_invalid(&u, "intel_pt");
	u.driver = "trbe";
	assert_unit_invalid(&u, "intel_pt");
	u = *whole;
	u.create = NULL;
	assert_unit_invalid(&u, "intel_pt");
	u = *whole;
	u.destroy = NULL;
	assert_unit_invalid(&u, "intel_pt");
	u = *whole;
	u.reg_read = NULL;
	assert_unit_invalid(&u, "intel_pt");
	u = *whole;
	u.reg_write = NULL;
	assert_unit_invalid(&u, "intel_pt");
	u = *whole;
	u.produce = NULL;
	assert_unit_invalid(&u, "intel_pt");
}

static void *no_unit(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup)
{
	(void)bus;
	(void)setup;
	return NULL;
}

static void test_unit_without_memory(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_trace_unit u = *auxtap_trace_unit_find("intel_pt");
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	u.create = no_unit;
	c.unit = &u;
	assert_int_equal(auxtap_watermark_run(&c, NULL, NULL, &r, &err), -ENOMEM);
	c.unit = NULL; /* and the next run is not disturbed by it */
	assert_valid(&c);
}

static uint64_t no_size(void *unit, uint32_t reg)
{
	(void)unit;
	(void)reg;
	return 0;
}

/* A driver that does not find what it needs in the ID registers. */
static void test_unit_that_the_driver_refuses(void **state)
{
	struct auxtap_watermark_config c = run_config("arm_spe");
	struct auxtap_trace_unit u = *auxtap_trace_unit_find("arm_spe");
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	u.reg_read = no_size;
	c.unit = &u;
	assert_true(auxtap_watermark_run(&c, NULL, NULL, &r, &err) < 0);
	assert_string_equal(err.what, "arm_spe");
	c.unit = NULL;
	assert_valid(&c);
}

/* ---- what the kernel or the driver refuses ---- */

static void assert_refused(const struct auxtap_watermark_config *config, const char *rule)
{
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	run_sim(config, NULL, &r);
	assert_true(r.refused);
	if (!strstr(r.refusal, rule))
		fail_msg("'%s' does not name %s", r.refusal, rule);
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_NOT_RUN);
	assert_int_equal(r.produced, 0);
}

static void test_refusals(void **state)
{
	struct auxtap_watermark_config c = run_config("arm_spe");

	(void)state;
	c.nr_pages = 1;
	assert_refused(&c, "I1");
	c = run_config("trbe");
	c.nr_pages = 1;
	assert_refused(&c, "J2");
	c.nr_pages = 2;
	assert_valid(&c);
	c.setup.errata = AUXTAP_ERRATUM_BEYOND;
	assert_refused(&c, "J2");
	c.nr_pages = 4;
	c.watermark = 8192;
	assert_valid(&c);
	c = run_config("intel_pt");
	c.snapshot = 1;
	c.nr_pages = 1;
	assert_valid(&c);
}

/* A run inside a run: drivers register globally. */
static void run_inside(void *ctx, const struct auxtap_watermark_event *event)
{
	struct auxtap_watermark_config c = run_config("trbe");
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)event;
	assert_int_equal(auxtap_watermark_run(&c, NULL, NULL, &r, &err), -EBUSY);
	++*(int *)ctx;
}

static void test_busy(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	int nr = 0;

	(void)state;
	c.max_bytes = 40000;
	assert_int_equal(auxtap_watermark_run(&c, run_inside, &nr, &r, NULL), 0);
	assert_true(nr > 0);
	run_assert_clean(&c, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invalid_values),
		cmocka_unit_test(test_values_at_their_limits),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_contents_need_memory),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_incomplete_units),
		cmocka_unit_test(test_unit_without_memory),
		cmocka_unit_test(test_unit_that_the_driver_refuses),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
