// SPDX-License-Identifier: BSD-2-Clause
/* auxtap gdb: starts the user's gdb on a recording, served by 'auxtap gdbserver'. */
#include "cli.h"
#include "image_options.h"
#include "raw_options.h"
#include "util/options.h"

#include <auxtap/perfdata.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OPT_GDB = 256, OPT_PID, OPT_MEMORY, OPT_CORE, OPT_BTRACE };

#define MAX_ARGUMENTS 1024
#define TIMEOUT	      "86400" /* s: a long trace is decoded before the first answer */

static const char help[] =
	"usage: auxtap gdb [OPTION]... [FILE] [-- GDB-ARGUMENT...]\n"
	"\n"
	"Opens a recording (default: auxtap.data) in gdb, where the program died, or where the\n"
	"trace ends. reverse-step, reverse-continue, ... go back from there. Needs gdb; for a\n"
	"program of AArch64 on another machine gdb-multiarch.\n"
	"\n"
	"  --gdb PROGRAM    run this gdb (default: gdb; gdb-multiarch for a program that\n"
	"                   is not for this machine)\n"
	"  --pid PID, --memory SIZE, --core FILE, --btrace[=NUMBER]\n"
	"                   as of 'auxtap gdbserver'\n"
	"  -h, --help       print help\n\n";

struct gdb_cmd {
	const char *gdb, *path;
	/* options for gdbserver, each once; value NULL: none */
	struct {
		const char *name, *value;
	} options[8];
	unsigned int nr_options;
	char btrace[64];	/* "--btrace" or "--btrace=NUMBER" */
	char *const *arguments; /* for gdb */
	int nr_arguments;
};

/* Appends text to a command of the shell that gdb starts, quoted. False: it is too long. */
static bool append_quoted(char *command, size_t size, const char *text)
{
	size_t len = strlen(command);

	if (len + 3 > size)
		return false;
	command[len++] = '\'';
	for (; *text; text++) {
		const char *escape = *text == '\'' ? "'\\''" : NULL;
		size_t nr = escape ? 4 : 1;

		if (len + nr + 3 > size || *text == '\n')
			return false;
		memcpy(command + len, escape ? escape : text, nr);
		len += nr;
	}
	command[len++] = '\'';
	command[len++] = ' ';
	command[len] = '\0';
	return true;
}

/* "target remote | '/usr/bin/auxtap' 'gdbserver' '--stdio' ... FILE" */
static bool connect_command(const struct gdb_cmd *cmd, char *command, size_t size)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool fits;

	if (len <= 0)
		return false;
	self[len] = '\0';
	snprintf(command, size, "target remote | ");
	fits = append_quoted(command, size, self) && append_quoted(command, size, "gdbserver") &&
	       append_quoted(command, size, "--stdio");
	for (unsigned int i = 0; i < cmd->nr_options && fits; i++)
		fits = append_quoted(command, size, cmd->options[i].name) &&
		       (!cmd->options[i].value ||
			append_quoted(command, size, cmd->options[i].value));
	return fits && append_quoted(command, size, "--") &&
	       append_quoted(command, size, cmd->path);
}

/* Properties of the recording that decide how gdb is started. */
struct gdb_needs {
	bool foreign;	    /* the file belongs to another user */
	bool other_machine; /* the program is for another architecture */
};

static int inspect_recording(const char *path, struct gdb_needs *needs)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	const uint64_t *priv;
	uint32_t type = 0;
	size_t nr;
	uid_t owner;

	if (auxtap_perfdata_open(&pd, path, &err)) {
		cli_error(&err);
		return CLI_FAILED;
	}
	needs->foreign = !auxtap_perfdata_owner(pd, &owner) || owner != getuid();
	auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr);
#ifdef __aarch64__
	needs->other_machine = type != AUXTAP_AUXTRACE_CS_ETM;
#else
	needs->other_machine = type == AUXTAP_AUXTRACE_CS_ETM;
#endif
	auxtap_perfdata_close(pd);
	return CLI_OK;
}

extern const char unwinder_py[];

/*
 * Writes the unwinder to a memfd, which exists as long as gdb runs; argument is its path. A gdb
 * without Python cannot use it. Returns false if there is no memory.
 */
static bool write_unwinder(char *argument, size_t size)
{
	static const char begin[] = "python\n", end[] = "end\n";
	int fd = memfd_create("auxtap-unwinder", 0);
	size_t len = strlen(unwinder_py);

	if (fd < 0 || write(fd, begin, sizeof(begin) - 1) < 0 ||
	    write(fd, unwinder_py, len) != (ssize_t)len || write(fd, end, sizeof(end) - 1) < 0)
		return false;
	snprintf(argument, size, "/proc/self/fd/%d", fd);
	return true;
}

static int exec_gdb(const struct gdb_cmd *cmd, const struct gdb_needs *needs)
{
	const char *argv[MAX_ARGUMENTS];
	char command[16384], unwinder[64];
	int nr = 0;

	if (cmd->nr_arguments > MAX_ARGUMENTS - 32) {
		cli_errorf("gdb", NULL, "too many arguments");
		return CLI_USAGE;
	}
	if (!connect_command(cmd, command, sizeof(command))) {
		cli_errorf(cmd->path, "rename it", "the name cannot be passed to gdb");
		return CLI_FAILED;
	}
	argv[nr++] = cmd->gdb ? cmd->gdb : needs->other_machine ? "gdb-multiarch" : "gdb";
	if (needs->foreign) {
		/* scripts beside the program would run with this user's rights */
		argv[nr++] = "-iex";
		argv[nr++] = "set auto-load off";
		argv[nr++] = "-iex";
		argv[nr++] = "set debuginfod enabled off";
	}
	argv[nr++] = "-iex";
	argv[nr++] = "set remotetimeout " TIMEOUT;
	if (write_unwinder(unwinder, sizeof(unwinder))) {
		argv[nr++] = "-x";
		argv[nr++] = unwinder;
	}
	argv[nr++] = "-ex";
	argv[nr++] = command;
	/* else 'reverse-next' may stop in another thread that calls the same function */
	argv[nr++] = "-ex";
	argv[nr++] = "set scheduler-locking step";
	for (int i = 0; i < cmd->nr_arguments; i++)
		argv[nr++] = cmd->arguments[i];
	argv[nr] = NULL;
	execvp(argv[0], (char *const *)argv);
	if (errno == ENOENT)
		cli_errorf(argv[0], needs->other_machine ? "install gdb-multiarch" : "install gdb",
			   "not found");
	else
		cli_errorf(argv[0], NULL, "cannot execute: %s", strerror(errno));
	return CLI_FAILED;
}

/* Adds an option for gdbserver. */
static void add_gdbserver_option(struct gdb_cmd *cmd, const char *name, const char *value)
{
	unsigned int i = 0;

	/* the last one of repeated options counts */
	while (i < cmd->nr_options && strcmp(cmd->options[i].name, name) != 0)
		i++;
	cmd->options[i].name = name;
	cmd->options[i].value = value;
	if (i == cmd->nr_options)
		cmd->nr_options++;
}

/* The optional value of --btrace must be in the same argument. */
static bool parse_btrace(struct gdb_cmd *cmd, const struct options *o)
{
	uint64_t number;

	snprintf(cmd->btrace, sizeof(cmd->btrace), "--btrace");
	add_gdbserver_option(cmd, cmd->btrace, NULL);
	if (!o->value)
		return true;
	if (!cli_number(o->value, GDB_MAX_BTRACE, &number) || !number) {
		cli_errorf(o->what, NULL, "'%s' is not a number from 1 to %u", o->value,
			   GDB_MAX_BTRACE);
		return false;
	}
	snprintf(cmd->btrace, sizeof(cmd->btrace), "--btrace=%" PRIu64, number);
	return true;
}

static const struct option_row own_options[] = {
	{OPT_GDB, "gdb", "FILE"},
	{OPT_PID, "pid", "PID"},
	{OPT_MEMORY, "memory", "SIZE"},
	{OPT_CORE, "core", "FILE"},
	{OPT_BTRACE, "btrace", "[NUMBER]"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const gdb_options[] = {own_options, image_option_rows, NULL};

/* Parses "[FILE] [-- GDB-ARGUMENT...]" from argv[first] on. False: printed an error. */
static bool parse_arguments(struct gdb_cmd *cmd, int argc, char **argv, int first)
{
	bool only_gdb_arguments = first > 1 && !strcmp(argv[first - 1], "--");

	if (first < argc && !only_gdb_arguments) {
		cmd->path = argv[first++];
		if (first < argc && strcmp(argv[first++], "--") != 0) {
			cli_errorf(argv[first - 1], "arguments for gdb come after '--'",
				   "too many arguments");
			return false;
		}
	}
	cmd->arguments = argv + first;
	cmd->nr_arguments = argc - first;
	return true;
}

int cmd_gdb(int argc, char **argv)
{
	struct gdb_cmd cmd = {.path = "auxtap.data"};
	struct gdb_needs needs = {0};
	struct options o;
	int opt, ret;

	options_start(&o, argc, argv, gdb_options, true);
	while ((opt = options_next(&o))) {
		switch (opt) {
		case OPT_GDB:
			cmd.gdb = o.value;
			break;
		case OPT_PID:
			add_gdbserver_option(&cmd, "--pid", o.value);
			break;
		case OPT_MEMORY:
			add_gdbserver_option(&cmd, "--memory", o.value);
			break;
		case OPT_CORE:
			add_gdbserver_option(&cmd, "--core", o.value);
			break;
		case OPT_BTRACE:
			if (!parse_btrace(&cmd, &o))
				return CLI_USAGE;
			break;
		case IMAGE_OPT_SYSROOT:
			add_gdbserver_option(&cmd, "--sysroot", o.value);
			break;
		case IMAGE_OPT_VMLINUX:
			add_gdbserver_option(&cmd, "--vmlinux", o.value);
			break;
		case IMAGE_OPT_KCORE:
			add_gdbserver_option(&cmd, "--kcore", o.value);
			break;
		case IMAGE_OPT_DEBUGINFOD:
			add_gdbserver_option(&cmd, "--debuginfod", NULL);
			break;
		case 'h':
			fputs(help, stdout);
			fputs(image_options_help, stdout);
			return CLI_OK;
		default:
			return cli_bad_option(&o, "gdb");
		}
	}
	if (!parse_arguments(&cmd, argc, argv, options_end(&o)))
		return CLI_USAGE;
	ret = inspect_recording(cmd.path, &needs);
	return ret ? ret : exec_gdb(&cmd, &needs);
}
