// SPDX-License-Identifier: BSD-2-Clause
/*
 * What can happen in a state of a small configuration, and what it does: order without time. See
 * explore.c, which tries all orders.
 */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

struct sim *explore_sim(const struct auxtap_watermark_config *config,
			struct auxtap_watermark_result *r, struct auxtap_error *err)
{
	struct auxtap_watermark_config c = *config;
	struct sim *w;

	/* no time passes: events come in order, not at times */
	c.irq_latency_ns = UINT64_MAX / 4;
	c.irq_jitter_ns = 0;
	c.reader_latency_ns = c.reader_jitter_ns = c.reader_rate = 0;
	c.burst_ns = c.pause_ns = c.switch_ns = 0;
	c.rates = NULL;
	c.max_bytes = 1;
	w = sim_new(&c, r, err);
	if (!w || r->refused)
		return w;
	w->exploring = true;
	machine_sched(w, true);
	return w;
}

static bool asleep(const struct sim *w)
{
	return !w->reader.copying; /* it is awake until it has read all and found nothing more */
}

/* The kernel will never wake the reader: trace is off, and no interrupt is pending. */
static bool stuck(const struct sim *w)
{
	return w->running && !w->c.snapshot && !w->mon.open && !w->nr_irqs && asleep(w) &&
	       !w->reader.woken;
}

unsigned int explore_actions(const struct sim *w, u8 *actions)
{
	unsigned int n = 0;

	if (w->running)
		actions[n++] = ACT_PRODUCE;
	if (w->nr_irqs)
		actions[n++] = ACT_IRQ;
	actions[n++] = ACT_SWITCH;
	if (w->c.snapshot)
		return n;
	if (!asleep(w) || w->reader.woken) {
		u64 unread = reader_head(w) - w->reader.tail;

		if (w->reader.tail / w->c.setup.record_bytes !=
			    (reader_head(w) - 1) / w->c.setup.record_bytes &&
		    unread)
			actions[n++] = ACT_READ;
		if (unread)
			actions[n++] = ACT_READ_ALL;
		else
			actions[n++] = ACT_SLEEP;
	}
	if (stuck(w))
		actions[n++] = ACT_STALL_CHECK;
	return n;
}

static void produce_chunk(struct sim *w)
{
	u64 left = w->c.setup.record_bytes, taken, stored;

	while (left) {
		bool stopped = w->mon.stopped;

		if (!machine_tracing(w)) {
			w->r->produced += left;
			mon_produced(w, 0, left, w->now, AUXTAP_LOSS_NO_SPACE);
			return;
		}
		stored = sim_give(w, NULL, left, &taken);
		if (!taken || taken > left)
			taken = left;
		left -= taken;
		w->r->produced += taken;
		mon_produced(w, stored, taken - stored, w->now,
			     stopped || w->mon.stopped ? AUXTAP_LOSS_STOPPED : AUXTAP_LOSS_FAULT);
		if (w->line_raised) {
			w->line_raised = false;
			mon_line(w);
			sim_line_raised(w);
		}
		mon_time(w);
	}
}

static void interrupt(struct sim *w)
{
	w->nr_irqs--;
	machine_interrupt(w);
	if (!w->nr_irqs && w->unit->irq_level && w->unit->irq_level(w->u)) {
		mon_line(w);
		w->nr_irqs = 1;
	}
}

static void read_some(struct sim *w, bool all)
{
	u64 chunk = w->c.setup.record_bytes;
	u64 to = all ? reader_head(w) : w->reader.tail / chunk * chunk + chunk;

	if (asleep(w)) {
		w->reader.copying = true;
		w->reader.woken = false;
	}
	reader_records(w);
	reader_take(w, to);
}

static void enable_again(struct sim *w)
{
	w->reader.truncated = w->reader.was_full = false;
	if (!w->running)
		return;
	machine_reenable(w);
}

static void sleep_again(struct sim *w)
{
	reader_records(w);
	w->reader.woken = false;
	w->reader.copying = false;
	if (w->reader.truncated || w->reader.was_full)
		enable_again(w);
}

void explore_act(struct sim *w, u8 action)
{
	switch (action) {
	case ACT_PRODUCE:
		produce_chunk(w);
		break;
	case ACT_IRQ:
		interrupt(w);
		break;
	case ACT_SWITCH:
		machine_sched(w, !w->running);
		break;
	case ACT_READ:
	case ACT_READ_ALL:
		read_some(w, action == ACT_READ_ALL);
		break;
	case ACT_SLEEP:
		sleep_again(w);
		break;
	case ACT_STALL_CHECK:
		/* it finds no progress; what is unread is read first */
		reader_records(w);
		if (reader_head(w) != w->reader.tail)
			reader_take(w, reader_head(w));
		enable_again(w);
		break;
	case ACT_UNMAP:
		machine_unmap(w);
		break;
	default:
		break;
	}
}

/* ---- the same in smaller numbers ---- */

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
	if (*position != NEVER)
		*position -= by;
}

/* The unit is off: position and thresholds are set anew before it is switched on (H4, D4). */
static void forget_area(struct sim *w)
{
	w->ptr_written = false;
	if (w->mon.area && w->driver->forget_area)
		w->driver->forget_area(w->mon.area);
}

static void rebase(struct sim *w, u64 by)
{
	struct perf_output_handle *handle = (struct perf_output_handle *)w->mon.handle;
	struct monitor *m = &w->mon;

	core_event_rebase(w->event, by);
	w->reader.tail -= by;
	m->head -= by;
	m->wakeup -= by;
	if (!m->open) { /* of the last transaction: not read again */
		m->pos = 0;
		m->int_at = m->stop_at = m->due_at = NEVER;
		m->stopped = false;
		if (handle) {
			handle->head = handle->size = handle->wakeup = 0;
			handle->aux_flags = 0;
			handle->rb = NULL;
		}
		forget_area(w);
		return;
	}
	lower(&m->pos, by);
	lower(&m->int_at, by);
	lower(&m->stop_at, by);
	lower(&m->due_at, by);
	handle->head -= by;
	handle->wakeup -= by;
	/* space is computed when a transaction begins; a skip would be seen to fail (D10) */
	handle->size = 0;
	if (w->driver->rebase_area)
		w->driver->rebase_area(m->area, by);
}

/* No reader: only positions modulo the area matter (J5: the TRBE's head counts on). */
static void rebase_snapshot(struct sim *w)
{
	struct perf_output_handle *handle = (struct perf_output_handle *)w->mon.handle;
	u64 by = w->page->aux_head / w->aux_size * w->aux_size;
	struct monitor *m = &w->mon;

	if (!driver_is(w, DRIVER_HEAD_COUNTS)) /* an offset, up to the area's size */
		by = 0;
	core_event_rebase(w->event, by);
	if (m->open) {
		handle->head -= by;
		m->pos = m->stop_at == NEVER ? m->pos % w->aux_size : m->pos;
		return;
	}
	m->pos = 0;
	m->int_at = m->stop_at = m->due_at = NEVER;
	m->stopped = false;
	if (handle) {
		handle->head = handle->size = handle->wakeup = 0;
		handle->aux_flags = 0;
		handle->rb = NULL;
	}
	forget_area(w);
}

void explore_normalise(struct sim *w)
{
	u64 by = 0, wrap = w->aux_size;
	struct monitor *m = &w->mon;

	reader_records(w); /* when records are read changes nothing but what was truncated */
	if (w->watermark)
		wrap = w->aux_size / gcd(w->aux_size, w->watermark) * w->watermark;
	if (!w->c.snapshot && wrap)
		by = (w->reader.tail < m->wakeup ? w->reader.tail : m->wakeup) / wrap * wrap;
	if (!w->c.snapshot)
		rebase(w, by);
	else
		rebase_snapshot(w);
	m->threshold_produced =
		m->threshold_hit && !m->line_seen ? m->threshold_produced - w->r->produced : 0;
	if (m->flagged) { /* until trace is stored again, every loss is reported */
		m->refused_full = m->record_lost = false;
		m->disable_pending = m->disable_pending && w->event->pending_disable;
		m->lossy = m->lossy && m->open;
	}
	if (!m->lossy || m->flagged)
		m->why = AUXTAP_LOSS_STOPPED;
	/* what it does is the same */
	w->reader.truncated = w->reader.truncated || w->reader.was_full;
	w->reader.was_full = false;
	m->reported_from = m->reported_to = 0;
	m->handle_wakeup = 0;
	m->stored = m->open && m->stored;
	/*
	 * what the driver has written is looked at when it switches the unit on: then it is written
	 * anew
	 */
	if (!w->ptr_written)
		w->regs_ptr = 0;
	if (!w->c.setup.errata)
		w->regs_base = 0;
	w->regs_limit = w->pt_base = w->pt_mask_ptrs = 0;
	m->lost = m->lossy;
	m->lost_since = m->line_time = 0;
	m->idle = m->idle > w->aux_size ? w->aux_size + 1 : m->idle;
	w->faults.unit.nr_lines = w->c.fault ? w->faults.unit.nr_lines % 3 : 0;
	w->faults.unit.nr_stops = w->c.fault ? w->faults.unit.nr_stops % 3 : 0;
	w->now = w->chunk_stored = w->bus_bytes = w->nr_given = w->nr_kept = 0;
	w->progress = (struct progress){0};
	for (unsigned int i = 0; i < MAX_IRQS; i++)
		w->irqs[i] = 0;
	w->reader.at = w->reader.stall_check_at = NEVER;
	w->reader.to = w->reader.stall_check_head = w->reader.enabled_at = 0;
	unit_state(w->unit)->forget(w->u, !m->open);
}

/*
 * An area that is padded out ends a byte before the reader (D5), and the reader's next position
 * is there: each time one byte less. The same happens again at each of them; a few are followed.
 */
bool explore_beyond(const struct sim *w)
{
	u64 chunk = w->c.setup.record_bytes;
	u64 slip = (chunk - w->reader.tail % chunk) % chunk,
	    head_slip = (chunk - w->mon.head % chunk) % chunk;

	if (w->c.snapshot)
		return false;
	return (slip > MAX_SLIPS && slip < chunk / 2) ||
	       (head_slip > MAX_SLIPS && head_slip < chunk / 2);
}

size_t explore_ranges(struct sim *w, struct core_range *ranges, size_t max)
{
	size_t n = core_state(w->c.cpu, w->event, ranges, max);

	if (n + 2 > max)
		return max + 1;
	ranges[n++] = (struct core_range){w->u, unit_state(w->unit)->size};
	ranges[n++] = (struct core_range){w, sizeof(*w)};
	return n;
}
