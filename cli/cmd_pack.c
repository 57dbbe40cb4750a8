// SPDX-License-Identifier: BSD-2-Clause
/* auxtap pack: writes a recording and everything that decoding it requires to one file. */
#include "cli.h"
#include "crash_guard.h"
#include "image_options.h"
#include "util/options.h"

#include <auxtap/pack.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: auxtap pack (--redact|--with-memory) [OPTION]... [FILE]\n"
	"\n"
	"Writes FILE (default: auxtap.data) with the parts of programs and libraries that decoding\n"
	"and report need into one file, which decodes anywhere. Give one of:\n"
	"\n"
	"  --redact         keep flow, names and registers; leave out memory, arguments, strings\n"
	"                   and lines of source files\n"
	"  --with-memory    keep all that FILE contains, the program's memory, too\n"
	"\n"
	"  -o OUT           write to OUT (default: FILE.packed); an old file becomes OUT.old\n"
	"  -h, --help       print help\n\n";

static int print_failure(const struct auxtap_error *err)
{
	cli_error(err);
	return err->code == -EBADMSG ? CLI_DAMAGED : CLI_FAILED;
}

static void print_result(const char *out, const struct auxtap_pack_result *result, bool requested)
{
	cli_say("auxtap: %s: %.1f MiB (trace: %.1f), %u images; ", out,
		(double)result->file_size / 1048576, (double)result->trace_size / 1048576,
		result->nr_images);
	fputs(!result->redacted ? "it contains memory of the program: see who may read it\n" :
	      requested		? "it contains no memory of the program\n" :
				  "it contains no memory of the program: the recording is redacted\n",
	      stderr);
	if (result->nr_missing)
		cli_errorf(
			result->missing, "give a directory with them: --sysroot DIR",
			"%u image%s that the trace needs %s missing, here and in the packed file",
			result->nr_missing, result->nr_missing == 1 ? "" : "s",
			result->nr_missing == 1 ? "is" : "are");
}

int cli_pack(const char *path, const char *out, const struct auxtap_pack_opts *opts)
{
	struct auxtap_pack_result result = {.size = sizeof(result)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	char name[4200];
	bool unfinished;
	int ret;

	if (auxtap_perfdata_open(&pd, path, &err) < 0)
		return print_failure(&err);
	unfinished = cli_unfinished(pd);
	if (!out) {
		snprintf(name, sizeof(name), "%s.packed", path);
		out = name;
	}
	ret = auxtap_pack(pd, out, opts, &result, &err);
	auxtap_perfdata_close(pd);
	if (ret)
		return print_failure(&err);
	print_result(out, &result, opts->redact);
	return unfinished ? CLI_DAMAGED : CLI_OK;
}

enum {
	OPT_REDACT = 256,
	OPT_WITH_MEMORY,
};

static const struct option_row own_options[] = {
	{OPT_REDACT, "redact", NULL},
	{OPT_WITH_MEMORY, "with-memory", NULL},
	{'o', NULL, "FILE"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const pack_options[] = {own_options, image_option_rows, NULL};

int cmd_pack(int argc, char **argv)
{
	struct auxtap_image_set_opts images = {.size = sizeof(images)};
	struct auxtap_pack_opts opts = {.size = sizeof(opts), .images = &images};
	const char *out = NULL, *path;
	bool with_memory = false;
	struct options o;
	int option, first;

	options_start(&o, argc, argv, pack_options, false);
	while ((option = options_next(&o))) {
		switch (option) {
		case OPT_REDACT:
			opts.redact = true;
			break;
		case OPT_WITH_MEMORY:
			with_memory = true;
			break;
		case 'o':
			out = o.value;
			break;
		case 'h':
			fputs(help, stdout);
			fputs(image_options_help, stdout);
			return CLI_OK;
		default:
			if (image_options_parse(&images, option, o.value))
				break;
			return cli_bad_option(&o, "pack");
		}
	}
	first = options_end(&o);
	if (argc - first > 1) {
		cli_errorf(argv[first + 1], "give one file", "too many arguments");
		return CLI_USAGE;
	}
	if (opts.redact == with_memory) {
		cli_errorf("pack",
			   "give --redact (flow, names and registers) or --with-memory (all of it)",
			   with_memory ? "it cannot be both with memory and without" :
					 "a snapshot contains memory of the program");
		return CLI_USAGE;
	}
	path = first < argc ? argv[first] : "auxtap.data";
	signal(SIGXFSZ, SIG_IGN); /* then a failed write is an error, and the file is removed */
	crash_guard_install(path);
	return cli_pack(path, out, &opts);
}
