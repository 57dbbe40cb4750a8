// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap watermark live: sweeps watermarks and areas on this machine's own PMU and kernel; audits
 * each capture and compares it with the simulator's model.
 */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "util/vector.h"

#include <auxtap/audit.h>
#include <auxtap/capture.h>
#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define LL	      unsigned long long
#define MAX_OVERSHOOT 4096
#define MAX_NS	      2000000000ull
#define AREAS	      5 /* areas of the default sweep: 2 to 32 pages */
#define WRAPS	      3
#define SHOWN	      10 /* maximum number of differences that are printed */

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark live -e EVENT [OPTION]...\n\n"
	      "Runs areas and watermarks on this machine's own trace unit, through the real kernel, and\n"
	      "compares every AUX record and wakeup with the simulator's model of driver and kernel:\n"
	      "where the interrupt threshold was, how many bytes after it the record ended, what is\n"
	      "skipped, which flags are set, when trace is off. Each capture is audited, too ('auxtap\n"
	      "audit').\n\n"
	      "  -e, --event EVENT    the event as for perf: intel_pt//u, arm_spe_0//, cs_etm//u\n"
	      "  --cpu N              use the trace unit of CPU N (default: the last CPU); a busy loop\n"
	      "                       keeps it busy\n"
	      "  --no-load            do not run that loop: another program runs there\n"
	      "  --driver intel_pt|arm_spe|trbe   driver whose rules apply (default: by PMU name)\n"
	      "  --kernel NAME        kernel whose rules apply: 6.1.192, 6.12.95 or 6.18.44\n"
	      "                       (default: nearest to the running kernel)\n"
	      "  --pages LIST         sizes of the AUX area: A,B,C or A..B, doubling (default: 2..32)\n"
	      "  --watermark LIST     A,B,C or A..B[:STEP] (default: 64 for each area, as in 'sweep')\n"
	      "  --reader prompt|full|both   read when woken; read only after trace stopped because\n"
	      "                       no space was left; or one run of each (default: both)\n"
	      "  --skid SIZE          largest allowed overshoot of an interrupt (default: 4K)\n"
	      "  --align SIZE, --max-record SIZE   of the unit, as in its ID registers\n"
	      "  --errata overwrite|beyond[,...]   of a TRBE, that the driver knows (J6, J2)\n"
	      "  --bytes SIZE         trace of each configuration (default: three times its area)\n"
	      "  --time TIME          time limit of each configuration (default: 2s)\n"
	      "  -o, --output DIR     keep all captures in DIR (default: keep those that differ, in a\n"
	      "                       directory that is printed with them)\n"
	      "  --format text|json   (default: text)\n"
	      "  --help               print help\n\n"
	      "Exit status: 0 all as expected; 1 something differs; 2 usage error; 3 failure.\n",
	      out);
}

enum {
	OPT_FORMAT = WM_OPT_END,
	OPT_READER,
	OPT_NO_LOAD,
	OPT_UNIT_CPU,
	OPT_SKID,
};

static const struct option_row own_options[] = {
	{'e', "event", "EVENT"},
	{OPT_UNIT_CPU, "cpu", "CPU"},
	{OPT_NO_LOAD, "no-load", NULL},
	{WM_OPT_DRIVER, "driver", "intel_pt|arm_spe|trbe"},
	{WM_OPT_KERNEL, "kernel", "6.1.192|6.12.95|6.18.44"},
	{WM_OPT_PAGES, "pages", "N"},
	{WM_OPT_WATERMARK, "watermark", "SIZE"},
	{OPT_READER, "reader", "prompt|full|both"},
	{OPT_SKID, "skid", "SIZE"},
	{WM_OPT_ALIGN, "align", "SIZE"},
	{WM_OPT_MAX_RECORD, "max-record", "SIZE"},
	{WM_OPT_ERRATA, "errata", "overwrite|beyond"},
	{WM_OPT_BYTES, "bytes", "SIZE"},
	{WM_OPT_TIME, "time", "TIME"},
	{'o', "output", "DIR"},
	{OPT_FORMAT, "format", "text|json"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_live_options[] = {own_options, NULL};

struct live {
	struct wm_options o;
	struct auxtap_live_opts opts;
	struct auxtap_backend backend;
	struct utsname machine;
	bool readers[2], load, json, dir_is_temporary, head_printed;
	const char *dir;
	char own[64], path[4096];
	pid_t loop;
	/* for one row of the table; .all: for all rows */
	unsigned int nr, nr_agree, nr_refused, nr_shown;
	uint64_t nr_records, nr_truncated, overshoot_max, nr_wakeups;
	struct {
		unsigned int nr, nr_differ, nr_refused;
	} all;
	json_t *runs, *records;
};

/* ---- the machine ---- */

/* Executes branches, loads and stores, so that every kind of unit generates trace. */
static void busy_loop(int cpu)
{
	static volatile unsigned int cells[1024];
	cpu_set_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (unsigned int i = 0;; i = i * 1664525 + 1013904223)
		if (i & 0x10000)
			cells[i >> 22] += i;
}

/* Keeps the reader off the traced CPU. */
static void leave_cpu(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	CPU_CLR(cpu, &set);
	if (CPU_COUNT(&set))
		sched_setaffinity(0, sizeof(set), &set);
}

static int last_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	if (!sched_getaffinity(0, sizeof(set), &set))
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	return cpu;
}

static const char *driver_of_event(const char *event)
{
	static const struct {
		const char *part, *driver;
	} pmus[] = {{"_pt", "intel_pt"},
		    {"arm_spe", "arm_spe"},
		    {"cs_etm", "trbe"},
		    {"spe", "arm_spe"}};
	char pmu[64];

	snprintf(pmu, sizeof(pmu), "%s", event ? event : "");
	pmu[strcspn(pmu, "/")] = '\0';
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++)
		if (strstr(pmu, pmus[i].part))
			return pmus[i].driver;
	return NULL;
}

/* ---- one configuration ---- */

static void on_record(void *ctx, const struct auxtap_live_record *r)
{
	struct live *l = ctx;
	char flags[64];

	if (!l->records)
		return;
	json_array_append_new(l->records,
			      json_pack("{s:I, s:I, s:s, s:o, s:o}", "offset",
					(json_int_t)r->offset, "size", (json_int_t)r->nr_bytes,
					"flags", wm_flags(r->flags, flags), "threshold",
					r->threshold == UINT64_MAX ?
						json_null() :
						json_integer((json_int_t)r->threshold),
					"limit",
					r->limit == UINT64_MAX ?
						json_null() :
						json_integer((json_int_t)r->limit)));
}

/* Sets text to the audit's first violation, or empty. Negative errno: printed an error. */
static int audit_capture(struct live *l, const struct auxtap_watermark_config *c, char *text,
			 size_t size)
{
	struct auxtap_audit_opts opts = {
		.size = sizeof(opts),
		.aux_size = c->nr_pages * c->page_size,
		.page_size = c->page_size,
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd = NULL;
	struct auxtap_audit *audit = NULL;
	const struct auxtap_finding *f;
	int ret = auxtap_perfdata_open(&pd, l->path, &err);

	*text = '\0';
	if (!ret)
		ret = auxtap_audit_perfdata(&audit, pd, &opts, &err);
	for (size_t i = 0; !ret && !*text && (f = auxtap_audit_get_finding(audit, i)); i++)
		if (f->invariant->severity == AUXTAP_VIOLATION)
			snprintf(text, size, "audit: %s at %#llx: %s", f->invariant->name,
				 (LL)f->file_off, f->text);
	auxtap_audit_free(audit);
	auxtap_perfdata_close(pd);
	if (ret)
		cli_error(&err);
	return ret;
}

static const char *reader_name(const struct live *l)
{
	return l->opts.reader == AUXTAP_LIVE_FULL ? "full" : "prompt";
}

/* Prints the command that runs only this configuration. */
static void print_command(const struct live *l, const struct auxtap_watermark_config *c)
{
	struct auxtap_watermark_config typical;
	char size[24];

	wm_typical(&typical, c->driver);
	printf("    auxtap watermark live -e %s --cpu %d%s --driver %s --kernel %s --pages %llu "
	       "--watermark %llu --reader %s --skid %s",
	       l->opts.event, l->opts.cpu, l->load ? "" : " --no-load", c->driver, c->kernel,
	       (LL)c->nr_pages, (LL)c->watermark, reader_name(l),
	       wm_size(l->opts.max_overshoot, size));
	if (c->setup.align != typical.setup.align)
		printf(" --align %u", c->setup.align);
	if (c->setup.max_record != typical.setup.max_record)
		printf(" --max-record %u", c->setup.max_record);
	if (c->setup.errata)
		printf(" --errata %s%s%s",
		       c->setup.errata & AUXTAP_ERRATUM_OVERWRITE ? "overwrite" : "",
		       c->setup.errata == (AUXTAP_ERRATUM_OVERWRITE | AUXTAP_ERRATUM_BEYOND) ? "," :
											       "",
		       c->setup.errata & AUXTAP_ERRATUM_BEYOND ? "beyond" : "");
	if (l->o.c.max_bytes)
		printf(" --bytes %llu", (LL)l->o.c.max_bytes);
	putchar('\n');
}

/* Prints the table's head once, after the first run has succeeded. */
static void print_head(struct live *l)
{
	char overshoot[24];

	if (l->json || l->head_printed)
		return;
	l->head_printed = true;
	printf("%s on CPU %d of Linux %s, compared with %s and the rules of %s; overshoot up to %s\n"
	       "(prompt: reads when woken; full: reads when trace has stopped for lack of space)\n\n"
	       " pages  reader watermarks  differ refused   records  wakeups  truncated  overshoot\n",
	       l->opts.event, l->opts.cpu, l->machine.release, l->o.c.driver, l->o.c.kernel,
	       wm_size(l->opts.max_overshoot, overshoot));
	fflush(stdout);
}

static void print_run(struct live *l, const struct auxtap_watermark_config *c,
		      const struct auxtap_live_result *r, const char *text)
{
	if (l->json) {
		json_t *run = json_pack(
			"{s:I, s:I, s:I, s:s, s:b, s:s, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:O}",
			"pages", (json_int_t)c->nr_pages, "page_size", (json_int_t)c->page_size,
			"watermark", (json_int_t)c->watermark, "reader", reader_name(l), "agrees",
			!*text, "text", text, "refused", r->refused, "expected_refusal",
			r->expected_refusal, "wakeups", (json_int_t)r->nr_wakeups,
			"expected_wakeups", (json_int_t)r->nr_expected_wakeups, "truncated",
			(json_int_t)r->nr_truncated, "enabled", (json_int_t)r->nr_enabled,
			"overshoot_max", (json_int_t)r->overshoot_max, "records", l->records);

		if (!access(l->path, R_OK)) /* the capture was kept */
			json_object_set_new(run, "capture", json_string(l->path));
		json_array_append_new(l->runs, run);
		return;
	}
	if (!*text || ++l->nr_shown > SHOWN)
		return;
	printf("  watermark %llu: %s\n", (LL)c->watermark, text);
	print_command(l, c);
	if (!access(l->path, R_OK))
		printf("    %s\n", l->path);
}

static int run_one(struct live *l, struct auxtap_watermark_config *c)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_live_result r = {.size = sizeof(r)};
	char text[512] = "";
	int ret;

	snprintf(l->path, sizeof(l->path), "%s/%s-%llu-%llu-%s.data", l->dir, c->driver,
		 (LL)c->nr_pages, (LL)c->watermark, reader_name(l));
	l->opts.path = l->path;
	l->opts.max_bytes =
		l->o.c.max_bytes ? l->o.c.max_bytes : WRAPS * c->nr_pages * c->page_size;
	l->records = l->json ? json_array() : NULL;
	ret = auxtap_watermark_live(c, &l->backend, &l->opts, &r, &err);
	if (ret) {
		cli_error(&err);
	} else if (r.refused) {
		l->nr_refused++;
	} else {
		ret = audit_capture(l, c, text, sizeof(text));
		l->nr_records += r.nr_records;
		l->nr_truncated += r.nr_truncated;
		l->nr_wakeups += r.nr_wakeups;
		if (r.overshoot_max > l->overshoot_max)
			l->overshoot_max = r.overshoot_max;
	}
	if (!ret) {
		if (!r.agrees)
			memcpy(text, r.text, sizeof(r.text));
		l->nr++;
		l->nr_agree += !*text;
		if (!*text && l->dir_is_temporary)
			unlink(l->path);
		print_head(l);
		print_run(l, c, &r, text);
	}
	json_decref(l->records);
	return ret;
}

/* ---- the sweep ---- */

static void print_row(struct live *l, uint64_t pages)
{
	unsigned int differ = l->nr - l->nr_agree;

	l->all.nr += l->nr;
	l->all.nr_differ += differ;
	l->all.nr_refused += l->nr_refused;
	if (!l->json)
		printf("%6llu  %-6s %10u %7u %7u %9llu %8llu %10llu %10llu\n", (LL)pages,
		       reader_name(l), l->nr, differ, l->nr_refused, (LL)l->nr_records,
		       (LL)l->nr_wakeups, (LL)l->nr_truncated, (LL)l->overshoot_max);
	fflush(stdout);
	l->nr = l->nr_agree = l->nr_refused = 0;
	l->nr_records = l->nr_truncated = l->nr_wakeups = l->overshoot_max = 0;
}

static int run_area(struct live *l, uint64_t pages, bool given)
{
	struct auxtap_watermark_config sweep = {.size = sizeof(sweep)}, c = l->o.c;
	unsigned int area = 0;
	int ret = 0;

	c.nr_pages = pages;
	while (area < AUXTAP_SWEEP_AREAS - 1 && 2ull << area < pages)
		area++;
	for (size_t i = 0; !ret && i < (given ? l->o.nr_watermarks : AUXTAP_SWEEP_WATERMARKS);
	     i++) {
		auxtap_watermark_sweep_config(&sweep, c.driver, c.page_size, area, (unsigned int)i,
					      0);
		c.watermark = given ? l->o.watermarks[i] : sweep.watermark;
		ret = run_one(l, &c);
	}
	if (!ret)
		print_row(l, pages);
	return ret;
}

static int run_all(struct live *l, bool watermarks_given)
{
	int ret = 0;

	for (size_t i = 0; i < l->o.nr_pages && !ret; i++)
		for (int reader = 0; reader < 2 && !ret; reader++) {
			if (!l->readers[reader])
				continue;
			l->opts.reader = (enum auxtap_live_reader)reader;
			ret = run_area(l, l->o.pages[i], watermarks_given);
		}
	if (ret) /* an error; a refusal by the kernel is a result */
		return ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
	if (l->json) {
		json_dumpf(l->runs, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		if (l->nr_shown > SHOWN)
			printf("  (%u more)\n", l->nr_shown - SHOWN);
		printf("\n%u configurations, %u refused by both kernel and model: %s\n", l->all.nr,
		       l->all.nr_refused,
		       l->all.nr_differ ? "SOME DIFFER" : "all as the model expects");
	}
	return l->all.nr_differ ? CLI_DAMAGED : CLI_OK;
}

/* False: printed an error. */
static bool prepare(struct live *l)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	if (auxtap_backend_open_kernel(&l->backend, &err)) {
		cli_error(&err);
		return false;
	}
	if (!l->dir) {
		const char *tmp = getenv("TMPDIR");

		snprintf(l->own, sizeof(l->own), "%s/auxtap-live-XXXXXX",
			 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
		l->dir = mkdtemp(l->own);
		l->dir_is_temporary = true;
	} else if (mkdir(l->dir, 0777) && errno != EEXIST) {
		cli_errorf(l->dir, NULL, "%s", strerror(errno));
		return false;
	}
	if (!l->dir) {
		cli_errorf(l->own, "use -o DIR", "%s", strerror(errno));
		return false;
	}
	leave_cpu(l->opts.cpu);
	if (!l->load)
		return true;
	fflush(stdout);
	l->loop = fork();
	if (!l->loop)
		busy_loop(l->opts.cpu);
	if (l->loop < 0)
		cli_errorf("load", "--no-load", "%s", strerror(errno));
	return l->loop > 0;
}

static bool parse_reader(struct live *l, const char *arg)
{
	bool both = !strcmp(arg, "both");

	l->readers[AUXTAP_LIVE_PROMPT] = both || !strcmp(arg, "prompt");
	l->readers[AUXTAP_LIVE_FULL] = both || !strcmp(arg, "full");
	if (l->readers[0] || l->readers[1])
		return true;
	cli_errorf(arg, "use prompt, full or both", "no such reader");
	return false;
}

static bool parse_own_option(struct live *l, int opt, const char *arg)
{
	uint64_t number;

	switch (opt) {
	case 'e':
		l->opts.event = arg;
		return true;
	case 'o':
		l->dir = arg;
		return true;
	case OPT_NO_LOAD:
		l->load = false;
		return true;
	case OPT_READER:
		return parse_reader(l, arg);
	case OPT_UNIT_CPU:
		if (wm_parse_size(arg, &number) && number < CPU_SETSIZE) {
			l->opts.cpu = (int)number;
			return true;
		}
		cli_errorf(arg, "use --cpu 0, --cpu 1, …", "not a CPU number");
		return false;
	case OPT_SKID:
		if (wm_parse_size(arg, &l->opts.max_overshoot))
			return true;
		cli_errorf(arg, "write bytes as 0, 256, 4K", "not a size");
		return false;
	case OPT_FORMAT:
		l->json = !strcmp(arg, "json");
		if (l->json || !strcmp(arg, "text"))
			return true;
		cli_errorf(arg, "use text or json", "no such format");
		return false;
	default:
		return false;
	}
}

/* False: printed an error. */
static bool check_options(struct live *l, const char *driver, bool pages_given)
{
	if (!l->opts.event) {
		cli_errorf("-e", "'auxtap list' lists the events of this machine",
			   "no event given");
		return false;
	}
	if (!driver && !driver_of_event(l->opts.event)) {
		cli_errorf(l->opts.event, "use --driver intel_pt, arm_spe or trbe", "unknown PMU");
		return false;
	}
	if (!l->o.c.kernel) {
		cli_errorf(l->machine.release, "use --kernel 6.1.192, 6.12.95 or 6.18.44",
			   "no rules for a kernel that old");
		return false;
	}
	if (!l->o.c.max_ns) {
		cli_errorf("--time", "give more than 0", "no time to run");
		return false;
	}
	for (unsigned int i = 0; !pages_given && i < AREAS; i++) {
		if (vector_reserve(l->o.pages, i + 1, l->o.max_pages))
			return false;
		l->o.pages[i] = 2ull << i;
		l->o.nr_pages = i + 1;
	}
	return wm_options_finish(&l->o);
}

int watermark_live(int argc, char **argv)
{
	struct live l = {
		.opts = {.size = sizeof(l.opts),
			 .max_overshoot = MAX_OVERSHOOT,
			 .on_record = on_record,
			 .ctx = &l},
		.backend = {.size = sizeof(l.backend)},
		.readers = {true, true},
		.load = true,
	};
	const char *driver = NULL, *kernel = NULL;
	struct options o;
	bool bad = false, pages = false, watermarks = false;
	int opt, ret = CLI_USAGE;

	/* parse --driver, --kernel and -e first: they decide the defaults */
	options_start(&o, argc, argv, watermark_live_options, false);
	while ((opt = options_next(&o))) {
		driver = opt == WM_OPT_DRIVER ? o.value : driver;
		kernel = opt == WM_OPT_KERNEL ? o.value : kernel;
		if (opt == 'e')
			l.opts.event = o.value;
	}
	uname(&l.machine);
	l.opts.cpu = last_cpu();
	wm_typical(&l.o.c, driver ? driver : driver_of_event(l.opts.event));
	l.o.c.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	l.o.c.data_pages = 64;
	l.o.c.max_bytes = 0;
	l.o.c.max_ns = MAX_NS;
	l.o.c.kernel = kernel ? kernel : auxtap_watermark_kernel_for(l.machine.release);
	options_start(&o, argc, argv, watermark_live_options, false);
	while ((opt = options_next(&o))) {
		if (opt == OPTIONS_BAD) {
			cli_bad_option(&o, "watermark live");
			goto out;
		}
		if (opt == 'h') {
			usage(stdout);
			ret = CLI_OK;
			goto out;
		}
		pages |= opt == WM_OPT_PAGES;
		watermarks |= opt == WM_OPT_WATERMARK;
		if (wm_options_parse(&l.o, &o, opt, &bad)) {
			if (bad)
				goto out;
			continue;
		}
		if (!parse_own_option(&l, opt, o.value))
			goto out;
	}
	if (options_end(&o) < argc) {
		cli_errorf(argv[options_end(&o)], "see 'auxtap watermark live --help'",
			   "not an option");
		goto out;
	}
	if (!check_options(&l, driver, pages))
		goto out;
	l.opts.max_ns = l.o.c.max_ns;
	if (l.json)
		l.runs = json_array();
	ret = CLI_FAILED;
	if (prepare(&l))
		ret = run_all(&l, watermarks);
	if (l.loop > 0) {
		kill(l.loop, SIGKILL);
		waitpid(l.loop, NULL, 0);
	}
	if (l.dir_is_temporary && l.dir)
		rmdir(l.dir); /* fails if the directory contains captures that differ */
	auxtap_backend_close(&l.backend);
out:
	json_decref(l.runs);
	wm_options_free(&l.o);
	return ret;
}
