/* SPDX-License-Identifier: BSD-2-Clause */
/* What a machine that loses traps writes down: one for each instruction that was stepped. */
#ifndef EMU_LOSSY_PTRACE_H
#define EMU_LOSSY_PTRACE_H

#include <stdint.h>

struct lossy_step {
	uint64_t ip;
	uint8_t code[7]; /* the first bytes of the instruction */
	uint8_t lost;	 /* the source does not see where it ends */
};

#endif
