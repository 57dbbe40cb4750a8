// SPDX-License-Identifier: BSD-2-Clause
/* The fault catalogue: each fault is found, by the invariant that it names, and only with it. */
#include "support_run.h"

#include <errno.h>

/* Simulating 6 GiB takes long, and tests/cli/test_watermark.sh does it. */
static bool is_long(const struct auxtap_watermark_fault *fault)
{
	return !strcmp(fault->name, "head-32-bit");
}

static void test_each_fault(void **state)
{
	const struct auxtap_watermark_fault *f;

	(void)state;
	for (size_t i = 0; (f = auxtap_watermark_get_fault(i)); i++)
		for (const char *const *driver = run_drivers; *driver; driver++) {
			struct auxtap_watermark_config c = run_config(*driver);
			struct auxtap_watermark_result r = {.size = sizeof(r)};

			if (!strstr(f->drivers, *driver) || is_long(f))
				continue;
			auxtap_watermark_typical(&c, *driver);
			assert_int_equal(auxtap_watermark_fault_config(&c, f->name, NULL), 0);
			run_sim(&c, NULL, &r);
			run_assert_violated(&c, &r, f->caught);
			assert_int_not_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_PASS);
			c.fault = NULL;
			run_sim(&c, NULL, &r);
			run_assert_clean(&c, &r);
		}
}

static void test_unknown_faults(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	assert_int_equal(auxtap_watermark_fault_config(&c, "no-such-fault", &err), -EINVAL);
	assert_string_equal(err.what, "no-such-fault");
	assert_int_equal(auxtap_watermark_fault_config(&c, "padding-missing", &err), -EINVAL);
	assert_non_null(strstr(err.why, "intel_pt"));
	assert_null(c.fault);
}

static struct auxtap_watermark_result run_fault(const char *driver, const char *fault)
{
	struct auxtap_watermark_config c = {.size = sizeof(c)};
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	auxtap_watermark_typical(&c, driver);
	assert_int_equal(auxtap_watermark_fault_config(&c, fault, NULL), 0);
	run_sim(&c, NULL, &r);
	return r;
}

/* What else a fault does. */
static void test_consequences(void **state)
{
	struct auxtap_watermark_result r = run_fault("intel_pt", "partial-as-truncated");

	(void)state;
	assert_true(r.by_invariant[AUXTAP_INV_LOSS_FLAGGED] > 0); /* untraced, and no PARTIAL */
	r = run_fault("trbe", "interrupt-doubled");
	assert_true(r.nr_interrupts > 3 * r.nr_records / 2);
}

/* Every kernel fault and every hardware fault has drivers that exist. */
static void test_table(void **state)
{
	const struct auxtap_watermark_fault *f;
	unsigned int nr_hardware = 0, nr_kernel = 0;

	(void)state;
	for (size_t i = 0; (f = auxtap_watermark_get_fault(i)); i++) {
		unsigned int nr = 0;

		assert_int_equal(f->size, sizeof(*f));
		for (const char *const *driver = run_drivers; *driver; driver++)
			nr += strstr(f->drivers, *driver) != NULL;
		assert_true(nr > 0);
		assert_non_null(auxtap_watermark_get_invariant(f->caught));
		assert_true(strlen(f->text) > 10);
		nr_hardware += f->hardware == 1;
		nr_kernel += f->hardware == 0;
	}
	assert_true(nr_hardware >= 10 && nr_kernel >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fault),
		cmocka_unit_test(test_unknown_faults),
		cmocka_unit_test(test_consequences),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
