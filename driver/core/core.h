/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host model of the perf core, as its callers see it: what system calls, the scheduler and the
 * interrupt controller do in a real kernel. driver/emu and the tests call this; PMU drivers include
 * <linux/perf_event.h> (core/linux/) and see the kernel's AUX API only. Rule numbers (D21) refer to
 * docs/kernel-rules.md. Thread safety: each thread has a machine of its own (core_local.h); the
 * reader of a ring is another process (or thread) that only accesses the mappings.
 */
#ifndef AUXTAP_CORE_H
#define AUXTAP_CORE_H

#include "core/core_local.h"
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event;
struct perf_event_attr;

/*
 * Bugs that kernels have had. No member of core_kernels[] has any; the simulator adds them to a
 * copy, to show that its checks detect them.
 */
struct core_injected_bugs {
	/* D18: aux_wakeup += W, however many watermarks were passed */
	bool wakeup_by_one;
	bool overwrite_watermark;  /* C3, D18: an area in overwrite mode has a watermark, too */
	bool truncation_goes_on;   /* D21: a truncated event is never disabled */
	bool refcount_first;	   /* D2: takes the reference before it checks the count */
	bool partial_is_truncated; /* D9: PARTIAL becomes TRUNCATED */
	bool head_32_bit;	   /* A: aux_head is 32 bits wide */
	bool skip_without_wakeup;  /* D11: perf_aux_output_skip() wakes no reader */
};

/* A modelled kernel version: one switch per difference between kernels (section L). */
struct core_kernel {
	const char *name;
	/* D21: pending_disable = smp_processor_id(); lost on CPU 0 (until 6.15, see L1) */
	bool disable_by_cpu_number;
	/* D21: only sched-out checks pending_disable (6.11 to 6.15, see L1) */
	bool disable_at_sched_out;
	/* D14: PMU format bits alone emit no AUX record (some kernels, see L2) */
	bool aux_gate_masks_format;
	/* L3: chunks are single pages unless the PMU asks for large ones */
	bool aux_chunk_order_zero;
	bool aux_pause_resume;	   /* L4 */
	bool mmap_other_ring_busy; /* L6: mmap of another event's ring fails with EBUSY */
	/* Q1: only events of the added event's PMU are rescheduled */
	bool resched_one_pmu;
	const struct core_injected_bugs *bugs; /* NULL: none */
};
extern const struct core_kernel *const core_kernels[]; /* NULL-terminated */
const struct core_kernel *core_kernel_find(const char *name);
/* Sets the kernel version for events opened from now on; default 6.1.192. */
void core_kernel_use(const struct core_kernel *kernel);

/*
 * A task and its perf_event_context, of which the model has one per task; also the context of a
 * CPU. Embedded by the owner; zeroed before use.
 */
struct core_task {
	pid_t pid, tid;
	struct perf_event *events; /* list through next_in_ctx, kept by core */
	/* kept by core: 1 + the CPU it runs on; 0: none */
	int cpu_plus1;
	uint64_t ctx_id, generation, clone_of, clone_generation; /* kept by core: Q3; 0: none */
};

/*
 * System calls: results like the real ones, or a negative errno. cpu -1: any. group, parent may be
 * NULL.
 */
int core_event_open(struct perf_event **event, const struct perf_event_attr *attr,
		    struct core_task *task, int cpu, struct perf_event *group,
		    struct perf_event *parent);
/*
 * Like close(): an event with mappings lives until the last one is unmapped. Its children are
 * closed with it.
 */
void core_event_close(struct perf_event *event);
/* A mapping: memory shared through memfd at memfd_off. addr is its address in this process. */
struct core_mapping {
	/* owned by the ring: dup it to keep it; sealed: its size is fixed; -1: private_rings */
	int memfd;
	uint64_t memfd_off, length;
	void *addr;
	struct perf_event *event;
	bool aux;
	bool last; /* kept by core: this was the last mapping of the AUX area */
};
int core_event_mmap(struct perf_event *event, uint64_t length, int prot, int flags, uint64_t offset,
		    struct core_mapping **mapping);
void core_event_munmap(struct core_mapping *mapping);
/* The two halves of munmap (B18): stop the events; release the memory. */
void core_event_munmap_stop(struct core_mapping *mapping);
void core_event_munmap_free(struct core_mapping *mapping);
/*
 * argument: a value; for pointers (ID, SET_FILTER) the host address; for SET_OUTPUT target is used
 * (NULL detaches).
 */
long core_event_ioctl(struct perf_event *event, unsigned long request, unsigned long argument,
		      struct perf_event *target);
/*
 * Address filters, as PERF_EVENT_IOC_SET_FILTER and the mappings of the task would set them. file:
 * offset is an offset in a file, which is not mapped until core_event_map_addr_filter() gives the
 * range of the nth filter (start 0: not mapped). action: PERF_ADDR_FILTER_ACTION_….
 */
struct core_addr_filter {
	uint64_t offset, size;
	int action;
	bool file;
};
int core_event_set_addr_filters(struct perf_event *event, const struct core_addr_filter *filters,
				unsigned int nr);
void core_event_map_addr_filter(struct perf_event *event, unsigned int n, uint64_t start,
				uint64_t size);
unsigned int core_event_poll(struct perf_event *event); /* E12; POLL… bits */
ssize_t core_event_read(struct perf_event *event, void *buf, size_t size);
uint64_t core_event_id(const struct perf_event *event);
/* Active as a PMU sees it: scheduled in and not disabled. */
bool core_event_active(const struct perf_event *event);

/* PMUs that drivers registered, by name. -ENOENT: no such PMU. */
int core_pmu_type(const char *name);
int core_pmu_capabilities(const char *name);
/*
 * What sysfs would show: "type", "format/cyc", "caps/…". Length without the newline, or -ENOENT,
 * -ENOSPC.
 */
ssize_t core_pmu_attr(const char *name, const char *attr, char *buf, size_t size);

/* Page size in bytes for areas mapped from now on: a power of two; default 4096. */
void core_page_size_use(uint64_t page_size);

/*
 * Threads: each has a machine, PMUs and memory of its own; events, tasks and mappings belong to the
 * thread that made them. If several threads use the model, each calls core_thread_begin() first and
 * core_thread_end() after it has closed everything; in between it has CPUs 0 … CORE_THREAD_CPUS-1.
 * -EBUSY: all CPUs are in use, by CORE_NR_CPUS / CORE_THREAD_CPUS threads. A process with one
 * thread needs no calls and has all CPUs.
 */
#define CORE_THREAD_CPUS 8
int core_thread_begin(void);
void core_thread_end(void);
extern CORE_LOCAL int core_first_cpu; /* index of this thread's CPU 0 in arrays of all CPUs */

/* The machine. Virtual CPUs 0 … CORE_NR_CPUS-1; smp_processor_id() is the current one. */
#define CORE_NR_CPUS 1024
void core_set_cpu(int cpu);
int core_cpu(void);
/*
 * Scheduler: the task starts or stops running on the current CPU; its events are scheduled in or
 * out. Sched-out acts on pending_disable.
 */
void core_task_sched_in(struct core_task *task);
void core_task_sched_out(struct core_task *task);
/*
 * Switches directly from one task to the other. Returns true if their events are clones of each
 * other: then no event is scheduled in or out, the contexts are swapped (Q3).
 */
bool core_task_switch(struct core_task *from, struct core_task *to);
/* fork: child has inherited every event of parent. */
void core_task_cloned(const struct core_task *parent, struct core_task *child);
/*
 * exec: events with enable_on_exec are enabled. exit: events are scheduled out for good; inherited
 * ones are freed, the others report POLLHUP until they are closed.
 */
void core_task_exec(struct core_task *task);
void core_task_exit(struct core_task *task);
/*
 * Runs the irq_work queued on the current CPU, wakeups and disables (D21, E12), until the queue is
 * empty.
 */
void core_irq_work_run(void);
bool core_irq_work_pending(void);

/*
 * Sideband: record of the given type with body (without sample id) into the rings of those
 * events of the task whose attr asks for it (comm, mmap, mmap2, task, context_switch).
 */
void core_task_record(struct core_task *task, uint32_t type, uint16_t misc, const void *body,
		      size_t size);
/*
 * Writes one record into one event's ring, as the task that runs on the current CPU. Appends the
 * sample id, except to PERF_RECORD_SAMPLE, whose body the caller makes complete (E7 counts it).
 * Returns 0; -ENOSPC: lost and counted; -E2BIG: longer than a record can be.
 */
int core_event_record(struct perf_event *event, uint32_t type, uint16_t misc, const void *body,
		      size_t size);

/*
 * B11. Mappings are charged to the user up to a budget, and beyond it to the address space up to
 * its limit. The owner keeps the counts, which outlive the mappings.
 */
struct core_budget {
	uint64_t *user_pages, *pinned_pages;
	uint64_t free_pages;  /* perf_event_mlock_kb × CPUs online */
	uint64_t limit_pages; /* RLIMIT_MEMLOCK */
	bool exempt;	      /* CAP_IPC_LOCK, or perf_event_paranoid is -1 */
};

struct perf_output_handle;
/*
 * Observer callbacks around the AUX API that drivers use (driver/core/aux_output.c). Each may be
 * NULL. They must not change state; only race() may, as another CPU would.
 */
struct core_observer {
	/* handle->event is NULL: begin failed; full: for lack of space (D6) */
	void (*aux_begin)(void *ctx, const struct perf_output_handle *handle,
			  const struct perf_event *event, bool full);
	void (*aux_skip)(void *ctx, const struct perf_output_handle *handle, uint64_t nr_bytes,
			 int ret);
	/*
	 * The handle is still open. record_expected: D14 requires a record; lost: the ring had no
	 * space for it (F3).
	 */
	void (*aux_end)(void *ctx, const struct perf_output_handle *handle, uint64_t offset,
			uint64_t nr_bytes, bool record_expected, bool lost);
	void (*aux_wakeup)(void *ctx, const struct perf_event *event);
	void (*aux_free)(void *ctx);
	/* within begin, between the two checks of whether the area is in use (D2) */
	void (*race)(void *ctx);
};

/*
 * Set once by the machine: the clock of records (perf time), and the callback for wakeups (E12:
 * called for every event of the ring).
 */
struct core_machine {
	void *ctx;
	uint64_t (*clock)(void *ctx);
	void (*wakeup)(void *ctx, struct perf_event *event);
	/*
	 * C5: the order (at most the given one) that a page allocation of rb_alloc_aux succeeds
	 * with; negative: every allocation fails. NULL: all succeed.
	 */
	int (*alloc_order)(void *ctx, int order);
	/* B11: of the task that currently maps; NULL: no limit */
	const struct core_budget *budget;
	bool unprivileged; /* the task that currently opens events has no CAP_PERFMON */
	/*
	 * Rings are private to this process and have no memfd, whose system calls take most of the
	 * time.
	 */
	bool private_rings;
	/*
	 * Receives what drivers print (level as the kernel's, '3' error … '7' debug), and failed
	 * WARN_ONs; may be NULL.
	 */
	void (*log)(void *ctx, char level, const char *text);
	void (*warn)(void *ctx, const char *file, int line, const char *what);
	const struct core_observer *observer; /* NULL: no observer */
};
/* Copied. NULL: the defaults. */
void core_machine_set(const struct core_machine *machine);
/* WARN_ONs so far. A correct machine and driver cause none. */
unsigned long core_warnings(void);

/* The owner's pointer in an event. */
void core_event_set_priv(struct perf_event *event, void *priv);
void *core_event_priv(const struct perf_event *event);

/*
 * For the simulator's exhaustive search: all memory that holds the state of the kernel and its
 * drivers, as far as one CPU sees it. This excludes AUX areas and the pages that rings share with
 * their readers, except for the positions in the event's ring. Returns the number of ranges; stores
 * up to max.
 */
struct core_range {
	void *at;
	size_t size;
};
size_t core_state_ranges(int cpu, struct perf_event *event, struct core_range *ranges, size_t max);
/*
 * Subtracts nr_bytes (a multiple of area and watermark) from the event's AUX positions, and empties
 * the data ring, which must have been read. The state stays equivalent, with smaller numbers.
 */
void core_event_rebase(struct perf_event *event, uint64_t nr_bytes);

/* "Physical" addresses of AUX pages and ToPA tables, as virt_to_phys() in the shims gives them. */
void *core_phys_to_virt(uint64_t phys, uint64_t size); /* NULL: no such memory */
/*
 * Whether the kernel has allocated every page of the range. For units that receive virtual
 * addresses.
 */
bool core_is_memory(uint64_t addr, uint64_t size);

#endif
