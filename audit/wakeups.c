// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wakeups, as auxtap's recorder has noted them: each watermark that the head passes wakes the
 * reader, by bytes or by padding (D11, D18), and nothing else does, least of all in an area that is
 * overwritten (D7). Stock perf records no wakeups.
 */
#include "audit_private.h"

#include <inttypes.h>
#include <string.h>

struct reader {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring whose;
	struct auxtap_wakeup_log head;
	const unsigned char *wakeups;
	size_t nr;
	uint64_t watermark;
};

/* Zeros before the first one. */
static struct auxtap_wakeup wakeup_at(const struct reader *r, size_t i, size_t back)
{
	struct auxtap_wakeup wakeup = {0};

	if (i >= back)
		memcpy(&wakeup, r->wakeups + (i - back) * sizeof(wakeup), sizeof(wakeup));
	return wakeup;
}

static bool passed(const struct reader *r, uint64_t from, uint64_t to)
{
	return r->watermark && to / r->watermark > from / r->watermark;
}

/* E6: strictly more than a watermark after the one before. */
static bool data_woke(const struct reader *r, uint64_t from, uint64_t to)
{
	uint64_t watermark = r->head.data_watermark;

	return watermark && to && (to - 1) / watermark > (from ? from - 1 : 0) / watermark;
}

/*
 * Passed, and neither this return of poll() nor the next one says so: the flag for it would have
 * stayed (E12).
 */
static void missing(const struct reader *r, size_t i)
{
	struct auxtap_wakeup at = wakeup_at(r, i, 0), before = wakeup_at(r, i, 1), next;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};

	if (r->audit->overwrite_noted || at.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST) ||
	    i + 1 == r->nr || !passed(r, before.aux_head, at.aux_head))
		return;
	next = wakeup_at(r, i + 1, 0);
	if (next.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST))
		return;
	audit_add_finding(r->audit, INV_WAKEUP_MISSING, &r->whose, &where,
			  at.aux_head - before.aux_head,
			  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
			  ", past a watermark of %" PRIu64 ", and the reader was not woken",
			  before.aux_head, at.aux_head, r->watermark);
}

static void without_cause(const struct reader *r, size_t i, size_t woken)
{
	/*
	 * What has woken may have come after the return before: between it and the look at the
	 * heads. So all counts since the return before the last one that was a wakeup.
	 */
	struct auxtap_wakeup at = wakeup_at(r, i, 0), since = wakeup_at(r, woken, 1), next = at;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};
	bool overwrite = r->audit->overwrite_noted;

	if (i + 1 < r->nr)
		next = wakeup_at(r, i + 1, 0);
	if (!(at.flags & AUXTAP_WAKEUP_READABLE) ||
	    (at.flags | next.flags) & AUXTAP_WAKEUP_STOPPED ||
	    data_woke(r, since.data_head, at.data_head))
		return;
	if (!overwrite && (passed(r, since.aux_head, at.aux_head) ||
			   at.aux_head - at.aux_tail >= r->head.aux_size - 1))
		return;
	if (overwrite)
		audit_add_finding(r->audit, INV_WAKEUP_CAUSE, &r->whose, &where, 0,
				  "the area is overwritten, and the data ring held only %" PRIu64
				  " bytes more",
				  at.data_head - since.data_head);
	else
		audit_add_finding(r->audit, INV_WAKEUP_CAUSE, &r->whose, &where, 0,
				  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
				  ", past no watermark of %" PRIu64
				  "; the data ring held only %" PRIu64 " bytes more",
				  since.aux_head, at.aux_head, r->watermark,
				  at.data_head - since.data_head);
}

void audit_reader(struct auxtap_audit *audit, const void *data, size_t size)
{
	struct reader r = {.audit = audit};
	struct auxtap_audit_facts *facts = &audit->facts;

	if (size < sizeof(r.head))
		return;
	memcpy(&r.head, data, sizeof(r.head));
	r.wakeups = (const unsigned char *)data + sizeof(r.head);
	r.nr = (size - sizeof(r.head)) / sizeof(struct auxtap_wakeup);
	r.whose.cpu = r.head.cpu;
	r.whose.tid = r.head.tid;
	r.watermark = r.head.aux_watermark ? r.head.aux_watermark : r.head.aux_size / 2; /* C2 */
	if (!audit->opts.aux_size) {
		facts->aux_size = r.head.aux_size;
		if (facts->watermark_default)
			facts->watermark = facts->aux_size / 2;
	}
	facts->nr_wakeups_noted += r.nr;
	/* the emulation's wakeups go through a pipe of its own, which may be read late */
	if (r.head.emulated || !r.head.aux_size)
		return;
	if (r.head.nr_wakeups > r.nr)
		audit_add_finding(audit, INV_WAKEUPS_UNNOTED, &r.whose, NULL, 0,
				  "%zu of %" PRIu64
				  " times are in the file; later ones are not checked",
				  r.nr, r.head.nr_wakeups);
	for (size_t i = 0, woken = 0; i < r.nr; i++) {
		missing(&r, i);
		without_cause(&r, i, woken);
		if (wakeup_at(&r, i, 0).flags & AUXTAP_WAKEUP_READABLE)
			woken = i;
	}
}
