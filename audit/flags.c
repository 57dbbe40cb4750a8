// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks flags of AUX records: those that a unit's rules exclude or require, which depends on where
 * a record ends (H8, J4 in docs/kernel-rules.md), and those that auxtap's recorder counted.
 */
#include "audit_private.h"
#include "perfdata/capture_lines.h"
#include "util/vector.h"

#include <auxtap/gap.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	   4096 /* the smallest: larger pages end at multiples of it, too */
#define LOSS_FLAGS (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)
#define AT_END_MIN 3 /* fewer records may end at a page boundary by chance */

/* H8, H12: PT is truncated at its STOP, which is at the end of a page, and never collides. */
void audit_flags_pt(const struct ring_view *ring, const struct entry *e)
{
	struct auxtap_audit *audit = ring->audit;
	uint64_t end = audit_end(e->off, e->size);

	if (!audit->family->stops_at_page)
		return;
	if (e->flags & PERF_AUX_FLAG_COLLISION)
		audit_add_finding(
			audit, INV_FLAG_FOREIGN, ring->sums, e, e->size,
			"COLLISION in a record of intel_pt, whose driver has no such loss");
	/* kernels before 4.12 also flagged missing trace (today PARTIAL) as TRUNCATED */
	if (e->flags & PERF_AUX_FLAG_TRUNCATED && !(e->flags & PERF_AUX_FLAG_OVERWRITE) &&
	    e->size && end % PAGE && !audit->old_partial)
		audit_add_finding(audit, INV_TRUNCATED_INSIDE, ring->sums, e, e->size,
				  "TRUNCATED with %" PRIu64 " bytes that end at 0x%" PRIx64
				  ", inside a page: the unit stops at the end of one",
				  e->size, end);
}

static bool is_trbe_record(const struct auxtap_audit *audit, const struct entry *e)
{
	return e->flags & audit->family->limit_format && !(e->flags & PERF_AUX_FLAG_OVERWRITE);
}

/*
 * J4: a TRBE that reaches its limit wraps, which is COLLISION (TRUNCATED before 5.15). limit: the
 * largest that is possible, so a record that ends there has reached its limit.
 */
void audit_flags_limit(const struct ring_view *ring, const struct entry *e, uint64_t limit)
{
	if (!is_trbe_record(ring->audit, e) || e->flags & LOSS_FLAGS || !e->size ||
	    audit_end(e->off, e->size) != limit)
		return;
	audit_add_finding(ring->audit, INV_COLLISION_UNFLAGGED, ring->sums, e, 0,
			  "ends at its limit, 0x%" PRIx64
			  ", where the unit has stopped, and has no flag of a loss",
			  limit);
}

/*
 * The watermark may be unknown, or the limit lower than the watermark's page. A context switch ends
 * a record anywhere, so if most records of a ring end at a page boundary, the unit stopped there.
 */
void audit_flags_ends(const struct ring_view *ring)
{
	uint64_t nr = 0, nr_at_end = 0, nr_flagged = 0;
	const struct entry *first = NULL;

	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		if (e->kind != ENTRY_AUX || !is_trbe_record(ring->audit, e) || !e->size)
			continue;
		nr++;
		nr_flagged += e->flags & LOSS_FLAGS ? 1 : 0;
		if (audit_end(e->off, e->size) % PAGE)
			continue;
		nr_at_end++;
		first = first ? first : e;
	}
	if (nr_flagged || nr_at_end < AT_END_MIN || 2 * nr_at_end <= nr ||
	    ring->audit->counts[INV_COLLISION_UNFLAGGED])
		return;
	audit_add_finding(ring->audit, INV_COLLISION_UNFLAGGED, ring->sums, first, 0,
			  "%" PRIu64 " of %" PRIu64
			  " records end with a page, as where the unit has stopped at its limit, "
			  "and none has a flag of a loss",
			  nr_at_end, nr);
}

/* ---- what auxtap's recorder noted ---- */

static void add_unit_note(struct auxtap_audit *audit, int tid, uint64_t written)
{
	if (vector_grow(audit->noted.units, audit->noted.nr_units, audit->noted.max_units)) {
		audit->no_memory = true;
		return;
	}
	audit->noted.units[audit->noted.nr_units++] = (struct unit_note){tid, written};
}

/* Counts of full traces only: a snapshot does not contain all records that the recorder counted. */
void audit_parse_noted(struct auxtap_audit *audit, const void *text, size_t size)
{
	const char *at = text;
	uint64_t written;
	int tid;

	audit->noted.emulated = capture_lines_is_emulated(text, size);
	if (!capture_lines_is_full(text, size))
		return;
	audit->noted.truncations = key_lines_number(text, size, CAPTURE_LINE_TRUNCATIONS);
	audit->noted.collisions = key_lines_number(text, size, CAPTURE_LINE_COLLISIONS);
	audit->noted.aux_size = key_lines_number(text, size, CAPTURE_LINE_AUX_SIZE);
	audit->noted.lost_records = key_lines_number(text, size, CAPTURE_LINE_LOST_RECORDS);
	while (capture_lines_next_unit(&at, (const char *)text + size, &tid, &written))
		add_unit_note(audit, tid, written);
}

static int by_tid(const void *a, const void *b)
{
	const struct unit_note *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Rings of threads are sorted by tid: see by_ring() in records.c. */
static void check_noted_bytes(struct auxtap_audit *audit)
{
	size_t nr = audit->noted.nr_units, at = 0;
	struct unit_note *units = audit->noted.units;

	if (nr)
		qsort(units, nr, sizeof(*units), by_tid);
	for (size_t i = 0; i < nr;) {
		struct auxtap_audit_ring ring_id = {.cpu = -1, .tid = units[i].tid};
		uint64_t written = 0, covered = 0;

		/* the kernel reuses tids */
		for (; i < nr && units[i].tid == ring_id.tid; i++)
			written += units[i].written;
		while (at < audit->nr_rings && audit->rings[at].tid < ring_id.tid)
			at++;
		if (at < audit->nr_rings && audit->rings[at].tid == ring_id.tid)
			covered = audit->rings[at].nr_bytes;
		if (covered < written)
			audit_add_finding(audit, INV_NOTED_MISSING, &ring_id, NULL,
					  written - covered,
					  "the recorder noted that the unit wrote %" PRIu64
					  " bytes, and AUX records cover %" PRIu64,
					  written, covered);
	}
}

static bool shows_loss(const struct entry *e)
{
	return e->kind == ENTRY_LOST || e->flags & (LOSS_FLAGS | PERF_AUX_FLAG_OVERWRITE);
}

/* By ring: LOST, then AUX by time; at the same time those that show a loss come first. */
static int by_ring_and_time(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry *const *)a;
	const struct entry *y = *(const struct entry *const *)b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind == ENTRY_LOST ? -1 : 1;
	if (x->kind == ENTRY_LOST)
		return 0;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (shows_loss(x) != shows_loss(y))
		return shows_loss(x) ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void sort_by_time(struct auxtap_audit *audit)
{
	if (audit->by_time || !audit->nr_entries)
		return;
	audit->by_time = malloc(audit->nr_entries * sizeof(const struct entry *));
	if (!audit->by_time) {
		audit->no_memory = true;
		return;
	}
	for (size_t i = 0; i < audit->nr_entries; i++)
		if (audit->entries[i].kind == ENTRY_AUX || audit->entries[i].kind == ENTRY_LOST)
			audit->by_time[audit->nr_by_time++] = &audit->entries[i];
	qsort((void *)audit->by_time, audit->nr_by_time, sizeof(const struct entry *),
	      by_ring_and_time);
}

/* The number of sorted records before the ring's first AUX record at or after the time. */
static size_t nr_before(const struct auxtap_audit *audit, uint64_t key, uint64_t time)
{
	size_t lo = 0, hi = audit->nr_by_time;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct entry *e = audit->by_time[mid];

		if (e->key < key || (e->key == key && (e->kind == ENTRY_LOST || e->time < time)))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * A gap that the recorder noted begins at the time of the truncated record. Without such a record
 * (F3, D6) it begins at another record's time; then LOST or a full area is the reason.
 */
void audit_flags_noted_gap(struct auxtap_audit *audit, const struct auxtap_gap *gap)
{
	uint64_t key = gap->cpu >= 0 && gap->tid < 0 ? KEY_CPU | (uint32_t)gap->cpu :
						       KEY_THREAD | (uint32_t)gap->tid;
	struct auxtap_audit_ring ring_id = {.cpu = gap->tid < 0 ? gap->cpu : -1, .tid = gap->tid};
	size_t begin, end, first;

	if (gap->cause != AUXTAP_GAP_TRUNCATED || !gap->time_begin)
		return;
	sort_by_time(audit);
	first = nr_before(audit, key, 0);
	if (first && audit->by_time[first - 1]->key == key) /* a LOST */
		return;
	begin = nr_before(audit, key, gap->time_begin);
	end = gap->time_begin == UINT64_MAX ? begin : nr_before(audit, key, gap->time_begin + 1);
	if (begin < end && !shows_loss(audit->by_time[begin]))
		audit_add_finding(
			audit, INV_TRUNCATION_UNFLAGGED, &ring_id, audit->by_time[end - 1],
			gap->nr_bytes,
			"the recorder noted that %" PRIu64
			" bytes were lost from this record on, and it has no flag of a loss",
			gap->nr_bytes);
}

/* The recorder reads each record once and writes it, so the file must contain all it counted. */
void audit_flags_noted(struct auxtap_audit *audit)
{
	uint64_t nr_truncated = 0, nr_collision = 0, nr_lost = audit->noted.lost_records;

	for (size_t i = 0; i < audit->nr_entries; i++) {
		const struct entry *e = &audit->entries[i];

		if (e->kind == ENTRY_LOST)
			nr_lost++;
		/* D6: the recorder also counts a full area that has no record */
		if (e->kind == ENTRY_TRACE && audit->noted.aux_size &&
		    e->size >= audit->noted.aux_size - 1)
			nr_truncated++;
		if (e->kind != ENTRY_AUX)
			continue;
		nr_truncated += e->flags & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
		nr_collision += e->flags & PERF_AUX_FLAG_COLLISION ? 1 : 0;
	}
	if (audit->incomplete || nr_lost)
		return;
	check_noted_bytes(audit);
	if (audit->noted.truncations > nr_truncated && !audit->counts[INV_TRUNCATION_UNFLAGGED])
		audit_add_finding(audit, INV_TRUNCATION_UNFLAGGED, NULL, NULL, 0,
				  "the recorder has read %" PRIu64
				  " truncated records, and %" PRIu64 " are in the file",
				  audit->noted.truncations, nr_truncated);
	if (audit->noted.collisions > nr_collision && !audit->counts[INV_COLLISION_UNFLAGGED])
		audit_add_finding(audit, INV_COLLISION_UNFLAGGED, NULL, NULL, 0,
				  "the recorder has read %" PRIu64
				  " records with COLLISION, and %" PRIu64 " are in the file",
				  audit->noted.collisions, nr_collision);
}
