// SPDX-License-Identifier: BSD-2-Clause
/*
 * From the rings into the file: data rings first, then AUX areas, then FINISHED_ROUND.
 * Every ring is read once in each round, so a record that comes a round late is still newer
 * than the round before: what perf's ordering relies on.
 */
#include "session.h"

#include <errno.h>
#include <string.h>

/* Notes are written at the end of the file, so they stay in memory: this many, then one for the rest. */
#define GAP_NOTES_MAX 65536

void session_gap_note(struct auxtap_session *s, struct trace_file *file,
		      const struct auxtap_gap *gap)
{
	if (!file->writer || s->nr_gap_notes >= GAP_NOTES_MAX)
		return;
	s->nr_gap_notes++;
	auxtap_perfdata_writer_note(file->writer, AUXTAP_NOTE_GAP, gap, sizeof(*gap));
}

void session_dropped(struct auxtap_session *s, struct stream *st)
{
	const struct auxtap_perf_ops *perf = s->be->perf;
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRUNCATED,
		.cpu = st->cpu,
		.pid = st->pid,
		.tid = st->tid,
		.time_begin = st->truncated_time,
	};
	struct auxtap_unit_stats now;

	if (!perf->unit_stats || !s->file.writer ||
	    perf->unit_stats(s->be->perf_ctx, st->fd, &now) < 0)
		return;
	if (now.nr_dropped == st->seen.nr_dropped)
		return;
	gap.nr_bytes = now.nr_dropped - st->seen.nr_dropped;
	gap.exact = 1;
	gap.time_end = perf->clock(s->be->perf_ctx);
	st->seen = now;
	session_gap_note(s, &s->file, &gap);
}

/* What a record means for capture itself. */
static void look_at(struct auxtap_session *s, struct stream *st, const void *record)
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
		if ((aux.flags & PERF_AUX_FLAG_TRUNCATED) && !s->aux_overwrite) {
			if (!st->truncated)
				st->truncated_time = trailer->time;
			st->truncated = true;
			s->stats.truncations++;
		}
	} else if (header->type == PERF_RECORD_LOST && size >= sizeof(lost)) {
		memcpy(&lost, header + 1, sizeof(lost));
		s->stats.lost_records += lost.lost;
		/* F3: the lost record may be an AUX record with TRUNCATED. */
		if (!s->aux_overwrite && !st->truncated) {
			st->truncated = true;
			st->truncated_time = trailer->time;
		}
	}
}

/* A thread's ring speaks of its process; a CPU's ring of the process that its records name. */
static int keep_for_crash(struct auxtap_session *s, struct stream *st, const void *record)
{
	const struct perf_event_header *header = record;
	const struct trailer *trailer;
	uint32_t ids[2];
	size_t size;

	if (!s->per_cpu)
		return process_record(&s->processes, st->pid, record);
	if (!record_parts(record, &size, &trailer))
		return 0;
	ids[0] = trailer->pid;
	ids[1] = trailer->pid;
	if (size >= sizeof(ids) && header->type != PERF_RECORD_AUX)
		memcpy(ids, header + 1, sizeof(ids));
	if (header->type == PERF_RECORD_FORK && ids[0] != ids[1])
		return process_fork(&s->processes, (pid_t)ids[1], (pid_t)ids[0]);
	return process_record(&s->processes, (pid_t)ids[0], record);
}

int session_drain_data(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	uint64_t nr_bytes = 0;
	int ret;

	while ((ret = auxtap_ring_data_next(&st->ring, &span, err)) > 0) {
		struct perf_event_header *header = (void *)s->record;
		uint16_t size = (uint16_t)(span.size1 + span.size2);

		memcpy(s->record, span.part1, span.size1);
		if (span.size2)
			memcpy(s->record + span.size1, span.part2, span.size2);
		/* The ring is shared: the length that was checked is the one that counts. */
		header->size = size;
		auxtap_ring_data_consume(&st->ring);
		nr_bytes += size;
		look_at(s, st, s->record);
		if (s->failed)
			continue;
		if (s->opts.crash)
			ret = keep_for_crash(s, st, s->record);
		else
			ret = trace_file_record(s, &s->file, s->record, err);
		if (ret) {
			if (s->opts.crash)
				auxtap_error_set(err, ret, "sideband", "no memory");
			return ret;
		}
	}
	/* No room for a LOST record either (E3): nothing would ever tell us. */
	if (st->ring.data_size && nr_bytes + 256 > st->ring.data_size && !s->aux_overwrite &&
	    !st->truncated) {
		st->truncated = true;
		st->truncated_time = s->last_time;
	}
	return ret;
}

int session_write_auxtrace(struct auxtap_session *s, struct trace_file *file,
			   const struct stream *st, const struct auxtap_span *span,
			   uint64_t offset, struct auxtap_error *err)
{
	struct auxtap_auxtrace head = {
		.offset = offset,
		/*
		 * As perf: a time near the trace's. perf takes the top byte of its first TSC
		 * from here, and 6.1 dies of a reference that is 0.
		 */
		.reference = s->last_time + 1,
		.idx = st->idx,
		.tid = (uint32_t)st->tid,
		.cpu = (uint32_t)st->cpu,
	};

	s->stats.aux_bytes += span->size1 + span->size2;
	file->open_round = true;
	return auxtap_perfdata_writer_auxtrace(file->writer, &head, span->part1, span->size1,
					       span->part2, span->size2, err);
}

/* D21: after the drain, DISABLE and ENABLE; ENABLE alone does nothing where the event still counts as active. */
static void enable_again(struct auxtap_session *s, struct stream *st)
{
	st->truncated = false;
	if (st->disabled)
		return;
	session_enable(s, st, false);
	session_dropped(s, st);
	session_enable(s, st, true);
}

int session_drain_aux(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	int ret = 0;

	if (!st->ring.aux_size || s->aux_overwrite)
		return 0;
	if (auxtap_ring_aux_next(&st->ring, &span)) {
		uint64_t nr_bytes = span.size1 + span.size2;

		if (!s->failed)
			ret = session_write_auxtrace(s, &s->file, st, &span, span.offset_abs, err);
		auxtap_ring_aux_consume(&st->ring, &span);
		/* D6: a writer that found no room at all told nobody. */
		if (nr_bytes >= st->ring.aux_size - 1 && !st->truncated) {
			st->truncated = true;
			st->truncated_time = s->last_time;
			s->stats.truncations++;
		}
	}
	if (st->truncated && !ret && !s->failed)
		enable_again(s, st);
	return ret;
}

/*
 * 'No progress and event OFF': an event that made no AUX progress for a while is enabled
 * once more, at growing intervals. Where it is on, this does nothing.
 */
static void watch(struct auxtap_session *s, struct stream *st)
{
	uint64_t at_abs = st->ring.aux_prev_abs;

	if (!st->ring.aux_size || s->aux_overwrite || st->disabled || st->hung_up)
		return;
	if (at_abs != st->watch_aux_abs || !at_abs) {
		st->watch_aux_abs = at_abs;
		st->watch_rounds = 0;
		st->watch_limit = 4;
		return;
	}
	if (++st->watch_rounds < st->watch_limit)
		return;
	st->watch_rounds = 0;
	if (st->watch_limit < 64)
		st->watch_limit *= 2;
	session_enable(s, st, true);
}

int session_round(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret;

	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_drain_data(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	if (s->aux_overwrite)
		goto finish;
	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_drain_aux(s, s->streams[i], err);
		if (ret)
			return ret;
		watch(s, s->streams[i]);
	}
finish:
	if (s->failed || !s->file.writer || !s->file.open_round)
		return 0;
	s->file.open_round = false;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}

int session_snapshot_stream(struct auxtap_session *s, struct stream *st,
			    struct auxtap_error *err)
{
	struct auxtap_span span;
	int ret;

	if (!st->ring.aux_size || !s->file.writer)
		return 0;
	auxtap_ring_aux_snapshot(&st->ring, s->opts.snapshot_size, &span);
	if (!(span.size1 + span.size2))
		return 0;
	ret = session_write_auxtrace(s, &s->file, st, &span, st->stream_off, err);
	st->stream_off += span.size1 + span.size2;
	return ret;
}

int session_snapshot(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret;

	/* K6: stop all, then data rings, then AUX, then on again. */
	for (size_t i = 0; i < s->nr_streams; i++)
		session_enable(s, s->streams[i], false);
	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_drain_data(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		ret = session_snapshot_stream(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (!s->streams[i]->disabled)
			session_enable(s, s->streams[i], true);
	}
	s->stats.snapshots++;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}
