/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One processor's trace unit, ETMv4 or ETE: registers and instruction trace. An execution engine
 * reports what the processor does (the functions below 'execution'); a driver sees only registers,
 * and the bytes that go to the sink.
 *
 * Thread safety: one unit belongs to one thread at a time.
 */
#ifndef AUXTAP_ETM_UNIT_H
#define AUXTAP_ETM_UNIT_H

#include "a64_insn.h"
#include "etm_encoder.h"

/* Registers, by their offset in the memory-mapped interface (IHI 0064, "Register summary"). */
#define TRCPRGCTLR    0x004
#define TRCSTATR      0x00c
#define TRCCONFIGR    0x010
#define TRCEVENTCTL1R 0x024
#define TRCTSCTLR     0x030
#define TRCSYNCPR     0x034
#define TRCCCCTLR     0x038
#define TRCBBCTLR     0x03c
#define TRCTRACEIDR   0x040
#define TRCVICTLR     0x080
#define TRCCNTRLDVR0  0x140
#define TRCCNTCTLR0   0x150
#define TRCIDR8	      0x180 /* to TRCIDR13: 0x194 */
#define TRCIDR0	      0x1e0 /* to TRCIDR7: 0x1fc */
#define TRCRSCTLR2    0x208
#define TRCRSCTLR3    0x20c
#define TRCAUTHSTATUS 0xfb8
#define TRCDEVARCH    0xfbc

#define TRCPRGCTLR_EN		   (1u << 0)
#define TRCSTATR_IDLE		   (1u << 0)
#define TRCSTATR_PMSTABLE	   (1u << 1)
#define TRCCONFIGR_BB		   (1u << 3)
#define TRCCONFIGR_CCI		   (1u << 4)
#define TRCCONFIGR_CID		   (1u << 6)
#define TRCCONFIGR_VMID		   (1u << 7)
#define TRCCONFIGR_TS		   (1u << 11)
#define TRCCONFIGR_RS		   (1u << 12)
#define TRCBBCTLR_MODE		   (1u << 8)
#define TRCVICTLR_EVENT		   0xffu /* 1: always */
#define TRCVICTLR_SSSTATUS	   (1u << 9)
#define TRCVICTLR_EXLEVEL_S_SHIFT  16 /* a bit for each exception level: not traced */
#define TRCVICTLR_EXLEVEL_NS_SHIFT 20
#define TRCCNTCTLR_RLDSELF	   (1u << 16)
#define TRCRSCTLR_COUNTER0	   (2u << 16 | 1u) /* group 'counter', the first */

/*
 * The contents of the ID registers; fixed for the life of a unit. *clock is the generic counter and
 * also the core's cycle counter: one tick is one cycle. The engine advances it before the call that
 * reports what ran.
 */
struct etm_unit_config {
	const u64 *clock;
	bool ete;
	u8 ete_minor;	 /* ETEv1.n; from 1 on there are timestamp markers */
	u8 max_spec;	 /* ETMv4: TRCIDR8.MAXSPEC; 0: every element is committed at once */
	bool wfx_branch; /* TRCIDR2.WFXMODE: wfi, wfe are P0 instructions */
	u8 cycle_bits;	 /* 12 to 20; 0: 12 */
	bool secure;	 /* Secure state; else Non-secure */
};

/* Destination of the bytes: a sink stores the bytes that it has space for, and counts the rest. */
struct etm_sink {
	void *ctx;
	void (*write)(void *ctx, const u8 *bytes, size_t nr_bytes);
};

#define ETM_NR_RETURNS 15

struct etm_unit {
	struct etm_unit_config config;
	const struct etm_sink *sink;
	struct etm_encoder enc;
	/* registers */
	u32 prgctlr, configr, eventctl1r, tsctlr, syncpr, ccctlr, bbctlr, traceidr, victlr;
	u32 cntrldvr, cntctlr, rsctlr[2];
	/* the processor */
	bool running; /* between etm_unit_enter() and an exception */
	struct etm_context context;
	u64 ip; /* the next instruction */
	/* the trace */
	bool active;	    /* ViewInst: execution is traced, Trace On was sent */
	bool address_due;   /* the previous branch's target must precede the next packet */
	bool exception_ret; /* an Exception Return follows that address */
	bool context_due;   /* a context is sent with that address */
	bool sync_due;	    /* A-Sync is due, regardless of the period */
	bool overflow_due;
	bool counts_cycles; /* TRCCONFIGR.CCI while enabled */
	bool timestamp_due;
	u8 ret_top, ret_depth;
	u64 ret_stack[ETM_NR_RETURNS + 1];
	bool cycles_valid;
	u64 cycles_at;	   /* clock at the last cycle count */
	u64 timestamp_at;  /* clock at which the next timestamp is due */
	u64 sync_at;	   /* nr_produced at which the next A-Sync is due */
	u64 nr_produced;   /* bytes */
	u64 nr_lost_atoms; /* by overflows */
};

void etm_unit_init(struct etm_unit *unit, const struct etm_unit_config *config,
		   const struct etm_sink *sink);

/*
 * ---- registers ---- Unimplemented registers read as zero. A write is refused (-1; hardware
 * ignores it) if the register is read-only or unknown, and while TRCPRGCTLR.EN is set, except to
 * TRCPRGCTLR; reserved bits are ignored. Clearing EN sends all pending packets.
 */
u32 etm_unit_read(const struct etm_unit *unit, u32 reg);
int etm_unit_write(struct etm_unit *unit, u32 reg, u32 value);

/* ---- execution ---- */

/* Sets CONTEXTIDR_EL1 and the VMID. */
void etm_unit_set_context(struct etm_unit *unit, u32 contextid, u32 vmid);
/*
 * The processor continues at ip, at exception level el: after an exception, or for the first time.
 * Code that ran in between was not reported.
 */
void etm_unit_enter(struct etm_unit *unit, u8 el, u64 ip);
/* nr_insns instructions retired, none of which changes the flow. */
void etm_unit_retire(struct etm_unit *unit, u32 nr_insns, u64 next_ip);
/*
 * An instruction of class A64_COND … A64_RET, A64_ISB, A64_WFX or A64_TSTART at ip retired,
 * and target is next. (Not counted by etm_unit_retire.)
 */
void etm_unit_branch(struct etm_unit *unit, enum a64_class cls, u64 ip, u64 target);
/* An A64_ERET at ip retired, to target at exception level el. */
void etm_unit_eret(struct etm_unit *unit, u64 ip, u64 target, u8 el);
/*
 * An exception to EL1: system call, fault, interrupt, signal, end of trace. preferred_return: the
 * instruction after an svc, else the first instruction that has not run. Nothing runs until
 * etm_unit_enter().
 */
void etm_unit_exception(struct etm_unit *unit, enum etm_exception type, u64 preferred_return);
/* External inputs, traced as TRCEVENTCTL1R.INSTEN selects: bits 3:0. */
void etm_unit_event(struct etm_unit *unit, u8 events);
/*
 * The unit's internal buffer overflows: its contents (pending atoms, an address) are lost. The next
 * execution call starts with Overflow and continues at the program's position at that time.
 */
void etm_unit_inject_overflow(struct etm_unit *unit);

#endif
