// SPDX-License-Identifier: BSD-2-Clause
/* The options of record and crash, as perf spells them. */
#include "capture_options.h"
#include "util/number.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_BACKEND = 256,
	OPT_SOURCE,
	OPT_TRACE_UNIT,
	OPT_MAX_MEMORY,
	OPT_WATERMARK,
	OPT_TRUTH,
	OPT_KEEP,
	OPT_ERROR_EXITCODE,
};

static int parse_pages(const char *text, const char *what, uint64_t *pages)
{
	uint64_t value, page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	bool suffixed;

	if (!*text) /* "-m ,16M": keep the default of this one */
		return 0;
	if (!number_parse_size(text, &value, &suffixed)) {
		cli_errorf("-m", "write -m DATA,AUX in pages, or with suffix K, M or G",
			   "'%s' is not a size", text);
		return -1;
	}
	if (suffixed && value % page_size) {
		cli_errorf("-m", NULL, "%s of %llu bytes is not a whole number of pages", what,
			   (unsigned long long)value);
		return -1;
	}
	*pages = suffixed ? value / page_size : value;
	if (!*pages || (*pages & (*pages - 1)) || *pages > 1u << 30) {
		cli_errorf("-m", "use 1, 2, 4, 8 … pages, or a power of two with suffix K, M or G",
			   "%s of %llu pages is not a power of two", what,
			   (unsigned long long)*pages);
		return -1;
	}
	return 0;
}

/* Does not modify the text: the CMDLINE feature of the file records it. */
static int parse_mmap(const char *text, struct auxtap_session_opts *o)
{
	const char *comma = strchr(text, ',');
	char data[32];

	if (snprintf(data, sizeof(data), "%.*s", comma ? (int)(comma - text) : (int)sizeof(data),
		     text) >= (int)sizeof(data)) {
		cli_errorf("-m", "write -m DATA,AUX in pages, or with suffix K, M or G",
			   "'%s' is not a size", text);
		return -1;
	}
	if (parse_pages(data, "data ring", &o->data_pages))
		return -1;
	return comma ? parse_pages(comma + 1, "AUX area", &o->aux_pages) : 0;
}

static int parse_id(const char *option, const char *text, pid_t *id)
{
	uint64_t n;

	if (!number_parse_decimal(text, 1 << 22, &n) || !n) {
		cli_errorf(option, "give one number", "'%s' is not a process or thread ID", text);
		return -1;
	}
	*id = (pid_t)n;
	return 0;
}

static int parse_count(const char *option, const char *text, uint64_t max, uint64_t *value)
{
	bool suffixed;

	if (!number_parse_size(text, value, &suffixed) || *value == 0 || *value > max) {
		cli_errorf(option, "write a number, or one with suffix K, M or G",
			   "'%s' is not a number from 1 to %llu", text, (unsigned long long)max);
		return -1;
	}
	return 0;
}

static int parse_choice(const char *option, const char *text, const char *const *names, int *choice)
{
	for (int i = 0; i < 3; i++) {
		if (!strcmp(text, names[i])) {
			*choice = i;
			return 0;
		}
	}
	cli_errorf(option, NULL, "'%s' is not one of %s, %s, %s", text, names[0], names[1],
		   names[2]);
	return -1;
}

static int parse_one(struct capture_options *o, const struct cli_capture *kind, int option)
{
	static const char *const backends[] = {"auto", "kernel", "emulated"};
	static const char *const engines[] = {"auto", "qemu", "ptrace"};
	struct auxtap_session_opts *s = &o->session;
	uint64_t n;
	int choice;
	bool suffixed;

	switch (option) {
	case 'e':
		s->event = optarg;
		return 0;
	case 'm':
		return parse_mmap(optarg, s);
	case 'S':
		s->snapshot = true;
		if (!optarg)
			return 0;
		if (!number_parse_size(optarg, &s->snapshot_size, &suffixed)) {
			cli_errorf("-S", "write -SSIZE, as -S64K", "'%s' is not a size", optarg);
			return -1;
		}
		return 0;
	case 'p':
		return parse_id("-p", optarg, &s->pid);
	case 't':
		return parse_id("-t", optarg, &s->tid);
	case 'a':
		s->all_cpus = true;
		return 0;
	case 'C':
		if (strspn(optarg, "0123456789,-") != strlen(optarg) || !*optarg) {
			cli_errorf("-C", "write CPUs as 0-3,5", "'%s' is not a list of CPUs",
				   optarg);
			return -1;
		}
		s->cpus = optarg;
		return 0;
	case 'o':
		if (!strcmp(optarg, "-")) {
			cli_errorf("-o", "name a file; './-' is a file of that name",
				   "cannot record to standard output, because the header is "
				   "rewritten as the file grows");
			return -1;
		}
		s->output = optarg;
		return 0;
	case OPT_BACKEND:
		if (parse_choice("--backend", optarg, backends, &choice))
			return -1;
		o->backend = (enum backend_choice)choice;
		return 0;
	case OPT_SOURCE:
		if (parse_choice("--source", optarg, engines, &choice))
			return -1;
		o->engine = (enum auxtap_engine)choice;
		o->engine_given = choice != 0;
		return 0;
	case OPT_TRACE_UNIT:
		if (!auxtap_event_has_trace_unit(NULL, optarg)) {
			cli_errorf("--trace-unit", NULL, "'%s' is not one of ete, etmv4", optarg);
			return -1;
		}
		o->trace_unit = optarg;
		return 0;
	case OPT_MAX_MEMORY:
		return parse_count("--max-memory", optarg, UINT64_MAX >> 1, &o->max_memory);
	case OPT_WATERMARK:
		if (parse_count("--aux-watermark", optarg, UINT32_MAX, &n))
			return -1;
		s->aux_watermark = (uint32_t)n;
		return 0;
	case OPT_TRUTH:
		s->truth_path = optarg;
		return 0;
	case OPT_KEEP:
		if (!kind->crash) {
			cli_errorf("--keep", NULL, "is an option of 'auxtap crash'");
			return -1;
		}
		if (parse_count("--keep", optarg, 1000000, &n))
			return -1;
		s->keep = (unsigned int)n;
		return 0;
	case OPT_ERROR_EXITCODE:
		if (!kind->crash) {
			cli_errorf("--error-exitcode", NULL, "is an option of 'auxtap crash'");
			return -1;
		}
		if (parse_count("--error-exitcode", optarg, 255, &n))
			return -1;
		o->error_exitcode = (int)n;
		return 0;
	default:
		return -1;
	}
}

static int check_combination(const struct capture_options *o, const struct cli_capture *kind)
{
	const struct auxtap_session_opts *s = &o->session;
	int targets = (s->argv != NULL) + (s->pid != 0) + (s->tid != 0);

	if (targets > 1) {
		cli_errorf(kind->name, "give a program, -p or -t", "more than one thing to trace");
		return -1;
	}
	if (!targets && !s->all_cpus && !s->cpus) {
		cli_errorf(kind->name, "use 'auxtap record -- PROGRAM', or -p PID",
			   "nothing to trace");
		return -1;
	}
	if (o->backend == BACKEND_KERNEL && o->engine_given) {
		cli_errorf("--source", NULL, "requires the emulated backend");
		return -1;
	}
	if (o->backend == BACKEND_KERNEL && o->trace_unit) {
		cli_errorf("--trace-unit", "remove it",
			   "requires --backend emulated; the trace unit of a real CPU is fixed");
		return -1;
	}
	if (o->backend == BACKEND_KERNEL && o->max_memory) {
		cli_errorf("--max-memory", "remove it",
			   "limits emulated processes; the kernel backend runs programs natively");
		return -1;
	}
	if (o->trace_unit && (!s->event || !auxtap_event_has_trace_unit(s->event, o->trace_unit))) {
		cli_errorf("--trace-unit", "trace with -e cs_etm//u", "requires a cs_etm event");
		return -1;
	}
	if (o->backend == BACKEND_KERNEL && s->truth_path) {
		cli_errorf("--truth", "use --backend emulated",
			   "only emulation can record every executed address");
		return -1;
	}
	return 0;
}

int capture_options_parse(struct capture_options *o, const struct cli_capture *kind, int argc,
			  char **argv)
{
	static const struct option options[] = {
		{"event", required_argument, NULL, 'e'},
		{"mmap-pages", required_argument, NULL, 'm'},
		{"snapshot", optional_argument, NULL, 'S'},
		{"pid", required_argument, NULL, 'p'},
		{"tid", required_argument, NULL, 't'},
		{"all-cpus", no_argument, NULL, 'a'},
		{"cpu", required_argument, NULL, 'C'},
		{"output", required_argument, NULL, 'o'},
		{"backend", required_argument, NULL, OPT_BACKEND},
		{"source", required_argument, NULL, OPT_SOURCE},
		{"trace-unit", required_argument, NULL, OPT_TRACE_UNIT},
		{"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
		{"aux-watermark", required_argument, NULL, OPT_WATERMARK},
		{"truth", required_argument, NULL, OPT_TRUTH},
		{"keep", required_argument, NULL, OPT_KEEP},
		{"error-exitcode", required_argument, NULL, OPT_ERROR_EXITCODE},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	char todo[64];
	int option;

	memset(o, 0, sizeof(*o));
	o->session.size = sizeof(o->session);
	o->session.output = "auxtap.data";
	snprintf(todo, sizeof(todo), "see 'auxtap %s --help'", kind->name);
	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, "+:e:m:S::p:t:aC:o:h", options, NULL)) != -1) {
		const char *last = argv[optind - 1];

		if (option == 'h') {
			fputs(kind->help, stdout);
			return 1;
		}
		if (option == '?' || option == ':') {
			char letter[3] = {'-', (char)optopt, '\0'};
			bool short_one = option == '?' && optopt && optopt < 256;

			cli_errorf(short_one ? letter : last, todo, "%s",
				   option == ':' ? "option requires an argument" :
						   "no such option");
			return -1;
		}
		if (parse_one(o, kind, option))
			return -1;
	}
	if (optind < argc)
		o->session.argv = argv + optind;
	if (kind->crash) {
		o->session.crash = true;
		o->session.snapshot = true;
		if (!o->session.keep)
			o->session.keep = 8;
	}
	return check_combination(o, kind);
}
