// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The PMU in sysfs: format/ (the terms of an event), caps/ (the unit's capabilities), and the clock
 * ratios that a decoder needs. Names and number formats are those that tools expect.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sysfs.h>
#include "cap_attr.h"
#include "intel_pt.h"
#include "intel_pt_buffer.h"
#include "pmu_local.h"

PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");
/* Terms that the driver refuses: tools parse them, and check caps/ before use. */
PMU_FORMAT_ATTR(pwr_evt, "config:4");
PMU_FORMAT_ATTR(fup_on_ptw, "config:5");
PMU_FORMAT_ATTR(ptw, "config:12");

static struct attribute *format_attrs[] = {
	&format_attr_pt.attr,
	&format_attr_cyc.attr,
	&format_attr_pwr_evt.attr,
	&format_attr_fup_on_ptw.attr,
	&format_attr_mtc.attr,
	&format_attr_tsc.attr,
	&format_attr_noretcomp.attr,
	&format_attr_ptw.attr,
	&format_attr_branch.attr,
	&format_attr_mtc_period.attr,
	&format_attr_cyc_thresh.attr,
	&format_attr_psb_period.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static PMU_LOCAL const struct intel_pt_hw *shown_hw;

static unsigned int values_or_all(u16 values)
{
	return values ? values : 0xffff;
}

/* Hexadecimal without prefix, as tools read them. */
#define CAP_ATTR(_name, _value) PMU_CAP_ATTR(_name, "%x", _value)

CAP_ATTR(vmx, 0);
CAP_ATTR(cr3_filtering, 1);
CAP_ATTR(ip_filtering, !!shown_hw->nr_addr_ranges);
CAP_ATTR(num_address_ranges, shown_hw->nr_addr_ranges);
CAP_ATTR(event_trace, 0);
CAP_ATTR(ptwrite, 0);
CAP_ATTR(power_event_trace, 0);
CAP_ATTR(payloads_lip, 0);
CAP_ATTR(output_subsys, 0);
CAP_ATTR(topa_output, 1);
CAP_ATTR(psb_cyc, 1);
CAP_ATTR(mtc, 1);
CAP_ATTR(topa_multiple_entries, shown_hw->topa_multiple_entries);
CAP_ATTR(single_range_output, shown_hw->single_range);
CAP_ATTR(psb_periods, values_or_all(shown_hw->psb_periods));
CAP_ATTR(cycle_thresholds, values_or_all(shown_hw->cyc_thresholds));
CAP_ATTR(mtc_periods, values_or_all(shown_hw->mtc_periods));

static struct attribute *caps_attrs[] = {
	&cap_attr_vmx.attr,
	&cap_attr_cr3_filtering.attr,
	&cap_attr_ip_filtering.attr,
	&cap_attr_num_address_ranges.attr,
	&cap_attr_event_trace.attr,
	&cap_attr_ptwrite.attr,
	&cap_attr_power_event_trace.attr,
	&cap_attr_payloads_lip.attr,
	&cap_attr_output_subsys.attr,
	&cap_attr_topa_output.attr,
	&cap_attr_psb_cyc.attr,
	&cap_attr_mtc.attr,
	&cap_attr_topa_multiple_entries.attr,
	&cap_attr_single_range_output.attr,
	&cap_attr_psb_periods.attr,
	&cap_attr_cycle_thresholds.attr,
	&cap_attr_mtc_periods.attr,
	NULL,
};

static const struct attribute_group caps_group = {
	.name = "caps",
	.attrs = caps_attrs,
};

static ssize_t max_nonturbo_ratio_show(struct device *dev, struct device_attribute *attr,
				       char *page)
{
	(void)dev;
	(void)attr;
	return sysfs_emit(page, "%u\n", shown_hw->max_nonturbo_ratio);
}
static DEVICE_ATTR_RO(max_nonturbo_ratio);

static ssize_t tsc_art_ratio_show(struct device *dev, struct device_attribute *attr, char *page)
{
	(void)dev;
	(void)attr;
	return sysfs_emit(page, "%u:%u\n", shown_hw->tsc_art_n, shown_hw->tsc_art_d);
}
static DEVICE_ATTR_RO(tsc_art_ratio);

static struct attribute *clock_attrs[] = {
	&dev_attr_max_nonturbo_ratio.attr,
	&dev_attr_tsc_art_ratio.attr,
	NULL,
};

static umode_t clock_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	u32 value = index ? shown_hw->tsc_art_d : shown_hw->max_nonturbo_ratio;

	(void)kobj;
	return value ? attr->mode : 0;
}

static const struct attribute_group clock_group = {
	.attrs = clock_attrs,
	.is_visible = clock_visible,
};

static const struct attribute_group *groups[] = {
	&format_group,
	&caps_group,
	&clock_group,
	NULL,
};

const struct attribute_group **intel_pt_attr_groups(const struct intel_pt_hw *hw)
{
	shown_hw = hw;
	return groups;
}
