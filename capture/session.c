// SPDX-License-Identifier: BSD-2-Clause
/*
 * A capture session: starts the program or attaches to it, handles the target's events, drains the
 * rings (session_drain.c) and closes the file. It reaches the kernel and the program only through
 * the backend's two tables, struct auxtap_perf_ops and struct auxtap_target_ops.
 */
#include "util/sized.h"
#include "emulated.h"
#include "pmu_family.h"
#include "session.h"
#include "util/vector.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_DATA_PAGES 128u
#define DEFAULT_AUX_PAGES  1024u
#define IDLE_MS		   250
#define PROGRESS_AFTER_NS  2000000000u
#define PROGRESS_EVERY_NS  500000000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ends tracing; the program continues. Only the first error is kept. */
static void fail_tracing(struct auxtap_session *s, int code, const struct auxtap_error *err)
{
	/* emulator_died() handles the death of the emulator, and still needs its rings. */
	if (s->failed || backend_death(s->be))
		return;
	s->failed = code;
	s->failure = *err;
	for (size_t i = 0; i < s->nr_streams; i++)
		session_enable(s, s->streams[i], false);
	session_close_streams(s);
}

static int check_pages(uint64_t pages, const char *what, struct auxtap_error *err)
{
	if (!(pages & (pages - 1)) && pages <= (UINT64_MAX >> 16))
		return 0;
	auxtap_error_set(err, -EINVAL, "-m", "%s of %llu pages is not a power of two", what,
			 (unsigned long long)pages);
	auxtap_error_hint(err, "use 1, 2, 4, 8 … pages");
	return -EINVAL;
}

/*
 * Emulation only: machine is that of the program's file or of its interpreter (#!). Refuses an
 * AArch64 program that the engine or the event cannot trace, but not an x86-64 program with an
 * event for AArch64: it may be an interpreter (a shell) that executes the program that is to be
 * traced.
 */
static int check_machine(const struct auxtap_session *s, int machine, struct auxtap_error *err)
{
	const struct capture_event *ev = &s->event;

	if (machine != EM_AARCH64)
		return 0;
#ifndef __aarch64__
	if (s->be->target->host_arch_only) {
		auxtap_error_set(err, -EINVAL, s->opts.argv[0],
				 "an AArch64 program, which cannot be stepped here");
		auxtap_error_hint(err, "use --source qemu (package qemu-user)");
		return -EINVAL;
	}
#endif
	if (!ev->family || ev->family->machine == machine)
		return 0;
	auxtap_error_set(err, -EINVAL, s->opts.argv[0], "an AArch64 program, and %s traces x86-64",
			 ev->pmu);
	auxtap_error_hint(err, "use -e %s, or omit -e", pmu_family_default_event(machine));
	return -EINVAL;
}

static void choose_recorder_and_layout(struct auxtap_session *s)
{
	s->recorder = s->opts.crash    ? &recorder_crash :
		      s->opts.snapshot ? &recorder_snapshot :
					 &recorder_linear;
	/* As in perf, -C with -p or -t means that task on those CPUs, not the whole CPUs. */
	s->layout = s->be->perf->emulated ? &layout_per_thread :
		    (s->opts.all_cpus || s->opts.cpus) && !s->opts.pid && !s->opts.tid ?
					    &layout_system_wide :
					    &layout_per_cpu;
}

static int configure(struct auxtap_session *s, struct auxtap_error *err)
{
	bool emulated = s->be->perf->emulated;
	int ret, machine = s->opts.argv ? auxtap_program_machine(s->opts.argv[0]) : 0;
	uint64_t min_size;

	choose_recorder_and_layout(s);
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (!s->opts.data_pages)
		s->opts.data_pages = DEFAULT_DATA_PAGES;
	if (!s->opts.aux_pages)
		s->opts.aux_pages = DEFAULT_AUX_PAGES;
	ret = check_pages(s->opts.data_pages, "data ring", err);
	if (!ret)
		ret = check_pages(s->opts.aux_pages, "AUX area", err);
	if (ret)
		return ret;
	s->data_bytes = s->opts.data_pages * s->page_size;
	s->aux_bytes = s->opts.aux_pages * s->page_size;
	if (s->opts.snapshot_size > s->aux_bytes)
		return auxtap_error_set(err, -EINVAL, "-S",
					"a snapshot of %llu bytes does not fit an AUX area of %llu",
					(unsigned long long)s->opts.snapshot_size,
					(unsigned long long)s->aux_bytes);
	if (emulated && (s->opts.all_cpus || s->opts.cpus))
		return auxtap_error_set(err, -ENOTSUP, s->opts.cpus ? "-C" : "-a",
					"the emulated backend traces programs, not CPUs");
	ret = capture_event_parse(&s->event,
				  s->opts.event ? s->opts.event :
						  backend_default_event(s->be, machine),
				  s->be->perf, s->be->perf_ctx, emulated, err);
	if (!ret && emulated)
		ret = check_machine(s, machine, err);
	if (ret)
		return ret;
	if (!s->event.aux && s->recorder->overwrite)
		return auxtap_error_set(err, -EINVAL, s->event.name,
					"has no AUX area to take a snapshot of");
	min_size = s->event.family ? s->event.family->min_snapshot : 0;
	if (s->opts.snapshot_size && s->opts.snapshot_size < min_size) {
		auxtap_error_set(
			err, -EINVAL, "-S",
			"this trace has a synchronisation point every %llu bytes; %llu bytes may "
			"contain none",
			(unsigned long long)min_size / 2,
			(unsigned long long)s->opts.snapshot_size);
		auxtap_error_hint(err, "keep %lluK or more", (unsigned long long)min_size / 1024);
		return -EINVAL;
	}
	if (s->recorder->overwrite)
		capture_event_fit(&s->event, s->be->perf, s->be->perf_ctx,
				  s->opts.snapshot_size ? s->opts.snapshot_size : s->aux_bytes);
	session_init_attrs(s);
	return 0;
}

static void set_comm(struct auxtap_session *s)
{
	const char *slash = strrchr(s->opts.argv[0], '/');

	snprintf(s->comm, sizeof(s->comm), "%.15s", slash ? slash + 1 : s->opts.argv[0]);
}

static int start_program(struct auxtap_session *s, struct auxtap_error *err)
{
	struct auxtap_spawn spawn = {.size = sizeof(spawn),
				     .argv = s->opts.argv,
				     .truth_path = s->opts.truth_path};
	int ret;

	set_comm(s);
	ret = s->be->target->spawn(s->be->target_ctx, &spawn, &s->main_pid, err);
	if (ret)
		return ret;
	s->spawned = true;
	s->stats.program_pid = s->main_pid;
	backend_refresh(s->be);
	return 0;
}

static int attach(struct auxtap_session *s, struct auxtap_error *err)
{
	pid_t id = s->opts.pid ? s->opts.pid : s->opts.tid;
	int ret;

	s->stats.exit_status = -1;
	if (id) {
		ret = s->be->target->attach(s->be->target_ctx, id, !s->opts.pid, s->opts.truth_path,
					    err);
		if (ret)
			return ret;
		s->main_pid = id;
	}
	return s->layout->attach(s, err);
}

int auxtap_session_open(struct auxtap_session **out, struct auxtap_backend *be,
			const struct auxtap_session_opts *opts, struct auxtap_error *err)
{
	struct auxtap_session_opts copy;
	struct auxtap_session *s;
	int ret;

	ret = sized_copy_in(&copy, sizeof(copy),
			    SIZED_UP_TO(struct auxtap_session_opts, on_snapshot), opts,
			    "struct auxtap_session_opts", err);
	if (ret)
		return ret;
	opts = &copy;
	if (!opts->argv && !opts->pid && !opts->tid && !opts->all_cpus && !opts->cpus)
		return auxtap_error_set(err, -EINVAL, "session", "nothing to trace");
	ret = backend_check(be, err);
	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return auxtap_error_set(err, -ENOMEM, "session", "no memory");
	s->be = be;
	s->opts = copy;
	if (!s->opts.output)
		s->opts.output = "auxtap.data";
	s->stats.size = sizeof(s->stats);
	s->stats.exit_status = -1;
	s->started_ns = now_ns();
	s->control_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->control_fd < 0) {
		ret = auxtap_error_set(err, -errno, "eventfd", "%m");
		goto fail;
	}
	ret = configure(s, err);
	if (!ret && s->recorder->per_crash && be->target->report_deaths)
		ret = be->target->report_deaths(be->target_ctx, err);
	if (ret)
		goto fail;
	if (s->opts.argv) {
		ret = start_program(s, err);
		if (ret)
			goto fail;
	}
	if (!s->recorder->per_crash) {
		ret = trace_file_create(s, &s->file, s->opts.output, err);
		if (ret)
			goto fail;
	}
	ret = s->opts.argv ? s->layout->open_program(s, err) : attach(s, err);
	if (ret)
		goto fail;
	*out = s;
	return 0;
fail:
	if (s->spawned)
		be->target->signal(be->target_ctx, s->main_pid, SIGKILL);
	else if (s->main_pid > 0)
		be->target->detach(be->target_ctx, s->main_pid);
	session_close_streams(s);
	trace_file_abort(&s->file);
	if (s->control_fd >= 0)
		close(s->control_fd);
	process_table_free(&s->processes);
	mapped_build_ids_free(&s->mapped_build_ids);
	free(s->unit_lines);
	free(s->streams);
	free(s->vdso);
	free(s);
	return ret;
}

const char *auxtap_session_event(const struct auxtap_session *s)
{
	return s->event.name;
}

const struct auxtap_session_stats *auxtap_session_get_stats(const struct auxtap_session *s)
{
	return &s->stats;
}

struct process *session_process(struct auxtap_session *s, pid_t pid)
{
	return s->recorder->per_crash ? process_get(&s->processes, pid) : NULL;
}

static int thread_exit(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       struct auxtap_error *err)
{
	struct stream *st = session_find_stream(s, ev->tid);
	int ret;

	if (ev->tid == s->opts.tid)
		s->stats.ended = true;
	if (!st) /* it has no perf event of its own */
		return 0;
	st->disabled = true;
	ret = s->recorder->thread_exited(s, st, ev, err);
	session_close_stream(s, st);
	return ret;
}

static void add_fault(struct process *p, const struct auxtap_target_event *ev)
{
	size_t nr = p->nr_faults;

	if (nr >= AUXTAP_CRASH_NR_FAULTS) { /* the first one stays */
		nr = AUXTAP_CRASH_NR_FAULTS - 1;
		memmove(&p->faults[1], &p->faults[2], (nr - 1) * sizeof(p->faults[0]));
	}
	p->faults[nr] = (struct auxtap_crash_fault){
		.ip = ev->ip,
		.time = ev->time,
		.signo = ev->signo,
		.tid = ev->tid,
	};
	p->nr_faults++;
}

/* A signal whose cause was an instruction, for example SIGSEGV, went to the program's handler. */
static void record_fault(struct auxtap_session *s, const struct auxtap_target_event *ev)
{
	struct process *p = session_process(s, ev->pid);

	if (p)
		add_fault(p, ev);
	if (s->stats.fault_signo)
		return;
	s->stats.fault_signo = ev->signo;
	s->stats.fault_pid = ev->pid;
	s->stats.fault_tid = ev->tid;
	s->stats.fault_ip = ev->ip;
	s->stats.fault_time = ev->time;
}

static void report_notice(struct auxtap_session *s, const struct auxtap_target_event *ev)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRACE_OFF,
		.cpu = -1,
		.pid = ev->pid,
		.tid = -1,
		.time_begin = ev->time ? ev->time : s->last_time,
	};

	if (ev->notice == AUXTAP_NOTICE_TRUTH_ENDED) {
		s->stats.truth_failed = true;
	} else if (ev->notice == AUXTAP_NOTICE_UNTRACED) {
		s->stats.untraced++;
		session_write_gap(&s->file, &gap);
	}
	if (s->opts.on_notice)
		s->opts.on_notice(s->opts.ctx, ev->pid, ev->notice, ev->text);
}

/* Called after exec, before the new program runs: keeps a copy of the vdso. */
static void after_exec(struct auxtap_session *s, pid_t pid)
{
	struct map_list maps;
	char *text;

	if (s->vdso || s->be->target->maps(s->be->target_ctx, pid, &text))
		return;
	if (!map_list_parse(&maps, text)) {
		session_save_vdso(s, &maps, pid);
		map_list_free(&maps);
	}
	free(text);
}

static int process_exit(struct auxtap_session *s, const struct auxtap_target_event *ev,
			struct auxtap_error *err)
{
	int ret = 0;

	if (ev->pid == s->main_pid) {
		s->stats.ended = true;
		if (!s->opts.tid)
			s->stats.exit_status = ev->status;
	}
	if (s->recorder->process_exited)
		s->recorder->process_exited(s, ev);
	for (size_t i = s->nr_streams; i-- > 0;) {
		if (s->streams[i]->pid == ev->pid) {
			struct auxtap_target_event gone = *ev;

			gone.tid = s->streams[i]->tid;
			if (!ret)
				ret = thread_exit(s, &gone, err);
		}
	}
	if (!s->layout->per_cpu)
		process_remove(&s->processes, ev->pid);
	return ret;
}

/* A crash without a snapshot: this recorder writes none at a crash, or tracing has failed. */
static void count_crash(struct auxtap_session *s, pid_t pid)
{
	struct process *p = session_process(s, pid);

	if (p)
		p->crashed = true;
	s->stats.crashes++;
}

static int handle_target_event(struct auxtap_session *s, const struct auxtap_target_event *ev,
			       struct auxtap_error *err)
{
	const struct auxtap_target_ops *target = s->be->target;
	int ret = 0;

	switch (ev->type) {
	case AUXTAP_TARGET_THREAD:
	case AUXTAP_TARGET_FORK:
		if (!s->failed && s->layout->task_new)
			ret = s->layout->task_new(s, ev, err);
		if (ret) /* an error must not stop the program: it continues untraced */
			fail_tracing(s, ret, err);
		target->resume(s->be->target_ctx, ev->tid);
		return ret;
	case AUXTAP_TARGET_EXEC:
		after_exec(s, ev->pid);
		target->resume(s->be->target_ctx, ev->tid);
		return 0;
	case AUXTAP_TARGET_FAULT: /* the program handles it, and goes on */
		record_fault(s, ev);
		return 0;
	case AUXTAP_TARGET_DYING: /* stopped at the signal that will end it */
		if (ev->pid == s->main_pid || ev->tid == s->main_pid)
			s->stats.crash_signo = ev->signo;
		if (ev->limit_bytes)
			s->stats.memory_limit = ev->limit_bytes;
		if (s->recorder->process_crashes && !s->failed)
			s->recorder->process_crashes(s, ev);
		else
			count_crash(s, ev->pid);
		target->resume(s->be->target_ctx, ev->tid);
		return 0;
	case AUXTAP_TARGET_THREAD_EXIT:
		return s->failed ? 0 : thread_exit(s, ev, err);
	case AUXTAP_TARGET_PROCESS_EXIT:
		return process_exit(s, ev, err);
	case AUXTAP_TARGET_NOTICE:
		report_notice(s, ev);
		return 0;
	case AUXTAP_TARGET_NONE:
		break;
	}
	return 0;
}

static void show_progress(struct auxtap_session *s)
{
	uint64_t now = now_ns();

	if (!s->opts.progress || now - s->started_ns < PROGRESS_AFTER_NS ||
	    now - s->progress_ns < PROGRESS_EVERY_NS)
		return;
	s->progress_ns = now;
	s->progress_shown = true;
	s->opts.on_progress(s->opts.ctx, (now - s->started_ns) / 1000000, &s->stats,
			    (unsigned int)s->nr_streams);
}

/* poll_fds[0] is the target, [1] control_fd; the streams follow. */
static int wait_for_events(struct auxtap_session *s, struct auxtap_error *err)
{
	size_t nr = s->nr_streams + 2;
	int ret;

	if (vector_reserve(s->poll_fds, nr, s->max_poll_fds))
		return auxtap_error_set(err, -ENOMEM, "session", "no memory");
	s->poll_fds[0] =
		(struct pollfd){.fd = s->be->target->fd(s->be->target_ctx), .events = POLLIN};
	s->poll_fds[1] = (struct pollfd){.fd = s->control_fd, .events = POLLIN};
	for (size_t i = 0; i < s->nr_streams; i++)
		s->poll_fds[i + 2] =
			(struct pollfd){.fd = s->streams[i]->hung_up ? -1 : s->streams[i]->fd,
					.events = POLLIN};
	ret = s->be->perf->poll(s->be->perf_ctx, s->poll_fds, nr, IDLE_MS);
	if (ret < 0 && ret != -EINTR && ret != -EPIPE)
		return auxtap_error_set(err, ret, "poll", "%s", strerror(-ret));
	if (ret > 0 && (s->poll_fds[1].revents & POLLIN)) {
		eventfd_t count;

		eventfd_read(s->control_fd, &count);
	}
	for (size_t i = 0; ret >= 0 && i < s->nr_streams; i++) {
		short revents = s->poll_fds[i + 2].revents;

		if (revents & POLLIN)
			s->stats.wakeups++;
		/* Its task has exited: the descriptor would be ready forever. */
		if (revents & (POLLHUP | POLLERR))
			s->streams[i]->hung_up = true;
		session_after_poll(s, s->streams[i], revents);
	}
	return 0;
}

static void fail_tracing_if(struct auxtap_session *s, int ret, struct auxtap_error *err)
{
	if (ret)
		fail_tracing(s, ret, err);
}

static void detach_main(struct auxtap_session *s)
{
	if (s->main_pid > 0)
		s->be->target->detach(s->be->target_ctx, s->main_pid);
}

/* The crash recorder saves the trace in the rings, a file per process; others have done so. */
static int emulator_died(struct auxtap_session *s, struct auxtap_error *err)
{
	struct auxtap_error local = AUXTAP_ERROR_INIT;
	int ret = 0;

	s->stats.emulator_died = true;
	if (s->recorder->backend_died) {
		ret = s->recorder->backend_died(s, &local);
	} else if (s->file.writer) {
		struct auxtap_gap gap = {
			.cause = AUXTAP_GAP_TRACE_OFF,
			.cpu = -1,
			.pid = s->main_pid,
			.tid = -1,
			.time_begin = s->last_time,
		};

		session_write_gap(&s->file, &gap);
	}
	session_close_streams(s);
	if (ret) {
		if (err)
			*err = local;
		return ret;
	}
	auxtap_error_set(err, -EPIPE, "auxtap-emu", "%s", backend_death(s->be));
	auxtap_error_hint(err, "what was in its rings is kept: see %s", s->opts.output);
	return -EPIPE;
}

int auxtap_session_run(struct auxtap_session *s, volatile sig_atomic_t *stop,
		       struct auxtap_error *err)
{
	struct auxtap_target_event ev = {.size = sizeof(ev)};
	struct auxtap_error local = AUXTAP_ERROR_INIT;
	/* Whole CPUs are traced: no process ends the session by its exit. */
	bool no_target = s->main_pid <= 0;
	int ret = 0;

	if (s->spawned && !s->released) {
		s->released = true;
		ret = s->be->target->resume(s->be->target_ctx, s->main_pid);
		if (ret && backend_death(s->be))
			return emulator_died(s, err);
		if (ret) {
			/* the first resume of the kernel backend executes the program */
			auxtap_error_set(err, ret, s->opts.argv[0], "%s", strerror(-ret));
			auxtap_error_set_subject(err, AUXTAP_ERROR_PROGRAM);
			return ret;
		}
	}
	while (!stop || !*stop) {
		session_forward_signals(s);
		if (s->want_snapshot && !s->failed) {
			s->want_snapshot = 0;
			if (s->recorder->snapshot)
				fail_tracing_if(s, s->recorder->snapshot(s, &local), &local);
		}
		while ((ret = s->be->target->wait(s->be->target_ctx, &ev)) == 1)
			fail_tracing_if(s, handle_target_event(s, &ev, &local), &local);
		if (ret < 0 && !(ret == -ECHILD && no_target))
			break;
		if (!s->failed)
			fail_tracing_if(s, session_drain_round(s, &local), &local);
		show_progress(s);
		fail_tracing_if(s, wait_for_events(s, &local), &local);
	}
	if (s->progress_shown)
		s->opts.on_progress(s->opts.ctx, 0, &s->stats, 0);
	if (!s->failed) {
		/* Streams are open after a stop or detach, or because they are of CPUs. */
		if (s->recorder->snapshot && s->nr_streams &&
		    (!s->recorder->per_crash || (stop && *stop)))
			fail_tracing_if(s, s->recorder->snapshot(s, &local), &local);
		else
			for (size_t i = 0; i < s->nr_streams; i++)
				session_stop_stream(s, s->streams[i]);
	}
	if (!s->failed)
		fail_tracing_if(s, session_drain_round(s, &local), &local);
	if (!s->failed && backend_death(s->be))
		return emulator_died(s, err);
	session_close_streams(s);
	if (stop && *stop && ret >= 0)
		detach_main(s);
	if (s->failed) {
		if (err)
			*err = s->failure;
		return s->failed;
	}
	if (ret < 0 && ret != -ECHILD)
		return auxtap_error_set(err, ret, s->be->target->name, "%s", strerror(-ret));
	/* the attached process ended before an event could be opened: there is no file */
	if (!s->spawned && s->main_pid && s->file.writer && !s->file.begun) {
		char what[32];

		snprintf(what, sizeof(what), "process %d", (int)s->main_pid);
		return auxtap_error_set(err, -ESRCH, what, "it ended before tracing began");
	}
	s->stats.error_reported = s->snapshot_error_reported;
	if (s->snapshot_errno && err)
		*err = s->snapshot_error;
	return s->snapshot_errno;
}

int auxtap_session_close(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret = 0;

	session_close_streams(s);
	if (s->file.writer) {
		if (s->file.begun)
			ret = trace_file_finish(s, &s->file, err);
		else
			trace_file_abort(&s->file);
	}
	process_table_free(&s->processes);
	mapped_build_ids_free(&s->mapped_build_ids);
	for (unsigned int i = 0; i < s->nr_snapshot_paths; i++)
		free(s->snapshot_paths[i]);
	free(s->snapshot_paths);
	free(s->unit_lines);
	close(s->control_fd);
	free(s->streams);
	free(s->poll_fds);
	free(s->vdso);
	free(s);
	return ret;
}
