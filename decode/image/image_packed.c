// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packed images: see packed.h. If a file descriptor is needed, the parts are written to a memfd
 * with holes. A packed recording is untrusted.
 */
#include "packed.h"
#include "debug_file.h"
#include "util/vector.h"

#include <auxtap/perfdata.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#define MAX_UNPACKED	  (1ull << 30) /* bytes of one record */
#define MAX_FILE	  (1ull << 33) /* bytes of a file with its holes */
#define MAX_TEXT	  65536u       /* bytes of a name */
#define MAX_PACKED_IMAGES (1u << 20)

int packed_unpack(const void *data, size_t size, uint8_t **out, size_t *out_size)
{
	unsigned long long full = ZSTD_getFrameContentSize(data, size);
	size_t got;

	*out = NULL;
	if (full == ZSTD_CONTENTSIZE_UNKNOWN || full == ZSTD_CONTENTSIZE_ERROR ||
	    full > MAX_UNPACKED)
		return -EBADMSG;
	*out = malloc(full + 1);
	if (!*out)
		return -ENOMEM;
	got = ZSTD_decompress(*out, full, data, size);
	if (ZSTD_isError(got) || got != full) {
		free(*out);
		*out = NULL;
		return -EBADMSG;
	}
	*out_size = got;
	return 0;
}

/* The unread rest of a record. */
struct packed_cursor {
	const uint8_t *at, *end;
};

static const void *packed_take(struct packed_cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (size > (uint64_t)(c->end - c->at))
		return NULL;
	c->at += size;
	return at;
}

static const char *packed_text(struct packed_cursor *c, uint32_t size)
{
	const char *text = size && size <= MAX_TEXT ? packed_take(c, size) : NULL;

	return text && !text[size - 1] && strlen(text) == size - 1 ? text : NULL;
}

/*
 * Checks that extents are sorted, within the file, and do not overlap, and that all bytes are
 * there.
 */
static bool packed_read_file(struct packed_cursor *c, struct packed_file *file)
{
	struct packed_file_header header;
	const void *at = packed_take(c, sizeof(header));
	uint64_t end = 0, sum = 0;

	if (!at)
		return false;
	memcpy(&header, at, sizeof(header));
	if (!header.size || header.size > MAX_FILE ||
	    header.nr_extents > (uint64_t)(c->end - c->at) / sizeof(*file->extents))
		return false;
	file->extents = packed_take(c, header.nr_extents * sizeof(*file->extents));
	file->bytes = packed_take(c, header.nr_bytes);
	if (!file->extents || !file->bytes)
		return false;
	for (uint64_t i = 0; i < header.nr_extents; i++) {
		const struct packed_extent *e = &file->extents[i];

		if (e->off < end || e->off > header.size || e->size > header.size - e->off ||
		    e->size > header.nr_bytes - sum)
			return false;
		end = e->off + e->size;
		sum += e->size;
	}
	file->size = header.size;
	file->nr_extents = header.nr_extents;
	return sum == header.nr_bytes;
}

static bool packed_parse(struct packed_image *p, size_t size)
{
	struct packed_cursor c = {p->unpacked, p->unpacked + size};
	const void *header = packed_take(&c, sizeof(p->header));

	if (!header)
		return false;
	memcpy(&p->header, header, sizeof(p->header));
	if (p->header.nr_files > 2 || p->header.state > AUXTAP_IMAGE_DIFFERENT ||
	    p->header.build_id_size > sizeof(p->header.build_id) ||
	    p->header.found_build_id_size > sizeof(p->header.found_build_id) ||
	    !p->header.nr_files != (p->header.state != AUXTAP_IMAGE_FOUND))
		return false;
	p->name = packed_text(&c, p->header.name_size);
	p->path = packed_text(&c, p->header.path_size);
	if (!p->name || !p->path)
		return false;
	/* the extents that follow are aligned to 8 */
	c.at += -(uintptr_t)(c.at - p->unpacked) & 7;
	if (c.at > c.end)
		return false;
	return (p->header.nr_files < 1 || packed_read_file(&c, &p->file)) &&
	       (p->header.nr_files < 2 ||
		(c.at += -(uintptr_t)(c.at - p->unpacked) & 7, c.at <= c.end)) &&
	       (p->header.nr_files < 2 || packed_read_file(&c, &p->debug)) && c.at == c.end;
}

int image_packed_add(struct auxtap_image_set *set, const void *data, size_t size)
{
	struct packed_image *p;
	size_t unpacked_size;
	int ret;

	if (set->nr_packed == MAX_PACKED_IMAGES)
		return -EBADMSG;
	if (vector_grow(set->packed, set->nr_packed, set->max_packed))
		return -ENOMEM;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	ret = packed_unpack(data, size, &p->unpacked, &unpacked_size);
	if (!ret && !packed_parse(p, unpacked_size))
		ret = -EBADMSG;
	if (!ret) {
		set->packed[set->nr_packed++] = p; /* images point to it */
		return 0;
	}
	free(p->unpacked);
	free(p);
	return ret;
}

static void packed_free(struct packed_image *p)
{
	free(p->unpacked);
	free(p);
}

void image_packed_free(struct auxtap_image_set *set)
{
	for (size_t i = 0; i < set->nr_packed; i++)
		packed_free(set->packed[i]);
	free(set->packed);
}

/* Writes the parts to a new memfd with holes. Returns its descriptor or -errno. */
static int packed_open(const struct packed_file *file)
{
	int fd = memfd_create("auxtap-packed", MFD_CLOEXEC), ret = 0;
	const uint8_t *bytes = file->bytes;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)file->size))
		ret = -errno;
	for (size_t i = 0; !ret && i < file->nr_extents; i++) {
		const struct packed_extent *e = &file->extents[i];

		if (pwrite(fd, bytes, e->size, (off_t)e->off) != (ssize_t)e->size)
			ret = -ENOMEM; /* the size of memfds may be limited */
		bytes += e->size;
	}
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static const struct packed_image *find_packed(const struct auxtap_image_set *set,
					      const struct auxtap_image *image)
{
	for (size_t i = 0; i < set->nr_packed; i++) {
		const struct packed_image *p = set->packed[i];
		const struct file_identity file = {p->header.maj, p->header.min, p->header.ino};

		if (strcmp(p->name, image->name) ||
		    p->header.build_id_size != image->build_id_size ||
		    memcmp(p->header.build_id, image->build_id, image->build_id_size))
			continue;
		if (!image->build_id_size &&
		    (file.maj != image->file.maj || file.min != image->file.min ||
		     file.ino != image->file.ino))
			continue;
		return p;
	}
	return NULL;
}

bool image_packed_find(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	const struct packed_image *p = find_packed(set, image);
	int fd = -ENOENT;

	if (!p || p->header.state != AUXTAP_IMAGE_FOUND)
		return false;
	fd = packed_open(&p->file);
	if (fd < 0 || image_file_map_fd(image, fd)) {
		image->no_memory = true;
		return false;
	}
	/* the file's own build-id counts: the packed recording is untrusted */
	if (image->build_id_size && !image->is_core &&
	    (image->found_build_id_size != image->build_id_size ||
	     memcmp(image->found_build_id, image->build_id, image->build_id_size))) {
		image_file_close(image);
		return false;
	}
	image->packed = p;
	free(image->path);
	image->path = strdup(p->path);
	image->state = AUXTAP_IMAGE_FOUND;
	return true;
}

bool image_packed_has(const struct auxtap_image *image, uint64_t off, size_t *left)
{
	const struct packed_file *file = &image->packed->file;
	size_t lo = 0, hi = file->nr_extents;
	uint64_t end;

	while (lo < hi) { /* the first that ends after off */
		size_t mid = lo + (hi - lo) / 2;

		if (file->extents[mid].off + file->extents[mid].size > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (end = off; lo < file->nr_extents && file->extents[lo].off <= end &&
			file->extents[lo].flags & PACKED_READABLE;
	     lo++)
		end = file->extents[lo].off + file->extents[lo].size;
	if (end == off)
		return false;
	if (*left > end - off)
		*left = end - off;
	return true;
}

Dwfl_Module *image_report_elf(Dwfl *dwfl, struct auxtap_image *image, GElf_Addr base,
			      bool add_vaddr)
{
	int fd = image->packed ? packed_open(&image->packed->file) : -1;
	Dwfl_Module *mod;
	void **data;

	if (image->packed && fd < 0) {
		errno = ENOMEM;
		return NULL;
	}
	mod = dwfl_report_elf(dwfl, image->name, image->path, fd, base, add_vaddr);
	if (!mod && fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	if (mod && image->packed &&
	    dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL))
		*data = (void *)(uintptr_t)image->packed;
	return mod;
}

int image_packed_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found)
{
	const struct packed_image *p = data ? *data : NULL;
	int fd;

	if (!p)
		return debug_file_find(mod, data, name, base, file, link, crc, found);
	fd = p->debug.size ? packed_open(&p->debug) : -1;
	if (fd < 0)
		return -1;
	*found = NULL;
	return fd;
}

int image_open_again(const struct auxtap_image *image)
{
	if (image->packed)
		return packed_open(&image->packed->file);
	return image->path ? open(image->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
}

int image_open_packed_debug(const struct auxtap_image *image)
{
	return image->packed && image->packed->debug.size ? packed_open(&image->packed->debug) : -1;
}

int image_set_add_packed(struct auxtap_image_set *set, uint32_t type, const void *data, size_t size)
{
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	if (type == AUXTAP_METADATA_PACK_IMAGE)
		ret = image_packed_add(set, data, size);
	else if (type == AUXTAP_METADATA_PACK_SOURCE)
		ret = image_source_add(set, data, size);
	pthread_mutex_unlock(&set->lock);
	return ret;
}
