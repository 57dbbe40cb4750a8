// SPDX-License-Identifier: BSD-2-Clause
/* The exhaustive search: complete, bounded, and what it finds can be replayed. */
#include "support_run.h"

#include <errno.h>

/* Two pages, a fragment of half a page: a few thousand states. */
static struct auxtap_watermark_config small(const char *driver)
{
	struct auxtap_watermark_config c = run_config(driver);

	c.nr_pages = 2;
	c.setup.record_bytes = 2048;
	if (!strcmp(driver, "arm_spe"))
		c.setup.max_record = 2048;
	return c;
}

static void explore(const struct auxtap_watermark_config *c, uint64_t max_states,
		    struct auxtap_explore_result *r)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	if (auxtap_watermark_explore(c, max_states, r, &err))
		fail_msg("%s: %s", err.what, err.why);
}

static void test_complete(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = small(*driver);
		struct auxtap_explore_result r = {.size = sizeof(r)}, again = r;

		explore(&c, 1000000, &r);
		if (r.violated)
			fail_msg("%s: %s", *driver, r.text);
		assert_true(r.complete);
		assert_true(r.nr_states > 50 && r.nr_steps > r.nr_states && r.depth > 5);
		assert_int_equal(r.nr_unmapped, r.nr_states);
		assert_string_equal(r.path, "");
		explore(&c, 1000000, &again);
		assert_memory_equal(&r, &again, sizeof(r));
		/* a limit that is reached */
		explore(&c, r.nr_states - 1, &again);
		assert_false(again.complete || again.violated);
		assert_int_equal(again.nr_unmapped, 0);
	}
}

/* An overwritten area has no reader: its states repeat after each wrap. */
static void test_overwrite(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = small(*driver);
		struct auxtap_explore_result r = {.size = sizeof(r)};

		c.snapshot = 1;
		explore(&c, 10000, &r);
		assert_true(r.complete && !r.violated && r.nr_states > 5);
	}
}

static void test_kernels(void **state)
{
	const char *kernel;

	(void)state;
	for (unsigned int i = 0; (kernel = auxtap_watermark_kernel(i)); i++) {
		struct auxtap_watermark_config c = small("intel_pt");
		struct auxtap_explore_result r = {.size = sizeof(r)};

		c.kernel = kernel;
		explore(&c, 1000000, &r);
		assert_true(r.complete && !r.violated);
	}
}

/* What is found is found again by its path, and no shorter path leads there. */
static void check_found(const struct auxtap_watermark_config *c,
			const struct auxtap_explore_result *r)
{
	struct auxtap_watermark_result played = {.size = sizeof(played)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char shorter[sizeof(r->path)];
	size_t len = strlen(r->path);

	assert_true(len > 0);
	if (r->path[len - 1] != 'u') /* breadth first: no state is further away */
		assert_in_range(r->depth, len - 1, len);
	assert_int_equal(auxtap_watermark_play(c, r->path, NULL, NULL, &played, &err), 0);
	assert_true(played.nr_violations > 0);
	assert_int_equal(played.violations[0].invariant, r->invariant);
	if (r->path[len - 1] == 'u') /* each replay ends with an unmapping */
		return;
	memcpy(shorter, r->path, len);
	shorter[len - 1] = '\0';
	assert_int_equal(auxtap_watermark_play(c, shorter, NULL, NULL, &played, &err), 0);
	/* ending the run there may violate others */
	assert_int_equal(played.by_invariant[r->invariant], 0);
}

static void test_faults(void **state)
{
	static const struct {
		const char *driver, *fault;
		enum auxtap_watermark_invariant invariant;
		uint64_t watermark;
	} cases[] = {
		{"intel_pt", "wakeup-by-one", AUXTAP_INV_WAKEUP_AHEAD, 1000},
		{"trbe", "skip-without-wakeup", AUXTAP_INV_WAKEUP_AT_WATERMARK, 2048},
		/* the kernel itself warns of it before the pages are freed */
		{"arm_spe", "refcount-first", AUXTAP_INV_NO_WARNING, 4096},
		{"intel_pt", "refcount-first", AUXTAP_INV_NO_WARNING, 4096},
		{"intel_pt", "past-limit", AUXTAP_INV_UNREAD_KEPT, 4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_watermark_config c = small(cases[i].driver);
		struct auxtap_explore_result r = {.size = sizeof(r)};

		c.fault = cases[i].fault;
		c.watermark = cases[i].watermark;
		explore(&c, 1000000, &r);
		assert_true(r.violated && *r.text);
		if (r.invariant != cases[i].invariant)
			fail_msg("%s of %s: %s: %s", cases[i].fault, cases[i].driver,
				 auxtap_watermark_get_invariant(r.invariant)->name, r.text);
		check_found(&c, &r);
	}
}

static void test_refused(void **state)
{
	struct auxtap_watermark_config c = small("trbe");
	struct auxtap_explore_result r = {.size = sizeof(r)};

	(void)state;
	c.nr_pages = 1;
	explore(&c, 1000, &r);
	assert_true(r.refused);
	assert_non_null(strstr(r.refusal, "J2"));
	assert_int_equal(r.nr_states, 0);
}

static void test_errors(void **state)
{
	struct auxtap_watermark_config c = small("intel_pt");
	struct auxtap_trace_unit unit = *auxtap_trace_unit_find("intel_pt");
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result played = {.size = sizeof(played)};
	struct auxtap_explore_result r = {.size = sizeof(r)};

	(void)state;
	c.contents = 1;
	assert_int_equal(auxtap_watermark_explore(&c, 1000, &r, &err), -EINVAL);
	c = small("intel_pt");
	c.nr_pages = 128;
	assert_int_equal(auxtap_watermark_explore(&c, 1000, &r, &err), -EINVAL);
	c.nr_pages = 64;
	explore(&c, 10, &r);
	c = small("intel_pt");
	c.unit = &unit; /* the state of other units is not known */
	assert_int_equal(auxtap_watermark_explore(&c, 1000, &r, &err), -EINVAL);
	assert_string_equal(err.what, "intel_pt");
	c = small("intel_pt");
	c.cpu = 9;
	assert_int_equal(auxtap_watermark_explore(&c, 1000, &r, NULL), -EINVAL);
	assert_int_equal(auxtap_watermark_play(&c, "p", NULL, NULL, &played, NULL), -EINVAL);
	/* nothing to be handled yet; no such action; nothing comes after the unmapping */
	c = small("intel_pt");
	assert_int_equal(auxtap_watermark_play(&c, "ppi", NULL, NULL, &played, &err), 0);
	assert_int_equal(auxtap_watermark_play(&c, "i", NULL, NULL, &played, &err), -EINVAL);
	assert_non_null(strstr(err.why, "action 1, 'i'"));
	assert_int_equal(auxtap_watermark_play(&c, "px", NULL, NULL, &played, &err), -EINVAL);
	assert_non_null(strstr(err.why, "action 2, 'x'"));
	assert_int_equal(auxtap_watermark_play(&c, "pu", NULL, NULL, &played, &err), 0);
	assert_int_equal(auxtap_watermark_play(&c, "up", NULL, NULL, &played, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete), cmocka_unit_test(test_overwrite),
		cmocka_unit_test(test_kernels),	 cmocka_unit_test(test_faults),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
