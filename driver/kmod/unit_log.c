// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See unit_log.h. If a log is read while its unit runs, the last event may be incomplete. Rule
 * numbers (D13) refer to docs/kernel-rules.md.
 */
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include "irq_line.h"
#include "unit_log.h"

#define MAX_EVENTS (1u << 22)
/* Granularity of writes: an interrupt comes at most this many bytes after its threshold. */
#define GRAIN 64u

static unsigned int max_events;
module_param_named(unit_log, max_events, uint, 0444);
MODULE_PARM_DESC(unit_log, "capacity of each unit's log, in events (at most 4194304; 0: no log)");

enum log_verb {
	LOG_BEGIN,
	LOG_END,
	LOG_WRITE,
	LOG_JUMP,
	LOG_THRESHOLD,
	LOG_LIMIT,
	LOG_TAIL,
	LOG_IRQ,
	LOG_LOST,
	LOG_PARTIAL,
	LOG_RING,
	LOG_HEAD,
	LOG_WAKEUP,
	LOG_TRUNCATED,
	LOG_FREED,
	LOG_NR_VERBS
};

static const struct {
	const char *name;
	bool has_value;
} verbs[LOG_NR_VERBS] = {
	[LOG_BEGIN] = {"begin", true},	  [LOG_END] = {"end"},
	[LOG_WRITE] = {"write", true},	  [LOG_JUMP] = {"jump", true},
	[LOG_THRESHOLD] = {"mark", true}, [LOG_LIMIT] = {"limit", true},
	[LOG_TAIL] = {"tail", true},	  [LOG_IRQ] = {"irq"},
	[LOG_LOST] = {"lost", true},	  [LOG_PARTIAL] = {"hole"},
	[LOG_RING] = {"ring", true},	  [LOG_HEAD] = {"head", true},
	[LOG_WAKEUP] = {"wakeup"},	  [LOG_TRUNCATED] = {"truncated", true},
	[LOG_FREED] = {"freed", true},
};

struct unit_log_entry {
	u64 time;
	u64 value;
	u32 verb;
};

static void log_event(struct unit_log *log, enum log_verb verb, u64 value)
{
	struct unit_log_entry *e;

	if (log->nr >= max_events) {
		log->nr_missed++;
		return;
	}
	e = &log->entries[log->nr];
	e->time = local_clock(); /* the clock of perf's records */
	e->verb = verb;
	e->value = value;
	smp_store_release(&log->nr, log->nr + 1);
	log->may_merge = false;
}

/* Writes accumulated losses as one event, before the next event. */
static void log_lost(struct unit_log *log)
{
	u64 lost = log->lost;

	log->lost = 0;
	if (lost)
		log_event(log, LOG_LOST, lost);
}

/* ---- the AUX area: the event 'ring' names its thread; later positions are in that ring ---- */

static void log_ring(struct unit_log *log, const struct perf_event *event, const void *area)
{
	const struct perf_event *owner = event->parent ?: event;
	s32 tid = owner->cpu == -1 && owner->hw.target ? owner->hw.target->pid : 0;

	log->area_bytes = log->kind->area_bytes(area);
	log->overwrite = log->kind->area_is_snapshot(area);
	log->watermark = owner->attr.aux_watermark ?: log->area_bytes / 2; /* C2 */
	if (tid && tid != log->tid)
		log_event(log, LOG_RING, (u64)tid);
	log->tid = tid;
}

void unit_log_open(struct unit_log *log, const struct perf_output_handle *handle,
		   const struct perf_event *event, const void *area)
{
	log->handle = handle;
	log->area = log->last_area = area;
	if (!log->entries)
		return;
	log_ring(log, event, area);
	log->head = handle->head;
	/* D5: one byte stays free */
	log->tail = handle->head + handle->size + 1 - log->area_bytes;
}

void unit_log_refused(struct unit_log *log, const struct perf_output_handle *handle)
{
	if (log->entries)
		log->tail = handle->head + 1 - log->area_bytes;
}

void unit_log_close(struct unit_log *log)
{
	log->area = NULL;
	log->handle = NULL;
}

/* ---- what the unit does ---- */

static u64 offset_of(struct unit_log *log, u64 addr)
{
	return log->area ? log->kind->offset(log->area, addr, &log->hint) : UNIT_LOG_NO_OFFSET;
}

static void log_tail(struct unit_log *log)
{
	if (!log->overwrite && log->tail != log->reported_tail)
		log_event(log, LOG_TAIL, log->tail);
	log->reported_tail = log->tail;
}

void unit_log_on(struct unit_log *log, u64 addr)
{
	u64 off = log->entries ? offset_of(log, addr) : UNIT_LOG_NO_OFFSET, head_off;

	if (!log->entries)
		return;
	unit_log_off(log);
	log_lost(log); /* bytes lost outside of any transaction */
	if (off == UNIT_LOG_NO_OFFSET)
		return;
	head_off = log->handle->head & (log->area_bytes - 1);
	/* D13: in overwrite mode head may be an offset: wraps are counted here */
	if (log->overwrite)
		log->pos += (head_off - log->pos) & (log->area_bytes - 1);
	else
		log->pos = log->handle->head;
	log->pos += off - head_off;
	log->off = off;
	log->on = true;
	log->next_threshold_at = UNIT_LOG_NO_OFFSET;
	log_event(log, LOG_BEGIN, log->pos);
	log_tail(log);
}

void unit_log_thresholds(struct unit_log *log, u64 threshold, u64 limit)
{
	if (!log->on)
		return;
	if (limit != UNIT_LOG_NO_OFFSET)
		log_event(log, LOG_LIMIT, limit);
	if (threshold != UNIT_LOG_NO_OFFSET)
		log_event(log, LOG_THRESHOLD, threshold);
	log->next_threshold_at = threshold != UNIT_LOG_NO_OFFSET && threshold > log->pos ?
					 min(threshold, limit) :
					 limit;
}

void unit_log_off(struct unit_log *log)
{
	if (!log->on)
		return;
	log_lost(log);
	log_event(log, LOG_END, 0);
	log->on = false;
}

/* Consecutive writes are merged, except for the one that reaches a threshold. */
static void log_write_event(struct unit_log *log, u64 pos)
{
	struct unit_log_entry *last = log->nr ? &log->entries[log->nr - 1] : NULL;
	bool reaches =
		log->next_threshold_at != UNIT_LOG_NO_OFFSET && pos >= log->next_threshold_at;

	if (last && last->verb == LOG_WRITE && log->may_merge && !reaches) {
		last->value = pos;
		last->time = local_clock();
		return;
	}
	log_event(log, LOG_WRITE, pos);
	log->may_merge = true;
	if (reaches) { /* later writes are merged again */
		log->may_merge = false;
		log->next_threshold_at = UNIT_LOG_NO_OFFSET;
	}
}

void unit_log_write(struct unit_log *log, u64 addr, u64 nr_bytes)
{
	u64 off;

	if (!log->on || !nr_bytes)
		return;
	off = offset_of(log, addr);
	if (off == UNIT_LOG_NO_OFFSET) {
		log->nr_missed++; /* an address outside the area: no position to record */
		return;
	}
	log_lost(log);
	if (off != log->off) {
		bool wrapped = log->off == log->area_bytes;

		log->pos += wrapped ? off : off - log->off;
		if (!wrapped || off)
			log_event(log, LOG_JUMP, log->pos);
	}
	log->pos += nr_bytes;
	log->off = off + nr_bytes;
	log_write_event(log, log->pos);
}

void unit_log_lost(struct unit_log *log, u64 nr_bytes)
{
	if (log->entries)
		log->lost += nr_bytes;
}

void unit_log_irq(struct unit_log *log)
{
	if (!log->entries)
		return;
	log_lost(log);
	log_event(log, LOG_IRQ, 0);
}

void unit_log_partial(struct unit_log *log)
{
	if (!log->entries)
		return;
	log_lost(log);
	log_event(log, LOG_PARTIAL, 0);
}

/* ---- actions of the kernel ---- */

void unit_log_head(struct unit_log *log, u64 head, bool woken)
{
	if (!log->entries)
		return;
	log_lost(log);
	log->head = head;
	if (!log->overwrite)
		log_event(log, LOG_HEAD, head);
	if (woken)
		log_event(log, LOG_WAKEUP, 0);
}

bool unit_log_passes(const struct unit_log *log, u64 head)
{
	return log->watermark &&
	       div64_u64(head, log->watermark) != div64_u64(log->head, log->watermark);
}

void unit_log_truncated(struct unit_log *log, const struct perf_event *event)
{
	if (!log->entries)
		return;
	log_lost(log);
	log_tail(log);
	log_event(log, LOG_TRUNCATED, event->id);
}

static LIST_HEAD(logs); /* all logs; changes only while no PMU is registered */

static void log_freed(struct unit_log *log, bool atomic)
{
	log_lost(log);
	log_event(log, LOG_FREED, atomic);
	log->reported_tail = UNIT_LOG_NO_OFFSET; /* it was a position in the freed area */
}

static void log_freed_by_task(void *ctx)
{
	struct unit_log *log = ctx;

	if (log->last_area) /* the unit uses another area meanwhile */
		return;
	log_freed(log, false);
}

static void log_area_freed(struct unit_log *log, const void *area, bool atomic)
{
	if (cmpxchg(&log->last_area, area, NULL) != area)
		return;
	if (!atomic) {
		if (smp_call_function_single(log->cpu, log_freed_by_task, log, 1))
			log_freed_by_task(log); /* that CPU is offline */
	} else if (log->cpu == smp_processor_id()) {
		log_freed(log, true);
	} else {
		pr_warn_ratelimited(
			"auxtap: area last used by CPU %d freed on CPU %d in atomic context; not logged\n",
			log->cpu, smp_processor_id());
	}
}

void unit_logs_freed(const void *area, bool atomic)
{
	struct unit_log *log;

	list_for_each_entry (log, &logs, node)
		log_area_freed(log, area, atomic);
}

/* ---- debugfs ---- */

static int log_show(struct seq_file *seq, void *unused)
{
	const struct unit_log *log = seq->private;
	u32 i, nr = smp_load_acquire(&log->nr);

	seq_printf(seq, "# unit: %s\n# cpu: %d\n# page: %lu\n", log->kind->name, log->cpu,
		   PAGE_SIZE);
	if (log->area_bytes)
		seq_printf(seq, "# buffer: %llu\n# watermark: %llu\n", log->area_bytes,
			   log->watermark);
	if (log->overwrite)
		seq_puts(seq, "# mode: overwrite\n");
	seq_printf(seq, "# max-skid: %u\n", irq_line_delay_bytes() + GRAIN);
	if (log->kind->max_record)
		seq_printf(seq, "# max-record: %u\n", log->kind->max_record);
	seq_puts(seq, "time_ns,event,value\n");
	for (i = 0; i < nr; i++) {
		const struct unit_log_entry *e = &log->entries[i];

		seq_printf(seq, "%llu,%s", e->time, verbs[e->verb].name);
		if (verbs[e->verb].has_value)
			seq_printf(seq, ",%llu", e->value);
		seq_putc(seq, '\n');
	}
	if (log->nr_missed) {
		seq_printf(seq, "# %llu events exceeded the capacity (parameter unit_log)\n",
			   log->nr_missed);
		seq_printf(seq, "%llu,gap\n", nr ? log->entries[nr - 1].time : 0);
	}
	return 0;
}

static int log_open(struct inode *inode, struct file *file)
{
	struct unit_log *log = inode->i_private;

	return single_open_size(file, log_show, log, PAGE_SIZE + 48ul * READ_ONCE(log->nr));
}

static void reset_log(void *ctx)
{
	struct unit_log *log = ctx;
	unsigned long flags;

	local_irq_save(flags);
	log->nr = 0;
	log->nr_missed = 0;
	log->tid = 0;
	log->reported_tail = UNIT_LOG_NO_OFFSET;
	log->may_merge = false;
	log->lost = 0;
	log->on = false; /* a transaction under way is recorded from its next begin on */
	local_irq_restore(flags);
}

static ssize_t log_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct unit_log *log = ((struct seq_file *)file->private_data)->private;

	if (smp_call_function_single(log->cpu, reset_log, log, 1))
		reset_log(log); /* that CPU is offline */
	return count;
}

static const struct file_operations log_fops = {
	.owner = THIS_MODULE,
	.open = log_open,
	.read = seq_read,
	.write = log_write,
	.llseek = seq_lseek,
	.release = single_release,
};

int unit_log_init(struct unit_log *log, const struct unit_log_kind *kind, int cpu)
{
	log->kind = kind;
	log->cpu = cpu;
	log->reported_tail = UNIT_LOG_NO_OFFSET;
	if (max_events > MAX_EVENTS)
		return -EINVAL;
	if (!max_events)
		return 0;
	log->entries = vzalloc(array_size(max_events, sizeof(*log->entries)));
	if (!log->entries)
		return -ENOMEM;
	list_add_tail(&log->node, &logs);
	return 0;
}

void unit_log_show(struct unit_log *log, struct dentry *dir)
{
	char name[16];

	if (!log->entries)
		return;
	snprintf(name, sizeof(name), "cpu%d", log->cpu);
	debugfs_create_file(name, 0600, dir, log, &log_fops);
}

void unit_log_exit(struct unit_log *log)
{
	if (!log->entries)
		return;
	list_del(&log->node);
	vfree(log->entries);
	log->entries = NULL;
}
