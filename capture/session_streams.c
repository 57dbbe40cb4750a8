// SPDX-License-Identifier: BSD-2-Clause
/* Events and their rings: sets attributes, maps rings, reads ids, enables, disables and closes. */
#include "refusal.h"
#include "session.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void session_enable_sideband(struct perf_event_attr *attr)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

void session_init_attrs(struct auxtap_session *s)
{
	struct perf_event_attr *attr = &s->attrs[0];

	*attr = s->event.attr;
	attr->disabled = 1;
	if (!attr->sample_period)
		attr->sample_period = 1;
	attr->sample_type = CAPTURE_SAMPLE_TYPE;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_ID;
	/*
	 * A quarter of the area. With the kernel's default of one half (C2), PT's STOP position is
	 * set while the first half is full and not yet read, and so coincides with the second
	 * wakeup (H4): a program that is never scheduled out would lose trace in every wrap,
	 * however fast the reader is.
	 */
	if (s->event.aux && !s->recorder->overwrite) {
		attr->aux_watermark = s->opts.aux_watermark;
		if (!attr->aux_watermark && s->aux_bytes / 4 >= s->page_size)
			attr->aux_watermark =
				(uint32_t)(s->aux_bytes / 4 > 1u << 30 ? 1u << 30 :
									 s->aux_bytes / 4);
	}
	s->nr_attrs = 1;
	s->layout->attrs(s);
}

struct stream *session_find_stream(struct auxtap_session *s, pid_t tid)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (s->streams[i]->tid == tid)
			return s->streams[i];
	}
	return NULL;
}

bool session_cpu_selected(const char *list, int cpu)
{
	if (!list)
		return true;
	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		if (*end != ',')
			return false;
		list = end + 1;
	}
	return false;
}

int session_open_error(struct auxtap_session *s, const struct perf_event_attr *attr, pid_t tid,
		       int code, struct auxtap_error *err)
{
	struct limits limits;

	limits_read(&limits);
	return refusal_open(s->event.name, attr, tid, code, &limits, err);
}

static int map_error(struct auxtap_session *s, const char *what, int code, uint64_t bytes,
		     struct auxtap_error *err)
{
	struct limits limits;
	uint64_t data_kb = (s->page_size + s->data_bytes) / 1024;
	unsigned int nr_rings = 0;

	limits_read(&limits);
	for (int cpu = 0; s->opts.cpus && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		nr_rings += session_cpu_selected(s->opts.cpus, cpu);
	if (nr_rings && s->nr_attrs > 2) /* plus data rings of untraced CPUs */
		data_kb = (data_kb * limits.nr_cpus + nr_rings - 1) / nr_rings;
	return refusal_map(what, bytes, code, nr_rings ? nr_rings : limits.nr_cpus, data_kb,
			   s->event.aux ? s->aux_bytes / 1024 : 0, &limits, err);
}

int session_map_rings(struct auxtap_session *s, struct stream *st, bool aux,
		      struct auxtap_error *err)
{
	const struct auxtap_perf_ops *perf = s->be->perf;
	struct perf_event_mmap_page *page;
	int code, aux_prot = s->recorder->overwrite ? PROT_READ : PROT_READ | PROT_WRITE;

	st->base_size = s->page_size + s->data_bytes;
	st->base = perf->mmap(s->be->perf_ctx, st->base_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      st->fd, 0, &code);
	if (!st->base)
		return map_error(s, "data ring", code, st->base_size, err);
	s->ring_bytes += st->base_size;
	if (aux) {
		/* B7: user space chooses the mmap offset, after the data ring. */
		page = st->base;
		page->aux_offset = st->base_size;
		page->aux_size = s->aux_bytes;
		st->aux_size = s->aux_bytes;
		st->aux = perf->mmap(s->be->perf_ctx, st->aux_size, aux_prot, MAP_SHARED, st->fd,
				     (off_t)st->base_size, &code);
		if (!st->aux)
			return map_error(s, "AUX area", code, st->aux_size, err);
		s->ring_bytes += st->aux_size;
	}
	if (s->ring_bytes > s->stats.peak_rings)
		s->stats.peak_rings = s->ring_bytes;
	return ring_init(&st->ring, st->base, st->base_size, st->aux, st->aux_size,
			 s->recorder->overwrite, err);
}

int session_read_event_id(struct auxtap_session *s, int fd, int attr_index, uint64_t *id,
			  struct auxtap_error *err)
{
	uint64_t value = 0;
	int ret = s->be->perf->ioctl(s->be->perf_ctx, fd, PERF_EVENT_IOC_ID,
				     (unsigned long)(uintptr_t)&value);

	*id = value;
	if (ret >= 0)
		ret = s->file.writer ?
			      auxtap_perfdata_writer_add_id(s->file.writer, attr_index, value) :
			      0;
	return ret < 0 ? auxtap_error_set(err, ret, s->event.name, "event id: %s", strerror(-ret)) :
			 0;
}

struct stream *session_add_stream(struct auxtap_session *s, pid_t pid, pid_t tid, int cpu)
{
	struct stream *st;

	if (vector_grow(s->streams, s->nr_streams, s->max_streams))
		return NULL;
	st = calloc(1, sizeof(*st));
	if (!st)
		return NULL;
	st->pid = pid;
	st->tid = tid;
	st->cpu = cpu;
	st->fd = -1;
	st->idx = s->next_idx++;
	st->stall_limit = 1;
	st->opened_after = s->last_time;
	s->streams[s->nr_streams++] = st;
	return st;
}

static void free_stream(struct auxtap_session *s, struct stream *st)
{
	const struct auxtap_perf_ops *perf = s->be->perf;

	session_keep_unit_stats(s, st);
	session_write_wakeup_log(s, st);
	if (st->aux) {
		perf->munmap(s->be->perf_ctx, st->aux, st->aux_size);
		s->ring_bytes -= st->aux_size;
	}
	if (st->base) {
		perf->munmap(s->be->perf_ctx, st->base, st->base_size);
		s->ring_bytes -= st->base_size;
	}
	for (int i = 0; i < st->nr_output_events; i++)
		perf->close(s->be->perf_ctx, st->output_events[i].fd);
	if (st->fd >= 0)
		perf->close(s->be->perf_ctx, st->fd);
	free(st->output_events);
	free(st);
}

void session_close_stream(struct auxtap_session *s, struct stream *st)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (s->streams[i] != st)
			continue;
		/* Keep the order: rounds and snapshots depend on it. */
		memmove(&s->streams[i], &s->streams[i + 1],
			(s->nr_streams - i - 1) * sizeof(*s->streams));
		s->nr_streams--;
		free_stream(s, st);
		return;
	}
}

void session_close_streams(struct auxtap_session *s)
{
	while (s->nr_streams)
		session_close_stream(s, s->streams[s->nr_streams - 1]);
}

int session_begin_file(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	return s->file.writer ? trace_file_begin(s, &s->file, st->base, err) : 0;
}

/*
 * Disables for good every event that traces into the stream's rings. Otherwise another thread of an
 * attached process would be traced after the last drain. An event that the last drain finds
 * truncated is not enabled again.
 */
void session_stop_stream(struct auxtap_session *s, struct stream *st)
{
	session_enable(s, st, false);
	for (int i = 0; i < st->nr_output_events; i++) {
		if (st->output_events[i].traces)
			s->be->perf->ioctl(s->be->perf_ctx, st->output_events[i].fd,
					   PERF_EVENT_IOC_DISABLE, 0);
	}
	st->disabled = true;
}

int session_enable(struct auxtap_session *s, struct stream *st, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	int ret;

	if (st->sideband_only && !on) /* sideband continues while PT is stopped (K6) */
		return 0;
	ret = s->be->perf->ioctl(s->be->perf_ctx, st->fd, request, 0);
	for (int i = 0; i < st->nr_output_events && ret >= 0 && on; i++)
		ret = s->be->perf->ioctl(s->be->perf_ctx, st->output_events[i].fd, request, 0);
	return ret < 0 ? ret : 0;
}
