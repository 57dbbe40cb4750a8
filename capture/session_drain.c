// SPDX-License-Identifier: BSD-2-Clause
/*
 * From the rings into the file: data rings first, then AUX areas, then FINISHED_ROUND.
 * Every ring is read once in each round, so a record that comes a round late is still newer
 * than the round before: what perf's ordering relies on.
 */
#include "emulated.h"
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Written at the end of the file, so they stay in memory: this many, then a sum of the rest. */
#define ACCOUNTS_MAX 4096
#define ACCOUNT_TEXT 112
#define CHUNK	     (512u << 10) /* of an AUX area; a system call each */
#define TORN_BYTES   64		  /* more than a packet has */

void session_put_gap(struct trace_file *file, const struct auxtap_gap *gap)
{
	if (!file->writer)
		return;
	if (file->nr_gaps++ < MAX_GAPS) {
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_GAP, gap,
						sizeof(*gap));
		return;
	}
	if (!file->more_gaps.time_begin || gap->time_begin < file->more_gaps.time_begin)
		file->more_gaps.time_begin = gap->time_begin;
	if (gap->time_end > file->more_gaps.time_end)
		file->more_gaps.time_end = gap->time_end;
	file->more_gaps.nr_bytes += gap->nr_bytes;
}

static bool unit_stats(struct auxtap_session *s, const struct stream *st,
		       struct auxtap_unit_stats *stats)
{
	const struct auxtap_perf_ops *perf = s->be->perf;

	return perf->unit_stats && st->fd >= 0 && !perf->unit_stats(s->be->perf_ctx, st->fd, stats);
}

void session_account(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_unit_stats now;

	if (!s->file.writer || !st->aux || !unit_stats(s, st, &now))
		return;
	if (!s->accounts)
		s->accounts = malloc(ACCOUNTS_MAX * ACCOUNT_TEXT);
	if (s->accounts && s->nr_accounts < ACCOUNTS_MAX) {
		s->nr_accounts++;
		s->accounts_len +=
			(size_t)snprintf(s->accounts + s->accounts_len, ACCOUNT_TEXT,
					 "unit %d: produced %llu written %llu dropped %llu\n",
					 st->tid, (unsigned long long)now.nr_produced,
					 (unsigned long long)now.nr_written,
					 (unsigned long long)now.nr_dropped);
		return;
	}
	s->nr_more_accounts++;
	s->more_accounts.nr_produced += now.nr_produced;
	s->more_accounts.nr_written += now.nr_written;
	s->more_accounts.nr_dropped += now.nr_dropped;
}

void session_dropped(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRUNCATED,
		.cpu = st->cpu,
		.pid = st->pid,
		.tid = st->tid,
		.time_begin = st->truncated_time,
	};
	struct auxtap_unit_stats now;

	if (!s->file.writer || !unit_stats(s, st, &now))
		return;
	if (now.nr_dropped == st->seen.nr_dropped)
		return;
	gap.nr_bytes = now.nr_dropped - st->seen.nr_dropped;
	gap.exact = 1;
	gap.time_end = s->be->perf->clock(s->be->perf_ctx);
	st->seen.nr_dropped = now.nr_dropped;
	session_put_gap(&s->file, &gap);
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
		st->wakeups.stopped |= aux.flags & PERF_AUX_FLAG_TRUNCATED;
		if ((aux.flags & PERF_AUX_FLAG_TRUNCATED) && !s->aux_overwrite) {
			if (!st->truncated)
				st->truncated_time = trailer->time;
			st->truncated = true;
			s->stats.truncations++;
		}
		if (aux.flags & PERF_AUX_FLAG_COLLISION)
			s->stats.collisions++;
	} else if (header->type == PERF_RECORD_LOST && size >= sizeof(lost)) {
		memcpy(&lost, header + 1, sizeof(lost));
		s->stats.lost_records += lost.lost;
		st->wakeups.stopped = true;
		/* F3: the lost record may be an AUX record with TRUNCATED. */
		if (!s->aux_overwrite && !st->truncated) {
			st->truncated = true;
			st->truncated_time = trailer->time;
		}
	}
}

/* The build-id is read as early as possible: the file may be replaced while it is mapped. */
static void look_at_mapping(struct auxtap_session *s, const void *record)
{
	const struct mmap2_body *map = record_mmap2(record);

	if (map && (map->prot & PROT_EXEC) && map->filename[0] == '/')
		mapped_ids_get(&s->mapped_ids, map, true);
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
	/* What comes meanwhile is the next round's: records may come as fast as we write them. */
	uint64_t nr_bytes = 0, head_abs = auxtap_ring_data_head(&st->ring);
	int ret = 0;

	while (st->ring.data_prev_abs != head_abs &&
	       (ret = auxtap_ring_data_next(&st->ring, &span, err)) > 0) {
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
		look_at_mapping(s, s->record);
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
	/* No space for a LOST record either (E3): the ring would never show the loss. */
	if (st->ring.data_size && nr_bytes + 256 > st->ring.data_size && !s->aux_overwrite &&
	    !st->truncated) {
		st->truncated = st->wakeups.stopped = true;
		st->truncated_time = s->last_time;
	}
	return ret < 0 ? ret : 0;
}

static struct auxtap_auxtrace auxtrace_head(const struct auxtap_session *s, const struct stream *st,
					    uint64_t offset)
{
	return (struct auxtap_auxtrace){
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
}

int session_write_auxtrace(struct auxtap_session *s, struct trace_file *file,
			   const struct stream *st, const struct auxtap_span *span, uint64_t offset,
			   struct auxtap_error *err)
{
	struct auxtap_auxtrace head = auxtrace_head(s, st, offset);

	file->open_round = true;
	s->stats.aux_bytes += span->size1 + span->size2;
	return auxtap_perfdata_writer_auxtrace(file->writer, &head, span->part1, span->size1,
					       span->part2, span->size2, err);
}

/* The program ran on while we had its event off: that much is in no trace. */
static void paused(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_PAUSED,
		.cpu = st->cpu,
		.pid = st->pid,
		.tid = st->tid,
		.time_begin = st->paused_since,
	};
	struct auxtap_unit_stats now;

	if (!unit_stats(s, st, &now) || now.nr_untraced == st->seen.nr_untraced)
		return;
	st->seen.nr_untraced = now.nr_untraced;
	gap.time_end = s->be->perf->clock(s->be->perf_ctx);
	session_put_gap(&s->file, &gap);
}

/*
 * D21: after the drain, DISABLE and ENABLE; ENABLE alone does nothing where the event still counts
 * as active.
 */
static void enable_again(struct auxtap_session *s, struct stream *st)
{
	st->truncated = false;
	if (st->disabled)
		return;
	session_enable(s, st, false);
	if (s->be->perf->unit_stats)
		st->paused_since = s->be->perf->clock(s->be->perf_ctx);
	session_enable(s, st, true);
	/* Now, when it ended: what ran until ENABLE is in it. */
	session_dropped(s, st);
	/* If it was on (two records of one truncation), what ran meanwhile is our doing. */
	paused(s, st);
}

/* The first nr_bytes of what is left of a span. */
static struct auxtap_span take(struct auxtap_span *span, uint64_t nr_bytes)
{
	struct auxtap_span piece = *span;

	if (!span->size1) {
		span->part1 = span->part2;
		span->size1 = span->size2;
		span->size2 = 0;
	}
	piece.part1 = span->part1;
	piece.size1 = span->size1 < nr_bytes ? span->size1 : nr_bytes;
	piece.size2 = 0;
	span->part1 = (const char *)span->part1 + piece.size1;
	span->size1 -= piece.size1;
	span->offset_abs += piece.size1;
	return piece;
}

/*
 * Writes the span extent by extent and frees the space of each at once, so that the tail that the
 * driver reads at its next interrupt is as recent as possible. (A unit that was stopped waits for
 * all of it: enabled with half of the area free, it stopped more often and was off longer in sum.)
 * Whole transactions go into one record: perf cannot decode a packet that is cut in two.
 */
static int save_aux(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
		    struct auxtap_error *err)
{
	struct auxtap_auxtrace head = auxtrace_head(s, st, span->offset_abs);
	uint64_t total = span->size1 + span->size2, done = 0;
	int ret;

	s->file.open_round = true;
	s->stats.aux_bytes += total;
	ret = auxtap_perfdata_writer_auxtrace_begin(s->file.writer, &head, total, err);
	while (!ret && done < total) {
		struct auxtap_span piece = take(span, CHUNK);

		ret = auxtap_perfdata_writer_auxtrace_bytes(s->file.writer, piece.part1,
							    piece.size1, err);
		auxtap_ring_aux_consume(&st->ring, &piece);
		done += piece.size1;
	}
	return ret;
}

int session_drain_aux(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	int ret = 0;

	if (!st->ring.aux_size || s->aux_overwrite)
		return 0;
	if (auxtap_ring_aux_next(&st->ring, &span)) {
		bool full = span.size1 + span.size2 >= st->ring.aux_size - 1;

		if (!s->failed)
			ret = save_aux(s, st, &span, err);
		else
			auxtap_ring_aux_consume(&st->ring, &span);
		/*
		 * The unit may have been stopped while we wrote: noticed now, it is on again now,
		 * not a round later. D15: the record was there before the head was.
		 */
		if (!ret)
			ret = session_drain_data(s, st, err);
		/* D6: perf_aux_output_begin() without space leaves no record. */
		st->wakeups.stopped |= full;
		if (full && !st->truncated) {
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
static void stall_check(struct auxtap_session *s, struct stream *st)
{
	uint64_t at_abs = st->ring.aux_prev_abs;

	if (!st->ring.aux_size || s->aux_overwrite || st->disabled || st->hung_up)
		return;
	if (at_abs != st->stall_aux_abs || !at_abs) {
		st->stall_aux_abs = at_abs;
		st->stall_rounds = 0;
		st->stall_limit = 4;
		return;
	}
	if (++st->stall_rounds < st->stall_limit)
		return;
	st->stall_rounds = 0;
	if (st->stall_limit < 64)
		st->stall_limit *= 2;
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
		stall_check(s, s->streams[i]);
	}
finish:
	if (s->failed || !s->file.writer || !s->file.open_round)
		return 0;
	s->file.open_round = false;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}

/* Byte i of a span. */
static unsigned char span_byte(const struct auxtap_span *span, uint64_t i)
{
	return ((
		const unsigned char *)(i < span->size1 ?
					       span->part1 :
					       span->part2))[i < span->size1 ? i : i - span->size1];
}

/* Where in the span the last bytes of the last snapshot end, newest match; 0: not in it. */
static uint64_t seen_before(const struct stream *st, const struct auxtap_span *span)
{
	uint64_t total = span->size1 + span->size2;

	for (uint64_t end = total; st->snap_key_size && end >= st->snap_key_size; end--) {
		size_t n = st->snap_key_size;

		while (n && span_byte(span, end - st->snap_key_size + n - 1) == st->snap_key[n - 1])
			n--;
		if (!n)
			return end;
	}
	return 0;
}

/*
 * The emulator was killed with the transaction open: the head is that of an earlier one. The
 * unit's account is in step with its bytes, but for the packet that it was writing, which may
 * have been laid over the oldest ones.
 */
static void newest_of_dead(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
			   uint64_t *offset)
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
 * The newest bytes of an overwritten area, and their position in the stream of all bytes that the
 * unit wrote. The emulated unit counts these itself. Elsewhere the end of the last snapshot is
 * looked for in the area: found, the two overlap and the position follows from it; not found, the
 * position is one past the last end, so that a reader of the file sees a gap.
 */
void session_newest(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
		    uint64_t *offset)
{
	struct auxtap_unit_stats unit;
	uint64_t total, max = s->opts.snapshot_size, seen;

	if (unit_stats(s, st, &unit)) {
		total = unit.nr_written < st->aux_size ? unit.nr_written : st->aux_size;
		if (max && total > max)
			total = max;
		auxtap_ring_aux_newest(&st->ring, total, span);
		*offset = unit.nr_written - total;
		return;
	}
	if (backend_death(s->be)) {
		newest_of_dead(s, st, span, offset);
		return;
	}
	/*
	 * H11: the head is an offset in the area, so wraps are not counted. Only the content shows
	 * them.
	 */
	auxtap_ring_aux_snapshot(&st->ring, max, span);
	total = span->size1 + span->size2;
	seen = seen_before(st, span);
	*offset = st->snap_end;
	if (seen)
		*offset = st->snap_end > seen ? st->snap_end - seen : 0;
	else if (st->snap_key_size)
		*offset += 1; /* something is missing; how much is unknown */
	st->snap_end = *offset + total;
	st->snap_key_size = total < SNAP_KEY ? total : SNAP_KEY;
	for (size_t i = 0; i < st->snap_key_size; i++)
		st->snap_key[i] = span_byte(span, total - st->snap_key_size + i);
}

int session_snapshot_stream(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	uint64_t offset;

	if (!st->ring.aux_size || !s->file.writer)
		return 0;
	session_newest(s, st, &span, &offset);
	if (!(span.size1 + span.size2))
		return 0;
	return session_write_auxtrace(s, &s->file, st, &span, offset, err);
}

int session_snapshot(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret;

	/* K6: stop all, then data rings, then AUX, then on again. */
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
		ret = session_snapshot_stream(s, s->streams[i], err);
		if (ret)
			return ret;
	}
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (s->streams[i]->disabled)
			continue;
		session_enable(s, s->streams[i], true);
		paused(s, s->streams[i]);
	}
	s->stats.snapshots++;
	return auxtap_perfdata_writer_round(s->file.writer, err);
}
