// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Length and flow class of one x86 instruction, from tables in the order of the opcode maps (Intel
 * SDM vol. 2, appendix A "Opcode Map"; XOP and 3DNow: AMD APM vol. 3, appendix A). The decoder
 * accepts more than a processor does: an instruction that faults never retires, so its class is
 * never used.
 */
#include "x86_insn.h"

/* A table entry says what follows the opcode: a flag for modrm, and a kind of immediate. */
#define K_MASK 0x0f
enum imm_kind {
	K_NONE,
	K_B,	   /* 8 bits */
	K_W,	   /* 16 bits */
	K_Z,	   /* 16 or 32 bits by operand size */
	K_V,	   /* 16, 32 or 64 bits by operand size */
	K_WB,	   /* enter: 16 and 8 bits */
	K_MOFFS,   /* an address */
	K_FAR,	   /* offset by operand size, and a selector */
	K_JB,	   /* branch displacement, 8 bits */
	K_JZ,	   /* branch displacement, 16 or 32 bits */
	K_GROUP_B, /* group 3: 8 bits for /0 and /1 only */
	K_GROUP_Z, /* group 3: by operand size for /0 and /1 only */
	K_DWORD,   /* 32 bits (XOP map 10) */
};
#define M   0x10 /* modrm follows */
#define I64 0x20 /* undefined in 64-bit mode */
#define X   0x40 /* undefined */
#define P   0x80 /* prefix or escape: handled before the table is read */

#define B		  K_B
#define Z		  K_Z
#define ALU(last1, last2) M, M, M, M, B, Z, last1, last2
#define R4(v)		  v, v, v, v
#define R8(v)		  R4(v), R4(v)
#define R16(v)		  R8(v), R8(v)

/* each row is a row or half a row of the manual */
/* clang-format off */
static const u8 map1[] = {
	/* 00 */ ALU(I64, I64), ALU(I64, P),
	/* 10 */ ALU(I64, I64), ALU(I64, I64),
	/* 20 */ ALU(P, I64), ALU(P, I64),
	/* 30 */ ALU(P, I64), ALU(P, I64),
	/* 40 */ R16(0),
	/* 50 */ R16(0),
	/* 60 */ I64, I64, M | I64, M, P, P, P, P, Z, M | Z, B, M | B, R4(0),
	/* 70 */ R16(K_JB),
	/* 80 */ M | B, M | Z, M | B | I64, M | B, R4(M), R8(M),
	/* 90 */ R8(0), 0, 0, K_FAR | I64, 0, R4(0),
	/* a0 */ R4(K_MOFFS), R4(0), B, Z, 0, 0, R4(0),
	/* b0 */ R8(B), R8(K_V),
	/* c0 */ M | B, M | B, K_W, 0, M | I64, M | I64, M | B, M | Z,
	/* c8 */ K_WB, 0, K_W, 0, 0, B, I64, 0,
	/* d0 */ R4(M), B | I64, B | I64, I64, 0, R8(M),
	/* e0 */ R4(K_JB), R4(B), K_JZ, K_JZ, K_FAR | I64, K_JB, R4(0),
	/* f0 */ P, 0, P, P, 0, 0, M | K_GROUP_B, M | K_GROUP_Z, R4(0), 0, 0, M, M,
};

static const u8 map_0f[] = {
	/* 00 */ R4(M), X, 0, 0, 0, 0, 0, X, 0, X, M, 0, M | B,
	/* 10 */ R16(M),
	/* 20 */ R4(M), R4(X), R8(M),
	/* 30 */ R4(0), 0, 0, X, 0, P, X, P, X, R4(X),
	/* 40 */ R16(M),
	/* 50 */ R16(M),
	/* 60 */ R16(M),
	/* 70 */ R4(M | B), M, M, M, 0, M, M, X, X, R4(M),
	/* 80 */ R16(K_JZ),
	/* 90 */ R16(M),
	/* a0 */ 0, 0, 0, M, M | B, M, M, M, 0, 0, 0, M, M | B, M, M, M,
	/* b0 */ R8(M), M, M, M | B, M, R4(M),
	/* c0 */ M, M, M | B, M, M | B, M | B, M | B, M, R8(0),
	/* d0 */ R16(M),
	/* e0 */ R16(M),
	/* f0 */ R16(M),
};

/* clang-format on */

#undef B
#undef Z
_Static_assert(sizeof(map1) == 256 && sizeof(map_0f) == 256, "an entry for each opcode");

enum opcode_map {
	MAP_1,
	MAP_0F,
	MAP_0F38,
	MAP_0F3A,
	MAP_EVEX5,
	MAP_EVEX6,
	MAP_XOP8,
	MAP_XOP9,
	MAP_XOPA
};

#define X86_MAX_LEN 15

/* The state of decoding one instruction. */
struct cursor {
	const u8 *code;
	unsigned int avail, at;
	int bits;
	bool opsize, addrsize, rep, repne, lock; /* prefixes 66, 67, f3, f2, f0 */
	u8 rex;
	bool vex; /* VEX, EVEX or XOP encoded */
	enum opcode_map map;
	u8 opcode, modrm;
};

/* The next byte, or -1 at the end of the readable bytes. */
static int next(struct cursor *c)
{
	return c->at < c->avail ? c->code[c->at++] : -1;
}

static int peek(const struct cursor *c)
{
	return c->at < c->avail ? c->code[c->at] : -1;
}

static int skip(struct cursor *c, unsigned int nr_bytes)
{
	if (c->avail - c->at < nr_bytes)
		return -1;
	c->at += nr_bytes;
	return 0;
}

/* SDM vol. 2, 2.1.1 and 2.2.1: prefixes in any order; REX counts only before the opcode. */
static int read_prefixes(struct cursor *c)
{
	for (;;) {
		int byte = peek(c);

		switch (byte) {
		case -1:
			return -1;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		case 0x66:
			c->opsize = true;
			break;
		case 0x67:
			c->addrsize = true;
			break;
		case 0xf0:
			c->lock = true;
			break;
		case 0xf2:
			c->repne = true;
			break;
		case 0xf3:
			c->rep = true;
			break;
		default:
			if (c->bits != 64 || (byte & 0xf0) != 0x40)
				return 0;
			c->rex = (u8)byte;
			c->at++;
			continue;
		}
		c->rex = 0;
		c->at++;
	}
}

/* SDM vol. 2, 2.3 and 2.7: no REX, 66, f2, f3 or lock before a vector prefix. */
static bool vector_prefix_allowed(const struct cursor *c)
{
	return !c->rex && !c->opsize && !c->rep && !c->repne && !c->lock;
}

static int set_vex_map(struct cursor *c, u8 mmmmm)
{
	switch (mmmmm) {
	case 1:
		c->map = MAP_0F;
		return 0;
	case 2:
		c->map = MAP_0F38;
		return 0;
	case 3:
		c->map = MAP_0F3A;
		return 0;
	default:
		return -1;
	}
}

/* VEX2 (c5), VEX3 (c4), EVEX (62), XOP (8f); c->at is after that byte. 1: not a vector prefix. */
static int read_vector_prefix(struct cursor *c, int first)
{
	int p0 = peek(c), p1;

	if (p0 < 0)
		return -1;
	if (first == 0x8f) { /* pop is /0, so its map field is below 8 */
		if ((p0 & 0x1f) < 8)
			return 1;
	} else if (c->bits != 64 && p0 < 0xc0) {
		return 1; /* les, lds, bound, which have no register form */
	}
	if (!vector_prefix_allowed(c))
		return -1;
	c->vex = true;
	c->at++;
	if (first == 0xc5) {
		c->map = MAP_0F;
		return 0;
	}
	p1 = next(c);
	if (p1 < 0)
		return -1;
	if (first == 0xc4)
		return set_vex_map(c, p0 & 0x1f);
	if (first == 0x8f) {
		switch (p0 & 0x1f) {
		case 8:
			c->map = MAP_XOP8;
			return 0;
		case 9:
			c->map = MAP_XOP9;
			return 0;
		case 10:
			c->map = MAP_XOPA;
			return 0;
		default:
			return -1;
		}
	}
	if ((p0 & 0x08) || !(p1 & 0x04) || skip(c, 1))
		return -1;
	switch (p0 & 0x07) {
	case 5:
		c->map = MAP_EVEX5;
		return 0;
	case 6:
		c->map = MAP_EVEX6;
		return 0;
	default:
		return set_vex_map(c, p0 & 0x07);
	}
}

static int read_opcode(struct cursor *c)
{
	int byte = next(c), ret;

	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 || byte == 0x8f) {
		ret = read_vector_prefix(c, byte);
		if (ret < 0)
			return -1;
		if (!ret)
			byte = next(c);
	} else if (byte == 0x0f) {
		byte = next(c);
		c->map = MAP_0F;
		if (byte == 0x38 || byte == 0x3a) {
			c->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
			byte = next(c);
		}
	}
	if (byte < 0)
		return -1;
	c->opcode = (u8)byte;
	return 0;
}

/* The opcode's table entry, or X. */
static unsigned int opcode_form(const struct cursor *c)
{
	unsigned int form;

	switch (c->map) {
	case MAP_1:
		form = map1[c->opcode];
		break;
	case MAP_0F:
		form = map_0f[c->opcode];
		if (c->vex && c->opcode != 0x77) /* vzeroupper */
			form = M | ((form & K_MASK) == K_B ? K_B : 0);
		break;
	case MAP_0F3A:
	case MAP_XOP8:
		return M | K_B;
	case MAP_XOPA:
		return M | K_DWORD;
	default:
		return M;
	}
	if ((form & I64) && c->bits == 64)
		return X;
	return form & P ? X : form;
}

/* SDM vol. 2, 2.1.5 "Addressing-Mode Encoding of ModR/M and SIB Bytes". */
static int read_modrm(struct cursor *c)
{
	int byte = next(c), sib;
	unsigned int mod, rm;

	if (byte < 0)
		return -1;
	c->modrm = (u8)byte;
	mod = byte >> 6;
	rm = byte & 7;
	/* mov to and from control and debug registers treats every mod as 3 */
	if (mod == 3 || (c->map == MAP_0F && !c->vex && c->opcode >= 0x20 && c->opcode <= 0x23))
		return 0;
	if (c->bits != 64 && c->addrsize) { /* 16-bit addresses */
		if (mod == 0)
			return skip(c, rm == 6 ? 2 : 0);
		return skip(c, mod == 1 ? 1 : 2);
	}
	if (rm == 4) {
		sib = next(c);
		if (sib < 0)
			return -1;
		if (mod == 0 && (sib & 7) == 5)
			return skip(c, 4);
	} else if (mod == 0 && rm == 5) {
		return skip(c, 4);
	}
	return skip(c, mod == 0 ? 0 : mod == 1 ? 1 : 4);
}

/* Whether the instruction is an undefined member of an opcode group. */
static bool group_undefined(const struct cursor *c)
{
	unsigned int reg = (c->modrm >> 3) & 7, mod = c->modrm >> 6;

	if (c->map != MAP_1 || c->vex)
		return false;
	switch (c->opcode) {
	case 0x8f:
		return reg != 0;
	case 0xc6:
	case 0xc7: /* f8: xabort, xbegin */
		return reg != 0 && c->modrm != 0xf8;
	case 0xfe:
		return reg > 1;
	case 0xff:
		return reg == 7 || ((reg == 3 || reg == 5) && mod == 3);
	case 0x8d: /* lea */
	case 0x62:
	case 0xc4:
	case 0xc5:
		return mod == 3;
	default:
		return false;
	}
}

static s32 read_le(const u8 *bytes, unsigned int nr_bytes)
{
	if (nr_bytes == 1)
		return (s8)bytes[0];
	if (nr_bytes == 2)
		return (s16)(bytes[0] | bytes[1] << 8);
	return (s32)(bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (u32)bytes[3] << 24);
}

static int read_immediate(struct cursor *c, unsigned int kind, s32 *disp)
{
	bool wide = c->rex & 8;
	unsigned int size_z = c->opsize && !wide ? 2 : 4, size;

	switch (kind) {
	case K_NONE:
		return 0;
	case K_GROUP_B:
		return skip(c, (c->modrm & 0x30) ? 0 : 1);
	case K_GROUP_Z:
		return skip(c, (c->modrm & 0x30) ? 0 : size_z);
	case K_B:
		return skip(c, 1);
	case K_W:
		return skip(c, 2);
	case K_WB:
		return skip(c, 3);
	case K_Z:
		return skip(c, size_z);
	case K_V:
		return skip(c, wide ? 8 : size_z);
	case K_DWORD:
		return skip(c, 4);
	case K_FAR:
		return skip(c, size_z + 2);
	case K_MOFFS:
		if (c->bits == 64)
			return skip(c, c->addrsize ? 4 : 8);
		return skip(c, c->addrsize ? 2 : 4);
	case K_JB:
	case K_JZ:
		/* Near branches of 64-bit mode ignore 66 on Intel processors (the ones with PT). */
		size = kind == K_JB ? 1 : c->bits == 64 ? 4 : size_z;
		if (skip(c, size))
			return -1;
		*disp = read_le(c->code + c->at - size, size);
		return 0;
	default:
		return -1;
	}
}

/* SSE4a: extrq and insertq have two immediate bytes; vmread, with the same opcode, has none. */
static unsigned int sse4a_immediates(const struct cursor *c)
{
	if (c->map == MAP_0F && !c->vex && c->opcode == 0x78 && (c->opsize || c->repne))
		return 2;
	return 0;
}

/*
 * Whether a register form of 0f 01 changes the flow: vmcall, vmlaunch, vmresume, vmrun, vmmcall,
 * eretu and erets, tdcall, seamret, seamcall, uiret. (enclu does not: SGX is not modelled.)
 */
static bool is_far_0f01(const struct cursor *c)
{
	switch (c->modrm) {
	case 0xc1:
	case 0xc2:
	case 0xc3:
	case 0xd8:
	case 0xd9:
		return true;
	case 0xca:
		return c->rep || c->repne;
	case 0xcc:
	case 0xcd:
	case 0xcf:
		return c->opsize;
	case 0xec:
		return c->rep;
	default:
		return false;
	}
}

static enum x86_class classify_0f(const struct cursor *c)
{
	if ((c->opcode & 0xf0) == 0x80)
		return X86_JCC;
	switch (c->opcode) {
	case 0x05: /* syscall */
	case 0x34: /* sysenter */
		return X86_SYSCALL;
	case 0x01:
		return is_far_0f01(c) ? X86_FAR : X86_PLAIN;
	case 0x07: /* sysret */
	case 0x35: /* sysexit */
	case 0xaa: /* rsm */
		return X86_FAR;
	default:
		return X86_PLAIN;
	}
}

/* xbegin and xabort are plain here: transactions (MODE.TSX) are not modelled. */
static enum x86_class classify_1(const struct cursor *c)
{
	static const u8 group5[8] = {X86_PLAIN,	       X86_PLAIN, X86_CALL_INDIRECT, X86_FAR,
				     X86_JMP_INDIRECT, X86_FAR,	  X86_PLAIN,	     X86_PLAIN};

	if ((c->opcode & 0xf0) == 0x70)
		return X86_JCC;
	switch (c->opcode) {
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3: /* loopne, loope, loop, jrcxz */
		return X86_JCC;
	case 0xe8:
		return X86_CALL;
	case 0xe9:
	case 0xeb:
		return X86_JMP;
	case 0xc2:
	case 0xc3:
		return X86_RET;
	case 0x9a:
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xea:
		return X86_FAR;
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xf1: /* int3, int n, into, int1 */
		return X86_SYSCALL;
	case 0xff:
		return group5[(c->modrm >> 3) & 7];
	default:
		return X86_PLAIN;
	}
}

static u8 insn_flags(const struct cursor *c)
{
	u8 op = c->opcode;

	if (op == 0x9c)
		return X86_INSN_PUSHF;
	if (op == 0x9d || op == 0xcf)
		return X86_INSN_POPF;
	if ((c->rep || c->repne) && ((op >= 0x6c && op <= 0x6f) || (op >= 0xa4 && op <= 0xa7) ||
				     (op >= 0xaa && op <= 0xaf)))
		return X86_INSN_REP;
	return 0;
}

int x86_insn_decode(const u8 *code, unsigned int avail, int bits, struct x86_insn *insn)
{
	struct cursor c = {
		.code = code,
		.avail = avail < X86_MAX_LEN ? avail : X86_MAX_LEN,
		.bits = bits,
		.map = MAP_1,
	};
	unsigned int form;
	s32 disp = 0;

	if (read_prefixes(&c) || read_opcode(&c))
		return -1;
	form = opcode_form(&c);
	if (form & X)
		return -1;
	if ((form & M) && read_modrm(&c))
		return -1;
	if (group_undefined(&c))
		return -1;
	if (read_immediate(&c, form & K_MASK, &disp) || skip(&c, sse4a_immediates(&c)))
		return -1;

	insn->len = (u8)c.at;
	insn->cls = X86_PLAIN;
	insn->flags = 0;
	insn->disp = disp;
	if (c.map == MAP_0F && !c.vex)
		insn->cls = classify_0f(&c);
	if (c.map == MAP_1) {
		insn->cls = classify_1(&c);
		insn->flags = insn_flags(&c);
	}
	return 0;
}
