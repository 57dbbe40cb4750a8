// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark faults: runs each fault of the catalogue on each driver; the demonstration. */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "watermark_sweep.h"

#include <stdio.h>
#include <string.h>

static const char *const drivers[] = {"intel_pt", "arm_spe", "trbe"};
#define NR_DRIVERS (sizeof(drivers) / sizeof(drivers[0]))

static bool fault_applies(const struct auxtap_watermark_fault *f, const char *driver)
{
	return strstr(f->drivers, driver) != NULL;
}

/* Returns "caught", "MISSED" or "-"; or NULL: printed an error. */
static const char *run_fault(const struct auxtap_watermark_fault *f, const char *driver)
{
	struct auxtap_watermark_config c;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	if (!fault_applies(f, driver))
		return "-";
	wm_typical(&c, driver);
	if (auxtap_watermark_fault_config(&c, f->name, &err) ||
	    auxtap_watermark_run(&c, NULL, NULL, &r, &err)) {
		cli_error(&err);
		return NULL;
	}
	return r.by_invariant[f->caught] ? "caught" : "MISSED";
}

/* Runs machines without a fault: every N-th of the standard sweep. */
static int run_correct(unsigned int every, bool *failed)
{
	struct sweep_opts o = {.kernel = auxtap_watermark_kernel(0),
			       .every = every,
			       .jobs = sweep_jobs()};
	struct sweep_sum sums[SWEEP_MACHINES] = {0};
	const struct auxtap_sweep_machine *machine;
	int ret;

	printf("%-26s", "(none; machines that pass)");
	fflush(stdout);
	ret = sweep_run(&o, sums);
	if (ret) {
		putchar('\n');
		cli_errorf("sweep", NULL, "%s", strerror(-ret));
		return ret;
	}
	for (size_t i = 0; i < NR_DRIVERS; i++) {
		unsigned long long runs = 0, bad = 0;
		char cell[32];

		for (size_t m = 0; (machine = auxtap_watermark_get_machine(m)); m++)
			if (!strcmp(machine->driver, drivers[i])) {
				runs += sums[m].runs;
				bad += sums[m].failed;
			}
		snprintf(cell, sizeof(cell), bad ? "%llu FAIL" : "%llu", bad ? bad : runs);
		printf(" %-9s", cell);
		*failed |= bad != 0;
	}
	puts(" all invariants");
	return 0;
}

static int run_faults(unsigned int every)
{
	const struct auxtap_watermark_fault *f;
	bool missed = false;

	printf("%-26s %-9s %-9s %-9s %s\n", "fault", drivers[0], drivers[1], drivers[2],
	       "invariant");
	if (run_correct(every, &missed))
		return CLI_FAILED;
	for (size_t n = 0; (f = auxtap_watermark_get_fault(n)); n++) {
		printf("%-26s", f->name);
		for (size_t i = 0; i < NR_DRIVERS; i++) {
			const char *verdict = run_fault(f, drivers[i]);

			if (!verdict)
				return CLI_FAILED;
			missed |= !strcmp(verdict, "MISSED");
			printf(" %-9s", verdict);
			fflush(stdout);
		}
		printf(" %s\n", auxtap_watermark_get_invariant(f->caught)->name);
	}
	return missed ? CLI_DAMAGED : CLI_OK;
}

static void list_faults(void)
{
	const struct auxtap_watermark_fault *f;

	for (size_t n = 0; (f = auxtap_watermark_get_fault(n)); n++)
		printf("%s (%s; %s)\n    %s\n    caught by %s: %s\n", f->name,
		       f->hardware ? "hardware" : "kernel", f->drivers, f->text,
		       auxtap_watermark_get_invariant(f->caught)->name,
		       auxtap_watermark_get_invariant(f->caught)->text);
}

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark faults [--quick | --list]\n\n"
	      "Runs the standard sweep without a fault, in which every machine must pass, and then\n"
	      "every fault of the catalogue on every driver that can have it: the monitor must report\n"
	      "that the fault violates its invariant.\n\n"
	      "  --quick  run only every 32nd machine of the sweep\n"
	      "  --list   list the faults; run nothing\n"
	      "  --help   print help\n\n"
	      "One fault on its own: 'auxtap watermark sim --fault NAME --driver DRIVER'.\n"
	      "Exit status: 0 all machines pass, all faults are caught; 1 otherwise; 2 usage error;\n"
	      "3 failure.\n",
	      out);
}

enum {
	OPT_QUICK = 256,
	OPT_LIST,
};

static const struct option_row own_options[] = {
	{OPT_QUICK, "quick", NULL},
	{OPT_LIST, "list", NULL},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_faults_options[] = {own_options, NULL};

int watermark_faults(int argc, char **argv)
{
	bool quick = false, list = false;
	struct options o;
	int opt;

	options_start(&o, argc, argv, watermark_faults_options, false);
	while ((opt = options_next(&o))) {
		switch (opt) {
		case 'h':
			usage(stdout);
			return CLI_OK;
		case OPT_QUICK:
			quick = true;
			break;
		case OPT_LIST:
			list = true;
			break;
		default:
			return cli_bad_option(&o, "watermark faults");
		}
	}
	if (options_end(&o) < argc) {
		cli_errorf(argv[options_end(&o)], "see 'auxtap watermark faults --help'",
			   "not an option");
		return CLI_USAGE;
	}
	if (quick && list) {
		cli_errorf("--quick", "give one of them", "--list runs nothing");
		return CLI_USAGE;
	}
	if (!list)
		return run_faults(quick ? 32 : 1);
	list_faults();
	return CLI_OK;
}

/* Simulates one machine and prints its result under a title. */
static int demo_run(const char *driver, const char *title, uint64_t watermark,
		    uint64_t reader_latency)
{
	struct auxtap_watermark_config c;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	wm_typical(&c, driver);
	c.watermark = watermark;
	if (reader_latency)
		c.reader_latency_ns = reader_latency;
	if (auxtap_watermark_run(&c, NULL, NULL, &r, &err)) {
		cli_error(&err);
		return CLI_FAILED;
	}
	printf("%s\n  ", title);
	wm_print_run(stdout, &c, &r, NULL);
	putchar('\n');
	return r.nr_violations ? CLI_DAMAGED : CLI_OK;
}

int watermark_demo(void)
{
	int ret;

	puts("A trace unit writes into a ring (the AUX area), a reader empties it. The reader asks to be\n"
	     "woken after a number of bytes (the watermark); the driver turns that into a threshold at\n"
	     "which the unit interrupts. Here all of them are simulated and checked.\n");
	ret = demo_run(
		"intel_pt",
		"1. Intel PT can interrupt only at ends of pages, and the driver rounds down: asked for\n"
		"   12 KiB, it interrupts where the area ends.",
		12288, 0);
	if (!ret)
		ret = demo_run(
			"arm_spe",
			"2. Arm SPE rounds up, and stops until the driver has handled the interrupt: samples\n"
			"   are lost meanwhile, and the kernel has no flag for it.",
			12288, 0);
	if (!ret)
		ret = demo_run(
			"trbe",
			"3. A reader that takes 2 ms for an area that fills in 0.65 ms: trace is lost, and\n"
			"   the kernel reports it.",
			16384, 2000000);
	if (ret)
		return ret;
	puts("4. Machines without a fault, in which every invariant must hold; then faults that trace\n"
	     "   units and kernels have had, each of which must be detected:\n");
	ret = run_faults(16);
	puts("\nNext: auxtap watermark sim --help; your own trace unit: docs/watermark.md");
	return ret;
}
