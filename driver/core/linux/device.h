/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Only what PMU attributes need. */
#ifndef AUXTAP_SHIM_LINUX_DEVICE_H
#define AUXTAP_SHIM_LINUX_DEVICE_H

#include <linux/sysfs.h>

struct device {
	void *driver_data;
};

static inline void *dev_get_drvdata(const struct device *dev)
{
	return dev->driver_data;
}

static inline void dev_set_drvdata(struct device *dev, void *data)
{
	dev->driver_data = data;
}

#endif
