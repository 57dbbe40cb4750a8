// SPDX-License-Identifier: BSD-2-Clause
/*
 * Saves the memory operand of the x86-64 call, jump or division at which a thread died: the
 * processor reports no address for a non-canonical target or for a division error, so this operand
 * explains the death. Intel SDM vol. 2, 2.1.5 "Addressing-Mode Encoding of ModR/M and SIB Bytes";
 * opcodes: appendix A.6, groups 3 and 5.
 */
#include "session.h"

#include <string.h>

#define INSN_MAX 15
#define REX_X	 2
#define REX_B	 1

/* The general registers, by their number in the encoding. */
static const unsigned char general[16] = {
	AUXTAP_X86_AX,	AUXTAP_X86_CX,	AUXTAP_X86_DX,	AUXTAP_X86_BX,
	AUXTAP_X86_SP,	AUXTAP_X86_BP,	AUXTAP_X86_SI,	AUXTAP_X86_DI,
	AUXTAP_X86_R8,	AUXTAP_X86_R9,	AUXTAP_X86_R10, AUXTAP_X86_R11,
	AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
};

/* The instruction that is decoded, byte by byte. */
struct operand_reader {
	const unsigned char *code;
	size_t nr, at;
	const struct auxtap_regs *regs;
	unsigned int rex;
	bool unknown; /* a needed byte or register is not known */
};

static unsigned int next_byte(struct operand_reader *r)
{
	if (r->at == r->nr) {
		r->unknown = true;
		return 0;
	}
	return r->code[r->at++];
}

static uint64_t register_value(struct operand_reader *r, unsigned int index)
{
	if (!(r->regs->valid & 1ull << index))
		r->unknown = true;
	return r->regs->reg[index];
}

/* Reads a displacement and sign-extends it. */
static uint64_t read_displacement(struct operand_reader *r, unsigned int nr_bytes)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < nr_bytes; i++)
		value |= (uint32_t)next_byte(r) << 8 * i;
	return (uint64_t)(int64_t)(nr_bytes == 1 ? (int8_t)value : (int32_t)value);
}

/* Reads what follows a ModR/M byte that names a memory operand. */
static uint64_t effective_address(struct operand_reader *r, unsigned int modrm)
{
	unsigned int mod = modrm >> 6, base = modrm & 7, index = 4;
	uint64_t addr = 0;

	if (base == 5 && !mod) {
		addr = read_displacement(r, 4);
		return addr + register_value(r, AUXTAP_X86_IP) + r->at;
	}
	if (base == 4) {
		unsigned int sib = next_byte(r);

		base = sib & 7;
		index = (sib >> 3 & 7) | (r->rex & REX_X ? 8 : 0);
		if (index != 4)
			addr = register_value(r, general[index]) << (sib >> 6);
		if (base == 5 && !mod)
			return addr + read_displacement(r, 4);
	}
	addr += register_value(r, general[base | (r->rex & REX_B ? 8 : 0)]);
	return addr + read_displacement(r, mod == 0 ? 0 : mod == 1 ? 1 : 4);
}

bool x86_word_operand(const unsigned char *code, size_t nr, const struct auxtap_regs *regs,
		      uint64_t *addr)
{
	struct operand_reader r = {.code = code, .nr = nr, .regs = regs};
	unsigned int byte, modrm, opcode_ext;
	uint64_t segment = 0;

	/* A REX prefix is valid only right before the opcode. Prefix 67 is not supported. */
	for (;;) {
		byte = next_byte(&r);
		if (byte == 0x64 || byte == 0x65)
			segment = register_value(&r, byte == 0x64 ? AUXTAP_X86_FS : AUXTAP_X86_GS);
		else if ((byte & 0xf0) != 0x40 && byte != 0x26 && byte != 0x2e && byte != 0x36 &&
			 byte != 0x3e && byte != 0x66 && byte != 0xf2 && byte != 0xf3)
			break;
		r.rex = (byte & 0xf0) == 0x40 ? byte : 0;
	}
	modrm = next_byte(&r);
	opcode_ext = modrm >> 3 & 7;
	if (modrm >> 6 == 3 || !(byte == 0xff ? opcode_ext == 2 || opcode_ext == 4 :
						(byte == 0xf6 || byte == 0xf7) && opcode_ext >= 6))
		return false;
	*addr = segment + effective_address(&r, modrm);
	return !r.unknown;
}

void session_write_operand(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			   const struct auxtap_regs *regs)
{
	unsigned char code[INSN_MAX];
	uint64_t addr;
	ssize_t n;

	if (regs->arch != AUXTAP_ARCH_X86_64 || !(regs->valid & 1ull << AUXTAP_X86_IP))
		return;
	n = s->be->target->mem(s->be->target_ctx, pid, regs->reg[AUXTAP_X86_IP], code,
			       sizeof(code));
	if (n > 0 && x86_word_operand(code, (size_t)n, regs, &addr))
		session_write_memory(s, file, pid, addr, 8);
}
