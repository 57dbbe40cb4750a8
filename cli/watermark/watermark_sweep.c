// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap watermark sweep: the standard sweep, in the requested number of processes (the simulator
 * runs one machine at a time in each).
 */
#include "cli/cli.h"
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

/* Shared memory for the result of one process. */
struct share {
	struct sweep_sum sums[SWEEP_MACHINES];
	char text[4096];	    /* of the first failures */
	unsigned int nr_unreported; /* failures that do not fit into text */
	int failed;		    /* negative errno */
};

static void add_failure(struct share *s, const struct auxtap_watermark_config *c,
			const struct auxtap_watermark_result *r)
{
	size_t len = strlen(s->text), size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		fprintf(out, "%s, watermark %llu:\n", c->driver, (unsigned long long)c->watermark);
		wm_print_violations(out, c, r);
		if (fclose(out))
			size = sizeof(s->text);
	}
	if (text && size < sizeof(s->text) - len)
		memcpy(s->text + len, text, size + 1);
	else
		s->nr_unreported++;
	free(text);
}

static int run_one(struct share *s, unsigned int machine, const struct auxtap_watermark_config *c)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct sweep_sum *sum = &s->sums[machine];
	struct auxtap_watermark_result r;
	int ret = auxtap_watermark_run(c, NULL, NULL, &r, &err);

	if (ret) {
		cli_error(&err);
		return ret;
	}
	sum->runs++;
	sum->refused += r.refused != 0;
	sum->lossy += r.produced != r.stored;
	sum->transactions += r.nr_transactions;
	if (r.nr_violations) {
		sum->failed++;
		add_failure(s, c, &r);
	}
	return 0;
}

/* The share of this process: every nr-th configuration. */
static void work(struct share *s, const struct sweep_opts *o, unsigned int me)
{
	unsigned int n = 0;

	for (unsigned int m = 0; auxtap_sweep_machines[m].driver; m++)
		for (unsigned int area = 0; area < AUXTAP_SWEEP_AREAS; area++)
			for (unsigned int watermark = 0; watermark < AUXTAP_SWEEP_WATERMARKS;
			     watermark++)
				for (unsigned int reader = 0; reader < AUXTAP_SWEEP_READERS;
				     reader++) {
					const struct auxtap_sweep_machine *machine =
						&auxtap_sweep_machines[m];
					struct auxtap_watermark_config c;

					if (n++ % (o->jobs * o->every) != me * o->every)
						continue;
					auxtap_watermark_sweep_config(&c, machine->driver,
								      machine->page_size, area,
								      watermark, reader);
					c.kernel = o->kernel;
					s->failed = run_one(s, m, &c);
					if (s->failed)
						return;
				}
}

int sweep_run(const struct sweep_opts *o, struct sweep_sum *sums)
{
	struct share *shares = mmap(NULL, o->jobs * sizeof(*shares), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret = 0, status;
	pid_t pid = 1;

	if (shares == MAP_FAILED)
		return -errno;
	fflush(stdout);
	for (unsigned int i = 0; i < o->jobs; i++) {
		shares[i].failed = -ECHILD;
		pid = fork();
		if (pid < 0)
			ret = -errno;
		if (pid)
			continue;
		shares[i].failed = 0;
		work(&shares[i], o, i);
		_exit(0);
	}
	while (wait(&status) > 0 || errno == EINTR)
		if (WIFSIGNALED(status))
			ret = -EFAULT;
	for (unsigned int i = 0; i < o->jobs; i++) {
		if (shares[i].failed)
			ret = shares[i].failed;
		fputs(shares[i].text, stderr);
		if (shares[i].nr_unreported)
			fprintf(stderr, "and %u more machines that fail\n",
				shares[i].nr_unreported);
		for (unsigned int m = 0; m < SWEEP_MACHINES; m++) {
			sums[m].runs += shares[i].sums[m].runs;
			sums[m].refused += shares[i].sums[m].refused;
			sums[m].lossy += shares[i].sums[m].lossy;
			sums[m].failed += shares[i].sums[m].failed;
			sums[m].transactions += shares[i].sums[m].transactions;
		}
	}
	munmap(shares, o->jobs * sizeof(*shares));
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
	      "  -j N            use N processes (default: one per CPU)\n"
	      "  --help          print help\n\n"
	      "Exit status: 0 all pass; 1 one fails; 2 usage error; 3 failure.\n",
	      out);
}

static int run_kernel(struct sweep_opts *o)
{
	struct sweep_sum sums[SWEEP_MACHINES] = {0};
	unsigned long long failed = 0, transactions = 0;
	char page[24];
	int ret = sweep_run(o, sums);

	if (ret) {
		cli_errorf("sweep", NULL, "%s", strerror(-ret));
		return CLI_FAILED;
	}
	for (unsigned int m = 0; auxtap_sweep_machines[m].driver; m++) {
		const struct sweep_sum *s = &sums[m];

		printf("%-8s  %-9s %5s  %9llu %8llu %8llu %13llu %8llu\n", o->kernel,
		       auxtap_sweep_machines[m].driver,
		       wm_size(auxtap_sweep_machines[m].page_size, page), s->runs, s->refused,
		       s->lossy, s->transactions, s->failed);
		failed += s->failed;
		transactions += s->transactions;
	}
	printf("%-8s  %s: %llu transactions\n", o->kernel,
	       failed ? "FAIL" : "pass: every invariant holds in every machine", transactions);
	return failed ? CLI_DAMAGED : CLI_OK;
}

int watermark_sweep(int argc, char **argv)
{
	static const struct option options[] = {
		{"kernel", required_argument, NULL, 'k'},
		{"every", required_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct sweep_opts o = {.kernel = auxtap_watermark_kernel(0),
			       .every = 1,
			       .jobs = sweep_jobs()};
	bool all = false, known = false;
	const char *kernel;
	int opt, worst = CLI_OK;

	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hj:", options, NULL)) != -1) {
		unsigned long n = optarg && opt != 'k' ? strtoul(optarg, NULL, 10) : 1;

		if (opt == 'h') {
			usage(stdout);
			return CLI_OK;
		}
		if (opt == 'k' && optarg)
			o.kernel = optarg;
		else if (opt == 'e' && n && n <= 28672)
			o.every = (unsigned int)n;
		else if (opt == 'j' && n && n <= 256)
			o.jobs = (unsigned int)n;
		else {
			cli_errorf(argv[optind - 1], "see 'auxtap watermark sweep --help'", "%s",
				   opt == '?' ? "no such option" :
				   opt == ':' ? "option requires an argument" :
						"not a number in range");
			return CLI_USAGE;
		}
	}
	all = !strcmp(o.kernel, "all");
	for (unsigned int i = 0; (kernel = auxtap_watermark_kernel(i)); i++)
		known |= !strcmp(o.kernel, kernel);
	if (optind < argc || (!all && !known)) {
		cli_errorf(optind < argc ? argv[optind] : o.kernel,
			   "see 'auxtap watermark sweep --help'", "%s",
			   optind < argc ? "not an option" : "no such set of rules");
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
