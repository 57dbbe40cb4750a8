// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * auxtap/replay/data. One writer at a time fills its own copy; when it closes the file, the copy
 * replaces the bytes that were produced until then. After a failed write, and without any write,
 * the old bytes stay.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "replay.h"

static unsigned int replay_max = 64;
module_param(replay_max, uint, 0644);
MODULE_PARM_DESC(replay_max, "capacity of auxtap/replay/data in MiB (default 64, at most 1024)");

const struct replay_data *replay_data_get(struct replay *replay)
{
	return rcu_dereference(replay->data);
}

static void replace_data(struct replay *replay, struct replay_data *data)
{
	struct replay_data *old;

	/* called only by the single writer, or when the module is unloaded */
	old = rcu_replace_pointer(replay->data, data, true);
	synchronize_rcu();
	vfree(old);
}

/* ---- the single writer ---- */

static int data_open(struct inode *inode, struct file *file)
{
	struct replay *replay = inode->i_private;

	if (atomic_cmpxchg(&replay->writer.taken, 0, 1))
		return -EBUSY;
	replay->writer.data = NULL;
	replay->writer.capacity = 0;
	replay->writer.failed = false;
	file->private_data = replay;
	return 0;
}

static int make_space(struct replay *replay, size_t nr_bytes)
{
	size_t capacity = max3(nr_bytes, 2 * replay->writer.capacity, (size_t)PAGE_SIZE);
	struct replay_data *data;

	if (nr_bytes <= replay->writer.capacity)
		return 0;
	data = vzalloc(struct_size(data, bytes, capacity));
	if (!data)
		return -ENOMEM;
	if (replay->writer.data)
		memcpy(data, replay->writer.data,
		       struct_size(data, bytes, replay->writer.data->nr_bytes));
	vfree(replay->writer.data);
	replay->writer.data = data;
	replay->writer.capacity = capacity;
	return 0;
}

static int write_bytes(struct replay *replay, const char __user *from, size_t count, loff_t pos)
{
	u64 max = (u64)min(READ_ONCE(replay_max), 1024u) << 20;
	struct replay_data *data;
	int err;

	if (pos < 0 || pos > max || count > max - pos)
		return -EFBIG;
	err = make_space(replay, pos + count);
	if (err)
		return err;
	/* bytes that a write skips are zeros, as in any file */
	data = replay->writer.data;
	if (copy_from_user(data->bytes + pos, from, count))
		return -EFAULT;
	data->nr_bytes = max_t(u64, data->nr_bytes, pos + count);
	return 0;
}

static ssize_t data_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct replay *replay = file->private_data;
	int err;

	if (!count)
		return 0;
	mutex_lock(&replay->writer.lock);
	err = write_bytes(replay, from, count, *pos);
	if (err)
		replay->writer.failed = true;
	mutex_unlock(&replay->writer.lock);
	if (err)
		return err;
	*pos += count;
	return count;
}

static int data_release(struct inode *inode, struct file *file)
{
	struct replay *replay = file->private_data;

	if (replay->writer.failed)
		vfree(replay->writer.data);
	else if (replay->writer.data)
		replace_data(replay, replay->writer.data);
	replay->writer.data = NULL;
	atomic_set_release(&replay->writer.taken, 0);
	return 0;
}

static const struct file_operations data_fops = {
	.owner = THIS_MODULE,
	.open = data_open,
	.write = data_write,
	.release = data_release,
	.llseek = default_llseek,
};

void replay_data_init(struct replay *replay, struct dentry *dir)
{
	mutex_init(&replay->writer.lock);
	debugfs_create_file("data", 0200, dir, replay, &data_fops);
}

void replay_data_exit(struct replay *replay)
{
	replace_data(replay, NULL);
}
