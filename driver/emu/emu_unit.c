// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The families of trace units, one for each PMU, and the units of a task. */
#include "emu_unit.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct emu_unit_family families[] = {
	{ .pmu = "intel_pt", .arch = AUXTAP_ARCH_X86_64 }, /* execute.c */
	{ .pmu = "cs_etm", .arch = AUXTAP_ARCH_AARCH64,
	  .start = emu_etm_start, .create = emu_etm_create, .attr = emu_etm_attr },
	{ .pmu = "arm_spe_0", .arch = AUXTAP_ARCH_AARCH64,
	  .start = emu_spe_start, .create = emu_spe_create, .opened = emu_spe_opened },
};
/* clang-format on */
#define NR_FAMILIES (sizeof(families) / sizeof(families[0]))

const struct emu_unit_family *emu_unit_family(u32 type)
{
	for (size_t i = 0; i < NR_FAMILIES; i++)
		if (core_pmu_type(families[i].pmu) == (int)type)
			return &families[i];
	return NULL;
}

int emu_unit_attr(const struct emu *emu, const char *pmu, const char *attr, char *text, size_t size)
{
	for (size_t i = 0; i < NR_FAMILIES; i++)
		if (families[i].attr && !strcmp(families[i].pmu, pmu))
			return families[i].attr(emu, attr, text, size);
	return -ENOENT;
}

int emu_unit_start_all(struct emu *emu)
{
	int ret = 0;

	for (size_t i = 0; i < NR_FAMILIES && !ret; i++)
		if (families[i].start)
			ret = families[i].start(emu);
	return ret;
}

struct emu_unit *emu_unit_find(const struct emu_task *task, const struct emu_unit_family *family)
{
	for (struct emu_unit *u = task->arm_units; u; u = u->next)
		if (u->family == family)
			return u;
	return NULL;
}

struct emu_unit *emu_unit_get(struct emu_task *task, const struct emu_unit_family *family, int *err)
{
	struct emu_unit *u = emu_unit_find(task, family);

	*err = 0;
	if (u || !family->create)
		return u;
	u = family->create(task);
	if (!u) {
		*err = -ENOMEM;
		return NULL;
	}
	u->family = family;
	u->task = task;
	u->next = task->arm_units;
	task->arm_units = u;
	/* in user mode the unit must see the entry that it has missed */
	if (task->in_user)
		u->ops->enter(u, task->ip);
	return u;
}

/* The first PMU that traces the architecture. */
static const char *pmu_of(u32 arch)
{
	for (size_t i = 0; i < NR_FAMILIES; i++)
		if (families[i].arch == arch)
			return families[i].pmu;
	return families[0].pmu;
}

void emu_unit_check(struct emu_task *task)
{
	struct emu *emu = task->emu;
	char why[96];

	if (task->core.tid != task->core.pid)
		return; /* reported for the process's main thread only */
	for (int i = 0; i < emu->events.nr; i++) {
		const struct emu_event *ev = emu->events.items[i];
		bool a64 = task->arch == AUXTAP_ARCH_AARCH64;

		if (!ev || ev->task != task || !ev->family || ev->family->arch == task->arch)
			continue;
		snprintf(why, sizeof(why), "%s code, which %s does not trace; -e %s//u does",
			 a64 ? "AArch64" : "x86-64", ev->family->pmu, pmu_of(task->arch));
		emu_report_problem(emu, task->core.pid, why);
		return;
	}
}

void emu_unit_raise(struct emu_unit *unit)
{
	struct emu_task *task = unit->task;

	unit->irq = true;
	if (!(task->pending_work & WORK_IRQ))
		task->irq_delay_left = task->emu->irq_delay_blocks;
	task->pending_work |= WORK_IRQ;
}

void emu_unit_free_all(struct emu_task *task)
{
	while (task->arm_units) {
		struct emu_unit *u = task->arm_units;

		task->arm_units = u->next;
		u->ops->free(u);
	}
}
