// SPDX-License-Identifier: BSD-2-Clause
/* auxtap audit: checks a recording's AUX transactions, or an event log, against the rules. */
#include "cli.h"
#include "util/number.h"
#include "util/options.h"

#include <auxtap/audit.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_FORMAT = 256,
	OPT_LOG,
	OPT_AUX_SIZE,
	OPT_PAGE,
	OPT_MAX_SKID,
	OPT_MAX_DELAY,
	OPT_UNIT_LOG,
};

static const struct option_row own_options[] = {
	{OPT_FORMAT, "format", "text|json|junit"},
	{OPT_LOG, "log", NULL},
	{OPT_AUX_SIZE, "aux-size", "BYTES"},
	{OPT_PAGE, "page", "BYTES"},
	{OPT_MAX_SKID, "max-skid", "BYTES"},
	{OPT_MAX_DELAY, "max-delay", "NS"},
	{OPT_UNIT_LOG, "unit-log", "FILE"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const audit_options[] = {own_options, NULL};

static const struct {
	const char *name;
	int (*print)(const struct auxtap_audit *audit, const char *path, FILE *out);
} formats[] = {
	{"text", auxtap_audit_print_text},
	{"json", auxtap_audit_print_json},
	{"junit", auxtap_audit_print_junit},
};

static void usage(FILE *out)
{
	fputs("usage: auxtap audit [OPTION]... FILE\n\n"
	      "Checks the AUX transactions of a recording against the kernel's rules: offsets, flags,\n"
	      "losses, and wakeups against watermark and page size. FILE is a perf.data file of any\n"
	      "AUX PMU, written by auxtap or stock perf, or with --log the event log of a simulator\n"
	      "or FPGA (lines of TIME,EVENT,VALUE). Of the trace itself only padding is inspected.\n"
	      "Exit status 1: a rule was violated.\n\n"
	      "  --format FORMAT    text, json or junit\n"
	      "  --log              FILE is an event log\n"
	      "  --unit-log LOG     event log of the trace unit that FILE was recorded from: audit\n"
	      "                     both and compare them; give one for each CPU\n"
	      "  --aux-size BYTES   size of each AUX area, which a recording does not contain (suffix\n"
	      "                     K, M or G)\n"
	      "  --page BYTES       page size of the recorded machine (default: 4K; Arm units: 64K,\n"
	      "                     the most lenient)\n"
	      "  --max-skid BYTES   largest allowed distance from the interrupt threshold to the\n"
	      "                     interrupt (default: from the log, else not checked)\n"
	      "  --max-delay NS     logs: largest allowed delay of an interrupt; ns, or with suffix\n"
	      "                     us, ms or s (default: from the log, else not checked)\n"
	      "  --help             print help\n",
	      out);
}

static int bad_value(const char *what, const char *value, const char *allowed)
{
	cli_errorf(what, NULL, "'%s' is not %s", value, allowed);
	return CLI_USAGE;
}

static bool parse_bytes(const char *arg, uint64_t *value)
{
	return number_parse_size(arg, value, NULL) && *value;
}

static bool parse_nanoseconds(const char *arg, uint64_t *value)
{
	return number_parse_time(arg, value) && *value;
}

static bool is_power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

static int audit_file(const char *path, bool log, const struct auxtap_audit_opts *opts,
		      size_t format)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit = NULL;
	struct auxtap_perfdata *pd = NULL;
	FILE *out = cli_safe_output();
	int ret, status;

	if (log) {
		ret = auxtap_audit_log(&audit, path, opts, &err);
	} else {
		ret = auxtap_perfdata_open(&pd, path, &err);
		if (!ret)
			ret = auxtap_audit_perfdata(&audit, pd, opts, &err);
	}
	if (ret) {
		cli_error(&err);
		status = ret == -EBADMSG ? CLI_DAMAGED : CLI_FAILED;
	} else {
		status = auxtap_audit_at_fault(audit) ? CLI_DAMAGED : CLI_OK;
		if (formats[format].print(audit, path, out) || fflush(out))
			status = cli_output_failed(errno);
	}
	auxtap_audit_free(audit);
	auxtap_perfdata_close(pd);
	return status;
}

int cmd_audit(int argc, char **argv)
{
	struct auxtap_audit_opts opts = {.size = sizeof(opts)};
	size_t format = 0, nr = sizeof(formats) / sizeof(formats[0]);
	const char *unit_logs[argc]; /* at most one per argument */
	bool log = false;
	struct options o;
	int opt, first;

	opts.unit_logs = unit_logs;
	options_start(&o, argc, argv, audit_options, false);
	while ((opt = options_next(&o))) {
		switch (opt) {
		case 'h':
			usage(stdout);
			return CLI_OK;
		case OPT_FORMAT:
			for (format = 0; format < nr && strcmp(formats[format].name, o.value) != 0;)
				format++;
			if (format == nr)
				return bad_value(o.what, o.value, "text, json or junit");
			break;
		case OPT_LOG:
			log = true;
			break;
		case OPT_AUX_SIZE:
			if (!parse_bytes(o.value, &opts.aux_size))
				return bad_value(o.what, o.value, "a number of bytes");
			break;
		case OPT_PAGE:
			if (!parse_bytes(o.value, &opts.page_size) ||
			    !is_power_of_two(opts.page_size))
				return bad_value(o.what, o.value, "a power of two");
			break;
		case OPT_MAX_SKID:
			if (!parse_bytes(o.value, &opts.max_overshoot))
				return bad_value(o.what, o.value, "a number of bytes");
			break;
		case OPT_MAX_DELAY:
			if (!parse_nanoseconds(o.value, &opts.max_delay))
				return bad_value(o.what, o.value, "a time (ns, or with us, ms, s)");
			break;
		case OPT_UNIT_LOG:
			unit_logs[opts.nr_unit_logs++] = o.value;
			break;
		default:
			return cli_bad_option(&o, "audit");
		}
	}
	first = options_end(&o);
	if (argc - first > 1) {
		cli_errorf(argv[first + 1], NULL, "one file at a time");
		return CLI_USAGE;
	}
	if (log && opts.nr_unit_logs) {
		cli_errorf("--log", "remove it", "--unit-log requires a recording");
		return CLI_USAGE;
	}
	if (log && first == argc) {
		cli_errorf("--log", "give the event log", "there is no default file");
		return CLI_USAGE;
	}
	return audit_file(first < argc ? argv[first] : "auxtap.data", log, &opts, format);
}
