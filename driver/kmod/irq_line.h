/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interrupt line of a CPU's unit: as on a processor, the unit never calls the handler directly.
 * Parameters skid (delay in bytes) and irq_delay (in time), of all units.
 */
#ifndef AUXTAP_KMOD_IRQ_LINE_H
#define AUXTAP_KMOD_IRQ_LINE_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>

struct unit_faults;

/* Accessed only by its CPU, with interrupts off. */
struct irq_line {
	/* nr: number of interrupts to deliver: one, unless a fault is injected */
	void (*handler)(unsigned int nr);
	unsigned int nr;
	struct irq_work work;
	struct hrtimer timer; /* delivers a delayed interrupt */
};

void irq_line_init(struct irq_line *line, void (*handler)(unsigned int nr));
/* faults: of this unit; NULL: none. */
void irq_line_raise(struct irq_line *line, struct unit_faults *faults);
/* Whether an interrupt is pending; it is taken as soon as interrupts are on. */
bool irq_line_pending(const struct irq_line *line);
/* Waits until no CPU runs the handler. The line must not be raised any more. */
void irq_line_sync(struct irq_line *line);
/* Bytes that units produce between an event and its interrupt. */
unsigned int irq_line_delay_bytes(void);

#endif
