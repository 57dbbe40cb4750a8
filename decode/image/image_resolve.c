// SPDX-License-Identifier: BSD-2-Clause
/* Resolves addresses to functions and lines; information about images. */
#include "util/sized.h"
#include "packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int resolve(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
		   bool lines, struct auxtap_location *loc)
{
	const struct image_symbol *sym = NULL;
	const struct image_map *map;
	struct auxtap_frame *outer;

	loc->image = NULL;
	loc->image_off = 0;
	loc->nr_frames = 0;
	map = image_find_map(set, pid, time, addr);
	if (!map)
		return 0;
	loc->image = map->image->name;
	loc->image_off = image_map_vaddr(map, addr);
	image_use_name(map->image, loc->image_off, 1);
	/* in a module's file (ET_REL) symbols are relative to sections */
	if (map->image->data && !map->image->is_rel)
		sym = image_symbol_find(map->image, loc->image_off);
	if (lines && map->is_generated_code)
		loc->nr_frames = code_names_line(map->image, addr, &loc->frames[0]);
	else if (lines && map->image->path && map->image->mapped && map->image->is_elf &&
		 !map->image->is_rel)
		loc->nr_frames = image_lines_find(map->image, loc->image_off, loc->frames,
						  sizeof(loc->frames) / sizeof(loc->frames[0]));
	if (!loc->nr_frames) {
		memset(&loc->frames[0], 0, sizeof(loc->frames[0]));
		loc->nr_frames = 1;
	}
	outer = &loc->frames[loc->nr_frames - 1];
	if (sym) {
		/*
		 * The symbol table has the function's linkage name, which debug information may
		 * lack. But for a clone or a part of a function ("fill.constprop.0") the name in
		 * the source is used, as gdb and addr2line do.
		 */
		if (!outer->symbol || !strchr(sym->name, '.'))
			outer->symbol = image_symbol_name_in(set, pid, time, map, sym);
		outer->symbol_off = loc->image_off - sym->start;
		for (unsigned int i = 0; i < loc->nr_frames; i++)
			if (!loc->frames[i].symbol_off)
				loc->frames[i].symbol_off = loc->image_off - sym->start;
	}
	return 0;
}

uint64_t image_set_line_begin(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr)
{
	const struct image_map *map;
	uint64_t begin = 0, vaddr;

	pthread_mutex_lock(&set->lock);
	map = image_find_map(set, pid, time, addr);
	if (map && !map->is_generated_code && map->image->path && map->image->mapped &&
	    map->image->is_elf && !map->image->is_rel) {
		vaddr = image_map_vaddr(map, addr);
		begin = image_line_begin(map->image, vaddr);
		begin += begin ? addr - vaddr : 0;
	}
	pthread_mutex_unlock(&set->lock);
	return begin;
}

void image_set_entry_line(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			  struct auxtap_location *loc)
{
	struct auxtap_frame *frame = &loc->frames[loc->nr_frames - 1];
	const struct image_map *map;

	if (loc->nr_frames < 2 || frame->symbol_off || !frame->symbol)
		return;
	pthread_mutex_lock(&set->lock);
	map = image_find_map(set, pid, time, addr);
	if (map)
		image_entry_line(map->image, image_map_vaddr(map, addr), frame);
	pthread_mutex_unlock(&set->lock);
}

static int resolve_locked(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			  bool lines, struct auxtap_location *loc)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = resolve(set, pid, time, addr, lines, loc);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* The caller's struct auxtap_location may be that of another version. */
static int resolve_sized(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			 bool lines, struct auxtap_location *loc)
{
	struct auxtap_location *copy;
	int ret;

	if (loc->size == sizeof(*loc))
		return resolve_locked(set, pid, time, addr, lines, loc);
	ret = sized_check(loc, sizeof(*copy), SIZED_UP_TO(struct auxtap_location, frames),
			  "struct auxtap_location", NULL);
	if (ret)
		return ret;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	ret = resolve_locked(set, pid, time, addr, lines, copy);
	if (!ret)
		sized_copy_out(loc, copy, sizeof(*copy));
	free(copy);
	return ret;
}

int auxtap_image_set_resolve(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			     struct auxtap_location *loc)
{
	return resolve_sized(set, pid, time, addr, true, loc);
}

int auxtap_image_set_symbol(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			    struct auxtap_location *loc)
{
	return resolve_sized(set, pid, time, addr, false, loc);
}

struct auxtap_image *image_set_elf_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				      uint64_t addr, uint64_t *bias)
{
	const struct image_map *map = image_find_map(set, pid, time, addr);

	if (!map || !map->image->data || map->image->is_rel)
		return NULL;
	*bias = addr - image_map_vaddr(map, addr);
	return map->image;
}

bool image_set_find_range(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			  struct image_range *range)
{
	struct auxtap_image *image;
	bool found = false;
	uint64_t bias;

	pthread_mutex_lock(&set->lock);
	image = image_set_elf_at(set, pid, time, addr, &bias);
	if (image && image_eh_find(image, addr - bias, range)) {
		range->start += bias;
		range->end += bias;
		found = true;
	}
	pthread_mutex_unlock(&set->lock);
	return found;
}

uint64_t image_set_landing_pad(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			       uint64_t call)
{
	struct auxtap_image *image;
	uint64_t bias, pad = 0;

	pthread_mutex_lock(&set->lock);
	image = image_set_elf_at(set, pid, time, call, &bias);
	if (image)
		pad = image_eh_landing_pad(image, call - bias);
	pthread_mutex_unlock(&set->lock);
	return pad ? pad + bias : 0;
}

size_t auxtap_image_set_count(const struct auxtap_image_set *set)
{
	return set->nr_images;
}

int auxtap_image_set_info(const struct auxtap_image_set *set, size_t index,
			  struct auxtap_image_info *info)
{
	struct auxtap_image_info copy = {.size = sizeof(copy)};
	const struct auxtap_image *image;
	int ret = sized_check(info, sizeof(copy), SIZED_UP_TO(struct auxtap_image_info, changed),
			      "struct auxtap_image_info", NULL);

	if (ret)
		return ret;
	if (index >= set->nr_images)
		return -ENOENT;
	image = set->images[index];
	copy.name = image->name;
	copy.path = image->path;
	copy.state = image->state;
	copy.build_id_size = image->build_id_size;
	memcpy(copy.build_id, image->build_id, sizeof(copy.build_id));
	copy.found_build_id_size = image->found_build_id_size;
	memcpy(copy.found_build_id, image->found_build_id, sizeof(copy.found_build_id));
	if (!copy.build_id_size && image->state == AUXTAP_IMAGE_FOUND) {
		copy.build_id_size = image->found_build_id_size;
		memcpy(copy.build_id, image->found_build_id, sizeof(copy.build_id));
	}
	copy.nr_insns = image->nr_insns;
	copy.nr_gaps = image->nr_gaps;
	copy.changed = image->changed && image->state == AUXTAP_IMAGE_DIFFERENT;
	copy.denied = image->denied && image->state == AUXTAP_IMAGE_MISSING;
	sized_copy_out(info, &copy, sizeof(copy));
	return 0;
}
