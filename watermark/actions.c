// SPDX-License-Identifier: BSD-2-Clause
/*
 * The possible actions in a state of a small configuration. There is no time, only an order of
 * actions; explore.c tries all orders. Rule numbers (D5) refer to docs/kernel-rules.md.
 */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

struct sim *explore_sim(const struct auxtap_watermark_config *config,
			struct auxtap_watermark_result *r, struct auxtap_error *err)
{
	struct auxtap_watermark_config c = *config;
	struct sim *sim;

	/* no time passes: the search decides the order of events */
	c.irq_latency_ns = UINT64_MAX / 4;
	c.irq_jitter_ns = 0;
	c.reader_latency_ns = c.reader_jitter_ns = c.reader_rate = 0;
	c.burst_ns = c.pause_ns = c.switch_ns = 0;
	c.rates = NULL;
	c.max_bytes = 1;
	sim = sim_new(&c, r, err);
	if (!sim || r->refused)
		return sim;
	sim->exploring = true;
	machine_sched(sim, true);
	return sim;
}

static bool asleep(const struct sim *sim)
{
	return !sim->reader.copying; /* here 'copying' means awake: until all is read */
}

/* The kernel will never wake the reader: trace is off, and no interrupt is pending. */
static bool stuck(const struct sim *sim)
{
	return sim->running && !sim->c.snapshot && !sim->mon.open && !sim->nr_irqs && asleep(sim) &&
	       !sim->reader.woken;
}

unsigned int explore_actions(const struct sim *sim, u8 *actions)
{
	unsigned int n = 0;

	if (sim->running)
		actions[n++] = ACT_PRODUCE;
	if (sim->nr_irqs)
		actions[n++] = ACT_IRQ;
	actions[n++] = ACT_SWITCH;
	if (sim->c.snapshot)
		return n;
	if (!asleep(sim) || sim->reader.woken) {
		u64 unread = reader_head(sim) - sim->reader.tail;

		if (sim->reader.tail / sim->c.setup.record_bytes !=
			    (reader_head(sim) - 1) / sim->c.setup.record_bytes &&
		    unread)
			actions[n++] = ACT_READ;
		if (unread)
			actions[n++] = ACT_READ_ALL;
		else
			actions[n++] = ACT_SLEEP;
	}
	if (stuck(sim))
		actions[n++] = ACT_STALL_CHECK;
	return n;
}

static void produce_chunk(struct sim *sim)
{
	u64 left = sim->c.setup.record_bytes, consumed, stored;

	while (left) {
		bool stopped = sim->mon.stopped;

		if (!machine_tracing(sim)) {
			sim->r->produced += left;
			mon_produced(sim, 0, left, sim->now, AUXTAP_LOSS_NO_SPACE);
			return;
		}
		stored = sim_feed_unit(sim, NULL, left, &consumed);
		if (!consumed || consumed > left)
			consumed = left;
		left -= consumed;
		sim->r->produced += consumed;
		mon_produced(sim, stored, consumed - stored, sim->now,
			     stopped || sim->mon.stopped ? AUXTAP_LOSS_STOPPED : AUXTAP_LOSS_FAULT);
		if (sim->line_raised) {
			sim->line_raised = false;
			mon_irq_raised(sim);
			sim_forward_irq(sim);
		}
		mon_time(sim);
	}
}

static void interrupt(struct sim *sim)
{
	sim->nr_irqs--;
	machine_interrupt(sim);
	if (!sim->nr_irqs && sim->unit->irq_level && sim->unit->irq_level(sim->u)) {
		mon_irq_raised(sim);
		sim->nr_irqs = 1;
	}
}

static void read_some(struct sim *sim, bool all)
{
	u64 chunk = sim->c.setup.record_bytes;
	u64 to = all ? reader_head(sim) : sim->reader.tail / chunk * chunk + chunk;

	if (asleep(sim)) {
		sim->reader.copying = true;
		sim->reader.woken = false;
	}
	reader_take_records(sim);
	reader_take(sim, to);
}

static void enable_again(struct sim *sim)
{
	sim->reader.truncated = sim->reader.was_full = false;
	if (!sim->running)
		return;
	machine_reenable(sim);
}

static void sleep_again(struct sim *sim)
{
	reader_take_records(sim);
	sim->reader.woken = false;
	sim->reader.copying = false;
	if (sim->reader.truncated || sim->reader.was_full)
		enable_again(sim);
}

void explore_act(struct sim *sim, u8 action)
{
	switch (action) {
	case ACT_PRODUCE:
		produce_chunk(sim);
		break;
	case ACT_IRQ:
		interrupt(sim);
		break;
	case ACT_SWITCH:
		machine_sched(sim, !sim->running);
		break;
	case ACT_READ:
	case ACT_READ_ALL:
		read_some(sim, action == ACT_READ_ALL);
		break;
	case ACT_SLEEP:
		sleep_again(sim);
		break;
	case ACT_STALL_CHECK:
		/* the event has made no progress; the reader first reads what is left */
		reader_take_records(sim);
		if (reader_head(sim) != sim->reader.tail)
			reader_take(sim, reader_head(sim));
		enable_again(sim);
		break;
	case ACT_UNMAP:
		machine_unmap(sim);
		break;
	default:
		break;
	}
}

/* ---- normalising a state ---- */

static u64 gcd(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void lower(u64 *position, u64 by)
{
	if (*position != NO_OFFSET)
		*position -= by;
}

/*
 * Resets the driver's position and thresholds: the unit is off, and the driver sets them before it
 * switches it on (H4, D4).
 */
static void normalise_area(struct sim *sim)
{
	sim->ptr_written = false;
	if (sim->mon.area && sim->driver->normalise_area)
		sim->driver->normalise_area(sim->mon.area);
}

/* Subtracts 'by' from all positions; without an open transaction resets what only one has. */
static void rebase(struct sim *sim, u64 by)
{
	struct perf_output_handle *handle = (struct perf_output_handle *)sim->mon.handle;
	struct monitor *m = &sim->mon;

	core_event_rebase(sim->event, by);
	sim->reader.tail -= by;
	m->head -= by;
	m->last_wakeup -= by;
	if (!m->open) { /* values of the last transaction: not read again */
		m->pos = 0;
		m->int_at = m->stop_at = m->next_threshold_at = NO_OFFSET;
		m->stopped = false;
		if (handle) {
			handle->head = handle->size = handle->wakeup = 0;
			handle->aux_flags = 0;
			handle->rb = NULL;
		}
		normalise_area(sim);
		return;
	}
	lower(&m->pos, by);
	lower(&m->int_at, by);
	lower(&m->stop_at, by);
	lower(&m->next_threshold_at, by);
	handle->head -= by;
	handle->wakeup -= by;
	/* drivers do not use the size after begin: if one did, a skip would fail (D10: monitor.c)
	 */
	handle->size = 0;
	if (sim->driver->rebase_area)
		sim->driver->rebase_area(m->area, by);
}

/* Snapshot mode has no reader: positions matter modulo the area (J5: TRBE's head counts up). */
static void rebase_snapshot(struct sim *sim)
{
	struct perf_output_handle *handle = (struct perf_output_handle *)sim->mon.handle;
	u64 by = sim->page->aux_head / sim->aux_size * sim->aux_size;
	struct monitor *m = &sim->mon;

	if (!driver_has(sim, DRIVER_SNAPSHOT_HEAD_COUNTS)) /* the head is an offset */
		by = 0;
	core_event_rebase(sim->event, by);
	if (m->open) {
		handle->head -= by;
		m->pos = m->stop_at == NO_OFFSET ? m->pos % sim->aux_size : m->pos;
		return;
	}
	m->pos = 0;
	m->int_at = m->stop_at = m->next_threshold_at = NO_OFFSET;
	m->stopped = false;
	if (handle) {
		handle->head = handle->size = handle->wakeup = 0;
		handle->aux_flags = 0;
		handle->rb = NULL;
	}
	normalise_area(sim);
}

void explore_normalise(struct sim *sim)
{
	u64 by = 0, wrap = sim->aux_size;
	struct monitor *m = &sim->mon;

	reader_take_records(sim); /* when records are read matters only for reader.truncated */
	if (sim->watermark)
		wrap = sim->aux_size / gcd(sim->aux_size, sim->watermark) * sim->watermark;
	if (!sim->c.snapshot && wrap)
		by = (sim->reader.tail < m->last_wakeup ? sim->reader.tail : m->last_wakeup) /
		     wrap * wrap;
	if (!sim->c.snapshot)
		rebase(sim, by);
	else
		rebase_snapshot(sim);
	m->produced_at_threshold = m->threshold_hit && !m->irq_raised ?
					   m->produced_at_threshold - sim->r->produced :
					   0;
	/* a flagged record covers all losses until trace is stored again: excuses are not needed */
	if (m->flagged) {
		m->refused_full = m->record_dropped = false;
		m->disable_late = m->disable_late && sim->event->pending_disable;
		m->lossy = m->lossy && m->open;
	}
	if (!m->lossy || m->flagged)
		m->why = AUXTAP_LOSS_STOPPED;
	/* both have the same effect */
	sim->reader.truncated = sim->reader.truncated || sim->reader.was_full;
	sim->reader.was_full = false;
	m->records_read = m->records_written = 0;
	m->next_wakeup = 0;
	m->stored = m->open && m->stored;
	/*
	 * these copies of registers are read when the driver switches the unit on, after it has
	 * written them again; the base says what an erratum wrote, after that, too
	 */
	if (!sim->ptr_written)
		sim->regs_ptr = 0;
	if (!sim->c.setup.errata)
		sim->regs_base = 0;
	sim->regs_limit = sim->pt_base = sim->pt_mask_ptrs = 0;
	m->lost = m->lossy;
	m->lost_since = m->irq_raised_at = 0;
	m->lost_to_fault = m->lost_to_fault > sim->aux_size ? sim->aux_size + 1 : m->lost_to_fault;
	/* a fault may be of every third one */
	sim->faults.unit.nr_raises = sim->c.fault ? sim->faults.unit.nr_raises % 3 : 0;
	sim->faults.unit.nr_stops = sim->c.fault ? sim->faults.unit.nr_stops % 3 : 0;
	sim->now = sim->stored_in_produce = sim->store_bytes = sim->input_size = sim->input_stored =
		0;
	sim->progress = (struct progress){0};
	for (unsigned int i = 0; i < MAX_IRQS; i++)
		sim->irqs[i] = 0;
	sim->reader.at = sim->reader.stall_check_at = NEVER;
	sim->reader.to = sim->reader.stall_check_head = sim->reader.enabled_at = 0;
	unit_state(sim->unit)->normalise(sim->u, !m->open);
}

/*
 * An area that is filled with padding ends one byte before the reader's tail (D5), and the reader's
 * next tail is there: so positions slip by one byte each time. All slips are alike: the search
 * follows only a few.
 */
bool explore_is_pruned(const struct sim *sim)
{
	u64 chunk = sim->c.setup.record_bytes;
	u64 slip = (chunk - sim->reader.tail % chunk) % chunk,
	    head_slip = (chunk - sim->mon.head % chunk) % chunk;

	if (sim->c.snapshot)
		return false;
	return (slip > MAX_SLIPS && slip < chunk / 2) ||
	       (head_slip > MAX_SLIPS && head_slip < chunk / 2);
}

size_t explore_ranges(struct sim *sim, struct core_range *ranges, size_t max)
{
	size_t n = core_state_ranges(sim->c.cpu, sim->event, ranges, max);

	if (n + 2 > max)
		return max + 1;
	ranges[n++] = (struct core_range){sim->u, unit_state(sim->unit)->size};
	ranges[n++] = (struct core_range){sim, sizeof(*sim)};
	return n;
}
