// SPDX-License-Identifier: BSD-2-Clause
/* See options.h. */
#include "util/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(int id)
{
	return id > ' ' && id < 0x7f;
}

static bool is_optional(const struct option_row *row)
{
	return row->value && *row->value == '[';
}

static void add_row(struct options *o, const struct option_row *row)
{
	int has = !row->value	   ? no_argument :
		  is_optional(row) ? optional_argument :
				     required_argument;
	size_t at = strlen(o->short_options);

	if (o->nr_rows == OPTIONS_MAX)
		abort();
	o->rows[o->nr_rows++] = row;
	if (row->name)
		o->long_options[o->nr_long_options++] =
			(struct option){row->name, has, NULL, row->id};
	if (is_letter(row->id))
		snprintf(o->short_options + at, sizeof(o->short_options) - at, "%c%.*s", row->id,
			 has == no_argument	  ? 0 :
			 has == required_argument ? 1 :
						    2,
			 "::");
}

void options_start(struct options *o, int argc, char **argv, const struct option_row *const *tables,
		   bool only_first)
{
	memset(o, 0, sizeof(*o));
	o->argc = argc;
	o->argv = argv;
	strcpy(o->short_options, only_first ? "+:" : ":");
	for (; *tables; tables++)
		for (const struct option_row *row = *tables; row->id; row++)
			add_row(o, row);
	optind = 0; /* resets getopt_long() */
	opterr = 0;
}

static const struct option_row *row_of(const struct options *o, int id)
{
	for (int i = 0; i < o->nr_rows; i++)
		if (o->rows[i]->id == id)
			return o->rows[i];
	return NULL;
}

/* Sets o->what to "--pages" for "--pages=3". */
static void name_argument(struct options *o, const char *arg)
{
	snprintf(o->what, sizeof(o->what), "%.*s", (int)strcspn(arg, "="), arg);
}

static void name_row(struct options *o, const struct option_row *row)
{
	if (is_letter(row->id))
		snprintf(o->what, sizeof(o->what), "-%c", row->id);
	else
		snprintf(o->what, sizeof(o->what), "--%s", row->name);
}

/* Explains an argument that is a prefix of several long options. False: it is a prefix of none. */
static bool explain_ambiguous(struct options *o)
{
	size_t len = strlen(o->what) - 2, at;
	const char *before = "";

	at = (size_t)snprintf(o->why, sizeof(o->why), "is ambiguous:");
	for (const struct option *l = o->long_options; l->name && at < sizeof(o->why); l++) {
		if (strncmp(l->name, o->what + 2, len) != 0)
			continue;
		at += (size_t)snprintf(o->why + at, sizeof(o->why) - at, "%s --%s", before,
				       l->name);
		before = ",";
	}
	return *before;
}

/* Explains the option that getopt_long() rejected: one of several letters, or a long option. */
static int explain_error(struct options *o, bool no_value)
{
	const struct option_row *row = optopt ? row_of(o, optopt) : NULL;
	const char *why = no_value ? "option requires an argument" : "no such option";

	if (row) {
		name_row(o, row);
		if (!no_value) {
			snprintf(o->what, sizeof(o->what), "--%s", row->name);
			why = "takes no value";
		}
	} else if (optopt) {
		snprintf(o->what, sizeof(o->what), "-%c", optopt);
	} else {
		name_argument(o, o->argv[optind - 1]);
		if (explain_ambiguous(o))
			return OPTIONS_BAD;
	}
	snprintf(o->why, sizeof(o->why), "%s", why);
	return OPTIONS_BAD;
}

int options_next(struct options *o)
{
	int c = getopt_long(o->argc, o->argv, o->short_options, o->long_options, NULL);

	o->value = NULL;
	if (c == -1)
		return 0;
	if (c == '?' || c == ':')
		return explain_error(o, c == ':');
	o->value = optarg;
	name_row(o, row_of(o, c));
	return c;
}

int options_end(const struct options *o)
{
	(void)o;
	return optind;
}

const struct option_row *options_row(const struct option_row *const *tables, int id)
{
	for (; *tables; tables++)
		for (const struct option_row *row = *tables; row->id; row++)
			if (row->id == id)
				return row;
	return NULL;
}
