// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark advise: how large the AUX area must be, and with which watermark. */
#include "cli/cli.h"
#include "cmd_watermark.h"
#include "watermark_advise.h"
#include "watermark_driver.h"
#include "watermark_options.h"
#include "watermark_print.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LL unsigned long long

static void usage(FILE *out)
{
	fputs("usage: auxtap watermark advise [--driver DRIVER] --rate SIZE --irq-latency TIME\n"
	      "                               --reader-latency TIME [OPTION]...\n\n"
	      "Finds the smallest AUX area and its watermark with which no trace is lost. Prints the\n"
	      "arithmetic, long simulations that confirm it, the loss with the next smaller area, and\n"
	      "the commands that record with it. Default: for each of intel_pt, arm_spe and trbe.\n\n"
	      "  --rate SIZE, --irq-latency TIME, --reader-latency TIME and the other options are\n"
	      "                       those of 'auxtap watermark sim', with its defaults:\n"
	      "                       --irq-jitter, --skid, --burst, --rates, --reader-jitter,\n"
	      "                       --reader-rate, --read-size, --page-size, --switch, --kernel, …\n"
	      "  --watermark LIST     try only these (default: all powers of two of pages, all 64ths of\n"
	      "                       the area, and some that are not multiples of a page)\n"
	      "  --order N            largest contiguous allocation is 2^N pages (default: 10)\n"
	      "  --max SIZE           largest area to try (default: 256M)\n"
	      "  --transactions N     length of each confirming run (default: 100000)\n"
	      "  --format text|json   (default: text)\n"
	      "  --help               print help\n\n"
	      "Exit status: 0 found (on Arm some loss at each interrupt is unavoidable and is\n"
	      "reported); 1 no area up to --max is large enough; 2 usage error; 3 failure.\n",
	      out);
}

enum {
	OPT_FORMAT = WM_OPT_END,
	OPT_MAX,
};

static const struct option_row own_options[] = {
	{OPT_FORMAT, "format", "text|json"},
	{OPT_MAX, "max", "SIZE"},
	{'h', "help", NULL},
	{0},
};
const struct option_row *const watermark_advise_options[] = {wm_option_rows, own_options, NULL};

/* ---- as text ---- */

static const char *percentage(uint64_t lost, uint64_t produced, char *buf)
{
	double percent = produced ? 100.0 * (double)lost / (double)produced : 0;

	snprintf(buf, 24,
		 percent >= 10	? "%.0f %%" :
		 percent >= 0.1 ? "%.2f %%" :
				  "%.2g %%",
		 percent);
	return buf;
}

static void print_request(const struct advise_request *request, const struct advise *a)
{
	const struct auxtap_watermark_config *c = &request->c;
	char irq[24], reader[24], on[24], off[24];

	printf("  asked      ");
	if (c->rates)
		printf("%llu bytes per second on average, from the file", (LL)a->mean_rate);
	else
		printf("%llu bytes of trace per second", (LL)c->rate);
	if (c->burst_ns && !c->rates)
		printf(" for %s, none for %s", wm_time(c->burst_ns, on), wm_time(c->pause_ns, off));
	printf("; driver within %s", wm_time(c->irq_latency_ns + c->irq_jitter_ns, irq));
	printf(";\n             reader within %s, ",
	       wm_time(c->reader_latency_ns + c->reader_jitter_ns, reader));
	if (c->reader_rate)
		printf("copies %llu bytes per second\n", (LL)c->reader_rate);
	else
		printf("copying takes no time\n");
}

static void print_sum(const struct advise *a)
{
	const struct advise_need *s = &a->sum;
	char watermark[24], area[24], time[24];
	uint64_t nr_bytes = a->c.nr_pages * a->c.page_size;

	printf("  interrupt  %llu bytes come before the driver handles it%s\n", (LL)s->overshoot,
	       a->arm && s->overshoot ? ": lost, because the unit has stopped (I10, J1)" : "");
	printf("  reader     %llu bytes come while it sleeps", (LL)s->while_asleep);
	if (s->copy_ns)
		printf(", %llu more while it copies %llu for %s",
		       (LL)(s->until_read - s->while_asleep), (LL)s->copied,
		       wm_time(s->copy_ns, time));
	printf("\n  unread     %llu = (1 + %llu) x %s: the watermark that woke it, and %llu more until it has read\n",
	       (LL)s->unread, (LL)s->nr_passed, wm_size(s->watermark, watermark), (LL)s->nr_passed);
	if (!a->arm)
		printf("  area       more than %llu = %llu unread + %llu to the next threshold + %llu\n"
		       "             until the driver handles it, which moves STOP (H4)\n",
		       (LL)s->need, (LL)s->unread, (LL)s->watermark, (LL)s->overshoot);
	else
		printf("  area       %llu = %llu unread + %llu to the next limit + a page, of which one\n"
		       "             byte must stay free (D5, I3)\n",
		       (LL)s->need, (LL)s->unread, (LL)s->watermark);
	if (nr_bytes > s->need || (a->arm && nr_bytes == s->need))
		printf("             %s is the next power of two (B8)\n", wm_size(nr_bytes, area));
	else
		printf("             %s is enough, though smaller: %s\n", wm_size(nr_bytes, area),
		       a->arm ? "if the next limit does not fit, a nearer one is set (I3)" :
				"the latest times do not coincide");
}

static void print_confirmed(const struct advise *a)
{
	uint64_t transactions = 0, produced = 0, lost = 0, lag = 0;
	char loss[24], area[24];

	for (unsigned int i = 0; i <= ADVISE_SEEDS; i++) {
		const struct auxtap_watermark_result *r = &a->results[i];

		transactions += r->nr_transactions;
		produced += r->produced;
		lost += r->produced - r->stored;
		if (r->max_lag > lag)
			lag = r->max_lag;
	}
	printf("  simulated  %d runs, the latest times%s and %d seeds: %llu transactions, %llu bytes;\n",
	       1 + ADVISE_SEEDS, a->runs[0].contents ? " (every byte compared)" : "", ADVISE_SEEDS,
	       (LL)transactions, (LL)produced);
	printf("             at most %llu unread of %llu; ", (LL)lag,
	       (LL)a->c.nr_pages * a->c.page_size);
	if (lost)
		printf("lost for lack of space 0, at the limits %llu (%s)\n", (LL)lost,
		       percentage(lost, produced, loss));
	else
		printf("lost 0\n");
	if (!a->larger[0].nr_good)
		return;
	printf("             a loss at the limits is unavoidable; a larger area stops less often:\n");
	for (unsigned int i = 0; i < a->nr_larger; i++) {
		const struct advise_area *l = &a->larger[i];
		char watermark[24];

		if (l->nr_good)
			printf("             %s, watermark %s: %s\n", wm_size(l->nr_bytes, area),
			       wm_size(l->best, watermark), percentage(l->lost, l->produced, loss));
	}
}

static void print_smaller(const struct advise *a)
{
	const struct advise_area *s;
	char area[24], watermark[24], loss[24];

	if (a->nr_areas < 2)
		return;
	s = &a->areas[a->nr_areas - 2];
	printf("  smaller    %s: ", wm_size(s->nr_bytes, area));
	if (s->refusal[0])
		printf("%s\n", s->refusal);
	else if (!s->lost)
		printf("all %u watermarks fail: the event is truncated (D16)\n", s->nr_tried);
	else
		printf("all %u watermarks lose trace; the best, %s, loses %llu of %llu bytes (%s)\n",
		       s->nr_tried, wm_size(s->best, watermark), (LL)s->lost, (LL)s->produced,
		       percentage(s->lost, s->produced, loss));
}

static void format_record_command(const struct advise *a, char *buf, size_t size)
{
	char data[24], area[24];

	snprintf(buf, size, "auxtap record -e %s -m %s,%s --aux-watermark %llu",
		 wm_driver(a->c.driver)->event,
		 wm_size(wm_data_pages(&a->c) * a->c.page_size, data),
		 wm_size(a->c.nr_pages * a->c.page_size, area), (LL)a->c.watermark);
}

static void format_perf_command(const struct advise *a, char *buf, size_t size)
{
	char data[24], area[24];

	snprintf(buf, size, "perf record -e %s -m %s,%s", wm_driver(a->c.driver)->event,
		 wm_size(wm_data_pages(&a->c) * a->c.page_size, data), wm_size(a->perf_area, area));
}

static void print_commands(const struct advise *a)
{
	uint64_t answer = a->c.nr_pages * a->c.page_size;
	char text[256], watermark[24], loss[24];

	format_record_command(a, text, sizeof(text));
	printf("  record     %s -- PROGRAM\n", text);
	printf("  perf       has no option for the watermark and uses %s of the area; with %s that\n"
	       "             ",
	       a->arm ? "a half" : "a quarter", wm_size(answer, watermark));
	if (a->perf_area == answer)
		printf("is enough: ");
	else
		printf("loses %s of the trace, ", percentage(a->perf.lost, a->perf.produced, loss));
	if (a->perf_area != answer && a->perf_area)
		printf("it requires %s:\n             ", wm_size(a->perf_area, watermark));
	if (a->perf_area) {
		format_perf_command(a, text, sizeof(text));
		printf("%s -- PROGRAM\n", text);
	} else {
		printf("and no area up to --max is enough\n");
	}
}

static void print_none(const struct advise_request *request, const struct advise *a)
{
	const struct advise_area *best = &a->areas[a->nr_areas - 1];
	char area[24], watermark[24], loss[24];

	if (a->reader_too_slow)
		printf("  the reader copies %llu bytes per second, and %llu come on average: it never catches\n"
		       "             up, so no area is large enough; use a faster reader or trace less\n",
		       (LL)request->c.reader_rate, (LL)a->mean_rate);
	if (best->refusal[0])
		printf("  simulated  %s: %s\n", wm_size(best->nr_bytes, area), best->refusal);
	else
		printf("  simulated  %s with %u watermarks: the best, %s, loses %llu of %llu bytes (%s)\n",
		       wm_size(best->nr_bytes, area), best->nr_tried,
		       wm_size(best->best, watermark), (LL)best->lost, (LL)best->produced,
		       percentage(best->lost, best->produced, loss));
}

static void print_advice(const struct advise_request *request, const struct advise *a)
{
	char page[24], area[24], watermark[24], command[1024];
	const struct advise_area *last = &a->areas[a->nr_areas - 1];

	printf("%s, rules of Linux %s, pages of %s: ", request->c.driver, request->c.kernel,
	       wm_size(request->c.page_size, page));
	if (!a->found) {
		printf("no area up to %s is large enough\n", wm_size(request->max_bytes, area));
		print_request(request, a);
		print_none(request, a);
		return;
	}
	printf("area %s, watermark %s", wm_size(last->nr_bytes, area),
	       wm_size(a->c.watermark, watermark));
	printf(a->arm && a->sum.overshoot ? ": never full, but each interrupt loses trace\n" :
					    ": nothing is lost\n");
	print_request(request, a);
	print_sum(a);
	print_confirmed(a);
	if (last->nr_good > 1)
		printf("             in shorter runs %u watermarks from %s to %s are enough\n",
		       last->nr_good, wm_size(last->good_min, area),
		       wm_size(last->good_max, watermark));
	print_smaller(a);
	print_commands(a);
	if (!request->c.rates) {
		wm_print_command(&a->runs[1], command, sizeof(command));
		printf("  repeat     %s\n", command);
	}
}

/* ---- as JSON ---- */

static json_t *json_area(const struct advise_area *s)
{
	return json_pack("{s:I, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "area",
			 (json_int_t)s->nr_bytes, "watermarks", (int)s->nr_tried, "enough",
			 (int)s->nr_good, "enough_min", (json_int_t)s->good_min, "enough_max",
			 (json_int_t)s->good_max, "best_watermark", (json_int_t)s->best, "lost",
			 (json_int_t)s->lost, "lost_at_limits", (json_int_t)s->stopped, "produced",
			 (json_int_t)s->produced, "refusal", s->refusal[0] ? s->refusal : NULL);
}

static json_t *json_advice(const struct advise_request *request, const struct advise *a)
{
	const struct advise_need *s = &a->sum;
	json_t *o =
		json_pack("{s:s, s:s, s:I, s:I, s:b, s:b}", "driver", request->c.driver, "kernel",
			  request->c.kernel, "page_size", (json_int_t)request->c.page_size,
			  "max_area", (json_int_t)request->max_bytes, "found", a->found, "hopeless",
			  a->reader_too_slow);
	json_t *tried = json_array(), *runs = json_array(), *larger = json_array();
	char text[256];

	for (unsigned int i = 0; i < a->nr_areas; i++)
		json_array_append_new(tried, json_area(&a->areas[i]));
	json_object_set_new(o, "areas", tried);
	for (unsigned int i = 0; i < a->nr_larger; i++)
		json_array_append_new(larger, json_area(&a->larger[i]));
	json_object_set_new(o, "larger", larger);
	for (unsigned int i = 0; a->found && i <= ADVISE_SEEDS; i++)
		json_array_append_new(runs, wm_json_run(&a->runs[i], &a->results[i]));
	json_object_set_new(o, "runs", runs);
	if (!a->found)
		return o;
	json_object_set_new(o, "area",
			    json_integer((json_int_t)a->areas[a->nr_areas - 1].nr_bytes));
	json_object_set_new(o, "pages", json_integer((json_int_t)a->c.nr_pages));
	json_object_set_new(o, "watermark", json_integer((json_int_t)a->c.watermark));
	json_object_set_new(o, "arithmetic",
			    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "until_driver",
				      (json_int_t)s->overshoot, "asleep",
				      (json_int_t)s->while_asleep, "copied", (json_int_t)s->copied,
				      "copy_ns", (json_int_t)s->copy_ns, "until_read",
				      (json_int_t)s->until_read, "watermarks_passed",
				      (json_int_t)s->nr_passed, "unread", (json_int_t)s->unread,
				      "need", (json_int_t)s->need));
	format_record_command(a, text, sizeof(text));
	json_object_set_new(o, "record", json_string(text));
	if (a->perf_area)
		format_perf_command(a, text, sizeof(text));
	json_object_set_new(o, "perf", a->perf_area ? json_string(text) : json_null());
	json_object_set_new(o, "perf_area", json_integer((json_int_t)a->perf_area));
	json_object_set_new(o, "perf_here", json_area(&a->perf));
	return o;
}

/* ---- options ---- */

struct command {
	struct wm_options o;
	struct advise_request request;
	bool json, help;
};

static bool report_bad(const char *what, const char *why, const char *hint)
{
	cli_errorf(what, hint, "%s", why);
	return false;
}

/* False: printed an error. */
static bool parse_own_option(struct command *m, int opt, const char *value)
{
	switch (opt) {
	case 'h':
		m->help = true;
		return true;
	case OPT_FORMAT:
		m->json = !strcmp(value, "json");
		return m->json || !strcmp(value, "text") ||
		       report_bad(value, "no such format", "use text or json");
	case OPT_MAX:
		return (wm_parse_size(value, &m->request.max_bytes) &&
			m->request.max_bytes >= 8192 && m->request.max_bytes <= 4ull << 30) ||
		       report_bad("--max", "not a size in range", "use 8K to 4G");
	case WM_OPT_SNAPSHOT:
		return report_bad("--snapshot",
				  "in overwrite mode there is no reader and no watermark",
				  "remove it");
	case WM_OPT_FAULT:
		return report_bad("--fault", "not supported here",
				  "use 'auxtap watermark sim --fault'");
	case WM_OPT_PAGES:
		return report_bad("--pages", "the size of the area is the result",
				  "use --max SIZE to limit it");
	case WM_OPT_BYTES:
	case WM_OPT_TIME:
		return report_bad(opt == WM_OPT_TIME ? "--time" : "--bytes",
				  "the number of transactions limits the runs",
				  "use --transactions N");
	default:
		return false;
	}
}

static bool parse_options(struct command *m, int argc, char **argv)
{
	struct options o;
	bool wrong, own;
	int opt;

	options_start(&o, argc, argv, watermark_advise_options, false);
	while ((opt = options_next(&o))) {
		own = opt == 'h' || opt >= WM_OPT_END || opt == WM_OPT_SNAPSHOT ||
		      opt == WM_OPT_FAULT || opt == WM_OPT_PAGES || opt == WM_OPT_BYTES ||
		      opt == WM_OPT_TIME;
		if (own && !parse_own_option(m, opt, o.value))
			return false;
		if (own || wm_options_parse(&m->o, &o, opt, &wrong)) {
			if (!own && wrong)
				return false;
			continue;
		}
		cli_bad_option(&o, "watermark advise");
		return false;
	}
	if (options_end(&o) < argc)
		return report_bad(argv[options_end(&o)], "not an option",
				  "see 'auxtap watermark advise --help'");
	if (m->o.c.max_transactions) {
		if (m->o.c.max_transactions < 1000 || m->o.c.max_transactions > 10000000)
			return report_bad("--transactions", "out of range", "1000 to 10000000");
		m->request.nr_transactions = m->o.c.max_transactions;
	}
	for (size_t i = 0; i < m->o.nr_watermarks; i++)
		if (m->o.watermarks[i] > UINT32_MAX || i >= ADVISE_TRIES)
			return report_bad(
				"--watermark",
				"too many, or a value larger than attr.aux_watermark (32 bits)",
				"use up to 128 values, 0 to 4294967295");
	return true;
}

/* Advises for one driver. Returns the exit status. */
static int advise_one(struct command *m, int argc, char **argv, json_t *list)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct advise *a = NULL;
	struct wm_first_options first;
	int ret = CLI_USAGE;

	memset(m, 0, sizeof(*m));
	m->request.max_bytes = 256 << 20;
	m->request.nr_transactions = 100000;
	wm_options_find_first(&first, argc, argv, watermark_advise_options);
	wm_options_init(&m->o, &first);
	m->o.c.max_alloc_pages = 1 << 10; /* C5: the largest order of the allocator on x86-64 */
	m->o.c.max_bytes = 0;
	if (!parse_options(m, argc, argv))
		goto out;
	if (m->help) {
		ret = CLI_OK;
		goto out;
	}
	m->request.nr_watermarks = m->o.nr_watermarks;
	if (!wm_options_finish(&m->o))
		goto out;
	m->request.watermarks = m->request.nr_watermarks ? m->o.watermarks : NULL;
	m->request.c = m->o.c;
	a = calloc(1, sizeof(*a));
	if (!a) {
		cli_errorf("advise", NULL, "out of memory");
		ret = CLI_FAILED;
		goto out;
	}
	ret = advise_find(&m->request, a, &err);
	if (ret) {
		cli_error(&err);
		ret = ret == -EINVAL ? CLI_USAGE : CLI_FAILED;
		goto out;
	}
	if (m->json)
		json_array_append_new(list, json_advice(&m->request, a));
	else
		print_advice(&m->request, a);
	ret = a->found ? CLI_OK : CLI_DAMAGED;
out:
	free(a);
	wm_options_free(&m->o);
	return ret;
}

int watermark_advise(int argc, char **argv)
{
	static const char *const drivers[] = {"intel_pt", "arm_spe", "trbe"};
	char **args = calloc((size_t)argc + 3, sizeof(*args));
	json_t *list = json_array();
	struct wm_first_options first;
	struct command m;
	int ret, worst = CLI_OK;
	bool one;

	if (!args)
		return CLI_FAILED;
	wm_options_find_first(&first, argc, argv, watermark_advise_options);
	one = first.driver || first.unit;
	for (int i = 0; i < (one ? 1 : 3); i++) {
		args[0] = argv[0];
		args[1] = (char *)"--driver";
		args[2] = (char *)drivers[i];
		memcpy(args + (one ? 1 : 3), argv + 1, (size_t)argc * sizeof(*args));
		ret = advise_one(&m, one ? argc : argc + 2, args, list);
		worst = ret > worst ? ret : worst;
		if (m.help) {
			usage(stdout);
			goto out;
		}
		if (ret > CLI_DAMAGED)
			break;
		if (!m.json && !one && i < 2)
			putchar('\n');
		fflush(stdout);
	}
	if (m.json && worst <= CLI_DAMAGED) {
		json_dumpf(list, stdout, JSON_INDENT(1));
		putchar('\n');
	}
out:
	json_decref(list);
	free(args);
	return worst;
}
