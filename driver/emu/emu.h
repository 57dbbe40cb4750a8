/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of the emulated kernel to the execution engines: tasks, the code they execute, and
 * the sideband records that the kernel would write about them. Each task has its own virtual CPU
 * with a PT unit. The interface to capture (events, rings, ioctls) is emu_abi.h. All calls come
 * from one thread: the process auxtap-emu has a single one.
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

/*
 * Whether emu_task_blocks() may take the block. UNLESS_RESTART: unless its ip is inside the
 * previous block: then the engine has left that block in the middle, and executes this instruction
 * in a block of its own.
 */
enum emu_batchable {
	EMU_BATCH_NO,
	EMU_BATCH_YES,
	EMU_BATCH_UNLESS_RESTART,
};

/* A sequence of instructions; only the last one may change the flow. */
struct emu_block {
	u64 ip;
	u64 last_ip; /* of the last instruction */
	u32 nr_insns;
	u8 last_len;
	u8 last_cls;   /* enum x86_class or a64_class, by the task's architecture */
	u8 last_flags; /* X86_INSN_… */
	u8 batchable;  /* enum emu_batchable; EMU_BATCH_NO is always allowed */
	/*
	 * length of each instruction, needed for --truth and if the block is cut; NULL: nr_insns is
	 * 1. Must not change before the next call for the task
	 */
	const u8 *lens;
	/*
	 * bytes that were generated at run time; then batchable is EMU_BATCH_NO. NULL: they are
	 * from a file, or have never changed. Valid until the session ends
	 */
	struct emu_code *code;
};

/* The bytes of a block of code that the program has generated. */
struct emu_code {
	u64 stamp; /* for the engine's use */
	u32 size;  /* 0: unknown */
	u8 bytes[];
};

/*
 * Execution. An engine reports a block when it begins. The block is unresolved until the next
 * report, which shows where its last instruction went: to the next block's ip. A block with a
 * single REP instruction that begins again at the same ip continues the same instruction.
 *
 * The calls take interrupts of the unit where the emulated CPU would, so any of them may run driver
 * code. They never serve capture's requests: engines call emu_serve() for that.
 */
void emu_task_block(struct emu_task *task, const struct emu_block *block);
/*
 * emu_task_block() for many blocks: for 'newest', which began last and was not reported yet, and
 * the blocks with the numbers id[]. Takes the first nr_done of these, and reports all but the last
 * of them, which it returns: the new newest. nr_done 0: nothing was done, newest is returned.
 */
const struct emu_block *emu_task_blocks(struct emu_task *task, const struct emu_block *newest,
					const struct emu_block *blocks, u32 nr_blocks,
					const u32 *id, u32 nr, u32 *nr_done);
/*
 * Adds a TSC packet to the trace, because the order in which this thread and others ran may matter
 * here: after the reported branches, and before the branch of the unresolved block. (PT only.)
 */
void emu_task_emit_tsc(struct emu_task *task);
/* Emulated time, the same as emu_now(). It advances only within emu_ calls. */
u64 emu_clock(const struct emu *emu);
/* The value for batchable. restarts: the block may continue one that was left in the middle. */
u8 emu_block_batchable(enum auxtap_arch arch, const struct emu_block *block, bool restarts);
/* An instruction of the last reported block is a sample for the task's SPE unit. */
struct emu_sample {
	u64 pc;
	u32 code; /* the instruction's word */
	bool has_addr, is_store;
	u32 size; /* bytes accessed at addr */
	u64 addr;
};
void emu_task_sample(struct emu_task *task, const struct emu_sample *sample);
/*
 * The task left user mode before executing the instruction at ip: a fault or a signal. If cut is
 * set and the unresolved block contains ip, only its instructions before ip have retired; else all
 * of it has, and it went to ip.
 */
void emu_task_leave_async(struct emu_task *task, u64 ip, bool cut);
/*
 * The unresolved block, if there is one, has retired and ended with a system call: the task is in
 * the kernel now. Call this before the system call is executed, because exit does not return.
 */
void emu_task_enter_kernel(struct emu_task *task);
/*
 * The task, in the kernel or after emu_task_leave_async(), stops running for a while (group stop,
 * long sleep): it is scheduled out, which ends its transactions. The next block schedules it in.
 */
void emu_task_offline(struct emu_task *task);

/*
 * A new task. parent NULL: the first one. Writes PERF_RECORD_FORK into the parent's events (F) and
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
 * Writes COMM if the task's name has changed without a call of emu_task_comm(): by a system call,
 * or by another thread's write to its file in /proc. Call this while the host's thread exists.
 */
void emu_task_learn_comm(struct emu_task *task);
/* The name of the host's thread; "": unknown. */
void emu_read_comm(pid_t tid, char comm[16]);
struct emu_mapping {
	u64 addr, len, pgoff;
	u32 prot; /* PROT_… */
	u32 maj, min;
	u64 ino;
	const char *name; /* as in /proc/PID/maps; "//anon": no name */
};
void emu_task_mmap(struct emu_task *task, const struct emu_mapping *map); /* MMAP2 */
/*
 * The code at the unresolved block's address has changed. Returns a time: trace of the old code is
 * older, trace from this block on is not. The task's stream gets a TSC before the block, and those
 * of the process's other tasks get one before their next block.
 */
u64 emu_task_new_code(struct emu_task *task);
/*
 * The process generates code. Trace of code that it replaces will be a gap for the decoder, which
 * then misses calls: from now on no return of the process is compressed (Intel PT).
 */
void emu_task_disable_ret_compression(struct emu_task *task);
/*
 * The last call for a task: ends its transactions as sched-out does, writes EXIT, and releases the
 * task, which stays for its open events.
 * An unresolved block counts as not executed.
 */
void emu_task_exit(struct emu_task *task);
void emu_process_exit(struct emu *emu, pid_t pid, int wait_status);
/* A synchronous fault has entered a handler of the program. */
void emu_task_fault(struct emu_task *task, u64 ip, int signo);
/*
 * A core-dumping signal will kill the process; capture examines it and then resumes it. All threads
 * must be stopped, and emu_task_leave_async() must have been called for each.
 */
void emu_task_dying(struct emu_task *task, const siginfo_t *info);
/*
 * Call before emu_task_dying() if the program dies because of something that the emulator does not
 * support: 'what', a constant string, becomes the text of DYING.
 */
void emu_task_unsupported(struct emu_task *task, const char *what);
/* Call before emu_task_dying() if it was the emulator that crashed. */
void emu_task_emulator_crashed(struct emu_task *task);
/*
 * Call before emu_task_dying() for SIGSEGV if the frame of the program's handler for signo could
 * not be written.
 */
void emu_task_no_frame(struct emu_task *task, int signo);
/*
 * The process to kill because the traced processes exceed their memory limit, or 0. Cheap enough
 * for every iteration of an engine's loop. The engine kills it with SIGKILL, and calls
 * emu_task_over_memory() for one of its tasks before emu_task_dying().
 */
pid_t emu_process_over_memory(struct emu *emu);
/*
 * auxtap has attached to the processes: enforce a memory limit only if the user gave one.
 */
void emu_memory_attached(struct emu *emu);
void emu_task_over_memory(struct emu_task *task);
/* Reports to capture that the process is not traced, or not correctly. */
void emu_report_problem(struct emu *emu, pid_t pid, const char *why);
/* Sends capture a notice about the process. */
void emu_report_notice(struct emu *emu, pid_t pid, enum auxtap_target_notice what, const char *why);
/*
 * The tracer stopped before a signal is delivered to the process. True: auxtap-emu forwarded the
 * signal, and info now contains the original sender: write it back (PTRACE_SETSIGINFO).
 */
bool emu_signal_seen(struct emu *emu, pid_t pid, siginfo_t *info);

/*
 * True if capture has sent a request: call emu_serve() soon, never within another emu_ call.
 */
bool emu_has_requests(const struct emu *emu);
void emu_serve(struct emu *emu);

/*
 * Sleeps until capture sends a request or timeout_ms (-1: no limit) have passed; for engines
 * without another event to wait for.
 */
void emu_wait(struct emu *emu, int timeout_ms);
/*
 * True if capture has hung up (detected by emu_serve()): detach from all processes, let the program
 * continue, return from run().
 */
bool emu_hung_up(const struct emu *emu);
/* Also true before emu_serve() has detected it. */
bool emu_capture_gone(const struct emu *emu);

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
 * In a new child of auxtap-emu: restores the signal dispositions, mask and limits that auxtap-emu
 * was started with.
 */
void emu_restore_signals(const struct emu *emu);
u64 emu_now(const struct emu *emu); /* emulated TSC */

/* Appended to the reason of a failure with ENOEXEC. */
#define EMU_NO_FORMAT "; neither a program nor a script that begins with #!"

/* An execution engine. emu_serve() makes the calls. Results 0 or -errno. */
struct emu_engine_ops {
	const char *name;
	/* The first and the last call; open() sets the engine's state (emu_set_engine_priv()). */
	int (*open)(struct emu *emu);
	void (*close)(struct emu *emu);
	/*
	 * Starts argv, stopped before its first instruction, and calls emu_task_new() for it. why
	 * (384 bytes): the reason of a failure. engine: zeroed, to be filled in.
	 */
	int (*spawn)(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
		     const int stdio[3], pid_t *pid, struct emu_spawned *engine, char *why);
	int (*attach)(struct emu *emu, pid_t pid, bool one_thread, char *why);
	/*
	 * The main loop: waits, steps, calls the functions above; returns when no task is left and
	 * capture has hung up.
	 */
	int (*run)(struct emu *emu);
	int (*resume)(struct emu_task *task);
	int (*detach)(struct emu *emu, pid_t pid);
	int (*signal)(struct emu *emu, pid_t pid, int signo);
	int (*regs)(struct emu_task *task, struct auxtap_regs *regs);
	int (*siginfo)(struct emu_task *task, siginfo_t *info);
	/* As regset() and facts() of struct auxtap_target_ops. NULL: not supported. */
	int (*regset)(struct emu_task *task, int type, void *buf, size_t *size);
	int (*facts)(struct emu_task *task, struct auxtap_target_facts *facts);
	ssize_t (*mem)(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size);
	ssize_t (*maps)(struct emu *emu, pid_t pid, char **text); /* malloc'd */
	/* Bytes of a stopped thread's ring of values (qemu_values.h). NULL: not supported. */
	ssize_t (*values)(struct emu_task *task, u64 off, void *buf, size_t size);
	/* Bytes of the process's struct qemu_heap_log, from an offset on. NULL: not supported. */
	ssize_t (*heap)(struct emu_task *task, u64 off, void *buf, size_t size);
	/* The task's unresolved block, whose code is not NULL, is about to be encoded. */
	void (*before_encoding)(struct emu_task *task, const struct emu_block *block);
	/* As code() of struct auxtap_target_ops; malloc'd. NULL: not supported. */
	ssize_t (*code)(struct emu *emu, pid_t pid, char **notes);
	/* From now on take samples at this interval (hw/spe_interval.h). NULL: not supported. */
	void (*sample)(struct emu *emu, u32 pmsirr);
};

extern const struct emu_engine_ops emu_engine_ptrace;
extern const struct emu_engine_ops emu_engine_qemu;

/* Size of each thread's ring of values that capture requested; 0: no ring. */
u32 emu_values(const struct emu *emu);
/* The descriptor on which capture's requests arrive; for an engine that sleeps in poll(). */
int emu_request_fd(const struct emu *emu);

#endif
