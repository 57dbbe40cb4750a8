// SPDX-License-Identifier: BSD-2-Clause
/* Arm SPE: the sampling interval. */
#include "pmu_family.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define SPE_INTERVAL_STEP 256u /* PMSIRR_EL1.INTERVAL lacks the low 8 bits */
#define SPE_INTERVAL_MAX  0xffffff00u

/* Enables timestamps. The kernel's smallest interval costs much and shows little more. */
static void spe_defaults(const struct pmu *pmu, struct perf_event_attr *attr, bool emulated)
{
	(void)emulated;
	pmu_set_default(pmu, attr, "ts_enable", 1);
	attr->sample_period = 4096;
}

/*
 * The driver silently raises an interval that is too small and rounds others down. The file would
 * then contain a period that was not used.
 */
static int spe_check(const struct pmu *pmu, struct perf_event_attr *attr, struct auxtap_error *err)
{
	unsigned long long period = attr->sample_period, min_interval = SPE_INTERVAL_STEP, below;
	char text[64];

	if (pmu_text(pmu, "caps/", "min_interval", text, sizeof(text)) > 0 &&
	    strtoull(text, NULL, 10) > min_interval)
		min_interval = strtoull(text, NULL, 10); /* decimal, unlike other caps */
	if (period >= min_interval && period <= SPE_INTERVAL_MAX && !(period % SPE_INTERVAL_STEP))
		return 0;
	auxtap_error_set(err, -EINVAL, "period", "%s cannot sample every %llu operations",
			 pmu->name, period);
	below = period / SPE_INTERVAL_STEP * SPE_INTERVAL_STEP;
	if (period < min_interval)
		auxtap_error_hint(err, "its least period is %llu", min_interval);
	else if (period > SPE_INTERVAL_MAX)
		auxtap_error_hint(err, "its largest period is %u", SPE_INTERVAL_MAX);
	else
		auxtap_error_hint(err, "use a multiple of %u: %llu or %llu", SPE_INTERVAL_STEP,
				  below, below + SPE_INTERVAL_STEP);
	return -EINVAL;
}

/* As perf writes it: PMU type, PER_CPU_MMAPS. */
static size_t spe_info(uint64_t *priv, const struct capture_event *ev, const struct pmu *pmu,
		       const struct capture_rings *rings)
{
	(void)pmu;
	priv[0] = ev->attr.type;
	priv[1] = rings->per_cpu;
	return 2;
}

const struct pmu_family pmu_family_spe = {
	.pmu = "arm_spe",
	.numbered = true,
	.auxtrace = AUXTAP_AUXTRACE_ARM_SPE,
	.machine = EM_AARCH64,
	.time_conv = true,
	.defaults = spe_defaults,
	.check = spe_check,
	.max_info = 2,
	.info = spe_info,
};
