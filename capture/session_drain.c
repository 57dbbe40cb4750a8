// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the contents of the rings to the file: data rings first, then AUX areas, then
 * FINISHED_ROUND; and the gaps and counts of units that go with them. Each ring is read once per
 * round: a record that is read only in round n + 1 may be older than some of round n, but is newer
 * than all of round n - 1. perf's sorting relies on that.
 */
#include "perfdata/capture_lines.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * The CAPTURE record has a line for each trace unit, kept in memory until the file ends. Units
 * beyond this number are summed in one.
 */
#define UNIT_LINES_MAX 4096
#define UNIT_LINE_SIZE 112

void session_write_gap(struct trace_file *file, const struct auxtap_gap *gap)
{
	if (!file->writer)
		return;
	if (file->nr_gaps++ < MAX_GAPS) {
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_GAP, gap,
						sizeof(*gap));
		return;
	}
	if (!file->gap_sum.time_begin || gap->time_begin < file->gap_sum.time_begin)
		file->gap_sum.time_begin = gap->time_begin;
	if (gap->time_end > file->gap_sum.time_end)
		file->gap_sum.time_end = gap->time_end;
	file->gap_sum.nr_bytes += gap->nr_bytes;
}

bool session_unit_stats(struct auxtap_session *s, const struct stream *st,
			struct auxtap_unit_stats *stats)
{
	const struct auxtap_perf_ops *perf = s->be->perf;

	stats->size = sizeof(*stats);
	return perf->unit_stats && st->fd >= 0 && !perf->unit_stats(s->be->perf_ctx, st->fd, stats);
}

void session_keep_unit_stats(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_unit_stats now;

	if (!s->file.writer || !st->aux || !session_unit_stats(s, st, &now))
		return;
	if (!s->unit_lines)
		s->unit_lines = malloc(UNIT_LINES_MAX * UNIT_LINE_SIZE);
	if (s->unit_lines && s->nr_unit_lines < UNIT_LINES_MAX) {
		s->nr_unit_lines++;
		s->unit_lines_len += (size_t)snprintf(s->unit_lines + s->unit_lines_len,
						      UNIT_LINE_SIZE, CAPTURE_LINE_UNIT "\n",
						      st->tid, (unsigned long long)now.nr_produced,
						      (unsigned long long)now.nr_written,
						      (unsigned long long)now.nr_dropped);
		return;
	}
	s->nr_other_units++;
	s->other_units.nr_produced += now.nr_produced;
	s->other_units.nr_written += now.nr_written;
	s->other_units.nr_dropped += now.nr_dropped;
}

void session_write_dropped_gap(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRUNCATED,
		.cpu = st->cpu,
		.pid = st->pid,
		.tid = st->tid,
		.time_begin = st->truncated_time,
	};
	struct auxtap_unit_stats now;

	if (!s->file.writer || !session_unit_stats(s, st, &now))
		return;
	if (now.nr_dropped == st->stats_at_last_gap.nr_dropped)
		return;
	gap.nr_bytes = now.nr_dropped - st->stats_at_last_gap.nr_dropped;
	gap.exact = 1;
	gap.time_end = s->be->perf->clock(s->be->perf_ctx);
	st->stats_at_last_gap.nr_dropped = now.nr_dropped;
	session_write_gap(&s->file, &gap);
}

/* Updates the session's own state by a record. */
static void update_from_record(struct auxtap_session *s, struct stream *st, const void *record)
{
	const struct perf_event_header *header = record;
	const struct trailer *trailer;
	struct lost_body lost;
	struct aux_body aux;
	size_t size;

	if (!record_parts(record, &size, &trailer))
		return;
	if (trailer->time > s->last_time)
		s->last_time = trailer->time;
	if (header->type == PERF_RECORD_AUX && size >= sizeof(aux)) {
		memcpy(&aux, header + 1, sizeof(aux));
		st->wakeups.stopped |= aux.flags & PERF_AUX_FLAG_TRUNCATED;
		if ((aux.flags & PERF_AUX_FLAG_TRUNCATED) && !s->recorder->overwrite) {
			if (!st->needs_reenable)
				st->truncated_time = trailer->time;
			st->needs_reenable = true;
			s->stats.truncations++;
		}
		if (aux.flags & PERF_AUX_FLAG_COLLISION)
			s->stats.collisions++;
	} else if (header->type == PERF_RECORD_LOST && size >= sizeof(lost)) {
		memcpy(&lost, header + 1, sizeof(lost));
		s->stats.lost_records += lost.lost;
		st->wakeups.stopped = true;
		/* F3: the lost record may be an AUX record with TRUNCATED. */
		if (!s->recorder->overwrite && !st->needs_reenable) {
			st->needs_reenable = true;
			st->truncated_time = trailer->time;
		}
	}
}

/* Reads the build-id as early as possible: the file may be replaced while it is mapped. */
static void remember_build_id(struct auxtap_session *s, const void *record)
{
	const struct mmap2_body *map = record_mmap2(record);

	if (map && (map->prot & PROT_EXEC) && map->filename[0] == '/')
		mapped_build_ids_get(&s->mapped_build_ids, map, true);
}

int session_drain_data(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	/* Stop at this head: new records may arrive as fast as they are written to the file. */
	uint64_t nr_bytes = 0, head_abs = auxtap_ring_data_head(&st->ring);
	int ret = 0;

	while (st->ring.data_prev_abs != head_abs &&
	       (ret = auxtap_ring_data_next(&st->ring, &span, err)) > 0) {
		struct perf_event_header *header = (void *)s->record;
		uint16_t size = (uint16_t)(span.size1 + span.size2);

		memcpy(s->record, span.part1, span.size1);
		if (span.size2)
			memcpy(s->record + span.size1, span.part2, span.size2);
		/* The ring is shared memory: use the size that was checked. */
		header->size = size;
		auxtap_ring_data_consume(&st->ring);
		nr_bytes += size;
		update_from_record(s, st, s->record);
		remember_build_id(s, s->record);
		if (s->failed)
			continue;
		ret = s->recorder->record(s, st, s->record, err);
		if (ret)
			return ret;
	}
	/* There may be no space for a LOST record (E3): the ring would never report the loss. */
	if (st->ring.data_size && nr_bytes + 256 > st->ring.data_size && !s->recorder->overwrite &&
	    !st->needs_reenable) {
		st->needs_reenable = st->wakeups.stopped = true;
		st->truncated_time = s->last_time;
	}
	return ret < 0 ? ret : 0;
}

struct auxtap_auxtrace session_auxtrace_header(const struct auxtap_session *s,
					       const struct stream *st, uint64_t offset)
{
	return (struct auxtap_auxtrace){
		.offset = offset,
		/*
		 * As in perf: a time near that of the trace. perf takes the top byte of the first
		 * TSC from here, and perf 6.1 crashes if the reference is 0: hence + 1.
		 */
		.reference = s->last_time + 1,
		.idx = st->idx,
		.tid = (uint32_t)st->tid,
		.cpu = (uint32_t)st->cpu,
	};
}

int session_write_auxtrace(struct auxtap_session *s, struct trace_file *file,
			   const struct stream *st, const struct auxtap_span *span, uint64_t offset,
			   struct auxtap_error *err)
{
	struct auxtap_auxtrace header = session_auxtrace_header(s, st, offset);

	file->open_round = true;
	s->stats.aux_bytes += span->size1 + span->size2;
	return auxtap_perfdata_writer_auxtrace(file->writer, &header, span->part1, span->size1,
					       span->part2, span->size2, err);
}

void session_write_pause_gap(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_PAUSED,
		.cpu = st->cpu,
		.pid = st->pid,
		.tid = st->tid,
		.time_begin = st->paused_since,
	};
	struct auxtap_unit_stats now;

	if (!session_unit_stats(s, st, &now) ||
	    now.nr_untraced == st->stats_at_last_gap.nr_untraced)
		return;
	st->stats_at_last_gap.nr_untraced = now.nr_untraced;
	gap.time_end = s->be->perf->clock(s->be->perf_ctx);
	session_write_gap(&s->file, &gap);
}

int session_drain_round(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret;

	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_drain_data(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; s->recorder->drain && i < s->nr_streams; i++) {
		ret = s->recorder->drain(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	if (s->failed || !s->file.writer || !s->file.open_round)
		return 0;
	s->file.open_round = false;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}
