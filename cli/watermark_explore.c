// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark explore: one small world, or all of them, every state. */
#include "cli.h"
#include "cmd_watermark.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "watermark_sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_STATES 20000000ull
#define LL unsigned long long

enum {
	OPT_HELP = WM_OPT_END,
	OPT_ALL,
	OPT_QUICK,
	OPT_MAX_STATES,
	OPT_PLAY,
};

static const struct option options[] = {
	WM_OPTIONS,
	{"all", no_argument, NULL, OPT_ALL},
	{"quick", no_argument, NULL, OPT_QUICK},
	{"max-states", required_argument, NULL, OPT_MAX_STATES},
	{"play", required_argument, NULL, OPT_PLAY},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark explore [OPTION]...\n\n"
	      "Finds every state that a small world can come into: trace a piece at a time, the\n"
	      "interrupt, the scheduler and the reader in every order. A violation comes with the\n"
	      "shortest way to it, a letter an action:\n"
	      "  p  a piece of trace (--record)       r  the reader reads a piece\n"
	      "  i  the interrupt comes to the driver a  it reads all\n"
	      "  s  the program is switched out, in   e  it enables the event if need be, and sleeps\n"
	      "                                       w  its watch finds that nothing goes on\n\n"
	      "  --all            all drivers and kernels, areas of up to 4 pages (8 with 6.1.192's\n"
	      "                   rules), pieces of a half or a quarter of a page, every watermark\n"
	      "                   that is a multiple of the piece, up to the area and a page\n"
	      "  --quick          areas of up to 4 pages, pieces of half a page, fewer watermarks\n"
	      "  --play PATH      plays such a path and prints what happens\n"
	      "  --max-states N   gives up beyond (20000000)\n"
	      "  -j N             processes, for --all and --quick (as many as there are CPUs)\n"
	      "  --help           this text\n\n"
	      "and sim's options for the machine and the unit (--pages, --watermark, --driver, …);\n"
	      "what is about time does not matter here. Default: intel_pt, 2 pages, pieces of a\n"
	      "quarter of a page.\n\n"
	      "Exit status: 0 all invariants hold in every state; 1 one does not; 2 usage;\n"
	      "3 could not be done, or given up.\n",
	      out);
}

/* ---- one world ---- */

static void print_event(void *ctx, const struct auxtap_watermark_event *e)
{
	(void)ctx;
	wm_print_event(stdout, e);
}

static void print_world(FILE *out, const struct auxtap_watermark_config *c)
{
	char mark[24];

	fprintf(out, "%-9s %-8s cpu %d  %llu pages  watermark %-6s%s", c->driver, c->kernel, c->cpu,
		(LL)c->nr_pages, c->snapshot ? "none" : wm_size(c->watermark, mark),
		c->setup.errata ? " errata" : "");
}

static void print_violation(FILE *out, const struct auxtap_watermark_config *c,
			    const struct auxtap_explore_result *r)
{
	const struct auxtap_invariant_info *info = auxtap_invariant_info(r->invariant);
	char command[1024];

	wm_print_command(c, command, sizeof(command));
	fprintf(out, "  %s (%s): %s\n  shortest way: %s\n", info->name, info->rules, r->text, r->path);
	fprintf(out, "  play it: auxtap watermark explore%s --play %s\n",
		command + strlen("auxtap watermark sim"), r->path);
}

static int run_one(const struct auxtap_watermark_config *c, uint64_t max_states)
{
	struct auxtap_explore_result r;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret = auxtap_watermark_explore(c, max_states, &r, &err);

	if (ret) {
		cli_error(&err);
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	print_world(stdout, c);
	if (r.refused) {
		printf("  refused: %s\n", r.refusal);
		return CLI_OK;
	}
	printf("  %llu states, %llu steps, depth %u: %s\n", (LL)r.nr_states, (LL)r.nr_steps, r.depth,
	       r.violated  ? "FAIL" :
	       !r.complete ? "given up, the rest is not known" :
			     "pass, in every state");
	if (r.nr_cut)
		printf("  not followed: %llu steps behind which padding has moved the positions by more than 2 bytes\n",
		       (LL)r.nr_cut);
	if (r.nr_findings)
		printf("  known: %s (%llu steps)\n", r.finding, (LL)r.nr_findings);
	if (r.nr_watched)
		printf("  known: trace is off and nobody wakes the reader (D6, D21), but its own watch: %llu states\n",
		       (LL)r.nr_watched);
	if (r.violated)
		print_violation(stdout, c, &r);
	return r.violated ? CLI_DAMAGED : r.complete ? CLI_OK : CLI_FAILED;
}

static int play(const struct auxtap_watermark_config *c, const char *path)
{
	struct auxtap_watermark_result r;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret = auxtap_watermark_play(c, path, print_event, NULL, &r, &err);

	if (ret) {
		cli_error(&err);
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	return r.nr_violations ? CLI_DAMAGED : CLI_OK;
}

/* ---- all of them ---- */

struct worlds {
	struct auxtap_watermark_config *list;
	size_t nr, max;
};

static void add(struct worlds *all, const struct auxtap_watermark_config *c)
{
	if (all->nr == all->max) {
		size_t max = 2 * all->max + 256;
		struct auxtap_watermark_config *more = realloc(all->list, max * sizeof(*more));

		if (!more)
			return;
		all->list = more;
		all->max = max;
	}
	all->list[all->nr++] = *c;
}

/* Pieces of half a page; of a quarter where that is not too much. */
static void small_world(struct auxtap_watermark_config *c, const char *driver, uint64_t nr_pages,
			bool quick)
{
	auxtap_watermark_defaults(c, driver);
	c->nr_pages = nr_pages;
	c->setup.record_bytes = nr_pages <= 2 && !quick ? 1024 : 2048;
	if (!strcmp(driver, "arm_spe"))
		c->setup.max_record = c->setup.record_bytes;
}

/* Areas × watermarks of one driver and kernel on one CPU. */
static void add_worlds(struct worlds *all, const char *driver, const char *kernel, int cpu,
		       uint64_t max_pages, bool quick)
{
	for (uint64_t pages = 1; pages <= max_pages; pages *= 2) {
		struct auxtap_watermark_config c;
		uint64_t piece, last;

		small_world(&c, driver, pages, quick);
		c.kernel = kernel;
		c.cpu = cpu;
		piece = c.setup.record_bytes;
		last = (pages + 1) * c.page_size;
		c.snapshot = 1;
		add(all, &c);
		c.snapshot = 0;
		for (c.watermark = piece; c.watermark <= last; c.watermark += piece)
			if (!quick || pages < 4 || c.watermark == 2 * c.page_size)
				add(all, &c);
	}
}

static void all_worlds(struct worlds *all, bool quick)
{
	static const char *const drivers[] = {"trbe", "arm_spe", "intel_pt"};
	static const char *const kernels[] = {"6.1.192", "6.12.95", "6.18.44"};

	for (size_t d = 0; d < 3; d++)
		for (size_t k = 0; k < 3; k++) {
			add_worlds(all, drivers[d], kernels[k], 1, quick ? (k ? 2 : 4) : k ? 4 : 8,
				   quick);
			if (!k && !quick) /* D21 */
				add_worlds(all, drivers[d], kernels[k], 0, 4, quick);
		}
}

struct share {
	unsigned long long worlds, refused, states, steps, watched, findings, failed, given_up;
	char text[8192];
	size_t next; /* in the first one: the world that is to be taken next */
};

static void work(struct share *mine, struct share *first, const struct worlds *all,
		 uint64_t max_states)
{
	for (;;) {
		size_t i = __atomic_fetch_add(&first->next, 1, __ATOMIC_RELAXED);
		struct auxtap_explore_result r;
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		size_t len = strlen(mine->text);
		FILE *out;

		if (i >= all->nr)
			return;
		if (auxtap_watermark_explore(&all->list[i], max_states, &r, &err)) {
			cli_error(&err);
			mine->given_up++;
			continue;
		}
		mine->worlds += !r.refused;
		mine->refused += r.refused != 0;
		mine->states += r.nr_states;
		mine->steps += r.nr_steps;
		mine->watched += r.nr_watched;
		mine->findings += r.nr_findings;
		mine->failed += r.violated != 0;
		mine->given_up += !r.refused && !r.complete && !r.violated;
		if (!r.violated || len + 1024 > sizeof(mine->text))
			continue;
		out = fmemopen(mine->text + len, sizeof(mine->text) - len - 1, "w");
		if (!out)
			continue;
		print_world(out, &all->list[i]);
		fputc('\n', out);
		print_violation(out, &all->list[i], &r);
		fclose(out);
	}
}

static int run_all(bool quick, unsigned int jobs, uint64_t max_states)
{
	struct worlds all = {0};
	struct share *shares, sum = {0};
	int status, ret = CLI_OK;

	all_worlds(&all, quick);
	shares = mmap(NULL, jobs * sizeof(*shares), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!all.nr || shares == MAP_FAILED) {
		cli_complain("explore", NULL, "no memory");
		return CLI_FAILED;
	}
	fflush(stdout);
	for (unsigned int i = 0; i < jobs; i++) {
		pid_t pid = fork();

		if (!pid) {
			work(&shares[i], shares, &all, max_states);
			_exit(0);
		}
		if (pid < 0) {
			cli_complain("explore", NULL, "%s", strerror(errno));
			ret = CLI_FAILED;
			break;
		}
	}
	while (wait(&status) > 0 || errno == EINTR)
		if (WIFSIGNALED(status)) {
			cli_complain("explore", NULL, "a process died of signal %d",
				     WTERMSIG(status));
			ret = CLI_FAILED;
		}
	for (unsigned int i = 0; i < jobs; i++) {
		fputs(shares[i].text, stdout);
		sum.worlds += shares[i].worlds;
		sum.refused += shares[i].refused;
		sum.states += shares[i].states;
		sum.steps += shares[i].steps;
		sum.watched += shares[i].watched;
		sum.findings += shares[i].findings;
		sum.failed += shares[i].failed;
		sum.given_up += shares[i].given_up;
	}
	munmap(shares, jobs * sizeof(*shares));
	free(all.list);
	printf("%llu worlds (%llu more are refused by their driver), %llu states, %llu steps\n",
	       sum.worlds, sum.refused, sum.states, sum.steps);
	printf("known: %llu steps in which a truncated event is not disabled (D21), %llu states that only\n"
	       "       the reader's own watch leaves (D6)\n",
	       sum.findings, sum.watched);
	if (sum.given_up)
		printf("given up: %llu worlds\n", sum.given_up);
	printf("%s\n", sum.failed ? "FAIL" : "pass: every invariant holds in every state");
	if (ret)
		return ret;
	return sum.failed ? CLI_DAMAGED : sum.given_up ? CLI_FAILED : CLI_OK;
}

int watermark_explore(int argc, char **argv)
{
	struct wm_options o;
	uint64_t max_states = MAX_STATES, jobs = sweep_jobs();
	bool bad = false, all = false, quick = false;
	const char *path = NULL, *driver;
	int opt, ret = CLI_USAGE;

	wm_options_init(&o, argc, argv);
	driver = o.c.driver;
	if (!o.fault) {
		small_world(&o.c, driver, 2, false);
	} else { /* what the fault needs to be seen, in less room */
		o.c.nr_pages = 4;
		o.c.setup.record_bytes = 1024;
		if (!strcmp(driver, "arm_spe"))
			o.c.setup.max_record = 1024;
	}
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hj:", options, NULL)) != -1) {
		if (wm_options_take(&o, opt, optarg, &bad)) {
			if (bad)
				goto out;
			continue;
		}
		switch (opt) {
		case 'h':
		case OPT_HELP:
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
			path = optarg;
			break;
		case OPT_MAX_STATES:
		case 'j':
			if (wm_parse_size(optarg, opt == 'j' ? &jobs : &max_states) && jobs &&
			    jobs <= 256 && max_states && max_states < UINT32_MAX)
				break;
			cli_complain(optarg, "see 'auxtap watermark explore --help'",
				     "not a number that is possible");
			goto out;
		default:
			cli_complain(argv[optind - 1], "see 'auxtap watermark explore --help'", "%s",
				     opt == ':' ? "this option wants a value" : "no such option");
			goto out;
		}
	}
	if (optind < argc) {
		cli_complain(argv[optind], "see 'auxtap watermark explore --help'", "not an option");
		goto out;
	}
	if (!wm_options_finish(&o))
		goto out;
	if (all || quick) {
		ret = run_all(quick && !all, (unsigned int)jobs, max_states);
		goto out;
	}
	for (size_t i = 0; i < o.nr_watermarks; i++) {
		int one;

		o.c.watermark = o.watermarks[i];
		one = path ? play(&o.c, path) : run_one(&o.c, max_states);
		ret = !i || one > ret ? one : ret;
	}
out:
	wm_options_free(&o);
	return ret;
}
