// SPDX-License-Identifier: BSD-2-Clause
/* auxtap report: summarises a recording. */
#include "cli.h"
#include "crash_guard.h"
#include "raw_options.h"

#include <auxtap/decode.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: auxtap report [OPTION]... [FILE]\n"
	"\n"
	"For a snapshot written by 'auxtap crash': what died, where, why, and the calls and\n"
	"branches that led there. For any other trace: an overview. Both list which images are\n"
	"needed, found, missing or different. FILE (default: auxtap.data) may be the directory\n"
	"of a CoreSight snapshot (snapshot.ini).\n"
	"\n"
	"  --branches N     print the last N branches (default: 16, at most 64)\n"
	"  --calls N        print up to N lines of the call tree (default: at most 40, without\n"
	"                   the runtime's calls before main)\n"
	"  --sysroot DIR    look for images under DIR first\n"
	"  --vmlinux FILE, --kcore FILE\n"
	"                   the kernel's image\n"
	"  --debuginfod     ask the servers in DEBUGINFOD_URLS for missing images\n"
	"  --color WHEN     always, never, or auto: on a terminal (default: auto)\n"
	"  -h, --help       print help\n\n";

struct report_cmd {
	struct auxtap_report_opts opts;
	struct raw_options raw;
	const char *path;
};

/* A raw stream, or the directory of a CoreSight snapshot. */
static int report_raw(const struct report_cmd *cmd, struct auxtap_error *err)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts),
						   .sysroot = cmd->opts.sysroot,
						   .vmlinux = cmd->opts.vmlinux,
						   .kcore = cmd->opts.kcore,
						   .debuginfod = cmd->opts.debuginfod};
	struct auxtap_image_set *images;
	int ret;

	ret = auxtap_image_set_new(&images, &image_opts, err);
	if (ret)
		return ret;
	ret = raw_options_images(&cmd->raw, images, err);
	if (!ret && !cmd->raw.is_raw)
		ret = auxtap_report_snapshot(cmd->path, images, &cmd->opts, stdout, err);
	else if (!ret)
		ret = auxtap_report_raw(cmd->path, &cmd->raw.raw, images, &cmd->opts, stdout, err);
	auxtap_image_set_free(images);
	return ret;
}

static int report(const struct report_cmd *cmd)
{
	const struct auxtap_trace_family *family;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	bool unfinished = false;
	int ret;

	crash_guard_install(cmd->path);
	if (cmd->raw.is_raw || auxtap_is_snapshot(cmd->path)) {
		ret = report_raw(cmd, &err);
	} else {
		ret = auxtap_perfdata_open(&pd, cmd->path, &err);
		if (ret < 0) {
			cli_error(&err);
			return CLI_FAILED;
		}
		family = auxtap_family_of_file(pd);
		if ((cmd->opts.nr_branches || cmd->opts.nr_calls) && family && family->samples)
			cli_errorf(cmd->path, NULL,
				   "this file contains %s, so no last branches and no call tree",
				   family->contents);
		ret = auxtap_report(pd, &cmd->opts, stdout, &err);
		unfinished = cli_unfinished(pd);
		auxtap_perfdata_close(pd);
	}
	if (ret < 0) {
		cli_error(&err);
		return ret == -EBADMSG ? CLI_DAMAGED : CLI_FAILED;
	}
	return unfinished ? CLI_DAMAGED : CLI_OK;
}

static int row_count(const char *option, const char *text, unsigned int max, unsigned int *value)
{
	uint64_t n = 0;

	if (!cli_number(text, max, &n) || !n) {
		cli_errorf(option, NULL, "'%s' is not a number from 1 to %u", text, max);
		return -1;
	}
	*value = (unsigned int)n;
	return 0;
}

int cmd_report(int argc, char **argv)
{
	/* clang-format off */
	static const struct option options[] = {
		{"branches", required_argument, NULL, 'b'},
		{"calls", required_argument, NULL, 'c'},
		{"sysroot", required_argument, NULL, 's'},
		{"color", required_argument, NULL, 'C'},
		{"vmlinux", required_argument, NULL, 'v'},
		{"kcore", required_argument, NULL, 'k'},
		{"debuginfod", no_argument, NULL, 'd'},
		RAW_OPTIONS,
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	/* clang-format on */
	static struct report_cmd cmd;
	int option, ret;

	cmd = (struct report_cmd){.opts = {.size = sizeof(cmd.opts)}, .path = "auxtap.data"};
	raw_options_init(&cmd.raw);
	cmd.opts.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			if (row_count("--branches", optarg, 64, &cmd.opts.nr_branches))
				return CLI_USAGE;
			break;
		case 'c':
			if (row_count("--calls", optarg, 100000, &cmd.opts.nr_calls))
				return CLI_USAGE;
			break;
		case 's':
			cmd.opts.sysroot = optarg;
			break;
		case 'v':
			cmd.opts.vmlinux = optarg;
			break;
		case 'k':
			cmd.opts.kcore = optarg;
			break;
		case 'd':
			cmd.opts.debuginfod = true;
			break;
		case 'C':
			if (!strcmp(optarg, "always"))
				cmd.opts.colour = true;
			else if (!strcmp(optarg, "never"))
				cmd.opts.colour = false;
			else if (strcmp(optarg, "auto") != 0) {
				cli_errorf("--color", "give always, never or auto",
					   "unknown value '%s'", optarg);
				return CLI_USAGE;
			}
			break;
		case 'h':
			fputs(help, stdout);
			fputs(raw_options_help, stdout);
			return CLI_OK;
		case '?':
		case ':':
			cli_errorf(argv[optind - 1], "see 'auxtap report --help'", "%s",
				   option == ':' ? "option requires an argument" :
						   "no such option");
			return CLI_USAGE;
		default:
			ret = raw_options_parse(&cmd.raw, option, optarg);
			if (ret)
				return ret;
			break;
		}
	}
	if (argc - optind > 1) {
		cli_errorf(argv[optind + 1], "give one file", "too many arguments");
		return CLI_USAGE;
	}
	if (optind < argc)
		cmd.path = argv[optind];
	/* A snapshot, too, may not contain all images: allow --image without --raw. */
	if (!cmd.raw.is_raw && auxtap_is_snapshot(cmd.path))
		cmd.raw.given &= ~(1u << (RAW_OPT_IMAGE - RAW_OPT_FIRST));
	ret = raw_options_check(&cmd.raw, "report", optind < argc);
	if (!ret)
		ret = raw_options_parse_images(&cmd.raw);
	if (ret)
		return ret;
	return report(&cmd);
}
