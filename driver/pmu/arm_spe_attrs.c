// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The PMU in sysfs: format/ (the terms of an event), caps/ (the unit's capabilities), cpumask.
 * Names and number formats are those that tools expect.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/sysfs.h>
#include "arm_spe.h"
#include "arm_spe_regs.h"
#include "arm_spe_unit.h"
#include "cap_attr.h"
#include "pmu_local.h"

PMU_FORMAT_ATTR(ts_enable, "config:0");
PMU_FORMAT_ATTR(pa_enable, "config:1");
PMU_FORMAT_ATTR(pct_enable, "config:2");
PMU_FORMAT_ATTR(jitter, "config:16");
PMU_FORMAT_ATTR(branch_filter, "config:32");
PMU_FORMAT_ATTR(load_filter, "config:33");
PMU_FORMAT_ATTR(store_filter, "config:34");
PMU_FORMAT_ATTR(event_filter, "config1:0-63");
PMU_FORMAT_ATTR(min_latency, "config2:0-11");
PMU_FORMAT_ATTR(inv_event_filter, "config3:0-63");

static struct attribute *format_attrs[] = {
	&format_attr_ts_enable.attr,
	&format_attr_pa_enable.attr,
	&format_attr_pct_enable.attr,
	&format_attr_jitter.attr,
	&format_attr_branch_filter.attr,
	&format_attr_load_filter.attr,
	&format_attr_store_filter.attr,
	&format_attr_event_filter.attr,
	&format_attr_min_latency.attr,
	&format_attr_inv_event_filter.attr,
	NULL,
};

static PMU_LOCAL const struct arm_spe_unit *shown;

static umode_t format_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	(void)kobj;
	(void)index;
	if (attr == &format_attr_inv_event_filter.attr && !arm_spe_has_inverted(shown))
		return 0;
	return attr->mode;
}

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
	.is_visible = format_visible,
};

/* Decimal, as tools read them. */
#define CAP_ATTR(_name, _value) PMU_CAP_ATTR(_name, "%u", _value)

CAP_ATTR(arch_inst, !!(shown->pmsidr & SPE_PMSIDR_ARCHINST));
CAP_ATTR(ernd, !!(shown->pmsidr & SPE_PMSIDR_ERND));
CAP_ATTR(count_size, shown->count_size);
CAP_ATTR(min_interval, shown->min_interval);

static struct attribute *caps_attrs[] = {
	&cap_attr_arch_inst.attr,
	&cap_attr_ernd.attr,
	&cap_attr_count_size.attr,
	&cap_attr_min_interval.attr,
	NULL,
};

static const struct attribute_group caps_group = {
	.name = "caps",
	.attrs = caps_attrs,
};

/* As a list: "0-3,8". Tools open an event on each of these CPUs. */
static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	ssize_t len = 0;
	int cpu, first = -1, last = -2;

	(void)dev;
	(void)attr;
	for_each_possible_cpu (cpu) {
		if (!arm_spe_cpu_present(shown, cpu))
			continue;
		if (cpu != last + 1) {
			if (last > first)
				len += sysfs_emit_at(page, len, "-%d", last);
			len += sysfs_emit_at(page, len, "%s%d", len ? "," : "", cpu);
			first = cpu;
		}
		last = cpu;
	}
	if (last > first)
		len += sysfs_emit_at(page, len, "-%d", last);
	return len + sysfs_emit_at(page, len, "\n");
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *top_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL,
};

static const struct attribute_group top_group = {
	.attrs = top_attrs,
};

static const struct attribute_group *groups[] = {
	&top_group,
	&caps_group,
	&format_group,
	NULL,
};

const struct attribute_group **arm_spe_attr_groups(const struct arm_spe_unit *unit)
{
	shown = unit;
	return groups;
}
