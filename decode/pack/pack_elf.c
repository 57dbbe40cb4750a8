// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packs an ELF file: keeps its headers, notes, section names, the pages that were read, and what
 * pack_symbols.c, pack_frames.c and pack_dwarf.c select.
 */
#include "pack_private.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE	   4096ull
#define MAX_NOTES  65536 /* larger note sections are not kept */
#define MAX_GROWTH (1ull << 32)

const char *pack_section_name(const struct pack_elf *e, const Elf64_Shdr *section)
{
	if (section->sh_name >= e->names_size ||
	    !memchr(e->names + section->sh_name, 0, e->names_size - section->sh_name))
		return "";
	return e->names + section->sh_name;
}

bool pack_section_in_file(const struct pack_elf *e, const Elf64_Shdr *section)
{
	return section->sh_offset <= e->size && section->sh_size <= e->size - section->sh_offset;
}

/* Whether any byte of the page is in an executable segment. */
static bool is_code(const struct pack_elf *e, uint64_t off)
{
	for (unsigned int i = 0; i < e->image->nr_loads; i++) {
		const struct image_load *load = &e->image->loads[i];

		if (load->exec && off + PAGE > load->off && off < load->off + load->filesz)
			return true;
	}
	return !e->image->nr_loads;
}

/* Keeps only the exception tables of a data page, which the control flow depends on. */
static void keep_landing_pads(const struct pack_elf *e, uint64_t off, uint64_t size)
{
	for (size_t i = 1; i < e->nr_sections; i++) {
		const Elf64_Shdr *section = &e->sections[i];
		uint64_t from, to;

		if (strcmp(pack_section_name(e, section), ".gcc_except_table") != 0 ||
		    !pack_section_in_file(e, section))
			continue;
		from = off > section->sh_offset ? off : section->sh_offset;
		to = section->sh_offset + section->sh_size;
		if (to > off + size)
			to = off + size;
		if (from < to)
			pack_sparse_keep(e->out, from, e->data + from, to - from);
	}
}

static void keep_pages(const struct pack_elf *e)
{
	const struct image_use *use = e->image->use;

	for (uint64_t page = 0; use && page < (e->size + PAGE - 1) / PAGE; page++) {
		uint64_t off = page * PAGE, size = e->size - off < PAGE ? e->size - off : PAGE;

		if (!(use->pages[page / 64] >> (page % 64) & 1))
			continue;
		if (e->redact && !is_code(e, off))
			keep_landing_pads(e, off, size);
		else
			pack_sparse_keep_page(e->out, off, e->data + off, size);
	}
}

static void keep_range(const struct pack_elf *e, uint64_t off, uint64_t size)
{
	if (off <= e->size && size <= e->size - off)
		pack_sparse_keep(e->out, off, e->data + off, size);
}

/* Symbol versions are by symbol index, and most symbols were dropped: gdb would reject the file. */
static void drop_versions(const struct pack_elf *e)
{
	for (size_t i = 1; i < e->nr_sections; i++)
		if (e->sections[i].sh_type == SHT_GNU_versym ||
		    e->sections[i].sh_type == SHT_GNU_verdef ||
		    e->sections[i].sh_type == SHT_GNU_verneed)
			e->sections[i].sh_type = SHT_NOBITS;
}

/* Keeps headers, and sections and segments with notes, one of which has the build-id. */
static void keep_headers(const struct pack_elf *e, const Elf64_Ehdr *eh)
{
	keep_range(e, 0, sizeof(*eh));
	keep_range(e, eh->e_phoff, (uint64_t)eh->e_phnum * eh->e_phentsize);
	for (unsigned int i = 0; i < eh->e_phnum && eh->e_phentsize == sizeof(Elf64_Phdr); i++) {
		uint64_t at = eh->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (at > e->size || e->size - at < sizeof(ph))
			break;
		memcpy(&ph, e->data + at, sizeof(ph));
		if ((ph.p_type == PT_NOTE || ph.p_type == PT_DYNAMIC) && ph.p_filesz <= MAX_NOTES)
			keep_range(e, ph.p_offset, ph.p_filesz);
	}
	for (size_t i = 1; i < e->nr_sections; i++) {
		const Elf64_Shdr *section = &e->sections[i];
		const char *name = pack_section_name(e, section);

		if (section->sh_type == SHT_NOBITS)
			continue;
		if ((section->sh_type == SHT_NOTE && section->sh_size <= MAX_NOTES) ||
		    i == eh->e_shstrndx || !strcmp(name, ".gnu_debuglink") ||
		    !strcmp(name, ".gnu_debugdata") || !strcmp(name, ".interp"))
			keep_range(e, section->sh_offset, section->sh_size);
	}
}

static void read_sections(struct pack_elf *e, const Elf64_Ehdr *eh)
{
	size_t nr = eh->e_shnum;

	if (eh->e_shentsize != sizeof(Elf64_Shdr) || !nr || eh->e_shoff > e->size ||
	    nr > (e->size - eh->e_shoff) / sizeof(Elf64_Shdr) || eh->e_shstrndx >= nr)
		return;
	e->sections = malloc(nr * sizeof(*e->sections));
	if (!e->sections)
		return;
	memcpy(e->sections, e->data + eh->e_shoff, nr * sizeof(*e->sections));
	e->nr_sections = nr;
	if (pack_section_in_file(e, &e->sections[eh->e_shstrndx])) {
		e->names = (const char *)e->data + e->sections[eh->e_shstrndx].sh_offset;
		e->names_size = e->sections[eh->e_shstrndx].sh_size;
	}
}

static int pack_file(struct pack_elf *e, bool is_debug)
{
	Elf64_Ehdr eh;
	int ret = 0;

	if (!pack_sparse_init(e->out, e->size, e->size + MAX_GROWTH))
		return -ENOMEM;
	if (e->size < sizeof(eh) || memcmp(e->data, ELFMAG, SELFMAG) ||
	    e->data[EI_CLASS] != ELFCLASS64 || e->data[EI_DATA] != ELFDATA2LSB) {
		/*
		 * Not 64-bit little-endian ELF: debug files, and ELF files without redaction, are
		 * kept whole; of others the first page and those that were read.
		 */
		if (is_debug ||
		    (!e->redact && e->size >= SELFMAG && !memcmp(e->data, ELFMAG, SELFMAG)))
			keep_range(e, 0, e->size);
		else
			keep_range(e, 0, e->size < PAGE ? e->size : PAGE);
		keep_pages(e);
		return 0;
	}
	memcpy(&eh, e->data, sizeof(eh));
	read_sections(e, &eh);
	if (!is_debug)
		keep_pages(e);
	keep_headers(e, &eh);
	drop_versions(e);
	ret = pack_symbols(e);
	if (!ret && !is_debug)
		ret = pack_frames(e);
	if (!ret)
		ret = pack_dwarf(e);
	if (!ret && e->nr_sections)
		pack_sparse_change(e->out, eh.e_shoff, e->sections,
				   e->nr_sections * sizeof(*e->sections));
	free(e->sections);
	return ret ? ret : e->out->failed ? -ENOMEM : 0;
}

int pack_elf_image(const struct auxtap_image *image, bool redact, struct pack_sparse *out)
{
	struct pack_elf e = {.image = image,
			     .data = image->data,
			     .size = image->size,
			     .redact = redact,
			     .out = out};
	int fd = image_open_again(image), ret;

	/* a private mapping, because libelf uncompresses sections in place */
	if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
		e.elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	ret = pack_file(&e, false);
	elf_end(e.elf);
	if (fd >= 0)
		close(fd);
	return ret;
}

int pack_elf_debug(const struct auxtap_image *image, int fd, struct pack_sparse *out)
{
	struct pack_elf e = {.image = image, .out = out};
	struct stat st;
	void *data;
	int ret;

	if (fstat(fd, &st) || st.st_size <= 0)
		return -EINVAL;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	e.data = data;
	e.size = (uint64_t)st.st_size;
	e.elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	ret = pack_file(&e, true);
	elf_end(e.elf);
	munmap(data, (size_t)st.st_size);
	return ret;
}
