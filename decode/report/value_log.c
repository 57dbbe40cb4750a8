// SPDX-License-Identifier: BSD-2-Clause
/* See value_log.h. */
#include "value_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <auxtap/crash.h>

/* clang-format off */
const uint8_t value_log_regs[AUXTAP_VALUES_REGS] = {
	AUXTAP_X86_AX, AUXTAP_X86_CX, AUXTAP_X86_DX, AUXTAP_X86_BX,
	AUXTAP_X86_SP, AUXTAP_X86_BP, AUXTAP_X86_SI, AUXTAP_X86_DI,
	AUXTAP_X86_R8, AUXTAP_X86_R9, AUXTAP_X86_R10, AUXTAP_X86_R11,
	AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
	AUXTAP_X86_FS, AUXTAP_X86_GS,
};
/* clang-format on */

int value_log_read(struct value_log *log, const void *data, size_t size)
{
	struct auxtap_values head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (head.size < sizeof(head) || head.size > size || head.arch != AUXTAP_ARCH_X86_64)
		return 0;
	size -= head.size;
	/* a truncated log lacks its end, from which it is read: it is useless */
	if (!head.nr_words || head.nr_words > size / sizeof(uint64_t))
		return 0;
	log->head = head;
	log->words = malloc(head.nr_words * sizeof(uint64_t));
	if (!log->words)
		return -ENOMEM;
	memcpy(log->words, (const uint8_t *)data + head.size, head.nr_words * sizeof(uint64_t));
	return 1;
}

bool value_log_back(const struct value_log *log, size_t *at, struct value_log_entry *entry)
{
	uint64_t tag;

	if (!*at)
		return false;
	tag = log->words[*at - 1];
	entry->kind = tag & 0xff;
	entry->nr_words = tag >> 8 & 0xff;
	entry->insn = tag >> 16 & 0xffff;
	entry->own = (uint32_t)(tag >> 32);
	if (entry->nr_words > *at - 1)
		return false;
	*at -= 1 + entry->nr_words;
	entry->words = log->words + *at;
	return true;
}

bool value_log_write(const struct value_log_entry *entry, struct value_log_write *write)
{
	if (!entry->nr_words ||
	    (entry->kind != AUXTAP_VALUES_WRITE && entry->kind != AUXTAP_VALUES_UNKNOWN))
		return false;
	*write = (struct value_log_write){.addr = entry->words[0]};
	if (entry->kind == AUXTAP_VALUES_UNKNOWN) {
		write->nr_bytes = entry->nr_words > 1 ? entry->words[1] : 0;
		return true;
	}
	write->nr_bytes = entry->own;
	write->bytes = (const uint8_t *)&entry->words[1];
	return write->nr_bytes && write->nr_bytes <= 8 * (entry->nr_words - 1);
}

bool value_log_keeps(const struct value_log_write *write, uint64_t addr, unsigned int nr_bytes,
		     uint64_t value)
{
	for (unsigned int i = 0; i < nr_bytes; i++)
		if (addr + i - write->addr < write->nr_bytes &&
		    write->bytes[addr + i - write->addr] != (uint8_t)(value >> 8 * i))
			return false;
	return true;
}

bool value_log_void(const struct value_log_entry *entry, struct value_log_write *write)
{
	if (entry->kind != AUXTAP_VALUES_VOID || entry->nr_words < 2)
		return false;
	*write = (struct value_log_write){.addr = entry->words[0], .nr_bytes = entry->words[1]};
	return true;
}

bool value_log_block(const struct value_log_entry *entry, uint64_t *regs, uint64_t *ip)
{
	const uint64_t *word = entry->words;
	const uint32_t mask = entry->own;

	if (!entry->nr_words || (size_t)__builtin_popcount(mask) + 1 != entry->nr_words ||
	    mask >> AUXTAP_VALUES_REGS)
		return false;
	for (uint32_t i = 0; i < AUXTAP_VALUES_REGS; i++)
		if (mask & 1u << i)
			regs[i] = *word++;
	*ip = *word;
	return true;
}
