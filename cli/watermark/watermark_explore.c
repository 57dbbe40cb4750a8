// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark explore: searches all states of one small configuration, or of all of them. */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "watermark_driver.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "watermark_sweep.h"
#include "util/vector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_STATES 20000000ull
#define LL	   unsigned long long

enum {
	OPT_ALL = WM_OPT_END,
	OPT_QUICK,
	OPT_MAX_STATES,
	OPT_PLAY,
};

static const struct option_row own_options[] = {
	{OPT_ALL, "all", NULL},
	{OPT_QUICK, "quick", NULL},
	{OPT_MAX_STATES, "max-states", "N"},
	{OPT_PLAY, "play", "PATH"},
	{'j', NULL, "N"},
	{'v', NULL, NULL},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_explore_options[] = {wm_option_rows, own_options, NULL};

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark explore [OPTION]...\n\n"
	      "Searches every state that a small configuration can reach: trace fragments, interrupt,\n"
	      "scheduler and reader in every order. A violation is printed with the shortest path to\n"
	      "it, one letter per action:\n"
	      "  p  a fragment of trace (--record)    r  the reader reads a fragment\n"
	      "  i  the driver handles the interrupt  a  it reads everything\n"
	      "  s  the program is switched out, in   e  it reenables the event if needed, and sleeps\n"
	      "  u  the area is unmapped, at the end  w  its timer finds that there is no progress\n\n"
	      "  --all            all configurations: every driver and kernel; areas of 1, 2, 4 and 8\n"
	      "                   pages; every watermark that is a multiple of the fragment, up to the\n"
	      "                   area and a page; and overwrite mode. Fragments of half a page; of a\n"
	      "                   quarter up to 4 pages (and watermarks of an eighth up to 2). Up to 4\n"
	      "                   pages also on CPU 0 (D21), with an erratum of TRBE (J6), and with\n"
	      "                   areas of single pages for PT\n"
	      "  --quick          areas of up to 4 pages, fragments of half a page\n"
	      "  --driver NAME, --kernel NAME, --pages N   with them: only these; only up to N pages\n"
	      "  -v               with them: print a line for each configuration\n"
	      "  -j N             with them: use N processes (default: one per CPU)\n"
	      "  --play PATH      replay such a path and print its events\n"
	      "  --max-states N   give up after N states of one configuration (default: 20000000)\n"
	      "  --help           print help\n\n"
	      "Without --all or --quick: the options of sim for machine and unit (--pages, --watermark,\n"
	      "--driver, …); lists of pages and watermarks are several configurations; times and rates\n"
	      "have no effect. Default: intel_pt, 2 pages, fragments of a quarter of a page.\n\n"
	      "Exit status: 0 all invariants hold in every state; 1 one is violated; 2 usage error;\n"
	      "3 failure, or given up.\n",
	      out);
}

/* ---- one configuration ---- */

static void print_event(void *ctx, const struct auxtap_watermark_event *e)
{
	(void)ctx;
	wm_print_event(stdout, e);
}

static void print_config(FILE *out, const struct auxtap_watermark_config *c)
{
	char watermark[24];

	fprintf(out, "%-9s %-8s cpu %d  %llu pages  watermark %-6s%s%s%s%s", c->driver, c->kernel,
		c->cpu, (LL)c->nr_pages,
		c->snapshot  ? "none" :
		c->watermark ? wm_size(c->watermark, watermark) :
			       "0",
		c->setup.errata ? " errata" : "",
		c->setup.errata & AUXTAP_ERRATUM_OVERWRITE ? " overwrite" : "",
		c->setup.errata & AUXTAP_ERRATUM_BEYOND ? " beyond" : "",
		c->max_alloc_pages == 1 ? " single pages" : "");
}

static void print_violation(FILE *out, const struct auxtap_watermark_config *c,
			    const struct auxtap_explore_result *r)
{
	const struct auxtap_invariant_info *info = auxtap_watermark_get_invariant(r->invariant);
	char command[1024];

	wm_print_command(c, command, sizeof(command));
	fprintf(out, "  %s (%s): %s\n", info->name, info->rules, r->text);
	if (!*r->path) {
		fprintf(out, "  the shortest path to it has more than %zu actions\n",
			sizeof(r->path) - 1);
		return;
	}
	fprintf(out, "  shortest path: %s\n", r->path);
	fprintf(out, "  replay: auxtap watermark explore%s --play %s\n",
		command + strlen("auxtap watermark sim"), r->path);
}

static int run_one(const struct auxtap_watermark_config *c, uint64_t max_states)
{
	struct auxtap_explore_result r = {.size = sizeof(r)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret = auxtap_watermark_explore(c, max_states, &r, &err);

	if (ret) {
		cli_error(&err);
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	print_config(stdout, c);
	if (r.refused) {
		printf("  refused: %s\n", r.refusal);
		return CLI_OK;
	}
	printf("  %llu states, %llu transitions, depth %u: %s\n", (LL)r.nr_states, (LL)r.nr_steps,
	       r.depth,
	       r.violated  ? "FAIL" :
	       !r.complete ? "given up, the remaining states were not checked" :
			     "pass, in every state");
	if (r.nr_unmapped)
		printf("  unmapped in %s %llu states (D2)\n",
		       r.nr_unmapped == r.nr_states ? "all" : "the first", (LL)r.nr_unmapped);
	if (r.nr_cut)
		printf("  pruned: %llu transitions where padding shifted positions by more than 2 bytes\n",
		       (LL)r.nr_cut);
	if (r.nr_findings)
		printf("  known: %s (%llu transitions)\n", r.finding, (LL)r.nr_findings);
	if (r.nr_stall_checks)
		printf("  known: trace is off and only the reader's own timer wakes it (D6, D21): %llu states\n",
		       (LL)r.nr_stall_checks);
	if (r.violated)
		print_violation(stdout, c, &r);
	return r.violated ? CLI_DAMAGED : r.complete ? CLI_OK : CLI_FAILED;
}

static int play(const struct auxtap_watermark_config *c, const char *path)
{
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret = auxtap_watermark_play(c, path, print_event, NULL, &r, &err);

	if (ret) {
		cli_error(&err);
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	return r.nr_violations ? CLI_DAMAGED : CLI_OK;
}

/* ---- all configurations ---- */

/* Selects configurations; NULL or 0: all. */
struct config_filter {
	const char *driver, *kernel;
	uint64_t pages;
	bool quick, each; /* each: print a line for each configuration */
	unsigned int jobs;
	uint64_t max_states;
};

struct configs {
	struct auxtap_watermark_config *list;
	size_t nr, max;
	bool no_memory;
};

static void add_config(struct configs *all, const struct auxtap_watermark_config *c)
{
	if (vector_grow(all->list, all->nr, all->max)) {
		all->no_memory = true;
		return;
	}
	all->list[all->nr++] = *c;
}

/* Fragments are half a page; a quarter in areas of up to 4 pages. */
static void small_config(struct auxtap_watermark_config *c, const char *driver, uint64_t nr_pages,
			 bool quick)
{
	wm_typical(c, driver);
	c->nr_pages = nr_pages;
	c->setup.record_bytes = nr_pages <= 4 && !quick ? 1024 : 2048;
	if (wm_driver(driver)->has_max_record)
		c->setup.max_record = c->setup.record_bytes;
}

/* Adds the watermarks of one area: multiples of step up to area + a page; and overwrite mode. */
static void add_watermarks(struct configs *all, const struct auxtap_watermark_config *like,
			   uint64_t step)
{
	struct auxtap_watermark_config c = *like;
	uint64_t last = (c.nr_pages + 1) * c.page_size;

	c.snapshot = 1;
	c.watermark = 0;
	add_config(all, &c);
	c.snapshot = 0;
	for (c.watermark = step; c.watermark <= last; c.watermark += step)
		add_config(all, &c);
}

/* Adds special cases of a driver and kernel: areas of up to 4 pages, fragments of half a page. */
static void add_special_cases(struct configs *all, const char *driver, const char *kernel,
			      uint64_t pages)
{
	struct auxtap_watermark_config c;
	uint64_t step;

	small_config(&c, driver, pages, true);
	c.kernel = kernel;
	step = c.setup.record_bytes;
	if (wm_driver(driver)->contiguous) {
		c.max_alloc_pages = 1;
		add_watermarks(all, &c, step);
		c.max_alloc_pages = 0;
	}
	/* independent of the kernel */
	if (wm_driver(driver)->searched_errata && !strcmp(kernel, auxtap_watermark_kernel(0))) {
		c.setup.errata = wm_driver(driver)->searched_errata;
		add_watermarks(all, &c, step);
		c.setup.errata = 0;
	}
	c.cpu = 0; /* D21 */
	add_watermarks(all, &c, step);
}

/* Adds the largest ones first, so that all processes finish at about the same time. */
static void list_configs(struct configs *all, const struct config_filter *filter)
{
	static const char *const drivers[] = {"trbe", "intel_pt", "arm_spe"};
	uint64_t most = filter->quick ? 4 : 8;
	const char *kernel;

	if (filter->pages && filter->pages < most)
		most = filter->pages;
	for (uint64_t pages = 8; pages; pages /= 2)
		for (size_t d = 0; d < sizeof(drivers) / sizeof(drivers[0]); d++)
			for (unsigned int k = 0; (kernel = auxtap_watermark_kernel(k)); k++) {
				struct auxtap_watermark_config c;

				if (pages > most ||
				    (filter->driver && strcmp(filter->driver, drivers[d]) != 0) ||
				    (filter->kernel && strcmp(filter->kernel, kernel) != 0))
					continue;
				small_config(&c, drivers[d], pages, filter->quick);
				c.kernel = kernel;
				add_watermarks(all, &c,
					       c.setup.record_bytes /
						       (pages > 2 || filter->quick ? 1 : 2));
				if (!filter->quick && pages <= 4)
					add_special_cases(all, drivers[d], kernel, pages);
			}
}

struct search_result {
	unsigned long long configs, refused, states, steps, stall_checks, findings, cut, failed,
		given_up;
	unsigned long long unmapped;
	unsigned long long done; /* configurations with any result */
	size_t next; /* used in the first share only: the next configuration to search */
};

/* Prints a configuration with one write, because several processes print. */
static void report_config(const struct auxtap_watermark_config *c,
			  const struct auxtap_explore_result *r, bool each)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!each && !r->violated)
		return;
	out = open_memstream(&text, &size);
	if (!out) {
		cli_errorf("explore", NULL, "out of memory for the result");
		return;
	}
	print_config(out, c);
	if (r->refused)
		fprintf(out, "  refused: %s\n", r->refusal);
	else
		fprintf(out, "  %llu states, %llu transitions, depth %u%s\n", (LL)r->nr_states,
			(LL)r->nr_steps, r->depth,
			r->violated  ? ": FAIL" :
			!r->complete ? ": given up" :
				       "");
	if (r->violated)
		print_violation(out, c, r);
	if (!fclose(out)) {
		fwrite(text, 1, size, stdout);
		fflush(stdout);
	}
	free(text);
}

static void search_configs(struct search_result *mine, struct search_result *first,
			   const struct configs *all, const struct config_filter *filter)
{
	for (;;) {
		size_t i = __atomic_fetch_add(&first->next, 1, __ATOMIC_RELAXED);
		struct auxtap_explore_result r = {.size = sizeof(r)};
		struct auxtap_error err = AUXTAP_ERROR_INIT;

		if (i >= all->nr)
			return;
		if (auxtap_watermark_explore(&all->list[i], filter->max_states, &r, &err)) {
			cli_error(&err);
			continue;
		}
		mine->done++;
		mine->configs += !r.refused;
		mine->refused += r.refused != 0;
		mine->states += r.nr_states;
		mine->steps += r.nr_steps;
		mine->stall_checks += r.nr_stall_checks;
		mine->findings += r.nr_findings;
		mine->cut += r.nr_cut;
		mine->unmapped += r.nr_unmapped;
		mine->failed += r.violated != 0;
		mine->given_up += !r.refused && !r.complete && !r.violated;
		report_config(&all->list[i], &r, filter->each);
	}
}

static int print_sum(const struct search_result *sum)
{
	printf("%llu configurations (%llu more are refused by their driver), %llu states, %llu transitions\n",
	       sum->configs, sum->refused, sum->states, sum->steps);
	printf("unmapped in %llu states: in all if there are up to %d, in the first %d of others (D2)\n",
	       sum->unmapped, AUXTAP_EXPLORE_UNMAP, AUXTAP_EXPLORE_UNMAP_SOME);
	printf("pruned: %llu transitions where padding shifted positions by more than 2 bytes\n",
	       sum->cut);
	printf("known: %llu transitions in which a truncated event is not disabled (D21), %llu states that\n"
	       "       only the reader's own timer leaves (D6)\n",
	       sum->findings, sum->stall_checks);
	if (sum->given_up)
		printf("given up: %llu configurations\n", sum->given_up);
	if (sum->failed)
		printf("FAIL: %llu configurations\n", sum->failed);
	else
		puts(!sum->configs ? "nothing was searched" :
		     sum->given_up ? "pass, as far as the search went" :
				     "pass: every invariant holds in every state");
	return sum->failed ? CLI_DAMAGED : sum->given_up ? CLI_FAILED : CLI_OK;
}

static int run_all(const struct config_filter *filter)
{
	struct configs all = {0};
	struct search_result *results, sum = {0};
	int status, ret = CLI_OK;

	list_configs(&all, filter);
	results = mmap(NULL, filter->jobs * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!all.nr && !all.no_memory) {
		cli_errorf("explore", "see 'auxtap watermark explore --help'",
			   "no configuration with this driver, kernel and number of pages");
		return CLI_USAGE;
	}
	if (all.no_memory || results == MAP_FAILED) {
		cli_errorf("explore", NULL, "out of memory");
		free(all.list);
		return CLI_FAILED;
	}
	fflush(stdout);
	for (unsigned int i = 0; i < filter->jobs; i++) {
		pid_t pid = fork();

		if (!pid) {
			search_configs(&results[i], results, &all, filter);
			_exit(0);
		}
		if (pid < 0) {
			cli_errorf("explore", NULL, "%s", strerror(errno));
			ret = CLI_FAILED;
			break;
		}
	}
	while (wait(&status) > 0 || errno == EINTR)
		if (WIFSIGNALED(status)) {
			cli_errorf("explore", NULL, "signal %d killed a process", WTERMSIG(status));
			ret = CLI_FAILED;
		}
	for (unsigned int i = 0; i < filter->jobs; i++) {
		sum.configs += results[i].configs;
		sum.refused += results[i].refused;
		sum.states += results[i].states;
		sum.steps += results[i].steps;
		sum.stall_checks += results[i].stall_checks;
		sum.findings += results[i].findings;
		sum.cut += results[i].cut;
		sum.unmapped += results[i].unmapped;
		sum.failed += results[i].failed;
		sum.done += results[i].done;
		sum.given_up += results[i].given_up;
	}
	sum.given_up += all.nr - sum.done; /* search_configs() printed the error */
	munmap(results, filter->jobs * sizeof(*results));
	free(all.list);
	status = print_sum(&sum);
	return ret ? ret : status;
}

/* Rejects options that --all and --quick, or the search of one configuration, do not allow. */
static bool check_combination(const struct wm_options *o, const struct config_filter *filter,
			      bool all, const char *path, const char *machine, const char *several)
{
	const char *odd = NULL;

	if (all && path)
		odd = "--play";
	else if (all)
		odd = machine;
	else
		odd = several;
	if (odd) {
		cli_errorf(odd, "see 'auxtap watermark explore --help'",
			   all ? "cannot be combined with --all or --quick" :
				 "requires --all or --quick");
		return false;
	}
	if (!all || (o->nr_pages == 1 && filter->pages <= 8))
		return true;
	cli_errorf("--pages", "give one number, up to 8",
		   "--all and --quick have areas of 1, 2, 4 and 8 pages");
	return false;
}

/* Runs the requested areas × watermarks. */
static int run_list(struct wm_options *o, const char *path, uint64_t max_states)
{
	int ret = CLI_OK;

	for (size_t p = 0; p < o->nr_pages; p++)
		for (size_t i = 0; i < o->nr_watermarks; i++) {
			int one;

			o->c.nr_pages = o->pages[p];
			o->c.watermark = o->watermarks[i];
			one = path ? play(&o->c, path) : run_one(&o->c, max_states);
			ret = one > ret ? one : ret;
		}
	return ret;
}

int watermark_explore(int argc, char **argv)
{
	struct config_filter filter = {.jobs = sweep_jobs(), .max_states = MAX_STATES};
	const char *path = NULL, *driver, *machine = NULL, *several = NULL;
	bool bad = false, all = false, quick = false;
	struct wm_options o;
	struct options from;
	struct wm_first_options first;
	char name[sizeof(from.what)];
	int opt, ret = CLI_USAGE;

	wm_options_find_first(&first, argc, argv, watermark_explore_options);
	wm_options_init(&o, &first);
	driver = o.c.driver;
	if (!o.fault) {
		small_config(&o.c, driver, 2, false);
	} else { /* a small area in which the fault still shows */
		o.c.nr_pages = 4;
		o.c.setup.record_bytes = 1024;
		if (wm_driver(driver)->has_max_record)
			o.c.setup.max_record = 1024;
	}
	options_start(&from, argc, argv, watermark_explore_options, false);
	while ((opt = options_next(&from))) {
		uint64_t number;

		if (wm_options_parse(&o, &from, opt, &bad)) {
			if (bad)
				goto out;
			if (opt == WM_OPT_DRIVER)
				filter.driver = driver;
			else if (opt == WM_OPT_KERNEL)
				filter.kernel = o.c.kernel;
			else if (opt == WM_OPT_PAGES)
				filter.pages = o.c.nr_pages;
			else
				machine = strcpy(name, from.what);
			continue;
		}
		switch (opt) {
		case 'h':
			usage(stdout);
			ret = CLI_OK;
			goto out;
		case OPT_ALL:
			all = true;
			break;
		case OPT_QUICK:
			quick = true;
			break;
		case OPT_PLAY:
			path = from.value;
			break;
		case 'v':
			filter.each = true;
			several = "-v";
			break;
		case OPT_MAX_STATES:
		case 'j':
			if (!wm_parse_size(from.value, &number) || !number ||
			    number > (opt == 'j' ? 256 : UINT32_MAX - 1)) {
				cli_errorf(from.value, "see 'auxtap watermark explore --help'",
					   "not a number in range");
				goto out;
			}
			if (opt == 'j') {
				filter.jobs = (unsigned int)number;
				several = "-j";
			} else {
				filter.max_states = number;
			}
			break;
		default:
			cli_bad_option(&from, "watermark explore");
			goto out;
		}
	}
	if (options_end(&from) < argc) {
		cli_errorf(argv[options_end(&from)], "see 'auxtap watermark explore --help'",
			   "not an option");
		goto out;
	}
	if (!wm_options_finish(&o) ||
	    !check_combination(&o, &filter, all || quick, path, machine, several))
		goto out;
	filter.quick = quick && !all;
	ret = all || quick ? run_all(&filter) : run_list(&o, path, filter.max_states);
out:
	wm_options_free(&o);
	return ret;
}
