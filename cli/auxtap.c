// SPDX-License-Identifier: BSD-2-Clause
/* The auxtap command: picks the subcommand. */
#include "cli.h"

#include <auxtap/text.h>

#include <auxtap/perfdata.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
	int failed; /* exit status where auxtap itself fails */
};

/* clang-format off */
static const struct command commands[] = {
#ifdef AUXTAP_HAVE_DECODE
	{"crash", cmd_crash, "run a program with a flight recorder; report its last moments if it dies",
	 CLI_RUN_FAILED},
#endif
	{"record", cmd_record, "record a full trace, or a snapshot with -S", CLI_RUN_FAILED},
#ifdef AUXTAP_HAVE_DECODE
	{"report", cmd_report, "summarise a recording: crash report, or overview", CLI_FAILED},
	{"decode", cmd_decode, "print the executed flow: instructions, branches, calls, gaps",
	 CLI_FAILED},
	{"dump", cmd_dump, "list every record and every packet, with offsets", CLI_FAILED},
#endif
	{"watermark", cmd_watermark, "simulate and check watermark and interrupt behaviour",
	 CLI_FAILED},
	{"audit", cmd_audit, "check a recording's AUX transactions against the kernel's rules",
	 CLI_FAILED},
	{"list", cmd_list, "list this machine's trace units and what you may do with them",
	 CLI_FAILED},
};
/* clang-format on */

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

void cli_say(const char *fmt, ...)
{
	char line[8192], safe[4 * sizeof(line)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	auxtap_text_escape(safe, sizeof(safe), line, strlen(line));
	fputs(safe, stderr);
}

void cli_errorf(const char *what, const char *todo, const char *why_fmt, ...)
{
	char line[2048], safe[4 * sizeof(line)];
	va_list args;
	size_t at;

	fflush(NULL);
	at = (size_t)snprintf(line, sizeof(line), "auxtap: %s: ", what);
	if (at >= sizeof(line))
		at = sizeof(line) - 1;
	va_start(args, why_fmt);
	at += (size_t)vsnprintf(line + at, sizeof(line) - at, why_fmt, args);
	va_end(args);
	if (at >= sizeof(line))
		at = sizeof(line) - 1;
	if (todo && *todo)
		snprintf(line + at, sizeof(line) - at, "; %s", todo);
	/* The line contains file names and names from files. */
	auxtap_text_escape(safe, sizeof(safe), line, strlen(line));
	fprintf(stderr, "%s\n", safe);
}

/* The reader closed its end of the pipe, as in 'auxtap … | head': not a failure. */
static bool reader_is_gone(int code)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (code)
		return code == EPIPE;
	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

static bool output_reported;

int cli_output_failed(int code)
{
	if (!output_reported)
		cli_errorf("standard output", "the output is incomplete", "cannot write%s%s",
			   code ? ": " : " all output", code ? strerror(code) : "");
	output_reported = true;
	return CLI_FAILED;
}

/* Checks, for every command, that all of its output was written. */
static int close_output(int status, int failed)
{
	int code = fflush(cli_safe_output()) || fflush(stdout) ? errno : 0;

	if (!ferror(stdout) || output_reported || reader_is_gone(code))
		return status;
	cli_output_failed(code);
	return failed;
}

void cli_error(const struct auxtap_error *err)
{
	cli_errorf(err->what, err->todo, "%s", err->why);
}

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/*
 * Looks the first argument up in these options; returns what getopt_long() returns. letters begin
 * with "+", because later arguments belong to a command. Each scan sets optind to 0, which makes
 * getopt_long() forget the "+" of the previous scan.
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
	const struct auxtap_perfdata_info *info = auxtap_perfdata_get_info(pd);
	char uncommitted[96] = "";

	if (!info->unfinished)
		return false;
	if (info->uncommitted)
		snprintf(uncommitted, sizeof(uncommitted),
			 ", %llu bytes after the last commit are not read",
			 (unsigned long long)info->uncommitted);
	cli_errorf(auxtap_perfdata_path(pd), NULL,
		   "the recorder did not finish this file (it was killed or is still running)%s; "
		   "the end is missing, including build-ids and the metadata trailer",
		   uncommitted);
	return true;
}

static void usage(FILE *out)
{
	fprintf(out,
		"auxtap " AUXTAP_VERSION ": captures and decodes hardware instruction traces\n\n"
		"usage: auxtap COMMAND [OPTION]... [ARGUMENT]...\n\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-9s  %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n'auxtap COMMAND --help' lists the options of a command.\n"
		     "Start with: auxtap crash -- ./program\n");
}

/* *failed: the command's exit status where auxtap itself fails. */
static int run(int argc, char **argv, int *failed)
{
	int opt;

	*failed = CLI_FAILED;
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
		if (strcmp(argv[1], commands[i].name))
			continue;
		*failed = commands[i].failed;
		return commands[i].run(argc - 1, argv + 1);
	}
	cli_errorf(argv[1], "see 'auxtap --help'", "no such command");
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	int failed, status = run(argc, argv, &failed);

	return close_output(status, failed);
}
