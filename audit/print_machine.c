// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints the audit as JSON, with all findings that were kept, or as JUnit XML, with a test case for
 * each invariant that was checked. Uses no JSON or XML library: it is also built for target boards
 * that have only the C library and zstd.
 */
#include "audit_private.h"
#include "util/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const severities[] = {"note", "known-loss", "violation"};

/* ---- JSON ---- */

/* Length of the UTF-8 sequence at s; 0: not a valid one. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = *s < 0x80		   ? 1 :
		   *s >= 0xc2 && *s < 0xe0 ? 2 :
		   *s >= 0xe0 && *s < 0xf0 ? 3 :
		   *s >= 0xf0 && *s < 0xf5 ? 4 :
					     0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void json_id(FILE *out, const char *name, int32_t v)
{
	if (v >= 0)
		fprintf(out, "\"%s\": %d, ", name, v);
	else
		fprintf(out, "\"%s\": null, ", name);
}

/* path: of the log; NULL: the recording */
static void json_path(FILE *out, const char *path)
{
	if (path)
		json_text_print(path, out);
	else
		fputs("null", out);
	fputs(", ", out);
}

static void json_ring(FILE *out, const struct auxtap_audit_ring *r)
{
	fputs("    {\"log\": ", out);
	json_path(out, r->log);
	json_id(out, "cpu", r->cpu);
	json_id(out, "tid", r->tid);
	fprintf(out,
		"\"overwrite\": %s, \"records\": %" PRIu64 ", \"bytes\": %" PRIu64
		", \"reads\": %" PRIu64 ", \"read_bytes\": %" PRIu64 ", \"first_off\": %" PRIu64
		", \"last_end\": %" PRIu64 ",\n     ",
		r->overwrite ? "true" : "false", r->nr_records, r->nr_bytes, r->nr_reads,
		r->nr_read_bytes, r->first_off, r->last_end);
	fprintf(out,
		"\"truncated\": %" PRIu64 ", \"partial\": %" PRIu64 ", \"collisions\": %" PRIu64
		", \"skipped_bytes\": %" PRIu64 ", \"lost_records\": %" PRIu64
		", \"lost_bytes\": %" PRIu64 ", \"starts\": %" PRIu64 ", \"interrupts\": %" PRIu64
		",\n     ",
		r->nr_truncated, r->nr_partial, r->nr_collision, r->nr_skipped_bytes,
		r->nr_lost_records, r->nr_lost_bytes, r->nr_starts, r->nr_interrupts);
	fprintf(out,
		"\"past_watermark\": %" PRIu64 ", \"largest_unread\": %" PRIu64
		", \"off_ns\": %" PRIu64 ", \"overshoots\": [",
		r->nr_passed, r->largest_unread, r->off_ns);
	for (unsigned int i = 0, any = 0; i < AUXTAP_AUDIT_OVERSHOOTS; i++) {
		if (!r->overshoots[i])
			continue;
		fprintf(out, "%s{\"%s\": %" PRIu64 ", \"count\": %" PRIu64 "}", any ? ", " : "",
			i < AUXTAP_AUDIT_OVERSHOOTS - 1 ? "below" : "at_least",
			(uint64_t)1 << (i < AUXTAP_AUDIT_OVERSHOOTS - 1 ? i : i - 1),
			r->overshoots[i]);
		any = 1;
	}
	fputs("]}", out);
}

static void json_finding(FILE *out, const struct auxtap_finding *f)
{
	fprintf(out, "    {\"name\": \"%s\", \"severity\": \"%s\", \"rules\": \"%s\", \"offset\": ",
		f->invariant->name, severities[f->invariant->severity], f->invariant->rules);
	if (f->file_off != AUXTAP_OFFSET_NONE)
		fprintf(out, "%" PRIu64 ", ", f->file_off);
	else
		fputs("null, ", out);
	fputs("\"log\": ", out);
	json_path(out, f->log);
	json_id(out, "cpu", f->cpu);
	json_id(out, "tid", f->tid);
	fprintf(out, "\"time_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"text\": ", f->time_ns,
		f->nr_bytes);
	json_text_print(f->text, out);
	fputc('}', out);
}

int auxtap_audit_print_json(const struct auxtap_audit *audit, const char *path, FILE *out)
{
	const struct auxtap_audit_facts *f = &audit->facts;
	const char *comma = "";

	fputs("{\n  \"file\": ", out);
	json_text_print(path, out);
	fprintf(out, ",\n  \"verdict\": \"%s\",\n  \"kind\": \"%s\",\n  \"unit\": ",
		auxtap_audit_at_fault(audit) ? "fault" : "clean", f->of_log ? "log" : "perf.data");
	json_text_print(f->unit, out);
	fprintf(out,
		",\n  \"aux_size\": %" PRIu64 ",\n  \"page_size\": %" PRIu64
		",\n  \"watermark\": %" PRIu64 ",\n  \"wakeups_noted\": %" PRIu64
		",\n  \"hw_ids\": %" PRIu64 ",\n  \"lost_samples\": %" PRIu64
		",\n  \"time_begin_ns\": %" PRIu64 ",\n  \"time_end_ns\": %" PRIu64
		",\n  \"counts\": {",
		f->aux_size, f->page_size, f->watermark, f->nr_wakeups_noted, f->nr_hw_ids,
		f->nr_lost_samples, f->time_begin, f->time_end);
	for (size_t i = 0; i < INV_NR; i++) {
		if (!audit->counts[i])
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, comma, auxtap_audit_get_invariant(i)->name,
			audit->counts[i]);
		comma = ", ";
	}
	fputs("},\n  \"rings\": [", out);
	for (size_t i = 0; i < audit->nr_rings; i++) {
		fputs(i ? ",\n" : "\n", out);
		json_ring(out, &audit->rings[i]);
	}
	fputs("\n  ],\n  \"findings\": [", out);
	for (size_t i = 0; i < audit->nr_findings; i++) {
		fputs(i ? ",\n" : "\n", out);
		json_finding(out, &audit->findings[i]);
	}
	fputs("\n  ]\n}\n", out);
	return ferror(out) ? -EIO : 0;
}

/* ---- JUnit XML ---- */

static void xml_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = utf8_len(s);

		if (!n || *s < 0x20 || *s == 0x7f)
			fprintf(out, "\\x%02x", *s);
		else if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
			fprintf(out, "&#%d;", *s);
		else
			fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
}

static void junit_findings(const struct auxtap_audit *audit, size_t index, FILE *out)
{
	for (size_t i = 0; i < audit->nr_findings; i++) {
		const struct auxtap_finding *f = &audit->findings[i];

		if (f->invariant != auxtap_audit_get_invariant(index))
			continue;
		if (f->log && !audit->facts.of_log) {
			xml_string(out, f->log);
			fputs(": ", out);
		}
		if (f->file_off != AUXTAP_OFFSET_NONE)
			fprintf(out, "at 0x%" PRIx64 ", ", f->file_off);
		if (f->cpu >= 0)
			fprintf(out, "CPU %d, ", f->cpu);
		if (f->tid >= 0)
			fprintf(out, "thread %d, ", f->tid);
		xml_string(out, f->text);
		fputc('\n', out);
	}
}

static void junit_case(const struct auxtap_audit *audit, size_t index, FILE *out)
{
	const struct auxtap_invariant *inv = auxtap_audit_get_invariant(index);
	bool failed = audit->counts[index] && inv->severity == AUXTAP_VIOLATION;

	fprintf(out, "    <testcase classname=\"auxtap.audit\" name=\"%s\"", inv->name);
	if (!audit->counts[index]) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	if (failed) {
		fprintf(out,
			"      <failure type=\"%s\" message=\"%" PRIu64 " time%s: ", inv->rules,
			audit->counts[index], audit->counts[index] == 1 ? "" : "s");
		xml_string(out, inv->what);
		fputs("\">", out);
	} else {
		fprintf(out, "      <system-out>%s, %" PRIu64 " time%s:\n",
			severities[inv->severity], audit->counts[index],
			audit->counts[index] == 1 ? "" : "s");
	}
	junit_findings(audit, index, out);
	fprintf(out, "</%s>\n    </testcase>\n", failed ? "failure" : "system-out");
}

/* Whether this audit checked the invariant. */
static bool is_checked(const struct auxtap_audit *audit, const struct auxtap_invariant *inv)
{
	if (inv->of_log)
		return audit->facts.of_log || audit->facts.nr_unit_logs;
	return !audit->facts.of_log && (!inv->of_both || audit->facts.nr_unit_logs);
}

int auxtap_audit_print_junit(const struct auxtap_audit *audit, const char *path, FILE *out)
{
	size_t nr = 0, nr_failed = 0;

	for (size_t i = 0; i < INV_NR; i++) {
		if (!is_checked(audit, auxtap_audit_get_invariant(i)))
			continue;
		nr++;
		nr_failed += audit->counts[i] &&
			     auxtap_audit_get_invariant(i)->severity == AUXTAP_VIOLATION;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"auxtap audit ");
	xml_string(out, path);
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", nr,
		nr_failed);
	for (size_t i = 0; i < INV_NR; i++)
		if (is_checked(audit, auxtap_audit_get_invariant(i)))
			junit_case(audit, i, out);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return ferror(out) ? -EIO : 0;
}
