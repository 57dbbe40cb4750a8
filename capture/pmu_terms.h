/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a PMU's attributes in sysfs through the perf interface of a backend. */
#ifndef AUXTAP_CAPTURE_PMU_TERMS_H
#define AUXTAP_CAPTURE_PMU_TERMS_H

#include <auxtap/capture.h>

struct pmu {
	const char *name;
	const struct auxtap_perf_ops *ops;
	void *ctx;
};

/* The attr word and its bits that a term sets: "config1:0-3,8" */
struct term_format {
	__u64 *word;
	uint64_t mask;
};

/* Reads the attribute "DIR/NAME". Returns its length or a negative errno. */
ssize_t pmu_text(const struct pmu *pmu, const char *dir, const char *name, char *buf, size_t size);
/* Reads the number in "caps/NAME". False: the PMU has no such file. */
bool pmu_cap(const struct pmu *pmu, const char *name, uint64_t *value);
/* -ENOENT: the PMU has no such term. */
int pmu_term_format(const struct pmu *pmu, const char *term, struct perf_event_attr *attr,
		    struct term_format *format);
/* The bits of attr.config that a term sets; 0: the PMU has no such term. */
uint64_t pmu_config_bits(const struct pmu *pmu, const char *term);
/* Sets a term. False: the PMU has no such term. */
bool pmu_set_default(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     uint64_t value);
/* Rejects a value that "caps/" exclude. Without the cap enable_cap only 0 is allowed. */
int pmu_check_period(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     const char *cap, const char *enable_cap, struct auxtap_error *err);

/* Distributes value over the mask's bits, lowest first. False: value has too many bits. */
bool bits_deposit(__u64 *word, uint64_t mask, uint64_t value);
uint64_t bits_extract(uint64_t word, uint64_t mask);

#endif
