// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap decode: prints the control flow of a perf.data file or a raw trace. decode_print.c and
 * decode_jobs.c write the lines.
 */
#include "cli.h"
#include "crash_guard.h"
#include "decode_jobs.h"
#include "decode_print.h"
#include "image_options.h"
#include "raw_options.h"
#include "util/growing_ring.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct decode_cmd {
	struct auxtap_decode_opts opts;
	int32_t tid, cpu; /* opts points to them if they are given */
	struct auxtap_image_set_opts image_opts;
	struct raw_options raw;
	bool summary;
	uint64_t last;
	const char *path;
};

enum {
	OPT_EVENTS = 256,
	OPT_FORMAT,
	OPT_LAST,
	OPT_TIME,
	OPT_TID,
	OPT_CPU,
	OPT_SUMMARY,
};

static const struct option_row own_options[] = {
	{OPT_EVENTS, "events", "LIST"},
	{'F', "fields", "LIST"},
	{OPT_FORMAT, "format", "text|jsonl|csv"},
	{OPT_LAST, "last", "N"},
	{OPT_TIME, "time", "START,STOP"},
	{OPT_TID, "tid", "TID"},
	{OPT_CPU, "cpu", "CPU"},
	{'j', "jobs", "N"},
	{OPT_SUMMARY, "summary", NULL},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const decode_options[] = {own_options, image_option_rows, raw_option_rows,
						   NULL};

static void usage(FILE *out)
{
	fputs("usage: auxtap decode [OPTION]... FILE\n\n"
	      "Prints the control flow of a recorded trace. FILE may be the directory of a CoreSight\n"
	      "snapshot (snapshot.ini); images given with --image are used besides its memory dumps.\n\n"
	      "  --events LIST     insn,branch,call,return,async,trace,gap,mem\n"
	      "                    (default branch,async,trace,gap; Arm SPE: mem,branch,gap)\n"
	      "  -F, --fields LIST fields: comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,srcline,\n"
	      "                    addr,insn,insnlen,asm,flags (default comm,tid,time,ip,sym,dso,addr);\n"
	      "                    Arm SPE also: phys,lat_total,lat_issue,lat_xlat,\n"
	      "                    spe_events,source,op\n"
	      "  --format FORMAT   text, jsonl or csv\n"
	      "  --last N          print only the last N events\n"
	      "  --time START,STOP print only events of this time span, in perf's seconds; either\n"
	      "                    may be empty\n"
	      "  --tid TID, --cpu CPU\n"
	      "                    decode only this thread; only this CPU\n"
	      "  -j, --jobs N      decode and print with N threads (default: one per CPU, at most 8)\n"
	      "  --summary         print only totals, as 'name: value' lines\n\n",
	      out);
	fputs(image_options_help, out);
	fputc('\n', out);
	fputs(raw_options_help, out);
}

static int parse_events(struct decode_cmd *cmd, const char *list)
{
	static const struct {
		const char *name;
		uint32_t mask;
	} names[] = {
		{"insn", AUXTAP_EVENT_INSN},   {"branch", AUXTAP_EVENT_BRANCH},
		{"call", AUXTAP_EVENT_CALL},   {"return", AUXTAP_EVENT_RETURN},
		{"async", AUXTAP_EVENT_ASYNC}, {"trace", AUXTAP_EVENT_TRACE},
		{"gap", AUXTAP_EVENT_GAP},     {"mem", AUXTAP_EVENT_MEM},
	};
	const char *at = list;

	cmd->opts.events = 0;
	while (*at) {
		size_t len = strcspn(at, ","), i;

		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == len && !memcmp(names[i].name, at, len))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			return cli_bad_value("--events", list,
					     "a list of insn, branch, call, return, "
					     "async, trace, gap, mem");
		cmd->opts.events |= names[i].mask;
		at += len + (at[len] == ',');
	}
	if (!cmd->opts.events)
		return cli_bad_value("--events", list, "a list of events");
	return 0;
}

/* Parses seconds with up to nine decimals to ns. */
static bool parse_seconds(const char *s, size_t len, uint64_t *ns)
{
	uint64_t value = 0, unit = 1000000000;
	bool point = false, digit = false;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.' && !point) {
			point = true;
		} else if (s[i] >= '0' && s[i] <= '9') {
			digit = true;
			if (point) {
				unit /= 10;
				value += (uint64_t)(s[i] - '0') * unit;
			} else if (value > UINT64_MAX / 11 / 1000000000 * 1000000000) {
				return false;
			} else {
				value = value * 10 + (uint64_t)(s[i] - '0') * 1000000000;
			}
		} else {
			return false;
		}
	}
	*ns = value;
	return digit;
}

static int parse_time(struct decode_cmd *cmd, const char *arg)
{
	const char *comma = strchr(arg, ',');
	bool ok = comma != NULL;

	if (ok && comma != arg)
		ok = parse_seconds(arg, (size_t)(comma - arg), &cmd->opts.time_start);
	if (ok && comma[1])
		ok = parse_seconds(comma + 1, strlen(comma + 1), &cmd->opts.time_stop) &&
		     cmd->opts.time_stop > cmd->opts.time_start;
	return ok ? 0 : cli_bad_value("--time", arg, "START,STOP in seconds");
}

static int parse_option(struct decode_cmd *cmd, struct decode_printer *printer, int opt,
			const char *arg)
{
	uint64_t value = 0;
	char bad[32];

	switch (opt) {
	case OPT_EVENTS:
		return parse_events(cmd, arg);
	case 'F':
		if (decode_fields_parse(printer, arg, bad))
			return cli_bad_value("-F", *bad ? bad : arg, "a field");
		return 0;
	case OPT_FORMAT:
		if (!strcmp(arg, "text"))
			printer->format = FORMAT_TEXT;
		else if (!strcmp(arg, "jsonl"))
			printer->format = FORMAT_JSONL;
		else if (!strcmp(arg, "csv"))
			printer->format = FORMAT_CSV;
		else
			return cli_bad_value("--format", arg, "text, jsonl or csv");
		return 0;
	case OPT_LAST:
		if (!cli_number(arg, 1ull << 32, &cmd->last) || !cmd->last)
			return cli_bad_value("--last", arg, "a count");
		return 0;
	case OPT_TIME:
		return parse_time(cmd, arg);
	case OPT_TID:
		if (!cli_number(arg, INT32_MAX, &value))
			return cli_bad_value("--tid", arg, "a thread id");
		cmd->tid = (int32_t)value;
		cmd->opts.tids = &cmd->tid;
		cmd->opts.nr_tids = 1;
		return 0;
	case OPT_CPU:
		if (!cli_number(arg, 65535, &value))
			return cli_bad_value("--cpu", arg, "a CPU");
		cmd->cpu = (int32_t)value;
		cmd->opts.cpus = &cmd->cpu;
		cmd->opts.nr_cpus = 1;
		return 0;
	case 'j':
		if (!cli_number(arg, 256, &value) || !value)
			return cli_bad_value("-j", arg, "a number of threads from 1 to 256");
		cmd->opts.jobs = (unsigned int)value;
		return 0;
	case OPT_SUMMARY:
		cmd->summary = cmd->opts.only_summary = true;
		return 0;
	default:
		if (image_options_parse(&cmd->image_opts, opt, arg))
			return 0;
		return raw_options_parse(&cmd->raw, opt, arg);
	}
}

static void print_summary(const struct auxtap_decoder *dec)
{
	struct auxtap_decode_summary sum = {.size = sizeof(sum)};
	uint64_t span;

	auxtap_decoder_summary(dec, &sum);
	span = sum.time_begin ? sum.time_end - sum.time_begin : 0;
	printf("instructions: %llu\nbranches: %llu\ngaps: %llu\nerrors: %llu\nbytes: %llu\n"
	       "threads: %llu\nspan: %llu.%09llu\n",
	       (unsigned long long)sum.instructions, (unsigned long long)sum.branches,
	       (unsigned long long)sum.gaps, (unsigned long long)sum.errors,
	       (unsigned long long)sum.bytes, (unsigned long long)sum.threads,
	       (unsigned long long)(span / 1000000000), (unsigned long long)(span % 1000000000));
}

/* --last: a ring of the newest 'max' events. */
struct last_events {
	struct auxtap_event *ring;
	size_t first, nr, capacity;
	uint64_t max;
};

static int last_events_add(struct last_events *last, const struct auxtap_event *ev)
{
	struct auxtap_event kept = *ev;

	if (last->nr < last->max && ring_grow(last->ring, last->first, last->nr, last->capacity))
		return -ENOMEM;
	if (decode_event_keep(&kept))
		return -ENOMEM;
	if (last->nr == last->max) {
		decode_event_release(&last->ring[last->first]);
		last->first = ring_index(last->first, 1, last->capacity);
		last->nr--;
	}
	last->ring[ring_index(last->first, last->nr++, last->capacity)] = kept;
	return 0;
}

static void last_events_print(struct last_events *last, struct decode_printer *printer)
{
	for (size_t i = 0; i < last->nr; i++) {
		size_t at = ring_index(last->first, i, last->capacity);

		decode_print(printer, &last->ring[at]);
		decode_event_release(&last->ring[at]);
	}
}

static unsigned int nr_print_threads(const struct decode_cmd *cmd)
{
	cpu_set_t cpus;

	if (cmd->opts.jobs)
		return cmd->opts.jobs;
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (unsigned int)CPU_COUNT(&cpus);
}

/* Prints all events with several threads. Returns the last result of auxtap_decoder_next(). */
static int print_events_threaded(struct auxtap_decoder *dec, struct decode_printer *printer,
				 unsigned int nr, struct auxtap_error *err)
{
	struct decode_jobs *jobs = decode_jobs_new(printer, nr);
	int ret;

	if (!jobs)
		return auxtap_error_set(err, -ENOMEM, "decode", "out of memory");
	while ((ret = auxtap_decoder_next(dec, decode_jobs_slot(jobs), err)) == 1 &&
	       !printer->failed)
		decode_jobs_add(jobs);
	decode_jobs_finish(jobs);
	return ret;
}

/* Returns the last result of auxtap_decoder_next(). */
static int print_events(struct decode_cmd *cmd, struct auxtap_decoder *dec,
			struct decode_printer *printer, struct auxtap_error *err)
{
	struct last_events last = {.max = cmd->last};
	struct auxtap_event ev = {.size = sizeof(ev)};
	int ret;

	if (!cmd->summary)
		decode_print_begin(printer);
	if (!cmd->summary && !cmd->last && nr_print_threads(cmd) > 1) {
		ret = print_events_threaded(dec, printer, nr_print_threads(cmd), err);
		goto out;
	}
	while ((ret = auxtap_decoder_next(dec, &ev, err)) == 1 && !printer->failed) {
		if (cmd->summary)
			continue;
		if (!cmd->last)
			decode_print(printer, &ev);
		else if (last_events_add(&last, &ev)) {
			ret = auxtap_error_set(err, -ENOMEM, "--last", "out of memory");
			break;
		}
	}
	if (last.nr)
		last_events_print(&last, printer);
	if (cmd->summary && ret <= 0)
		print_summary(dec);
out:
	decode_print_flush(printer);
	decode_print_free(printer);
	free(last.ring);
	return ret;
}

static void build_id_text(char *out, const uint8_t *id, unsigned int size)
{
	strcpy(out, size ? "" : "no build-id");
	for (unsigned int i = 0; i < size && i < 20; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

static const char *image_hint(const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(name, "[kernel", 7))
		return "use --kcore FILE ('perf record --kcore' saves it) or --vmlinux FILE";
	if ((len > 3 && !strcmp(name + len - 3, ".ko")) || strstr(name, ".ko."))
		return "modules are read from kernel memory: use --kcore FILE ('perf record --kcore' saves it)";
	if (!strncmp(name, "//", 2))
		return "the program wrote that code at run time, and this recording does not have it";
	return "use --sysroot DIR with a directory that contains the file that ran";
}

/* Reports missing or different programs and libraries that caused gaps. */
static void report_missing_images(const struct auxtap_image_set *images)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	char want[48], found[48];

	for (size_t i = 0; i < auxtap_image_set_count(images); i++) {
		const char *plural;

		if (auxtap_image_set_info(images, i, &info) || info.state == AUXTAP_IMAGE_FOUND ||
		    !info.nr_gaps)
			continue;
		plural = info.nr_gaps == 1 ? "" : "s";
		build_id_text(want, info.build_id, info.build_id_size);
		build_id_text(found, info.found_build_id, info.found_build_id_size);
		if (info.changed)
			cli_errorf(
				info.name, image_hint(info.name),
				"is not the file that ran, or was written after the recording; %llu gap%s (no_image)",
				(unsigned long long)info.nr_gaps, plural);
		else if (info.state == AUXTAP_IMAGE_DIFFERENT)
			cli_errorf(
				info.name, image_hint(info.name),
				"is not the file that ran: build-id mismatch (%s ran, %s has %s); %llu gap%s (no_image)",
				want, info.path ? info.path : "?", found,
				(unsigned long long)info.nr_gaps, plural);
		else
			cli_errorf(info.name, image_hint(info.name),
				   "%s%s%s; %llu gap%s (no_image)",
				   info.denied ? "the recording's owner may not read it" :
						 "not found",
				   info.build_id_size ? ", build-id " : "",
				   info.build_id_size ? want : "", (unsigned long long)info.nr_gaps,
				   plural);
	}
}

/* Reports, once, requested events and fields that no file of this trace family contains. */
static void report_absent_kinds(const struct decode_printer *printer,
				const struct auxtap_trace_family *family, const char *path)
{
	uint32_t requested = printer->events, sample_fields = 0;

	for (int f = FIELD_PHYS; f < NR_FIELDS; f++)
		sample_fields |= 1u << f;
	if (printer->has & sample_fields)
		requested |= AUXTAP_EVENT_MEM;
	if (requested & family->lacks)
		cli_errorf(path, NULL, "this file contains %s, so no %s", family->contents,
			   family->lacks_text);
}

static uint32_t default_events(const struct auxtap_trace_family *family, bool summary)
{
	if (family && family->samples)
		return AUXTAP_EVENT_MEM | AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP;
	if (summary)
		return AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_TRACE;
	return AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP;
}

static int decode(struct decode_cmd *cmd, struct decode_printer *printer)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images = NULL;
	struct auxtap_perfdata *pd = NULL;
	struct auxtap_decoder *dec = NULL;
	const struct auxtap_trace_family *family = cmd->raw.family;
	bool is_coresight_snapshot = !cmd->raw.is_raw && auxtap_is_coresight_snapshot(cmd->path);
	int ret, status = CLI_FAILED;

	crash_guard_install(cmd->path);
	ret = auxtap_image_set_new(&images, &cmd->image_opts, &err);
	if (!ret)
		ret = raw_options_add_images(&cmd->raw, images, &err);
	if (is_coresight_snapshot) {
		family = auxtap_family_of_snapshot(cmd->path);
	} else if (!ret && !cmd->raw.is_raw) {
		ret = auxtap_perfdata_open(&pd, cmd->path, &err);
		family = ret ? NULL : auxtap_family_of_file(pd);
	}
	if (!cmd->opts.events)
		cmd->opts.events = default_events(family, cmd->summary);
	printer->events = cmd->opts.events;
	if (!ret && cmd->raw.is_raw)
		ret = auxtap_decoder_open_raw(&dec, cmd->path, &cmd->raw.raw, images, &cmd->opts,
					      &err);
	else if (!ret && is_coresight_snapshot)
		ret = auxtap_decoder_open_snapshot(&dec, cmd->path, images, &cmd->opts, &err);
	else if (!ret)
		ret = auxtap_decoder_open(&dec, pd, images, &cmd->opts, &err);
	if (ret) {
		cli_error(&err);
		goto out;
	}
	report_absent_kinds(printer, family, cmd->path);
	printer->images = images;
	ret = print_events(cmd, dec, printer, &err);
	status = CLI_OK;
	if (!auxtap_image_set_no_memory(images)) /* else images are missing for lack of memory */
		report_missing_images(images);
	if (printer->failed) {
		status = cli_output_failed(errno);
	} else if (ret >= 0 && auxtap_image_set_no_memory(images)) {
		cli_errorf(
			cmd->path, "allow more (ulimit -v, ulimit -n)",
			"out of memory or file descriptors: images, functions or lines are missing");
		status = CLI_FAILED;
	} else if (ret < 0) {
		cli_error(&err);
		status = ret == -ENOMEM ? CLI_FAILED : CLI_DAMAGED;
	}
	if (pd && cli_unfinished(pd) && status == CLI_OK)
		status = CLI_DAMAGED;
out:
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
	return status;
}

int cmd_decode(int argc, char **argv)
{
	static struct decode_printer printer;
	struct decode_cmd cmd = {
		.opts = {.size = sizeof(cmd.opts)},
		.image_opts = {.size = sizeof(cmd.image_opts)},
	};
	struct options o;
	char bad[32];
	int opt, first, ret;

	raw_options_init(&cmd.raw);
	printer.out = stdout;
	decode_fields_parse(&printer, "comm,tid,time,ip,sym,dso,addr", bad);
	options_start(&o, argc, argv, decode_options, false);
	while ((opt = options_next(&o))) {
		if (opt == 'h') {
			usage(stdout);
			return CLI_OK;
		}
		if (opt == OPTIONS_BAD)
			return cli_bad_option(&o, "decode");
		ret = parse_option(&cmd, &printer, opt, o.value);
		if (ret)
			return ret;
	}
	first = options_end(&o);
	if (argc - first > 1) {
		cli_errorf(argv[first + 1], NULL, "one file at a time");
		return CLI_USAGE;
	}
	cmd.path = first < argc ? argv[first] : "auxtap.data";
	/* A CoreSight snapshot may lack images, too: allow --image without --raw. */
	if (!cmd.raw.is_raw && auxtap_is_coresight_snapshot(cmd.path))
		cmd.raw.given &= ~(1u << (RAW_OPT_IMAGE - RAW_OPT_FIRST));
	ret = raw_options_check(&cmd.raw, "decode", first < argc);
	if (!ret)
		ret = raw_options_parse_images(&cmd.raw);
	if (ret)
		return ret;
	return decode(&cmd, &printer);
}
