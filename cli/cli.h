/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the subcommands: exit statuses, functions that print errors, the table of commands. */
#ifndef AUXTAP_CLI_H
#define AUXTAP_CLI_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <stdio.h>

/* Commands that run a program (record, crash) */
#define CLI_RUN_FAILED	   125
#define CLI_NOT_EXECUTABLE 126
#define CLI_NOT_FOUND	   127
/* Others */
#define CLI_OK	    0
#define CLI_DAMAGED 1 /* completed, but the file is damaged or violates a rule */
#define CLI_USAGE   2
#define CLI_FAILED  3

/* Prints "auxtap: what: why; hint" to stderr. */
void cli_error(const struct auxtap_error *err);
/* The same with the parts as arguments; hint may be NULL. */
void cli_errorf(const char *what, const char *hint, const char *why_fmt, ...) AUXTAP_PRINTF(3, 4);

/* Prints part of a line to stderr, control characters escaped. */
void cli_say(const char *fmt, ...) AUXTAP_PRINTF(1, 2);

/* Reports, only once, that standard output failed; code: an errno or 0. Returns CLI_FAILED. */
int cli_output_failed(int code);

struct options;
/* Prints why options_next() rejected an option; returns CLI_USAGE. */
int cli_bad_option(const struct options *o, const char *command);

/* Is the first argument -h, --help or an abbreviation of it? */
bool cli_wants_help(int argc, char **argv);

/*
 * Standard output for text that contains names from files: escapes control characters other than
 * newline and tab. The process has one such stream; a command that uses it must not use stdout.
 */
FILE *cli_safe_output(void);

struct auxtap_perfdata;
/* True, with an error message, if the recorder did not finish this file. */
bool cli_unfinished(const struct auxtap_perfdata *pd);

struct auxtap_core;
struct auxtap_pack_opts;
/* auxtap pack; out NULL: the default name. Prints the result. Returns an exit status. */
int cli_pack(const char *path, const char *out, const struct auxtap_pack_opts *opts);

struct auxtap_crash;

/* The differences between the commands record and crash. */
struct cli_capture {
	const char *name;
	const char *help;
	bool crash;
	/* crash: a snapshot file is complete */
	void (*on_snapshot)(void *ctx, const char *path, const struct auxtap_crash *crash);
	void (*on_core)(void *ctx, const struct auxtap_core *core, const struct auxtap_error *why);
};
int cli_capture(const struct cli_capture *kind, int argc, char **argv);
/* "SIGSEGV"; never NULL. The next call overwrites the result. */
const char *cli_signal_name(int signo);

struct option_row;

struct cli_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
	int failed;				 /* exit status if auxtap itself fails */
	const struct option_row *const *options; /* tables, up to NULL; NULL: no options */
	const struct cli_command *subcommands;	 /* like cli_commands; NULL: none */
	/* What follows the options: "FILE"; "CMD": a program and its arguments; NULL: nothing */
	const char *argument;
	bool paged; /* a pager shows its output on a terminal */
};
/* The last entry has name NULL. */
extern const struct cli_command cli_commands[];
extern const struct cli_command watermark_commands[];

extern const struct option_row *const audit_options[];
extern const struct option_row *const crash_options[];
extern const struct option_row *const decode_options[];
extern const struct option_row *const dump_options[];
extern const struct option_row *const gdb_options[];
extern const struct option_row *const gdbserver_options[];
extern const struct option_row *const pack_options[];
extern const struct option_row *const record_options[];
extern const struct option_row *const report_options[];

int cmd_audit(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv); /* argv[0] is "record" or "crash" */
int cmd_crash(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_dump(int argc, char **argv);
#define GDB_MAX_BTRACE (1u << 30) /* blocks; the limit of --btrace in gdb and gdbserver */
int cmd_gdb(int argc, char **argv);
int cmd_gdbserver(int argc, char **argv);
int cmd_watermark(int argc, char **argv);

#endif
