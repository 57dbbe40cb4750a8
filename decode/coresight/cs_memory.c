// SPDX-License-Identifier: BSD-2-Clause
/* See cs_memory.h. */
#include "cs_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cs_memory_dumps_load(struct cs_memory_dumps *dumps, struct auxtap_image_set *set,
			 const struct cs_snapshot *ss, struct auxtap_error *err)
{
	int ret = 0;

	memset(dumps, 0, sizeof(*dumps));
	dumps->dumps = calloc(ss->nr_dumps ? ss->nr_dumps : 1, sizeof(*dumps->dumps));
	if (!dumps->dumps)
		return auxtap_error_set(err, -ENOMEM, ss->dir, "out of memory");
	for (size_t i = 0; !ret && i < ss->nr_dumps; i++) {
		const struct cs_snapshot_dump *from = &ss->dumps[i];
		struct cs_memory_dump *dump = &dumps->dumps[dumps->nr];
		bool known = false;

		/* cores may share memory: then each of them lists the same dump */
		for (size_t j = 0; j < i && !known; j++)
			known = ss->dumps[j].addr == from->addr && ss->dumps[j].off == from->off &&
				ss->dumps[j].len == from->len &&
				ss->dumps[j].space == from->space &&
				!strcmp(ss->dumps[j].path, from->path);
		if (known)
			continue;
		dump->addr = from->addr;
		dump->space = from->space;
		ret = image_set_add_memory_dump(set, from->path, from->off, from->len, from->addr,
						&dump->bytes, &dump->size);
		dumps->nr++;
	}
	return ret ? auxtap_error_set(err, ret, ss->dir, "out of memory") : 0;
}

void cs_memory_dumps_free(struct cs_memory_dumps *dumps)
{
	free(dumps->dumps);
	memset(dumps, 0, sizeof(*dumps));
}

static const struct cs_memory_dump *find_dump(const struct cs_memory *mem, uint64_t addr)
{
	for (size_t i = 0; mem->dumps && i < mem->dumps->nr; i++) {
		const struct cs_memory_dump *dump = &mem->dumps->dumps[i];

		if (addr >= dump->addr && addr - dump->addr < dump->size &&
		    (!mem->space || dump->space & mem->space))
			return dump;
	}
	return NULL;
}

static struct image_between between(const struct cs_memory *mem)
{
	return (struct image_between){mem->pid, mem->since, mem->time, mem->from_start};
}

static uint32_t bytes_certain(const struct cs_memory *mem, uint64_t addr, uint32_t size)
{
	struct image_between b = between(mem);

	return mem->changed ? image_set_bytes_unchanged(mem->set, &b, addr, size) : size;
}

bool cs_memory_code_uncertain(const struct cs_memory *mem, uint64_t addr)
{
	return !bytes_certain(mem, addr, 1);
}

bool cs_memory_set(struct cs_memory *mem, int32_t pid, uint64_t since, uint64_t time,
		   bool from_start)
{
	struct image_between b;

	if (mem->pid == pid && mem->since == since && mem->time == time &&
	    mem->from_start == from_start)
		return false;
	mem->pid = pid;
	mem->since = since;
	mem->time = time;
	mem->from_start = from_start;
	b = between(mem);
	mem->changed = image_set_may_have_changed(mem->set, &b);
	return true;
}

uint32_t cs_memory_read(const struct cs_memory *mem, uint64_t addr, uint32_t size, void *buf)
{
	const struct cs_memory_dump *dump;
	uint32_t done = 0;
	ssize_t got;

	/* dumps are looked up by memory space; images given with --image have priority over them */
	while (done < size && (dump = find_dump(mem, addr + done)) && dump->bytes &&
	       !image_set_has_override(mem->set, addr + done)) {
		uint64_t at = addr + done - dump->addr, part = dump->size - at;

		if (part > size - done)
			part = size - done;
		if (part >
		    4) /* an earlier dump of the list, or a given image, may begin in between */
			part = 4;
		memcpy((uint8_t *)buf + done, dump->bytes + at, (size_t)part);
		done += (uint32_t)part;
	}
	/* the code of a snapshot directory comes from its dumps and --image alone */
	if (done || (mem->dumps && mem->dumps->nr && !image_set_has_override(mem->set, addr)))
		return done;
	size = bytes_certain(mem, addr, size);
	if (!size)
		return 0;
	got = auxtap_image_set_read(mem->set, mem->pid, mem->time, addr, buf, size);
	return got > 0 ? (uint32_t)got : 0;
}

void cs_memory_count(struct cs_memory *mem, uint64_t addr, uint64_t nr_insns)
{
	const struct image_map *map;

	if (addr < mem->count_lo || addr >= mem->count_hi) {
		cs_memory_count_flush(mem);
		pthread_mutex_lock(&mem->set->lock);
		map = image_find_map(mem->set, mem->pid, mem->time, addr);
		mem->count_image = map ? map->image : NULL;
		mem->count_lo = map ? map->start : addr;
		mem->count_hi = map ? map->end : addr + 1;
		pthread_mutex_unlock(&mem->set->lock);
	}
	mem->count_nr += nr_insns;
}

void cs_memory_count_flush(struct cs_memory *mem)
{
	if (mem->count_image && mem->count_nr)
		__atomic_add_fetch(&mem->count_image->nr_insns, mem->count_nr, __ATOMIC_RELAXED);
	mem->count_image = NULL;
	mem->count_nr = mem->count_lo = mem->count_hi = 0;
}

void cs_memory_describe_fault(const struct cs_memory *mem, uint64_t addr, char *text, size_t size)
{
	const struct image_map *map;

	pthread_mutex_lock(&mem->set->lock);
	map = image_find_map(mem->set, mem->pid, mem->time, addr);
	if (map) {
		map->image->nr_gaps++;
		snprintf(text, size, "no image %.48s for %" PRIx64, map->image->name, addr);
	} else {
		snprintf(text, size, "no mapping known at %" PRIx64, addr);
	}
	pthread_mutex_unlock(&mem->set->lock);
}
