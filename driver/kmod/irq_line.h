/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interrupt line of a CPU's unit: the handler is never called from within the unit, as on a
 * processor. Parameters skid and irq_delay, of all units.
 */
#ifndef AUXTAP_KMOD_IRQ_LINE_H
#define AUXTAP_KMOD_IRQ_LINE_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>

struct unit_faults;

/* Touched by its CPU only, with interrupts off. */
struct irq_line {
	void (*handler)(unsigned int nr); /* so many interrupts have come: one, but for a fault */
	unsigned int nr;
	struct irq_work work;
	struct hrtimer timer; /* the interrupt, when it is to come late */
};

void irq_line_init(struct irq_line *line, void (*handler)(unsigned int nr));
/* faults: of this unit; NULL: nothing goes wrong. */
void irq_line_raise(struct irq_line *line, struct unit_faults *faults);
/* It comes in as soon as interrupts are on. */
bool irq_line_pending(const struct irq_line *line);
/* No CPU is in it any more, and none will be: it is not raised any more. */
void irq_line_sync(struct irq_line *line);
/* Bytes that units are to produce between an event and its interrupt. */
unsigned int irq_line_overshoot_bytes(void);

#endif
