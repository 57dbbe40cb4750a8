// SPDX-License-Identifier: BSD-2-Clause
/*
 * Logs the reader's wakeups in the file, so that 'auxtap audit' can check whether each watermark
 * that the head passed woke the reader (D11, D18), and whether each wakeup had a reason (D7).
 * perf.data has no record for wakeups. The rules are those of docs/kernel-rules.md.
 */
#include "session.h"
#include "util/vector.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define WAKEUPS_MAX 4096 /* entries for one ring; the first ones are kept */

static uint64_t effective_watermark(const struct auxtap_session *s, const struct stream *st)
{
	uint64_t requested = s->attrs[0].aux_watermark;

	return requested ? requested : st->ring.aux_size / 2; /* C2 */
}

static void append_wakeup(struct stream *st, const struct auxtap_wakeup *wakeup)
{
	struct wakeup_log *w = &st->wakeups;

	/* after an entry that could not be kept, none is kept: the log has no holes */
	if (w->nr == w->nr_all && w->nr < WAKEUPS_MAX && !vector_grow(w->list, w->nr, w->max))
		w->list[w->nr++] = *wakeup;
	w->nr_all++;
}

static struct auxtap_wakeup make_wakeup(struct auxtap_session *s, struct stream *st, uint64_t flags)
{
	struct auxtap_wakeup wakeup = {
		.time_ns = s->be->perf->clock(s->be->perf_ctx),
		.aux_head = auxtap_ring_aux_head(&st->ring),
		.data_head = auxtap_ring_data_head(&st->ring),
		.aux_tail = st->ring.aux_prev_abs,
		.flags = flags,
	};

	if (st->wakeups.stopped)
		wakeup.flags |= AUXTAP_WAKEUP_STOPPED;
	st->wakeups.stopped = false;
	return wakeup;
}

void session_after_poll(struct auxtap_session *s, struct stream *st, short revents)
{
	uint64_t watermark = effective_watermark(s, st), head;
	struct wakeup_log *w = &st->wakeups;
	bool woken = revents & POLLIN, passed;
	struct auxtap_wakeup wakeup;

	if (!s->file.writer || !st->ring.aux_size || st->hung_up)
		return;
	head = auxtap_ring_aux_head(&st->ring);
	passed = !s->recorder->overwrite && watermark && head / watermark > w->aux_head / watermark;
	if (!woken && !passed && !w->awaiting_wakeup)
		return;
	wakeup = make_wakeup(s, st, woken ? AUXTAP_WAKEUP_READABLE : 0);
	append_wakeup(st, &wakeup);
	/* The head is published before the wakeup (D15, D16): see the next return of poll(). */
	w->awaiting_wakeup = passed && !woken;
	w->aux_head = head;
}

void session_write_wakeup_log(struct auxtap_session *s, struct stream *st)
{
	struct auxtap_wakeup_log header = {
		.cpu = st->cpu,
		.tid = st->tid,
		.aux_size = st->ring.aux_size,
		.data_size = st->ring.data_size,
		.aux_watermark = s->attrs[0].aux_watermark,
		.data_watermark = st->ring.data_size / 2, /* E6 */
		.emulated = s->be->perf->emulated,
	};
	struct auxtap_wakeup wakeup;
	struct wakeup_log *w = &st->wakeups;
	unsigned char *record;
	size_t size;

	if (s->file.writer && st->ring.aux_size) {
		if (st->tid >= 0)
			header.cpu = -1;
		wakeup = make_wakeup(s, st, AUXTAP_WAKEUP_LAST);
		append_wakeup(st, &wakeup);
		header.nr_wakeups = w->nr_all;
		size = sizeof(header) + w->nr * sizeof(*w->list);
		record = malloc(size);
		if (record) {
			memcpy(record, &header, sizeof(header));
			if (w->nr)
				memcpy(record + sizeof(header), w->list, w->nr * sizeof(*w->list));
			auxtap_perfdata_writer_metadata(s->file.writer, AUXTAP_METADATA_WAKEUPS,
							record, size);
			free(record);
		}
	}
	free(w->list);
	memset(w, 0, sizeof(*w));
}
