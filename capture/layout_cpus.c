// SPDX-License-Identifier: BSD-2-Clause
/*
 * One stream per CPU (the kernel backend): for the program and its children, which inherit its
 * events, or for all tasks on the CPU.
 */
#include "session.h"
#include "util/vector.h"

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

/* Opens another event that writes into the stream's ring. */
static int add_output_event(struct auxtap_session *s, struct stream *st, int attr_index, pid_t tid,
			    struct auxtap_error *err)
{
	const struct auxtap_perf_ops *perf = s->be->perf;
	struct output_event *added;
	int fd, ret;

	if (vector_grow(st->output_events, st->nr_output_events, st->max_output_events))
		return auxtap_error_set(err, -ENOMEM, s->event.name, "no memory");
	fd = perf->open(s->be->perf_ctx, &s->attrs[attr_index], tid, st->cpu, -1, 0);
	if (fd < 0)
		return session_open_error(s, &s->attrs[attr_index], tid, fd, err);
	added = &st->output_events[st->nr_output_events++];
	*added = (struct output_event){.fd = fd, .traces = attr_index == 0};
	ret = perf->ioctl(s->be->perf_ctx, fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)st->fd);
	if (ret < 0)
		return auxtap_error_set(err, ret, s->event.name, "sharing a ring: %s",
					strerror(-ret));
	return session_read_event_id(s, fd, attr_index, &added->id, err);
}

/* Returns 1, or 0 if the CPU is offline. */
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
		ret = session_read_event_id(s, st->fd, attr_index, &st->id, err);
	for (int i = 0; i < nr_tids && !ret && !st->sideband_only; i++) {
		ret = i ? add_output_event(s, st, 0, tids[i], err) : 0;
		if (!ret && s->nr_attrs > 1)
			ret = add_output_event(s, st, 1, tids[i], err);
	}
	if (!ret)
		ret = session_begin_file(s, st, err);
	return ret ? ret : 1;
}

static int open_cpus(struct auxtap_session *s, const pid_t *tids, int nr_tids,
		     struct auxtap_error *err)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int opened = 0, ret;

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		if (!session_cpu_selected(s->opts.cpus, cpu))
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
		if (session_cpu_selected(s->opts.cpus, cpu))
			continue;
		ret = open_cpu(s, cpu, 2, tids, nr_tids, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int cpus_attach(struct auxtap_session *s, struct auxtap_error *err)
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
	ret = open_cpus(s, tids, nr, err);
	for (int i = 0; i < nr && !ret; i++)
		ret = session_synthesise_thread(s, s->streams[0], tids[i], i == 0, err);
	if (!ret)
		ret = enable_streams(s, err);
out:
	free(tids);
	return ret;
}

/* Traces all tasks on the CPUs; a program that is started only decides for how long. */
static int system_wide_open(struct auxtap_session *s, struct auxtap_error *err)
{
	const pid_t all_tasks = -1;
	int ret = open_cpus(s, &all_tasks, 1, err);

	if (!ret)
		ret = session_synthesise_all(s, s->streams[0], err);
	return ret ? ret : enable_streams(s, err);
}

/* Lists all events that write into the rings: sideband records may come from each of them. */
static int cpus_list_ids(struct auxtap_session *s, struct trace_file *file, pid_t pid)
{
	int ret = 0;

	(void)pid;
	for (size_t i = 0; i < s->nr_streams && !ret; i++) {
		const struct stream *st = s->streams[i];

		ret = auxtap_perfdata_writer_add_id(file->writer, st->sideband_only ? 2 : 0,
						    st->id);
		for (int k = 0; k < st->nr_output_events && !ret; k++)
			ret = auxtap_perfdata_writer_add_id(file->writer,
							    st->output_events[k].traces ? 0 : 1,
							    st->output_events[k].id);
	}
	return ret;
}

/* Processes share a CPU's ring: keeps the record for the process that it names. */
static int cpus_keep_record(struct auxtap_session *s, struct stream *st, const void *record)
{
	const struct perf_event_header *header = record;
	const struct trailer *trailer;
	uint32_t ids[2];
	size_t size;

	(void)st;
	if (!record_parts(record, &size, &trailer))
		return 0;
	ids[0] = trailer->pid;
	ids[1] = trailer->pid;
	if (size >= sizeof(ids) && header->type != PERF_RECORD_AUX)
		memcpy(ids, header + 1, sizeof(ids));
	if (header->type == PERF_RECORD_FORK && ids[0] != ids[1])
		return process_fork(&s->processes, (pid_t)ids[1], (pid_t)ids[0]);
	return process_keep_record(&s->processes, (pid_t)ids[0], record);
}

/* enable_on_exec enables the events. */
static int cpus_open_program(struct auxtap_session *s, struct auxtap_error *err)
{
	return open_cpus(s, &s->main_pid, 1, err);
}

/* A dummy event for the sideband, which continues while PT is stopped for a snapshot (K6). */
static void add_dummy(struct auxtap_session *s)
{
	struct perf_event_attr *attr = &s->attrs[1];

	s->attrs[1] = s->attrs[0];
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->config1 = attr->config2 = 0;
	attr->aux_watermark = 0;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->exclude_user = 0;
	attr->context_switch = 1;
	/* It is enabled while existing mappings are read: no new mapping must be missed. */
	if (!attr->enable_on_exec)
		attr->disabled = 0;
	session_enable_sideband(attr);
	s->nr_attrs = 2;
}

static void cpus_attrs(struct auxtap_session *s)
{
	s->attrs[0].inherit = 1;
	s->attrs[0].enable_on_exec = s->opts.argv != NULL;
	if (s->event.aux)
		add_dummy(s);
	else
		session_enable_sideband(&s->attrs[0]);
}

static void system_wide_attrs(struct auxtap_session *s)
{
	if (!s->event.aux) {
		session_enable_sideband(&s->attrs[0]);
		return;
	}
	add_dummy(s);
	if (!s->opts.cpus)
		return;
	/* A task may map a file on another CPU before it runs on a traced one. */
	s->attrs[2] = s->attrs[1];
	s->attrs[2].context_switch = 0;
	s->nr_attrs = 3;
}

#define CPUS_OPS .per_cpu = true, .keep_record = cpus_keep_record, .list_ids = cpus_list_ids

const struct layout_ops layout_per_cpu = {
	CPUS_OPS,
	.sched_switch = 2,
	.attrs = cpus_attrs,
	.open_program = cpus_open_program,
	.attach = cpus_attach,
};

const struct layout_ops layout_system_wide = {
	CPUS_OPS,
	.sched_switch = 3,
	.attrs = system_wide_attrs,
	.open_program = system_wide_open,
	.attach = system_wide_open,
};
