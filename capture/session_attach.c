// SPDX-License-Identifier: BSD-2-Clause
/* Synthesises the records of tasks and mappings that are older than the events, as perf does. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int emit_maps(struct auxtap_session *s, pid_t pid, const struct map_list *maps,
		     const struct trailer *trailer, struct auxtap_error *err)
{
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		int ret;

		if (!map_runs_code(e) ||
		    !record_make_map(s->record, sizeof(s->record), pid, e, trailer))
			continue;
		ret = s->recorder->synthesised_record(s, pid, s->record, err);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * On the kernel backend the time is 0, as in perf: older than everything in the rings. Its clock
 * cannot be read, and a decoder would not use a mapping that is newer than the first packets.
 */
static struct trailer make_trailer(struct auxtap_session *s, const struct stream *st, pid_t pid,
				   pid_t tid)
{
	struct trailer trailer = {
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.time = s->layout->per_cpu ? 0 : s->be->perf->clock(s->be->perf_ctx),
		.cpu = st->cpu < 0 ? 0 : (uint32_t)st->cpu,
		.id = st->id,
	};

	if (trailer.time > s->last_time)
		s->last_time = trailer.time;
	return trailer;
}

static int emit_fork(struct auxtap_session *s, pid_t pid, pid_t tid, pid_t ppid, pid_t ptid,
		     const struct trailer *trailer, struct auxtap_error *err)
{
	struct task_body fork = {
		.pid = (uint32_t)pid,
		.ppid = (uint32_t)ppid,
		.tid = (uint32_t)tid,
		.ptid = (uint32_t)ptid,
		.time = trailer->time,
	};

	/* As in perf, for synthesised records: the child does not inherit the mappings. */
	if (!record_make(s->record, sizeof(s->record), PERF_RECORD_FORK,
			 pid != ppid ? PERF_RECORD_MISC_FORK_EXEC : 0, &fork, sizeof(fork), NULL,
			 trailer))
		return 0;
	return s->recorder->synthesised_record(s, pid, s->record, err);
}

static int emit_comm(struct auxtap_session *s, pid_t pid, pid_t tid, const char *comm,
		     uint16_t misc, const struct trailer *trailer, struct auxtap_error *err)
{
	struct comm_body ids = {.pid = (uint32_t)pid, .tid = (uint32_t)tid};

	if (!record_make(s->record, sizeof(s->record), PERF_RECORD_COMM, misc, &ids, sizeof(ids),
			 comm, trailer))
		return 0;
	return s->recorder->synthesised_record(s, pid, s->record, err);
}

static int read_maps(struct auxtap_session *s, pid_t pid, struct map_list *maps,
		     struct auxtap_error *err)
{
	char *text;
	int ret = s->be->target->maps(s->be->target_ctx, pid, &text);

	if (ret) {
		auxtap_error_set(err, ret, "/proc/PID/maps", "of process %d: %s", pid,
				 strerror(-ret));
		return ret;
	}
	ret = map_list_parse(maps, text);
	free(text);
	if (ret)
		auxtap_error_set(err, ret, "/proc/PID/maps", "no memory");
	return ret;
}

int session_synthesise(struct auxtap_session *s, struct stream *st, pid_t pid, pid_t tid,
		       const char *comm, bool whole_process, struct auxtap_error *err)
{
	struct trailer trailer = make_trailer(s, st, pid, tid);
	struct map_list maps;
	int ret = 0;

	if (tid != pid)
		ret = emit_fork(s, pid, tid, pid, pid, &trailer, err);
	/* The name of a program that was started comes from exec: perf gives it to the process. */
	if (!ret)
		ret = emit_comm(s, pid, tid, comm,
				s->spawned && whole_process ? PERF_RECORD_MISC_COMM_EXEC : 0,
				&trailer, err);
	if (ret || !whole_process)
		return ret;
	ret = read_maps(s, pid, &maps, err);
	if (ret)
		return ret;
	session_save_vdso(s, &maps, pid);
	ret = emit_maps(s, pid, &maps, &trailer, err);
	map_list_free(&maps);
	return ret;
}

/* ---- tasks in /proc ---- */

struct task_status {
	char comm[16];
	pid_t pid, ppid;
};

static bool read_status(pid_t tid, struct task_status *t)
{
	char path[64], line[256];
	FILE *f;

	*t = (struct task_status){0};
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(t->comm, sizeof(t->comm), f))
		t->comm[strcspn(t->comm, "\n")] = '\0';
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Tgid:", 5))
			t->pid = (pid_t)strtol(line + 5, NULL, 10);
		else if (!strncmp(line, "PPid:", 5))
			t->ppid = (pid_t)strtol(line + 5, NULL, 10);
	}
	fclose(f);
	return t->pid > 0;
}

int session_synthesise_thread(struct auxtap_session *s, struct stream *st, pid_t tid,
			      bool whole_process, struct auxtap_error *err)
{
	struct task_status t;

	if (!read_status(tid, &t)) /* it has exited: reading its mappings will fail */
		t.pid = s->opts.pid ? s->opts.pid : tid;
	return session_synthesise(s, st, t.pid, tid, t.comm, whole_process, err);
}

static int synthesise_process(struct auxtap_session *s, struct stream *st, pid_t pid,
			      struct auxtap_error *err)
{
	struct trailer trailer = make_trailer(s, st, pid, pid);
	struct task_status t;
	struct map_list maps;
	pid_t *tids;
	int nr, max, ret;

	if (!read_status(pid, &t))
		return 0;
	ret = emit_fork(s, pid, pid, t.ppid, t.ppid, &trailer, err);
	if (!ret)
		ret = emit_comm(s, pid, pid, t.comm, 0, &trailer, err);
	if (ret)
		return ret;
	/* Another user's, or exited: decoders report its code as without an image. */
	ret = read_maps(s, pid, &maps, err);
	if (!ret) {
		ret = emit_maps(s, pid, &maps, &trailer, err);
		map_list_free(&maps);
	} else if (ret == -EACCES || ret == -EPERM || ret == -ENOENT || ret == -ESRCH) {
		ret = 0;
	}
	if (ret)
		return ret;
	nr = s->be->target->threads(s->be->target_ctx, pid, NULL, 0);
	max = (nr > 0 ? nr : 0) + 64; /* threads that start now are in the rings */
	tids = malloc((size_t)max * sizeof(*tids));
	if (!tids)
		return auxtap_error_set(err, -ENOMEM, "/proc", "no memory");
	nr = s->be->target->threads(s->be->target_ctx, pid, tids, max);
	for (int i = 0; i < nr && i < max && !ret; i++) {
		if (tids[i] != pid)
			ret = session_synthesise_thread(s, st, tids[i], false, err);
	}
	free(tids);
	return ret;
}

int session_synthesise_all(struct auxtap_session *s, struct stream *st, struct auxtap_error *err)
{
	const struct auxtap_target_ops *target = s->be->target;
	int nr = target->processes ? target->processes(s->be->target_ctx, NULL, 0) : 0, max,
	    ret = 0;
	pid_t *pids;

	if (nr <= 0)
		return nr ? auxtap_error_set(err, nr, "/proc", "%s", strerror(-nr)) : 0;
	max = nr + 64; /* processes that start now are in the rings */
	pids = malloc((size_t)max * sizeof(*pids));
	if (!pids)
		return auxtap_error_set(err, -ENOMEM, "/proc", "no memory");
	nr = target->processes(s->be->target_ctx, pids, max);
	for (int i = 0; i < nr && i < max && !ret; i++)
		ret = synthesise_process(s, st, pids[i], err);
	free(pids);
	return ret;
}
