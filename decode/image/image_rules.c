// SPDX-License-Identifier: BSD-2-Clause
/* What the unwind information (.eh_frame) says of the stack at an address, without registers. */
#include "image_private.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

#define X86_DWARF_RSP 7
#define A64_DWARF_SP  31

/* By the rule of the canonical frame address: on x86 that is above the return address. */
static enum image_stack stack_by_rule(const Dwarf_Op *ops, size_t nr, bool a64, uint64_t *depth)
{
	const unsigned int sp = a64 ? A64_DWARF_SP : X86_DWARF_RSP;

	if (nr != 1 || ops[0].atom != DW_OP_bregx)
		return IMAGE_STACK_UNKNOWN;
	if (ops[0].number != sp)
		return IMAGE_STACK_BY_POINTER;
	*depth = ops[0].number2;
	return ops[0].number2 == (a64 ? 0 : 8) ? IMAGE_STACK_AS_AT_ENTRY : IMAGE_STACK_HAS_FRAME;
}

static enum image_stack stack_at(struct auxtap_image *image, uint64_t vaddr, uint64_t *depth)
{
	enum image_stack stack = IMAGE_STACK_UNKNOWN;
	Dwarf_Frame *rules = NULL;
	Dwarf_CFI *cfi = NULL;
	GElf_Ehdr header;
	Dwarf_Op *ops;
	int saved;
	size_t nr;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return IMAGE_STACK_UNKNOWN;
	image_memory_begin(&saved);
	elf = elf_memory((char *)(uintptr_t)image->data, image->size);
	if (elf && gelf_getehdr(elf, &header))
		cfi = dwarf_getcfi_elf(elf);
	if (cfi && !dwarf_cfi_addrframe(cfi, vaddr, &rules) && !dwarf_frame_cfa(rules, &ops, &nr))
		stack = stack_by_rule(ops, nr, header.e_machine == EM_AARCH64, depth);
	free(rules);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	image_memory_end(image, saved);
	return stack;
}

enum image_stack image_set_stack_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				    uint64_t addr, uint64_t *depth)
{
	enum image_stack stack = IMAGE_STACK_UNKNOWN;
	struct auxtap_image *image;
	uint64_t bias, found = 0;

	pthread_mutex_lock(&set->lock);
	image = image_set_elf_at(set, pid, time, addr, &bias);
	if (image)
		stack = stack_at(image, addr - bias, &found);
	pthread_mutex_unlock(&set->lock);
	if (depth)
		*depth = found;
	return stack;
}
