// SPDX-License-Identifier: BSD-2-Clause
/*
 * The simulator's structs begin with their size: one that is not set is refused, a longer one is
 * accepted where what this library does not know is zero. A configuration of zeros is a machine.
 */
#include "support_run.h"
#include <auxtap/capture.h>

#include <errno.h>
#include <stdlib.h>

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const size_t wrong[] = {0, 1, sizeof(size_t), SIZE_MAX};

/* ---- configurations ---- */

static struct auxtap_live_opts live_opts = {.size = sizeof(live_opts)};

static int use_run(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	return auxtap_watermark_run(c, NULL, NULL, &r, err);
}

static int use_explore(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	struct auxtap_explore_result r = {.size = sizeof(r)};

	return auxtap_watermark_explore(c, 10, &r, err);
}

static int use_play(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	return auxtap_watermark_play(c, "p", NULL, NULL, &r, err);
}

/* A backend that is not open: it is refused after the configuration was accepted. */
static int use_live(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	struct auxtap_backend be = {.size = sizeof(be)};
	struct auxtap_live_result r = {.size = sizeof(r)};
	int ret = auxtap_watermark_live(c, &be, &live_opts, &r, err);

	return ret == -EINVAL && !strcmp(err->what, "struct auxtap_backend") ? 0 : ret;
}

static int use_fault(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	struct auxtap_watermark_config *copy;
	size_t size = c->size > sizeof(*c) && c->size < 65536 ? c->size : sizeof(*c);
	int ret;

	copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, c, size);
	ret = auxtap_watermark_fault_config(copy, "interrupt-lost", err);
	assert_int_equal(copy->size, c->size);
	if (!ret)
		assert_string_equal(copy->fault, "interrupt-lost");
	else
		assert_memory_equal(copy, c, size);
	free(copy);
	return ret;
}

typedef int use_fn(const struct auxtap_watermark_config *c, struct auxtap_error *err);

static void test_configs(void **state)
{
	static use_fn *const uses[] = {use_run, use_explore, use_play, use_live, use_fault};
	struct {
		struct auxtap_watermark_config c;
		uint64_t newer[2];
	} longer;
	struct auxtap_error err;

	(void)state;
	for (size_t u = 0; u < NR(uses); u++) {
		struct auxtap_watermark_config c = run_config("intel_pt");

		for (size_t i = 0; i < NR(wrong); i++) {
			c.size = wrong[i];
			err = (struct auxtap_error)AUXTAP_ERROR_INIT;
			assert_int_equal(uses[u](&c, &err), -EINVAL);
			assert_string_equal(err.what, "struct auxtap_watermark_config");
			assert_true(*err.hint);
		}
		memset(&longer, 0, sizeof(longer));
		longer.c = run_config("intel_pt");
		longer.c.size = sizeof(longer);
		assert_int_equal(uses[u](&longer.c, &err), 0);
		longer.newer[1] = 1;
		assert_int_equal(uses[u](&longer.c, &err), -E2BIG);
		assert_string_equal(err.what, "struct auxtap_watermark_config");
	}
}

/* Those that the library fills. */
static void test_filled_configs(void **state)
{
	struct {
		struct auxtap_watermark_config c;
		uint64_t newer;
	} longer = {.c = {.size = sizeof(longer)}, .newer = 1};
	struct auxtap_watermark_config same = {.size = sizeof(same)};

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		struct auxtap_watermark_config c = {.size = wrong[i]};

		assert_int_equal(auxtap_watermark_typical(&c, "trbe"), -EINVAL);
		assert_int_equal(auxtap_watermark_sweep_config(&c, "trbe", 4096, 0, 0, 0), -EINVAL);
		assert_int_equal(c.page_size, 0); /* untouched */
	}
	assert_int_equal(auxtap_watermark_typical(&longer.c, "trbe"), 0);
	assert_int_equal(auxtap_watermark_typical(&same, "trbe"), 0);
	assert_int_equal(longer.c.size, sizeof(longer));
	assert_int_equal(longer.newer, 0);
	longer.c.size = sizeof(longer.c);
	assert_memory_equal(&longer.c, &same, sizeof(same));
	longer.c.size = sizeof(longer);
	longer.newer = 1;
	assert_int_equal(auxtap_watermark_sweep_config(&longer.c, "trbe", 16384, 0, 0, 0), 0);
	assert_int_equal(longer.c.size, sizeof(longer));
	assert_int_equal(longer.c.page_size, 16384);
	assert_int_equal(longer.newer, 0);
}

static void same_result(const struct auxtap_watermark_config *c,
			const struct auxtap_watermark_result *expected)
{
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	assert_int_equal(auxtap_watermark_run(c, NULL, NULL, &r, NULL), 0);
	assert_memory_equal(&r, expected, sizeof(r));
}

/* NULL, zeros, and the same written out: one machine. */
static void test_zero_is_the_default(void **state)
{
	const struct auxtap_watermark_config zeros = {.size = sizeof(zeros)};
	struct auxtap_watermark_config written = {.size = sizeof(written)}, other;
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	assert_int_equal(auxtap_watermark_run(NULL, NULL, NULL, &r, NULL), 0);
	run_assert_clean(&zeros, &r);
	assert_true(r.produced >= 16 << 20 && r.nr_records > 100 && !r.record_lost);
	same_result(&zeros, &r);
	assert_int_equal(auxtap_watermark_typical(&written, "intel_pt"), 0);
	written.cpu = 0;
	written.irq_latency_ns = written.irq_jitter_ns = 0;
	written.reader_latency_ns = written.reader_jitter_ns = written.reader_rate = 0;
	written.seed = 0;
	assert_int_equal(written.max_bytes, 16 << 20);
	same_result(&written, &r);
	other = written;
	other.data_pages = 16;
	same_result(&other, &r);
	/* a limit of another kind replaces the default length */
	other = zeros;
	other.max_transactions = 3;
	assert_int_equal(auxtap_watermark_run(&other, NULL, NULL, &r, NULL), 0);
	assert_in_range(r.nr_transactions, 3, 4);
	other.max_transactions = 0;
	other.max_ns = 200000000;
	assert_int_equal(auxtap_watermark_run(&other, NULL, NULL, &r, NULL), 0);
	assert_in_range(r.produced, 20000000 - 16, 20000000 + 16); /* more than 16 MiB */
}

/* A data ring without pages holds no records, and data_pages does not change that. */
static void test_no_data_ring(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)}, with_pages = r;

	(void)state;
	c.no_data_ring = 1;
	run_sim(&c, NULL, &with_pages);
	assert_true(with_pages.record_lost > 0);
	c.data_pages = 0;
	run_sim(&c, NULL, &r);
	assert_memory_equal(&r, &with_pages, sizeof(r));
}

/* ---- results ---- */

static struct auxtap_watermark_config small(void)
{
	struct auxtap_watermark_config c = run_config("intel_pt");

	c.nr_pages = 2;
	c.setup.record_bytes = 2048;
	c.max_bytes = 100000;
	return c;
}

static int fill_run(void *result, struct auxtap_error *err)
{
	const struct auxtap_watermark_config c = small();

	return auxtap_watermark_run(&c, NULL, NULL, result, err);
}

static int fill_play(void *result, struct auxtap_error *err)
{
	const struct auxtap_watermark_config c = small();

	return auxtap_watermark_play(&c, "ppi", NULL, NULL, result, err);
}

static int fill_explore(void *result, struct auxtap_error *err)
{
	const struct auxtap_watermark_config c = small();

	return auxtap_watermark_explore(&c, 100000, result, err);
}

/* Without an open backend: the result of a run that failed. */
static int fill_live(void *result, struct auxtap_error *err)
{
	struct auxtap_backend be = {.size = sizeof(be)};
	const struct auxtap_watermark_config c = small();
	int ret = auxtap_watermark_live(&c, &be, NULL, result, err);

	return ret == -EINVAL && !strcmp(err->what, "struct auxtap_backend") ? 0 : ret;
}

static void test_results(void **state)
{
	static const struct {
		const char *name;
		size_t size;
		int (*fill)(void *result, struct auxtap_error *err);
	} results[] = {
		{"struct auxtap_watermark_result", sizeof(struct auxtap_watermark_result),
		 fill_run},
		{"struct auxtap_watermark_result", sizeof(struct auxtap_watermark_result),
		 fill_play},
		{"struct auxtap_explore_result", sizeof(struct auxtap_explore_result),
		 fill_explore},
		{"struct auxtap_live_result", sizeof(struct auxtap_live_result), fill_live},
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < NR(results); i++) {
		const size_t size = results[i].size, longer_size = size + 16;
		unsigned char *same = calloc(1, size), *longer = malloc(longer_size);

		assert_true(same && longer);
		for (size_t k = 0; k < NR(wrong); k++) {
			memset(same, 0xa5, size);
			memcpy(same, &wrong[k], sizeof(wrong[k]));
			assert_int_equal(results[i].fill(same, &err), -EINVAL);
			assert_string_equal(err.what, results[i].name);
			for (size_t b = sizeof(size_t); b < size; b++)
				assert_int_equal(same[b], 0xa5);
		}
		memcpy(same, &size, sizeof(size));
		assert_int_equal(results[i].fill(same, &err), 0);
		assert_memory_equal(same, &size, sizeof(size));
		memset(longer, 0xa5, longer_size);
		memcpy(longer, &longer_size, sizeof(longer_size));
		assert_int_equal(results[i].fill(longer, &err), 0);
		assert_memory_equal(longer, &longer_size, sizeof(longer_size));
		assert_memory_equal(longer + sizeof(size), same + sizeof(size),
				    size - sizeof(size));
		for (size_t b = size; b < longer_size; b++)
			assert_int_equal(longer[b], 0);
		free(same);
		free(longer);
	}
}

/* ---- what the library allocates ---- */

static void check_event(void *ctx, const struct auxtap_watermark_event *event)
{
	assert_int_equal(event->size, sizeof(*event));
	++*(unsigned int *)ctx;
}

static void test_events(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	unsigned int nr = 0;

	(void)state;
	/* for violations, whose events have a text */
	assert_int_equal(auxtap_watermark_fault_config(&c, "interrupt-lost", NULL), 0);
	assert_int_equal(auxtap_watermark_run(&c, check_event, &nr, &r, NULL), 0);
	assert_true(nr > 100 && r.nr_violations > 0);
	for (int i = 0; i < AUXTAP_NR_INVARIANTS; i++)
		assert_int_equal(auxtap_watermark_get_invariant((enum auxtap_watermark_invariant)i)
					 ->size,
				 sizeof(struct auxtap_invariant_info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_filled_configs),
		cmocka_unit_test(test_zero_is_the_default),
		cmocka_unit_test(test_no_data_ring),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
