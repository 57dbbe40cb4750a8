// SPDX-License-Identifier: BSD-2-Clause
/* Records for what was there before the events were: name, mappings, threads. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int emit(struct auxtap_session *s, pid_t pid, const void *record,
		struct auxtap_error *err)
{
	int ret;

	if (!s->opts.crash)
		return trace_file_record(s, &s->file, record, err);
	ret = process_record(&s->processes, pid, record);
	return ret ? auxtap_error_set(err, ret, "sideband", "no memory") : 0;
}

static int emit_maps(struct auxtap_session *s, pid_t pid, const struct map_list *maps,
		     const struct trailer *trailer, struct auxtap_error *err)
{
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		int ret;

		if (!map_runs_code(e) ||
		    !record_make_map(s->record, sizeof(s->record), pid, e, trailer))
			continue;
		ret = emit(s, pid, s->record, err);
		if (ret)
			return ret;
	}
	return 0;
}

int session_synthesise(struct auxtap_session *s, struct stream *st, pid_t pid, pid_t tid,
		       const char *comm, bool whole_process, struct auxtap_error *err)
{
	struct comm_body ids = {.pid = (uint32_t)pid, .tid = (uint32_t)tid};
	uint64_t now = s->be->perf->clock(s->be->perf_ctx);
	struct trailer trailer = {
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.time = now,
		.cpu = st->cpu < 0 ? 0 : (uint32_t)st->cpu,
		.id = st->id,
	};
	struct map_list maps;
	char *text;
	int ret = 0;

	if (now > s->last_time)
		s->last_time = now;
	if (tid != pid) {
		struct task_body fork = {
			.pid = (uint32_t)pid,
			.ppid = (uint32_t)pid,
			.tid = (uint32_t)tid,
			.ptid = (uint32_t)pid,
			.time = now,
		};

		if (record_make(s->record, sizeof(s->record), PERF_RECORD_FORK, 0, &fork,
				sizeof(fork), NULL, &trailer))
			ret = emit(s, pid, s->record, err);
		if (ret)
			return ret;
	}
	/* An exec'd name for the program we start: perf then takes it for the process. */
	if (record_make(s->record, sizeof(s->record), PERF_RECORD_COMM,
			s->spawned && whole_process ? PERF_RECORD_MISC_COMM_EXEC : 0, &ids,
			sizeof(ids), comm, &trailer))
		ret = emit(s, pid, s->record, err);
	if (ret || !whole_process)
		return ret;
	ret = s->be->target->maps(s->be->target_ctx, pid, &text);
	if (ret)
		return auxtap_error_set(err, ret, "/proc/PID/maps", "of process %d: %s", pid,
					strerror(-ret));
	ret = map_list_parse(&maps, text);
	free(text);
	if (ret)
		return auxtap_error_set(err, ret, "/proc/PID/maps", "no memory");
	session_save_vdso(s, &maps, pid);
	ret = emit_maps(s, pid, &maps, &trailer, err);
	map_list_free(&maps);
	return ret;
}
