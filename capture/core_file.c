// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a core file:
 *
 *   ELF header | program headers | notes | page of zeros up to a page boundary | contents
 *
 * The file offset of each mapping is known before anything is written, so that pages of zeros
 * become holes. If a limit or a full disk truncates the contents of a mapping, its p_filesz is
 * smaller: to a debugger the rest is unavailable, not zero. The headers are written last: a file
 * without them is not a core file.
 */
#include "core_file.h"
#include "util/sized.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHUNK	     (128 * CORE_PAGE)
#define DISK_RESERVE (16u << 20) /* for the report, and for later snapshots */
#define THREADS_MAX  4096
#define SEGMENTS_MAX 65000 /* e_phnum has 16 bits */

struct core_output {
	int fd;
	uint64_t left; /* bytes that may still be written */
	uint64_t nr_bytes;
	const struct core_process *process;
	struct core_pages pages;
	unsigned char *chunk;
	bool full;
	int error; /* errno of a failed write; 0: the limit was reached */
};

static bool write_at(struct core_output *out, const void *bytes, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(out->fd, bytes, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			out->full = true;
			out->error = n ? errno : ENOSPC;
			return false;
		}
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
		offset += (uint64_t)n;
		out->nr_bytes += (uint64_t)n;
	}
	return true;
}

static bool is_zero(const unsigned char *page, size_t size)
{
	return !page[0] && !memcmp(page, page + 1, size - 1);
}

/* Writes one page of a mapping. False: there is no space for it. */
static bool write_page(struct core_output *out, struct core_segment *g, const unsigned char *page,
		       size_t size, uint64_t at)
{
	if (is_zero(page, size))
		return true;
	if (out->left < size) {
		out->full = true;
		return false;
	}
	if (!write_at(out, page, size, g->offset + at))
		return false;
	out->left -= size;
	return true;
}

/* Writes the pages from offset 'at' on; those that cannot be read are holes, as in the kernel. */
static bool write_pages(struct core_output *out, struct core_segment *g, uint64_t at, size_t size)
{
	const struct core_process *p = out->process;
	size_t done = 0;

	while (done < size) {
		ssize_t n = p->s->be->target->mem(p->s->be->target_ctx, p->ev->pid,
						  g->start + at + done, out->chunk, size - done);
		size_t got = n > 0 ? (size_t)n : 0;

		for (size_t i = 0; i < got; i += CORE_PAGE) {
			size_t part = got - i < CORE_PAGE ? got - i : CORE_PAGE;

			if (!write_page(out, g, out->chunk + i, part, at + done + i))
				return false;
			g->filesz = at + done + i + part;
		}
		done += (got + CORE_PAGE - 1) / CORE_PAGE * CORE_PAGE;
		if (done < size) /* skip the page that could not be read */
			done += got % CORE_PAGE ? 0 : CORE_PAGE;
	}
	return true;
}

static void write_segment(struct core_output *out, struct core_segment *g)
{
	for (uint64_t at = 0; at < g->dumped && !out->full;) {
		uint64_t end = at;

		while (end < g->dumped && end - at < CHUNK &&
		       core_page_present(&out->pages, g, g->start + end))
			end += CORE_PAGE;
		if (end == at) {
			at += CORE_PAGE;
			continue;
		}
		if (!write_pages(out, g, at, (size_t)(end - at)))
			return;
		at = end;
	}
	if (!out->full)
		g->filesz = g->dumped;
}

static int compare_order(const void *a, const void *b)
{
	const struct core_segment *x = *(struct core_segment *const *)a;
	const struct core_segment *y = *(struct core_segment *const *)b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->dumped != y->dumped)
		return x->dumped < y->dumped ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int write_contents(struct core_output *out, struct core_segments *segments)
{
	struct core_segment **order = malloc((segments->nr + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < segments->nr; i++)
		order[i] = &segments->list[i];
	qsort(order, segments->nr, sizeof(*order), compare_order);
	for (size_t i = 0; i < segments->nr && !out->full; i++)
		write_segment(out, order[i]);
	free(order);
	return 0;
}

/* ---- headers ---- */

static int write_headers(struct core_output *out, const struct core_segments *segments,
			 const struct core_notes *notes)
{
	size_t nr = segments->nr + 1, size = sizeof(Elf64_Ehdr) + nr * sizeof(Elf64_Phdr);
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = out->process->arch == AUXTAP_ARCH_X86_64 ? EM_X86_64 : EM_AARCH64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)nr,
	};
	unsigned char *head = calloc(1, size);
	Elf64_Phdr *ph;
	uint64_t end = size + notes->nr;
	bool done;

	if (!head)
		return -ENOMEM;
	memcpy(head, &eh, sizeof(eh));
	ph = (Elf64_Phdr *)(void *)(head + sizeof(eh));
	ph[0] = (Elf64_Phdr){.p_type = PT_NOTE,
			     .p_offset = size,
			     .p_filesz = notes->nr,
			     .p_align = 4};
	for (size_t i = 0; i < segments->nr; i++) {
		const struct core_segment *g = &segments->list[i];

		ph[i + 1] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = g->flags,
			.p_offset = g->offset,
			.p_vaddr = g->start,
			.p_filesz = g->filesz,
			.p_memsz = g->end - g->start,
			.p_align = CORE_PAGE,
		};
		if (g->filesz && g->offset + g->filesz > end)
			end = g->offset + g->filesz;
	}
	done = write_at(out, notes->bytes, notes->nr, size) && write_at(out, head, size, 0) &&
	       !ftruncate(out->fd, (off_t)end);
	free(head);
	return done ? 0 : -(out->error ? out->error : errno);
}

/* Assigns file offsets to the mappings. Returns the size of headers and notes. */
static uint64_t lay_out(struct core_segments *segments, const struct core_notes *notes)
{
	uint64_t head = sizeof(Elf64_Ehdr) + (segments->nr + 1) * sizeof(Elf64_Phdr) + notes->nr;
	uint64_t offset = (head + CORE_PAGE - 1) / CORE_PAGE * CORE_PAGE;

	for (size_t i = 0; i < segments->nr; i++) {
		segments->list[i].offset = offset;
		offset += segments->list[i].dumped;
	}
	return head;
}

/* ---- the file ---- */

/* As with snapshots, an old file is kept, as FILE.old.core. */
static int create_core(const char *path, const char *snapshot)
{
	char old[4200];
	struct stat st;

	if (!lstat(path, &st)) {
		snprintf(old, sizeof(old), "%s.old.core", snapshot);
		if (!S_ISREG(st.st_mode) || rename(path, old))
			unlink(path);
	}
	/* it contains the program's memory: only its user may read it */
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* How many bytes may be written, and in *why what limits them. */
static uint64_t size_limit(int fd, uint64_t limit, enum auxtap_core_cut *why)
{
	struct statvfs fs;
	uint64_t disk;

	*why = AUXTAP_CORE_CUT_LIMIT;
	if (fstatvfs(fd, &fs))
		return limit;
	disk = (uint64_t)fs.f_bavail * fs.f_frsize;
	disk = disk > DISK_RESERVE ? disk - DISK_RESERVE : 0;
	if (disk >= limit)
		return limit;
	*why = AUXTAP_CORE_CUT_DISK;
	return disk;
}

static uint32_t count_cut(const struct core_segments *segments)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < segments->nr; i++)
		nr += segments->list[i].filesz < segments->list[i].dumped;
	return nr;
}

static int write_core(const struct core_process *p, struct core_output *out,
		      struct auxtap_core *core, struct auxtap_error *err)
{
	struct core_segments segments = {0};
	struct core_notes notes = {0};
	enum auxtap_core_cut why;
	uint64_t head;
	int ret = core_notes_make(p, &notes);

	if (!ret)
		ret = core_segments_find(p, &segments);
	if (ret == -ENODATA)
		auxtap_error_set(err, ret, core->path,
				 "the registers of the thread that died are not known");
	else if (ret)
		auxtap_error_set(err, ret, core->path, "no memory");
	if (ret)
		goto out;
	if (segments.nr > SEGMENTS_MAX) {
		ret = auxtap_error_set(err, -E2BIG, core->path, "%zu mappings are too many",
				       segments.nr);
		goto out;
	}
	head = lay_out(&segments, &notes);
	out->left = size_limit(out->fd, core->limit, &why);
	if (out->left < head) {
		ret = auxtap_error_set(err, -ENOSPC, core->path,
				       "its headers need %llu bytes, %s allows %llu",
				       (unsigned long long)head,
				       why == AUXTAP_CORE_CUT_DISK ? "the disk" : "the limit",
				       (unsigned long long)out->left);
		goto out;
	}
	out->left -= head;
	ret = write_contents(out, &segments);
	if (!ret)
		ret = write_headers(out, &segments, &notes);
	if (ret)
		auxtap_error_set(err, ret, core->path, "%s", strerror(-ret));
	core->nr_bytes = out->nr_bytes;
	core->nr_cut = count_cut(&segments);
	if (core->nr_cut)
		core->cut = out->error ? AUXTAP_CORE_CUT_DISK : why;
out:
	free(segments.list);
	free(notes.bytes);
	return ret;
}

/*
 * Finds the threads, with the one that died as tids[0], and their stack pointers. -ENODATA: its
 * registers are not known; -ENOTSUP: it executed 32-bit code.
 */
static int find_threads(struct core_process *p, pid_t *tids)
{
	const struct auxtap_backend *be = p->s->be;
	int nr = be->target->threads(be->target_ctx, p->ev->pid, tids, THREADS_MAX);

	if (nr > THREADS_MAX)
		nr = THREADS_MAX;
	for (int i = 1; i < nr; i++) {
		if (tids[i] == p->ev->tid) {
			memmove(tids + 1, tids, (size_t)i * sizeof(*tids));
			tids[0] = p->ev->tid;
		}
	}
	for (int i = 0; i < nr; i++) {
		struct auxtap_regs r;
		int sp;

		p->stacks[i] = 0;
		if (be->target->regs(be->target_ctx, tids[i], &r))
			continue;
		if (!i && auxtap_regs_32bit(&r))
			return -ENOTSUP;
		if (!i)
			p->arch = r.arch;
		sp = r.arch == AUXTAP_ARCH_X86_64 ? (int)AUXTAP_X86_SP : (int)AUXTAP_A64_SP;
		if (r.valid & (1ull << sp))
			p->stacks[i] = r.reg[sp];
	}
	p->tids = tids;
	p->nr_tids = nr > 0 ? nr : 0;
	return p->arch == AUXTAP_ARCH_X86_64 || p->arch == AUXTAP_ARCH_AARCH64 ? 0 : -ENODATA;
}

static int save_core(struct core_process *p, const char *snapshot, struct auxtap_core *core,
		     struct auxtap_error *err)
{
	struct core_output out = {.process = p, .chunk = malloc(CHUNK)};
	pid_t *tids = malloc(THREADS_MAX * sizeof(*tids));
	int ret = 0;

	p->stacks = malloc(THREADS_MAX * sizeof(*p->stacks));
	if (!out.chunk || !tids || !p->stacks) {
		ret = auxtap_error_set(err, -ENOMEM, core->path, "no memory");
		goto out;
	}
	ret = find_threads(p, tids);
	if (ret) {
		auxtap_error_set(
			err, ret, core->path,
			ret == -ENOTSUP ?
				"it died in 32-bit code, which the file would show as 64-bit code" :
				"the registers of the thread that died are not known");
		goto out;
	}
	out.fd = create_core(core->path, snapshot);
	if (out.fd < 0) {
		ret = auxtap_error_set(err, -errno, core->path, "%s", strerror(errno));
		goto out;
	}
	core_pages_open(&out.pages, p);
	ret = write_core(p, &out, core, err);
	core_pages_close(&out.pages);
	if ((close(out.fd) || ret) && !unlink(core->path) && !ret)
		ret = auxtap_error_set(err, -EIO, core->path, "it could not be written");
out:
	free(p->stacks);
	free(tids);
	free(out.chunk);
	return ret;
}

void session_save_core(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       const struct map_list *maps, const char *snapshot)
{
	const struct auxtap_target_ops *target = s->be->target;
	struct core_process p = {.s = s, .ev = ev, .maps = maps};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char path[4200];
	struct auxtap_core core = {.size = sizeof(core), .path = path, .pid = ev->pid};
	int ret;

	p.facts.size = sizeof(p.facts);
	if (TARGET_HAS(target, facts) && target->facts(s->be->target_ctx, ev->tid, &p.facts))
		return;
	core.limit = s->opts.core_size ? s->opts.core_size : UINT64_MAX;
	if (!s->opts.core)
		core.limit = core_limit(&p);
	if (!core.limit)
		return;
	snprintf(path, sizeof(path), "%s.core", snapshot);
	ret = save_core(&p, snapshot, &core, &err);
	if (s->opts.on_core)
		s->opts.on_core(s->opts.ctx, &core, ret ? &err : NULL);
}
