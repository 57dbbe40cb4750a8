/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about a process at its death: capture writes them to the metadata trailer of the snapshot
 * file (perfdata.h), the report reads them. All numbers are little-endian.
 */
#ifndef AUXTAP_CRASH_H
#define AUXTAP_CRASH_H

#include <auxtap/error.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum auxtap_arch {
	AUXTAP_ARCH_NONE,
	AUXTAP_ARCH_X86_64,
	AUXTAP_ARCH_AARCH64,
};

/* Indices of x86-64 registers, numbered as in <asm/perf_regs.h>. */
enum auxtap_reg_x86 {
	AUXTAP_X86_AX,
	AUXTAP_X86_BX,
	AUXTAP_X86_CX,
	AUXTAP_X86_DX,
	AUXTAP_X86_SI,
	AUXTAP_X86_DI,
	AUXTAP_X86_BP,
	AUXTAP_X86_SP,
	AUXTAP_X86_IP,
	AUXTAP_X86_FLAGS,
	AUXTAP_X86_CS,
	AUXTAP_X86_SS,
	AUXTAP_X86_DS,
	AUXTAP_X86_ES,
	AUXTAP_X86_FS,
	AUXTAP_X86_GS,
	AUXTAP_X86_R8,
	AUXTAP_X86_R9,
	AUXTAP_X86_R10,
	AUXTAP_X86_R11,
	AUXTAP_X86_R12,
	AUXTAP_X86_R13,
	AUXTAP_X86_R14,
	AUXTAP_X86_R15,
	AUXTAP_X86_NR_REGS
};

/* Indices of AArch64 registers, numbered as in <asm/perf_regs.h>; then PSTATE. */
enum auxtap_reg_a64 {
	AUXTAP_A64_X0,
	AUXTAP_A64_FP = 29,
	AUXTAP_A64_LR,
	AUXTAP_A64_SP,
	AUXTAP_A64_PC,
	AUXTAP_A64_PSTATE,
	AUXTAP_A64_NR_REGS
};

#define AUXTAP_NR_REGS 40

/* User registers of one thread. FS and GS of x86-64 are the base addresses. */
struct auxtap_regs {
	uint32_t arch; /* enum auxtap_arch */
	uint32_t reserved;
	uint64_t valid; /* bit n: reg[n] is known */
	uint64_t reg[AUXTAP_NR_REGS];
};

/* Did they execute 32-bit x86 code? Linux has a code segment for it. */
static inline bool auxtap_regs_32bit(const struct auxtap_regs *regs)
{
	return regs->arch == AUXTAP_ARCH_X86_64 && regs->valid >> AUXTAP_X86_CS & 1 &&
	       (regs->reg[AUXTAP_X86_CS] & 0xffff) == 0x23;
}

#define AUXTAP_CRASH_ADDR_VALID	       0x1  /* fault_addr is meaningful */
#define AUXTAP_CRASH_CORE	       0x2  /* the signal's action dumps core */
#define AUXTAP_CRASH_EMULATOR	       0x4  /* it needed what the emulator lacks: not its fault */
#define AUXTAP_CRASH_HANDLED_FAULT     0x8  /* an earlier synchronous fault went to a handler */
#define AUXTAP_CRASH_MEMORY_UNREADABLE 0x10 /* reading the program's memory was refused */
#define AUXTAP_CRASH_INTERRUPTED       0x20 /* no death: a snapshot that the user asked for */
#define AUXTAP_CRASH_EMULATOR_CRASHED  0x40 /* the emulator did: what the program did is unknown */

#define AUXTAP_CRASH_NR_FAULTS 16

/* A signal that an instruction caused, for example SIGSEGV, and that went to a handler. */
struct auxtap_crash_fault {
	uint64_t ip;   /* of the instruction */
	uint64_t time; /* perf time, ns */
	int32_t signo, tid;
};

struct auxtap_crash {
	uint32_t size; /* of this struct */
	uint32_t flags;
	int32_t pid, tid; /* tid: the thread that died */
	int32_t signo;	  /* 0: no crash (snapshot on request or at exit) */
	int32_t si_code;
	int32_t sender_pid; /* sender, for a signal sent by a process */
	int32_t exit_status;
	uint64_t fault_addr;	       /* si_addr */
	uint64_t time;		       /* perf time, ns */
	uint64_t fault_ip, fault_time; /* AUXTAP_CRASH_HANDLED_FAULT: the first such fault */
	int32_t fault_signo, fault_tid;
	char comm[16];
	/*
	 * Not in older files (see size): SIGKILL because the session used more memory than this; 0:
	 * no.
	 */
	uint64_t limit_bytes;
	/*
	 * Not in older files: SIGSEGV because the kernel could not write the frame of the program's
	 * handler for this signal to the stack; 0: no, or unknown.
	 */
	int32_t frame_signo;
	int32_t reserved;
	/*
	 * Not in older files: how many faults went to handlers, and of them the first one and the
	 * newest ones, in their order; where there were more than AUXTAP_CRASH_NR_FAULTS, some
	 * after the first are missing.
	 */
	uint64_t nr_faults;
	struct auxtap_crash_fault faults[AUXTAP_CRASH_NR_FAULTS];
};

/* One for each thread of the dead process, the one that died first. */
struct auxtap_crash_thread {
	uint32_t size;
	int32_t pid, tid;
	uint32_t reserved;
	char comm[16];
	struct auxtap_regs regs;
};

/* Memory of the dead process (top of stacks, code around ip), then 'nr_bytes' bytes. */
struct auxtap_crash_memory {
	uint32_t size;
	int32_t pid;
	uint64_t addr;
	uint64_t nr_bytes;
};

/*
 * Code that the process wrote at run time, as it was executed last, then 'nr_bytes' bytes. It has
 * been so since 'time': what was executed there before is not known.
 */
struct auxtap_crash_code {
	uint32_t size;
	int32_t pid;
	uint64_t addr;
	uint64_t time; /* perf time, ns; 0: always */
	uint64_t nr_bytes;
};

/*
 * Names of such code, then 'nr_bytes' bytes: the lines of /tmp/perf-PID.map, or the records of the
 * jitdump jit-PID.dump. The file is of the process's own root directory, and 'file_pid' the
 * process's number in its namespace.
 */
struct auxtap_crash_code_names {
	uint32_t size;
	int32_t pid;
	int32_t file_pid;
	/* an errno: it was not read. EPERM: not the process's user's; ELOOP: a link; EBADMSG: no
	 * jitdump */
	int32_t error;
	uint32_t cut; /* not 0: there were more lines */
	uint32_t reserved;
	uint64_t nr_bytes;
};

enum auxtap_heap_kind {
	AUXTAP_HEAP_NONE,      /* being written */
	AUXTAP_HEAP_ALLOCATED, /* malloc(), operator new, ... returned the block */
	AUXTAP_HEAP_FREED,     /* free(), operator delete, ... was called */
	AUXTAP_HEAP_KEPT,      /* realloc() could not: the block that it "freed" is as it was */
	AUXTAP_HEAP_MAPPED,    /* by mmap(), mremap(): what was there before is gone */
	AUXTAP_HEAP_UNMAPPED,  /* by munmap(), mremap() */
	/* unknown what: of a block seen before, it may be another one now */
	AUXTAP_HEAP_MISSED,
	AUXTAP_HEAP_THROWN, /* a C++ exception: addr is its object */
};

/* One call of a function that allocates or frees, as the engine saw it. */
struct auxtap_heap_event {
	uint64_t addr;
	uint64_t nr_bytes; /* as asked for; FREED: 0 */
	uint64_t caller;   /* the return address; 0: unknown, of MAPPED and UNMAPPED only */
	int32_t tid;	   /* 0: before the process was forked */
	uint32_t kind;	   /* enum auxtap_heap_kind */
};

#define AUXTAP_CALL_REGS  11
#define AUXTAP_CALL_STACK 512 /* bytes */

/* The caller of a function that allocates or frees, at its entry; for unwinding. */
struct auxtap_heap_call {
	uint64_t sp; /* 0: not known */
	/* that calls preserve; x86-64: rbx, rbp, r12 to r15; AArch64: x19 to x29 */
	uint64_t reg[AUXTAP_CALL_REGS];
	uint32_t nr_stack; /* bytes of the stack from sp on */
	uint32_t returned; /* FREED: 1: the call has returned */
	uint8_t stack[AUXTAP_CALL_STACK];
};

#define AUXTAP_BLOCK_FREED    0x1
#define AUXTAP_BLOCK_BAD_FREE 0x2  /* free() was called again, or with an address inside */
#define AUXTAP_BLOCK_MAPPING  0x4  /* of mmap(), not of the heap; FREED: unmapped */
#define AUXTAP_BLOCK_UNKNOWN  0x8  /* freed, and no allocation of it is known */
#define AUXTAP_BLOCK_RETURNED 0x10 /* FREED: the call that freed it has returned */
/* in use, and the word of glibc's malloc right after it is none that malloc writes */
#define AUXTAP_BLOCK_OVERRUN	   0x20
#define AUXTAP_BLOCK_AFTER_OVERRUN 0x40 /* in use, and the next in memory after that one */
#define AUXTAP_BLOCK_HAS_AFTER_END 0x80 /* OVERRUN: after_end is known */
/* follows a block in use: one that had been in its memory before, and was freed */
#define AUXTAP_BLOCK_BEFORE	0x100
#define AUXTAP_BLOCK_UNRETURNED 0x200 /* FREED: that call had not returned at the death */

#define AUXTAP_MAX_BLOCKS   32 /* of a file: of each pointer at most one */
#define AUXTAP_MAX_OVERRUNS 6  /* OVERRUN and AFTER_OVERRUN, which are apart from those */

/*
 * A block of the heap, or a mapping, that a register of the dying thread, the address of the fault
 * or a word of the stack points into or right past, that the last call freed, or that was written
 * past its end. Return addresses are 0 where the call is not known.
 */
struct auxtap_crash_block {
	uint32_t size;
	uint32_t flags; /* AUXTAP_BLOCK_… */
	uint64_t addr;
	uint64_t nr_bytes; /* of the heap: 0 if allocated_at is 0 */
	uint64_t allocated_at, freed_at;
	uint64_t bad_free_at, bad_free_offset; /* 0: again */
	int32_t allocated_tid, freed_tid, bad_free_tid;
	uint32_t reserved;
	uint64_t after_end; /* HAS_AFTER_END: that word */
};

enum auxtap_block_action {
	AUXTAP_BLOCK_IS_ALLOCATED,
	AUXTAP_BLOCK_IS_FREED,
	AUXTAP_BLOCK_BAD_FREES,
	AUXTAP_BLOCK_IS_THROWN, /* no block: the exception that the thread handled */
	/* of the freed block that is AUXTAP_BLOCK_BEFORE; addr is that of the block in use */
	AUXTAP_BLOCK_WAS_ALLOCATED,
	AUXTAP_BLOCK_WAS_FREED,
};

/* The caller's registers and stack at the call that allocated or freed a block. */
struct auxtap_block_call {
	uint32_t size;
	uint32_t action;      /* enum auxtap_block_action */
	uint64_t addr;	      /* of the block */
	uint64_t return_addr; /* as the block has it */
	struct auxtap_heap_call call;
};

#ifdef __cplusplus
}
#endif
#endif
