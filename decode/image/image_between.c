// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code that was executed at a time that is known only as an interval (struct image_between). Where
 * mappings changed in the interval, code is certain only at addresses that had no other code
 * before the change.
 */
#include "image_private.h"

#include <elf.h>

/* Addresses [addr, addr + size) with certain code; cut_extent() shortens them to the next map
 * boundary. */
struct extent {
	uint64_t addr;
	uint32_t size;
};

static void cut_extent(struct extent *e, uint64_t boundary)
{
	if (boundary > e->addr && boundary - e->addr < e->size)
		e->size = (uint32_t)(boundary - e->addr);
}

/* Whether it is code of another instruction set, which an Arm unit cannot have traced. */
static bool is_foreign(const struct auxtap_image *image)
{
	return image->is_elf && image->machine != EM_AARCH64 && image->machine != EM_ARM;
}

static bool covers(const struct image_map *map, uint64_t addr)
{
	return map->image && addr >= map->start && addr < map->end && !is_foreign(map->image);
}

static bool same_code(const struct image_map *a, const struct image_map *b)
{
	return a->image == b->image && a->is_kernel_image == b->is_kernel_image &&
	       a->pgoff - a->start == b->pgoff - b->start;
}

/* Whether the records contain mappings from before the exec, which is change number 'at'. */
static bool known_before(const struct image_space *space, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (space->changes[i].image)
			return true;
	return false;
}

/*
 * Whether change number 'end' is an exec that replaces another program. At an address where nothing
 * is mapped, image_find_map() also accepts a mapping that is recorded later: that must not be one
 * of the next program.
 */
static bool other_program_next(const struct image_space *space, const struct image_between *b,
			       size_t end)
{
	return end < space->nr_changes && !space->changes[end].image &&
	       (!b->from_start || known_before(space, end));
}

static bool nothing_mapped(struct image_space *space, size_t nr_changes, uint64_t addr)
{
	struct image_view *view = image_space_view(space, nr_changes);
	bool nothing = !view || !image_view_find(view, addr);

	image_view_put(view);
	return nothing;
}

/* Whether the code at e->addr at the start of the interval, if any, is that of 'now'. */
static bool same_as_first(struct image_space *space, size_t nr_changes, const struct image_map *now,
			  struct extent *e)
{
	struct image_view *view = image_space_view(space, nr_changes);
	bool same = true;

	if (!view)
		return false;
	for (size_t i = 0; i < view->nr; i++) {
		const struct image_map *map = &view->maps[i];

		cut_extent(e, map->start);
		cut_extent(e, map->end);
		if (covers(map, e->addr))
			same = now && same_code(map, now);
	}
	image_view_put(view);
	return same;
}

static bool has_override(const struct auxtap_image_set *set, uint64_t addr)
{
	for (size_t i = 0; i < set->nr_override; i++)
		if (covers(&set->override_maps[i], addr))
			return true;
	return false;
}

/* Whether e->addr has certain code; shortens e. The caller holds the set's lock. */
static bool is_certain(struct auxtap_image_set *set, const struct image_between *b,
		       struct extent *e)
{
	struct image_space *space = image_space_get(set, b->pid, false);
	const struct image_map *now;
	size_t first, end;

	if (!space || has_override(set, e->addr))
		return true;
	first = image_space_changes_until(space, b->since);
	end = image_space_changes_until(space, b->until);
	if (other_program_next(space, b, end) && nothing_mapped(space, end, e->addr))
		return false;
	if (first >= end)
		return true;
	now = image_find_map(set, b->pid, b->until, e->addr);
	if (!same_as_first(space, first, now, e))
		return false;
	for (size_t i = first; i < end; i++) {
		const struct image_map *map = &space->changes[i];

		if (!map->image) {
			if (!b->from_start && !known_before(space, i))
				return false;
			continue;
		}
		cut_extent(e, map->start);
		cut_extent(e, map->end);
		if (covers(map, e->addr) && !(now && same_code(map, now)))
			return false;
	}
	return true;
}

uint32_t image_set_bytes_unchanged(struct auxtap_image_set *set, const struct image_between *b,
				   uint64_t addr, uint32_t size)
{
	struct extent e = {addr, size};
	bool certain;

	if (addr >> 63)
		return size; /* kernel code does not change */
	pthread_mutex_lock(&set->lock);
	certain = is_certain(set, b, &e);
	pthread_mutex_unlock(&set->lock);
	return certain ? e.size : 0;
}

bool image_set_may_have_changed(struct auxtap_image_set *set, const struct image_between *b)
{
	struct image_space *space;
	bool changed = false;
	size_t end;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, b->pid, false);
	if (space) {
		end = image_space_changes_until(space, b->until);
		changed = image_space_changes_until(space, b->since) < end ||
			  other_program_next(space, b, end);
	}
	pthread_mutex_unlock(&set->lock);
	return changed;
}

bool image_set_had_other_code(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr)
{
	const struct image_map *now;
	struct image_space *space;
	bool found = false;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, false);
	now = space ? image_find_map(set, pid, time, addr) : NULL;
	for (size_t i = now ? image_space_changes_until(space, time) : 0; i && !found; i--) {
		const struct image_map *map = &space->changes[i - 1];

		if (!map->image)
			break;
		/*
		 * The dynamic linker first maps a whole library, then its segments over that. Code
		 * that the program generates has an image of its own, in place of the mapping's.
		 */
		found = addr >= map->start && addr < map->end && map->image != now->image &&
			!(now->is_generated_code && image_map_is_anonymous(map));
	}
	pthread_mutex_unlock(&set->lock);
	return found;
}

size_t image_set_exec_times(struct auxtap_image_set *set, const struct image_between *b,
			    uint64_t *times, size_t max)
{
	struct image_space *space;
	size_t nr = 0;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, b->pid, false);
	for (size_t i = space ? image_space_changes_until(space, b->since) : 0;
	     space && i < space->nr_changes; i++) {
		if (space->changes[i].time > b->until)
			break;
		if (space->changes[i].image)
			continue;
		if (nr < max)
			times[nr] = space->changes[i].time;
		nr++;
	}
	pthread_mutex_unlock(&set->lock);
	return nr;
}

/* Whether addr is the file's ELF entry point. */
static bool is_entry_of(const struct image_map *map, uint64_t addr)
{
	const struct auxtap_image *image = map->image;
	uint64_t entry = image->is_elf ? image_elf_entry(image->data, image->size) : 0, off, left;

	return entry && !image_vaddr_to_off(image, entry, &off, &left) &&
	       addr - map->start == off - map->pgoff;
}

bool image_set_is_entry(struct auxtap_image_set *set, const struct image_between *b, uint64_t addr)
{
	struct image_space *space;
	bool found = false, after = false;
	size_t i = 0;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, b->pid, false);
	if (space)
		i = image_space_changes_until(space, b->since);
	for (; space && !found && i < space->nr_changes; i++) {
		const struct image_map *map = &space->changes[i];

		if (!map->image) {
			if (map->time > b->until)
				break;
			after = true;
		} else if (after) {
			found = covers(map, addr) && is_entry_of(map, addr);
		}
	}
	pthread_mutex_unlock(&set->lock);
	return found;
}
