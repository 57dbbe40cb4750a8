// SPDX-License-Identifier: BSD-2-Clause
/* CoreSight: AUXTRACE_INFO with the registers of each CPU's trace unit. */
#include "pmu_family.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

/* Translates perf's bits of attr.config to those of TRCCONFIGR. */
static uint64_t etm_configr(uint64_t config)
{
	static const uint8_t bits[][2] = {{8, 3},   {12, 4},  {14, 6}, {15, 7},
					  {15, 15}, {28, 11}, {29, 12}};
	uint64_t configr = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		configr |= (config >> bits[i][0] & 1) << bits[i][1];
	return configr;
}

size_t capture_etm_info(uint64_t *priv, const struct capture_event *ev,
			const struct auxtap_perf_ops *ops, void *ctx, bool snapshot)
{
	static const char *const regs[] = {"trcidr/trcidr0",	 "trcidr/trcidr1",
					   "trcidr/trcidr2",	 "trcidr/trcidr8",
					   "mgmt/trcauthstatus", "mgmt/trcdevarch"};
	struct pmu pmu = {.name = ev->pmu, .ops = ops, .ctx = ctx};
	size_t at = 3;
	uint32_t nr_cpus = 0;

	for (unsigned int cpu = 0; cpu < 512; cpu++) {
		uint64_t *v = priv + at;
		char name[64], text[64];
		size_t i;

		for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
			snprintf(name, sizeof(name), "cpu%u/%s", cpu, regs[i]);
			if (pmu_text(&pmu, name, "", text, sizeof(text)) <= 0)
				break;
			v[5 + i] = strtoull(text, NULL, 16);
		}
		if (i < 5)
			continue; /* no such CPU */
		/* TRCDEVARCH tells an ETE; the magic numbers are perf's */
		if (i == 6 && (v[10] & 0xffff) == 0x5a13) {
			v[0] = 0x5050505050505050ull;
			v[2] = 9;
		} else {
			v[0] = 0x4040404040404040ull;
			v[2] = 8;
		}
		/* TRFCR.TS: what the timestamps count; -1: older kernels have no such file */
		snprintf(name, sizeof(name), "cpu%u/ts_source", cpu);
		v[2 + v[2]] = pmu_text(&pmu, name, "", text, sizeof(text)) > 0 ?
				      (uint64_t)strtoll(text, NULL, 10) :
				      UINT64_MAX;
		v[1] = cpu;
		v[3] = etm_configr(ev->attr.config);
		v[4] = (0x10 + 2 * cpu) &
		       0x7f; /* the trace ID, unless the kernel reports another */
		at += 3 + v[2];
		nr_cpus++;
	}
	priv[0] = 1;
	priv[1] = (uint64_t)ev->attr.type << 32 | nr_cpus;
	priv[2] = snapshot;
	return at;
}

static size_t etm_info(uint64_t *priv, const struct capture_event *ev, const struct pmu *pmu,
		       const struct capture_rings *rings)
{
	return capture_etm_info(priv, ev, pmu->ops, pmu->ctx, rings->snapshot);
}

static const char *const trace_units[] = {"ete", "etmv4", NULL};

const struct pmu_family pmu_family_etm = {
	.pmu = "cs_etm",
	.auxtrace = AUXTAP_AUXTRACE_CS_ETM,
	.machine = EM_AARCH64,
	.default_event = "cs_etm//u",
	.trace_units = trace_units,
	/* Kernels make an ETM synchronise every 4096 bytes, without a term for it: take twice. */
	.min_snapshot = 8192,
	.time_conv = true,
	.threads_without_cpu = true,
	.max_info = CAPTURE_ETM_INFO_MAX,
	.info = etm_info,
};
