// SPDX-License-Identifier: BSD-2-Clause
/*
 * Crash mode: threads that exit before their process. Their rings are closed, but their newest
 * trace stays in memory, within limits (sideband_write.h), for the snapshot of a later crash.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* Copies the newest trace in the thread's AUX area. NULL: it has none, or there is no memory. */
static struct exited_trace *copy_newest_trace(struct auxtap_session *s, struct stream *st)
{
	size_t size, skip, first;
	struct auxtap_span span;
	struct exited_trace *t;
	uint64_t offset;

	if (!st->ring.aux_size)
		return NULL;
	session_newest_trace(s, st, &span, &offset);
	size = span.size1 + span.size2;
	skip = size > EXITED_TRACE_MAX ? size - EXITED_TRACE_MAX : 0;
	size -= skip;
	t = size ? malloc(sizeof(*t) + size) : NULL;
	if (!t)
		return NULL;
	*t = (struct exited_trace){.head = session_auxtrace_header(s, st, 0), .size = size};
	first = skip < span.size1 ? span.size1 - skip : 0;
	if (first)
		memcpy(t->bytes, (const char *)span.part1 + (span.size1 - first), first);
	if (size > first)
		memcpy(t->bytes + first, (const char *)span.part2 + (span.size2 - (size - first)),
		       size - first);
	return t;
}

void session_keep_exited_thread(struct auxtap_session *s, struct stream *st)
{
	struct exited_thread gone = {.tid = st->tid,
				     .time_begin = st->opened_after,
				     .time_end = s->last_time};
	struct auxtap_unit_stats unit;

	if (session_unit_stats(s, st, &unit)) {
		gone.nr_bytes = unit.nr_written;
		gone.exact = true;
		gone.trace = copy_newest_trace(s, st);
	}
	process_thread_exit(&s->processes, st->pid, &gone);
}

int session_write_exited_threads(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 struct auxtap_error *err)
{
	const struct process *p = process_find(&s->processes, pid);
	uint64_t nr = p && p->exited ? p->nr_exited : 0;
	int ret = 0;

	/* The newest first; the others get the space that is left. */
	for (uint64_t i = nr; i-- > 0 && nr - i <= EXITED_MAX;) {
		struct exited_thread *gone = &p->exited[i % EXITED_MAX];
		const struct exited_trace *t = gone->trace;

		if (!t || ret)
			continue;
		s->stats.aux_bytes += t->size;
		ret = auxtap_perfdata_writer_auxtrace(file->writer, &t->head, t->bytes, t->size,
						      NULL, 0, err);
		/* commit it now, as write_trace() does */
		if (!ret)
			ret = auxtap_perfdata_writer_round(file->writer, err);
		gone->saved = !ret;
	}
	return ret;
}

void session_write_exited_thread_gaps(struct auxtap_session *s, struct trace_file *file, pid_t pid)
{
	const struct process *p = process_find(&s->processes, pid);
	struct auxtap_gap gap = {.cpu = -1, .pid = pid};
	uint64_t first;

	if (!p || !p->nr_exited)
		return;
	file->nr_exited_without_trace = p->nr_exited;
	first = !p->exited		  ? p->nr_exited :
		p->nr_exited > EXITED_MAX ? p->nr_exited - EXITED_MAX :
					    0;
	gap.cause = AUXTAP_GAP_DISCARDED;
	if (first) {
		gap.tid = -1;
		gap.nr_bytes = p->older_exited_bytes;
		session_write_gap(file, &gap);
	}
	for (uint64_t i = first; i < p->nr_exited; i++) {
		struct exited_thread *gone = &p->exited[i % EXITED_MAX];

		gap.tid = gone->tid;
		gap.cause = AUXTAP_GAP_DISCARDED;
		gap.time_begin = gone->time_begin;
		gap.time_end = gone->time_end;
		gap.nr_bytes = gone->nr_bytes;
		gap.exact = gone->exact;
		if (gone->saved) {
			file->nr_exited_without_trace--;
			gap.cause = AUXTAP_GAP_OVERWRITTEN;
			gap.time_begin = gap.time_end = 0;
			gap.nr_bytes -= gone->trace->size;
		}
		if (gap.nr_bytes || !gone->saved)
			session_write_gap(file, &gap);
		gone->saved = false;
	}
}
