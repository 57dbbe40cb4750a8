// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks the invariants. The monitor observes stores to memory, the interrupt line, calls of the
 * AUX API and what the reader finds; it keeps its own copy of head, wakeup and losses, and
 * compares. Rules such as D21: docs/kernel-rules.md; names and meaning of the invariants:
 * invariants.c.
 */
#include "sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUNCATED  PERF_AUX_FLAG_TRUNCATED
#define PARTIAL	   PERF_AUX_FLAG_PARTIAL
#define COLLISION  PERF_AUX_FLAG_COLLISION
#define LOSS_FLAGS (TRUNCATED | PARTIAL | COLLISION)
#define MAX_EMPTY  16 /* interrupts in a row that end empty transactions: no progress */
#define LL	   unsigned long long

static void violation(struct sim *sim, enum auxtap_watermark_invariant inv, u64 actual,
		      u64 expected, const char *fmt, va_list args)
{
	struct auxtap_watermark_result *r = sim->r;
	char text[sizeof(r->violations[0].text)];

	vsnprintf(text, sizeof(text), fmt, args);
	r->by_invariant[inv]++;
	/* one text per invariant and transaction: later produce() calls would repeat it */
	if (r->nr_kept < AUXTAP_WM_VIOLATIONS && sim->mon.kept_at[inv] != r->nr_transactions + 1) {
		struct auxtap_watermark_violation *v = &r->violations[r->nr_kept++];

		sim->mon.kept_at[inv] = r->nr_transactions + 1;
		v->invariant = inv;
		v->time_ns = sim_time(sim, 0);
		memcpy(v->text, text, sizeof(text));
	}
	r->nr_violations++;
	sim_violation(sim, inv, actual, expected, text);
}

void mon_violation(struct sim *sim, enum auxtap_watermark_invariant inv, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	violation(sim, inv, NO_OFFSET, NO_OFFSET, fmt, args);
	va_end(args);
}

void mon_violation_at(struct sim *sim, enum auxtap_watermark_invariant inv, u64 actual,
		      u64 expected, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	violation(sim, inv, actual, expected, fmt, args);
	va_end(args);
}

/* A deviation that the rules of this kernel allow: reported, not counted as a violation. */
static void known_deviation(struct sim *sim, const char *text)
{
	if (!sim->r->nr_findings++)
		snprintf(sim->r->finding, sizeof(sim->r->finding), "%s", text);
	sim_known_deviation(sim, text);
}

/* ---- losses ---- */

/* The rule by which no flag reports this loss; NULL: a record must flag it. */
static const char *rule_of_unflagged_loss(const struct sim *sim)
{
	if (sim->mon.record_dropped)
		return "F3";
	if (sim->mon.refused_full)
		return "D6";
	if (sim->mon.disable_late)
		return "D21";
	if (!sim->driver->stop_flag && sim->mon.why == AUXTAP_LOSS_STOPPED)
		return "I10";
	return NULL;
}

static void end_loss(struct sim *sim)
{
	struct monitor *m = &sim->mon;
	const char *rule = NULL;

	if (m->lossy) {
		sim_event(sim, AUXTAP_WM_LOSS, m->lost, m->why, sim->now - m->lost_since);
		if (!m->flagged) {
			rule = rule_of_unflagged_loss(sim);
			if (rule)
				sim->r->unreported += m->lost;
			else
				mon_violation(
					sim, AUXTAP_INV_LOSS_FLAGGED,
					"%llu bytes were lost at %llu ns (%s), and no record says so",
					(LL)m->lost, (LL)m->lost_since,
					auxtap_watermark_loss_name(m->why));
		}
	}
	/* Trace that the unit did not store although it was on and had space: no rule allows it. */
	if (m->lost_to_fault && !m->fault_loss_reported)
		mon_violation(sim, AUXTAP_INV_PROGRESS,
			      "the unit is on, has space, and has not stored %llu bytes",
			      (LL)m->lost_to_fault);
	m->disable_late = m->disable_late && sim->event->pending_disable;
	m->lossy = m->flagged = m->refused_full = m->record_dropped = m->fault_loss_reported =
		false;
	m->lost = m->lost_to_fault = 0;
}

void mon_produced(struct sim *sim, u64 stored, u64 lost, u64 since, enum auxtap_watermark_loss why)
{
	struct monitor *m = &sim->mon;

	if (m->hit_in_produce) { /* how much had been produced when it was reached */
		u64 over =
			!driver_has(sim, DRIVER_TRACE_IS_RECORDS) && m->pos > m->next_threshold_at ?
				m->pos - m->next_threshold_at :
				0;

		m->produced_at_threshold = sim->r->produced - lost - over;
		m->hit_in_produce = false;
	}
	sim->r->stored += stored;
	if (!lost)
		return;
	sim->r->lost[why] += lost;
	if (!m->lossy) {
		m->lossy = true;
		m->lost_since = since;
		m->why = why;
	}
	m->lost += lost;
	progress_lost(sim, lost, why);
	if (why == AUXTAP_LOSS_FAULT) {
		m->lost_to_fault += lost;
		if (m->lost_to_fault > sim->aux_size && !m->fault_loss_reported) {
			m->fault_loss_reported = true;
			mon_violation(sim, AUXTAP_INV_PROGRESS,
				      "the unit is on, has space, and has not stored %llu bytes",
				      (LL)m->lost_to_fault);
		}
	}
}

/* ---- head and wakeups ---- */

/* D18: advances the expected head; true if that passes a watermark. */
static bool advance_head(struct sim *sim, u64 nr_bytes)
{
	struct monitor *m = &sim->mon;

	if (sim->c.snapshot)
		return false;
	m->head += nr_bytes;
	if (m->head - m->last_wakeup < sim->watermark)
		return false;
	m->last_wakeup = m->head - m->head % sim->watermark;
	return true;
}

/* Compares the wakeups of the last step with the expected ones. */
static void check_wakeups(struct sim *sim)
{
	struct monitor *m = &sim->mon;

	if (m->wakeups_seen != m->wakeups_expected)
		mon_violation(sim,
			      sim->c.snapshot ? AUXTAP_INV_OVERWRITE_SILENT :
						AUXTAP_INV_WAKEUP_AT_WATERMARK,
			      "%u wakeups, not %u, with head %llu, watermark %llu", m->wakeups_seen,
			      m->wakeups_expected, (LL)m->head, (LL)sim->watermark);
	m->wakeups_seen = m->wakeups_expected = 0;
}

static void on_begin(void *ctx, const struct perf_output_handle *handle,
		     const struct perf_event *event, bool full)
{
	struct sim *sim = ctx;
	struct monitor *m = &sim->mon;

	(void)event;
	if (m->mute)
		return;
	if (!handle->event) {
		sim->r->nr_refused++;
		sim_event(sim, AUXTAP_WM_REFUSED, m->head, 0, 0);
		progress_truncated(sim);
		if (full) { /* D6: the kernel has already queued the wakeup and the disable */
			m->wakeups_expected++;
			m->refused_full = true;
			m->disable_expected = true;
		}
		return;
	}
	check_wakeups(sim);
	m->handle = handle;
	m->area = perf_get_aux((struct perf_output_handle *)handle);
	m->open = true;
	m->traced = m->stopped = m->partial_expected = false;
	m->stored = 0;
	m->pos = handle->head;
	m->int_at = m->stop_at = m->next_threshold_at = NO_OFFSET;
	m->threshold_hit = false;
	m->next_wakeup = handle->wakeup;
	sim_event(sim, AUXTAP_WM_BEGIN, handle->head, handle->size, handle->wakeup);
	if (sim->c.snapshot)
		return;
	if (handle->head != m->head)
		mon_violation(sim, AUXTAP_INV_BYTES_ADD_UP,
			      "head is %llu at begin, and should be %llu", (LL)handle->head,
			      (LL)m->head);
	/* D18 */
	if (handle->wakeup <= handle->head)
		mon_violation(sim, AUXTAP_INV_WAKEUP_AHEAD,
			      "the next wakeup, at %llu, is not ahead of head %llu",
			      (LL)handle->wakeup, (LL)handle->head);
}

static void on_skip(void *ctx, const struct perf_output_handle *handle, uint64_t nr_bytes, int ret)
{
	struct sim *sim = ctx;
	struct monitor *m = &sim->mon;

	(void)handle;
	if (ret) { /* D10 */
		mon_violation(sim, AUXTAP_INV_BYTES_ADD_UP,
			      "the driver skips %llu bytes, more than there is space for",
			      (LL)nr_bytes);
		return;
	}
	check_wakeups(sim);
	sim_event(sim, AUXTAP_WM_SKIP, m->head, nr_bytes, 0);
	sim->r->skipped += nr_bytes;
	if (sim->faults.unit.fault == UNIT_PADDING_MISSING && sim->c.contents)
		for (u64 at = m->head; at < m->head + nr_bytes; at++)
			sim->aux[at & (sim->aux_size - 1)] = UNIT_NO_PADDING;
	if (m->expected_contents)
		for (u64 at = m->head; at < m->head + nr_bytes; at++)
			m->expected_contents[at & (sim->aux_size - 1)] = 0;
	m->pos += nr_bytes;
	if (advance_head(sim, nr_bytes)) {
		m->wakeups_expected++;
		m->reader_wake_due = true;
	}
	m->nr_empty = 0;
}

/* Whether the AUX record has the size of the stored trace; 0 if the unit was never on. */
static bool record_size_matches(const struct sim *sim, u64 nr_bytes)
{
	const struct monitor *m = &sim->mon;

	if (sim->c.snapshot) /* H11, J5: the meaning of the size depends on the driver */
		return true;
	return nr_bytes == m->pos - m->head || (!nr_bytes && !m->traced);
}

static void check_flags(struct sim *sim, u64 flags, u64 nr_bytes)
{
	const struct monitor *m = &sim->mon;
	/* H6, H8; I5, J2: without space the unit was not switched on */
	u64 stop_flag = sim->driver->stop_flag;
	bool may_truncate = !m->traced || (stop_flag == TRUNCATED && m->stopped);

	if (flags & TRUNCATED && !may_truncate)
		mon_violation(
			sim, AUXTAP_INV_FLAG_HAS_CAUSE,
			"TRUNCATED with %llu bytes: the unit had not reached its stop position",
			(LL)nr_bytes);
	if (flags & COLLISION && !(stop_flag == COLLISION && m->stopped))
		mon_violation(sim, AUXTAP_INV_FLAG_HAS_CAUSE,
			      "COLLISION with %llu bytes: the buffer was not filled", (LL)nr_bytes);
	/* H8, J4 */
	if (m->stopped && m->lossy && stop_flag && !(flags & stop_flag))
		mon_violation(
			sim, AUXTAP_INV_LOSS_FLAGGED,
			"the unit had stopped, and trace was lost: the transaction has no flag");
	if (flags & PARTIAL && !m->partial_expected)
		mon_violation(sim, AUXTAP_INV_FLAG_HAS_CAUSE,
			      "PARTIAL, although all user code was traced");
	if (m->partial_expected && !(flags & PARTIAL))
		mon_violation(sim, AUXTAP_INV_LOSS_FLAGGED,
			      "user code ran untraced, and the record has no PARTIAL");
}

/*
 * In snapshot (overwrite) mode the reader does not read during tracing: the trace of a transaction
 * is compared when it ends.
 */
static void check_snapshot_contents(struct sim *sim)
{
	const struct monitor *m = &sim->mon;
	u64 mask = sim->aux_size - 1, nr = m->stored < sim->aux_size ? m->stored : sim->aux_size;

	for (u64 at = m->pos - nr; m->expected_contents && at < m->pos; at++)
		if (m->expected_contents[at & mask] &&
		    sim->aux[at & mask] != m->expected_contents[at & mask] - 1) {
			mon_violation(sim, AUXTAP_INV_CONTENTS_TRUE,
				      "at offset %llu there is %#x; the unit produced %#x",
				      (LL)(at & mask), sim->aux[at & mask],
				      m->expected_contents[at & mask] - 1u);
			return;
		}
}

static void expect_record(struct sim *sim, u64 offset, u64 nr_bytes, u64 flags)
{
	struct monitor *m = &sim->mon;

	m->expected_records[m->records_written++ % m->max_expected] =
		(struct expected_aux_record){offset, nr_bytes, flags};
}

static void on_end(void *ctx, const struct perf_output_handle *handle, uint64_t offset,
		   uint64_t nr_bytes, bool record_expected, bool lost)
{
	u64 flags = handle->aux_flags;
	struct sim *sim = ctx;
	struct monitor *m = &sim->mon;

	check_wakeups(sim);
	sim->r->nr_transactions++;
	sim_event(sim, AUXTAP_WM_END, offset, nr_bytes, flags);
	if (!sim->c.snapshot && offset != m->head)
		mon_violation(sim, AUXTAP_INV_BYTES_ADD_UP,
			      "the record begins at %llu, and should at %llu", (LL)offset,
			      (LL)m->head);
	if (!record_size_matches(sim, nr_bytes))
		mon_violation(sim, AUXTAP_INV_RECORDS_TRUE,
			      "the transaction reports %llu bytes, and the unit stored %llu",
			      (LL)nr_bytes, (LL)(m->pos - m->head));
	check_flags(sim, flags, nr_bytes);
	if (sim->c.snapshot)
		check_snapshot_contents(sim);
	if (flags & TRUNCATED) {
		sim->r->nr_truncated++;
		m->disable_expected = true;
		progress_truncated(sim);
	}
	if (record_expected && !lost) {
		sim->r->nr_records++;
		sim->r->recorded += nr_bytes;
		if (flags & LOSS_FLAGS)
			m->flagged = true;
		expect_record(sim, offset, nr_bytes, flags);
		sim_event(sim, AUXTAP_WM_RECORD, offset, nr_bytes, flags);
	} else if (record_expected) { /* F3 */
		sim->r->record_lost += nr_bytes;
		m->record_dropped = true;
		sim_event(sim, AUXTAP_WM_RECORD_LOST, offset, nr_bytes, flags);
	} else if (nr_bytes || flags & LOSS_FLAGS) { /* D14 */
		mon_violation(sim, AUXTAP_INV_RECORDS_TRUE, "no record of %llu bytes, flags %#llx",
			      (LL)nr_bytes, (LL)flags);
	}
	if (advance_head(sim, nr_bytes) || flags & TRUNCATED) { /* D16 */
		m->wakeups_expected++;
		m->reader_wake_due = true;
	}
	if (!sim->c.snapshot && m->head - sim->reader.tail > sim->r->max_lag)
		sim->r->max_lag = m->head - sim->reader.tail;
	if (m->stored || nr_bytes)
		m->nr_empty = 0;
	else if (sim->in_interrupt && ++m->nr_empty == MAX_EMPTY)
		mon_violation(sim, AUXTAP_INV_PROGRESS,
			      "%d interrupts in a row have ended transactions without a byte",
			      MAX_EMPTY);
	m->open = m->threshold_hit = m->irq_raised = m->traced = false;
	m->irqs_expected = 0;
}

static void on_wakeup(void *ctx, const struct perf_event *event)
{
	struct sim *sim = ctx;

	(void)event;
	sim->mon.wakeups_seen++;
	sim->r->nr_wakeups++;
	sim_event(sim, AUXTAP_WM_WAKEUP, sim->mon.head, 0, 0);
}

static void on_free(void *ctx)
{
	struct sim *sim = ctx;

	if (++sim->mon.nr_freed > 1)
		mon_violation(sim, AUXTAP_INV_FREED_ONCE, "the AUX pages are freed twice");
	if (sim->mon.in_aux_call)
		mon_violation(sim, AUXTAP_INV_FREED_ONCE,
			      "the AUX pages are freed by a transaction, in atomic context");
}

/* D2: between the two checks of perf_aux_output_begin() another CPU completes the unmapping. */
static void on_race(void *ctx)
{
	struct sim *sim = ctx;

	if (!sim->mon.mute || !sim->aux_map)
		return;
	core_event_munmap_free(sim->aux_map);
	sim->aux_map = NULL;
	sim->mon.in_aux_call = true; /* until mon_check_step() */
}

const struct core_observer monitor_observer = {
	.aux_begin = on_begin,
	.aux_skip = on_skip,
	.aux_end = on_end,
	.aux_wakeup = on_wakeup,
	.aux_free = on_free,
	.race = on_race,
};

/* D21: checks that a truncated event has been disabled. */
static void check_disabled(struct sim *sim)
{
	if (!core_event_active(sim->event))
		return;
	if (sim->expected_kernel->disable_at_sched_out)
		known_deviation(
			sim, "a truncated event is not disabled before it is scheduled out (D21)");
	else if (sim->expected_kernel->disable_by_cpu_number && !sim->c.cpu)
		known_deviation(sim, "a truncated event is never disabled on CPU 0 (D21)");
	else
		mon_violation(sim, AUXTAP_INV_TRUNCATED_DISABLED,
			      "the event was truncated, and is still active");
}

void mon_check_step(struct sim *sim)
{
	struct monitor *m = &sim->mon;

	m->in_aux_call = false;
	if (m->mute)
		return;
	check_wakeups(sim);
	if (m->disable_expected) {
		m->disable_expected = false;
		check_disabled(sim);
	}
	/*
	 * D21: not disabled yet. Either it was truncated during sched-in, when it was not active
	 * yet, or this kernel checks pending_disable only at sched-out (6.12).
	 */
	if (sim->event->pending_disable &&
	    (!core_event_active(sim->event) || sim->expected_kernel->disable_at_sched_out))
		m->disable_late = true;
	if (m->reader_wake_due && !m->reader_woken)
		mon_violation(sim, AUXTAP_INV_WAKEUP_AT_WATERMARK,
			      "the kernel queued a wakeup, and the reader was not woken");
	m->reader_wake_due = m->reader_woken = false;
	if (!sim->c.snapshot && sim->page->aux_head != m->head)
		mon_violation(sim, AUXTAP_INV_BYTES_ADD_UP, "aux_head is %llu, and should be %llu",
			      (LL)sim->page->aux_head, (LL)m->head);
}

/* ---- the unit ---- */

void mon_thresholds(struct sim *sim, u64 int_at, u64 stop_at, u64 start_off)
{
	struct monitor *m = &sim->mon;
	u64 mask = sim->aux_size - 1;
	s64 distance;

	m->traced = true;
	m->stopped = false;
	if (start_off != NO_OFFSET) {
		u64 ahead = (start_off - m->pos) & mask;

		if (sim->c.snapshot)
			m->pos = start_off;
		else if (ahead && !(sim->c.setup.errata & AUXTAP_ERRATUM_OVERWRITE && ahead <= 256))
			mon_violation(sim, AUXTAP_INV_RECORDS_TRUE,
				      "the unit begins at offset %#llx, the transaction at %#llx",
				      (LL)start_off, (LL)(m->pos & mask));
		else
			m->pos += ahead;
	}
	m->int_at = int_at;
	m->stop_at = stop_at;
	m->next_threshold_at = int_at != NO_OFFSET && int_at > m->pos ? int_at : stop_at;
	sim_event(sim, AUXTAP_WM_THRESHOLDS, int_at, stop_at, 0);
	if (int_at == NO_OFFSET || sim->c.snapshot)
		return;
	sim->r->nr_thresholds++;
	if (int_at <= m->pos)
		sim->r->nr_thresholds_passed++;
	distance = (s64)(int_at - m->next_wakeup);
	if (sim->r->nr_thresholds == 1 || distance < sim->r->threshold_min)
		sim->r->threshold_min = distance;
	if (sim->r->nr_thresholds == 1 || distance > sim->r->threshold_max)
		sim->r->threshold_max = distance;
	if (!sim->c.snapshot && stop_at != NO_OFFSET && stop_at > sim->reader.tail + sim->aux_size)
		mon_violation(sim, AUXTAP_INV_UNREAD_KEPT,
			      "the unit may go on to %llu, the reader has read up to %llu of %llu",
			      (LL)stop_at, (LL)sim->reader.tail, (LL)sim->aux_size);
}

/*
 * Whether an erratum wrote this: at the start of the buffer or past its limit, where the driver
 * leaves space for it, outside the trace of the transaction.
 */
static bool is_erratum_write(struct sim *sim, u64 off, u64 nr_bytes)
{
	const struct monitor *m = &sim->mon;
	u64 mask = sim->aux_size - 1, base = machine_offset(sim, sim->regs_base), at;

	if (sim->c.setup.errata & AUXTAP_ERRATUM_OVERWRITE && off >= base &&
	    off + nr_bytes <= base + 256)
		return true;
	if (!(sim->c.setup.errata & AUXTAP_ERRATUM_BEYOND))
		return false;
	at = m->stop_at + ((off - m->stop_at) & mask);
	if (!sim->c.snapshot && at + nr_bytes > sim->reader.tail + sim->aux_size)
		mon_violation(sim, AUXTAP_INV_UNREAD_KEPT,
			      "bytes written by an erratum at %llu overwrite unread trace", (LL)at);
	return at + nr_bytes <= m->stop_at + 4096;
}

/*
 * The position to compare with thresholds: SPE's buffer is full when its largest record no longer
 * fits.
 */
static u64 effective_pos(const struct sim *sim)
{
	u64 align = sim->c.setup.align;

	if (!driver_has(sim, DRIVER_TRACE_IS_RECORDS))
		return sim->mon.pos;
	return ((sim->mon.pos + align - 1) & ~(align - 1)) + sim->c.setup.max_record - 1;
}

static void reach_threshold(struct sim *sim)
{
	struct monitor *m = &sim->mon;
	u64 at = effective_pos(sim);

	if (!m->threshold_hit && m->next_threshold_at != NO_OFFSET && at >= m->next_threshold_at) {
		m->threshold_hit = m->hit_in_produce = true;
		m->threshold_late_reported = false;
		m->irqs_expected++;
		if (sim->on_event) { /* a produce() call may store more after it */
			u64 over = at > m->pos ? 0 : at - m->next_threshold_at;

			sim_event_at(sim, sim_time(sim, over), AUXTAP_WM_THRESHOLD_HIT,
				     m->pos - over, 0, 0);
		}
	}
	if (!m->stopped && m->stop_at != NO_OFFSET && at >= m->stop_at) {
		m->stopped = true;
		/* the stop position raises an interrupt of its own */
		if (m->stop_at != m->next_threshold_at)
			m->irqs_expected++;
	}
}

/* I9: bytes of alignment padding that SPE inserts at pos, if a record begins next. */
static u64 alignment_padding(const struct sim *sim, u64 pos)
{
	if (!driver_has(sim, DRIVER_TRACE_IS_RECORDS) ||
	    sim->input_stored % sim->c.setup.record_bytes)
		return 0;
	return -pos & (sim->c.setup.align - 1);
}

/*
 * Memory must contain what was produced, whatever the unit passes to store(): the bytes of this
 * produce() call in their order. If some are lost, they are its last ones.
 */
static void expect_contents(struct sim *sim, u64 pos, u64 off, u64 nr_bytes)
{
	u64 mask = sim->aux_size - 1, record = sim->c.setup.record_bytes, pad, nr;
	u16 *expected = sim->input ? sim->mon.expected_contents : NULL;

	while (nr_bytes) {
		pad = alignment_padding(sim, pos);
		pad = pad < nr_bytes ? pad : nr_bytes;
		for (u64 i = 0; expected && i < pad; i++)
			expected[(off + i) & mask] = 0;
		nr = nr_bytes - pad;
		if (driver_has(sim, DRIVER_TRACE_IS_RECORDS) && record & (sim->c.setup.align - 1) &&
		    nr > record - sim->input_stored % record)
			nr = record - sim->input_stored % record; /* padding may follow */
		for (u64 i = 0; expected && i < nr && sim->input_stored + i < sim->input_size; i++)
			expected[(off + pad + i) & mask] =
				(u16)(1 + sim->input[sim->input_stored + i]);
		sim->input_stored += nr;
		pos += pad + nr;
		off += pad + nr;
		nr_bytes -= pad + nr;
	}
}

void mon_store(struct sim *sim, u64 off, u64 nr_bytes)
{
	struct monitor *m = &sim->mon;
	u64 mask = sim->aux_size - 1, ahead = (off - m->pos) & mask;

	if (!m->open) {
		mon_violation(sim, AUXTAP_INV_LIMIT_KEPT,
			      "%llu bytes at offset %#llx, and no transaction is open",
			      (LL)nr_bytes, (LL)off);
		return;
	}
	/* the reader never sees these bytes: the loss continues */
	if (m->stopped && is_erratum_write(sim, off, nr_bytes))
		return;
	end_loss(sim);
	sim->stored_in_produce += nr_bytes;
	if (ahead && ahead != alignment_padding(sim, m->pos)) {
		mon_violation_at(sim, AUXTAP_INV_RECORDS_TRUE, m->pos - (m->pos & mask) + off,
				 m->pos,
				 "%llu bytes are stored at offset %#llx, and were due at %#llx",
				 (LL)nr_bytes, (LL)off, (LL)(m->pos & mask));
		ahead = 0;
	}
	expect_contents(sim, m->pos + ahead, off, nr_bytes);
	m->pos += ahead + nr_bytes;
	m->stored += nr_bytes;
	reach_threshold(sim);
	if (!sim->c.snapshot && m->pos > sim->reader.tail + sim->aux_size)
		mon_violation_at(sim, AUXTAP_INV_UNREAD_KEPT, m->pos,
				 sim->reader.tail + sim->aux_size,
				 "stored up to %llu, the reader has read up to %llu of %llu",
				 (LL)m->pos, (LL)sim->reader.tail, (LL)sim->aux_size);
	if (m->stop_at != NO_OFFSET && m->pos > m->stop_at)
		mon_violation_at(sim, AUXTAP_INV_LIMIT_KEPT, m->pos, m->stop_at,
				 "stored up to %llu, the limit is %llu", (LL)m->pos,
				 (LL)m->stop_at);
}

/* ---- the reader ---- */

void mon_record(struct sim *sim, u64 offset, u64 nr_bytes, u64 flags)
{
	struct monitor *m = &sim->mon;
	const struct expected_aux_record *t =
		&m->expected_records[m->records_read % m->max_expected];

	if (m->records_read == m->records_written) {
		mon_violation(sim, AUXTAP_INV_RECORDS_TRUE,
			      "a record of %llu bytes that the kernel did not write", (LL)nr_bytes);
		return;
	}
	m->records_read++;
	if (t->offset != offset || t->nr_bytes != nr_bytes || t->flags != flags)
		mon_violation(
			sim, AUXTAP_INV_RECORDS_TRUE,
			"the reader finds %llu bytes at %llu, flags %#llx; the kernel wrote %llu at %llu, %#llx",
			(LL)nr_bytes, (LL)offset, (LL)flags, (LL)t->nr_bytes, (LL)t->offset,
			(LL)t->flags);
}

void mon_read(struct sim *sim, u64 from, u64 to)
{
	struct monitor *m = &sim->mon;
	u64 mask = sim->aux_size - 1;

	for (u64 at = from; m->expected_contents && at < to; at++) {
		u16 *expected = &m->expected_contents[at & mask];
		u8 byte_expected = *expected ? (u8)(*expected - 1) : sim->driver->pad;

		if (sim->aux[at & mask] != byte_expected) {
			mon_violation_at(sim, AUXTAP_INV_CONTENTS_TRUE, at, at,
					 "at %llu the reader finds %#x; %s %#x", (LL)at,
					 sim->aux[at & mask],
					 *expected ? "the unit produced" : "padding should be",
					 byte_expected);
			return;
		}
		*expected = 0;
	}
}

void mon_drained(struct sim *sim, bool disable_late, bool still_tracing)
{
	if (!sim->running || sim->mon.open || sim->mon.mute || still_tracing)
		return;
	if (disable_late) /* truncated during sched-in: not active yet, so it was not disabled */
		known_deviation(
			sim, "an event that is truncated during sched-in (its add() fails) keeps "
			     "pending_disable set, and is "
			     "disabled at a later wakeup or sched-out (D21)");
	else
		mon_violation(
			sim, AUXTAP_INV_PROGRESS,
			"all trace was read and the event enabled again, and nothing is traced");
}

/* No more trace comes: this ends the last loss, too. */
void mon_finish(struct sim *sim)
{
	end_loss(sim);
}

int mon_open(struct sim *sim)
{
	struct monitor *m = &sim->mon;

	/* no more records than the data ring has space for */
	m->max_expected = sim->page->data_size / (sizeof(struct perf_event_header) + 24) + 1;
	m->expected_records = calloc(m->max_expected, sizeof(*m->expected_records));
	if (sim->c.contents)
		m->expected_contents = calloc(sim->aux_size, sizeof(*m->expected_contents));
	return m->expected_records && (m->expected_contents || !sim->c.contents) ? 0 : -ENOMEM;
}

void mon_close(struct sim *sim)
{
	const struct auxtap_watermark_result *r = sim->r;
	u64 lost = 0;

	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		lost += r->lost[i];
	if (r->produced != r->stored + lost)
		mon_violation(sim, AUXTAP_INV_BYTES_ADD_UP,
			      "%llu bytes produced, %llu stored and %llu lost", (LL)r->produced,
			      (LL)r->stored, (LL)lost);
	if (!sim->c.snapshot && sim->mon.head != r->recorded + r->skipped + r->record_lost)
		mon_violation(
			sim, AUXTAP_INV_BYTES_ADD_UP,
			"head %llu is not %llu recorded + %llu skipped + %llu of lost records",
			(LL)sim->mon.head, (LL)r->recorded, (LL)r->skipped, (LL)r->record_lost);
	if (!sim->mon.nr_freed && !r->refused)
		mon_violation(sim, AUXTAP_INV_FREED_ONCE, "the AUX pages are never freed");
	free(sim->mon.expected_records);
	free(sim->mon.expected_contents);
	sim->mon.expected_contents = NULL;
}
