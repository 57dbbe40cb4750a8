/* SPDX-License-Identifier: BSD-2-Clause */
/* Command-line options, described by tables of rows, and parsed one by one with getopt_long(). */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

struct option_row {
	int id;		  /* above 0, unique in the command; a character: also the short option */
	const char *name; /* the long option without dashes; NULL: none */
	/* placeholder of its argument: "FILE", "text|json"; "[SIZE]": optional; NULL: none */
	const char *value;
};

#define OPTIONS_MAX 96 /* rows of all tables of a command */
#define OPTIONS_BAD (-1)

/* The state of parsing a command line. value and what are valid until the next option is read. */
struct options {
	const char *value; /* argument of the last option; NULL: it has none */
	char what[64];	   /* name of the last option for messages: "--pages", "-m" */
	char why[160];	   /* after OPTIONS_BAD: what is wrong with it */
	/* private */
	int argc;
	char **argv;
	const struct option_row *rows[OPTIONS_MAX];
	struct option long_options[OPTIONS_MAX + 1];
	char short_options[3 * OPTIONS_MAX + 3];
	int nr_rows, nr_long_options;
};

/*
 * tables: the command's, each ending with a row of id 0; the last one is followed by NULL.
 * only_first: the first argument that is not an option ends the options (it begins another command
 * line); otherwise such arguments are moved after all options. More than OPTIONS_MAX rows are a bug
 * of the caller and abort the process.
 */
void options_start(struct options *o, int argc, char **argv, const struct option_row *const *tables,
		   bool only_first);
/* Returns the id of the next option; 0: no more; OPTIONS_BAD: see what and why. */
int options_next(struct options *o);
/* After the last option: the index in argv of the first argument that is not one. */
int options_end(const struct options *o);

/* The row with this id; NULL: no table has it. */
const struct option_row *options_row(const struct option_row *const *tables, int id);

#endif
