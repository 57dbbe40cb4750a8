// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks one ring's AUX records in the order of the file: offsets, flags, losses. Rule numbers
 * (D12) refer to docs/kernel-rules.md.
 */
#include "audit_private.h"

#include <inttypes.h>

#define KNOWN_FLAGS                                                                  \
	(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL | \
	 PERF_AUX_FLAG_COLLISION | PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK)
#define IDLE_MIN  8	     /* truncated records in a row without bytes that are too many */
#define AGAIN_MIN 3	     /* the driver may begin once more before irq_work disables the event */
#define RESUME_NS 1000000000 /* a reader that takes longer has stopped reading */

struct stream_check {
	const struct ring_view *ring;
	const struct entry *last;      /* previous AUX record; NULL: none yet */
	const struct entry *truncated; /* last, if it was truncated; else NULL */
	uint64_t end;		       /* highest end of the AUX records so far */
	uint64_t nr_lost;	       /* records counted by LOST since the last AUX record */
	uint64_t format;	       /* of the previous AUX record */
	uint64_t read_up_to;	       /* end of what the reader has read */
	const struct entry *idle;      /* the first of several records in a row that move nothing */
	uint64_t nr_idle;
	/* a truncated record with bytes, after which nothing was read */
	const struct entry *stopped;
	uint64_t nr_again; /* further truncated records at its end */
	bool one_event;	   /* all records of the ring are of one event */
};

uint64_t audit_skip_max(const struct auxtap_audit *audit)
{
	return audit->family->max_skip_pages * audit->facts.page_size;
}

/* D11, D12, F3: where a record begins. */
static void check_start(struct stream_check *check, const struct entry *e)
{
	struct auxtap_audit *audit = check->ring->audit;
	struct auxtap_audit_ring *sums = check->ring->sums;
	uint64_t hole;

	if (!check->last)
		return;
	if (e->off < check->end) {
		if (audit_end(e->off, e->size) <= check->last->off && e->off < check->last->off)
			audit_add_finding(audit, INV_AUX_ORDER, sums, e, e->size,
					  "bytes 0x%" PRIx64 " to 0x%" PRIx64
					  " come after a record of those from 0x%" PRIx64 " on",
					  e->off, audit_end(e->off, e->size), check->last->off);
		else
			audit_add_finding(audit, INV_AUX_OVERLAP, sums, e, check->end - e->off,
					  "begins at 0x%" PRIx64 ", %" PRIu64
					  " bytes before the end of the previous one (at 0x%" PRIx64
					  ")",
					  e->off, check->end - e->off, check->last->file_off);
		return;
	}
	hole = e->off - check->end;
	if (!hole)
		return;
	if (check->nr_lost) {
		audit_add_finding(audit, INV_RECORD_LOST, sums, e, hole,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on are covered by no record; LOST counts %" PRIu64,
				  hole, check->end, check->nr_lost);
	} else if (hole < audit_skip_max(audit)) {
		sums->nr_skipped_bytes += hole;
		audit_watermark_skipped(check->ring, e, check->end);
		audit_add_skip(audit, e, check->end, e->off);
		audit_add_finding(audit, INV_SKIPPED, sums, e, hole,
				  "%" PRIu64 " bytes of padding before 0x%" PRIx64, hole, e->off);
	} else {
		audit_add_finding(audit, INV_AUX_HOLE, sums, e, hole,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on are covered by no record, and no LOST says why",
				  hole, check->end);
	}
}

/* D14, L2, J3 */
static void check_flags(struct stream_check *check, const struct entry *e)
{
	struct auxtap_audit *audit = check->ring->audit;
	struct auxtap_audit_ring *sums = check->ring->sums;
	uint64_t format = e->flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;

	if (e->flags & ~(uint64_t)KNOWN_FLAGS)
		audit_add_finding(audit, INV_FLAG_UNKNOWN, sums, e, 0, "flags 0x%" PRIx64,
				  e->flags);
	if (format && !audit->family->has_formats) {
		audit_add_finding(audit, INV_FLAG_FORMAT, sums, e, 0,
				  "format 0x%" PRIx64 " in a record of %s", format, audit->unit);
	} else {
		if (check->last && format != check->format)
			audit_add_finding(audit, INV_FLAG_FORMAT, sums, e, 0,
					  "format 0x%" PRIx64 ", 0x%" PRIx64 " before", format,
					  check->format);
		check->format = format;
	}
	if (check->last && !(e->flags & PERF_AUX_FLAG_OVERWRITE) !=
				   !(check->last->flags & PERF_AUX_FLAG_OVERWRITE))
		audit_add_finding(audit, INV_MODE_MIXED, sums, e, 0,
				  "OVERWRITE is %s before (at 0x%" PRIx64 ")",
				  e->flags & PERF_AUX_FLAG_OVERWRITE ?
					  "set, and was not in the record" :
					  "not set, and was in the record",
				  check->last->file_off);
	if (!e->size && !e->flags)
		audit_add_finding(audit, INV_EMPTY_RECORD, sums, e, 0,
				  "size 0 and no flag: the kernel writes none");
	else if (!e->size && e->flags == format)
		audit_add_finding(audit, INV_EMPTY_FORMAT, sums, e, 0, "size 0, format 0x%" PRIx64,
				  format);
}

static void note_resumed(struct stream_check *check, const struct entry *e)
{
	if (check->truncated && e->time > check->truncated->time)
		check->ring->sums->off_ns += e->time - check->truncated->time;
	check->truncated = NULL;
}

static void note_losses(struct stream_check *check, const struct entry *e)
{
	struct auxtap_audit *audit = check->ring->audit;
	struct auxtap_audit_ring *sums = check->ring->sums;

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
		check->truncated = e;
		audit_add_finding(audit, INV_TRUNCATED, sums, e, 0,
				  "stopped at 0x%" PRIx64
				  "; the kernel does not report how much was lost",
				  audit_end(e->off, e->size));
	}
}

static void end_idle(struct stream_check *check)
{
	if (check->nr_idle >= IDLE_MIN)
		audit_add_finding(check->ring->audit, INV_NO_PROGRESS, check->ring->sums,
				  check->idle, 0,
				  "%" PRIu64
				  " truncated records in a row cover no bytes, at 0x%" PRIx64
				  ", and the reader had read all that was there",
				  check->nr_idle, check->idle->off);
	check->nr_idle = 0;
}

/*
 * A ring that was read to its head has space (D5), so the next transaction stores something. A few
 * records may be older: the kernel wrote them while the reader was reading.
 */
static void check_progress(struct stream_check *check, const struct entry *e)
{
	bool idle = !e->size && e->flags & PERF_AUX_FLAG_TRUNCATED && check->read_up_to >= e->off;

	if (!idle || (check->nr_idle && check->idle->off != e->off))
		end_idle(check);
	if (idle && !check->nr_idle++)
		check->idle = e;
}

/*
 * D21: a transaction that is truncated while it runs disables its event, so nothing follows before
 * the reader has read and enabled it, except what the driver tries at once (H6, H13). If a driver
 * starts an event and finds no space, it ends the transaction at once, with 0 bytes, and the event,
 * which has not started, is not disabled: several of those in a row are no fault. known: this
 * kernel disables late or never (audit_private.h), which is a finding of its own.
 */
static void check_truncated_again(struct stream_check *check, const struct entry *e)
{
	struct auxtap_audit *audit = check->ring->audit;
	bool known = audit->late_disable || (audit->cpu0_disable && e->cpu == 0);

	if (!check->one_event)
		return;
	if (!(e->flags & PERF_AUX_FLAG_TRUNCATED)) {
		check->stopped = NULL;
	} else if (e->size) {
		check->stopped = e;
		check->nr_again = 0;
	} else if (!check->stopped || check->read_up_to >= e->off ||
		   e->off != audit_end(check->stopped->off, check->stopped->size)) {
		check->stopped = NULL;
	} else if (++check->nr_again == AGAIN_MIN) {
		audit_add_finding(audit, known ? INV_NOT_DISABLED : INV_TRUNCATED_AGAIN,
				  check->ring->sums, e, 0,
				  "truncated at 0x%" PRIx64 " (at 0x%" PRIx64
				  "), and %d times more, before anything was read",
				  e->off, check->stopped->file_off, AGAIN_MIN);
	}
}

static void check_record(struct stream_check *check, const struct entry *e)
{
	struct auxtap_audit *audit = check->ring->audit;
	struct auxtap_audit_ring *sums = check->ring->sums;
	uint64_t end = audit_end(e->off, e->size), size = audit->facts.aux_size;

	if (e->off + e->size < e->off) { /* no field of this record can be trusted */
		audit_add_finding(audit, INV_AUX_RANGE, sums, e, 0,
				  "offset 0x%" PRIx64 ", size 0x%" PRIx64, e->off, e->size);
		return;
	}
	if (!sums->nr_records)
		sums->first_off = e->off;
	sums->nr_records++;
	sums->nr_bytes += e->size;
	if (check->last && e->time && check->last->time && e->time < check->last->time)
		audit_add_finding(audit, INV_TIME_BACK, sums, e, 0,
				  "%" PRIu64 " ns before the previous record",
				  check->last->time - e->time);
	check_flags(check, e);
	if (!sums->overwrite) {
		check_start(check, e);
		/*
		 * H4: PT's STOP lies at the end of the last page, so PT also writes the byte that
		 * D5 keeps free.
		 */
		if (size && (e->size > size || (e->size == size && !audit->family->fills_ring)))
			audit_add_finding(audit, INV_LARGER_THAN_BUFFER, sums, e, e->size,
					  "%" PRIu64 " bytes in a ring of %" PRIu64, e->size, size);
		audit_watermark(check->ring, e);
		check_progress(check, e);
		check_truncated_again(check, e);
	}
	audit_flags_pt(check->ring, e);
	note_resumed(check, e);
	note_losses(check, e);
	check->last = e;
	check->nr_lost = 0;
	if (end > check->end)
		check->end = end;
}

/* D21, K1: the last record of the ring is truncated. Did the recording go on? */
static void check_resumed(const struct stream_check *check)
{
	struct auxtap_audit *audit = check->ring->audit;
	uint64_t left;

	if (!check->truncated || !check->truncated->time)
		return;
	left = audit->facts.time_end - check->truncated->time;
	if (left >= RESUME_NS)
		audit_add_finding(
			audit, INV_NOT_RESUMED, check->ring->sums, check->truncated, 0,
			"nothing came from this ring in the %" PRIu64 ".%03" PRIu64
			" s that were recorded after it: the program ended, or the event was not enabled again",
			left / 1000000000, left / 1000000 % 1000);
}

/*
 * In a per-CPU ring of a command each task has an event of its own (an inherited one), and all
 * records have the id of the first: so a record may be of another event than the one before,
 * also because the kernel lets tasks exchange their events. A CPU-wide ring and a thread's ring
 * have one event, whichever task runs.
 */
static bool has_one_event(const struct ring_view *ring)
{
	const struct auxtap_audit *audit = ring->audit;
	const struct entry *first = NULL;
	/*
	 * perf's CPU-wide events are inherited, too, but their trace names no task. auxtap's are
	 * not, and its trace never names one. A truncated file does not say who recorded it.
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
	struct stream_check check = {.ring = ring, .one_event = has_one_event(ring)};
	uint64_t nr_overwrite = 0, nr = 0;

	for (size_t i = 0; i < ring->nr; i++) {
		if (ring->entries[i].kind != ENTRY_AUX)
			continue;
		nr++;
		nr_overwrite += ring->entries[i].flags & PERF_AUX_FLAG_OVERWRITE ? 1 : 0;
	}
	sums->overwrite = nr && 2 * nr_overwrite > nr; /* as most records say */
	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		switch (e->kind) {
		case ENTRY_AUX:
			check_record(&check, e);
			break;
		case ENTRY_TRACE:
			sums->nr_reads++;
			sums->nr_read_bytes += e->size;
			if (e->size > sums->largest_unread)
				sums->largest_unread = e->size;
			if (audit_end(e->off, e->size) > check.read_up_to)
				check.read_up_to = audit_end(e->off, e->size);
			break;
		case ENTRY_LOST:
			check.nr_lost += e->size;
			sums->nr_lost_records += e->size;
			break;
		case ENTRY_START:
			sums->nr_starts++;
			break;
		}
	}
	sums->last_end = check.end;
	end_idle(&check);
	check_resumed(&check);
	audit_flags_ends(ring);
}
