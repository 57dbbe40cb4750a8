// SPDX-License-Identifier: BSD-2-Clause
/*
 * The address space of one process over time: a list of changes, and views, each of which is the
 * state at one time. A later mapping replaces the part of an earlier one that it covers, as with
 * mmap().
 */
#include "image_private.h"
#include "util/heap.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct image_space *image_space_get(struct auxtap_image_set *set, pid_t pid, bool create)
{
	size_t lo = 0, hi = set->nr_spaces;
	struct image_space *space;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (set->spaces[mid]->pid == pid)
			return set->spaces[mid];
		if (set->spaces[mid]->pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!create)
		return NULL;
	if (vector_grow(set->spaces, set->nr_spaces, set->max_spaces))
		return NULL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = pid;
	memmove(&set->spaces[lo + 1], &set->spaces[lo],
		(set->nr_spaces - lo) * sizeof(set->spaces[0]));
	set->spaces[lo] = space;
	set->nr_spaces++;
	return space;
}

static void drop_views(struct image_space *space)
{
	for (unsigned int i = 0; i < IMAGE_SPACE_VIEWS; i++) {
		image_view_put(space->views[i]);
		space->views[i] = NULL;
	}
}

int image_space_add(struct image_space *space, const struct image_map *map)
{
	size_t at = space->nr_changes;

	if (vector_grow(space->changes, space->nr_changes, space->max_changes))
		return -ENOMEM;
	while (at && space->changes[at - 1].time > map->time)
		at--;
	if (at != space->nr_changes)
		drop_views(space);
	memmove(&space->changes[at + 1], &space->changes[at],
		(space->nr_changes - at) * sizeof(*map));
	space->changes[at] = *map;
	space->nr_changes++;
	return 0;
}

size_t image_space_changes_until(const struct image_space *space, uint64_t time)
{
	size_t lo = 0, hi = space->nr_changes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (space->changes[mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first map that ends after addr; match_start: the first that starts at addr or later. */
static size_t first_map(const struct image_map *maps, size_t nr, uint64_t addr, bool match_start)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (match_start ? maps[mid].start >= addr : maps[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/*
 * Lays 'add' over the nr maps: it replaces what it covers, which may split a map in two. maps[] has
 * space for nr + 2. Returns the new number of maps.
 */
static size_t overlay(struct image_map *maps, size_t nr, const struct image_map *add)
{
	struct image_map parts[3];
	size_t first, end, used = 0;

	if (!add->image) /* an exec */
		return 0;
	if (add->end <= add->start)
		return nr;
	first = first_map(maps, nr, add->start, false);
	end = first_map(maps, nr, add->end, true);
	if (first < end && maps[first].start < add->start) {
		parts[used] = maps[first];
		parts[used++].end = add->start;
	}
	parts[used++] = *add;
	if (first < end && maps[end - 1].end > add->end) {
		parts[used] = maps[end - 1];
		parts[used].pgoff += add->end - parts[used].start;
		parts[used++].start = add->end;
	}
	memmove(&maps[first + used], &maps[end], (nr - end) * sizeof(*maps));
	memcpy(&maps[first], parts, used * sizeof(*maps));
	return nr - (end - first) + used;
}

/* ---- many changes at once: one sweep over the addresses ---- */

#define SWEEP_MIN 64 /* fewer changes are applied one by one with overlay() */

struct sweep_item {
	const struct image_map *map;
	size_t age; /* higher: newer, hides those of lower age */
};

static int by_start(const void *a, const void *b)
{
	const struct sweep_item *x = a, *y = b;

	if (x->map->start != y->map->start)
		return x->map->start < y->map->start ? -1 : 1;
	return x->age < y->age ? -1 : x->age > y->age;
}

static bool is_newer(struct sweep_item a, struct sweep_item b)
{
	return a.age > b.age;
}

/* items: sorted by start; heap: space for nr of them. Returns the number of maps, at most 2 nr. */
static size_t sweep(struct image_map *maps, const struct sweep_item *items, struct sweep_item *heap,
		    size_t nr)
{
	const struct image_map *last = NULL;
	size_t used = 0, next = 0, nr_heap = 0;
	uint64_t pos = 0;

	while (next < nr || nr_heap) {
		const struct image_map *top;
		uint64_t end;

		if (!nr_heap)
			pos = items[next].map->start;
		while (next < nr && items[next].map->start <= pos)
			heap_push(heap, nr_heap, items[next++], is_newer);
		while (nr_heap && heap[0].map->end <= pos)
			heap_pop(heap, nr_heap, is_newer);
		if (!nr_heap)
			continue;
		top = heap[0].map;
		end = top->end;
		if (next < nr && items[next].map->start < end)
			end = items[next].map->start;
		if (last == top && maps[used - 1].end == pos) {
			maps[used - 1].end = end;
		} else {
			maps[used] = *top;
			maps[used].pgoff += pos - top->start;
			maps[used].start = pos;
			maps[used++].end = end;
			last = top;
		}
		pos = end;
	}
	return used;
}

/* Applies many changes to base at once. False: out of memory, view is unchanged. */
static bool overlay_many(struct image_view *view, const struct image_view *base,
			 const struct image_map *changes, size_t nr)
{
	size_t nr_base = base ? base->nr : 0, nr_items = 0;
	struct sweep_item *items = calloc(2 * (nr_base + nr), sizeof(*items));

	if (!items)
		return false;
	for (size_t i = 0; i < nr_base; i++)
		items[nr_items++].map = &base->maps[i];
	for (size_t i = 0; i < nr; i++) {
		if (!changes[i].image)
			nr_items = 0; /* an exec */
		else if (changes[i].end > changes[i].start)
			items[nr_items++].map = &changes[i];
	}
	for (size_t i = 0; i < nr_items; i++)
		items[i].age = i;
	if (nr_items)
		qsort(items, nr_items, sizeof(*items), by_start);
	view->nr = sweep(view->maps, items, items + nr_items, nr_items);
	free(items);
	return true;
}

struct image_view *image_space_view(struct image_space *space, size_t nr_changes)
{
	const struct image_view *base = NULL;
	struct image_view *view;
	size_t from, max;

	for (unsigned int i = 0; i < IMAGE_SPACE_VIEWS; i++) {
		struct image_view *cached = space->views[i];

		if (!cached)
			continue;
		if (cached->nr_changes == nr_changes) {
			__atomic_add_fetch(&cached->refs, 1, __ATOMIC_RELAXED);
			return cached;
		}
		if (cached->nr_changes < nr_changes &&
		    (!base || cached->nr_changes > base->nr_changes))
			base = cached;
	}
	from = base ? base->nr_changes : 0;
	max = 2 * ((base ? base->nr : 0) + nr_changes - from);
	view = malloc(sizeof(*view) + max * sizeof(view->maps[0]));
	if (!view)
		return NULL;
	view->refs = 2; /* the caller's and the space's */
	view->nr_changes = nr_changes;
	if (nr_changes - from < SWEEP_MIN ||
	    !overlay_many(view, base, &space->changes[from], nr_changes - from)) {
		view->nr = base ? base->nr : 0;
		if (view->nr)
			memcpy(view->maps, base->maps, view->nr * sizeof(view->maps[0]));
		for (size_t i = from; i < nr_changes; i++)
			view->nr = overlay(view->maps, view->nr, &space->changes[i]);
	}
	image_view_put(space->views[space->next_view]);
	space->views[space->next_view] = view;
	space->next_view = (space->next_view + 1) % IMAGE_SPACE_VIEWS;
	return view;
}

void image_view_put(struct image_view *view)
{
	if (view && !__atomic_sub_fetch(&view->refs, 1, __ATOMIC_ACQ_REL))
		free(view);
}

const struct image_map *image_view_find(const struct image_view *view, uint64_t addr)
{
	size_t lo = 0, hi = view->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < view->maps[mid].start)
			hi = mid;
		else if (addr >= view->maps[mid].end)
			lo = mid + 1;
		else
			return &view->maps[mid];
	}
	return NULL;
}

void image_space_free(struct image_space *space)
{
	if (!space)
		return;
	drop_views(space);
	image_code_free(space->code);
	free(space->changes);
	free(space->program.images);
	free(space);
}
