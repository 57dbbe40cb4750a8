// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See arm_units.h: injects management events of the units. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include "arm_units.h"

#define TEXT_MAX 63

static ssize_t inject_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	const struct inject *inject = file_inode(file)->i_private;
	char text[TEXT_MAX + 1], word[16];
	u32 nr_bytes = 0;
	u64 status = 0;
	unsigned long flags;
	int err;

	if (count > TEXT_MAX)
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	if (sscanf(text, "%15s %llx %u", word, &status, &nr_bytes) < 1)
		return -EINVAL;
	local_irq_save(flags);
	err = inject->event(word, status, nr_bytes);
	local_irq_restore(flags);
	return err ?: count;
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = inject_write,
	.llseek = noop_llseek,
};

void inject_init(const struct inject *inject, struct dentry *dir)
{
	debugfs_create_file("inject", 0200, dir, (void *)inject, &inject_fops);
}
