/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One file of caps/, which PMUs show in sysfs: a number, in the format that tools expect there. */
#ifndef AUXTAP_PMU_CAP_ATTR_H
#define AUXTAP_PMU_CAP_ATTR_H

#include <linux/device.h>
#include <linux/sysfs.h>

#define PMU_CAP_ATTR(_name, _format, _value)                                                 \
	static ssize_t cap_##_name##_show(struct device *dev, struct device_attribute *attr, \
					  char *page)                                        \
	{                                                                                    \
		(void)dev;                                                                   \
		(void)attr;                                                                  \
		return sysfs_emit(page, _format "\n", (unsigned int)(_value));               \
	}                                                                                    \
	static struct device_attribute cap_attr_##_name =                                    \
		__ATTR(_name, 0444, cap_##_name##_show, NULL)

#endif
