/* SPDX-License-Identifier: BSD-2-Clause */
/* .ini files as CoreSight snapshots have them: [section], key=value, comments from ; or # on. */
#ifndef AUXTAP_CS_INI_H
#define AUXTAP_CS_INI_H

#include <auxtap/error.h>
#include <stdbool.h>

struct cs_ini_entry {
	const char *section, *key, *value; /* in text */
};

struct cs_ini {
	char *text;
	/* in the order of the file; a section without key: key NULL */
	struct cs_ini_entry *entries;
	size_t nr, max;
};

int cs_ini_read(struct cs_ini *ini, const char *path, struct auxtap_error *err);
void cs_ini_free(struct cs_ini *ini);
/* The first one's value; NULL. Case does not matter. */
const char *cs_ini_get(const struct cs_ini *ini, const char *section, const char *key);
/* A number as C writes it; false: it is none. */
bool cs_ini_number(const char *value, uint64_t *number);

#endif
