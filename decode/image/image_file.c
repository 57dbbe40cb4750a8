// SPDX-License-Identifier: BSD-2-Clause
/*
 * One image file: mapped read-only, its ELF segments and build-id. image_find.c decides which file.
 */
#include "image_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LOADS 64

/* The fields of an ELF header, for both ELF classes. */
struct elf_view {
	const uint8_t *data;
	size_t size;
	bool is_64;
	uint64_t phoff, shoff, entry;
	unsigned int phnum, phentsize;
	uint16_t machine, type;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t off, vaddr, filesz;
};

static bool elf_open(struct elf_view *elf, const uint8_t *data, size_t size)
{
	memset(elf, 0, sizeof(*elf));
	elf->data = data;
	elf->size = size;
	if (size < sizeof(Elf32_Ehdr) || memcmp(data, ELFMAG, SELFMAG) ||
	    data[EI_DATA] != ELFDATA2LSB)
		return false;
	if (data[EI_CLASS] == ELFCLASS64 && size >= sizeof(Elf64_Ehdr)) {
		Elf64_Ehdr eh;

		memcpy(&eh, data, sizeof(eh));
		elf->is_64 = true;
		elf->phoff = eh.e_phoff;
		elf->phnum = eh.e_phnum;
		elf->phentsize = eh.e_phentsize;
		elf->machine = eh.e_machine;
		elf->entry = eh.e_entry;
		elf->type = eh.e_type;
		return eh.e_phnum == 0 || eh.e_phentsize >= sizeof(Elf64_Phdr);
	}
	if (data[EI_CLASS] == ELFCLASS32) {
		Elf32_Ehdr eh;

		memcpy(&eh, data, sizeof(eh));
		elf->phoff = eh.e_phoff;
		elf->phnum = eh.e_phnum;
		elf->phentsize = eh.e_phentsize;
		elf->machine = eh.e_machine;
		elf->entry = eh.e_entry;
		elf->type = eh.e_type;
		return eh.e_phnum == 0 || eh.e_phentsize >= sizeof(Elf32_Phdr);
	}
	return false;
}

uint64_t image_elf_entry(const uint8_t *data, size_t size)
{
	struct elf_view elf;

	return data && elf_open(&elf, data, size) ? elf.entry : 0;
}

static bool elf_segment(const struct elf_view *elf, unsigned int i, struct elf_segment *seg)
{
	uint64_t pos = elf->phoff + (uint64_t)i * elf->phentsize;
	size_t need = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (elf->phoff > elf->size || pos > elf->size || elf->size - pos < need)
		return false;
	if (elf->is_64) {
		Elf64_Phdr ph;

		memcpy(&ph, elf->data + pos, sizeof(ph));
		*seg = (struct elf_segment){ph.p_type, ph.p_flags, ph.p_offset, ph.p_vaddr,
					    ph.p_filesz};
	} else {
		Elf32_Phdr ph;

		memcpy(&ph, elf->data + pos, sizeof(ph));
		*seg = (struct elf_segment){ph.p_type, ph.p_flags, ph.p_offset, ph.p_vaddr,
					    ph.p_filesz};
	}
	return true;
}

static unsigned int note_build_id(const uint8_t *p, uint64_t size, uint8_t id[20])
{
	while (size >= 12) {
		uint32_t n[3]; /* namesz, descsz, type */
		uint64_t name, desc;

		memcpy(n, p, sizeof(n));
		name = ((uint64_t)n[0] + 3) & ~3ull;
		desc = ((uint64_t)n[1] + 3) & ~3ull;
		if (name > size - 12 || n[1] > size - 12 - name)
			return 0;
		if (desc > size - 12 - name) /* the last one may lack its padding */
			desc = n[1];
		if (n[2] == NT_GNU_BUILD_ID && n[0] == 4 && !memcmp(p + 12, "GNU", 4) && n[1]) {
			unsigned int len = n[1] > 20 ? 20 : n[1];

			memcpy(id, p + 12 + name, len);
			return len;
		}
		p += 12 + name + desc;
		size -= 12 + name + desc;
	}
	return 0;
}

unsigned int image_elf_build_id(const uint8_t *data, size_t size, uint8_t id[20])
{
	struct elf_view elf;
	struct elf_segment seg;

	if (!elf_open(&elf, data, size))
		return 0;
	for (unsigned int i = 0; i < elf.phnum && elf_segment(&elf, i, &seg); i++) {
		unsigned int len;

		if (seg.type != PT_NOTE || seg.off > size || seg.filesz > size - seg.off)
			continue;
		len = note_build_id(data + seg.off, seg.filesz, id);
		if (len)
			return len;
	}
	return 0;
}

static int read_elf(struct auxtap_image *image)
{
	struct elf_view elf;
	struct elf_segment seg;

	if (!elf_open(&elf, image->data, image->size))
		return 0; /* an image may consist of raw bytes */
	image->is_elf = true;
	image->is_64 = elf.is_64;
	image->machine = elf.machine;
	image->is_rel = elf.type == ET_REL;
	image->is_fixed = elf.type == ET_EXEC;
	image->is_core = elf.type == ET_CORE;
	image->loads = calloc(MAX_LOADS, sizeof(*image->loads));
	if (!image->loads)
		return -ENOMEM;
	for (unsigned int i = 0; i < elf.phnum && elf_segment(&elf, i, &seg); i++) {
		struct image_load *load = &image->loads[image->nr_loads];

		if (seg.type != PT_LOAD || seg.off > image->size || !seg.filesz)
			continue;
		if (image->nr_loads == MAX_LOADS)
			break;
		load->off = seg.off;
		load->filesz =
			seg.filesz < image->size - seg.off ? seg.filesz : image->size - seg.off;
		load->vaddr = seg.vaddr;
		load->exec = seg.flags & PF_X;
		load->write = seg.flags & PF_W;
		image->nr_loads++;
	}
	image->found_build_id_size =
		image_elf_build_id(image->data, image->size, image->found_build_id);
	return 0;
}

int image_file_adopt(struct auxtap_image *image, uint8_t *data, size_t size)
{
	image->data = data;
	image->size = size;
	image->mapped = false;
	return read_elf(image);
}

int image_file_map(struct auxtap_image *image, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		return image_file_map_fd(image, fd);
	image->no_memory |= errno == EMFILE || errno == ENFILE;
	return -errno;
}

int image_file_map_fd(struct auxtap_image *image, int fd)
{
	struct stat st;
	void *data;
	int ret;

	if (fstat(fd, &st)) {
		ret = -errno;
		goto out_fd;
	}
	ret = -EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		goto out_fd;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		ret = -errno;
		image->no_memory |= ret == -ENOMEM;
		goto out_fd;
	}
	image->data = data;
	image->size = (size_t)st.st_size;
	image->mapped = true;
	ret = read_elf(image);
	if (ret)
		image_file_close(image);
out_fd:
	close(fd);
	return ret;
}

void image_file_close(struct auxtap_image *image)
{
	if (image->data && image->mapped)
		munmap((void *)(uintptr_t)image->data, image->size);
	else
		free((void *)(uintptr_t)image->data);
	free(image->loads);
	free(image->eh);
	image->eh = NULL;
	image->nr_eh = 0;
	image->eh_listed = false;
	image->data = NULL;
	image->size = 0;
	image->loads = NULL;
	image->nr_loads = 0;
	image->is_elf = image->is_rel = image->is_fixed = image->is_core = false;
}

int image_off_to_vaddr(const struct auxtap_image *image, uint64_t off, uint64_t *vaddr)
{
	const struct image_load *best = NULL;

	for (unsigned int i = 0; i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];

		if (off - load->off >= load->filesz || off < load->off)
			continue;
		if (!best || load->exec)
			best = load;
	}
	/* The kernel maps whole pages: bytes around a segment belong to the mapping, too. */
	for (unsigned int i = 0; !best && i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];

		if (load->exec && off >= (load->off & ~4095ull) &&
		    off < ((load->off + load->filesz + 4095) & ~4095ull))
			best = load;
	}
	if (!best)
		return -ENOENT;
	*vaddr = off - best->off + best->vaddr;
	return 0;
}

int image_vaddr_to_off(const struct auxtap_image *image, uint64_t vaddr, uint64_t *off,
		       uint64_t *left)
{
	for (unsigned int i = 0; i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];

		if (vaddr >= load->vaddr && vaddr - load->vaddr < load->filesz) {
			*off = vaddr - load->vaddr + load->off;
			*left = load->filesz - (vaddr - load->vaddr);
			return 0;
		}
	}
	return -ENOENT;
}
