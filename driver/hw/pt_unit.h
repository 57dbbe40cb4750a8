/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One logical processor's Intel PT unit: registers, packet encoder, output stage. An execution
 * engine reports what the processor does (the calls below 'execution'); a driver sees only
 * registers, memory and the interrupt.
 *
 * Thread safety: one unit belongs to one thread at a time.
 */
#ifndef AUXTAP_PT_UNIT_H
#define AUXTAP_PT_UNIT_H

#include "pt_output.h"
#include "x86_insn.h"

/*
 * What CPUID would report; fixed for the life of a unit.
 *
 * Time. *tsc is the machine's one time-stamp counter. The engine advances it before it makes the
 * call that reports what ran: packets carry the time at which the reported branch retired. The core
 * never sleeps: its clock is TSC * core_bus_ratio / max_nonturbo_ratio, so CYC also counts what
 * runs on other CPUs of the machine, and with equal ratios one cycle is one tick. n / d must be
 * below 512 ticks (the FastCounter of TMA has nine bits).
 */
struct pt_unit_config {
	const u64 *tsc;		  /* the emulated time-stamp counter, advanced by the machine */
	u32 tsc_ctc_n, tsc_ctc_d; /* TSC = CTC * n / d (CPUID 15H: ebx, eax); 0: no MTC */
	/* CTC bits below those in an MTC at reset; RTIT_CTL.MTCFreq counts */
	u8 mtc_freq;
	u8 core_bus_ratio; /* CBR payload */
	u8 max_nonturbo_ratio;
	u8 nr_ranges; /* address ranges, up to PT_NR_RANGES; 0: no IP filtering */
};

#define PT_NR_RANGES 4

struct pt_unit {
	struct pt_unit_config config;
	struct pt_output out;
	u64 ctl; /* RTIT_CTL */
	u64 cr3_match;
	u64 addr[2 * PT_NR_RANGES]; /* RTIT_ADDRn_A, RTIT_ADDRn_B: both inclusive */
	/* no filter, or the last branch or event led into a filter range */
	bool filter_en;
	bool range_stopped; /* a TraceStop range was entered: TriggerEn is 0 */
	/* encoder */
	bool context_en; /* user code runs: packets are generated if TraceEn */
	bool packet_en;	 /* between TIP.PGE and TIP.PGD */
	bool ret_compress;
	bool ret_compression_off; /* by pt_unit_disable_ret_compression() */
	u8 pending_work;	  /* PT_WORK_…: the next execution call must handle it first */
	u8 mode, last_mode; /* MODE.Exec payloads: of the code that runs; of the last packet */
	u8 tnt_limit;	    /* number of pending bits that complete a packet */
	u8 nr_tnt;
	u64 tnt;     /* pending bits, the oldest in the highest bit */
	u64 last_ip; /* IP compression */
	u64 ip;	     /* next instruction of the running program */
	u8 ret_top, ret_depth;
	u64 ret_stack[64];
	u64 psb_at;	      /* nr_produced at which the next PSB+ is due */
	u64 nr_produced;      /* packet bytes: out.nr_written + out.nr_dropped */
	u64 nr_overflow_lost; /* bytes lost to overflows; not in nr_produced */
	u64 cyc_clock;	      /* core clock at the last CYC, or CYC_NOT_COUNTING */
	u64 last_mtc;	      /* CTC >> MTCFreq at the last MTC or TMA */
	u64 next_mtc_tsc;     /* TSC at which the next MTC is due */
};

void pt_unit_init(struct pt_unit *unit, const struct pt_unit_config *config,
		  const struct pt_output_bus *bus);

/*
 * ---- registers ---- rdmsr (0 for an unknown one) and wrmsr: 0, or -1: #GP (reserved bit, or
 * change while TraceEn is set). Drivers run in kernel mode: call pt_unit_leave_…() first. The
 * output stage raises its interrupt within an execution call; the handler may only record it.
 */
u64 pt_unit_rdmsr(const struct pt_unit *unit, u32 msr);
int pt_unit_wrmsr(struct pt_unit *unit, u32 msr, u64 value);

/* ---- execution ---- */

/*
 * The code that runs next is 64- or 32-bit (CS.L and CS.D; 64 after init). MODE.Exec reports it
 * before the next TIP or TIP.PGE.
 */
void pt_unit_set_mode(struct pt_unit *unit, int bits);
/* From now on no return is compressed, as with DisRETC, whatever RTIT_CTL contains. */
void pt_unit_disable_ret_compression(struct pt_unit *unit);
/* The processor goes to user mode; the next instruction is at ip (TIP.PGE when traced). */
void pt_unit_enter_user(struct pt_unit *unit, u64 ip);
/*
 * nr_insns instructions retired in user mode; the last one does not change the flow. Time has
 * passed: an MTC may be sent now, a CYC with the next packet.
 */
void pt_unit_retire(struct pt_unit *unit, u32 nr_insns, u64 next_ip);
/*
 * A branch of class X86_JCC … X86_RET at ip, of len bytes, retired and went to target; or an
 * X86_FAR one that stayed in user mode. (Not counted by pt_unit_retire.) May emit a PSB+ after it.
 */
void pt_unit_branch(struct pt_unit *unit, enum x86_class cls, u64 ip, u8 len, u64 target);
/* The X86_SYSCALL or X86_FAR instruction at ip retired and left user mode: TIP.PGD, no FUP. */
void pt_unit_leave_syscall(struct pt_unit *unit, u64 ip);
/*
 * Interrupt, signal, fault, end of trace: user mode is left before the instruction at ip:
 * FUP, TIP.PGD.
 */
void pt_unit_leave_async(struct pt_unit *unit, u64 ip);
/*
 * Requests a TSC packet before the next branch, if TSCEn: the program's threads are about to affect
 * each other, and without it the trace does not show in which order.
 */
void pt_unit_request_tsc(struct pt_unit *unit);
/*
 * The unit's internal buffer overflows: the packets in it (pending TNT bits) are lost. The next
 * execution call starts with OVF, FUP(full ip) at the program's position at that time; a PSB+
 * follows the next branch. The trace can be decoded up to the last packet before the overflow, and
 * from that FUP on.
 */
void pt_unit_inject_overflow(struct pt_unit *unit);

#endif
