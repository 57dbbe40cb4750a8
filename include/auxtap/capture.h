/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture: open trace events on a program, consume their rings, write perf.data.
 *
 * A session uses two tables of functions: the kernel's perf interface (struct auxtap_perf_ops: the
 * system calls, or the emulated kernel) and the control of the traced program (struct
 * auxtap_target_ops: native, or emulated by ptrace or qemu).
 * Thread safety: a session and the contexts of its ops belong to one thread.
 */
#ifndef AUXTAP_CAPTURE_H
#define AUXTAP_CAPTURE_H

#include <auxtap/crash.h>
#include <auxtap/error.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exact statistics of the trace unit of one event; only the emulated backend knows them. */
struct auxtap_unit_stats {
	size_t size;
	uint64_t nr_produced; /* packet bytes */
	uint64_t nr_written;  /* reached the AUX area */
	uint64_t nr_dropped;  /* produced while the output was stopped */
	uint64_t nr_insns;    /* executed by the task */
	uint64_t nr_untraced; /* of these, while the event was disabled */
};

/* The kernel's perf interface. Results and errnos (negative) are those of the system calls. */
struct auxtap_perf_ops {
	size_t size;
	const char *name; /* "kernel" or "emulated" */
	/* Returns a file descriptor that poll() understands. */
	int (*open)(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags);
	/* NULL and *error on failure. */
	void *(*mmap)(void *ctx, size_t length, int prot, int flags, int fd, off_t offset,
		      int *error);
	int (*munmap)(void *ctx, void *addr, size_t length);
	int (*ioctl)(void *ctx, int fd, unsigned long request, unsigned long arg);
	/* As poll(2); fds may hold ordinary descriptors too. */
	int (*poll)(void *ctx, struct pollfd *fds, nfds_t nr, int timeout_ms);
	ssize_t (*read)(void *ctx, int fd, void *buf, size_t size);
	int (*close)(void *ctx, int fd);
	/*
	 * Reads an attribute of a PMU as in sysfs: "type", "format/cyc", "caps/…". Returns the
	 * length or -errno.
	 */
	ssize_t (*pmu_attr)(void *ctx, const char *pmu, const char *attr, char *buf, size_t size);
	/* The current time of the clock that records use. */
	uint64_t (*clock)(void *ctx);
	/* stats->size is set, and stays. NULL: unknown. */
	int (*unit_stats)(void *ctx, int fd, struct auxtap_unit_stats *stats);
	/* Only nr_written of unit_stats, even after the emulator has died. May be NULL. */
	int (*unit_written)(void *ctx, int fd, uint64_t *nr_bytes);
	/* An emulated kernel: events of threads, not of CPUs; user mode only; a time of its own. */
	bool emulated;
};

enum auxtap_target_event_type {
	AUXTAP_TARGET_NONE,
	AUXTAP_TARGET_THREAD, /* a new thread, stopped before its first instruction */
	AUXTAP_TARGET_FORK,   /* a new process, stopped before its first instruction */
	AUXTAP_TARGET_EXEC,   /* exec done, stopped before the new image runs */
	/* a synchronous fault entered the program's handler; the thread is not stopped */
	AUXTAP_TARGET_FAULT,
	AUXTAP_TARGET_DYING, /* a core-dumping signal will kill pid, or SIGKILL for its memory
			      * (limit_bytes); its threads are stopped and readable until
			      * resume() */
	AUXTAP_TARGET_THREAD_EXIT,
	AUXTAP_TARGET_PROCESS_EXIT, /* status as of waitpid() */
	/* a notice about the process: .notice says of what kind, .text why */
	AUXTAP_TARGET_NOTICE,
};

/* What AUXTAP_TARGET_NOTICE is about. */
enum auxtap_target_notice {
	AUXTAP_NOTICE_UNTRACED, /* the process can no longer be traced: a gap */
	/* The trace goes on; the process's file of executed addresses (truth_path) does not. */
	AUXTAP_NOTICE_TRUTH_ENDED,
	/* The trace goes on; the engine refused a request that Linux would not. */
	AUXTAP_NOTICE_REQUEST_REFUSED,
	/* The trace goes on; a set-user-ID program runs without its privileges. */
	AUXTAP_NOTICE_UNPRIVILEGED,
};

struct auxtap_target_event {
	size_t size;
	enum auxtap_target_event_type type;
	pid_t pid, tid;
	pid_t parent_pid, parent_tid; /* THREAD, FORK */
	int signo;		      /* FAULT, DYING */
	int status;		      /* PROCESS_EXIT */
	uint64_t time, ip;	      /* FAULT, DYING */
	char comm[16];
	enum auxtap_target_notice notice; /* NOTICE */
	bool emulator_limit; /* DYING: it needed what the emulator does not support; .text: what */
	char text[128];
	uint64_t limit_bytes; /* DYING of SIGKILL: the session used more memory than this; 0: no */
	int frame_signo;      /* DYING of SIGSEGV: the handled signal whose frame did not fit on the
				 stack; 0: none */
	bool emulator_crashed; /* DYING: the emulator itself crashed: no registers are known */
};

/* What only the engine knows of a process that it emulates. */
struct auxtap_target_facts {
	size_t size;
	/* Where its address 0 is in the memory of the process of this machine that executes it. */
	uint64_t base;
	/* The stack pointer at its first instruction, where argc is; 0: unknown. */
	uint64_t stack;
	uint64_t core_limit; /* RLIMIT_CORE; UINT64_MAX: unlimited */
	bool has_core_limit; /* else that of the process of this machine */
	/* It is not known how much the thread executed of the newest block of its log of values. */
	bool is_cut_off;
};

/* argv[0] is searched in PATH by the implementation; stdin, stdout and stderr are inherited. */
struct auxtap_spawn {
	size_t size;
	char *const *argv;
	/* emulated only: write executed addresses to PATH.TID per thread; NULL: do not */
	const char *truth_path;
};

/* Control of the traced program. ptrace is owned by exactly one implementation of this. */
struct auxtap_target_ops {
	size_t size;
	const char *name; /* "native", "ptrace", "qemu" */
	/*
	 * Called before spawn or attach if deaths are to be reported as DYING. NULL: they always
	 * are. The death of a process that it is not permitted to trace is only a PROCESS_EXIT.
	 */
	int (*report_deaths)(void *ctx, struct auxtap_error *err);
	/*
	 * Starts argv stopped before its first instruction. -ENOENT and -EACCES as execvp(), and
	 * the error's subject is AUXTAP_ERROR_PROGRAM.
	 */
	int (*spawn)(void *ctx, const struct auxtap_spawn *spawn, pid_t *pid,
		     struct auxtap_error *err);
	/*
	 * A whole process, or one thread; truth_path as in spawn. The emulated engines report
	 * existing threads as THREAD events with parent 0, stopped.
	 */
	int (*attach)(void *ctx, pid_t pid, bool one_thread, const char *truth_path,
		      struct auxtap_error *err);
	/* Readable when wait() has an event. */
	int (*fd)(void *ctx);
	/*
	 * Never blocks. 1: *ev is filled; 0: nothing; -ECHILD: no traced process is left. ev->size
	 * is set, and stays.
	 */
	int (*wait)(void *ctx, struct auxtap_target_event *ev);
	/* The next four: the thread must be stopped by THREAD, FORK, EXEC or DYING. */
	int (*regs)(void *ctx, pid_t tid, struct auxtap_regs *regs);
	/* info: a siginfo_t, which C11 without POSIX does not have. */
	int (*siginfo)(void *ctx, pid_t tid, void *info);
	/* Text of /proc/PID/maps as the program sees it; the caller frees *text. */
	int (*maps)(void *ctx, pid_t pid, char **text);
	ssize_t (*mem)(void *ctx, pid_t pid, uint64_t addr, void *buf, size_t size);
	/*
	 * Threads of a process, in ascending order; returns their number, fills at most max.
	 */
	int (*threads)(void *ctx, pid_t pid, pid_t *tids, int max);
	/* -ESRCH: killed since it stopped; its exit event follows, no action is needed. */
	int (*resume)(void *ctx, pid_t tid);
	int (*signal)(void *ctx, pid_t pid, int signo);
	int (*detach)(void *ctx, pid_t pid);
	/* All processes of the system, as threads(). NULL: whole CPUs cannot be traced. */
	int (*processes)(void *ctx, pid_t *pids, int max);
	/*
	 * Forwards a signal that the caller received to the program that spawn() started, unless
	 * the program received the same signal itself. info: a siginfo_t. NULL: the caller uses
	 * signal().
	 */
	int (*forward)(void *ctx, pid_t pid, const void *info);
	/* The processor of this machine executes the programs: those for another one cannot run. */
	bool host_arch_only;
	/* The kernel of this machine runs them: with its vdso. */
	bool native;
	/*
	 * Registers as the kernel writes them into the note of this type (NT_PRSTATUS: the general
	 * ones) of a core file; the thread is stopped. size: of buf, then of what is known. NULL,
	 * or a negative errno: unknown.
	 */
	int (*regset)(void *ctx, pid_t tid, int type, void *buf, size_t *size);
	/* tid: a stopped thread. NULL: the process of this machine is the program's. */
	int (*facts)(void *ctx, pid_t tid, struct auxtap_target_facts *facts);
	/*
	 * What a stopped thread wrote, and its registers: malloc'd, as in the record of values.h.
	 * NULL, or -ENODATA: unknown.
	 */
	int (*values)(void *ctx, pid_t pid, pid_t tid, void **record, size_t *size);
	/*
	 * What a process executed of code that it wrote at run time: struct auxtap_crash_code, each
	 * followed by its bytes and padded to 8 bytes; the caller frees *notes. NULL: unknown.
	 */
	int (*code)(void *ctx, pid_t pid, char **notes, size_t *size);
	/*
	 * What the process of a stopped thread allocated and freed last, oldest first: malloc'd.
	 * NULL, or -ENODATA: unknown.
	 */
	int (*heap)(void *ctx, pid_t tid, struct auxtap_heap_event **events, size_t *nr);
	/*
	 * The caller in the nth newest of these events; 0: the newest. NULL, or -ENODATA: unknown,
	 * or the event there is another one by now.
	 */
	int (*heap_call)(void *ctx, pid_t tid, size_t nth, const struct auxtap_heap_event *event,
			 struct auxtap_heap_call *call);
};

/* ---- backends ---- */

enum auxtap_engine {
	AUXTAP_ENGINE_AUTO,
	AUXTAP_ENGINE_QEMU,
	AUXTAP_ENGINE_PTRACE,
};

/*
 * A backend: both tables and their contexts. Your program sets its size, before it opens one of the
 * library's or fills in its own; auxtap_backend_close() frees what was opened. The session updates
 * target, description and slowdown when the engine changes.
 */
struct auxtap_backend {
	size_t size;
	const struct auxtap_perf_ops *perf;
	void *perf_ctx;
	const struct auxtap_target_ops *target;
	void *target_ctx;
	char description[384]; /* "emulated, engine qemu 10.0.2", and why no other one */
	/* expected slowdown: "15 to 75 times slower"; empty: negligible */
	char slowdown[64];
};

AUXTAP_API int auxtap_backend_open_kernel(struct auxtap_backend *be, struct auxtap_error *err);
/* Options of the emulated backend. */
struct auxtap_emulation {
	size_t size;
	enum auxtap_engine engine;
	const char *trace_unit; /* of the Arm CPUs, for cs_etm: "ete", "etmv4"; NULL: ete */
	/*
	 * Limit of the resident bytes of all traced processes together; beyond it the largest is
	 * killed. 0: half of MemAvailable.
	 */
	uint64_t max_memory;
	/*
	 * Bytes of a ring of values (values.h) of each thread, at most 1 GiB; 0: none. Only qemu 10
	 * or newer has them, for x86-64 programs: with another engine no program starts.
	 */
	uint64_t values;
};

/*
 * Starts the emulated kernel: auxtap-emu, by $AUXTAP_EMU or else beside libauxtap (beside the
 * program, if that contains the static library) or in the libexec directory it is installed with.
 */
AUXTAP_API int auxtap_backend_open_emulation(struct auxtap_backend *be,
					     const struct auxtap_emulation *emulation,
					     struct auxtap_error *err);
/* The same with defaults for all but the engine. */
AUXTAP_API int auxtap_backend_open_emulated(struct auxtap_backend *be, enum auxtap_engine engine,
					    struct auxtap_error *err);
AUXTAP_API void auxtap_backend_close(struct auxtap_backend *be);

/*
 * Converts perf's event syntax ("intel_pt/cyc/u") to an attribute; disabled, and without sample
 * fields. 1: the event has an AUX area; 0: it has not; negative errno: see err.
 */
AUXTAP_API int auxtap_event_attr(struct perf_event_attr *attr, const char *event,
				 const struct auxtap_backend *be, struct auxtap_error *err);
/*
 * Whether the emulated PMU of an event ("cs_etm//u") can have this trace unit (trace_unit of struct
 * auxtap_emulation). event NULL: whether any PMU can.
 */
AUXTAP_API bool auxtap_event_has_trace_unit(const char *event, const char *unit);
/*
 * Whether the PMU of this name has an AUX area, which sysfs does not show: those that auxtap
 * records from or knows of, and those of its kernel module.
 */
AUXTAP_API bool auxtap_pmu_has_aux(const char *pmu);
/*
 * Writes the records that describe the event's trace unit to the reader of a perf.data file
 * (AUXTRACE_INFO; for Arm also the clock), for rings of whole CPUs that are not overwritten. page:
 * of one of the rings; path: for messages.
 */
struct auxtap_perfdata_writer;
AUXTAP_API int auxtap_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
					  const char *event, const struct auxtap_backend *be,
					  const struct perf_event_mmap_page *page,
					  struct auxtap_error *err);

/* The path at which execvp() would find a program: 0, -ENOENT or -EACCES. */
AUXTAP_API int auxtap_find_program(const char *name, char *path, size_t size);
/*
 * Its ELF machine (EM_X86_64, EM_AARCH64 …), for a script that of its interpreter; or a negative
 * errno.
 */
AUXTAP_API int auxtap_program_machine(const char *name);
/* The sanitizer it is built with: "AddressSanitizer", "ThreadSanitizer", "MemorySanitizer"; NULL.
 */
AUXTAP_API const char *auxtap_program_sanitizer(const char *name);

/* What this machine supports and this user may do; strings may be empty. */
struct auxtap_probe {
	size_t size;
	bool kernel;	       /* there is a PT PMU and the user may use it */
	char kernel_why[160];  /* why not */
	char kernel_event[32]; /* the event that record opens on it by default */
	bool emulated;	       /* auxtap-emu was found */
	char emulated_why[160];
	bool qemu; /* a qemu for x86-64 programs was found, and loads the plugin */
	char qemu_why[160];
	bool ptrace;	    /* single-stepping a child is permitted */
	bool ptrace_attach; /* attaching to other processes of the user is, too */
	char ptrace_why[160];
	int paranoid;	     /* kernel.perf_event_paranoid; 100 where the file is missing */
	uint64_t mlock_kb;   /* kernel.perf_event_mlock_kb */
	uint64_t memlock_kb; /* RLIMIT_MEMLOCK; UINT64_MAX: unlimited */
	bool qemu_a64;	     /* likewise, for AArch64 programs */
	char qemu_a64_why[160];
	/* "VERSION (PATH)", and why no other one; empty: no qemu */
	char qemu_engine[512];
	char qemu_a64_engine[512];
};
AUXTAP_API int auxtap_probe_machine(struct auxtap_probe *probe);

/* ---- session ---- */

struct auxtap_session; /* opaque */

struct auxtap_session_stats {
	size_t size;	    /* of this library's struct */
	uint64_t aux_bytes; /* written to the file */
	uint64_t records;
	uint64_t truncations;  /* AUX records flagged TRUNCATED, and disables without one (D21) */
	uint64_t lost_records; /* sum of PERF_RECORD_LOST */
	uint64_t snapshots;
	uint64_t wakeups;
	/* of the program, as from waitpid(); -1: unknown, or it still runs */
	int exit_status;
	/* the program, process or thread to trace ended while it was traced */
	bool ended;
	uint64_t crashes;	   /* processes that died of a core-dumping signal */
	uint64_t untraced;	   /* processes that could no longer be traced (gaps) */
	uint64_t sideband_dropped; /* crash mode: mappings dropped to limit memory */
	/*
	 * The first synchronous fault that went to a handler of the program; fault_signo 0: none.
	 */
	int fault_signo;
	pid_t fault_pid, fault_tid;
	uint64_t fault_ip, fault_time;
	size_t peak_rings;	  /* largest number of bytes of rings mapped at a time */
	uint64_t collisions;	  /* AUX records flagged COLLISION: small losses in the unit */
	bool truth_failed;	  /* a file of truth_path is incomplete; on_notice got the reason */
	pid_t program_pid;	  /* of the program that was started; 0: none */
	uint64_t threads_refused; /* ran untraced because no more events could be opened (a gap
				     each) */
	/* a process was killed because all together used more than this; 0: none */
	uint64_t memory_limit;
	bool emulator_died;  /* what run() returned is about that */
	bool error_reported; /* what run() returned went to on_no_snapshot before */
	int crash_signo;     /* of the process that was started or attached to; 0: it did not die */
	uint64_t requested;  /* crash: snapshots that the user asked for */
};

/* Crash: which memory of the program a snapshot contains. */
enum auxtap_memory {
	AUXTAP_MEMORY_STACK, /* the stacks of its threads */
	/* and what they point to in two steps, and the writable data of the main program */
	AUXTAP_MEMORY_REACHABLE,
	AUXTAP_MEMORY_NONE, /* code around the instruction pointers alone */
};

/* What ended a core file before its time. */
enum auxtap_core_cut {
	AUXTAP_CORE_WHOLE,
	AUXTAP_CORE_CUT_LIMIT, /* core_size, or the program's RLIMIT_CORE */
	AUXTAP_CORE_CUT_DISK,
};

/* A core file beside a snapshot. */
struct auxtap_core {
	size_t size; /* of this library's struct */
	const char *path;
	pid_t pid;
	uint64_t limit;	   /* in bytes; UINT64_MAX: none */
	uint64_t nr_bytes; /* written; pages of zeros are holes */
	enum auxtap_core_cut cut;
	uint32_t nr_cut; /* mappings whose contents are missing or end early */
};

struct auxtap_session_opts {
	size_t size;
	/* "intel_pt//u"; NULL: the default for the program's machine */
	const char *event;
	uint64_t data_pages; /* power of two; 0: 128 */
	uint64_t aux_pages;  /* power of two; 0: 1024 */
	/*
	 * bytes; 0: a quarter of the area, if that is a page at least (the kernel's default, half,
	 * truncates every wrap: docs/kernel-rules.md, H4)
	 */
	uint32_t aux_watermark;
	bool snapshot;		/* overwrite mode */
	uint64_t snapshot_size; /* newest bytes kept in the file; 0: the whole area */
	/*
	 * Every dying process leaves a snapshot; implies snapshot. So does every process that runs
	 * when one is requested, or when a session that attached to it is stopped.
	 */
	bool crash;
	unsigned int keep;  /* crash: how many snapshots to keep */
	const char *output; /* file name */
	char *const *argv;  /* program, or NULL with pid or tid */
	pid_t pid, tid;	    /* attach */
	bool all_cpus;
	const char *cpus; /* "0-3,5" */
	const char *truth_path;
	int argc_cmdline; /* the recorder's own command line, for the file's header */
	char *const *argv_cmdline;
	bool progress; /* call on_progress during long captures */
	/* A snapshot file is complete (crash: the process is about to exit). May be NULL. */
	void (*on_snapshot)(void *ctx, const char *path, const struct auxtap_crash *crash);
	/* A process dies and its snapshot could not be written completely; why: the reason. The
	 * session goes on, and auxtap_session_run() returns the first such error. May be NULL. */
	void (*on_no_snapshot)(void *ctx, const char *path, const struct auxtap_crash *crash,
			       const struct auxtap_error *why);
	/* A notice about a process; why: the reason. May be NULL. */
	void (*on_notice)(void *ctx, pid_t pid, enum auxtap_target_notice what, const char *why);
	/* Emulated: the first thread that could not be traced; why: the reason. May be NULL. */
	void (*on_refused)(void *ctx, pid_t tid, const struct auxtap_error *why);
	/*
	 * Called twice a second after the first two seconds; nr_rings 0: the last call. NULL only
	 * without progress.
	 */
	void (*on_progress)(void *ctx, uint64_t elapsed_ms,
			    const struct auxtap_session_stats *stats, unsigned int nr_rings);
	void *ctx;
	/*
	 * Crash: write a core file beside each snapshot, at most core_size bytes (0: no limit).
	 * Without it the program's RLIMIT_CORE decides, as it does for the kernel's.
	 */
	bool core;
	uint64_t core_size;
	/* After on_snapshot: core->path was written; or, with why, it was not. May be NULL. */
	void (*on_core)(void *ctx, const struct auxtap_core *core, const struct auxtap_error *why);
	enum auxtap_memory memory;
	/* Crash: no memory, whatever memory says, and no core file. */
	bool redact;
};

AUXTAP_API int auxtap_session_open(struct auxtap_session **s, struct auxtap_backend *be,
				   const struct auxtap_session_opts *opts,
				   struct auxtap_error *err);
/*
 * Runs until the program has ended, or *stop becomes non-zero (set from a signal handler), which
 * detaches from the program. A file error (disk full) ends the tracing, not the program: what was
 * written is kept, and the error is returned when the program has ended.
 */
AUXTAP_API int auxtap_session_run(struct auxtap_session *s, volatile sig_atomic_t *stop,
				  struct auxtap_error *err);
/*
 * For signal handlers: take a snapshot now; send a signal to the program. The second form is for a
 * signal that the caller received itself: if the program received it too, as a member of the
 * process group, it is not sent again; siginfo is the siginfo_t of its handler. Handlers that call
 * these must block each other.
 */
AUXTAP_API void auxtap_session_request_snapshot(struct auxtap_session *s);
AUXTAP_API void auxtap_session_forward_signal(struct auxtap_session *s, int signo);
AUXTAP_API void auxtap_session_forward_siginfo(struct auxtap_session *s, const void *siginfo);
AUXTAP_API const struct auxtap_session_stats *
auxtap_session_get_stats(const struct auxtap_session *s);
/* The recorded event in perf's syntax. */
AUXTAP_API const char *auxtap_session_event(const struct auxtap_session *s);
/* Finishes the file(s). */
AUXTAP_API int auxtap_session_close(struct auxtap_session *s, struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
