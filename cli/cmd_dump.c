// SPDX-License-Identifier: BSD-2-Clause
/* auxtap dump: every record and every packet of a file, with offsets. The listing is
 * decode/dump*.c. */
#include "cli.h"
#include "../decode/dump.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void usage(FILE *out)
{
	fputs("usage: auxtap dump [OPTION]... FILE\n\n"
	      "Lists the header, the attributes, the features, every record and every "
	      "packet of a\n"
	      "perf.data file, with offsets. FILE may be a directory of 'perf record "
	      "--threads',\n"
	      "or '-' for standard input. PAD packets are left out.\n\n"
	      "  --no-packets  leave out the packets of AUXTRACE records\n"
	      "  --raw pt      FILE is a bare stream of Intel PT\n"
	      "  --help        this text\n\n"
	      "Exit status: 0 all listed; 1 listed as far as possible, the file is "
	      "damaged;\n"
	      "2 usage; 3 could not be done.\n",
	      out);
}

enum {
	OPT_HELP = 256,
	OPT_NO_PACKETS,
	OPT_RAW,
	OPT_IMAGE,
	OPT_SIDEBAND,
	OPT_SAMPLE_TYPE,
	OPT_TIME_CONV,
};

static const struct option options[] = {
	{"help", no_argument, NULL, OPT_HELP},
	{"no-packets", no_argument, NULL, OPT_NO_PACKETS},
	{"raw", required_argument, NULL, OPT_RAW},
	{"image", required_argument, NULL, OPT_IMAGE},
	{"sideband", required_argument, NULL, OPT_SIDEBAND},
	{"sample-type", required_argument, NULL, OPT_SAMPLE_TYPE},
	{"time-conv", required_argument, NULL, OPT_TIME_CONV},
	{NULL, 0, NULL, 0},
};

static int bad_family(const char *family)
{
	if (!strncmp(family, "spe", 3) || !strncmp(family, "etm", 3))
		cli_complain("--raw", "auxtap reads raw Intel PT: --raw pt",
			     "%s is not supported yet", family);
	else
		cli_complain("--raw", "use --raw pt", "no trace family '%s'", family);
	return CLI_USAGE;
}

/* Listed, damaged or not at all; a reader of ours that went away is no failure. */
static int finish(int ret, const struct auxtap_error *err)
{
	int output = ferror(stdout) && ret < 0 ? -ret : 0;

	if (!output && (fflush(stdout) || ferror(stdout)))
		output = errno;
	if (output == EPIPE)
		return CLI_OK;
	if (output) {
		cli_complain("standard output", NULL, "%s", strerror(output));
		return CLI_FAILED;
	}
	if (!ret)
		return CLI_OK;
	cli_error(err);
	return ret > 0 ? CLI_DAMAGED : CLI_FAILED;
}

int cmd_dump(int argc, char **argv)
{
	struct dump_opts opts = {.out = stdout, .packets = true};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	const char *raw = NULL;
	int opt, ret;

	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case 'h':
		case OPT_HELP:
			usage(stdout);
			return CLI_OK;
		case OPT_NO_PACKETS:
			opts.packets = false;
			break;
		case OPT_RAW:
			raw = optarg;
			break;
		case OPT_IMAGE:
		case OPT_SIDEBAND:
		case OPT_SAMPLE_TYPE:
		case OPT_TIME_CONV:
			cli_complain(argv[optind - 1],
				     "leave it out, or use 'auxtap decode'",
				     "a listing of packets has no use for it");
			return CLI_USAGE;
		default:
			cli_complain(argv[optind - 1], "see 'auxtap dump --help'",
				     opt == ':' ? "needs a value" : "no such option");
			return CLI_USAGE;
		}
	}
	if (optind != argc - 1) {
		cli_complain("dump", "see 'auxtap dump --help'",
			     optind < argc ? "takes one file" : "needs a file");
		return CLI_USAGE;
	}
	if (raw && strcmp(raw, "pt"))
		return bad_family(raw);
	if (raw && !opts.packets) {
		cli_complain("--no-packets", "leave it out",
			     "a raw stream holds nothing but packets");
		return CLI_USAGE;
	}
	if (raw)
		return finish(dump_raw_pt(argv[optind], &opts, &err), &err);
	ret = auxtap_perfdata_open(&pd, argv[optind], &err);
	if (ret)
		return finish(ret, &err);
	ret = dump_perfdata(pd, &opts, &err);
	auxtap_perfdata_close(pd);
	return finish(ret, &err);
}
