// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares records with watermarks and pages. The kernel wakes the reader when the head passes a
 * multiple of the watermark (D18). The driver lets the unit interrupt at a position that depends on
 * it: PT at the end of the table entry before the one that contains it (H4, H5), SPE and TRBE at
 * the first page boundary at or after it, where they also stop (I4, J2 in docs/kernel-rules.md).
 */
#include "audit_private.h"

#include <inttypes.h>

/* SPE and TRBE stop at the first page boundary at or after the wakeup: no byte is past it. */
static void check_limit(const struct ring_view *ring, const struct entry *e, uint64_t wakeup)
{
	uint64_t page = ring->audit->facts.page_size, end = audit_end(e->off, e->size);
	uint64_t limit = wakeup % page ? wakeup - wakeup % page + page : wakeup;

	if (limit >= wakeup && end > limit)
		audit_add_finding(ring->audit, INV_PAST_LIMIT, ring->sums, e, end - limit,
				  "ends at 0x%" PRIx64 ", %" PRIu64
				  " bytes past the limit 0x%" PRIx64 " (watermark 0x%" PRIx64
				  ", pages of %" PRIu64 " KiB)",
				  end, end - limit, limit, wakeup, page / 1024);
	if (limit >= wakeup)
		audit_flags_limit(ring, e, limit);
}

static uint64_t watermark_of(const struct auxtap_audit *audit, const struct entry *e)
{
	return e->watermark ? e->watermark : audit->facts.aux_size / 2; /* C2 */
}

/* D11: the head may also pass a watermark by padding. */
void audit_watermark_skipped(const struct ring_view *ring, const struct entry *e, uint64_t from)
{
	uint64_t w = watermark_of(ring->audit, e), wakeup;

	if (!w || from > UINT64_MAX - w)
		return;
	wakeup = (from / w + 1) * w;
	if (e->off < wakeup)
		return;
	ring->sums->nr_passed++;
	audit_count_overshoot(ring->sums, e->off - wakeup);
}

void audit_watermark(const struct ring_view *ring, const struct entry *e)
{
	struct auxtap_audit *audit = ring->audit;
	uint64_t w = watermark_of(audit, e);
	uint64_t end = audit_end(e->off, e->size), wakeup, page = audit->facts.page_size;
	const struct audit_family *family = audit->family;

	if (!w || e->off > UINT64_MAX - 2 * w)
		return;
	wakeup = (e->off / w + 1) * w; /* D18: handle->wakeup when the transaction began */
	if (end >= wakeup) {
		ring->sums->nr_passed++;
		audit_count_overshoot(ring->sums, end - wakeup);
	}
	if (family->stops_at_limit || e->flags & family->limit_format) {
		check_limit(ring, e, wakeup);
		return;
	}
	/* H5: PT interrupts at every watermark only if it is a power of two of at least a page */
	if (!family->interrupts_at_topa_entries || w & (w - 1) || w < page)
		return;
	if (end >= wakeup + w)
		audit_add_finding(audit, INV_MISSED_INTERRUPT, ring->sums, e, end - wakeup,
				  "goes from 0x%" PRIx64 " to 0x%" PRIx64
				  ", past the watermarks 0x%" PRIx64 " and 0x%" PRIx64,
				  e->off, end, wakeup, wakeup + w);
	else if (audit->opts.max_overshoot && end > wakeup &&
		 end - wakeup > audit->opts.max_overshoot)
		audit_add_finding(audit, INV_LATE_INTERRUPT, ring->sums, e, end - wakeup,
				  "ends %" PRIu64 " bytes past the watermark 0x%" PRIx64
				  ", at most %" PRIu64 " are allowed",
				  end - wakeup, wakeup, audit->opts.max_overshoot);
}
