// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stream for each CPU (the kernel backend): of the program and what it starts, which inherit its
 * events, or of whatever runs there.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTACH_MAX 4096

static int enable_streams(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < s->nr_streams && !ret; i++) {
		ret = session_enable(s, s->streams[i], true);
		if (ret)
			auxtap_error_set(err, ret, s->event.name, "enable: %s", strerror(-ret));
	}
	return ret;
}

/* An event beside the stream's first one, writing into its ring. */
static int add_redirected(struct auxtap_session *s, struct stream *st, int attr_index, pid_t tid,
			  struct auxtap_error *err)
{
	const struct auxtap_perf_ops *perf = s->be->perf;
	struct more_event *more = realloc(st->more, ((size_t)st->nr_more + 1) * sizeof(*more));
	int fd, ret;

	if (!more)
		return auxtap_error_set(err, -ENOMEM, s->event.name, "no memory");
	st->more = more;
	fd = perf->open(s->be->perf_ctx, &s->attrs[attr_index], tid, st->cpu, -1, 0);
	if (fd < 0)
		return session_open_error(s, &s->attrs[attr_index], tid, fd, err);
	more[st->nr_more++] = (struct more_event){.fd = fd, .traces = attr_index == 0};
	ret = perf->ioctl(s->be->perf_ctx, fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)st->fd);
	if (ret < 0)
		return auxtap_error_set(err, ret, s->event.name, "sharing a ring: %s",
					strerror(-ret));
	return session_learn_id(s, fd, attr_index, &more[st->nr_more - 1].id, err);
}

/* 1: done; 0: this CPU is offline. */
static int open_cpu(struct auxtap_session *s, int cpu, int attr_index, const pid_t *tids,
		    int nr_tids, struct auxtap_error *err)
{
	const struct perf_event_attr *attr = &s->attrs[attr_index];
	struct stream *st = session_add_stream(s, -1, -1, cpu);
	int ret;

	if (!st)
		return auxtap_error_set(err, -ENOMEM, s->event.name, "no memory");
	st->fd = s->be->perf->open(s->be->perf_ctx, attr, tids[0], cpu, -1, 0);
	if (st->fd == -ENODEV) {
		st->fd = -1;
		session_close_stream(s, st);
		return 0;
	}
	if (st->fd < 0)
		return session_open_error(s, attr, tids[0], st->fd, err);
	st->sideband_only = attr_index != 0;
	ret = session_map_rings(s, st, s->event.aux && !st->sideband_only, err);
	if (!ret)
		ret = session_learn_id(s, st->fd, attr_index, &st->id, err);
	for (int i = 0; i < nr_tids && !ret && !st->sideband_only; i++) {
		ret = i ? add_redirected(s, st, 0, tids[i], err) : 0;
		if (!ret && s->nr_attrs > 1)
			ret = add_redirected(s, st, 1, tids[i], err);
	}
	if (!ret)
		ret = session_begin_file(s, st, err);
	return ret ? ret : 1;
}

int session_open_cpus(struct auxtap_session *s, const pid_t *tids, int nr_tids,
		      struct auxtap_error *err)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int opened = 0, ret;

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		if (!session_cpu_wanted(s->opts.cpus, cpu))
			continue;
		ret = open_cpu(s, cpu, 0, tids, nr_tids, err);
		if (ret < 0)
			return ret;
		opened += ret;
	}
	if (!opened)
		return auxtap_error_set(err, -ENODEV, s->opts.cpus ? s->opts.cpus : "CPUs",
					"none of them is online");
	for (int cpu = 0; cpu < nr_cpus && s->nr_attrs > 2; cpu++) {
		if (session_cpu_wanted(s->opts.cpus, cpu))
			continue;
		ret = open_cpu(s, cpu, 2, tids, nr_tids, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int session_attach_cpus(struct auxtap_session *s, struct auxtap_error *err)
{
	pid_t *tids = malloc(ATTACH_MAX * sizeof(*tids)), pid = s->opts.pid;
	int nr = 1, ret;

	if (!tids)
		return auxtap_error_set(err, -ENOMEM, "attach", "no memory");
	tids[0] = s->opts.tid;
	if (pid)
		nr = s->be->target->threads(s->be->target_ctx, pid, tids, ATTACH_MAX);
	if (nr <= 0) {
		ret = auxtap_error_set(err, -ESRCH, "attach", "process %d is gone", pid);
		goto out;
	}
	if (nr > ATTACH_MAX)
		nr = ATTACH_MAX;
	ret = session_open_cpus(s, tids, nr, err);
	for (int i = 0; i < nr && !ret; i++)
		ret = session_synthesise_thread(s, s->streams[0], tids[i], i == 0, err);
	if (!ret)
		ret = enable_streams(s, err);
out:
	free(tids);
	return ret;
}

/* Whole CPUs: of every task; a program that is started only says for how long. */
int session_open_whole_cpus(struct auxtap_session *s, struct auxtap_error *err)
{
	const pid_t everyone = -1;
	int ret = session_open_cpus(s, &everyone, 1, err);

	if (!ret)
		ret = session_synthesise_all(s, s->streams[0], err);
	return ret ? ret : enable_streams(s, err);
}

/* Those of the CPUs' events: the sideband comes from the events that share a CPU's ring. */
int session_list_cpu_ids(struct auxtap_session *s, struct trace_file *file)
{
	int ret = 0;

	for (size_t i = 0; i < s->nr_streams && !ret; i++) {
		const struct stream *st = s->streams[i];

		ret = auxtap_perfdata_writer_add_id(file->writer, st->sideband_only ? 2 : 0,
						    st->id);
		for (int k = 0; k < st->nr_more && !ret; k++)
			ret = auxtap_perfdata_writer_add_id(file->writer,
							    st->more[k].traces ? 0 : 1,
							    st->more[k].id);
	}
	return ret;
}
