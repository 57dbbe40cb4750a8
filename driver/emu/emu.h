/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulated kernel, seen by the execution sources: tasks, what they execute, and what
 * the kernel would tell perf about them. Each task has a virtual CPU with a PT unit of its
 * own. The other side (events, rings, ioctls of capture) is emu_abi.h.
 * One thread: the process auxtap-emu has a single one.
 */
#ifndef AUXTAP_EMU_H
#define AUXTAP_EMU_H

#include "hw/a64_insn.h"
#include "hw/x86_insn.h"
#include <auxtap/crash.h>
#include <signal.h>
#include <sys/types.h>

struct emu;
struct emu_task;

/* May emu_task_run() take the block? */
enum emu_run {
	EMU_RUN_NO,
	EMU_RUN_YES,
	EMU_RUN_ALONE, /* unless it begins inside the block before it, which was left there */
};

/* A run of instructions without a change of flow before its last one. */
struct emu_block {
	u64 ip;
	u64 last_ip; /* of the last instruction */
	u32 nr_insns;
	u8 last_len;
	u8 last_cls;	/* enum x86_class or a64_class, as the task's code is */
	u8 last_flags;	/* X86_INSN_… */
	u8 run;		/* enum emu_run; 0 is always right */
	const u8 *lens; /* length of each instruction; needed for --truth and cuts; NULL if nr_insns
			 * is 1. Must stay as it is until the next call for the task */
};

/*
 * Execution. A block is told when it begins; what its last instruction did is known when
 * the next thing is told: the next block's ip is where it went. A block whose single REP
 * instruction begins again at the same ip is the same instruction going on.
 * The calls take interrupts of the unit where the emulated CPU would, so any of them may
 * run driver code. They never serve capture's requests: sources do, with emu_serve().
 */
void emu_task_block(struct emu_task *task, const struct emu_block *block);
/*
 * emu_task_block() for 'held', which began last, and for the blocks of id[] but the last one
 * that is taken, which is returned: what became of it is not known yet. The first nr_done of
 * them are taken; where that is 0 nothing was done, and held is returned.
 */
const struct emu_block *emu_task_run(struct emu_task *task, const struct emu_block *held,
				     const struct emu_block *blocks, u32 nr_blocks, const u32 *id,
				     u32 nr, u32 *nr_done);
/* The value of the member run; restarts: blocks of that form continue blocks that were left. */
u8 emu_block_run(enum auxtap_arch arch, const struct emu_block *block, bool restarts);
/* An instruction of the block told last is a sample for the task's SPE unit. */
struct emu_sample {
	u64 pc;
	u32 code; /* its word */
	bool has_addr, is_store;
	u32 size; /* bytes accessed at addr */
	u64 addr;
};
void emu_task_sample(struct emu_task *task, const struct emu_sample *sample);
/*
 * The task left user mode before executing the instruction at ip: a fault or a signal. The pending
 * block is cut at ip if ip lies in it and cut is set, else it completed and went to ip.
 */
void emu_task_async(struct emu_task *task, u64 ip, bool cut);
/*
 * Everything pending completed with a system call (or there is nothing pending): the task is in the
 * kernel now. Call it before the system call is executed: exit never comes back.
 */
void emu_task_in_kernel(struct emu_task *task);
/*
 * The task, in the kernel or flushed by emu_task_async(), stops running for a while (group stop,
 * long sleep): sched-out, which closes its transactions. The next block brings it back.
 */
void emu_task_offline(struct emu_task *task);

/*
 * Tasks. parent NULL: the first one. Writes FORK (F, PERF_RECORD_FORK) into the parent's events and
 * tells capture, which will open events on the new task and then resume it: the source's resume op
 * is called.
 */
struct emu_task *emu_task_new(struct emu *emu, struct emu_task *parent, pid_t pid, pid_t tid,
			      const char *comm);
/* What the task executes from now on; x86-64 at first, a child what its parent does. */
void emu_task_set_arch(struct emu_task *task, enum auxtap_arch arch);
struct emu_task *emu_task_find(struct emu *emu, pid_t tid);
/* COMM|EXEC; tells capture; resumed later */
void emu_task_exec(struct emu_task *task, const char *comm);
void emu_task_comm(struct emu_task *task, const char *comm);
struct emu_mapping {
	u64 addr, len, pgoff;
	u32 prot; /* PROT_… */
	u32 maj, min;
	u64 ino;
	const char *name; /* as in /proc/PID/maps; "//anon" for none */
};
void emu_task_mmap(struct emu_task *task, const struct emu_mapping *map); /* MMAP2 */
/*
 * Last thing of a task: closes its transactions as sched-out does, EXIT. Frees the task. An
 * unresolved block did not run.
 */
void emu_task_exit(struct emu_task *task);
void emu_process_exit(struct emu *emu, pid_t pid, int wait_status);
/* A synchronous fault has entered a handler of the program. */
void emu_task_fault(struct emu_task *task, u64 ip, int signo);
/*
 * A core-dumping signal will kill the process; capture looks at it and then resumes. All threads
 * must be stopped and have been flushed by emu_task_async().
 */
void emu_task_dying(struct emu_task *task, const siginfo_t *info);
/*
 * Before emu_task_dying(): the program dies of something the emulator cannot do. why begins with
 * "emulator", is constant, and becomes the text of DYING.
 */
void emu_task_limit(struct emu_task *task, const char *why);
/*
 * Before emu_task_dying() of SIGSEGV: the frame of the program's handler for signo could not be
 * written.
 */
void emu_task_no_frame(struct emu_task *task, int signo);
/*
 * The process to end because the session's processes use more memory than they may, or 0. Cheap:
 * for every turn of a source's loop. That process dies of SIGKILL: a task of it is marked before
 * emu_task_dying().
 */
pid_t emu_over_memory(struct emu *emu);
/* The processes were attached to: they are ended for their memory only if the user gave a limit. */
void emu_memory_attached(struct emu *emu);
void emu_task_over_memory(struct emu_task *task);
void emu_untraced(struct emu *emu, pid_t pid, const char *why); /* a gap capture must report */
/*
 * The tracer sees a signal on its way to the process. True: it is one that we have forwarded,
 * and info names now the process that sent it to us: write it back (PTRACE_SETSIGINFO).
 */
bool emu_signal_seen(struct emu *emu, pid_t pid, siginfo_t *info);

/*
 * True if capture asked for something: sources call emu_serve() soon (never within another emu_
 * call).
 */
bool emu_has_requests(const struct emu *emu);
void emu_serve(struct emu *emu);

/*
 * Sleeps until capture asks for something, or timeout_ms (-1: no limit) are over; for a source that
 * has nothing to wait for.
 */
void emu_wait(struct emu *emu, int timeout_ms);
/*
 * Capture hung up (noticed by emu_serve()): detach everything, let the program run on, return from
 * run().
 */
bool emu_hung_up(const struct emu *emu);
/* The same, also before emu_serve() has noticed. */
bool emu_left_alone(const struct emu *emu);

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

/* Behind the reason that is ENOEXEC. */
#define EMU_NO_FORMAT "; neither a program nor a script that begins with #!"

/* An execution source. Calls come from emu_serve(). Results 0 or -errno. */
struct emu_engine_ops {
	const char *name;
	/*
	 * Start argv stopped before its first instruction; emu_task_new() has been called for it on
	 * return. why (384 bytes): on failure the reason, else "VERSION\nNOTE" of the engine, or
	 * "".
	 */
	int (*spawn)(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
		     const int stdio[3], pid_t *pid, char *why);
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
	ssize_t (*mem)(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size);
	ssize_t (*maps)(struct emu *emu, pid_t pid, char **text); /* malloc'd */
	/* From now on take samples, so far apart (hw/spe_interval.h). NULL: it cannot. */
	void (*sample)(struct emu *emu, u32 pmsirr);
};

extern const struct emu_engine_ops emu_engine_ptrace;
extern const struct emu_engine_ops emu_engine_qemu;

/* The descriptor capture's requests arrive on; for a source that sleeps in poll(). */
int emu_request_fd(const struct emu *emu);

#endif
