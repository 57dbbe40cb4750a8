// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A PT unit: its registers, and the decision when a packet is due (Intel SDM vol. 3, chapter "Intel
 * Processor Trace", sections "Packet Generation Scenarios" and "IA32_RTIT_CTL MSR"). Neighbours:
 * pt_encoder.c, which knows the packets' layout; pt_output.c, which stores them.
 */
#include "pt_run.h"

#define CTL_FIELDS_MTC ((0xfull << RTIT_CTL_MTC_RANGE_SHIFT) | RTIT_CTL_MTCEN)
#define CTL_FIELDS_CYC ((0xfull << RTIT_CTL_CYC_THRESH_SHIFT) | RTIT_CTL_CYCEN)
#define CTL_FIELDS                                                                        \
	(RTIT_CTL_TRACEEN | RTIT_CTL_OS | RTIT_CTL_USR | RTIT_CTL_TOPA | RTIT_CTL_TSCEN | \
	 RTIT_CTL_DISRETC | RTIT_CTL_BRANCHEN | (0xfull << RTIT_CTL_PSB_FREQ_SHIFT) |     \
	 CTL_FIELDS_CYC)

#define ADDR_CFG_BITS	4
#define ADDR_CFG_FILTER 1ull
#define ADDR_CFG_STOP	2ull

#define STATUS_READ_ONLY (RTIT_STATUS_FILTEREN | RTIT_STATUS_CONTEXTEN | RTIT_STATUS_TRIGGEREN)
#define STATUS_WRITABLE	 (RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED)

#define OUTPUT_BASE_RESERVED 0x7full
#define OUTPUT_MASK_ONES     0x7full
#define CR3_MATCH_RESERVED   0x1full

void pt_unit_init(struct pt_unit *unit, const struct pt_unit_config *config,
		  const struct pt_output_bus *bus)
{
	__builtin_memset(unit, 0, sizeof(*unit));
	unit->config = *config;
	if (!unit->config.max_nonturbo_ratio)
		unit->config.max_nonturbo_ratio = unit->config.core_bus_ratio;
	unit->ctl = (u64)(unit->config.mtc_freq & 0xf) << RTIT_CTL_MTC_RANGE_SHIFT;
	if (!config->tsc_ctc_n || !config->tsc_ctc_d)
		unit->ctl = 0;
	unit->mode = PT_MODE_64;
	if (unit->config.nr_ranges > PT_NR_RANGES)
		unit->config.nr_ranges = PT_NR_RANGES;
	pt_output_init(&unit->out, bus);
}

/* ---- address ranges (section "Filtering by IP") ---- */

static unsigned int addr_cfg(u64 ctl, unsigned int n)
{
	return ctl >> (RTIT_CTL_ADDR_CFG_SHIFT + n * ADDR_CFG_BITS) & 0xf;
}

/* Whether ip is in a range with that ADDRn_CFG. *nr: the number of such ranges. */
static bool in_range(const struct pt_unit *unit, unsigned int cfg, u64 ip, unsigned int *nr)
{
	bool found = false;

	*nr = 0;
	for (unsigned int n = 0; n < unit->config.nr_ranges; n++) {
		if (addr_cfg(unit->ctl, n) != cfg)
			continue;
		++*nr;
		found |= ip >= unit->addr[2 * n] && ip <= unit->addr[2 * n + 1];
	}
	return found;
}

static bool in_filter(const struct pt_unit *unit, u64 ip)
{
	unsigned int nr;

	return in_range(unit, ADDR_CFG_FILTER, ip, &nr) || !nr;
}

static bool in_stop_range(const struct pt_unit *unit, u64 ip)
{
	unsigned int nr;

	return in_range(unit, ADDR_CFG_STOP, ip, &nr);
}

static bool canonical(u64 addr)
{
	return (u64)((s64)(addr << 7) >> 7) == addr; /* 57 bits */
}

static bool is_addr_msr(const struct pt_unit *unit, u32 msr)
{
	return msr >= MSR_RTIT_ADDR0_A && msr - MSR_RTIT_ADDR0_A < 2u * unit->config.nr_ranges;
}

/* ---- registers ---- */

static bool trace_en(const struct pt_unit *unit)
{
	return unit->ctl & RTIT_CTL_TRACEEN;
}

static u64 read_status(const struct pt_unit *unit)
{
	u64 status = unit->out.status;

	if (!trace_en(unit))
		return status;
	if (unit->filter_en)
		status |= RTIT_STATUS_FILTEREN;
	if (!(status & STATUS_WRITABLE))
		status |= RTIT_STATUS_TRIGGEREN;
	if (unit->context_en && unit->ctl & RTIT_CTL_USR)
		status |= RTIT_STATUS_CONTEXTEN;
	return status;
}

u64 pt_unit_rdmsr(const struct pt_unit *unit, u32 msr)
{
	if (is_addr_msr(unit, msr))
		return unit->addr[msr - MSR_RTIT_ADDR0_A];
	switch (msr) {
	case MSR_RTIT_CTL:
		return unit->ctl;
	case MSR_RTIT_STATUS:
		return read_status(unit);
	case MSR_RTIT_OUTPUT_BASE:
		return unit->out.base;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		if (unit->out.region) /* output is running: the stage has the offset */
			return (u32)unit->out.mask_ptrs | unit->out.region_off << 32;
		return unit->out.mask_ptrs;
	case MSR_RTIT_CR3_MATCH:
		return unit->cr3_match;
	default:
		return 0;
	}
}

/*
 * Traced user code starts or continues: sends the packets that a decoder needs before its first
 * instruction.
 */
static void begin_packets(struct pt_unit *unit)
{
	struct pt_burst burst;

	if (!(unit->ctl & RTIT_CTL_USR))
		return;
	pt_burst_begin(&burst);
	if (unit->pending_work & PT_WORK_OVERFLOW) {
		unit->pending_work &= ~PT_WORK_OVERFLOW;
		pt_put_overflow(unit, &burst);
	}
	if (unit->nr_produced >= unit->psb_at)
		pt_put_psb(unit, &burst);
	else if (unit->ctl & RTIT_CTL_TSCEN)
		pt_put_tsc(unit, &burst);
	if (unit->ctl & RTIT_CTL_MTCEN) {
		pt_put_mtc(unit, &burst);
		unit->pending_work |= PT_WORK_MTC;
	}
	if (unit->ctl & RTIT_CTL_BRANCHEN) {
		pt_put_tip_pge(unit, &burst, unit->ip);
		unit->packet_en = true;
	}
	pt_burst_send(unit, &burst);
}

static void end_packets(struct pt_unit *unit)
{
	unit->packet_en = false;
	unit->pending_work &= ~(PT_WORK_MTC | PT_WORK_TSC);
}

/*
 * Section "TraceStop": a branch or an event has entered a TraceStop range. Sends TIP.PGD if packets
 * were enabled, and TraceStop; then no packets until TraceEn and STOPPED have been cleared.
 */
static void trace_stop(struct pt_unit *unit)
{
	struct pt_burst burst;

	if (!(unit->ctl & RTIT_CTL_USR))
		return;
	pt_burst_begin(&burst);
	if (unit->pending_work & PT_WORK_OVERFLOW) { /* it occurred outside the filter */
		unit->pending_work &= ~PT_WORK_OVERFLOW;
		pt_put_overflow(unit, &burst);
	}
	if (unit->packet_en)
		pt_put_tip_pgd_to(unit, &burst, unit->ip);
	pt_put_trace_stop(unit, &burst);
	pt_burst_send(unit, &burst);
	end_packets(unit);
	unit->filter_en = false;
	unit->range_stopped = true;
	pt_output_trace_stop(&unit->out);
}

/* User code runs at unit->ip, or TraceEn was set there: starts packets if that address is traced.
 */
static void begin_context(struct pt_unit *unit)
{
	if (unit->range_stopped)
		return;
	if (unit->pending_work & PT_WORK_RANGES) {
		if (in_stop_range(unit, unit->ip)) {
			trace_stop(unit);
			return;
		}
		unit->filter_en = in_filter(unit, unit->ip);
		if (!unit->filter_en)
			return;
	}
	begin_packets(unit);
}

static void send_due_psb(struct pt_unit *unit)
{
	struct pt_burst burst;

	if (unit->nr_produced < unit->psb_at)
		return;
	pt_burst_begin(&burst);
	pt_put_psb(unit, &burst);
	pt_burst_send(unit, &burst);
}

static inline bool has_work(const struct pt_unit *unit)
{
	return __builtin_expect(unit->pending_work, 0) &&
	       (unit->pending_work & ~PT_WORK_MTC || *unit->config.tsc >= unit->next_mtc_tsc);
}

/*
 * Sends pending OVF, TSC and MTC packets, and a PSB that is due. unit->ip is the current position
 * of the program. While filtered out no packet is generated; pending ones stay pending.
 */
static __attribute__((__noinline__)) void put_pending(struct pt_unit *unit)
{
	struct pt_burst burst;

	if (!unit->filter_en)
		return;
	pt_burst_begin(&burst);
	if (unit->pending_work & PT_WORK_OVERFLOW) {
		unit->pending_work &= ~PT_WORK_OVERFLOW;
		pt_put_overflow(unit, &burst);
	}
	if (unit->pending_work & PT_WORK_TSC) {
		unit->pending_work &= ~PT_WORK_TSC;
		pt_put_tnt(unit, &burst);
		pt_put_tsc(unit, &burst);
	}
	if (unit->pending_work & PT_WORK_MTC)
		pt_put_mtc(unit, &burst);
	pt_burst_send(unit, &burst);
	if (!unit->packet_en) /* with BranchEn a PSB waits for the next branch */
		send_due_psb(unit);
}

/* Sends FUP and TIP.PGD: the instruction at unit->ip has not run. */
static void stop_at_ip(struct pt_unit *unit)
{
	struct pt_burst burst;

	if (unit->packet_en) {
		pt_burst_begin(&burst);
		pt_put_fup(unit, &burst, unit->ip);
		pt_put_tip_pgd(unit, &burst);
		pt_burst_send(unit, &burst);
	}
	end_packets(unit);
}

static bool ctl_has_reserved(const struct pt_unit *unit, u64 value)
{
	u64 allowed = CTL_FIELDS;

	if (unit->config.tsc_ctc_n && unit->config.tsc_ctc_d)
		allowed |= CTL_FIELDS_MTC;
	for (unsigned int n = 0; n < unit->config.nr_ranges; n++) {
		if (addr_cfg(value, n) > ADDR_CFG_STOP)
			return true;
		allowed |= 0xfull << (RTIT_CTL_ADDR_CFG_SHIFT + n * ADDR_CFG_BITS);
	}
	return value & ~allowed;
}

/* While TraceEn is set no other bit may change, unless the write clears TraceEn. */
static int write_ctl(struct pt_unit *unit, u64 value)
{
	bool was_on = trace_en(unit);

	if (ctl_has_reserved(unit, value))
		return -1;
	if (was_on && value & RTIT_CTL_TRACEEN)
		return value == unit->ctl ? 0 : -1;
	if (was_on) {
		stop_at_ip(unit);
		pt_output_stop(&unit->out);
	}
	unit->ctl = value;
	if (trace_en(unit)) {
		pt_encoder_reset(unit);
		if (value & RTIT_CTL_USR && value >> RTIT_CTL_ADDR_CFG_SHIFT)
			unit->pending_work |= PT_WORK_RANGES;
		pt_output_start(&unit->out, value & RTIT_CTL_TOPA);
		if (unit->context_en)
			begin_context(unit);
	}
	return 0;
}

int pt_unit_wrmsr(struct pt_unit *unit, u32 msr, u64 value)
{
	if (msr == MSR_RTIT_CTL)
		return write_ctl(unit, value);
	if (trace_en(unit))
		return -1;
	if (is_addr_msr(unit, msr)) {
		if (!canonical(value))
			return -1;
		unit->addr[msr - MSR_RTIT_ADDR0_A] = value;
		return 0;
	}
	switch (msr) {
	case MSR_RTIT_STATUS:
		if (value & ~(STATUS_WRITABLE | STATUS_READ_ONLY))
			return -1;
		unit->out.status = value & STATUS_WRITABLE;
		unit->range_stopped &= !!(value & RTIT_STATUS_STOPPED);
		return 0;
	case MSR_RTIT_OUTPUT_BASE:
		if (value & OUTPUT_BASE_RESERVED)
			return -1;
		unit->out.base = value;
		return 0;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		unit->out.mask_ptrs = value | OUTPUT_MASK_ONES;
		return 0;
	case MSR_RTIT_CR3_MATCH: /* stored; the model has no address spaces: CR3Filter is reserved
				  */
		if (value & CR3_MATCH_RESERVED)
			return -1;
		unit->cr3_match = value;
		return 0;
	default:
		return -1;
	}
}

/* ---- execution ---- */

void pt_unit_set_mode(struct pt_unit *unit, int bits)
{
	unit->mode = bits == 64 ? PT_MODE_64 : PT_MODE_32;
}

void pt_unit_enter_user(struct pt_unit *unit, u64 ip)
{
	if (unit->context_en)
		pt_unit_leave_async(unit, unit->ip);
	unit->ip = ip;
	unit->context_en = true;
	if (trace_en(unit))
		begin_context(unit);
}

void pt_unit_retire(struct pt_unit *unit, u32 nr_insns, u64 next_ip)
{
	(void)nr_insns; /* the machine has counted them in *tsc */
	if (has_work(unit))
		put_pending(unit);
	unit->ip = next_ip;
}

__attribute__((__noinline__)) void pt_unit_send_tnt(struct pt_unit *unit)
{
	struct pt_burst burst;

	pt_burst_begin(&burst);
	pt_put_tnt(unit, &burst);
	pt_burst_send(unit, &burst);
	send_due_psb(unit);
}

static __attribute__((__noinline__)) void send_tip(struct pt_unit *unit, u64 target)
{
	struct pt_burst burst;

	pt_burst_begin(&burst);
	pt_put_tip(unit, &burst, target);
	pt_burst_send(unit, &burst);
	send_due_psb(unit);
}

static inline void add_tnt(struct pt_unit *unit, bool taken)
{
	unit->tnt = unit->tnt << 1 | taken;
	if (++unit->nr_tnt >= unit->tnt_limit)
		pt_unit_send_tnt(unit);
}

/* Every path makes at most one call, as the last step: the common paths save no registers. */
static inline void branch(struct pt_unit *unit, enum x86_class cls, u64 ip, u8 len, u64 target)
{
	unit->ip = target;
	if (!unit->packet_en)
		return;
	if (__builtin_expect(cls == X86_JCC, 1)) {
		add_tnt(unit, target != ip + len);
		return;
	}
	switch (cls) {
	case X86_CALL:
		/* call +0 only reads the IP; decoders do not push its return address */
		if (target != ip + len)
			pt_push_return(unit, ip + len);
		return;
	case X86_CALL_INDIRECT:
		pt_push_return(unit, ip + len);
		send_tip(unit, target);
		return;
	case X86_RET:
		if (pt_pop_return(unit, target))
			add_tnt(unit, true);
		else
			send_tip(unit, target);
		return;
	case X86_JMP_INDIRECT:
	case X86_FAR:
	case X86_SYSCALL:
		send_tip(unit, target);
		return;
	default:
		return;
	}
}

/*
 * Ranges are checked when a branch is taken or an event leads into user code; sequential execution
 * across the border of a range changes nothing. A branch that leaves the filter has no TNT bit:
 * TIP.PGD replaces it.
 */
static __attribute__((__noinline__)) void branch_in_ranges(struct pt_unit *unit, enum x86_class cls,
							   u64 ip, u8 len, u64 target)
{
	bool taken = cls != X86_JCC || target != ip + len;
	bool was = unit->filter_en;
	struct pt_burst burst;

	unit->ip = target;
	if (unit->range_stopped || (taken && in_stop_range(unit, target))) {
		if (!unit->range_stopped)
			trace_stop(unit);
		return;
	}
	if (taken)
		unit->filter_en = in_filter(unit, target);
	if (was && unit->filter_en) {
		branch(unit, cls, ip, len, target);
	} else if (was) {
		if (unit->packet_en) {
			pt_burst_begin(&burst);
			pt_put_tip_pgd_to(unit, &burst, target);
			pt_burst_send(unit, &burst);
		}
		end_packets(unit);
		/*
		 * some decoders do not push for a call that leaves the filter, and none sees the
		 * return
		 */
		unit->ret_depth = 0;
	} else if (unit->filter_en) {
		begin_packets(unit);
	}
}

/*
 * MTCs are trace, too, and an overflow requires a PSB+: so the PSB period is also checked here, not
 * only when branch packets are sent.
 */
static __attribute__((__noinline__)) void
branch_after_pending(struct pt_unit *unit, enum x86_class cls, u64 ip, u8 len, u64 target)
{
	put_pending(unit);
	unit->pending_work &= ~PT_WORK_PSB;
	if (unit->pending_work & PT_WORK_RANGES)
		branch_in_ranges(unit, cls, ip, len, target);
	else
		branch(unit, cls, ip, len, target);
	if (unit->packet_en)
		send_due_psb(unit);
}

void pt_unit_branch(struct pt_unit *unit, enum x86_class cls, u64 ip, u8 len, u64 target)
{
	if (has_work(unit))
		branch_after_pending(unit, cls, ip, len, target);
	else
		branch(unit, cls, ip, len, target);
}

void pt_unit_leave_syscall(struct pt_unit *unit, u64 ip)
{
	struct pt_burst burst;

	if (has_work(unit))
		put_pending(unit);
	unit->ip = ip;
	unit->context_en = false;
	if (unit->packet_en) {
		pt_burst_begin(&burst);
		pt_put_tip_pgd(unit, &burst);
		pt_burst_send(unit, &burst);
	}
	end_packets(unit);
}

void pt_unit_leave_async(struct pt_unit *unit, u64 ip)
{
	if (has_work(unit))
		put_pending(unit);
	unit->ip = ip;
	unit->context_en = false;
	stop_at_ip(unit);
}

/* After TIP.PGD no TSC is needed, because one precedes TIP.PGE anyway. */
void pt_unit_request_tsc(struct pt_unit *unit)
{
	if (unit->ctl & RTIT_CTL_TSCEN && unit->packet_en)
		unit->pending_work |= PT_WORK_TSC;
}

void pt_unit_inject_overflow(struct pt_unit *unit)
{
	if (!trace_en(unit) || !(unit->ctl & RTIT_CTL_USR) || unit->range_stopped)
		return;
	unit->nr_overflow_lost += pt_tnt_bytes(unit);
	unit->nr_tnt = 0;
	unit->tnt = 0;
	unit->pending_work |= PT_WORK_OVERFLOW;
}
