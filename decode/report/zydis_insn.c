// SPDX-License-Identifier: BSD-2-Clause
/* See zydis_insn.h. */
#include "zydis_insn.h"

#include <auxtap/crash.h>

bool x86_disassemble(const uint8_t *bytes, size_t size, struct x86_insn *insn)
{
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn->info, insn->op)))
		return false;
	insn->name = ZydisMnemonicGetString(insn->info.mnemonic);
	return insn->name;
}

int x86_reg_index(ZydisRegister reg)
{
	/* clang-format off */
	static const uint8_t index_of[] = {
		AUXTAP_X86_AX, AUXTAP_X86_CX, AUXTAP_X86_DX, AUXTAP_X86_BX,
		AUXTAP_X86_SP, AUXTAP_X86_BP, AUXTAP_X86_SI, AUXTAP_X86_DI,
		AUXTAP_X86_R8, AUXTAP_X86_R9, AUXTAP_X86_R10, AUXTAP_X86_R11,
		AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
	};
	/* clang-format on */
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	ZyanI8 id = ZydisRegisterGetId(reg);

	if ((class != ZYDIS_REGCLASS_GPR64 && class != ZYDIS_REGCLASS_GPR32) || id < 0 ||
	    (size_t)id >= sizeof(index_of))
		return -1;
	return index_of[id];
}
