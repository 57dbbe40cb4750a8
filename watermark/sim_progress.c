// SPDX-License-Identifier: BSD-2-Clause
/*
 * The invariant "progress": trace is stored, and the configuration explains each loss
 * (docs/watermark.md). monitor.c calls this file when trace is lost and when tracing ends.
 */
#include "sim.h"

#define NS 1000000000ull
#define LL unsigned long long
/*
 * Truncations in a row without trace stored in between, although the reader has read everything
 * (D5, I7 explain a few).
 */
#define MAX_STARVED 8
#define BATCHES	    4 /* watermarks that an area must hold to be never full */

static u64 copy_ns(const struct sim *sim)
{
	return sim->c.reader_rate ? sim->aux_size * NS / sim->c.reader_rate : 0;
}

static u64 reader_ns(const struct sim *sim)
{
	return sim->c.reader_latency_ns + sim->c.reader_jitter_ns + copy_ns(sim);
}

static u64 max_rate(const struct sim *sim)
{
	u64 rate = sim->c.rates ? 0 : sim->c.rate;

	for (size_t i = 0; sim->c.rates && i < sim->c.nr_rates; i++)
		if (sim->c.rates[i].rate > rate)
			rate = sim->c.rates[i].rate;
	return rate;
}

/*
 * Whether the area is never full: less than a quarter of it is produced while driver and reader
 * react, and it holds BATCHES watermarks. PT: only with watermarks at which it can interrupt (H5).
 */
static bool reader_keeps_up(const struct sim *sim)
{
	u64 ns = reader_ns(sim) + sim->c.irq_latency_ns + sim->c.irq_jitter_ns,
	    batch = sim->watermark;
	unsigned __int128 produced = (unsigned __int128)max_rate(sim) * ns / NS;

	if (sim->c.snapshot || sim->c.data_pages < 4)
		return false;
	if (driver_has(sim, DRIVER_IRQ_KEEPS_TRACING) &&
	    (batch < sim->c.page_size || batch & (batch - 1)))
		return false;
	if (batch < sim->c.page_size)
		batch = sim->c.page_size;
	produced +=
		sim->c.setup.irq_delay_bytes + 2ull * sim->c.setup.record_bytes + sim->c.page_size;
	return sim->aux_size >= BATCHES * batch && produced <= sim->aux_size / 4;
}

/* For runs in simulated time with ring_reader.c's reader; not for a search or a replay. */
void progress_begin(struct sim *sim)
{
	struct progress *p = &sim->progress;

	p->timed = true;
	p->keeps_up = reader_keeps_up(sim);
	p->off_since = NEVER;
	/* the reader is woken or waits for its stall check; twice if the disable is late (D21) */
	p->off_max = 3 * reader_ns(sim) + 4 * STALL_CHECK_NS + sim->c.irq_latency_ns +
		     sim->c.irq_jitter_ns;
}

void progress_lost(struct sim *sim, u64 lost, enum auxtap_watermark_loss why)
{
	struct progress *p = &sim->progress;

	if (!p->keeps_up || p->no_space_reported || why != AUXTAP_LOSS_NO_SPACE)
		return;
	p->no_space_reported = true;
	mon_violation(
		sim, AUXTAP_INV_PROGRESS,
		"%llu bytes are lost for want of space, and the reader is fast enough for this area",
		(LL)lost);
}

/* A transaction has ended truncated, or could not begin. */
void progress_truncated(struct sim *sim)
{
	struct progress *p = &sim->progress;
	bool starved = sim->r->stored == p->stored && p->read_all;

	p->nr_starved = starved ? p->nr_starved + 1 : 0;
	p->stored = sim->r->stored;
	p->read_all = false;
	if (p->timed && p->nr_starved == MAX_STARVED)
		mon_violation(
			sim, AUXTAP_INV_PROGRESS,
			"%d times in a row the event is truncated before a byte is stored, and the reader had read all",
			MAX_STARVED);
}

void progress_read(struct sim *sim)
{
	sim->progress.read_all = sim->reader.tail == reader_head(sim);
}

void progress_time(struct sim *sim)
{
	struct progress *p = &sim->progress;

	if (!p->timed)
		return;
	if (!sim->running || machine_tracing(sim)) {
		p->off_since = NEVER;
		p->off_reported = false;
	} else if (p->off_since == NEVER) {
		p->off_since = sim->now;
	} else if (sim->now - p->off_since > p->off_max && !p->off_reported && !sim->c.snapshot) {
		p->off_reported = true;
		mon_violation(
			sim, AUXTAP_INV_PROGRESS,
			"the program runs and is not traced for %llu ns; the reader needs %llu at most",
			(LL)(sim->now - p->off_since), (LL)p->off_max);
	}
}

void progress_end(struct sim *sim)
{
	if (sim->progress.timed && sim->r->produced && !sim->r->stored)
		mon_violation(sim, AUXTAP_INV_PROGRESS, "none of %llu bytes is stored",
			      (LL)sim->r->produced);
}
