// SPDX-License-Identifier: BSD-2-Clause
/* The image store by address: functions and lines of it; and what is known of each image.
 */
#include "image_private.h"

#include <errno.h>
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
	map = image_lookup(set, pid, time, addr);
	if (!map)
		return 0;
	loc->image = map->image->name;
	loc->image_off = image_map_vaddr(map, addr);
	/* a module's file knows its symbols by section, not by place */
	if (map->image->data && !map->image->is_rel)
		sym = image_symbol_find(map->image, loc->image_off);
	if (lines && map->image->path && map->image->mapped && map->image->is_elf &&
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
		 * The symbol table names the function itself: debug information may not
		 * know it by linkage name. But what the compiler calls a clone or a part
		 * of a function
		 * ("fill.constprop.0") is the source's function, as gdb and addr2line
		 * say.
		 */
		if (!outer->symbol || !strchr(sym->name, '.'))
			outer->symbol = image_symbol_name(map->image, sym);
		outer->symbol_off = loc->image_off - sym->start;
		for (unsigned int i = 0; i < loc->nr_frames; i++)
			if (!loc->frames[i].symbol_off)
				loc->frames[i].symbol_off = loc->image_off - sym->start;
	}
	return 0;
}

int auxtap_image_set_resolve(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			     struct auxtap_location *loc)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = resolve(set, pid, time, addr, true, loc);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_symbol(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			    struct auxtap_location *loc)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = resolve(set, pid, time, addr, false, loc);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* The image with code of an ELF file at addr; *move: from its addresses to those at run time. */
static const struct auxtap_image *elf_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					 uint64_t addr, uint64_t *move)
{
	const struct image_map *map = image_lookup(set, pid, time, addr);

	if (!map || !map->image->data || map->image->is_rel)
		return NULL;
	*move = addr - image_map_vaddr(map, addr);
	return map->image;
}

bool auxtap_image_set_eh(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			 struct image_range *range)
{
	const struct auxtap_image *image;
	bool found = false;
	uint64_t move;

	pthread_mutex_lock(&set->lock);
	image = elf_at(set, pid, time, addr, &move);
	if (image && image_eh_find(image, addr - move, range)) {
		range->start += move;
		range->end += move;
		found = true;
	}
	pthread_mutex_unlock(&set->lock);
	return found;
}

uint64_t auxtap_image_set_landing_pad(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				      uint64_t call)
{
	const struct auxtap_image *image;
	uint64_t move, pad = 0;

	pthread_mutex_lock(&set->lock);
	image = elf_at(set, pid, time, call, &move);
	if (image)
		pad = image_eh_landing_pad(image, call - move);
	pthread_mutex_unlock(&set->lock);
	return pad ? pad + move : 0;
}

size_t auxtap_image_set_count(const struct auxtap_image_set *set)
{
	return set->nr_images;
}

int auxtap_image_set_info(const struct auxtap_image_set *set, size_t index,
			  struct auxtap_image_info *info)
{
	const struct auxtap_image *image;

	if (index >= set->nr_images)
		return -ENOENT;
	image = set->images[index];
	memset(info, 0, sizeof(*info));
	info->name = image->name;
	info->path = image->path;
	info->state = image->state;
	info->build_id_size = image->build_id_size;
	memcpy(info->build_id, image->build_id, sizeof(info->build_id));
	info->found_build_id_size = image->found_build_id_size;
	memcpy(info->found_build_id, image->found_build_id, sizeof(info->found_build_id));
	if (!info->build_id_size && image->state == AUXTAP_IMAGE_FOUND) {
		info->build_id_size = image->found_build_id_size;
		memcpy(info->build_id, image->found_build_id, sizeof(info->build_id));
	}
	info->nr_insns = image->nr_insns;
	info->nr_gaps = image->nr_gaps;
	info->changed = image->changed && image->state == AUXTAP_IMAGE_DIFFERENT;
	info->denied = image->denied && image->state == AUXTAP_IMAGE_MISSING;
	return 0;
}
