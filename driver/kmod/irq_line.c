// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See irq_line.h. */
#include <linux/module.h>
#include "irq_line.h"
#include "hw/unit_faults.h"

static unsigned int irq_delay_bytes, irq_delay_us;
module_param_named(skid, irq_delay_bytes, uint, 0644);
MODULE_PARM_DESC(
	skid,
	"bytes that a unit produces between an interrupt threshold, or a full buffer, and its "
	"interrupt");
module_param_named(irq_delay, irq_delay_us, uint, 0644);
MODULE_PARM_DESC(irq_delay, "delay of the interrupt in microseconds");

static void deliver(struct irq_line *line)
{
	line->handler(line->nr);
}

static void deliver_now(struct irq_work *work)
{
	deliver(container_of(work, struct irq_line, work));
}

static enum hrtimer_restart deliver_late(struct hrtimer *timer)
{
	deliver(container_of(timer, struct irq_line, timer));
	return HRTIMER_NORESTART;
}

void irq_line_init(struct irq_line *line, void (*handler)(unsigned int nr))
{
	line->handler = handler;
	line->work = IRQ_WORK_INIT_HARD(deliver_now);
	hrtimer_init(&line->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	line->timer.function = deliver_late;
}

void irq_line_raise(struct irq_line *line, struct unit_faults *faults)
{
	u64 delay_ns = 0;

	line->nr = faults ? unit_faults_line(faults, &delay_ns) : 1;
	if (!line->nr)
		return;
	delay_ns += (u64)READ_ONCE(irq_delay_us) * NSEC_PER_USEC;
	if (delay_ns)
		hrtimer_start(&line->timer, ns_to_ktime(delay_ns), HRTIMER_MODE_REL_PINNED_HARD);
	else
		irq_work_queue(&line->work);
}

bool irq_line_pending(const struct irq_line *line)
{
	return irq_work_is_pending((struct irq_work *)&line->work);
}

void irq_line_sync(struct irq_line *line)
{
	irq_work_sync(&line->work);
	hrtimer_cancel(&line->timer);
}

unsigned int irq_line_delay_bytes(void)
{
	return READ_ONCE(irq_delay_bytes);
}
