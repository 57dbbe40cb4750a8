/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace unit or its interrupt line can get wrong, on purpose: the silicon half of the zoo
 * (docs/watermark.md). Asked at the border of a unit, which itself knows nothing of it: registers,
 * table entries, interrupts. Its users: watermark/fault_catalogue.c, driver/kmod/unit*.c.
 */
#ifndef AUXTAP_UNIT_FAULTS_H
#define AUXTAP_UNIT_FAULTS_H

#include "hw_types.h"

enum unit_fault {
	UNIT_FAULT_NONE,
	UNIT_IRQ_LATE,
	UNIT_IRQ_LOST,
	UNIT_IRQ_DOUBLED,
	UNIT_IRQ_PAGE_OFF,
	UNIT_IRQ_WHILE_STOPPING,
	UNIT_PAST_LIMIT,
	UNIT_STALE_STATUS,
	UNIT_FLAG_MISSING,
	UNIT_WRONG_WRAP,
	UNIT_PADDING_MISSING,
	UNIT_NR_FAULTS
};

#define UNIT_IRQ_LATE_NS 1000000 /* so much more */
#define UNIT_NO_PADDING	 0xee	 /* what is there instead: nobody's padding */

/* One unit's. fault may change while the unit is off. */
struct unit_faults {
	enum unit_fault fault;
	u32 nr_lines, nr_stops; /* of opportunities: some are taken once in a while */
	bool linked;		/* the unit has read a link, and not what is behind it */
};

/* "interrupt-late"; UNIT_FAULT_NONE: no fault of a unit has this name. */
enum unit_fault unit_fault_find(const char *name);
const char *unit_fault_name(enum unit_fault fault);

/* A table entry as the unit reads it; next: the one behind it in its table. */
u64 unit_faults_entry(struct unit_faults *f, u64 entry, const u64 *next);
/* A register as the driver reads it; status: the status register, as it is. */
u64 unit_faults_read(const struct unit_faults *f, u32 reg, u64 value, u64 status, u64 page_size);
/* What a write of the driver leaves in a register; now: what is in it. */
u64 unit_faults_write(const struct unit_faults *f, u32 reg, u64 value, u64 now, u64 page_size);
/* Bytes that an interrupt trails its mark by, more than it should. */
u32 unit_faults_overshoot(const struct unit_faults *f, u64 page_size);
/* The line goes up: how many interrupts are sent, and how much later than they should be. */
unsigned int unit_faults_line(struct unit_faults *f, u64 *delay_ns);
/* The driver switches the unit off: does its line go up? */
bool unit_faults_stopping(struct unit_faults *f);

#endif
