// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a debugger needs from the images of a process: their mappings, the whole files, and the
 * bytes that the program cannot have changed. Records contain only mappings with code; the other
 * segments of a program or library have the same bias.
 */
#include "packed.h"

#include <string.h>

/*
 * The segment with code that is mapped. Its first and last page may contain bytes of other
 * segments: linkers let them share a page to save space in the file.
 */
static const struct image_load *code_segment(const struct image_map *map)
{
	uint64_t end = map->pgoff + (map->end - map->start);

	for (unsigned int i = 0; i < map->image->nr_loads; i++) {
		const struct image_load *load = &map->image->loads[i];

		if (load->exec && load->off < end && load->off + load->filesz > map->pgoff)
			return load;
	}
	return NULL;
}

/* *bias: run-time address minus ELF address. False: unknown. */
static bool map_bias(const struct image_map *map, uint64_t *bias)
{
	const struct image_load *load;

	if (!map->image->data || !map->image->is_elf || map->image->is_rel || map->is_kernel_image)
		return false;
	load = code_segment(map);
	*bias = load ? map->start - map->pgoff + load->off - load->vaddr :
		       map->start - image_map_vaddr(map, map->start);
	return true;
}

/* The bytes at addr, if they are in a read-only segment; NULL: they are not. */
static const uint8_t *segment_bytes(const struct image_map *map, uint64_t addr, size_t *left)
{
	const struct auxtap_image *image = map->image;
	uint64_t bias;

	if (!map_bias(map, &bias))
		return NULL;
	for (unsigned int i = 0; i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];
		uint64_t off = addr - bias - load->vaddr;

		if (load->write || addr - bias < load->vaddr || off >= load->filesz)
			continue;
		*left = (size_t)(load->filesz - off);
		if (image->packed && !image_packed_has(image, load->off + off, left))
			return NULL;
		return image->data + load->off + off;
	}
	return NULL;
}

static const uint8_t *constant_bytes(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				     uint64_t addr, size_t *left, struct auxtap_image **image)
{
	const struct image_map *map = image_find_map(set, pid, time, addr);
	struct image_space *space = image_space_get(set, pid, false);
	const uint8_t *bytes = NULL;
	struct image_view *view;

	*image = map ? map->image : NULL;
	if (map && map->is_generated_code)
		return NULL;
	if (map && !map->image->is_elf) /* a raw file from --image */
		return image_map_bytes(map, addr, left);
	if (map)
		return segment_bytes(map, addr, left);
	view = space ? image_space_view(space, image_space_changes_until(space, time)) : NULL;
	for (size_t i = 0; view && i < view->nr && !bytes; i++) {
		*image = view->maps[i].image;
		if (!*image) /* an exec */
			continue;
		bytes = segment_bytes(&view->maps[i], addr, left);
		/* up to the next mapping */
		for (size_t j = 0; bytes && j < view->nr; j++)
			if (view->maps[j].start > addr && view->maps[j].start - addr < *left)
				*left = (size_t)(view->maps[j].start - addr);
	}
	image_view_put(view);
	return bytes;
}

ssize_t image_constant_read(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			    void *buf, size_t size)
{
	size_t done = 0, left = 0;

	while (done < size) {
		struct auxtap_image *image;
		const uint8_t *bytes = constant_bytes(set, pid, time, addr + done, &left, &image);

		if (!bytes)
			break;
		if (left > size - done)
			left = size - done;
		if (bytes >= image->data && bytes < image->data + image->size)
			image_use_bytes(image, (uint64_t)(bytes - image->data), left);
		memcpy((uint8_t *)buf + done, bytes, left);
		done += left;
	}
	return (ssize_t)done;
}

ssize_t auxtap_image_set_read_constant(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				       uint64_t addr, void *buf, size_t size)
{
	ssize_t done;

	pthread_mutex_lock(&set->lock);
	done = image_constant_read(set, pid, time, addr, buf, size);
	pthread_mutex_unlock(&set->lock);
	return done;
}

int auxtap_image_set_bytes(const struct auxtap_image_set *set, size_t index, const void **data,
			   size_t *size)
{
	if (index >= set->nr_images)
		return -EINVAL;
	if (set->images[index]->state != AUXTAP_IMAGE_FOUND || !set->images[index]->data)
		return -ENOENT;
	*data = set->images[index]->data;
	*size = set->images[index]->size;
	return 0;
}

static size_t index_of_image(const struct auxtap_image_set *set, const struct auxtap_image *image)
{
	size_t i = 0;

	while (i < set->nr_images && set->images[i] != image)
		i++;
	return i;
}

int auxtap_image_set_mappings(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			      int (*fn)(void *ctx, const struct auxtap_mapping *mapping), void *ctx)
{
	struct image_space *space;
	struct image_view *view;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, false);
	view = space ? image_space_view(space, image_space_changes_until(space, time)) : NULL;
	if (space && !view)
		ret = -ENOMEM;
	for (size_t i = 0; view && i < view->nr && !ret; i++) {
		struct auxtap_mapping mapping = {.size = sizeof(mapping),
						 .start = view->maps[i].start,
						 .end = view->maps[i].end,
						 .image = index_of_image(set, view->maps[i].image)};

		mapping.has_bias = map_bias(&view->maps[i], &mapping.bias);
		pthread_mutex_unlock(&set->lock);
		ret = fn(ctx, &mapping);
		pthread_mutex_lock(&set->lock);
	}
	image_view_put(view);
	pthread_mutex_unlock(&set->lock);
	return ret;
}
