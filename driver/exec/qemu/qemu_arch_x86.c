// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An x86-64 program in qemu 7.2: linux-user/i386 and CPUX86State, checked at start-up. */
#include "qemu_arch.h"
#include "hw/x86_insn.h"
#include <signal.h>

enum { AX, CX, DX, BX, SP, BP, SI, DI, R11 = 11 };
enum { ES, CS, SS, DS, FS, GS };

#define VSYSCALL     0xffffffffff600000
#define FLAGS_ALWAYS 0x202 /* interrupts are on, and bit 1 is set: qemu-user keeps neither */

/* A signal frame, from the stack pointer at handler entry. */
#define FRAME_UC 8 /* rdx points there; [rsp] is the restorer */
#define UC_DI	 104
#define UC_SI	 112
#define UC_DX	 136
#define UC_SP	 160
#define UC_IP	 168

static enum qemu_call call(s64 nr)
{
	switch (nr) {
	case 2:
		return QEMU_CALL_OPEN;
	case 9:
		return QEMU_CALL_MMAP;
	case 10:
		return QEMU_CALL_MPROTECT;
	case 11:
		return QEMU_CALL_MUNMAP;
	case 12:
		return QEMU_CALL_BRK;
	case 13:
		return QEMU_CALL_SIGACTION;
	case 25:
		return QEMU_CALL_MREMAP;
	case 56:  /* clone */
	case 57:  /* fork */
	case 58:  /* vfork */
	case 435: /* clone3 */
		return QEMU_CALL_CLONE;
	case 59:
		return QEMU_CALL_EXECVE;
	case 60:
		return QEMU_CALL_EXIT;
	case 157:
		return QEMU_CALL_PRCTL;
	case 257: /* openat */
	case 437: /* openat2 */
		return QEMU_CALL_OPENAT;
	case 317:
		return QEMU_CALL_SECCOMP;
	case 322:
		return QEMU_CALL_EXECVEAT;
	}
	return QEMU_CALL_OTHER;
}

static int decode(const u8 *code, size_t len, u8 *cls, u8 *flags)
{
	struct x86_insn x = {0};
	int err = x86_insn_decode(code, (unsigned int)len, 64, &x);

	*cls = x.cls;
	*flags = x.flags;
	return err;
}

/*
 * qemu does not run an instruction that crosses the end of the page and is not the block's first,
 * but still lists it.
 */
static bool cut_off(u64 ip, const u8 *code, size_t len)
{
	struct x86_insn x = {0};

	return (ip & (QEMU_PAGE - 1)) + 15 > QEMU_PAGE &&
	       (x86_insn_decode(code, (unsigned int)len, 64, &x) || x.len != len);
}

/* A LOCK prefix, or xchg with memory, which needs none. */
static bool orders(const u8 *code, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		u8 byte = code[i];

		if (byte == 0xf0)
			return true;
		if (byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
		    (byte >= 0x64 && byte <= 0x67) || byte == 0xf2 || byte == 0xf3 ||
		    (byte & 0xf0) == 0x40)
			continue;
		return (byte & 0xfe) == 0x86 && i + 1 < len && code[i + 1] < 0xc0;
	}
	return false;
}

static bool restarts(u8 cls)
{
	return cls == X86_PLAIN || cls == X86_CALL || cls == X86_CALL_INDIRECT;
}

static u64 ip_of(const union qemu_env *env)
{
	return env->x86.eip;
}

static u64 sp_of(const union qemu_env *env)
{
	return env->x86.regs[SP];
}

static void set_ip(union qemu_env *env, u64 ip)
{
	env->x86.eip = ip;
}

static void set_sp(union qemu_env *env, u64 sp)
{
	env->x86.regs[SP] = sp;
}

static bool plausible(const union qemu_env *env, u64 ip, u64 argc)
{
	return env->x86.eip == ip && env->x86.regs[SP] && !(env->x86.regs[SP] & 15) && argc &&
	       argc < 0x1000000 && (u32)env->x86.segs[CS].selector == 0x33;
}

static int frame_of(const union qemu_env *env, u64 sp, u64 above, qemu_read_fn *read,
		    struct qemu_frame *frame)
{
	u64 dx;

	if (!above) {
		dx = env->x86.regs[DX];
		frame->signo = env->x86.regs[DI];
		frame->info = env->x86.regs[SI];
	} else if (read(above + UC_DX, &dx, 8) || read(above + UC_DI, &frame->signo, 8) ||
		   read(above + UC_SI, &frame->info, 8)) {
		return -1;
	}
	if (dx != sp + FRAME_UC)
		return -1;
	frame->at = sp + FRAME_UC;
	return read(frame->at + UC_IP, &frame->ip, 8) || read(frame->at + UC_SP, &frame->sp, 8) ?
		       -1 :
		       0;
}

static void regs_of(const union qemu_env *env, struct auxtap_regs *regs)
{
	/* clang-format off */
	static const u8 map[16] = {
		AUXTAP_X86_AX, AUXTAP_X86_CX, AUXTAP_X86_DX, AUXTAP_X86_BX,
		AUXTAP_X86_SP, AUXTAP_X86_BP, AUXTAP_X86_SI, AUXTAP_X86_DI,
		AUXTAP_X86_R8, AUXTAP_X86_R9, AUXTAP_X86_R10, AUXTAP_X86_R11,
		AUXTAP_X86_R12, AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15,
	};
	/* clang-format on */
	static const u8 segment[6] = {
		AUXTAP_X86_ES,
		AUXTAP_X86_CS,
		AUXTAP_X86_SS,
		AUXTAP_X86_DS,
	};

	for (int i = 0; i < 16; i++)
		regs->reg[map[i]] = env->x86.regs[i];
	regs->reg[AUXTAP_X86_IP] = env->x86.eip;
	regs->reg[AUXTAP_X86_FLAGS] = env->x86.eflags | FLAGS_ALWAYS;
	for (int i = ES; i <= DS; i++)
		regs->reg[segment[i]] = (u32)env->x86.segs[i].selector & 0xffff;
	regs->reg[AUXTAP_X86_FS] = env->x86.segs[FS].base;
	regs->reg[AUXTAP_X86_GS] = env->x86.segs[GS].base;
	regs->valid = (1ull << AUXTAP_X86_NR_REGS) - 1;
}

static bool is_canonical(u64 ip)
{
	return (s64)(ip << 16) >> 16 == (s64)ip;
}

/* SYSCALL sets rcx to the address of the next instruction and r11 to the flags; qemu does not. */
static void enter_call(union qemu_env *env)
{
	if ((env->x86.eip & ~(QEMU_PAGE - 1)) == VSYSCALL) /* a page fault enters the kernel */
		return;
	env->x86.regs[CX] = env->x86.eip;
	env->x86.regs[R11] = env->x86.eflags | FLAGS_ALWAYS;
}

static bool is_prefix(u8 byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
	       byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* A return, a call or a jump to a non-canonical address. */
static bool refused(const union qemu_env *env, u8 cls, const u8 *code, size_t nr, u64 *sp)
{
	size_t at = 0;

	if (is_canonical(env->x86.eip))
		return false;
	while (at < nr && (is_prefix(code[at]) || (code[at] & 0xf0) == 0x40))
		at++;
	*sp = env->x86.regs[SP];
	if (at >= nr)
		return false;
	if (cls == X86_RET && code[at] == 0xc3) {
		*sp -= 8;
		return true;
	}
	if (cls == X86_RET && code[at] == 0xc2 && at + 3 <= nr) {
		*sp -= 8 + (code[at + 1] | (u64)code[at + 2] << 8);
		return true;
	}
	if (cls == X86_CALL_INDIRECT)
		*sp += 8;
	return (cls == X86_CALL_INDIRECT || cls == X86_JMP_INDIRECT) && code[at] == 0xff;
}

/* mov from a general register to a segment register: it reads a descriptor table. */
static bool loads_segment(const u8 *code, size_t nr)
{
	size_t at = 0;

	while (at < nr && (is_prefix(code[at]) || (code[at] & 0xf0) == 0x40))
		at++;
	return at + 2 <= nr && code[at] == 0x8e && code[at + 1] >> 6 == 3;
}

static bool is_limit(const u8 *code, size_t nr)
{
	struct x86_insn insn;
	size_t at;

	if (nr < 2)
		return false;
	/*
	 * qemu supports all instructions that allow LOCK; with any other it is undefined everywhere
	 */
	for (at = 0; at < nr && is_prefix(code[at]); at++)
		;
	if (at < nr && code[at] == 0xf0)
		return false;
	/* ud0, ud1, ud2 fault by definition; clang writes its ud1 with an address-size prefix */
	at = code[0] == 0x67 ? 1 : 0;
	if (at + 1 < nr && code[at] == 0x0f &&
	    (code[at + 1] == 0x0b || code[at + 1] == 0xb9 || code[at + 1] == 0xff))
		return false;
	return !x86_insn_decode(code, (unsigned int)nr, 64, &insn);
}

const struct qemu_arch qemu_arch_x86 = {
	.arch = AUXTAP_ARCH_X86_64,
	.elf_machine = 62,
	.name = "64-bit x86",
	.target = "x86_64",
	.binary = "qemu-x86_64",
	.cpu = "max",
	.variable = "AUXTAP_QEMU",
	.env_size = sizeof(((union qemu_env *)0)->x86),
	.max_len = 15,
	.max_cls = X86_FAR,
	.call = call,
	.decode = decode,
	.cut_off = cut_off,
	.orders = orders,
	.restarts = restarts,
	.ip = ip_of,
	.sp = sp_of,
	.set_ip = set_ip,
	.set_sp = set_sp,
	.plausible = plausible,
	.frame = frame_of,
	.regs = regs_of,
	.vsyscall = VSYSCALL,
	.ill_code = ILL_ILLOPN,
	.trap_code = SI_KERNEL,
	.is_canonical = is_canonical,
	.refused = refused,
	.enter_call = enter_call,
	.is_limit = is_limit,
	.loads_segment = loads_segment,
};
