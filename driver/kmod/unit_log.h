/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the trace unit of a CPU did, seen from the unit: the event log of docs/audit.md. Debugfs, a
 * file log/cpuN for each; parameter unit_log: how many events each may hold. unit*.c tell what
 * the unit does, aux_calls.c which bytes of which ring its addresses are.
 */
#ifndef AUXTAP_KMOD_UNIT_LOG_H
#define AUXTAP_KMOD_UNIT_LOG_H

#include <linux/list.h>
#include <linux/types.h>

struct dentry;
struct perf_event;
struct perf_output_handle;
struct unit_log_entry;

#define UNIT_LOG_NEVER U64_MAX

/* One kind of units. area: what the driver's setup_aux() has returned. */
struct unit_log_kind {
	const char *name;
	unsigned int max_record; /* the unit stops where less is left; 0: at the byte */
	u64 (*area_bytes)(const void *area);
	bool (*area_overwritten)(const void *area);
	/*
	 * Where in the area an address of the unit is; UNIT_LOG_NEVER: elsewhere. hint: kept for
	 * it.
	 */
	u64 (*offset)(const void *area, u64 addr, unsigned long *hint);
};

/* One CPU's. Touched by that CPU only, with interrupts off; but last_area. */
struct unit_log {
	const struct unit_log_kind *kind;
	struct unit_log_entry *entries; /* NULL: no log is kept */
	u32 nr;
	u64 nr_missed; /* events that there was no room for */
	int cpu;
	/* of the ring that was written last */
	u64 area_bytes, watermark;
	bool overwrite;
	s32 tid; /* of a thread's ring; 0: a CPU's */
	u64 head;
	struct list_head of_all;
	/* the open transaction; area is NULL without */
	const void *area;
	/* of the open transaction or the one before; NULL: that one is freed */
	const void *last_area;
	const struct perf_output_handle *handle;
	u64 tail, reported_tail;
	unsigned long hint;
	/* the unit's turn */
	bool on;
	u64 off, pos; /* of the next byte: in the area; absolute */
	u64 due_at;   /* the next of mark and limit */
	bool may_merge;
	u64 lost; /* not in the log yet */
};

/* nr CPUs' worth of them: 0 or a negative errno. A folder log appears in dir. */
int unit_log_init(struct unit_log *log, const struct unit_log_kind *kind, int cpu);
void unit_log_show(struct unit_log *log, struct dentry *dir);
void unit_log_exit(struct unit_log *log);

/* aux_calls.c: a transaction is open; it is over. */
void unit_log_open(struct unit_log *log, const struct perf_output_handle *handle,
		   const struct perf_event *event, const void *area);
void unit_log_close(struct unit_log *log);

/* The kernel has refused one: there is no room (D6). */
void unit_log_refused(struct unit_log *log, const struct perf_output_handle *handle);

/* The driver switches the unit on, which begins here, with these marks; it switches it off. */
void unit_log_on(struct unit_log *log, u64 addr);
void unit_log_marks(struct unit_log *log, u64 mark, u64 limit);
void unit_log_off(struct unit_log *log);
/* The unit has written, has lost something. */
void unit_log_write(struct unit_log *log, u64 addr, u64 nr_bytes);
void unit_log_lost(struct unit_log *log, u64 nr_bytes);
/* Its interrupt has come to the driver; trace is missing for another reason. */
void unit_log_irq(struct unit_log *log);
void unit_log_hole(struct unit_log *log);
/*
 * The kernel: its head is here now, and the reader was woken for that; a transaction was truncated.
 */
void unit_log_head(struct unit_log *log, u64 head, bool woken);
void unit_log_truncated(struct unit_log *log, const struct perf_event *event);
/*
 * The driver is to free this area, by a task, or in a place that must not sleep, as all of a
 * transaction is: told in the logs of the units that have used it last.
 */
void unit_logs_freed(const void *area, bool atomic);
/* Does a head that comes here pass a watermark? */
bool unit_log_passes(const struct unit_log *log, u64 head);

#endif
