// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of the rings, as capture does it: woken, it reads the records, then copies trace
 * and frees the space, and enables an event again that was truncated (D21).
 */
#include "sim.h"

#include <string.h>

#define NS	 1000000000ull
#define AGAIN_NS 1000

u64 reader_head(const struct sim *w)
{
	return __atomic_load_n(&w->page->aux_head, __ATOMIC_ACQUIRE);
}

/* On another CPU, and faster than anything: all is read before the wakeup returns. */
static bool is_prompt(const struct sim *w)
{
	return !w->c.reader_latency_ns && !w->c.reader_jitter_ns && !w->c.reader_rate &&
	       !w->c.read_bytes;
}

void reader_wake(struct sim *w)
{
	struct reader *r = &w->reader;

	if (w->exploring) { /* when it reads is for the search to say */
		r->woken = true;
		return;
	}
	if (is_prompt(w) && !w->c.snapshot && !r->copying) {
		reader_records(w);
		if (reader_head(w) != r->tail)
			reader_take(w, reader_head(w));
	}
	if (r->at != NEVER) {
		r->woken = true;
		return;
	}
	r->at = w->now + w->c.reader_latency_ns + sim_random(w, w->c.reader_jitter_ns + 1);
}

void reader_records(struct sim *w)
{
	u64 head = __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE);
	const u8 *data = (const u8 *)w->page + w->page->data_offset;
	u64 size = w->page->data_size, tail = w->page->data_tail;

	while (tail != head) {
		struct perf_event_header header;
		u64 body[3] = {0};

		memcpy(&header, data + (tail & (size - 1)), sizeof(header)); /* E15 */
		if (header.type == PERF_RECORD_AUX) {
			for (u64 i = 0; i < 3; i++) /* sizes are multiples of 8: no word is cut */
				memcpy(&body[i],
				       data + ((tail + sizeof(header) + 8 * i) & (size - 1)), 8);
			mon_record(w, body[0], body[1], body[2]);
			if (body[2] & PERF_AUX_FLAG_TRUNCATED)
				w->reader.truncated = true;
		} else if (header.type == PERF_RECORD_LOST) {
			w->reader.truncated = true; /* F3: it may have been a truncation */
		}
		tail += header.size;
	}
	__atomic_store_n(&w->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Everything is read. */
static void rest(struct sim *w)
{
	struct reader *r = &w->reader;

	/* D6: a writer that finds no space leaves no record */
	if (r->truncated || r->was_full) {
		r->truncated = r->was_full = false;
		if (!w->c.snapshot && w->running) {
			machine_reenable(w);
			r->enabled_at = w->now;
		}
	}
	r->at = NEVER;
	if (r->woken || reader_head(w) != r->tail) {
		r->woken = false;
		if (!w->c.snapshot)
			r->at = w->now + w->c.reader_latency_ns;
		/* truncated again at once: even the fastest reader's time goes on */
		if (r->at == r->enabled_at)
			r->at += AGAIN_NS;
	}
	if (r->at == NEVER) {
		r->stall_check_at = w->now + STALL_CHECK_NS;
		r->stall_check_head = reader_head(w);
	}
}

static void begin_copy(struct sim *w)
{
	struct reader *r = &w->reader;
	u64 head, nr;

	r->woken = false;
	reader_records(w);
	head = reader_head(w);
	if (w->c.snapshot || head == r->tail) {
		rest(w);
		return;
	}
	nr = head - r->tail;
	if (nr >= w->aux_size - 1)
		r->was_full = true; /* also where it is read in parts */
	if (w->c.read_bytes && nr > w->c.read_bytes)
		nr = w->c.read_bytes;
	r->to = r->tail + nr;
	r->copying = true;
	r->at = w->now + (w->c.reader_rate ? nr * NS / w->c.reader_rate : 0);
}

void reader_take(struct sim *w, u64 to)
{
	struct reader *r = &w->reader;

	if (to - r->tail >= w->aux_size - 1)
		r->was_full = true;
	mon_read(w, r->tail, to);
	w->r->nr_reads++;
	sim_event(w, AUXTAP_WM_READ, to, to - r->tail, 0);
	r->tail = to;
	progress_read(w);
	__atomic_store_n(&w->page->aux_tail, to, __ATOMIC_RELEASE);
}

static void end_copy(struct sim *w)
{
	struct reader *r = &w->reader;

	r->copying = false;
	reader_take(w, r->to);
	reader_records(w); /* D15: what was written meanwhile */
	if (reader_head(w) != r->tail)
		r->at = w->now; /* more of it */
	else
		rest(w);
}

void reader_step(struct sim *w)
{
	if (w->reader.copying)
		end_copy(w);
	else
		begin_copy(w);
}

/* At the end: all that there is. */
void reader_finish(struct sim *w)
{
	w->reader.woken = false;
	do {
		reader_step(w);
	} while (w->reader.copying || (!w->c.snapshot && reader_head(w) != w->reader.tail));
	w->reader.at = NEVER;
}
