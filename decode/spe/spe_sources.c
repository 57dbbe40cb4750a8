// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of a sample's data source, a number whose meaning depends on the CPU. These are the public
 * tables: Arm's Neoverse and Cortex (Technical Reference Manuals, "Data source"), AmpereOne,
 * HiSilicon's HIP.
 */
#include "spe_sources.h"
#include "perfdata/capture_lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FEATURE_CPUID 9

/* MIDR_EL1 without variant, architecture and revision. */
#define MODEL(implementer, part) ((uint32_t)(implementer) << 24 | (uint32_t)(part) << 4)
#define MODEL_MASK		 0xff00fff0u

/* The emulated SPE unit uses the data sources of Neoverse N1. */
#define EMULATED_MIDR 0x410fd0c0u

struct source {
	uint16_t number;
	const char *name;
};

/* clang-format off */
static const struct source arm[] = {
	{0x0, "L1 data cache"},	   {0x8, "L2 cache"},	  {0x9, "peer core"},
	{0xa, "local cluster"},	   {0xb, "system cache"}, {0xc, "peer cluster"},
	{0xd, "remote socket"},	   {0xe, "DRAM"},	  {0, NULL},
};
/* clang-format on */
/* clang-format off */
static const struct source ampereone[] = {
	{0x0, "local chip's cache or device"}, {0x3, "system cache"}, {0x5, "remote chip's cache"},
	{0x7, "DRAM"},			       {0x8, "L1 data cache"}, {0x9, "L2 cache"},
	{0, NULL},
};
/* clang-format on */
/* clang-format off */
static const struct source hip[] = {
	{0, "peer core"},	{1, "peer core, modified"},	{2, "L3 cache"},
	{3, "L3 cache, modified"}, {4, "peer cluster"},		{5, "peer cluster, modified"},
	{6, "remote socket"},	{7, "remote socket, modified"}, {8, "local memory"},
	{9, "remote memory"},	{13, "device, not cached"},	{16, "L2 cache"},
	{17, "L2 cache, modified"}, {18, "L1 data cache"},	{0, NULL},
};
/* clang-format on */

/* clang-format off */
static const struct {
	uint32_t model;
	const struct source *sources;
} models[] = {
	{MODEL(0x41, 0xd0c), arm}, /* Neoverse N1 */
	{MODEL(0x41, 0xd40), arm}, /* Neoverse V1 */
	{MODEL(0x41, 0xd49), arm}, /* Neoverse N2 */
	{MODEL(0x41, 0xd4f), arm}, /* Neoverse V2 */
	{MODEL(0x41, 0xd4c), arm}, /* Cortex-X1C */
	{MODEL(0x41, 0xd4e), arm}, /* Cortex-X3 */
	{MODEL(0x41, 0xd81), arm}, /* Cortex-A720 */
	{MODEL(0x41, 0xd85), arm}, /* Cortex-X925 */
	{MODEL(0x41, 0xd87), arm}, /* Cortex-A725 */
	{MODEL(0x6d, 0xd49), arm}, /* Azure Cobalt 100 */
	{MODEL(0xc0, 0xac4), ampereone}, /* AmpereOne, second generation */
	{MODEL(0x48, 0xd06), hip}, /* HIP12 */
};
/* clang-format on */

const char *auxtap_spe_source_name(uint64_t midr, uint64_t source)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		if ((midr & MODEL_MASK) != models[i].model)
			continue;
		for (const struct source *s = models[i].sources; s->name; s++)
			if (s->number == source)
				return s->name;
	}
	return NULL;
}

/*
 * AUXTRACE_INFO since version 2: version, size of this header in words, PMU type, number of CPUs;
 * then for each CPU a magic number, the CPU number, the number of words that follow, and these, of
 * which the first is MIDR.
 */
static bool midr_of_info(const uint64_t *info, size_t nr, int cpu, uint64_t *midr)
{
	size_t at;

	if (nr < 4 || info[0] < 2 || info[1] < 4 || info[1] > nr)
		return false;
	at = (size_t)info[1];
	for (uint64_t i = 0; i < info[3] && nr - at > 3; i++) {
		uint64_t nr_params = info[at + 2];

		if (!nr_params || nr_params > nr - at - 3)
			return false;
		if (cpu < 0 || info[at + 1] == (uint64_t)cpu) {
			*midr = info[at + 3];
			return true;
		}
		at += 3 + (size_t)nr_params;
	}
	return false;
}

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	if (type != AUXTAP_METADATA_CAPTURE)
		return 0;
	*(bool *)ctx = capture_lines_is_emulated(data, size);
	return 1;
}

bool spe_is_emulated(struct auxtap_perfdata *pd)
{
	bool emulated = false;

	return auxtap_perfdata_metadata(pd, on_metadata, &emulated, NULL) >= 0 && emulated;
}

uint64_t spe_midr(struct auxtap_perfdata *pd, int cpu)
{
	const uint64_t *info;
	const void *data;
	uint32_t family;
	uint64_t midr;
	char text[64];
	size_t nr, size;

	if (!auxtap_perfdata_auxtrace_info(pd, &family, &info, &nr) &&
	    midr_of_info(info, nr, cpu, &midr))
		return midr;
	if (spe_is_emulated(pd))
		return EMULATED_MIDR;
	/* the machine's HEADER_CPUID: a length (u32), then "0x00000000410fd0c0" */
	if (auxtap_perfdata_feature(pd, FEATURE_CPUID, &data, &size) || size <= 4)
		return 0;
	size -= 4;
	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, (const char *)data + 4, size);
	text[size] = '\0';
	return strncmp(text, "0x", 2) ? 0 : strtoull(text, NULL, 16);
}
