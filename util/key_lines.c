// SPDX-License-Identifier: BSD-2-Clause
/* Texts of "key: value" lines. */
#include "key_lines.h"

#include <stdlib.h>
#include <string.h>

/* The end of the line that starts at 'at'. */
static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

bool key_lines_next(const char **at, const char *end, char *buf, size_t size)
{
	const char *stop;
	size_t len;

	if (*at >= end)
		return false;
	stop = line_end(*at, end);
	len = (size_t)(stop - *at);
	if (len >= size)
		len = 0;
	memcpy(buf, *at, len);
	buf[len] = '\0';
	*at = stop + (stop < end);
	return true;
}

const char *key_lines_find(const char *text, size_t size, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	for (const char *at = text, *end = text + size; at < end;) {
		const char *stop = line_end(at, end);

		if ((size_t)(stop - at) > key_len && !memcmp(at, key, key_len) &&
		    at[key_len] == ':') {
			at += key_len + 1;
			while (at < stop && *at == ' ')
				at++;
			*len = (size_t)(stop - at);
			return at;
		}
		at = stop + (stop < end);
	}
	return NULL;
}

bool key_lines_equals(const char *text, size_t size, const char *key, const char *value)
{
	size_t len;
	const char *found = key_lines_find(text, size, key, &len);

	return found && len == strlen(value) && !memcmp(found, value, len);
}

uint64_t key_lines_number(const char *text, size_t size, const char *key)
{
	char number[24] = "";
	size_t len;
	const char *found = key_lines_find(text, size, key, &len);

	if (found)
		memcpy(number, found, len < sizeof(number) - 1 ? len : sizeof(number) - 1);
	return strtoull(number, NULL, 10);
}
