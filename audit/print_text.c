// SPDX-License-Identifier: BSD-2-Clause
/* Prints the audit as text: the verdict, the rings, the findings of each invariant. */
#include "audit_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SHOWN	    10 /* findings of one invariant; JSON has all */
#define SHOWN_NOTES 3

static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_ring_name(FILE *out, int32_t cpu, int32_t tid)
{
	if (cpu >= 0)
		fprintf(out, "CPU %d", cpu);
	else if (tid >= 0)
		fprintf(out, "thread %d", tid);
	else
		fputs("the ring", out);
}

static void put_finding(const struct auxtap_audit *audit, const struct auxtap_finding *f, FILE *out)
{
	fputs("    ", out);
	if (f->log && !audit->facts.of_log)
		fprintf(out, "in %s ", f->log);
	if (f->file_off != AUXTAP_OFFSET_NONE)
		fprintf(out, "at 0x%" PRIx64 ", ", f->file_off);
	if (f->cpu >= 0 || f->tid >= 0) {
		put_ring_name(out, f->cpu, f->tid);
		fputs(", ", out);
	}
	if (f->time_ns) {
		put_seconds(out, f->time_ns);
		fputs(" s: ", out);
	}
	fprintf(out, "%s\n", f->text);
}

static void put_invariant(const struct auxtap_audit *audit, size_t index, FILE *out)
{
	static const char *const severities[] = {"note", "known loss", "VIOLATION"};
	const struct auxtap_invariant *inv = auxtap_audit_get_invariant(index);
	uint64_t shown = 0, most = inv->severity == AUXTAP_NOTE ? SHOWN_NOTES : SHOWN;

	if (!audit->counts[index])
		return;
	fprintf(out, "\n%s %s (%s%s%s), %" PRIu64 " time%s\n", severities[inv->severity], inv->name,
		inv->what, *inv->rules ? "; rules " : "", inv->rules, audit->counts[index],
		audit->counts[index] == 1 ? "" : "s");
	for (size_t i = 0; i < audit->nr_findings && shown < most; i++)
		if (audit->findings[i].invariant == inv) {
			put_finding(audit, &audit->findings[i], out);
			shown++;
		}
	if (shown < audit->counts[index])
		fprintf(out, "    and %" PRIu64 " more\n", audit->counts[index] - shown);
}

static void put_overshoots(FILE *out, const uint64_t *overshoots)
{
	bool any = false;

	for (unsigned int i = 0; i < AUXTAP_AUDIT_OVERSHOOTS; i++) {
		if (!overshoots[i])
			continue;
		fprintf(out, "%s", any ? ", " : "    bytes past the watermark: ");
		if (!i)
			fprintf(out, "none %" PRIu64, overshoots[i]);
		else if (i == AUXTAP_AUDIT_OVERSHOOTS - 1)
			fprintf(out, "%" PRIu64 " or more: %" PRIu64, (uint64_t)1 << (i - 1),
				overshoots[i]);
		else
			fprintf(out, "below %" PRIu64 ": %" PRIu64, (uint64_t)1 << i,
				overshoots[i]);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

static void put_ring(const struct auxtap_audit *audit, const struct auxtap_audit_ring *r, FILE *out)
{
	bool log = r->log;

	fputs("  ", out);
	if (log && !audit->facts.of_log)
		fprintf(out, "log %s, ", r->log);
	put_ring_name(out, r->cpu, r->tid);
	fprintf(out,
		"%s: %" PRIu64 " %s%s, %" PRIu64 " bytes; %" PRIu64 " read%s, %" PRIu64 " bytes",
		r->overwrite ? " (overwrite)" : "", r->nr_records, log ? "write" : "AUX record",
		r->nr_records == 1 ? "" : "s", r->nr_bytes, r->nr_reads,
		r->nr_reads == 1 ? "" : "s", r->nr_read_bytes);
	if (r->nr_passed)
		fprintf(out, "; %" PRIu64 " %s", r->nr_passed,
			log ? "thresholds passed" : "past a watermark");
	if (log && r->nr_interrupts)
		fprintf(out, "; %" PRIu64 " interrupts", r->nr_interrupts);
	if (r->largest_unread)
		fprintf(out, "; at most %" PRIu64 " %s", r->largest_unread,
			log ? "unread" : "in one read");
	if (r->nr_truncated + r->nr_partial + r->nr_collision)
		fprintf(out, "; %" PRIu64 " truncated, %" PRIu64 " partial, %" PRIu64 " collisions",
			r->nr_truncated, r->nr_partial, r->nr_collision);
	if (r->off_ns) {
		fputs("; off ", out);
		put_seconds(out, r->off_ns);
		fputs(" s", out);
	}
	if (r->nr_skipped_bytes)
		fprintf(out, "; %" PRIu64 " bytes of padding", r->nr_skipped_bytes);
	if (r->nr_lost_bytes)
		fprintf(out, "; %" PRIu64 " bytes lost", r->nr_lost_bytes);
	if (r->nr_lost_records)
		fprintf(out, "; LOST counts %" PRIu64 " records", r->nr_lost_records);
	fputc('\n', out);
	put_overshoots(out, r->overshoots);
}

static void put_facts(const struct auxtap_audit *audit, FILE *out)
{
	const struct auxtap_audit_facts *f = &audit->facts;
	size_t nr_rings;

	nr_rings = audit->nr_rings - f->nr_unit_logs;
	fprintf(out, "unit %s, %zu ring%s", f->unit, nr_rings, nr_rings == 1 ? "" : "s");
	if (f->aux_size)
		fprintf(out, " of %" PRIu64 " bytes", f->aux_size);
	else if (!f->of_log)
		fputs(" of unknown size (give --aux-size)", out);
	if (f->watermark)
		fprintf(out, ", watermark %" PRIu64, f->watermark);
	if (f->watermark_default)
		fputs(f->watermark ? " (half the ring)" : ", watermark half the ring", out);
	if (f->page_size)
		fprintf(out, ", pages of %" PRIu64 " KiB", f->page_size / 1024);
	fputs(", span ", out);
	put_seconds(out, f->time_end - f->time_begin);
	fputs(" s\n", out);
	if (f->nr_hw_ids)
		fprintf(out, "%" PRIu64 " AUX_OUTPUT_HW_ID\n", f->nr_hw_ids);
	if (f->nr_lost_samples)
		fprintf(out, "LOST_SAMPLES counts %" PRIu64 "\n", f->nr_lost_samples);
}

int auxtap_audit_print_text(const struct auxtap_audit *audit, const char *path, FILE *out)
{
	uint64_t nr[3] = {0};

	for (size_t i = 0; i < INV_NR; i++)
		nr[auxtap_audit_get_invariant(i)->severity] += audit->counts[i];
	fprintf(out, "%s: %s: %" PRIu64 " violation%s, %" PRIu64 " known loss%s\n", path,
		nr[AUXTAP_VIOLATION] ? "AT FAULT" : "clean", nr[AUXTAP_VIOLATION],
		nr[AUXTAP_VIOLATION] == 1 ? "" : "s", nr[AUXTAP_KNOWN_LOSS],
		nr[AUXTAP_KNOWN_LOSS] == 1 ? "" : "es");
	put_facts(audit, out);
	for (size_t i = 0; i < audit->nr_rings; i++)
		put_ring(audit, &audit->rings[i], out);
	for (int severity = AUXTAP_VIOLATION; severity >= AUXTAP_NOTE; severity--)
		for (size_t i = 0; i < INV_NR; i++)
			if ((int)auxtap_audit_get_invariant(i)->severity == severity)
				put_invariant(audit, i, out);
	return ferror(out) ? -EIO : 0;
}
