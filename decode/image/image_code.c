// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code that a process generated at run time. The recording contains extents of bytes at addresses,
 * each with the time since which they are valid. They replace anonymous memory, which has no file.
 * Code at an address before that time is unknown, and remains a gap.
 */
#include "image_private.h"
#include "util/vector.h"

#include <auxtap/crash.h>
#include <auxtap/perfdata.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_CODE_BYTES (1u << 28) /* the most bytes of one process */
#define CODE_PAGE      4096u
#define MAX_CODE_FILE  (1ull << 29) /* the largest file of pages */
#define CODE_FILL      0x06 /* fills the gaps in that file: an invalid opcode in 64-bit mode */

/* Adjacent pages, each with some code. The file contains all parts one after the other. */
struct code_part {
	uint64_t start, end, off;
};

struct image_code {
	struct auxtap_image *image; /* has the bytes of all extents, one after the other */
	uint8_t *bytes;		    /* until the first look-up; then the image owns them */
	size_t nr_bytes, max_bytes;
	struct image_map *extents; /* disjoint; by address after the first look-up */
	size_t nr, max;
	uint64_t *times; /* times at which code changed, sorted, unique; set at the first look-up */
	size_t nr_times;
	bool ready; /* after the first look-up nothing changes: it can be read without the lock */
	char path[32]; /* of the memfd; "": there is none */
	int fd;
	struct code_part *parts; /* by address */
	size_t nr_parts, max_parts;
	/* both until the first look-up; NULL: none */
	char *names;   /* of /tmp/perf-PID.map */
	uint8_t *dump; /* of a jitdump */
	size_t dump_size;
};

static int by_address(const void *a, const void *b)
{
	const struct image_map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* No recorder writes overlapping extents; of such ones the lower one is kept. */
static void code_sort(struct image_code *code)
{
	size_t nr = 0;

	if (!code->nr)
		return;
	qsort(code->extents, code->nr, sizeof(*code->extents), by_address);
	for (size_t i = 0; i < code->nr; i++)
		if (!nr || code->extents[i].start >= code->extents[nr - 1].end)
			code->extents[nr++] = code->extents[i];
	code->nr = nr;
	code->times = malloc(nr * sizeof(*code->times));
	if (!code->times) {
		code->nr = 0;
		code->image->no_memory = true;
		return;
	}
	for (size_t i = 0; i < nr; i++)
		code->times[i] = code->extents[i].time;
	qsort(code->times, nr, sizeof(*code->times), by_time);
	for (size_t i = 0; i < nr; i++)
		if (!i || code->times[i] != code->times[code->nr_times - 1])
			code->times[code->nr_times++] = code->times[i];
}

static int find_parts(struct image_code *code)
{
	uint64_t size = 0;

	for (size_t i = 0; i < code->nr; i++) {
		uint64_t start = code->extents[i].start & ~(uint64_t)(CODE_PAGE - 1);
		uint64_t end = (code->extents[i].end - 1) | (CODE_PAGE - 1);
		struct code_part *last = code->nr_parts ? &code->parts[code->nr_parts - 1] : NULL;

		end += end < UINT64_MAX;
		if (last && start <= last->end) {
			last->end = end > last->end ? end : last->end;
			continue;
		}
		if (vector_grow(code->parts, code->nr_parts, code->max_parts))
			return -1;
		code->parts[code->nr_parts++] = (struct code_part){.start = start, .end = end};
	}
	for (size_t i = 0; i < code->nr_parts; i++) {
		code->parts[i].off = size;
		size += code->parts[i].end - code->parts[i].start;
		if (size > MAX_CODE_FILE)
			return -1;
	}
	return 0;
}

/* Index of the first part that ends after addr; nr_parts: there is none. */
static size_t part_after(const struct image_code *code, uint64_t addr)
{
	size_t lo = 0, hi = code->nr_parts;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->parts[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* *extent: index of the part's first extent; becomes that of the next part. */
static int write_part(const struct image_code *code, const struct code_part *part, size_t *extent)
{
	uint64_t size = part->end - part->start;
	uint8_t *bytes = malloc(size);
	int ret = -1;

	if (!bytes)
		return -1;
	memset(bytes, CODE_FILL, size);
	for (; *extent < code->nr && code->extents[*extent].start < part->end; ++*extent) {
		const struct image_map *e = &code->extents[*extent];

		memcpy(bytes + (e->start - part->start), code->image->data + e->pgoff,
		       e->end - e->start);
	}
	if (pwrite(code->fd, bytes, size, (off_t)part->off) == (ssize_t)size)
		ret = 0;
	free(bytes);
	return ret;
}

/*
 * Writes all pages to a memfd, which libipt can map; then it caches decoded blocks. Without the
 * file libipt reads the code through a callback, a few bytes at a time.
 */
static void write_file(struct image_code *code)
{
	size_t extent = 0;

	code->fd = -1;
	if (!code->nr || find_parts(code))
		goto none;
	code->fd = memfd_create("auxtap-code", MFD_CLOEXEC);
	if (code->fd < 0)
		goto none;
	for (size_t i = 0; i < code->nr_parts; i++)
		if (write_part(code, &code->parts[i], &extent))
			goto none;
	snprintf(code->path, sizeof(code->path), "/proc/self/fd/%d", code->fd);
	return;
none:
	if (code->fd >= 0)
		close(code->fd);
	code->fd = -1;
}

const struct image_code *image_code_of(const struct image_space *space)
{
	struct image_code *code = space->code;

	if (!code || code->ready)
		return code;
	code->ready = true;
	image_adopt_embedded(code->image, code->bytes, code->nr_bytes);
	code->bytes = NULL;
	code_sort(code);
	write_file(code);
	code->image->symbols_read = true;
	if (code_names_read(code->image, code->names, code->dump, code->dump_size))
		code->image->no_memory = true;
	free(code->names);
	code->names = NULL;
	code->dump = NULL;
	return code;
}

int image_set_add_code(struct auxtap_image_set *set, const void *data, size_t size)
{
	struct auxtap_crash_code head;
	struct image_space *space;
	struct image_map map = {.is_generated_code = true};
	struct image_code *code;
	int ret = -ENOMEM;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (!head.nr_bytes || head.nr_bytes != size - sizeof(head) ||
	    head.nr_bytes > UINT64_MAX - head.addr)
		return 0;
	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, head.pid, true);
	if (space && !space->code)
		space->code = calloc(1, sizeof(*space->code));
	code = space ? space->code : NULL;
	if (code && !code->image)
		code->image = image_add(set, AUXTAP_GENERATED_CODE, NULL, 0);
	if (!code || !code->image)
		goto out;
	ret = 0;
	/* a second decoder of the same recording adds the same code again */
	if (code->ready || head.nr_bytes > MAX_CODE_BYTES - code->nr_bytes)
		goto out;
	map.time = head.time;
	map.start = head.addr;
	map.end = head.addr + head.nr_bytes;
	map.pgoff = code->nr_bytes;
	map.image = code->image;
	if (vector_grow_by(code->bytes, code->nr_bytes, head.nr_bytes, code->max_bytes) ||
	    vector_grow(code->extents, code->nr, code->max)) {
		ret = -ENOMEM;
		goto out;
	}
	memcpy(code->bytes + code->nr_bytes, (const uint8_t *)data + sizeof(head), head.nr_bytes);
	code->nr_bytes += head.nr_bytes;
	code->extents[code->nr++] = map;
out:
	pthread_mutex_unlock(&set->lock);
	return ret;
}

int image_set_add_code_names(struct auxtap_image_set *set, uint32_t type, const void *data,
			     size_t size)
{
	struct auxtap_crash_code_names head;
	struct image_space *space;
	struct image_code *code;
	int ret = 0;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (!head.nr_bytes || head.nr_bytes != size - sizeof(head))
		return 0;
	pthread_mutex_lock(&set->lock);
	space = image_space_get(set, head.pid, false);
	code = space ? space->code : NULL;
	data = (const uint8_t *)data + sizeof(head);
	if (code && !code->ready && type == AUXTAP_METADATA_CODE_NAMES && !code->names) {
		code->names = strndup(data, head.nr_bytes);
		ret = code->names ? 0 : -ENOMEM;
	} else if (code && !code->ready && type == AUXTAP_METADATA_CODE_DUMP && !code->dump) {
		code->dump = malloc(head.nr_bytes);
		ret = code->dump ? 0 : -ENOMEM;
		if (code->dump)
			memcpy(code->dump, data, head.nr_bytes);
		code->dump_size = head.nr_bytes;
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* The first extent that ends after addr. */
static size_t first_after(const struct image_code *code, uint64_t addr)
{
	size_t lo = 0, hi = code->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->extents[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

bool image_map_is_anonymous(const struct image_map *map)
{
	const char *name = map->image->name;

	return !map->image->data && (!strncmp(name, "//", 2) || !strncmp(name, "/memfd:", 7) ||
				     !strcmp(name, "[heap]") || !strncmp(name, "[stack", 6) ||
				     !strncmp(name, "[anon:", 6));
}

const struct image_map *image_code_find(const struct image_space *space, uint64_t time,
					uint64_t addr, const struct image_map *map)
{
	const struct image_code *code = space && space->code ? image_code_of(space) : NULL;
	size_t at;

	if (!code || !map || !image_map_is_anonymous(map))
		return map;
	at = first_after(code, addr);
	return at < code->nr && code->extents[at].start <= addr && code->extents[at].time <= time ?
		       &code->extents[at] :
		       map;
}

uint64_t image_code_since(const struct image_code *code, uint64_t addr, uint64_t size)
{
	uint64_t page = addr & ~(uint64_t)(CODE_PAGE - 1), end = addr + size, since = 0;
	size_t at = first_after(code, page);

	if (at == code->nr || code->extents[at].start > ((end - 1) | (CODE_PAGE - 1)))
		return 0;
	while (at < code->nr && code->extents[at].end <= addr)
		at++;
	for (; addr < end; addr = code->extents[at++].end) {
		if (at == code->nr || code->extents[at].start > addr)
			return IMAGE_CODE_UNKNOWN;
		if (code->extents[at].time > since)
			since = code->extents[at].time;
	}
	return since;
}

size_t image_code_read(const struct image_code *code, uint64_t addr, uint8_t *buf, size_t size)
{
	size_t at = first_after(code, addr), done = 0;

	while (done < size && at < code->nr && code->extents[at].start <= addr + done) {
		const struct image_map *e = &code->extents[at++];
		uint64_t n = e->end - (addr + done);

		if (n > size - done)
			n = size - done;
		memcpy(buf + done, code->image->data + e->pgoff + (addr + done - e->start), n);
		done += n;
	}
	return done;
}

void image_code_each_part(const struct image_code *code, const struct image_map *map,
			  void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size,
				     uint64_t addr),
			  void *ctx)
{
	if (!code->path[0] || !image_map_is_anonymous(map))
		return;
	for (size_t i = part_after(code, map->start);
	     i < code->nr_parts && code->parts[i].start < map->end; i++) {
		const struct code_part *part = &code->parts[i];
		uint64_t start = part->start > map->start ? part->start : map->start;
		uint64_t end = part->end < map->end ? part->end : map->end;

		fn(ctx, code->path, part->off + (start - part->start), end - start, start);
	}
}

/* How many of code->times[] are not after 'time'. */
size_t image_code_changes_until(const struct image_space *space, uint64_t time)
{
	const struct image_code *code = space->code ? image_code_of(space) : NULL;
	size_t lo = 0, hi = code ? code->nr_times : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->times[mid] <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void image_code_range(const struct image_space *space, uint64_t time, uint64_t addr,
		      struct image_code_range *range)
{
	const struct image_code *code = space->code ? image_code_of(space) : NULL;
	size_t at, nr_changes;

	*range = (struct image_code_range){.end = UINT64_MAX, .time_last = UINT64_MAX};
	if (!code)
		return;
	at = first_after(code, addr);
	nr_changes = image_code_changes_until(space, time);
	if (at)
		range->start = code->extents[at - 1].end;
	if (at < code->nr && code->extents[at].start <= addr) {
		range->start = code->extents[at].start;
		range->end = code->extents[at].end;
	} else if (at < code->nr) {
		range->end = code->extents[at].start;
	}
	if (nr_changes)
		range->time_begin = code->times[nr_changes - 1];
	if (nr_changes < code->nr_times)
		range->time_last = code->times[nr_changes] - 1;
}

void image_code_free(struct image_code *code)
{
	if (!code)
		return;
	free(code->bytes);
	free(code->extents);
	free(code->times);
	free(code->parts);
	free(code->names);
	free(code->dump);
	if (code->ready && code->fd >= 0)
		close(code->fd);
	free(code);
}
