/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulated kernel's own state, private to driver/emu/. Engines see emu.h, capture sees
 * emu_abi.h.
 */
#ifndef AUXTAP_EMU_STATE_H
#define AUXTAP_EMU_STATE_H

#include "core/core.h"
#include "emu/emu.h"
#include "emu/emu_abi.h"
#include "hw/etm_unit.h"
#include "hw/pt_unit.h"
#include "hw/spe_unit.h"
#include <auxtap/capture.h>
#include <signal.h>
#include <sys/resource.h>

#define EMU_NR_SIGNALS	  65
#define EMU_NR_LIMITS	  2
#define EMU_TASK_HASH	  1024
#define EMU_NR_TASK_SLOTS 2048ul

/* Bits of pending_work: reasons to leave the hot path before the next block. */
#define WORK_IRQ   0x1 /* the unit's interrupt line is raised */
#define WORK_IPI   0x2 /* leave and re-enter user mode, for a newer TSC */
#define WORK_ENTER 0x4 /* not in user mode, or not scheduled in */

/* Executed addresses that are to be written to PATH.TID. */
struct emu_ground_truth {
	int fd; /* -1: none */
	size_t nr;
	u64 *addrs;
	bool failed;
};

struct emu_unit; /* emu_unit.h */

struct emu_task {
	/* hot: one cache line */
	/* the last reported block; the next one shows where it went. nr_insns 0: none */
	struct emu_block unresolved;
	u32 pending_work;
	bool in_user;
	bool has_truth;
	int cpu;		    /* virtual CPU; -1: all were taken */
	u32 arch;		    /* enum auxtap_arch of the code that it executes */
	struct emu_unit *arm_units; /* all but PT's; fed with AArch64 code only */
	struct pt_unit *pt_active;  /* &pt, or &pt_shadow while pt is off for lack of space */
	u64 nr_insns;

	struct emu *emu;
	u64 ip;		    /* next instruction, as far as it is known */
	bool pt_irq_raised; /* PT's interrupt line is raised */
	bool has_sample;    /* one of the unresolved block's instructions */
	struct emu_sample sample;
	u64 new_code_tsc;   /* result of emu_task_new_code() */
	u32 irq_delay_left; /* blocks until a raised interrupt is taken */
	bool scheduled;
	bool gone;   /* exited; kept for its events */
	int nr_refs; /* one for the task's lifetime, and one for each open event */
	struct emu_ground_truth truth;
	struct core_task core;
	struct pt_output_bus pt_bus, pt_shadow_bus;
	struct pt_unit pt, pt_shadow;
	u64 shadow_produced;	    /* bytes that earlier shadows produced */
	bool trace_wanted;	    /* tracing was enabled, and capture has not disabled it */
	u64 trace_ctl;		    /* RTIT_CTL with which tracing was last enabled */
	bool paused;		    /* capture has disabled the event after tracing began */
	u64 paused_at, nr_untraced; /* instructions */
	struct emu_task *hash_next;
	void *priv;
	bool over_memory; /* it dies because the session uses too much memory */
	/* it dies because the frame of its handler for this signal cannot be written */
	int frame_signo;
	const char *unsupported; /* what the emulator does not support, if that is why it dies */
	bool emulator_crashed;	 /* that is why it dies */
	char comm[16];
};

/* One open event, identified by its descriptor number. */
struct emu_event {
	struct perf_event *event; /* NULL: free slot */
	struct emu_task *task;
	int wake_fd;			      /* eventfd */
	bool is_trace;			      /* an event of the PT PMU */
	const struct emu_unit_family *family; /* NULL: not a trace event */
	struct emu_unit *unit;		      /* the unit that generates its trace, if not PT's */
	struct emu_event_stats base;
};

struct emu_slots {
	void **items;
	int nr, cap; /* used, allocated */
};

struct emu_queued {
	struct emu_queued *next;
	struct auxtap_target_event ev;
};

/* A signal that capture, auxtap-emu or the program received (signal_route.c). */
struct emu_received_signal {
	int signo;
	pid_t sender;
	uid_t uid;
	u64 time_ns;
	bool matched;	  /* an entry of another list is the same signal */
	bool decided;	  /* whether to send it to the program */
	bool sent;	  /* it was sent to the program because of this entry */
	bool delivered;	  /* the program received the same signal */
	bool was_pending; /* the signal was pending in the program */
	bool is_late;	  /* in auxtap-emu's list: still pending in capture */
	/* whether the program blocked it at checked_ns */
	enum emu_blocked { EMU_BLOCKED_NO, EMU_BLOCKED_YES, EMU_BLOCKED_UNKNOWN } blocked;
	u64 checked_ns; /* when the program was last checked; 0: not yet */
	/* in capture's list: the same signal in auxtap-emu's own list */
	struct emu_received_signal *own_match;
};

#define EMU_NR_RECEIVED 64 /* a list keeps the newest */
struct emu_received_signals {
	struct emu_received_signal item[EMU_NR_RECEIVED];
	u32 nr, nr_done;
};

struct emu_route {
	pid_t pid;    /* the program that was started; 0: none */
	bool waiting; /* some received signals are not decided yet */
	/* received by capture, by auxtap-emu, by the program; sent to the program */
	struct emu_received_signals capture, own, program, sent;
};

/* Memory use of the traced processes. */
struct emu_memory_limit {
	u64 bytes;   /* 0: not determined yet */
	u64 next_ns; /* when to check again */
	bool off;    /* no limit was given, and the processes ran before auxtap attached */
};

/* Tasks in memory that capture can read (task_memory.c). */
struct emu_task_memory {
	int fd;	  /* -1: none */
	u8 *base; /* NULL: none */
	bool used[EMU_NR_TASK_SLOTS];
};

struct emu {
	u64 tsc;
	struct emu_memory_limit memory;
	volatile sig_atomic_t doorbell;
	struct emu_route route;
	bool hung_up;
	bool quiet_new; /* emu_task_new() during spawn: the reply tells capture */
	const struct emu_engine_ops *engine;
	void *engine_priv;
	int request_fd, event_fd;
	/* by tid; not a util/hash_map, which does not support removal */
	struct emu_task *hash[EMU_TASK_HASH];
	int nr_tasks;
	struct emu_task *cpus[CORE_NR_CPUS];
	struct emu_slots events, mappings;
	struct emu_queued *queue, **queue_tail;
	char *truth_path;
	pid_t *truth_tids; /* threads with a file of this run: a reused tid appends */
	int nr_truth_tids, max_truth_tids;
	char *maps_text; /* result of the last EMU_MAPS or EMU_CODE with offset 0 */
	size_t maps_size;
	u32 values;	      /* see emu_values() */
	u32 irq_delay_blocks; /* settable: delay of interrupts, in blocks */
	u32 irq_delay_bytes;
	struct sigaction old_actions[EMU_NR_SIGNALS];
	sigset_t old_mask;
	struct emu_limit {
		__rlimit_resource_t resource;
		bool known;
		struct rlimit value;
	} old_limits[EMU_NR_LIMITS];
	struct pt_unit_config pt_config;
	struct etm_unit_config etm_config;
	struct spe_unit_config spe_config;
	struct emu_task_memory task_memory;
	u8 *message; /* EMU_MESSAGE_MAX, requests */
	u8 *answer;  /* EMU_MESSAGE_MAX, replies */
};

/* execute.c */
void emu_task_start_unit(struct emu_task *task);
void emu_task_kernel_exit(struct emu_task *task, u64 ip); /* returns to user mode at ip */
void emu_task_schedule(struct emu_task *task, bool in);
/* Handles task->pending_work before the instruction at ip. */
void emu_task_do_work(struct emu_task *task, u64 ip);
/* Capture has enabled or disabled the task's trace event. The task is in kernel mode. */
void emu_task_set_enabled(struct emu_task *task, bool enabled, bool was_tracing);
/* Whether packets of code that runs now would reach memory. */
bool emu_task_tracing(const struct emu_task *task);
void emu_task_trace_closed(struct emu_task *task);
/*
 * Runs fn as an interprocessor interrupt would on the task's CPU: leaves user mode before and
 * enters it after.
 */
void emu_task_run_ipi(struct emu_task *task, void (*fn)(void *arg), void *arg);
void emu_task_stats(const struct emu_task *task, const struct emu_unit *unit,
		    struct emu_event_stats *stats);
int emu_pmu_start(struct emu *emu);
struct emu *emu_the_machine(void);

/* task_memory.c */
void emu_task_memory_start(struct emu *emu);
int emu_task_memory_fd(const struct emu *emu); /* read-only, owned by the caller; -1: none */
/* task->emu is set. NULL: no memory. */
struct emu_task *emu_task_alloc(struct emu *emu);
void emu_task_free(struct emu_task *task);
/* Offset in the shared memory of the PT unit's count of written bytes; 0: not in it. */
u64 emu_task_bytes_counter(const struct emu_task *task);

/* task.c */
void emu_task_put(struct emu_task *task);
u64 emu_tick(struct emu *emu);

/* ground_truth.c */
int emu_ground_truth_open(struct emu *emu, struct emu_task *task);
void emu_ground_truth_block(struct emu_task *task, const struct emu_block *block, u32 nr_insns);
void emu_ground_truth_close(struct emu_task *task);

/* event_queue.c */
void emu_send_event(struct emu *emu, const struct auxtap_target_event *ev);
void emu_flush_events(struct emu *emu);

/* signals.c */
int emu_signals_init(struct emu *emu);
void emu_raise_limits(struct emu *emu);
void emu_signals_end(void);
void emu_ring_doorbell_after(u64 ns); /* then emu_has_requests() becomes true */

/* signal_route.c */
u64 emu_now_ns(void);
struct emu_received_signal *emu_received_signal_add(struct emu_received_signals *list, int signo,
						    pid_t sender, uid_t uid);
void emu_route_run(struct emu *emu); /* sends pending signals to the program */

/* server.c and its calls */
struct emu_answer {
	int64_t result;
	uint64_t value[2];
	uint32_t data_size;
	int fd; /* sent along; -1: none */
	bool close_fd;
};
int emu_call_perf(struct emu *emu, const struct emu_request *req, const u8 *data,
		  struct emu_answer *answer);
int emu_call_target(struct emu *emu, const struct emu_request *req, const u8 *data, const int *fds,
		    int nr_fds, struct emu_answer *answer);
/* Closes the events and mappings that capture left open when it hung up, as its exit would. */
void emu_perf_release(struct emu *emu);
/* Calls emu_perf_release(), closes the engine and frees emu. */
void emu_release_all(struct emu *emu);

int emu_slots_add(struct emu_slots *slots, void *item);
void *emu_slots_get(const struct emu_slots *slots, int64_t number);

#endif
