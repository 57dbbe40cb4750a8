/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A family of trace units as capture knows it: which PMUs are its own, what its events need, how a
 * file describes it. A new family is a new row; nothing else in capture compares its name.
 */
#ifndef AUXTAP_CAPTURE_PMU_FAMILY_H
#define AUXTAP_CAPTURE_PMU_FAMILY_H

#include "event_parser.h"
#include "pmu_terms.h"

#include <stdint.h>

struct pmu_family {
	const char *pmu; /* the name of its PMU */
	bool numbered;	 /* its PMUs are pmu_0, pmu_1 … */
	/* A PMU of any other name that has this term is of the family, too. NULL: none is. */
	const char *own_term;
	uint32_t auxtrace;	   /* AUXTAP_AUXTRACE_… */
	int machine;		   /* EM_…: programs that its emulated unit traces */
	const char *default_event; /* of such programs; NULL: of another family */
	/* The trace units that an emulated PMU can have, up to NULL; NULL: there is no choice. */
	const char *const *trace_units;
	/* A snapshot of fewer bytes may contain no place where decoding can begin; 0: any may do.
	 */
	uint64_t least_snapshot;
	/* perf takes the clock of its times from a record before AUXTRACE_INFO. */
	bool time_conv;
	/* perf 6.1 finds the trace of threads only in a file whose records name no CPU. */
	bool threads_without_cpu;
	/* Terms that are set unless the user says otherwise. NULL: none. */
	void (*defaults)(const struct pmu *pmu, struct perf_event_attr *attr, bool emulated);
	/* Refuses what the kernel would refuse without a reason, or change. NULL: nothing. */
	int (*check)(const struct pmu *pmu, struct perf_event_attr *attr, struct auxtap_error *err);
	/* Its part of AUXTRACE_INFO: the number of words, at most max_info. */
	size_t max_info;
	size_t (*info)(uint64_t *priv, const struct capture_event *ev, const struct pmu *pmu,
		       const struct capture_rings *rings);
};

extern const struct pmu_family pmu_family_pt, pmu_family_spe, pmu_family_etm;

/* The family of a PMU; NULL: of none. */
const struct pmu_family *pmu_family_of(const struct pmu *pmu);
/* The event of a program for this machine (EM_…); of others and of 0 that of the first family. */
const char *pmu_family_default_event(int machine);

#endif
