/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of decode/pack: pack.c, pack_elf.c, pack_symbols.c, pack_dwarf.c. */
#ifndef AUXTAP_PACK_PRIVATE_H
#define AUXTAP_PACK_PRIVATE_H

#include "decode/image/packed.h"
#include "pack_sparse.h"

#include <libelf.h>

/* One ELF file that becomes a sparse one. */
struct pack_elf {
	const struct auxtap_image
		*image; /* its 'use' says what is kept of its file or debug file */
	Elf *elf;
	const uint8_t *data; /* the whole file */
	uint64_t size;
	bool redact;
	struct pack_sparse *out;
	Elf64_Shdr *sections; /* section headers of the packed file */
	size_t nr_sections;
	const char *names; /* section names; names_size bytes */
	size_t names_size;
};

const char *pack_section_name(const struct pack_elf *e, const Elf64_Shdr *section);
/* Whether all bytes of the section are in the file. */
bool pack_section_in_file(const struct pack_elf *e, const Elf64_Shdr *section);

/* pack_elf.c: 0 or -ENOMEM; a file that is not 64-bit ELF is kept whole, or some of its pages */
int pack_elf_image(const struct auxtap_image *image, bool redact, struct pack_sparse *out);
/* fd: the file with the image's debug information */
int pack_elf_debug(const struct auxtap_image *image, int fd, struct pack_sparse *out);

/* pack_symbols.c */
int pack_symbols(const struct pack_elf *e);
/* pack_frames.c: keeps the unwind information of code that was used */
int pack_frames(const struct pack_elf *e);
/* pack_dwarf.c: keeps the units that cover code that was used; may change e->sections */
int pack_dwarf(struct pack_elf *e);

#endif
