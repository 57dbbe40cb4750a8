// SPDX-License-Identifier: BSD-2-Clause
/*
 * Crash mode: writes no file until a process crashes. Until then the records of each process stay
 * in memory; session_crash.c writes them and the newest trace to the snapshot.
 */
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

static int crash_record(struct auxtap_session *s, struct stream *st, const void *record,
			struct auxtap_error *err)
{
	int ret = s->layout->keep_record(s, st, record);

	return ret ? auxtap_error_set(err, ret, "sideband", "no memory") : 0;
}

static int crash_synthesised_record(struct auxtap_session *s, pid_t pid, const void *record,
				    struct auxtap_error *err)
{
	int ret = process_keep_record(&s->processes, pid, record);

	return ret ? auxtap_error_set(err, ret, "sideband", "no memory") : 0;
}

/* The child inherits the mappings that the parent has now: drains the parent's rings first. */
static int crash_process_forked(struct auxtap_session *s, const struct auxtap_target_event *ev,
				struct auxtap_error *err)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		int ret = s->streams[i]->pid == ev->parent_pid ?
				  session_drain_data(s, s->streams[i], err) :
				  0;

		if (ret)
			return ret;
	}
	return process_fork(&s->processes, ev->parent_pid, ev->pid) ?
		       auxtap_error_set(err, -ENOMEM, "sideband", "no memory") :
		       0;
}

static int crash_thread_exited(struct auxtap_session *s, struct stream *st,
			       const struct auxtap_target_event *ev, struct auxtap_error *err)
{
	int ret = session_drain_data(s, st, err);

	(void)ev;
	session_keep_exited_thread(s, st);
	return ret;
}

/* A snapshot that cannot be written is reported at the end; the recorder continues. */
static void crash_save_process(struct auxtap_session *s, const struct auxtap_target_event *ev)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct process *p = process_get(&s->processes, ev->pid);
	int ret;

	if (p)
		p->crashed = true;
	ret = session_save_crash(s, ev, &err);
	if (!ret || s->snapshot_errno)
		return;
	s->snapshot_errno = ret;
	s->snapshot_error = err;
}

/*
 * A crash that was not reported while the threads were stopped. Rings of CPUs still contain the
 * process's newest trace; rings of threads are closed already.
 */
static void crash_process_exited(struct auxtap_session *s, const struct auxtap_target_event *ev)
{
	const struct process *p = process_find(&s->processes, ev->pid);
	struct auxtap_target_event dead = *ev;

	if (!WIFSIGNALED(ev->status) || !signal_dumps_core(WTERMSIG(ev->status)) ||
	    (p && p->crashed))
		return;
	if (!s->layout->per_cpu) {
		session_report_unseen_crash(s, ev);
	} else if (!s->failed) {
		dead.signo = WTERMSIG(ev->status);
		crash_save_process(s, &dead);
	}
}

const struct recorder_ops recorder_crash = {
	.name = "crash",
	.overwrite = true,
	.per_crash = true,
	.record = crash_record,
	.synthesised_record = crash_synthesised_record,
	.snapshot = session_save_on_request,
	.process_forked = crash_process_forked,
	.thread_exited = crash_thread_exited,
	.process_crashes = crash_save_process,
	.process_exited = crash_process_exited,
	.backend_died = session_save_all_processes,
};
