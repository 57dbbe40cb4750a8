// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap_image_set_range(): the addresses and times around one for which image and symbol are the
 * same. A caller with many addresses needs only one query for each range.
 */
#include "util/sized.h"
#include "packed.h"

#define KERNEL_HALF (1ull << 63)

/* The range [start, end) around addr; cut_bounds() shortens it to the boundary. */
struct bounds {
	uint64_t addr, start, end;
};

static void cut_bounds(struct bounds *b, uint64_t boundary)
{
	if (boundary <= b->addr) {
		if (b->start < boundary)
			b->start = boundary;
	} else if (b->end > boundary) {
		b->end = boundary;
	}
}

/* Cuts at the map that covers addr, or at the maps on both sides of it. */
static void cut_by_maps(struct image_space *space, size_t nr_changes, struct bounds *b)
{
	struct image_view *view = image_space_view(space, nr_changes);
	size_t lo = 0, hi;
	bool mapped;

	if (!view) { /* out of memory: the range is addr alone */
		cut_bounds(b, b->addr);
		cut_bounds(b, b->addr + 1);
		return;
	}
	for (hi = view->nr; lo < hi;) { /* the first that ends after addr */
		size_t mid = lo + (hi - lo) / 2;

		if (view->maps[mid].end > b->addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	mapped = lo < view->nr && view->maps[lo].start <= b->addr;
	if (lo)
		cut_bounds(b, view->maps[lo - 1].end);
	if (lo < view->nr) {
		cut_bounds(b, view->maps[lo].start);
		cut_bounds(b, view->maps[lo].end);
	}
	image_view_put(view);
	/* an unmapped addr belongs to a mapping recorded later, up to the next exec */
	for (size_t i = nr_changes; !mapped && i < space->nr_changes; i++) {
		const struct image_map *map = &space->changes[i];

		if (!map->image && i > nr_changes)
			break;
		cut_bounds(b, map->start);
		cut_bounds(b, map->end);
		mapped = map->image && b->addr >= map->start && b->addr < map->end;
	}
}

/* Between addr and ELF address the difference is constant only within a segment. */
static void cut_by_segments(const struct image_map *map, struct bounds *b)
{
	uint64_t base = map->start - map->pgoff; /* addr - base: file offset */

	for (unsigned int i = 0; i < map->image->nr_loads; i++) {
		const struct image_load *load = &map->image->loads[i];
		uint64_t end = load->off + load->filesz;

		cut_bounds(b, base + load->off);
		cut_bounds(b, base + end);
		cut_bounds(b, base + (load->off & ~4095ull));
		cut_bounds(b, base + ((end + 4095) & ~4095ull));
	}
}

static void find_map_range(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			   struct auxtap_range *range)
{
	const struct image_map *map = image_find_map(set, pid, time, addr);
	bool kernel = addr >= KERNEL_HALF;
	struct bounds b = {addr, kernel ? KERNEL_HALF : 0, kernel ? UINT64_MAX : KERNEL_HALF};
	struct image_space *space = image_space_get(set, kernel ? IMAGE_KERNEL_PID : pid, false);
	struct image_code_range code;

	range->time_begin = 0;
	range->time_last = UINT64_MAX;
	if (space) {
		size_t nr_changes = image_space_changes_until(space, time);

		if (nr_changes)
			range->time_begin = space->changes[nr_changes - 1].time;
		if (nr_changes < space->nr_changes)
			range->time_last = space->changes[nr_changes].time - 1;
		cut_by_maps(space, nr_changes, &b);
		image_code_range(space, time, addr, &code);
		cut_bounds(&b, code.start);
		cut_bounds(&b, code.end);
		if (range->time_begin < code.time_begin)
			range->time_begin = code.time_begin;
		if (range->time_last > code.time_last)
			range->time_last = code.time_last;
	}
	/* these maps have priority over, or come after, those of the space; they are few */
	for (size_t i = 0; i < set->nr_override; i++) {
		cut_bounds(&b, set->override_maps[i].start);
		cut_bounds(&b, set->override_maps[i].end);
	}
	if (set->nr_fallback) { /* it also depends on the bytes that the image has */
		cut_bounds(&b, addr);
		cut_bounds(&b, addr + 1);
	}
	range->image = NULL;
	range->symbol = NULL;
	if (map) {
		const struct image_symbol *sym = NULL;
		uint64_t vaddr = image_map_vaddr(map, addr), start, end;

		range->image = map->image->name;
		image_use_name(map->image, vaddr, 1);
		range->image_base = addr - vaddr;
		if (map->image->is_elf && !map->is_kernel_image)
			cut_by_segments(map, &b);
		/* in a module's file (ET_REL) symbols are relative to sections */
		if (map->image->data && !map->image->is_rel) {
			sym = image_symbol_range(map->image, vaddr, &start, &end);
			if (vaddr - start < addr - b.start)
				b.start = addr - (vaddr - start);
			if (end - vaddr < b.end - addr)
				b.end = addr + (end - vaddr);
		}
		if (sym) {
			range->symbol = image_symbol_name_in(set, pid, time, map, sym);
			range->symbol_base = addr - (vaddr - sym->start);
		}
	}
	range->start = b.start;
	range->end = b.end;
}

int auxtap_image_set_range(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			   struct auxtap_range *range)
{
	struct auxtap_range copy = {.size = sizeof(copy)};
	int ret = sized_check(range, sizeof(copy), SIZED_UP_TO(struct auxtap_range, symbol_base),
			      "struct auxtap_range", NULL);

	if (ret)
		return ret;
	pthread_mutex_lock(&set->lock);
	find_map_range(set, pid, time, addr, &copy);
	pthread_mutex_unlock(&set->lock);
	sized_copy_out(range, &copy, sizeof(copy));
	return 0;
}
