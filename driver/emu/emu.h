/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulated kernel, as the execution engines see it: tasks, what they execute, and what the
 * kernel would report to perf about them. Each task has its own virtual CPU with a PT unit. The
 * other side (events, rings, ioctls of capture) is emu_abi.h. One thread: the process auxtap-emu
 * has a single one.
 */
#ifndef AUXTAP_EMU_H
#define AUXTAP_EMU_H

#include "hw/a64_insn.h"
#include "hw/x86_insn.h"
#include "emu/emu_abi.h"
#include <auxtap/capture.h>
#include <signal.h>
#include <sys/types.h>

struct emu;
struct emu_task;

/* Whether emu_task_blocks() may take the block. */
enum emu_run {
	EMU_RUN_NO,
	EMU_RUN_YES,
	EMU_RUN_ALONE, /* unless it starts inside the previous block, which was left there */
};

/* A run of instructions; only the last one may change the flow. */
struct emu_block {
	u64 ip;
	u64 last_ip; /* of the last instruction */
	u32 nr_insns;
	u8 last_len;
	u8 last_cls;   /* enum x86_class or a64_class, by the task's architecture */
	u8 last_flags; /* X86_INSN_… */
	u8 run;	       /* enum emu_run; 0 is always allowed */
	/*
	 * length of each instruction; needed for --truth and cuts; NULL if nr_insns is 1. Must not
	 * change before the next call for the task
	 */
	const u8 *lens;
	/* NULL: of a file, or never changed; else run is EMU_RUN_NO. Lives as long as the session
	 */
	struct emu_code *code;
};

/* The bytes of a block of code that the program wrote. */
struct emu_code {
	u64 stamp; /* the engine's */
	u32 size;  /* 0: not known */
	u8 bytes[];
};

/*
 * Execution. An engine reports a block when it begins; what the block's last instruction did is
 * known at the next report: it went to the next block's ip. A block whose single REP instruction
 * begins again at the same ip is the same instruction, continued.
 *
 * The calls take interrupts of the unit where the emulated CPU would, so any of them may run driver
 * code. They never serve capture's requests: engines do, with emu_serve().
 */
void emu_task_block(struct emu_task *task, const struct emu_block *block);
/*
 * emu_task_block() for 'newest', which began last, and for the blocks of id[] except the last one
 * that is taken, which is returned: its outcome is not known yet. The first nr_done of them are
 * taken; if that is 0 nothing was done, and newest is returned.
 */
const struct emu_block *emu_task_blocks(struct emu_task *task, const struct emu_block *newest,
					const struct emu_block *blocks, u32 nr_blocks,
					const u32 *id, u32 nr, u32 *nr_done);
/*
 * The order in which other threads and this one ran may matter here: the trace gets the time, after
 * the branches that were reported and before that of the block which began last. (PT only.)
 */
void emu_task_emit_tsc(struct emu_task *task);
u64 emu_clock(const struct emu *emu); /* emulated time, which stands still meanwhile */
/* The value of the member run; restarts: blocks of that form may continue blocks that were left. */
u8 emu_block_run(enum auxtap_arch arch, const struct emu_block *block, bool restarts);
/* An instruction of the last reported block is a sample for the task's SPE unit. */
struct emu_sample {
	u64 pc;
	u32 code; /* its word */
	bool has_addr, is_store;
	u32 size; /* bytes accessed at addr */
	u64 addr;
};
void emu_task_sample(struct emu_task *task, const struct emu_sample *sample);
/*
 * The task left user mode before executing the instruction at ip: a fault or a signal. The
 * unresolved block is cut at ip if it contains ip and cut is set, else it completed and went to ip.
 */
void emu_task_async(struct emu_task *task, u64 ip, bool cut);
/*
 * The unresolved block, if there is one, completed with a system call: the task is in the kernel
 * now. Call it before the system call is executed: exit does not return.
 */
void emu_task_in_kernel(struct emu_task *task);
/*
 * The task, in the kernel or flushed by emu_task_async(), stops running for a while (group stop,
 * long sleep): sched-out, which closes its transactions. The next block schedules it in.
 */
void emu_task_offline(struct emu_task *task);

/*
 * Tasks. parent NULL: the first one. Writes FORK (F, PERF_RECORD_FORK) into the parent's events and
 * notifies capture, which opens events on the new task and then resumes it: that calls the engine's
 * resume op.
 */
struct emu_task *emu_task_new(struct emu *emu, struct emu_task *parent, pid_t pid, pid_t tid,
			      const char *comm);
/*
 * The architecture that the task executes from now on; initially x86-64, for a child its parent's.
 */
void emu_task_set_arch(struct emu_task *task, enum auxtap_arch arch);
struct emu_task *emu_task_find(struct emu *emu, pid_t tid);
/* COMM|EXEC; notifies capture; the task is resumed later */
void emu_task_exec(struct emu_task *task, const char *comm);
void emu_task_comm(struct emu_task *task, const char *comm);
/*
 * COMM, if the task's name has changed in a way that the engine does not report: by a system call,
 * or by another thread's write to its file in /proc. Call while the host's thread exists.
 */
void emu_task_learn_comm(struct emu_task *task);
/* The thread's name, of the host; "": unknown. */
void emu_read_comm(pid_t tid, char comm[16]);
struct emu_mapping {
	u64 addr, len, pgoff;
	u32 prot; /* PROT_… */
	u32 maj, min;
	u64 ino;
	const char *name; /* as in /proc/PID/maps; "//anon" for none */
};
void emu_task_mmap(struct emu_task *task, const struct emu_mapping *map); /* MMAP2 */
/*
 * The task's unresolved block is of other code than was executed at its address before. Trace of
 * it, and of everything that follows, has this time or a newer one, older trace an older one: its
 * stream gets a newer TSC now, before the block, and those of the process's other tasks soon.
 */
u64 emu_task_new_code(struct emu_task *task);
/*
 * The process generates code. Older trace of what it replaces will be a gap for the decoder, which
 * does not know the calls there: from now on no return is compressed (Intel PT).
 */
void emu_task_disable_ret_compression(struct emu_task *task);
/*
 * The last call for a task: closes its transactions as sched-out does, writes EXIT, frees the task.
 * An unresolved block did not run.
 */
void emu_task_exit(struct emu_task *task);
void emu_process_exit(struct emu *emu, pid_t pid, int wait_status);
/* A synchronous fault has entered a handler of the program. */
void emu_task_fault(struct emu_task *task, u64 ip, int signo);
/*
 * A core-dumping signal will kill the process; capture examines it and then resumes it. All threads
 * must be stopped and have been flushed by emu_task_async().
 */
void emu_task_dying(struct emu_task *task, const siginfo_t *info);
/*
 * Before emu_task_dying(): the program dies of something that the emulator does not support. why is
 * constant, and becomes the text of DYING.
 */
void emu_task_limit(struct emu_task *task, const char *why);
/*
 * Before emu_task_dying() of SIGSEGV: the frame of the program's handler for signo could not be
 * written.
 */
void emu_task_no_frame(struct emu_task *task, int signo);
/*
 * The process to kill because the session's processes use more memory than they may, or 0. Cheap:
 * for every iteration of an engine's loop. That process dies of SIGKILL: a task of it is flagged
 * before emu_task_dying().
 */
pid_t emu_over_memory(struct emu *emu);
/*
 * auxtap attached to the processes: they are killed for their memory only if the user gave a limit.
 */
void emu_memory_attached(struct emu *emu);
void emu_task_over_memory(struct emu_task *task);
void emu_report_problem(struct emu *emu, pid_t pid, const char *why); /* capture must report it */
/* The process is traced, but something is missing: what (AUXTAP_UNTRACED_…). */
void emu_report_missing(struct emu *emu, pid_t pid, enum auxtap_untraced what, const char *why);
/*
 * The tracer sees a signal on its way to the process. True: auxtap forwarded it, and info now names
 * the original sender: write it back (PTRACE_SETSIGINFO).
 */
bool emu_signal_seen(struct emu *emu, pid_t pid, siginfo_t *info);

/*
 * True if capture has sent a request: engines call emu_serve() soon (never within another emu_
 * call).
 */
bool emu_has_requests(const struct emu *emu);
void emu_serve(struct emu *emu);

/*
 * Sleeps until capture sends a request, or timeout_ms (-1: no limit) have passed; for an engine
 * that has nothing else to wait for.
 */
void emu_wait(struct emu *emu, int timeout_ms);
/*
 * Capture hung up (detected by emu_serve()): detach everything, let the program continue, return
 * from run().
 */
bool emu_hung_up(const struct emu *emu);
/* The same, also before emu_serve() has detected it. */
bool emu_left_alone(const struct emu *emu);

/* The engine's own state. */
void *emu_engine_priv(const struct emu *emu);
void emu_set_engine_priv(struct emu *emu, void *priv);
struct emu *emu_task_emu(const struct emu_task *task);
void *emu_task_priv(struct emu_task *task);
void emu_task_set_priv(struct emu_task *task, void *priv);
pid_t emu_task_tid(const struct emu_task *task);
pid_t emu_task_pid(const struct emu_task *task);
/* The next task of a process after 'after' (NULL: the first), in ascending order of tid. */
struct emu_task *emu_task_next(struct emu *emu, pid_t pid, const struct emu_task *after);
/*
 * In a new child of auxtap-emu: the signal dispositions, mask and limits that auxtap-emu was
 * started with.
 */
void emu_restore_signals(const struct emu *emu);
u64 emu_now(const struct emu *emu); /* emulated TSC */

/* Appended to a reason of ENOEXEC. */
#define EMU_NO_FORMAT "; neither a program nor a script that begins with #!"

/* An execution engine. emu_serve() makes the calls. Results 0 or -errno. */
struct emu_engine_ops {
	const char *name;
	/* Before all others: sets the engine's own state (emu_set_engine_priv()). After all others.
	 */
	int (*open)(struct emu *emu);
	void (*close)(struct emu *emu);
	/*
	 * Starts argv stopped before its first instruction; emu_task_new() has been called for it
	 * on return. why (384 bytes): the reason of a failure. engine: zeroed, to be filled.
	 */
	int (*spawn)(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
		     const int stdio[3], pid_t *pid, struct emu_spawned *engine, char *why);
	int (*attach)(struct emu *emu, pid_t pid, bool one_thread, char *why);
	/*
	 * The program's whole life: waits, steps, calls the functions above; returns when no task
	 * is left and capture hung up.
	 */
	int (*run)(struct emu *emu);
	int (*resume)(struct emu_task *task);
	int (*detach)(struct emu *emu, pid_t pid);
	int (*signal)(struct emu *emu, pid_t pid, int signo);
	int (*regs)(struct emu_task *task, struct auxtap_regs *regs);
	int (*siginfo)(struct emu_task *task, siginfo_t *info);
	/* As regset() and facts() of struct auxtap_target_ops. NULL: nothing is known. */
	int (*regset)(struct emu_task *task, int type, void *buf, size_t *size);
	int (*facts)(struct emu_task *task, struct auxtap_target_facts *facts);
	ssize_t (*mem)(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size);
	ssize_t (*maps)(struct emu *emu, pid_t pid, char **text); /* malloc'd */
	/* Bytes of a stopped thread's ring of values (qemu_values.h). NULL: not supported. */
	ssize_t (*values)(struct emu_task *task, u64 off, void *buf, size_t size);
	/* Bytes of the process's struct qemu_heap, from an offset on. NULL: not supported. */
	ssize_t (*heap)(struct emu_task *task, u64 off, void *buf, size_t size);
	/* The task's unresolved block, which has code, is about to be encoded. */
	void (*executes)(struct emu_task *task, const struct emu_block *block);
	/* As code() of struct auxtap_target_ops; malloc'd. NULL: nothing is known. */
	ssize_t (*code)(struct emu *emu, pid_t pid, char **notes);
	/* From now on take samples at this interval (hw/spe_interval.h). NULL: not supported. */
	void (*sample)(struct emu *emu, u32 pmsirr);
};

extern const struct emu_engine_ops emu_engine_ptrace;
extern const struct emu_engine_ops emu_engine_qemu;

/* Bytes of the ring of values that capture wants of each thread; 0: none. */
u32 emu_values(const struct emu *emu);
/* The descriptor on which capture's requests arrive; for an engine that sleeps in poll(). */
int emu_request_fd(const struct emu *emu);

#endif
