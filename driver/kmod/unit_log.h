/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event log (docs/audit.md) of each CPU's trace unit, in debugfs as log/cpuN; parameter
 * unit_log is the capacity of each log in events. kmod_unit_*.c record what the unit does,
 * aux_calls.c records transactions, which map the unit's addresses to positions in a ring.
 */
#ifndef AUXTAP_KMOD_UNIT_LOG_H
#define AUXTAP_KMOD_UNIT_LOG_H

#include <linux/list.h>
#include <linux/types.h>

struct dentry;
struct perf_event;
struct perf_output_handle;
struct unit_log_entry;

#define UNIT_LOG_NO_OFFSET U64_MAX

/* One kind of unit. area: the return value of the driver's setup_aux(). */
struct unit_log_kind {
	const char *name;
	/* the unit stops if less space is left; 0: it stops at the exact byte */
	unsigned int max_record;
	u64 (*area_bytes)(const void *area);
	bool (*area_is_snapshot)(const void *area);
	/*
	 * The offset in the area of an address of the unit; UNIT_LOG_NO_OFFSET: not in the area.
	 * *hint is the function's own and kept between calls.
	 */
	u64 (*offset)(const void *area, u64 addr, unsigned long *hint);
};

/* The log of one CPU. Accessed only by that CPU, with interrupts off, except last_area. */
struct unit_log {
	const struct unit_log_kind *kind;
	struct unit_log_entry *entries; /* NULL: no log is kept */
	u32 nr;
	u64 nr_missed; /* events that the log had no space for */
	int cpu;
	/* of the ring that was last written */
	u64 area_bytes, watermark;
	bool overwrite;
	s32 tid; /* of a per-thread ring; 0: per-CPU */
	u64 head;
	struct list_head node;
	/* the open transaction; area is NULL between transactions */
	const void *area;
	/* area of the open or the previous transaction; NULL: freed */
	const void *last_area;
	const struct perf_output_handle *handle;
	u64 tail, reported_tail;
	unsigned long hint;
	/* the unit's current run */
	bool on;
	u64 off, pos;	       /* position of the next byte: offset in the area; absolute */
	u64 next_threshold_at; /* position of the next threshold or limit */
	bool may_merge;
	u64 lost; /* bytes that are not in the log yet */
};

/* Allocates the log of a CPU: 0 or a negative errno. unit_log_show() creates its file in dir. */
int unit_log_init(struct unit_log *log, const struct unit_log_kind *kind, int cpu);
void unit_log_show(struct unit_log *log, struct dentry *dir);
void unit_log_exit(struct unit_log *log);

/* Called by aux_calls.c when a transaction was opened, and when it has ended. */
void unit_log_open(struct unit_log *log, const struct perf_output_handle *handle,
		   const struct perf_event *event, const void *area);
void unit_log_close(struct unit_log *log);

/* The kernel has refused a transaction for lack of space (D6). */
void unit_log_refused(struct unit_log *log, const struct perf_output_handle *handle);

/*
 * The driver switches the unit on, which starts to write at addr; sets its interrupt threshold and
 * stop position; switches it off.
 */
void unit_log_on(struct unit_log *log, u64 addr);
void unit_log_thresholds(struct unit_log *log, u64 threshold, u64 limit);
void unit_log_off(struct unit_log *log);
/* The unit has written bytes, or lost bytes. */
void unit_log_write(struct unit_log *log, u64 addr, u64 nr_bytes);
void unit_log_lost(struct unit_log *log, u64 nr_bytes);
/* The unit's interrupt has reached the driver; trace is missing for another reason than space. */
void unit_log_irq(struct unit_log *log);
void unit_log_partial(struct unit_log *log);
/*
 * The kernel has moved its head to this position, and woke the reader or did not; it has truncated
 * a transaction of the event.
 */
void unit_log_head(struct unit_log *log, u64 head, bool woken);
void unit_log_truncated(struct unit_log *log, const struct perf_event *event);
/*
 * The driver is about to free this area, in a task or (within a transaction, for example) in atomic
 * context: the logs of the units that used it last record that.
 */
void unit_logs_freed(const void *area, bool atomic);
/* Whether a head at this position passes a watermark. */
bool unit_log_passes(const struct unit_log *log, u64 head);

#endif
