// SPDX-License-Identifier: BSD-2-Clause
/*
 * The auxtap command with faults in some machines of the sweep, which has none; with an argument
 * AUXTAP_TEST_INVALID in the environment, one machine cannot be run at all. Linked with --wrap, for
 * tests/cli/test_sweep_jobs.sh.
 */
#include <auxtap/watermark.h>
#include <stdlib.h>

typedef void on_event_fn(void *ctx, const struct auxtap_watermark_event *event);

int __real_auxtap_watermark_run(const struct auxtap_watermark_config *config, on_event_fn *on_event,
				void *ctx, struct auxtap_watermark_result *result,
				struct auxtap_error *err);
int __wrap_auxtap_watermark_run(const struct auxtap_watermark_config *config, on_event_fn *on_event,
				void *ctx, struct auxtap_watermark_result *result,
				struct auxtap_error *err);

int __wrap_auxtap_watermark_run(const struct auxtap_watermark_config *config, on_event_fn *on_event,
				void *ctx, struct auxtap_watermark_result *result,
				struct auxtap_error *err)
{
	struct auxtap_watermark_config c = *config;

	if (c.seed % 3 == 0)
		c.fault = "interrupt-lost";
	if (getenv("AUXTAP_TEST_INVALID") && c.nr_pages >= 64)
		c.cpu = (int)c.nr_pages;
	return __real_auxtap_watermark_run(&c, on_event, ctx, result, err);
}
