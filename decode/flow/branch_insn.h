/* SPDX-License-Identifier: BSD-2-Clause */
/* Length and kind of an x86 instruction that is known to change the flow. */
#ifndef AUXTAP_BRANCH_INSN_H
#define AUXTAP_BRANCH_INSN_H

#include <auxtap/decode.h>

struct branch_insn {
	uint8_t size;
	enum auxtap_branch_kind kind;
	bool direct;
	int64_t disp; /* direct: target = ip + size + disp */
};

/* 0, or -1: not a branch, or longer than avail bytes. */
int branch_insn_decode(const uint8_t *code, size_t avail, bool bits_32, struct branch_insn *insn);

/* Whether the branch enters the kernel, which returns to the next instruction or elsewhere. */
static inline bool branch_enters_kernel(enum auxtap_branch_kind kind)
{
	return kind == AUXTAP_BRANCH_SYSCALL || kind == AUXTAP_BRANCH_INT;
}

#endif
