/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injected faults of a trace unit or its interrupt line: the hardware half of the fault catalogue
 * (docs/watermark.md). They are applied to the unit's interface (registers, table entries,
 * interrupts); the unit's model does not know them. Users: watermark/fault_catalogue.c,
 * driver/kmod/kmod_unit_*.c.
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
	/* of the interrupt line and the unit, so far: some faults occur only at every third */
	u32 nr_raises, nr_stops;
	bool linked;   /* the unit has read an END entry, but not yet the one it links to */
	u64 uncleared; /* status bits that the driver has cleared and the fault has kept */
};

/* "interrupt-late"; UNIT_FAULT_NONE: not the name of a unit fault. */
enum unit_fault unit_fault_find(const char *name);
const char *unit_fault_name(enum unit_fault fault);

/* The ToPA entry that the unit reads instead of entry; next: the one after it in its table. */
u64 unit_faults_entry(struct unit_faults *f, u64 entry, const u64 *next);
/* The value that the driver reads from a register; status: the status register's real value. */
u64 unit_faults_read(const struct unit_faults *f, u32 reg, u64 value, u64 status, u64 page_size);
/* The value that a write of the driver leaves in a register; now: the status register's value. */
u64 unit_faults_write(struct unit_faults *f, u32 reg, u64 value, u64 now, u64 page_size);
/* Status bits that are to be cleared now, because the fault that kept them is over. */
u64 unit_faults_cleared(struct unit_faults *f);
/* Bytes by which the fault delays an interrupt after its interrupt threshold. */
u32 unit_faults_irq_delay_bytes(const struct unit_faults *f, u64 page_size);
/* The unit raises its line: how many interrupts to send, and by how much the fault delays them. */
unsigned int unit_faults_line(struct unit_faults *f, u64 *delay_ns);
/* The driver switches the unit off: whether the fault raises its interrupt line. */
bool unit_faults_stopping(struct unit_faults *f);

#endif
