// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decides which memory of a process a core file contains: for each mapping as the kernel does
 * (vma_dump_size() of fs/coredump.c) by /proc/PID/coredump_filter, and which of its pages were ever
 * used. Under qemu the program's mappings are inside those of qemu, at an offset of facts.base.
 */
#include "core_file.h"
#include "util/sized.h"
#include "util/vector.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bits of coredump_filter. */
#define FILTER_ANON_PRIVATE   0x1
#define FILTER_ANON_SHARED    0x2
#define FILTER_MAPPED_PRIVATE 0x4
#define FILTER_MAPPED_SHARED  0x8
#define FILTER_ELF_HEADERS    0x10
#define FILTER_HUGE_PRIVATE   0x20
#define FILTER_HUGE_SHARED    0x40
#define FILTER_DEFAULT	      (FILTER_ANON_PRIVATE | FILTER_ANON_SHARED | FILTER_ELF_HEADERS | 0x20)

/* Bits of /proc/PID/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)

/* Properties of a mapping from /proc/PID/smaps that /proc/PID/maps lacks. */
struct host_mapping {
	uint64_t start, end;
	bool excluded; /* MADV_DONTDUMP, or memory of a device */
	bool huge;
	bool has_own_pages; /* private pages that differ from those of the file */
};

struct host_mappings {
	struct host_mapping *list;
	size_t nr, max;
	bool known;
};

/* Opens /proc/TID/name: the leader may have exited, so use the thread that died. */
static FILE *open_proc(const struct core_process *p, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", p->ev->tid, name);
	return fopen(path, "re");
}

static unsigned int read_filter(const struct core_process *p)
{
	FILE *f = open_proc(p, "coredump_filter");
	unsigned int filter = FILTER_DEFAULT;

	if (!f)
		return filter;
	if (fscanf(f, "%x", &filter) != 1)
		filter = FILTER_DEFAULT;
	fclose(f);
	return filter;
}

uint64_t core_limit(const struct core_process *p)
{
	unsigned long long limit = 0;
	char line[256], word[32];
	FILE *f;

	if (p->facts.has_core_limit)
		return p->facts.core_limit;
	f = open_proc(p, "limits");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Max core file size %31s", word) != 1)
			continue;
		limit = strcmp(word, "unlimited") ? strtoull(word, NULL, 10) : UINT64_MAX;
	}
	if (f)
		fclose(f);
	return limit;
}

static void read_flags(struct host_mapping *m, const char *flags)
{
	m->excluded = strstr(flags, " dd") || strstr(flags, " io");
	m->huge = strstr(flags, " ht");
}

static void read_host_mappings(const struct core_process *p, struct host_mappings *host)
{
	FILE *f = open_proc(p, "smaps");
	unsigned long long start, end, size;
	size_t max = 0;
	char *line = NULL;

	while (f && getline(&line, &max, f) > 0) {
		struct host_mapping *m = host->nr ? &host->list[host->nr - 1] : NULL;

		if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
			if (vector_grow(host->list, host->nr, host->max))
				break;
			host->list[host->nr++] = (struct host_mapping){.start = start, .end = end};
		} else if (m && (sscanf(line, "Anonymous: %llu", &size) == 1 ||
				 sscanf(line, "Swap: %llu", &size) == 1)) {
			m->has_own_pages |= size > 0;
		} else if (m && !strncmp(line, "VmFlags:", 8)) {
			read_flags(m, line);
		}
	}
	host->known = f && feof(f) && host->nr;
	free(line);
	if (f)
		fclose(f);
}

/* Combines the properties of all host mappings in the range. */
static struct host_mapping combine_host_mappings(const struct host_mappings *host, uint64_t start,
						 uint64_t end)
{
	struct host_mapping all = {.start = start, .end = end, .excluded = host->known};

	for (size_t i = 0; i < host->nr; i++) {
		const struct host_mapping *m = &host->list[i];

		if (m->end <= start || m->start >= end)
			continue;
		all.excluded &= m->excluded;
		all.huge |= m->huge;
		all.has_own_pages |= m->has_own_pages;
	}
	return all;
}

static bool is_elf(const struct core_process *p, uint64_t addr)
{
	char magic[SELFMAG];

	return p->s->be->target->mem(p->s->be->target_ctx, p->ev->pid, addr, magic,
				     sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static bool is_file_mapping(const struct map_entry *e)
{
	return e->ino && *e->name;
}

static bool is_kernel_mapping(const struct map_entry *e)
{
	return !strcmp(e->name, "[vdso]") || !strcmp(e->name, "[vsyscall]") ||
	       !strncmp(e->name, "[vvar", 5);
}

static bool is_deleted(const struct map_entry *e)
{
	static const char suffix[] = " (deleted)";
	size_t n = strlen(e->name);

	return n >= sizeof(suffix) && !strcmp(e->name + n - (sizeof(suffix) - 1), suffix);
}

/* vma_dump_size() */
static uint64_t dump_size(const struct core_process *p, const struct map_entry *e,
			  const struct host_mapping *host, unsigned int filter)
{
	uint64_t whole = e->end - e->start;

	if (is_kernel_mapping(e))
		return whole;
	if (host->excluded)
		return 0;
	if (host->huge)
		return filter & (e->shared ? FILTER_HUGE_SHARED : FILTER_HUGE_PRIVATE) ? whole : 0;
	if (e->shared) {
		unsigned int bit = is_file_mapping(e) && !is_deleted(e) ? FILTER_MAPPED_SHARED :
									  FILTER_ANON_SHARED;

		return filter & bit ? whole : 0;
	}
	if (host->has_own_pages && filter & FILTER_ANON_PRIVATE)
		return whole;
	/*
	 * Nothing was written there, so it contains zeros, which need no space. The kernel dumps
	 * it if it was once a part of a mapping with own pages, which is not visible here.
	 */
	if (!is_file_mapping(e))
		return e->prot & PROT_WRITE && filter & FILTER_ANON_PRIVATE ? whole : 0;
	if (filter & FILTER_MAPPED_PRIVATE)
		return whole;
	if (filter & FILTER_ELF_HEADERS && !e->pgoff && e->prot & PROT_READ && is_elf(p, e->start))
		return whole < CORE_PAGE ? whole : CORE_PAGE;
	return 0;
}

/* The order of writing: first what a debugger needs most. */
static unsigned int write_order(const struct core_process *p, const struct map_entry *e,
				uint64_t dumped)
{
	for (int i = 0; i < p->nr_tids; i++) {
		/* after an overflow sp is below its stack */
		if (p->stacks[i] >= e->start - CORE_PAGE && p->stacks[i] < e->end)
			return i ? 2 : 0;
	}
	if (dumped <= CORE_PAGE || is_kernel_mapping(e))
		return 1;
	return is_file_mapping(e) && e->prot & PROT_WRITE ? 3 : 4;
}

int core_segments_find(const struct core_process *p, struct core_segments *segments)
{
	struct host_mappings host = {0};
	unsigned int filter = read_filter(p);
	int ret = 0;

	read_host_mappings(p, &host);
	for (size_t i = 0; i < p->maps->nr && !ret; i++) {
		const struct map_entry *e = &p->maps->entries[i];
		struct host_mapping m;

		ret = vector_grow(segments->list, segments->nr, segments->max);
		if (ret)
			break;
		m = combine_host_mappings(&host, p->facts.base + e->start, p->facts.base + e->end);
		/* without smaps: assume that writable pages were written to */
		if (!host.known)
			m.has_own_pages = e->prot & PROT_WRITE;
		segments->list[segments->nr++] = (struct core_segment){
			.start = e->start,
			.end = e->end,
			.flags = (e->prot & PROT_READ ? PF_R : 0u) |
				 (e->prot & PROT_WRITE ? PF_W : 0u) |
				 (e->prot & PROT_EXEC ? PF_X : 0u),
			.dumped = dump_size(p, e, &m, filter),
			.from_file = is_file_mapping(e) || is_kernel_mapping(e),
		};
		segments->list[segments->nr - 1].order =
			write_order(p, e, segments->list[segments->nr - 1].dumped);
	}
	free(host.list);
	return ret;
}

/* ---- pages ---- */

void core_pages_open(struct core_pages *pages, const struct core_process *p)
{
	char path[64];

	pages->base = p->facts.base;
	pages->nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", p->ev->tid);
	pages->fd = sysconf(_SC_PAGESIZE) == CORE_PAGE ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

void core_pages_close(struct core_pages *pages)
{
	if (pages->fd >= 0)
		close(pages->fd);
	pages->fd = -1;
}

bool core_page_present(struct core_pages *pages, const struct core_segment *segment, uint64_t addr)
{
	uint64_t page = (pages->base + addr) / CORE_PAGE;

	if (pages->fd < 0 || segment->from_file)
		return true;
	if (page < pages->first || page - pages->first >= pages->nr) {
		ssize_t n = pread(pages->fd, pages->entry, sizeof(pages->entry),
				  (off_t)(page * sizeof(pages->entry[0])));

		pages->first = page;
		pages->nr = n > 0 ? (size_t)n / sizeof(pages->entry[0]) : 0;
		if (!pages->nr)
			return true;
	}
	return pages->entry[page - pages->first] & (PAGE_PRESENT | PAGE_SWAPPED);
}
