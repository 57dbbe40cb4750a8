// SPDX-License-Identifier: BSD-2-Clause
/* See support_run.h. */
#include "support_run.h"

#include <stdlib.h>

const char *const run_drivers[] = {"intel_pt", "arm_spe", "trbe", NULL};

struct auxtap_watermark_config run_config(const char *driver)
{
	struct auxtap_watermark_config c = {.size = sizeof(c)};

	auxtap_watermark_typical(&c, driver);
	c.max_bytes = 1 << 20;
	return c;
}

static void keep(void *ctx, const struct auxtap_watermark_event *event)
{
	struct run_events *events = ctx;

	if (events->nr == events->max) {
		events->max = events->max ? 2 * events->max : 1024;
		events->list = realloc(events->list, events->max * sizeof(*events->list));
		assert_non_null(events->list);
	}
	events->list[events->nr] = *event;
	events->list[events->nr++].text = NULL;
}

void run_sim(const struct auxtap_watermark_config *config, struct run_events *events,
	     struct auxtap_watermark_result *result)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret = auxtap_watermark_run(config, events ? keep : NULL, events, result, &err);

	if (ret)
		fail_msg("%s: %s", err.what, err.why);
}

uint64_t run_count(const struct run_events *events, enum auxtap_watermark_what what)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += events->list[i].what == what;
	return nr;
}

uint64_t run_sum(const struct run_events *events, enum auxtap_watermark_what what,
		 unsigned int field)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < events->nr; i++) {
		const struct auxtap_watermark_event *e = &events->list[i];

		if (e->what == what)
			sum += field == 0 ? e->a : field == 1 ? e->b : e->c;
	}
	return sum;
}

void run_free(struct run_events *events)
{
	free(events->list);
	memset(events, 0, sizeof(*events));
}

static void print_violations(const struct auxtap_watermark_config *config,
			     const struct auxtap_watermark_result *result)
{
	print_message("%s, kernel %s, fault %s: %llu violations\n", config->driver, config->kernel,
		      config->fault ? config->fault : "none", (LL)result->nr_violations);
	for (uint64_t i = 0; i < result->nr_kept; i++)
		print_message("  %s: %s\n",
			      auxtap_watermark_get_invariant(result->violations[i].invariant)->name,
			      result->violations[i].text);
}

void run_assert_clean(const struct auxtap_watermark_config *config,
		      const struct auxtap_watermark_result *result)
{
	if (result->nr_violations || result->refused)
		print_violations(config, result);
	assert_false(result->refused);
	assert_int_equal(result->nr_violations, 0);
	assert_int_equal(auxtap_watermark_get_verdict(result), AUXTAP_WM_PASS);
}

void run_assert_violated(const struct auxtap_watermark_config *config,
			 const struct auxtap_watermark_result *result,
			 enum auxtap_watermark_invariant invariant)
{
	if (!result->by_invariant[invariant]) {
		print_violations(config, result);
		fail_msg("%s is not violated", auxtap_watermark_get_invariant(invariant)->name);
	}
}
