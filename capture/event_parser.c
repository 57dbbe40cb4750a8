// SPDX-License-Identifier: BSD-2-Clause
/*
 * perf's event syntax, "PMU/term,term=value/mods". What a term means is in the PMU's
 * "format/TERM" ("config:14-17"), which values it takes in its "caps/".
 */
#include "event_parser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terms a PMU may have when it cannot list its formats. */
/* clang-format off */
static const char *const candidate_terms[] = {
	"pt",  "branch",     "tsc",	   "noretcomp", "cyc", "cyc_thresh", "mtc",
	"mtc_period", "psb_period", "ptw", "fup_on_ptw", "pwr_evt", "event", "notnt",
	"branch_broadcast", "cycacc", "contextid1", "contextid2", "timestamp", "retstack",
	"ts_enable", "pa_enable", "pct_enable", "jitter", "branch_filter", "load_filter",
	"store_filter", "event_filter", "inv_event_filter", "min_latency",
};
/* clang-format on */

struct pmu {
	const char *name;
	const struct auxtap_perf_ops *ops;
	void *ctx;
};

static ssize_t pmu_text(const struct pmu *pmu, const char *dir, const char *name, char *buf,
			size_t size)
{
	char attr[96];

	if ((size_t)snprintf(attr, sizeof(attr), "%s%s", dir, name) >= sizeof(attr))
		return -ENAMETOOLONG;
	return pmu->ops->pmu_attr(pmu->ctx, pmu->name, attr, buf, size);
}

static bool pmu_cap(const struct pmu *pmu, const char *name, uint64_t *value)
{
	char text[64], *end;

	if (pmu_text(pmu, "caps/", name, text, sizeof(text)) <= 0)
		return false;
	*value = strtoull(text, &end, 16); /* sysfs shows caps in hexadecimal */
	return end != text;
}

/* Names the terms the PMU knows, for an error. */
static void list_terms(const struct pmu *pmu, char *out, size_t size)
{
	char text[2048], *save, *name;
	size_t len = 0;

	out[0] = '\0';
	if (pmu_text(pmu, "format/", "", text, sizeof(text)) > 0) {
		for (name = strtok_r(text, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
			if (len < size)
				len += (size_t)snprintf(out + len, size - len, "%s%s",
							len ? ", " : "", name);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(candidate_terms) / sizeof(candidate_terms[0]); i++) {
		if (pmu_text(pmu, "format/", candidate_terms[i], text, sizeof(text)) > 0 &&
		    len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						candidate_terms[i]);
	}
}

/* Which word, and which bits of it: "config1:0-3,8" */
struct term_format {
	__u64 *word;
	uint64_t mask;
};

static int term_format(const struct pmu *pmu, const char *term, struct perf_event_attr *attr,
		       struct term_format *format)
{
	char text[128], *p;
	__u64 *word;
	uint64_t mask = 0;

	if (pmu_text(pmu, "format/", term, text, sizeof(text)) <= 0)
		return -ENOENT;
	if (!strncmp(text, "config:", 7)) {
		word = &attr->config;
		p = text + 7;
	} else if (!strncmp(text, "config1:", 8)) {
		word = (__u64 *)&attr->config1;
		p = text + 8;
	} else if (!strncmp(text, "config2:", 8)) {
		word = (__u64 *)&attr->config2;
		p = text + 8;
	} else {
		return -ENOTSUP;
	}
	for (;;) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (end == p)
			return -EPROTO;
		if (*end == '-') {
			p = end + 1;
			last = strtoul(p, &end, 10);
			if (end == p)
				return -EPROTO;
		}
		if (first > last || last > 63)
			return -EPROTO;
		mask |= (last - first == 63 ? UINT64_MAX : (1ull << (last - first + 1)) - 1)
			<< first;
		if (*end != ',')
			break;
		p = end + 1;
	}
	format->word = word;
	format->mask = mask;
	return 0;
}

/* Spread value over the mask's bits, lowest first. False: it has more bits than the mask. */
static bool deposit(__u64 *word, uint64_t mask, uint64_t value)
{
	uint64_t out = 0;

	for (uint64_t bit = 1; bit; bit <<= 1) {
		if (!(mask & bit))
			continue;
		if (value & 1)
			out |= bit;
		value >>= 1;
	}
	*word = (*word & ~mask) | out;
	return value == 0;
}

static uint64_t extract(uint64_t word, uint64_t mask)
{
	uint64_t out = 0;
	int n = 0;

	for (uint64_t bit = 1; bit; bit <<= 1) {
		if (mask & bit)
			out |= (uint64_t)((word & bit) != 0) << n++;
	}
	return out;
}

static bool set_default(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
			uint64_t value)
{
	struct term_format format;

	return !term_format(pmu, term, attr, &format) && deposit(format.word, format.mask, value);
}

/* By its name, or by a term that only Intel PT has: our module may have any name. */
static bool is_pt(const struct pmu *pmu, struct perf_event_attr *attr)
{
	struct term_format format;

	return !strcmp(pmu->name, "intel_pt") || !term_format(pmu, "noretcomp", attr, &format);
}

/*
 * perf's choice for intel_pt: tsc; pt and branch; a period of 3 where caps allow, else the next
 * smaller, else the smallest.
 */
static void pt_defaults(const struct pmu *pmu, struct perf_event_attr *attr, bool emulated)
{
	uint64_t supported, periods;

	set_default(pmu, attr, "tsc", 1);
	/*
	 * Emulated time moves with the instructions: MTC adds nothing there, so only when
	 * asked for.
	 */
	if (!emulated && pmu_cap(pmu, "mtc", &supported) && supported &&
	    pmu_cap(pmu, "mtc_periods", &periods) && periods) {
		uint64_t pick = periods & 0xf;

		set_default(pmu, attr, "mtc", 1);
		set_default(pmu, attr, "mtc_period",
			    pick ? 63u - (unsigned)__builtin_clzll(pick) :
				   (unsigned)__builtin_ctzll(periods));
	}
	if (pmu_cap(pmu, "psb_cyc", &supported) && supported &&
	    pmu_cap(pmu, "psb_periods", &periods) && periods) {
		uint64_t pick = periods & 0xf;

		set_default(pmu, attr, "psb_period",
			    pick ? 63u - (unsigned)__builtin_clzll(pick) :
				   (unsigned)__builtin_ctzll(periods));
	}
	if (set_default(pmu, attr, "pt", 1))
		set_default(pmu, attr, "branch", 1);
}

/* Samples with their times; the kernel's least interval costs much and shows little more. */
static void spe_defaults(const struct pmu *pmu, struct perf_event_attr *attr)
{
	set_default(pmu, attr, "ts_enable", 1);
	attr->sample_period = 4096;
}

/* A value that the unit's caps rule out is refused here: the kernel would only say EINVAL. */
static int check_period(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
			const char *cap, const char *enable_cap, struct auxtap_error *err)
{
	struct term_format format;
	uint64_t value, valid = 1, supported = 1;
	char list[128];
	size_t len = 0;

	if (term_format(pmu, term, attr, &format))
		return 0;
	value = extract(*format.word, format.mask);
	if (!value)
		return 0;
	if (enable_cap && (!pmu_cap(pmu, enable_cap, &supported) || !supported))
		valid = 1;
	else if (pmu_cap(pmu, cap, &valid))
		valid |= 1;
	else
		return 0; /* the unit does not say */
	if (value < 64 && (valid & (1ull << value)))
		return 0;
	list[0] = '\0';
	for (unsigned int i = 0; i < 64 && len < sizeof(list); i++) {
		if (valid & (1ull << i))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%u",
						len ? "," : "", i);
	}
	auxtap_error_set(err, -EINVAL, term, "%s has no value %llu for it", pmu->name,
			 (unsigned long long)value);
	auxtap_error_todo(err, "it takes %s", list);
	return -EINVAL;
}

#define SPE_INTERVAL_STEP 256u /* PMSIRR_EL1.INTERVAL has no bits below */
#define SPE_INTERVAL_MAX  0xffffff00u

/*
 * The driver raises an interval that is too small and rounds others down without a word. Then the
 * file would contain a period with which nothing was sampled.
 */
static int check_interval(const struct pmu *pmu, const struct perf_event_attr *attr,
			  struct auxtap_error *err)
{
	unsigned long long period = attr->sample_period, least = SPE_INTERVAL_STEP, below;
	char text[64];

	if (pmu_text(pmu, "caps/", "min_interval", text, sizeof(text)) > 0 &&
	    strtoull(text, NULL, 10) > least)
		least = strtoull(text, NULL, 10); /* decimal, unlike other caps */
	if (period >= least && period <= SPE_INTERVAL_MAX && !(period % SPE_INTERVAL_STEP))
		return 0;
	auxtap_error_set(err, -EINVAL, "period", "%s cannot sample every %llu operations",
			 pmu->name, period);
	below = period / SPE_INTERVAL_STEP * SPE_INTERVAL_STEP;
	if (period < least)
		auxtap_error_todo(err, "its least period is %llu", least);
	else if (period > SPE_INTERVAL_MAX)
		auxtap_error_todo(err, "its largest period is %u", SPE_INTERVAL_MAX);
	else
		auxtap_error_todo(err, "use a multiple of %u: %llu or %llu", SPE_INTERVAL_STEP,
				  below, below + SPE_INTERVAL_STEP);
	return -EINVAL;
}

/* "@tmc_etr0": where CoreSight trace goes to, by the number that the PMU has for it. */
static int apply_sink(const struct pmu *pmu, struct perf_event_attr *attr, const char *name,
		      struct auxtap_error *err)
{
	char text[2048], known[200] = "", *end, *save, *sink;
	size_t len = 0;

	if (*name && !strchr(name, '/') && pmu_text(pmu, "sinks/", name, text, sizeof(text)) > 0) {
		attr->config2 = strtoull(text, &end, 16);
		if (end != text)
			return 0;
	}
	if (pmu_text(pmu, "sinks/", "", text, sizeof(text)) > 0)
		for (sink = strtok_r(text, "\n", &save); sink && len < sizeof(known);
		     sink = strtok_r(NULL, "\n", &save))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						len ? ", " : "", sink);
	auxtap_error_set(err, -EINVAL, pmu->name, "has no sink '%s'", name);
	if (*known)
		auxtap_error_todo(err, "it has: %s", known);
	else
		auxtap_error_todo(err, "leave it out: each CPU has its own");
	return -EINVAL;
}

static int apply_term(const struct pmu *pmu, struct perf_event_attr *attr, char *term,
		      char *name_out, size_t name_size, struct auxtap_error *err)
{
	char *equals = strchr(term, '='), *end, known[200];
	struct term_format format;
	uint64_t value = 1;
	int ret;

	if (*term == '@')
		return apply_sink(pmu, attr, term + 1, err);
	if (equals)
		*equals = '\0';
	if (equals && !strcmp(term, "name")) {
		snprintf(name_out, name_size, "%s", equals + 1);
		return 0;
	}
	if (equals) {
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1 || *end || equals[1] == '-')
			return auxtap_error_set(err, -EINVAL, term, "'%s' is not a number",
						equals + 1);
	}
	if (!strcmp(term, "period")) {
		attr->sample_period = value;
		return 0;
	}
	if (!strcmp(term, "config")) {
		attr->config = value;
		return 0;
	}
	if (!strcmp(term, "config1")) {
		attr->config1 = value;
		return 0;
	}
	if (!strcmp(term, "config2")) {
		attr->config2 = value;
		return 0;
	}
	ret = term_format(pmu, term, attr, &format);
	if (ret) {
		list_terms(pmu, known, sizeof(known));
		auxtap_error_set(err, -EINVAL, term, "%s has no such term", pmu->name);
		auxtap_error_todo(err, "it knows: %s", known);
		return -EINVAL;
	}
	if (!deposit(format.word, format.mask, value))
		return auxtap_error_set(err, -EINVAL, term,
					"value %llu is too large; %u bits, at most %llu",
					(unsigned long long)value,
					(unsigned)__builtin_popcountll(format.mask),
					(unsigned long long)extract(format.mask, format.mask));
	return 0;
}

static int apply_modifiers(struct perf_event_attr *attr, const char *mods, bool emulated,
			   struct auxtap_error *err)
{
	bool user = false, kernel = false, hv = false;

	for (const char *m = mods; *m; m++) {
		switch (*m) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'h':
			hv = true;
			break;
		default: {
			char what[2] = {*m, '\0'};

			auxtap_error_set(err, -EINVAL, what, "unknown event modifier");
			auxtap_error_todo(err, "u, k and h are known");
			return -EINVAL;
		}
		}
	}
	if (*mods) {
		attr->exclude_user = !user;
		attr->exclude_kernel = !kernel;
		attr->exclude_hv = !hv;
	}
	if (emulated) {
		if (attr->exclude_user)
			return auxtap_error_set(err, -EINVAL, mods,
						"the emulated unit sees user mode only");
		attr->exclude_kernel = 1;
		attr->exclude_hv = 1;
	}
	return 0;
}

#define PSB_PERIOD_BYTES 2048u /* psb_period 0; doubles with each step */
#define PSBS_IN_AREA	 8

void capture_event_fit(struct capture_event *ev, const struct auxtap_perf_ops *ops, void *ctx,
		       uint64_t area_bytes)
{
	struct pmu pmu = {.name = ev->pmu, .ops = ops, .ctx = ctx};
	struct term_format format;
	uint64_t periods, now;

	if (!ev->aux || strstr(ev->name, "psb_period") ||
	    term_format(&pmu, "psb_period", &ev->attr, &format) ||
	    !pmu_cap(&pmu, "psb_periods", &periods))
		return;
	now = extract(*format.word, format.mask);
	for (uint64_t lower = now;
	     lower-- > 0 && (PSB_PERIOD_BYTES << now) * PSBS_IN_AREA > area_bytes;) {
		if (periods & (1ull << lower))
			now = lower;
	}
	*format.word &= ~format.mask;
	deposit(format.word, format.mask, now);
}

int capture_event_parse(struct capture_event *ev, const char *spec,
			const struct auxtap_perf_ops *ops, void *ctx, bool emulated,
			struct auxtap_error *err)
{
	char text[256], type[32], *terms = NULL, *mods = NULL, *slash, *colon, *save, *term;
	char *end;
	struct pmu pmu = {.ops = ops, .ctx = ctx};
	int ret;

	memset(ev, 0, sizeof(*ev));
	ev->attr.size = sizeof(ev->attr);
	if ((size_t)snprintf(text, sizeof(text), "%s", spec) >= sizeof(text))
		return auxtap_error_set(err, -EINVAL, "event", "longer than %zu characters",
					sizeof(text) - 1);
	snprintf(ev->name, sizeof(ev->name), "%s", spec);
	slash = strchr(text, '/');
	colon = strchr(text, ':');
	if (slash) {
		*slash = '\0';
		terms = slash + 1;
		slash = strchr(terms, '/');
		if (!slash) {
			auxtap_error_set(err, -EINVAL, spec, "the second '/' is missing");
			auxtap_error_todo(err, "write PMU/terms/modifiers, as intel_pt/cyc/u");
			return -EINVAL;
		}
		*slash = '\0';
		mods = slash + 1;
		if (*mods == ':')
			mods++;
	} else if (colon) {
		*colon = '\0';
		mods = colon + 1;
	}
	if (!*text || strlen(text) >= sizeof(ev->pmu))
		return auxtap_error_set(err, -EINVAL, spec, "names no PMU");
	memcpy(ev->pmu, text, strlen(text) + 1);
	pmu.name = ev->pmu;
	if (!strcmp(ev->pmu, "dummy") && !terms) {
		ev->attr.type = PERF_TYPE_SOFTWARE;
		ev->attr.config = PERF_COUNT_SW_DUMMY;
		return apply_modifiers(&ev->attr, mods ? mods : "", emulated, err);
	}
	if (pmu_text(&pmu, "type", "", type, sizeof(type)) <= 0) {
		auxtap_error_set(err, -ENODEV, spec, "there is no PMU '%s' here", ev->pmu);
		auxtap_error_todo(err,
				  emulated ?
					  "the emulated ones are intel_pt, cs_etm and arm_spe_0" :
					  "'auxtap list' shows what there is; "
					  "--backend emulated needs none");
		return -ENODEV;
	}
	ev->attr.type = (uint32_t)strtoul(type, &end, 10);
	if (end == type)
		return auxtap_error_set(err, -EPROTO, spec, "PMU type '%s' is not a number", type);
	ev->aux = true;
	if (is_pt(&pmu, &ev->attr))
		pt_defaults(&pmu, &ev->attr, emulated);
	ev->spe = !strncmp(ev->pmu, "arm_spe", 7);
	ev->etm = !strcmp(ev->pmu, "cs_etm");
	if (ev->spe)
		spe_defaults(&pmu, &ev->attr);
	for (term = terms ? strtok_r(terms, ",", &save) : NULL; term;
	     term = strtok_r(NULL, ",", &save)) {
		ret = apply_term(&pmu, &ev->attr, term, ev->name, sizeof(ev->name), err);
		if (ret)
			return ret;
	}
	ret = check_period(&pmu, &ev->attr, "mtc_period", "mtc_periods", "mtc", err);
	if (!ret)
		ret = check_period(&pmu, &ev->attr, "psb_period", "psb_periods", "psb_cyc", err);
	if (!ret)
		ret = check_period(&pmu, &ev->attr, "cyc_thresh", "cycle_thresholds", "psb_cyc",
				   err);
	if (!ret && ev->spe)
		ret = check_interval(&pmu, &ev->attr, err);
	if (ret)
		return ret;
	return apply_modifiers(&ev->attr, mods ? mods : "", emulated, err);
}

/* The config bits of a term, 0 if the unit has no such term. */
static uint64_t config_bits(const struct pmu *pmu, const char *term)
{
	struct perf_event_attr attr = {0};
	struct term_format format;

	if (term_format(pmu, term, &attr, &format) || format.word != &attr.config)
		return 0;
	return format.mask;
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
	/* The values of one page: time_shift and time_mult change together, at boot only. */
	priv[AUXTAP_PT_INFO_TIME_SHIFT] = page->time_shift;
	priv[AUXTAP_PT_INFO_TIME_MULT] = page->time_mult;
	priv[AUXTAP_PT_INFO_TIME_ZERO] = page->time_zero;
	priv[AUXTAP_PT_INFO_CAP_USER_TIME_ZERO] = page->cap_user_time_zero;
	priv[AUXTAP_PT_INFO_TSC_BIT] = config_bits(&pmu, "tsc");
	priv[AUXTAP_PT_INFO_NORETCOMP_BIT] = config_bits(&pmu, "noretcomp");
	priv[AUXTAP_PT_INFO_HAVE_SCHED_SWITCH] = have_sched_switch;
	priv[AUXTAP_PT_INFO_SNAPSHOT_MODE] = snapshot;
	priv[AUXTAP_PT_INFO_PER_CPU_MMAPS] = per_cpu;
	priv[AUXTAP_PT_INFO_MTC_BIT] = config_bits(&pmu, "mtc");
	priv[AUXTAP_PT_INFO_MTC_FREQ_BITS] = config_bits(&pmu, "mtc_period");
	/* The kernel shows CPUID 15H as "EBX:EAX". */
	if (pmu_text(&pmu, "tsc_art_ratio", "", text, sizeof(text)) > 0 &&
	    sscanf(text, "%llu:%llu", &n, &d) == 2 && n && d) {
		priv[AUXTAP_PT_INFO_TSC_CTC_N] = n;
		priv[AUXTAP_PT_INFO_TSC_CTC_D] = d;
	}
	priv[AUXTAP_PT_INFO_CYC_BIT] = config_bits(&pmu, "cyc");
	if (pmu_text(&pmu, "max_nonturbo_ratio", "", text, sizeof(text)) > 0)
		priv[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO] = strtoull(text, NULL, 0);
}

/* What perf's bits of attr.config are in TRCCONFIGR. */
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
		/* an ETE by its architecture; perf's magic numbers */
		if (i == 6 && (v[10] & 0xffff) == 0x5a13) {
			v[0] = 0x5050505050505050ull;
			v[2] = 9;
		} else {
			v[0] = 0x4040404040404040ull;
			v[2] = 8;
		}
		/* what the timestamps count: TRFCR.TS; -1: older kernels do not say */
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
