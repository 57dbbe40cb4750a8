/* SPDX-License-Identifier: BSD-2-Clause */
/* A log entry of the machine that loses traps, one for each stepped instruction. */
#ifndef EMU_LOSSY_PTRACE_H
#define EMU_LOSSY_PTRACE_H

#include <stdint.h>

struct lossy_step {
	uint64_t ip;
	uint8_t code[7]; /* the first bytes of the instruction */
	uint8_t lost;	 /* the engine does not see where it ends */
};

#endif
