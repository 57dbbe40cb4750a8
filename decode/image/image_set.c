// SPDX-License-Identifier: BSD-2-Clause
/*
 * The public face of the image store (include/auxtap/image.h): who maps what, reading, resolving.
 */
#include "util/sized.h"
#include "util/vector.h"
#include "packed.h"

#include <auxtap/perfdata.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVED_PATH "(saved with the trace)"

static char *copy(const char *s)
{
	return s && *s ? strdup(s) : NULL;
}

static int can_be_kernel(const char *path, struct auxtap_error *err);
static int add_kcore(struct auxtap_image_set *set, struct auxtap_error *err);

int auxtap_image_set_new(struct auxtap_image_set **set_out,
			 const struct auxtap_image_set_opts *opts, struct auxtap_error *err)
{
	struct auxtap_image_set *set = calloc(1, sizeof(*set));
	struct auxtap_image_set_opts known;
	int ret;

	*set_out = NULL;
	if (!set)
		return auxtap_error_set(err, -ENOMEM, "images", "out of memory");
	ret = sized_take(&known, sizeof(known), SIZED_UP_TO(struct auxtap_image_set_opts, kcore),
			 opts, "struct auxtap_image_set_opts", err);
	if (ret) {
		free(set);
		return ret;
	}
	set->sysroot = copy(known.sysroot);
	set->vmlinux = copy(known.vmlinux);
	set->kcore = copy(known.kcore);
	set->debuginfod = known.debuginfod;
	pthread_mutex_init(&set->lock, NULL);
	if (set->vmlinux)
		ret = can_be_kernel(set->vmlinux, err);
	if (!ret && set->kcore)
		ret = add_kcore(set, err);
	if (ret) {
		auxtap_image_set_free(set);
		return ret;
	}
	*set_out = set;
	return 0;
}

void auxtap_image_set_of_file(struct auxtap_image_set *set, const struct auxtap_perfdata *pd)
{
	struct stat st;

	pthread_mutex_lock(&set->lock);
	set->of_file = true;
	if (!auxtap_perfdata_owner(pd, &set->owner))
		set->owner = (uid_t)-1;
	else if (!stat(auxtap_perfdata_path(pd), &st))
		set->recorded = st.st_mtim;
	pthread_mutex_unlock(&set->lock);
}

static void image_free(struct auxtap_image *image)
{
	if (!image)
		return;
	image_lines_free(image);
	image_symbols_free(image);
	image_use_free(image);
	image_file_close(image);
	free(image->name);
	free(image->path);
	free(image);
}

bool auxtap_image_set_no_memory(const struct auxtap_image_set *set)
{
	for (size_t i = 0; i < set->nr_images; i++)
		if (set->images[i]->no_memory)
			return true;
	return set->no_memory;
}

void auxtap_image_set_short(struct auxtap_image_set *set)
{
	set->no_memory = true;
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
	free(set->spaces);
	free(set->images);
	hash_map_free(&set->image_numbers);
	free(set->raw);
	image_disassembler_free(set);
	free(set->spare);
	free(set->ids);
	image_packed_free(set);
	image_source_free(set);
	free(set->sysroot);
	free(set->vmlinux);
	free(set->kcore);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* ---- the list of images, found by name and build-id ---- */

struct auxtap_image *image_add(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size)
{
	struct auxtap_image *image;

	if (vector_grow(set->images, set->nr_images, set->max_images))
		return NULL;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	image->set = set;
	image->name = strdup(name);
	if (!image->name || hash_map_add(&set->image_numbers, hash_text(name), set->nr_images)) {
		free(image->name);
		free(image);
		return NULL;
	}
	if (id_size) {
		memcpy(image->build_id, id, id_size);
		image->build_id_size = (uint8_t)id_size;
	}
	set->images[set->nr_images++] = image;
	return image;
}

/* file: which of several without a build-id; NULL: any. */
static struct auxtap_image *image_known(struct auxtap_image_set *set, const char *name,
					const uint8_t *id, unsigned int id_size,
					const struct file_identity *file)
{
	uint64_t hash = hash_text(name);
	size_t step = 0, number;

	while ((number = hash_map_next(&set->image_numbers, hash, &step)) != HASH_MAP_NONE) {
		struct auxtap_image *image = set->images[number];

		if (strcmp(image->name, name))
			continue;
		if (!id_size && file && file->ino && image->file.ino &&
		    memcmp(file, &image->file, sizeof(*file)) != 0)
			continue;
		if (image->build_id_size == id_size && !memcmp(image->build_id, id, id_size))
			return image;
	}
	return NULL;
}

/* What came with the trace has no build-id by its name; the file's table may give it one. */
static bool take_saved(struct auxtap_image_set *set, struct auxtap_image *image)
{
	static const uint8_t none[20];
	const struct auxtap_image *saved = image_known(set, image->name, none, 0, NULL);
	uint8_t *bytes;

	if (!saved || saved == image || !saved->saved || !image->build_id_size ||
	    saved->found_build_id_size != image->build_id_size ||
	    memcmp(saved->found_build_id, image->build_id, image->build_id_size) != 0)
		return false;
	bytes = malloc(saved->size);
	if (!bytes)
		return false;
	memcpy(bytes, saved->data, saved->size);
	image_file_adopt(image, bytes, saved->size);
	image->saved = true;
	image->state = AUXTAP_IMAGE_FOUND;
	image->path = strdup(SAVED_PATH);
	return true;
}

struct auxtap_image *image_get(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size, const struct file_identity *file)
{
	static const uint8_t none[20];
	size_t plain = image_plain_name(name);
	struct auxtap_image *image;

	if (id_size > 20)
		id_size = 20;
	for (size_t i = 0; !id_size && i < set->nr_ids; i++) {
		if (strlen(set->ids[i].name) != plain || memcmp(set->ids[i].name, name, plain) != 0)
			continue;
		id = set->ids[i].id;
		id_size = set->ids[i].size;
	}
	image = image_known(set, name, id_size ? id : none, id_size, file);
	if (image)
		return image;
	image = image_add(set, name, id, id_size);
	if (image && file)
		image->file = *file;
	if (image && !take_saved(set, image))
		image_find(set, image);
	return image;
}

int auxtap_image_set_known_id(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			      unsigned int size)
{
	int ret = -ENOMEM;

	if (!size || size > 20)
		return -EINVAL;
	pthread_mutex_lock(&set->lock);
	if (!vector_grow(set->ids, set->nr_ids, set->max_ids)) {
		struct image_known_id *known = &set->ids[set->nr_ids];

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

int auxtap_image_set_embedded(struct auxtap_image_set *set, const char *name, const void *data,
			      size_t size)
{
	static const uint8_t none[20];
	struct auxtap_image *image;
	uint8_t *bytes;
	int ret = -ENOMEM;

	pthread_mutex_lock(&set->lock);
	image = image_known(set, name, none, 0, NULL);
	if (!image)
		image = image_add(set, name, NULL, 0);
	bytes = image && !image->data && size ? malloc(size) : NULL;
	if (bytes) {
		memcpy(bytes, data, size);
		ret = image_file_adopt(image, bytes, size);
		image->saved = true;
		image->state = AUXTAP_IMAGE_FOUND;
		if (!image->path)
			image->path = strdup(SAVED_PATH);
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

void image_take_saved(struct auxtap_image *image, uint8_t *bytes, size_t size)
{
	image->data = bytes;
	image->size = size;
	image->saved = true;
	image->state = AUXTAP_IMAGE_FOUND;
	image->path = strdup(SAVED_PATH);
}

/* ---- mappings ---- */

/* With the lock. */
static int add_map(struct auxtap_image_set *set, pid_t pid, struct image_map *map, uint64_t len,
		   const char *name, const uint8_t *build_id, unsigned int build_id_size,
		   const struct file_identity *file)
{
	struct image_space *space;

	if (!len)
		return 0;
	map->end = map->start + len;
	if (map->end < map->start)
		map->end = UINT64_MAX;
	space = image_space_get(set, pid, true);
	map->image = image_get(set, name, build_id, build_id_size, file);
	return space && map->image ? image_space_add(space, map) : -ENOMEM;
}

int auxtap_image_set_map_file(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			      uint64_t len, uint64_t pgoff, const char *name,
			      const uint8_t *build_id, unsigned int build_id_size,
			      const struct file_identity *file)
{
	struct image_map map = {.time = time, .start = addr, .pgoff = pgoff};
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = add_map(set, pid, &map, len, name, build_id, build_id_size, file);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_map(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			 uint64_t len, uint64_t pgoff, const char *name, const uint8_t *build_id,
			 unsigned int build_id_size)
{
	return auxtap_image_set_map_file(set, pid, time, addr, len, pgoff, name, build_id,
					 build_id_size, NULL);
}

/*
 * perf records a reference symbol, the kernel's first (_text, else _stext), in the mapping's
 * name and its address as pgoff. vmlinux has it at the start of its first code segment; the
 * difference is how far the kernel was moved at boot, whole pages. kcore needs no correction.
 */
static void set_slide(struct auxtap_image *image, uint64_t ref)
{
	const char *symbol = strchr(image->name, ']');

	if (!image->data || image->is_core || !symbol ||
	    (strcmp(symbol + 1, "_text") != 0 && strcmp(symbol + 1, "_stext") != 0))
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
				uint64_t len, uint64_t pgoff, const char *name, const uint8_t *id,
				unsigned int id_size)
{
	struct image_map map = {.time = time, .start = addr, .pgoff = pgoff};
	int ret;

	map.by_vaddr = !strncmp(name, "[kernel", 7);
	pthread_mutex_lock(&set->lock);
	ret = add_map(set, IMAGE_KERNEL_PID, &map, len, name, id, id_size, NULL);
	if (!ret && len && map.by_vaddr)
		set_slide(map.image, pgoff);
	pthread_mutex_unlock(&set->lock);
	return ret;
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

void auxtap_image_set_cut(struct auxtap_image_set *set, pid_t pid)
{
	struct image_space *space;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, false);
	if (space)
		space->cut = true;
	pthread_mutex_unlock(&set->lock);
}

int auxtap_image_set_fork(struct auxtap_image_set *set, pid_t parent, pid_t child, uint64_t time)
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

static int raw_add(struct image_map **maps, size_t *nr, size_t *max, struct auxtap_image *image,
		   uint64_t off, uint64_t len, uint64_t addr)
{
	if (vector_grow(*maps, *nr, *max))
		return -ENOMEM;
	(*maps)[(*nr)++] =
		(struct image_map){.start = addr, .end = addr + len, .pgoff = off, .image = image};
	return 0;
}

/*
 * How far a whole ELF file is moved: the page of its first segment goes to addr, or the
 * segment itself if addr is no page; a kernel's first one is the first of the kernel's half
 * (data of CPUs is linked to 0). 0, and for what cannot be moved the address of any of its
 * segments: it stays where it was linked to.
 */
static uint64_t raw_bias(const struct auxtap_image *image, uint64_t addr)
{
	uint64_t first = image->loads[0].vaddr;

	if (!addr)
		return 0;
	for (unsigned int i = 0; image->is_fixed && i < image->nr_loads; i++)
		if (addr == image->loads[i].vaddr || addr == (image->loads[i].vaddr & ~4095ull))
			return 0;
	for (unsigned int i = 0; addr >> 63 && !(first >> 63) && i < image->nr_loads; i++)
		first = image->loads[i].vaddr;
	return addr - (addr & 4095 ? first : first & ~4095ull);
}

/* With the lock: a file given by hand, mapped. NULL: *ret and err tell. */
static struct auxtap_image *raw_open(struct auxtap_image_set *set, const char *path, int *ret,
				     struct auxtap_error *err)
{
	struct auxtap_image *image = image_add(set, path, NULL, 0);

	if (!image)
		goto no_memory;
	image->state = AUXTAP_IMAGE_MISSING;
	*ret = image_file_map(image, path);
	if (*ret) {
		auxtap_error_set(err, *ret, path, "cannot read the image: %s", strerror(-*ret));
		return NULL;
	}
	image->state = AUXTAP_IMAGE_FOUND;
	image->path = strdup(path);
	if (image->path)
		return image;
no_memory:
	*ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
	return NULL;
}

static int raw_add_segments(struct image_map **maps, size_t *nr, size_t *max,
			    struct auxtap_image *image, uint64_t bias)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < image->nr_loads; i++)
		ret = raw_add(maps, nr, max, image, image->loads[i].off, image->loads[i].filesz,
			      image->loads[i].vaddr + bias);
	return ret;
}

/* len 0 of an ELF file: its segments. */
int auxtap_image_set_raw(struct auxtap_image_set *set, const char *path, uint64_t file_off,
			 uint64_t len, uint64_t addr, struct auxtap_error *err)
{
	struct auxtap_image *image;
	int ret;

	pthread_mutex_lock(&set->lock);
	image = raw_open(set, path, &ret, err);
	if (!image)
		goto out;
	if (!len && !file_off && image->nr_loads)
		ret = raw_add_segments(&set->raw, &set->nr_raw, &set->max_raw, image,
				       raw_bias(image, addr));
	else if (file_off >= image->size || len > image->size - file_off)
		ret = auxtap_error_set(err, -EINVAL, path,
				       "the file ends at %zu, before the end of the range given",
				       image->size);
	else
		ret = raw_add(&set->raw, &set->nr_raw, &set->max_raw, image, file_off,
			      len ? len : image->size - file_off, addr);
	if (ret == -ENOMEM)
		auxtap_error_set(err, ret, path, "out of memory");
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_dump(struct auxtap_image_set *set, const char *path, uint64_t off,
			  uint64_t len, uint64_t addr, const uint8_t **bytes, uint64_t *size)
{
	struct auxtap_image *image;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	*bytes = NULL;
	image = raw_open(set, path, &ret, NULL);
	if (image && off < image->size) {
		*bytes = image->data + off;
		if (len > image->size - off)
			len = image->size - off;
	} else if (!image && ret != -ENOMEM) {
		image = image_get(set, path, NULL, 0, NULL);
		ret = image ? 0 : -ENOMEM;
	}
	if (len > UINT64_MAX - addr)
		len = UINT64_MAX - addr;
	*size = len;
	if (!ret)
		ret = raw_add(&set->spare, &set->nr_spare, &set->max_spare, image, off, len, addr);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- the kernel's files ---- */

static int can_be_kernel(const char *path, struct auxtap_error *err)
{
	struct auxtap_image image = {0};
	bool is_elf;
	int ret = image_file_map(&image, path);

	if (ret)
		return auxtap_error_set(err, ret, path, "cannot read the kernel's image: %s",
					strerror(-ret));
	is_elf = image.nr_loads && !image.is_core;
	image_file_close(&image);
	if (!is_elf)
		return auxtap_error_set(err, -EINVAL, path,
					"is not a vmlinux (an ELF file with segments)");
	return 0;
}

/* kcore has the modules, too: what no other file has bytes for is read from there. */
static int add_kcore(struct auxtap_image_set *set, struct auxtap_error *err)
{
	struct auxtap_image *image;
	int ret;

	pthread_mutex_lock(&set->lock);
	image = raw_open(set, set->kcore, &ret, err);
	if (image && (!image->is_core || !image->nr_loads)) {
		ret = auxtap_error_set(err, -EINVAL, set->kcore,
				       "is not a core of a kernel's memory");
		auxtap_error_hint(err, "copy one with 'perf buildid-cache --kcore /proc/kcore'");
	} else if (image &&
		   raw_add_segments(&set->spare, &set->nr_spare, &set->max_spare, image, 0)) {
		ret = auxtap_error_set(err, -ENOMEM, set->kcore, "out of memory");
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_kcore(struct auxtap_image_set *set, const char *path, struct auxtap_error *err)
{
	if (set->kcore || access(path, F_OK))
		return 0;
	set->kcore = strdup(path);
	if (!set->kcore)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	return add_kcore(set, err);
}

int auxtap_image_set_kernel_unmoved(struct auxtap_image_set *set)
{
	struct auxtap_image *image = NULL;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	if (set->vmlinux && !image_space_get(set, IMAGE_KERNEL_PID, false)) {
		image = image_get(set, "[kernel.kallsyms]", NULL, 0, NULL);
		ret = image ? 0 : -ENOMEM;
	}
	if (image && image->data)
		ret = raw_add_segments(&set->spare, &set->nr_spare, &set->max_spare, image, 0);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- reading and resolving ---- */

static const struct image_map *space_lookup(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					    uint64_t addr)
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
		/*
		 * Trace time may be older than sideband time: a mapping that comes before the next
		 * exec will do.
		 */
		for (size_t i = epoch; i < space->nr_changes; i++) {
			map = &space->changes[i];
			if (!map->image && (i > epoch || (space->cut && !i)))
				break;
			if (map->image && addr >= map->start && addr < map->end)
				return map;
		}
	}
	return NULL;
}

static const struct image_map *last_of(const struct image_map *maps, size_t nr, uint64_t addr)
{
	for (size_t i = nr; i; i--)
		if (addr >= maps[i - 1].start && addr < maps[i - 1].end)
			return &maps[i - 1];
	return NULL;
}

/*
 * What is given by hand for this address holds; then what was recorded, where its file was found.
 */
const struct image_map *image_lookup(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				     uint64_t addr)
{
	const struct image_map *map = last_of(set->raw, set->nr_raw, addr), *spare;
	size_t left;

	if (map)
		return map;
	map = space_lookup(set, pid, time, addr);
	if (map && !(addr >> 63))
		map = image_code_find(image_space_get(set, pid, false), time, addr, map);
	if (!set->nr_spare || (map && image_map_bytes(map, addr, &left)))
		return map;
	spare = last_of(set->spare, set->nr_spare, addr);
	return spare ? spare : map;
}

bool auxtap_image_set_by_hand(struct auxtap_image_set *set, uint64_t addr)
{
	bool covered;

	if (!set->nr_raw) /* set before decoding */
		return false;
	pthread_mutex_lock(&set->lock);
	covered = last_of(set->raw, set->nr_raw, addr) != NULL;
	pthread_mutex_unlock(&set->lock);
	return covered;
}

uint64_t image_map_vaddr(const struct image_map *map, uint64_t addr)
{
	uint64_t off = addr - map->start + map->pgoff, vaddr;

	if (map->at_address)
		return addr;
	if (map->by_vaddr)
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
	if (map->by_vaddr) {
		if (image_vaddr_to_off(image, addr - (uint64_t)image->slide, &off, &in_seg))
			return NULL;
		*left = in_seg;
	} else {
		if (off >= image->size)
			return NULL;
		*left = image->size - off;
		if (*left > map->end - addr)
			*left = map->end - addr;
	}
	if (image->packed && !image_packed_has(image, off, left))
		return NULL;
	return image->data + off;
}

/* What was given by hand hides the rest of what lies before it. */
static void clip(const struct auxtap_image_set *set, uint64_t addr, size_t *left)
{
	for (size_t i = 0; i < set->nr_raw; i++)
		if (set->raw[i].start > addr && set->raw[i].start - addr < *left)
			*left = set->raw[i].start - addr;
}

ssize_t auxtap_image_set_read(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			      void *buf, size_t size)
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
		clip(set, addr + done, &left);
		if (left > size - done)
			left = size - done;
		memcpy((uint8_t *)buf + done, bytes, left);
		image_use_bytes(map->image, (uint64_t)(bytes - map->image->data), left);
		done += left;
	}
	pthread_mutex_unlock(&set->lock);
	return done ? (ssize_t)done : ret;
}
