// SPDX-License-Identifier: BSD-2-Clause
/* auxtap report: summarises a recording. */
#include "cli.h"
#include "crash_guard.h"
#include "image_options.h"
#include "pager.h"
#include "raw_options.h"
#include "cli/report/report_output.h"
#include "cli/report/report_page.h"

#include <auxtap/decode.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: auxtap report [OPTION]... [FILE]\n"
	"\n"
	"For a snapshot written by 'auxtap crash': what died, where, why, and the calls and\n"
	"branches that led there. For any other trace: the hottest functions, the calls in which most\n"
	"was executed, and an overview. Both list which images are needed, found, missing or\n"
	"different. FILE (default: auxtap.data) may be the directory\n"
	"of a CoreSight snapshot (snapshot.ini).\n"
	"\n"
	"  --branches N     print the last N branches (default: 16, at most 64)\n"
	"  --calls N        print up to N lines of the call tree (default: at most 40, without\n"
	"                   the runtime's calls before main); without a crash of each thread\n"
	"                   (default: of the busiest one)\n"
	"  --format FORMAT  text; json: everything the text says, for programs; names in full, up to\n"
	"                   2000 lines of the call tree (docs/report-json.md); or html: the same as\n"
	"                   one page for a browser, with source lines (default: text)\n"
	"  --color WHEN     always, never, or auto: on a terminal (default: auto)\n"
	"  -h, --help       print help\n\n";

struct report_cmd {
	struct auxtap_report_opts opts;
	struct auxtap_image_set_opts images;
	struct raw_options raw;
	const char *path;
	enum report_output output;
};

/* Reports on a raw stream or the directory of a CoreSight snapshot. */
static int report_raw(const struct report_cmd *cmd, FILE *out, struct auxtap_error *err)
{
	struct auxtap_image_set *images;
	int ret = auxtap_image_set_new(&images, &cmd->images, err);

	if (ret)
		return ret;
	ret = raw_options_add_images(&cmd->raw, images, err);
	if (!ret && !cmd->raw.is_raw)
		ret = auxtap_report_snapshot(cmd->path, images, &cmd->opts, out, err);
	else if (!ret)
		ret = auxtap_report_raw(cmd->path, &cmd->raw.raw, images, &cmd->opts, out, err);
	auxtap_image_set_free(images);
	return ret;
}

static int report_to(const struct report_cmd *cmd, FILE *out)
{
	const struct auxtap_trace_family *family;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	bool unfinished = false;
	int ret;

	crash_guard_install(cmd->path);
	if (cmd->raw.is_raw || auxtap_is_coresight_snapshot(cmd->path)) {
		ret = report_raw(cmd, out, &err);
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
		ret = auxtap_report(pd, &cmd->opts, out, &err);
		unfinished = cli_unfinished(pd);
		auxtap_perfdata_close(pd);
	}
	if (ret < 0) {
		cli_error(&err);
		return ret == -EBADMSG ? CLI_DAMAGED : CLI_FAILED;
	}
	return unfinished ? CLI_DAMAGED : CLI_OK;
}

static int report(const struct report_cmd *cmd)
{
	FILE *page;
	int ret;

	if (cmd->output != REPORT_OUTPUT_HTML)
		return report_to(cmd, stdout);
	page = report_page_open(stdout);
	if (!page) {
		cli_errorf("--format html", NULL, "%s", strerror(errno));
		return CLI_FAILED;
	}
	ret = report_to(cmd, page);
	if (fclose(page) && !ferror(stdout)) /* close_output() reports an error of stdout */
		return cli_output_failed(errno);
	return ret;
}

static int parse_row_count(const char *option, const char *text, unsigned int max,
			   unsigned int *value)
{
	uint64_t n = 0;

	if (!cli_number(text, max, &n) || !n) {
		cli_errorf(option, NULL, "'%s' is not a number from 1 to %u", text, max);
		return -1;
	}
	*value = (unsigned int)n;
	return 0;
}

enum {
	OPT_BRANCHES = 256,
	OPT_CALLS,
	OPT_FORMAT,
	OPT_COLOR,
};

static const struct option_row own_options[] = {
	{OPT_BRANCHES, "branches", "N"},
	{OPT_CALLS, "calls", "N"},
	{OPT_FORMAT, "format", "text|json|html"},
	{OPT_COLOR, "color", "always|never|auto"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const report_options[] = {own_options, image_option_rows, raw_option_rows,
						   NULL};

int cmd_report(int argc, char **argv)
{
	static struct report_cmd cmd;
	struct options o;
	int option, first, ret;

	cmd = (struct report_cmd){.opts = {.size = sizeof(cmd.opts), .images = &cmd.images},
				  .images = {.size = sizeof(cmd.images)},
				  .path = "auxtap.data"};
	raw_options_init(&cmd.raw);
	cmd.opts.colour = pager_or_terminal() && !getenv("NO_COLOR");
	options_start(&o, argc, argv, report_options, false);
	while ((option = options_next(&o))) {
		switch (option) {
		case OPT_BRANCHES:
			if (parse_row_count(o.what, o.value, 64, &cmd.opts.nr_branches))
				return CLI_USAGE;
			break;
		case OPT_CALLS:
			if (parse_row_count(o.what, o.value, 100000, &cmd.opts.nr_calls))
				return CLI_USAGE;
			break;
		case OPT_FORMAT:
			if (!report_output_parse(o.what, o.value, &cmd.output))
				return CLI_USAGE;
			cmd.opts.format = report_output_format(cmd.output);
			break;
		case OPT_COLOR:
			if (!strcmp(o.value, "always"))
				cmd.opts.colour = true;
			else if (!strcmp(o.value, "never"))
				cmd.opts.colour = false;
			else if (strcmp(o.value, "auto") != 0) {
				cli_errorf(o.what, "give always, never or auto",
					   "unknown value '%s'", o.value);
				return CLI_USAGE;
			}
			break;
		case 'h':
			fputs(help, stdout);
			fputs(image_options_help, stdout);
			fputc('\n', stdout);
			fputs(raw_options_help, stdout);
			return CLI_OK;
		case OPTIONS_BAD:
			return cli_bad_option(&o, "report");
		default:
			if (image_options_parse(&cmd.images, option, o.value))
				break;
			ret = raw_options_parse(&cmd.raw, option, o.value);
			if (ret)
				return ret;
			break;
		}
	}
	first = options_end(&o);
	if (argc - first > 1) {
		cli_errorf(argv[first + 1], "give one file", "too many arguments");
		return CLI_USAGE;
	}
	if (first < argc)
		cmd.path = argv[first];
	/* A CoreSight snapshot may lack images, too: allow --image without --raw. */
	if (!cmd.raw.is_raw && auxtap_is_coresight_snapshot(cmd.path))
		cmd.raw.given &= ~(1u << (RAW_OPT_IMAGE - RAW_OPT_FIRST));
	ret = raw_options_check(&cmd.raw, "report", first < argc);
	if (!ret)
		ret = raw_options_parse_images(&cmd.raw);
	if (ret)
		return ret;
	return report(&cmd);
}
