// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tells gdb where the program and its libraries are: by an auxiliary vector, made from the mappings
 * and the ELF headers, and by the list of libraries as ld.so would have it.
 */
#include "gdb_private.h"

#include <auxtap/text.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An ELF file that is mapped. */
struct mapped_elf {
	const uint8_t *data;
	size_t size;
	uint64_t bias;
	Elf64_Ehdr header;
	struct auxtap_image_info info;
};

static bool elf_of(struct gdb_session *s, const struct auxtap_mapping *mapping,
		   struct mapped_elf *elf)
{
	const void *data;

	elf->info = (struct auxtap_image_info){.size = sizeof(elf->info)};
	if (!mapping->has_bias ||
	    auxtap_image_set_bytes(s->rec.images, mapping->image, &data, &elf->size) ||
	    auxtap_image_set_info(s->rec.images, mapping->image, &elf->info) ||
	    elf->size < sizeof(elf->header))
		return false;
	elf->data = data;
	elf->bias = mapping->bias;
	memcpy(&elf->header, data, sizeof(elf->header));
	return !memcmp(elf->header.e_ident, ELFMAG, SELFMAG) &&
	       elf->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       elf->header.e_phentsize == sizeof(Elf64_Phdr);
}

static bool segment_of(const struct mapped_elf *elf, unsigned int nr, Elf64_Phdr *phdr)
{
	uint64_t off = elf->header.e_phoff + (uint64_t)nr * sizeof(*phdr);

	if (nr >= elf->header.e_phnum || elf->header.e_phoff > elf->size ||
	    off > elf->size - sizeof(*phdr))
		return false;
	memcpy(phdr, elf->data + off, sizeof(*phdr));
	return true;
}

/* Run-time address of the first segment of a type; false: there is none. */
static bool segment_address(const struct mapped_elf *elf, uint32_t type, uint64_t *addr)
{
	Elf64_Phdr phdr;

	for (unsigned int i = 0; segment_of(elf, i, &phdr); i++) {
		if (phdr.p_type != type)
			continue;
		*addr = phdr.p_vaddr + elf->bias;
		return true;
	}
	return false;
}

/* Run-time address of the program headers, by the segment that contains them. */
static bool headers_address(const struct mapped_elf *elf, uint64_t *addr)
{
	Elf64_Phdr phdr;

	for (unsigned int i = 0; segment_of(elf, i, &phdr); i++) {
		uint64_t off = elf->header.e_phoff - phdr.p_offset;

		if (phdr.p_type != PT_LOAD || elf->header.e_phoff < phdr.p_offset ||
		    off >= phdr.p_filesz)
			continue;
		*addr = phdr.p_vaddr + off + elf->bias;
		return true;
	}
	return false;
}

/* Name of the interpreter (ld.so) in the program's headers; NULL: none. */
static const char *interpreter_of(const struct mapped_elf *elf)
{
	Elf64_Phdr phdr;

	for (unsigned int i = 0; segment_of(elf, i, &phdr); i++) {
		if (phdr.p_type != PT_INTERP)
			continue;
		if (phdr.p_offset > elf->size || phdr.p_filesz > elf->size - phdr.p_offset ||
		    !memchr(elf->data + phdr.p_offset, '\0', phdr.p_filesz))
			return NULL;
		return (const char *)elf->data + phdr.p_offset;
	}
	return NULL;
}

const char *gdb_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the auxiliary vector ---- */

struct auxv {
	struct gdb_session *s;
	struct mapped_elf program;
	bool has_program, has_base, has_vdso;
	uint64_t base, vdso;
};

static bool is_program(const struct gdb_session *s, const struct auxtap_mapping *mapping,
		       const struct mapped_elf *elf)
{
	const struct recording_program *program = recording_program(&s->rec);

	return program && mapping->start == program->start &&
	       !strcmp(elf->info.name, program->name);
}

static int find_program(void *ctx, const struct auxtap_mapping *mapping)
{
	struct auxv *auxv = ctx;
	struct mapped_elf elf;

	if (!auxv->has_program && elf_of(auxv->s, mapping, &elf) &&
	    is_program(auxv->s, mapping, &elf)) {
		auxv->program = elf;
		auxv->has_program = true;
	}
	return 0;
}

static int find_base(void *ctx, const struct auxtap_mapping *mapping)
{
	struct auxv *auxv = ctx;
	const char *interpreter = interpreter_of(&auxv->program);
	struct mapped_elf elf;

	if (!elf_of(auxv->s, mapping, &elf))
		return 0;
	if (interpreter && !auxv->has_base &&
	    !strcmp(gdb_base_name(interpreter), gdb_base_name(elf.info.name))) {
		auxv->base = elf.bias;
		auxv->has_base = true;
	}
	/* it is not a file: the recorder saved its contents */
	if (elf.info.name[0] == '[' || strstr(elf.info.name, ".vdso")) {
		auxv->vdso = mapping->start;
		auxv->has_vdso = true;
	}
	return 0;
}

bool gdb_is_interpreter(struct gdb_session *s, const char *name)
{
	struct auxv auxv = {.s = s};
	const char *interpreter;

	auxtap_image_set_mappings(s->rec.images, s->rec.pid, s->rec.time, find_program, &auxv);
	interpreter = auxv.has_program ? interpreter_of(&auxv.program) : NULL;
	return interpreter && !strcmp(interpreter, name);
}

static void put_auxv(FILE *out, uint64_t type, uint64_t value)
{
	fwrite(&type, sizeof(type), 1, out);
	fwrite(&value, sizeof(value), 1, out);
}

bool gdb_write_auxv(struct gdb_session *s, FILE *out)
{
	struct auxv auxv = {.s = s};
	uint64_t headers;

	if (s->has_core && s->core.auxv_size)
		return fwrite(s->core.auxv, s->core.auxv_size, 1, out) == 1;
	auxtap_image_set_mappings(s->rec.images, s->rec.pid, s->rec.time, find_program, &auxv);
	if (!auxv.has_program)
		return false;
	auxtap_image_set_mappings(s->rec.images, s->rec.pid, s->rec.time, find_base, &auxv);
	if (headers_address(&auxv.program, &headers)) {
		put_auxv(out, AT_PHDR, headers);
		put_auxv(out, AT_PHENT, auxv.program.header.e_phentsize);
		put_auxv(out, AT_PHNUM, auxv.program.header.e_phnum);
	}
	put_auxv(out, AT_ENTRY, auxv.program.header.e_entry + auxv.program.bias);
	if (auxv.has_base)
		put_auxv(out, AT_BASE, auxv.base);
	if (auxv.has_vdso)
		put_auxv(out, AT_SYSINFO_EHDR, auxv.vdso);
	put_auxv(out, AT_NULL, 0);
	return true;
}

/* ---- libraries ---- */

struct libraries {
	struct gdb_session *s;
	FILE *out;
	uint64_t last_bias;
	size_t last_image;
	bool any;
};

static int put_library(void *ctx, const struct auxtap_mapping *mapping)
{
	struct libraries *l = ctx;
	struct mapped_elf elf;
	uint64_t dynamic;
	const char *name;

	if (!elf_of(l->s, mapping, &elf) || is_program(l->s, mapping, &elf) ||
	    !segment_address(&elf, PT_DYNAMIC, &dynamic))
		return 0;
	name = elf.info.name;
	/* one library may have several mappings of code */
	if (l->any && l->last_image == mapping->image && l->last_bias == elf.bias)
		return 0;
	if (name[0] != '/' || strstr(name, ".vdso") || strpbrk(name, "<>&\"'") ||
	    !auxtap_text_is_safe(name, strlen(name)))
		return 0;
	fprintf(l->out,
		"<library name=\"%s\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64
		"\" l_ld=\"0x%" PRIx64 "\" lmid=\"0x0\"/>\n",
		name, dynamic, elf.bias, dynamic);
	l->last_bias = elf.bias;
	l->last_image = mapping->image;
	l->any = true;
	return 0;
}

bool gdb_write_libraries(struct gdb_session *s, FILE *out)
{
	struct libraries l = {.s = s, .out = out};

	fputs("<library-list-svr4 version=\"1.0\">\n", out);
	auxtap_image_set_mappings(s->rec.images, s->rec.pid, s->rec.time, put_library, &l);
	fputs("</library-list-svr4>\n", out);
	return true;
}
