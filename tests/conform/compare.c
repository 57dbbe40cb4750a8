// SPDX-License-Identifier: BSD-2-Clause
/* See play.h: the visible state of both sides after an operation, and its differences. */
#include "play.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

bool differ(const char *format, ...)
{
	va_list ap;

	now.differed_in = format;
	va_start(ap, format);
	vsnprintf(now.reported, now.reported_size, format, ap);
	va_end(ap);
	return true;
}

/* Whether there are events of a CPU on which we do not run. */
static bool remote_events(void)
{
	for (int i = 0; i < NR_EVENTS; i++)
		if (now.slots[i].alive && !now.slots[i].task && now.slots[i].cpu != now.cpu)
			return true;
	return false;
}

/* Ids and times differ between the sides; everything else is equal bit by bit. */
bool words_differ(uint64_t k, uint64_t m)
{
	if (k == m)
		return false;
	if (m == MODEL_ANY)
		return false;
	/* its CPU is not idle: pid and tid of a kernel thread */
	if (!m && k >> 32 == (k & 0xffffffff) && now.was_remote)
		return k >> 32 >= (uint64_t)getpid();
	if (m > MODEL_TIME) /* nanoseconds since boot: not 0, not years */
		return !k || k >> 56;
	for (int i = 0; i < now.nr_ids; i++) {
		if (m != now.ids[i][1])
			continue;
		if (!now.ids[i][0]) /* an inherited dummy's, first occurrence */
			now.ids[i][0] = k;
		return k != now.ids[i][0];
	}
	return true;
}

static void count_records(const unsigned char *data, uint64_t from, uint64_t to, uint64_t size)
{
	while (from < to) {
		const struct perf_event_header *h = (const void *)(data + (from & (size - 1)));

		if (h->size < 8)
			return;
		stats.records++;
		stats.lost_records += h->type == PERF_RECORD_LOST;
		stats.aux_records += h->type == PERF_RECORD_AUX;
		stats.itrace_records += h->type == PERF_RECORD_ITRACE_START;
		from += h->size;
	}
}

/* [from, to) of the data ring, at most one wrap. */
static bool bytes_differ(int map, uint64_t from, uint64_t to)
{
	const struct map *m = &now.maps[map];
	uint64_t size = page_of(m, 0)->data_size;
	const unsigned char *data[2];

	if (to - from > size)
		from = to - size;
	for (int i = 0; i < 2; i++)
		data[i] = (const unsigned char *)m->addr[i] + PAGE;
	for (uint64_t at = from; at < to; at += 8) {
		uint64_t k = *(const uint64_t *)(const void *)(data[0] + (at & (size - 1)));
		uint64_t w = *(const uint64_t *)(const void *)(data[1] + (at & (size - 1)));

		if (words_differ(k, w))
			return differ("data ring of map %d, at %#llx (new: %#llx to %#llx): "
				      "kernel %#llx, model %#llx",
				      map, (unsigned long long)at, (unsigned long long)from,
				      (unsigned long long)to, (unsigned long long)k,
				      (unsigned long long)w);
	}
	return false;
}

static bool map_differs(int map)
{
	struct map *m = &now.maps[map];
	const struct perf_event_mmap_page *k = page_of(m, 0), *w = page_of(m, 1);
	uint64_t head = k->data_head, prev = m->prev_head;

#define FIELD(name)                                                        \
	if (k->name != w->name)                                            \
	return differ("map %d: " #name ": kernel %#llx, model %#llx", map, \
		      (unsigned long long)k->name, (unsigned long long)w->name)
	FIELD(data_head);
	FIELD(data_tail);
	FIELD(data_offset);
	FIELD(data_size);
	FIELD(aux_head);
	FIELD(aux_tail);
	FIELD(aux_offset);
	FIELD(aux_size);
#undef FIELD
	if (head == prev)
		return false;
	m->prev_head = head;
	if (head - prev > prev - head) { /* backward */
		stats.bytes += prev - head;
		return bytes_differ(map, head, prev);
	}
	stats.bytes += head - prev;
	count_records((const unsigned char *)k + PAGE, prev, head, k->data_size);
	return bytes_differ(map, prev, head);
}

bool whole_ring_differs(int map)
{
	const struct map *m = &now.maps[map];

	return m->used && !m->aux && bytes_differ(map, 0, page_of(m, 0)->data_size);
}

static bool view_differs(int slot)
{
	const struct conform_view *k = &now.calls[0].views[slot], *w = &now.calls[1].views[slot];

#define FIELD(name)                                                                         \
	if (k->name != w->name)                                                             \
	return differ("event %d: " #name ": kernel %lld (%#llx), model %lld (%#llx)", slot, \
		      (long long)k->name, (unsigned long long)k->name, (long long)w->name,  \
		      (unsigned long long)w->name)
	FIELD(found);
	FIELD(state);
	FIELD(oncpu);
	FIELD(open);
	FIELD(kept);
	FIELD(itrace);
	FIELD(head);
	FIELD(size);
	FIELD(wakeup);
	FIELD(aux_flags);
	FIELD(setups);
	FIELD(nr_chunks);
	FIELD(chunk_hash);
	FIELD(adds);
	FIELD(dels);
	FIELD(starts);
	FIELD(stops);
#undef FIELD
	return false;
}

static bool pinned_differs(void)
{
	uint64_t k = kernel_side.pinned(), m = model_side.pinned();

	return k != m && differ("pages pinned: kernel %llu, model %llu", (unsigned long long)k,
				(unsigned long long)m);
}

bool all_differs(void)
{
	now.was_remote |= remote_events();
	for (int i = 0; i < CONFORM_NR_VIEWS; i++)
		if (now.slots[i].alive && now.slots[i].pmu < PMU_DUMMY && view_differs(i))
			return true;
	for (int i = 0; i < NR_MAPS; i++)
		if (now.maps[i].used && !now.maps[i].aux && map_differs(i))
			return true;
	return now.budget && pinned_differs(); /* B11 */
}
