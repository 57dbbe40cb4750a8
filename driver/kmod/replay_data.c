// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * auxtap/replay/data. One writer at a time fills a copy of its own; when it closes the file,
 * the copy takes the place of what was produced until then. After a write that failed, and
 * without any write, the old bytes stay.
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
MODULE_PARM_DESC(replay_max, "MiB that auxtap/replay/data takes (default 64, at most 1024)");

static struct replay_data __rcu *replay_bytes;

const struct replay_data *replay_data_get(void)
{
	return rcu_dereference(replay_bytes);
}

static void replace(struct replay_data *data)
{
	struct replay_data *old;

	/* only the one writer comes here, or the unloading */
	old = rcu_replace_pointer(replay_bytes, data, true);
	synchronize_rcu();
	vfree(old);
}

/* ---- the one writer ---- */

static struct writer {
	atomic_t taken;
	struct mutex lock; /* its threads' writes */
	struct replay_data *data;
	size_t room;
	bool failed;
} writer = {.lock = __MUTEX_INITIALIZER(writer.lock)};

static int data_open(struct inode *inode, struct file *file)
{
	if (atomic_cmpxchg(&writer.taken, 0, 1))
		return -EBUSY;
	writer.data = NULL;
	writer.room = 0;
	writer.failed = false;
	return 0;
}

static int make_room(size_t nr_bytes)
{
	size_t room = max3(nr_bytes, 2 * writer.room, (size_t)PAGE_SIZE);
	struct replay_data *data;

	if (nr_bytes <= writer.room)
		return 0;
	data = vzalloc(struct_size(data, bytes, room));
	if (!data)
		return -ENOMEM;
	if (writer.data)
		memcpy(data, writer.data,
		       struct_size(data, bytes, writer.data->nr_bytes));
	vfree(writer.data);
	writer.data = data;
	writer.room = room;
	return 0;
}

static int put(const char __user *from, size_t count, loff_t pos)
{
	u64 max = (u64)min(READ_ONCE(replay_max), 1024u) << 20;
	int err;

	if (pos < 0 || pos > max || count > max - pos)
		return -EFBIG;
	err = make_room(pos + count);
	if (err)
		return err;
	/* what a write leaves out before its place is zeros, as in any file */
	if (copy_from_user(writer.data->bytes + pos, from, count))
		return -EFAULT;
	writer.data->nr_bytes = max_t(u64, writer.data->nr_bytes, pos + count);
	return 0;
}

static ssize_t data_write(struct file *file, const char __user *from, size_t count,
			  loff_t *pos)
{
	int err;

	if (!count)
		return 0;
	mutex_lock(&writer.lock);
	err = put(from, count, *pos);
	if (err)
		writer.failed = true;
	mutex_unlock(&writer.lock);
	if (err)
		return err;
	*pos += count;
	return count;
}

static int data_release(struct inode *inode, struct file *file)
{
	if (writer.failed)
		vfree(writer.data);
	else if (writer.data)
		replace(writer.data);
	writer.data = NULL;
	atomic_set_release(&writer.taken, 0);
	return 0;
}

static const struct file_operations data_fops = {
	.owner = THIS_MODULE,
	.open = data_open,
	.write = data_write,
	.release = data_release,
	.llseek = default_llseek,
};

void replay_data_init(struct dentry *dir)
{
	debugfs_create_file("data", 0200, dir, NULL, &data_fops);
}

void replay_data_exit(void)
{
	replace(NULL);
}
