// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeps the symbols of code that was used, each with its neighbours, because a symbol without a
 * size ends where the next one begins; those that name PLT entries; and those of variables that the
 * report names. All others become zeros, that is, undefined symbols without a name.
 */
#include "pack_private.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct symbol_range {
	uint64_t start, end;
	size_t index;
	bool used;
};

static int by_start(const void *a, const void *b)
{
	const struct symbol_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void keep_symbol(const struct pack_elf *e, const Elf64_Shdr *table, size_t index)
{
	const Elf64_Shdr *strings = &e->sections[table->sh_link];
	uint64_t off = table->sh_offset + index * sizeof(Elf64_Sym), at;
	Elf64_Sym sym;

	memcpy(&sym, e->data + off, sizeof(sym));
	pack_sparse_keep(e->out, off, &sym, sizeof(sym));
	at = strings->sh_offset + sym.st_name;
	if (sym.st_name < strings->sh_size)
		pack_sparse_keep(e->out, at, e->data + at,
				 strnlen((const char *)e->data + at,
					 strings->sh_size - sym.st_name - 1) +
					 1);
}

/* Sets 'used' for the symbols at each address, if any code from there to their end was used. */
static void set_used(const struct pack_elf *e, struct symbol_range *list, size_t nr)
{
	for (size_t i = 0, next; i < nr; i = next) {
		uint64_t end;
		bool used;

		for (next = i + 1; next < nr && list[next].start == list[i].start;)
			next++;
		end = next < nr ? list[next].start : UINT64_MAX;
		for (size_t j = i; j < next; j++)
			if (list[j].end > end)
				end = list[j].end;
		used = image_use_has_name(e->image, list[i].start, end);
		for (size_t j = i; j < next; j++)
			list[j].used = used;
	}
}

static bool names_code(const struct pack_elf *e, const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx < e->nr_sections &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* gdb looks for this symbol in the dynamic linker. */
static bool is_for_debugger(const struct pack_elf *e, const Elf64_Shdr *strings,
			    const Elf64_Sym *sym)
{
	static const char name[] = "_dl_debug_state";

	return sym->st_name < strings->sh_size && strings->sh_size - sym->st_name >= sizeof(name) &&
	       !memcmp(e->data + strings->sh_offset + sym->st_name, name, sizeof(name));
}

static int keep_table(const struct pack_elf *e, const Elf64_Shdr *table)
{
	size_t nr = table->sh_size / sizeof(Elf64_Sym), nr_ranges = 0;
	struct symbol_range *list;

	if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= e->nr_sections ||
	    !pack_section_in_file(e, table) ||
	    !pack_section_in_file(e, &e->sections[table->sh_link]))
		return 0;
	list = malloc((nr + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 1; i < nr; i++) {
		Elf64_Sym sym;

		memcpy(&sym, e->data + table->sh_offset + i * sizeof(sym), sizeof(sym));
		/* what the file imports decides between names of other files (symbol_aliases.c) */
		if ((table->sh_type == SHT_DYNSYM && sym.st_shndx == SHN_UNDEF) ||
		    is_for_debugger(e, &e->sections[table->sh_link], &sym) ||
		    (ELF64_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_shndx != SHN_UNDEF &&
		     image_use_has_variable(e->image, sym.st_value)))
			keep_symbol(e, table, i);
		if (names_code(e, &sym))
			list[nr_ranges++] =
				(struct symbol_range){sym.st_value, sym.st_value + sym.st_size, i,
						      false};
	}
	qsort(list, nr_ranges, sizeof(*list), by_start);
	set_used(e, list, nr_ranges);
	for (size_t i = 0; i < nr_ranges; i++) {
		uint64_t start = list[i].start;
		size_t before = i, after = i;

		while (before && list[before].start == start)
			before--;
		while (after + 1 < nr_ranges && list[after].start == start)
			after++;
		if (list[i].used || list[before].used || list[after].used)
			keep_symbol(e, table, list[i].index);
	}
	free(list);
	return 0;
}

/* Keeps relocations of PLT and GOT slots, and the symbols that they refer to. */
static void keep_plt_slots(const struct pack_elf *e, const Elf64_Shdr *table)
{
	const Elf64_Shdr *symbols;
	Elf64_Ehdr eh;

	memcpy(&eh, e->data, sizeof(eh));
	if (table->sh_link >= e->nr_sections || !pack_section_in_file(e, table))
		return;
	symbols = &e->sections[table->sh_link];
	if (symbols->sh_type != SHT_DYNSYM || symbols->sh_link >= e->nr_sections ||
	    !pack_section_in_file(e, symbols) ||
	    !pack_section_in_file(e, &e->sections[symbols->sh_link]))
		return;
	for (uint64_t at = 0; table->sh_size - at >= sizeof(Elf64_Rela) && at < table->sh_size;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela;
		uint64_t type;

		memcpy(&rela, e->data + table->sh_offset + at, sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (eh.e_machine == EM_AARCH64 ?
			    type != R_AARCH64_JUMP_SLOT && type != R_AARCH64_GLOB_DAT :
			    type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		pack_sparse_keep(e->out, table->sh_offset + at, &rela, sizeof(rela));
		if (ELF64_R_SYM(rela.r_info) < symbols->sh_size / sizeof(Elf64_Sym))
			keep_symbol(e, symbols, ELF64_R_SYM(rela.r_info));
	}
}

int pack_symbols(const struct pack_elf *e)
{
	int ret = 0;

	for (size_t i = 1; !ret && i < e->nr_sections; i++) {
		const Elf64_Shdr *section = &e->sections[i];

		if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
			ret = keep_table(e, section);
		else if (section->sh_type == SHT_RELA)
			keep_plt_slots(e, section);
	}
	return ret;
}
