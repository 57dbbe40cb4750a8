// SPDX-License-Identifier: BSD-2-Clause
/* The monitor's checks of interrupts: each has a cause, and comes in time. See monitor.c. */
#include "sim.h"

#define LL unsigned long long

/*
 * Bytes that may be produced between the threshold and the interrupt line's rise: the configured
 * delay, and up to one record at either end.
 */
static u64 allowed_irq_delay(const struct sim *sim)
{
	return sim->c.setup.irq_delay_bytes + 2ull * sim->c.setup.record_bytes;
}

void mon_irq_raised(struct sim *sim)
{
	struct monitor *m = &sim->mon;

	sim_event(sim, AUXTAP_WM_IRQ_LINE, m->pos, 0, 0);
	if (!m->irqs_expected) {
		if (m->irq_raised && m->threshold_hit && m->pos <= m->stop_at)
			mon_violation(
				sim, AUXTAP_INV_IRQ_HAS_CAUSE,
				"one interrupt is expected for a threshold; a second one comes, at %llu",
				(LL)m->pos);
		else if (m->next_threshold_at != NO_OFFSET && m->next_threshold_at > m->pos)
			mon_violation(
				sim, AUXTAP_INV_IRQ_HAS_CAUSE,
				"an interrupt is expected at the threshold, %llu; one comes at %llu",
				(LL)m->next_threshold_at, (LL)m->pos);
		else
			mon_violation(sim, AUXTAP_INV_IRQ_HAS_CAUSE,
				      "no interrupt is expected; one comes, at %llu", (LL)m->pos);
		return;
	}
	m->irqs_expected--;
	if (!m->irq_raised && !m->threshold_late_reported &&
	    sim->r->produced > m->produced_at_threshold + allowed_irq_delay(sim))
		mon_violation(sim, AUXTAP_INV_IRQ_AT_THRESHOLD,
			      "the interrupt line goes up %llu bytes after the threshold at %llu",
			      (LL)(sim->r->produced - m->produced_at_threshold),
			      (LL)m->next_threshold_at);
	m->irq_raised = true;
	if (m->irq_in_flight) /* the previous interrupt has not been handled: they coalesce */
		return;
	m->irq_in_flight = true;
	m->irq_late_reported = false;
	m->irq_raised_at = sim->now;
}

void mon_irq(struct sim *sim)
{
	struct monitor *m = &sim->mon;
	u64 overshoot = sim->r->produced - m->produced_at_threshold;

	if (m->irq_in_flight &&
	    sim->now - m->irq_raised_at > sim->c.irq_latency_ns + sim->c.irq_jitter_ns &&
	    !m->irq_late_reported)
		mon_violation(sim, AUXTAP_INV_IRQ_IN_TIME, "the interrupt took %llu ns, not %llu",
			      (LL)(sim->now - m->irq_raised_at),
			      (LL)(sim->c.irq_latency_ns + sim->c.irq_jitter_ns));
	if (m->threshold_hit) {
		sim->r->overshoots[mon_overshoot_bucket(overshoot)]++;
		if (overshoot > sim->r->overshoot_max)
			sim->r->overshoot_max = overshoot;
	}
	m->irq_in_flight = false;
}

/* Time has passed or trace was produced: checks that no interrupt is overdue. */
void mon_time(struct sim *sim)
{
	struct monitor *m = &sim->mon;
	u64 latest = sim->c.irq_latency_ns + sim->c.irq_jitter_ns;

	progress_time(sim);
	if (m->irq_in_flight && !m->irq_late_reported && sim->now - m->irq_raised_at > latest + 1) {
		m->irq_late_reported = true;
		mon_violation(sim, AUXTAP_INV_IRQ_IN_TIME,
			      "expected within %llu ns; not handled by the driver after %llu ns",
			      (LL)latest, (LL)(sim->now - m->irq_raised_at));
	}
	if (m->threshold_hit && !m->irq_raised && !m->threshold_late_reported && m->open &&
	    sim->r->produced - m->produced_at_threshold > allowed_irq_delay(sim)) {
		m->threshold_late_reported = true;
		mon_violation(
			sim, AUXTAP_INV_IRQ_AT_THRESHOLD,
			"%llu bytes and more after the threshold at %llu the interrupt line is still down",
			(LL)(sim->r->produced - m->produced_at_threshold),
			(LL)m->next_threshold_at);
	}
}
