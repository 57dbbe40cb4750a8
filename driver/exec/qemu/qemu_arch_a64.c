// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An AArch64 program in qemu 7.2: linux-user/aarch64 and CPUARMState, checked at start-up. */
#include "qemu_arch.h"
#include "hw/a64_insn.h"
#include <signal.h>
#include <string.h>

enum { FP = 29, LR = 30, SP = 31 };

/* Offsets in a signal frame from the stack pointer at handler entry: siginfo, then the context. */
#define FRAME_INFO    0
#define FRAME_CONTEXT 128
#define CONTEXT_REGS  184 /* x0 … x30, sp, pc, pstate; from the context */
#define REG(n)	      (CONTEXT_REGS + 8 * (n))
#define FRAME_MAX     (64 * 1024) /* with the largest vectors */

static enum qemu_call call(s64 nr)
{
	switch (nr) {
	case 93:
		return QEMU_CALL_EXIT;
	case 134:
		return QEMU_CALL_SIGACTION;
	case 167:
		return QEMU_CALL_PRCTL;
	case 214:
		return QEMU_CALL_BRK;
	case 215:
		return QEMU_CALL_MUNMAP;
	case 216:
		return QEMU_CALL_MREMAP;
	case 220: /* clone */
	case 435: /* clone3 */
		return QEMU_CALL_CLONE;
	case 221:
		return QEMU_CALL_EXECVE;
	case 222:
		return QEMU_CALL_MMAP;
	case 226:
		return QEMU_CALL_MPROTECT;
	case 277:
		return QEMU_CALL_SECCOMP;
	case 281:
		return QEMU_CALL_EXECVEAT;
	}
	return QEMU_CALL_OTHER;
}

static int decode(const u8 *code, size_t len, u8 *cls, u8 *flags)
{
	*flags = 0;
	*cls = A64_PLAIN;
	if (len != A64_INSN_LEN)
		return -1;
	*cls = a64_insn_decode(code[0] | (u32)code[1] << 8 | (u32)code[2] << 16 |
			       (u32)code[3] << 24)
		       .cls;
	return 0;
}

static bool cut_off(u64 ip, const u8 *code, size_t len)
{
	(void)ip;
	(void)code;
	(void)len;
	return false; /* instructions are aligned */
}

static bool restarts(u8 cls)
{
	return cls == A64_PLAIN; /* the instruction must be a store, which is not a branch */
}

static u64 ip_of(const union qemu_env *env)
{
	return env->a64.pc;
}

static u64 sp_of(const union qemu_env *env)
{
	return env->a64.xregs[SP];
}

static void set_ip(union qemu_env *env, u64 ip)
{
	env->a64.pc = ip;
}

static bool plausible(const union qemu_env *env, u64 ip, u64 argc)
{
	return env->a64.pc == ip && env->a64.xregs[SP] && !(env->a64.xregs[SP] & 15) && argc &&
	       argc < 0x1000000 && env->a64.aarch64 == 1 && !env->a64.thumb;
}

/*
 * Only a handler with SA_SIGINFO gets the addresses of the frame's parts. But every handler gets a
 * frame record, which has the same contents as the context.
 */
static int frame_of(const union qemu_env *env, u64 sp, u64 above, qemu_read_fn *read,
		    struct qemu_frame *frame)
{
	u64 fp, record[2], saved[4]; /* x29 x30 sp pc */

	if (!above) {
		fp = env->a64.xregs[FP];
		frame->signo = env->a64.xregs[0];
	} else if (read(above + REG(FP), &fp, 8) || read(above + REG(0), &frame->signo, 8)) {
		return -1;
	}
	frame->info = sp + FRAME_INFO;
	if (fp - sp > FRAME_MAX || read(fp, record, sizeof(record)) ||
	    read(sp + FRAME_CONTEXT + REG(FP), saved, sizeof(saved)) ||
	    memcmp(record, saved, sizeof(record)))
		return -1;
	frame->at = sp + FRAME_CONTEXT;
	frame->sp = saved[2];
	frame->ip = saved[3];
	return 0;
}

static void regs_of(const union qemu_env *env, struct auxtap_regs *regs)
{
	for (int i = 0; i < 32; i++)
		regs->reg[AUXTAP_A64_X0 + i] = env->a64.xregs[i];
	regs->reg[AUXTAP_A64_PC] = env->a64.pc;
	/* qemu keeps the flags apart: N and V in the sign bits, Z as a zero value */
	regs->reg[AUXTAP_A64_PSTATE] = (env->a64.nf & 0x80000000u) | (u32)!env->a64.zf << 30 |
				       (env->a64.cf & 1) << 29 | (env->a64.vf & 0x80000000u) >> 3 |
				       (env->a64.btype & 3) << 10;
	regs->valid = (1ull << AUXTAP_A64_NR_REGS) - 1;
}

static u64 reg_of(const union qemu_env *env, u32 n)
{
	return env->a64.xregs[n & 31]; /* as a base register 31 is sp, as in this array */
}

static s64 sign_extend(u64 value, u32 bits)
{
	return (s64)(value << (64 - bits)) >> (64 - bits);
}

/* "Load/store register (register offset)": base + extended index. */
static u64 indexed(const union qemu_env *env, u32 code, u32 scale)
{
	u32 option = code >> 13 & 7, rm = code >> 16 & 31;
	u64 index = rm == 31 ? 0 : env->a64.xregs[rm];

	if (option == 2) /* uxtw */
		index = (u32)index;
	else if (option == 6) /* sxtw */
		index = (u64)(s64)(s32)index;
	return reg_of(env, code >> 5) + (code >> 12 & 1 ? index << scale : index);
}

/* "Loads and stores" of the A64 encoding index; false: another, or an unsupported instruction. */
static bool data_addr(const union qemu_env *env, const u8 *bytes, size_t nr, u64 *addr)
{
	u32 code =
		nr < 4 ? 0 :
			 bytes[0] | (u32)bytes[1] << 8 | (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
	bool vector = code >> 26 & 1;
	u32 scale = code >> 30;
	u64 base = reg_of(env, code >> 5);

	if ((code & 0x0a000000) != 0x08000000)
		return false;
	if ((code & 0x3b000000) == 0x18000000) { /* literal */
		*addr = env->a64.pc + (u64)(sign_extend(code >> 5 & 0x7ffff, 19) * 4);
	} else if ((code & 0x3a000000) == 0x28000000) { /* pair: scale by opc */
		u32 pair = vector ? 2 + scale : scale & 2 ? 3 : 2;
		bool post = (code >> 23 & 3) == 1;

		*addr = base + (post ? 0 : (u64)(sign_extend(code >> 15 & 0x7f, 7) * (1 << pair)));
	} else if ((code & 0x3a000000) == 0x38000000) {
		if (vector && code >> 23 & 1)
			scale = 4;
		if (code >> 24 & 1) /* unsigned offset */
			*addr = base + ((u64)(code >> 10 & 0xfff) << scale);
		else if ((code & 0x00200c00) == 0x00200800)
			*addr = indexed(env, code, scale);
		else if (code >> 21 & 1) /* atomics; ldraa too, whose offset is signed in */
			*addr = base;
		else /* unscaled, pre-indexed; post-indexed counts afterwards */
			*addr = base + ((code >> 10 & 3) == 1 ?
						0 :
						(u64)sign_extend(code >> 12 & 0x1ff, 9));
	} else { /* exclusives, acquire and release, structures */
		*addr = base;
	}
	/* the top byte is a tag, which Linux replaces by bit 55 */
	*addr = (u64)((s64)(*addr << 8) >> 8);
	return true;
}

static bool is_canonical(u64 ip)
{
	(void)ip;
	return true; /* addresses that cannot be mapped need no special case */
}

static bool is_limit(const u8 *code, size_t nr)
{
	/* it is unknown which words a newer processor supports: take it for the program's fault */
	(void)code;
	(void)nr;
	return false;
}

const struct qemu_arch qemu_arch_a64 = {
	.arch = AUXTAP_ARCH_AARCH64,
	.elf_machine = 183,
	.name = "AArch64",
	.target = "aarch64",
	.binary = "qemu-aarch64",
	/* qemu signs pointers with its own fast algorithm; the architected one is very slow */
	.cpu = "max,pauth-impdef=on",
	.sysroot = "/usr/aarch64-linux-gnu",
	.triplet = "aarch64-linux-gnu",
	.variable = "AUXTAP_QEMU_AARCH64",
	.env_size = sizeof(((union qemu_env *)0)->a64),
	.max_len = A64_INSN_LEN,
	.max_cls = A64_TSTART,
	.samples = true,
	.call = call,
	.decode = decode,
	.cut_off = cut_off,
	.restarts = restarts,
	.ip = ip_of,
	.sp = sp_of,
	.set_ip = set_ip,
	.plausible = plausible,
	.frame = frame_of,
	.regs = regs_of,
	.sigreturn = 0xd4000001d2801168, /* mov x8, #139; svc #0 */
	.ill_code = ILL_ILLOPC,
	.trap_code = TRAP_BRKPT,
	.data_addr = data_addr,
	.is_canonical = is_canonical,
	.is_limit = is_limit,
};
