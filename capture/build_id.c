// SPDX-License-Identifier: BSD-2-Clause
/* Reads NT_GNU_BUILD_ID of an ELF file of this machine's byte order; the file is untrusted. */
#include "build_id.h"
#include "perfdata/file_identity.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_MAX 8192
#define PHDRS_MAX 256

static bool read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, buf, size, (off_t)offset) == (ssize_t)size;
}

static unsigned int find_in_notes(int fd, uint64_t offset, uint64_t size, uint64_t align,
				  uint8_t id[20])
{
	unsigned char notes[NOTES_MAX];
	size_t at = 0, len = size < sizeof(notes) ? (size_t)size : sizeof(notes);

	if (align != 8)
		align = 4;
	if (!read_at(fd, notes, len, offset))
		return 0;
	while (len - at >= sizeof(Elf64_Nhdr)) {
		size_t name_off, desc_off, next;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		name_off = at + sizeof(note);
		if (note.n_namesz > len - name_off)
			return 0;
		desc_off = (name_off + note.n_namesz + align - 1) & ~(align - 1);
		if (desc_off > len || note.n_descsz > len - desc_off)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name_off, "GNU", 4) && note.n_descsz && note.n_descsz <= 20) {
			memcpy(id, notes + desc_off, note.n_descsz);
			return note.n_descsz;
		}
		next = (desc_off + note.n_descsz + align - 1) & ~(align - 1);
		if (next <= at || next > len)
			return 0;
		at = next;
	}
	return 0;
}

static unsigned int read_elf64(int fd, uint8_t id[20])
{
	Elf64_Ehdr eh;

	if (!read_at(fd, &eh, sizeof(eh), 0) || eh.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (unsigned int i = 0; i < eh.e_phnum && i < PHDRS_MAX; i++) {
		unsigned int n;
		Elf64_Phdr ph;

		if (eh.e_phoff > INT64_MAX - i * sizeof(ph) ||
		    !read_at(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)))
			return 0;
		if (ph.p_type != PT_NOTE)
			continue;
		n = find_in_notes(fd, ph.p_offset, ph.p_filesz, ph.p_align, id);
		if (n)
			return n;
	}
	return 0;
}

static unsigned int read_elf32(int fd, uint8_t id[20])
{
	Elf32_Ehdr eh;

	if (!read_at(fd, &eh, sizeof(eh), 0) || eh.e_phentsize != sizeof(Elf32_Phdr))
		return 0;
	for (unsigned int i = 0; i < eh.e_phnum && i < PHDRS_MAX; i++) {
		unsigned int n;
		Elf32_Phdr ph;

		if (!read_at(fd, &ph, sizeof(ph), eh.e_phoff + (uint64_t)i * sizeof(ph)))
			return 0;
		if (ph.p_type != PT_NOTE)
			continue;
		n = find_in_notes(fd, ph.p_offset, ph.p_filesz, 4, id);
		if (n)
			return n;
	}
	return 0;
}

unsigned int build_id_read(const char *path, const struct file_identity *recorded, uint8_t id[20])
{
	/* The path may name a device or a FIFO now: open() must not block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char ident[EI_NIDENT];
	const uint16_t one = 1;
	unsigned int n = 0;
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (recorded && !file_identity_is(fd, recorded)) ||
	    !read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != (*(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB))
		goto out;
	n = ident[EI_CLASS] == ELFCLASS64 ? read_elf64(fd, id) : read_elf32(fd, id);
out:
	close(fd);
	return n;
}
