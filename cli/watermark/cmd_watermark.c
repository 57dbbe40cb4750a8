// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark: runs a subcommand; and 'sim', which simulates one machine or several. */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "watermark_options.h"
#include "watermark_picture.h"
#include "watermark_print.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark [COMMAND [OPTION]...]\n\n"
	      "Simulates a trace unit, its driver and the kernel's AUX area, with an interrupt\n"
	      "controller and a reader whose timing you choose, and checks every step.\n\n"
	      "  (nothing)  run a demonstration, about ten seconds\n"
	      "  sim        simulate one machine, or one for each of several watermarks\n"
	      "  sweep      simulate all drivers, page sizes, watermarks, areas and readers\n"
	      "  faults     run the fault catalogue: check that every fault is detected\n"
	      "  explore    check every state of small configurations, in all orders of events\n"
	      "  live       compare this machine's own trace unit with the simulator's model\n"
	      "  advise     find the smallest area and its watermark for a rate and latencies\n\n"
	      "'auxtap watermark COMMAND --help' lists the options of a command.\n"
	      "docs/watermark.md explains the protocol, the verdicts, and how to model your own\n"
	      "trace unit.\n\n"
	      "Exit status: 0 all invariants hold; 1 one is violated; 2 usage error; 3 failure.\n",
	      out);
}

const struct cli_command watermark_commands[] = {
	{"sim", watermark_sim, .options = watermark_sim_options},
	{"sweep", watermark_sweep, .options = watermark_sweep_options},
	{"faults", watermark_faults, .options = watermark_faults_options},
	{"explore", watermark_explore, .options = watermark_explore_options},
	{"advise", watermark_advise, .options = watermark_advise_options},
	{"live", watermark_live, .options = watermark_live_options},
	{0},
};

int cmd_watermark(int argc, char **argv)
{
	if (argc < 2)
		return watermark_demo();
	if (cli_wants_help(argc, argv)) {
		usage(stdout);
		return CLI_OK;
	}
	for (const struct cli_command *c = watermark_commands; c->name; c++)
		if (!strcmp(argv[1], c->name))
			return c->run(argc - 1, argv + 1);
	cli_errorf(argv[1], "see 'auxtap watermark --help'", "no such command");
	return CLI_USAGE;
}

/* ---- sim ---- */

static void sim_usage(FILE *out)
{
	fputs("usage: auxtap watermark sim [OPTION]...\n\n"
	      "Simulates a machine and prints where the driver put its interrupt thresholds, where the\n"
	      "interrupts came, what was lost and why, and whether every invariant held.\n\n",
	      out);
	fputs(WM_HELP, out);
	fputs("output\n"
	      "  --events             print one line per event before the verdict\n"
	      "  --format text|json|html   (text); html is a page that draws the JSON: of one machine\n"
	      "                       its time line, of several the loss over watermark and area\n"
	      "  -o, --output FILE    write to FILE (default: standard output)\n"
	      "  --help               print help\n\n"
	      "Exit status: 0 all invariants hold; 1 one is violated; 2 usage error; 3 failure.\n",
	      out);
}

enum {
	OPT_EVENTS = WM_OPT_END,
	OPT_FORMAT,
};

static const struct option_row own_options[] = {
	{OPT_EVENTS, "events", NULL},
	{OPT_FORMAT, "format", "text|json|html"},
	{'o', "output", "FILE"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_sim_options[] = {wm_option_rows, own_options, NULL};

struct sim {
	struct wm_options o;
	bool events, json, html;
	const char *path;
	FILE *out;
	struct wm_first first;
	json_t *runs; /* for JSON or a page: the finished runs; else NULL */
	/* of the current run, if needed; else NULL */
	struct wm_picture *picture;
	json_t *list;
};

static void on_event(void *ctx, const struct auxtap_watermark_event *e)
{
	struct sim *s = ctx;

	if (e->what == AUXTAP_WM_THRESHOLDS && !s->first.seen)
		s->first = (struct wm_first){true, e->a, e->b};
	if (s->picture)
		wm_picture_event(s->picture, e);
	if (s->list)
		json_array_append_new(s->list, wm_json_event(e));
	else if (s->events)
		wm_print_event(s->out, e);
}

static int no_memory(void)
{
	cli_errorf("sim", NULL, "out of memory");
	return -ENOMEM;
}

/*
 * Appends the run to s->runs: with its events if they are requested; with its drawing if it is the
 * only run.
 */
static int add_run(struct sim *s, const struct auxtap_watermark_config *c,
		   const struct auxtap_watermark_result *r)
{
	json_t *run = wm_json_run(c, r);
	int ret = 0;

	if (s->list)
		ret |= json_object_set(run, "events", s->list);
	if (s->picture)
		ret |= json_object_set_new(run, "picture", wm_picture_json(s->picture, c, r));
	ret |= json_array_append_new(s->runs, run);
	return ret ? no_memory() : 0;
}

static int run_to_json(struct sim *s, const struct auxtap_watermark_config *c,
		       struct auxtap_watermark_result *r, struct auxtap_error *err)
{
	bool only = s->o.nr_watermarks * s->o.nr_pages == 1;
	int ret;

	s->list = s->events ? json_array() : NULL;
	s->picture = only ? wm_picture_new() : NULL;
	if ((s->events && !s->list) || (only && !s->picture)) {
		ret = no_memory();
	} else {
		ret = auxtap_watermark_run(c, on_event, s, r, err);
		if (ret)
			cli_error(err);
		else
			ret = add_run(s, c, r);
	}
	json_decref(s->list);
	wm_picture_free(s->picture);
	s->list = NULL;
	s->picture = NULL;
	return ret;
}

/* Returns 0; 1: an invariant is violated; negative: printed an error. */
static int run_one(struct sim *s, uint64_t pages, uint64_t watermark)
{
	struct auxtap_watermark_config c = s->o.c;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	int ret;

	c.nr_pages = pages;
	c.watermark = watermark;
	s->first.seen = false;
	if (s->runs) {
		ret = run_to_json(s, &c, &r, &err);
		return ret ? ret : r.nr_violations != 0;
	}
	ret = auxtap_watermark_run(&c, on_event, s, &r, &err);
	if (ret) {
		cli_error(&err);
		return ret;
	}
	if (s->o.nr_watermarks > 1)
		wm_print_row(s->out, &c, &r);
	else
		wm_print_run(s->out, &c, &r, &s->first);
	return r.nr_violations != 0;
}

static int run_area(struct sim *s, uint64_t pages, int *worst)
{
	char page[24], area[24];
	int ret;

	if (!s->runs && s->o.nr_watermarks > 1) {
		fprintf(s->out, "%s, rules of Linux %s: %llu pages of %s (%s)\n", s->o.c.driver,
			s->o.c.kernel, (unsigned long long)pages, wm_size(s->o.c.page_size, page),
			wm_size(pages * s->o.c.page_size, area));
		wm_print_row_head(s->out);
	}
	for (size_t i = 0; i < s->o.nr_watermarks; i++) {
		ret = run_one(s, pages, s->o.watermarks[i]);
		if (ret < 0)
			return ret;
		*worst |= ret;
	}
	return 0;
}

static int run_all(struct sim *s)
{
	int ret = 0, worst = 0;

	if (s->json || s->html) {
		s->runs = json_array();
		ret = s->runs ? 0 : no_memory();
	}
	for (size_t i = 0; i < s->o.nr_pages && !ret; i++)
		ret = run_area(s, s->o.pages[i], &worst);
	if (s->html && !ret) {
		ret = wm_page_write(s->runs, s->out) ? no_memory() : 0;
	} else if (s->json && !ret) {
		json_dumpf(s->runs, s->out, JSON_INDENT(1));
		fputc('\n', s->out);
	}
	json_decref(s->runs);
	if (ret)
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	return worst ? CLI_DAMAGED : CLI_OK;
}

/* Writes the output to the requested file; removes it if it is incomplete. */
static int run_to_file(struct sim *s)
{
	int ret;

	if (s->path && !strcmp(s->path, "-"))
		s->path = NULL;
	s->out = s->path ? fopen(s->path, "we") : stdout;
	if (!s->out) {
		cli_errorf(s->path, NULL, "%s", strerror(errno));
		return CLI_FAILED;
	}
	ret = run_all(s);
	if (!s->path)
		return ret;
	if (ferror(s->out) | fclose(s->out)) {
		cli_errorf(s->path, NULL, "%s", strerror(errno));
		ret = CLI_FAILED;
	}
	if (ret > CLI_DAMAGED)
		remove(s->path);
	return ret;
}

static bool parse_format(struct sim *s, const char *name)
{
	s->json = !strcmp(name, "json");
	s->html = !strcmp(name, "html");
	if (s->json || s->html || !strcmp(name, "text"))
		return true;
	if (!strcmp(name, "svg"))
		cli_errorf(
			"svg",
			"use '--format html': its page has a button that saves the picture as SVG",
			"not an output format");
	else
		cli_errorf(name, "use text, json or html", "no such format");
	return false;
}

int watermark_sim(int argc, char **argv)
{
	struct sim s = {0};
	struct options o;
	struct wm_first_options first;
	bool bad = false;
	int opt, ret;

	wm_options_find_first(&first, argc, argv, watermark_sim_options);
	wm_options_init(&s.o, &first);
	options_start(&o, argc, argv, watermark_sim_options, false);
	while ((opt = options_next(&o))) {
		if (wm_options_parse(&s.o, &o, opt, &bad)) {
			if (bad)
				goto usage_error;
			continue;
		}
		switch (opt) {
		case 'h':
			sim_usage(stdout);
			wm_options_free(&s.o);
			return CLI_OK;
		case OPT_EVENTS:
			s.events = true;
			break;
		case OPT_FORMAT:
			if (!parse_format(&s, o.value))
				goto usage_error;
			break;
		case 'o':
			s.path = o.value;
			break;
		default:
			cli_bad_option(&o, "watermark sim");
			goto usage_error;
		}
	}
	if (options_end(&o) < argc) {
		cli_errorf(argv[options_end(&o)], "see 'auxtap watermark sim --help'",
			   "not an option");
		goto usage_error;
	}
	if (!wm_options_finish(&s.o))
		goto usage_error;
	if (!s.o.c.max_bytes && !s.o.c.max_transactions && !s.o.c.max_ns) {
		cli_errorf("length", "give --bytes, --transactions or --time", "no end condition");
		goto usage_error;
	}
	ret = run_to_file(&s);
	wm_options_free(&s.o);
	return ret;

usage_error:
	wm_options_free(&s.o);
	return CLI_USAGE;
}
