// SPDX-License-Identifier: BSD-2-Clause
/* Tracks which bytes of an image were read, and for which addresses names and lines were needed. */
#include "packed.h"
#include "util/vector.h"

#include <stdlib.h>

#define PAGE 4096ull

static bool use_begin(struct auxtap_image *image)
{
	size_t nr_names = image->size / IMAGE_USE_GRANULE / 64 + 1;
	size_t nr_pages = image->size / PAGE / 64 + 1;

	if (image->use)
		return true;
	if (!image->set || !image->set->tracks_use || !image->data)
		return false;
	image->use = calloc(1, sizeof(*image->use));
	if (!image->use)
		goto no_memory;
	image->use->nr_bytes = image->size;
	image->use->names = calloc(nr_names, sizeof(uint64_t));
	image->use->pages = calloc(nr_pages, sizeof(uint64_t));
	if (image->use->names && image->use->pages)
		return true;
	image_use_free(image);
no_memory:
	image->no_memory = true;
	return false;
}

static void set_bits(uint64_t *bits, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		bits[i / 64] |= 1ull << (i % 64);
}

void image_use_bytes(struct auxtap_image *image, uint64_t off, uint64_t size)
{
	if (!use_begin(image) || !size || off >= image->use->nr_bytes)
		return;
	if (size > image->use->nr_bytes - off)
		size = image->use->nr_bytes - off;
	set_bits(image->use->pages, off / PAGE, (off + size - 1) / PAGE);
}

void image_use_name(struct auxtap_image *image, uint64_t vaddr, uint64_t size)
{
	uint64_t off, left;

	/* a return address is looked up by the byte before it */
	if (!use_begin(image) || image_vaddr_to_off(image, vaddr - 1, &off, &left)) {
		if (!image->use || image_vaddr_to_off(image, vaddr, &off, &left))
			return;
	} else {
		size++;
	}
	size++;
	if (size > left)
		size = left;
	if (off >= image->use->nr_bytes)
		return;
	if (size > image->use->nr_bytes - off)
		size = image->use->nr_bytes - off;
	set_bits(image->use->names, off / IMAGE_USE_GRANULE, (off + size - 1) / IMAGE_USE_GRANULE);
}

bool image_use_has_name(const struct auxtap_image *image, uint64_t vaddr, uint64_t end)
{
	const struct image_use *use = image->use;

	for (unsigned int i = 0; use && i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];
		uint64_t from = vaddr > load->vaddr ? vaddr : load->vaddr;
		uint64_t to = end < load->vaddr + load->filesz ? end : load->vaddr + load->filesz;

		if (from >= to)
			continue;
		from = (from - load->vaddr + load->off) / IMAGE_USE_GRANULE;
		to = (to - 1 - load->vaddr + load->off) / IMAGE_USE_GRANULE;
		for (; from <= to && from <= use->nr_bytes / IMAGE_USE_GRANULE; from++)
			if (use->names[from / 64] & 1ull << (from % 64))
				return true;
	}
	return false;
}

void image_use_variable(struct auxtap_image *image, uint64_t vaddr)
{
	struct image_use *use;

	if (!use_begin(image) || image_use_has_variable(image, vaddr))
		return;
	use = image->use;
	if (vector_grow(use->variables, use->nr_variables, use->max_variables))
		image->no_memory = true;
	else
		use->variables[use->nr_variables++] = vaddr;
}

bool image_use_has_variable(const struct auxtap_image *image, uint64_t vaddr)
{
	for (size_t i = 0; image->use && i < image->use->nr_variables; i++)
		if (image->use->variables[i] == vaddr)
			return true;
	return false;
}

void image_use_free(struct auxtap_image *image)
{
	if (image->use) {
		free(image->use->variables);
		free(image->use->names);
		free(image->use->pages);
	}
	free(image->use);
	image->use = NULL;
}

void image_set_track_use(struct auxtap_image_set *set)
{
	set->tracks_use = true;
}

void image_set_note_executed(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			     uint64_t size)
{
	const struct image_map *map;
	const uint8_t *bytes;
	size_t left;

	pthread_mutex_lock(&set->lock);
	map = image_find_map(set, pid, time, addr);
	bytes = map ? image_map_bytes(map, addr, &left) : NULL;
	if (bytes) {
		if (left > size)
			left = size;
		image_use_bytes(map->image, (uint64_t)(bytes - map->image->data), left);
		image_use_name(map->image, image_map_vaddr(map, addr), left);
	}
	pthread_mutex_unlock(&set->lock);
}
