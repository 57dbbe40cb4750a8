// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads .eh_frame, which describes code with or without symbols: the ranges of code that functions
 * consist of, found by the search table of .eh_frame_hdr (static programs have none: it is made
 * here), and landing pads of exceptions (.gcc_except_table). Formats: the Linux Standard Base,
 * "Exception Frames", and the LSDA layout that gcc and clang share. The files are untrusted: each
 * read is checked.
 */
#include "packed.h"
#include "util/vector.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define PE_ABS	   0x00 /* encodings of pointers */
#define PE_PCREL   0x10
#define PE_DATAREL 0x30
#define PE_OMIT	   0xff
#define PE_SDATA4  0x0b
#define PE_UDATA4  0x03

/* A position in the file, by ELF address. */
struct eh_cursor {
	const struct auxtap_image *image;
	const uint8_t *at, *end;
	uint64_t vaddr; /* of 'at' */
	bool failed;
};

static bool eh_seek(struct eh_cursor *c, const struct auxtap_image *image, uint64_t vaddr)
{
	uint64_t off, left;

	*c = (struct eh_cursor){.image = image, .vaddr = vaddr, .failed = true};
	if (image_vaddr_to_off(image, vaddr, &off, &left))
		return false;
	c->at = image->data + off;
	c->end = c->at + left;
	c->failed = false;
	return true;
}

/* Reads a little-endian number; past the end: 0, and c->failed is set. */
static uint64_t eh_bytes(struct eh_cursor *c, unsigned int nr)
{
	uint64_t value = 0;

	if (c->failed || (size_t)(c->end - c->at) < nr) {
		c->failed = true;
		return 0;
	}
	for (unsigned int i = 0; i < nr; i++)
		value |= (uint64_t)c->at[i] << 8 * i;
	c->at += nr;
	c->vaddr += nr;
	return value;
}

static uint64_t eh_leb(struct eh_cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = eh_bytes(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->failed);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return value;
}

/* Reads a pointer with this DW_EH_PE_ encoding; fails with one that no linker writes here. */
static uint64_t eh_pointer(struct eh_cursor *c, uint8_t encoding, uint64_t data)
{
	uint64_t base = 0, value;

	switch (encoding & 0x70) {
	case PE_ABS:
		break;
	case PE_PCREL:
		base = c->vaddr;
		break;
	case PE_DATAREL:
		base = data;
		break;
	default:
		c->failed = true;
	}
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = eh_bytes(c, 8);
		break;
	case 0x01:
		value = eh_leb(c, false);
		break;
	case 0x09:
		value = eh_leb(c, true);
		break;
	case 0x02:
		value = eh_bytes(c, 2);
		break;
	case PE_UDATA4:
		value = eh_bytes(c, 4);
		break;
	case 0x0a:
		value = (uint64_t)(int64_t)(int16_t)eh_bytes(c, 2);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)eh_bytes(c, 4);
		break;
	default:
		c->failed = true;
		value = 0;
	}
	return value ? value + base : 0;
}

/* ---- the search table ---- */

static bool eh_table(const struct auxtap_image *image, uint64_t *vaddr)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	memcpy(&eh, image->data, sizeof(eh));
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		uint64_t pos = eh.e_phoff + (uint64_t)i * eh.e_phentsize;

		if (pos > image->size || image->size - pos < sizeof(ph))
			return false;
		memcpy(&ph, image->data + pos, sizeof(ph));
		if (ph.p_type == PT_GNU_EH_FRAME) {
			*vaddr = ph.p_vaddr;
			return true;
		}
	}
	return false;
}

static uint64_t eh_entry(const uint8_t *table, size_t i, unsigned int field, uint64_t base)
{
	int32_t value;

	memcpy(&value, table + i * 8 + field * 4, sizeof(value));
	return base + (uint64_t)(int64_t)value;
}

/* Searches the file's table (.eh_frame_hdr) at base. Returns the FDE's ELF address; 0: none. */
static uint64_t eh_search_table(const struct auxtap_image *image, uint64_t base, uint64_t vaddr)
{
	struct eh_cursor c;
	uint8_t frame_encoding, count_encoding, encoding;
	uint64_t nr;
	size_t lo = 0, hi;

	if (!eh_seek(&c, image, base) || eh_bytes(&c, 1) != 1)
		return 0;
	frame_encoding = (uint8_t)eh_bytes(&c, 1);
	count_encoding = (uint8_t)eh_bytes(&c, 1);
	encoding = (uint8_t)eh_bytes(&c, 1);
	if (encoding != (PE_DATAREL | PE_SDATA4) || frame_encoding == PE_OMIT ||
	    count_encoding == PE_OMIT)
		return 0;
	eh_pointer(&c, frame_encoding, base);
	nr = eh_pointer(&c, count_encoding, base);
	if (c.failed || nr > (size_t)(c.end - c.at) / 8)
		return 0;
	for (hi = nr; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (eh_entry(c.at, mid, 0, base) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? eh_entry(c.at, lo - 1, 1, base) : 0;
}

/* ---- CIEs and FDEs ---- */

struct eh_cie {
	uint8_t pointers, lsda; /* encodings */
	bool has_augmentation;
};

/* Reads the CIE of an FDE: it has the encodings of the FDE's pointers. */
static bool eh_read_cie(const struct auxtap_image *image, uint64_t vaddr, struct eh_cie *cie)
{
	struct eh_cursor c;
	char augmentation[8] = "";
	uint64_t version;

	*cie = (struct eh_cie){.pointers = PE_ABS, .lsda = PE_OMIT};
	if (!eh_seek(&c, image, vaddr) || eh_bytes(&c, 4) >= 0xfffffff0 || eh_bytes(&c, 4) != 0)
		return false;
	version = eh_bytes(&c, 1);
	for (size_t i = 0; i < sizeof(augmentation); i++) {
		augmentation[i] = (char)eh_bytes(&c, 1);
		if (!augmentation[i])
			break;
	}
	if (augmentation[sizeof(augmentation) - 1] || (version != 1 && version != 3))
		return false;
	eh_leb(&c, false); /* code and data alignment, return address register */
	eh_leb(&c, true);
	if (version == 1)
		eh_bytes(&c, 1);
	else
		eh_leb(&c, false);
	if (augmentation[0] != 'z')
		return !augmentation[0] && !c.failed;
	cie->has_augmentation = true;
	eh_leb(&c, false);
	for (const char *a = augmentation + 1; *a; a++) {
		uint8_t encoding =
			*a == 'R' || *a == 'L' || *a == 'P' ? (uint8_t)eh_bytes(&c, 1) : 0;

		if (*a == 'R')
			cie->pointers = encoding;
		else if (*a == 'L')
			cie->lsda = encoding;
		else if (*a == 'P')
			eh_pointer(&c, encoding, 0);
		else if (*a != 'S' && *a != 'B')
			return false;
	}
	return !c.failed;
}

/*
 * Whether the FDE's CFA program begins with a rule that applies before any code was executed: the
 * frame is set up already.
 */
static bool eh_starts_with_frame(struct eh_cursor *c, const uint8_t *end)
{
	uint64_t op;

	if (c->at >= end)
		return false;
	op = eh_bytes(c, 1);
	return !c->failed && op != 0 &&
	       op >> 6 != 1 /* nothing, DW_CFA_advance_loc in its forms */ &&
	       !(op >= 1 && op <= 4) && op != 0x2e /* DW_CFA_GNU_args_size */;
}

/* Reads the FDE at 'entry' of .eh_frame. False: it is damaged or no FDE. */
static bool eh_read_entry(const struct auxtap_image *image, uint64_t entry,
			  struct image_range *range)
{
	uint64_t length, cie_at;
	struct eh_cursor c;
	struct eh_cie cie;
	const uint8_t *end;

	memset(range, 0, sizeof(*range));
	if (!eh_seek(&c, image, entry))
		return false;
	length = eh_bytes(&c, 4);
	if (c.failed || !length || length >= 0xfffffff0 || length > (size_t)(c.end - c.at))
		return false;
	end = c.at + length;
	cie_at = c.vaddr;
	cie_at -= eh_bytes(&c, 4);
	if (!eh_read_cie(image, cie_at, &cie))
		return false;
	range->start = eh_pointer(&c, cie.pointers, 0);
	range->end = range->start + eh_pointer(&c, cie.pointers & 0x0f, 0);
	if (cie.has_augmentation) {
		uint64_t size = eh_leb(&c, false);
		struct eh_cursor lsda = c;

		if (cie.lsda != PE_OMIT && size)
			range->lsda = eh_pointer(&lsda, cie.lsda, 0);
		if (lsda.failed || c.failed || size > (size_t)(c.end - c.at))
			return false;
		c.at += size;
		c.vaddr += size;
	}
	range->is_part = eh_starts_with_frame(&c, end);
	return !c.failed && range->start < range->end;
}

/* ---- files without a search table ---- */

/* Finds the header of the section .eh_frame. False: there is none. */
static bool eh_section(const struct auxtap_image *image, Elf64_Shdr *found)
{
	Elf64_Ehdr eh;
	Elf64_Shdr names;

	memcpy(&eh, image->data, sizeof(eh));
	if (eh.e_shentsize < sizeof(*found) || eh.e_shoff > image->size ||
	    (image->size - eh.e_shoff) / eh.e_shentsize < eh.e_shnum || eh.e_shstrndx >= eh.e_shnum)
		return false;
	memcpy(&names, image->data + eh.e_shoff + (size_t)eh.e_shstrndx * eh.e_shentsize,
	       sizeof(names));
	if (names.sh_offset > image->size || names.sh_size > image->size - names.sh_offset)
		return false;
	for (unsigned int i = 0; i < eh.e_shnum; i++) {
		memcpy(found, image->data + eh.e_shoff + (size_t)i * eh.e_shentsize,
		       sizeof(*found));
		if (found->sh_name < names.sh_size &&
		    names.sh_size - found->sh_name >= sizeof(".eh_frame") &&
		    !memcmp(image->data + names.sh_offset + found->sh_name, ".eh_frame",
			    sizeof(".eh_frame")))
			return true;
	}
	return false;
}

static int eh_compare(const void *a, const void *b)
{
	const struct image_eh_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Lists all FDEs of .eh_frame; out of memory, or in a damaged section, only those read so far. */
static void eh_list(struct auxtap_image *image)
{
	struct image_range range;
	struct eh_cursor c;
	Elf64_Shdr section;
	uint64_t end;
	size_t capacity = 0;

	image->eh_listed = true;
	if (!eh_section(image, &section) || !eh_seek(&c, image, section.sh_addr))
		return;
	end = section.sh_addr + section.sh_size;
	while (c.vaddr < end) {
		uint64_t entry = c.vaddr, length = eh_bytes(&c, 4);

		if (c.failed || !length || length > (size_t)(c.end - c.at))
			break;
		if (eh_read_entry(image, entry, &range)) {
			if (vector_grow(image->eh, image->nr_eh, capacity))
				break;
			image->eh[image->nr_eh++] =
				(struct image_eh_entry){.start = range.start, .entry = entry};
		}
		c.at += length;
		c.vaddr += length;
	}
	if (image->eh)
		qsort(image->eh, image->nr_eh, sizeof(*image->eh), eh_compare);
}

/* The ELF address of the FDE with the highest start that is not above vaddr; 0: none. */
static uint64_t eh_search(struct auxtap_image *image, uint64_t vaddr)
{
	uint64_t base;
	size_t lo = 0, hi;

	if (!image->is_elf || !image->is_64 || image->is_rel || image->size < sizeof(Elf64_Ehdr))
		return 0;
	if (eh_table(image, &base))
		return eh_search_table(image, base, vaddr);
	if (!image->eh_listed)
		eh_list(image);
	for (hi = image->nr_eh; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (image->eh[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? image->eh[lo - 1].entry : 0;
}

bool image_eh_find(struct auxtap_image *image, uint64_t vaddr, struct image_range *range)
{
	uint64_t entry = eh_search(image, vaddr);

	image_use_name(image, vaddr, 1);
	memset(range, 0, sizeof(*range));
	return entry && eh_read_entry(image, entry, range) && vaddr >= range->start &&
	       vaddr < range->end;
}

uint64_t image_eh_landing_pad(struct auxtap_image *image, uint64_t call)
{
	struct image_range range;
	struct eh_cursor c;
	uint64_t pads, length, off, left;
	uint8_t encoding;
	const uint8_t *end;

	if (!image_eh_find(image, call, &range) || !range.lsda || !eh_seek(&c, image, range.lsda))
		return 0;
	encoding = (uint8_t)eh_bytes(&c, 1);
	pads = encoding == PE_OMIT ? range.start : eh_pointer(&c, encoding, 0);
	if (eh_bytes(&c, 1) != PE_OMIT) /* offset of the type table */
		eh_leb(&c, false);
	encoding = (uint8_t)eh_bytes(&c, 1);
	length = eh_leb(&c, false);
	if (c.failed || length > (size_t)(c.end - c.at))
		return 0;
	if (!image_vaddr_to_off(image, range.lsda, &off, &left))
		image_use_bytes(image, off, c.vaddr + length - range.lsda);
	for (end = c.at + length; c.at < end && !c.failed;) {
		uint64_t start = range.start + eh_pointer(&c, encoding & 0x0f, 0);
		uint64_t size = eh_pointer(&c, encoding & 0x0f, 0);
		uint64_t pad = eh_pointer(&c, encoding & 0x0f, 0);

		eh_leb(&c, false); /* index in the action table */
		if (!c.failed && call >= start && call - start < size)
			return pad ? pads + pad : 0;
	}
	return 0;
}
