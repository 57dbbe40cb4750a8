// SPDX-License-Identifier: BSD-2-Clause
/*
 * One stream per thread (the emulated backend): each new thread or process is reported while it is
 * stopped, and gets its own event.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_thread(struct auxtap_session *s, pid_t pid, pid_t tid, struct auxtap_error *err)
{
	struct stream *st;
	int ret;

	st = session_add_stream(s, pid, tid, -1);
	if (!st)
		return auxtap_error_set(err, -ENOMEM, s->event.name, "no memory for thread %d",
					tid);
	st->fd = s->be->perf->open(s->be->perf_ctx, &s->attrs[0], tid, -1, -1, 0);
	if (st->fd < 0) {
		ret = session_open_error(s, &s->attrs[0], tid, st->fd, err);
		goto fail;
	}
	ret = session_map_rings(s, st, s->event.aux, err);
	if (ret)
		goto fail;
	ret = session_read_event_id(s, st->fd, 0, &st->id, err);
	if (ret)
		goto fail;
	ret = session_begin_file(s, st, err);
	if (ret)
		goto fail;
	return 0;
fail:
	session_close_stream(s, st);
	return ret;
}

/* Opens and enables the event of the program's first thread; records existing mappings. */
static int threads_open_program(struct auxtap_session *s, struct auxtap_error *err)
{
	struct stream *st;
	int ret;

	ret = open_thread(s, s->main_pid, s->main_pid, err);
	if (ret)
		return ret;
	st = session_find_stream(s, s->main_pid);
	ret = session_synthesise(s, st, s->main_pid, s->main_pid, s->comm, true, err);
	if (ret)
		return ret;
	ret = session_enable(s, st, true);
	return ret ? auxtap_error_set(err, ret, s->event.name, "enable: %s", strerror(-ret)) : 0;
}

/* Is it a limit on threads, files or memory? Then only this thread is not traced. */
static bool is_limit(int code)
{
	return code == -EUSERS || code == -EMFILE || code == -ENFILE || code == -ENOMEM;
}

static void refuse_thread(struct auxtap_session *s, const struct auxtap_target_event *ev,
			  const struct auxtap_error *err)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRACE_OFF,
		.cpu = -1,
		.pid = ev->pid,
		.tid = ev->tid,
		.time_begin = ev->time ? ev->time : s->last_time,
	};
	struct process *p = session_process(s, ev->pid);

	if (p)
		p->nr_untraced++;
	session_write_gap(&s->file, &gap);
	if (!s->stats.threads_refused++ && s->opts.on_refused)
		s->opts.on_refused(s->opts.ctx, ev->tid, err);
}

/* Opens and enables the event of a new thread or process, which is stopped. */
static int threads_task_new(struct auxtap_session *s, const struct auxtap_target_event *ev,
			    struct auxtap_error *err)
{
	struct stream *st = session_find_stream(s, ev->tid);
	bool attached = !ev->parent_pid && !ev->parent_tid;
	int ret = 0;

	if (st && attached)
		return 0; /* the program that the session started */
	if (st)		  /* a reused TID, whose exit was not reported */
		session_close_stream(s, st);
	if (ev->type == AUXTAP_TARGET_FORK && s->recorder->process_forked) {
		ret = s->recorder->process_forked(s, ev, err);
		if (ret)
			return ret;
	}
	ret = open_thread(s, ev->pid, ev->tid, err);
	if (is_limit(ret) && !attached) {
		refuse_thread(s, ev, err);
		return 0;
	}
	if (ret)
		return ret;
	st = session_find_stream(s, ev->tid);
	if (attached) {
		ret = session_synthesise(s, st, ev->pid, ev->tid, ev->comm,
					 ev->pid == ev->tid || ev->tid == s->main_pid, err);
		if (ret)
			return ret;
	}
	ret = session_enable(s, st, true);
	return ret ? auxtap_error_set(err, ret, s->event.name, "enable: %s", strerror(-ret)) : 0;
}

/* Each thread is reported as an event and is stopped until the session resumes it. */
static int threads_attach(struct auxtap_session *s, struct auxtap_error *err)
{
	(void)s;
	(void)err;
	return 0;
}

static int compare_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Lists the ids of the process's open events, and the ids in its kept records: a record inherited
 * at fork() has the id of a parent's event, a record of an exited thread that of a closed event.
 * perf rejects a file with an id that no attribute lists.
 */
static int threads_list_ids(struct auxtap_session *s, struct trace_file *file, pid_t pid)
{
	const struct process *p = process_find(&s->processes, pid);
	uint64_t *ids = malloc((s->nr_streams + (p ? p->nr : 0) + 1) * sizeof(*ids));
	const struct trailer *trailer;
	size_t nr = 0, size;
	int ret = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (s->streams[i]->pid == pid)
			ids[nr++] = s->streams[i]->id;
	}
	for (size_t i = 0; p && i < p->nr; i++) {
		if (record_parts(p->records[i]->bytes, &size, &trailer) && trailer->id)
			ids[nr++] = trailer->id;
	}
	qsort(ids, nr, sizeof(*ids), compare_id);
	for (size_t i = 0; i < nr && !ret; i++) {
		if (!i || ids[i] != ids[i - 1])
			ret = auxtap_perfdata_writer_add_id(file->writer, 0, ids[i]);
	}
	free(ids);
	return ret;
}

static void threads_attrs(struct auxtap_session *s)
{
	session_enable_sideband(&s->attrs[0]);
}

/* A thread's ring contains records of its process alone. */
static int threads_keep_record(struct auxtap_session *s, struct stream *st, const void *record)
{
	return process_keep_record(&s->processes, st->pid, record);
}

const struct layout_ops layout_per_thread = {
	.attrs = threads_attrs,
	.open_program = threads_open_program,
	.attach = threads_attach,
	.task_new = threads_task_new,
	.keep_record = threads_keep_record,
	.list_ids = threads_list_ids,
};
