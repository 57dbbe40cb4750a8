/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Length of one x86 instruction, and its class by its effect on the flow, as a PT unit needs it.
 * Freestanding; used by the execution engines and the kernel module. Shares no code with decode/,
 * which serves as its reference.
 */
#ifndef AUXTAP_X86_INSN_H
#define AUXTAP_X86_INSN_H

#include "hw_types.h"

enum x86_class {
	X86_PLAIN,
	X86_JCC, /* conditional: jcc, loop*, jrcxz */
	X86_JMP, /* direct */
	X86_JMP_INDIRECT,
	X86_CALL, /* direct */
	X86_CALL_INDIRECT,
	X86_RET,
	X86_SYSCALL, /* syscall, sysenter, int n, int1, int3, into: enters the kernel by itself */
	X86_FAR,     /* iret, sysret, far jmp, call, ret: other far transfers */
};

#define X86_INSN_REP   0x1 /* string instruction with a REP prefix: traps at every iteration */
#define X86_INSN_PUSHF 0x2
#define X86_INSN_POPF  0x4 /* popf, iret: load TF */

struct x86_insn {
	u8 len;
	u8 cls;	  /* enum x86_class */
	u8 flags; /* X86_INSN_… */
	s32 disp; /* direct branches: target = ip + len + disp */
};

/*
 * Decodes the instruction at code, of which 'avail' bytes are readable. bits: 64 or 32. 0, or -1:
 * not an instruction within avail bytes (undefined, too long, or cut off).
 */
int x86_insn_decode(const u8 *code, unsigned int avail, int bits, struct x86_insn *insn);

#endif
