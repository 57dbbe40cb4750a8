// SPDX-License-Identifier: BSD-2-Clause
/*
 * Simulated time: how much trace the program generates when, and what comes next: interrupt,
 * reader, scheduler. The rest of the machine: sim.h.
 */
#include "util/sized.h"
#include "sim.h"
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull

#define CHUNK 65536 /* contents: bytes made at a time */
typedef unsigned __int128 u128;

void sim_event_at(struct sim *w, u64 time, enum auxtap_watermark_what what, u64 a, u64 b, u64 c)
{
	const struct auxtap_watermark_event e =
		{.size = sizeof(e), .time_ns = time, .what = what, .a = a, .b = b, .c = c};

	if (w->on_event)
		w->on_event(w->ctx, &e);
}

void sim_event(struct sim *w, enum auxtap_watermark_what what, u64 a, u64 b, u64 c)
{
	if (w->on_event)
		sim_event_at(w, sim_time(w, 0), what, a, b, c);
}

static void event_text(struct sim *w, u64 time, enum auxtap_watermark_what what, u64 a, u64 b,
		       u64 c, const char *text)
{
	const struct auxtap_watermark_event e = {.size = sizeof(e),
						 .time_ns = time,
						 .what = what,
						 .a = a,
						 .b = b,
						 .c = c,
						 .text = text};

	if (w->on_event)
		w->on_event(w->ctx, &e);
}

void sim_violation(struct sim *w, enum auxtap_watermark_invariant inv, u64 is, u64 due,
		   const char *text)
{
	event_text(w, sim_time(w, 0), AUXTAP_WM_VIOLATION, inv, is, due, text);
}

void sim_finding(struct sim *w, const char *text)
{
	event_text(w, sim_time(w, 0), AUXTAP_WM_FINDING, 0, 0, 0, text);
}

void sim_status(struct sim *w, u64 status, u64 off, u64 written, const char *text)
{
	event_text(w, w->now, AUXTAP_WM_STATUS, status, off, written, text);
}

/* splitmix64 */
u64 sim_random(struct sim *w, u64 below)
{
	u64 z;

	if (below <= 1)
		return 0;
	z = w->random += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

/* ---- production ---- */

/* The rate from now on, and how long it holds: a phase. */
static void next_phase(struct sim *w)
{
	const struct auxtap_watermark_config *c = &w->c;

	w->anchor_bytes = w->r->produced;
	w->anchor_time = w->now;
	if (c->rates) {
		while (w->next_rate < c->nr_rates && c->rates[w->next_rate].time_ns <= w->now)
			w->next_rate++;
		w->rate = w->next_rate < c->nr_rates ? c->rates[w->next_rate].rate : 0;
		w->phase_end = w->next_rate < c->nr_rates ? c->rates[w->next_rate].time_ns : NEVER;
	} else if (c->burst_ns && c->pause_ns) {
		u64 at = w->now % (c->burst_ns + c->pause_ns);
		bool burst = at < c->burst_ns;

		w->rate = burst ? c->rate : 0;
		w->phase_end = w->now - at + c->burst_ns + (burst ? 0 : c->pause_ns);
	} else {
		w->rate = c->rate;
		w->phase_end = NEVER;
	}
}

/* Bytes made until a time of this phase; whole records (--record). */
static u64 made_by(const struct sim *w, u64 time)
{
	u64 grain = w->c.setup.record_bytes;
	u128 nr = (u128)(time - w->anchor_time) * w->rate / NS;

	return w->anchor_bytes + (u64)nr / grain * grain;
}

/* When that many bytes are made. */
static u64 time_of(const struct sim *w, u64 produced)
{
	u128 ns = (u128)(produced - w->anchor_bytes) * NS;

	if (produced <= w->anchor_bytes)
		return w->anchor_time;
	if (!w->rate)
		return NEVER;
	return w->anchor_time + (u64)((ns + w->rate - 1) / w->rate);
}

u64 sim_time(const struct sim *w, u64 less)
{
	u64 made, time;

	if (w->exploring)
		return w->now;
	made = w->r->produced + w->chunk_stored - (less < w->chunk_stored ? less : w->chunk_stored);
	time = w->producing && made > w->anchor_bytes ? time_of(w, made) : w->now;

	return time > w->now ? time : w->now;
}

/*
 * The byte at a position of all that is produced: neither padding nor what was in memory before,
 * and without a period, so that no two extents are alike.
 */
static u8 content_at(u64 at)
{
	u64 z = (at + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
	return (u8)(1 + (z >> 32) % 0x6f);
}

static const u8 *contents(struct sim *w, u64 *nr_bytes)
{
	u64 grain = w->c.setup.record_bytes, at = w->r->produced, left;

	if (!w->bytes)
		return NULL;
	/* a unit may take a record a call of all that it is offered: what it left is still there */
	if (!w->bytes_to || at < w->bytes_to - CHUNK || at + grain > w->bytes_to) {
		for (u64 i = 0; i < CHUNK; i++)
			w->bytes[i] = content_at(at + i);
		w->bytes_to = at + CHUNK;
	}
	left = w->bytes_to - at;
	if (*nr_bytes > left)
		*nr_bytes = left - left % grain; /* whole records */
	return w->bytes + (CHUNK - left);
}

/* now becomes the time of the last byte; an interrupt within that record has it later already. */
static void count_made(struct sim *w, u64 nr_bytes)
{
	u64 time;

	w->r->produced += nr_bytes;
	time = time_of(w, w->r->produced);
	if (time > w->now)
		w->now = time;
}

u64 sim_give(struct sim *w, const u8 *bytes, u64 nr_bytes, u64 *taken)
{
	u64 violations = w->r->nr_violations, kept;

	w->given = bytes;
	w->nr_given = nr_bytes;
	w->nr_kept = w->chunk_stored = w->bus_bytes = 0;
	w->producing = true;
	*taken = 0;
	kept = w->unit->produce(w->u, bytes, nr_bytes, taken);
	w->producing = false;
	w->given = NULL;
	/* impossible counts end the run (produce()), and a store that failed has been reported */
	if (kept != w->nr_kept && kept <= w->bus_bytes && violations == w->r->nr_violations)
		mon_violation(
			w, AUXTAP_INV_BYTES_ADD_UP,
			"of %llu bytes the unit stores %llu, and returns that it has stored %llu",
			(unsigned long long)nr_bytes, (unsigned long long)w->nr_kept,
			(unsigned long long)kept);
	return kept;
}

/* An extent of trace, at most to the next event. The time is when it was made. */
static void produce(struct sim *w, u64 nr_bytes)
{
	u64 stored = 0, taken = nr_bytes;
	const u8 *bytes;

	if (machine_tracing(w)) {
		bool stopped = w->mon.stopped;

		bytes = contents(w, &nr_bytes);
		stored = sim_give(w, bytes, nr_bytes, &taken);
		if (!taken || taken > nr_bytes || stored > taken || stored > w->bus_bytes) {
			w->asked = nr_bytes;
			w->taken = taken;
			w->claimed = stored;
			w->broken = true;
			return;
		}
		count_made(w, taken);
		mon_produced(w, stored, taken - stored,
			     time_of(w, w->r->produced - (taken - stored)),
			     stopped || w->mon.stopped ? AUXTAP_LOSS_STOPPED : AUXTAP_LOSS_FAULT);
	} else {
		u64 since = w->now;

		count_made(w, taken);
		mon_produced(w, 0, taken, since, AUXTAP_LOSS_NO_SPACE);
	}
	if (w->line_raised) {
		w->line_raised = false;
		mon_line(w);
		sim_line_raised(w);
	}
	mon_time(w);
}

/* ---- interrupts ---- */

/*
 * The interrupt line is raised in the middle of a call of the unit: when that returns, it is known
 * when it was.
 */
void sim_line(struct sim *w)
{
	w->line_raised = true;
	if (!w->producing) { /* by a register: now */
		w->line_raised = false;
		mon_line(w);
		sim_line_raised(w);
	}
}

/*
 * More than one at a time is on its way only where a fault doubles them. Those beyond MAX_IRQS are
 * dropped: the driver will have been called MAX_IRQS times since.
 */
void sim_send_irq(struct sim *w, u64 delay)
{
	if (w->nr_irqs < MAX_IRQS)
		w->irqs[w->nr_irqs++] = w->now + delay;
}

static u64 next_irq(const struct sim *w, unsigned int *which)
{
	u64 at = NEVER;

	for (unsigned int i = 0; i < w->nr_irqs; i++)
		if (w->irqs[i] < at) {
			at = w->irqs[i];
			*which = i;
		}
	return at;
}

static void take_irq(struct sim *w, unsigned int which)
{
	w->irqs[which] = w->irqs[--w->nr_irqs];
	machine_interrupt(w);
	/* a level that the driver has left up comes again */
	if (!w->nr_irqs && w->unit->irq_level && w->unit->irq_level(w->u)) {
		mon_line(w);
		sim_send_irq(w, w->c.irq_latency_ns + 1);
	}
}

/* ---- the run ---- */

static bool finished(const struct sim *w)
{
	const struct auxtap_watermark_config *c = &w->c;

	return w->broken || (c->max_bytes && w->r->produced >= c->max_bytes) ||
	       (c->max_transactions && w->r->nr_transactions >= c->max_transactions) ||
	       (c->max_ns && w->now >= c->max_ns) || w->r->nr_violations >= AUXTAP_WM_ENOUGH;
}

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The reader's last resort: an event that makes no progress is enabled again (D21). */
static void stall_check(struct sim *w)
{
	struct reader *r = &w->reader;

	r->stall_check_at = NEVER;
	/*
	 * awake, it reads and enables by itself; a copy that is under way would set the tail back
	 */
	if (w->c.snapshot || !w->running || machine_tracing(w) || r->at != NEVER)
		return;
	if (w->page->aux_head == r->stall_check_head) {
		reader_records(w);
		if (reader_head(w) != r->tail)
			reader_take(w, reader_head(w));
		machine_reenable(w);
	}
	if (!machine_tracing(w)) {
		r->stall_check_head = w->page->aux_head;
		r->stall_check_at = w->now + STALL_CHECK_NS;
	}
}

static void step(struct sim *w)
{
	unsigned int which = 0;
	u64 irq = next_irq(w, &which), next, made;

	next = min_u64(irq, w->reader.at);
	next = min_u64(next, w->switch_at);
	next = min_u64(next, w->phase_end);
	next = min_u64(next, w->reader.stall_check_at);
	if (w->c.max_ns)
		next = min_u64(next, w->c.max_ns);
	if (next > w->now && w->running && w->rate) {
		u64 grain = w->c.setup.record_bytes;

		if (next == NEVER) { /* nothing else happens: some more, then see */
			made = w->aux_size;
			if (w->c.max_bytes)
				made = min_u64(made, w->c.max_bytes - w->r->produced + grain);
			made = (made / grain + 1) * grain;
		} else {
			made = made_by(w, next);
			/* an interrupt's delay may have ended inside a record */
			made = made > w->r->produced ? made - w->r->produced : 0;
		}
		if (made) {
			produce(w, made);
			return;
		}
	}
	if (next == NEVER) { /* no event is pending, and nothing is produced */
		w->now = NEVER;
		return;
	}
	if (next > w->now)
		w->now = next;
	mon_time(w);
	if (irq == next)
		take_irq(w, which);
	else if (w->reader.at == next)
		reader_step(w);
	else if (w->switch_at == next) {
		machine_sched(w, false);
		machine_sched(w, true);
		w->switch_at = w->now + w->c.switch_ns;
	} else if (w->phase_end == next)
		next_phase(w);
	else if (w->reader.stall_check_at == next)
		stall_check(w);
}

static void run(struct sim *w)
{
	progress_begin(w);
	machine_sched(w, true);
	next_phase(w);
	while (!finished(w) && w->now != NEVER) {
		faults_step(w);
		step(w);
	}
	if (w->now == NEVER)
		w->now = w->anchor_time;
	/* pending events complete */
	for (unsigned int which = 0, n = 0; w->nr_irqs && n < 2 * MAX_IRQS; n++) {
		u64 at = next_irq(w, &which);

		w->now = at > w->now ? at : w->now;
		take_irq(w, which);
	}
	machine_sched(w, false);
	reader_finish(w);
	mon_finish(w);
	progress_end(w);
}

/* The model breaks the contract of a trace unit: impossible counts, or no progress. */
static int unit_broken(const struct sim *w, struct auxtap_error *err)
{
	auxtap_error_set(
		err, -EPROTO, w->unit->name,
		"at %llu ns produce() was given %llu bytes; it took %llu, handed %llu to store() "
		"and returned %llu",
		(unsigned long long)w->now, (unsigned long long)w->asked,
		(unsigned long long)w->taken, (unsigned long long)w->bus_bytes,
		(unsigned long long)w->claimed);
	auxtap_error_todo(err, "take 1 byte to all; return how many of them store() was given");
	return -EPROTO;
}

struct sim *sim_new(const struct auxtap_watermark_config *config, struct auxtap_watermark_result *r,
		    struct auxtap_error *err)
{
	struct sim *w;
	int ret;

	memset(r, 0, sizeof(*r));
	if (current_sim) {
		auxtap_error_set(err, -EBUSY, "simulation", "this thread runs one already");
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		goto no_memory;
	w->c = *config;
	w->r = r;
	w->random = config->seed;
	w->driver = sim_driver_find(config->driver);
	w->unit = config->unit ? config->unit : auxtap_trace_unit_find(config->driver);
	w->reader.at = w->reader.stall_check_at = NEVER;
	w->switch_at = config->switch_ns ? config->switch_ns : NEVER;
	if (faults_set(w, err))
		goto fail;
	if (config->contents && !(w->bytes = malloc(CHUNK)))
		goto no_memory;
	ret = machine_open(w, err);
	if (!ret)
		ret = mon_open(w);
	else if (!r->refused)
		goto fail;
	if (ret == -ENOMEM && !r->refused) {
		machine_close(w);
		goto no_memory;
	}
	return w;

no_memory:
	auxtap_error_set(err, -ENOMEM, "simulation", "no memory");
fail:
	if (w)
		free(w->bytes);
	free(w);
	return NULL;
}

void sim_free(struct sim *w)
{
	machine_close(w);
	mon_close(w);
	free(w->bytes);
	free(w);
}

int result_check(const struct auxtap_watermark_result *result, struct auxtap_error *err)
{
	return sized_check(result, sizeof(*result),
			   SIZED_UP_TO(struct auxtap_watermark_result, finding),
			   "struct auxtap_watermark_result", err);
}

int auxtap_watermark_run(const struct auxtap_watermark_config *config,
			 void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
			 void *ctx, struct auxtap_watermark_result *result,
			 struct auxtap_error *err)
{
	struct auxtap_watermark_config known;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error own = AUXTAP_ERROR_INIT;
	struct sim *w = NULL;
	int ret;

	if (!err)
		err = &own;
	ret = result_check(result, err);
	if (ret)
		return ret;
	ret = config_take_valid(&known, config, err);
	if (!ret && !(w = sim_new(&known, &r, err)))
		ret = err->code;
	if (w) {
		w->on_event = on_event;
		w->ctx = ctx;
		if (!r.refused)
			run(w);
		if (w->broken)
			ret = unit_broken(w, err);
		r.head = w->page ? w->page->aux_head : 0;
		r.time_ns = w->now;
		sim_free(w);
	}
	sized_give(result, &r, sizeof(r));
	return ret;
}
