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
static struct auxtap_wakeup wakeup_at(const struct wakeup_check *check, size_t i, size_t back)
{
	struct auxtap_wakeup wakeup = {0};

	if (i >= back)
		memcpy(&wakeup, check->wakeups + (i - back) * sizeof(wakeup), sizeof(wakeup));
	return wakeup;
}

static bool passes_watermark(const struct wakeup_check *check, uint64_t from, uint64_t to)
{
	return check->watermark && to / check->watermark > from / check->watermark;
}

/* E6: the head has gone beyond a multiple of the watermark; to reach one does not wake. */
static bool data_ring_wakes(const struct wakeup_check *check, uint64_t from, uint64_t to)
{
	uint64_t watermark = check->header.data_watermark;

	return watermark && to && (to - 1) / watermark > (from ? from - 1 : 0) / watermark;
}

/*
 * The head passed a watermark, and neither this return of poll() nor the next one reports it; a
 * wakeup that came between them would have stayed pending until the next one (E12).
 */
static void check_missing_wakeup(const struct wakeup_check *check, size_t i)
{
	struct auxtap_wakeup at = wakeup_at(check, i, 0), before = wakeup_at(check, i, 1), next;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};

	if (check->audit->mostly_overwrite ||
	    at.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST) || i + 1 == check->nr ||
	    !passes_watermark(check, before.aux_head, at.aux_head))
		return;
	next = wakeup_at(check, i + 1, 0);
	if (next.flags & (AUXTAP_WAKEUP_READABLE | AUXTAP_WAKEUP_LAST))
		return;
	audit_add_finding(check->audit, INV_WAKEUP_MISSING, &check->ring_id, &where,
			  at.aux_head - before.aux_head,
			  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
			  ", past a watermark of %" PRIu64 ", and the reader was not woken",
			  before.aux_head, at.aux_head, check->watermark);
}

static void check_cause(const struct wakeup_check *check, size_t i, size_t woken)
{
	/*
	 * The cause may lie between the previous return of poll() and the recorder's read of the
	 * heads. So everything counts since the return before the last wakeup.
	 */
	struct auxtap_wakeup at = wakeup_at(check, i, 0), since = wakeup_at(check, woken, 1),
			     next = at;
	struct entry where = {.file_off = AUXTAP_OFFSET_NONE, .time = at.time_ns};
	bool overwrite = check->audit->mostly_overwrite;

	if (i + 1 < check->nr)
		next = wakeup_at(check, i + 1, 0);
	if (!(at.flags & AUXTAP_WAKEUP_READABLE) ||
	    (at.flags | next.flags) & AUXTAP_WAKEUP_STOPPED ||
	    data_ring_wakes(check, since.data_head, at.data_head))
		return;
	if (!overwrite && (passes_watermark(check, since.aux_head, at.aux_head) ||
			   at.aux_head - at.aux_tail >= check->header.aux_size - 1))
		return;
	if (overwrite)
		audit_add_finding(check->audit, INV_WAKEUP_CAUSE, &check->ring_id, &where, 0,
				  "the area is overwritten, and only %" PRIu64
				  " bytes were added to the data ring",
				  at.data_head - since.data_head);
	else
		audit_add_finding(check->audit, INV_WAKEUP_CAUSE, &check->ring_id, &where, 0,
				  "the head went from 0x%" PRIx64 " to 0x%" PRIx64
				  ", past no watermark of %" PRIu64 "; only %" PRIu64
				  " bytes were added to the data ring",
				  since.aux_head, at.aux_head, check->watermark,
				  at.data_head - since.data_head);
}

void audit_wakeup_log(struct auxtap_audit *audit, const void *data, size_t size)
{
	struct wakeup_check check = {.audit = audit};
	struct auxtap_audit_facts *facts = &audit->facts;

	if (size < sizeof(check.header))
		return;
	memcpy(&check.header, data, sizeof(check.header));
	check.wakeups = (const unsigned char *)data + sizeof(check.header);
	check.nr = (size - sizeof(check.header)) / sizeof(struct auxtap_wakeup);
	check.ring_id.cpu = check.header.cpu;
	check.ring_id.tid = check.header.tid;
	check.watermark = check.header.aux_watermark ? check.header.aux_watermark :
						       check.header.aux_size / 2; /* C2 */
	if (!audit->opts.aux_size) {
		facts->aux_size = check.header.aux_size;
		if (facts->watermark_default)
			facts->watermark = facts->aux_size / 2;
	}
	facts->nr_wakeups_noted += check.nr;
	/* the emulation's wakeups go through a pipe, which the recorder may read late */
	if (check.header.emulated || !check.header.aux_size)
		return;
	if (check.header.nr_wakeups > check.nr)
		audit_add_finding(audit, INV_WAKEUPS_UNNOTED, &check.ring_id, NULL, 0,
				  "%zu of %" PRIu64
				  " wakeups are in the file's log; later ones are not checked",
				  check.nr, check.header.nr_wakeups);
	for (size_t i = 0, woken = 0; i < check.nr; i++) {
		check_missing_wakeup(&check, i);
		check_cause(&check, i, woken);
		if (wakeup_at(&check, i, 0).flags & AUXTAP_WAKEUP_READABLE)
			woken = i;
	}
}
