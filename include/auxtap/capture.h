/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture: open trace events on a program, consume their rings, write perf.data.
 *
 * Everything is written against two tables of functions: the kernel's perf interface
 * (struct auxtap_perf_ops: the system calls, or the emulated kernel) and the control of the
 * traced program (struct auxtap_target_ops: native, or emulated by ptrace or qemu).
 * Thread safety: a session and the objects behind its ops belong to one thread.
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

/* Accounts of one event's trace unit where the backend knows them (emulated): bytes, exact. */
struct auxtap_unit_stats {
	uint64_t nr_produced; /* packet bytes */
	uint64_t nr_written;  /* reached the AUX area */
	uint64_t nr_dropped;  /* produced while the output was stopped */
	uint64_t nr_insns;    /* executed by the task */
	uint64_t nr_untraced; /* of these, between DISABLE and ENABLE */
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
	 * PMU type and format of a PMU by name, as sysfs gives it: "type", "format/cyc", "caps/…".
	 * Length or -errno.
	 */
	ssize_t (*pmu_attr)(void *ctx, const char *pmu, const char *attr, char *buf, size_t size);
	/* Now, in the clock of the records' time. */
	uint64_t (*clock)(void *ctx);
	/* NULL: not known here. */
	int (*unit_stats)(void *ctx, int fd, struct auxtap_unit_stats *stats);
	/* nr_written of unit_stats alone, also when what emulates the unit is gone. May be NULL. */
	int (*unit_written)(void *ctx, int fd, uint64_t *nr_bytes);
};

enum auxtap_target_event_type {
	AUXTAP_TARGET_NONE,
	AUXTAP_TARGET_THREAD, /* a new thread, stopped before its first instruction */
	AUXTAP_TARGET_FORK,   /* a new process, stopped before its first instruction */
	AUXTAP_TARGET_EXEC,   /* exec done, stopped before the new image runs */
	/* a synchronous fault has entered the program's handler; not stopped */
	AUXTAP_TARGET_FAULT,
	AUXTAP_TARGET_DYING, /* a core-dumping signal will kill pid; all its threads are stopped
			      * and readable until resume() */
	AUXTAP_TARGET_THREAD_EXIT,
	AUXTAP_TARGET_PROCESS_EXIT, /* status as of waitpid() */
	/* a process (or what it does from now on) left the tracer's sight: a gap; why in .text */
	AUXTAP_TARGET_UNTRACED,
};

struct auxtap_target_event {
	enum auxtap_target_event_type type;
	pid_t pid, tid;
	pid_t parent_pid, parent_tid; /* THREAD, FORK */
	int signo;		      /* FAULT, DYING */
	int status;		      /* PROCESS_EXIT */
	uint64_t time, ip;	      /* FAULT, DYING */
	char comm[16];
	/* DYING: begins with "emulator" where the emulator's limit is the cause */
	char text[128];
	uint64_t limit_bytes; /* DYING of SIGKILL: the session used more memory than this; 0: no */
	int frame_signo;      /* DYING of SIGSEGV: as in struct auxtap_crash */
};

/* argv[0] is searched in PATH by the implementation; stdin, stdout and stderr are inherited. */
struct auxtap_spawn {
	size_t size;
	char *const *argv;
	/* NULL: none; emulated only: executed addresses, PATH.TID per thread */
	const char *truth_path;
};

/* Control of the traced program. ptrace is owned by exactly one implementation of this. */
struct auxtap_target_ops {
	size_t size;
	const char *name; /* "native", "ptrace", "qemu" */
	/*
	 * Called before spawn or attach where deaths are to be told as DYING. May be NULL: they
	 * always are. Where it may not watch a process, a death is a mere PROCESS_EXIT.
	 */
	int (*watch)(void *ctx, struct auxtap_error *err);
	/* Starts argv stopped before its first instruction. -ENOENT and -EACCES as execvp(). */
	int (*spawn)(void *ctx, const struct auxtap_spawn *spawn, pid_t *pid,
		     struct auxtap_error *err);
	/*
	 * Whole process, or one thread; truth_path as in spawn. The emulated ones report the
	 * threads found as THREAD events with parent 0, stopped.
	 */
	int (*attach)(void *ctx, pid_t pid, bool one_thread, const char *truth_path,
		      struct auxtap_error *err);
	/* Readable when wait() has something. */
	int (*fd)(void *ctx);
	/* Never blocks. 1: *ev is filled; 0: nothing; -ECHILD: no traced process is left. */
	int (*wait)(void *ctx, struct auxtap_target_event *ev);
	/* The next four: the thread must be stopped by THREAD, FORK, EXEC or DYING. */
	int (*regs)(void *ctx, pid_t tid, struct auxtap_regs *regs);
	int (*siginfo)(void *ctx, pid_t tid, siginfo_t *info);
	/* Text of /proc/PID/maps as the program sees it; *text is malloc'd, the caller's. */
	int (*maps)(void *ctx, pid_t pid, char **text);
	ssize_t (*mem)(void *ctx, pid_t pid, uint64_t addr, void *buf, size_t size);
	/*
	 * Threads of a process, in ascending order; returns how many there are, fills at most max.
	 */
	int (*threads)(void *ctx, pid_t pid, pid_t *tids, int max);
	/* -ESRCH: killed since it stopped; its exit is on the way, nothing is to be done. */
	int (*resume)(void *ctx, pid_t tid);
	int (*signal)(void *ctx, pid_t pid, int signo);
	int (*detach)(void *ctx, pid_t pid);
	/* Every process there is, as threads(). May be NULL where whole CPUs cannot be traced. */
	int (*processes)(void *ctx, pid_t *pids, int max);
	/*
	 * The caller received this signal and passes it on to the program that spawn() started,
	 * unless that one received the same signal itself. NULL: signal() has to do.
	 */
	int (*forward)(void *ctx, pid_t pid, const siginfo_t *info);
};

/* ---- backends ---- */

enum auxtap_source {
	AUXTAP_ENGINE_AUTO,
	AUXTAP_ENGINE_QEMU,
	AUXTAP_ENGINE_PTRACE,
};

/* A backend: both tables and what they work on. Freed by auxtap_backend_close(). */
struct auxtap_backend {
	const struct auxtap_perf_ops *perf;
	void *perf_ctx;
	const struct auxtap_target_ops *target;
	void *target_ctx;
	char description[384]; /* "emulated, source qemu 10.0.2", and why it is not another one */
	/* what to expect: "15 to 75 times slower"; empty: none worth a word */
	char slowdown[64];
};

AUXTAP_API int auxtap_backend_open_kernel(struct auxtap_backend *be, struct auxtap_error *err);
/* What is emulated. */
struct auxtap_emulation {
	size_t size;
	enum auxtap_source source;
	const char *trace_unit; /* of the Arm CPUs, for cs_etm: "ete", "etmv4"; NULL: ete */
	/*
	 * Resident bytes of the session's processes, together; the largest is ended beyond. 0: half
	 * of MemAvailable.
	 */
	uint64_t max_memory;
};

/*
 * Starts the emulated kernel (auxtap-emu, found beside the program, in libexec, or by $AUXTAP_EMU).
 */
AUXTAP_API int auxtap_backend_open_emulation(struct auxtap_backend *be,
					     const struct auxtap_emulation *emulation,
					     struct auxtap_error *err);
/* The same with nothing chosen but the source. */
AUXTAP_API int auxtap_backend_open_emulated(struct auxtap_backend *be, enum auxtap_source source,
					    struct auxtap_error *err);
AUXTAP_API void auxtap_backend_close(struct auxtap_backend *be);

/*
 * From perf's event syntax ("intel_pt/cyc/u") to what the kernel is asked for; disabled, and
 * without samples' fields. 1: it has an AUX area; 0: it has none; negative errno: see err.
 */
AUXTAP_API int auxtap_event_attr(struct perf_event_attr *attr, const char *event,
				 const struct auxtap_backend *be, struct auxtap_error *err);
/*
 * Writes the records that tell a perf.data file's reader of the event's trace unit (AUXTRACE_INFO;
 * for Arm also the clock), for rings of whole CPUs in linear mode. page: of one of the rings;
 * path: for messages.
 */
struct auxtap_perfdata_writer;
AUXTAP_API int auxtap_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
					  const char *event, const struct auxtap_backend *be,
					  const struct perf_event_mmap_page *page,
					  struct auxtap_error *err);

/* Where execvp() would find a program: 0, -ENOENT or -EACCES. */
AUXTAP_API int auxtap_find_program(const char *name, char *path, size_t size);
/*
 * Its ELF machine (EM_X86_64, EM_AARCH64 …), of a script that of its interpreter; or a negative
 * errno.
 */
AUXTAP_API int auxtap_program_machine(const char *name);
/* "AddressSanitizer", "ThreadSanitizer", "MemorySanitizer" that it is built with, or NULL. */
AUXTAP_API const char *auxtap_program_sanitizer(const char *name);

/* What this machine and this user can do; empty strings where there is nothing to say. */
struct auxtap_probe {
	size_t size;
	bool kernel;	       /* a PT PMU is there and may be used */
	char kernel_why[160];  /* why not */
	char kernel_event[32]; /* the event that record opens on it, if not told another */
	bool emulated;	       /* auxtap-emu is there */
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
	/* "VERSION (PATH)", and why it is not another one; empty: there is none */
	char qemu_engine[512];
	char qemu_a64_engine[512];
};
AUXTAP_API int auxtap_probe(struct auxtap_probe *probe);

/* ---- session ---- */

struct auxtap_session; /* opaque */

struct auxtap_session_stats {
	uint64_t aux_bytes; /* written to the file */
	uint64_t records;
	uint64_t truncations;  /* AUX records flagged TRUNCATED, and disables without one (D21) */
	uint64_t lost_records; /* sum of PERF_RECORD_LOST */
	uint64_t snapshots;
	uint64_t wakeups;
	/* of the program, as waitpid() gives it; -1: not known, or it runs on */
	int exit_status;
	/* the program, process or thread to trace ended while it was traced */
	bool ended;
	uint64_t crashes;	   /* processes that died of a core-dumping signal */
	uint64_t untraced;	   /* processes that left the tracer's sight (gaps) */
	uint64_t sideband_dropped; /* crash mode: mappings given up to stay within memory */
	/*
	 * The first synchronous fault that went to a handler of the program; fault_signo 0: none.
	 */
	int fault_signo;
	pid_t fault_pid, fault_tid;
	uint64_t fault_ip, fault_time;
	size_t peak_rings;	  /* bytes of rings mapped at one time, the most */
	uint64_t collisions;	  /* AUX records flagged COLLISION: the unit lost a little */
	bool truth_failed;	  /* a list of truth_path is not whole; on_untraced told why */
	pid_t program_pid;	  /* of the program that was started; 0: none */
	uint64_t threads_refused; /* ran untraced: no more could be opened (a gap each) */
	/* a process was ended for using more, with the others, than this; 0: none */
	uint64_t memory_limit;
};

struct auxtap_session_opts {
	size_t size;
	/* "intel_pt//u"; NULL: what list would pick for the program's machine */
	const char *event;
	uint64_t data_pages; /* power of two; 0: 128 */
	uint64_t aux_pages;  /* power of two; 0: 1024 */
	/* bytes; 0: a quarter of the area (the kernel's half truncates every lap: H4) */
	uint32_t aux_watermark;
	bool snapshot;		/* overwrite mode */
	uint64_t snapshot_size; /* newest bytes kept in the file; 0: the whole area */
	bool crash;		/* every dying process leaves a snapshot; implies snapshot */
	unsigned int keep;	/* crash: how many snapshots to keep */
	const char *output;	/* file name */
	char *const *argv;	/* program, or NULL with pid or tid */
	pid_t pid, tid;		/* attach */
	bool all_cpus;
	const char *cpus; /* "0-3,5" */
	const char *truth_path;
	int argc_cmdline; /* the recorder's own command line, for the file's header */
	char *const *argv_cmdline;
	bool progress; /* call on_progress during long captures */
	/* A snapshot file is complete (crash: and the process about to go). May be NULL. */
	void (*on_snapshot)(void *ctx, const char *path, const struct auxtap_crash *crash);
	/* A process dies and its snapshot could not be written (whole); why. The session goes on,
	 * and auxtap_session_run() returns the first such error. May be NULL. */
	void (*on_no_snapshot)(void *ctx, const char *path, const struct auxtap_crash *crash,
			       const struct auxtap_error *why);
	/* A process left the tracer's sight; why. "qemu: ...": it is still traced, but the engine
	 * refused it what Linux would not. May be NULL. */
	void (*on_untraced)(void *ctx, pid_t pid, const char *why);
	/* Emulated: the first thread that could not be traced as well; why. May be NULL. */
	void (*on_refused)(void *ctx, pid_t tid, const struct auxtap_error *why);
	/*
	 * Twice a second after the first two; nr_rings 0: the last call. NULL only without
	 * progress.
	 */
	void (*on_progress)(void *ctx, uint64_t elapsed_ms,
			    const struct auxtap_session_stats *stats, unsigned int nr_rings);
	void *ctx;
};

AUXTAP_API int auxtap_session_open(struct auxtap_session **s, struct auxtap_backend *be,
				   const struct auxtap_session_opts *opts,
				   struct auxtap_error *err);
/*
 * Runs until the program is gone or *stop becomes non-zero (set from a signal handler): then
 * it is let go untraced. A file error (disk full) ends the tracing, not the program: what
 * was written is kept, and the error comes back when the program is gone.
 */
AUXTAP_API int auxtap_session_run(struct auxtap_session *s, volatile sig_atomic_t *stop,
				  struct auxtap_error *err);
/*
 * From a signal handler: take a snapshot now; send a signal to the program. The second form is
 * for a signal that the caller received itself: where the program received it too, as a member
 * of the process group, it is not sent again. Handlers that call these block each other.
 */
AUXTAP_API void auxtap_session_request_snapshot(struct auxtap_session *s);
AUXTAP_API void auxtap_session_forward_signal(struct auxtap_session *s, int signo);
AUXTAP_API void auxtap_session_forward_siginfo(struct auxtap_session *s, const siginfo_t *info);
AUXTAP_API const struct auxtap_session_stats *auxtap_session_stats(const struct auxtap_session *s);
/* The event that is recorded, as perf spells it. */
AUXTAP_API const char *auxtap_session_event(const struct auxtap_session *s);
/* Finishes the file(s). */
AUXTAP_API int auxtap_session_close(struct auxtap_session *s, struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
