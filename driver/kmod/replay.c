// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The replay engine (parameter replay=1): while the driver has the unit of a CPU on, bytes that
 * root supplied are produced through the unit's output stage, over and over, at a rate. Driver,
 * ring and reader see interrupt thresholds, stop positions and delayed interrupts as with a real
 * unit, and every byte is accounted for. replay_data.c keeps the bytes; kmod_unit_*.c contain the
 * driver's switch.
 *   replay/data    a write sets the bytes that are produced after the file is closed
 *   replay/rate    bytes a second, of each CPU; 0: as fast as bursts allow
 *   replay/limit   bytes in total, over all CPUs; 0: unlimited
 *   replay/left    rest of the limit
 *   replay/counts  of each CPU: produced = written + dropped; how long the unit was off, in
 *                  total, before it was switched on again. A write starts over: counts 0, every
 *                  CPU at the first byte, the whole limit left; at rate 0 a burst is due at once
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include "replay.h"

static bool selected;
module_param_named(replay, selected, bool, 0644);
MODULE_PARM_DESC(replay, "the units produce the bytes of replay/data in debugfs instead of packets "
			 "of single steps, from the next time that they are switched on");

/* Between two bursts the CPU can run other work, whatever the rate. */
#define TICK_NS	  250000u
#define BURST_MAX (128u << 10)
#define RATE_FULL ((u64)BURST_MAX * (NSEC_PER_SEC / TICK_NS))
#define RATE_MAX  (1ull << 38)
/* On a slow machine, a backlog beyond this is dropped. */
#define MAX_BACKLOG_NS (20 * NSEC_PER_MSEC)
/* Longer than a pending interrupt needs to be taken. */
#define INTERRUPT_NS 2000u

/* The state of one CPU. Accessed only by that CPU, with interrupts off. */
struct replay_cpu {
	struct replay *replay;
	struct hrtimer timer;
	bool on;
	ktime_t budget_time; /* while on: the budget includes the time up to here */
	u64 budget;	     /* bytes that may be produced */
	u64 burst_left;	     /* bytes until other work can run */
	u64 budget_rest;     /* ... and parts of a byte, in bytes * nanoseconds */
	u64 pos;	     /* in the endless sequence: bytes produced */
	u64 nr_written, nr_dropped;
	ktime_t off_since; /* 0: the unit has not been on yet */
	u64 off_ns;
};

/* ---- limit and rate ---- */

/* Reserves up to want bytes of the limit; unreserve() returns the unused ones. */
static u64 reserve(struct replay *replay, u64 want)
{
	u64 limit = READ_ONCE(replay->limit), old;

	if (!limit)
		return want;
	if ((u64)atomic64_read(&replay->nr_reserved) >= limit)
		return 0;
	old = (u64)atomic64_fetch_add((s64)want, &replay->nr_reserved);
	if (old + want <= limit)
		return want;
	atomic64_sub((s64)(old >= limit ? want : old + want - limit), &replay->nr_reserved);
	return old >= limit ? 0 : limit - old;
}

static void unreserve(struct replay *replay, u64 nr_bytes)
{
	if (nr_bytes && READ_ONCE(replay->limit))
		atomic64_sub((s64)nr_bytes, &replay->nr_reserved);
}

static void update_budget(struct replay_cpu *r)
{
	u64 rate = READ_ONCE(r->replay->rate) ?: RATE_FULL, ns;
	ktime_t now = ktime_get();

	ns = min_t(u64, ktime_to_ns(ktime_sub(now, r->budget_time)), MAX_BACKLOG_NS);
	r->budget_time = now;
	r->budget_rest += rate * ns; /* RATE_MAX * MAX_BACKLOG_NS fits */
	r->budget += div64_u64_rem(r->budget_rest, NSEC_PER_SEC, &r->budget_rest);
	r->budget = min(r->budget, div64_u64(rate, NSEC_PER_SEC / MAX_BACKLOG_NS) +
					   r->replay->unit->chunk_max);
}

/* Time until the next bytes are produced; at_once: without a pause, if the budget allows. */
static u64 next_delay_ns(struct replay_cpu *r, bool at_once)
{
	if (at_once && r->budget && r->burst_left)
		return INTERRUPT_NS;
	r->burst_left = BURST_MAX;
	return TICK_NS;
}

/* ---- producing ---- */

static u64 produce(struct replay_cpu *r, const struct replay_data *data, u64 nr_bytes)
{
	const struct replay_unit *unit = r->replay->unit;
	u64 done = 0;

	while (done < nr_bytes && !unit->interrupt_pending()) {
		u64 from, to_end;
		size_t taken, written = 0;

		div64_u64_rem(r->pos, data->nr_bytes, &from);
		to_end = data->nr_bytes - from;
		taken = unit->produce(data->bytes + from, min(nr_bytes - done, to_end), &written);
		/*
		 * The data ends inside a fragment that the unit needs as a whole: the fragment is
		 * skipped, and counted as dropped.
		 */
		if (!taken && to_end <= nr_bytes - done)
			taken = to_end;
		if (!taken)
			break;
		r->nr_written += written;
		r->nr_dropped += taken - written;
		r->pos += taken;
		done += taken;
	}
	return done;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct replay_cpu *r = container_of(timer, struct replay_cpu, timer);
	struct replay *replay = r->replay;
	const struct replay_data *data;
	u64 want, done;

	/* the timer has moved to another CPU: its own CPU went offline, which ended tracing */
	if (!r->on || r != this_cpu_ptr(replay->cpus))
		return HRTIMER_NORESTART;
	update_budget(r);
	rcu_read_lock();
	data = replay_data_get(replay);
	if (data) {
		want = reserve(replay, min(r->budget, r->burst_left));
		done = produce(r, data, want);
		unreserve(replay, want - done);
		r->budget -= done;
		r->burst_left -= done;
	}
	rcu_read_unlock();
	hrtimer_set_expires(timer,
			    ktime_add_ns(ktime_get(),
					 next_delay_ns(r, replay->unit->interrupt_pending())));
	return HRTIMER_RESTART;
}

/* ---- the driver's switch ---- */

bool replay_selected(void)
{
	return READ_ONCE(selected);
}

void replay_on(struct replay *replay)
{
	struct replay_cpu *r = this_cpu_ptr(replay->cpus);

	r->on = true;
	r->budget_time = ktime_get();
	if (r->off_since)
		r->off_ns += ktime_to_ns(ktime_sub(r->budget_time, r->off_since));
	if (!hrtimer_is_queued(&r->timer))
		hrtimer_start(&r->timer, ns_to_ktime(next_delay_ns(r, true)),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

void replay_off(struct replay *replay)
{
	struct replay_cpu *r = this_cpu_ptr(replay->cpus);

	if (!r->on)
		return;
	update_budget(r); /* the budget is kept until the unit is on again */
	r->on = false;
	r->off_since = r->budget_time;
	hrtimer_try_to_cancel(&r->timer);
}

/* ---- debugfs ---- */

static void reset_counts(void *replay)
{
	struct replay_cpu *r = this_cpu_ptr(((struct replay *)replay)->cpus);
	unsigned long flags;

	local_irq_save(flags);
	/* the first burst has full size, however soon its tick comes */
	r->budget = READ_ONCE(r->replay->rate) ? 0 : BURST_MAX;
	r->burst_left = BURST_MAX;
	r->budget_rest = 0;
	r->pos = 0;
	r->nr_written = r->nr_dropped = 0;
	r->off_since = 0;
	r->off_ns = 0;
	local_irq_restore(flags);
}

static int counts_show(struct seq_file *seq, void *unused)
{
	struct replay *replay = seq->private;
	int cpu;

	for_each_possible_cpu (cpu) {
		const struct replay_cpu *r = per_cpu_ptr(replay->cpus, cpu);

		seq_printf(seq, "cpu %d: produced %llu written %llu dropped %llu off_us %llu\n",
			   cpu, READ_ONCE(r->pos), READ_ONCE(r->nr_written),
			   READ_ONCE(r->nr_dropped),
			   div64_u64(READ_ONCE(r->off_ns), NSEC_PER_USEC));
	}
	return 0;
}

static int counts_open(struct inode *inode, struct file *file)
{
	return single_open(file, counts_show, inode->i_private);
}

static ssize_t counts_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct replay *replay = ((struct seq_file *)file->private_data)->private;

	on_each_cpu(reset_counts, replay, 1);
	atomic64_set(&replay->nr_reserved, 0);
	return count;
}

static const struct file_operations counts_fops = {
	.owner = THIS_MODULE,
	.open = counts_open,
	.read = seq_read,
	.write = counts_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int rate_get(void *replay, u64 *value)
{
	*value = READ_ONCE(((struct replay *)replay)->rate);
	return 0;
}

static int rate_set(void *replay, u64 value)
{
	if (value > RATE_MAX)
		return -ERANGE;
	WRITE_ONCE(((struct replay *)replay)->rate, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(rate_fops, rate_get, rate_set, "%llu\n");

static int limit_get(void *replay, u64 *value)
{
	*value = READ_ONCE(((struct replay *)replay)->limit);
	return 0;
}

static int limit_set(void *replay, u64 value)
{
	if (value > S64_MAX / 2)
		return -ERANGE;
	WRITE_ONCE(((struct replay *)replay)->limit, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(limit_fops, limit_get, limit_set, "%llu\n");

static int left_get(void *replay, u64 *value)
{
	u64 limit = READ_ONCE(((struct replay *)replay)->limit);
	s64 taken = atomic64_read(&((struct replay *)replay)->nr_reserved);

	*value = taken > 0 && (u64)taken >= limit ? 0 : limit - (u64)max_t(s64, taken, 0);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(left_fops, left_get, NULL, "%llu\n");

int replay_init(struct replay *replay, const struct replay_unit *unit, struct dentry *dir)
{
	int cpu;

	replay->unit = unit;
	replay->cpus = alloc_percpu(struct replay_cpu);
	if (!replay->cpus)
		return -ENOMEM;
	for_each_possible_cpu (cpu) {
		struct replay_cpu *r = per_cpu_ptr(replay->cpus, cpu);

		r->replay = replay;
		hrtimer_init(&r->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		r->timer.function = tick;
	}
	dir = debugfs_create_dir("replay", dir);
	replay_data_init(replay, dir);
	debugfs_create_file("rate", 0600, dir, replay, &rate_fops);
	debugfs_create_file("limit", 0600, dir, replay, &limit_fops);
	debugfs_create_file("left", 0400, dir, replay, &left_fops);
	debugfs_create_file("counts", 0600, dir, replay, &counts_fops);
	return 0;
}

void replay_exit(struct replay *replay)
{
	int cpu;

	for_each_possible_cpu (cpu)
		hrtimer_cancel(&per_cpu_ptr(replay->cpus, cpu)->timer);
	replay_data_exit(replay);
	free_percpu(replay->cpus);
}
