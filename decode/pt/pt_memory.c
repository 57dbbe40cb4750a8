// SPDX-License-Identifier: BSD-2-Clause
/*
 * See pt_memory.h. Files go in as sections (libipt then caches decoded blocks); what is not
 * a file (a saved vdso), or mapped a little later than the trace's clock says, is read
 * through a callback.
 */
#include "pt_memory.h"

#include <stdio.h>
#include <string.h>

/* libipt's block cache takes 4 bytes a byte of section: small ones keep it in proportion. */
#define SECTION_MAX (1ull << 20)

void pt_memory_init(struct pt_memory *mem, struct auxtap_image_set *set,
		    struct pt_image_section_cache *sections)
{
	memset(mem, 0, sizeof(*mem));
	mem->set = set;
	mem->sections = sections;
}

void pt_memory_free(struct pt_memory *mem)
{
	for (unsigned int i = 0; i < PT_MEMORY_EPOCHS; i++) {
		if (mem->epochs[i].image)
			pt_image_free(mem->epochs[i].image);
		mem->epochs[i].image = NULL;
	}
}

static int read_callback(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
			 void *context)
{
	struct pt_memory *mem = context;
	ssize_t got = auxtap_image_set_read(mem->set, mem->pid, mem->time, ip, buffer, size);

	(void)asid;
	return got > 0 ? (int)got : -pte_nomap;
}

static void add_file(struct pt_memory *mem, struct pt_image *image, const char *path, uint64_t off,
		     uint64_t size, uint64_t addr)
{
	while (size) {
		uint64_t part = size < SECTION_MAX ? size : SECTION_MAX;
		int isid = pt_iscache_add_file(mem->sections, path, off, part, addr);

		/* What cannot be added is read through the callback. */
		if (isid > 0)
			pt_image_add_cached(image, mem->sections, isid, NULL);
		off += part;
		addr += part;
		size -= part;
	}
}

static void add_map(struct pt_memory *mem, struct pt_image *image, const struct image_map *map)
{
	const struct auxtap_image *file = map->image;
	uint64_t size = map->end - map->start;

	if (!file->data || !file->mapped || file->is_rel)
		return;
	if (map->by_vaddr) {
		for (unsigned int i = 0; i < file->nr_loads; i++) {
			const struct image_load *load = &file->loads[i];
			uint64_t addr = load->vaddr + (uint64_t)file->slide;

			if (load->exec && addr >= map->start && addr < map->end)
				add_file(mem, image, file->path, load->off, load->filesz, addr);
		}
		return;
	}
	if (map->pgoff >= file->size)
		return;
	if (size > file->size - map->pgoff)
		size = file->size - map->pgoff;
	add_file(mem, image, file->path, map->pgoff, size, map->start);
}

static size_t epoch_of(struct auxtap_image_set *set, pid_t pid, uint64_t time)
{
	struct image_space *space = image_space_get(set, pid, false);

	return space ? image_space_epoch(space, time) : 0;
}

static void add_space(struct pt_memory *mem, struct pt_image *image, pid_t pid, size_t epoch)
{
	struct image_space *space = image_space_get(mem->set, pid, false);
	struct image_view *view = space ? image_space_view(space, epoch) : NULL;

	for (size_t i = 0; view && i < view->nr; i++)
		add_map(mem, image, &view->maps[i]);
	image_view_put(view);
}

struct pt_image *pt_memory_image(struct pt_memory *mem, pid_t pid, uint64_t time)
{
	struct pt_memory_epoch *slot = &mem->epochs[0];
	size_t user, kernel;

	mem->pid = pid;
	mem->time = time;
	pthread_mutex_lock(&mem->set->lock);
	user = epoch_of(mem->set, pid, time);
	kernel = epoch_of(mem->set, IMAGE_KERNEL_PID, time);
	for (unsigned int i = 0; i < PT_MEMORY_EPOCHS; i++) {
		struct pt_memory_epoch *epoch = &mem->epochs[i];

		if (epoch->image && epoch->pid == pid && epoch->user == user &&
		    epoch->kernel == kernel) {
			epoch->used = ++mem->clock;
			pthread_mutex_unlock(&mem->set->lock);
			return epoch->image;
		}
		if (epoch->used < slot->used)
			slot = epoch;
	}
	if (slot->image)
		pt_image_free(slot->image);
	slot->image = pt_image_alloc(NULL);
	if (slot->image) {
		slot->pid = pid;
		slot->user = user;
		slot->kernel = kernel;
		slot->used = ++mem->clock;
		/* what comes later hides what was there: the order of image_lookup() */
		for (size_t i = 0; i < mem->set->nr_spare; i++)
			add_map(mem, slot->image, &mem->set->spare[i]);
		add_space(mem, slot->image, IMAGE_KERNEL_PID, kernel);
		add_space(mem, slot->image, pid, user);
		for (size_t i = 0; i < mem->set->nr_raw; i++)
			add_map(mem, slot->image, &mem->set->raw[i]);
		pt_image_set_callback(slot->image, read_callback, mem);
	}
	pthread_mutex_unlock(&mem->set->lock);
	return slot->image;
}

bool pt_memory_readable(struct pt_memory *mem, uint64_t ip, bool count)
{
	const struct image_map *map;
	const uint8_t *bytes = NULL;
	size_t left;

	pthread_mutex_lock(&mem->set->lock);
	map = image_lookup(mem->set, mem->pid, mem->time, ip);
	if (map)
		bytes = image_map_bytes(map, ip, &left);
	if (!bytes) {
		mem->fault_ip = ip;
		mem->fault_mapped = map != NULL;
		mem->fault_image[0] = '\0';
		if (map)
			snprintf(mem->fault_image, sizeof(mem->fault_image), "%s",
				 map->image->name);
		if (map && count)
			map->image->nr_gaps++;
	}
	pthread_mutex_unlock(&mem->set->lock);
	return bytes != NULL;
}

void pt_memory_count(struct pt_memory *mem, uint64_t ip, uint64_t nr_insns)
{
	const struct image_map *map;

	pthread_mutex_lock(&mem->set->lock);
	map = image_lookup(mem->set, mem->pid, mem->time, ip);
	if (map)
		map->image->nr_insns += nr_insns;
	pthread_mutex_unlock(&mem->set->lock);
}
