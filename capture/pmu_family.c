// SPDX-License-Identifier: BSD-2-Clause
/* The table of families. */
#include "pmu_family.h"

#include <string.h>

static const struct pmu_family *const families[] = {
	&pmu_family_pt,
	&pmu_family_etm,
	&pmu_family_spe,
};
#define NR_FAMILIES (sizeof(families) / sizeof(families[0]))

static bool has_name(const struct pmu_family *family, const char *name)
{
	return family->numbered ? !strncmp(name, family->pmu, strlen(family->pmu)) :
				  !strcmp(name, family->pmu);
}

const struct pmu_family *pmu_family_of(const struct pmu *pmu)
{
	struct perf_event_attr attr = {0};
	struct term_format format;

	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (has_name(families[i], pmu->name))
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
