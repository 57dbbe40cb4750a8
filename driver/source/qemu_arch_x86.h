/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the qemu source must know of an x86-64 guest: system call numbers, where qemu 7.2
 * keeps registers, the shape of a signal frame. A second architecture is a second file
 * like this one.
 */
#ifndef AUXTAP_QEMU_ARCH_X86_H
#define AUXTAP_QEMU_ARCH_X86_H

#include "silicon/types.h"
#include "silicon/x86_insn.h"

#define QEMU_ARCH_BINARY  "qemu-x86_64"
#define QEMU_ARCH_CPU	  "max"
#define QEMU_ARCH_TARGET  "x86_64" /* as qemu's plugin interface names it */
#define QEMU_ARCH_ELF_MACHINE 62   /* EM_X86_64 */
#define QEMU_ARCH_PAGE	  4096ull
#define QEMU_ARCH_MAX_LEN 15u
#define QEMU_ARCH_IS_PAGE_END(ip) (((ip) & (QEMU_ARCH_PAGE - 1)) + QEMU_ARCH_MAX_LEN > QEMU_ARCH_PAGE)

#define QEMU_ARCH_IS_CANONICAL(ip) ((s64)((ip) << 16) >> 16 == (s64)(ip))

enum qemu_arch_syscall {
	QEMU_SYS_MMAP = 9,
	QEMU_SYS_MPROTECT = 10,
	QEMU_SYS_MUNMAP = 11,
	QEMU_SYS_BRK = 12,
	QEMU_SYS_SIGACTION = 13,
	QEMU_SYS_MREMAP = 25,
	QEMU_SYS_SHMAT = 30,
	QEMU_SYS_CLONE = 56,
	QEMU_SYS_FORK = 57,
	QEMU_SYS_VFORK = 58,
	QEMU_SYS_EXECVE = 59,
	QEMU_SYS_PRCTL = 157,
	QEMU_SYS_EXECVEAT = 322,
	QEMU_SYS_RSEQ = 334,
	QEMU_SYS_CLONE3 = 435,
};

/* CPUX86State of qemu 7.2: offsets verified at start-up (qemu_arch_env_plausible). */
struct qemu_arch_env {
	u64 regs[16]; /* AX CX DX BX SP BP SI DI R8 … R15 */
	u64 eip;
	u64 eflags;
	u64 cc_dst, cc_src, cc_src2;
	u32 cc_op;
	s32 df;
	u32 hflags, hflags2;
	struct {
		u64 selector; /* 32 bits and padding */
		u64 base;
		u32 limit, flags;
	} segs[6]; /* ES CS SS DS FS GS */
};

enum { QEMU_AX, QEMU_CX, QEMU_DX, QEMU_BX, QEMU_SP, QEMU_BP, QEMU_SI, QEMU_DI };
enum { QEMU_ES, QEMU_CS, QEMU_SS, QEMU_DS, QEMU_FS, QEMU_GS };

/* At the first instruction of a program: ip and the flags as the ABI sets them; rsp points to argc. */
static inline bool qemu_arch_env_plausible(const struct qemu_arch_env *env, u64 ip, u64 argc)
{
	return env->eip == ip && env->regs[QEMU_SP] && !(env->regs[QEMU_SP] & 15) && argc &&
	       argc < 0x1000000 && (u32)env->segs[QEMU_CS].selector == 0x33;
}

/* In sigaction's struct: handler, flags, restorer, mask. */
#define QEMU_SIGACTION_WORDS 3

/* A signal frame, from the stack pointer at handler entry. */
#define QEMU_FRAME_UC	8 /* rdx points there; [rsp] is the restorer */
#define QEMU_UC_SP	160
#define QEMU_UC_IP	168
#define QEMU_SI_CODE	8

/*
 * A thread's CPU state is in a callee-saved host register whenever generated code calls a
 * helper: pass it on as the third argument. The only piece that depends on the host.
 */
#if defined(__x86_64__)
#define QEMU_PASS_ENV "movq %rbp, %rdx\n\tjmp "
#elif defined(__aarch64__)
#define QEMU_PASS_ENV "mov x2, x19\n\tb "
#else
#error "which host register holds qemu's CPU state?"
#endif
#define QEMU_CALLBACK_WITH_ENV(name, body)                                                    \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n\t" QEMU_PASS_ENV #body   \
		"\n.size " #name ", . - " #name "\n");                                       \
	extern void name(unsigned int cpu, void *arg) __attribute__((visibility("hidden")));

#endif
