/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The class of one A64 instruction by its effect on the flow, as an ETM needs it. Freestanding;
 * used by the trace unit and the execution engines. Shares no code with decode/, which serves as
 * its reference.
 */
#ifndef AUXTAP_A64_INSN_H
#define AUXTAP_A64_INSN_H

#include "hw_types.h"

#define A64_INSN_LEN 4

enum a64_class {
	A64_PLAIN,
	A64_COND, /* direct: b.cond, bc.cond, cbz, cbnz, tbz, tbnz */
	A64_B,	  /* direct */
	A64_BL,	  /* direct, links */
	A64_BR,	  /* br, braa … */
	A64_BLR,  /* blr, blraa …: links */
	A64_RET,  /* ret, retaa … */
	A64_ERET, /* eret, eretaa … */
	/* enters the kernel by itself: the preferred return address is the next instruction */
	A64_SVC,
	A64_HVC,  /* hvc, smc: the same, to EL2, EL3 */
	A64_TRAP, /* brk, hlt, dcps, drps, udf: never retires in user mode */
	A64_ISB,
	A64_WFX, /* wfi, wfe, wfit, wfet */
	A64_TSTART,
};

struct a64_insn {
	u8 cls;	  /* enum a64_class */
	s32 disp; /* direct branches: target = address + disp */
};

/*
 * Every word has a class: words that are not instructions are A64_PLAIN, because they fault and
 * never retire. 'code' is the word as a little-endian load gives it.
 */
struct a64_insn a64_insn_decode(u32 code);

/* Direct branches: the target if taken. */
static inline bool a64_is_direct(enum a64_class cls)
{
	return cls == A64_COND || cls == A64_B || cls == A64_BL;
}

static inline bool a64_is_indirect(enum a64_class cls)
{
	return cls == A64_BR || cls == A64_BLR || cls == A64_RET || cls == A64_ERET;
}

#endif
