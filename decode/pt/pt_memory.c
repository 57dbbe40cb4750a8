// SPDX-License-Identifier: BSD-2-Clause
/* See pt_memory.h. */
#include "pt_memory.h"

#include <stdio.h>
#include <string.h>

void pt_memory_init(struct pt_memory *mem, struct auxtap_image_set *set)
{
	memset(mem, 0, sizeof(*mem));
	mem->set = set;
}

bool pt_memory_readable(struct pt_memory *mem, uint64_t ip, bool count)
{
	const struct image_map *map;
	const uint8_t *bytes = NULL;
	size_t left;

	pthread_mutex_lock(&mem->set->lock);
	map = image_find_map(mem->set, mem->pid, mem->time, ip);
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

/* ---- files ---- */

static size_t epoch_of(struct auxtap_image_set *set, pid_t pid, uint64_t time)
{
	struct image_space *space = image_space_get(set, pid, false);

	return space ? image_space_changes_until(space, time) : 0;
}

uint64_t pt_memory_code_since(struct pt_memory *mem, uint64_t addr, uint64_t size)
{
	uint64_t since = mem->code ? image_code_since(mem->code, addr, size) : 0;
	const struct image_map *map;

	if (pt_memory_is_valid_since(mem, since))
		return since;
	/* before or after the process generated code there, a file may be mapped at addr */
	pthread_mutex_lock(&mem->set->lock);
	map = image_find_map(mem->set, mem->pid, mem->time, addr);
	if (map && !map->is_generated_code && !image_map_is_anonymous(map))
		since = 0;
	pthread_mutex_unlock(&mem->set->lock);
	return since;
}

struct pt_epoch pt_memory_epoch(struct pt_memory *mem)
{
	const struct image_space *space = image_space_get(mem->set, mem->pid, false);

	mem->code = space ? image_code_of(space) : NULL;
	return (struct pt_epoch){.pid = mem->pid,
				 .user = epoch_of(mem->set, mem->pid, mem->time),
				 .kernel = epoch_of(mem->set, IMAGE_KERNEL_PID, mem->time)};
}

struct file_visitor {
	void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size, uint64_t addr);
	void *ctx;
};

static void visit_map(const struct file_visitor *to, const struct image_map *map)
{
	const struct auxtap_image *file = map->image;
	uint64_t size = map->end - map->start;

	if (!file->data || !file->mapped || file->is_rel || file->packed)
		return;
	if (map->is_kernel_image) {
		for (unsigned int i = 0; i < file->nr_loads; i++) {
			const struct image_load *load = &file->loads[i];
			uint64_t addr = load->vaddr + (uint64_t)file->kernel_bias;

			if (load->exec && addr >= map->start && addr < map->end)
				to->fn(to->ctx, file->path, load->off, load->filesz, addr);
		}
		return;
	}
	if (map->pgoff >= file->size)
		return;
	if (size > file->size - map->pgoff)
		size = file->size - map->pgoff;
	to->fn(to->ctx, file->path, map->pgoff, size, map->start);
}

static void visit_space(const struct file_visitor *to, struct auxtap_image_set *set, pid_t pid,
			size_t epoch)
{
	struct image_space *space = image_space_get(set, pid, false);
	struct image_view *view = space ? image_space_view(space, epoch) : NULL;
	const struct image_code *code = space ? image_code_of(space) : NULL;

	for (size_t i = 0; view && i < view->nr; i++) {
		visit_map(to, &view->maps[i]);
		if (code)
			image_code_each_part(code, &view->maps[i], to->fn, to->ctx);
	}
	image_view_put(view);
}

/* In the order of image_find_map(). */
void pt_memory_each_file(struct auxtap_image_set *set, const struct pt_epoch *epoch,
			 void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size,
				    uint64_t addr),
			 void *ctx)
{
	const struct file_visitor to = {fn, ctx};

	for (size_t i = 0; i < set->nr_fallback; i++)
		visit_map(&to, &set->fallback_maps[i]);
	visit_space(&to, set, IMAGE_KERNEL_PID, epoch->kernel);
	visit_space(&to, set, epoch->pid, epoch->user);
	for (size_t i = 0; i < set->nr_override; i++)
		visit_map(&to, &set->override_maps[i]);
}
