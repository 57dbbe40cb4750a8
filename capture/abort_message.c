// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the C library printed before it called abort(): glibc keeps the message (of assert(), of its
 * checks of heap, stack and buffers) in memory for debuggers, where __abort_msg points. The symbol
 * is looked up in the memory of the dead process, that of a static program in its file. All that is
 * read is the program's own and untrusted.
 */
#include "session.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOL	    "__abort_msg"
#define MAX_HEADERS 64
#define MAX_DYNAMIC 256
#define MAX_CHAIN   4096
#define MAX_MESSAGE 4096u

struct dead {
	struct auxtap_session *s;
	pid_t pid;
	uint64_t base; /* of the image; addresses of its file are relative to it */
};

static bool read_dead(const struct dead *d, uint64_t addr, void *buf, size_t size)
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
	uint64_t hash, symbols, strings; /* addresses; 0: not there */
};

static bool read_dynamic(const struct dead *d, uint64_t addr, struct dynamic *dyn)
{
	Elf64_Dyn entry;

	memset(dyn, 0, sizeof(*dyn));
	for (int i = 0; i < MAX_DYNAMIC; i++, addr += sizeof(entry)) {
		uint64_t at;

		if (!read_dead(d, addr, &entry, sizeof(entry)))
			return false;
		/* the dynamic linker of most architectures adds the base */
		at = entry.d_un.d_ptr + (entry.d_un.d_ptr < d->base ? d->base : 0);
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

static bool find_dynamic(const struct dead *d, struct dynamic *dyn)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (!read_dead(d, d->base, &eh, sizeof(eh)) || !is_elf(&eh))
		return false;
	for (unsigned int i = 0; i < eh.e_phnum && i < MAX_HEADERS; i++) {
		if (!read_dead(d, d->base + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		if (ph.p_type == PT_DYNAMIC)
			return read_dynamic(d, d->base + ph.p_vaddr, dyn);
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

/* The symbol's address by the table that the dynamic linker uses; 0: not there. */
static uint64_t look_up(const struct dead *d, const struct dynamic *dyn)
{
	uint32_t head[4], index, hash = gnu_hash(SYMBOL), word; /* buckets, first, bloom words */
	uint64_t buckets, chain;

	if (!read_dead(d, dyn->hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = dyn->hash + sizeof(head) + 8ull * head[2];
	chain = buckets + 4ull * head[0];
	if (!read_dead(d, buckets + hash % head[0] * 4ull, &index, sizeof(index)) ||
	    index < head[1])
		return 0;
	for (int i = 0; i < MAX_CHAIN; i++, index++) {
		char name[sizeof(SYMBOL)];
		Elf64_Sym sym;

		if (!read_dead(d, chain + (index - head[1]) * 4ull, &word, sizeof(word)))
			return 0;
		if ((word | 1) == (hash | 1) &&
		    read_dead(d, dyn->symbols + index * sizeof(sym), &sym, sizeof(sym)) &&
		    read_dead(d, dyn->strings + sym.st_name, name, sizeof(name)) &&
		    !memcmp(name, SYMBOL, sizeof(name)))
			return d->base + sym.st_value;
		if (word & 1)
			break;
	}
	return 0;
}

/* The symbol's value in a table of the mapped file; 0. */
static uint64_t scan_symbols(const char *file, size_t size, const Elf64_Shdr *symbols,
			     const Elf64_Shdr *strings)
{
	Elf64_Sym sym;

	if (symbols->sh_offset > size || symbols->sh_size > size - symbols->sh_offset ||
	    strings->sh_offset > size || strings->sh_size > size - strings->sh_offset)
		return 0;
	for (size_t at = 0; at + sizeof(sym) <= symbols->sh_size; at += sizeof(sym)) {
		memcpy(&sym, file + symbols->sh_offset + at, sizeof(sym));
		if (sym.st_name < strings->sh_size &&
		    strings->sh_size - sym.st_name >= sizeof(SYMBOL) &&
		    !memcmp(file + strings->sh_offset + sym.st_name, SYMBOL, sizeof(SYMBOL)))
			return sym.st_value;
	}
	return 0;
}

static uint64_t scan_file(const char *file, size_t size, uint64_t start)
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
		value = scan_symbols(file, size, &symbols, &strings);
		if (value)
			return eh.e_type == ET_DYN ? start + value : value;
	}
	return 0;
}

static uint64_t look_up_in_file(const struct map_entry *e)
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
			found = scan_file(file, (size_t)st.st_size, e->start);
			munmap(file, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7);
}

static uint64_t find_symbol(struct dead *d, const struct map_list *maps)
{
	const struct map_entry *program = NULL;
	struct dynamic dyn;

	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];

		if (e->pgoff || e->name[0] != '/')
			continue;
		if (!program)
			program = e;
		if (!is_libc(e->name))
			continue;
		d->base = e->start;
		return find_dynamic(d, &dyn) ? look_up(d, &dyn) : 0;
	}
	return program ? look_up_in_file(program) : 0;
}

void session_put_message(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			 const struct map_list *maps)
{
	struct dead d = {.s = s, .pid = pid};
	uint64_t symbol = find_symbol(&d, maps), message;
	uint32_t size; /* of the area; the text follows, which 0 ends */
	char text[MAX_MESSAGE];
	size_t max, len;

	if (!symbol || !read_dead(&d, symbol, &message, sizeof(message)) || !message ||
	    !read_dead(&d, message, &size, sizeof(size)) || size <= sizeof(size))
		return;
	max = size - sizeof(size) < sizeof(text) ? size - sizeof(size) : sizeof(text);
	if (!read_dead(&d, message + sizeof(size), text, max))
		return;
	len = strnlen(text, max);
	while (len && text[len - 1] == '\n')
		len--;
	if (len)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_MESSAGE, text, len);
}
