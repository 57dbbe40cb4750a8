// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel versions that the model can represent, as sets of switches (docs/kernel-rules.md,
 * section L). That of 6.18.44 is derived from its source; a run on that kernel has yet to confirm
 * it.
 */
#include "core/perf_buffer.h"
#include <string.h>

static const struct core_kernel kernel_6_1 = {
	.name = "6.1.192",
	.disable_by_cpu_number = true,
	.aux_gate_masks_format = true,
};

static const struct core_kernel kernel_6_12 = {
	.name = "6.12.95",
	/* confirmed in the guest: L2 and L4 apply; L1, L3 and L6 do not */
	.disable_by_cpu_number = true,
	.disable_at_sched_out = true,
	.aux_pause_resume = true,
	.resched_one_pmu = true,
};

static const struct core_kernel kernel_6_18 = {
	.name = "6.18.44",
	.aux_chunk_order_zero = true,
	.aux_pause_resume = true,
	.mmap_other_ring_busy = true,
	.resched_one_pmu = true,
};

const struct core_kernel *const core_kernels[] = {&kernel_6_1, &kernel_6_12, &kernel_6_18, NULL};
CORE_LOCAL const struct core_kernel *core_kernel_now = &kernel_6_1;

const struct core_kernel *core_kernel_find(const char *name)
{
	for (int i = 0; core_kernels[i]; i++)
		if (!strcmp(core_kernels[i]->name, name))
			return core_kernels[i];
	return NULL;
}

void core_kernel_use(const struct core_kernel *kernel)
{
	core_kernel_now = kernel ? kernel : &kernel_6_1;
}
