// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Addresses of kernel functions that are not exported: the module sets a kprobe on the function,
 * reads its address and removes the probe.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <asm/cpufeature.h>
#include "kmod.h"
#include "pmu/intel_pt.h"

static bool aux_sample = true;
module_param(aux_sample, bool, 0444);
MODULE_PARM_DESC(aux_sample, "0: no AUX sampling, as if the kernel's function were not found");

static void *find_function(const char *name)
{
	struct kprobe probe = {.symbol_name = name};
	void *addr;

#ifdef X86_FEATURE_IBT
	/*
	 * The kernel never calls the function indirectly, so its ENDBR is sealed, and an indirect
	 * call is fatal.
	 */
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
	intel_pt_output_copy *copy = aux_sample ? find_function("perf_output_copy") : NULL;

	if (!copy)
		pr_info("auxtap: perf_output_copy not found; AUX sampling disabled\n");
	intel_pt_use_output_copy(copy);
}
