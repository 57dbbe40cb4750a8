// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records a full trace: drains the AUX areas while the program runs, and enables an event again
 * that the kernel stopped because its area was full. Rules: docs/kernel-rules.md.
 */
#include "perfdata/capture_lines.h"
#include "session.h"

#define CHUNK (512u << 10) /* bytes of an AUX area for one write() */

/*
 * D21: after the drain, DISABLE and ENABLE: ENABLE alone has no effect on an event that is still
 * in state ACTIVE.
 */
static void reenable(struct auxtap_session *s, struct stream *st)
{
	st->needs_reenable = false;
	if (st->disabled)
		return;
	session_enable(s, st, false);
	if (s->be->perf->unit_stats)
		st->paused_since = s->be->perf->clock(s->be->perf_ctx);
	session_enable(s, st, true);
	/* After ENABLE, so that the gap includes what was dropped until then. */
	session_write_dropped_gap(s, st);
	/* If the event was on (one truncation, two records), DISABLE itself has caused a gap. */
	session_write_pause_gap(s, st);
}

/* Removes up to nr_bytes from the start of a span and returns them, without a wrap. */
static struct auxtap_span take_bytes(struct auxtap_span *span, uint64_t nr_bytes)
{
	struct auxtap_span part = *span;

	if (!span->size1) {
		span->part1 = span->part2;
		span->size1 = span->size2;
		span->size2 = 0;
	}
	part.part1 = span->part1;
	part.size1 = span->size1 < nr_bytes ? span->size1 : nr_bytes;
	part.size2 = 0;
	span->part1 = (const char *)span->part1 + part.size1;
	span->size1 -= part.size1;
	span->offset_abs += part.size1;
	return part;
}

/*
 * Writes the span chunk by chunk and moves the tail after each, so that the tail that the driver
 * reads at its next interrupt is as recent as possible. (A unit that was stopped is enabled only
 * when all is written: enabled with half of the area free, it stopped more often and was off longer
 * in total.) The whole span is one AUXTRACE record: perf cannot decode a packet that is split.
 */
static int save_aux(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
		    struct auxtap_error *err)
{
	struct auxtap_auxtrace header = session_auxtrace_header(s, st, span->offset_abs);
	uint64_t total = span->size1 + span->size2, done = 0;
	int ret;

	s->file.open_round = true;
	s->stats.aux_bytes += total;
	ret = auxtap_perfdata_writer_auxtrace_begin(s->file.writer, &header, total, err);
	while (!ret && done < total) {
		struct auxtap_span part = take_bytes(span, CHUNK);

		ret = auxtap_perfdata_writer_auxtrace_bytes(s->file.writer, part.part1, part.size1,
							    err);
		auxtap_ring_aux_consume(&st->ring, &part);
		done += part.size1;
	}
	return ret;
}

static int drain_area(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	struct auxtap_span span;
	int ret = 0;

	if (!st->ring.aux_size)
		return 0;
	if (auxtap_ring_aux_next(&st->ring, &span)) {
		bool full = span.size1 + span.size2 >= st->ring.aux_size - 1;

		if (!s->failed)
			ret = save_aux(s, st, &span, err);
		else
			auxtap_ring_aux_consume(&st->ring, &span);
		/*
		 * The unit may have stopped during the write. Reading its record now enables the
		 * event now and not a round later. D15: the record is written before the head.
		 */
		if (!ret)
			ret = session_drain_data(s, st, err);
		/* D6: perf_aux_output_begin() without space leaves no record. */
		st->wakeups.stopped |= full;
		if (full && !st->needs_reenable) {
			st->needs_reenable = true;
			st->truncated_time = s->last_time;
			s->stats.truncations++;
		}
	}
	if (st->needs_reenable && !ret && !s->failed)
		reenable(s, st);
	return ret;
}

/*
 * An event without AUX progress for some rounds may be OFF: enables it, at growing intervals. This
 * has no effect on an event that is on.
 */
static void check_stall(struct auxtap_session *s, struct stream *st)
{
	uint64_t at_abs = st->ring.aux_prev_abs;

	if (!st->ring.aux_size || st->disabled || st->hung_up)
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

static int linear_drain(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	int ret = drain_area(s, st, err);

	if (!ret)
		check_stall(s, st);
	return ret;
}

static int linear_thread_exited(struct auxtap_session *s, struct stream *st,
				const struct auxtap_target_event *ev, struct auxtap_error *err)
{
	int ret = session_drain_data(s, st, err);

	(void)ev;
	if (!ret)
		ret = drain_area(s, st, err);
	if (!ret)
		session_write_dropped_gap(s, st);
	return ret;
}

int session_file_record(struct auxtap_session *s, struct stream *st, const void *record,
			struct auxtap_error *err)
{
	(void)st;
	return trace_file_record(s, &s->file, record, err);
}

int session_file_synthesised_record(struct auxtap_session *s, pid_t pid, const void *record,
				    struct auxtap_error *err)
{
	(void)pid;
	return trace_file_record(s, &s->file, record, err);
}

const struct recorder_ops recorder_linear = {
	.name = CAPTURE_LINE_FULL,
	.record = session_file_record,
	.synthesised_record = session_file_synthesised_record,
	.drain = linear_drain,
	.thread_exited = linear_thread_exited,
};
