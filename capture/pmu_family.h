/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A family of trace units: which PMUs belong to it, what its events need, and how a file describes
 * them. To add a family, add a table here; no other code in capture/ compares the names of PMUs.
 */
#ifndef AUXTAP_CAPTURE_PMU_FAMILY_H
#define AUXTAP_CAPTURE_PMU_FAMILY_H

#include "event_parser.h"
#include "pmu_terms.h"

#include <stdint.h>

struct pmu_family {
	const char *pmu; /* the name of its PMU, or the start of the name (numbered) */
	bool numbered;	 /* its PMUs are pmu_0, pmu_1 … */
	/* A PMU with another name belongs to the family if it has this term. NULL: none does. */
	const char *own_term;
	uint32_t auxtrace; /* AUXTAP_AUXTRACE_… */
	int machine;	   /* EM_…: machine of the programs that its emulated unit traces */
	const char *default_event; /* for such programs; NULL: another family has it */
	/* The trace units that an emulated PMU can have, up to NULL. NULL: only one. */
	const char *const *trace_units;
	/* A smaller snapshot may contain no synchronisation point; 0: no minimum. */
	uint64_t min_snapshot;
	/* The file needs a TIME_CONV record before AUXTRACE_INFO: perf's clock conversion. */
	bool time_conv;
	/* perf 6.1 finds per-thread trace only in a file whose records name no CPU. */
	bool threads_without_cpu;
	/* Sets the terms that are on by default. NULL: there are none. */
	void (*defaults)(const struct pmu *pmu, struct perf_event_attr *attr, bool emulated);
	/* Rejects values that the kernel rejects without a reason, or changes. May be NULL. */
	int (*check)(const struct pmu *pmu, struct perf_event_attr *attr, struct auxtap_error *err);
	/* Fills priv[] of AUXTRACE_INFO. Returns the number of words, at most max_info. */
	size_t max_info;
	size_t (*info)(uint64_t *priv, const struct capture_event *ev, const struct pmu *pmu,
		       const struct capture_rings *rings);
};

extern const struct pmu_family pmu_family_pt, pmu_family_spe, pmu_family_etm;

/* The family of a PMU; NULL: it belongs to none. */
const struct pmu_family *pmu_family_of(const struct pmu *pmu);
/* The default event of programs for machine (EM_…). Others, and 0, get the first family's. */
const char *pmu_family_default_event(int machine);

#endif
