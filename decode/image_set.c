// SPDX-License-Identifier: BSD-2-Clause
/* The public face of the image store (include/auxtap/image.h): who maps what, reading, resolving. */
#include "image_private.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *s)
{
	return s && *s ? strdup(s) : NULL;
}

int auxtap_image_set_new(struct auxtap_image_set **set_out,
			 const struct auxtap_image_set_opts *opts, struct auxtap_error *err)
{
	struct auxtap_image_set *set = calloc(1, sizeof(*set));

	if (!set)
		return auxtap_error_set(err, -ENOMEM, "images", "out of memory");
	if (opts && opts->size >= sizeof(*opts)) {
		set->sysroot = copy(opts->sysroot);
		set->vmlinux = copy(opts->vmlinux);
		set->kcore = copy(opts->kcore);
	}
	pthread_mutex_init(&set->lock, NULL);
	*set_out = set;
	return 0;
}

static void image_free(struct auxtap_image *image)
{
	if (!image)
		return;
	image_lines_free(image);
	image_symbols_free(image);
	image_file_close(image);
	free(image->name);
	free(image->path);
	free(image);
}

void auxtap_image_set_free(struct auxtap_image_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->nr_spaces; i++)
		image_space_free(set->spaces[i]);
	for (size_t i = 0; i < set->nr_images; i++)
		image_free(set->images[i]);
	for (size_t i = 0; i < set->nr_ids; i++)
		free(set->ids[i].name);
	if (set->capstone_open)
		cs_close(&set->capstone);
	free(set->spaces);
	free(set->images);
	free(set->image_hash);
	free(set->raw);
	free(set->ids);
	free(set->sysroot);
	free(set->vmlinux);
	free(set->kcore);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* ---- the list of images, found by name and build-id ---- */

static size_t name_hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3ull;
	return (size_t)(h ^ (h >> 32));
}

static int hash_grow(struct auxtap_image_set *set)
{
	size_t size = set->image_hash_size ? set->image_hash_size * 2 : 64;
	size_t *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return -ENOMEM;
	for (size_t i = 0; i < set->nr_images; i++) {
		size_t at = name_hash(set->images[i]->name) & (size - 1);

		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i + 1;
	}
	free(set->image_hash);
	set->image_hash = hash;
	set->image_hash_size = size;
	return 0;
}

static struct auxtap_image *image_add(struct auxtap_image_set *set, const char *name,
				      const uint8_t *id, unsigned int id_size)
{
	struct auxtap_image *image;
	size_t at;

	if (set->nr_images == set->max_images) {
		size_t max = set->max_images ? set->max_images * 2 : 16;
		struct auxtap_image **grown = realloc(set->images, max * sizeof(*grown));

		if (!grown)
			return NULL;
		set->images = grown;
		set->max_images = max;
	}
	if (set->nr_images * 2 >= set->image_hash_size && hash_grow(set))
		return NULL;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	image->set = set;
	image->name = strdup(name);
	if (!image->name) {
		free(image);
		return NULL;
	}
	if (id_size) {
		memcpy(image->build_id, id, id_size);
		image->build_id_size = (uint8_t)id_size;
	}
	set->images[set->nr_images++] = image;
	at = name_hash(name) & (set->image_hash_size - 1);
	while (set->image_hash[at])
		at = (at + 1) & (set->image_hash_size - 1);
	set->image_hash[at] = set->nr_images;
	return image;
}

static struct auxtap_image *image_known(struct auxtap_image_set *set, const char *name,
					const uint8_t *id, unsigned int id_size)
{
	size_t at;

	if (!set->image_hash_size)
		return NULL;
	at = name_hash(name) & (set->image_hash_size - 1);
	for (; set->image_hash[at]; at = (at + 1) & (set->image_hash_size - 1)) {
		struct auxtap_image *image = set->images[set->image_hash[at] - 1];

		if (strcmp(image->name, name))
			continue;
		if (image->build_id_size == id_size &&
		    !memcmp(image->build_id, id, id_size))
			return image;
	}
	return NULL;
}

struct auxtap_image *image_get(struct auxtap_image_set *set, const char *name,
			       const uint8_t *id, unsigned int id_size)
{
	static const uint8_t none[20];
	struct auxtap_image *image;

	if (id_size > 20)
		id_size = 20;
	for (size_t i = 0; !id_size && i < set->nr_ids; i++) {
		if (strcmp(set->ids[i].name, name))
			continue;
		id = set->ids[i].id;
		id_size = set->ids[i].size;
	}
	image = image_known(set, name, id_size ? id : none, id_size);
	if (image)
		return image;
	image = image_add(set, name, id, id_size);
	if (image)
		image_find(set, image);
	return image;
}

int auxtap_image_set_known_id(struct auxtap_image_set *set, const char *name,
			      const uint8_t *id, unsigned int size)
{
	struct image_known_id *grown;
	int ret = -ENOMEM;

	if (!size || size > 20)
		return -EINVAL;
	pthread_mutex_lock(&set->lock);
	grown = realloc(set->ids, (set->nr_ids + 1) * sizeof(*grown));
	if (grown) {
		struct image_known_id *known = &grown[set->nr_ids];

		set->ids = grown;
		memset(known, 0, sizeof(*known));
		memcpy(known->id, id, size);
		known->size = (uint8_t)size;
		known->name = strdup(name);
		if (known->name) {
			set->nr_ids++;
			ret = 0;
		}
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_note(struct auxtap_image_set *set, const char *name, const void *data,
			  size_t size)
{
	static const uint8_t none[20];
	struct auxtap_image *image;
	uint8_t *bytes;
	int ret = -ENOMEM;

	pthread_mutex_lock(&set->lock);
	image = image_known(set, name, none, 0);
	if (!image)
		image = image_add(set, name, NULL, 0);
	bytes = image && !image->data && size ? malloc(size) : NULL;
	if (bytes) {
		memcpy(bytes, data, size);
		ret = image_file_adopt(image, bytes, size);
		image->state = AUXTAP_IMAGE_FOUND;
		if (!image->path)
			image->path = strdup("(saved with the trace)");
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- mappings ---- */

int auxtap_image_set_map(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			 uint64_t len, uint64_t pgoff, const char *name,
			 const uint8_t *build_id, unsigned int build_id_size)
{
	struct image_map map = {.time = time, .start = addr, .end = addr + len, .pgoff = pgoff};
	struct image_space *space;
	int ret = -ENOMEM;

	if (!len)
		return 0;
	if (map.end < addr)
		map.end = UINT64_MAX;
	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, true);
	map.image = image_get(set, name, build_id, build_id_size);
	if (space && map.image)
		ret = image_space_add(space, &map);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/*
 * perf records a reference symbol, the kernel's first (_text, else _stext), in the mapping's
 * name and its address as pgoff. vmlinux has it at the start of its first code segment; the
 * difference is how far the kernel was moved at boot, whole pages. kcore needs no correction.
 */
static void set_slide(struct auxtap_image_set *set, struct auxtap_image *image, uint64_t ref)
{
	const char *symbol = strchr(image->name, ']');

	if (!image->data || !image->path || !set->vmlinux || strcmp(image->path, set->vmlinux) ||
	    !symbol || (strcmp(symbol + 1, "_text") && strcmp(symbol + 1, "_stext")))
		return;
	for (unsigned int i = 0; i < image->nr_loads; i++) {
		if (!image->loads[i].exec)
			continue;
		if (!((ref - image->loads[i].vaddr) & 4095))
			image->slide = (int64_t)(ref - image->loads[i].vaddr);
		return;
	}
}

int auxtap_image_set_kernel_map(struct auxtap_image_set *set, uint64_t time, uint64_t addr,
				uint64_t len, uint64_t pgoff, const char *name,
				const uint8_t *id, unsigned int id_size)
{
	bool kernel = !strncmp(name, "[kernel", 7);
	struct auxtap_image *image;

	if (kernel) {
		pthread_mutex_lock(&set->lock);
		image = image_get(set, name, id, id_size);
		if (image)
			set_slide(set, image, pgoff);
		pthread_mutex_unlock(&set->lock);
	}
	return auxtap_image_set_map(set, IMAGE_KERNEL_PID, time, addr, len,
				    kernel ? addr : pgoff, name, id, id_size);
}

int auxtap_image_set_exec(struct auxtap_image_set *set, pid_t pid, uint64_t time)
{
	struct image_map map = {.time = time};
	struct image_space *space;
	int ret = -ENOMEM;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, true);
	if (space)
		ret = image_space_add(space, &map);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_fork(struct auxtap_image_set *set, pid_t parent, pid_t child,
			  uint64_t time)
{
	struct image_space *from, *to;
	struct image_view *view;
	int ret = 0;

	if (parent == child)
		return 0;
	pthread_mutex_lock(&set->lock);
	from = image_space_get(set, parent, false);
	if (!from)
		goto out;
	view = image_space_view(from, image_space_epoch(from, time));
	to = image_space_get(set, child, true);
	if (!view || !to)
		ret = -ENOMEM;
	for (size_t i = 0; !ret && i < view->nr; i++) {
		struct image_map map = view->maps[i];

		map.time = time;
		ret = image_space_add(to, &map);
	}
	image_view_put(view);
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
}

static int raw_add(struct auxtap_image_set *set, struct auxtap_image *image, uint64_t off,
		   uint64_t len, uint64_t addr)
{
	struct image_map *grown;

	grown = realloc(set->raw, (set->nr_raw + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->raw = grown;
	grown[set->nr_raw++] = (struct image_map){
		.start = addr, .end = addr + len, .pgoff = off, .image = image};
	return 0;
}

/*
 * Where the ELF addresses of a whole file go: the page of its first segment to addr. An
 * executable that cannot be moved stays in place when addr is that of any of its segments.
 */
static uint64_t raw_bias(const struct auxtap_image *image, uint64_t addr)
{
	for (unsigned int i = 0; image->is_fixed && i < image->nr_loads; i++)
		if (addr == image->loads[i].vaddr || addr == (image->loads[i].vaddr & ~4095ull))
			return 0;
	return addr - (image->loads[0].vaddr & ~4095ull);
}

/* len 0 of an ELF file: its segments. */
int auxtap_image_set_raw(struct auxtap_image_set *set, const char *path, uint64_t file_off,
			 uint64_t len, uint64_t addr, struct auxtap_error *err)
{
	struct auxtap_image *image;
	int ret;

	pthread_mutex_lock(&set->lock);
	image = image_add(set, path, NULL, 0);
	if (!image) {
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
		goto out;
	}
	image->state = AUXTAP_IMAGE_MISSING;
	ret = image_file_map(image, path);
	if (ret) {
		auxtap_error_set(err, ret, path, "cannot read the image: %s", strerror(-ret));
		goto out;
	}
	image->state = AUXTAP_IMAGE_FOUND;
	image->path = strdup(path);
	if (!len && !file_off && image->nr_loads) {
		uint64_t bias = raw_bias(image, addr);

		for (unsigned int i = 0; !ret && i < image->nr_loads; i++)
			ret = raw_add(set, image, image->loads[i].off, image->loads[i].filesz,
				      image->loads[i].vaddr + bias);
	} else if (file_off >= image->size || len > image->size - file_off) {
		ret = auxtap_error_set(err, -EINVAL, path,
				       "the file ends at %zu, before the end of the range given",
				       image->size);
	} else {
		ret = raw_add(set, image, file_off, len ? len : image->size - file_off, addr);
	}
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- reading and resolving ---- */

static const struct image_map *space_lookup(struct auxtap_image_set *set, pid_t pid,
					    uint64_t time, uint64_t addr)
{
	struct image_space *space;

	space = image_space_get(set, addr >> 63 ? IMAGE_KERNEL_PID : pid, false);
	if (space) {
		size_t epoch = image_space_epoch(space, time);
		struct image_view *view = image_space_view(space, epoch);
		const struct image_map *map = view ? image_view_find(view, addr) : NULL;

		image_view_put(view); /* the space still holds it */
		if (map)
			return map;
		/* Trace time may lag behind sideband: a mapping that comes before the next exec will do. */
		for (size_t i = epoch; i < space->nr_changes; i++) {
			map = &space->changes[i];
			if (!map->image && i > epoch)
				break;
			if (map->image && addr >= map->start && addr < map->end)
				return map;
		}
	}
	return NULL;
}

/* What is given by hand fills in where a recorded mapping has no file. */
const struct image_map *image_lookup(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				     uint64_t addr)
{
	const struct image_map *map = space_lookup(set, pid, time, addr);

	if (map && map->image->data)
		return map;
	for (size_t i = set->nr_raw; i; i--)
		if (addr >= set->raw[i - 1].start && addr < set->raw[i - 1].end)
			return &set->raw[i - 1];
	return map;
}

uint64_t image_map_vaddr(const struct image_map *map, uint64_t addr)
{
	uint64_t off = addr - map->start + map->pgoff, vaddr;

	if (map->image->is_elf && addr >> 63)
		return addr - (uint64_t)map->image->slide;
	if (map->image->is_elf && !image_off_to_vaddr(map->image, off, &vaddr))
		return vaddr;
	return off;
}

const uint8_t *image_map_bytes(const struct image_map *map, uint64_t addr, size_t *left)
{
	const struct auxtap_image *image = map->image;
	uint64_t off = addr - map->start + map->pgoff, in_seg;

	if (!image->data || image->is_rel)
		return NULL;
	if (addr >> 63 && image->is_elf) {
		if (image_vaddr_to_off(image, addr - (uint64_t)image->slide, &off, &in_seg))
			return NULL;
		*left = in_seg;
		return image->data + off;
	}
	if (off >= image->size)
		return NULL;
	*left = image->size - off;
	if (*left > map->end - addr)
		*left = map->end - addr;
	return image->data + off;
}

ssize_t auxtap_image_set_read(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			      uint64_t addr, void *buf, size_t size)
{
	const struct image_map *map;
	size_t done = 0, left;
	ssize_t ret = 0;

	pthread_mutex_lock(&set->lock);
	while (done < size) {
		const uint8_t *bytes;

		map = image_lookup(set, pid, time, addr + done);
		if (!map)
			break;
		bytes = image_map_bytes(map, addr + done, &left);
		if (!bytes) {
			ret = -ENOENT;
			break;
		}
		if (left > size - done)
			left = size - done;
		memcpy((uint8_t *)buf + done, bytes, left);
		done += left;
	}
	pthread_mutex_unlock(&set->lock);
	return done ? (ssize_t)done : ret;
}

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
	if (map->image->data && map->image->is_elf)
		sym = image_symbol_find(map->image, loc->image_off);
	if (lines && map->image->path && map->image->mapped && map->image->is_elf)
		loc->nr_frames = image_lines_find(map->image, loc->image_off, loc->frames, 16);
	if (!loc->nr_frames) {
		memset(&loc->frames[0], 0, sizeof(loc->frames[0]));
		loc->nr_frames = 1;
	}
	outer = &loc->frames[loc->nr_frames - 1];
	if (sym) {
		/* The symbol table names the function itself: debug information may not know it by linkage name. */
		outer->symbol = image_symbol_name(map->image, sym);
		for (unsigned int i = 0; i < loc->nr_frames; i++)
			if (!loc->frames[i].symbol_off)
				loc->frames[i].symbol_off = loc->image_off - sym->start;
	}
	return 0;
}

int auxtap_image_set_resolve(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			     uint64_t addr, struct auxtap_location *loc)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = resolve(set, pid, time, addr, true, loc);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_symbol(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			    uint64_t addr, struct auxtap_location *loc)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = resolve(set, pid, time, addr, false, loc);
	pthread_mutex_unlock(&set->lock);
	return ret;
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
	if (!info->build_id_size) {
		info->build_id_size = image->found_build_id_size;
		memcpy(info->build_id, image->found_build_id, sizeof(info->build_id));
	}
	info->nr_insns = image->nr_insns;
	info->nr_gaps = image->nr_gaps;
	return 0;
}
