// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write watchpoints: a resume stops at the stores that the recording contains (gdb_values.h). The
 * client compares the old and the new value, and ignores the stop if it cannot read them; then the
 * server reports an ordinary stop, and says why.
 */
#include "gdb_private.h"

#include <inttypes.h>
#include <string.h>

const struct values *gdb_values(const struct gdb_session *s, uint32_t thread)
{
	for (size_t i = 0; i < s->nr_values; i++)
		if (s->values[i].thread == thread && s->values[i].has_values)
			return &s->values[i];
	return NULL;
}

const struct values *gdb_values_memory(const struct gdb_session *s)
{
	for (size_t i = 0; i < s->nr_values; i++)
		if (s->values[i].memory)
			return &s->values[i];
	return NULL;
}

bool gdb_watch_set(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes)
{
	if (s->nr_watches == GDB_MAX_WATCHES || !nr_bytes || nr_bytes > 1u << 20)
		return false;
	s->watches[s->nr_watches].addr = addr;
	s->watches[s->nr_watches].nr_bytes = nr_bytes;
	s->nr_watches++;
	return true;
}

void gdb_watch_remove(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes)
{
	for (size_t i = 0; i < s->nr_watches; i++) {
		if (s->watches[i].addr != addr || s->watches[i].nr_bytes != nr_bytes)
			continue;
		s->nr_watches--;
		memmove(&s->watches[i], &s->watches[i + 1],
			(s->nr_watches - i) * sizeof(s->watches[0]));
		return;
	}
}

void gdb_watch_find(struct gdb_session *s, uint32_t thread, bool reverse, struct gdb_hit *hit)
{
	const struct values *v = gdb_values(s, thread);

	memset(hit, 0, sizeof(*hit));
	if (!s->nr_watches || !v || !v->memory)
		return;
	hit->first = v->first;
	hit->from = replay_icount(&s->replay, thread);
	for (size_t i = 0; i < s->nr_watches; i++) {
		const struct gdb_watch *w = &s->watches[i];
		size_t nr_all = 0;
		const struct value_event *ev =
			reverse ? values_before(v, hit->from, w->addr, w->nr_bytes, &nr_all) :
				  values_after(v, hit->from, w->addr, w->nr_bytes, &nr_all);

		hit->has_watches = true;
		if (!ev ||
		    (hit->event && (reverse ? ev->at <= hit->event->at : ev->at >= hit->event->at)))
			continue;
		hit->event = ev;
		hit->watch = w;
	}
}

/* How often all memory became unknown between two instructions. */
static size_t nr_unknown_writes(const struct values *v, uint64_t from, uint64_t to)
{
	size_t nr = 0;

	for (size_t i = 0; i < v->nr_events; i++)
		if (v->events[i].nr_bytes == UINT64_MAX && v->events[i].at >= from &&
		    v->events[i].at < to)
			nr++;
	return nr;
}

static bool is_known(struct gdb_session *s, const struct values *v, const struct gdb_hit *hit,
		     uint64_t at)
{
	uint8_t byte;

	for (uint64_t i = 0; i < hit->watch->nr_bytes; i++)
		if (!values_memory(v, &s->rec, at, hit->watch->addr + i, &byte, 1))
			return false;
	return true;
}

static void print_unknown_writes(struct gdb_session *s, const struct values *v, uint64_t a,
				 uint64_t b)
{
	size_t nr = nr_unknown_writes(v, a < b ? a : b, a < b ? b : a);

	if (nr)
		gdb_console(s,
			    "auxtap: in between, %zu system call%s, signal%s or instruction%s of "
			    "unknown effect may have written it, too\n",
			    nr, nr == 1 ? "" : "s", nr == 1 ? "" : "s", nr == 1 ? "" : "s");
}

static void put_ordinary_stop(struct gdb_session *s)
{
	gdb_reply_text(&s->reply, "T05");
	gdb_put_pc(s, s->stopped_tid);
	gdb_reply_text(&s->reply, "thread:%" PRIx32 ";", (uint32_t)s->stopped_tid);
}

bool gdb_watch_stop(struct gdb_session *s, uint32_t thread, bool reverse, const struct gdb_hit *hit)
{
	const struct values *v = gdb_values(s, thread);
	uint64_t now = replay_icount(&s->replay, thread), at;

	if (!hit->has_watches || !v)
		return false;
	if (!hit->event || (reverse ? hit->event->at < now : hit->event->at + 1 > now)) {
		if (!reverse || hit->event || now >= hit->first || hit->from <= hit->first)
			return false;
		replay_goto(&s->replay, thread, hit->first);
		print_unknown_writes(s, v, hit->first, hit->from);
		gdb_console(s, "auxtap: what was written before this is not recorded; "
			       "'auxtap crash --values=SIZE' keeps more\n");
		put_ordinary_stop(s);
		return true;
	}
	at = reverse ? hit->event->at : hit->event->at + 1;
	replay_goto(&s->replay, thread, at);
	print_unknown_writes(s, v, reverse ? at + 1 : hit->from, reverse ? hit->from : at - 1);
	if (hit->event->bytes && is_known(s, v, hit, hit->event->at) &&
	    is_known(s, v, hit, hit->event->at + 1)) {
		gdb_reply_text(&s->reply, "T05watch:%" PRIx64 ";", hit->watch->addr);
		gdb_put_pc(s, s->stopped_tid);
		gdb_reply_text(&s->reply, "thread:%" PRIx32 ";", (uint32_t)s->stopped_tid);
		return true;
	}
	if (hit->event->bytes)
		gdb_console(s,
			    "auxtap: %" PRIu64 " bytes at 0x%" PRIx64
			    " are written %s; their value before is unknown\n",
			    hit->event->nr_bytes, hit->event->addr,
			    reverse ? "here" : "before this");
	else
		gdb_console(s,
			    "auxtap: a system call %s may write the %" PRIu64 " bytes at 0x%" PRIx64
			    "\n",
			    reverse ? "here" : "before this", hit->event->nr_bytes,
			    hit->event->addr);
	put_ordinary_stop(s);
	return true;
}
