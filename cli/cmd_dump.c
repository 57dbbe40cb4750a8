// SPDX-License-Identifier: BSD-2-Clause
/* auxtap dump: lists every record and packet of a file, with offsets (decode/dump/). */
#include "cli.h"
#include "crash_guard.h"
#include "raw_options.h"

#include <auxtap/dump.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void usage(FILE *out)
{
	fputs("usage: auxtap dump [OPTION]... FILE\n\n"
	      "Lists the header, the attributes, the features, every record and every packet of a\n"
	      "perf.data file, with offsets. FILE may be a directory of 'perf record --threads',\n"
	      "the directory of a CoreSight snapshot (snapshot.ini), or '-' for standard input.\n"
	      "PAD packets of Intel PT are not listed.\n\n"
	      "  --no-packets  do not list the packets of AUXTRACE records\n"
	      "  --raw spe     FILE is a raw stream of Arm SPE\n"
	      "  --raw etm     FILE is raw CoreSight trace; --etm-config FILE contains the registers\n"
	      "                of its trace unit, --etm-format names the frame format, see\n"
	      "                'auxtap decode --help'\n"
	      "  --raw pt[:cpu=FAMILY/MODEL/STEPPING]\n"
	      "                FILE is a raw stream of Intel PT; with --sideband FILE and\n"
	      "                --sample-type X raw perf records are listed before it.\n"
	      "                The other options of 'auxtap decode' for raw traces are accepted\n"
	      "                and have no effect; a message says so\n"
	      "  --help        print help\n\n"
	      "Exit status: 0 all listed; 1 listed as far as possible, the file is damaged;\n"
	      "2 usage error; 3 failure.\n",
	      out);
}

enum {
	OPT_NO_PACKETS = 256,
};

static const struct option_row own_options[] = {
	{OPT_NO_PACKETS, "no-packets", NULL},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const dump_options[] = {own_options, raw_option_rows, NULL};

/* Returns the exit status. EPIPE is not a failure: the reader of the output closed the pipe. */
static int finish_dump(int ret, const struct auxtap_error *err)
{
	int output = ferror(stdout) && ret < 0 ? -ret : 0;

	if (!output && (fflush(cli_safe_output()) || fflush(stdout) || ferror(stdout)))
		output = errno;
	if (output == EPIPE)
		return CLI_OK;
	if (output)
		return cli_output_failed(output);
	if (!ret)
		return CLI_OK;
	cli_error(err);
	return ret > 0 ? CLI_DAMAGED : CLI_FAILED;
}

/* dump accepts decode's options for raw traces, and reports those that have no effect. */
static void report_unused_options(const struct raw_options *ro)
{
	static const struct {
		int opt;
		const char *name;
	} unused[] = {{RAW_OPT_IMAGE, "--image"},	    {RAW_OPT_TIME_CONV, "--time-conv"},
		      {RAW_OPT_TSC_OFFSET, "--tsc-offset"}, {RAW_OPT_MTC_FREQ, "--mtc-freq"},
		      {RAW_OPT_NOM_FREQ, "--nom-freq"},	    {RAW_OPT_CPUID_0X15, "--cpuid-0x15"}};

	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		if (ro->given & 1u << (unused[i].opt - RAW_OPT_FIRST))
			cli_errorf(unused[i].name, "use it with 'auxtap decode'",
				   "has no effect on a packet listing");
}

static int dump_raw(const struct raw_options *ro, const char *path, FILE *out,
		    struct auxtap_error *err)
{
	struct auxtap_error damage = AUXTAP_ERROR_INIT;
	int ret = 0;

	for (unsigned int i = 0; i < ro->raw.nr_sideband; i++) {
		ret = auxtap_dump_sideband(ro->sideband[i], ro->raw.sample_type, out, err);
		if (ret < 0)
			return ret;
		if (ret)
			damage = *err;
	}
	ret = auxtap_dump_raw(path, &ro->raw, out, err);
	if (ret && damage.code)
		cli_error(&damage);
	else if (damage.code)
		*err = damage;
	return ret ? ret : damage.code != 0;
}

int cmd_dump(int argc, char **argv)
{
	struct auxtap_dump_opts opts = {.size = sizeof(opts)};
	FILE *out = cli_safe_output();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	static struct raw_options raw;
	struct options o;
	int opt, first, ret;

	raw_options_init(&raw);
	options_start(&o, argc, argv, dump_options, false);
	while ((opt = options_next(&o))) {
		switch (opt) {
		case 'h':
			usage(stdout);
			return CLI_OK;
		case OPT_NO_PACKETS:
			opts.no_packets = true;
			break;
		case OPTIONS_BAD:
			return cli_bad_option(&o, "dump");
		default:
			ret = raw_options_parse(&raw, opt, o.value);
			if (ret)
				return ret;
			break;
		}
	}
	first = options_end(&o);
	if (first != argc - 1) {
		cli_errorf("dump", "see 'auxtap dump --help'",
			   first < argc ? "too many files" : "no file given");
		return CLI_USAGE;
	}
	ret = raw_options_check(&raw, "dump", true);
	if (ret)
		return ret;
	if (raw.is_raw && opts.no_packets) {
		cli_errorf("--no-packets", "remove it", "a raw stream contains only packets");
		return CLI_USAGE;
	}
	if (raw.is_raw)
		report_unused_options(&raw);
	crash_guard_install(argv[first]);
	if (raw.is_raw)
		return finish_dump(dump_raw(&raw, argv[first], out, &err), &err);
	if (auxtap_is_coresight_snapshot(argv[first]))
		return finish_dump(auxtap_dump_snapshot(argv[first], &opts, out, &err), &err);
	ret = auxtap_perfdata_open(&pd, argv[first], &err);
	if (ret)
		return finish_dump(ret, &err);
	ret = finish_dump(auxtap_dump(pd, &opts, out, &err), &err);
	if (cli_unfinished(pd) && ret == CLI_OK)
		ret = CLI_DAMAGED;
	auxtap_perfdata_close(pd);
	return ret;
}
