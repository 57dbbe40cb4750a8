/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One logical processor's Intel PT unit: registers, packet encoder, output stage.
 * An execution source tells it what the processor does (the calls below 'execution'); a
 * driver sees only registers, memory and the interrupt.
 * Thread safety: one unit belongs to one thread at a time.
 */
#ifndef AUXTAP_PT_UNIT_H
#define AUXTAP_PT_UNIT_H

#include "pt_output.h"
#include "x86_insn.h"

/* What CPUID would tell; fixed for the life of a unit. */
struct pt_unit_config {
	const u64 *tsc;		 /* the emulated time-stamp counter, advanced by the machine */
	u32 tsc_ctc_n, tsc_ctc_d; /* TSC = CTC * n / d (CPUID 15H: ebx, eax) */
	u8 mtc_freq;		 /* overridden by RTIT_CTL.MTCFreq */
	u8 core_bus_ratio;	 /* CBR payload */
	u8 max_nonturbo_ratio;
};

struct pt_unit {
	struct pt_unit_config config;
	struct pt_output out;
	u64 ctl;      /* RTIT_CTL */
	u64 cr3_match;
	/* encoder */
	bool context_en; /* user code runs: packets are generated if TraceEn */
	bool packet_en;	 /* between TIP.PGE and TIP.PGD */
	bool need_psb;
	u64 last_ip;	 /* IP compression */
	u64 ip;		 /* next instruction of the running program */
	u64 tnt;	 /* pending bits, oldest highest */
	u8 nr_tnt;
	u8 ret_top, ret_depth;
	u64 ret_stack[64];
	u64 psb_at;	 /* nr_produced at which the next PSB+ is due */
	u64 nr_produced; /* packet bytes, written or not */
	u64 cycles;	 /* since the unit was made */
	u64 cyc_sent;	 /* cycles at the last CYC */
	u64 last_mtc_ctc;
	bool overflow;	 /* bytes were dropped by inject_overflow: OVF is owed */
};

void pt_unit_init(struct pt_unit *unit, const struct pt_unit_config *config,
		  const struct pt_output_bus *bus);

/* ---- registers: what rdmsr and wrmsr do. 0, or -1: a #GP (reserved bit, or change while TraceEn) ---- */
u64 pt_unit_rdmsr(const struct pt_unit *unit, u32 msr);
int pt_unit_wrmsr(struct pt_unit *unit, u32 msr, u64 value);

/* ---- execution ---- */

/* The processor goes to user mode; the next instruction is at ip (TIP.PGE when traced). */
void pt_unit_enter_user(struct pt_unit *unit, u64 ip);
/* nr_insns instructions retired in user mode, the last one does not change the flow; time moves (MTC, CYC at the next packet). */
void pt_unit_retire(struct pt_unit *unit, u32 nr_insns, u64 next_ip);
/*
 * A branch of class X86_JCC … X86_RET at ip, of len bytes, retired and went to target.
 * (Not counted by pt_unit_retire.) May emit PSB+ behind it.
 */
void pt_unit_branch(struct pt_unit *unit, enum x86_class cls, u64 ip, u8 len, u64 target);
/* An instruction of class X86_SYSCALL or X86_FAR at ip retired and left user mode: TIP.PGD, no FUP. */
void pt_unit_leave_syscall(struct pt_unit *unit, u64 ip);
/* Interrupt, signal, fault, end of trace: user mode is left before the instruction at ip: FUP, TIP.PGD. */
void pt_unit_leave_async(struct pt_unit *unit, u64 ip);
/* The unit's internal buffer overflows: until the next execution call packets are lost, then OVF, FUP(ip). */
void pt_unit_inject_overflow(struct pt_unit *unit);

#endif
