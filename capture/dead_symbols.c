// SPDX-License-Identifier: BSD-2-Clause
/*
 * Looks up symbols of a crashing process: of an image in the process's memory by the tables that
 * the dynamic linker uses; of a static program in its file. All data is the program's and
 * untrusted.
 */
#include "dead_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_HEADERS 64
#define MAX_DYNAMIC 256
#define MAX_CHAIN   4096
#define MAX_NAME    128 /* length of a symbol, with its NUL */

bool dead_read(const struct dead_process *d, uint64_t addr, void *buf, size_t size)
{
	const struct auxtap_backend *be = d->s->be;

	return be->target->mem(be->target_ctx, d->pid, addr, buf, size) == (ssize_t)size;
}

static bool is_elf(const Elf64_Ehdr *eh)
{
	return !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_ident[EI_DATA] == ELFDATA2LSB;
}

struct dynamic {
	uint64_t bias;			 /* load bias: address in memory - address in the file */
	uint64_t hash, symbols, strings; /* addresses; 0: absent */
};

static bool read_dynamic(const struct dead_process *d, uint64_t addr, struct dynamic *dyn)
{
	Elf64_Dyn entry;

	for (int i = 0; i < MAX_DYNAMIC; i++, addr += sizeof(entry)) {
		uint64_t at;

		if (!dead_read(d, addr, &entry, sizeof(entry)))
			return false;
		/* the dynamic linker of most architectures adds the base */
		at = entry.d_un.d_ptr + (entry.d_un.d_ptr < dyn->bias ? dyn->bias : 0);
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_GNU_HASH)
			dyn->hash = at;
		else if (entry.d_tag == DT_SYMTAB)
			dyn->symbols = at;
		else if (entry.d_tag == DT_STRTAB)
			dyn->strings = at;
	}
	return dyn->hash && dyn->symbols && dyn->strings;
}

static bool find_dynamic(const struct dead_process *d, uint64_t start, struct dynamic *dyn)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	memset(dyn, 0, sizeof(*dyn));
	if (!dead_read(d, start, &eh, sizeof(eh)) || !is_elf(&eh))
		return false;
	dyn->bias = eh.e_type == ET_DYN ? start : 0;
	for (unsigned int i = 0; i < eh.e_phnum && i < MAX_HEADERS; i++) {
		if (!dead_read(d, start + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		if (ph.p_type == PT_DYNAMIC)
			return read_dynamic(d, dyn->bias + ph.p_vaddr, dyn);
	}
	return false;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The symbol's address by the DT_GNU_HASH table; 0: it is not defined there. */
static uint64_t look_up_symbol(const struct dead_process *d, const struct dynamic *dyn,
			       const char *symbol)
{
	uint32_t head[4], index, hash = gnu_hash(symbol), word; /* buckets, first, bloom words */
	size_t size = strlen(symbol) + 1;
	uint64_t buckets, chain;

	if (size > MAX_NAME || !dead_read(d, dyn->hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = dyn->hash + sizeof(head) + 8ull * head[2];
	chain = buckets + 4ull * head[0];
	if (!dead_read(d, buckets + hash % head[0] * 4ull, &index, sizeof(index)) ||
	    index < head[1])
		return 0;
	for (int i = 0; i < MAX_CHAIN; i++, index++) {
		char name[MAX_NAME];
		Elf64_Sym sym;

		if (!dead_read(d, chain + (index - head[1]) * 4ull, &word, sizeof(word)))
			return 0;
		if ((word | 1) == (hash | 1) &&
		    dead_read(d, dyn->symbols + index * sizeof(sym), &sym, sizeof(sym)) &&
		    dead_read(d, dyn->strings + sym.st_name, name, size) &&
		    !memcmp(name, symbol, size))
			return sym.st_value ? dyn->bias + sym.st_value : 0;
		if (word & 1)
			break;
	}
	return 0;
}

uint64_t dead_dynamic_symbol(const struct dead_process *d, const struct map_entry *image,
			     const char *name)
{
	struct dynamic dyn;

	return find_dynamic(d, image->start, &dyn) ? look_up_symbol(d, &dyn, name) : 0;
}

/* The symbol's value in a symbol table of the mapped file; 0: it is not there. */
static uint64_t scan_symbols(const char *file, size_t size, const Elf64_Shdr *symbols,
			     const Elf64_Shdr *strings, const char *name)
{
	size_t len = strlen(name) + 1;
	Elf64_Sym sym;

	if (symbols->sh_offset > size || symbols->sh_size > size - symbols->sh_offset ||
	    strings->sh_offset > size || strings->sh_size > size - strings->sh_offset)
		return 0;
	for (size_t at = 0; at + sizeof(sym) <= symbols->sh_size; at += sizeof(sym)) {
		memcpy(&sym, file + symbols->sh_offset + at, sizeof(sym));
		if (sym.st_name < strings->sh_size && strings->sh_size - sym.st_name >= len &&
		    !memcmp(file + strings->sh_offset + sym.st_name, name, len))
			return sym.st_value;
	}
	return 0;
}

static uint64_t scan_file(const char *file, size_t size, uint64_t start, const char *name)
{
	Elf64_Ehdr eh;
	Elf64_Shdr symbols, strings;
	uint64_t value;

	if (size < sizeof(eh))
		return 0;
	memcpy(&eh, file, sizeof(eh));
	if (!is_elf(&eh) || eh.e_shentsize != sizeof(Elf64_Shdr) || eh.e_shoff > size ||
	    (size - eh.e_shoff) / sizeof(Elf64_Shdr) < eh.e_shnum)
		return 0;
	for (unsigned int i = 0; i < eh.e_shnum; i++) {
		memcpy(&symbols, file + eh.e_shoff + i * sizeof(symbols), sizeof(symbols));
		if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= eh.e_shnum)
			continue;
		memcpy(&strings, file + eh.e_shoff + symbols.sh_link * sizeof(strings),
		       sizeof(strings));
		value = scan_symbols(file, size, &symbols, &strings, name);
		if (value)
			return eh.e_type == ET_DYN ? start + value : value;
	}
	return 0;
}

uint64_t dead_file_symbol(const struct map_entry *e, const char *name)
{
	int fd = open(e->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t found = 0;
	struct stat st;
	void *file;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == e->ino && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			found = scan_file(file, (size_t)st.st_size, e->start, name);
			munmap(file, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

const struct map_entry *dead_program(const struct dead_process *d)
{
	return dead_library(d, "");
}

const struct map_entry *dead_library(const struct dead_process *d, const char *name)
{
	for (size_t i = 0; i < d->maps->nr; i++) {
		const struct map_entry *e = &d->maps->entries[i];
		const char *slash = strrchr(e->name, '/');

		if (!e->pgoff && e->name[0] == '/' && !strncmp(slash + 1, name, strlen(name)))
			return e;
	}
	return NULL;
}
