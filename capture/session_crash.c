// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the snapshot file of a process that crashes, or of running processes on request or if the
 * emulator dies (then without registers); the file is self-contained. An emulated process,
 * or a native one under ptrace, stays stopped with all its threads until the file is written. Any
 * other native process has already ended, so its registers are not known.
 */
#include "core_file.h"
#include "session.h"
#include "util/sized.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES  (256u << 10) /* for the thread that died */
#define STACKS_TOTAL (8u << 20)	  /* for all threads together */
#define CODE_BYTES   256u
#define THREADS_MAX  4096

static int compare_time(const void *a, const void *b)
{
	const struct kept_record *x = *(struct kept_record *const *)a;
	const struct kept_record *y = *(struct kept_record *const *)b;

	return (x->time > y->time) - (x->time < y->time);
}

static bool is_of_process(const struct auxtap_session *s, const struct stream *st, pid_t pid)
{
	return s->layout->per_cpu || st->pid == pid;
}

/*
 * Writes all kept records of the process (with rings per CPU: of every process), by time. qsort()
 * is not stable, but only synthesised records, and copies that a forked child has, share a time.
 */
static int write_records(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			 struct auxtap_error *err)
{
	struct process_table *t = &s->processes;
	struct kept_record **all;
	size_t nr = 0;
	int ret = 0;

	for (size_t i = 0; i < t->nr; i++)
		nr += t->items[i]->nr;
	all = malloc((nr + MAX_SWITCHES + 1) * sizeof(*all));
	if (!all)
		return auxtap_error_set(err, -ENOMEM, file->path, "no memory");
	nr = 0;
	for (size_t i = 0; i < t->nr; i++) {
		if (!s->layout->per_cpu && t->items[i]->pid != pid)
			continue;
		for (size_t k = 0; k < t->items[i]->nr; k++)
			all[nr++] = t->items[i]->records[k];
	}
	for (size_t i = 0; t->switches && i < MAX_SWITCHES; i++) {
		if (t->switches[i])
			all[nr++] = t->switches[i];
	}
	qsort(all, nr, sizeof(*all), compare_time);
	for (size_t i = 0; i < nr && !ret; i++)
		ret = trace_file_record(s, file, all[i]->bytes, err);
	free(all);
	return ret;
}

/* Synthesises the records that a full ring has lost, as if the mappings were the oldest. */
static int add_missing_maps(struct auxtap_session *s, pid_t pid, const struct map_list *maps)
{
	struct process *p = process_get(&s->processes, pid);
	struct trailer trailer = {.pid = (uint32_t)pid, .tid = (uint32_t)pid};
	struct stream *st = session_find_stream(s, pid);

	if (!p)
		return -ENOMEM;
	trailer.id = st ? st->id : s->nr_streams ? s->streams[0]->id : 0;
	trailer.time = p->nr ? p->records[0]->time : 0;
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		bool recorded = false;
		int ret;

		if (!map_runs_code(e))
			continue;
		for (size_t k = 0; k < p->nr && !recorded; k++) {
			const struct mmap2_body *m = record_mmap2(p->records[k]->bytes);

			recorded = m && m->addr <= e->start && m->addr + m->len >= e->end &&
				   (!*e->name || !strcmp(m->filename, e->name));
		}
		if (recorded || !record_make_map(s->record, sizeof(s->record), pid, e, &trailer))
			continue;
		ret = process_keep_record(&s->processes, pid, s->record);
		if (ret)
			return ret;
	}
	return 0;
}

static int write_trace(struct auxtap_session *s, struct trace_file *file, struct stream *st,
		       struct auxtap_error *err)
{
	struct auxtap_span span;
	uint64_t offset;
	int ret;

	if (!st->unsaved)
		return 0;
	session_newest_trace(s, st, &span, &offset);
	if (span.size1 + span.size2) {
		/*
		 * Offset 0: no offsets seem to be missing; the gap below reports the loss. With
		 * rings per CPU the offset is no count of bytes.
		 */
		ret = session_write_auxtrace(s, file, st, &span, 0, err);
		/* Commit it now: if the disk is full at the next one, this one is kept. */
		if (!ret)
			ret = auxtap_perfdata_writer_round(file->writer, err);
		if (ret)
			return ret;
		if (!s->layout->per_cpu && offset) {
			struct auxtap_gap gap = {
				.cause = AUXTAP_GAP_OVERWRITTEN,
				.cpu = st->cpu,
				.pid = st->pid,
				.tid = st->tid,
				.nr_bytes = offset,
				.exact = 1,
			};

			session_write_gap(file, &gap);
		}
	}
	st->unsaved = false;
	return 0;
}

/* The thread that died comes first; the others get the space that is left. */
static int write_traces(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			struct auxtap_error *err)
{
	struct stream *dead = session_find_stream(s, tid);
	int ret = dead && dead->unsaved ? write_trace(s, file, dead, err) : 0;

	for (size_t i = 0; i < s->nr_streams && !ret; i++)
		ret = write_trace(s, file, s->streams[i], err);
	return ret;
}

/* Threads whose event could not be opened (nr_untraced), running or exited, were never traced. */
static void write_untraced_gap(struct auxtap_session *s, struct trace_file *file, pid_t pid)
{
	const struct process *p = process_find(&s->processes, pid);
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_TRACE_OFF, .cpu = -1, .pid = pid, .tid = -1};

	if (p && p->nr_untraced)
		session_write_gap(file, &gap);
}

/* Writes a gap for each stream whose trace did not fit on the disk. */
static void write_unsaved_gaps(struct auxtap_session *s, struct trace_file *file)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		const struct stream *st = s->streams[i];
		struct auxtap_gap gap = {
			.cause = AUXTAP_GAP_TRUNCATED,
			.cpu = st->cpu,
			.pid = st->pid,
			.tid = st->tid,
		};

		if (st->unsaved)
			session_write_gap(file, &gap);
	}
}

static void write_code(struct auxtap_session *s, struct trace_file *file, pid_t pid,
		       const struct map_list *maps, uint64_t ip)
{
	const struct map_entry *e = map_list_find(maps, ip);
	uint64_t from, to;

	if (!e || !(e->prot & PROT_READ))
		return;
	from = ip - e->start < CODE_BYTES / 2 ? e->start : ip - CODE_BYTES / 2;
	to = e->end - ip < CODE_BYTES / 2 ? e->end : ip + CODE_BYTES / 2;
	session_write_memory(s, file, pid, from, (size_t)(to - from));
}

/* True if reading is refused altogether, and not just one page is missing. */
static bool memory_denied(struct auxtap_session *s, pid_t pid, const struct map_list *maps)
{
	char byte;

	for (size_t i = 0; i < maps->nr; i++) {
		ssize_t n;

		if (!(maps->entries[i].prot & PROT_READ))
			continue;
		n = s->be->target->mem(s->be->target_ctx, pid, maps->entries[i].start, &byte, 1);
		if (n > 0)
			return false;
		if (n == -EPERM || n == -EACCES || n == -ENOSYS)
			return true;
	}
	return false;
}

/* The newest name of a thread in the kept records. */
static void find_thread_comm(struct auxtap_session *s, pid_t pid, pid_t tid, char comm[16])
{
	struct process *p = process_find(&s->processes, pid);

	for (size_t i = 0; p && i < p->nr; i++) {
		const struct perf_event_header *h = (const void *)p->records[i]->bytes;
		const struct comm_body *body = (const void *)(h + 1);
		const struct trailer *trailer;
		size_t size;

		if (h->type != PERF_RECORD_COMM || !record_parts(h, &size, &trailer) ||
		    size <= sizeof(*body) ||
		    (body->tid != (uint32_t)tid && !(body->tid == (uint32_t)pid && !*comm)))
			continue;
		snprintf(comm, 16, "%.*s", (int)(size - sizeof(*body)), body->comm);
	}
}

enum auxtap_memory session_memory(const struct auxtap_session *s)
{
	return s->opts.redact ? AUXTAP_MEMORY_NONE : s->opts.memory;
}

/* Writes the log of register and memory values, if the engine recorded one. */
static void write_value_log(struct auxtap_session *s, struct trace_file *file, pid_t pid, pid_t tid)
{
	void *record;
	size_t size;

	if (!TARGET_HAS(s->be->target, values) || session_memory(s) == AUXTAP_MEMORY_NONE ||
	    s->be->target->values(s->be->target_ctx, pid, tid, &record, &size))
		return;
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_VALUES, record, size);
	free(record);
}

static void write_threads(struct auxtap_session *s, struct trace_file *file,
			  const struct auxtap_target_event *ev, const struct map_list *maps)
{
	enum auxtap_memory memory = session_memory(s);
	pid_t *tids = malloc(THREADS_MAX * sizeof(*tids));
	int nr = tids ? s->be->target->threads(s->be->target_ctx, ev->pid, tids, THREADS_MAX) : 0;
	size_t other_stack_bytes;

	if (nr > THREADS_MAX)
		nr = THREADS_MAX;
	other_stack_bytes = nr > 1 ? (STACKS_TOTAL - STACK_BYTES) / (size_t)(nr - 1) & ~4095ul : 0;
	if (other_stack_bytes > STACK_BYTES)
		other_stack_bytes = STACK_BYTES;
	/* tids[0] is the thread that died. */
	for (int i = 0; i < nr; i++) {
		if (tids[i] == ev->tid) {
			tids[i] = tids[0];
			tids[0] = ev->tid;
		}
	}
	if (memory == AUXTAP_MEMORY_REACHABLE)
		file->reachable = reachable_new(maps);
	if (file->reachable)
		reachable_add_program(file->reachable, s->be, ev->pid, ev->tid, maps);
	for (int i = 0; i < nr; i++) {
		struct auxtap_crash_thread thread = {.size = sizeof(thread),
						     .pid = ev->pid,
						     .tid = tids[i]};
		const struct auxtap_regs *r = &thread.regs;
		int ip;

		/* of a thread that is about to end, too: it may have written last */
		write_value_log(s, file, ev->pid, tids[i]);
		if (s->be->target->regs(s->be->target_ctx, tids[i], &thread.regs))
			continue;
		find_thread_comm(s, ev->pid, tids[i], thread.comm);
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_THREAD, &thread,
						sizeof(thread));
		if (r->arch != AUXTAP_ARCH_X86_64 && r->arch != AUXTAP_ARCH_AARCH64)
			continue;
		ip = r->arch == AUXTAP_ARCH_X86_64 ? (int)AUXTAP_X86_IP : (int)AUXTAP_A64_PC;
		if (r->valid & (1ull << ip))
			write_code(s, file, ev->pid, maps, r->reg[ip]);
		if (memory == AUXTAP_MEMORY_NONE)
			continue;
		reachable_add_words(file->reachable, r->reg, sizeof(r->reg));
		session_write_stack(s, file, ev->pid, maps, r,
				    tids[i] == ev->tid ? STACK_BYTES : other_stack_bytes);
		if (tids[i] == ev->tid)
			session_write_operand(s, file, ev->pid, r);
	}
	if (file->reachable)
		file->memory_incomplete = reachable_write(file->reachable, s, file, ev->pid);
	reachable_free(file->reachable);
	file->reachable = NULL;
	free(tids);
}

bool signal_dumps_core(int signo)
{
	switch (signo) {
	case SIGQUIT:
	case SIGILL:
	case SIGABRT:
	case SIGFPE:
	case SIGSEGV:
	case SIGBUS:
	case SIGSYS:
	case SIGTRAP:
	case SIGXCPU:
	case SIGXFSZ:
		return true;
	default:
		return false;
	}
}

static void fill_crash(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       struct auxtap_crash *crash)
{
	struct process *p = process_find(&s->processes, ev->pid);
	siginfo_t info;

	*crash = (struct auxtap_crash){
		.size = sizeof(*crash),
		.pid = ev->pid,
		.tid = ev->tid,
		.signo = ev->signo,
		.exit_status = ev->type == AUXTAP_TARGET_PROCESS_EXIT ? ev->status : ev->signo,
		.time = ev->time ? ev->time : s->last_time,
	};
	memcpy(crash->comm, ev->comm, sizeof(crash->comm));
	if (!*crash->comm)
		find_thread_comm(s, ev->pid, ev->tid, crash->comm);
	if (signal_dumps_core(ev->signo))
		crash->flags |= AUXTAP_CRASH_CORE;
	crash->limit_bytes = ev->limit_bytes;
	crash->frame_signo = ev->frame_signo;
	if (ev->emulator_crashed)
		crash->flags |= AUXTAP_CRASH_EMULATOR_CRASHED;
	if (ev->emulator_limit)
		crash->flags |= AUXTAP_CRASH_EMULATOR;
	if (p && p->nr_faults) {
		crash->flags |= AUXTAP_CRASH_HANDLED_FAULT;
		crash->fault_ip = p->faults[0].ip;
		crash->fault_time = p->faults[0].time;
		crash->fault_signo = p->faults[0].signo;
		crash->fault_tid = p->faults[0].tid;
		crash->nr_faults = p->nr_faults;
		memcpy(crash->faults, p->faults, sizeof(crash->faults));
	}
	if (ev->type != AUXTAP_TARGET_DYING ||
	    s->be->target->siginfo(s->be->target_ctx, ev->tid, &info))
		return;
	crash->si_code = info.si_code;
	if (info.si_code <= 0) {
		crash->sender_pid = info.si_pid;
		return;
	}
	switch (ev->signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		/* for a non-canonical address the processor reports none */
		if (info.si_code == SI_KERNEL)
			return;
		crash->flags |= AUXTAP_CRASH_ADDR_VALID;
		crash->fault_addr = (uint64_t)(uintptr_t)info.si_addr;
		break;
	default:
		break;
	}
}

/* Keeps the first: later crashes are often consequences of it. */
static void remove_oldest_but_first(struct auxtap_session *s)
{
	static const char *const suffixes[] =
		{"", ".report.txt", ".report.json", ".report.html", ".vdso", ".core"};
	char name[4200];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", s->snapshot_paths[1], suffixes[i]);
		unlink(name);
	}
	free(s->snapshot_paths[1]);
	s->nr_snapshot_paths--;
	memmove(&s->snapshot_paths[1], &s->snapshot_paths[2],
		(s->nr_snapshot_paths - 1) * sizeof(*s->snapshot_paths));
}

/* Removes all but the first file and the newest ones. */
static void keep_newest_files(struct auxtap_session *s, const char *path)
{
	unsigned int keep = s->opts.keep ? s->opts.keep : 8;

	/* A reused PID: the file was replaced. */
	for (unsigned int i = 0; i < s->nr_snapshot_paths; i++) {
		if (strcmp(s->snapshot_paths[i], path))
			continue;
		free(s->snapshot_paths[i]);
		s->nr_snapshot_paths--;
		memmove(&s->snapshot_paths[i], &s->snapshot_paths[i + 1],
			(s->nr_snapshot_paths - i) * sizeof(*s->snapshot_paths));
		break;
	}
	if (vector_grow(s->snapshot_paths, s->nr_snapshot_paths, s->max_snapshot_paths))
		return;
	s->snapshot_paths[s->nr_snapshot_paths] = strdup(path);
	if (s->snapshot_paths[s->nr_snapshot_paths])
		s->nr_snapshot_paths++;
	while (s->nr_snapshot_paths > keep)
		remove_oldest_but_first(s);
}

/* Rings per CPU: other processes ran untraced while an earlier snapshot was written. */
static void write_pause_gaps(struct auxtap_session *s, struct trace_file *file)
{
	for (unsigned int i = 0; i < s->nr_pauses; i++) {
		struct auxtap_gap gap = {
			.cause = AUXTAP_GAP_PAUSED,
			.cpu = -1,
			.pid = -1,
			.tid = -1,
			.time_begin = s->pauses[i].from,
			.time_end = s->pauses[i].to,
		};

		session_write_gap(file, &gap);
	}
}

static void resume_tracing(struct auxtap_session *s, uint64_t since)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		if (!s->streams[i]->disabled)
			session_enable(s, s->streams[i], true);
	}
	if (s->nr_pauses < PAUSES_MAX)
		s->pauses[s->nr_pauses++].from = since;
	s->pauses[s->nr_pauses - 1].to = s->be->perf->clock(s->be->perf_ctx);
}

static int write_file(struct auxtap_session *s, struct trace_file *file,
		      const struct auxtap_target_event *ev, const struct auxtap_crash *crash,
		      const struct map_list *maps, const char *maps_text, struct auxtap_error *err)
{
	static const struct perf_event_mmap_page no_page;
	const struct perf_event_mmap_page *page = &no_page;
	int ret;

	for (size_t i = 0; i < s->nr_streams; i++) {
		struct stream *st = s->streams[i];

		st->unsaved = is_of_process(s, st, ev->pid) && st->ring.aux_size;
		if (is_of_process(s, st, ev->pid))
			page = st->base;
	}
	ret = s->layout->list_ids(s, file, ev->pid);
	if (ret)
		return auxtap_error_set(err, ret, file->path, "%s", strerror(-ret));
	ret = trace_file_begin(s, file, page, err);
	if (!ret)
		ret = write_records(s, file, ev->pid, err);
	if (!ret)
		ret = auxtap_perfdata_writer_round(file->writer, err);
	if (ret)
		return ret;
	ret = write_traces(s, file, ev->tid, err);
	if (!ret)
		ret = session_write_exited_threads(s, file, ev->pid, err);
	write_unsaved_gaps(s, file);
	write_untraced_gap(s, file, ev->pid);
	write_pause_gaps(s, file);
	session_write_exited_thread_gaps(s, file, ev->pid);
	if (crash)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_CRASH, crash,
						sizeof(*crash));
	if (ev->type == AUXTAP_TARGET_DYING)
		write_threads(s, file, ev, maps);
	if (ev->type == AUXTAP_TARGET_DYING && crash)
		session_write_heap_blocks(s, file, crash, maps);
	if (maps_text)
		session_write_generated_code(s, file, ev->pid, maps);
	if (ev->type == AUXTAP_TARGET_DYING && ev->signo == SIGABRT &&
	    session_memory(s) != AUXTAP_MEMORY_NONE) {
		session_write_abort_message(s, file, ev->pid, maps);
		session_write_exception(s, file, ev->pid, ev->tid, maps);
	}
	if (maps_text)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_MAPS, maps_text,
						strlen(maps_text));
	return ret;
}

/*
 * True: the file is complete, except perhaps for trace that did not fit on the disk; then *ret and
 * *err are set. A file without the metadata at its end would show no crash: it is removed.
 */
static bool finish_file(struct auxtap_session *s, struct trace_file *file, int *ret,
			struct auxtap_error *err)
{
	struct auxtap_error ignored = AUXTAP_ERROR_INIT, *end_err = *ret ? &ignored : err;
	struct stat st;
	int end;

	if (*ret && !auxtap_perfdata_writer_cut(file->writer)) {
		trace_file_abort(file);
		return false;
	}
	end = trace_file_finish(s, file, end_err);
	if (!end)
		return true;
	/* never remove a device that -o names */
	if (!lstat(file->path, &st) && S_ISREG(st.st_mode) && !unlink(file->path) &&
	    file->vdso_written)
		unlink(file->vdso_path);
	if (!*ret)
		*ret = end;
	auxtap_error_hint(err, "no snapshot is kept; free some space, or write elsewhere with -o");
	return false;
}

/* FILE, then FILE.PID; FILE.PID.NUMBER if a process that still runs has several snapshots. */
static void snapshot_path(struct auxtap_session *s, pid_t pid, uint64_t number, char *path,
			  size_t size)
{
	if (!s->nr_files++)
		snprintf(path, size, "%s", s->opts.output);
	else if (number > 1)
		snprintf(path, size, "%.4000s.%d.%llu", s->opts.output, pid,
			 (unsigned long long)number);
	else
		snprintf(path, size, "%.4000s.%d", s->opts.output, pid);
}

static int save_process(struct auxtap_session *s, pid_t pid, const char *path,
			struct auxtap_error *err)
{
	const struct auxtap_target_event ev = {.size = sizeof(ev),
					       .type = AUXTAP_TARGET_NONE,
					       .pid = pid,
					       .tid = pid};
	struct map_list no_maps = {0};
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_TRACE_OFF,
		.cpu = -1,
		.pid = pid,
		.tid = -1,
		.time_begin = s->last_time,
	};
	struct trace_file file;
	int ret = trace_file_create(s, &file, path, err);

	if (ret)
		return ret;
	ret = write_file(s, &file, &ev, NULL, &no_maps, NULL, err);
	session_write_gap(&file, &gap);
	if (finish_file(s, &file, &ret, err))
		keep_newest_files(s, path);
	return ret;
}

int session_save_all_processes(struct auxtap_session *s, struct auxtap_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < s->nr_streams && !ret; i++)
		ret = session_drain_data(s, s->streams[i], err);
	for (size_t i = 0; i < s->nr_streams && !ret; i++) {
		pid_t pid = s->streams[i]->pid;
		char path[4096];
		size_t k;

		for (k = 0; k < i && s->streams[k]->pid != pid; k++)
			;
		if (k < i) /* its process was saved with an earlier thread */
			continue;
		snapshot_path(s, pid, 0, path, sizeof(path));
		ret = save_process(s, pid, path, err);
	}
	return ret;
}

/* The process continues to run: its registers and memory are not saved. */
static int save_on_request(struct auxtap_session *s, pid_t pid, struct auxtap_error *err)
{
	const struct auxtap_target_event ev = {.size = sizeof(ev),
					       .type = AUXTAP_TARGET_NONE,
					       .pid = pid,
					       .tid = pid};
	struct auxtap_crash crash = {.size = sizeof(crash),
				     .pid = pid,
				     .tid = pid,
				     .flags = AUXTAP_CRASH_INTERRUPTED,
				     .time = s->last_time};
	struct map_list maps = {0};
	struct trace_file file;
	char path[4096], *text = NULL;
	int ret;

	if (!s->be->target->maps(s->be->target_ctx, pid, &text) && !map_list_parse(&maps, text)) {
		session_save_vdso(s, &maps, pid);
		add_missing_maps(s, pid, &maps);
	}
	find_thread_comm(s, pid, pid, crash.comm);
	snapshot_path(s, pid, s->stats.requested, path, sizeof(path));
	ret = trace_file_create(s, &file, path, err);
	if (!ret) {
		ret = write_file(s, &file, &ev, &crash, &maps, text, err);
		if (finish_file(s, &file, &ret, err)) {
			s->stats.snapshots++;
			if (s->opts.on_snapshot)
				s->opts.on_snapshot(s->opts.ctx, path, &crash);
			keep_newest_files(s, path);
		}
	}
	map_list_free(&maps);
	free(text);
	return ret;
}

/* Is this the first enabled stream of its process? */
static bool is_first_of_process(const struct auxtap_session *s, size_t at)
{
	const struct stream *st = s->streams[at];

	if (st->disabled)
		return false;
	for (size_t i = 0; i < at; i++) {
		if (s->streams[i]->pid == st->pid && !s->streams[i]->disabled)
			return false;
	}
	return true;
}

int session_save_on_request(struct auxtap_session *s, struct auxtap_error *err)
{
	uint64_t since = s->be->perf->clock(s->be->perf_ctx);
	int ret = 0;

	s->stats.requested++;
	for (size_t i = 0; i < s->nr_streams; i++)
		session_enable(s, s->streams[i], false);
	for (size_t i = 0; i < s->nr_streams && !ret; i++)
		ret = session_drain_data(s, s->streams[i], err);
	if (s->layout->per_cpu && !ret && s->main_pid > 0)
		ret = save_on_request(s, s->main_pid, err);
	for (size_t i = 0; i < s->nr_streams && !ret && !s->layout->per_cpu; i++) {
		if (is_first_of_process(s, i))
			ret = save_on_request(s, s->streams[i]->pid, err);
	}
	resume_tracing(s, since);
	if (!ret || s->snapshot_errno)
		return 0;
	s->snapshot_errno = ret; /* as at a crash, the recorder continues */
	s->snapshot_error = *err;
	return 0;
}

static int drain_process(struct auxtap_session *s, int32_t pid, struct auxtap_error *err)
{
	for (size_t i = 0; i < s->nr_streams; i++) {
		int ret = is_of_process(s, s->streams[i], pid) ?
				  session_drain_data(s, s->streams[i], err) :
				  0;

		if (ret && ret != -EBADMSG) /* a damaged ring: save what was read */
			return ret;
	}
	return 0;
}

int session_save_crash(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       struct auxtap_error *err)
{
	const struct auxtap_target_ops *target = s->be->target;
	struct auxtap_crash crash;
	struct map_list maps = {0};
	struct trace_file file;
	char path[4096], *text = NULL;
	bool created, kept = false;
	uint64_t since = s->be->perf->clock(s->be->perf_ctx);
	int ret;

	for (size_t i = 0; i < s->nr_streams; i++) {
		if (!is_of_process(s, s->streams[i], ev->pid))
			continue;
		session_enable(s, s->streams[i], false);
		s->streams[i]->disabled = !s->layout->per_cpu;
	}
	ret = drain_process(s, ev->pid, err);
	if (ev->type == AUXTAP_TARGET_DYING && !target->maps(s->be->target_ctx, ev->pid, &text) &&
	    !map_list_parse(&maps, text)) {
		session_save_vdso(s, &maps, ev->pid);
		add_missing_maps(s, ev->pid, &maps);
	}
	fill_crash(s, ev, &crash);
	if (memory_denied(s, ev->pid, &maps))
		crash.flags |= AUXTAP_CRASH_MEMORY_UNREADABLE;
	snapshot_path(s, ev->pid, 0, path, sizeof(path));
	s->stats.crashes++;
	if (!ret)
		ret = trace_file_create(s, &file, path, err);
	created = !ret;
	if (created)
		ret = write_file(s, &file, ev, &crash, &maps, text, err);
	/* The AUX areas were read: the other processes may be traced again. */
	if (s->layout->per_cpu)
		resume_tracing(s, since);
	if (created)
		kept = finish_file(s, &file, &ret, err);
	s->stats.snapshots += kept;
	if (kept && s->opts.on_snapshot) {
		s->opts.on_snapshot(s->opts.ctx, path, &crash);
	} else if (!kept && s->opts.on_no_snapshot) {
		s->snapshot_error_reported |= !s->snapshot_errno;
		s->opts.on_no_snapshot(s->opts.ctx, path, &crash, err);
	}
	if (kept && maps.nr && !s->opts.redact && !(crash.flags & AUXTAP_CRASH_MEMORY_UNREADABLE))
		session_save_core(s, ev, &maps, path);
	/* Last, because it may remove the file: with --keep 1 it removes all but the first. */
	if (kept)
		keep_newest_files(s, path);
	map_list_free(&maps);
	free(text);
	return ret;
}

void session_report_unseen_crash(struct auxtap_session *s, const struct auxtap_target_event *ev)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_crash crash = {
		.size = sizeof(crash),
		.pid = ev->pid,
		.signo = WTERMSIG(ev->status),
		.exit_status = ev->status,
		.time = ev->time,
		.flags = AUXTAP_CRASH_CORE,
	};
	char what[32];

	s->stats.crashes++;
	if (!s->opts.on_no_snapshot)
		return;
	find_thread_comm(s, ev->pid, ev->pid, crash.comm);
	snprintf(what, sizeof(what), "process %d", (int)ev->pid);
	auxtap_error_set(&err, -ESRCH, what,
			 "it was not traced then, or ended before its threads could be stopped");
	s->opts.on_no_snapshot(s->opts.ctx, s->opts.output, &crash, &err);
}
