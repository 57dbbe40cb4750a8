// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ground truth: addresses of the instructions that were stepped, in debugfs auxtap/steps, as
 * records {u64 ip, u32 tid, u32 pid} in the order of stepping. Parameter steps is the capacity;
 * steps beyond it are counted in auxtap/steps_lost. A write empties the log.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "kmod.h"

static unsigned int max_steps;
module_param_named(steps, max_steps, uint, 0444);
MODULE_PARM_DESC(steps, "capacity of the log of steps, in instructions (default 0: no log)");

struct step {
	u64 ip;
	u32 tid, pid;
};

static struct step *steps;
static atomic64_t nr_steps; /* number of steps, including those beyond the capacity */

void steps_add(u64 ip)
{
	u64 at;

	if (!steps)
		return;
	at = atomic64_inc_return(&nr_steps) - 1;
	if (at >= max_steps)
		return;
	steps[at].tid = task_pid_nr(current);
	steps[at].pid = task_tgid_nr(current);
	/* a reader treats a record without ip as one that is being written */
	smp_store_release(&steps[at].ip, ip);
}

static ssize_t steps_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	u64 nr = min_t(u64, atomic64_read(&nr_steps), max_steps);

	return simple_read_from_buffer(to, count, pos, steps, nr * sizeof(*steps));
}

/* Must not be called while a task is traced. */
static ssize_t steps_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	atomic64_set(&nr_steps, 0);
	return count;
}

static const struct file_operations steps_fops = {
	.owner = THIS_MODULE,
	.read = steps_read,
	.write = steps_write,
	.llseek = default_llseek,
};

static int lost_get(void *data, u64 *value)
{
	u64 nr = atomic64_read(&nr_steps);

	*value = nr > max_steps ? nr - max_steps : 0;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(lost_fops, lost_get, NULL, "%llu\n");

int steps_init(struct dentry *dir)
{
	if (max_steps) {
		steps = vzalloc(array_size(max_steps, sizeof(*steps)));
		if (!steps)
			return -ENOMEM;
	}
	debugfs_create_file("steps", 0600, dir, NULL, &steps_fops);
	debugfs_create_file("steps_lost", 0400, dir, NULL, &lost_fops);
	return 0;
}

void steps_exit(void)
{
	vfree(steps);
}
