/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host model of the perf core, seen from above: what system calls, the scheduler and
 * the interrupt controller do in a real kernel. driver/emu and the tests call this; PMU
 * drivers include <linux/perf_event.h> (core/linux/) and see the kernel's AUX API only.
 * Rules: docs/kernel-rules.md. Thread safety: all calls of one process from one thread;
 * the reader of a ring is another process (or thread) that only touches the mappings.
 */
#ifndef AUXTAP_CORE_H
#define AUXTAP_CORE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event;
struct perf_event_attr;

/*
 * Bugs that kernels have had: no set has one. The laboratory makes a set of its own to see that
 * it would be noticed.
 */
struct core_bugs {
	/* D18: aux_wakeup += W, whatever the number of them that was passed */
	bool wakeup_by_one;
	bool overwrite_watermark;  /* C3, D18: an overwritten area has a watermark, too */
	bool truncation_goes_on;   /* D21: the event is never marked for disable */
	bool refcount_first;	   /* D2: the other way round */
	bool partial_is_truncated; /* D9 */
	bool head_32_bit;	   /* A */
	bool skip_without_wakeup;  /* D11 */
};

/* One switch per difference between kernels (section L). A kernel is a named set. */
struct core_kernel {
	const char *name;
	/* D21: pending_disable = smp_processor_id(); lost on CPU 0 (before L1) */
	bool disable_by_cpu_number;
	/* D21: pending_disable is looked at by sched-out alone (6.11 to L1) */
	bool disable_at_sched_out;
	/* D14: PMU format bits alone emit no AUX record (before L2) */
	bool aux_gate_masks_format;
	/* L3: chunks are single pages unless the PMU wants large ones */
	bool aux_chunk_order_zero;
	bool aux_pause_resume;	   /* L4 */
	bool mmap_other_ring_busy; /* L6: EBUSY */
	/* Q1: only events of the coming event's PMU are scheduled anew */
	bool resched_one_pmu;
	const struct core_bugs *bugs; /* NULL: none */
};
extern const struct core_kernel *const core_kernels[]; /* NULL-terminated */
const struct core_kernel *core_kernel_find(const char *name);
/* The set in force for events opened from now on; default 6.1.192. */
void core_kernel_use(const struct core_kernel *kernel);

/* A task: what events are bound to. Embedded by the owner; zeroed before use. */
struct core_task {
	pid_t pid, tid;
	struct perf_event *events; /* list through core_next, kept by core */
	/* kept by core: 1 + the CPU it runs on; 0: none */
	int running;
	uint64_t context, generation, clone_of, clone_generation; /* kept by core: Q3; 0: none */
};

/*
 * System calls: results as the real ones, negative errno. cpu -1: any. group, parent may be NULL.
 */
int core_event_open(struct perf_event **event, const struct perf_event_attr *attr,
		    struct core_task *task, int cpu, struct perf_event *group,
		    struct perf_event *parent);
/*
 * As close(): an event with mappings lives until the last one goes. Children go with their parent.
 */
void core_event_close(struct perf_event *event);
/* A mapping: memory shared through memfd at memfd_off. addr is this process' own view. */
struct core_mapping {
	int memfd; /* owned by the ring; dup it to keep it. Sealed: its size cannot change. */
	uint64_t memfd_off, length;
	void *addr;
	struct perf_event *event;
	bool aux;
	bool last; /* kept by core: nobody maps the AUX area any more */
};
int core_event_mmap(struct perf_event *event, uint64_t length, int prot, int flags, uint64_t offset,
		    struct core_mapping **mapping);
void core_event_munmap(struct core_mapping *mapping);
/* The two halves of the same (B18): the events are stopped; the memory is given back. */
void core_event_munmap_stop(struct core_mapping *mapping);
void core_event_munmap_free(struct core_mapping *mapping);
/*
 * argument: a value; for pointers (ID, SET_FILTER) the host address; for SET_OUTPUT target is used
 * (NULL detaches).
 */
long core_event_ioctl(struct perf_event *event, unsigned long request, unsigned long argument,
		      struct perf_event *target);
/*
 * Address filters, as PERF_EVENT_IOC_SET_FILTER and the mappings of the task would set them.
 * file: offset is one in a file, which is mapped nowhere until core_event_map_addr_filter()
 * says where the nth filter's range lies (start 0: nowhere). action: PERF_ADDR_FILTER_ACTION_….
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
/* The PMU calls it active: scheduled in and not disabled. */
bool core_event_active(const struct perf_event *event);

/* PMUs that drivers registered, by name. -ENOENT: no such PMU. */
int core_pmu_type(const char *name);
int core_pmu_capabilities(const char *name);
/*
 * What sysfs would show: "type", "format/cyc", "caps/…". Length without the newline, or -ENOENT,
 * -ENOSPC.
 */
ssize_t core_pmu_attr(const char *name, const char *attr, char *buf, size_t size);

/* Bytes of a page, for areas that are mapped from now on: a power of two; default 4096. */
void core_page_size_use(uint64_t page_size);

/* The machine. Virtual CPUs 0 … CORE_NR_CPUS-1; the current one is what smp_processor_id() says. */
#define CORE_NR_CPUS 1024
void core_set_cpu(int cpu);
int core_cpu(void);
/*
 * Scheduler: the task begins or stops running on the current CPU; its events go in or out.
 * pending_disable is acted on at sched-out.
 */
void core_task_sched_in(struct core_task *task);
void core_task_sched_out(struct core_task *task);
/*
 * One task directly after the other: if their events are clones of each other, nothing goes in or
 * out, they are exchanged, and it is true (Q3).
 */
bool core_task_switch(struct core_task *from, struct core_task *to);
/* fork: child has inherited every event of parent. */
void core_task_cloned(const struct core_task *parent, struct core_task *child);
/*
 * exec: events with enable_on_exec begin. exit: events go out for ever; inherited ones are freed,
 * the others give POLLHUP and wait for their close.
 */
void core_task_exec(struct core_task *task);
void core_task_exit(struct core_task *task);
/* irq_work queued on the current CPU: wakeups and disables (D21, E12). Runs until none is left. */
void core_irq_work_run(void);
bool core_irq_work_pending(void);

/*
 * Sideband: record of the given type with body (without sample id) into the rings of those
 * events of the task whose attr asks for it (comm, mmap, mmap2, task, context_switch).
 */
void core_task_record(struct core_task *task, uint32_t type, uint16_t misc, const void *body,
		      size_t size);
/*
 * One record into one event's ring, by the task that runs on the current CPU. The sample id
 * is appended, except to PERF_RECORD_SAMPLE, whose body the caller makes whole (E7 counts it).
 * 0, -ENOSPC: lost and counted, -E2BIG: longer than a record can be.
 */
int core_event_record(struct perf_event *event, uint32_t type, uint16_t misc, const void *body,
		      size_t size);

/*
 * B11. Mappings are charged to a user up to a budget that is free, and what is beyond it to the
 * address space, up to its limit. The counts are the owner's and outlive the mappings.
 */
struct core_budget {
	uint64_t *user_pages, *pinned_pages;
	uint64_t free_pages;  /* perf_event_mlock_kb × CPUs online */
	uint64_t limit_pages; /* RLIMIT_MEMLOCK */
	bool exempt;	      /* CAP_IPC_LOCK, or perf_event_paranoid is -1 */
};

struct perf_output_handle;
/*
 * Who looks on while drivers use the AUX API (driver/core/aux_output.c). Each may be NULL. To
 * change nothing is the watcher's part; race() alone may, as another CPU would.
 */
struct core_watch {
	/* handle->event is NULL: refused; full: for want of room (D6) */
	void (*aux_begin)(void *ctx, const struct perf_output_handle *handle,
			  const struct perf_event *event, bool full);
	void (*aux_skip)(void *ctx, const struct perf_output_handle *handle, uint64_t nr_bytes,
			 int ret);
	/*
	 * The handle is still open. due: there has to be a record (D14); lost: the ring had no room
	 * for it (F3).
	 */
	void (*aux_end)(void *ctx, const struct perf_output_handle *handle, uint64_t offset,
			uint64_t nr_bytes, bool due, bool lost);
	void (*aux_wakeup)(void *ctx, const struct perf_event *event);
	void (*aux_free)(void *ctx);
	/* within begin, between the two looks at who still uses the area (D2) */
	void (*race)(void *ctx);
};

/*
 * Set once by the machine: the clock of records (perf time), and who is told of a wakeup (E12:
 * every event of the ring).
 */
struct core_machine {
	void *ctx;
	uint64_t (*clock)(void *ctx);
	void (*wakeup)(void *ctx, struct perf_event *event);
	/*
	 * C5: the order (at most the given one) that a page allocation of rb_alloc_aux succeeds
	 * with; negative: none does. NULL: all succeed.
	 */
	int (*alloc_order)(void *ctx, int order);
	/* B11: of who maps now, and its counts; NULL: no limit */
	const struct core_budget *budget;
	bool unprivileged; /* who opens events now has no CAP_PERFMON */
	/*
	 * What drivers print (level as the kernel's, '3' error … '7' debug), and failed WARN_ONs;
	 * may be NULL.
	 */
	void (*log)(void *ctx, char level, const char *text);
	void (*warn)(void *ctx, const char *file, int line, const char *what);
	const struct core_watch *watch; /* NULL: nobody */
};
/* Copied. NULL: the defaults. */
void core_machine_set(const struct core_machine *machine);
/* WARN_ONs so far. A correct machine and driver cause none. */
unsigned long core_warnings(void);

/* Owner's pointer of an event (emu: its descriptor number). */
void core_event_set_priv(struct perf_event *event, void *priv);
void *core_event_priv(const struct perf_event *event);

/*
 * For who searches states: all memory in which the state of the kernel and of its drivers is, as
 * far as one CPU sees it. Not in it: AUX areas, and what rings share with their readers but for
 * the positions of an event's ring. Returns how many ranges there are; up to max are stored.
 */
struct core_range {
	void *at;
	size_t size;
};
size_t core_state(int cpu, struct perf_event *event, struct core_range *ranges, size_t max);
/*
 * The event's AUX positions, all that count up, less by so many bytes (a multiple of area and
 * watermark), and the data ring, which is read, as new: the same state in smaller numbers.
 */
void core_event_rebase(struct perf_event *event, uint64_t nr_bytes);

/* "Physical" addresses of AUX pages and ToPA tables, as virt_to_phys() in the shims gives them. */
void *core_phys_to_virt(uint64_t phys, uint64_t size); /* NULL: no such memory */
/* Is all of it pages that the kernel has given out? For units that are given virtual addresses. */
bool core_is_memory(uint64_t addr, uint64_t size);

#endif
