// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The module on arm64: parameters, loading, unloading, debugfs. An open event holds a reference to
 * the module, so the kernel refuses to unload it.
 */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "arm_units.h"
#include "aux_calls.h"
#include "compat.h"
#include "kmod_faults.h"
#include "pmu/arm_area.h"
#include "pmu/arm_spe.h"
#include "pmu/cs_etm.h"
#include "unit_log.h"

static char *name = "arm_spe_0";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the SPE's PMU; tools expect arm_spe_0, the default; empty: none");
static char *etm_name = "cs_etm";
module_param(etm_name, charp, 0444);
MODULE_PARM_DESC(etm_name, "of the trace units' PMU; tools expect cs_etm, the default; empty: "
			   "none");

static struct dentry *debug_dir;

void *arm_unit_virt(void *ctx, u64 addr, u64 size)
{
	u64 at;

	for (at = addr & PAGE_MASK; at < addr + size; at += PAGE_SIZE)
		if (!is_vmalloc_addr((void *)at) || !vmalloc_to_page((void *)at))
			return NULL;
	return (void *)addr;
}

/* ---- for the units' logs ---- */

u64 arm_unit_area_bytes(const void *area)
{
	return arm_area_bytes(area);
}

bool arm_unit_area_is_snapshot(const void *area)
{
	return ((const struct arm_area *)area)->snapshot;
}

u64 arm_unit_area_offset(const void *area, u64 addr, unsigned long *hint)
{
	u64 off = addr - (u64)((const struct arm_area *)area)->base;

	return off < arm_area_bytes(area) ? off : UNIT_LOG_NO_OFFSET;
}

/*
 * The limit is both interrupt threshold and stop position. It is a page boundary and may be the end
 * of the area, so the offset of the last byte before it is looked up.
 */
void arm_unit_log_limit(struct unit_log *log, u64 limit, u64 pointer)
{
	u64 last, stop;

	if (!(limit & 1)) {
		unit_log_off(log);
		return;
	}
	unit_log_on(log, pointer);
	if (!log->on)
		return;
	last = arm_unit_area_offset(log->area, (limit & ~0xfffull) - 1, NULL);
	if (last == UNIT_LOG_NO_OFFSET)
		return;
	stop = log->pos - log->off + last + 1;
	unit_log_thresholds(log, stop, stop);
}

struct unit_log *unit_log_of(const struct perf_event *event)
{
	return strcmp(event->pmu->name, etm_name) ? spe_unit_log() : etm_unit_log();
}

/* ---- loading, unloading ---- */

static void pmus_exit(void)
{
	etm_registers_hide();
	cs_etm_unregister();
	arm_spe_unregister();
	compat_leave_contexts();
}

static int pmus_init(void)
{
	int err = *name ? arm_spe_register(name, &spe_unit_hw) : 0;

	if (!err && *etm_name)
		err = cs_etm_register(etm_name, &etm_unit_hw);
	if (!err && *etm_name)
		err = etm_registers_show(cs_etm_device());
	if (err)
		pmus_exit(); /* unregisters those that are registered */
	return err;
}

static int __init auxtap_init(void)
{
	int err;

	debug_dir = debugfs_create_dir("auxtap", NULL);
	err = spe_units_init(debug_dir);
	if (err)
		goto debugfs;
	err = etm_units_init(debug_dir);
	if (err)
		goto spe;
	err = pmus_init();
	if (!err)
		return 0;
	debugfs_remove(debug_dir);
	etm_units_exit();
	spe_units_exit();
	return err;
spe:
	debugfs_remove(debug_dir);
	spe_units_exit();
	return err;
debugfs:
	debugfs_remove(debug_dir);
	return err;
}

static void __exit auxtap_exit(void)
{
	pmus_exit();
	faults_exit();
	debugfs_remove(debug_dir);
	etm_units_exit();
	spe_units_exit();
}

module_init(auxtap_init);
module_exit(auxtap_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Arm SPE and CoreSight without the hardware: units in each CPU that replay "
		   "records and trace");
