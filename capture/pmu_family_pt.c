// SPDX-License-Identifier: BSD-2-Clause
/* Intel PT: the terms that perf sets by default, and its AUXTRACE_INFO. */
#include "pmu_family.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PSB_PERIOD_BYTES 2048u /* psb_period 0; doubles with each step */
#define PSBS_IN_AREA	 8

/*
 * Sets the terms that perf sets for intel_pt: tsc, pt and branch; a PSB period (and MTC period) of
 * 3 if caps allow it, else the next smaller one, else the smallest.
 */
static void pt_defaults(const struct pmu *pmu, struct perf_event_attr *attr, bool emulated)
{
	uint64_t supported, periods;

	pmu_set_default(pmu, attr, "tsc", 1);
	/*
	 * Emulated time advances with the instructions: MTC adds no information, so it is off
	 * unless the user asks for it.
	 */
	if (!emulated && pmu_cap(pmu, "mtc", &supported) && supported &&
	    pmu_cap(pmu, "mtc_periods", &periods) && periods) {
		uint64_t pick = periods & 0xf;

		pmu_set_default(pmu, attr, "mtc", 1);
		pmu_set_default(pmu, attr, "mtc_period",
				pick ? 63u - (unsigned)__builtin_clzll(pick) :
				       (unsigned)__builtin_ctzll(periods));
	}
	if (pmu_cap(pmu, "psb_cyc", &supported) && supported &&
	    pmu_cap(pmu, "psb_periods", &periods) && periods) {
		uint64_t pick = periods & 0xf;

		pmu_set_default(pmu, attr, "psb_period",
				pick ? 63u - (unsigned)__builtin_clzll(pick) :
				       (unsigned)__builtin_ctzll(periods));
	}
	if (pmu_set_default(pmu, attr, "pt", 1))
		pmu_set_default(pmu, attr, "branch", 1);
}

void capture_pt_info(uint64_t *priv, const struct capture_event *ev,
		     const struct auxtap_perf_ops *ops, void *ctx,
		     const struct perf_event_mmap_page *page, bool snapshot, bool per_cpu,
		     unsigned int have_sched_switch)
{
	struct pmu pmu = {.name = ev->pmu, .ops = ops, .ctx = ctx};
	unsigned long long n = 0, d = 0;
	char text[64];

	memset(priv, 0, AUXTAP_PT_INFO_NR * sizeof(*priv));
	priv[AUXTAP_PT_INFO_PMU_TYPE] = ev->attr.type;
	/* One page's values are valid for all rings: they change only at boot. */
	priv[AUXTAP_PT_INFO_TIME_SHIFT] = page->time_shift;
	priv[AUXTAP_PT_INFO_TIME_MULT] = page->time_mult;
	priv[AUXTAP_PT_INFO_TIME_ZERO] = page->time_zero;
	priv[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = page->cap_user_time_zero;
	priv[AUXTAP_PT_INFO_TSC_BIT] = pmu_config_bits(&pmu, "tsc");
	priv[AUXTAP_PT_INFO_NORETCOMP_BIT] = pmu_config_bits(&pmu, "noretcomp");
	priv[AUXTAP_PT_INFO_HAVE_SCHED_SWITCH] = have_sched_switch;
	priv[AUXTAP_PT_INFO_SNAPSHOT_MODE] = snapshot;
	priv[AUXTAP_PT_INFO_PER_CPU_MMAPS] = per_cpu;
	priv[AUXTAP_PT_INFO_MTC_BIT] = pmu_config_bits(&pmu, "mtc");
	priv[AUXTAP_PT_INFO_MTC_FREQ_BITS] = pmu_config_bits(&pmu, "mtc_period");
	/* The kernel shows CPUID 15H as "EBX:EAX". */
	if (pmu_text(&pmu, "tsc_art_ratio", "", text, sizeof(text)) > 0 &&
	    sscanf(text, "%llu:%llu", &n, &d) == 2 && n && d) {
		priv[AUXTAP_PT_INFO_TSC_CTC_N] = n;
		priv[AUXTAP_PT_INFO_TSC_CTC_D] = d;
	}
	priv[AUXTAP_PT_INFO_CYC_BIT] = pmu_config_bits(&pmu, "cyc");
	if (pmu_text(&pmu, "max_nonturbo_ratio", "", text, sizeof(text)) > 0)
		priv[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO] = strtoull(text, NULL, 0);
}

void capture_event_fit(struct capture_event *ev, const struct auxtap_perf_ops *ops, void *ctx,
		       uint64_t area_bytes)
{
	struct pmu pmu = {.name = ev->pmu, .ops = ops, .ctx = ctx};
	struct term_format format;
	uint64_t periods, now;

	if (!ev->aux || strstr(ev->name, "psb_period") ||
	    pmu_term_format(&pmu, "psb_period", &ev->attr, &format) ||
	    !pmu_cap(&pmu, "psb_periods", &periods))
		return;
	now = bits_extract(*format.word, format.mask);
	for (uint64_t lower = now;
	     lower-- > 0 && (PSB_PERIOD_BYTES << now) * PSBS_IN_AREA > area_bytes;) {
		if (periods & (1ull << lower))
			now = lower;
	}
	*format.word &= ~format.mask;
	bits_deposit(format.word, format.mask, now);
}

static int pt_check(const struct pmu *pmu, struct perf_event_attr *attr, struct auxtap_error *err)
{
	int ret = pmu_check_period(pmu, attr, "mtc_period", "mtc_periods", "mtc", err);

	if (!ret)
		ret = pmu_check_period(pmu, attr, "psb_period", "psb_periods", "psb_cyc", err);
	if (!ret)
		ret = pmu_check_period(pmu, attr, "cyc_thresh", "cycle_thresholds", "psb_cyc", err);
	return ret;
}

static size_t pt_info(uint64_t *priv, const struct capture_event *ev, const struct pmu *pmu,
		      const struct capture_rings *rings)
{
	capture_pt_info(priv, ev, pmu->ops, pmu->ctx, rings->page, rings->snapshot, rings->per_cpu,
			rings->sched_switch);
	return AUXTAP_PT_INFO_NR;
}

const struct pmu_family pmu_family_pt = {
	.pmu = "intel_pt",
	.own_term = "noretcomp", /* auxtap's kernel module may have any name */
	.auxtrace = AUXTAP_AUXTRACE_INTEL_PT,
	.machine = EM_X86_64,
	.default_event = "intel_pt//u",
	.defaults = pt_defaults,
	.check = pt_check,
	.max_info = AUXTAP_PT_INFO_NR,
	.info = pt_info,
};
