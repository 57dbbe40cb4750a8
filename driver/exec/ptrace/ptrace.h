/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ptrace execution engine's own state: traced processes, their threads, and their decoded code.
 * ptrace.c is the loop, ptrace_stop.c handles stops other than steps, ptrace_death.c how threads
 * end, ptrace_syscall.c system calls, ptrace_code.c code and maps, ptrace_start.c spawn, attach,
 * detach, ptrace_wait.c waits for one thread, ptrace_target.c and ptrace_lost.c steps that go too
 * far.
 */
#ifndef AUXTAP_EXEC_PTRACE_H
#define AUXTAP_EXEC_PTRACE_H

#include "emu/emu.h"
#include <sched.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define TF	    0x100ull
#define CODE_PAGE   4096ull
#define CODE_HASH   1024
#define THREAD_HASH 256
/*
 * EXITKILL: if auxtap-emu is killed during a step, the step's trap would reach the program and end
 * it with a SIGTRAP; and a held thread would wait forever.
 */
#define PT_OPTIONS                                                                             \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)
#define SIGNAL_BIT(signo) (1ull << ((signo)-1))

/* One page of code that cannot change without a system call, decoded as it is reached. */
struct pt_page {
	u64 addr;
	struct pt_page *next;
	u32 nr_bytes; /* readable bytes */
	u8 bytes[CODE_PAGE];
	struct x86_insn insns[CODE_PAGE]; /* len 0: not yet decoded */
};

struct pt_map {
	u64 start, end, pgoff, ino;
	u32 maj, min, prot;
	bool shared;
	char *name;
};

/* An address space; CLONE_VM children share it. */
struct pt_mm {
	int nr_refs;
	struct pt_page *last;
	struct pt_page *pages[CODE_HASH];
	int nr_pages;
	struct pt_map *maps; /* executable ones, ascending */
	int nr_maps;
};

struct pt_process {
	struct ptrace_engine *engine;
	struct pt_process *next;
	pid_t pid;
	struct pt_mm *mm;
	int nr_threads;	 /* traced threads */
	bool child;	 /* our child: we get its exit status even when it is not traced */
	bool one_thread; /* attached to one thread only */
	bool passive;	 /* not traceable: continues untraced, only its children are followed */
	bool detaching;
	bool exiting; /* death in progress: threads end without further steps */
};

enum pt_state {
	PT_RUNNING,   /* stepping, or in a system call */
	PT_NEW,	      /* attached, first stop still to come */
	PT_ORPHAN,    /* stopped; its first stop came before its parent's event */
	PT_HELD,      /* stopped until capture resumes it */
	PT_LISTENING, /* group stop */
	PT_EXITING
};

struct pt_thread {
	/* hot */
	struct emu_task *task;
	struct pt_mm *mm;
	u64 ip; /* of the instruction being stepped */
	/* it was reported to the emulated kernel, and is not resolved yet */
	bool reported;
	bool slow;     /* the next stop needs more than a check of the ip */
	bool foreseen; /* the instruction being stepped goes to target */
	pid_t tid;
	enum pt_state state;
	struct x86_insn insn;
	u64 target;

	struct ptrace_engine *engine;
	struct pt_process *proc;
	struct pt_thread *hash_next;
	/* if the next stop is a step's, this instruction ran and is not reported yet */
	u64 late_ip;
	bool in_syscall;
	bool late;     /* its first stop did not come in time: detach when it does */
	bool deferred; /* its status arrived while another's was awaited */
	int deferred_status;
	bool own_tf;	   /* the program single-steps itself */
	bool trap_blocked; /* the program blocks SIGTRAP; the kernel's mask must not */
	bool pinned;
	u8 opcode;	/* X86_SYSCALL: its first byte */
	int resume_sig; /* PT_HELD: signal to deliver */
	int died_code;	/* si_code for died_of */
	/* killed without a signal stop: by seccomp, or because a frame could not be written */
	int died_of;
	bool resume_in_user;	     /* PT_HELD: user code continues at its ip */
	u64 pushed;		     /* PUSHF: address it stored to */
	int entering;		     /* signal whose handler is entered by the next stop; 0: none */
	bool entering_fault;	     /* caused by a fault of the program's own */
	u64 entering_ip;	     /* where the program was interrupted */
	struct user_regs_struct sys; /* registers at the system call's entry */
	bool whole_call;	     /* the call runs from entry to exit without a step */
	pid_t unpinned;		     /* its affinity is being read by the system call; 0: none */
	cpu_set_t affinity;	     /* the program's own */
};

struct ptrace_engine {
	struct emu *emu;
	struct pt_thread *threads[THREAD_HASH];
	struct pt_process *processes;
	int nr_threads;
	int nr_deferred;
	cpu_set_t affinity; /* the tracer's own, before pinning */
	int cpu;	    /* pinned to; -1: not */
	bool affinity_known;
	bool letting_go;
	bool orphans_due; /* a parent of new threads has exited: pt_orphans() */
};

static inline struct ptrace_engine *pt_engine(const struct emu *emu)
{
	return emu_engine_priv(emu);
}

/* ptrace.c */
struct pt_thread *pt_find(struct ptrace_engine *e, pid_t tid);
struct pt_thread *pt_thread_new(struct ptrace_engine *e, pid_t tid, struct pt_process *proc);
void pt_thread_free(struct pt_thread *t);
struct pt_process *pt_process_find(struct ptrace_engine *e, pid_t pid);
struct pt_process *pt_process_new(struct ptrace_engine *e, pid_t pid, struct pt_mm *mm);
void pt_process_free(struct pt_process *proc);
void pt_step(struct pt_thread *t, int sig);
void pt_go(struct pt_thread *t, u64 ip); /* user code continues at ip: report, and step */
void pt_settle(struct pt_thread *t, u64 ip);
void pt_next_thread_each(struct pt_process *proc, void (*fn)(struct pt_thread *t));

void pt_report_late(struct pt_thread *t);

/* ptrace_wait.c */
/*
 * Waits for the next status of one thread; defers those of others. 0, -ESRCH: no such thread,
 * -ETIMEDOUT. Reaps others meanwhile, because a leader's end waits for theirs.
 */
int pt_await(struct ptrace_engine *e, pid_t tid, int *status, int timeout_ms);
/* Polls for a status: its thread, 0: none, or -errno. tid -1: of any thread. */
pid_t pt_poll(struct ptrace_engine *e, pid_t tid, int *status);
void pt_defer(struct pt_thread *t, int status);
pid_t pt_deferred(struct ptrace_engine *e, int *status); /* 0: none */

/* ptrace_stop.c */
void pt_stop(struct pt_thread *t, int status);
void pt_foreign(struct ptrace_engine *e, pid_t tid, int status);
void pt_orphans(struct ptrace_engine *e);
void pt_clear_tf(struct pt_thread *t, u64 addr, const struct user_regs_struct *regs);
int pt_resume(struct pt_thread *t);
int pt_regs(struct emu_task *task, struct auxtap_regs *out);

/* ptrace_death.c */
void pt_die_of(struct pt_thread *t, int sig, const siginfo_t *info);
void pt_exit_event(struct pt_thread *t);
void pt_over_memory(
	struct ptrace_engine *e); /* kills a process if the session uses too much memory */
void pt_gone(struct pt_thread *t, int status);

/* ptrace_syscall.c */
void pt_before_syscall(struct pt_thread *t);
void pt_after_syscall(struct pt_thread *t, struct user_regs_struct *regs);
bool pt_will_restart(const struct user_regs_struct *regs);
void pt_clear_r11(struct pt_thread *t, struct user_regs_struct *regs);
void pt_put_back_mask(struct pt_thread *t);
void pt_take_mask(struct pt_thread *t);

/* ptrace_code.c */
struct pt_mm *pt_mm_new(void);
struct pt_mm *pt_mm_get(struct pt_mm *mm);
void pt_mm_put(struct pt_mm *mm);
struct pt_mm *pt_mm_copy(const struct pt_mm *mm); /* copies only the maps */
/* False: not an instruction, or not readable. */
bool pt_code_at(struct pt_thread *t, u64 ip, struct x86_insn *insn);
/* Bytes of an instruction that pt_code_at() has found. */
bool pt_code_bytes(struct pt_thread *t, u64 ip, u8 *code, u32 size);
void pt_code_forget(struct pt_mm *mm, u64 addr, u64 len);
void pt_code_forget_all(struct pt_mm *mm);
/* Reads /proc/PID/maps; reports new ones to task if it is not NULL. */
void pt_maps_sync(struct pt_thread *t, bool report);
ssize_t pt_mem_read(pid_t pid, u64 addr, void *buf, size_t size);
ssize_t pt_maps_text(pid_t pid, char **text);

/* ptrace_target.c */
/* Target of the branch at ip with these registers. False: it cannot be determined. */
bool pt_target(struct pt_thread *t, u64 ip, const struct x86_insn *insn,
	       const struct user_regs_struct *regs, u64 *target);

/* ptrace_lost.c */
void pt_foresee(struct pt_thread *t);
bool pt_stack_top(struct pt_thread *t, unsigned long long *rsp);
/*
 * The reported instruction does not lead to the ip: another one ran after it. True: it was found
 * and reported. False: this is a gap, and nothing more is reported here.
 */
bool pt_find_lost(struct pt_thread *t, const struct user_regs_struct *regs);

/* Whether the reported instruction alone can have led to ip. */
static inline bool pt_plausible(const struct pt_thread *t, u64 ip)
{
	u64 fall = t->ip + t->insn.len;

	if (t->foreseen)
		return ip == t->target;
	switch (t->insn.cls) {
	case X86_PLAIN:
		return ip == fall || (ip == t->ip && (t->insn.flags & X86_INSN_REP));
	case X86_JCC:
		return ip == fall || ip == fall + (u64)(s64)t->insn.disp;
	case X86_JMP:
	case X86_CALL:
		return ip == fall + (u64)(s64)t->insn.disp;
	default:
		return true;
	}
}

/* ptrace_start.c */
int pt_spawn(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
	     const int stdio[3], pid_t *pid, struct emu_spawned *engine, char *why);
int pt_attach(struct emu *emu, pid_t pid, bool one_thread, char *why);
int pt_detach(struct emu *emu, pid_t pid);
void pt_detach_thread(struct pt_thread *t, int sig);
void pt_detach_all(struct ptrace_engine *e);
void pt_pin(struct pt_thread *t);
void pt_unpin(struct pt_thread *t);
void pt_read_comm(pid_t tid, char comm[16]);
pid_t pt_tgid(pid_t tid);

#endif
