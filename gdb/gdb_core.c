// SPDX-License-Identifier: BSD-2-Clause
/* See gdb_core.h. The layouts are those of Linux on x86-64 and AArch64 (elfcore.h, procfs.h). */
#include "gdb_core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/user_regs.h"
#include "util/vector.h"

#define MAX_SEGMENTS  (1u << 20)
#define MAX_NOTES     (256u << 20)
#define STATUS_CURSIG 12 /* struct elf_prstatus */
#define STATUS_PID    32
#define STATUS_REGS   112
#define PSINFO_PID    24 /* struct elf_prpsinfo */
#define X86_FX_SIZE   512
#define A64_FP_SIZE   520

static int damaged(const struct core_dump *core, struct auxtap_error *err, const char *what)
{
	return auxtap_error_set(err, -EINVAL, core->path, "not a usable core file: %s", what);
}

/* Reads all size bytes, or returns false. */
static bool read_at(const struct core_dump *core, uint64_t off, void *buf, size_t size)
{
	uint8_t *to = buf;

	if (off > core->size || size > core->size - off)
		return false;
	while (size) {
		ssize_t nr = pread(core->fd, to, size, (off_t)off);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return false;
		to += nr;
		off += (uint64_t)nr;
		size -= (size_t)nr;
	}
	return true;
}

/* ---- registers ---- */

static void take_x86(struct core_thread *t, const uint8_t *gregs)
{
	uint8_t *other = t->other;

	t->regs.arch = AUXTAP_ARCH_X86_64;
	for (unsigned int i = 0; i < X86_NR_GREGS; i++) {
		if (x86_greg_order[i] < 0)
			continue;
		memcpy(&t->regs.reg[x86_greg_order[i]], gregs + 8 * i, 8);
		t->regs.valid |= 1ull << x86_greg_order[i];
	}
	memcpy(other, gregs + 8 * X86_GREG_FS, 4);
	memcpy(other + 4, gregs + 8 * X86_GREG_GS, 4);
	memcpy(other + 380, gregs + 8 * X86_GREG_ORIG, 8);
}

static void take_a64(struct core_thread *t, const uint8_t *gregs)
{
	t->regs.arch = AUXTAP_ARCH_AARCH64;
	memcpy(t->regs.reg, gregs, 8 * A64_NR_GREGS); /* x0 ... x30, sp, pc, pstate */
	t->regs.valid = (1ull << A64_NR_GREGS) - 1;
}

static unsigned int u16(const uint8_t *at)
{
	return at[0] | (unsigned int)at[1] << 8;
}

/* The tag of a register of the x87 unit: 0 valid, 1 zero, 2 special, 3 empty. */
static unsigned int x87_tag(const uint8_t *fx, unsigned int physical)
{
	unsigned int top = u16(fx + 2) >> 11 & 7;
	const uint8_t *st = fx + 32 + 16 * ((physical - top) & 7);
	unsigned int exponent = u16(st + 8) & 0x7fff;
	uint64_t mantissa;

	memcpy(&mantissa, st, sizeof(mantissa));
	if (!(fx[4] & 1u << physical))
		return 3;
	if (!exponent && !mantissa)
		return 1;
	return !exponent || exponent == 0x7fff || !(mantissa >> 63) ? 2 : 0;
}

/* Converts the FXSAVE area to gdb's order: st0 ..., fctrl ... fop, xmm0 ..., mxcsr. */
static void take_x86_other(struct core_thread *t, const uint8_t *fx)
{
	uint8_t *to = t->other + 8;
	uint32_t control[8] = {
		[0] = u16(fx), [1] = u16(fx + 2),  [3] = u16(fx + 12),
		[4] = 0,       [5] = u16(fx + 20), [7] = u16(fx + 6) & 0x7ff,
	};

	for (unsigned int i = 0; i < 8; i++) {
		memcpy(to + 10 * i, fx + 32 + 16 * i, 10);
		control[2] |= x87_tag(fx, i) << 2 * i;
	}
	memcpy(&control[4], fx + 8, 4);
	memcpy(&control[6], fx + 16, 4);
	memcpy(to + 80, control, sizeof(control));
	memcpy(to + 112, fx + 160, 256);
	memcpy(to + 368, fx + 24, 4);
	t->has_other = true;
}

/* ---- notes ---- */

static int take_status(struct core_dump *core, const uint8_t *desc, size_t size)
{
	size_t nr = core->arch == AUXTAP_ARCH_X86_64 ? X86_NR_GREGS : A64_NR_GREGS;
	struct core_thread *t;

	if (size < STATUS_REGS + 8 * nr)
		return -EINVAL;
	if (vector_grow(core->threads, core->nr_threads, core->max_threads))
		return -ENOMEM;
	if (!core->nr_threads) {
		int16_t signo;

		memcpy(&signo, desc + STATUS_CURSIG, sizeof(signo));
		core->signo = signo;
	}
	t = &core->threads[core->nr_threads++];
	memset(t, 0, sizeof(*t));
	memcpy(&t->tid, desc + STATUS_PID, sizeof(t->tid));
	if (core->arch == AUXTAP_ARCH_X86_64)
		take_x86(t, desc + STATUS_REGS);
	else
		take_a64(t, desc + STATUS_REGS);
	return 0;
}

/* Floating-point registers of the thread whose status came last. */
static void take_fp(struct core_dump *core, const uint8_t *desc, size_t size)
{
	struct core_thread *t = core->nr_threads ? &core->threads[core->nr_threads - 1] : NULL;

	if (!t)
		return;
	if (core->arch == AUXTAP_ARCH_X86_64 && size >= X86_FX_SIZE) {
		take_x86_other(t, desc);
	} else if (core->arch == AUXTAP_ARCH_AARCH64 && size >= A64_FP_SIZE) {
		memcpy(t->other, desc, A64_FP_SIZE); /* v0 ... v31, fpsr, fpcr */
		t->has_other = true;
	}
}

/* NT_FILE: count, page size; start, end, page offset of each, ascending; then the names. */
static int take_files(struct core_dump *core, const uint8_t *desc, size_t size)
{
	const char *name, *end = (const char *)desc + size;
	uint64_t head[2], words[3], last = 0;

	if (core->nr_maps || size < sizeof(head))
		return -EINVAL;
	memcpy(head, desc, sizeof(head));
	if (head[0] > (size - sizeof(head)) / sizeof(words))
		return -EINVAL;
	name = (const char *)desc + sizeof(head) + head[0] * sizeof(words);
	for (uint64_t i = 0; i < head[0]; i++) {
		const char *nul = memchr(name, '\0', (size_t)(end - name));
		struct core_map *map;

		memcpy(words, desc + sizeof(head) + i * sizeof(words), sizeof(words));
		if (!nul || words[0] < last || words[1] <= words[0])
			return -EINVAL;
		last = words[1];
		if (vector_grow(core->maps, core->nr_maps, core->max_maps))
			return -ENOMEM;
		map = &core->maps[core->nr_maps++];
		*map = (struct core_map){words[0], words[1], words[2] * head[1], name};
		name = nul + 1;
	}
	return 0;
}

static int take_note(struct core_dump *core, uint32_t type, const uint8_t *desc, size_t size)
{
	switch (type) {
	case NT_PRSTATUS:
		return take_status(core, desc, size);
	case NT_PRPSINFO:
		if (size < PSINFO_PID + 4)
			return -EINVAL;
		memcpy(&core->pid, desc + PSINFO_PID, sizeof(core->pid));
		return 0;
	case NT_PRFPREG:
		take_fp(core, desc, size);
		return 0;
	case NT_FILE:
		return take_files(core, desc, size);
	case NT_AUXV:
		core->auxv = desc;
		core->auxv_size = size;
		return 0;
	case NT_SIGINFO:
		if (size >= CORE_SIGINFO && !core->siginfo)
			core->siginfo = desc;
		return 0;
	default:
		return 0;
	}
}

/* size: without the padding after the last note. */
static int take_notes(struct core_dump *core, const uint8_t *notes, size_t size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		uint64_t name_size, desc_size;
		Elf64_Nhdr head;

		memcpy(&head, notes, sizeof(head));
		notes += sizeof(head);
		size -= sizeof(head);
		name_size = ((uint64_t)head.n_namesz + 3) & ~3ull;
		desc_size = ((uint64_t)head.n_descsz + 3) & ~3ull;
		if (name_size > size || head.n_descsz > size - name_size)
			return -EINVAL;
		if (head.n_namesz == sizeof("CORE") && !memcmp(notes, "CORE", sizeof("CORE"))) {
			int ret = take_note(core, head.n_type, notes + name_size, head.n_descsz);

			if (ret)
				return ret;
		}
		if (desc_size > size - name_size)
			desc_size = size - name_size;
		notes += name_size + desc_size;
		size -= name_size + desc_size;
	}
	return 0;
}

static int read_notes(struct core_dump *core, const Elf64_Phdr *ph, struct auxtap_error *err)
{
	int ret;

	if (core->notes)
		return damaged(core, err, "it has more than one segment of notes");
	if (ph->p_filesz > MAX_NOTES || ph->p_offset > core->size ||
	    ph->p_filesz > core->size - ph->p_offset)
		return damaged(core, err, "its notes are cut off");
	core->nr_notes = ph->p_filesz;
	core->notes = malloc(core->nr_notes ? core->nr_notes : 1);
	if (!core->notes)
		return auxtap_error_set(err, -ENOMEM, core->path, "out of memory");
	if (!read_at(core, ph->p_offset, core->notes, core->nr_notes))
		return damaged(core, err, "its notes cannot be read");
	ret = take_notes(core, core->notes, core->nr_notes);
	if (ret == -ENOMEM)
		return auxtap_error_set(err, ret, core->path, "out of memory");
	return ret ? damaged(core, err, "its notes are damaged") : 0;
}

/* ---- segments ---- */

static int by_address(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool add_segment(struct core_dump *core, const Elf64_Phdr *ph)
{
	struct core_segment *s;

	if (!ph->p_memsz)
		return true;
	if (ph->p_filesz > ph->p_memsz || ph->p_memsz - 1 > UINT64_MAX - ph->p_vaddr ||
	    ph->p_filesz > UINT64_MAX - ph->p_offset)
		return false;
	s = &core->segments[core->nr_segments++];
	s->addr = ph->p_vaddr;
	s->size = ph->p_memsz;
	s->off = ph->p_offset;
	s->code = ph->p_flags & PF_X;
	/* bytes that a limit or a full disk cut off are unknown */
	s->in_file = ph->p_offset > core->size ? 0 : core->size - ph->p_offset;
	if (s->in_file > ph->p_filesz)
		s->in_file = ph->p_filesz;
	return true;
}

static int read_segments(struct core_dump *core, const Elf64_Ehdr *eh, struct auxtap_error *err)
{
	uint64_t nr = eh->e_phnum;
	int ret = 0;

	if (nr == PN_XNUM) {
		Elf64_Shdr sh;

		if (!read_at(core, eh->e_shoff, &sh, sizeof(sh)))
			return damaged(core, err, "its number of segments cannot be read");
		nr = sh.sh_info;
	}
	if (nr > MAX_SEGMENTS || eh->e_phoff > core->size ||
	    nr > (core->size - eh->e_phoff) / sizeof(Elf64_Phdr))
		return damaged(core, err, "its program headers are cut off");
	core->segments = calloc(nr ? nr : 1, sizeof(*core->segments));
	if (!core->segments)
		return auxtap_error_set(err, -ENOMEM, core->path, "out of memory");
	for (uint64_t i = 0; i < nr && !ret; i++) {
		Elf64_Phdr ph;

		if (!read_at(core, eh->e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return damaged(core, err, "its program headers cannot be read");
		if (ph.p_type == PT_NOTE)
			ret = read_notes(core, &ph, err);
		else if (ph.p_type == PT_LOAD && !add_segment(core, &ph))
			ret = damaged(core, err, "a segment is larger than the address space");
	}
	if (ret)
		return ret;
	qsort(core->segments, core->nr_segments, sizeof(*core->segments), by_address);
	for (size_t i = 1; i < core->nr_segments; i++)
		if (core->segments[i].addr - core->segments[i - 1].addr <
		    core->segments[i - 1].size)
			return damaged(core, err, "its segments overlap");
	return 0;
}

/* ---- the file ---- */

static int read_header(struct core_dump *core, Elf64_Ehdr *eh, struct auxtap_error *err)
{
	if (!read_at(core, 0, eh, sizeof(*eh)) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_type != ET_CORE)
		return auxtap_error_set(err, -EINVAL, core->path, "not a core file");
	core->arch = eh->e_machine == EM_X86_64	 ? AUXTAP_ARCH_X86_64 :
		     eh->e_machine == EM_AARCH64 ? AUXTAP_ARCH_AARCH64 :
						   AUXTAP_ARCH_NONE;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    core->arch == AUXTAP_ARCH_NONE)
		return auxtap_error_set(err, -ENOTSUP, core->path,
					"a core file neither of x86-64 nor of AArch64 "
					"(64-bit, little-endian)");
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return damaged(core, err, "its program headers are damaged");
	return 0;
}

static int open_file(struct core_dump *core, struct auxtap_error *err)
{
	struct stat st;

	/* do not wait for the writer of a FIFO */
	core->fd = open(core->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (core->fd < 0 || fstat(core->fd, &st)) {
		int code = errno;

		return auxtap_error_set(err, -code, core->path, "cannot open: %s", strerror(code));
	}
	if (!S_ISREG(st.st_mode))
		return auxtap_error_set(err, -EINVAL, core->path, "not a regular file");
	core->size = (uint64_t)st.st_size;
	return 0;
}

int core_dump_open(struct core_dump *core, const char *path, struct auxtap_error *err)
{
	Elf64_Ehdr eh;
	int ret;

	memset(core, 0, sizeof(*core));
	core->fd = -1;
	core->path = strdup(path);
	if (!core->path)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	ret = open_file(core, err);
	if (!ret)
		ret = read_header(core, &eh, err);
	if (!ret)
		ret = read_segments(core, &eh, err);
	if (!ret && !core->nr_threads)
		ret = damaged(core, err, "it has no registers of a thread");
	if (!ret && !core->pid)
		ret = damaged(core, err, "it does not say of which process it is");
	if (ret)
		core_dump_close(core);
	return ret;
}

void core_dump_close(struct core_dump *core)
{
	if (core->fd >= 0)
		close(core->fd);
	free(core->path);
	free(core->threads);
	free(core->segments);
	free(core->maps);
	free(core->notes);
	memset(core, 0, sizeof(*core));
	core->fd = -1;
}

const struct core_segment *core_dump_segment(const struct core_dump *core, uint64_t addr)
{
	size_t lo = 0, hi = core->nr_segments;

	/* the last one that begins at or before addr */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (core->segments[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - core->segments[lo - 1].addr < core->segments[lo - 1].size ?
		       &core->segments[lo - 1] :
		       NULL;
}

size_t core_dump_memory(const struct core_dump *core, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const struct core_segment *s = core_dump_segment(core, addr + done);
		uint64_t off = s ? addr + done - s->addr : 0;
		size_t nr = size - done;

		if (!s || off >= s->in_file)
			break;
		if (nr > s->in_file - off)
			nr = (size_t)(s->in_file - off);
		if (!read_at(core, s->off + off, (uint8_t *)buf + done, nr))
			break;
		done += nr;
	}
	return done;
}

const struct core_thread *core_dump_thread(const struct core_dump *core, int32_t tid)
{
	for (size_t i = 0; i < core->nr_threads; i++)
		if (core->threads[i].tid == tid)
			return &core->threads[i];
	return NULL;
}

const struct core_map *core_dump_map(const struct core_dump *core, uint64_t addr)
{
	size_t lo = 0, hi = core->nr_maps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (core->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < core->nr_maps && core->maps[lo].start <= addr ? &core->maps[lo] : NULL;
}
