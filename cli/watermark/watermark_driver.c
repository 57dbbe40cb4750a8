// SPDX-License-Identifier: BSD-2-Clause
/* See watermark_driver.h. */
#include "watermark_driver.h"

#include <auxtap/watermark.h>
#include <string.h>

static const struct wm_driver drivers[] = {
	{
		.name = "intel_pt",
		.event = "intel_pt//u",
		.stop = "STOP",
		.perf_parts = 4,
		.contiguous = true,
		.stop_bit = "Stopped",
		.no_stop_bit =
			"stopped at STOP, and the status register does not say so (Stopped is 0)",
	},
	{
		.name = "arm_spe",
		.event = "arm_spe_0//u",
		.stops = true,
		.stop = "limit",
		.has_max_record = true,
		.has_align = true,
		.perf_parts = 2,
	},
	{
		.name = "trbe",
		.event = "cs_etm//u",
		.stops = true,
		.stop = "limit",
		.has_align = true,
		.perf_parts = 2,
		/* with the other erratum the unit may never trace (J2) */
		.searched_errata = AUXTAP_ERRATUM_OVERWRITE,
		.stop_bit = "WRAP",
		.no_stop_bit =
			"filled up to the limit, and the status register does not say so (WRAP is 0)",
		.wraps = true,
	},
};

const struct wm_driver *wm_driver(const char *name)
{
	const struct wm_driver *d = drivers;

	while (d < drivers + sizeof(drivers) / sizeof(drivers[0]) - 1 && strcmp(d->name, name) != 0)
		d++;
	return d;
}
