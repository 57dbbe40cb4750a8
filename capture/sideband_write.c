// SPDX-License-Identifier: BSD-2-Clause
/* Builds and reads sideband records, parses /proc/PID/maps; a set of strings: sideband_write.h. */
#include "sideband_write.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool record_parts(const void *record, size_t *body_size, const struct trailer **trailer)
{
	const struct perf_event_header *header = record;

	if (header->size < sizeof(*header) + sizeof(struct trailer))
		return false;
	*body_size = header->size - sizeof(*header) - sizeof(struct trailer);
	*trailer = (const void *)((const char *)record + header->size - sizeof(struct trailer));
	return true;
}

const struct mmap2_body *record_mmap2(const void *record)
{
	const struct perf_event_header *header = record;
	const struct mmap2_body *body = (const void *)(header + 1);
	const struct trailer *trailer;
	size_t size;

	if (header->type != PERF_RECORD_MMAP2 || !record_parts(record, &size, &trailer) ||
	    size <= sizeof(*body))
		return NULL;
	return memchr(body->filename, '\0', size - sizeof(*body)) ? body : NULL;
}

size_t record_make(void *out, size_t max, uint32_t type, uint16_t misc, const void *body,
		   size_t body_size, const char *name, const struct trailer *trailer)
{
	size_t name_size = name ? (strlen(name) + 8) & ~(size_t)7 : 0;
	size_t size = sizeof(struct perf_event_header) + body_size + name_size + sizeof(*trailer);
	struct perf_event_header header = {.type = type, .misc = misc};
	unsigned char *p = out;

	if (size > max || size > UINT16_MAX)
		return 0;
	header.size = (uint16_t)size;
	memcpy(p, &header, sizeof(header));
	p += sizeof(header);
	memcpy(p, body, body_size);
	p += body_size;
	if (name) {
		memset(p, 0, name_size);
		memcpy(p, name, strlen(name) + 1);
		p += name_size;
	}
	memcpy(p, trailer, sizeof(*trailer));
	return size;
}

size_t record_make_map(void *out, size_t max, pid_t pid, const struct map_entry *e,
		       const struct trailer *trailer)
{
	struct mmap2_body body = {
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid,
		.addr = e->start,
		.len = e->end - e->start,
		.pgoff = e->pgoff,
		.maj = e->maj,
		.min = e->min,
		.ino = e->ino,
		.prot = e->prot,
		.flags = e->shared ? MAP_SHARED : MAP_PRIVATE,
	};

	return record_make(out, max, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &body, sizeof(body),
			   *e->name ? e->name : "//anon", trailer);
}

static bool parse_line(char *line, struct map_entry *e)
{
	unsigned long long start, end, pgoff, ino;
	unsigned int maj, min;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &pgoff, &maj,
		   &min, &ino, &at) < 7 ||
	    !at || end <= start)
		return false;
	*e = (struct map_entry){
		.start = start,
		.end = end,
		.pgoff = pgoff,
		.ino = ino,
		.maj = maj,
		.min = min,
		.shared = perms[3] == 's',
		.name = line + at,
	};
	e->prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
		  (perms[2] == 'x' ? PROT_EXEC : 0);
	return true;
}

int map_list_parse(struct map_list *list, const char *text)
{
	size_t max = 0;
	char *save, *line;

	memset(list, 0, sizeof(*list));
	list->text = strdup(text);
	if (!list->text)
		return -ENOMEM;
	for (line = strtok_r(list->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (vector_grow(list->entries, list->nr, max)) {
			map_list_free(list);
			return -ENOMEM;
		}
		if (parse_line(line, &list->entries[list->nr]))
			list->nr++;
	}
	return 0;
}

void map_list_free(struct map_list *list)
{
	free(list->entries);
	free(list->text);
	memset(list, 0, sizeof(*list));
}

bool map_runs_code(const struct map_entry *e)
{
	return (e->prot & PROT_EXEC) && strcmp(e->name, "[vsyscall]");
}

const struct map_entry *map_list_find(const struct map_list *list, uint64_t addr)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (addr >= list->entries[i].start && addr < list->entries[i].end)
			return &list->entries[i];
	}
	return NULL;
}

/* ---- strings: limited, because a program may map any number of files ---- */

#define STRINGS_MAX 8192

bool string_set_add(struct string_set *set, const char *s)
{
	uint64_t hash = hash_text(s);
	size_t step = 0, index;
	char *copy;

	while ((index = hash_map_next(&set->indices, hash, &step)) != HASH_MAP_NONE)
		if (!strcmp(set->strings[index], s))
			return false;
	if (set->nr >= STRINGS_MAX || vector_grow(set->strings, set->nr, set->max))
		return true;
	copy = strdup(s);
	if (!copy || hash_map_add(&set->indices, hash, set->nr)) {
		free(copy);
		return true;
	}
	set->strings[set->nr++] = copy;
	return true;
}

void string_set_free(struct string_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		free(set->strings[i]);
	free(set->strings);
	hash_map_free(&set->indices);
	memset(set, 0, sizeof(*set));
}
