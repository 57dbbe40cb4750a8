// SPDX-License-Identifier: BSD-2-Clause
/* The families of trace: what the rules demand of each, as a table. */
#include "audit_private.h"

#include <string.h>

static const struct audit_family families[] = {
	[0] =
		{
			.name = "unknown",
			.page_size = 4096,
			.formats = true,
		},
	[AUXTAP_AUXTRACE_INTEL_PT] =
		{
			.name = "intel_pt",
			.page_size = 4096,
			.fills_ring = true,
			.stops_at_page = true,
			.interrupts_at_pages = true,
		},
	[AUXTAP_AUXTRACE_INTEL_BTS] =
		{
			.name = "intel_bts",
			.page_size = 4096,
		},
	[AUXTAP_AUXTRACE_CS_ETM] =
		{
			.name = "cs_etm",
			.page_size = 65536,
			.max_skip_pages = 4, /* J2: with the erratum a page more, in a loop */
			.pad = 0x70,
			.formats = true,
			.limit_format = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW,
			.collides_at_limit = true,
		},
	[AUXTAP_AUXTRACE_ARM_SPE] =
		{
			.name = "arm_spe",
			.page_size = 65536,
			.max_skip_pages = 2, /* I5, I6: what is left of a page, and a second time */
			.pad = 0x00,
			.limit = true,
			.silent_loss = true,
		},
};
#define NR_FAMILIES (sizeof(families) / sizeof(families[0]))

/* Any other type: no formats of it are known. */
static const struct audit_family other = {.name = "unknown", .page_size = 4096};

const struct audit_family *audit_family_of(uint64_t type)
{
	return type < NR_FAMILIES ? &families[type] : &other;
}

const struct audit_family *audit_family_named(const char *name)
{
	for (size_t i = 1; i < NR_FAMILIES; i++)
		if (!strcmp(families[i].name, name))
			return &families[i];
	return &families[0];
}
