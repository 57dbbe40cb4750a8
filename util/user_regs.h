/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of the general registers in core files (struct user_regs_struct) and in DWARF. */
#ifndef UTIL_USER_REGS_H
#define UTIL_USER_REGS_H

#include <auxtap/crash.h>
#include <stdint.h>

#define X86_NR_GREGS  27
#define X86_GREG_ORIG 15 /* orig_rax */
#define X86_GREG_FS   25 /* the selectors of fs and gs */
#define X86_GREG_GS   26
#define A64_NR_GREGS  34 /* struct user_pt_regs: x0 ... x30, sp, pc, pstate, as in auxtap_regs */

/* The register of struct auxtap_regs at each position; -1: orig_rax and the selectors above. */
static const int8_t x86_greg_order[X86_NR_GREGS] = {
	AUXTAP_X86_R15,
	AUXTAP_X86_R14,
	AUXTAP_X86_R13,
	AUXTAP_X86_R12,
	AUXTAP_X86_BP,
	AUXTAP_X86_BX,
	AUXTAP_X86_R11,
	AUXTAP_X86_R10,
	AUXTAP_X86_R9,
	AUXTAP_X86_R8,
	AUXTAP_X86_AX,
	AUXTAP_X86_CX,
	AUXTAP_X86_DX,
	AUXTAP_X86_SI,
	AUXTAP_X86_DI,
	-1,
	AUXTAP_X86_IP,
	AUXTAP_X86_CS,
	AUXTAP_X86_FLAGS,
	AUXTAP_X86_SP,
	AUXTAP_X86_SS,
	AUXTAP_X86_FS,
	AUXTAP_X86_GS,
	AUXTAP_X86_DS,
	AUXTAP_X86_ES,
	-1,
	-1,
};

/* The register of struct auxtap_regs by DWARF number (the x86-64 psABI). */
static const int8_t x86_dwarf_order[16] = {
	AUXTAP_X86_AX,	AUXTAP_X86_DX,	AUXTAP_X86_CX,	AUXTAP_X86_BX,
	AUXTAP_X86_SI,	AUXTAP_X86_DI,	AUXTAP_X86_BP,	AUXTAP_X86_SP,
	AUXTAP_X86_R8,	AUXTAP_X86_R9,	AUXTAP_X86_R10, AUXTAP_X86_R11,
	AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
};

#endif
