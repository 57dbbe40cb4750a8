// SPDX-License-Identifier: BSD-2-Clause
/*
 * Function names of one image: from .symtab and .dynsym, also of a separate debug file, and names
 * made for PLT entries. An address that no symbol covers has no name.
 */
#include "image_private.h"
#include "util/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct symbol_list {
	struct image_symbol *at;
	size_t nr, max;
};

static int list_add(struct symbol_list *list, uint64_t start, uint64_t end, const char *name,
		    uint8_t rank)
{
	if (vector_grow(list->at, list->nr, list->max))
		return -ENOMEM;
	list->at[list->nr++] = (struct image_symbol){
		.start = start,
		.end = end,
		.name = name,
		.rank = rank,
	};
	return 0;
}

static uint8_t rank_of(const GElf_Sym *sym)
{
	unsigned int bind = GELF_ST_BIND(sym->st_info);
	uint8_t rank = sym->st_size ? 8 : 0;

	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
		rank += 4;
	return rank + (bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0);
}

/* Arm's mapping symbols, for example "$x" and "$d": they mark code and data, and are no names. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && strchr("xdat", name[1]) && name[1] && (!name[2] || name[2] == '.');
}

/*
 * full: the table names every function, so a symbol without size (hand-written assembly) may extend
 * to the next one of its section. With .dynsym alone it would also name code of stripped functions
 * after it.
 */
static int read_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, bool full,
		      struct symbol_list *list)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 1; data && i < nr && i < 1u << 26; i++) {
		GElf_Sym sym;
		GElf_Shdr in;
		Elf_Scn *home;
		const char *name;
		unsigned int type;
		uint64_t end;
		int ret;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		home = elf_getscn(elf, sym.st_shndx);
		if (!home || !gelf_getshdr(home, &in) || !(in.sh_flags & SHF_EXECINSTR))
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name || !*name || is_mapping_symbol(name))
			continue;
		end = sym.st_value + sym.st_size;
		if (!sym.st_size)
			end = full ? in.sh_addr + in.sh_size : sym.st_value + 1;
		if (end <= sym.st_value)
			continue;
		ret = list_add(list, sym.st_value, end, name, rank_of(&sym));
		if (ret)
			return ret;
		list->at[list->nr - 1].is_exported = shdr->sh_type == SHT_DYNSYM &&
						     type != STT_NOTYPE &&
						     GELF_ST_BIND(sym.st_info) != STB_LOCAL;
	}
	return 0;
}

/* ---- PLT: an entry has the name of the GOT slot that it jumps through ---- */

struct slot {
	uint64_t got;
	const char *name;
};

static int by_got(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->got < y->got ? -1 : x->got > y->got;
}

static bool is_slot_relocation(uint16_t machine, uint64_t type)
{
	if (machine == EM_AARCH64)
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

/*
 * Returns the number of GOT slots that relocations with symbols of .dynsym fill; *out: the slots,
 * sorted by address; names belong to elf. Out of memory: the slots found so far; then only names of
 * PLT entries are missing.
 */
static size_t read_slots(Elf *elf, uint16_t machine, struct slot **out)
{
	struct slot *slots = NULL;
	size_t nr = 0, max = 0;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr, symhdr;
		Elf_Data *rels, *syms;
		Elf_Scn *symscn;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA || !shdr.sh_entsize)
			continue;
		symscn = elf_getscn(elf, shdr.sh_link);
		if (!symscn || !gelf_getshdr(symscn, &symhdr) || symhdr.sh_type != SHT_DYNSYM)
			continue;
		rels = elf_getdata(scn, NULL);
		syms = elf_getdata(symscn, NULL);
		for (size_t i = 0; rels && syms && i < shdr.sh_size / shdr.sh_entsize; i++) {
			GElf_Rela rela;
			GElf_Sym sym;
			const char *name;

			if (!gelf_getrela(rels, (int)i, &rela))
				break;
			if (!is_slot_relocation(machine, GELF_R_TYPE(rela.r_info)))
				continue;
			if (!gelf_getsym(syms, (int)GELF_R_SYM(rela.r_info), &sym))
				continue;
			name = elf_strptr(elf, symhdr.sh_link, sym.st_name);
			if (!name || !*name)
				continue;
			if (vector_grow(slots, nr, max))
				goto out;
			slots[nr++] = (struct slot){rela.r_offset, name};
		}
	}
out:
	if (nr)
		qsort(slots, nr, sizeof(*slots), by_got);
	*out = slots;
	return nr;
}

int image_own_name(struct auxtap_image *image, char *name)
{
	if (vector_grow(image->owned_names, image->nr_owned_names, image->max_owned_names))
		return -ENOMEM;
	image->owned_names[image->nr_owned_names++] = name;
	return 0;
}

/* Names the PLT entry at [addr, end), which jumps through the slot at got. */
static int name_plt_entry(struct auxtap_image *image, const struct slot *slots, size_t nr_slots,
			  uint64_t got, uint64_t addr, uint64_t end, struct symbol_list *list)
{
	struct slot key = {.got = got};
	const struct slot *slot = bsearch(&key, slots, nr_slots, sizeof(*slots), by_got);
	char *name;

	if (!slot)
		return 0;
	if (asprintf(&name, "%s@plt", slot->name) < 0)
		return -ENOMEM;
	if (image_own_name(image, name)) {
		free(name);
		return -ENOMEM;
	}
	return list_add(list, addr, end, name, 12);
}

static int name_x86_plt_entry(struct auxtap_image *image, const struct slot *slots, size_t nr_slots,
			      const uint8_t *code, size_t size, uint64_t addr, uint64_t entry,
			      struct symbol_list *list)
{
	/* jmp *disp(%rip), possibly after endbr64 and bnd */
	for (size_t i = 0; i + 6 <= size && i <= 5; i++) {
		int32_t disp;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&disp, code + i + 2, 4);
		return name_plt_entry(image, slots, nr_slots,
				      addr + i + 6 + (uint64_t)(int64_t)disp, addr, addr + entry,
				      list);
	}
	return 0;
}

/*
 * adrp x16; ldr x17, [x16, ...]; add x16, ...; br x17, possibly with bti before and autia1716
 * inside.
 */
static int name_a64_plt_entries(struct auxtap_image *image, const struct slot *slots,
				size_t nr_slots, const uint8_t *code, size_t size, uint64_t addr,
				struct symbol_list *list)
{
	uint32_t w[6];
	int ret = 0;

	for (size_t i = 0; !ret && i + 16 <= size; i += 4) {
		uint64_t start = addr + i, page;
		size_t nr = size - i < sizeof(w) ? size - i : sizeof(w), end = 3;
		uint32_t before;

		memset(w, 0, sizeof(w));
		memcpy(w, code + i, nr);
		if ((w[0] & 0x9f00001f) != 0x90000010 || (w[1] & 0xffc003ff) != 0xf9400211)
			continue;
		while (end < 6 && w[end] != 0xd61f0220)
			end++;
		if (end == 6)
			continue;
		/* immhi:immlo, 21 bits, in pages */
		page = (uint64_t)(w[0] >> 5 & 0x7ffff) << 2 | (w[0] >> 29 & 3);
		page = (start & ~4095ull) + ((page ^ 0x100000) - 0x100000) * 4096;
		if (i) {
			memcpy(&before, code + i - 4, 4);
			if (before == 0xd503245f) /* bti c */
				start -= 4;
		}
		ret = name_plt_entry(image, slots, nr_slots,
				     page + (uint64_t)(w[1] >> 10 & 0xfff) * 8, start,
				     addr + i + 4 * (end + 1), list);
	}
	return ret;
}

static int read_plt(struct auxtap_image *image, Elf *elf, struct symbol_list *list)
{
	struct slot *slots = NULL;
	size_t nr_slots, shstrndx;
	Elf_Scn *scn = NULL;
	int ret = 0;

	if ((image->machine != EM_X86_64 && image->machine != EM_AARCH64) ||
	    elf_getshdrstrndx(elf, &shstrndx))
		return 0;
	nr_slots = read_slots(elf, image->machine, &slots);
	while (nr_slots && !ret && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name;
		uint64_t entry;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(elf, shstrndx, shdr.sh_name);
		if (!name || strncmp(name, ".plt", 4) || shdr.sh_offset > image->size ||
		    shdr.sh_size > image->size - shdr.sh_offset)
			continue;
		if (image->machine == EM_AARCH64) {
			ret = name_a64_plt_entries(image, slots, nr_slots,
						   image->data + shdr.sh_offset, shdr.sh_size,
						   shdr.sh_addr, list);
			continue;
		}
		entry = !strcmp(name, ".plt.got") && shdr.sh_entsize == 8 ? 8 : 16;
		for (uint64_t at = 0; !ret && at + entry <= shdr.sh_size; at += entry)
			ret = name_x86_plt_entry(image, slots, nr_slots,
						 image->data + shdr.sh_offset + at, entry,
						 shdr.sh_addr + at, entry, list);
	}
	free(slots);
	return ret;
}

/* ---- all symbols ---- */

static int by_start(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/*
 * Sorts; keeps one symbol per address, with all its names; symbols without size end where the next
 * one begins.
 */
static void sort_and_merge(struct auxtap_image *image, struct symbol_list *list)
{
	size_t out = 0;

	if (!list->nr)
		return;
	qsort(list->at, list->nr, sizeof(*list->at), by_start);
	for (size_t i = 0, end; i < list->nr; i = end) {
		uint32_t aliases = 0;

		for (end = i + 1; end < list->nr && list->at[end].start == list->at[i].start;)
			end++;
		if (end - i > 1 && image_aliases_add(image, &list->at[i], end - i, &aliases))
			image->no_memory = true;
		list->at[out] = list->at[i];
		list->at[out++].aliases = aliases;
	}
	list->nr = out;
	for (size_t i = 0; i + 1 < list->nr; i++)
		if (list->at[i].rank < 8 && list->at[i].end > list->at[i + 1].start)
			list->at[i].end = list->at[i + 1].start;
}

static int debug_symbol(void *ctx, const char *name, uint64_t start, uint64_t size)
{
	return start + size > start ? list_add(ctx, start, start + size, name, 9) : 0;
}

/* mov x8, #139; svc #0 */
static const uint8_t sigreturn[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

static void read_symbols(struct auxtap_image *image)
{
	struct symbol_list list = {0};
	Elf_Scn *scn = NULL;
	bool full = false;
	Elf *elf;

	image->symbols_read = true;
	if (!image->is_elf) {
		/* the emulator's sigreturn page, named as in a kernel's vdso */
		if (image->size < sizeof(sigreturn) ||
		    memcmp(image->data, sigreturn, sizeof(sigreturn)) ||
		    list_add(&list, 0, sizeof(sigreturn), "__kernel_rt_sigreturn", 9))
			return;
		image->symbols = list.at;
		image->nr_symbols = list.nr;
		return;
	}
	if (elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_memory((char *)(uintptr_t)image->data, image->size);
	if (!elf)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			full = true;
	}
	scn = NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM)
			continue;
		if (read_table(elf, scn, &shdr, full, &list))
			break;
	}
	read_plt(image, elf, &list);
	if (!full)
		image_debug_symbols(image, debug_symbol, &list);
	sort_and_merge(image, &list);
	image->symbols = list.at;
	image->nr_symbols = list.nr;
	/* Names point into the mapped file: elf_memory() makes no copy. */
	elf_end(elf);
}

const struct image_symbol *image_symbol_find(struct auxtap_image *image, uint64_t vaddr)
{
	uint64_t start, end;

	return image_symbol_range(image, vaddr, &start, &end);
}

const struct image_symbol *image_symbol_range(struct auxtap_image *image, uint64_t vaddr,
					      uint64_t *start, uint64_t *end)
{
	size_t lo = 0, hi;
	int saved;

	if (!image->symbols_read) {
		image_memory_begin(&saved);
		read_symbols(image);
		image_memory_end(image, saved);
	}
	hi = image->nr_symbols;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (image->symbols[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*start = lo ? image->symbols[lo - 1].start : 0;
	*end = lo < image->nr_symbols ? image->symbols[lo].start : UINT64_MAX;
	/* A label inside a function covers only its own range, then the function continues. */
	for (unsigned int back = 0; lo && back < 16; lo--, back++) {
		const struct image_symbol *sym = &image->symbols[lo - 1];

		if (vaddr < sym->end) {
			if (*end > sym->end)
				*end = sym->end;
			return sym;
		}
		if (*start < sym->end)
			*start = sym->end;
	}
	return NULL;
}

const char *image_symbol_name(struct auxtap_image *image, const struct image_symbol *sym)
{
	struct image_symbol *own = &image->symbols[sym - image->symbols];

	if (!own->demangled) {
		own->demangled = image_demangle(own->name);
		if (!own->demangled)
			own->demangled = (char *)(uintptr_t)own->name;
	}
	return own->demangled;
}

void image_symbols_free(struct auxtap_image *image)
{
	for (size_t i = 0; i < image->nr_symbols; i++)
		if (image->symbols[i].demangled != image->symbols[i].name)
			free(image->symbols[i].demangled);
	for (size_t i = 0; i < image->nr_owned_names; i++)
		free(image->owned_names[i]);
	image_aliases_free(image);
	free(image->symbols);
	free(image->owned_names);
	free(image->code_lines);
}
