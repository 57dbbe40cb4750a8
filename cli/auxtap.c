// SPDX-License-Identifier: BSD-2-Clause
/* The auxtap command: runs a subcommand. */
#include "cli.h"
#include "pager.h"
#include "util/options.h"

#include <auxtap/text.h>

#include <auxtap/perfdata.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct cli_command cli_commands[] = {
#ifdef AUXTAP_HAVE_DECODE
	{"crash", cmd_crash, "run a program with a flight recorder; report its last moments if it dies",
	 .failed = CLI_RUN_FAILED, .options = crash_options, .argument = "CMD"},
#endif
	{"record", cmd_record, "record a full trace, or a snapshot with -S",
	 .failed = CLI_RUN_FAILED, .options = record_options, .argument = "CMD"},
#ifdef AUXTAP_HAVE_DECODE
	{"report", cmd_report, "summarise a recording: crash report, or overview",
	 .failed = CLI_FAILED, .options = report_options, .argument = "FILE", .paged = true},
	{"decode", cmd_decode, "print the control flow: instructions, branches, calls, gaps",
	 .failed = CLI_FAILED, .options = decode_options, .argument = "FILE", .paged = true},
	{"gdb", cmd_gdb, "open a recording in gdb, which steps backwards through it",
	 .failed = CLI_FAILED, .options = gdb_options, .argument = "FILE"},
	{"gdbserver", cmd_gdbserver, "serve a recording to gdb through a pipe",
	 .failed = CLI_FAILED, .options = gdbserver_options, .argument = "FILE"},
	{"pack", cmd_pack, "put a recording and what decoding it takes into one file",
	 .failed = CLI_FAILED, .options = pack_options, .argument = "FILE"},
	{"dump", cmd_dump, "list every record and every packet, with offsets",
	 .failed = CLI_FAILED, .options = dump_options, .argument = "FILE", .paged = true},
#endif
	{"watermark", cmd_watermark, "simulate and check watermark and interrupt behaviour",
	 .failed = CLI_FAILED, .subcommands = watermark_commands},
	{"audit", cmd_audit, "check a recording's AUX transactions against the kernel's rules",
	 .failed = CLI_FAILED, .options = audit_options, .argument = "FILE", .paged = true},
	{"list", cmd_list, "list this machine's trace units and what you may do with them",
	 .failed = CLI_FAILED},
	{"completion", cmd_completion, "print a script that completes these commands in bash or zsh",
	 .failed = CLI_FAILED, .argument = "bash|zsh"},
	{0},
};
/* clang-format on */

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

void cli_errorf(const char *what, const char *hint, const char *why_fmt, ...)
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
	if (hint && *hint)
		snprintf(line + at, sizeof(line) - at, "; %s", hint);
	/* The line contains file names and names from files. */
	auxtap_text_escape(safe, sizeof(safe), line, strlen(line));
	fprintf(stderr, "%s\n", safe);
}

/* Has the reader closed its end of the pipe, as in 'auxtap … | head'? That is not a failure. */
static bool reader_closed_pipe(int code)
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

	if (!ferror(stdout) || output_reported || reader_closed_pipe(code))
		return status;
	cli_output_failed(code);
	return failed;
}

void cli_error(const struct auxtap_error *err)
{
	cli_errorf(err->what, err->hint, "%s", err->why);
}

int cli_bad_option(const struct options *o, const char *command)
{
	char hint[96];

	snprintf(hint, sizeof(hint), "see 'auxtap %s%s--help'", command, *command ? " " : "");
	cli_errorf(o->what, hint, "%s", o->why);
	return CLI_USAGE;
}

/* The id of the first argument, 0 if it is no option: later options belong to a command. */
static int first_option_id(int argc, char **argv, const struct option_row *table)
{
	const struct option_row *const tables[] = {table, NULL};
	struct options o;

	options_start(&o, argc, argv, tables, true);
	return options_next(&o);
}

bool cli_wants_help(int argc, char **argv)
{
	static const struct option_row help[] = {{'h', "help", NULL}, {0}};

	return first_option_id(argc, argv, help) == 'h';
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
	for (const struct cli_command *c = cli_commands; c->name; c++)
		fprintf(out, "  %-10s  %s\n", c->name, c->help);
	fprintf(out, "\n'auxtap COMMAND --help' lists the options of a command.\n"
		     "Start with: auxtap crash -- ./program\n"
		     "On a terminal, long output is shown in a pager; 'auxtap --no-pager COMMAND' "
		     "prints it.\n");
}

enum {
	OPT_NO_PAGER = 256,
};

static const struct option_row options[] = {
	{'h', "help", NULL},
	{'V', "version", NULL},
	{OPT_NO_PAGER, "no-pager", NULL},
	{0},
};

/* Sets *failed to the exit status that the command uses if auxtap itself fails. */
static int run_command(int argc, char **argv, int *failed)
{
	bool no_pager;
	int opt;

	*failed = CLI_FAILED;
	opt = first_option_id(argc, argv, options);
	no_pager = opt == OPT_NO_PAGER;
	if (no_pager) {
		argc--;
		argv++;
		opt = first_option_id(argc, argv, options);
	}
	if (argc < 2) {
		usage(stderr);
		return CLI_USAGE;
	}
	if (opt == 'h' || !strcmp(argv[1], "help")) {
		usage(stdout);
		return CLI_OK;
	}
	if (opt == 'V') {
		puts("auxtap " AUXTAP_VERSION);
		return CLI_OK;
	}
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (strcmp(argv[1], c->name) != 0)
			continue;
		*failed = c->failed;
		if (c->paged && !no_pager)
			pager_start();
		return c->run(argc - 1, argv + 1);
	}
	cli_errorf(argv[1], "see 'auxtap --help'", "no such command");
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	int failed, status = run_command(argc, argv, &failed);

	status = close_output(status, failed);
	pager_finish();
	return status;
}
