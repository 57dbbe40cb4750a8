/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of a capture session, shared by session*.c, recorder_*.c and layout_*.c: the streams
 * (each a data ring and an AUX area, of a thread or of a CPU), the trace file that is written, and
 * the state of the traced processes. Rule numbers (D21) refer to docs/kernel-rules.md.
 */
#ifndef AUXTAP_CAPTURE_SESSION_H
#define AUXTAP_CAPTURE_SESSION_H

#include "event_parser.h"
#include "mapped_build_ids.h"
#include "ring_private.h"
#include "sideband_write.h"

#include <auxtap/capture.h>
#include <auxtap/gap.h>
#include <auxtap/perfdata.h>

#define LAST_SNAP_BYTES 64
#define MAX_GAPS	65536 /* in a file; one more is the sum of the rest */

struct trace_file;
struct reachable;

/* An event with its data ring and AUX area, of a thread or a CPU: struct layout_ops. */
struct stream {
	pid_t pid, tid; /* tid -1: per CPU */
	int cpu;	/* -1: per thread */
	uint32_t idx;
	int fd;
	uint64_t id;
	struct output_event { /* other events that write into this ring (SET_OUTPUT) */
		int fd;
		bool traces; /* opened with attrs[0]; else it is the dummy */
		uint64_t id;
	} * output_events;
	int nr_output_events, max_output_events;
	void *base, *aux;
	size_t base_size, aux_size;
	struct auxtap_ring ring;
	bool sideband_only;  /* the ring of a CPU that is not traced */
	bool disabled;	     /* the session disabled it and never enables it again */
	bool needs_reenable; /* D21: truncated; disable and enable it after the next drain */
	bool hung_up;	     /* POLLHUP: no more wakeups */
	bool unsaved;	     /* crash: the snapshot being written lacks its trace */
	uint64_t truncated_time;
	uint64_t opened_after;	/* time of the newest record when it was opened */
	uint64_t last_snap_end; /* offset in the AUX stream where the last snapshot ended */
	/* The last bytes of that snapshot, to find it in the next one: find_last_snapshot_end(). */
	unsigned char last_snap_bytes[LAST_SNAP_BYTES];
	size_t nr_last_snap_bytes;
	uint64_t paused_since; /* when the session disabled the event temporarily */
	struct auxtap_unit_stats stats_at_last_gap; /* the counters at the last gap record */
	struct wakeup_log {			    /* session_wakeups.c */
		struct auxtap_wakeup *list;
		size_t nr, max;
		uint64_t nr_all;
		uint64_t aux_head;    /* the head at the last return of poll() */
		bool awaiting_wakeup; /* the head passed a watermark, poll() has not reported it */
		bool stopped;	      /* a truncation was seen since the last entry */
	} wakeups;
	/* Rounds without AUX progress: the event may be OFF (D6, D21). */
	uint64_t stall_aux_abs;
	unsigned int stall_rounds, stall_limit;
};

/* A file that is being written. */
struct trace_file {
	struct auxtap_perfdata_writer *writer; /* NULL: none */
	char path[4096];
	char vdso_path[4096]; /* absolute path of the copy of the vdso beside the file */
	bool vdso_written;
	bool begun;			  /* its header is written */
	uint64_t nr_exited_without_trace; /* crash: exited threads whose trace the file lacks */
	uint64_t nr_gaps;
	struct auxtap_gap gap_sum; /* the sum of the gaps beyond MAX_GAPS */
	bool open_round;	   /* something was written since the last FINISHED_ROUND */
	struct string_set build_ids_seen;
	struct reachable *reachable; /* --memory reachable; NULL: not now */
	bool memory_incomplete;	     /* more pages were reachable than the limit allows */
};

/*
 * Which part of the trace a session keeps, and where. The session reads the data rings in every
 * round; the recorder decides what happens to their records and to the AUX areas. An operation may
 * be NULL only where its comment says so.
 */
struct recorder_ops {
	const char *name; /* "full", "snapshot", "crash": in perfdata/capture_lines.h */
	bool overwrite;	  /* the unit overwrites the oldest bytes of the AUX areas */
	/*
	 * One file for each crash, written when it happens; until then the records of each process
	 * are in s->processes. Otherwise one file from the start, s->file.
	 */
	bool per_crash;
	/* A record from the stream's data ring; a record that the session synthesised for pid. */
	int (*record)(struct auxtap_session *s, struct stream *st, const void *record,
		      struct auxtap_error *err);
	int (*synthesised_record)(struct auxtap_session *s, pid_t pid, const void *record,
				  struct auxtap_error *err);
	/* Reads a stream's AUX area, in every round. NULL: it is not read while the event is on. */
	int (*drain)(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
	/* A snapshot is requested, or the session ends (per_crash: the user stops it). Or NULL. */
	int (*snapshot)(struct auxtap_session *s, struct auxtap_error *err);
	/* A new process, stopped before its first instruction. NULL: ignored. */
	int (*process_forked)(struct auxtap_session *s, const struct auxtap_target_event *ev,
			      struct auxtap_error *err);
	/* The thread's event is off, and its rings are about to be closed. */
	int (*thread_exited)(struct auxtap_session *s, struct stream *st,
			     const struct auxtap_target_event *ev, struct auxtap_error *err);
	/* A fatal signal is about to kill the process, which is stopped. NULL: only counted. */
	void (*process_crashes)(struct auxtap_session *s, const struct auxtap_target_event *ev);
	/* Called before the rings of the process's threads are closed. NULL: ignored. */
	void (*process_exited)(struct auxtap_session *s, const struct auxtap_target_event *ev);
	/* The backend died; its rings can still be read. NULL: their trace is in the file. */
	int (*backend_died)(struct auxtap_session *s, struct auxtap_error *err);
};

/* Members added to struct auxtap_target_ops later: a caller's struct may lack them. */
#define TARGET_HAS(ops, member) \
	((ops)->size >= SIZED_UP_TO(struct auxtap_target_ops, member) && (ops)->member)

/* recorder_linear records a full trace: perf calls an AUX area that is not overwritten linear. */
extern const struct recorder_ops recorder_linear, recorder_snapshot, recorder_crash;

/*
 * Whether each thread or each CPU has a stream, and which events write into its rings. An operation
 * may be NULL only where its comment says so.
 */
struct layout_ops {
	/* Each stream belongs to a CPU: processes share it, and it outlives each of them. */
	bool per_cpu;
	unsigned int sched_switch; /* as in struct capture_rings */
	/* Completes attrs[0]; adds the attributes of the events that share its ring. */
	void (*attrs)(struct auxtap_session *s);
	/* Opens the events of the program that was started; of what runs already. */
	int (*open_program)(struct auxtap_session *s, struct auxtap_error *err);
	int (*attach)(struct auxtap_session *s, struct auxtap_error *err);
	/* Opens the event of a new task, which is stopped. NULL: a task has no event of its own. */
	int (*task_new)(struct auxtap_session *s, const struct auxtap_target_event *ev,
			struct auxtap_error *err);
	/* Crash mode: keeps a record with the other records of its process. */
	int (*keep_record)(struct auxtap_session *s, struct stream *st, const void *record);
	/* Adds the ids of the events to the snapshot of a process. */
	int (*list_ids)(struct auxtap_session *s, struct trace_file *file, pid_t pid);
};

extern const struct layout_ops layout_per_thread, layout_per_cpu;
/* All tasks on the CPUs, not those of one program or process. */
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
	/* [0] the trace event, [1] the dummy event, [2] the dummy of CPUs that are not traced */
	struct perf_event_attr attrs[MAX_ATTRS];
	int nr_attrs;
	size_t page_size;
	uint64_t data_bytes, aux_bytes;
	char comm[16]; /* name of the program that is started */

	struct stream **streams;
	size_t nr_streams, max_streams;
	uint32_t next_idx;
	size_t ring_bytes;
	struct pollfd *poll_fds;
	size_t max_poll_fds;

	struct trace_file file;		/* unless recorder->per_crash */
	struct process_table processes; /* crash mode */
	struct mapped_build_ids mapped_build_ids;
	unsigned char *vdso;
	size_t vdso_size;
	/*
	 * Crash mode, per CPU: when all events were off for a snapshot. Once the array is full, the
	 * last entry is extended.
	 */
	struct {
		uint64_t from, to;
	} pauses[PAUSES_MAX];
	unsigned int nr_pauses;
	char **snapshot_paths; /* crash: the files that are kept, oldest first */
	unsigned int nr_snapshot_paths, max_snapshot_paths;
	uint64_t nr_files; /* crash: snapshots begun */
	char *unit_lines;  /* AUXTAP_METADATA_CAPTURE: each unit's byte counts */
	size_t unit_lines_len;
	unsigned int nr_unit_lines;
	struct auxtap_unit_stats other_units; /* the sum of the units without a line */
	uint64_t nr_other_units;

	int control_fd; /* eventfd: wakes the loop for a signal or a requested snapshot */
	volatile sig_atomic_t want_snapshot;
	volatile sig_atomic_t
		pending_signals[PENDING_SIGNALS];	/* by signal number; set by the handler */
	volatile pid_t signal_senders[PENDING_SIGNALS]; /* who sent the newest one */
	volatile uid_t signal_users[PENDING_SIGNALS];

	pid_t main_pid;
	bool spawned;  /* the program was started by the session */
	bool released; /* it runs; it had waited for its events */
	int failed;    /* tracing ended: negative errno, described in failure */
	struct auxtap_error failure;
	int snapshot_errno; /* negative errno of the first snapshot that could not be written */
	struct auxtap_error snapshot_error;
	bool snapshot_error_reported; /* on_no_snapshot was called with it */
	uint64_t last_time;	      /* of the newest record seen */
	struct auxtap_session_stats stats;
	uint64_t started_ns, progress_ns;
	bool progress_shown;
	_Alignas(8) unsigned char record[65536]; /* one record, copied from the ring */
	_Alignas(8) unsigned char rewritten[65536 + 4096];
};

/* session_streams.c */
void session_init_attrs(struct auxtap_session *s);
struct stream *session_find_stream(struct auxtap_session *s, pid_t tid);
/* Returns NULL if there is no memory. */
struct stream *session_add_stream(struct auxtap_session *s, pid_t pid, pid_t tid, int cpu);
int session_map_rings(struct auxtap_session *s, struct stream *st, bool aux,
		      struct auxtap_error *err);
int session_read_event_id(struct auxtap_session *s, int fd, int attr_index, uint64_t *id,
			  struct auxtap_error *err);
int session_begin_file(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
/* Explains in *err why the kernel refused to open an event. Returns code. */
int session_open_error(struct auxtap_session *s, const struct perf_event_attr *attr, pid_t tid,
		       int code, struct auxtap_error *err);
bool session_cpu_selected(const char *list, int cpu);
/* Makes the event record names, mappings, forks and exits, too. */
void session_enable_sideband(struct perf_event_attr *attr);
/* Enables the stream's event and those that share its rings; on false: disables the former. */
int session_enable(struct auxtap_session *s, struct stream *st, bool on);
/* Disables every event that traces into the stream's rings, for good: what follows is drained. */
void session_stop_stream(struct auxtap_session *s, struct stream *st);
void session_close_stream(struct auxtap_session *s, struct stream *st);
void session_close_streams(struct auxtap_session *s);

/* session_drain.c: a negative return is a file error, described in *err */
int session_drain_data(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);
/*
 * Drains all data rings, then all AUX areas, then writes FINISHED_ROUND and commits the file: if
 * auxtap is killed, nothing that was drained is lost.
 */
int session_drain_round(struct auxtap_session *s, struct auxtap_error *err);
int session_write_auxtrace(struct auxtap_session *s, struct trace_file *file,
			   const struct stream *st, const struct auxtap_span *span, uint64_t offset,
			   struct auxtap_error *err);
/* The header of an AUXTRACE record with bytes of the AUX stream from offset on. */
struct auxtap_auxtrace session_auxtrace_header(const struct auxtap_session *s,
					       const struct stream *st, uint64_t offset);
void session_write_gap(struct trace_file *file, const struct auxtap_gap *gap);
/* The counters of the stream's trace unit. False: unknown. */
bool session_unit_stats(struct auxtap_session *s, const struct stream *st,
			struct auxtap_unit_stats *stats);
/* Writes a gap if the program ran while its event was off, since st->paused_since. */
void session_write_pause_gap(struct auxtap_session *s, struct stream *st);
/* Logs the wakeup after poll() has returned, with revents for the stream. */
void session_after_poll(struct auxtap_session *s, struct stream *st, short revents);
/* Writes the stream's log of wakeups; the stream is about to be closed. */
void session_write_wakeup_log(struct auxtap_session *s, struct stream *st);
/* Keeps the unit's counters of a stream that is closed, for the record AUXTAP_METADATA_CAPTURE. */
void session_keep_unit_stats(struct auxtap_session *s, struct stream *st);
/* Writes a gap for the bytes that the unit dropped since the last call. */
void session_write_dropped_gap(struct auxtap_session *s, struct stream *st);

/* recorder_linear.c */
/* Write the record to s->file: for recorders with one file. */
int session_file_record(struct auxtap_session *s, struct stream *st, const void *record,
			struct auxtap_error *err);
int session_file_synthesised_record(struct auxtap_session *s, pid_t pid, const void *record,
				    struct auxtap_error *err);

/* recorder_snapshot.c */
/* The newest bytes of an area whose event is disabled; *offset: their offset in the AUX stream. */
void session_newest_trace(struct auxtap_session *s, struct stream *st, struct auxtap_span *span,
			  uint64_t *offset);

/* session_exited.c: threads that exit before their process */
/* Keeps the newest trace of a thread whose event is off and whose rings are about to be closed. */
void session_keep_exited_thread(struct auxtap_session *s, struct stream *st);
/* Writes the trace that was kept of the process's exited threads. */
int session_write_exited_threads(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 struct auxtap_error *err);
/* Writes gaps for their trace that is not in the file; one gap for all that EXITED_MAX excludes. */
void session_write_exited_thread_gaps(struct auxtap_session *s, struct trace_file *file, pid_t pid);

/* session_file.c */
int trace_file_create(struct auxtap_session *s, struct trace_file *file, const char *path,
		      struct auxtap_error *err);
/* Writes AUXTRACE_INFO and everything before it; page has the time conversion. */
int trace_file_begin(struct auxtap_session *s, struct trace_file *file,
		     const struct perf_event_mmap_page *page, struct auxtap_error *err);
/* Writes a record; the vdso is renamed and build-ids are looked up. */
int trace_file_record(struct auxtap_session *s, struct trace_file *file, const void *record,
		      struct auxtap_error *err);
int trace_file_finish(struct auxtap_session *s, struct trace_file *file, struct auxtap_error *err);
void trace_file_abort(struct trace_file *file);
/* Keeps a copy of the program's vdso while the memory of its process can be read. */
void session_save_vdso(struct auxtap_session *s, const struct map_list *maps, pid_t pid);

/* session.c: the kept records of a process; NULL: this recorder keeps none */
struct process *session_process(struct auxtap_session *s, pid_t pid);

/* session_crash.c */
bool signal_dumps_core(int signo);
/* session_memory.c: code that the process generated at run time, as it was executed last */
void session_write_generated_code(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				  const struct map_list *maps);
/* session_names.c: names of that code, as JIT compilers write them to files */
void session_write_code_names(struct trace_file *file, pid_t pid, const struct map_list *maps);
/* session_stack.c: writes memory of a stopped process to its snapshot. */
void session_write_memory(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			  uint64_t addr, size_t size);
/*
 * The stack of a thread with registers r: max bytes from sp up, and up to max / 4 bytes of each
 * stack that a signal interrupted (sigaltstack) and of the frame that the frame pointer points to.
 */
void session_write_stack(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			 const struct map_list *maps, const struct auxtap_regs *r, size_t max);
/* session_operand.c: the memory operand of the call, jump or division at which a thread died */
void session_write_operand(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			   const struct auxtap_regs *r);
/*
 * x86-64: the address of the word that the instruction at code reads, if that is a near call or
 * jump or a division with an operand in memory. False: it is not, or the address is unknown.
 */
bool x86_word_operand(const unsigned char *code, size_t nr, const struct auxtap_regs *r,
		      uint64_t *addr);
/*
 * session_memory.c: the pages that pointers lead to. reachable_new() returns NULL if there is no
 * memory; reachable_free(), reachable_add_words() and reachable_mark_saved() accept NULL.
 */
struct reachable *reachable_new(const struct map_list *maps);
void reachable_free(struct reachable *r);
/* Adds the program's writable data: .data and .bss. */
void reachable_add_program(struct reachable *r, const struct auxtap_backend *be, pid_t pid,
			   pid_t tid, const struct map_list *maps);
/* Adds the pages that these words point into, taken as pointers. */
void reachable_add_words(struct reachable *r, const void *bytes, size_t size);
/* These bytes are in the file already. */
void reachable_mark_saved(struct reachable *r, uint64_t addr, size_t size);
/* Writes the pages that were found. True: there were more than the limit allows. */
bool reachable_write(struct reachable *r, struct auxtap_session *s, struct trace_file *file,
		     pid_t pid);
/* abort_message.c: the message that glibc printed before it called abort() */
void session_write_abort_message(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				 const struct map_list *maps);
/* exception.c: the C++ exception that the thread handles, if it can be identified */
void session_write_exception(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			     pid_t tid, const struct map_list *maps);
/* Which memory of a crashing process its file contains. */
enum auxtap_memory session_memory(const struct auxtap_session *s);
/* heap_blocks.c: the call that threw the C++ exception with that object, if it was seen */
void session_write_throw_call(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			      uint64_t object);
/*
 * The heap blocks that the fault address and the crashing thread's registers and stack point into,
 * and those that were written past their end.
 */
void session_write_heap_blocks(struct auxtap_session *s, struct trace_file *file,
			       const struct auxtap_crash *crash, const struct map_list *maps);
/*
 * Reports a crash that the engine noticed only after the process had ended. No thread was stopped
 * and the rings are closed, so there is no snapshot, and the thread is unknown.
 */
void session_report_unseen_crash(struct auxtap_session *s, const struct auxtap_target_event *ev);
/*
 * Writes the snapshot of a process that is stopped before its death (or, with rings per CPU, has
 * just ended): disables the events, drains the data rings, writes the file, calls on_snapshot (the
 * report) and writes the core file, in this order. The caller resumes the process afterwards. After
 * an error the file may exist, without the trace that did not fit.
 */
int session_save_crash(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       struct auxtap_error *err);
/* Writes a snapshot of each traced process while it runs, because the user asked for it. */
int session_save_on_request(struct auxtap_session *s, struct auxtap_error *err);
/* The emulator died, so no later crash can be seen: writes one file for each process now. */
int session_save_all_processes(struct auxtap_session *s, struct auxtap_error *err);

/*
 * session_attach.c: synthesises records for tasks and mappings that are older than the events. For
 * a process whose name and pid are known:
 */
int session_synthesise(struct auxtap_session *s, struct stream *st, pid_t pid, pid_t tid,
		       const char *comm, bool whole_process, struct auxtap_error *err);
/* For a thread found in /proc, with or without its process's mappings; for all of /proc. */
int session_synthesise_thread(struct auxtap_session *s, struct stream *st, pid_t tid,
			      bool whole_process, struct auxtap_error *err);
int session_synthesise_all(struct auxtap_session *s, struct stream *st, struct auxtap_error *err);

/* session_signals.c: sends the program the signals that the handlers have recorded. */
void session_forward_signals(struct auxtap_session *s);

#endif
