// SPDX-License-Identifier: BSD-2-Clause
/* Reads the attributes of a PMU in sysfs: formats of terms, and values in "caps/". */
#include "pmu_terms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ssize_t pmu_text(const struct pmu *pmu, const char *dir, const char *name, char *buf, size_t size)
{
	char attr[96];

	if ((size_t)snprintf(attr, sizeof(attr), "%s%s", dir, name) >= sizeof(attr))
		return -ENAMETOOLONG;
	return pmu->ops->pmu_attr(pmu->ctx, pmu->name, attr, buf, size);
}

bool pmu_cap(const struct pmu *pmu, const char *name, uint64_t *value)
{
	char text[64], *end;

	if (pmu_text(pmu, "caps/", name, text, sizeof(text)) <= 0)
		return false;
	*value = strtoull(text, &end, 16); /* sysfs shows caps in hexadecimal */
	return end != text;
}

int pmu_term_format(const struct pmu *pmu, const char *term, struct perf_event_attr *attr,
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

bool bits_deposit(__u64 *word, uint64_t mask, uint64_t value)
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

uint64_t bits_extract(uint64_t word, uint64_t mask)
{
	uint64_t out = 0;
	int n = 0;

	for (uint64_t bit = 1; bit; bit <<= 1) {
		if (mask & bit)
			out |= (uint64_t)((word & bit) != 0) << n++;
	}
	return out;
}

bool pmu_set_default(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     uint64_t value)
{
	struct term_format format;

	return !pmu_term_format(pmu, term, attr, &format) &&
	       bits_deposit(format.word, format.mask, value);
}

/* Checked here because the kernel would only return EINVAL. */
int pmu_check_period(const struct pmu *pmu, struct perf_event_attr *attr, const char *term,
		     const char *cap, const char *enable_cap, struct auxtap_error *err)
{
	struct term_format format;
	uint64_t value, valid = 1, supported = 1;
	char list[128];
	size_t len = 0;

	if (pmu_term_format(pmu, term, attr, &format))
		return 0;
	value = bits_extract(*format.word, format.mask);
	if (!value)
		return 0;
	if (enable_cap && (!pmu_cap(pmu, enable_cap, &supported) || !supported))
		valid = 1;
	else if (pmu_cap(pmu, cap, &valid))
		valid |= 1;
	else
		return 0; /* the PMU has no such cap */
	if (value < 64 && (valid & (1ull << value)))
		return 0;
	list[0] = '\0';
	for (unsigned int i = 0; i < 64 && len < sizeof(list); i++) {
		if (valid & (1ull << i))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%u",
						len ? "," : "", i);
	}
	auxtap_error_set(err, -EINVAL, term, "%s has no such value as %llu", pmu->name,
			 (unsigned long long)value);
	auxtap_error_hint(err, "use one of %s", list);
	return -EINVAL;
}

uint64_t pmu_config_bits(const struct pmu *pmu, const char *term)
{
	struct perf_event_attr attr = {0};
	struct term_format format;

	if (pmu_term_format(pmu, term, &attr, &format) || format.word != &attr.config)
		return 0;
	return format.mask;
}
