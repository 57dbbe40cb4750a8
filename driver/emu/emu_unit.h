/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trace units other than Intel PT's, which is a member of every task. They are created when capture
 * opens the first event of their PMU on a task; then execute.c reports to them what the task
 * executes. emu_unit.c lists the families.
 */
#ifndef AUXTAP_EMU_UNIT_H
#define AUXTAP_EMU_UNIT_H

#include "emu_state.h"

struct perf_event_attr;

struct emu_unit_ops {
	/* User mode is entered at ip. */
	void (*enter)(struct emu_unit *unit, u64 ip);
	/*
	 * The first nr instructions of the block retired; emulated time has advanced. next_ip is
	 * the instruction after them; if nr is all of the block, the last one, of class
	 * block->last_cls, went there.
	 */
	void (*retire)(struct emu_unit *unit, const struct emu_block *block, u32 nr, u64 next_ip);
	/*
	 * One of the instructions that retire() has reported is a sample; next_ip: the instruction
	 * after it. NULL: the unit takes no samples.
	 */
	void (*sample)(struct emu_unit *unit, const struct emu_sample *sample, u64 next_ip);
	/*
	 * User mode is left; normally it is entered at ip again. by_call: the instruction that
	 * retired last (svc) entered the kernel.
	 */
	void (*leave)(struct emu_unit *unit, u64 ip, bool by_call);
	/* Calls the driver's interrupt handler, on the task's CPU, in kernel mode. */
	void (*interrupt)(struct emu_unit *unit);
	/* Sets the unit's part of the counters: produced, written, dropped. */
	void (*stats)(const struct emu_unit *unit, struct emu_event_stats *stats);
	void (*free)(struct emu_unit *unit);
};

struct emu_unit { /* the first member of a family's own struct */
	const struct emu_unit_ops *ops;
	const struct emu_unit_family *family;
	struct emu_task *task;
	struct emu_unit *next;
	bool irq; /* its interrupt line is raised */
};

struct emu_unit_family {
	const char *pmu;
	u32 arch;		       /* enum auxtap_arch: whose instructions it traces */
	int (*start)(struct emu *emu); /* registers the PMU; NULL: emu_pmu_start() does */
	/* Creates a unit for an event that is about to be opened; NULL: no memory. */
	struct emu_unit *(*create)(struct emu_task *task);
	/* Attributes of the PMU besides the driver's own; bytes or -ENOENT. May be NULL. */
	int (*attr)(const struct emu *emu, const char *attr, char *text, size_t size);
	/* Capture opened an event; it is not enabled yet. May be NULL. */
	void (*opened)(struct emu_unit *unit, const struct perf_event_attr *attr);
};

/* The family whose events have this type; NULL: not a trace unit's. */
const struct emu_unit_family *emu_unit_family(u32 type);
int emu_unit_start_all(struct emu *emu);
/*
 * The task's unit of that family, created if the task has no such unit yet; NULL: PT's, or no
 * memory (*err).
 */
struct emu_unit *emu_unit_get(struct emu_task *task, const struct emu_unit_family *family,
			      int *err);
struct emu_unit *emu_unit_find(const struct emu_task *task, const struct emu_unit_family *family);
/*
 * Reports to capture a process that has a trace event whose unit does not trace its architecture.
 */
void emu_unit_check(struct emu_task *task);
/* A unit raises its interrupt line: the task takes the interrupt before one of its next blocks. */
void emu_unit_raise(struct emu_unit *unit);
void emu_unit_free_all(struct emu_task *task);

int emu_unit_attr(const struct emu *emu, const char *pmu, const char *attr, char *text,
		  size_t size);

/* emu_unit_etm.c */
/* Selects the unit of all CPUs, "ete" or "etmv4"; call before any event is opened. 0 or -EINVAL. */
int emu_etm_choose(struct emu *emu, const char *name);
int emu_etm_start(struct emu *emu);
struct emu_unit *emu_etm_create(struct emu_task *task);
int emu_etm_attr(const struct emu *emu, const char *attr, char *text, size_t size);

/* emu_unit_spe.c */
int emu_spe_start(struct emu *emu);
struct emu_unit *emu_spe_create(struct emu_task *task);
void emu_spe_opened(struct emu_unit *unit, const struct perf_event_attr *attr);

#endif
