// SPDX-License-Identifier: BSD-2-Clause
/* See cs_ini.h. */
#include "cs_ini.h"
#include "util/number.h"
#include "util/vector.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define INI_MAX (4u << 20) /* the registers of a core take some kilobytes */

static char *trim(char *s)
{
	size_t len;

	while (isspace((unsigned char)*s))
		s++;
	len = strlen(s);
	while (len && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	return s;
}

static int add(struct cs_ini *ini, const char *section, const char *key, const char *value)
{
	if (vector_grow(ini->entries, ini->nr, ini->max))
		return -ENOMEM;
	ini->entries[ini->nr++] = (struct cs_ini_entry){section, key, value};
	return 0;
}

static int parse_line(struct cs_ini *ini, char *line, const char **section)
{
	char *equals, *end;

	line = trim(line);
	if (!*line || *line == ';' || *line == '#')
		return 0;
	if (*line == '[') {
		end = strchr(line, ']');
		if (!end)
			return -EBADMSG;
		*end = '\0';
		*section = trim(line + 1);
		return add(ini, *section, NULL, NULL);
	}
	equals = strchr(line, '=');
	if (!equals)
		return -EBADMSG;
	*equals = '\0';
	return add(ini, *section, trim(line), trim(equals + 1));
}

static int load(struct cs_ini *ini, const char *path, struct auxtap_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	size_t have = 0;
	struct stat st;

	if (fd < 0)
		return auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > INI_MAX) {
		ret = auxtap_error_set(err, -EBADMSG, path,
				       "is not an .ini file of at most %u bytes", INI_MAX);
		goto out;
	}
	ini->text = calloc(1, (size_t)st.st_size + 1);
	if (!ini->text) {
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
		goto out;
	}
	while (have < (size_t)st.st_size) {
		ssize_t got = read(fd, ini->text + have, (size_t)st.st_size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			ret = auxtap_error_set(err, -errno, path, "cannot read: %s",
					       strerror(errno));
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	ini->text[have] = '\0';
	if (!ret && memchr(ini->text, 0, have))
		ret = auxtap_error_set(err, -EBADMSG, path, "is not text");
out:
	close(fd);
	return ret;
}

int cs_ini_read(struct cs_ini *ini, const char *path, struct auxtap_error *err)
{
	const char *section = "";
	unsigned int number = 0;
	char *at, *line;
	int ret;

	memset(ini, 0, sizeof(*ini));
	ret = load(ini, path, err);
	at = ini->text;
	while (!ret && (line = strsep(&at, "\n"))) {
		number++;
		ret = parse_line(ini, line, &section);
		if (ret == -EBADMSG)
			auxtap_error_set(err, ret, path,
					 "line %u is neither [section] nor key=value", number);
		else if (ret)
			auxtap_error_set(err, ret, path, "out of memory");
	}
	if (ret)
		cs_ini_free(ini);
	return ret;
}

void cs_ini_free(struct cs_ini *ini)
{
	free(ini->entries);
	free(ini->text);
	memset(ini, 0, sizeof(*ini));
}

const char *cs_ini_get(const struct cs_ini *ini, const char *section, const char *key)
{
	for (size_t i = 0; i < ini->nr; i++)
		if (ini->entries[i].key && !strcasecmp(ini->entries[i].section, section) &&
		    !strcasecmp(ini->entries[i].key, key))
			return ini->entries[i].value;
	return NULL;
}

bool cs_ini_number(const char *value, uint64_t *number)
{
	return number_parse(value, UINT64_MAX, number);
}
