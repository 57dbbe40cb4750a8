// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap watermark sweep: runs the standard sweep with the requested number of threads. The output
 * does not depend on that number: the results of all machines are kept and printed in order.
 */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "util/number.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "watermark_sweep.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT 4096 /* bytes of text about failures; further ones are only counted */

/* The result of a machine's run. */
struct outcome {
	bool refused, lossy, failed;
	unsigned long long transactions;
	char *text; /* about a failure; NULL: no memory */
};

/* Shared by the threads: each takes the next machine, until all are taken or one cannot be run. */
struct sweep {
	const struct sweep_opts *opts;
	struct outcome *outcomes;
	unsigned int nr;
	atomic_uint next;
	atomic_bool stop;
	pthread_mutex_t lock; /* protects error_at and err */
	unsigned int error_at;
	struct auxtap_error err; /* error of the first machine that could not be run */
};

static unsigned int nr_machines(void)
{
	unsigned int nr = 0;

	while (auxtap_watermark_get_machine(nr))
		nr++;
	return nr;
}

#define CONFIGS_PER_MACHINE (AUXTAP_SWEEP_AREAS * AUXTAP_SWEEP_WATERMARKS * AUXTAP_SWEEP_READERS)

static unsigned int machine_index(const struct sweep_opts *o, unsigned int i)
{
	return i * o->every / CONFIGS_PER_MACHINE;
}

static void make_config(const struct sweep_opts *o, unsigned int i,
			struct auxtap_watermark_config *c)
{
	const struct auxtap_sweep_machine *machine =
		auxtap_watermark_get_machine(machine_index(o, i));
	unsigned int n = i * o->every % CONFIGS_PER_MACHINE, reader = n % AUXTAP_SWEEP_READERS;

	n /= AUXTAP_SWEEP_READERS;
	c->size = sizeof(*c);
	auxtap_watermark_sweep_config(c, machine->driver, machine->page_size,
				      n / AUXTAP_SWEEP_WATERMARKS, n % AUXTAP_SWEEP_WATERMARKS,
				      reader);
	c->kernel = o->kernel;
}

static char *failure_text(const struct auxtap_watermark_config *c,
			  const struct auxtap_watermark_result *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s, watermark %llu:\n", c->driver, (unsigned long long)c->watermark);
	wm_print_violations(out, c, r);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Machines are taken in order: all before the first one with an error have been taken, too. */
static void record_error(struct sweep *s, unsigned int i, const struct auxtap_error *err)
{
	pthread_mutex_lock(&s->lock);
	if (i < s->error_at) {
		s->error_at = i;
		s->err = *err;
	}
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->stop, true);
}

static void *run_machines(void *arg)
{
	struct sweep *s = arg;
	unsigned int i;

	while (!atomic_load(&s->stop) && (i = atomic_fetch_add(&s->next, 1)) < s->nr) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_watermark_config c;
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		make_config(s->opts, i, &c);
		if (auxtap_watermark_run(&c, NULL, NULL, &r, &err)) {
			record_error(s, i, &err);
			break;
		}
		s->outcomes[i] = (struct outcome){
			.refused = r.refused,
			.lossy = r.produced != r.stored,
			.failed = r.nr_violations,
			.transactions = r.nr_transactions,
			.text = r.nr_violations ? failure_text(&c, &r) : NULL,
		};
	}
	return NULL;
}

/* If a thread cannot be created, the others do its work. */
static void run_all(struct sweep *s)
{
	pthread_t threads[SWEEP_MAX_JOBS];
	unsigned int nr = 0;

	while (nr + 1 < s->opts->jobs && !pthread_create(&threads[nr], NULL, run_machines, s))
		nr++;
	run_machines(s);
	while (nr)
		pthread_join(threads[--nr], NULL);
}

static void print_failures(const struct sweep *s, unsigned int nr)
{
	unsigned int nr_unprinted = 0;
	size_t printed = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct outcome *o = &s->outcomes[i];
		size_t size = o->text ? strlen(o->text) : MAX_TEXT;

		if (!o->failed)
			continue;
		if (printed + size < MAX_TEXT) {
			fputs(o->text, stderr);
			printed += size;
		} else {
			nr_unprinted++;
		}
	}
	if (nr_unprinted)
		fprintf(stderr, "and %u more machines that fail\n", nr_unprinted);
}

static void add_sums(const struct sweep *s, unsigned int nr, struct sweep_sum *sums)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct sweep_sum *sum = &sums[machine_index(s->opts, i)];
		const struct outcome *o = &s->outcomes[i];

		sum->runs++;
		sum->refused += o->refused;
		sum->lossy += o->lossy;
		sum->failed += o->failed;
		sum->transactions += o->transactions;
	}
}

int sweep_run(const struct sweep_opts *o, struct sweep_sum *sums)
{
	struct sweep s = {
		.opts = o,
		.nr = (nr_machines() * CONFIGS_PER_MACHINE + o->every - 1) / o->every,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.error_at = UINT_MAX,
	};
	unsigned int nr = s.nr;
	int ret = 0;

	if (!s.nr)
		return 0;
	s.outcomes = calloc(s.nr, sizeof(*s.outcomes));
	if (!s.outcomes)
		return -ENOMEM;
	fflush(stdout);
	run_all(&s);
	if (s.error_at != UINT_MAX) {
		cli_error(&s.err);
		ret = s.err.code;
		nr = s.error_at; /* later results depend on the number of threads */
	}
	print_failures(&s, nr);
	add_sums(&s, nr, sums);
	for (unsigned int i = 0; i < s.nr; i++)
		free(s.outcomes[i].text);
	free(s.outcomes);
	return ret;
}

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark sweep [OPTION]...\n\n"
	      "Runs the standard sweep: intel_pt with pages of 4 KiB, arm_spe and trbe with 4, 16 and\n"
	      "64 KiB; each with 16 areas, 64 watermarks and 4 readers: 28,672 machines without a\n"
	      "fault, in which every invariant must hold.\n\n"
	      "  --kernel NAME   kernel whose rules apply: 6.1.192, 6.12.95, 6.18.44 or all\n"
	      "                  (default: 6.1.192)\n"
	      "  --every N       simulate only every N-th machine\n"
	      "  -j N            use N threads (default: one per CPU, at most 16); the output is the\n"
	      "                  same for every N\n"
	      "  --help          print help\n\n"
	      "Exit status: 0 all pass; 1 one fails; 2 usage error; 3 failure.\n",
	      out);
}

static int run_kernel(struct sweep_opts *o)
{
	struct sweep_sum sums[SWEEP_MACHINES] = {0};
	unsigned long long failed = 0, transactions = 0;
	const struct auxtap_sweep_machine *machine;
	char page[24];
	int ret = sweep_run(o, sums);

	if (ret) {
		cli_errorf("sweep", NULL, "%s", strerror(-ret));
		return CLI_FAILED;
	}
	for (unsigned int m = 0; (machine = auxtap_watermark_get_machine(m)); m++) {
		const struct sweep_sum *s = &sums[m];

		printf("%-8s  %-9s %5s  %9llu %8llu %8llu %13llu %8llu\n", o->kernel,
		       machine->driver, wm_size(machine->page_size, page), s->runs, s->refused,
		       s->lossy, s->transactions, s->failed);
		failed += s->failed;
		transactions += s->transactions;
	}
	printf("%-8s  %s: %llu transactions\n", o->kernel,
	       failed ? "FAIL" : "pass: every invariant holds in every machine", transactions);
	return failed ? CLI_DAMAGED : CLI_OK;
}

enum {
	OPT_KERNEL = 256,
	OPT_EVERY,
};

static const struct option_row own_options[] = {
	{OPT_KERNEL, "kernel", "all|6.1.192|6.12.95|6.18.44"},
	{OPT_EVERY, "every", "N"},
	{'j', NULL, "N"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_sweep_options[] = {own_options, NULL};

int watermark_sweep(int argc, char **argv)
{
	struct sweep_opts o = {.kernel = auxtap_watermark_kernel(0),
			       .every = 1,
			       .jobs = sweep_jobs()};
	bool all = false, known = false;
	struct options from;
	const char *kernel;
	int opt, worst = CLI_OK, end;

	options_start(&from, argc, argv, watermark_sweep_options, false);
	while ((opt = options_next(&from))) {
		uint64_t n = 0;

		if (opt == OPTIONS_BAD)
			return cli_bad_option(&from, "watermark sweep");
		if (opt == 'h') {
			usage(stdout);
			return CLI_OK;
		}
		if (opt != OPT_KERNEL && !number_parse_decimal(from.value, UINT32_MAX, &n))
			n = 0;
		if (opt == OPT_KERNEL)
			o.kernel = from.value;
		else if (opt == OPT_EVERY && n && n <= 28672)
			o.every = (unsigned int)n;
		else if (opt == 'j' && n && n <= SWEEP_MAX_JOBS)
			o.jobs = (unsigned int)n;
		else {
			cli_errorf(from.what, "see 'auxtap watermark sweep --help'",
				   "'%s' is not a number in range", from.value);
			return CLI_USAGE;
		}
	}
	end = options_end(&from);
	all = !strcmp(o.kernel, "all");
	for (unsigned int i = 0; (kernel = auxtap_watermark_kernel(i)); i++)
		known |= !strcmp(o.kernel, kernel);
	if (end < argc || (!all && !known)) {
		cli_errorf(end < argc ? argv[end] : o.kernel, "see 'auxtap watermark sweep --help'",
			   "%s", end < argc ? "not an option" : "unknown kernel");
		return CLI_USAGE;
	}
	printf("%-8s  %-9s %5s  %9s %8s %8s %13s %8s\n", "kernel", "driver", "page", "machines",
	       "refused", "lossy", "transactions", "failed");
	for (unsigned int i = 0; (kernel = auxtap_watermark_kernel(i)); i++) {
		int ret;

		if (!all && strcmp(o.kernel, kernel) != 0)
			continue;
		o.kernel = kernel;
		ret = run_kernel(&o);
		worst = ret > worst ? ret : worst;
		if (!all)
			break;
	}
	return worst;
}

unsigned int sweep_jobs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 16 ? 16 : (unsigned int)n;
}
