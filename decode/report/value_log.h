/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a thread's log of values, a record of a recording's metadata (auxtap/values.h). */
#ifndef AUXTAP_VALUE_LOG_H
#define AUXTAP_VALUE_LOG_H

#include <auxtap/values.h>
#include <stdbool.h>
#include <stddef.h>

/* The registers in the order of the log, by their index in struct auxtap_regs. */
extern const uint8_t value_log_regs[AUXTAP_VALUES_REGS];

struct value_log {
	struct auxtap_values head; /* nr_words: the number of 'words' */
	uint64_t *words;	   /* malloc'ed */
	/* of a process with threads: which memory it touches; see value_log_touches() */
	struct value_log_range {
		uint64_t first, end;
	} * ranges;
	size_t nr_ranges, max_ranges;
	bool touches_all;
};

/* 1; 0: it makes no sense, and there is nothing to free; or -ENOMEM. */
int value_log_read(struct value_log *log, const void *data, size_t size);
void value_log_free(struct value_log *log);
/* Only of a log of a process with threads: may an entry be about that memory? */
bool value_log_touches(const struct value_log *log, uint64_t addr, uint64_t nr_bytes);

struct value_log_entry {
	unsigned int kind;     /* enum auxtap_values_kind, or an unknown one */
	uint32_t insn;	       /* bits 16-31 of the tag */
	uint32_t own;	       /* bits 32-63 of the tag */
	const uint64_t *words; /* of the entry; they belong to the log */
	size_t nr_words;
};

/*
 * Reads the entry before *at, which begins as head.nr_words, and moves *at to its start. False:
 * it was the oldest, or the others were overwritten.
 */
bool value_log_back(const struct value_log *log, size_t *at, struct value_log_entry *entry);

/* What a WRITE or UNKNOWN entry says. False: it is another one, or makes no sense. */
struct value_log_write {
	uint64_t addr, nr_bytes; /* all memory: 0, UINT64_MAX */
	const uint8_t *bytes;	 /* NULL: unknown */
};
bool value_log_write(const struct value_log_entry *entry, struct value_log_write *write);
/* Does it write there? */
bool value_log_hits(const struct value_log_write *write, uint64_t addr, uint64_t nr_bytes);
/* Do the nr_bytes at addr have that value after the write, as far as it writes there? */
bool value_log_keeps(const struct value_log_write *write, uint64_t addr, unsigned int nr_bytes,
		     uint64_t value);
/*
 * Is it a VOID entry? What it says: in that range some bytes may have been written with the value
 * that they had.
 */
bool value_log_void(const struct value_log_entry *entry, struct value_log_write *write);

/*
 * What a BLOCK entry says. regs: those at the start of this block, which become those at the start
 * of the block before. False: it makes no sense.
 */
bool value_log_block(const struct value_log_entry *entry, uint64_t *regs, uint64_t *ip);

#endif
