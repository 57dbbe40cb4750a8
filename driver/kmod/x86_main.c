// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The module on x86-64: parameters, loading, unloading, debugfs. An open event holds a reference to
 * the module, so the kernel refuses to unload it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "compat.h"
#include "kmod_faults.h"
#include "kmod.h"
#include "pmu/intel_pt.h"

static char *name = "auxtap_pt";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the PMU; intel_pt replaces the hardware's PMU (default auxtap_pt)");

struct kmod_counts kmod_counts;
static struct dentry *debug_dir;

static int counts_show(struct seq_file *seq, void *unused)
{
	seq_printf(seq, "steps: %lld\n", (s64)atomic64_read(&kmod_counts.steps));
	seq_printf(seq, "unreadable: %lld\n", (s64)atomic64_read(&kmod_counts.unreadable));
	seq_printf(seq, "lost_track: %lld\n", (s64)atomic64_read(&kmod_counts.lost_track));
	seq_printf(seq, "not_64bit: %lld\n", (s64)atomic64_read(&kmod_counts.not_64bit));
	seq_printf(seq, "no_work: %llu\n", trap_work_nr_lost());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static int __init auxtap_init(void)
{
	int err;

	symbols_init();
	debug_dir = debugfs_create_dir("auxtap", NULL);
	debugfs_create_file("counts", 0400, debug_dir, NULL, &counts_fops);
	err = kmod_units_init(debug_dir);
	if (err)
		goto debugfs;
	err = steps_init(debug_dir);
	if (err)
		goto units;
	err = trap_work_init();
	if (err)
		goto steps;
	err = trap_hooks_init();
	if (err)
		goto work;
	err = intel_pt_register(name, &kmod_hw);
	if (err)
		goto hooks;
	return 0;
hooks:
	trap_hooks_exit();
work:
	trap_work_exit();
steps:
	debugfs_remove(debug_dir);
	steps_exit();
	kmod_units_exit();
	return err;
units:
	debugfs_remove(debug_dir);
	kmod_units_exit();
	return err;
debugfs:
	debugfs_remove(debug_dir);
	return err;
}

static void __exit auxtap_exit(void)
{
	intel_pt_unregister();
	faults_exit();
	compat_leave_contexts();
	trap_hooks_exit();
	trap_work_exit();
	debugfs_remove(debug_dir);
	kmod_units_exit();
	steps_exit();
}

module_init(auxtap_init);
module_exit(auxtap_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Instruction traces without the hardware: an Intel PT unit fed by single steps");
