// SPDX-License-Identifier: BSD-2-Clause
/* A table of the families of trace units, with what docs/kernel-rules.md says about each. */
#include "audit_private.h"

#include <string.h>

static const struct audit_family families[] = {
	[0] =
		{
			.name = "unknown",
			.page_size = 4096,
			.has_formats = true,
		},
	[AUXTAP_AUXTRACE_INTEL_PT] =
		{
			.name = "intel_pt",
			.page_size = 4096,
			.fills_ring = true,
			.stops_at_page = true,
			.interrupts_at_topa_entries = true,
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
			.max_skip_pages =
				4, /* J2: an erratum costs a page more; retried in a loop */
			.pad = 0x70,
			.has_formats = true,
			.limit_format = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW,
			.collides_at_limit = true,
		},
	[AUXTAP_AUXTRACE_ARM_SPE] =
		{
			.name = "arm_spe",
			.page_size = 65536,
			.max_skip_pages = 2, /* I5, I6: the rest of a page; retried once */
			.pad = 0x00,
			.stops_at_limit = true,
			.silent_loss = true,
		},
};
#define NR_FAMILIES (sizeof(families) / sizeof(families[0]))

/* Any other type: its records have no known format. */
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
