// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program built with a sanitizer has the sanitizer's start-up function among its symbols, or its
 * library among the needed ones. Both are names in string tables, compared as whole strings: a
 * compiler contains these names as well, but only as text.
 */
#include "elf_sanitizer.h"
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
static const struct {
	const char *start, *library, *name;
} sanitizers[] = {
	{ "__asan_init", "libasan.so", "AddressSanitizer" },
	{ "__tsan_init", "libtsan.so", "ThreadSanitizer" },
	{ "__msan_init", "libmsan.so", "MemorySanitizer" },
};
/* clang-format on */

static const char *name_of(const char *table, size_t size, bool is_dynamic)
{
	for (size_t at = 0; at < size;) {
		const char *name = table + at;
		size_t len = strnlen(name, size - at);

		for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++) {
			size_t library = strlen(sanitizers[i].library);

			if (len == strlen(sanitizers[i].start) &&
			    !memcmp(name, sanitizers[i].start, len))
				return sanitizers[i].name;
			if (is_dynamic && len >= library &&
			    !memcmp(name, sanitizers[i].library, library))
				return sanitizers[i].name;
		}
		at += len + 1;
	}
	return NULL;
}

/* Looks for a sanitizer in the string table of section i, if that is a symbol table. */
static const char *sanitizer_of_section(const char *file, size_t size, const Elf64_Ehdr *eh,
					unsigned int i)
{
	Elf64_Shdr section, strings;
	size_t offset = eh->e_shoff + (size_t)i * sizeof(section);

	memcpy(&section, file + offset, sizeof(section));
	if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) ||
	    section.sh_link >= eh->e_shnum)
		return NULL;
	memcpy(&strings, file + eh->e_shoff + section.sh_link * sizeof(strings), sizeof(strings));
	if (strings.sh_type != SHT_STRTAB || strings.sh_offset > size ||
	    strings.sh_size > size - strings.sh_offset)
		return NULL;
	return name_of(file + strings.sh_offset, strings.sh_size, section.sh_type == SHT_DYNSYM);
}

static const char *find_sanitizer(const char *file, size_t size)
{
	const char *found = NULL;
	Elf64_Ehdr eh;

	if (size < sizeof(eh))
		return NULL;
	memcpy(&eh, file, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_shentsize != sizeof(Elf64_Shdr) ||
	    eh.e_shoff > size || (size - eh.e_shoff) / sizeof(Elf64_Shdr) < eh.e_shnum)
		return NULL;
	for (unsigned int i = 0; i < eh.e_shnum && !found; i++)
		found = sanitizer_of_section(file, size, &eh, i);
	return found;
}

const char *elf_sanitizer(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *found = NULL;
	struct stat st;
	void *file;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			found = find_sanitizer(file, (size_t)st.st_size);
			munmap(file, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}
