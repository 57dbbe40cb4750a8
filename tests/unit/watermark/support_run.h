/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the simulator through its public API, and keeps the events of a run. */
#ifndef TEST_WATERMARK_SUPPORT_RUN_H
#define TEST_WATERMARK_SUPPORT_RUN_H

#include <auxtap/watermark.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define LL unsigned long long

extern const char *const run_drivers[]; /* terminated by NULL */

struct run_events {
	struct auxtap_watermark_event *list; /* without their texts */
	size_t nr, max;
};

/* The defaults of a driver, with little trace. */
struct auxtap_watermark_config run_config(const char *driver);
/* Fails the test if the run fails; events may be NULL. */
void run_sim(const struct auxtap_watermark_config *config, struct run_events *events,
	     struct auxtap_watermark_result *result);
/* How many events of a kind; the sum of their a, b or c (0, 1, 2) */
uint64_t run_count(const struct run_events *events, enum auxtap_watermark_what what);
uint64_t run_sum(const struct run_events *events, enum auxtap_watermark_what what,
		 unsigned int field);
void run_free(struct run_events *events);
/* Prints the result's violations if there are any, and fails. */
void run_assert_clean(const struct auxtap_watermark_config *config,
		      const struct auxtap_watermark_result *result);
/* This invariant is violated; prints those that are instead. */
void run_assert_violated(const struct auxtap_watermark_config *config,
			 const struct auxtap_watermark_result *result,
			 enum auxtap_watermark_invariant invariant);

#endif
