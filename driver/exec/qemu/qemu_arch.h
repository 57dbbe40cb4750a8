/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The facts about an instruction set that the qemu engine needs: system calls, where qemu 7.2 keeps
 * registers, the layout of a signal frame. One table each; the plugin uses one for its lifetime,
 * auxtap-emu one for each process.
 */
#ifndef AUXTAP_QEMU_ARCH_H
#define AUXTAP_QEMU_ARCH_H

#include "hw/hw_types.h"
#include <auxtap/crash.h>

#define QEMU_INSN_MAX 15      /* bytes of an instruction, of any set */
#define QEMU_PAGE     4096ull /* qemu's own choice in user mode, for both */

/* The system calls that the engine handles. */
enum qemu_call {
	QEMU_CALL_OTHER,
	QEMU_CALL_MMAP,
	QEMU_CALL_MPROTECT,
	QEMU_CALL_MUNMAP,
	QEMU_CALL_MREMAP,
	QEMU_CALL_BRK,
	QEMU_CALL_SIGACTION,
	QEMU_CALL_CLONE, /* clone, clone3, fork, vfork */
	QEMU_CALL_EXECVE,
	QEMU_CALL_EXECVEAT,
	QEMU_CALL_PRCTL,
	QEMU_CALL_OPEN,
	QEMU_CALL_OPENAT, /* openat2, too */
	QEMU_CALL_EXIT,	  /* of a thread */
	QEMU_CALL_SECCOMP,
};

/* The start of a thread's CPU state, as far as it is used here. */
union qemu_env {
	struct {
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
	} x86;
	struct {
		u32 regs[16];  /* of the 32-bit state */
		u64 xregs[32]; /* x0 … x30, sp */
		u64 pc;
		u32 pstate; /* without the fields that follow */
		u8 aarch64, thumb;
		u32 hflags;
		u64 hflags2;
		u32 uncached_cpsr, spsr;
		u64 banked_spsr[8];
		u32 banked_r13[8], banked_r14[8], usr_regs[5], fiq_regs[5];
		u32 cf, vf, nf, zf, qf, ge, condexec;
		u32 btype;
	} a64;
};

/* A signal frame built by qemu. */
struct qemu_frame {
	u64 signo, info; /* what its handler got */
	u64 at;		 /* address of its context, against which the next older frame is checked */
	u64 ip, sp;	 /* where the program was interrupted */
};

typedef int qemu_read_fn(u64 addr, void *buf, size_t size); /* all or an error */

struct qemu_arch {
	u32 arch; /* enum auxtap_arch */
	u16 elf_machine;
	const char *name;   /* display name: "64-bit x86" */
	const char *target; /* its name in qemu's plugin interface */
	const char *binary, *cpu;
	/* usual path of its libraries on other machines; NULL: it needs none */
	const char *sysroot;
	const char *triplet;  /* names the directories of its libraries on this machine */
	const char *variable; /* environment variable that names another binary */
	u32 env_size;	      /* of the union's member */
	u32 max_len;	      /* of an instruction */
	u8 max_cls;
	bool samples; /* instructions can be sampled, as SPE does */

	enum qemu_call (*call)(s64 nr);
	/*
	 * Class and flags of a block's last instruction. 0, or -1: no instruction within len bytes.
	 */
	int (*decode)(const u8 *code, size_t len, u8 *cls, u8 *flags);
	/* Does it load a segment register, without an operand in memory? May be NULL. */
	bool (*loads_segment)(const u8 *code, size_t nr);
	/* Does it cross the end of the page, so that qemu lists it but does not run it here? */
	bool (*cut_off)(u64 ip, const u8 *code, size_t len);
	/* Is it an atomic change of memory, by which threads synchronise? NULL: unknown. */
	bool (*orders)(const u8 *code, size_t len);
	/* May a block of one such instruction be one that qemu left before and now restarts? */
	bool (*restarts)(u8 cls);

	u64 (*ip)(const union qemu_env *env);
	u64 (*sp)(const union qemu_env *env);
	void (*set_ip)(union qemu_env *env, u64 ip);
	void (*set_sp)(union qemu_env *env, u64 sp); /* NULL if 'refused' is */
	/*
	 * Can env be the state at the first instruction of a program: all as the ABI sets it; the
	 * stack pointer points to argc?
	 */
	bool (*plausible)(const union qemu_env *env, u64 ip, u64 argc);
	/*
	 * Reads the frame of the handler that starts now, with the stack pointer at sp: of env or,
	 * with 'above', of the state that the newer frame there has saved. 0, or -1: no frame.
	 */
	int (*frame)(const union qemu_env *env, u64 sp, u64 above, qemu_read_fn *read,
		     struct qemu_frame *frame);
	void (*regs)(const union qemu_env *env, struct auxtap_regs *regs);
	u64 vsyscall; /* a page that qemu emulates without code in it; 0: none */
	/* first bytes of qemu's own page with the restorer; 0: the libc contains it */
	u64 sigreturn;
	/* si_code of an undefined instruction and of a breakpoint */
	int ill_code, trap_code;
	/*
	 * The data address of the instruction at ip, if the host reported none. NULL: a processor
	 * would not report it either.
	 */
	bool (*data_addr)(const union qemu_env *env, const u8 *code, size_t nr, u64 *addr);
	bool (*is_canonical)(u64 ip);
	/*
	 * Does a processor refuse the instruction that led to env's address, of this class and with
	 * this code, while qemu executes it and faults afterwards? *sp is the stack pointer before
	 * it. NULL: never.
	 */
	bool (*refused)(const union qemu_env *env, u8 cls, const u8 *code, size_t nr, u64 *sp);
	/* Changes the registers that a processor changes on a system call. NULL: none. */
	void (*enter_call)(union qemu_env *env);
	/* Is it an instruction that a real processor may support and qemu does not? */
	bool (*is_limit)(const u8 *code, size_t nr);
};

extern const struct qemu_arch qemu_arch_x86 __attribute__((visibility("hidden")));
extern const struct qemu_arch qemu_arch_a64 __attribute__((visibility("hidden")));

/* NULL: unsupported. */
const struct qemu_arch *qemu_arch_of_machine(u32 elf_machine) __attribute__((visibility("hidden")));
const struct qemu_arch *qemu_arch_of_target(const char *target)
	__attribute__((visibility("hidden")));
const struct qemu_arch *qemu_arch_of(u32 arch) __attribute__((visibility("hidden")));

/*
 * A thread's CPU state is in a callee-saved host register whenever generated code calls a helper:
 * pass it on as the third argument. The only part that depends on the host.
 */
#if defined(__x86_64__)
#define QEMU_PASS_ENV "movq %rbp, %rdx\n\tjmp "
#elif defined(__aarch64__)
#define QEMU_PASS_ENV "mov x2, x19\n\tb "
#else
#error "which host register holds qemu's CPU state?"
#endif
#define QEMU_CALLBACK_WITH_ENV(name, body)                                              \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n\t" QEMU_PASS_ENV #body \
		"\n.size " #name ", . - " #name "\n");                                  \
	extern void name(unsigned int cpu, void *arg) __attribute__((visibility("hidden")));

#endif
