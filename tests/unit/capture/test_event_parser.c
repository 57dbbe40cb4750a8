// SPDX-License-Identifier: BSD-2-Clause
/* The event syntax against a PMU with given formats and caps: bits, defaults, refusals. */
#include "capture/pmu_family.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct entry {
	const char *name, *text;
};

static const struct entry full_pmu[] = {
	{"type", "10"},
	{"format/pt", "config:0"},
	{"format/cyc", "config:1"},
	{"format/mtc", "config:9"},
	{"format/tsc", "config:10"},
	{"format/noretcomp", "config:11"},
	{"format/branch", "config:13"},
	{"format/mtc_period", "config:14-17"},
	{"format/cyc_thresh", "config:19-22"},
	{"format/psb_period", "config:24-27"},
	{"format/odd", "config1:0-1,8"},
	{"caps/mtc", "1"},
	{"caps/mtc_periods", "249"},
	{"caps/psb_cyc", "1"},
	{"caps/psb_periods", "3f"},
	{"caps/cycle_thresholds", "3f"},
	{"tsc_art_ratio", "168:2"},
	{"max_nonturbo_ratio", "36"},
	{NULL, NULL},
};

static const struct entry plain_pmu[] = {
	{"type", "11"},
	{"format/tsc", "config:10"},
	{"format/noretcomp", "config:11"},
	{"format/bad", "config:70"},
	{NULL, NULL},
};

/* An ETE, an ETMv4 (CPU 2; 1 has none), a kernel that reports the first one's timestamp source. */
static const struct entry etm_pmu[] = {
	{"type", "8"},
	{"format/cycacc", "config:12"},
	{"format/contextid2", "config:15"},
	{"format/timestamp", "config:28"},
	{"sinks/", "tmc_etf0\ntmc_etr0"},
	{"sinks/tmc_etr0", "0x8a4a5e3c"},
	{"cpu0/trcidr/trcidr0", "0x28000ea1"},
	{"cpu0/trcidr/trcidr1", "0x4100fff0"},
	{"cpu0/trcidr/trcidr2", "0x1088"},
	{"cpu0/trcidr/trcidr8", "0x0"},
	{"cpu0/mgmt/trcauthstatus", "0xcf"},
	{"cpu0/mgmt/trcdevarch", "0x47705a13"},
	{"cpu0/ts_source", "1"},
	{"cpu2/trcidr/trcidr0", "0x28000ea2"},
	{"cpu2/trcidr/trcidr1", "0x4100f430"},
	{"cpu2/trcidr/trcidr2", "0x488"},
	{"cpu2/trcidr/trcidr8", "0x4"},
	{"cpu2/mgmt/trcauthstatus", "0xcc"},
	{NULL, NULL},
};

static ssize_t fake_attr(void *ctx, const char *pmu, const char *attr, char *buf, size_t size)
{
	static const char *const pmus[] = {"intel_pt", "cs_etm", "my_pt", "intel_bts", "arm_spe_1"};
	size_t i;

	for (i = 0; i < sizeof(pmus) / sizeof(pmus[0]) && strcmp(pmu, pmus[i]);)
		i++;
	if (i == sizeof(pmus) / sizeof(pmus[0]))
		return -ENOENT;
	for (const struct entry *e = ctx; e->name; e++) {
		if (!strcmp(e->name, attr))
			return snprintf(buf, size, "%s", e->text);
	}
	return -ENOENT;
}

static const struct auxtap_perf_ops ops = {.size = sizeof(ops),
					   .name = "fake",
					   .pmu_attr = fake_attr};

#define TSC	 (1ull << 10)
#define PT	 (1ull << 0)
#define BRANCH	 (1ull << 13)
#define MTC	 (1ull << 9)
#define DEFAULTS (TSC | PT | BRANCH | MTC | 3ull << 14 | 3ull << 24)

static void test_good(void **state)
{
	static const struct {
		const char *spec;
		uint64_t config, config1;
		bool exclude_kernel, exclude_user;
	} cases[] = {
		{"intel_pt//u", DEFAULTS, 0, true, false},
		{"intel_pt//", DEFAULTS, 0, false, false},
		{"intel_pt//k", DEFAULTS, 0, false, true},
		{"intel_pt//uk", DEFAULTS, 0, false, false},
		{"intel_pt/cyc/u", DEFAULTS | 2, 0, true, false},
		{"intel_pt/cyc=1,noretcomp/u", DEFAULTS | 2 | 1 << 11, 0, true, false},
		{"intel_pt/mtc=0,mtc_period=0/u", DEFAULTS & ~(MTC | 15ull << 14), 0, true, false},
		{"intel_pt/psb_period=0x5/u", (DEFAULTS & ~(15ull << 24)) | 5ull << 24, 0, true,
		 false},
		{"intel_pt/odd=7/u", DEFAULTS, 0x103, true, false},
		{"intel_pt/config=0x400/u", TSC, 0, true, false},
		{"intel_pt", DEFAULTS, 0, false, false},
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct capture_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = capture_event_parse(&ev, cases[i].spec, &ops, (void *)(uintptr_t)full_pmu,
					      false, &err);

		if (ret)
			fail_msg("%s: %s: %s", cases[i].spec, err.what, err.why);
		if (ev.attr.config != cases[i].config)
			fail_msg("%s: config %llx, not %llx", cases[i].spec,
				 (unsigned long long)ev.attr.config,
				 (unsigned long long)cases[i].config);
		assert_int_equal(ev.attr.config1, cases[i].config1);
		assert_int_equal(ev.attr.exclude_kernel, cases[i].exclude_kernel);
		assert_int_equal(ev.attr.exclude_user, cases[i].exclude_user);
		assert_int_equal(ev.attr.type, 10);
		assert_true(ev.aux);
	}
	assert_int_equal(capture_event_parse(&ev, "intel_pt/name=mine/u", &ops,
					     (void *)(uintptr_t)full_pmu, false, &err),
			 0);
	assert_string_equal(ev.name, "mine");
	/* A unit without a capability refuses terms that need it. */
	assert_int_equal(capture_event_parse(&ev, "intel_pt//u", &ops, (void *)(uintptr_t)plain_pmu,
					     false, &err),
			 0);
	assert_int_equal(ev.attr.config, TSC);
	/* Emulated: user mode only, with or without the u modifier. */
	assert_int_equal(capture_event_parse(&ev, "intel_pt//", &ops, (void *)(uintptr_t)full_pmu,
					     true, &err),
			 0);
	assert_int_equal(ev.attr.exclude_kernel, 1);
	assert_int_equal(ev.attr.config, DEFAULTS & ~(MTC | 15ull << 14));
	assert_int_equal(capture_event_parse(&ev, "dummy:u", &ops, (void *)(uintptr_t)full_pmu,
					     false, &err),
			 0);
	assert_int_equal(ev.attr.type, PERF_TYPE_SOFTWARE);
	assert_false(ev.aux);
}

static void test_refused(void **state)
{
	static const struct {
		const char *spec, *what, *hint;
		int code;
		bool emulated;
	} cases[] = {
		{"intel_pt/foo/u", "foo", "cyc", -EINVAL, false},
		{"intel_pt/cyc=2/u", "cyc", NULL, -EINVAL, false},
		{"intel_pt/cyc=x/u", "cyc", NULL, -EINVAL, false},
		{"intel_pt/cyc=/u", "cyc", NULL, -EINVAL, false},
		{"intel_pt/cyc=-1/u", "cyc", NULL, -EINVAL, false},
		{"intel_pt/cyc=+1/u", "cyc", NULL, -EINVAL, false},
		{"intel_pt/config=0x10000000000000000/u", "config", NULL, -EINVAL, false},
		{"intel_pt/mtc_period=1/u", "mtc_period", "0,3,6,9", -EINVAL, false},
		{"intel_pt/psb_period=16/u", "psb_period", NULL, -EINVAL, false},
		{"intel_pt/psb_period=7/u", "psb_period", "0,1,2,3,4,5", -EINVAL, false},
		{"intel_pt/cyc", "intel_pt/cyc", "modifiers", -EINVAL, false},
		{"intel_pt//z", "z", "u, k", -EINVAL, false},
		{"intel_pt//k", "k", NULL, -EINVAL, true},
		{"arm_spe//u", "arm_spe//u", "list", -ENODEV, false},
		{"//u", "//u", NULL, -EINVAL, false},
		{"", "", NULL, -EINVAL, false},
	};
	char longspec[600];
	struct capture_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		int ret = capture_event_parse(&ev, cases[i].spec, &ops, (void *)(uintptr_t)full_pmu,
					      cases[i].emulated, &err);

		if (ret != cases[i].code)
			fail_msg("'%s' gives %d", cases[i].spec, ret);
		assert_string_equal(err.what, cases[i].what);
		assert_true(err.why[0]);
		if (cases[i].hint && !strstr(err.hint, cases[i].hint))
			fail_msg("'%s': hint '%s'", cases[i].spec, err.hint);
	}
	memset(longspec, 'a', sizeof(longspec));
	longspec[sizeof(longspec) - 1] = '\0';
	assert_int_equal(capture_event_parse(&ev, longspec, &ops, (void *)(uintptr_t)full_pmu,
					     false, NULL),
			 -EINVAL);
	assert_int_equal(capture_event_parse(&ev, "intel_pt/bad/u", &ops,
					     (void *)(uintptr_t)plain_pmu, false, NULL),
			 -EINVAL);
}

static void test_info(void **state)
{
	struct perf_event_mmap_page page = {.time_shift = 7,
					    .time_mult = 99,
					    .time_zero = 12345,
					    .cap_user_time_zero = 1};
	uint64_t priv[AUXTAP_PT_INFO_NR];
	struct capture_event ev;

	(void)state;
	assert_int_equal(capture_event_parse(&ev, "intel_pt//u", &ops, (void *)(uintptr_t)full_pmu,
					     true, NULL),
			 0);
	capture_pt_info(priv, &ev, &ops, (void *)(uintptr_t)full_pmu, &page, true, false, 0);
	assert_int_equal(priv[AUXTAP_PT_INFO_PMU_TYPE], 10);
	assert_int_equal(priv[AUXTAP_PT_INFO_TIME_SHIFT], 7);
	assert_int_equal(priv[AUXTAP_PT_INFO_TIME_MULT], 99);
	assert_int_equal(priv[AUXTAP_PT_INFO_TIME_ZERO], 12345);
	assert_int_equal(priv[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO], 1);
	assert_int_equal(priv[AUXTAP_PT_INFO_TSC_BIT], 1 << 10);
	assert_int_equal(priv[AUXTAP_PT_INFO_NORETCOMP_BIT], 1 << 11);
	assert_int_equal(priv[AUXTAP_PT_INFO_SNAPSHOT_MODE], 1);
	assert_int_equal(priv[AUXTAP_PT_INFO_PER_CPU_MMAPS], 0);
	assert_int_equal(priv[AUXTAP_PT_INFO_MTC_FREQ_BITS], 0x3c000);
	assert_int_equal(priv[AUXTAP_PT_INFO_TSC_CTC_N], 168);
	assert_int_equal(priv[AUXTAP_PT_INFO_TSC_CTC_D], 2);
	assert_int_equal(priv[AUXTAP_PT_INFO_CYC_BIT], 2);
	assert_int_equal(priv[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO], 36);
}

static void test_coresight(void **state)
{
	static const uint64_t expected[] = {
		1,	8ull << 32 | 2, 1,	    0x5050505050505050, 0,	9,
		0x8890, 0x10,		0x28000ea1, 0x4100fff0,		0x1088, 0,
		0xcf,	0x47705a13,	1,	    0x4040404040404040, 2,	8,
		0x8890, 0x14,		0x28000ea2, 0x4100f430,		0x488,	4,
		0xcc,	UINT64_MAX,
	};
	uint64_t *priv = test_calloc(CAPTURE_ETM_INFO_MAX, sizeof(*priv));
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct capture_event ev;
	void *ctx = (void *)(uintptr_t)etm_pmu;

	(void)state;
	assert_int_equal(capture_event_parse(&ev, "cs_etm/@tmc_etr0,cycacc,contextid2,timestamp/u",
					     &ops, ctx, false, &err),
			 0);
	assert_ptr_equal(ev.family, &pmu_family_etm);
	assert_int_equal(ev.attr.config2, 0x8a4a5e3c);
	assert_int_equal(ev.attr.config, 1u << 12 | 1u << 15 | 1u << 28);
	assert_int_equal(capture_etm_info(priv, &ev, &ops, ctx, true), sizeof(expected) / 8);
	/* TRCCONFIGR: CCI, VMID and VMIDOPT, TS */
	assert_int_equal(priv[6], 1u << 4 | 1u << 7 | 1u << 11 | 1u << 15);
	assert_memory_equal(priv, expected, sizeof(expected));
	test_free(priv);
	assert_int_equal(capture_event_parse(&ev, "cs_etm/@nowhere/u", &ops, ctx, false, &err),
			 -EINVAL);
	assert_string_equal(err.why, "has no sink 'nowhere'");
	assert_string_equal(err.hint, "it has: tmc_etf0, tmc_etr0");
	assert_int_equal(capture_event_parse(&ev, "cs_etm/@/u", &ops, ctx, false, &err), -EINVAL);
}

/* By name, by number, by a term that no other family has; else the PMU is refused. */
static void test_families(void **state)
{
	static const struct entry bare_pmu[] = {{"type", "9"}, {NULL, NULL}};
	static const struct {
		const char *spec;
		const struct entry *pmu;
		const struct pmu_family *family;
	} cases[] = {
		{"intel_pt//u", bare_pmu, &pmu_family_pt},
		{"my_pt//u", full_pmu, &pmu_family_pt},
		{"cs_etm//u", bare_pmu, &pmu_family_etm},
		{"arm_spe_1//u", bare_pmu, &pmu_family_spe},
		{"intel_bts//u", bare_pmu, NULL},
		{"my_pt//u", bare_pmu, NULL},
	};

	struct auxtap_error least = AUXTAP_ERROR_INIT;
	struct capture_event spe;

	(void)state;
	/* a family checks its own terms */
	assert_int_equal(capture_event_parse(&spe, "arm_spe_1/period=100/u", &ops,
					     (void *)(uintptr_t)bare_pmu, false, &least),
			 -EINVAL);
	assert_string_equal(least.hint, "its least period is 256");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct capture_event ev;
		int ret = capture_event_parse(&ev, cases[i].spec, &ops,
					      (void *)(uintptr_t)cases[i].pmu, false, &err);

		assert_int_equal(ret, cases[i].family ? 0 : -ENOTSUP);
		assert_ptr_equal(ev.family, cases[i].family);
		assert_int_equal(*err.hint != '\0', !cases[i].family);
	}
	/* the events of programs for each machine; PT's if it is unknown */
	assert_string_equal(pmu_family_default_event(EM_X86_64), "intel_pt//u");
	assert_string_equal(pmu_family_default_event(EM_AARCH64), "cs_etm//u");
	assert_string_equal(pmu_family_default_event(0), "intel_pt//u");
}

static void test_aux_areas(void **state)
{
	static const char *const with[] = {"intel_pt",	"cs_etm",    "arm_spe_0", "arm_spe_12",
					   "intel_bts", "hisi_ptt0", "auxtap_pt"};
	static const char *const without[] = {"cpu",   "intel_pt2", "cs_etm_x",
					      "intel", "",	    "arm_smmu"};

	(void)state;
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		assert_true(auxtap_pmu_has_aux(with[i]));
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_false(auxtap_pmu_has_aux(without[i]));
}

/* Of emulated PMUs those of CoreSight alone have a choice of trace units. */
static void test_trace_units(void **state)
{
	(void)state;
	assert_true(auxtap_event_has_trace_unit(NULL, "ete"));
	assert_true(auxtap_event_has_trace_unit(NULL, "etmv4"));
	assert_false(auxtap_event_has_trace_unit(NULL, "etmv3"));
	assert_true(auxtap_event_has_trace_unit("cs_etm/timestamp/u", "etmv4"));
	assert_true(auxtap_event_has_trace_unit("cs_etm", "ete"));
	assert_false(auxtap_event_has_trace_unit("cs_etm//u", "etmv3"));
	assert_false(auxtap_event_has_trace_unit("cs_etm2//u", "ete"));
	assert_false(auxtap_event_has_trace_unit("cs//u", "ete"));
	assert_false(auxtap_event_has_trace_unit("intel_pt//u", "ete"));
	assert_false(auxtap_event_has_trace_unit("arm_spe_0//u", "ete"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_info),	  cmocka_unit_test(test_coresight),
		cmocka_unit_test(test_families),  cmocka_unit_test(test_trace_units),
		cmocka_unit_test(test_aux_areas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
