// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records against watermarks and pages. The kernel wakes when the head passes a multiple of the
 * watermark (D18); the driver makes the unit interrupt at a place that depends on it: PT at the
 * page at or before it (H4), SPE and TRBE at the page at or behind it, where they also stop (I4,
 * J2).
 */
#include "audit_private.h"

#include <inttypes.h>

/* The unit stops at the page: nothing is behind it. */
static void limited(const struct ring_view *ring, const struct entry *e, uint64_t mark)
{
	uint64_t page = ring->audit->facts.page_size, end = audit_end(e->off, e->size);
	uint64_t limit = mark % page ? mark - mark % page + page : mark;

	if (limit >= mark && end > limit)
		audit_find(ring->audit, INV_PAST_LIMIT, ring->sums, e, end - limit,
			   "ends at 0x%" PRIx64 ", %" PRIu64 " bytes past the limit 0x%" PRIx64
			   " (watermark 0x%" PRIx64 ", pages of %" PRIu64 " KiB)",
			   end, end - limit, limit, mark, page / 1024);
	if (limit >= mark)
		audit_flags_limit(ring, e, limit);
}

static uint64_t watermark_of(const struct auxtap_audit *audit, const struct entry *e)
{
	return e->watermark ? e->watermark : audit->facts.aux_size / 2; /* C2 */
}

/* D11: padding passes a watermark, too. */
void audit_mark_skipped(const struct ring_view *ring, const struct entry *e, uint64_t from)
{
	uint64_t w = watermark_of(ring->audit, e), mark;

	if (!w || from > UINT64_MAX - w)
		return;
	mark = (from / w + 1) * w;
	if (e->off < mark)
		return;
	ring->sums->nr_passed++;
	audit_overshoot(ring->sums, e->off - mark);
}

void audit_mark(const struct ring_view *ring, const struct entry *e)
{
	struct auxtap_audit *audit = ring->audit;
	uint64_t w = watermark_of(audit, e);
	uint64_t end = audit_end(e->off, e->size), mark, page = audit->facts.page_size;
	bool trbe = audit->family == AUXTAP_AUXTRACE_CS_ETM && e->flags & 0x100;

	if (!w || e->off > UINT64_MAX - 2 * w)
		return;
	mark = (e->off / w + 1) * w; /* D18: handle->wakeup when it began */
	if (end >= mark) {
		ring->sums->nr_passed++;
		audit_overshoot(ring->sums, end - mark);
	}
	if (audit->family == AUXTAP_AUXTRACE_ARM_SPE || trbe) {
		limited(ring, e, mark);
		return;
	}
	/* H5: only then does an interrupt come at each one */
	if (audit->family != AUXTAP_AUXTRACE_INTEL_PT || w & (w - 1) || w < page)
		return;
	if (end >= mark + w)
		audit_find(audit, INV_MISSED_INTERRUPT, ring->sums, e, end - mark,
			   "goes from 0x%" PRIx64 " to 0x%" PRIx64
			   ", past the watermarks 0x%" PRIx64 " and 0x%" PRIx64,
			   e->off, end, mark, mark + w);
	else if (audit->opts.max_overshoot && end > mark && end - mark > audit->opts.max_overshoot)
		audit_find(audit, INV_LATE_INTERRUPT, ring->sums, e, end - mark,
			   "ends %" PRIu64 " bytes behind the watermark 0x%" PRIx64
			   ", at most %" PRIu64 " are allowed",
			   end - mark, mark, audit->opts.max_overshoot);
}
