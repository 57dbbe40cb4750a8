// SPDX-License-Identifier: BSD-2-Clause
/* Names of variables, from the symbol tables of an image's own file: static ones and globals. */
#include "packed.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

struct variable {
	const char *name; /* in the file; NULL: none */
	uint64_t start, size;
	unsigned int rank; /* of several names for it, the highest is used */
};

static unsigned int rank_of(const GElf_Sym *sym)
{
	unsigned int bind = GELF_ST_BIND(sym->st_info);

	return bind == STB_GLOBAL ? 3 : bind == STB_WEAK ? 2 : 1;
}

static void find_in_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, uint64_t vaddr,
			  struct variable *found)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 1; data && i < nr && i < 1u << 26; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return;
		if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx >= SHN_LORESERVE || vaddr < sym.st_value ||
		    vaddr - sym.st_value >= sym.st_size || rank_of(&sym) <= found->rank)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (name && *name)
			*found = (struct variable){name, sym.st_value, sym.st_size, rank_of(&sym)};
	}
}

/*
 * Without what compilers and linkers append: "count.0", "state.lto_priv.2", "stdout@GLIBC_2.2.5".
 * Returns malloc'ed text; NULL: no memory.
 */
static char *source_name(const char *symbol)
{
	char *name = strdup(symbol), *end, *demangled;

	if (!name)
		return NULL;
	name[strcspn(name, "@")] = '\0';
	for (;;) {
		end = strrchr(name, '.');
		if (!end || end == name ||
		    (end[1 + strspn(end + 1, "0123456789")] && strcmp(end, ".lto_priv")))
			break;
		*end = '\0';
	}
	demangled = image_demangle(name);
	if (demangled) {
		free(name);
		name = demangled;
	}
	return name;
}

static const char *find(struct auxtap_image *image, uint64_t vaddr, uint64_t *start, uint64_t *size)
{
	struct variable found = {NULL, 0, 0, 0};
	Elf_Scn *scn = NULL;
	char *name = NULL;
	int saved;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	image_memory_begin(&saved);
	elf = elf_memory((char *)(uintptr_t)image->data, image->size);
	while (elf && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			find_in_table(elf, scn, &shdr, vaddr, &found);
	}
	if (found.name)
		name = source_name(found.name);
	image_memory_end(image, saved);
	elf_end(elf);
	if (!name)
		return NULL;
	if (image_own_name(image, name)) {
		image->no_memory = true;
		free(name);
		return NULL;
	}
	image_use_variable(image, found.start);
	*start = found.start;
	*size = found.size;
	return name;
}

const char *image_set_variable(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t ip,
			       uint64_t addr, uint64_t *off, uint64_t *size)
{
	struct auxtap_image *image;
	const char *name = NULL;
	uint64_t bias, start;

	pthread_mutex_lock(&set->lock);
	image = image_set_elf_at(set, pid, time, ip, &bias);
	if (image && image->is_elf)
		name = find(image, addr - bias, &start, size);
	if (name)
		*off = addr - bias - start;
	pthread_mutex_unlock(&set->lock);
	return name;
}
