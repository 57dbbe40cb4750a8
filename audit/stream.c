// SPDX-License-Identifier: BSD-2-Clause
/* One ring's AUX records: offsets, flags, losses, in the order of the file. */
#include "audit_private.h"

#include <inttypes.h>

#define KNOWN_FLAGS                                                                  \
	(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL | \
	 PERF_AUX_FLAG_COLLISION | PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK)
#define IDLE_MIN  8
#define AGAIN_MIN 3	     /* one is the driver's, before the event can be disabled */
#define RESUME_NS 1000000000 /* a reader that takes longer has stopped reading */

struct check {
	const struct ring_view *ring;
	const struct entry *last;      /* AUX record; NULL: none yet */
	const struct entry *truncated; /* not resumed yet */
	uint64_t end;		       /* of all so far */
	uint64_t nr_lost;	       /* by LOST since the last AUX record */
	uint64_t format;	       /* of the first one */
	uint64_t saved;		       /* up to here the reader has saved */
	const struct entry *idle;      /* the first of several records in a row that move nothing */
	uint64_t nr_idle;
	const struct entry *stopped; /* a record with bytes, truncated; read is nothing since */
	uint64_t nr_again;
	bool one_event;
};

uint64_t audit_skip_max(const struct auxtap_audit *audit)
{
	return audit->family->max_skip_pages * audit->facts.page_size;
}

/* D11, D12, F3: where a record begins. */
static void check_start(struct check *w, const struct entry *e)
{
	struct auxtap_audit *audit = w->ring->audit;
	struct auxtap_audit_ring *sums = w->ring->sums;
	uint64_t hole;

	if (!w->last)
		return;
	if (e->off < w->end) {
		if (audit_end(e->off, e->size) <= w->last->off && e->off < w->last->off)
			audit_add_finding(audit, INV_AUX_ORDER, sums, e, e->size,
					  "bytes 0x%" PRIx64 " to 0x%" PRIx64
					  " come after a record of those from 0x%" PRIx64 " on",
					  e->off, audit_end(e->off, e->size), w->last->off);
		else
			audit_add_finding(audit, INV_AUX_OVERLAP, sums, e, w->end - e->off,
					  "begins at 0x%" PRIx64 ", %" PRIu64
					  " bytes before the end of the one before (at 0x%" PRIx64
					  ")",
					  e->off, w->end - e->off, w->last->file_off);
		return;
	}
	hole = e->off - w->end;
	if (!hole)
		return;
	if (w->nr_lost) {
		audit_add_finding(audit, INV_RECORD_LOST, sums, e, hole,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on are covered by no record; LOST counts %" PRIu64,
				  hole, w->end, w->nr_lost);
	} else if (hole < audit_skip_max(audit)) {
		sums->nr_skipped_bytes += hole;
		audit_watermark_skipped(w->ring, e, w->end);
		audit_skipped(audit, e, w->end, e->off);
		audit_add_finding(audit, INV_SKIPPED, sums, e, hole,
				  "%" PRIu64 " bytes of padding before 0x%" PRIx64, hole, e->off);
	} else {
		audit_add_finding(audit, INV_AUX_HOLE, sums, e, hole,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on are covered by no record, and no LOST says why",
				  hole, w->end);
	}
}

/* D14, L2, J3 */
static void flags(struct check *w, const struct entry *e)
{
	struct auxtap_audit *audit = w->ring->audit;
	struct auxtap_audit_ring *sums = w->ring->sums;
	uint64_t format = e->flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;

	if (e->flags & ~(uint64_t)KNOWN_FLAGS)
		audit_add_finding(audit, INV_FLAG_UNKNOWN, sums, e, 0, "flags 0x%" PRIx64,
				  e->flags);
	if (format && !audit->family->formats) {
		audit_add_finding(audit, INV_FLAG_FORMAT, sums, e, 0,
				  "format 0x%" PRIx64 " in a record of %s", format, audit->unit);
	} else {
		if (w->last && format != w->format)
			audit_add_finding(audit, INV_FLAG_FORMAT, sums, e, 0,
					  "format 0x%" PRIx64 ", 0x%" PRIx64 " before", format,
					  w->format);
		w->format = format;
	}
	if (w->last &&
	    !(e->flags & PERF_AUX_FLAG_OVERWRITE) != !(w->last->flags & PERF_AUX_FLAG_OVERWRITE))
		audit_add_finding(audit, INV_MODE_MIXED, sums, e, 0,
				  "OVERWRITE is %s before (at 0x%" PRIx64 ")",
				  e->flags & PERF_AUX_FLAG_OVERWRITE ?
					  "set, and was not in the record" :
					  "not set, and was in the record",
				  w->last->file_off);
	if (!e->size && !e->flags)
		audit_add_finding(audit, INV_EMPTY_RECORD, sums, e, 0,
				  "size 0 and no flag: the kernel writes none");
	else if (!e->size && e->flags == format)
		audit_add_finding(audit, INV_EMPTY_FORMAT, sums, e, 0, "size 0, format 0x%" PRIx64,
				  format);
}

static void resumed(struct check *w, const struct entry *e)
{
	if (w->truncated && e->time > w->truncated->time)
		w->ring->sums->off_ns += e->time - w->truncated->time;
	w->truncated = NULL;
}

static void losses(struct check *w, const struct entry *e)
{
	struct auxtap_audit *audit = w->ring->audit;
	struct auxtap_audit_ring *sums = w->ring->sums;

	if (e->flags & PERF_AUX_FLAG_PARTIAL) {
		sums->nr_partial++;
		audit_add_finding(audit, INV_PARTIAL, sums, e, e->size,
				  "within %" PRIu64 " bytes at 0x%" PRIx64, e->size, e->off);
	}
	if (e->flags & PERF_AUX_FLAG_COLLISION) {
		sums->nr_collision++;
		audit_add_finding(audit, INV_COLLISION, sums, e, e->size,
				  "within %" PRIu64 " bytes at 0x%" PRIx64, e->size, e->off);
	}
	if (e->flags & PERF_AUX_FLAG_TRUNCATED) {
		sums->nr_truncated++;
		w->truncated = e;
		audit_add_finding(audit, INV_TRUNCATED, sums, e, 0,
				  "stopped at 0x%" PRIx64
				  "; the kernel does not report how much was lost",
				  audit_end(e->off, e->size));
	}
}

static void idle_ends(struct check *w)
{
	if (w->nr_idle >= IDLE_MIN)
		audit_add_finding(w->ring->audit, INV_NO_PROGRESS, w->ring->sums, w->idle, 0,
				  "%" PRIu64
				  " truncated records in a row cover no bytes, at 0x%" PRIx64
				  ", and the reader had read all that was there",
				  w->nr_idle, w->idle->off);
	w->nr_idle = 0;
}

/*
 * A ring that was read to its head has space (D5), so the next transaction stores something. Some
 * records may be older than that read: they came while the reader read.
 */
static void progress(struct check *w, const struct entry *e)
{
	bool idle = !e->size && e->flags & PERF_AUX_FLAG_TRUNCATED && w->saved >= e->off;

	if (!idle || (w->nr_idle && w->idle->off != e->off))
		idle_ends(w);
	if (idle && !w->nr_idle++)
		w->idle = e;
}

/*
 * D21: a transaction that was truncated while it ran has disabled its event, so nothing follows
 * before the reader has read and enabled it; but for what the driver tried at once (H6, H13). One
 * that is truncated while it begins disables nothing: a row of those alone is no fault.
 */
static void again(struct check *w, const struct entry *e)
{
	struct auxtap_audit *audit = w->ring->audit;
	bool known = audit->late_disable || (audit->cpu0_disable && e->cpu == 0);

	if (!w->one_event)
		return;
	if (!(e->flags & PERF_AUX_FLAG_TRUNCATED)) {
		w->stopped = NULL;
	} else if (e->size) {
		w->stopped = e;
		w->nr_again = 0;
	} else if (!w->stopped || w->saved >= e->off ||
		   e->off != audit_end(w->stopped->off, w->stopped->size)) {
		w->stopped = NULL;
	} else if (++w->nr_again == AGAIN_MIN) {
		audit_add_finding(audit, known ? INV_NOT_DISABLED : INV_TRUNCATED_AGAIN,
				  w->ring->sums, e, 0,
				  "truncated at 0x%" PRIx64 " (at 0x%" PRIx64
				  "), and %d times more, before anything was read",
				  e->off, w->stopped->file_off, AGAIN_MIN);
	}
}

static void one(struct check *w, const struct entry *e)
{
	struct auxtap_audit *audit = w->ring->audit;
	struct auxtap_audit_ring *sums = w->ring->sums;
	uint64_t end = audit_end(e->off, e->size), size = audit->facts.aux_size;

	if (e->off + e->size < e->off) { /* nothing in it can be believed */
		audit_add_finding(audit, INV_AUX_RANGE, sums, e, 0,
				  "offset 0x%" PRIx64 ", size 0x%" PRIx64, e->off, e->size);
		return;
	}
	if (!sums->nr_records)
		sums->first_off = e->off;
	sums->nr_records++;
	sums->nr_bytes += e->size;
	if (w->last && e->time && w->last->time && e->time < w->last->time)
		audit_add_finding(audit, INV_TIME_BACK, sums, e, 0,
				  "%" PRIu64 " ns before the record before",
				  w->last->time - e->time);
	flags(w, e);
	if (!sums->overwrite) {
		check_start(w, e);
		/*
		 * H4: PT's STOP lies at the end of the last page, so the byte that D5 keeps is
		 * written, too
		 */
		if (size && (e->size > size || (e->size == size && !audit->family->fills_ring)))
			audit_add_finding(audit, INV_LARGER_THAN_BUFFER, sums, e, e->size,
					  "%" PRIu64 " bytes in a ring of %" PRIu64, e->size, size);
		audit_watermark(w->ring, e);
		progress(w, e);
		again(w, e);
	}
	audit_flags_pt(w->ring, e);
	resumed(w, e);
	losses(w, e);
	w->last = e;
	w->nr_lost = 0;
	if (end > w->end)
		w->end = end;
}

/* D21, K1: the last record of the ring is truncated. Did the recording go on? */
static void stopped(const struct check *w)
{
	struct auxtap_audit *audit = w->ring->audit;
	uint64_t left;

	if (!w->truncated || !w->truncated->time)
		return;
	left = audit->facts.time_end - w->truncated->time;
	if (left >= RESUME_NS)
		audit_add_finding(
			audit, INV_NOT_RESUMED, w->ring->sums, w->truncated, 0,
			"nothing came from this ring in the %" PRIu64 ".%03" PRIu64
			" s that were recorded after it: the program ended, or the event was not enabled again",
			left / 1000000000, left / 1000000 % 1000);
}

/*
 * A ring of a command's tasks on a CPU has one event for each of them (inherited ones), and their
 * records name only the first: a record of a second task's event proves nothing about the first's,
 * also because the kernel lets tasks exchange their events. A CPU-wide ring and a thread's have one
 * event, whoever runs.
 */
static bool has_one_event(const struct ring_view *ring)
{
	const struct auxtap_audit *audit = ring->audit;
	const struct entry *first = NULL;
	/*
	 * perf's CPU-wide events are inherited, too, but their trace names no task. auxtap's are
	 * not, and its trace never names one. Whose a file is that was cut is not known.
	 */
	bool of_tasks = audit->by_auxtap || audit->incomplete, inherited = false, several = false;

	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		if (e->kind == ENTRY_TRACE)
			of_tasks |= e->tid != -1;
		if (e->kind != ENTRY_AUX)
			continue;
		if (!first)
			first = e;
		inherited |= e->inherited;
		several |= e->tid != first->tid;
	}
	return ring->sums->cpu == -1 || !inherited || !of_tasks || !several;
}

void audit_stream(const struct ring_view *ring)
{
	struct auxtap_audit_ring *sums = ring->sums;
	struct check w = {.ring = ring, .one_event = has_one_event(ring)};
	uint64_t nr_overwrite = 0, nr = 0;

	for (size_t i = 0; i < ring->nr; i++) {
		if (ring->entries[i].kind != ENTRY_AUX)
			continue;
		nr++;
		nr_overwrite += ring->entries[i].flags & PERF_AUX_FLAG_OVERWRITE ? 1 : 0;
	}
	sums->overwrite = nr && 2 * nr_overwrite > nr; /* one wrong flag makes no snapshot */
	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		switch (e->kind) {
		case ENTRY_AUX:
			one(&w, e);
			break;
		case ENTRY_TRACE:
			sums->nr_reads++;
			sums->nr_read_bytes += e->size;
			if (e->size > sums->largest_unread)
				sums->largest_unread = e->size;
			if (audit_end(e->off, e->size) > w.saved)
				w.saved = audit_end(e->off, e->size);
			break;
		case ENTRY_LOST:
			w.nr_lost += e->size;
			sums->nr_lost_records += e->size;
			break;
		case ENTRY_START:
			sums->nr_starts++;
			break;
		}
	}
	sums->last_end = w.end;
	idle_ends(&w);
	stopped(&w);
	audit_flags_ends(ring);
}
