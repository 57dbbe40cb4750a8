/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The qemu engine inside auxtap-emu: interfaces between its files. It starts qemu with the plugin,
 * is the tracer (processes, threads, signals, death) and consumes what the plugin sends (execution,
 * maps). It is single-threaded.
 */
#ifndef AUXTAP_QEMU_H
#define AUXTAP_QEMU_H

#include "emu/emu.h"
#include "exec/code_store.h"
#include "qemu_arch.h"
#include "qemu_shm.h"
#include <sys/types.h>

struct qemu_range { /* a range of the guest's address space */
	u64 start, end, pgoff, ino;
	u32 prot, maj, min;
	bool shared;
	char *name; /* malloc'd */
};

struct qemu_process {
	struct qemu_process *next;
	pid_t pid;
	const struct qemu_arch *arch; /* never NULL */
	bool started;		      /* its program is about to run, or runs */
	bool native;		      /* does not run under qemu (any more) */
	bool announced;		      /* reported to capture */
	bool reported_maps;
	bool damaged; /* what its plugin sent is inconsistent; reported */
	u64 guest_base;
	u32 refused; /* bits of enum qemu_refused that were reported */
	struct qemu_range *range;
	u32 nr_ranges, max_ranges;
	struct code_store code;
};

/* Actions that wait until the ring is consumed up to a barrier; the thread is stopped meanwhile. */
enum qemu_todo {
	QEMU_TODO_NOTHING,
	QEMU_TODO_CHILD, /* a child was created: arg */
	QEMU_TODO_EXEC,	 /* arg: former tid */
	QEMU_TODO_EXIT,
	QEMU_TODO_DYING, /* arg: signal */
	QEMU_TODO_GONE,	 /* without an exit stop; arg: wait status */
};

struct qemu_thread {
	struct qemu_thread *next;
	pid_t tid;
	struct qemu_process *process;
	struct emu_task *task; /* NULL: not the guest's, or exited */
	int rec;	       /* index of its record, or -1 */
	bool stopped;	       /* by ptrace */
	bool frozen;	       /* executes no more user code: dead, or about to be */
	bool initial;	       /* its first stop has not come yet */
	bool exited;	       /* continued from its exit stop: no further stop follows */
	/* it exited before an event said who its parent is; arg: wait status */
	bool gone;
	u64 orphan_ns; /* when the wait for the parent's event started; 0: the event has come */
	bool in_kernel;
	bool cut_off;	/* stopped at an arbitrary point in qemu: its registers are not in memory */
	bool gated;	/* waits for the gate of its record */
	u32 nr_resumes; /* resumes expected from capture */
	enum qemu_todo todo;
	u64 barrier;
	bool barrier_set;
	u64 todo_ns; /* QEMU_TODO_DYING: start time */
	long arg;
	u64 skipped; /* ticket + 1 that was given up */
	u64 taken; /* ticket + 1 whose chunk was taken from its record: it did not fill the slot */
	/* the block that started last; reported when it is known to have completed */
	const struct emu_block *newest;
	struct emu_block prefix, wide[4];
	u8 *wide_lens[4];
	u32 wide_at;
	/*
	 * Requested timestamps: bit n for one that is due when n more blocks have been 'newest'.
	 */
	u32 order_due;
	u64 order_seen, order_tsc; /* q->nr_switches and the time when the last was requested */
	struct emu_sample
		sample; /* in the newest block, or in the next one, which starts with it */
	bool has_sample;
	char name[4096]; /* of the next message */
	u32 name_len;
	/* the last signal of the host to this thread, and how much it had sent by then */
	siginfo_t host_info;
	u32 host_flushes, host_nr;
	siginfo_t dying;
	bool raised_segv; /* qemu itself raised SIGSEGV at raised_ip, without one of the host */
	u64 raised_ip;
	/* it died of an instruction that a processor refuses: ip and sp before it */
	bool is_refused;
	u64 refused_ip, refused_sp;
};

struct qemu_engine {
	struct emu *emu;
	struct qemu_shm *shm;
	int shm_fd;
	/* private; the copy in shared memory is only read by the producers */
	u64 head;
	u32 max_slots;		  /* likewise */
	u64 stuck_head, stuck_ns; /* this ticket has been missing since stuck_ns */
	struct qemu_process *processes;
	struct qemu_thread *threads;
	u32 nr_todo;
	u64 nr_switches; /* how often a chunk was of another thread than the previous one */
	pid_t last_tid;	 /* the thread of the last chunk */
	/* process that uses more memory than the session allows: its threads are being stopped */
	pid_t too_large;
	u64 too_large_ns;	 /* when stopping them started */
	u32 nr_orphans;		 /* may be too high until the next check */
	struct emu_block *block; /* private, checked copies of the shared ones */
	u8 *arena;		 /* free part of the newest arena */
	u32 arena_left;
	struct qemu_arena *arenas;
	u64 code_stamps; /* see struct code_store */
	struct qemu_thread *rec_thread[QEMU_NR_RECS];
	bool closed;
};
static inline struct qemu_engine *qemu_engine(const struct emu *emu)
{
	return emu_engine_priv(emu);
}

/* qemu_ring.c */
int qemu_ring_open(struct qemu_engine *q);
bool qemu_ring_consume(struct qemu_engine *q, u32 max_chunks); /* true: progress was made */
void qemu_ring_sleep(struct qemu_engine *q, u32 idle);
void qemu_ring_wake(void);		     /* ends qemu_ring_sleep(); for signal handlers */
void qemu_ring_close(struct qemu_engine *q); /* releases the producers */
void qemu_ring_free(struct qemu_engine *q);
struct qemu_rec *qemu_ring_rec(struct qemu_engine *q, struct qemu_thread *t); /* or NULL */
void qemu_ring_free_rec(struct qemu_engine *q, struct qemu_thread *t);
/* Consumes the rest of a thread that no longer runs: its open chunk. */
void qemu_ring_drain(struct qemu_engine *q, struct qemu_thread *t);

/* qemu_stream.c: turns the chunk stream into calls of emu. */
void qemu_stream(struct qemu_engine *q, struct qemu_thread *t, const u32 *word, u32 nr);
void qemu_stream_release(struct qemu_thread *t); /* reports the newest block */
void qemu_stream_free(struct qemu_thread *t);
void qemu_stream_free_blocks(struct qemu_engine *q);
/* The thread left user mode before ip; sync: because of a fault of the instruction there. */
void qemu_stream_async(struct qemu_thread *t, u64 ip, bool sync);

/* qemu_maps.c */
void qemu_maps_add(struct qemu_process *p, const struct qemu_range *range);
void qemu_maps_remove(struct qemu_process *p, u64 start, u64 end);
const struct qemu_range *qemu_maps_find(const struct qemu_process *p, u64 addr); /* or NULL */
void qemu_maps_clear(struct qemu_process *p);
int qemu_maps_copy(struct qemu_process *to, const struct qemu_process *from);
/* Reports MMAP2 records of the executable ranges within [start, end). */
void qemu_maps_report(struct qemu_process *p, struct emu_task *task, u64 start, u64 end);
void qemu_maps_protect(struct qemu_process *p, u64 start, u64 end, u32 prot);
void qemu_maps_move(struct qemu_process *p, u64 from, u64 from_len, u64 to, u64 to_len);
ssize_t qemu_maps_text(const struct qemu_process *p, char **text);

/* qemu_code.c */
void qemu_code_executes(struct emu_task *task, const struct emu_block *block);
void qemu_code_copy(struct qemu_engine *q, struct qemu_process *to,
		    const struct qemu_process *from);
ssize_t qemu_code_records(struct emu *emu, pid_t pid, char **notes);

/* qemu_ptrace.c */
#define QEMU_PTRACE_OPTIONS                                                                    \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_TRACEEXIT)
bool qemu_ptrace_reap(struct qemu_engine *q); /* true: progress was made */
bool qemu_ptrace_todo(struct qemu_engine *q);
/* Kills a process if the session uses more memory than allowed; called in every iteration. */
void qemu_ptrace_over_memory(struct qemu_engine *q);
/* Handles new threads whose parent was killed before it could report them. */
void qemu_ptrace_orphans(struct qemu_engine *q);
u64 qemu_now_ns(void);
void qemu_ptrace_continue(struct qemu_thread *t, int signo);
void qemu_ptrace_detach_all(struct qemu_engine *q);
/* Frees all threads and processes. */
void qemu_ptrace_free_all(struct qemu_engine *q);
struct qemu_thread *qemu_thread_find(struct qemu_engine *q, pid_t tid);
struct qemu_thread *qemu_thread_new(struct qemu_engine *q, struct qemu_process *p, pid_t tid);
struct qemu_process *qemu_process_find(struct qemu_engine *q, pid_t pid);
struct qemu_process *qemu_process_new(struct qemu_engine *q, pid_t pid);

/* qemu_death.c */
void qemu_death_info(struct qemu_engine *q, struct qemu_thread *t, int signo);
void qemu_death_report(struct qemu_engine *q, struct qemu_thread *t);
/*
 * Reports the last block of a thread that has exited, or is about to. exact: it stopped between
 * blocks, with its registers in memory, so the block is reported up to its ip; else how much of it
 * was executed is unknown, and it is dropped. sync: the instruction at ip has faulted.
 */
void qemu_death_flush(struct qemu_engine *q, struct qemu_thread *t, bool exact, bool sync);

/* qemu_limit.c: why the emulator caused a death, "emulator's limit: …"; NULL: it did not */
const char *qemu_limit(struct qemu_engine *q, struct qemu_thread *t);

/* qemu_state.c */
int qemu_state_env(struct qemu_engine *q, struct qemu_thread *t, union qemu_env *env);
ssize_t qemu_state_host_read(const struct qemu_engine *q, pid_t pid, u64 addr, void *buf,
			     size_t size);
int qemu_state_regs(struct emu_task *task, struct auxtap_regs *regs);
int qemu_state_siginfo(struct emu_task *task, siginfo_t *info);
int qemu_state_facts(struct emu_task *task, struct auxtap_target_facts *facts);
ssize_t qemu_state_mem(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size);
/* Reads the thread's struct qemu_values, from an offset on. */
ssize_t qemu_state_values(struct emu_task *task, u64 off, void *buf, size_t size);
/* The same for the process's struct qemu_heap_log. */
ssize_t qemu_state_heap(struct emu_task *task, u64 off, void *buf, size_t size);
ssize_t qemu_state_maps(struct emu *emu, pid_t pid, char **text);

/* qemu_start.c */
int qemu_start(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
	       const int stdio[3], pid_t *pid, struct emu_spawned *engine, char *why);
/* qemu.c: one iteration of the main loop; false: nothing to do */
bool qemu_pump(struct qemu_engine *q);

#endif
