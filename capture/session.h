/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a capture session, shared by session*.c: streams (a data ring and an
 * AUX area each, of a thread or of a CPU), the trace file being written, and what is known of
 * processes.
 */
#ifndef AUXTAP_CAPTURE_SESSION_H
#define AUXTAP_CAPTURE_SESSION_H

#include "event_parser.h"
#include "mapped_ids.h"
#include "ring_private.h"
#include "sideband_write.h"

#include <auxtap/capture.h>
#include <auxtap/gap.h>
#include <auxtap/perfdata.h>

#define LAST_SNAP_BYTES 64
#define MAX_GAPS	65536 /* of a file; then one for the rest */

struct trace_file;
struct reachable;

/* One event with its rings; of a thread or a CPU: struct layout_ops. */
struct stream {
	pid_t pid, tid; /* tid -1: per CPU */
	int cpu;	/* -1: per thread */
	uint32_t idx;
	int fd;
	uint64_t id;
	struct output_event { /* they write into this ring: dummy, other threads of an attach */
		int fd;
		bool traces; /* attrs[0], else the dummy's */
		uint64_t id;
	} * output_events;
	int nr_output_events, max_output_events;
	void *base, *aux;
	size_t base_size, aux_size;
	struct auxtap_ring ring;
	bool sideband_only;  /* of a CPU that is not traced */
	bool disabled;	     /* by us, for good */
	bool needs_reenable; /* D21: to be disabled and enabled again after the next drain */
	bool hung_up;	     /* POLLHUP: no more wakeups */
	bool unsaved;	     /* crash: its trace is not in the snapshot that is being written */
	uint64_t truncated_time;
	uint64_t opened_after;	/* newest time known when it was opened */
	uint64_t last_snap_end; /* offset in the stream where the last snapshot ended */
	unsigned char last_snap_bytes[LAST_SNAP_BYTES]; /* its last bytes, where only they show an
							   overlap */
	size_t nr_last_snap_bytes;
	uint64_t paused_since;			    /* for a snapshot */
	struct auxtap_unit_stats stats_at_last_gap; /* at the last gap record */
	struct wakeup_log {			    /* session_wakeups.c */
		struct auxtap_wakeup *list;
		size_t nr, max;
		uint64_t nr_all;
		uint64_t aux_head;    /* at the last one */
		bool awaiting_wakeup; /* a watermark was passed, and no wakeup was seen yet */
		bool stopped;	      /* a truncation was seen since */
	} wakeups;
	/* rounds without progress: is the event OFF (D6, D21)? */
	uint64_t stall_aux_abs;
	unsigned int stall_rounds, stall_limit;
};

/* The file being written. */
struct trace_file {
	struct auxtap_perfdata_writer *writer; /* NULL: none */
	char path[4096];
	char vdso_path[4096]; /* absolute; the copy of the vdso beside the file */
	bool vdso_written;
	bool begun;
	uint64_t nr_exited_without_trace; /* crash: before, their trace not in the file */
	uint64_t nr_gaps;
	struct auxtap_gap gap_sum; /* of those beyond the limit, together */
	bool open_round;	   /* something since the last FINISHED_ROUND */
	struct string_set build_ids_seen;
	struct reachable *reachable; /* --memory reachable, while its memory is written; NULL */
	bool memory_incomplete;	     /* more would have been reachable */
};

/*
 * What a session keeps of the trace, and where. The session reads the data rings in every round;
 * the recorder decides what becomes of their records and of the AUX areas. Operations may be NULL
 * only where that is said.
 */
struct recorder_ops {
	const char *name; /* "full", "snapshot", "crash": in perfdata/capture_lines.h */
	bool overwrite;	  /* the unit overwrites the oldest bytes of the AUX areas */
	/*
	 * A file for each death, written when it happens; until then the records of each process
	 * are in s->processes. Else one file from the start, s->file.
	 */
	bool per_crash;
	/* A record out of the stream's data ring; one that the session made for a process. */
	int (*record)(struct auxtap_session *s, struct stream *st, const void *record,
		      struct auxtap_error *err);
	int (*synthesised_record)(struct auxtap_session *s, pid_t pid, const void *record,
				  struct auxtap_error *err);
	/* The AUX area of a stream, in every round. NULL: it is not read while the event is on. */
	int (*drain)(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
	/* The user asks for a snapshot, or the session ends (per_crash: is stopped). May be NULL.
	 */
	int (*snapshot)(struct auxtap_session *s, struct auxtap_error *err);
	/* A process, stopped before its first instruction. NULL: of no interest. */
	int (*process_forked)(struct auxtap_session *s, const struct auxtap_target_event *ev,
			      struct auxtap_error *err);
	/* Its event is off, its rings are about to be closed. */
	int (*thread_exited)(struct auxtap_session *s, struct stream *st,
			     const struct auxtap_target_event *ev, struct auxtap_error *err);
	/* It will die, and is stopped. NULL: it is only counted. */
	void (*process_crashes)(struct auxtap_session *s, const struct auxtap_target_event *ev);
	/* Before its threads' rings are closed. NULL: of no interest. */
	void (*process_exited)(struct auxtap_session *s, const struct auxtap_target_event *ev);
	/* The backend is dead; its rings can still be read. NULL: they are in the file. */
	int (*backend_died)(struct auxtap_session *s, struct auxtap_error *err);
};

/* Members of struct auxtap_target_ops that came later: a caller's may be shorter. */
#define TARGET_HAS(ops, member) \
	((ops)->size >= SIZED_UP_TO(struct auxtap_target_ops, member) && (ops)->member)

extern const struct recorder_ops recorder_linear, recorder_snapshot, recorder_crash;

/*
 * How the events are laid out: a stream for each thread or for each CPU, and which events fill its
 * rings. No operation is NULL but where that is
 * said.
 */
struct layout_ops {
	/* A stream is a CPU's: processes share it, and it goes on when one of them dies. */
	bool per_cpu;
	unsigned int sched_switch; /* as in struct capture_rings */
	/* Completes attrs[0]; adds the attributes of events that share its ring. */
	void (*attrs)(struct auxtap_session *s);
	/* The events of the program that was started; of what there is already. */
	int (*open_program)(struct auxtap_session *s, struct auxtap_error *err);
	int (*attach)(struct auxtap_session *s, struct auxtap_error *err);
	/* A new task, stopped: its event. NULL: it needs none of its own. */
	int (*task_new)(struct auxtap_session *s, const struct auxtap_target_event *ev,
			struct auxtap_error *err);
	/* Crash mode: adds a record to what is known of the process that it is about. */
	int (*keep_record)(struct auxtap_session *s, struct stream *st, const void *record);
	/* The identifiers of events in the snapshot of a process. */
	int (*list_ids)(struct auxtap_session *s, struct trace_file *file, pid_t pid);
};

extern const struct layout_ops layout_per_thread, layout_per_cpu;
/* Whatever runs on the CPUs, not a program or process. */
extern const struct layout_ops layout_system_wide;

#define MAX_ATTRS	3
#define PAUSES_MAX	64
#define PENDING_SIGNALS 65 /* numbers 1 to 64 */

struct auxtap_session {
	struct auxtap_backend *be;
	struct auxtap_session_opts opts;
	const struct recorder_ops *recorder;
	const struct layout_ops *layout;
	struct capture_event event;
	/* [0] the trace event, [1] the kernel's dummy, [2] that of other CPUs */
	struct perf_event_attr attrs[MAX_ATTRS];
	int nr_attrs;
	size_t page_size;
	uint64_t data_bytes, aux_bytes;
	char comm[16]; /* of the program that is started */

	struct stream **streams;
	size_t nr_streams, max_streams;
	uint32_t next_idx;
	size_t ring_bytes;
	struct pollfd *poll_fds;
	size_t max_poll_fds;

	struct trace_file file;		/* full trace and snapshots */
	struct process_table processes; /* crash mode */
	struct mapped_ids mapped_ids;
	unsigned char *vdso;
	size_t vdso_size;
	/* Crash, per CPU: when all were off for a snapshot; beyond the limit, the last in one. */
	struct {
		uint64_t from, to;
	} pauses[PAUSES_MAX];
	unsigned int nr_pauses;
	char **snapshot_paths; /* crash: those kept, oldest first */
	unsigned int nr_snapshot_paths, max_snapshot_paths;
	uint64_t nr_files; /* crash: snapshots begun */
	char *unit_lines;  /* lines of the CAPTURE record: each unit's bytes */
	size_t unit_lines_len;
	unsigned int nr_unit_lines;
	struct auxtap_unit_stats other_units; /* of those beyond the lines, together */
	uint64_t nr_other_units;

	int control_fd;
	volatile sig_atomic_t want_snapshot;
	volatile sig_atomic_t pending_signals[PENDING_SIGNALS]; /* by number; set by the handler */
	volatile pid_t signal_senders[PENDING_SIGNALS];		/* of the newest, and its user */
	volatile uid_t signal_users[PENDING_SIGNALS];

	pid_t main_pid;
	bool spawned, released;
	int failed; /* tracing ended: negative errno, described in failure */
	struct auxtap_error failure;
	int snapshot_errno; /* negative errno of the first that could not be written */
	struct auxtap_error snapshot_error;
	bool snapshot_error_reported; /* it went to on_no_snapshot */
	uint64_t last_time;	      /* of the newest record seen */
	struct auxtap_session_stats stats;
	uint64_t started_ns, progress_ns;
	bool progress_shown;
	_Alignas(8) unsigned char record[65536]; /* one record, out of the ring */
	_Alignas(8) unsigned char rewritten[65536 + 4096];
};

/* session_streams.c */
void session_init_attrs(struct auxtap_session *s);
struct stream *session_find_stream(struct auxtap_session *s, pid_t tid);
/* NULL: no memory. */
struct stream *session_add_stream(struct auxtap_session *s, pid_t pid, pid_t tid, int cpu);
int session_map_rings(struct auxtap_session *s, struct stream *st, bool aux,
		      struct auxtap_error *err);
int session_read_event_id(struct auxtap_session *s, int fd, int attr_index, uint64_t *id,
			  struct auxtap_error *err);
int session_begin_file(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
/* What the kernel's refusal to open an event means. */
int session_open_error(struct auxtap_session *s, const struct perf_event_attr *attr, pid_t tid,
		       int code, struct auxtap_error *err);
bool session_cpu_selected(const char *list, int cpu);
/* The event also records names, mappings and tasks. */
void session_enable_sideband(struct perf_event_attr *attr);
int session_enable(struct auxtap_session *s, struct stream *st, bool on);
void session_stop_stream(struct auxtap_session *s, struct stream *st);
void session_close_stream(struct auxtap_session *s, struct stream *st);
void session_close_streams(struct auxtap_session *s);

/* session_drain.c: negative returns are file errors, described in *err */
int session_drain_data(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
/*
 * All data rings, then all AUX areas, then FINISHED_ROUND and its commit: a kill loses nothing that
 * was drained.
 */
int session_drain_round(struct auxtap_session *s, struct auxtap_error *err);
int session_write_auxtrace(struct auxtap_session *s, struct trace_file *file,
			   const struct stream *st, const struct auxtap_span *span, uint64_t offset,
			   struct auxtap_error *err);
/* The head of an AUXTRACE record with bytes of the stream from offset on. */
struct auxtap_auxtrace session_auxtrace_header(const struct auxtap_session *s,
					       const struct stream *st, uint64_t offset);
void session_write_gap(struct trace_file *file, const struct auxtap_gap *gap);
/* What the stream's unit did; false: unknown. */
bool session_unit_stats(struct auxtap_session *s, const struct stream *st,
			struct auxtap_unit_stats *stats);
/* The program ran on while its event was off, since st->paused_since: a gap. */
void session_write_pause_gap(struct auxtap_session *s, struct stream *st);
/* poll() has returned, with this for the stream. */
void session_after_poll(struct auxtap_session *s, struct stream *st, short revents);
/* The stream is closed. */
void session_write_wakeup_log(struct auxtap_session *s, struct stream *st);
/* A stream ends: what its unit did, for the CAPTURE record. */
void session_keep_unit_stats(struct auxtap_session *s, struct stream *st);
/* What the unit dropped since it was last asked, as a gap. */
void session_write_dropped_gap(struct auxtap_session *s, struct stream *st);

/* recorder_linear.c */
/* The recorders with one file: the record goes into it. */
int session_file_record(struct auxtap_session *s, struct stream *st, const void *record,
			struct auxtap_error *err);
int session_file_synthesised_record(struct auxtap_session *s, pid_t pid, const void *record,
				    struct auxtap_error *err);

/* recorder_snapshot.c */
/* The newest bytes of an area whose event is disabled; *offset: where they lie in the stream. */
void session_newest_trace(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
			  uint64_t *offset);

/* session_ended.c: threads that end before their process */
/* The thread's event is off; its ring is about to be closed. */
void session_keep_exited_thread(struct auxtap_session *s, struct stream *st);
/* Their newest trace, as far as it is kept. */
int session_write_exited_threads(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 struct auxtap_error *err);
/* Gaps for what of their trace is not in the file; the oldest of many threads in one. */
void session_write_exited_thread_gaps(struct auxtap_session *s, struct trace_file *file, pid_t pid);

/* session_file.c */
int trace_file_create(struct auxtap_session *s, struct trace_file *file, const char *path,
		      struct auxtap_error *err);
/* AUXTRACE_INFO and all before it; page: for the time conversion. */
int trace_file_begin(struct auxtap_session *s, struct trace_file *file,
		     const struct perf_event_mmap_page *page, struct auxtap_error *err);
/* One record, vdso renamed and build-id looked up. */
int trace_file_record(struct auxtap_session *s, struct trace_file *file, const void *record,
		      struct auxtap_error *err);
int trace_file_finish(struct auxtap_session *s, struct trace_file *file, struct auxtap_error *err);
void trace_file_abort(struct trace_file *file);
/* Keep a copy of the program's vdso while its process can be read. */
void session_save_vdso(struct auxtap_session *s, const struct map_list *maps, pid_t pid);

/* session.c: what is known of a process; NULL: this recorder does not remember processes */
struct process *session_process(struct auxtap_session *s, pid_t pid);

/* session_crash.c */
bool signal_dumps_core(int signo);
/* Memory of a dead process into its snapshot (session_stack.c). */
/* Code that the process wrote at run time, as it was executed last. */
void session_write_generated_code(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				  const struct map_list *maps);
/* session_names.c */
void session_write_code_names(struct trace_file *file, pid_t pid, const struct map_list *maps);
void session_write_memory(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			  uint64_t addr, size_t size);
/* The stack of a thread with registers r: max bytes from sp up, and less of where it goes on. */
void session_write_stack(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			 const struct map_list *maps, const struct auxtap_regs *r, size_t max);
/* session_operand.c: the word of memory that the instruction at which a thread died reads. */
void session_write_operand(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			   const struct auxtap_regs *r);
/*
 * x86-64: the address of the word that the instruction at code reads, a near call or jump or a
 * division with an operand in memory. False: another instruction, or it is unknown.
 */
bool x86_word_operand(const unsigned char *code, size_t nr, const struct auxtap_regs *r,
		      uint64_t *addr);
/* session_memory.c: memory that pointers lead to. NULL: no memory, and nothing is done. */
struct reachable *reachable_new(const struct map_list *maps);
void reachable_free(struct reachable *r);
void reachable_add_program(struct reachable *r, const struct auxtap_backend *be, pid_t pid,
			   pid_t tid, const struct map_list *maps);
void reachable_add_words(struct reachable *r, const void *bytes, size_t size);
/* These bytes are in the file already. */
void reachable_mark_saved(struct reachable *r, uint64_t addr, size_t size);
/* Writes all that was found. True: not all of it is there. */
bool reachable_write(struct reachable *r, struct auxtap_session *s, struct trace_file *file,
		     pid_t pid);
/* The message of abort(), if the C library has one. */
void session_write_abort_message(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 const struct map_list *maps);
/* The C++ exception that the thread handles, if it is certain what it is. */
void session_write_exception(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			     pid_t tid, const struct map_list *maps);
/* Which memory of a dying process a file gets. */
enum auxtap_memory session_memory(const struct auxtap_session *s);
/* Who threw the C++ exception with that object, if that is known. */
void session_write_throw_call(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			      uint64_t object);
/*
 * The blocks of the heap that the dying thread's registers and the fault's address point into, and
 * those that were written past their end.
 */
void session_write_heap_blocks(struct auxtap_session *s, struct trace_file *file,
			       const struct auxtap_crash *crash, const struct map_list *maps);
/*
 * Emulated: a death that the engine saw only when all was over. No thread was stopped, and the
 * rings are gone: a crash without a snapshot, of an unknown thread.
 */
void session_report_unseen_crash(struct auxtap_session *s, const struct auxtap_target_event *ev);
/*
 * Writes the snapshot of a process that is stopped before its death (or, with rings per CPU, just
 * gone): events off, data rings drained, file, report (on_snapshot), core file, in this order; the
 * caller resumes the process only then. After an error the file may exist all the same, without
 * the trace that did not fit.
 */
int session_save_crash(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       struct auxtap_error *err);
/* The user asks for it: of each process that is traced, while it runs. */
int session_save_on_request(struct auxtap_session *s, struct auxtap_error *err);
/* The emulator is gone, and with it the deaths to come: a file for each process, as they run on. */
int session_save_all_processes(struct auxtap_session *s, struct auxtap_error *err);

/* session_attach.c: records for what was there before the events were. Emulated: */
int session_synthesise(struct auxtap_session *s, struct stream *st, pid_t pid, pid_t tid,
		       const char *comm, bool whole_process, struct auxtap_error *err);
/* Of the running kernel: a thread, with what its process has mapped or without; every thread. */
int session_synthesise_thread(struct auxtap_session *s, struct stream *st, pid_t tid,
			      bool whole_process, struct auxtap_error *err);
int session_synthesise_all(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);

/* session_signals.c: sends the signals that the handlers have noted to the program. */
void session_forward_signals(struct auxtap_session *s);

#endif
