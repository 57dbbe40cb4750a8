// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow class of one A64 instruction, in the order of the encoding tables "Branches, Exception
 * Generating and System instructions" (Arm ARM, C4.1). Covers Armv9.3; later instructions (cb<cc>,
 * retaasppc) are A64_PLAIN.
 */
#include "a64_insn.h"

#define REG_31 0x1f

/* The field of nr bits at 'low', as a signed number of words. */
static s32 words(u32 code, unsigned int low, unsigned int nr)
{
	return ((s32)(code << (32 - low - nr)) >> (32 - nr)) * A64_INSN_LEN;
}

/* "Unconditional branch (register)" */
static enum a64_class branch_register(u32 code)
{
	u32 opc = code >> 21 & 0xf, op3 = code >> 10 & 0x3f;
	u32 rn = code >> 5 & 0x1f, op4 = code & 0x1f;
	bool plain = op3 == 0 && op4 == 0;
	bool pac = op3 == 2 || op3 == 3; /* key A, key B */
	bool pac_zero = pac && op4 == REG_31;

	if ((code >> 16 & 0x1f) != 0x1f)
		return A64_PLAIN;
	switch (opc) {
	case 0:
		return plain || pac_zero ? A64_BR : A64_PLAIN;
	case 1:
		return plain || pac_zero ? A64_BLR : A64_PLAIN;
	case 2:
		return plain || (pac_zero && rn == REG_31) ? A64_RET : A64_PLAIN;
	case 4:
		return (plain || pac_zero) && rn == REG_31 ? A64_ERET : A64_PLAIN;
	case 5:
		return plain && rn == REG_31 ? A64_TRAP : A64_PLAIN; /* drps */
	case 8:
		return pac ? A64_BR : A64_PLAIN;
	case 9:
		return pac ? A64_BLR : A64_PLAIN;
	default:
		return A64_PLAIN;
	}
}

/* "Exception generation" */
static enum a64_class exception(u32 code)
{
	u32 opc = code >> 21 & 7, ll = code & 3;

	if (code >> 2 & 7)
		return A64_PLAIN;
	switch (opc << 2 | ll) {
	case 0 << 2 | 1:
		return A64_SVC;
	case 0 << 2 | 2:
	case 0 << 2 | 3:
		return A64_HVC;
	case 1 << 2 | 0: /* brk */
	case 2 << 2 | 0: /* hlt */
	case 5 << 2 | 1: /* dcps1 to 3 */
	case 5 << 2 | 2:
	case 5 << 2 | 3:
		return A64_TRAP;
	default:
		return A64_PLAIN;
	}
}

/* "Hints", "Barriers", "System instructions with register argument" */
static enum a64_class system(u32 code)
{
	if (code == 0xd503205f || code == 0xd503207f) /* wfe, wfi */
		return A64_WFX;
	if ((code & 0xffffffc0) == 0xd5031000) /* wfet, wfit */
		return A64_WFX;
	if ((code & 0xfffff0ff) == 0xd50330df)
		return A64_ISB;
	if ((code & 0xffffffe0) == 0xd5233060)
		return A64_TSTART;
	return A64_PLAIN;
}

struct a64_insn a64_insn_decode(u32 code)
{
	struct a64_insn insn = {.cls = A64_PLAIN};

	switch (code >> 24) {
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x17:
	case 0x94:
	case 0x95:
	case 0x96:
	case 0x97:
		insn.cls = code >> 31 ? A64_BL : A64_B;
		insn.disp = words(code, 0, 26);
		break;
	case 0x34:
	case 0x35:
	case 0xb4:
	case 0xb5: /* cbz, cbnz */
	case 0x54: /* b.cond; bit 4: bc.cond */
		insn.cls = A64_COND;
		insn.disp = words(code, 5, 19);
		break;
	case 0x36:
	case 0x37:
	case 0xb6:
	case 0xb7: /* tbz, tbnz */
		insn.cls = A64_COND;
		insn.disp = words(code, 5, 14);
		break;
	case 0xd4:
		insn.cls = exception(code);
		break;
	case 0xd5:
		insn.cls = system(code);
		break;
	case 0xd6:
	case 0xd7:
		insn.cls = branch_register(code);
		break;
	case 0x00:
		if (!(code >> 16)) /* udf */
			insn.cls = A64_TRAP;
		break;
	default:
		break;
	}
	return insn;
}
