// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source lines and inlined frames of one image, by libdw. Debug information is looked for
 * as elfutils does: in the file, /usr/lib/debug/.build-id, .gnu_debuglink, debuginfod (only
 * if DEBUGINFOD_URLS is set). What was found for an address is remembered.
 */
#include "image_private.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REMEMBERED (1u << 18)

struct image_line {
	uint64_t vaddr;
	unsigned int nr;
	struct auxtap_frame *frames;
	struct image_line *next;
};

struct image_name {
	char *text;
	const char *linkage;
	struct image_name *next;
};

struct image_lines {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	GElf_Addr bias;
	char *debug_path;
	Dwfl_Callbacks callbacks;
	struct image_line *hash[4096];
	struct image_name *names[1024];
	unsigned int nr;
};

static int find_elf_never(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			  char **file, Elf **elf)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

static void lines_open(struct auxtap_image *image)
{
	const struct auxtap_image_set *set = image->set;
	struct image_lines *lines = calloc(1, sizeof(*lines));
	GElf_Addr end;

	image->lines_tried = true;
	if (!lines)
		return;
	if (asprintf(&lines->debug_path, ":.debug:%s%s/usr/lib/debug",
		     set->sysroot ? set->sysroot : "",
		     set->sysroot ? "/usr/lib/debug:" : "") < 0) {
		free(lines);
		return;
	}
	lines->callbacks.find_elf = find_elf_never;
	lines->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
	lines->callbacks.section_address = dwfl_offline_section_address;
	lines->callbacks.debuginfo_path = &lines->debug_path;
	lines->dwfl = dwfl_begin(&lines->callbacks);
	if (!lines->dwfl)
		goto fail;
	/* add_p_vaddr: addresses are the file's own */
	lines->mod = dwfl_report_elf(lines->dwfl, image->name, image->path, -1, 0, true);
	if (!lines->mod || dwfl_report_end(lines->dwfl, NULL, NULL))
		goto fail;
	if (!dwfl_module_getelf(lines->mod, &lines->bias))
		goto fail;
	dwfl_module_info(lines->mod, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	image->lines = lines;
	return;
fail:
	if (lines->dwfl)
		dwfl_end(lines->dwfl);
	free(lines->debug_path);
	free(lines);
}

/* Demangled once; linkage strings live as long as the debug file. */
static const char *demangled(struct image_lines *lines, const char *linkage)
{
	struct image_name **slot = &lines->names[((uintptr_t)linkage >> 2) & 1023], *name;

	for (name = *slot; name; name = name->next)
		if (name->linkage == linkage)
			return name->text ? name->text : linkage;
	name = calloc(1, sizeof(*name));
	if (!name)
		return linkage;
	name->linkage = linkage;
	name->text = image_demangle(linkage);
	name->next = *slot;
	*slot = name;
	return name->text ? name->text : linkage;
}

static const char *die_name(struct image_lines *lines, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (name)
		return demangled(lines, name);
	return dwarf_attr_integrate(die, DW_AT_name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* Where the inlined call at die was made. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct auxtap_frame *outer)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Files *files;
	size_t nr;

	if (dwarf_attr(die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &value))
		outer->line = (unsigned int)value;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &value) &&
	    !dwarf_getsrcfiles(cu, &files, &nr) && value < nr)
		outer->file = dwarf_filesrc(files, value, NULL, NULL);
}

static unsigned int inline_frames(struct image_lines *lines, Dwarf_Die *cu, Dwarf_Addr addr,
				  struct auxtap_frame *frames,
				  unsigned int max)
{
	Dwarf_Die *scopes = NULL, *chain = NULL;
	unsigned int nr = 1;
	int nr_scopes = dwarf_getscopes(cu, addr, &scopes), nr_chain = 0;

	for (int i = 0; i < nr_scopes; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			nr_chain = dwarf_getscopes_die(&scopes[i], &chain);
			break;
		}
	}
	for (int i = 0; i < nr_chain; i++) {
		struct auxtap_frame *frame = &frames[nr - 1];
		int tag = dwarf_tag(&chain[i]);
		Dwarf_Addr entry;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		frame->symbol = die_name(lines, &chain[i]);
		if (tag == DW_TAG_subprogram || nr == max) {
			if (!dwarf_entrypc(&chain[i], &entry) && addr >= entry)
				frame->symbol_off = addr - entry;
			break;
		}
		frame->inlined = true;
		call_site(cu, &chain[i], &frames[nr]);
		nr++;
	}
	free(scopes);
	free(chain);
	return nr;
}

static unsigned int lookup(struct image_lines *lines, uint64_t vaddr,
			   struct auxtap_frame *frames, unsigned int max)
{
	Dwarf_Addr addr = vaddr + lines->bias, bias;
	Dwfl_Line *line;
	Dwarf_Die *cu;
	int lineno = 0;

	memset(frames, 0, max * sizeof(*frames));
	cu = dwfl_module_addrdie(lines->mod, addr, &bias);
	line = dwfl_module_getsrc(lines->mod, addr);
	if (line) {
		frames[0].file = dwfl_lineinfo(line, NULL, &lineno, NULL, NULL, NULL);
		frames[0].line = lineno > 0 ? (unsigned int)lineno : 0;
	}
	if (!cu)
		return line ? 1 : 0;
	return inline_frames(lines, cu, addr - bias, frames, max);
}

int image_debug_symbols(struct auxtap_image *image,
			int (*fn)(void *ctx, const char *name, uint64_t start, uint64_t size),
			void *ctx)
{
	int nr, ret = 0;

	if (!image->lines_tried && image->mapped)
		lines_open(image);
	nr = image->lines ? dwfl_module_getsymtab(image->lines->mod) : 0;
	for (int i = 1; !ret && i < nr; i++) {
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(image->lines->mod, i, &sym, &addr,
							   NULL, NULL, NULL);

		if (name && *name && sym.st_size && sym.st_shndx != SHN_UNDEF &&
		    (GELF_ST_TYPE(sym.st_info) == STT_FUNC ||
		     GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC))
			ret = fn(ctx, name, addr - image->lines->bias, sym.st_size);
	}
	return ret;
}

unsigned int image_lines_find(struct auxtap_image *image, uint64_t vaddr,
			      struct auxtap_frame *frames, unsigned int max_frames)
{
	struct image_line **slot, *line;
	unsigned int nr;

	if (!image->lines_tried)
		lines_open(image);
	if (!image->lines)
		return 0;
	slot = &image->lines->hash[(vaddr ^ vaddr >> 12) & 4095];
	for (line = *slot; line; line = line->next) {
		if (line->vaddr == vaddr) {
			nr = line->nr < max_frames ? line->nr : max_frames;
			if (nr)
				memcpy(frames, line->frames, nr * sizeof(*frames));
			return nr;
		}
	}
	nr = lookup(image->lines, vaddr, frames, max_frames);
	if (image->lines->nr >= MAX_REMEMBERED)
		return nr;
	line = calloc(1, sizeof(*line));
	if (line && nr) {
		line->frames = malloc(nr * sizeof(*frames));
		if (!line->frames) {
			free(line);
			return nr;
		}
		memcpy(line->frames, frames, nr * sizeof(*frames));
	}
	if (line) {
		line->vaddr = vaddr;
		line->nr = nr;
		line->next = *slot;
		*slot = line;
		image->lines->nr++;
	}
	return nr;
}

void image_lines_free(struct auxtap_image *image)
{
	struct image_lines *lines = image->lines;

	if (!lines)
		return;
	for (size_t i = 0; i < 4096; i++) {
		while (lines->hash[i]) {
			struct image_line *line = lines->hash[i];

			lines->hash[i] = line->next;
			free(line->frames);
			free(line);
		}
	}
	for (size_t i = 0; i < 1024; i++) {
		while (lines->names[i]) {
			struct image_name *name = lines->names[i];

			lines->names[i] = name->next;
			free(name->text);
			free(name);
		}
	}
	dwfl_end(lines->dwfl);
	free(lines->debug_path);
	free(lines);
	image->lines = NULL;
}
