// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See kmod_faults.h. */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "kmod_faults.h"

/*
 * A single value, so that readers never see half of a change: a fault of a unit, or KERNEL_FAULTS
 * plus a fault of the kernel.
 */
#define KERNEL_FAULTS 0x100u
static unsigned int fault, nr_set;

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

unsigned int fault_nr_set(void)
{
	return READ_ONCE(nr_set);
}

static const char *const kernel_names[KERNEL_NR_FAULTS] = {
	[KERNEL_WAKEUP_BY_ONE] = "wakeup-by-one",
	[KERNEL_OVERWRITE_WATERMARK] = "overwrite-watermark",
	[KERNEL_TRUNCATION_GOES_ON] = "truncation-goes-on",
	[KERNEL_DISABLE_LOST] = "disable-lost-on-cpu-0",
	[KERNEL_PARTIAL_AS_TRUNCATED] = "partial-as-truncated",
	[KERNEL_HEAD_32_BIT] = "head-32-bit",
	[KERNEL_SKIP_WITHOUT_WAKEUP] = "skip-without-wakeup",
	[KERNEL_REFCOUNT_FIRST] = "refcount-first",
};

static const char *name_of(unsigned int nr)
{
	if (nr == UNIT_FAULT_NONE)
		return "none";
	if (nr < UNIT_NR_FAULTS) {
		/* the module's x86-64 driver does not pad */
		if (IS_ENABLED(CONFIG_X86_64) && nr == UNIT_PADDING_MISSING)
			return NULL;
		return unit_fault_name(nr);
	}
	if (nr < KERNEL_FAULTS)
		return NULL;
	nr -= KERNEL_FAULTS;
	/* the x86-64 driver does not skip bytes; the arm64 units do not miss trace */
	if (nr ==
	    (IS_ENABLED(CONFIG_X86_64) ? KERNEL_SKIP_WITHOUT_WAKEUP : KERNEL_PARTIAL_AS_TRUNCATED))
		return NULL;
	return nr < KERNEL_NR_FAULTS ? kernel_names[nr] : NULL;
}

#define NR_FAULTS (KERNEL_FAULTS + KERNEL_NR_FAULTS)

static void print_allowed(const char *value)
{
	char list[512];
	size_t len = 0;
	unsigned int nr;

	for (nr = 0; nr < NR_FAULTS; nr++)
		if (name_of(nr))
			len += scnprintf(list + len, sizeof(list) - len, " %s", name_of(nr));
	pr_err("auxtap: unknown fault '%.*s'; use one of:%s\n",
	       (int)min_t(size_t, strcspn(value, "\n"), 32), value, list);
}

/* ---- head-32-bit: the offset that an AUX record is about to contain ---- */

static unsigned int head_bits = 32;
module_param_named(fault_head_bits, head_bits, uint, 0644);
MODULE_PARM_DESC(fault_head_bits,
		 "number of bits of a record's offset that head-32-bit keeps (default 32)");

static int before_record(struct kprobe *probe, struct pt_regs *regs)
{
	u64 mask = GENMASK_ULL(clamp(READ_ONCE(head_bits), 1u, 64u) - 1, 0);

#ifdef CONFIG_X86_64
	regs->si &= mask;
#else
	regs->regs[1] &= mask;
#endif
	return 0;
}

static struct kprobe record_probe = {
	.symbol_name = "perf_event_aux_event",
	.pre_handler = before_record,
};
static bool probed; /* protected by the lock of the module's parameters */

static int probe_records(bool wanted)
{
	int err = 0;

	if (wanted == probed)
		return 0;
	if (wanted)
		err = register_kprobe(&record_probe);
	else
		unregister_kprobe(&record_probe);
	if (err)
		return err;
	probed = wanted;
	if (!wanted) { /* so that it can be registered again */
		record_probe.addr = NULL;
		record_probe.flags = 0;
	}
	return 0;
}

void faults_exit(void)
{
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(fault, UNIT_FAULT_NONE);
	probe_records(false);
	kernel_param_unlock(THIS_MODULE);
}

/* ---- the parameter ---- */

static int fault_set(const char *value, const struct kernel_param *kp)
{
	unsigned int nr;
	int err;

	for (nr = 0; nr < NR_FAULTS; nr++)
		if (name_of(nr) && sysfs_streq(name_of(nr), value))
			break;
	if (nr == NR_FAULTS) {
		print_allowed(value);
		return -EINVAL;
	}
	/* if loading fails, nothing would remove the probe */
	if (nr == KERNEL_FAULTS + KERNEL_HEAD_32_BIT && THIS_MODULE->state != MODULE_STATE_LIVE) {
		pr_err("auxtap: %s: cannot be set at load time; set it after the module is loaded\n",
		       name_of(nr));
		return -EAGAIN;
	}
	err = probe_records(nr == KERNEL_FAULTS + KERNEL_HEAD_32_BIT);
	if (err)
		return err;
	WRITE_ONCE(nr_set, nr_set + 1);
	WRITE_ONCE(fault, nr);
	return 0;
}

static int fault_get(char *page, const struct kernel_param *kp)
{
	return sysfs_emit(page, "%s\n", name_of(READ_ONCE(fault)));
}

static const struct kernel_param_ops fault_ops = {.set = fault_set, .get = fault_get};
module_param_cb(fault, &fault_ops, NULL, 0644);
MODULE_PARM_DESC(fault, "fault of the units or the kernel, from 'auxtap watermark faults --list'; "
			"none (default): no fault");
