// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which of several names of one address is shown: the name that the files of the process import.
 * libc has strtol() and strtoimax() at one address; who reads the name knows only the one which the
 * program called.
 */
#include "image_private.h"
#include "util/vector.h"

#include <ctype.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALIASES 64 /* of one address; those that sort after them are never chosen */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The part of a mangled name that all functions of its class have: "13runtime_error". */
struct image_class {
	const char *start;
	size_t size;
};

static int by_class(const void *a, const void *b)
{
	const struct image_class *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->start, y->start, x->size);
}

/*
 * The class of a function, "_ZNKSt13runtime_error4whatEv", of its type information or of its
 * virtual table, "_ZTISt13runtime_error". False: it is in no class, or in an instance of a
 * template.
 */
static bool class_of(const char *name, struct image_class *class)
{
	const bool is_table = !strncmp(name, "_ZTI", 4) || !strncmp(name, "_ZTV", 4);
	const char *at = name + (is_table ? 4 : 3);

	if (strncmp(name, "_ZN", 3) != 0 && !is_table)
		return false;
	at += strspn(at, is_table ? "N" : "rVK");
	at += strncmp(at, "St", 2) == 0 ? 2 : 0;
	*class = (struct image_class){.start = at};
	while (isdigit((unsigned char)*at)) {
		size_t len = 0;

		while (isdigit((unsigned char)*at) && len < 4096)
			len = len * 10 + (size_t)(*at++ - '0');
		if (strnlen(at, len) < len)
			return false;
		at += len;
		/* the last part is the function's name, if it is no constructor or destructor */
		if (is_table || isdigit((unsigned char)*at) || *at == 'C' || *at == 'D')
			class->size = (size_t)(at - class->start);
		else if (*at != 'E') /* an operator, or a template */
			class->size = 0;
	}
	if (is_table && *at && *at != 'E')
		return false;
	return class->size;
}

static void read_dynsym(struct auxtap_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0, max = 0;
	struct image_imports *imports = &image->imports;
	size_t max_classes = 0;
	struct image_class class;

	for (size_t i = 1; data && i < nr && i < 1u << 26; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (sym.st_shndx != SHN_UNDEF)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		if (vector_grow(imports->names, imports->nr, max)) {
			image->no_memory = true;
			break;
		}
		imports->names[imports->nr++] = name;
		if (!class_of(name, &class))
			continue;
		if (vector_grow(imports->classes, imports->nr_classes, max_classes)) {
			image->no_memory = true;
			break;
		}
		imports->classes[imports->nr_classes++] = class;
	}
	if (imports->nr)
		qsort(imports->names, imports->nr, sizeof(*imports->names), by_name);
	if (imports->nr_classes)
		qsort(imports->classes, imports->nr_classes, sizeof(class), by_class);
}

/* Names point into the mapped file: elf_memory() makes no copy. */
static void read_imports(struct auxtap_image *image)
{
	Elf_Scn *scn = NULL;
	int saved;
	Elf *elf;

	image->imports.read = true;
	if (!image->is_elf || elf_version(EV_CURRENT) == EV_NONE)
		return;
	image_memory_begin(&saved);
	elf = elf_memory((char *)(uintptr_t)image->data, image->size);
	while (elf && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		read_dynsym(image, elf, scn, &shdr);
		break;
	}
	elf_end(elf);
	image_memory_end(image, saved);
}

static bool imports_name(const struct auxtap_image *image, const char *name)
{
	const struct image_imports *imports = &image->imports;

	return imports->nr &&
	       bsearch(&name, imports->names, imports->nr, sizeof(*imports->names), by_name);
}

static bool imports_of_class(const struct auxtap_image *image, const char *name)
{
	const struct image_imports *imports = &image->imports;
	struct image_class class;

	return imports->nr_classes && class_of(name, &class) &&
	       bsearch(&class, imports->classes, imports->nr_classes, sizeof(class), by_class);
}

typedef bool imports_fn(const struct auxtap_image *image, const char *name);

/* The first of the names that 'image' imports in that sense; NULL: none. */
static struct image_alias *first_import(const struct auxtap_image *image,
					struct image_alias *aliases, imports_fn *imports)
{
	for (;; aliases++) {
		if (imports(image, aliases->name))
			return aliases;
		if (aliases->is_last)
			return NULL;
	}
}

/* Finds the program that the process executes at that time. */
static const struct image_program *find_program(struct auxtap_image_set *set,
						struct image_space *space, uint64_t time)
{
	size_t at = image_space_changes_until(space, time);
	struct image_program *p = &space->program;

	if (p->nr_changes == space->nr_changes && at >= p->first && at <= p->end)
		return p;
	p->id = ++set->nr_programs;
	p->nr_changes = space->nr_changes;
	p->first = p->end = at;
	p->nr = 0;
	while (p->first && space->changes[p->first - 1].image)
		p->first--;
	while (p->end < space->nr_changes && space->changes[p->end].image)
		p->end++;
	for (size_t i = p->first; i < p->end; i++) {
		struct auxtap_image *image = space->changes[i].image;

		if (!image->data)
			continue;
		if (!image->imports.read)
			read_imports(image);
		if (!image->imports.nr || image->imports.program_id == p->id)
			continue;
		image->imports.program_id = p->id;
		if (vector_grow(p->images, p->nr, p->max)) {
			image->no_memory = true;
			break;
		}
		p->images[p->nr++] = image;
	}
	return p;
}

static struct image_alias *find_import(const struct image_program *p, struct image_alias *aliases,
				       imports_fn *imports)
{
	struct image_alias *found = NULL;

	for (size_t i = 0; i < p->nr && !found; i++)
		found = first_import(p->images[i], aliases, imports);
	return found;
}

static const char *demangled(struct image_alias *alias)
{
	if (!alias->demangled) {
		alias->demangled = image_demangle(alias->name);
		if (!alias->demangled)
			alias->demangled = (char *)(uintptr_t)alias->name;
	}
	return alias->demangled;
}

const char *image_symbol_name_in(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				 const struct image_map *map, const struct image_symbol *sym)
{
	struct image_space *space =
		sym->aliases && !map->is_kernel_image ? image_space_get(set, pid, false) : NULL;
	const struct image_program *program;
	struct image_alias *aliases;

	if (!space)
		return image_symbol_name(map->image, sym);
	program = find_program(set, space, time);
	aliases = &map->image->aliases[sym->aliases - 1];
	if (aliases->program_id != program->id) {
		aliases->program_id = program->id;
		aliases->chosen = find_import(program, aliases, imports_name);
		if (!aliases->chosen)
			aliases->chosen = find_import(program, aliases, imports_of_class);
	}
	return aliases->chosen ? demangled(aliases->chosen) : image_symbol_name(map->image, sym);
}

int image_aliases_add(struct auxtap_image *image, const struct image_symbol *same, size_t nr,
		      uint32_t *index)
{
	const size_t first = image->nr_aliases;

	for (size_t i = 0; i < nr && image->nr_aliases - first < MAX_ALIASES; i++) {
		if (!same[i].is_exported)
			continue;
		if (first > UINT32_MAX - 2 ||
		    vector_grow(image->aliases, image->nr_aliases, image->max_aliases)) {
			image->nr_aliases = first;
			return -1;
		}
		image->aliases[image->nr_aliases++] = (struct image_alias){.name = same[i].name};
	}
	if (image->nr_aliases == first ||
	    (image->nr_aliases == first + 1 && !strcmp(image->aliases[first].name, same[0].name))) {
		image->nr_aliases = first;
		return 0;
	}
	image->aliases[image->nr_aliases - 1].is_last = true;
	*index = (uint32_t)first + 1;
	return 0;
}

void image_aliases_free(struct auxtap_image *image)
{
	for (size_t i = 0; i < image->nr_aliases; i++)
		if (image->aliases[i].demangled != image->aliases[i].name)
			free(image->aliases[i].demangled);
	free(image->aliases);
	free(image->imports.classes);
	free(image->imports.names);
}
