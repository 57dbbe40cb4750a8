/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deliberate errors of a trace unit or its interrupt line: the hardware half of the fault catalogue
 * (docs/watermark.md). Applied at the border of a unit, which itself is unaware of them: registers,
 * table entries, interrupts. Its users: watermark/fault_catalogue.c, driver/kmod/kmod_unit_*.c.
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

#define UNIT_IRQ_LATE_NS 1000000 /* added delay */
#define UNIT_NO_PADDING	 0xee	 /* written instead of padding: a byte that no driver pads with */

/* State of one unit. fault may change while the unit is off. */
struct unit_faults {
	enum unit_fault fault;
	u32 nr_lines, nr_stops; /* opportunities so far: some faults happen at every nth only */
	bool linked;		/* the unit has read a link, and not the entry after it */
};

/* "interrupt-late"; UNIT_FAULT_NONE: not the name of a unit fault. */
enum unit_fault unit_fault_find(const char *name);
const char *unit_fault_name(enum unit_fault fault);

/* A table entry as the unit reads it; next: the entry after it in its table. */
u64 unit_faults_entry(struct unit_faults *f, u64 entry, const u64 *next);
/* A register as the driver reads it; status: the true value of the status register. */
u64 unit_faults_read(const struct unit_faults *f, u32 reg, u64 value, u64 status, u64 page_size);
/* The value that a write of the driver leaves in a register; now: its current value. */
u64 unit_faults_write(const struct unit_faults *f, u32 reg, u64 value, u64 now, u64 page_size);
/* Bytes by which an interrupt comes later after its interrupt threshold than without a fault. */
u32 unit_faults_irq_delay_bytes(const struct unit_faults *f, u64 page_size);
/* The line is raised: how many interrupts are sent, and how much later than without a fault. */
unsigned int unit_faults_line(struct unit_faults *f, u64 *delay_ns);
/* The driver switches the unit off: whether this raises its line. */
bool unit_faults_stopping(struct unit_faults *f);

#endif
