// SPDX-License-Identifier: BSD-2-Clause
/* See watermark_print.h. */
#include "watermark_driver.h"
#include "watermark_options.h"
#include "watermark_print.h"
#include "util/json_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define LL unsigned long long

const char *wm_size(uint64_t size, char *buf)
{
	static const char units[] = "KMG";
	int unit = -1;

	while (unit < 2 && size && !(size & 1023)) {
		size >>= 10;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, 24, "%" PRIu64, size);
	else
		snprintf(buf, 24, "%" PRIu64 "%c", size, units[unit]);
	return buf;
}

const char *wm_time(uint64_t ns, char *buf)
{
	if (ns >= 1000000000)
		snprintf(buf, 24, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(buf, 24, "%.3f ms", (double)ns / 1e6);
	else if (ns >= 1000)
		snprintf(buf, 24, "%.3f us", (double)ns / 1e3);
	else
		snprintf(buf, 24, "%" PRIu64 " ns", ns);
	return buf;
}

const char *wm_flags(uint64_t flags, char *buf)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = {{PERF_AUX_FLAG_TRUNCATED, "TRUNCATED"},
		     {PERF_AUX_FLAG_OVERWRITE, "OVERWRITE"},
		     {PERF_AUX_FLAG_PARTIAL, "PARTIAL"},
		     {PERF_AUX_FLAG_COLLISION, "COLLISION"},
		     {0x100, "RAW"}};
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & names[i].flag)
			len += (size_t)snprintf(buf + len, 64 - len, "%s%s", len ? "|" : "",
						names[i].name);
	if (!len)
		snprintf(buf, 64, "-");
	return buf;
}

/* ---- events ---- */

static const struct {
	const char *name, *a, *b, *c; /* names of the event's values; NULL: unused */
} event_formats[] = {
	[AUXTAP_WM_BEGIN] = {"begin", "head", "space", "wakeup"},
	[AUXTAP_WM_REFUSED] = {"refused", "head", NULL, NULL},
	[AUXTAP_WM_THRESHOLDS] = {"thresholds", "int", "stop", NULL},
	[AUXTAP_WM_SKIP] = {"skip", "from", "bytes", NULL},
	[AUXTAP_WM_THRESHOLD_HIT] = {"threshold", "at", NULL, NULL},
	[AUXTAP_WM_IRQ_LINE] = {"line", "at", NULL, NULL},
	[AUXTAP_WM_IRQ] = {"interrupt", "at", NULL, NULL},
	[AUXTAP_WM_END] = {"end", "offset", "size", "flags"},
	[AUXTAP_WM_RECORD] = {"AUX", "offset", "size", "flags"},
	[AUXTAP_WM_RECORD_LOST] = {"AUX-lost", "offset", "size", "flags"},
	[AUXTAP_WM_WAKEUP] = {"wakeup", "head", NULL, NULL},
	[AUXTAP_WM_READ] = {"read", "tail", "bytes", NULL},
	[AUXTAP_WM_REENABLE] = {"enable", NULL, NULL, NULL},
	[AUXTAP_WM_LOSS] = {"lost", "bytes", "why", "ns"},
	[AUXTAP_WM_SWITCH] = {"program", "runs", NULL, NULL},
	[AUXTAP_WM_VIOLATION] = {"VIOLATION", "invariant", "is", "due"},
	[AUXTAP_WM_FINDING] = {"known", NULL, NULL, NULL},
	[AUXTAP_WM_STATUS] = {"status", "value", "pointer", "written"},
};

const char *wm_event_name(enum auxtap_watermark_what what)
{
	return event_formats[what].name;
}

static void print_value(FILE *out, const char *name, uint64_t value)
{
	char flags[64];

	if (!name)
		return;
	if (!strcmp(name, "flags"))
		fprintf(out, " flags=%s", wm_flags(value, flags));
	else if (!strcmp(name, "why"))
		fprintf(out, " why='%s'",
			auxtap_watermark_loss_name((enum auxtap_watermark_loss)value));
	else if (!strcmp(name, "invariant"))
		fprintf(out, " %s:",
			auxtap_watermark_get_invariant((enum auxtap_watermark_invariant)value)
				->name);
	else if (value == UINT64_MAX)
		fprintf(out, " %s=none", name);
	else if (!strcmp(name, "value") ||
		 !strcmp(name, "written")) /* values of registers are hexadecimal */
		fprintf(out, " %s=%#" PRIx64, name, value);
	else
		fprintf(out, " %s=%" PRIu64, name, value);
}

void wm_print_event(FILE *out, const struct auxtap_watermark_event *e)
{
	fprintf(out, "%12" PRIu64 " ns  %-10s", e->time_ns, event_formats[e->what].name);
	print_value(out, event_formats[e->what].a, e->a);
	if (e->what != AUXTAP_WM_VIOLATION) { /* the text contains the other values */
		print_value(out, event_formats[e->what].b, e->b);
		print_value(out, event_formats[e->what].c, e->c);
	}
	if (e->text)
		fprintf(out, " %s", e->text);
	fputc('\n', out);
}

json_t *wm_json_text(const char *text)
{
	json_t *value = json_string(text);
	char *quoted = NULL;
	size_t size;
	FILE *out;

	if (value)
		return value;
	out = open_memstream(&quoted, &size); /* jansson rejects invalid UTF-8 */
	if (!out)
		return NULL;
	json_text_print(text, out);
	if (!fclose(out))
		value = json_loads(quoted, JSON_DECODE_ANY, NULL);
	free(quoted);
	return value;
}

static json_t *json_value(const char *name, uint64_t value)
{
	char flags[64];

	if (!strcmp(name, "flags"))
		return json_string(wm_flags(value, flags));
	if (!strcmp(name, "why"))
		return json_string(auxtap_watermark_loss_name((enum auxtap_watermark_loss)value));
	if (!strcmp(name, "invariant"))
		return json_string(
			auxtap_watermark_get_invariant((enum auxtap_watermark_invariant)value)
				->name);
	return value == UINT64_MAX ? json_null() : json_integer((json_int_t)value);
}

json_t *wm_json_event(const struct auxtap_watermark_event *e)
{
	json_t *o = json_pack("{s:I, s:s}", "time_ns", (json_int_t)e->time_ns, "event",
			      event_formats[e->what].name);

	if (o && event_formats[e->what].a)
		json_object_set_new(o, event_formats[e->what].a,
				    json_value(event_formats[e->what].a, e->a));
	if (o && event_formats[e->what].b)
		json_object_set_new(o, event_formats[e->what].b,
				    json_value(event_formats[e->what].b, e->b));
	if (o && event_formats[e->what].c)
		json_object_set_new(o, event_formats[e->what].c,
				    json_value(event_formats[e->what].c, e->c));
	if (o && e->text)
		json_object_set_new(o, "text", wm_json_text(e->text));
	return o;
}

/* ---- a run ---- */

static const struct {
	const char *word, *text, *json;
} verdicts[] = {
	[AUXTAP_WM_PASS] = {"pass", "pass: all invariants hold", "pass"},
	[AUXTAP_WM_FAIL] = {"FAIL", "FAIL", "fail"},
	[AUXTAP_WM_NO_PROGRESS] = {"no progress",
				   "no progress: more is lost than the configuration explains",
				   "no-progress"},
	[AUXTAP_WM_NOT_RUN] = {"refused", "refused", "refused"},
};

static uint64_t total_lost(const struct auxtap_watermark_result *r)
{
	uint64_t lost = 0;

	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		lost += r->lost[i];
	return lost;
}

void wm_print_violations(FILE *out, const struct auxtap_watermark_config *c,
			 const struct auxtap_watermark_result *r)
{
	char command[1024], time[24];
	uint64_t n = r->nr_kept;

	for (uint64_t i = 0; i < n; i++) {
		const struct auxtap_invariant_info *info =
			auxtap_watermark_get_invariant(r->violations[i].invariant);

		fprintf(out, "  %s (%s) at %s: %s\n", info->name, info->rules,
			wm_time(r->violations[i].time_ns, time), r->violations[i].text);
	}
	if (r->nr_violations > n)
		fprintf(out, "  … %llu more%s\n", (LL)(r->nr_violations - n),
			r->nr_violations >= AUXTAP_WM_ENOUGH ? "; too many, the run was stopped" :
							       "");
	if (r->nr_violations && !c->rates) {
		wm_print_command(c, command, sizeof(command));
		fprintf(out, "  repeat: %s --events\n", command);
	}
}

static void print_loss(FILE *out, const struct auxtap_watermark_result *r)
{
	fprintf(out, "  lost        %llu bytes", (LL)total_lost(r));
	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		if (r->lost[i])
			fprintf(out, ", %llu %s", (LL)r->lost[i],
				auxtap_watermark_loss_name((enum auxtap_watermark_loss)i));
	if (r->unreported)
		fprintf(out, "; the kernel does not report %llu bytes of it", (LL)r->unreported);
	fputc('\n', out);
}

void wm_print_run(FILE *out, const struct auxtap_watermark_config *c,
		  const struct auxtap_watermark_result *r, const struct wm_first *first)
{
	char page[24], area[24], watermark[24], time[24];
	bool seen;

	fprintf(out, "%s%s%s, rules of Linux %s: %llu pages of %s (%s), watermark %s%s\n",
		c->driver, c->unit ? ", unit " : "", c->unit ? c->unit->name : "", c->kernel,
		(LL)c->nr_pages, wm_size(c->page_size, page),
		wm_size(c->nr_pages * c->page_size, area),
		c->snapshot  ? "none" :
		c->watermark ? wm_size(c->watermark, watermark) :
			       wm_size(c->nr_pages * c->page_size / 2, watermark),
		c->snapshot  ? " (overwritten)" :
		c->watermark ? "" :
			       " (half of the area)");
	if (r->refused) {
		fprintf(out, "  refused: %s\n", r->refusal);
		return;
	}
	seen = first && first->seen && first->int_at != UINT64_MAX;
	if (seen)
		fprintf(out, "  thresholds  first interrupt at %llu, %s at %llu\n",
			(LL)first->int_at, wm_driver(c->driver)->stop, (LL)first->stop_at);
	if (r->nr_thresholds)
		fprintf(out,
			"%s%+lld to %+lld bytes from the watermark; %llu of %llu passed by the head\n",
			seen ? "              " : "  thresholds  ", (long long)r->threshold_min,
			(long long)r->threshold_max, (LL)r->nr_thresholds_passed,
			(LL)r->nr_thresholds);
	fprintf(out,
		"  in %s  %llu transactions, %llu interrupts, %llu wakeups, %llu reads, %llu truncated\n",
		wm_time(r->time_ns, time), (LL)r->nr_transactions, (LL)r->nr_interrupts,
		(LL)r->nr_wakeups, (LL)r->nr_reads, (LL)r->nr_truncated);
	fprintf(out, "  bytes       %llu produced = %llu stored + %llu lost", (LL)r->produced,
		(LL)r->stored, (LL)total_lost(r));
	if (c->snapshot)
		fprintf(out, "; head %llu\n", (LL)r->head);
	else
		fprintf(out, "; head %llu = %llu recorded + %llu padding", (LL)r->head,
			(LL)r->recorded, (LL)r->skipped);
	if (!c->snapshot && r->record_lost)
		fprintf(out, " + %llu of lost records", (LL)r->record_lost);
	if (!c->snapshot)
		fputc('\n', out);
	if (total_lost(r))
		print_loss(out, r);
	if (!c->snapshot)
		fprintf(out,
			"  lag         up to %llu bytes unread of %llu; overshoot up to %llu bytes\n",
			(LL)r->max_lag, (LL)c->nr_pages * c->page_size, (LL)r->overshoot_max);
	if (r->nr_findings)
		fprintf(out, "  known       %s (%llu times)\n", r->finding, (LL)r->nr_findings);
	fprintf(out, "  verdict     %s\n", verdicts[auxtap_watermark_get_verdict(r)].text);
	wm_print_violations(out, c, r);
}

void wm_print_row_head(FILE *out)
{
	fputs("   watermark  threshold(min..max)  transact  interrupt   wakeup  truncated     max lag"
	      "        lost  verdict\n",
	      out);
}

void wm_print_row(FILE *out, const struct auxtap_watermark_config *c,
		  const struct auxtap_watermark_result *r)
{
	char watermark[24], range[48];

	if (r->refused) {
		fprintf(out, "%12s  refused: %s\n", wm_size(c->watermark, watermark), r->refusal);
		return;
	}
	snprintf(range, sizeof(range), "%+lld..%+lld", (long long)r->threshold_min,
		 (long long)r->threshold_max);
	fprintf(out, "%12s  %-19s %9llu  %9llu %8llu  %9llu  %10llu  %10llu  %s\n",
		wm_size(c->watermark, watermark), r->nr_thresholds ? range : "-",
		(LL)r->nr_transactions, (LL)r->nr_interrupts, (LL)r->nr_wakeups,
		(LL)r->nr_truncated, (LL)r->max_lag, (LL)total_lost(r),
		verdicts[auxtap_watermark_get_verdict(r)].word);
	wm_print_violations(out, c, r);
}

/* ---- JSON ---- */

static json_t *json_config(const struct auxtap_watermark_config *c)
{
	return json_pack(
		"{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:i, s:i, s:I, s:i, s:i, s:i, s:i, "
		"s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"driver", c->driver, "kernel", c->kernel, "fault", c->fault, "page_size",
		(json_int_t)c->page_size, "pages", (json_int_t)c->nr_pages, "watermark",
		(json_int_t)c->watermark, "data_pages", (json_int_t)wm_data_pages(c), "snapshot",
		c->snapshot, "cpu", c->cpu, "order", wm_max_order(c), "overshoot",
		(json_int_t)c->setup.irq_delay_bytes, "align", (int)c->setup.align, "record",
		(int)c->setup.record_bytes, "max_record", (int)c->setup.max_record, "errata",
		(int)c->setup.errata, "rate", (json_int_t)c->rate, "burst_ns",
		(json_int_t)c->burst_ns, "pause_ns", (json_int_t)c->pause_ns, "irq_latency_ns",
		(json_int_t)c->irq_latency_ns, "irq_jitter_ns", (json_int_t)c->irq_jitter_ns,
		"reader_latency_ns", (json_int_t)c->reader_latency_ns, "reader_jitter_ns",
		(json_int_t)c->reader_jitter_ns, "reader_rate", (json_int_t)c->reader_rate,
		"switch_ns", (json_int_t)c->switch_ns, "seed", (json_int_t)c->seed);
}

static json_t *json_violations(const struct auxtap_watermark_result *r)
{
	json_t *list = json_array();

	for (uint64_t i = 0; list && i < r->nr_kept; i++) {
		const struct auxtap_watermark_violation *v = &r->violations[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:s}", "invariant",
						auxtap_watermark_get_invariant(v->invariant)->name,
						"time_ns", (json_int_t)v->time_ns, "text",
						v->text));
	}
	return list;
}

/* The non-empty buckets; "to" is the first byte count that is not in the bucket. */
static json_t *json_overshoots(const struct auxtap_watermark_result *r)
{
	json_t *list = json_array();

	for (unsigned int i = 0; list && i < AUXTAP_OVERSHOOT_BUCKETS; i++)
		if (r->overshoots[i])
			json_array_append_new(list,
					      json_pack("{s:I, s:I, s:I}", "from",
							(json_int_t)auxtap_overshoot_bucket_from(i),
							"to",
							(json_int_t)auxtap_overshoot_bucket_from(i +
												 1),
							"count", (json_int_t)r->overshoots[i]));
	return list;
}

json_t *wm_json_run(const struct auxtap_watermark_config *c,
		    const struct auxtap_watermark_result *r)
{
	json_t *o = json_object();
	char command[1024];
	static const char *const lost_keys[AUXTAP_NR_LOSSES] = {"lost_stopped", "lost_no_space",
								"lost_fault"};
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {
		{"time_ns", r->time_ns},
		{"transactions", r->nr_transactions},
		{"records", r->nr_records},
		{"interrupts", r->nr_interrupts},
		{"wakeups", r->nr_wakeups},
		{"reads", r->nr_reads},
		{"refused", r->nr_refused},
		{"truncated", r->nr_truncated},
		{"reenabled", r->nr_reenabled},
		{"produced", r->produced},
		{"stored", r->stored},
		{"recorded", r->recorded},
		{"skipped", r->skipped},
		{"record_lost", r->record_lost},
		{"head", r->head},
		{"lost", total_lost(r)},
		{"unreported", r->unreported},
		{"max_lag", r->max_lag},
		{"thresholds", r->nr_thresholds},
		{"thresholds_passed", r->nr_thresholds_passed},
		{"overshoot_max", r->overshoot_max},
		{"violations", r->nr_violations},
		{"known_findings", r->nr_findings},
	};

	if (!o)
		return NULL;
	wm_print_command(c, command, sizeof(command));
	json_object_set_new(o, "command", wm_json_text(command));
	json_object_set_new(o, "config", json_config(c));
	json_object_set_new(o, "refusal", r->refused ? json_string(r->refusal) : json_null());
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		json_object_set_new(o, values[i].name, json_integer((json_int_t)values[i].value));
	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		json_object_set_new(o, lost_keys[i], json_integer((json_int_t)r->lost[i]));
	json_object_set_new(o, "threshold_min", json_integer(r->threshold_min));
	json_object_set_new(o, "threshold_max", json_integer(r->threshold_max));
	json_object_set_new(o, "verdict",
			    json_string(verdicts[auxtap_watermark_get_verdict(r)].json));
	json_object_set_new(o, "overshoots", json_overshoots(r));
	json_object_set_new(o, "first_violations", json_violations(r));
	return o;
}
