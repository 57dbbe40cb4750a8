// SPDX-License-Identifier: BSD-2-Clause
/* The table of the families of trace units. */
#include "pmu_family.h"

#include <string.h>

static const struct pmu_family *const families[] = {
	&pmu_family_pt,
	&pmu_family_etm,
	&pmu_family_spe,
};
#define NR_FAMILIES (sizeof(families) / sizeof(families[0]))

/* Prefixes of the names of other PMUs that have an AUX area. */
static const char *const other_pmus[] = {"intel_bts", "hisi_ptt", "auxtap_"};
#define NR_OTHER_PMUS (sizeof(other_pmus) / sizeof(other_pmus[0]))

/* Compares the first len characters of name. */
static bool matches_name(const struct pmu_family *family, const char *name, size_t len)
{
	size_t own = strlen(family->pmu);

	return (family->numbered ? len >= own : len == own) && !strncmp(name, family->pmu, own);
}

const struct pmu_family *pmu_family_of(const struct pmu *pmu)
{
	struct perf_event_attr attr = {0};
	struct term_format format;

	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (matches_name(families[i], pmu->name, strlen(pmu->name)))
			return families[i];
	}
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (families[i]->own_term &&
		    !pmu_term_format(pmu, families[i]->own_term, &attr, &format))
			return families[i];
	}
	return NULL;
}

const char *pmu_family_default_event(int machine)
{
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (families[i]->machine == machine && families[i]->default_event)
			return families[i]->default_event;
	}
	return families[0]->default_event;
}

static bool has_trace_unit(const struct pmu_family *family, const char *unit)
{
	for (const char *const *u = family->trace_units; u && *u; u++) {
		if (!strcmp(*u, unit))
			return true;
	}
	return false;
}

bool auxtap_event_has_trace_unit(const char *event, const char *unit)
{
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if ((!event || matches_name(families[i], event, strcspn(event, "/"))) &&
		    has_trace_unit(families[i], unit))
			return true;
	}
	return false;
}

bool auxtap_pmu_has_aux(const char *pmu)
{
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (matches_name(families[i], pmu, strlen(pmu)))
			return true;
	}
	for (size_t i = 0; i < NR_OTHER_PMUS; i++) {
		if (!strncmp(pmu, other_pmus[i], strlen(other_pmus[i])))
			return true;
	}
	return false;
}
