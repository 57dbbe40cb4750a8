// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares the event log of an emulated or simulated unit (docs/audit.md) with the recording of
 * that unit: the log says what the unit did, the recording what driver and kernel reported. They
 * are matched by position, not by time. Rule numbers (D12) refer to docs/kernel-rules.md.
 */
#include "audit_private.h"

#include <inttypes.h>
#include <stdlib.h>

static int extents_by_ring(const void *a, const void *b)
{
	const struct unit_extent *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* In the order in which the kernel wrote their records. */
static int transactions_by_ring(const void *a, const void *b)
{
	const struct unit_transaction *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void audit_unit_sort(struct auxtap_audit *audit)
{
	struct unit_history *u = &audit->units;

	if (u->nr_extents)
		qsort(u->extents, u->nr_extents, sizeof(*u->extents), extents_by_ring);
	if (u->nr_transactions)
		qsort(u->transactions, u->nr_transactions, sizeof(*u->transactions),
		      transactions_by_ring);
}

void audit_unit_free(struct unit_history *u)
{
	free(u->extents);
	free(u->transactions);
	for (size_t i = 0; i < u->nr_paths; i++)
		free(u->paths[i]);
	free(u->paths);
}

static struct entry log_entry(const char *log_path, uint64_t line_off, uint64_t time)
{
	return (struct entry){.file_off = line_off, .time = time, .log_path = log_path};
}

/* ---- bytes ---- */

static void report_not_written(void *ctx, const struct trace_span *reported, uint64_t first,
			       uint64_t nr, bool at_end)
{
	const struct ring_view *ring = ctx;

	(void)at_end;
	audit_add_finding(ring->audit, INV_NOT_WRITTEN, ring->sums, reported->of, nr,
			  "%" PRIu64 " of its %" PRIu64
			  " bytes the unit did not write, the first at 0x%" PRIx64,
			  nr, reported->end - reported->off, first);
}

static void report_unrecorded(void *ctx, const struct trace_span *written, uint64_t first,
			      uint64_t nr, bool at_end)
{
	const struct ring_view *ring = ctx;
	const struct unit_extent *extent = written->of;
	struct entry at = log_entry(extent->log_path, extent->line_off, extent->time);

	/* unknown: events are missing in the log; F3, or the file ends early: already reported */
	if (extent->unknown || ring->sums->nr_lost_records || (ring->audit->incomplete && at_end))
		return;
	audit_add_finding(ring->audit, INV_UNIT_BYTES_UNRECORDED, ring->sums, &at, nr,
			  "of the bytes 0x%" PRIx64 " to 0x%" PRIx64 " %" PRIu64 ", from 0x%" PRIx64
			  " on, are covered by no AUX record",
			  written->off, written->end, nr, first);
}

static void compare_bytes(const struct ring_view *ring, const struct unit_extent *extents,
			  size_t nr_extents)
{
	struct trace_span *reported = calloc(ring->nr + nr_extents, sizeof(*reported)), *written;
	size_t nr_reported = 0, nr_written = 0;

	if (!reported) {
		ring->audit->no_memory = true;
		return;
	}
	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		if (e->kind == ENTRY_AUX && e->size && e->off + e->size > e->off)
			reported[nr_reported++] = (struct trace_span){e->off, e->off + e->size, e};
	}
	written = reported + ring->nr;
	for (size_t i = 0; i < nr_extents; i++)
		if (extents[i].end > extents[i].off)
			written[nr_written++] =
				(struct trace_span){extents[i].off, extents[i].end, &extents[i]};
	trace_spans_sort(reported, nr_reported);
	if (ring->entries[0].key < KEY_THREAD || !ring->audit->units.threads_incomplete)
		trace_spans_uncovered(reported, nr_reported, written, nr_written,
				      report_not_written, (void *)ring);
	trace_spans_uncovered(written, nr_written, reported, nr_reported, report_unrecorded,
			      (void *)ring);
	free(reported);
}

/* ---- flags ---- */

#define LOSS_FLAGS (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)

/* Reports a loss without a flag, or without a record that could have a flag. */
static void report_unflagged(const struct ring_view *ring,
			     const struct unit_transaction *transaction, const struct entry *e)
{
	struct auxtap_audit *audit = ring->audit;
	struct entry line =
		log_entry(transaction->log_path, transaction->end_line_off, transaction->time);
	bool silent = audit->family->silent_loss && !transaction->partial; /* I10 */

	if (!e && ring->sums->nr_lost_records)
		return;
	audit_add_finding(audit, silent ? INV_LOSS_SILENT : INV_LOSS_UNFLAGGED, ring->sums,
			  e ? e : &line, transaction->nr_lost,
			  "%s, %" PRIu64 " bytes lost at 0x%" PRIx64 ": %s",
			  transaction->partial ? "trace is missing" : "the unit stopped",
			  transaction->nr_lost, transaction->end,
			  e ? "the record has no flag" : "there is no record");
}

static void compare_record_flags(const struct ring_view *ring,
				 const struct unit_transaction *transaction, const struct entry *e)
{
	struct auxtap_audit *audit = ring->audit;
	uint64_t mask = PERF_AUX_FLAG_TRUNCATED, flags = e->flags & LOSS_FLAGS;

	if (!flags) {
		if (transaction->nr_lost || transaction->partial)
			report_unflagged(ring, transaction, e);
		return;
	}
	/* J4; SPE's collisions are not in the log */
	if (audit->family->collides_at_limit)
		mask |= PERF_AUX_FLAG_COLLISION;
	/* H6, I5: a begin that finds too little space leaves an empty record */
	if (!(flags & mask) || transaction->nr_lost || transaction->at_limit ||
	    !transaction->has_limit || (!e->size && transaction->end > transaction->begin))
		return;
	audit_add_finding(audit, INV_FLAG_CAUSE, ring->sums, e, 0,
			  "%s: the unit lost nothing and was at 0x%" PRIx64 ", not at its limit%s",
			  flags & PERF_AUX_FLAG_TRUNCATED ? "TRUNCATED" : "COLLISION",
			  transaction->end,
			  transaction->partial ? "; trace was missing, which is PARTIAL" : "");
}

/* D12: finds the record that begins where the transaction does, from *at on; NULL: no record. */
static const struct entry *find_record(const struct ring_view *ring,
				       const struct unit_transaction *transaction, size_t *at)
{
	bool empty = transaction->end == transaction->begin;

	for (; *at < ring->nr; ++*at) {
		const struct entry *e = &ring->entries[*at];

		if (e->kind != ENTRY_AUX || e->off < transaction->begin)
			continue;
		if (e->off > transaction->begin || (empty && e->size))
			return NULL;
		if (!e->size && !empty) { /* H6, I5: perhaps of an earlier begin that failed */
			const struct entry *next = e + 1, *end = ring->entries + ring->nr;

			while (next < end && next->kind != ENTRY_AUX)
				next++;
			if (next < end && next->off == transaction->begin)
				continue;
		}
		++*at;
		return e;
	}
	return NULL;
}

static void compare_flags(const struct ring_view *ring, const struct unit_transaction *transactions,
			  size_t nr)
{
	size_t at = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct unit_transaction *transaction = &transactions[i];
		bool flagged =
			transaction->nr_lost || transaction->partial || transaction->at_limit;
		const struct entry *e;

		/* D14: a transaction without bytes or flags leaves no record */
		if (transaction->end == transaction->begin && !flagged)
			continue;
		e = find_record(ring, transaction, &at);
		if (transaction->incomplete)
			continue;
		if (e)
			compare_record_flags(ring, transaction, e);
		else if (transaction->nr_lost || transaction->partial)
			report_unflagged(ring, transaction, NULL);
	}
}

void audit_compare_unit(const struct ring_view *ring)
{
	struct unit_history *u = &ring->audit->units;
	uint64_t key = ring->entries[0].key;
	size_t extent = 0, transaction = 0, nr_extents = 0, nr_transactions = 0;

	if (!u->nr_paths)
		return;
	while (extent < u->nr_extents && u->extents[extent].key != key)
		extent++;
	while (extent + nr_extents < u->nr_extents && u->extents[extent + nr_extents].key == key)
		u->extents[extent + nr_extents++].compared = true;
	while (transaction < u->nr_transactions && u->transactions[transaction].key != key)
		transaction++;
	while (transaction + nr_transactions < u->nr_transactions &&
	       u->transactions[transaction + nr_transactions].key == key)
		nr_transactions++;
	if (!nr_extents && !nr_transactions) {
		audit_add_finding(ring->audit, INV_RING_UNLOGGED, ring->sums, NULL, 0,
				  "no log covers this ring's unit");
		return;
	}
	if (ring->sums->overwrite) /* H11: in overwrite mode records do not say which bytes */
		return;
	compare_bytes(ring, &u->extents[extent], nr_extents);
	compare_flags(ring, &u->transactions[transaction], nr_transactions);
}

void audit_compare_unit_rest(struct auxtap_audit *audit)
{
	const struct unit_history *u = &audit->units;

	for (size_t i = 0, next; i < u->nr_extents; i = next) {
		const struct unit_extent *extent = &u->extents[i];
		struct entry at = log_entry(extent->log_path, extent->line_off, extent->time);
		struct auxtap_audit_ring ring_id = {.cpu = -1, .tid = -1};
		uint64_t nr = 0;

		for (next = i; next < u->nr_extents && u->extents[next].key == extent->key; next++)
			nr += u->extents[next].unknown ?
				      0 :
				      u->extents[next].end - u->extents[next].off;
		if (extent->compared || !nr || audit->incomplete)
			continue;
		if (extent->key >= KEY_THREAD)
			ring_id.tid = (int32_t)(uint32_t)extent->key;
		else
			ring_id.cpu = (int32_t)(uint32_t)extent->key;
		audit_add_finding(audit, INV_UNIT_BYTES_UNRECORDED, &ring_id, &at, nr,
				  "%" PRIu64 " bytes of a ring that is not in the recording", nr);
	}
}
