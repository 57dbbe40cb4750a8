// SPDX-License-Identifier: BSD-2-Clause
/* The auxtap command: picks the subcommand. */
#include "cli.h"

#include <auxtap/perfdata.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct command commands[] = {
#ifdef AUXTAP_HAVE_DECODE
	{"crash", cmd_crash, "run a program with a flight recorder; report its last moments if it dies"},
#endif
	{"record", cmd_record, "record a full trace, or a snapshot with -S"},
#ifdef AUXTAP_HAVE_DECODE
	{"report", cmd_report, "what a person wants first: the crash, else an overview"},
	{"decode", cmd_decode, "the executed flow: instructions, branches, calls, gaps"},
	{"dump", cmd_dump, "every record and every packet, with offsets"},
#endif
	{"watermark", cmd_watermark, "the laboratory: where interrupts and watermarks must be, and are"},
	{"audit", cmd_audit, "a recording's AUX transactions held against the kernel's rules"},
	{"list", cmd_list, "the trace units here, and what you may do with them"},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

void cli_complain(const char *what, const char *todo, const char *why_fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "auxtap: %s: ", what);
	va_start(args, why_fmt);
	vfprintf(stderr, why_fmt, args);
	va_end(args);
	if (todo && *todo)
		fprintf(stderr, "; %s", todo);
	fputc('\n', stderr);
}

void cli_error(const struct auxtap_error *err)
{
	cli_complain(err->what, err->todo, "%s", err->why);
}

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/*
 * What the first argument is of these; getopt_long()'s answer. "+": later ones are a command's. Each
 * scan begins with optind = 0, which makes getopt_long() forget the "+" of the scan before.
 */
static int first_option(int argc, char **argv, const char *letters, const struct option *of)
{
	optind = 0;
	opterr = 0;
	return getopt_long(argc, argv, letters, of, NULL);
}

bool cli_wants_help(int argc, char **argv)
{
	static const struct option help[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};

	return first_option(argc, argv, "+h", help) == 'h';
}

bool cli_unfinished(const struct auxtap_perfdata *pd)
{
	const struct auxtap_perfdata_info *info = auxtap_perfdata_info(pd);
	char behind[96] = "";

	if (!info->unfinished)
		return false;
	if (info->uncommitted)
		snprintf(behind, sizeof(behind),
			 ", %llu bytes behind the last commit are not read",
			 (unsigned long long)info->uncommitted);
	cli_complain(auxtap_perfdata_path(pd), NULL,
		     "the recorder did not finish this file (it was killed, or is still at it)%s; "
		     "the end is missing, and what is written last: build-ids, notes",
		     behind);
	return true;
}

static void usage(FILE *out)
{
	fprintf(out, "auxtap " AUXTAP_VERSION
		     ": captures and decodes hardware instruction traces\n\n"
		     "usage: auxtap COMMAND [OPTION]... [ARGUMENT]...\n\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-9s  %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n'auxtap COMMAND --help' tells a command's options.\n"
		     "Start with: auxtap crash -- ./program\n");
}

int main(int argc, char **argv)
{
	int opt;

	if (argc < 2) {
		usage(stderr);
		return CLI_USAGE;
	}
	opt = first_option(argc, argv, "+hV", options);
	if (opt == 'h' || !strcmp(argv[1], "help")) {
		usage(stdout);
		return CLI_OK;
	}
	if (opt == 'V') {
		puts("auxtap " AUXTAP_VERSION);
		return CLI_OK;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	cli_complain(argv[1], "see 'auxtap --help'", "no such command");
	return CLI_USAGE;
}
