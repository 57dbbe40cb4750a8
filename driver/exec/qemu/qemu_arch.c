// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "qemu_arch.h"
#include <string.h>

static const struct qemu_arch *const all[] = {&qemu_arch_x86, &qemu_arch_a64};
#define NR_ARCHS (sizeof(all) / sizeof(all[0]))

const struct qemu_arch *qemu_arch_of_machine(u32 elf_machine)
{
	for (size_t i = 0; i < NR_ARCHS; i++)
		if (all[i]->elf_machine == elf_machine)
			return all[i];
	return NULL;
}

const struct qemu_arch *qemu_arch_of_target(const char *target)
{
	for (size_t i = 0; i < NR_ARCHS; i++)
		if (!strcmp(all[i]->target, target))
			return all[i];
	return NULL;
}

const struct qemu_arch *qemu_arch_of(u32 arch)
{
	for (size_t i = 0; i < NR_ARCHS; i++)
		if (all[i]->arch == arch)
			return all[i];
	return NULL;
}
