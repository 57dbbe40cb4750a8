// SPDX-License-Identifier: BSD-2-Clause
/* Parses the options of record and crash; they are named as in perf. */
#include "capture_options.h"
#include "util/number.h"
#include "util/options.h"

#include <errno.h>
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
	OPT_CORE,
	OPT_MEMORY,
	OPT_REDACT,
	OPT_VALUES,
	OPT_PACK,
	OPT_WITH_MEMORY,
	OPT_FORMAT,
};

#define DEFAULT_VALUES (4u << 20)

static const struct option_row own_options[] = {
	{'e', "event", "EVENT"},
	{'m', "mmap-pages", "DATA,AUX"},
	{'S', "snapshot", "[SIZE]"},
	{'p', "pid", "PID"},
	{'t', "tid", "TID"},
	{'a', "all-cpus", NULL},
	{'C', "cpu", "LIST"},
	{'o', "output", "FILE"},
	{OPT_BACKEND, "backend", "auto|kernel|emulated"},
	{OPT_SOURCE, "source", "auto|qemu|ptrace"},
	{OPT_TRACE_UNIT, "trace-unit", "ete|etmv4"},
	{OPT_MAX_MEMORY, "max-memory", "SIZE"},
	{OPT_WATERMARK, "aux-watermark", "BYTES"},
	{OPT_TRUTH, "truth", "FILE"},
	{'h', "help", NULL},
	{0},
};
static const struct option_row crash_only_options[] = {
	{OPT_KEEP, "keep", "N"},
	{OPT_ERROR_EXITCODE, "error-exitcode", "N"},
	{OPT_CORE, "core", "[SIZE]"},
	{OPT_MEMORY, "memory", "stack|reachable|none"},
	{OPT_VALUES, "values", "[SIZE]"},
	{OPT_REDACT, "redact", NULL},
	{OPT_PACK, "pack", NULL},
	{OPT_WITH_MEMORY, "with-memory", NULL},
	{OPT_FORMAT, "format", "text|json|html"},
	{0},
};
const struct option_row *const record_options[] = {own_options, NULL};
/* record parses all of these, to report which ones only crash has. */
const struct option_row *const crash_options[] = {own_options, crash_only_options, NULL};

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

static bool require_crash(const char *option, const struct cli_capture *kind)
{
	if (!kind->crash)
		cli_errorf(option, NULL, "is an option of 'auxtap crash'");
	return kind->crash;
}

static int parse_one(struct capture_options *o, const struct cli_capture *kind,
		     const struct options *from, int option)
{
	static const char *const backends[] = {"auto", "kernel", "emulated"};
	static const char *const engines[] = {"auto", "qemu", "ptrace"};
	static const char *const memory[] = {"stack", "reachable", "none"};
	struct auxtap_session_opts *s = &o->session;
	const char *value = from->value;
	uint64_t n;
	int choice;
	bool suffixed;

	switch (option) {
	case 'e':
		s->event = value;
		return 0;
	case 'm':
		return parse_mmap(value, s);
	case 'S':
		s->snapshot = true;
		if (!value)
			return 0;
		if (!number_parse_size(value, &s->snapshot_size, &suffixed)) {
			cli_errorf("-S", "write -SSIZE, as -S64K", "'%s' is not a size", value);
			return -1;
		}
		return 0;
	case 'p':
		return parse_id("-p", value, &s->pid);
	case 't':
		return parse_id("-t", value, &s->tid);
	case 'a':
		s->all_cpus = true;
		return 0;
	case 'C':
		if (strspn(value, "0123456789,-") != strlen(value) || !*value) {
			cli_errorf("-C", "write CPUs as 0-3,5", "'%s' is not a list of CPUs",
				   value);
			return -1;
		}
		s->cpus = value;
		return 0;
	case 'o':
		if (!strcmp(value, "-")) {
			cli_errorf("-o", "name a file; './-' is a file of that name",
				   "cannot record to standard output, because the header is "
				   "rewritten as the file grows");
			return -1;
		}
		s->output = value;
		return 0;
	case OPT_BACKEND:
		if (parse_choice("--backend", value, backends, &choice))
			return -1;
		o->backend = (enum backend_choice)choice;
		return 0;
	case OPT_SOURCE:
		if (parse_choice("--source", value, engines, &choice))
			return -1;
		o->engine = (enum auxtap_engine)choice;
		o->engine_given = choice != 0;
		return 0;
	case OPT_TRACE_UNIT:
		if (!auxtap_event_has_trace_unit(NULL, value)) {
			cli_errorf("--trace-unit", NULL, "'%s' is not one of ete, etmv4", value);
			return -1;
		}
		o->trace_unit = value;
		return 0;
	case OPT_MAX_MEMORY:
		return parse_count("--max-memory", value, UINT64_MAX >> 1, &o->max_memory);
	case OPT_WATERMARK:
		if (parse_count("--aux-watermark", value, UINT32_MAX, &n))
			return -1;
		s->aux_watermark = (uint32_t)n;
		return 0;
	case OPT_TRUTH:
		s->truth_path = value;
		return 0;
	case OPT_KEEP:
		if (!require_crash("--keep", kind))
			return -1;
		if (parse_count("--keep", value, 1000000, &n))
			return -1;
		s->keep = (unsigned int)n;
		return 0;
	case OPT_CORE:
		if (!require_crash("--core", kind))
			return -1;
		s->core = true;
		return value ? parse_count("--core", value, UINT64_MAX >> 1, &s->core_size) : 0;
	case OPT_MEMORY:
		if (!require_crash("--memory", kind) ||
		    parse_choice("--memory", value, memory, &choice))
			return -1;
		s->memory = (enum auxtap_memory)choice;
		o->memory_given = true;
		return 0;
	case OPT_VALUES:
		if (!require_crash("--values", kind))
			return -1;
		o->values = DEFAULT_VALUES;
		if (!o->memory_given) /* values of the past are computed from those at the end */
			s->memory = AUXTAP_MEMORY_REACHABLE;
		return value ? parse_count("--values", value, 1u << 30, &o->values) : 0;
	case OPT_REDACT:
		s->redact = true;
		return require_crash("--redact", kind) ? 0 : -1;
	case OPT_PACK:
		o->pack = true;
		return require_crash("--pack", kind) ? 0 : -1;
	case OPT_WITH_MEMORY:
		o->with_memory = true;
		return require_crash("--with-memory", kind) ? 0 : -1;
	case OPT_FORMAT:
		if (!require_crash("--format", kind))
			return -1;
		return report_output_parse("--format", value, &o->report) ? 0 : -1;
	case OPT_ERROR_EXITCODE:
		if (!require_crash("--error-exitcode", kind))
			return -1;
		if (parse_count("--error-exitcode", value, 255, &n))
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
	if (o->with_memory && !o->pack) {
		cli_errorf("--with-memory", "add --pack, or remove it",
			   "is about packed snapshots; others contain memory");
		return -1;
	}
	if (o->pack && s->redact == o->with_memory) {
		cli_errorf("--pack", "give --redact or --with-memory",
			   s->redact ? "it cannot be both with memory and without" :
				       "a snapshot contains memory of the program");
		return -1;
	}
	if (s->redact && (s->core || o->values || s->memory == AUXTAP_MEMORY_REACHABLE)) {
		cli_errorf("--redact", "remove one of them",
			   "leaves out all memory, which %s asks for",
			   s->core   ? "--core" :
			   o->values ? "--values" :
				       "--memory reachable");
		return -1;
	}
	if (o->values && s->memory == AUXTAP_MEMORY_NONE) {
		cli_errorf("--values", "remove one of them",
			   "is memory of the program, which --memory none leaves out");
		return -1;
	}
	if (o->values && (o->backend == BACKEND_KERNEL || !s->argv)) {
		cli_errorf("--values", "run a program with --backend emulated",
			   "only qemu records values, of programs that it starts");
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
	struct options from;
	int option;

	memset(o, 0, sizeof(*o));
	o->session.size = sizeof(o->session);
	o->session.output = "auxtap.data";
	options_start(&from, argc, argv, crash_options, true);
	while ((option = options_next(&from))) {
		if (option == 'h') {
			fputs(kind->help, stdout);
			return 1;
		}
		if (option == OPTIONS_BAD) {
			cli_bad_option(&from, kind->name);
			return -1;
		}
		if (parse_one(o, kind, &from, option))
			return -1;
	}
	if (options_end(&from) < argc)
		o->session.argv = argv + options_end(&from);
	if (kind->crash) {
		o->session.crash = true;
		o->session.snapshot = true;
		if (!o->session.keep)
			o->session.keep = 8;
	}
	return check_combination(o, kind);
}
