/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by the plugin inside qemu and auxtap-emu: one memfd per session, used by every
 * emulated process. The plugin sends block ids; auxtap-emu looks them up and encodes. The guest may
 * overwrite this memory (qemu maps it next to guest memory), so the consumer checks everything it
 * reads. Plugin side: qemu_plugin*.c; host side: qemu_ring.c.
 */
#ifndef AUXTAP_QEMU_SHM_H
#define AUXTAP_QEMU_SHM_H

#include "hw/hw_types.h"
#include <signal.h>

#define QEMU_SHM_MAGIC	 0x71787561 /* "auxq" */
#define QEMU_SHM_VERSION 13

#define QEMU_NR_RECS	 2048
#define QEMU_NR_SLOTS	 4096 /* power of two */
#define QEMU_CHUNK_WORDS 256
#define QEMU_CHUNK_LIMIT (QEMU_CHUNK_WORDS - 40) /* space for one message and a block */
#define QEMU_MAX_BLOCKS	 (256 * 1024)
#define QEMU_LENS_SIZE	 (8 * QEMU_MAX_BLOCKS)
#define QEMU_HASH_SIZE	 (2 * QEMU_MAX_BLOCKS) /* power of two */
#define QEMU_BLOCK_INSNS 512		       /* TCG's own limit for a translation block */
#define QEMU_CODE_SIZE	 (40 * QEMU_MAX_BLOCKS)
#define QEMU_CODE_MAX	 (15 * QEMU_BLOCK_INSNS) /* bytes of a block */

/*
 * The chunk stream of a thread consists of words. A word below QEMU_MSG is the id of a block that
 * started to run; any other starts a message: type in bits 16..23, number of words that follow in
 * 0..15; after those the word QEMU_MSG.
 */
#define QEMU_MSG		0xf0000000u
#define QEMU_MSG_HEAD(type, nr) (QEMU_MSG | (u32)(type) << 16 | (u32)(nr))
#define QEMU_MSG_TYPE(word)	((word) >> 16 & 0xff)
#define QEMU_MSG_LEN(word)	((word)&0xffff)

enum qemu_refused {
	QEMU_REFUSED_SECCOMP,
	QEMU_REFUSED_CLONE_VM,
	QEMU_REFUSED_NR,
};

#define QEMU_MAP_SHARED 0x100 /* besides PROT_… in QEMU_MSG_MAP */

enum qemu_msg {
	/* the process is about to run its first block, and waits for the gate of its record */
	QEMU_MSG_START = 1, /* - */
	QEMU_MSG_SYSCALL,   /* number: the thread is in the kernel, all blocks have completed */
	/* a signal handler starts; ip: where the program was interrupted */
	QEMU_MSG_SIGNAL,   /* signo, si_code, ip (2) */
	QEMU_MSG_VSYSCALL, /* ip (2): the last block went to an address that always faults */
	/*
	 * ip (2), nr | last_len << 16 | cls << 24, flags | generated << 8 | lens, 1 byte each: a
	 * block for which the tables had no space
	 */
	QEMU_MSG_WIDE,
	QEMU_MSG_NAME, /* bytes, NUL-padded: appended to the name of the next message */
	/* addr (2), len (2), pgoff (2), ino (2), prot with QEMU_MAP_SHARED, maj, min */
	QEMU_MSG_MAP,
	QEMU_MSG_PROTECT,  /* addr (2), len (2), prot */
	QEMU_MSG_UNMAP,	   /* addr (2), len (2) */
	QEMU_MSG_REMAP,	   /* old (2), old len (2), new (2), new len (2) */
	QEMU_MSG_COMM,	   /* 4 words of text */
	QEMU_MSG_UNTRACED, /* name: why */
	QEMU_MSG_REFUSED,  /* enum qemu_refused: supported by Linux, not by qemu */
	/* this instruction, in the previous block, which is still running, is a sample */
	QEMU_MSG_SAMPLE, /* ip (2), its word */
	/*
	 * an exception left the last block at ip, where the next block starts; no handler was
	 * entered
	 */
	QEMU_MSG_LEFT, /* ip (2) */
	/* addr (2), bytes | is a store << 16: the first access of the sample */
	QEMU_MSG_DATA,
	/* in a process with threads: the next block may contain an atomic instruction */
	QEMU_MSG_ORDER, /* - */
};

/* A run of instructions, as translated. */
struct qemu_block {
	u64 ip;
	u32 last_off; /* last instruction - ip */
	u32 lens_off; /* in the lens arena: nr_insns bytes */
	u16 nr_insns;
	u8 last_len;
	u8 last_cls;
	u8 last_flags;
	u8 arch; /* enum auxtap_arch */
	/*
	 * Generated code, which may not be in any file. Blocks with different bytes have different
	 * ids. code_size 0: there was no space for the bytes.
	 */
	u8 generated;
	u8 reserved;
	u32 code_off; /* in the code arena */
	u32 code_size;
};

/*
 * State of one emulated thread. After its death auxtap-emu can read what it has executed since its
 * last flush.
 */
struct qemu_rec {
	u32 nr;	   /* words in the open chunk */
	u32 limit; /* value of nr at which the plugin takes the slow path; 0: at the next block */
	u32 word[QEMU_CHUNK_WORDS];
	u32 last_block; /* id of the block before word[0], or QEMU_MSG */
	u32 nr_flushes;
	u32 state; /* enum qemu_rec_state; producer claims, consumer frees */
	s32 pid, tid;
	u32 arch; /* enum auxtap_arch */
	u32 api;  /* version of qemu's plugin interface */
	/* a chunk is being published: reserving is set first, then ticket is its number + 1 */
	u32 reserving;
	u64 ticket;
	u64 env;    /* CPU state of qemu, host address */
	u64 values; /* struct qemu_values, host address; 0: none */
	u64 heap;   /* struct qemu_heap_log of the process, host address; 0: none */
	u64 guest_base;
	u64 stack; /* the stack pointer at the program's first instruction; 0: unknown */
	/* asked_core_limit: qemu has read RLIMIT_CORE, to set it to 0; core_limit: its value */
	u64 core_limit;
	u32 asked_core_limit;
	u32 regs_valid; /* the layout of env is as expected */
	u32 in_syscall;
	s32 syscall_nr;
	/*
	 * bit n - 1: another process sent signal n to the thread; set by its tracer, cleared at
	 * delivery
	 */
	u64 sent;
	u32 dying;     /* the signal with which qemu is about to kill itself */
	u32 exception; /* dying: an exception left the last block at the address in the registers */
	/*
	 * dying: the signal of that exception, if qemu could not write the frame of its handler; 0:
	 * it could, or that is unknown
	 */
	u32 no_frame;
	u32 is_own_crash; /* dying: qemu itself has crashed, not the program */
	/* nr and nr_flushes when an exception last left a block in the middle */
	u32 left_nr, left_flushes;
	u32 gate;   /* futex: the process may start when it is 1 */
	u32 native; /* an exec of a program that will not be traced is under way; reason in text */
	char text[112];
};

enum qemu_rec_state {
	QEMU_REC_FREE,
	QEMU_REC_USED,
	QEMU_REC_CLAIMED = 0x40000000, /* | tid: being filled in by that thread */
};

#define QEMU_SLOT_HELD (1ull << 63)

struct qemu_slot {
	/*
	 * The last ticket + 1 that was claimed for this slot: by its producer, which starts to fill
	 * it, or by the consumer, which gave it up. Producers change it by compare-and-swap; one
	 * that comes too late takes a new ticket. With QEMU_SLOT_HELD: the producer has
	 * not filled it in time, and may still write to it; no other may.
	 */
	u64 claim;
	u64 seq; /* ticket + 1 when complete */
	s32 pid, tid;
	u32 rec;
	u32 nr;
	u32 word[QEMU_CHUNK_WORDS];
};

struct qemu_shm {
	u32 magic, version;
	u32 closed; /* there is no consumer any more: the program runs untraced */
	s32 consumer_pid;
	u32 plugged;	/* a plugin has attached: qemu itself works */
	u32 max_blocks; /* may be set lower than the capacity, for tests */
	u32 max_slots;	/* likewise; power of two */
	u32 sampled;	/* blocks of AArch64 code are translated so that samples can be taken */
	/* interval between samples in instructions (spe_interval.h); 0: no samples */
	u32 pmsirr;
	u32 values; /* bytes of each thread's ring of values (qemu_values.h); 0: none */
	u64 tail __attribute__((aligned(64))); /* next ticket */
	u64 head __attribute__((aligned(64))); /* next ticket to be consumed */
	/* futex: changes when space was freed and producers wait */
	u32 space;
	u32 nr_unrecorded; /* threads for which no record was free */
	/* a producer found inconsistent contents: the memory was overwritten */
	u32 damaged;
	u32 nr_waiting;			       /* producers that wait for space */
	u32 wake __attribute__((aligned(64))); /* futex of the consumer */
	/* the consumer sleeps, and must be woken at this many chunks; 0: it is awake */
	u32 wake_at;
	u32 nr_blocks __attribute__((aligned(64)));
	u32 lens_used;
	u32 code_used;
	struct qemu_slot slot[QEMU_NR_SLOTS] __attribute__((aligned(64)));
	struct qemu_rec rec[QEMU_NR_RECS] __attribute__((aligned(64)));
	u32 hash[QEMU_HASH_SIZE]; /* id + 1; shared memory does not grow */
	struct qemu_block block[QEMU_MAX_BLOCKS];
	u8 lens[QEMU_LENS_SIZE];
	u8 code[QEMU_CODE_SIZE];
};

#define qemu_load(p)	 __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define qemu_store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* Is it a signal that the kernel sent because of an instruction? */
static inline bool qemu_is_fault(int signo, int si_code)
{
	return si_code > 0 && (signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE ||
			       signo == SIGILL || signo == SIGTRAP);
}

#endif
