// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark faults, and the demonstration: the zoo, one run a fault and driver. */
#include "cli.h"
#include "cmd_watermark.h"
#include "watermark_options.h"
#include "watermark_print.h"

#include <stdio.h>
#include <string.h>

static const char *const drivers[] = {"intel_pt", "arm_spe", "trbe"};

static bool applies(const struct auxtap_watermark_fault *f, const char *driver)
{
	return strstr(f->drivers, driver) != NULL;
}

/* "caught", "MISSED", "-", or NULL: told. */
static const char *run_fault(const struct auxtap_watermark_fault *f, const char *driver)
{
	struct auxtap_watermark_config c;
	struct auxtap_watermark_result r;
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	if (!applies(f, driver))
		return "-";
	auxtap_watermark_defaults(&c, driver);
	if (auxtap_watermark_fault_config(&c, f->name, &err) ||
	    auxtap_watermark_run(&c, NULL, NULL, &r, &err)) {
		cli_error(&err);
		return NULL;
	}
	return r.by_invariant[f->caught] ? "caught" : "MISSED";
}

static int run_zoo(void)
{
	bool missed = false;

	printf("%-26s %-9s %-9s %-9s %s\n", "fault", drivers[0], drivers[1], drivers[2],
	       "by the invariant");
	for (const struct auxtap_watermark_fault *f = auxtap_watermark_faults; f->name; f++) {
		printf("%-26s", f->name);
		for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
			const char *verdict = run_fault(f, drivers[i]);

			if (!verdict)
				return CLI_FAILED;
			missed |= !strcmp(verdict, "MISSED");
			printf(" %-9s", verdict);
			fflush(stdout);
		}
		printf(" %s\n", auxtap_invariant_info(f->caught)->name);
	}
	return missed ? CLI_DAMAGED : CLI_OK;
}

static void list_zoo(void)
{
	for (const struct auxtap_watermark_fault *f = auxtap_watermark_faults; f->name; f++)
		printf("%s (%s; %s)\n    %s\n    caught by %s: %s\n", f->name,
		       f->silicon ? "silicon" : "kernel", f->drivers, f->text,
		       auxtap_invariant_info(f->caught)->name, auxtap_invariant_info(f->caught)->text);
}

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark faults [--list]\n\n"
	      "Runs every fault of the zoo on every driver that can have it, and tells whether the\n"
	      "invariant that it must break was seen to break.\n\n"
	      "  --list   what the faults are; nothing is run\n"
	      "  --help   this text\n\n"
	      "One fault on its own: 'auxtap watermark sim --fault NAME --driver DRIVER'.\n"
	      "Exit status: 0 all caught; 1 one was missed; 2 usage.\n",
	      out);
}

int watermark_faults(int argc, char **argv)
{
	if (argc == 1)
		return run_zoo();
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		list_zoo();
		return CLI_OK;
	}
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		usage(stdout);
		return CLI_OK;
	}
	cli_complain(argv[argc > 2 && !strcmp(argv[1], "--list") ? 2 : 1],
		     "see 'auxtap watermark faults --help'", "no such option");
	return CLI_USAGE;
}
