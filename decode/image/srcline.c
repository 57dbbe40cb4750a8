// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source lines and inlined frames of one image, by libdw. Debug information is searched for in the
 * file, /usr/lib/debug/.build-id, .gnu_debuglink, debuginfod (only if the user asked for it).
 * Results are cached by address.
 */
#include "debug_file.h"
#include "dwarf_index.h"
#include "dwarf_rows.h"
#include "packed.h"
#include "util/vector.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CACHED_LINES (1u << 18)

struct image_line {
	unsigned int nr;
	struct auxtap_frame *frames;
};

struct image_lines {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	GElf_Addr bias, dwarf_bias;
	struct dwarf_index *index; /* NULL: no debug information */
	char *debug_path;
	Dwfl_Callbacks callbacks;
	struct image_line *lines;
	size_t nr, max;
	struct hash_map line_index; /* by address */
	char **names;		    /* demangled or qualified names, paths; may be NULL */
	size_t nr_names, max_names;
	struct hash_map name_index; /* by string or DIE of the debug file */
	struct dwarf_rows **rows;   /* NULL: the unit has none that cover no code */
	size_t nr_rows, max_rows;
	struct hash_map rows_index; /* by unit */
};

/*
 * Whether code begins at address 0; if not, debug information for address 0 is that of discarded
 * code.
 */
static bool code_at_zero(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_ALLOC &&
		    shdr.sh_flags & SHF_EXECINSTR && !shdr.sh_addr)
			return true;
	return false;
}

static void lines_open(struct auxtap_image *image)
{
	const struct auxtap_image_set *set = image->set;
	struct image_lines *lines = calloc(1, sizeof(*lines));
	void **data;
	Dwarf *dw;
	Elf *elf;

	image->lines_tried = true;
	if (!lines)
		return;
	if (asprintf(&lines->debug_path, ":.debug:%s%s/usr/lib/debug",
		     set->sysroot ? set->sysroot : "", set->sysroot ? "/usr/lib/debug:" : "") < 0) {
		free(lines);
		return;
	}
	lines->callbacks.find_elf = debug_file_no_elf;
	lines->callbacks.find_debuginfo = image->packed	  ? image_packed_debug :
					  set->debuginfod ? debug_file_find_or_ask :
							    debug_file_find;
	lines->callbacks.section_address = dwfl_offline_section_address;
	lines->callbacks.debuginfo_path = &lines->debug_path;
	lines->dwfl = dwfl_begin(&lines->callbacks);
	if (!lines->dwfl)
		goto fail;
	/* add_p_vaddr: libdwfl uses the file's own addresses */
	lines->mod = image_report_elf(lines->dwfl, image, 0, true);
	if (lines->mod && !image->packed &&
	    dwfl_module_info(lines->mod, &data, NULL, NULL, NULL, NULL, NULL, NULL))
		*data = set->sysroot;
	if (!lines->mod || dwfl_report_end(lines->dwfl, NULL, NULL))
		goto fail;
	elf = dwfl_module_getelf(lines->mod, &lines->bias);
	if (!elf)
		goto fail;
	dw = dwfl_module_getdwarf(lines->mod, &lines->dwarf_bias);
	image->no_memory |= debug_file_no_descriptors();
	if (dw && debug_file_alternate_is_safe(lines->mod, dw))
		lines->index = dwarf_index_new(lines->mod, dw, code_at_zero(elf));
	image->lines = lines;
	return;
fail:
	if (lines->dwfl)
		dwfl_end(lines->dwfl);
	free(lines->debug_path);
	free(lines);
}

/*
 * The cached name that was made from the string or DIE at 'key' of the debug file; *cached: it was
 * made before. NULL: out of memory.
 */
static char **name_slot(struct image_lines *lines, const void *key, bool *cached)
{
	uint64_t hash = hash_number((uintptr_t)key);
	size_t index = hash_map_find(&lines->name_index, hash);

	*cached = index != HASH_MAP_NONE;
	if (*cached)
		return &lines->names[index];
	if (vector_grow(lines->names, lines->nr_names, lines->max_names) ||
	    hash_map_add(&lines->name_index, hash, lines->nr_names))
		return NULL;
	lines->names[lines->nr_names] = NULL;
	return &lines->names[lines->nr_names++];
}

static const char *demangled(struct image_lines *lines, const char *linkage)
{
	bool cached;
	char **name = name_slot(lines, linkage, &cached);

	if (name && !cached)
		*name = image_demangle(linkage);
	return name && *name ? *name : linkage;
}

/* The declaration that a function's instances refer to, which is in its namespace or class. */
static void declaration_of(Dwarf_Die *die, Dwarf_Die *decl)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;

	*decl = *die;
	for (int steps = 0; steps < 16; steps++) {
		if (!dwarf_attr(decl, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(decl, DW_AT_specification, &attr))
			return;
		if (!dwarf_formref_die(&attr, &next))
			return;
		*decl = next;
	}
}

static bool has_namespaces(Dwarf_Die *decl)
{
	Dwarf_Die cu;
	int language = dwarf_diecu(decl, &cu, NULL, NULL) ? dwarf_srclang(&cu) : 0;

	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
		return true;
	default:
		return false;
	}
}

/* "bank::account::account": compilers give constructors that are always inlined no linkage name. */
static char *qualified(Dwarf_Die *decl, const char *base)
{
	Dwarf_Die *scopes = NULL;
	int nr = dwarf_getscopes_die(decl, &scopes);
	char *name = strdup(base);

	for (int i = 1; i < nr && name; i++) {
		const char *scope = dwarf_diename(&scopes[i]);
		int tag = dwarf_tag(&scopes[i]);
		char *longer;

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
		    tag != DW_TAG_structure_type && tag != DW_TAG_union_type &&
		    tag != DW_TAG_enumeration_type)
			continue;
		if (!scope && tag == DW_TAG_namespace)
			scope = "(anonymous namespace)";
		if (!scope)
			continue;
		if (asprintf(&longer, "%s::%s", scope, name) < 0)
			longer = NULL;
		free(name);
		name = longer;
	}
	free(scopes);
	return name;
}

static const char *die_name(struct image_lines *lines, Dwarf_Die *die)
{
	char **slot;
	Dwarf_Attribute attr;
	const char *name = NULL;
	Dwarf_Die decl;
	bool cached;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (name)
		return demangled(lines, name);
	name = dwarf_attr_integrate(die, DW_AT_name, &attr) ? dwarf_formstring(&attr) : NULL;
	declaration_of(die, &decl);
	if (!name || !has_namespaces(&decl))
		return name;
	slot = name_slot(lines, decl.addr, &cached);
	if (slot && !cached)
		*slot = qualified(&decl, name);
	return slot && *slot ? *slot : name;
}

/*
 * File names are relative to the directory that the unit was compiled in. A relative directory
 * (-ffile-prefix-map) is part of the name already.
 */
static const char *full_path(struct image_lines *lines, Dwarf_Die *unit, const char *file)
{
	char **slot;
	Dwarf_Attribute attr;
	const char *dir;
	bool cached;

	if (!file || *file == '/')
		return file;
	dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	slot = dir && *dir == '/' ? name_slot(lines, file, &cached) : NULL;
	if (slot && !cached && asprintf(slot, "%s/%s", dir, file) < 0)
		*slot = NULL;
	return slot && *slot ? *slot : file;
}

/* Rows of the unit that cover no code; NULL: none. */
static const struct dwarf_rows *empty_rows(struct image_lines *lines, struct dwarf_unit *unit)
{
	const uint64_t hash = hash_number((uintptr_t)unit);
	size_t index = hash_map_find(&lines->rows_index, hash);

	if (index != HASH_MAP_NONE)
		return lines->rows[index];
	if (vector_grow(lines->rows, lines->nr_rows, lines->max_rows) ||
	    hash_map_add(&lines->rows_index, hash, lines->nr_rows))
		return NULL;
	lines->rows[lines->nr_rows] = dwarf_rows_new(dwarf_unit_lines(unit));
	return lines->rows[lines->nr_rows++];
}

/* The row of the line table for the code at addr; NULL: none. */
static Dwarf_Line *row_at(struct image_lines *lines, struct dwarf_unit *unit, Dwarf_Addr addr)
{
	Dwarf_Line *line = dwarf_getsrc_die(dwarf_unit_lines(unit), addr);

	return line ? dwarf_rows_check(empty_rows(lines, unit), dwarf_unit_lines(unit), line) :
		      NULL;
}

/* Sets the line of the call that was inlined as die; line 0 is no source line. */
static void call_site(struct image_lines *lines, Dwarf_Die *tree, Dwarf_Die *die,
		      struct auxtap_frame *outer)
{
	Dwarf_Attribute attr;
	Dwarf_Word line, file;
	Dwarf_Files *files;
	size_t nr;

	if (dwarf_attr(die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &line) && line &&
	    dwarf_attr(die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &file) &&
	    !dwarf_getsrcfiles(tree, &files, &nr) && file < nr) {
		outer->line = (unsigned int)line;
		outer->file = full_path(lines, tree, dwarf_filesrc(files, file, NULL, NULL));
	}
}

/*
 * If there are more functions than frames, the last frame is the outermost function, without a
 * line.
 */
static unsigned int inline_frames(struct image_lines *lines, struct dwarf_unit *unit,
				  Dwarf_Addr addr, struct auxtap_frame *frames, unsigned int max)
{
	Dwarf_Die chain[DWARF_MAX_FUNCTIONS];
	unsigned int nr_chain = dwarf_unit_functions(lines->index, unit, addr, chain);
	unsigned int nr = nr_chain < max ? nr_chain : max;

	for (unsigned int i = 0; i < nr; i++) {
		Dwarf_Die *die = &chain[i + 1 == nr ? nr_chain - 1 : i];
		Dwarf_Addr entry;

		frames[i].symbol = die_name(lines, die);
		if (i + 1 < nr) {
			frames[i].inlined = true;
			if (i + 2 < nr || nr == nr_chain)
				call_site(lines, dwarf_unit_tree(unit), die, &frames[i + 1]);
		} else if (!dwarf_entrypc(die, &entry) && addr >= entry) {
			frames[i].symbol_off = addr - entry;
		}
	}
	return nr;
}

/*
 * For an instruction without a line (compilers merge code of several lines): the line of the code
 * before addr, if it is in the same function, as in gdb. line: the row of addr.
 */
static void near_line(struct image_lines *lines, struct dwarf_unit *unit, Dwarf_Addr addr,
		      Dwarf_Line *line, struct auxtap_frame *frame)
{
	Dwarf_Die here[DWARF_MAX_FUNCTIONS], before[DWARF_MAX_FUNCTIONS];
	Dwarf_Die *tree = dwarf_unit_lines(unit);
	unsigned int nr_here, nr_before;
	size_t nr, at = 0;
	Dwarf_Lines *rows;
	int lineno = 0;
	bool end;

	nr_here = dwarf_unit_functions(lines->index, unit, addr, here);
	if (!nr_here || dwarf_getsrclines(tree, &rows, &nr))
		return;
	while (at < nr && dwarf_onesrcline(rows, at) != line)
		at++;
	if (at == nr)
		return;
	while (at-- > 0 && lineno <= 0) {
		line = dwarf_onesrcline(rows, at);
		if (dwarf_lineendsequence(line, &end) || end || dwarf_lineaddr(line, &addr) ||
		    dwarf_lineno(line, &lineno))
			return;
	}
	nr_before = dwarf_unit_functions(lines->index, unit, addr, before);
	if (lineno <= 0 || !nr_before || before[nr_before - 1].addr != here[nr_here - 1].addr)
		return;
	frame->near_file = full_path(lines, tree, dwarf_linesrc(line, NULL, NULL));
	frame->near_line = frame->near_file ? (unsigned int)lineno : 0;
}

static unsigned int resolve_line(struct image_lines *lines, uint64_t vaddr,
				 struct auxtap_frame *frames, unsigned int max)
{
	Dwarf_Addr addr = vaddr + lines->bias - lines->dwarf_bias;
	struct dwarf_unit *unit;
	Dwarf_Line *line;
	unsigned int nr;
	int lineno = 0;

	memset(frames, 0, max * sizeof(*frames));
	unit = lines->index ? dwarf_index_unit(lines->index, addr) : NULL;
	if (!unit)
		return 0;
	line = row_at(lines, unit, addr);
	/* line 0: the instruction belongs to no source line */
	if (line && !dwarf_lineno(line, &lineno) && lineno > 0) {
		frames[0].file =
			full_path(lines, dwarf_unit_lines(unit), dwarf_linesrc(line, NULL, NULL));
		frames[0].line = (unsigned int)lineno;
	} else if (line && !lineno) {
		near_line(lines, unit, addr, line, &frames[0]);
	}
	nr = inline_frames(lines, unit, addr, frames, max);
	return nr ? nr : frames[0].file ? 1 : 0;
}

uint64_t image_line_begin(struct auxtap_image *image, uint64_t vaddr)
{
	struct image_lines *lines;
	struct dwarf_unit *unit;
	Dwarf_Line *line;
	Dwarf_Addr addr;

	if (!image->lines_tried)
		lines_open(image);
	lines = image->lines;
	if (!lines || !lines->index)
		return 0;
	addr = vaddr + lines->bias - lines->dwarf_bias;
	unit = dwarf_index_unit(lines->index, addr);
	line = unit ? row_at(lines, unit, addr) : NULL;
	if (!line || dwarf_lineaddr(line, &addr))
		return 0;
	return addr - lines->bias + lines->dwarf_bias;
}

/*
 * Where a function is entered, the first instruction may be of an inlined one, whose call is
 * further below: of the rows of the line table for that address the first is the function's own.
 */
void image_entry_line(struct auxtap_image *image, uint64_t vaddr, struct auxtap_frame *frame)
{
	struct image_lines *lines = image->lines;
	Dwarf_Die chain[DWARF_MAX_FUNCTIONS];
	int lineno, found = 0, declared = 0;
	unsigned int nr_chain = 0;
	struct dwarf_unit *unit;
	const char *file, *source;
	Dwarf_Addr addr, at;
	Dwarf_Lines *rows;
	Dwarf_Line *line;
	size_t nr, first;

	if (!lines || !lines->index)
		return;
	addr = vaddr + lines->bias - lines->dwarf_bias;
	unit = dwarf_index_unit(lines->index, addr);
	if (unit)
		nr_chain = dwarf_unit_functions(lines->index, unit, addr, chain);
	if (!nr_chain)
		return;
	/* elfutils knows no file 0, which is that of the unit since DWARF 5 */
	file = dwarf_decl_file(&chain[nr_chain - 1]);
	file = full_path(lines, dwarf_unit_lines(unit),
			 file ? file : dwarf_diename(dwarf_unit_lines(unit)));
	if (!file || dwarf_decl_line(&chain[nr_chain - 1], &declared) ||
	    dwarf_getsrclines(dwarf_unit_lines(unit), &rows, &nr))
		return;
	first = dwarf_rows_first(rows, nr, addr);
	for (size_t i = first; i < nr && !found; i++) {
		line = dwarf_onesrcline(rows, i);
		if (dwarf_lineaddr(line, &at) || at != addr)
			break;
		if (!dwarf_rows_cover(empty_rows(lines, unit), addr, i - first))
			continue;
		source = full_path(lines, dwarf_unit_lines(unit), dwarf_linesrc(line, NULL, NULL));
		if (source && !strcmp(source, file) && !dwarf_lineno(line, &lineno) &&
		    lineno >= declared)
			found = lineno;
	}
	if (!found)
		return;
	frame->file = file;
	frame->line = (unsigned int)found;
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
		const char *name = dwfl_module_getsym_info(image->lines->mod, i, &sym, &addr, NULL,
							   NULL, NULL);

		if (name && *name && sym.st_size && sym.st_shndx != SHN_UNDEF &&
		    (GELF_ST_TYPE(sym.st_info) == STT_FUNC ||
		     GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC))
			ret = fn(ctx, name, addr - image->lines->bias, sym.st_size);
	}
	return ret;
}

static void cache_line(struct image_lines *lines, uint64_t vaddr, const struct auxtap_frame *frames,
		       unsigned int nr)
{
	struct auxtap_frame *copy = NULL;

	if (lines->nr >= MAX_CACHED_LINES || vector_grow(lines->lines, lines->nr, lines->max))
		return;
	if (nr) {
		copy = malloc(nr * sizeof(*copy));
		if (!copy)
			return;
		memcpy(copy, frames, nr * sizeof(*copy));
	}
	if (hash_map_add(&lines->line_index, hash_number(vaddr), lines->nr)) {
		free(copy);
		return;
	}
	lines->lines[lines->nr++] = (struct image_line){nr, copy};
}

static unsigned int find_lines(struct auxtap_image *image, uint64_t vaddr,
			       struct auxtap_frame *frames, unsigned int max_frames)
{
	const struct image_line *line;
	unsigned int nr;
	size_t index;

	if (!image->lines_tried)
		lines_open(image);
	if (!image->lines)
		return 0;
	index = hash_map_find(&image->lines->line_index, hash_number(vaddr));
	if (index == HASH_MAP_NONE) {
		nr = resolve_line(image->lines, vaddr, frames, max_frames);
		cache_line(image->lines, vaddr, frames, nr);
		return nr;
	}
	line = &image->lines->lines[index];
	nr = line->nr < max_frames ? line->nr : max_frames;
	if (nr)
		memcpy(frames, line->frames, nr * sizeof(*frames));
	return nr;
}

unsigned int image_lines_find(struct auxtap_image *image, uint64_t vaddr,
			      struct auxtap_frame *frames, unsigned int max_frames)
{
	unsigned int nr;
	int saved;

	image_memory_begin(&saved);
	nr = find_lines(image, vaddr, frames, max_frames);
	image_memory_end(image, saved);
	return nr;
}

unsigned int image_lines_functions(struct auxtap_image *image, uint64_t vaddr,
				   Dwarf_Die chain[DWARF_MAX_FUNCTIONS], uint64_t *shift)
{
	struct image_lines *lines;
	struct dwarf_unit *unit;

	if (!image->lines_tried)
		lines_open(image);
	lines = image->lines;
	if (!lines || !lines->index)
		return 0;
	*shift = lines->dwarf_bias - lines->bias;
	unit = dwarf_index_unit(lines->index, vaddr - *shift);
	return unit ? dwarf_unit_functions(lines->index, unit, vaddr - *shift, chain) : 0;
}

char *image_debug_path(struct auxtap_image *image)
{
	const char *main_file = NULL, *debug_file = NULL;

	if (!image->lines_tried && image->mapped)
		lines_open(image);
	if (!image->lines || !image->lines->index)
		return NULL;
	dwfl_module_info(image->lines->mod, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	return debug_file && (!main_file || strcmp(main_file, debug_file) != 0) ?
		       strdup(debug_file) :
		       NULL;
}

void image_lines_free(struct auxtap_image *image)
{
	struct image_lines *lines = image->lines;

	if (!lines)
		return;
	for (size_t i = 0; i < lines->nr; i++)
		free(lines->lines[i].frames);
	for (size_t i = 0; i < lines->nr_names; i++)
		free(lines->names[i]);
	free(lines->lines);
	free(lines->names);
	for (size_t i = 0; i < lines->nr_rows; i++)
		dwarf_rows_free(lines->rows[i]);
	free(lines->rows);
	hash_map_free(&lines->rows_index);
	hash_map_free(&lines->line_index);
	hash_map_free(&lines->name_index);
	dwarf_index_free(lines->index);
	dwfl_end(lines->dwfl);
	free(lines->debug_path);
	free(lines);
	image->lines = NULL;
}
