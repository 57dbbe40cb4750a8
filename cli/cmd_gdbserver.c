// SPDX-License-Identifier: BSD-2-Clause
/* auxtap gdbserver: serves a recording to gdb through standard input and output. */
#include "cli.h"
#include "crash_guard.h"
#include "image_options.h"
#include "raw_options.h"
#include <auxtap/gdb.h>
#include "util/options.h"

#include <auxtap/decode.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static const char help[] =
	"usage: auxtap gdbserver --stdio [OPTION]... [FILE]\n"
	"\n"
	"Serves a recording (default: auxtap.data) to gdb, which steps backwards through it:\n"
	"\n"
	"    (gdb) target remote | auxtap gdbserver --stdio FILE\n"
	"\n"
	"'auxtap gdb FILE' starts gdb with that command. Nothing is written or executed for gdb.\n"
	"\n"
	"  --stdio          talk to gdb through standard input and output\n"
	"  --pid PID        show this process (default: the one that died, else the one with\n"
	"                   the most instructions)\n"
	"  --memory SIZE    keep at most SIZE MiB of history (default: 1024)\n"
	"  --core FILE      a core file of the recorded death: all memory and registers at that\n"
	"                   point; one of another process or moment is refused\n"
	"  --btrace[=NUMBER]\n"
	"                   serve the newest NUMBER of blocks (default: 100000) as branch trace\n"
	"                   for gdb's 'record function-call-history', 'record instruction-history'\n"
	"  -h, --help       print help\n\n";

struct gdbserver_cmd {
	struct auxtap_gdb_opts opts;
	struct auxtap_image_set_opts images;
	const char *path;
	bool stdio;
};

#define CLIENT_MS 10000

/*
 * gdb shows what this process wrote to stderr when it reads an answer; not if its first packet
 * finds the pipe closed. Waits for that packet.
 */
static void await_client(int in)
{
	struct pollfd ready = {.fd = in, .events = POLLIN};

	fflush(stderr);
	if (!isatty(in))
		(void)poll(&ready, 1, CLIENT_MS);
}

static int serve(const struct gdbserver_cmd *cmd)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	int ret;

	crash_guard_install(cmd->path);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for gdb; this process may be in its process group */
	ret = auxtap_perfdata_open(&pd, cmd->path, &err);
	if (ret) {
		cli_error(&err);
		return CLI_FAILED;
	}
	cli_unfinished(pd);
	ret = auxtap_image_set_new(&images, &cmd->images, &err);
	if (!ret) {
		ret = auxtap_gdb_serve(pd, images, &cmd->opts, &err);
		auxtap_image_set_free(images);
	}
	auxtap_perfdata_close(pd);
	if (ret)
		cli_error(&err);
	return ret ? CLI_FAILED : CLI_OK;
}

enum { OPT_STDIO = 256, OPT_PID, OPT_MEMORY, OPT_CORE, OPT_BTRACE };

#define BTRACE_BLOCKS 100000

static const struct option_row own_options[] = {
	{OPT_STDIO, "stdio", NULL},
	{OPT_PID, "pid", "PID"},
	{OPT_MEMORY, "memory", "SIZE"},
	{OPT_CORE, "core", "FILE"},
	{OPT_BTRACE, "btrace", "[NUMBER]"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const gdbserver_options[] = {own_options, image_option_rows, NULL};

/* Parses a number from 1 to max. */
static bool parse_number(const struct options *o, uint64_t max, uint64_t *number)
{
	if (cli_number(o->value, max, number) && *number)
		return true;
	cli_errorf(o->what, NULL, "'%s' is not a number from 1 to %" PRIu64, o->value, max);
	return false;
}

int cmd_gdbserver(int argc, char **argv)
{
	struct gdbserver_cmd cmd = {
		.opts = {.size = sizeof(cmd.opts), .in = STDIN_FILENO, .out = STDOUT_FILENO},
		.images = {.size = sizeof(cmd.images)},
		.path = "auxtap.data",
	};
	struct options o;
	uint64_t number;
	int opt, first, ret;

	options_start(&o, argc, argv, gdbserver_options, false);
	while ((opt = options_next(&o))) {
		switch (opt) {
		case OPT_STDIO:
			cmd.stdio = true;
			break;
		case OPT_PID:
			if (!parse_number(&o, INT32_MAX, &number))
				return CLI_USAGE;
			cmd.opts.pid = (int32_t)number;
			break;
		case OPT_MEMORY:
			if (!parse_number(&o, 1u << 20, &number))
				return CLI_USAGE;
			cmd.opts.memory = number << 20;
			break;
		case OPT_CORE:
			cmd.opts.core = o.value;
			break;
		case OPT_BTRACE:
			number = BTRACE_BLOCKS;
			if (o.value && !parse_number(&o, GDB_MAX_BTRACE, &number))
				return CLI_USAGE;
			cmd.opts.btrace = number;
			break;
		case 'h':
			fputs(help, stdout);
			fputs(image_options_help, stdout);
			return CLI_OK;
		default:
			if (image_options_parse(&cmd.images, opt, o.value))
				break;
			return cli_bad_option(&o, "gdbserver");
		}
	}
	first = options_end(&o);
	if (argc - first > 1) {
		cli_errorf(argv[first + 1], "give one file", "too many arguments");
		return CLI_USAGE;
	}
	if (first < argc)
		cmd.path = argv[first];
	if (!cmd.stdio) {
		cli_errorf("gdbserver", "use --stdio", "no other connection than a pipe is served");
		return CLI_USAGE;
	}
	ret = serve(&cmd);
	if (ret != CLI_OK)
		await_client(cmd.opts.in);
	return ret;
}
