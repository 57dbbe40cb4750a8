// SPDX-License-Identifier: BSD-2-Clause
/*
 * Parses perf's event syntax, "PMU/term,term=value/mods". The PMU's "format/TERM" defines the bits
 * of a term ("config:14-17"), and its "caps/" which values are valid.
 */
#include "pmu_family.h"
#include "util/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terms to try if a PMU cannot list its "format/". */
/* clang-format off */
static const char *const candidate_terms[] = {
	"pt",  "branch",     "tsc",	   "noretcomp", "cyc", "cyc_thresh", "mtc",
	"mtc_period", "psb_period", "ptw", "fup_on_ptw", "pwr_evt", "event", "notnt",
	"branch_broadcast", "cycacc", "contextid1", "contextid2", "timestamp", "retstack",
	"ts_enable", "pa_enable", "pct_enable", "jitter", "branch_filter", "load_filter",
	"store_filter", "event_filter", "inv_event_filter", "min_latency",
};
/* clang-format on */

/* Lists the terms of the PMU, for an error message. */
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

/* "@tmc_etr0": the sink of CoreSight trace; config2 is the PMU's number of it. */
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
		auxtap_error_hint(err, "it has: %s", known);
	else
		auxtap_error_hint(err, "leave it out: each CPU has its own");
	return -EINVAL;
}

static int apply_term(const struct pmu *pmu, struct perf_event_attr *attr, char *term,
		      char *name_out, size_t name_size, struct auxtap_error *err)
{
	char *equals = strchr(term, '='), known[200];
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
		if (!number_parse(equals + 1, UINT64_MAX, &value))
			return auxtap_error_set(err, -EINVAL, term,
						"'%s' is not an unsigned number of 64 bits",
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
	ret = pmu_term_format(pmu, term, attr, &format);
	if (ret) {
		list_terms(pmu, known, sizeof(known));
		auxtap_error_set(err, -EINVAL, term, "%s has no such term", pmu->name);
		auxtap_error_hint(err, "its terms are: %s", known);
		return -EINVAL;
	}
	if (!bits_deposit(format.word, format.mask, value))
		return auxtap_error_set(err, -EINVAL, term,
					"value %llu is too large; %u bits, at most %llu",
					(unsigned long long)value,
					(unsigned)__builtin_popcountll(format.mask),
					(unsigned long long)bits_extract(format.mask, format.mask));
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
			auxtap_error_hint(err, "u, k and h are known");
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
			auxtap_error_hint(err, "write PMU/terms/modifiers, as intel_pt/cyc/u");
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
		auxtap_error_set(err, -ENODEV, spec, "this machine has no PMU '%s'", ev->pmu);
		auxtap_error_hint(err,
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
	ev->family = pmu_family_of(&pmu);
	if (!ev->family) {
		auxtap_error_set(err, -ENOTSUP, spec,
				 "auxtap cannot record what the PMU '%s' writes", ev->pmu);
		auxtap_error_hint(err, "use an event of intel_pt, arm_spe_N or cs_etm");
		return -ENOTSUP;
	}
	if (ev->family->defaults)
		ev->family->defaults(&pmu, &ev->attr, emulated);
	for (term = terms ? strtok_r(terms, ",", &save) : NULL; term;
	     term = strtok_r(NULL, ",", &save)) {
		ret = apply_term(&pmu, &ev->attr, term, ev->name, sizeof(ev->name), err);
		if (ret)
			return ret;
	}
	ret = ev->family->check ? ev->family->check(&pmu, &ev->attr, err) : 0;
	if (ret)
		return ret;
	return apply_modifiers(&ev->attr, mods ? mods : "", emulated, err);
}
