/* SPDX-License-Identifier: BSD-2-Clause */
/* A PMU's attributes, read through the perf interface of a backend. */
#ifndef AUXTAP_CAPTURE_PMU_TERMS_H
#define AUXTAP_CAPTURE_PMU_TERMS_H

#include <auxtap/capture.h>

struct pmu {
	const char *name;
	const struct auxtap_perf_ops *ops;
	void *ctx;
};

/* Which word, and which bits of it: "config1:0-3,8" */
struct term_format {
	__u64 *word;
	uint64_t mask;
};

/* The text of an attribute, "DIR/NAME"; its length or a negative errno. */
ssize_t pmu_text(const struct pmu *pmu, const char *dir, const char *name, char *buf, size_t size);
/* The number in "caps/NAME"; false: the PMU has no such file. */
bool pmu_cap(const struct pmu *pmu, const char *name, uint64_t *value);
/* -ENOENT: the PMU has no such term. */
int pmu_term_format(const struct pmu *pmu, const char *term, struct perf_event_attr *attr,
		    struct term_format *format);
/* The config bits of a term, 0 if the unit has no such term. */
uint64_t pmu_config_bits(const struct pmu *pmu, const char *term);
/* False: the PMU has no such term. */
bool pmu_set_default(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     uint64_t value);
/* Refuses a value that the unit's caps rule out; enable_cap: without it only 0 is allowed. */
int pmu_check_period(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     const char *cap, const char *enable_cap, struct auxtap_error *err);

/* Spreads value over the mask's bits, lowest first. False: it has more bits than the mask. */
bool bits_deposit(__u64 *word, uint64_t mask, uint64_t value);
uint64_t bits_extract(uint64_t word, uint64_t mask);

#endif
