// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of the rings. It works like capture: when woken it reads the records, copies trace,
 * frees the space, and enables a truncated event again (D21).
 */
#include "sim.h"

#include <string.h>

#define NS	 1000000000ull
#define AGAIN_NS 1000 /* see reading_done() */

u64 reader_head(const struct sim *sim)
{
	return __atomic_load_n(&sim->page->aux_head, __ATOMIC_ACQUIRE);
}

/* Whether the reader takes no time: it has read everything before the wakeup returns. */
static bool is_prompt(const struct sim *sim)
{
	return !sim->c.reader_latency_ns && !sim->c.reader_jitter_ns && !sim->c.reader_rate &&
	       !sim->c.read_bytes;
}

void reader_wake(struct sim *sim)
{
	struct reader *r = &sim->reader;

	if (sim->exploring) { /* the search decides when it reads */
		r->woken = true;
		return;
	}
	if (is_prompt(sim) && !sim->c.snapshot && !r->copying) {
		reader_take_records(sim);
		if (reader_head(sim) != r->tail)
			reader_take(sim, reader_head(sim));
	}
	if (r->at != NEVER) {
		r->woken = true;
		return;
	}
	r->at = sim->now + sim->c.reader_latency_ns + sim_random(sim, sim->c.reader_jitter_ns + 1);
}

void reader_take_records(struct sim *sim)
{
	u64 head = __atomic_load_n(&sim->page->data_head, __ATOMIC_ACQUIRE);
	const u8 *data = (const u8 *)sim->page + sim->page->data_offset;
	u64 size = sim->page->data_size, tail = sim->page->data_tail;

	while (tail != head) {
		struct perf_event_header header;
		u64 body[3] = {0};

		memcpy(&header, data + (tail & (size - 1)), sizeof(header)); /* E15 */
		if (header.type == PERF_RECORD_AUX) {
			for (u64 i = 0; i < 3;
			     i++) /* record sizes are multiples of 8: no word wraps */
				memcpy(&body[i],
				       data + ((tail + sizeof(header) + 8 * i) & (size - 1)), 8);
			mon_record(sim, body[0], body[1], body[2]);
			if (body[2] & PERF_AUX_FLAG_TRUNCATED)
				sim->reader.truncated = true;
		} else if (header.type == PERF_RECORD_LOST) {
			sim->reader.truncated = true; /* F3: it may have been a truncation */
		}
		tail += header.size;
	}
	__atomic_store_n(&sim->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Everything has been read: enables a truncated event again, then sleeps unless there is more. */
static void reading_done(struct sim *sim)
{
	struct reader *r = &sim->reader;

	/* D6: a writer that finds no space leaves no record */
	if (r->truncated || r->was_full) {
		r->truncated = r->was_full = false;
		if (!sim->c.snapshot && sim->running) {
			machine_reenable(sim);
			r->enabled_at = sim->now;
		}
	}
	r->at = NEVER;
	if (r->woken || reader_head(sim) != r->tail) {
		r->woken = false;
		if (!sim->c.snapshot)
			r->at = sim->now + sim->c.reader_latency_ns;
		/* truncated again at once: time must advance even for a reader that takes none */
		if (r->at == r->enabled_at)
			r->at += AGAIN_NS;
	}
	if (r->at == NEVER) {
		r->stall_check_at = sim->now + STALL_CHECK_NS;
		r->stall_check_head = reader_head(sim);
	}
}

static void begin_copy(struct sim *sim)
{
	struct reader *r = &sim->reader;
	u64 head, nr;

	r->woken = false;
	reader_take_records(sim);
	head = reader_head(sim);
	if (sim->c.snapshot || head == r->tail) {
		reading_done(sim);
		return;
	}
	nr = head - r->tail;
	if (nr >= sim->aux_size - 1)
		r->was_full = true; /* reader_take() may see only parts of it */
	if (sim->c.read_bytes && nr > sim->c.read_bytes)
		nr = sim->c.read_bytes;
	r->to = r->tail + nr;
	r->copying = true;
	r->at = sim->now + (sim->c.reader_rate ? nr * NS / sim->c.reader_rate : 0);
}

void reader_take(struct sim *sim, u64 to)
{
	struct reader *r = &sim->reader;

	if (to - r->tail >= sim->aux_size - 1)
		r->was_full = true;
	mon_read(sim, r->tail, to);
	sim->r->nr_reads++;
	sim_event(sim, AUXTAP_WM_READ, to, to - r->tail, 0);
	r->tail = to;
	progress_read(sim);
	__atomic_store_n(&sim->page->aux_tail, to, __ATOMIC_RELEASE);
}

static void end_copy(struct sim *sim)
{
	struct reader *r = &sim->reader;

	r->copying = false;
	reader_take(sim, r->to);
	reader_take_records(sim); /* D15: records written during the copy */
	if (reader_head(sim) != r->tail)
		r->at = sim->now; /* there is more trace */
	else
		reading_done(sim);
}

void reader_step(struct sim *sim)
{
	if (sim->reader.copying)
		end_copy(sim);
	else
		begin_copy(sim);
}

/* At the end of a run: reads everything that is left. */
void reader_finish(struct sim *sim)
{
	sim->reader.woken = false;
	do {
		reader_step(sim);
	} while (sim->reader.copying || (!sim->c.snapshot && reader_head(sim) != sim->reader.tail));
	sim->reader.at = NEVER;
}
