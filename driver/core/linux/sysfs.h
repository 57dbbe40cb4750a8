/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a PMU: event format, caps. Read by core_pmu_attr() (core.h). */
#ifndef AUXTAP_SHIM_LINUX_SYSFS_H
#define AUXTAP_SHIM_LINUX_SYSFS_H

#include <linux/types.h>
#include <stdio.h>

struct device;
struct kobject;

struct attribute {
	const char *name;
	umode_t mode;
};

struct attribute_group {
	const char *name; /* the directory; NULL: the PMU's own */
	umode_t (*is_visible)(struct kobject *kobj, struct attribute *attr, int index);
	struct attribute **attrs;
};

struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
	ssize_t (*store)(struct device *dev, struct device_attribute *attr, const char *buf,
			 size_t count);
};

#define __ATTR(_name, _mode, _show, _store)                                                   \
	{                                                                                     \
		.attr = {.name = #_name, .mode = (_mode)}, .show = (_show), .store = (_store) \
	}
#define __ATTR_RO(_name)      __ATTR(_name, 0444, _name##_show, NULL)
#define DEVICE_ATTR_RO(_name) struct device_attribute dev_attr_##_name = __ATTR_RO(_name)

/* buf is one page, as sysfs provides. */
#define sysfs_emit(buf, ...) ((ssize_t)snprintf(buf, 4096, __VA_ARGS__))
#define sysfs_emit_at(buf, at, ...) \
	((ssize_t)snprintf((buf) + (at), 4096 - (size_t)(at), __VA_ARGS__))

#endif
