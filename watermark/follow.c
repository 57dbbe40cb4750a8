// SPDX-License-Identifier: BSD-2-Clause
/*
 * See follow.h. The program generates trace until the transaction ends where the real one ended;
 * then the driver handles the interrupt. If the reader was reading at that time, only the real
 * kernel knows which of the reader's tails the next transaction began with: so the state before the
 * end is saved, and the end repeated with another tail if the next record does not agree.
 */
#include "follow.h"
#include "explore.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANGES   64
#define MAX_EXPECTED 8
#define MAX_READS    256 /* reads that are kept; older ones precede any end that can be repeated */
#define LL	     unsigned long long

struct expected {
	u64 offset, nr_bytes, flags;
};

/*
 * What the model predicts, and from which reads: saved and restored with the model's memory. Rule
 * numbers such as L2 refer to docs/kernel-rules.md.
 */
struct predicted {
	/* records that the real kernel has not written yet */
	struct expected expected[MAX_EXPECTED];
	size_t nr_expected;
	u64 nr_wakeups;
	u64 nr_reads; /* that were passed to the model */
};

struct follow {
	struct sim *sim;
	struct auxtap_watermark_result result;
	struct predicted predicted;
	char violation[200];
	/*
	 * The reader's tails, by the number of the read:
	 *
	 *	0 ... saved.least_reads ... nr_known ... nr_reads
	 *
	 * The number of reads that preceded a transaction's begin is between least_reads and
	 * nr_reads. It is at least nr_known if the reader last found the data ring empty before
	 * the transaction's record came.
	 */
	u64 reads[MAX_READS];
	u64 nr_reads, nr_known;
	/* memory of the model; saved: the state before the end of the last record's transaction */
	struct core_range ranges[MAX_RANGES];
	size_t nr_ranges;
	struct saved_state {
		u8 *bytes;
		struct predicted predicted;
		u64 least_reads; /* that the next transaction began with */
		u64 end;	 /* where that record ends */
		u64 head;	 /* the aux_head that the reader could see */
		bool written;	 /* false: the model, too, suppresses that empty record (L2) */
	} saved, next;		 /* next: for the record that is being compared */
	/* reads up to this one precede the begin that follows the end of a transaction */
	u64 reads_at_end;
	bool can_repeat;
};

static void on_event(void *ctx, const struct auxtap_watermark_event *e)
{
	struct follow *f = ctx;

	switch (e->what) {
	case AUXTAP_WM_RECORD:
		if (f->predicted.nr_expected < MAX_EXPECTED)
			f->predicted.expected[f->predicted.nr_expected] =
				(struct expected){e->a, e->b, e->c};
		f->predicted.nr_expected++;
		break;
	case AUXTAP_WM_END: /* before the next begin */
		for (; f->predicted.nr_reads < f->reads_at_end; f->predicted.nr_reads++)
			reader_take(f->sim, f->reads[f->predicted.nr_reads % MAX_READS]);
		break;
	case AUXTAP_WM_WAKEUP:
		f->predicted.nr_wakeups++;
		break;
	case AUXTAP_WM_VIOLATION:
		if (!*f->violation)
			snprintf(f->violation, sizeof(f->violation), "%s: %s",
				 auxtap_watermark_get_invariant(
					 (enum auxtap_watermark_invariant)e->a)
					 ->name,
				 e->text);
		break;
	default:
		break;
	}
}

/* ---- states ---- */

static void state_save(struct follow *f, struct saved_state *state)
{
	u8 *at = state->bytes;

	for (size_t i = 0; i < f->nr_ranges; i++) {
		memcpy(at, f->ranges[i].at, f->ranges[i].size);
		at += f->ranges[i].size;
	}
	state->predicted = f->predicted;
	state->least_reads = f->predicted.nr_reads;
	state->head = reader_head(f->sim);
}

static void state_restore(struct follow *f)
{
	const u8 *at = f->saved.bytes;

	for (size_t i = 0; i < f->nr_ranges; i++) {
		memcpy(f->ranges[i].at, at, f->ranges[i].size);
		at += f->ranges[i].size;
	}
	f->predicted = f->saved.predicted;
}

static int states_open(struct follow *f)
{
	size_t size = 1; /* malloc(0) may return NULL */

	f->nr_ranges = explore_ranges(f->sim, f->ranges, MAX_RANGES);
	if (f->nr_ranges > MAX_RANGES)
		return -E2BIG;
	for (size_t i = 0; i < f->nr_ranges; i++)
		size += f->ranges[i].size;
	f->saved.bytes = malloc(size);
	f->next.bytes = malloc(size);
	return f->saved.bytes && f->next.bytes ? 0 : -ENOMEM;
}

/* ---- steps of the model ---- */

/* Produces up to nr_bytes of trace; returns how many of them the unit has stored. */
static u64 produce(struct sim *sim, u64 nr_bytes)
{
	bool spe_records = driver_has(sim, DRIVER_TRACE_IS_RECORDS);
	u64 sum = 0, align = sim->c.setup.align;

	while (nr_bytes && machine_tracing(sim)) {
		u64 consumed, stored, chunk = nr_bytes;
		bool stopped = sim->mon.stopped;

		if (spe_records && chunk > align) /* the last call produces the remainder */
			chunk = chunk / align * align;
		stored = sim_feed_unit(sim, NULL, chunk, &consumed);
		if (!consumed || consumed > chunk)
			consumed = chunk;
		sim->r->produced += consumed;
		mon_produced(sim, stored, consumed - stored, sim->now,
			     stopped || sim->mon.stopped ? AUXTAP_LOSS_STOPPED : AUXTAP_LOSS_FAULT);
		sum += stored;
		nr_bytes -= consumed;
		if (sim->line_raised) {
			sim->line_raised = false;
			mon_irq_raised(sim);
			sim_forward_irq(sim);
		}
		if (stored < consumed) /* the unit has stopped */
			break;
	}
	return sum;
}

/* Passes the reader's first nr reads to the model, as far as that has not been done. */
static void pass_reads(struct follow *f, u64 nr)
{
	for (; f->predicted.nr_reads < nr; f->predicted.nr_reads++) {
		reader_take_records(f->sim);
		reader_take(f->sim, f->reads[f->predicted.nr_reads % MAX_READS]);
	}
}

/* The interrupt ends the transaction; without one the event has been disabled. */
static void end_transaction(struct follow *f)
{
	explore_act(f->sim, f->sim->nr_irqs ? ACT_IRQ : ACT_SWITCH);
	reader_take_records(f->sim);
}

/* ---- one record ---- */

AUXTAP_PRINTF(2, 3)
static bool report_difference(struct follow_record *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, args);
	va_end(args);
	return false;
}

static const char *flag_names(u64 flags, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s%s", flags & PERF_AUX_FLAG_TRUNCATED ? "|TRUNCATED" : "",
		 flags & PERF_AUX_FLAG_OVERWRITE ? "|OVERWRITE" : "",
		 flags & PERF_AUX_FLAG_PARTIAL ? "|PARTIAL" : "",
		 flags & PERF_AUX_FLAG_COLLISION ? "|COLLISION" : "",
		 flags & ~0xfull ? "|a format" : "", flags ? "" : "|none");
	return buf + 1;
}

/* L2: a record with nothing but a format flag. Not every stable kernel of a series writes it. */
static bool is_empty(u64 nr_bytes, u64 flags)
{
	return !nr_bytes && flags && !(flags & ~(u64)PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK);
}

static void drop_expected(struct follow *f)
{
	memmove(f->predicted.expected, f->predicted.expected + 1,
		sizeof(f->predicted.expected) - sizeof(f->predicted.expected[0]));
	f->predicted.nr_expected--;
}

/* Drops records of the model that this kernel need not write. */
static void drop_empty(struct follow *f, const struct follow_record *seen)
{
	while (f->predicted.nr_expected &&
	       is_empty(f->predicted.expected[0].nr_bytes, f->predicted.expected[0].flags) &&
	       !is_empty(seen->nr_bytes, seen->flags))
		drop_expected(f);
}

/* Compares the model's next record with the one that the real kernel wrote. */
static bool same_record(struct follow *f, struct follow_record *r)
{
	const struct expected e = f->predicted.expected[0];
	char actual[64], expected[64];

	drop_expected(f);
	if (e.offset != r->offset)
		return report_difference(r, "begins at %llu, expected at %llu", (LL)r->offset,
					 (LL)e.offset);
	if (e.nr_bytes != r->nr_bytes)
		return report_difference(r, "has %llu bytes, expected %llu", (LL)r->nr_bytes,
					 (LL)e.nr_bytes);
	if (e.flags != r->flags)
		return report_difference(r, "flags %s, expected %s",
					 flag_names(r->flags, actual, sizeof(actual)),
					 flag_names(e.flags, expected, sizeof(expected)));
	return true;
}

/* The position at which the interrupt of its transaction is due. */
static u64 due_at(const struct follow_record *r)
{
	return r->threshold < r->limit ? r->threshold : r->limit;
}

/* Produces trace until the open transaction is where the record ends; false if that differs. */
static bool reach_end(struct follow *f, struct follow_record *r, bool off)
{
	const struct monitor *m = &f->sim->mon;
	u64 end = r->offset + r->nr_bytes, stored;

	if (!m->open)
		return report_difference(
			r, "trace should be off: no space, or the event should be disabled");
	if (m->int_at != NO_OFFSET &&
	    m->int_at > m->pos) /* H4: one before the head is not reached */
		r->threshold = m->int_at;
	r->limit = m->stop_at;
	if (r->offset != m->head)
		return report_difference(r, "begins at %llu, expected at %llu", (LL)r->offset,
					 (LL)m->head);
	if (end > m->pos) {
		u64 nr_left = end - m->pos;

		stored = produce(f->sim, nr_left);
		if (stored < nr_left)
			return report_difference(r, "ends at %llu, %llu bytes past its limit %llu",
						 (LL)end, (LL)(nr_left - stored), (LL)r->limit);
	}
	r->by_interrupt = f->sim->nr_irqs != 0;
	if (r->by_interrupt && end > due_at(r))
		r->overshoot = end - due_at(r);
	if (!r->by_interrupt && !off)
		return report_difference(r, "ends at %llu, and no interrupt was due before %llu",
					 (LL)end, (LL)due_at(r));
	return true;
}

/* Whether the next record agrees with the model, starting from the current state. */
static bool next_record(struct follow *f, struct follow_record *r, bool off)
{
	struct saved_state swap = f->saved;

	drop_empty(f, r);
	if (f->predicted.nr_expected) { /* the model wrote it together with the previous one */
		bool same = same_record(f, r);

		f->can_repeat &= !same;
		return same;
	}
	pass_reads(f, f->nr_known);
	if (!reach_end(f, r, off))
		return false;
	state_save(f, &f->next);
	f->next.end = r->offset + r->nr_bytes;
	end_transaction(f);
	drop_empty(f, r);
	if (!f->predicted.nr_expected && !is_empty(r->nr_bytes, r->flags))
		return report_difference(r, "no record was expected: nothing was written");
	f->next.written = f->predicted.nr_expected;
	if (f->next.written && !same_record(f, r))
		return false;
	f->saved = f->next;
	f->next = swap;
	f->can_repeat = true;
	return true;
}

/*
 * Repeats the last end of a transaction; now nr_reads reads precede the begin of the next one. A
 * read of trace that was visible before the end may precede the end; a read of bytes that became
 * visible with the end comes after it.
 */
static bool repeat_end(struct follow *f, u64 nr_reads)
{
	u64 before = nr_reads;

	while (before > f->saved.predicted.nr_reads &&
	       f->reads[(before - 1) % MAX_READS] > f->saved.head)
		before--;
	if (before < nr_reads && f->reads[(nr_reads - 1) % MAX_READS] > f->saved.end)
		return false; /* that read includes padding of the next begin */
	state_restore(f);
	f->reads_at_end = nr_reads;
	pass_reads(f, before);
	end_transaction(f);
	f->reads_at_end = 0;
	pass_reads(f, nr_reads);
	if (f->predicted.nr_expected && f->saved.written) /* it agreed before */
		drop_expected(f);
	return true;
}

/*
 * Tries each number of reads that the next transaction may have begun with, the smallest first,
 * until the model agrees with this record.
 */
void follow_record(struct follow *f, struct follow_record *r, bool off)
{
	const struct follow_record seen = {
		.offset = r->offset,
		.nr_bytes = r->nr_bytes,
		.flags = r->flags,
		.threshold = NO_OFFSET,
		.limit = NO_OFFSET,
	};
	bool repeat = f->can_repeat;
	u64 from = f->saved.least_reads, nr = from;

	do {
		struct follow_record now = seen;

		if (repeat && !repeat_end(f, nr))
			return;
		now.agrees = next_record(f, &now, off);
		if (now.agrees || nr == from) /* if all differ, report the first difference */
			*r = now;
	} while (!r->agrees && repeat && nr++ < f->nr_reads);
}

/* ---- the reader ---- */

void follow_read(struct follow *f, uint64_t tail)
{
	f->reads[f->nr_reads++ % MAX_READS] = tail;
	if (f->nr_reads > f->saved.least_reads + MAX_READS)
		f->saved.least_reads = f->nr_reads - MAX_READS;
}

void follow_drained(struct follow *f)
{
	f->nr_known = f->nr_reads;
}

bool follow_may_be_off(struct follow *f)
{
	if (!f->sim->mon.open)
		return true;
	for (u64 nr = f->saved.least_reads; f->can_repeat && nr <= f->nr_reads; nr++) {
		if (!repeat_end(f, nr))
			break;
		if (!f->sim->mon.open)
			return true;
	}
	return false;
}

void follow_enable(struct follow *f)
{
	follow_may_be_off(f);
	pass_reads(f, f->nr_reads);
	f->nr_known = f->nr_reads;
	machine_reenable(f->sim);
	if (!f->sim->running) /* end_transaction() has scheduled the program out */
		machine_sched(f->sim, true);
	reader_take_records(f->sim);
	f->sim->reader.truncated = f->sim->reader.was_full = f->sim->reader.woken = false;
	f->can_repeat = false;
}

/* ---- queries, open and close ---- */

uint64_t follow_wakeups(const struct follow *f)
{
	return f->predicted.nr_wakeups;
}

bool follow_expects(struct follow *f, struct follow_record *first)
{
	const struct expected *e = &f->predicted.expected[0];
	const struct follow_record nothing = {0};

	for (u64 nr = f->saved.least_reads;; nr++) {
		drop_empty(f, &nothing);
		if (!f->predicted.nr_expected)
			return false;
		*first = (struct follow_record){.offset = e->offset,
						.nr_bytes = e->nr_bytes,
						.flags = e->flags};
		if (!f->can_repeat || nr > f->nr_reads || !repeat_end(f, nr))
			return true;
	}
}

const char *follow_violation(const struct follow *f)
{
	return *f->violation ? f->violation : NULL;
}

struct follow *follow_open(const struct auxtap_watermark_config *config, char *refused, size_t size,
			   struct auxtap_error *err)
{
	struct follow *f = calloc(1, sizeof(*f));
	struct auxtap_error fallback_err = AUXTAP_ERROR_INIT;
	int ret;

	*refused = '\0';
	if (!f) {
		auxtap_error_set(err, -ENOMEM, "prediction", "no memory");
		return NULL;
	}
	f->sim = explore_sim(config, &f->result, err ? err : &fallback_err);
	if (!f->sim) {
		free(f);
		return NULL;
	}
	if (f->result.refused) {
		snprintf(refused, size, "%s", f->result.refusal);
		follow_close(f);
		return NULL;
	}
	f->sim->on_event = on_event;
	f->sim->ctx = f;
	ret = states_open(f);
	if (!ret)
		return f;
	auxtap_error_set(err, ret, "prediction", "%s", strerror(-ret));
	follow_close(f);
	return NULL;
}

void follow_close(struct follow *f)
{
	f->sim->on_event = NULL;
	f->sim->mon.mute = true;
	if (f->sim->running && !f->result.refused)
		machine_sched(f->sim, false);
	sim_free(f->sim);
	free(f->saved.bytes);
	free(f->next.bytes);
	free(f);
}
