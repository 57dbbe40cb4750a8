/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ptrace execution engine's own state: traced processes, their threads, and their decoded code.
 * ptrace.c is the loop, ptrace_stop.c handles all stops but those after plain steps, ptrace_death.c
 * how threads end, ptrace_syscall.c system calls, ptrace_code.c code and maps, ptrace_start.c
 * spawn, attach, detach, ptrace_wait.c waits for one thread, ptrace_target.c and ptrace_lost.c
 * steps that go too far.
 */
#ifndef AUXTAP_EXEC_PTRACE_H
#define AUXTAP_EXEC_PTRACE_H

#include "exec/code_store.h"
#include <sched.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define TF	    0x100ull
#define CODE_PAGE   4096ull
#define CODE_HASH   1024
#define INSN_MAX    15
#define THREAD_HASH 256
/*
 * EXITKILL: if auxtap-emu is killed during a step, the step's trap would reach the program and end
 * it with a SIGTRAP; and a held thread would wait forever.
 */
#define PTRACE_OUR_OPTIONS                                                                     \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)
#define SIGNAL_BIT(signo) (1ull << ((signo)-1))

/* One page of code that cannot change without a system call, decoded as it is reached. */
struct ptrace_page {
	u64 addr;
	struct ptrace_page *next;
	u32 nr_bytes; /* readable bytes */
	bool generated;
	u8 bytes[CODE_PAGE];
	struct x86_insn insns[CODE_PAGE]; /* len 0: not yet decoded */
};

struct ptrace_map {
	u64 start, end, pgoff, ino;
	u32 maj, min, prot;
	bool shared;
	char *name;
};

/* An address space; CLONE_VM children share it. */
struct ptrace_mm {
	int nr_refs;
	struct ptrace_page *last;
	struct ptrace_page *pages[CODE_HASH]; /* chains: pages are removed */
	int nr_pages;
	struct ptrace_map *maps; /* executable ones, ascending */
	int nr_maps;
	struct code_store code; /* code that the program wrote */
};

/* An instruction of code that the program wrote: an emu_code with space for its bytes. */
union ptrace_generated {
	struct emu_code code;
	u8 space[sizeof(struct emu_code) + INSN_MAX];
};

struct ptrace_process {
	struct ptrace_engine *engine;
	struct ptrace_process *next;
	pid_t pid;
	struct ptrace_mm *mm;
	int nr_threads;	  /* traced threads */
	bool child;	  /* our child: we get its exit status even if it is not traced */
	bool one_thread;  /* attached to one thread only */
	bool passive;	  /* not traceable: continues untraced, only its children are followed */
	siginfo_t signal; /* passive: the last one that a thread got */
	pid_t signal_tid; /* ... which one */
	bool detaching;
	bool exiting; /* death in progress: threads end without further steps */
};

enum ptrace_state {
	PTRACE_TASK_RUNNING,   /* stepping, or in a system call */
	PTRACE_TASK_NEW,       /* attached, its first stop has not come yet */
	PTRACE_TASK_ORPHAN,    /* stopped; its first stop came before its parent's event */
	PTRACE_TASK_HELD,      /* stopped until capture resumes it */
	PTRACE_TASK_LISTENING, /* group stop */
	PTRACE_TASK_EXITING
};

struct ptrace_thread {
	/* hot */
	struct emu_task *task;
	struct ptrace_mm *mm;
	u64 ip; /* of the instruction being stepped */
	/* it was reported to the emulated kernel, but not yet where it went (unresolved: emu.h) */
	bool reported;
	bool slow;	   /* the next stop needs more than a check of the ip */
	bool target_known; /* the instruction being stepped goes to target */
	pid_t tid;
	enum ptrace_state state;
	struct x86_insn insn;
	u64 target;
	bool generated; /* ptrace_code_at() found generated code; its bytes are in code[code_at] */
	u8 code_at;	/* the other code[] may be pending in emu */
	union ptrace_generated code[2];

	struct ptrace_engine *engine;
	struct ptrace_process *proc;
	struct ptrace_thread *hash_next;
	/* if the next stop is a step's, this instruction ran and is not reported yet */
	u64 late_ip;
	bool in_syscall;
	bool late;     /* its first stop did not come in time: detach when it does */
	bool deferred; /* its status arrived while another's was awaited */
	int deferred_status;
	bool own_tf;	   /* the program single-steps itself */
	bool trap_blocked; /* the program blocks SIGTRAP; the kernel's mask must not */
	bool pinned;
	bool mask_in_frame; /* the mask that the handler returns to lacks the program's SIGTRAP */
	bool untraced;	    /* continues without steps, in a passive process */
	u8 opcode;	    /* X86_SYSCALL: the first byte of its code */
	unsigned int passive_execs; /* of 32-bit programs, which capture will resume */
	int resume_sig;		    /* PTRACE_TASK_HELD: signal to deliver */
	siginfo_t died_info;	    /* of died_of */
	/* killed without a signal stop: by seccomp, or because a frame could not be written */
	int died_of;
	bool resume_in_user;	     /* PTRACE_TASK_HELD: user code continues at its ip */
	u64 pushed;		     /* PUSHF: address it stored to */
	int entering;		     /* signal whose handler is entered by the next stop; 0: none */
	bool entering_fault;	     /* a fault of the program caused that signal */
	u64 entering_ip;	     /* where the program was interrupted */
	struct user_regs_struct sys; /* registers at the system call's entry */
	bool whole_call;	     /* the call runs from entry to exit without a step */
	pid_t unpinned;		     /* its affinity is being read by the system call; 0: none */
	cpu_set_t affinity;	     /* the program's own */
};

struct ptrace_engine {
	struct emu *emu;
	struct ptrace_thread *threads[THREAD_HASH]; /* chains: threads are removed */
	struct ptrace_process *processes;
	int nr_threads;
	int nr_deferred;
	cpu_set_t affinity; /* the tracer's own, before pinning */
	int cpu;	    /* pinned to; -1: not */
	bool affinity_known;
	bool detaching_all;
	u64 code_stamps;  /* see code_store_executes() */
	bool orphans_due; /* a parent of new threads has exited: ptrace_orphans() */
};

static inline struct ptrace_engine *ptrace_engine_of(const struct emu *emu)
{
	return emu_engine_priv(emu);
}

/* ptrace.c */
struct ptrace_thread *ptrace_find(struct ptrace_engine *e, pid_t tid);
struct ptrace_thread *ptrace_thread_new(struct ptrace_engine *e, pid_t tid,
					struct ptrace_process *proc);
void ptrace_thread_free(struct ptrace_thread *t);
struct ptrace_process *ptrace_process_find(struct ptrace_engine *e, pid_t pid);
struct ptrace_process *ptrace_process_new(struct ptrace_engine *e, pid_t pid, struct ptrace_mm *mm);
void ptrace_process_free(struct ptrace_process *proc);
void ptrace_step(struct ptrace_thread *t, int sig);
/* User code continues at ip: reports the instruction there, and steps. */
void ptrace_continue_at(struct ptrace_thread *t, u64 ip);
/*
 * The thread is in the kernel and will continue at ip: reports whether the reported instruction was
 * executed, and where it went. No effect if none is reported.
 */
void ptrace_resolve(struct ptrace_thread *t, u64 ip);
void ptrace_next_thread_each(struct ptrace_process *proc, void (*fn)(struct ptrace_thread *t));

void ptrace_report_late(struct ptrace_thread *t);

/* ptrace_wait.c */
/*
 * Waits for the next status of one thread; defers those of others. 0, -ESRCH: no such thread,
 * -ETIMEDOUT. Reaps others meanwhile, because a leader's end waits for theirs.
 */
int ptrace_await(struct ptrace_engine *e, pid_t tid, int *status, int timeout_ms);
/* Polls for a status: its thread, 0: none, or -errno. tid -1: of any thread. */
pid_t ptrace_poll(struct ptrace_engine *e, pid_t tid, int *status);
void ptrace_defer(struct ptrace_thread *t, int status);
pid_t ptrace_deferred(struct ptrace_engine *e, int *status); /* 0: none */

/* ptrace_stop.c */
void ptrace_stop(struct ptrace_thread *t, int status);
void ptrace_foreign(struct ptrace_engine *e, pid_t tid, int status);
void ptrace_orphans(struct ptrace_engine *e);
void ptrace_clear_tf(struct ptrace_thread *t, u64 addr, const struct user_regs_struct *regs);
int ptrace_resume(struct ptrace_thread *t);
int ptrace_regs(struct emu_task *task, struct auxtap_regs *out);

/* ptrace_death.c */
void ptrace_die_of(struct ptrace_thread *t, int sig, const siginfo_t *info);
void ptrace_exit_event(struct ptrace_thread *t);
/* Kills a process if the session uses too much memory. */
void ptrace_over_memory(struct ptrace_engine *e);
void ptrace_gone(struct ptrace_thread *t, int status);

/* ptrace_syscall.c */
void ptrace_before_syscall(struct ptrace_thread *t);
void ptrace_after_syscall(struct ptrace_thread *t, struct user_regs_struct *regs);
bool ptrace_will_restart(const struct user_regs_struct *regs);
/* SYSCALL left RFLAGS in r11 */
void ptrace_clear_tf_in_r11(struct ptrace_thread *t, struct user_regs_struct *regs);
/* Notes whether the program blocks SIGTRAP, and unblocks it, for single steps; blocks it again. */
void ptrace_save_mask(struct ptrace_thread *t);
void ptrace_restore_mask(struct ptrace_thread *t);
/*
 * Restores the mask that a handler returns to, before it starts; or, if a system call has replaced
 * the mask, in its frame, when it is at its first instruction.
 */
void ptrace_restore_mask_for(struct ptrace_thread *t, const struct user_regs_struct *regs);
void ptrace_mask_in_frame(struct ptrace_thread *t, u64 sp);

/* ptrace_code.c */
struct ptrace_mm *ptrace_mm_new(void);
struct ptrace_mm *ptrace_mm_get(struct ptrace_mm *mm);
void ptrace_mm_put(struct ptrace_mm *mm);
/* Copies the maps, and the store of code that the program wrote. */
struct ptrace_mm *ptrace_mm_copy(struct ptrace_engine *e, const struct ptrace_mm *mm);
/* False: not an instruction, or not readable. Sets 'generated' and its bytes, too. */
bool ptrace_code_at(struct ptrace_thread *t, u64 ip, struct x86_insn *insn);
/* Bytes of an instruction that ptrace_code_at() has found. */
bool ptrace_code_bytes(struct ptrace_thread *t, u64 ip, u8 *code, u32 size);
void ptrace_code_forget(struct ptrace_mm *mm, u64 addr, u64 len);
void ptrace_code_forget_all(struct ptrace_mm *mm);
/* Reads /proc/PID/maps; reports new ones to task if it is not NULL. */
void ptrace_maps_sync(struct ptrace_thread *t, bool report);
ssize_t ptrace_mem_read(pid_t pid, u64 addr, void *buf, size_t size);
ssize_t ptrace_maps_text(pid_t pid, char **text);
/* Code that the program wrote: emu_engine_ops.before_encoding and .code. */
void ptrace_code_executes(struct emu_task *task, const struct emu_block *block);
ssize_t ptrace_code_notes(struct emu *emu, pid_t pid, char **notes);

/* ptrace_target.c */
/* Target of the branch at ip with these registers. False: it cannot be determined. */
bool ptrace_target(struct ptrace_thread *t, u64 ip, const struct x86_insn *insn,
		   const struct user_regs_struct *regs, u64 *target);

/* ptrace_lost.c */
void ptrace_compute_target(struct ptrace_thread *t);
bool ptrace_stack_top(struct ptrace_thread *t, unsigned long long *rsp);
/*
 * The reported instruction does not lead to the ip: another one ran after it. True: it was found
 * and reported. False: this is a gap, and nothing more is reported here.
 */
bool ptrace_find_lost(struct ptrace_thread *t, const struct user_regs_struct *regs);

/* Whether the reported instruction alone can have led to ip. */
static inline bool ptrace_plausible(const struct ptrace_thread *t, u64 ip)
{
	u64 fall_through = t->ip + t->insn.len;

	if (t->target_known)
		return ip == t->target;
	switch (t->insn.cls) {
	case X86_PLAIN:
		return ip == fall_through || (ip == t->ip && (t->insn.flags & X86_INSN_REP));
	case X86_JCC:
		return ip == fall_through || ip == fall_through + (u64)(s64)t->insn.disp;
	case X86_JMP:
	case X86_CALL:
		return ip == fall_through + (u64)(s64)t->insn.disp;
	default:
		return true;
	}
}

/* ptrace_start.c */
int ptrace_spawn(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
		 const int stdio[3], pid_t *pid, struct emu_spawned *engine, char *why);
int ptrace_attach(struct emu *emu, pid_t pid, bool one_thread, char *why);
int ptrace_detach(struct emu *emu, pid_t pid);
void ptrace_detach_thread(struct ptrace_thread *t, int sig);
void ptrace_detach_all(struct ptrace_engine *e);
void ptrace_pin(struct ptrace_thread *t);
void ptrace_unpin(struct ptrace_thread *t);
pid_t ptrace_tgid(pid_t tid);

#endif
