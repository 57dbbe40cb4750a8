// SPDX-License-Identifier: BSD-2-Clause
/* Verdicts on results, and the tables: invariants, losses, kernels, units, buckets. */
#include "support_run.h"

static void test_verdicts(void **state)
{
	struct auxtap_watermark_result r = {0};

	(void)state;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_PASS);
	r.nr_findings = 5; /* allowed by the rules */
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_PASS);
	r.nr_violations = r.by_invariant[AUXTAP_INV_RECORDS_TRUE] = 1;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_FAIL);
	r.refused = 1;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_NOT_RUN);

	r = (struct auxtap_watermark_result){.stored = 1};
	r.nr_violations = r.by_invariant[AUXTAP_INV_PROGRESS] = 2;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_NO_PROGRESS);
	r.nr_violations++;
	r.by_invariant[AUXTAP_INV_LOSS_FLAGGED]++;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_FAIL);
	r.stored = 0; /* nothing came through: the rest follows from it */
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_NO_PROGRESS);
	r.by_invariant[AUXTAP_INV_PROGRESS] = 0;
	assert_int_equal(auxtap_watermark_get_verdict(&r), AUXTAP_WM_FAIL);
}

static void test_invariants(void **state)
{
	(void)state;
	for (int i = 0; i < AUXTAP_NR_INVARIANTS; i++) {
		const struct auxtap_invariant_info *info = auxtap_watermark_get_invariant(i);

		assert_true(*info->name && *info->rules && *info->text);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(auxtap_watermark_get_invariant(k)->name,
						info->name);
	}
	assert_null(auxtap_watermark_get_invariant(AUXTAP_NR_INVARIANTS));
	assert_null(auxtap_watermark_get_invariant(-1));
}

static void test_losses(void **state)
{
	(void)state;
	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		assert_true(strlen(auxtap_watermark_loss_name(i)) > 4);
	assert_string_equal(auxtap_watermark_loss_name(AUXTAP_LOSS_NO_SPACE), "no space");
	assert_string_equal(auxtap_watermark_loss_name(AUXTAP_NR_LOSSES), "?");
}

static void test_kernels(void **state)
{
	unsigned int nr = 0;
	const char *name;

	(void)state;
	for (; (name = auxtap_watermark_kernel(nr)); nr++)
		assert_string_equal(auxtap_watermark_kernel_for(name), name);
	assert_true(nr >= 3);
	assert_null(auxtap_watermark_kernel(nr + 1));
	assert_string_equal(auxtap_watermark_kernel_for("6.1.0-49-amd64"),
			    auxtap_watermark_kernel(0));
	assert_null(auxtap_watermark_kernel_for("2.6.32"));
	assert_null(auxtap_watermark_kernel_for("linux"));
}

static void test_units(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		const struct auxtap_trace_unit *unit = auxtap_trace_unit_find(*driver);

		assert_int_equal(unit->size, sizeof(*unit));
		assert_string_equal(unit->driver, *driver);
	}
	assert_null(auxtap_trace_unit_find("cs_etm"));
}

/* Sixteen single bytes, then eight buckets of one width for each power of two. */
static void test_buckets(void **state)
{
	(void)state;
	for (unsigned int i = 0; i <= 16; i++)
		assert_int_equal(auxtap_overshoot_bucket_from(i), i);
	for (unsigned int i = 16; i < AUXTAP_OVERSHOOT_BUCKETS; i++) {
		uint64_t from = auxtap_overshoot_bucket_from(i),
			 next = auxtap_overshoot_bucket_from(i + 1), power = 16;

		while (2 * power <= from)
			power *= 2;
		assert_int_equal(next - from, power / 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts), cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_losses),	 cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_units),	 cmocka_unit_test(test_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
