// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The traced program's memory: its executable mappings, as MMAP2 records need them, and its code,
 * decoded once if it cannot change without a system call.
 */
#include "ptrace.h"
#include "util/vector.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_PAGES 1024 /* 36 KiB each */

/* ---- address spaces ---- */

struct ptrace_mm *ptrace_mm_new(void)
{
	struct ptrace_mm *mm = calloc(1, sizeof(*mm));

	if (mm)
		mm->nr_refs = 1;
	return mm;
}

struct ptrace_mm *ptrace_mm_get(struct ptrace_mm *mm)
{
	mm->nr_refs++;
	return mm;
}

static void free_maps(struct ptrace_map *maps, int nr)
{
	for (int i = 0; i < nr; i++)
		free(maps[i].name);
	free(maps);
}

void ptrace_mm_put(struct ptrace_mm *mm)
{
	if (!mm || --mm->nr_refs)
		return;
	ptrace_code_forget_all(mm);
	code_store_clear(&mm->code, 0);
	free_maps(mm->maps, mm->nr_maps);
	free(mm);
}

struct ptrace_mm *ptrace_mm_copy(struct ptrace_engine *e, const struct ptrace_mm *mm)
{
	struct ptrace_mm *copy = ptrace_mm_new();

	if (copy)
		code_store_inherit(&copy->code, &e->code_stamps, e->emu, &mm->code);
	if (!copy || !mm->nr_maps)
		return copy;
	copy->maps = calloc((size_t)mm->nr_maps, sizeof(*copy->maps));
	if (!copy->maps)
		return copy;
	for (int i = 0; i < mm->nr_maps; i++) {
		copy->maps[i] = mm->maps[i];
		copy->maps[i].name = strdup(mm->maps[i].name);
	}
	copy->nr_maps = mm->nr_maps;
	return copy;
}

/* ---- memory ---- */

ssize_t ptrace_mem_read(pid_t pid, u64 addr, void *buf, size_t size)
{
	struct iovec local = {.iov_base = buf, .iov_len = size};
	struct iovec remote[2] = {{.iov_base = (void *)(uintptr_t)addr, .iov_len = size}};
	u64 first = CODE_PAGE - (addr & (CODE_PAGE - 1));
	char path[32];
	ssize_t n;
	int fd, nr = 1;

	if (size > first) {
		/* so that an unmapped page does not hide the one before it */
		remote[0].iov_len = first;
		remote[1].iov_base = (void *)(uintptr_t)(addr + first);
		remote[1].iov_len = size - first;
		nr = 2;
	}
	n = process_vm_readv(pid, &local, 1, remote, (unsigned long)nr, 0);
	if (n > 0 || !size)
		return n;
	/* this also reads execute-only pages, as a debugger may */
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, buf, size, (off_t)addr);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

#define MAPS_CHUNK 16384

ssize_t ptrace_maps_text(pid_t pid, char **text)
{
	size_t size = 0, capacity = 0;
	char path[32];
	ssize_t n = 0;
	int fd;

	*text = NULL;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		n = vector_grow_by(*text, size, MAPS_CHUNK, capacity);
		if (n)
			break;
		n = read(fd, *text + size, capacity - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			n = -errno;
		if (n <= 0)
			break;
		size += (size_t)n;
	}
	close(fd);
	if (n < 0) {
		free(*text);
		*text = NULL;
		return n;
	}
	(*text)[size] = '\0';
	return (ssize_t)size;
}

/* ---- maps ---- */

static bool parse_map(char *line, struct ptrace_map *map)
{
	unsigned long long start, end, pgoff, ino;
	unsigned int maj, min;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &pgoff, &maj,
		   &min, &ino, &at) < 7 ||
	    !at)
		return false;
	*map = (struct ptrace_map){
		.start = start,
		.end = end,
		.pgoff = pgoff,
		.ino = ino,
		.maj = maj,
		.min = min,
		.prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			(perms[2] == 'x' ? PROT_EXEC : 0),
		.shared = perms[3] == 's',
		.name = line + at,
	};
	if (!*map->name)
		map->name = (char *)(uintptr_t) "//anon";
	return (map->prot & PROT_EXEC) && strcmp(map->name, "[vsyscall]") != 0;
}

static bool same_map(const struct ptrace_map *a, const struct ptrace_map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
	       a->ino == b->ino && a->maj == b->maj && a->min == b->min && a->prot == b->prot &&
	       !strcmp(a->name, b->name);
}

static void report_map(struct emu_task *task, const struct ptrace_map *m)
{
	const struct emu_mapping map = {
		.addr = m->start,
		.len = m->end - m->start,
		.pgoff = m->pgoff,
		.prot = m->prot,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.name = m->name,
	};

	emu_task_mmap(task, &map);
}

void ptrace_maps_sync(struct ptrace_thread *t, bool report)
{
	struct ptrace_mm *mm = t->mm;
	struct ptrace_map *maps = NULL, map;
	int nr = 0, capacity = 0;
	char *text, *line, *save = NULL;

	if (ptrace_maps_text(t->tid, &text) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool known = false;

		if (!parse_map(line, &map))
			continue;
		for (int i = 0; i < mm->nr_maps && !known; i++)
			known = same_map(&mm->maps[i], &map);
		if (!known && report)
			report_map(t->task, &map);
		if (vector_grow(maps, nr, capacity))
			break;
		map.name = strdup(map.name);
		if (!map.name)
			break;
		maps[nr++] = map;
	}
	free(text);
	free_maps(mm->maps, mm->nr_maps);
	mm->maps = maps;
	mm->nr_maps = nr;
}

static const struct ptrace_map *map_at(const struct ptrace_mm *mm, u64 addr)
{
	int low = 0, high = mm->nr_maps;

	while (low < high) {
		int mid = (low + high) / 2;

		if (mm->maps[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < mm->nr_maps && mm->maps[low].start <= addr ? &mm->maps[low] : NULL;
}

/* ---- code ---- */

static struct ptrace_page **page_bucket(struct ptrace_mm *mm, u64 addr)
{
	return &mm->pages[(addr / CODE_PAGE) % CODE_HASH];
}

void ptrace_code_forget_all(struct ptrace_mm *mm)
{
	for (int i = 0; i < CODE_HASH; i++) {
		while (mm->pages[i]) {
			struct ptrace_page *page = mm->pages[i];

			mm->pages[i] = page->next;
			free(page);
		}
	}
	mm->nr_pages = 0;
	mm->last = NULL;
}

void ptrace_code_forget(struct ptrace_mm *mm, u64 addr, u64 len)
{
	/* the page before may contain the start of an instruction that crosses into the range */
	u64 start = (addr & ~(CODE_PAGE - 1)) - CODE_PAGE;
	u64 end = addr + len;

	if (!mm->nr_pages || !len)
		return;
	for (int i = 0; i < CODE_HASH; i++) {
		struct ptrace_page **link = &mm->pages[i];

		while (*link) {
			struct ptrace_page *page = *link;

			if (page->addr < start || page->addr >= end) {
				link = &page->next;
				continue;
			}
			*link = page->next;
			free(page);
			mm->nr_pages--;
		}
	}
	mm->last = NULL;
}

/* True if no file backs the mapping (the decoder's image_map_is_anonymous()). */
static bool is_generated(const struct ptrace_map *map)
{
	static const char *const names[] = {"//anon", "/memfd:", "[heap]", "[stack", "[anon:"};

	for (size_t i = 0; map && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(map->name, names[i], strlen(names[i])))
			return true;
	return false;
}

static void set_generated(struct ptrace_thread *t, const u8 *bytes, u32 size)
{
	union ptrace_generated *to = &t->code[t->code_at];

	t->generated = true;
	to->code.stamp = 0;
	to->code.size = size;
	memcpy(to->space + offsetof(struct emu_code, bytes), bytes, size);
}

/* The bytes that are decoded here are recorded as those that were executed. */
static bool decode_uncached(struct ptrace_thread *t, u64 ip, struct x86_insn *insn, bool generated)
{
	u8 code[INSN_MAX];
	ssize_t n = ptrace_mem_read(t->tid, ip, code, sizeof(code));

	if (n <= 0 || x86_insn_decode(code, (unsigned int)n, 64, insn))
		return false;
	if (generated)
		set_generated(t, code, insn->len);
	return true;
}

/* A page in private, non-writable mappings does not change until a system call. */
static struct ptrace_page *page_load(struct ptrace_thread *t, u64 addr, bool *generated)
{
	struct ptrace_mm *mm = t->mm;
	const struct ptrace_map *map = map_at(mm, addr);
	struct ptrace_page *page;
	ssize_t n;

	if (!map) {
		/* not mapped by a system call that we saw; report it before it runs */
		ptrace_maps_sync(t, true);
		map = map_at(mm, addr);
	}
	*generated = is_generated(map);
	/* a private mapping of a memfd shows changes of that */
	if (!map || (map->prot & PROT_WRITE) || map->shared || (*generated && map->ino))
		return NULL;
	if (mm->nr_pages >= MAX_PAGES)
		ptrace_code_forget_all(mm);
	page = malloc(sizeof(*page));
	if (!page)
		return NULL;
	n = ptrace_mem_read(t->tid, addr, page->bytes, CODE_PAGE);
	if (n <= 0) {
		free(page);
		return NULL;
	}
	page->addr = addr;
	page->nr_bytes = (u32)n;
	page->generated = *generated;
	memset(page->insns, 0, sizeof(page->insns));
	page->next = *page_bucket(mm, addr);
	*page_bucket(mm, addr) = page;
	mm->nr_pages++;
	return page;
}

static bool decode_cached(struct ptrace_thread *t, struct ptrace_page *page, u64 ip,
			  struct x86_insn *insn)
{
	u32 off = (u32)(ip - page->addr);
	struct x86_insn *known = &page->insns[off];

	if (!known->len) {
		bool ok;

		if (off + INSN_MAX <= page->nr_bytes)
			ok = !x86_insn_decode(page->bytes + off, INSN_MAX, 64, known);
		else
			ok = decode_uncached(t, ip, known, page->generated);
		if (!ok) {
			known->len = 0;
			return false;
		}
	}
	*insn = *known;
	if (page->generated && off + known->len <= page->nr_bytes)
		set_generated(t, page->bytes + off, known->len);
	else if (page->generated)
		return decode_uncached(t, ip, insn, true); /* it crosses into the next page */
	return true;
}

bool ptrace_code_at(struct ptrace_thread *t, u64 ip, struct x86_insn *insn)
{
	struct ptrace_mm *mm = t->mm;
	u64 addr = ip & ~(CODE_PAGE - 1);
	struct ptrace_page *page = mm->last;
	bool generated = false;

	t->generated = false;
	if (!page || page->addr != addr) {
		for (page = *page_bucket(mm, addr); page && page->addr != addr;)
			page = page->next;
		if (!page)
			page = page_load(t, addr, &generated);
		if (!page)
			return decode_uncached(t, ip, insn, generated);
		mm->last = page;
	}
	return decode_cached(t, page, ip, insn);
}

void ptrace_code_executes(struct emu_task *task, const struct emu_block *block)
{
	struct ptrace_thread *t = emu_task_priv(task);

	code_store_executes(&t->mm->code, &t->engine->code_stamps, task, block);
}

ssize_t ptrace_code_notes(struct emu *emu, pid_t pid, char **notes)
{
	const struct ptrace_process *proc = ptrace_process_find(ptrace_engine_of(emu), pid);

	return proc ? code_store_records(&proc->mm->code, pid, notes) : -ESRCH;
}

bool ptrace_code_bytes(struct ptrace_thread *t, u64 ip, u8 *code, u32 size)
{
	const struct ptrace_page *page = t->mm->last;
	u64 off = page ? ip - page->addr : CODE_PAGE;

	if (page && off < page->nr_bytes && size <= page->nr_bytes - off) {
		memcpy(code, page->bytes + off, size);
		return true;
	}
	return ptrace_mem_read(t->tid, ip, code, size) == (ssize_t)size;
}
