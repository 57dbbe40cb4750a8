// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The guest's address space as its system calls created it. /proc/PID/maps of the host also shows
 * qemu's own mappings, and shows no mapping of the guest as executable.
 */
#include "qemu.h"
#include "util/vector.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct qemu_range *append(struct qemu_process *p, const struct qemu_range *from)
{
	struct qemu_range *to;
	char *name = strdup(from->name ? from->name : "");

	if (!name || vector_grow(p->range, p->nr_ranges, p->max_ranges)) {
		free(name);
		return NULL;
	}
	to = &p->range[p->nr_ranges++];
	*to = *from;
	to->name = name;
	return to;
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): a freed range is replaced by the last one */
void qemu_maps_remove(struct qemu_process *p, u64 start, u64 end)
{
	for (u32 i = 0; i < p->nr_ranges; i++) {
		struct qemu_range *r = &p->range[i];

		if (r->end <= start || r->start >= end)
			continue;
		if (r->start < start && r->end > end) {
			struct qemu_range rest = *r;

			rest.start = end;
			rest.pgoff += *r->name ? end - r->start : 0;
			r->end = start;
			append(p, &rest);
			return; /* nothing else can overlap */
		}
		if (r->start < start) {
			r->end = start;
		} else if (r->end > end) {
			r->pgoff += *r->name ? end - r->start : 0;
			r->start = end;
		} else {
			char *name = r->name;

			*r = p->range[--p->nr_ranges]; /* replace it by the last one */
			free(name);
			i--;
		}
	}
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

void qemu_maps_add(struct qemu_process *p, const struct qemu_range *range)
{
	if (range->end <= range->start)
		return;
	qemu_maps_remove(p, range->start, range->end);
	append(p, range);
}

const struct qemu_range *qemu_maps_find(const struct qemu_process *p, u64 addr)
{
	for (u32 i = 0; i < p->nr_ranges; i++)
		if (addr >= p->range[i].start && addr < p->range[i].end)
			return &p->range[i];
	return NULL;
}

void qemu_maps_clear(struct qemu_process *p)
{
	for (u32 i = 0; i < p->nr_ranges; i++)
		free(p->range[i].name);
	free(p->range);
	p->range = NULL;
	p->nr_ranges = p->max_ranges = 0;
}

int qemu_maps_copy(struct qemu_process *to, const struct qemu_process *from)
{
	for (u32 i = 0; i < from->nr_ranges; i++)
		if (!append(to, &from->range[i]))
			return -ENOMEM;
	return 0;
}

void qemu_maps_report(struct qemu_process *p, struct emu_task *task, u64 start, u64 end)
{
	for (u32 i = 0; i < p->nr_ranges; i++) {
		const struct qemu_range *r = &p->range[i];
		/* clang-format off */
		struct emu_mapping map = {
			.addr = r->start, .len = r->end - r->start, .pgoff = r->pgoff,
			.prot = r->prot, .maj = r->maj, .min = r->min, .ino = r->ino,
			.name = *r->name ? r->name : "//anon",
		};
		/* clang-format on */

		if (r->prot & 4 && r->start < end && r->end > start)
			emu_task_mmap(task, &map);
	}
}

/* Cuts out the parts of [start, end) that are mapped, changes them, and puts them back. */
void qemu_maps_protect(struct qemu_process *p, u64 start, u64 end, u32 prot)
{
	struct qemu_process parts = {0};

	for (u32 i = 0; i < p->nr_ranges; i++) {
		struct qemu_range part = p->range[i];

		if (part.end <= start || part.start >= end || part.prot == prot)
			continue;
		if (part.start < start) {
			part.pgoff += *part.name ? start - part.start : 0;
			part.start = start;
		}
		if (part.end > end)
			part.end = end;
		part.prot = prot;
		append(&parts, &part);
	}
	for (u32 i = 0; i < parts.nr_ranges; i++)
		qemu_maps_add(p, &parts.range[i]);
	qemu_maps_clear(&parts);
}

void qemu_maps_move(struct qemu_process *p, u64 from, u64 from_len, u64 to, u64 to_len)
{
	struct qemu_range moved = {0};

	for (u32 i = 0; i < p->nr_ranges; i++) {
		const struct qemu_range *r = &p->range[i];

		if (from < r->start || from >= r->end)
			continue;
		moved = *r;
		moved.pgoff += *r->name ? from - r->start : 0;
		moved.name = strdup(r->name);
		break; /* ranges do not overlap */
	}
	if (!moved.name)
		return;
	moved.start = to;
	moved.end = to + to_len;
	qemu_maps_remove(p, from, from + from_len);
	qemu_maps_add(p, &moved);
	free(moved.name);
}

static int by_start(const void *a, const void *b)
{
	const struct qemu_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

ssize_t qemu_maps_text(const struct qemu_process *p, char **text)
{
	struct qemu_range *sorted = NULL;
	size_t size = 0;
	FILE *f;

	if (p->nr_ranges) {
		sorted = malloc(p->nr_ranges * sizeof(*sorted));
		if (!sorted)
			return -ENOMEM;
		memcpy(sorted, p->range, p->nr_ranges * sizeof(*sorted));
		qsort(sorted, p->nr_ranges, sizeof(*sorted), by_start);
	}
	f = open_memstream(text, &size);
	if (!f) {
		free(sorted);
		return -ENOMEM;
	}
	for (u32 i = 0; i < p->nr_ranges; i++) {
		const struct qemu_range *r = &sorted[i];

		fprintf(f, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu%s%s\n",
			(unsigned long long)r->start, (unsigned long long)r->end,
			r->prot & 1 ? 'r' : '-', r->prot & 2 ? 'w' : '-', r->prot & 4 ? 'x' : '-',
			r->shared ? 's' : 'p', (unsigned long long)r->pgoff, r->maj, r->min,
			(unsigned long long)r->ino, *r->name ? " " : "", r->name);
	}
	free(sorted);
	if (fclose(f))
		return -ENOMEM;
	return (ssize_t)size;
}
