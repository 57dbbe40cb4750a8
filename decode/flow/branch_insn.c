// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decodes the few opcodes that change the control flow; others are rejected. The flow decoder only
 * says that a block ended with a jump; its kind and size come from here.
 */
#include "branch_insn.h"

#include <string.h>

struct cursor {
	const uint8_t *at;
	size_t left;
};

static int next_byte(struct cursor *c)
{
	if (!c->left)
		return -1;
	c->left--;
	return *c->at++;
}

static int read_displacement(struct cursor *c, unsigned int size, struct branch_insn *insn)
{
	int32_t d32;
	int16_t d16;

	if (c->left < size)
		return -1;
	if (size == 1) {
		insn->disp = *c->at < 128 ? *c->at : (int64_t)*c->at - 256;
	} else if (size == 2) {
		memcpy(&d16, c->at, 2);
		insn->disp = d16;
	} else {
		memcpy(&d32, c->at, 4);
		insn->disp = d32;
	}
	c->at += size;
	c->left -= size;
	insn->direct = true;
	return 0;
}

static int skip_bytes(struct cursor *c, size_t nr)
{
	if (c->left < nr)
		return -1;
	c->at += nr;
	c->left -= nr;
	return 0;
}

static int skip_modrm_operand(struct cursor *c, int modrm)
{
	int mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return 0;
	if (rm == 4) {
		int sib = next_byte(c);

		if (sib < 0)
			return -1;
		if (mod == 0 && (sib & 7) == 5)
			return skip_bytes(c, 4);
	} else if (mod == 0 && rm == 5) {
		return skip_bytes(c, 4);
	}
	return mod == 1 ? skip_bytes(c, 1) : mod == 2 ? skip_bytes(c, 4) : 0;
}

static int decode_two_bytes(struct cursor *c, struct branch_insn *insn)
{
	int op = next_byte(c);

	if (op >= 0x80 && op <= 0x8f) {
		insn->kind = AUXTAP_BRANCH_COND;
		return read_displacement(c, 4, insn);
	}
	if (op == 0x05 || op == 0x34) {
		insn->kind = AUXTAP_BRANCH_SYSCALL;
		return 0;
	}
	if (op == 0x07 || op == 0x35) { /* sysret, sysexit */
		insn->kind = AUXTAP_BRANCH_FAR;
		return 0;
	}
	if (op == 0x01) { /* vmcall, vmlaunch, vmresume */
		insn->kind = AUXTAP_BRANCH_FAR;
		return skip_bytes(c, 1);
	}
	return -1;
}

static int decode_group5(struct cursor *c, struct branch_insn *insn)
{
	int modrm = next_byte(c);

	if (modrm < 0)
		return -1;
	switch (modrm >> 3 & 7) {
	case 2:
		insn->kind = AUXTAP_BRANCH_CALL_INDIRECT;
		break;
	case 4:
		insn->kind = AUXTAP_BRANCH_JUMP_INDIRECT;
		break;
	case 3:
	case 5:
		insn->kind = AUXTAP_BRANCH_FAR;
		break;
	default:
		return -1;
	}
	return skip_modrm_operand(c, modrm);
}

static int decode_one_byte(struct cursor *c, int op, bool bits_32, struct branch_insn *insn)
{
	int vector;

	if (op >= 0x70 && op <= 0x7f) {
		insn->kind = AUXTAP_BRANCH_COND;
		return read_displacement(c, 1, insn);
	}
	switch (op) {
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		insn->kind = AUXTAP_BRANCH_COND;
		return read_displacement(c, 1, insn);
	case 0xe8:
		insn->kind = AUXTAP_BRANCH_CALL;
		return read_displacement(c, 4, insn);
	case 0xe9:
		insn->kind = AUXTAP_BRANCH_JUMP;
		return read_displacement(c, 4, insn);
	case 0xeb:
		insn->kind = AUXTAP_BRANCH_JUMP;
		return read_displacement(c, 1, insn);
	case 0xc2:
		insn->kind = AUXTAP_BRANCH_RETURN;
		return skip_bytes(c, 2);
	case 0xc3:
		insn->kind = AUXTAP_BRANCH_RETURN;
		return 0;
	case 0xca:
		insn->kind = AUXTAP_BRANCH_FAR;
		return skip_bytes(c, 2);
	case 0xcb:
	case 0xcf:
		insn->kind = AUXTAP_BRANCH_FAR;
		return 0;
	case 0xcc:
	case 0xce:
	case 0xf1:
		insn->kind = AUXTAP_BRANCH_INT;
		return 0;
	case 0xcd:
		vector = next_byte(c);
		insn->kind = vector == 0x80 ? AUXTAP_BRANCH_SYSCALL : AUXTAP_BRANCH_INT;
		return vector < 0 ? -1 : 0;
	case 0x9a:
	case 0xea:
		insn->kind = AUXTAP_BRANCH_FAR;
		return bits_32 ? skip_bytes(c, 6) : -1;
	case 0xff:
		return decode_group5(c, insn);
	default:
		return -1;
	}
}

int branch_insn_decode(const uint8_t *code, size_t avail, bool bits_32, struct branch_insn *insn)
{
	struct cursor c = {code, avail < 15 ? avail : 15};
	int op, ret;

	memset(insn, 0, sizeof(*insn));
	for (;;) {
		op = next_byte(&c);
		if (op == 0xf2 || op == 0xf3 || op == 0x66 || op == 0x67 || op == 0x2e ||
		    op == 0x3e || op == 0x26 || op == 0x36 || op == 0x64 || op == 0x65 ||
		    op == 0xf0)
			continue;
		if (!bits_32 && op >= 0x40 && op <= 0x4f)
			continue;
		break;
	}
	if (op < 0)
		return -1;
	ret = op == 0x0f ? decode_two_bytes(&c, insn) : decode_one_byte(&c, op, bits_32, insn);
	if (ret)
		return -1;
	insn->size = (uint8_t)(c.at - code);
	return 0;
}
