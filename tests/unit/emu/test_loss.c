// SPDX-License-Identifier: BSD-2-Clause
/*
 * AUX areas too small for the reader's pace: the recording is the ground truth with whole runs
 * missing, and the counters are exact (written = Σ AUX sizes = final head), on each kernel's set
 * of switches, with interrupts at once, late, and with overshoot.
 */
#include "support_emu_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t whole; /* bytes of the same run without loss */

static void run_whole(uint64_t config)
{
	struct client c = {.config = config};
	char *const argv[] = {(char *)(uintptr_t)(AUXTAP_BIN "/emu_program"),
			      (char *)(uintptr_t) "loops", (char *)(uintptr_t) "6000", NULL};

	if (whole)
		return;
	assert_int_equal(client_trace_program(&c, argv), 42 << 8);
	assert_true(client_verify(&c) > 0);
	assert_int_equal(c.traces[0].stats.nr_dropped, 0);
	whole = c.traces[0].stats.nr_written;
	client_stop(&c);
}

static void lossy(char *const *options, size_t aux_pages, uint64_t config)
{
	struct client c = {.aux_pages = aux_pages,
			   .expect_loss = true,
			   .drain_every_ms = 700,
			   .config = config};
	char *const argv[] = {(char *)(uintptr_t)(AUXTAP_BIN "/emu_program"),
			      (char *)(uintptr_t) "loops", (char *)(uintptr_t) "6000", NULL};
	const struct client_trace *t;
	uint64_t decoded;

	run_whole(config);
	client_start(&c, options);
	assert_int_equal(client_trace_program(&c, argv), 42 << 8);
	decoded = client_verify_lossy(&c);
	t = &c.traces[0];
	printf("%s, %zu pages: %llu of %llu instructions, %llu bytes written, %llu dropped, "
	       "%llu truncations\n",
	       options && *options ? *options : "default", aux_pages, (unsigned long long)decoded,
	       (unsigned long long)t->stats.nr_insns, (unsigned long long)t->stats.nr_written,
	       (unsigned long long)t->stats.nr_dropped, (unsigned long long)t->truncated);
	assert_int_equal(t->stats.nr_written, t->stream_size);
	assert_int_equal(t->stats.nr_written, t->aux_bytes);
	assert_int_equal(t->stats.nr_produced, t->stats.nr_written + t->stats.nr_dropped);
	assert_true(t->truncated > 0);
	/*
	 * including dropped bytes it equals a trace without loss, except for the PSB+ of new
	 * starts
	 */
	assert_true(t->stats.nr_produced > whole * 19 / 20);
	assert_true(t->stats.nr_produced < whole * 21 / 20 + 200 * t->truncated);
	assert_true(decoded > 0 && decoded < t->stats.nr_insns);
	client_stop(&c);
}

/* pt, cyc, tsc, noretcomp, branch: many bytes for few instructions */
#define DENSE (1u << 0 | 1u << 1 | 1u << 10 | 1u << 11 | 1u << 13)

static void test_old_kernel(void **state)
{
	char *const options[] = {(char *)"kernel=6.1.192", NULL};

	(void)state;
	lossy(options, 2, DENSE);
}

static void test_new_kernel(void **state)
{
	char *const options[] = {(char *)"kernel=6.18.44", NULL};

	(void)state;
	lossy(options, 2, DENSE);
}

static void test_late_interrupt(void **state)
{
	char *const options[] = {(char *)"irq-delay=100", (char *)"irq-skid=64", NULL};

	(void)state;
	lossy(options, 2, DENSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_new_kernel),
		cmocka_unit_test(test_late_interrupt),
	};

	if (getenv("TEST"))
		cmocka_set_test_filter(getenv("TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
