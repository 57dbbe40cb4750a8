// SPDX-License-Identifier: BSD-2-Clause
/*
 * --memory reachable: saves the pages that pointers in registers and saved stacks point into, the
 * pages that pointers in those pages point into, and the writable data of the main program. Code
 * and pages of saved stacks are excluded. One limit applies to all of them: the data comes first,
 * then the pages in the order in which they were found.
 */
#include "core_file.h"
#include "process_start.h"
#include "util/hash_map.h"
#include "util/sized.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define REACHABLE_BYTES (32u << 20)
#define PAGES_MAX	(REACHABLE_BYTES / CORE_PAGE)
#define DATA_PAGES	(PAGES_MAX / 2) /* for the program's data */
#define RUN_PAGES	256		/* consecutive pages in one record */

struct reachable {
	const struct map_entry **entries; /* mappings that may be saved, by address */
	size_t nr_entries;
	uint64_t *pages; /* PAGES_MAX page numbers, in the order in which they were found */
	size_t nr;
	struct hash_map known; /* pages that were found or are saved already */
	bool full;	       /* there were more reachable pages than PAGES_MAX */
};

static int compare_start(const void *a, const void *b)
{
	const struct map_entry *x = *(const struct map_entry *const *)a;
	const struct map_entry *y = *(const struct map_entry *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

struct reachable *reachable_new(const struct map_list *maps)
{
	struct reachable *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->entries = malloc((maps->nr + 1) * sizeof(*r->entries));
	r->pages = malloc(PAGES_MAX * sizeof(*r->pages));
	if (!r->entries || !r->pages) {
		reachable_free(r);
		return NULL;
	}
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];

		if (e->prot & PROT_READ && !(e->prot & PROT_EXEC) && strncmp(e->name, "[vvar", 5))
			r->entries[r->nr_entries++] = e;
	}
	qsort(r->entries, r->nr_entries, sizeof(*r->entries), compare_start);
	return r;
}

void reachable_free(struct reachable *r)
{
	if (!r)
		return;
	hash_map_free(&r->known);
	free(r->entries);
	free(r->pages);
	free(r);
}

static bool is_candidate(const struct reachable *r, uint64_t addr)
{
	size_t low = 0, high = r->nr_entries;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (r->entries[middle]->end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->nr_entries && addr >= r->entries[low]->start;
}

/* Adds the page to the known ones. False: it was known. */
static bool add_known(struct reachable *r, uint64_t page)
{
	uint64_t hash = hash_number(page);

	return hash_map_find(&r->known, hash) == HASH_MAP_NONE &&
	       !hash_map_add(&r->known, hash, (size_t)page);
}

static void add_page(struct reachable *r, uint64_t page)
{
	if (r->nr >= PAGES_MAX) {
		r->full |= hash_map_find(&r->known, hash_number(page)) == HASH_MAP_NONE;
		return;
	}
	if (add_known(r, page))
		r->pages[r->nr++] = page;
}

void reachable_add_words(struct reachable *r, const void *bytes, size_t size)
{
	for (size_t at = 0; r && at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, (const char *)bytes + at, sizeof(word));
		if (is_candidate(r, word))
			add_page(r, word / CORE_PAGE);
	}
}

void reachable_mark_saved(struct reachable *r, uint64_t addr, size_t size)
{
	uint64_t page = (addr + CORE_PAGE - 1) / CORE_PAGE, end = (addr + size) / CORE_PAGE;

	for (; r && page < end; page++)
		add_known(r, page);
}

/* Adds the writable mappings of the file that contains the entry point, and the .bss after them. */
void reachable_add_program(struct reachable *r, const struct auxtap_backend *be, pid_t pid,
			   pid_t tid, const struct map_list *maps)
{
	struct auxtap_target_facts facts = {.size = sizeof(facts)};
	const struct map_entry *code;
	struct process_start start;
	bool follows = false;

	if (TARGET_HAS(be->target, facts) && be->target->facts(be->target_ctx, tid, &facts))
		return;
	process_start_read(&start, be, pid, tid, maps, facts.stack);
	code = map_list_find(maps, process_start_auxv(&start, AT_ENTRY));
	process_start_free(&start);
	for (size_t i = 0; code && *code->name && i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		bool own = !strcmp(e->name, code->name);
		bool zeros = follows && !*e->name && e->start == maps->entries[i - 1].end;

		follows = own || zeros;
		if (!follows || !(e->prot & PROT_WRITE) || !is_candidate(r, e->start))
			continue;
		for (uint64_t at = e->start; at < e->end; at += CORE_PAGE) {
			if (r->nr >= DATA_PAGES) {
				r->full = true;
				return;
			}
			add_page(r, at / CORE_PAGE);
		}
	}
}

/* Adds the pages that words in the first 'end' pages point into. */
static void scan_pages(struct reachable *r, const struct auxtap_backend *be, pid_t pid, size_t end)
{
	_Alignas(8) unsigned char page[CORE_PAGE];

	for (size_t i = 0; i < end && r->nr < PAGES_MAX; i++) {
		ssize_t n = be->target->mem(be->target_ctx, pid, r->pages[i] * CORE_PAGE, page,
					    sizeof(page));

		if (n > 0)
			reachable_add_words(r, page, (size_t)n);
	}
}

static int compare_pages(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool reachable_write(struct reachable *r, struct auxtap_session *s, struct trace_file *file,
		     pid_t pid)
{
	/* Pages one step from registers and stacks are known. Add the next step. */
	scan_pages(r, s->be, pid, r->nr);
	qsort(r->pages, r->nr, sizeof(*r->pages), compare_pages);
	for (size_t i = 0, nr; i < r->nr; i += nr) {
		for (nr = 1;
		     i + nr < r->nr && nr < RUN_PAGES && r->pages[i + nr] == r->pages[i] + nr;)
			nr++;
		session_write_memory(s, file, pid, r->pages[i] * CORE_PAGE, nr * CORE_PAGE);
	}
	return r->full;
}

void session_write_generated_code(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				  const struct map_list *maps)
{
	const struct auxtap_target_ops *target = s->be->target;
	struct auxtap_crash_code head;
	char *records = NULL;
	size_t size = 0;

	if (!TARGET_HAS(target, code) || target->code(s->be->target_ctx, pid, &records, &size))
		return;
	for (size_t at = 0; size - at >= sizeof(head);) {
		uint64_t padded;

		memcpy(&head, records + at, sizeof(head));
		padded = (head.nr_bytes + 7) & ~7ull;
		if (head.nr_bytes > size || padded > size - at - sizeof(head))
			break;
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_CODE, records + at,
						sizeof(head) + (size_t)head.nr_bytes);
		at += sizeof(head) + (size_t)padded;
	}
	if (size)
		session_write_code_names(file, pid, maps);
	free(records);
}
