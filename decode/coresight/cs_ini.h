/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the .ini files of CoreSight snapshots: [section], key=value, comments after ; or #. */
#ifndef AUXTAP_CS_INI_H
#define AUXTAP_CS_INI_H

#include <auxtap/error.h>
#include <stdbool.h>

struct cs_ini_entry {
	const char *section, *key, *value; /* point into text */
};

struct cs_ini {
	char *text;
	/* in the order of the file; a [section] line has key NULL */
	struct cs_ini_entry *entries;
	size_t nr, max;
};

int cs_ini_read(struct cs_ini *ini, const char *path, struct auxtap_error *err);
void cs_ini_free(struct cs_ini *ini);
/* The value of the first entry that matches, ignoring case; NULL: no entry matches. */
const char *cs_ini_get(const struct cs_ini *ini, const char *section, const char *key);
/* Parses a number as in C; false: it is not a number. */
bool cs_ini_number(const char *value, uint64_t *number);

#endif
