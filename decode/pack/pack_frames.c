// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeps those entries of .eh_frame that cover code that was used, and shortens the search table
 * (.eh_frame_hdr) accordingly. If the table has an unusual encoding, the whole section is kept.
 */
#include "pack_private.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE 12 /* .eh_frame_hdr: version, three encodings, address of .eh_frame, count */

static bool find_program_header(const struct pack_elf *e, uint32_t type, Elf64_Phdr *found)
{
	Elf64_Ehdr eh;

	memcpy(&eh, e->data, sizeof(eh));
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		uint64_t at = eh.e_phoff + (uint64_t)i * sizeof(*found);

		if (at > e->size || e->size - at < sizeof(*found))
			return false;
		memcpy(found, e->data + at, sizeof(*found));
		if (found->p_type == type)
			return true;
	}
	return false;
}

static uint32_t word_at(const struct pack_elf *e, uint64_t off)
{
	uint32_t word;

	memcpy(&word, e->data + off, sizeof(word));
	return word;
}

/* Keeps the FDE at vaddr and the CIE that it refers to. */
static void keep_entry(const struct pack_elf *e, uint64_t vaddr)
{
	uint64_t off, left, cie, length;

	for (int i = 0; i < 2; i++) {
		if (image_vaddr_to_off(e->image, vaddr, &off, &left) || left < 8)
			return;
		length = word_at(e, off);
		if (length >= 0xfffffff0 || length > left - 4 || length < 4)
			return;
		pack_sparse_keep(e->out, off, e->data + off, length + 4);
		cie = word_at(e, off + 4);
		if (!cie)
			return;
		vaddr = vaddr + 4 - cie;
	}
}

static int keep_by_table(const struct pack_elf *e, const Elf64_Phdr *table)
{
	uint32_t nr = word_at(e, table->p_offset + 8), nr_kept = 0;
	uint8_t *copy;

	if (nr > (table->p_filesz - HEADER_SIZE) / 8)
		return 0;
	copy = malloc(HEADER_SIZE + (size_t)nr * 8);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, e->data + table->p_offset, HEADER_SIZE);
	for (uint32_t i = 0; i < nr; i++) {
		const uint8_t *row = e->data + table->p_offset + HEADER_SIZE + (uint64_t)i * 8;
		int32_t pair[2], next;
		uint64_t start, end = UINT64_MAX;

		memcpy(pair, row, sizeof(pair));
		start = table->p_vaddr + (uint64_t)(int64_t)pair[0];
		if (i + 1 < nr) {
			memcpy(&next, row + 8, sizeof(next));
			end = table->p_vaddr + (uint64_t)(int64_t)next;
		}
		if (!image_use_has_name(e->image, start, end))
			continue;
		memcpy(copy + HEADER_SIZE + (size_t)nr_kept++ * 8, pair, sizeof(pair));
		keep_entry(e, table->p_vaddr + (uint64_t)(int64_t)pair[1]);
	}
	memcpy(copy + 8, &nr_kept, sizeof(nr_kept));
	pack_sparse_change(e->out, table->p_offset, copy, HEADER_SIZE + (uint64_t)nr_kept * 8);
	free(copy);
	return 0;
}

int pack_frames(const struct pack_elf *e)
{
	static const uint8_t usual[4] = {1, 0x1b, 0x03, 0x3b};
	Elf64_Phdr table;

	if (find_program_header(e, PT_GNU_EH_FRAME, &table) && table.p_offset < e->size &&
	    table.p_filesz <= e->size - table.p_offset && table.p_filesz >= HEADER_SIZE &&
	    !memcmp(e->data + table.p_offset, usual, sizeof(usual)))
		return keep_by_table(e, &table);
	for (size_t i = 1; i < e->nr_sections; i++) {
		const Elf64_Shdr *section = &e->sections[i];

		if (!strncmp(pack_section_name(e, section), ".eh_frame", 9) &&
		    section->sh_type != SHT_NOBITS && pack_section_in_file(e, section))
			pack_sparse_keep(e->out, section->sh_offset, e->data + section->sh_offset,
					 section->sh_size);
	}
	return 0;
}
