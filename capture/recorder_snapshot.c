// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records snapshots: the newest bytes of AUX areas that the unit overwrites, and their offset in
 * the AUX stream.
 */
#include "emulated.h"
#include "session.h"

#include <string.h>

#define TORN_BYTES 64 /* longer than any packet */

/* Byte i of a span. */
static unsigned char span_byte(const struct auxtap_span *span, uint64_t i)
{
	return ((
		const unsigned char *)(i < span->size1 ?
					       span->part1 :
					       span->part2))[i < span->size1 ? i : i - span->size1];
}

/* Where in the span the last snapshot ends, by its last bytes; 0: they are not in the span. */
static uint64_t find_last_snapshot_end(const struct stream *st, const struct auxtap_span *span)
{
	uint64_t total = span->size1 + span->size2;

	for (uint64_t end = total; st->nr_last_snap_bytes && end >= st->nr_last_snap_bytes; end--) {
		size_t n = st->nr_last_snap_bytes;

		while (n && span_byte(span, end - st->nr_last_snap_bytes + n - 1) ==
				    st->last_snap_bytes[n - 1])
			n--;
		if (!n)
			return end;
	}
	return 0;
}

/*
 * The emulator was killed during a transaction: aux_head is that of an earlier one. The unit's byte
 * counter matches the contents of the AUX area, except for the packet that was being written, which
 * may have overwritten the oldest bytes.
 */
static void newest_of_killed_emulator(struct auxtap_session *s, struct stream *st,
				      struct auxtap_span *span, uint64_t *offset)
{
	const struct auxtap_perf_ops *perf = s->be->perf;
	uint64_t written, total, from, size = st->ring.aux_size, max = s->opts.snapshot_size;

	memset(span, 0, sizeof(*span));
	*offset = 0;
	if (!perf->unit_written || perf->unit_written(s->be->perf_ctx, st->fd, &written))
		return;
	total = written < size - TORN_BYTES ? written : size - TORN_BYTES;
	if (max && total > max)
		total = max;
	*offset = written - total;
	from = *offset & (size - 1);
	span->part1 = (const char *)st->ring.aux + from;
	span->size1 = (size_t)(total < size - from ? total : size - from);
	span->part2 = st->ring.aux;
	span->size2 = (size_t)(total - span->size1);
}

/*
 * The newest bytes of an overwritten area, and their offset in the AUX stream: all bytes that the
 * unit wrote. The emulated unit counts them. For other units the end of the last snapshot is
 * searched in the area. If it is found, the snapshots overlap, and the offset follows from it. If
 * not, the offset is one past the last end, so that a reader of the file sees a gap. The first
 * snapshot of such a unit has offset 0.
 */
void session_newest_trace(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
			  uint64_t *offset)
{
	struct auxtap_unit_stats unit;
	uint64_t total, max = s->opts.snapshot_size, overlap;

	if (session_unit_stats(s, st, &unit)) {
		total = unit.nr_written < st->aux_size ? unit.nr_written : st->aux_size;
		if (max && total > max)
			total = max;
		auxtap_ring_aux_newest(&st->ring, total, span);
		*offset = unit.nr_written - total;
		return;
	}
	if (backend_death(s->be)) {
		newest_of_killed_emulator(s, st, span, offset);
		return;
	}
	/*
	 * The head may be an offset in the area (H11) or a growing count (J5), so wraps cannot be
	 * counted by it: only the contents show them.
	 */
	auxtap_ring_aux_snapshot(&st->ring, max, span);
	total = span->size1 + span->size2;
	overlap = find_last_snapshot_end(st, span);
	*offset = st->last_snap_end;
	if (overlap)
		*offset = st->last_snap_end > overlap ? st->last_snap_end - overlap : 0;
	else if (st->nr_last_snap_bytes)
		*offset += 1; /* something is missing; how much is unknown */
	st->last_snap_end = *offset + total;
	st->nr_last_snap_bytes = total < LAST_SNAP_BYTES ? total : LAST_SNAP_BYTES;
	for (size_t i = 0; i < st->nr_last_snap_bytes; i++)
		st->last_snap_bytes[i] = span_byte(span, total - st->nr_last_snap_bytes + i);
}

static int snapshot_stream(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	uint64_t offset;

	if (!st->ring.aux_size || !s->file.writer)
		return 0;
	session_newest_trace(s, st, &span, &offset);
	if (!(span.size1 + span.size2))
		return 0;
	return session_write_auxtrace(s, &s->file, st, &span, offset, err);
}

static int snapshot_all(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret;

	/* K6: disable all events, drain the data rings, save the AUX areas, enable the events. */
	for (size_t i = 0; i < s->nr_streams; i++) {
		session_enable(s, s->streams[i], false);
		if (s->be->perf->unit_stats)
			s->streams[i]->paused_since = s->be->perf->clock(s->be->perf_ctx);
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_drain_data(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = snapshot_stream(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (s->streams[i]->disabled)
			continue;
		session_enable(s, s->streams[i], true);
		session_write_pause_gap(s, s->streams[i]);
	}
	s->stats.snapshots++;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}

static int snapshot_thread_exited(struct auxtap_session *s, struct stream *st,
				  const struct auxtap_target_event *ev, struct auxtap_error *err)
{
	int ret = session_drain_data(s, st, err);

	if (!ret)
		ret = snapshot_stream(s, st, err);
	if (!ret && ev->tid == ev->pid)
		s->stats.snapshots++;
	return ret;
}

const struct recorder_ops recorder_snapshot = {
	.name = "snapshot",
	.overwrite = true,
	.record = session_file_record,
	.synthesised_record = session_file_synthesised_record,
	.snapshot = snapshot_all,
	.thread_exited = snapshot_thread_exited,
};
