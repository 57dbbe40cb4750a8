// SPDX-License-Identifier: BSD-2-Clause
/* See number.h. */
#include "util/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool number_prefix(const char *text, const char **end, uint64_t *value)
{
	char *after;
	uint64_t v;

	/* strtoull() would accept blanks and signs */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &after, 0);
	if (errno)
		return false;
	*value = v;
	*end = after;
	return true;
}

bool number_parse(const char *text, uint64_t max, uint64_t *value)
{
	const char *end;
	uint64_t v;

	if (!number_prefix(text, &end, &v) || *end || v > max)
		return false;
	*value = v;
	return true;
}

bool number_parse_decimal(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return false;
	if (v > max)
		return false;
	*value = v;
	return true;
}

bool number_parse_size(const char *text, uint64_t *value, bool *has_unit)
{
	static const char units[] = "KMGkmg";
	const char *unit, *end;
	uint64_t v;
	bool found;

	if (!number_prefix(text, &end, &v))
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	found = unit || *end == 'B';
	if (unit) {
		if (__builtin_mul_overflow(v, 1ull << 10 * ((unit - units) % 3 + 1), &v))
			return false;
		end++;
	}
	if (*end == 'B')
		end++;
	if (*end)
		return false;
	if (has_unit)
		*has_unit = found;
	*value = v;
	return true;
}

bool number_parse_time(const char *text, uint64_t *value)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	const char *end;
	uint64_t v;

	if (!number_prefix(text, &end, &v))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (__builtin_mul_overflow(v, units[i].ns, &v))
			return false;
		*value = v;
		return true;
	}
	return false;
}
