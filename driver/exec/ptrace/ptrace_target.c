// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The target of a branch that is not encoded in the instruction: from registers and memory of the
 * traced thread, as the processor would compute it (Intel SDM vol. 2, 2.1.5 and 2.2.1; JMP, CALL,
 * RET, IRET). ptrace_lost.c compares.
 */
#include "ptrace.h"
#include <errno.h>
#include <string.h>

#define REX_W 8
#define REX_X 2
#define REX_B 1

enum { CF = 0x1, PF = 0x4, ZF = 0x40, SF = 0x80, OF = 0x800 };

struct branch {
	u8 code[2 * INSN_MAX + 2]; /* parsing stays within it even if the code changed meanwhile */
	bool two_bytes;		   /* 0f */
	bool opsize, addrsize;	   /* prefixes 66, 67 */
	u8 segment;		   /* prefix 64, 65; others have no meaning */
	u8 rex, opcode;
	unsigned int at; /* after the opcode */
};

/* Reads prefixes and opcode of what is known to be an instruction. */
static bool read_branch(struct ptrace_thread *t, u64 ip, const struct x86_insn *insn,
			struct branch *b)
{
	memset(b, 0, sizeof(*b));
	if (!ptrace_code_bytes(t, ip, b->code, insn->len))
		return false;
	for (; b->at < insn->len; b->at++) {
		u8 byte = b->code[b->at];

		if ((byte & 0xf0) == 0x40) {
			b->rex = byte;
			continue;
		}
		switch (byte) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		case 0x64:
		case 0x65:
			b->segment = byte;
			break;
		case 0x66:
			b->opsize = true;
			break;
		case 0x67:
			b->addrsize = true;
			break;
		case 0x0f:
			b->two_bytes = true;
			b->opcode = b->code[b->at + 1];
			b->at += 2;
			return b->at <= insn->len;
		default:
			b->opcode = byte;
			b->at++;
			return true;
		}
		b->rex = 0; /* effective only right before the opcode */
	}
	return false;
}

static u64 reg(const struct user_regs_struct *r, unsigned int nr)
{
	const u64 regs[16] = {
		r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
		r->r8,	r->r9,	r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
	};

	return regs[nr & 15];
}

static u64 disp(const struct branch *b, unsigned int at, unsigned int nr_bytes)
{
	s32 wide;

	if (nr_bytes == 1)
		return (u64)(s8)b->code[at];
	memcpy(&wide, b->code + at, sizeof(wide));
	return nr_bytes ? (u64)wide : 0;
}

static u64 address(const struct branch *b, const struct user_regs_struct *r, u64 next_ip)
{
	unsigned int mod = b->code[b->at] >> 6, rm = b->code[b->at] & 7, at = b->at + 1;
	unsigned int nr_disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	u64 addr = 0;

	if (rm == 4) {
		u8 sib = b->code[at++];
		unsigned int base = sib & 7;
		unsigned int index = (sib >> 3 & 7) | (b->rex & REX_X ? 8 : 0);

		if (index != 4)
			addr = reg(r, index) << (sib >> 6);
		if (mod == 0 && base == 5)
			nr_disp = 4;
		else
			addr += reg(r, base | (b->rex & REX_B ? 8 : 0));
	} else if (mod == 0 && rm == 5) {
		nr_disp = 4;
		addr = next_ip;
	} else {
		addr = reg(r, rm | (b->rex & REX_B ? 8 : 0));
	}
	addr += disp(b, at, nr_disp);
	if (b->addrsize)
		addr = (u32)addr;
	if (b->segment)
		addr += b->segment == 0x64 ? r->fs_base : r->gs_base;
	return addr;
}

static bool read_word(struct ptrace_thread *t, u64 addr, unsigned int size, u64 *word)
{
	*word = 0;
	return ptrace_mem_read(t->tid, addr, word, size) == (ssize_t)size;
}

static bool condition(unsigned int code, u64 flags)
{
	bool less = !(flags & SF) != !(flags & OF), met = false;

	switch (code >> 1) {
	case 0:
		met = flags & OF;
		break;
	case 1:
		met = flags & CF;
		break;
	case 2:
		met = flags & ZF;
		break;
	case 3:
		met = flags & (CF | ZF);
		break;
	case 4:
		met = flags & SF;
		break;
	case 5:
		met = flags & PF;
		break;
	case 6:
		met = less;
		break;
	case 7:
		met = less || (flags & ZF);
		break;
	default:
		break;
	}
	return met != (code & 1);
}

/* Jcc; loop and similar decrement first. */
static bool taken(const struct branch *b, const struct user_regs_struct *r)
{
	u64 count = b->addrsize ? (u32)r->rcx : r->rcx;

	if (b->two_bytes || (b->opcode & 0xf0) == 0x70)
		return condition(b->opcode & 0xf, r->eflags);
	switch (b->opcode) {
	case 0xe0:
		return count != 1 && !(r->eflags & ZF);
	case 0xe1:
		return count != 1 && (r->eflags & ZF);
	case 0xe2:
		return count != 1;
	default: /* jrcxz */
		return !count;
	}
}

bool ptrace_target(struct ptrace_thread *t, u64 ip, const struct x86_insn *insn,
		   const struct user_regs_struct *regs, u64 *target)
{
	u64 fall_through = ip + insn->len;
	struct branch b;

	if (!read_branch(t, ip, insn, &b))
		return false;
	switch (insn->cls) {
	case X86_JCC:
		*target = taken(&b, regs) ? fall_through + (u64)(s64)insn->disp : fall_through;
		return true;
	case X86_RET:
		/* processors differ in the effect of 66 on near branches */
		return !b.opsize && read_word(t, regs->rsp, 8, target);
	case X86_JMP_INDIRECT:
	case X86_CALL_INDIRECT:
		if (b.opsize)
			return false;
		if (b.code[b.at] >> 6 != 3)
			return read_word(t, address(&b, regs, fall_through), 8, target);
		*target = reg(regs, (b.code[b.at] & 7) | (b.rex & REX_B ? 8 : 0));
		return true;
	case X86_FAR:
		/* iret, retf; not to 16-bit code, and segment bases are ignored */
		if (b.two_bytes || b.opsize ||
		    (b.opcode != 0xca && b.opcode != 0xcb && b.opcode != 0xcf))
			return false;
		return read_word(t, regs->rsp, b.rex & REX_W ? 8 : 4, target);
	default:
		return false;
	}
}
