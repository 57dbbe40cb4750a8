/* SPDX-License-Identifier: BSD-2-Clause */
/* One x86 instruction, decoded by Zydis. */
#ifndef AUXTAP_ZYDIS_INSN_H
#define AUXTAP_ZYDIS_INSN_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>

struct x86_insn {
	ZydisDecodedInstruction info;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	const char *name;
};

/* False: the bytes are not a complete instruction. */
bool x86_disassemble(const uint8_t *bytes, size_t size, struct x86_insn *insn);
/* Index in struct auxtap_regs of a general register of 32 or 64 bits; -1: another register. */
int x86_reg_index(ZydisRegister reg);

#endif
