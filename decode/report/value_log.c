// SPDX-License-Identifier: BSD-2-Clause
/* See value_log.h. */
#include "value_log.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <auxtap/crash.h>

/* of struct auxtap_values before it had lost_until */
#define OLD_SIZE offsetof(struct auxtap_values, lost_until)

/* clang-format off */
const uint8_t value_log_regs[AUXTAP_VALUES_REGS] = {
	AUXTAP_X86_AX, AUXTAP_X86_CX, AUXTAP_X86_DX, AUXTAP_X86_BX,
	AUXTAP_X86_SP, AUXTAP_X86_BP, AUXTAP_X86_SI, AUXTAP_X86_DI,
	AUXTAP_X86_R8, AUXTAP_X86_R9, AUXTAP_X86_R10, AUXTAP_X86_R11,
	AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
	AUXTAP_X86_FS, AUXTAP_X86_GS,
};
/* clang-format on */

/* ---- what a log writes to ---- */

static int by_first(const void *a, const void *b)
{
	const struct value_log_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists the ranges that the log's entries touch: in their order, without overlaps. */
static int index_ranges(struct value_log *log)
{
	size_t at = log->head.nr_words, nr = 0;
	struct value_log_range *r;
	struct value_log_entry entry;
	struct value_log_write w;

	while (value_log_back(log, &at, &entry)) {
		/* what was lost may have been written anywhere */
		if (entry.kind == AUXTAP_VALUES_LOST) {
			log->touches_all = true;
			break;
		}
		if ((!value_log_write(&entry, &w) && !value_log_void(&entry, &w)) || !w.nr_bytes)
			continue;
		log->touches_all = log->touches_all || w.addr + w.nr_bytes < w.addr;
		r = log->nr_ranges ? &log->ranges[log->nr_ranges - 1] : NULL;
		if (r && w.addr - r->first <= r->end - r->first && w.addr + w.nr_bytes <= r->end)
			continue;
		if (vector_grow(log->ranges, log->nr_ranges, log->max_ranges))
			return -ENOMEM;
		log->ranges[log->nr_ranges++] =
			(struct value_log_range){w.addr, w.addr + w.nr_bytes};
	}
	if (log->nr_ranges)
		qsort(log->ranges, log->nr_ranges, sizeof(*log->ranges), by_first);
	for (size_t i = 0; i < log->nr_ranges; i++) {
		r = nr ? &log->ranges[nr - 1] : NULL;
		if (!r || log->ranges[i].first > r->end)
			log->ranges[nr++] = log->ranges[i];
		else if (log->ranges[i].end > r->end)
			r->end = log->ranges[i].end;
	}
	log->nr_ranges = nr;
	return 0;
}

bool value_log_touches(const struct value_log *log, uint64_t addr, uint64_t nr_bytes)
{
	size_t low = 0, high = log->nr_ranges;

	if (log->touches_all)
		return true;
	/* the first range that ends after addr */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (log->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < log->nr_ranges && log->ranges[low].first < addr + nr_bytes;
}

/* ---- reading ---- */

int value_log_read(struct value_log *log, const void *data, size_t size)
{
	struct auxtap_values head = {0};

	if (size < OLD_SIZE)
		return 0;
	memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
	if (head.size < OLD_SIZE || head.size > size || head.arch != AUXTAP_ARCH_X86_64)
		return 0;
	if (head.size < sizeof(head))
		head.lost_until = UINT64_MAX;
	size -= head.size;
	/* a truncated log lacks its end, from which it is read: it is useless */
	if (!head.nr_words || head.nr_words > size / sizeof(uint64_t))
		return 0;
	*log = (struct value_log){.head = head};
	log->words = malloc(head.nr_words * sizeof(uint64_t));
	if (!log->words)
		return -ENOMEM;
	memcpy(log->words, (const uint8_t *)data + head.size, head.nr_words * sizeof(uint64_t));
	if (head.flags & AUXTAP_VALUES_THREADS && index_ranges(log)) {
		value_log_free(log);
		return -ENOMEM;
	}
	return 1;
}

void value_log_free(struct value_log *log)
{
	free(log->words);
	free(log->ranges);
	*log = (struct value_log){.words = NULL};
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

bool value_log_hits(const struct value_log_write *write, uint64_t addr, uint64_t nr_bytes)
{
	return write->nr_bytes == UINT64_MAX || addr - write->addr < write->nr_bytes ||
	       write->addr - addr < nr_bytes;
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
