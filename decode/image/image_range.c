// SPDX-License-Identifier: BSD-2-Clause
/*
 * How far an answer holds: the addresses and times around one for which image and symbol are the
 * same. Who asks for many addresses looks up each range once.
 */
#include "util/sized.h"
#include "packed.h"

#define KERNEL_HALF (1ull << 63)

/* addr lies in [start, end); a boundary there ends what is known of the range. */
struct bounds {
	uint64_t addr, start, end;
};

static void cut(struct bounds *b, uint64_t boundary)
{
	if (boundary <= b->addr) {
		if (b->start < boundary)
			b->start = boundary;
	} else if (b->end > boundary) {
		b->end = boundary;
	}
}

/* The map that holds at addr, or those beside the hole that it lies in. */
static void cut_by_maps(struct image_space *space, size_t epoch, struct bounds *b)
{
	struct image_view *view = image_space_view(space, epoch);
	size_t lo = 0, hi;
	bool mapped;

	if (!view) { /* no memory: nothing is known beside addr */
		cut(b, b->addr);
		cut(b, b->addr + 1);
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
		cut(b, view->maps[lo - 1].end);
	if (lo < view->nr) {
		cut(b, view->maps[lo].start);
		cut(b, view->maps[lo].end);
	}
	image_view_put(view);
	/* what will be mapped later, before the next exec, counts where nothing is */
	for (size_t i = epoch; !mapped && i < space->nr_changes; i++) {
		const struct image_map *map = &space->changes[i];

		if (!map->image && i > epoch)
			break;
		cut(b, map->start);
		cut(b, map->end);
		mapped = map->image && b->addr >= map->start && b->addr < map->end;
	}
}

/* An ELF address goes along with addr as far as the file's segments do. */
static void cut_by_segments(const struct image_map *map, struct bounds *b)
{
	uint64_t base = map->start - map->pgoff; /* addr less this: the file's offset */

	for (unsigned int i = 0; i < map->image->nr_loads; i++) {
		const struct image_load *load = &map->image->loads[i];
		uint64_t end = load->off + load->filesz;

		cut(b, base + load->off);
		cut(b, base + end);
		cut(b, base + (load->off & ~4095ull));
		cut(b, base + ((end + 4095) & ~4095ull));
	}
}

static void look(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
		 struct auxtap_range *range)
{
	const struct image_map *map = image_lookup(set, pid, time, addr);
	bool kernel = addr >= KERNEL_HALF;
	struct bounds b = {addr, kernel ? KERNEL_HALF : 0, kernel ? UINT64_MAX : KERNEL_HALF};
	struct image_space *space = image_space_get(set, kernel ? IMAGE_KERNEL_PID : pid, false);
	struct image_code_range code;

	range->time_begin = 0;
	range->time_last = UINT64_MAX;
	if (space) {
		size_t epoch = image_space_epoch(space, time);

		if (epoch)
			range->time_begin = space->changes[epoch - 1].time;
		if (epoch < space->nr_changes)
			range->time_last = space->changes[epoch].time - 1;
		cut_by_maps(space, epoch, &b);
		image_code_range(space, time, addr, &code);
		cut(&b, code.start);
		cut(&b, code.end);
		if (range->time_begin < code.time_begin)
			range->time_begin = code.time_begin;
		if (range->time_last > code.time_last)
			range->time_last = code.time_last;
	}
	/* these come before and after the space's; there are few */
	for (size_t i = 0; i < set->nr_raw; i++) {
		cut(&b, set->raw[i].start);
		cut(&b, set->raw[i].end);
	}
	if (set->nr_spare) { /* whether the bytes are there matters, too */
		cut(&b, addr);
		cut(&b, addr + 1);
	}
	range->image = NULL;
	range->symbol = NULL;
	if (map) {
		const struct image_symbol *sym = NULL;
		uint64_t vaddr = image_map_vaddr(map, addr), start, end;

		range->image = map->image->name;
		image_use_name(map->image, vaddr, 1);
		range->image_base = addr - vaddr;
		if (map->image->is_elf && !map->by_vaddr)
			cut_by_segments(map, &b);
		/* a module's file knows its symbols by section, not by place */
		if (map->image->data && !map->image->is_rel) {
			sym = image_symbol_range(map->image, vaddr, &start, &end);
			if (vaddr - start < addr - b.start)
				b.start = addr - (vaddr - start);
			if (end - vaddr < b.end - addr)
				b.end = addr + (end - vaddr);
		}
		if (sym) {
			range->symbol = image_symbol_name(map->image, sym);
			range->symbol_base = addr - (vaddr - sym->start);
		}
	}
	range->start = b.start;
	range->end = b.end;
}

int auxtap_image_set_range(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			   struct auxtap_range *range)
{
	struct auxtap_range known = {.size = sizeof(known)};
	int ret = sized_check(range, sizeof(known), SIZED_UP_TO(struct auxtap_range, symbol_base),
			      "struct auxtap_range", NULL);

	if (ret)
		return ret;
	pthread_mutex_lock(&set->lock);
	look(set, pid, time, addr, &known);
	pthread_mutex_unlock(&set->lock);
	sized_give(range, &known, sizeof(known));
	return 0;
}
