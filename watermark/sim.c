// SPDX-License-Identifier: BSD-2-Clause
/*
 * Simulated time: when the program generates how much trace, and which event is next: interrupt,
 * reader, scheduler. The rest of the machine: sim.h. Rules such as D21: docs/kernel-rules.md.
 */
#include "util/sized.h"
#include "sim.h"
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull

#define CHUNK 65536 /* contents: bytes produced at a time */
typedef unsigned __int128 u128;

void sim_event_at(struct sim *sim, u64 time, enum auxtap_watermark_what what, u64 a, u64 b, u64 c)
{
	const struct auxtap_watermark_event e =
		{.size = sizeof(e), .time_ns = time, .what = what, .a = a, .b = b, .c = c};

	if (sim->on_event)
		sim->on_event(sim->ctx, &e);
}

void sim_event(struct sim *sim, enum auxtap_watermark_what what, u64 a, u64 b, u64 c)
{
	if (sim->on_event)
		sim_event_at(sim, sim_time(sim, 0), what, a, b, c);
}

static void event_text(struct sim *sim, u64 time, enum auxtap_watermark_what what, u64 a, u64 b,
		       u64 c, const char *text)
{
	const struct auxtap_watermark_event e = {.size = sizeof(e),
						 .time_ns = time,
						 .what = what,
						 .a = a,
						 .b = b,
						 .c = c,
						 .text = text};

	if (sim->on_event)
		sim->on_event(sim->ctx, &e);
}

void sim_violation(struct sim *sim, enum auxtap_watermark_invariant inv, u64 actual, u64 expected,
		   const char *text)
{
	event_text(sim, sim_time(sim, 0), AUXTAP_WM_VIOLATION, inv, actual, expected, text);
}

/* Reports a deviation that the rules of this kernel allow. */
void sim_known_deviation(struct sim *sim, const char *text)
{
	event_text(sim, sim_time(sim, 0), AUXTAP_WM_FINDING, 0, 0, 0, text);
}

void sim_status(struct sim *sim, u64 status, u64 off, u64 written, const char *text)
{
	event_text(sim, sim->now, AUXTAP_WM_STATUS, status, off, written, text);
}

/* splitmix64 */
u64 sim_random(struct sim *sim, u64 below)
{
	u64 z;

	if (below <= 1)
		return 0;
	z = sim->random += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

/* ---- production ---- */

/* Starts a phase: sets the rate from now on, and the phase's end. */
static void next_phase(struct sim *sim)
{
	const struct auxtap_watermark_config *c = &sim->c;

	sim->anchor_bytes = sim->r->produced;
	sim->anchor_time = sim->now;
	if (c->rates) {
		while (sim->next_rate < c->nr_rates && c->rates[sim->next_rate].time_ns <= sim->now)
			sim->next_rate++;
		sim->rate = sim->next_rate < c->nr_rates ? c->rates[sim->next_rate].rate : 0;
		sim->phase_end =
			sim->next_rate < c->nr_rates ? c->rates[sim->next_rate].time_ns : NEVER;
	} else if (c->burst_ns && c->pause_ns) {
		u64 at = sim->now % (c->burst_ns + c->pause_ns);
		bool burst = at < c->burst_ns;

		sim->rate = burst ? c->rate : 0;
		sim->phase_end = sim->now - at + c->burst_ns + (burst ? 0 : c->pause_ns);
	} else {
		sim->rate = c->rate;
		sim->phase_end = NEVER;
	}
}

/* Bytes produced until a time in this phase, in whole records (--record). */
static u64 produced_until(const struct sim *sim, u64 time)
{
	u64 grain = sim->c.setup.record_bytes;
	u128 nr = (u128)(time - sim->anchor_time) * sim->rate / NS;

	return sim->anchor_bytes + (u64)nr / grain * grain;
}

/* The time at which that many bytes are produced. */
static u64 time_of(const struct sim *sim, u64 produced)
{
	u128 ns = (u128)(produced - sim->anchor_bytes) * NS;

	if (produced <= sim->anchor_bytes)
		return sim->anchor_time;
	if (!sim->rate)
		return NEVER;
	return sim->anchor_time + (u64)((ns + sim->rate - 1) / sim->rate);
}

u64 sim_time(const struct sim *sim, u64 less)
{
	u64 produced, time;

	if (sim->exploring)
		return sim->now;
	produced = sim->r->produced + sim->stored_in_produce -
		   (less < sim->stored_in_produce ? less : sim->stored_in_produce);
	time = sim->producing && produced > sim->anchor_bytes ? time_of(sim, produced) : sim->now;

	return time > sim->now ? time : sim->now;
}

/*
 * The byte at a position of the produced trace: never a padding byte or the area's initial value
 * (0xee), and without a period, so that misplaced trace never matches.
 */
static u8 content_at(u64 at)
{
	u64 z = (at + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9ull;
	return (u8)(1 + (z >> 32) % 0x6f);
}

static const u8 *contents(struct sim *sim, u64 *nr_bytes)
{
	u64 grain = sim->c.setup.record_bytes, at = sim->r->produced, left;

	if (!sim->bytes)
		return NULL;
	/* a unit may consume less than it is offered: the rest is still in the buffer */
	if (!sim->bytes_to || at < sim->bytes_to - CHUNK || at + grain > sim->bytes_to) {
		for (u64 i = 0; i < CHUNK; i++)
			sim->bytes[i] = content_at(at + i);
		sim->bytes_to = at + CHUNK;
	}
	left = sim->bytes_to - at;
	if (*nr_bytes > left)
		*nr_bytes = left - left % grain; /* whole records */
	return sim->bytes + (CHUNK - left);
}

/* Advances now to the time of the last byte, unless an interrupt in that record already did. */
static void count_produced(struct sim *sim, u64 nr_bytes)
{
	u64 time;

	sim->r->produced += nr_bytes;
	time = time_of(sim, sim->r->produced);
	if (time > sim->now)
		sim->now = time;
}

u64 sim_feed_unit(struct sim *sim, const u8 *bytes, u64 nr_bytes, u64 *consumed)
{
	u64 violations = sim->r->nr_violations, stored;

	sim->input = bytes;
	sim->input_size = nr_bytes;
	sim->input_stored = sim->stored_in_produce = sim->store_bytes = 0;
	sim->producing = true;
	*consumed = 0;
	stored = sim->unit->produce(sim->u, bytes, nr_bytes, consumed);
	sim->producing = false;
	sim->input = NULL;
	/* impossible counts end the run, see produce(); a failed store has been reported */
	if (stored != sim->input_stored && stored <= sim->store_bytes &&
	    violations == sim->r->nr_violations)
		mon_violation(
			sim, AUXTAP_INV_BYTES_ADD_UP,
			"of %llu bytes the unit stores %llu, and returns that it has stored %llu",
			(unsigned long long)nr_bytes, (unsigned long long)sim->input_stored,
			(unsigned long long)stored);
	return stored;
}

/* Produces trace: at most nr_bytes, the trace until the next event. Advances the time. */
static void produce(struct sim *sim, u64 nr_bytes)
{
	u64 stored = 0, consumed = nr_bytes;
	const u8 *bytes;

	if (machine_tracing(sim)) {
		bool stopped = sim->mon.stopped;

		bytes = contents(sim, &nr_bytes);
		stored = sim_feed_unit(sim, bytes, nr_bytes, &consumed);
		if (!consumed || consumed > nr_bytes || stored > consumed ||
		    stored > sim->store_bytes) {
			sim->offered = nr_bytes;
			sim->consumed = consumed;
			sim->claimed = stored;
			sim->broken = true;
			return;
		}
		count_produced(sim, consumed);
		mon_produced(sim, stored, consumed - stored,
			     time_of(sim, sim->r->produced - (consumed - stored)),
			     stopped || sim->mon.stopped ? AUXTAP_LOSS_STOPPED : AUXTAP_LOSS_FAULT);
	} else {
		u64 since = sim->now;

		count_produced(sim, consumed);
		mon_produced(sim, 0, consumed, since, AUXTAP_LOSS_NO_SPACE);
	}
	if (sim->line_raised) {
		sim->line_raised = false;
		mon_irq_raised(sim);
		sim_forward_irq(sim);
	}
	mon_time(sim);
}

/* ---- interrupts ---- */

/*
 * A unit raises its interrupt line inside produce(): only when produce() returns, the simulator
 * knows the time.
 */
void sim_irq_raised(struct sim *sim)
{
	sim->line_raised = true;
	if (!sim->producing) { /* a register access raised it: now */
		sim->line_raised = false;
		mon_irq_raised(sim);
		sim_forward_irq(sim);
	}
}

/*
 * More than one interrupt is pending only if an injected fault doubles them. Those beyond MAX_IRQS
 * are dropped: MAX_IRQS calls of the driver are still to come.
 */
void sim_send_irq(struct sim *sim, u64 delay)
{
	if (sim->nr_irqs < MAX_IRQS)
		sim->irqs[sim->nr_irqs++] = sim->now + delay;
}

static u64 next_irq(const struct sim *sim, unsigned int *which)
{
	u64 at = NEVER;

	for (unsigned int i = 0; i < sim->nr_irqs; i++)
		if (sim->irqs[i] < at) {
			at = sim->irqs[i];
			*which = i;
		}
	return at;
}

static void deliver_irq(struct sim *sim, unsigned int which)
{
	sim->irqs[which] = sim->irqs[--sim->nr_irqs];
	machine_interrupt(sim);
	/* level-triggered: a line that the driver has left high interrupts again */
	if (!sim->nr_irqs && sim->unit->irq_level && sim->unit->irq_level(sim->u)) {
		mon_irq_raised(sim);
		sim_send_irq(sim, sim->c.irq_latency_ns + 1);
	}
}

/* ---- the run ---- */

static bool finished(const struct sim *sim)
{
	const struct auxtap_watermark_config *c = &sim->c;

	return sim->broken || (c->max_bytes && sim->r->produced >= c->max_bytes) ||
	       (c->max_transactions && sim->r->nr_transactions >= c->max_transactions) ||
	       (c->max_ns && sim->now >= c->max_ns) || sim->r->nr_violations >= AUXTAP_WM_ENOUGH;
}

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The reader's last resort: an event that makes no progress is enabled again (D21). */
static void stall_check(struct sim *sim)
{
	struct reader *r = &sim->reader;

	r->stall_check_at = NEVER;
	/*
	 * An awake reader reads and enables the event itself. If the tail moved now, the end of the
	 * copy that is still pending would store an older tail.
	 */
	if (sim->c.snapshot || !sim->running || machine_tracing(sim) || r->at != NEVER)
		return;
	if (sim->page->aux_head == r->stall_check_head) {
		reader_take_records(sim);
		if (reader_head(sim) != r->tail)
			reader_take(sim, reader_head(sim));
		machine_reenable(sim);
	}
	if (!machine_tracing(sim)) {
		r->stall_check_head = sim->page->aux_head;
		r->stall_check_at = sim->now + STALL_CHECK_NS;
	}
}

static void step(struct sim *sim)
{
	unsigned int which = 0;
	u64 irq = next_irq(sim, &which), next, amount;

	next = min_u64(irq, sim->reader.at);
	next = min_u64(next, sim->switch_at);
	next = min_u64(next, sim->phase_end);
	next = min_u64(next, sim->reader.stall_check_at);
	if (sim->c.max_ns)
		next = min_u64(next, sim->c.max_ns);
	if (next > sim->now && sim->running && sim->rate) {
		u64 grain = sim->c.setup.record_bytes;

		if (next == NEVER) { /* no other event: produce about one area of trace */
			amount = sim->aux_size;
			if (sim->c.max_bytes)
				amount = min_u64(amount,
						 sim->c.max_bytes - sim->r->produced + grain);
			amount = (amount / grain + 1) * grain;
		} else {
			amount = produced_until(sim, next);
			/* an interrupt's delay may have ended inside a record */
			amount = amount > sim->r->produced ? amount - sim->r->produced : 0;
		}
		if (amount) {
			produce(sim, amount);
			return;
		}
	}
	if (next == NEVER) { /* no event is pending, and nothing is produced */
		sim->now = NEVER;
		return;
	}
	if (next > sim->now)
		sim->now = next;
	mon_time(sim);
	if (irq == next)
		deliver_irq(sim, which);
	else if (sim->reader.at == next)
		reader_step(sim);
	else if (sim->switch_at == next) {
		machine_sched(sim, false);
		machine_sched(sim, true);
		sim->switch_at = sim->now + sim->c.switch_ns;
	} else if (sim->phase_end == next)
		next_phase(sim);
	else if (sim->reader.stall_check_at == next)
		stall_check(sim);
}

static void run(struct sim *sim)
{
	progress_begin(sim);
	machine_sched(sim, true);
	next_phase(sim);
	while (!finished(sim) && sim->now != NEVER) {
		faults_step(sim);
		step(sim);
	}
	if (sim->now == NEVER)
		sim->now = sim->anchor_time;
	/* pending events complete */
	for (unsigned int which = 0, n = 0; sim->nr_irqs && n < 2 * MAX_IRQS; n++) {
		u64 at = next_irq(sim, &which);

		sim->now = at > sim->now ? at : sim->now;
		deliver_irq(sim, which);
	}
	machine_sched(sim, false);
	reader_finish(sim);
	mon_finish(sim);
	progress_end(sim);
}

/* The unit violates the contract of produce(): impossible counts, or no progress. */
static int unit_broken(const struct sim *sim, struct auxtap_error *err)
{
	auxtap_error_set(
		err, -EPROTO, sim->unit->name,
		"at %llu ns produce() was given %llu bytes; it took %llu, handed %llu to store() "
		"and returned %llu",
		(unsigned long long)sim->now, (unsigned long long)sim->offered,
		(unsigned long long)sim->consumed, (unsigned long long)sim->store_bytes,
		(unsigned long long)sim->claimed);
	auxtap_error_hint(err, "take 1 byte to all; return how many of them store() was given");
	return -EPROTO;
}

struct sim *sim_new(const struct auxtap_watermark_config *config, struct auxtap_watermark_result *r,
		    struct auxtap_error *err)
{
	struct sim *sim;
	int ret;

	memset(r, 0, sizeof(*r));
	if (current_sim) {
		auxtap_error_set(err, -EBUSY, "simulation", "this thread runs one already");
		return NULL;
	}
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		goto no_memory;
	sim->c = *config;
	sim->r = r;
	sim->random = config->seed;
	sim->driver = sim_driver_find(config->driver);
	sim->unit = config->unit ? config->unit : auxtap_trace_unit_find(config->driver);
	sim->reader.at = sim->reader.stall_check_at = NEVER;
	sim->switch_at = config->switch_ns ? config->switch_ns : NEVER;
	if (faults_set(sim, err))
		goto fail;
	if (config->contents && !(sim->bytes = malloc(CHUNK)))
		goto no_memory;
	ret = machine_open(sim, err);
	if (!ret)
		ret = mon_open(sim);
	else if (!r->refused)
		goto fail;
	if (ret == -ENOMEM && !r->refused) {
		machine_close(sim);
		goto no_memory;
	}
	return sim;

no_memory:
	auxtap_error_set(err, -ENOMEM, "simulation", "no memory");
fail:
	if (sim)
		free(sim->bytes);
	free(sim);
	return NULL;
}

void sim_free(struct sim *sim)
{
	machine_close(sim);
	mon_close(sim);
	free(sim->bytes);
	free(sim);
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
	struct auxtap_watermark_config copy;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error fallback_err = AUXTAP_ERROR_INIT;
	struct sim *sim = NULL;
	int ret;

	if (!err)
		err = &fallback_err;
	ret = result_check(result, err);
	if (ret)
		return ret;
	ret = config_copy_in_valid(&copy, config, err);
	if (!ret && !(sim = sim_new(&copy, &r, err)))
		ret = err->code;
	if (sim) {
		sim->on_event = on_event;
		sim->ctx = ctx;
		if (!r.refused)
			run(sim);
		if (sim->broken)
			ret = unit_broken(sim, err);
		r.head = sim->page ? sim->page->aux_head : 0;
		r.time_ns = sim->now;
		sim_free(sim);
	}
	sized_copy_out(result, &r, sizeof(r));
	return ret;
}
