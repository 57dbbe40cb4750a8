// SPDX-License-Identifier: BSD-2-Clause
/*
 * The public API of the image store (include/auxtap/image.h): its options, the list of images,
 * mappings, and reading of code.
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

#define EMBEDDED_PATH "(saved with the trace)"

static char *dup_nonempty(const char *s)
{
	return s && *s ? strdup(s) : NULL;
}

static int check_vmlinux(const char *path, struct auxtap_error *err);
static int add_kcore(struct auxtap_image_set *set, struct auxtap_error *err);

int auxtap_image_set_new(struct auxtap_image_set **set_out,
			 const struct auxtap_image_set_opts *opts, struct auxtap_error *err)
{
	struct auxtap_image_set *set = calloc(1, sizeof(*set));
	struct auxtap_image_set_opts copy;
	int ret;

	*set_out = NULL;
	if (!set)
		return auxtap_error_set(err, -ENOMEM, "images", "out of memory");
	ret = sized_copy_in(&copy, sizeof(copy), SIZED_UP_TO(struct auxtap_image_set_opts, kcore),
			    opts, "struct auxtap_image_set_opts", err);
	if (ret) {
		free(set);
		return ret;
	}
	set->sysroot = dup_nonempty(copy.sysroot);
	set->vmlinux = dup_nonempty(copy.vmlinux);
	set->kcore = dup_nonempty(copy.kcore);
	set->debuginfod = copy.debuginfod;
	pthread_mutex_init(&set->lock, NULL);
	if (set->vmlinux)
		ret = check_vmlinux(set->vmlinux, err);
	if (!ret && set->kcore)
		ret = add_kcore(set, err);
	if (ret) {
		auxtap_image_set_free(set);
		return ret;
	}
	*set_out = set;
	return 0;
}

void image_set_set_recording(struct auxtap_image_set *set, const struct auxtap_perfdata *pd)
{
	struct stat st;

	pthread_mutex_lock(&set->lock);
	set->from_recording = true;
	if (!auxtap_perfdata_owner(pd, &set->owner))
		set->owner = (uid_t)-1;
	else if (!stat(auxtap_perfdata_path(pd), &st))
		set->recording_mtime = st.st_mtim;
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

void image_set_note_oom(struct auxtap_image_set *set)
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
	hash_map_free(&set->image_index);
	free(set->override_maps);
	image_disassembler_free(set);
	free(set->fallback_maps);
	free(set->ids);
	image_packed_free(set);
	image_source_free(set);
	free(set->sysroot);
	free(set->vmlinux);
	free(set->kcore);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* ---- list of images, by name and build-id ---- */

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
	if (!image->name || hash_map_add(&set->image_index, hash_text(name), set->nr_images)) {
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

/*
 * file chooses among images of one name without a build-id; NULL: any of them. An image that is
 * embedded in the recording is listed without a build-id, and has that of its bytes, too.
 */
static struct auxtap_image *find_listed(struct auxtap_image_set *set, const char *name,
					const uint8_t *id, unsigned int id_size,
					const struct file_identity *file)
{
	uint64_t hash = hash_text(name);
	size_t step = 0, index;

	while ((index = hash_map_next(&set->image_index, hash, &step)) != HASH_MAP_NONE) {
		struct auxtap_image *image = set->images[index];

		if (strcmp(image->name, name))
			continue;
		if (!id_size && file && file->ino && image->file.ino &&
		    memcmp(file, &image->file, sizeof(*file)) != 0)
			continue;
		if (image->build_id_size == id_size && !memcmp(image->build_id, id, id_size))
			return image;
		if (image->embedded && id_size && image->found_build_id_size == id_size &&
		    !memcmp(image->found_build_id, id, id_size))
			return image;
	}
	return NULL;
}

struct auxtap_image *image_get(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size, const struct file_identity *file)
{
	static const uint8_t none[20];
	size_t base_len = image_base_len(name);
	struct auxtap_image *image;

	if (id_size > 20)
		id_size = 20;
	for (size_t i = 0; !id_size && i < set->nr_ids; i++) {
		if (strlen(set->ids[i].name) != base_len ||
		    memcmp(set->ids[i].name, name, base_len) != 0)
			continue;
		id = set->ids[i].id;
		id_size = set->ids[i].size;
	}
	image = find_listed(set, name, id_size ? id : none, id_size, file);
	if (image)
		return image;
	image = image_add(set, name, id, id_size);
	if (image && file)
		image->file = *file;
	if (image)
		image_find_file(set, image);
	return image;
}

int image_set_add_build_id(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			   unsigned int size)
{
	int ret = -ENOMEM;

	if (!size || size > 20)
		return -EINVAL;
	pthread_mutex_lock(&set->lock);
	if (!vector_grow(set->ids, set->nr_ids, set->max_ids)) {
		struct image_build_id_entry *entry = &set->ids[set->nr_ids];

		memset(entry, 0, sizeof(*entry));
		memcpy(entry->id, id, size);
		entry->size = (uint8_t)size;
		entry->name = strdup(name);
		if (entry->name) {
			set->nr_ids++;
			ret = 0;
		}
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int image_set_add_embedded(struct auxtap_image_set *set, const char *name, const void *data,
			   size_t size)
{
	static const uint8_t none[20];
	struct auxtap_image *image;
	uint8_t *bytes;
	int ret = -ENOMEM;

	pthread_mutex_lock(&set->lock);
	image = find_listed(set, name, none, 0, NULL);
	if (!image)
		image = image_add(set, name, NULL, 0);
	bytes = image && !image->data && size ? malloc(size) : NULL;
	if (bytes) {
		memcpy(bytes, data, size);
		ret = image_file_adopt(image, bytes, size);
		image->embedded = true;
		image->state = AUXTAP_IMAGE_FOUND;
		if (!image->path)
			image->path = strdup(EMBEDDED_PATH);
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

void image_adopt_embedded(struct auxtap_image *image, uint8_t *bytes, size_t size)
{
	image->data = bytes;
	image->size = size;
	image->embedded = true;
	image->state = AUXTAP_IMAGE_FOUND;
	image->path = strdup(EMBEDDED_PATH);
}

/* ---- mappings ---- */

/* The caller holds the lock. */
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

int image_set_add_map(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
		      uint64_t len, uint64_t pgoff, const char *name, const uint8_t *build_id,
		      unsigned int build_id_size, const struct file_identity *file)
{
	struct image_map map = {.time = time, .start = addr, .pgoff = pgoff};
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = add_map(set, pid, &map, len, name, build_id, build_id_size, file);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int auxtap_image_set_add_mapping(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				 uint64_t addr, uint64_t len, uint64_t pgoff, const char *name,
				 const uint8_t *build_id, unsigned int build_id_size)
{
	return image_set_add_map(set, pid, time, addr, len, pgoff, name, build_id, build_id_size,
				 NULL);
}

/*
 * perf records a reference symbol, the kernel's first (_text, else _stext), in the mapping's
 * name and its address as pgoff. vmlinux has it at the start of its first code segment; the
 * difference is by how many whole pages the kernel was relocated at boot. kcore needs no
 * correction.
 */
static void set_kernel_bias(struct auxtap_image *image, uint64_t ref)
{
	const char *symbol = strchr(image->name, ']');

	if (!image->data || image->is_core || !symbol ||
	    (strcmp(symbol + 1, "_text") != 0 && strcmp(symbol + 1, "_stext") != 0))
		return;
	for (unsigned int i = 0; i < image->nr_loads; i++) {
		if (!image->loads[i].exec)
			continue;
		if (!((ref - image->loads[i].vaddr) & 4095))
			image->kernel_bias = (int64_t)(ref - image->loads[i].vaddr);
		return;
	}
}

int image_set_add_kernel_map(struct auxtap_image_set *set, uint64_t time, uint64_t addr,
			     uint64_t len, uint64_t pgoff, const char *name, const uint8_t *id,
			     unsigned int id_size)
{
	struct image_map map = {.time = time, .start = addr, .pgoff = pgoff};
	int ret;

	map.is_kernel_image = !strncmp(name, "[kernel", 7);
	pthread_mutex_lock(&set->lock);
	ret = add_map(set, IMAGE_KERNEL_PID, &map, len, name, id, id_size, NULL);
	if (!ret && len && map.is_kernel_image)
		set_kernel_bias(map.image, pgoff);
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

void image_set_mark_start_unknown(struct auxtap_image_set *set, pid_t pid)
{
	struct image_space *space;

	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, pid, false);
	if (space)
		space->start_unknown = true;
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
	view = image_space_view(from, image_space_changes_until(from, time));
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

static int add_map_entry(struct image_map **maps, size_t *nr, size_t *max,
			 struct auxtap_image *image, uint64_t off, uint64_t len, uint64_t addr)
{
	if (vector_grow(*maps, *nr, *max))
		return -ENOMEM;
	(*maps)[(*nr)++] =
		(struct image_map){.start = addr, .end = addr + len, .pgoff = off, .image = image};
	return 0;
}

/*
 * The load bias of an ELF file whose first segment goes to addr (the segment's page, if addr is
 * page-aligned). In a kernel the first segment in the upper half counts: .data..percpu is linked
 * at 0. No bias: addr is 0, or the file is ET_EXEC and addr is the address of one of its segments.
 */
static uint64_t load_bias(const struct auxtap_image *image, uint64_t addr)
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

/* Opens and maps the file; the caller holds the lock. NULL: *ret and err are set. */
static struct auxtap_image *open_file_map(struct auxtap_image_set *set, const char *path, int *ret,
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

static int add_segment_maps(struct image_map **maps, size_t *nr, size_t *max,
			    struct auxtap_image *image, uint64_t bias)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < image->nr_loads; i++)
		ret = add_map_entry(maps, nr, max, image, image->loads[i].off,
				    image->loads[i].filesz, image->loads[i].vaddr + bias);
	return ret;
}

/* An ELF file with len 0: its segments are mapped. */
int auxtap_image_set_add_file(struct auxtap_image_set *set, const char *path, uint64_t file_off,
			      uint64_t len, uint64_t addr, struct auxtap_error *err)
{
	struct auxtap_image *image;
	int ret;

	pthread_mutex_lock(&set->lock);
	image = open_file_map(set, path, &ret, err);
	if (!image)
		goto out;
	if (!len && !file_off && image->nr_loads)
		ret = add_segment_maps(&set->override_maps, &set->nr_override, &set->max_override,
				       image, load_bias(image, addr));
	else if (file_off >= image->size || len > image->size - file_off)
		ret = auxtap_error_set(err, -EINVAL, path,
				       "the file ends at %zu, before the end of the range given",
				       image->size);
	else
		ret = add_map_entry(&set->override_maps, &set->nr_override, &set->max_override,
				    image, file_off, len ? len : image->size - file_off, addr);
	if (ret == -ENOMEM)
		auxtap_error_set(err, ret, path, "out of memory");
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int image_set_add_memory_dump(struct auxtap_image_set *set, const char *path, uint64_t off,
			      uint64_t len, uint64_t addr, const uint8_t **bytes, uint64_t *size)
{
	struct auxtap_image *image;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	*bytes = NULL;
	image = open_file_map(set, path, &ret, NULL);
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
		ret = add_map_entry(&set->fallback_maps, &set->nr_fallback, &set->max_fallback,
				    image, off, len, addr);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- the kernel's files ---- */

static int check_vmlinux(const char *path, struct auxtap_error *err)
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

/* kcore contains the modules, too: code that no other file contains is read from there. */
static int add_kcore(struct auxtap_image_set *set, struct auxtap_error *err)
{
	struct auxtap_image *image;
	int ret;

	pthread_mutex_lock(&set->lock);
	image = open_file_map(set, set->kcore, &ret, err);
	if (image && (!image->is_core || !image->nr_loads)) {
		ret = auxtap_error_set(err, -EINVAL, set->kcore,
				       "is not a core of a kernel's memory");
		auxtap_error_hint(err, "copy one with 'perf buildid-cache --kcore /proc/kcore'");
	} else if (image && add_segment_maps(&set->fallback_maps, &set->nr_fallback,
					     &set->max_fallback, image, 0)) {
		ret = auxtap_error_set(err, -ENOMEM, set->kcore, "out of memory");
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int image_set_add_kcore(struct auxtap_image_set *set, const char *path, struct auxtap_error *err)
{
	if (set->kcore || access(path, F_OK))
		return 0;
	set->kcore = strdup(path);
	if (!set->kcore)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	return add_kcore(set, err);
}

int image_set_add_vmlinux_unrelocated(struct auxtap_image_set *set)
{
	struct auxtap_image *image = NULL;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	if (set->vmlinux && !image_space_get(set, IMAGE_KERNEL_PID, false)) {
		image = image_get(set, "[kernel.kallsyms]", NULL, 0, NULL);
		ret = image ? 0 : -ENOMEM;
	}
	if (image && image->data)
		ret = add_segment_maps(&set->fallback_maps, &set->nr_fallback, &set->max_fallback,
				       image, 0);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* ---- reading ---- */

static const struct image_map *space_find_map(struct auxtap_image_set *set, pid_t pid,
					      uint64_t time, uint64_t addr)
{
	struct image_space *space;

	space = image_space_get(set, addr >> 63 ? IMAGE_KERNEL_PID : pid, false);
	if (space) {
		size_t nr_changes = image_space_changes_until(space, time);
		struct image_view *view = image_space_view(space, nr_changes);
		const struct image_map *map = view ? image_view_find(view, addr) : NULL;

		image_view_put(view); /* the space still has a reference */
		if (map)
			return map;
		/*
		 * The trace may run ahead of the records: accept a later mapping, up to the next
		 * exec.
		 */
		for (size_t i = nr_changes; i < space->nr_changes; i++) {
			map = &space->changes[i];
			if (!map->image && (i > nr_changes || (space->start_unknown && !i)))
				break;
			if (map->image && addr >= map->start && addr < map->end)
				return map;
		}
	}
	return NULL;
}

/* The last of these maps that covers addr. */
static const struct image_map *last_covering(const struct image_map *maps, size_t nr, uint64_t addr)
{
	for (size_t i = nr; i; i--)
		if (addr >= maps[i - 1].start && addr < maps[i - 1].end)
			return &maps[i - 1];
	return NULL;
}

/* In this order: a map from --image, the recorded one if its file has bytes, a fallback map. */
const struct image_map *image_find_map(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				       uint64_t addr)
{
	const struct image_map *map = last_covering(set->override_maps, set->nr_override, addr),
			       *fallback;
	size_t left;

	if (map)
		return map;
	map = space_find_map(set, pid, time, addr);
	if (map && !(addr >> 63))
		map = image_code_find(image_space_get(set, pid, false), time, addr, map);
	if (!set->nr_fallback || (map && image_map_bytes(map, addr, &left)))
		return map;
	fallback = last_covering(set->fallback_maps, set->nr_fallback, addr);
	return fallback ? fallback : map;
}

bool image_set_has_override(struct auxtap_image_set *set, uint64_t addr)
{
	bool covered;

	if (!set->nr_override) /* these maps are added before decoding: no lock is needed */
		return false;
	pthread_mutex_lock(&set->lock);
	covered = last_covering(set->override_maps, set->nr_override, addr) != NULL;
	pthread_mutex_unlock(&set->lock);
	return covered;
}

uint64_t image_map_vaddr(const struct image_map *map, uint64_t addr)
{
	uint64_t off = addr - map->start + map->pgoff, vaddr;

	if (map->is_generated_code)
		return addr;
	if (map->is_kernel_image)
		return addr - (uint64_t)map->image->kernel_bias;
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
	if (map->is_kernel_image) {
		if (image_vaddr_to_off(image, addr - (uint64_t)image->kernel_bias, &off, &in_seg))
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

/* Stops a read at the start of a map from --image. */
static void clip_at_override(const struct auxtap_image_set *set, uint64_t addr, size_t *left)
{
	for (size_t i = 0; i < set->nr_override; i++)
		if (set->override_maps[i].start > addr &&
		    set->override_maps[i].start - addr < *left)
			*left = set->override_maps[i].start - addr;
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

		map = image_find_map(set, pid, time, addr + done);
		if (!map)
			break;
		bytes = image_map_bytes(map, addr + done, &left);
		if (!bytes) {
			ret = -ENOENT;
			break;
		}
		clip_at_override(set, addr + done, &left);
		if (left > size - done)
			left = size - done;
		memcpy((uint8_t *)buf + done, bytes, left);
		image_use_bytes(map->image, (uint64_t)(bytes - map->image->data), left);
		done += left;
	}
	pthread_mutex_unlock(&set->lock);
	return done ? (ssize_t)done : ret;
}
