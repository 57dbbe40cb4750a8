/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of the past in a snapshot ('auxtap crash --values'): what a thread wrote to memory, and
 * its registers at the start of each block of instructions, as far as a ring of bounded size
 * reaches. One record of type AUXTAP_METADATA_VALUES for each thread: the head, then nr_words
 * 64-bit words, which are entries, oldest first. An entry ends with its tag, so that entries are
 * read from the newest to the oldest; the first one may be cut off.
 *
 *   tag   bits 0-7 kind | 8-15 words before the tag | 16-31 instruction | 32-63 kind's own
 */
#ifndef AUXTAP_VALUES_H
#define AUXTAP_VALUES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In this order: ax cx dx bx sp bp si di r8 ... r15, then the bases of fs and gs. */
#define AUXTAP_VALUES_REGS 18

enum auxtap_values_kind {
	/*
	 * A block of 'instruction' instructions begins. Words: for each bit set in bits 32-63 the
	 * value that this register had at the start of the block before; then its address.
	 */
	AUXTAP_VALUES_BLOCK = 1,
	/* Instruction number 'instruction' of the block wrote bits 32-63 bytes: address, values. */
	AUXTAP_VALUES_WRITE,
	/* Memory may have changed, by a system call or else: address, length; 0, ~0: all of it. */
	AUXTAP_VALUES_UNKNOWN,
	/* The block was left before its end: address of the instruction that was not completed. */
	AUXTAP_VALUES_LEFT,
	/* The block ended with a system call. */
	AUXTAP_VALUES_SYSCALL,
	/* What ran here is not in the ring. */
	AUXTAP_VALUES_LOST,
	/*
	 * Was an UNKNOWN entry: WRITE entries after it have what changed. Bytes of the range (none
	 * if its length is 0) may have been written with the value that they had.
	 */
	AUXTAP_VALUES_VOID,
	/*
	 * Word: when the block of the BLOCK entry that follows began, in nanoseconds of
	 * CLOCK_MONOTONIC. Blocks have none while the process has a single thread.
	 */
	AUXTAP_VALUES_TIME,
};

/* 'instruction': after those of the block that were executed */
#define AUXTAP_VALUES_AFTER 0xffff

#define AUXTAP_VALUES_THREADS  0x1 /* the process had more than one thread */
#define AUXTAP_VALUES_BAD_REGS 0x2 /* the registers were being written */
#define AUXTAP_VALUES_CUT_OFF  0x4 /* it is not known how much of the newest block was executed */
#define AUXTAP_VALUES_WHOLE    0x8 /* the log has all since the thread began, or its process */

struct auxtap_values {
	uint32_t size; /* of this struct */
	uint32_t arch; /* enum auxtap_arch */
	int32_t pid, tid;
	uint32_t flags;
	uint32_t reserved;
	uint64_t nr_words;
	uint64_t regs[AUXTAP_VALUES_REGS]; /* at the start of the newest block */
	/* until then threads wrote memory of which there is no log; 0: none did */
	uint64_t lost_until;
};

#ifdef __cplusplus
}
#endif
#endif
