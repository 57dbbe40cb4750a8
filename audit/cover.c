// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares a ring's AUX records with the AUXTRACE records, which contain their bytes. Rules K1, I2,
 * J2: docs/kernel-rules.md.
 */
#include "audit_private.h"
#include "decode/stream/trace_queue.h"
#include "util/vector.h"

#include <inttypes.h>
#include <stdlib.h>

static size_t collect_spans(const struct ring_view *ring, enum entry_kind kind,
			    struct trace_span *out)
{
	size_t nr = 0;

	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];

		if (e->kind == kind && e->size && e->off + e->size > e->off)
			out[nr++] = (struct trace_span){e->off, audit_end(e->off, e->size), e};
	}
	trace_spans_sort(out, nr);
	return nr;
}

/* The reader saves all bytes, each once and in order. */
static void check_reads(const struct ring_view *ring)
{
	const struct trace_queue_opts linear = {0};
	struct auxtap_audit *audit = ring->audit;
	const struct entry *last = NULL;
	struct trace_queue q = {0};

	for (size_t i = 0; i < ring->nr; i++) {
		const struct entry *e = &ring->entries[i];
		struct auxtap_perfdata_aux buffer = {.auxtrace.offset = e->off,
						     .trace_size = e->size};
		uint64_t end = trace_queue_end(&q);
		const struct trace_extent *extent;

		if (e->kind != ENTRY_TRACE)
			continue;
		if (trace_queue_add(&linear, &q, &buffer)) {
			audit->no_memory = true;
			break;
		}
		extent = &q.extents[q.nr - 1];
		if (e->nr_stored < e->size)
			audit_add_finding(audit, INV_TRACE_CUT, ring->sums, e,
					  e->size - e->nr_stored,
					  "%" PRIu64 " of %" PRIu64 " bytes are there",
					  e->nr_stored, e->size);
		if (last && extent->border == TRACE_LACKS)
			audit_add_finding(audit, INV_TRACE_HOLE, ring->sums, e, extent->nr_lost,
					  "%" PRIu64 " bytes from 0x%" PRIx64 " on were not saved",
					  extent->nr_lost, end);
		else if (last && extent->border == TRACE_REPEATS && end - e->off >= TRACE_ALIGN)
			audit_add_finding(audit, INV_TRACE_OVERLAP, ring->sums, e, end - e->off,
					  "begins at 0x%" PRIx64 ", %" PRIu64
					  " bytes before the end of the previous one (at 0x%" PRIx64
					  ")",
					  e->off, end - e->off, last->file_off);
		last = e;
	}
	free(q.extents);
}

/* Reports bytes of an AUX record that no AUXTRACE record contains. */
static void report_missing(void *ctx, const struct trace_span *recorded, uint64_t first,
			   uint64_t nr, bool at_end)
{
	const struct ring_view *ring = ctx;

	/* a file that ends early lacks the bytes of its last records: already reported */
	if (!(ring->audit->incomplete && at_end))
		audit_add_finding(ring->audit, INV_BYTES_MISSING, ring->sums, recorded->of, nr,
				  "%" PRIu64 " of its %" PRIu64
				  " bytes are in no AUXTRACE record, the first at 0x%" PRIx64,
				  nr, recorded->end - recorded->off, first);
}

/* Reports bytes before the first AUX record and after the last one; stream.c those between. */
static void check_ends(const struct ring_view *ring, const struct trace_span *have, size_t nr_have)
{
	struct auxtap_audit *audit = ring->audit;
	struct auxtap_audit_ring *sums = ring->sums;
	const struct trace_span *last;
	uint64_t nr;

	if (!nr_have || audit->incomplete)
		return;
	if (!sums->nr_records) {
		audit_add_finding(audit, INV_BYTES_WITHOUT_RECORD, sums, have[0].of,
				  sums->nr_read_bytes,
				  "no AUX record covers this ring's %" PRIu64 " bytes",
				  sums->nr_read_bytes);
		return;
	}
	if (have[0].off < sums->first_off) {
		nr = sums->first_off - have[0].off;
		audit_add_finding(audit,
				  sums->nr_lost_records ? INV_RECORD_LOST :
							  INV_BYTES_WITHOUT_RECORD,
				  sums, have[0].of, nr,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on come before the first AUX record",
				  nr, have[0].off);
	}
	last = &have[0];
	for (size_t i = 1; i < nr_have; i++)
		if (have[i].end > last->end)
			last = &have[i];
	if (last->end < sums->last_end || last->end - sums->last_end < TRACE_ALIGN)
		return;
	nr = last->end - sums->last_end;
	if (sums->nr_lost_records) {
		audit_add_finding(audit, INV_RECORD_LOST, sums, last->of, nr,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on come after the last AUX record; LOST counts %" PRIu64,
				  nr, sums->last_end, sums->nr_lost_records);
	} else if (nr < audit_skip_max(audit) + TRACE_ALIGN) {
		sums->nr_skipped_bytes += nr;
		audit_add_finding(audit, INV_SKIPPED, sums, last->of, nr,
				  "%" PRIu64 " bytes of padding at the end", nr);
		audit_add_skip(audit, last->of, sums->last_end, last->end - (TRACE_ALIGN - 1));
	} else {
		audit_add_finding(audit, INV_BYTES_WITHOUT_RECORD, sums, last->of, nr,
				  "%" PRIu64 " bytes from 0x%" PRIx64
				  " on come after the last AUX record",
				  nr, sums->last_end);
	}
}

void audit_add_skip(struct auxtap_audit *audit, const struct entry *e, uint64_t from, uint64_t to)
{
	if (vector_grow(audit->skips, audit->nr_skips, audit->max_skips)) {
		audit->no_memory = true;
		return;
	}
	audit->skips[audit->nr_skips++] = (struct trace_span){from, to, e};
}

/*
 * The AUXTRACE record that contains the byte at off: the last such one, because the end of an
 * earlier one may be up to 7 bytes of padding (K1).
 */
static const struct trace_span *span_at(const struct trace_span *have, size_t nr_have, uint64_t off)
{
	size_t low = 0, high = nr_have;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (have[mid].off <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low && have[low - 1].end > off ? &have[low - 1] : NULL;
}

struct padding {
	unsigned char byte;
	uint64_t nr_wrong, first; /* wrong bytes; offset of the first one */
	unsigned char found;	  /* the first wrong byte */
};

static int check_padding_bytes(struct auxtap_perfdata *pd, struct padding *p, uint64_t file_off,
			       uint64_t off, uint64_t nr)
{
	unsigned char buf[4096];

	for (uint64_t done = 0; done < nr;) {
		size_t want = nr - done < sizeof(buf) ? (size_t)(nr - done) : sizeof(buf);
		ssize_t got = auxtap_perfdata_pread(pd, buf, want, file_off + done);

		if (got <= 0)
			return -1; /* the file ends early: already reported */
		for (ssize_t i = 0; i < got; i++) {
			if (buf[i] == p->byte)
				continue;
			if (!p->nr_wrong++) {
				p->first = off + done + (uint64_t)i;
				p->found = buf[i];
			}
		}
		done += (uint64_t)got;
	}
	return 0;
}

/* I2, J2: the driver must fill skipped bytes with padding, because decoders read them, too. */
static void check_padding(const struct ring_view *ring, const struct trace_span *have,
			  size_t nr_have)
{
	struct auxtap_audit *audit = ring->audit;

	for (size_t i = 0; i < audit->nr_skips; i++) {
		const struct trace_span *skip = &audit->skips[i];
		struct padding p = {.byte = audit->family->pad};

		for (uint64_t off = skip->off, nr; off < skip->end; off += nr) {
			const struct trace_span *span = span_at(have, nr_have, off);
			const struct entry *trace;

			if (!span) /* the reader has not saved this byte: already reported */
				break;
			trace = span->of;
			nr = (skip->end < span->end ? skip->end : span->end) - off;
			if (span + 1 < have + nr_have && span[1].off > off &&
			    span[1].off - off < nr)
				nr = span[1].off - off;
			if (check_padding_bytes(audit->pd, &p, trace->trace_off + (off - span->off),
						off, nr))
				break;
		}
		if (p.nr_wrong)
			audit_add_finding(audit, INV_PADDING_MISSING, ring->sums, skip->of,
					  p.nr_wrong,
					  "%" PRIu64 " of the %" PRIu64
					  " bytes skipped from 0x%" PRIx64
					  " on are not 0x%02x, the first at 0x%" PRIx64 ": 0x%02x",
					  p.nr_wrong, skip->end - skip->off, skip->off, p.byte,
					  p.first, p.found);
	}
}

void audit_cover(const struct ring_view *ring)
{
	struct trace_span *recorded = calloc(2 * ring->nr, sizeof(*recorded)), *have;
	size_t nr_recorded, nr_have;

	if (!recorded) {
		ring->audit->no_memory = true;
		return;
	}
	have = recorded + ring->nr;
	nr_recorded = collect_spans(ring, ENTRY_AUX, recorded);
	nr_have = collect_spans(ring, ENTRY_TRACE, have);
	check_reads(ring);
	trace_spans_uncovered(recorded, nr_recorded, have, nr_have, report_missing, (void *)ring);
	check_ends(ring, have, nr_have);
	check_padding(ring, have, nr_have);
	free(recorded);
}
