// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks the wakeups that auxtap's recorder noted: each watermark that the head passes, by bytes or
 * by padding (D11, D18), wakes the reader, and without a cause nothing does. In overwrite mode the
 * AUX area never wakes it (D7). Stock perf records no wakeups. Rules: docs/kernel-rules.md.
 */
#include "audit_private.h"

#include <inttypes.h>
#include <string.h>

struct wakeup_check {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring ring_id;
	struct auxtap_wakeup_log header;
	const unsigned char *wakeups;
	size_t nr;
	uint64_t watermark;
};

/* The wakeup that is 'back' before i; all zeros before the first one. */
static struct auxtap_wakeup wakeup_at(const struct wakeup_check *r, size_t i, size_t back)
{
	struct auxtap_wakeup wakeup = {0};

	if (i >= back)
		memcpy(&wakeup, r->wakeups + (i - back) * sizeof(wakeup), sizeof(wakeup));
	return wakeup;
}

static bool passes_watermark(const struct wakeup_check *r, uint64_t from, uint64_t to)
{
	return r->watermark && to / r->watermark > from / r->watermark;
}

/* E6: the head has gone beyond a multiple of the watermark; to reach one does not wake. */
static bool data_ring_wakes(const struct wakeup_check *r, uint64_t from, uint64_t to)
{
	uint64_t watermark = r->header.data_watermark;

	return watermark && to && (to - 1) / watermark > (from ? from - 1 : 0) / watermark;
}

/*
 * The head passed a watermark, and neither this return of poll() nor the next one reports it; a
 * wakeup that came between them would have stayed pending until the next one (E12).
 */
static void check_missing_wakeup(const struct wakeup_check *r, size_t i)
{
	struct auxtap_wakeup at = wakeup_at(r, i, 0), before = wakeup_at(r, i, 1), next;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};

	if (r->audit->mostly_overwrite ||
	    at.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST) || i + 1 == r->nr ||
	    !passes_watermark(r, before.aux_head, at.aux_head))
		return;
	next = wakeup_at(r, i + 1, 0);
	if (next.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST))
		return;
	audit_add_finding(r->audit, INV_WAKEUP_MISSING, &r->ring_id, &where,
			  at.aux_head - before.aux_head,
			  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
			  ", past a watermark of %" PRIu64 ", and the reader was not woken",
			  before.aux_head, at.aux_head, r->watermark);
}

static void check_cause(const struct wakeup_check *r, size_t i, size_t woken)
{
	/*
	 * The cause may lie between the previous return of poll() and the recorder's read of the
	 * heads. So everything counts since the return before the last wakeup.
	 */
	struct auxtap_wakeup at = wakeup_at(r, i, 0), since = wakeup_at(r, woken, 1), next = at;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};
	bool overwrite = r->audit->mostly_overwrite;

	if (i + 1 < r->nr)
		next = wakeup_at(r, i + 1, 0);
	if (!(at.flags & AUXTAP_WAKEUP_READABLE) ||
	    (at.flags | next.flags) & AUXTAP_WAKEUP_STOPPED ||
	    data_ring_wakes(r, since.data_head, at.data_head))
		return;
	if (!overwrite && (passes_watermark(r, since.aux_head, at.aux_head) ||
			   at.aux_head - at.aux_tail >= r->header.aux_size - 1))
		return;
	if (overwrite)
		audit_add_finding(r->audit, INV_WAKEUP_CAUSE, &r->ring_id, &where, 0,
				  "the area is overwritten, and the data ring held only %" PRIu64
				  " bytes more",
				  at.data_head - since.data_head);
	else
		audit_add_finding(r->audit, INV_WAKEUP_CAUSE, &r->ring_id, &where, 0,
				  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
				  ", past no watermark of %" PRIu64
				  "; the data ring held only %" PRIu64 " bytes more",
				  since.aux_head, at.aux_head, r->watermark,
				  at.data_head - since.data_head);
}

void audit_wakeup_log(struct auxtap_audit *audit, const void *data, size_t size)
{
	struct wakeup_check r = {.audit = audit};
	struct auxtap_audit_facts *facts = &audit->facts;

	if (size < sizeof(r.header))
		return;
	memcpy(&r.header, data, sizeof(r.header));
	r.wakeups = (const unsigned char *)data + sizeof(r.header);
	r.nr = (size - sizeof(r.header)) / sizeof(struct auxtap_wakeup);
	r.ring_id.cpu = r.header.cpu;
	r.ring_id.tid = r.header.tid;
	r.watermark =
		r.header.aux_watermark ? r.header.aux_watermark : r.header.aux_size / 2; /* C2 */
	if (!audit->opts.aux_size) {
		facts->aux_size = r.header.aux_size;
		if (facts->watermark_default)
			facts->watermark = facts->aux_size / 2;
	}
	facts->nr_wakeups_noted += r.nr;
	/* the emulation's wakeups go through a pipe, which the recorder may read late */
	if (r.header.emulated || !r.header.aux_size)
		return;
	if (r.header.nr_wakeups > r.nr)
		audit_add_finding(audit, INV_WAKEUPS_UNNOTED, &r.ring_id, NULL, 0,
				  "%zu of %" PRIu64
				  " times are in the file; later ones are not checked",
				  r.nr, r.header.nr_wakeups);
	for (size_t i = 0, woken = 0; i < r.nr; i++) {
		check_missing_wakeup(&r, i);
		check_cause(&r, i, woken);
		if (wakeup_at(&r, i, 0).flags & AUXTAP_WAKEUP_READABLE)
			woken = i;
	}
}
