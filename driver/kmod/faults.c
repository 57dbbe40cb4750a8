// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See faults.h. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "faults.h"

/* One value, so that nobody sees half of a change: that of a unit, or the kernel's above it. */
#define KERNEL_FAULTS 0x100u
static unsigned int fault;

enum unit_fault fault_of_unit(void)
{
	unsigned int now = READ_ONCE(fault);

	return now < KERNEL_FAULTS ? now : UNIT_FAULT_NONE;
}

enum kernel_fault fault_of_kernel(void)
{
	unsigned int now = READ_ONCE(fault);

	return now > KERNEL_FAULTS ? now - KERNEL_FAULTS : KERNEL_FAULT_NONE;
}

static const char *const kernel_names[KERNEL_NR_FAULTS] = {
};

static const char *name_of(unsigned int nr)
{
	if (nr == UNIT_FAULT_NONE)
		return "none";
	if (nr < UNIT_NR_FAULTS) {
		/* of the units that the module has on x86-64 no driver pads */
		if (IS_ENABLED(CONFIG_X86_64) && nr == UNIT_PADDING_MISSING)
			return NULL;
		return unit_fault_name(nr);
	}
	nr -= KERNEL_FAULTS;
	return nr < KERNEL_NR_FAULTS ? kernel_names[nr] : NULL;
}

#define NR_FAULTS (KERNEL_FAULTS + KERNEL_NR_FAULTS)

static void tell_allowed(const char *value)
{
	char list[512];
	size_t len = 0;
	unsigned int nr;

	for (nr = 0; nr < NR_FAULTS; nr++)
		if (name_of(nr))
			len += scnprintf(list + len, sizeof(list) - len, " %s", name_of(nr));
	pr_err("auxtap: no fault '%.*s'; there are:%s\n", (int)min_t(size_t, strcspn(value, "\n"), 32),
	       value, list);
}

static int fault_set(const char *value, const struct kernel_param *kp)
{
	unsigned int nr;

	for (nr = 0; nr < NR_FAULTS; nr++)
		if (name_of(nr) && sysfs_streq(name_of(nr), value)) {
			WRITE_ONCE(fault, nr);
			return 0;
		}
	tell_allowed(value);
	return -EINVAL;
}

static int fault_get(char *page, const struct kernel_param *kp)
{
	return sysfs_emit(page, "%s\n", name_of(READ_ONCE(fault)));
}

static const struct kernel_param_ops fault_ops = {.set = fault_set, .get = fault_get};
module_param_cb(fault, &fault_ops, NULL, 0644);
MODULE_PARM_DESC(fault, "what the units or the kernel get wrong, of 'auxtap watermark faults --list'; "
			"none (default): nothing");
