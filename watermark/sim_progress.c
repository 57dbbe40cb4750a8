// SPDX-License-Identifier: BSD-2-Clause
/*
 * Progress: trace gets through, and what is lost is what the configuration explains.
 * docs/watermark.md, "progress", says what that is; monitor.c calls this file where trace is lost
 * and where tracing ends.
 */
#include "sim.h"

#define NS 1000000000ull
#define LL unsigned long long
/*
 * truncations in a row, the reader having read all, between which nothing is stored (D5, I7: a few
 * are explained)
 */
#define MAX_STARVED 8
#define BATCHES	    4 /* an area of so many watermarks is never full with a reader that keeps up */

static u64 copy_ns(const struct sim *w)
{
	return w->c.reader_rate ? w->aux_size * NS / w->c.reader_rate : 0;
}

static u64 reader_ns(const struct sim *w)
{
	return w->c.reader_latency_ns + w->c.reader_jitter_ns + copy_ns(w);
}

static u64 max_rate(const struct sim *w)
{
	u64 rate = w->c.rates ? 0 : w->c.rate;

	for (size_t i = 0; w->c.rates && i < w->c.nr_rates; i++)
		if (w->c.rates[i].rate > rate)
			rate = w->c.rates[i].rate;
	return rate;
}

/*
 * The area is never full: while the reader reads and the driver comes, less than a quarter of it is
 * produced, and it holds several watermarks. PT: only of watermarks at which it can interrupt (H5).
 */
static bool reader_keeps_up(const struct sim *w)
{
	u64 ns = reader_ns(w) + w->c.irq_latency_ns + w->c.irq_jitter_ns, batch = w->watermark;
	unsigned __int128 made = (unsigned __int128)max_rate(w) * ns / NS;

	if (w->c.snapshot || w->c.data_pages < 4)
		return false;
	if (driver_is(w, DRIVER_GOES_ON) && (batch < w->c.page_size || batch & (batch - 1)))
		return false;
	if (batch < w->c.page_size)
		batch = w->c.page_size;
	made += w->c.setup.irq_delay_bytes + 2ull * w->c.setup.record_bytes + w->c.page_size;
	return w->aux_size >= BATCHES * batch && made <= w->aux_size / 4;
}

/* In simulated time, with ring_reader.c's reader; a search and a replay have no such reader. */
void progress_begin(struct sim *w)
{
	struct progress *p = &w->progress;

	p->timed = true;
	p->keeps_up = reader_keeps_up(w);
	p->off_since = NEVER;
	/* woken, or asleep until its timer, and twice where an event is disabled late (D21) */
	p->off_max =
		3 * reader_ns(w) + 4 * STALL_CHECK_NS + w->c.irq_latency_ns + w->c.irq_jitter_ns;
}

void progress_lost(struct sim *w, u64 lost, enum auxtap_watermark_loss why)
{
	struct progress *p = &w->progress;

	if (!p->keeps_up || p->lack_reported || why != AUXTAP_LOSS_NO_SPACE)
		return;
	p->lack_reported = true;
	mon_violation(
		w, AUXTAP_INV_PROGRESS,
		"%llu bytes are lost for want of space, and the reader is fast enough for this area",
		(LL)lost);
}

/* A transaction has ended truncated, or could not begin. */
void progress_truncated(struct sim *w)
{
	struct progress *p = &w->progress;
	bool starved = w->r->stored == p->stored && p->read_all;

	p->nr_starved = starved ? p->nr_starved + 1 : 0;
	p->stored = w->r->stored;
	p->read_all = false;
	if (p->timed && p->nr_starved == MAX_STARVED)
		mon_violation(
			w, AUXTAP_INV_PROGRESS,
			"%d times in a row the event is truncated before a byte is stored, and the reader had read all",
			MAX_STARVED);
}

void progress_read(struct sim *w)
{
	w->progress.read_all = w->reader.tail == reader_head(w);
}

void progress_time(struct sim *w)
{
	struct progress *p = &w->progress;

	if (!p->timed)
		return;
	if (!w->running || machine_tracing(w)) {
		p->off_since = NEVER;
		p->off_reported = false;
	} else if (p->off_since == NEVER) {
		p->off_since = w->now;
	} else if (w->now - p->off_since > p->off_max && !p->off_reported && !w->c.snapshot) {
		p->off_reported = true;
		mon_violation(
			w, AUXTAP_INV_PROGRESS,
			"the program runs and is not traced for %llu ns; the reader needs %llu at most",
			(LL)(w->now - p->off_since), (LL)p->off_max);
	}
}

void progress_end(struct sim *w)
{
	if (w->progress.timed && w->r->produced && !w->r->stored)
		mon_violation(w, AUXTAP_INV_PROGRESS, "none of %llu bytes is stored",
			      (LL)w->r->produced);
}
