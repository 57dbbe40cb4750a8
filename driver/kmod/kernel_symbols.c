// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions of the kernel that are not exported. A probe that is set on one and taken away
 * again tells where it is.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <asm/cpufeature.h>
#include "kmod.h"
#include "pmu/intel_pt.h"

static bool aux_sample = true;
module_param(aux_sample, bool, 0444);
MODULE_PARM_DESC(aux_sample, "0: no AUX sampling, as where the kernel's function is not found");

static void *find(const char *name)
{
	struct kprobe probe = {.symbol_name = name};
	void *addr;

#ifdef X86_FEATURE_IBT
	/* Nobody calls it by address, so its landing mark is gone, and to jump there is fatal. */
	if (boot_cpu_has(X86_FEATURE_IBT))
		return NULL;
#endif
	if (register_kprobe(&probe))
		return NULL;
	addr = probe.addr;
	unregister_kprobe(&probe);
	return addr;
}

void symbols_init(void)
{
	intel_pt_output_copy *copy = aux_sample ? find("perf_output_copy") : NULL;

	if (!copy)
		pr_info("auxtap: no perf_output_copy, so no AUX sampling\n");
	intel_pt_use_output_copy(copy);
}
