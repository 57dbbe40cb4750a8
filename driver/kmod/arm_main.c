// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The module on arm64: parameters, loading, unloading, debugfs. An open event holds the module,
 * so that unloading is refused by the kernel itself.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include "compat.h"
#include "pmu/arm_spe.h"
#include "replay.h"
#include "arm_unit.h"

static char *name = "arm_spe_0";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the PMU; tools look for arm_spe_0, the default");
module_param_named(skid, spe_skid_bytes, uint, 0644);
MODULE_PARM_DESC(skid, "bytes that the unit would produce between a full buffer and its interrupt");
module_param_named(irq_delay, spe_irq_delay_us, uint, 0644);
MODULE_PARM_DESC(irq_delay, "microseconds that the interrupt comes late");

static struct dentry *debug_dir;

static int __init auxtap_init(void)
{
	int err;

	spe_units_init();
	debug_dir = debugfs_create_dir("auxtap", NULL);
	replay_init(debug_dir);
	err = arm_spe_register(name, &spe_unit_hw);
	if (!err)
		return 0;
	debugfs_remove(debug_dir);
	replay_exit();
	spe_units_exit();
	return err;
}

static void __exit auxtap_exit(void)
{
	arm_spe_unregister();
	compat_leave_contexts();
	spe_units_exit();
	debugfs_remove(debug_dir);
	replay_exit();
}

module_init(auxtap_init);
module_exit(auxtap_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Arm SPE without the hardware: a unit in each CPU that replays records");
