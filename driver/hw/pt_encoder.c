// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layout of packets (Intel SDM vol. 3, chapter "Intel Processor Trace", section "Packet
 * Definitions"), and the state that a decoder also keeps: last IP, return stack, time. Neighbours:
 * pt_unit.c decides when a packet is due; pt_output.c stores the bytes.
 */
#include "pt_encoder.h"

#define OP_FUP	      0x1d
#define OP_TIP	      0x0d
#define OP_TIP_PGE    0x11
#define OP_TIP_PGD    0x01
#define OP_MODE	      0x99
#define OP_TSC	      0x19
#define OP_MTC	      0x59
#define OP_EXT	      0x02
#define EXT_LONG_TNT  0xa3
#define EXT_PSB	      0x82
#define EXT_PSBEND    0x23
#define EXT_TMA	      0x73
#define EXT_CBR	      0x03
#define EXT_OVF	      0xf3
#define EXT_TRACESTOP 0x83

#define CYC_NOT_COUNTING (~0ull) /* cyc_clock: counting starts at the next packet */
#define MTC_MODULUS	 256	 /* the CTC payload of an MTC has 8 bits */

static u8 *put_le(u8 *at, u64 value, unsigned int nr_bytes)
{
	while (nr_bytes--) {
		*at++ = (u8)value;
		value >>= 8;
	}
	return at;
}

static u8 *put_ext(u8 *at, u8 ext)
{
	*at++ = OP_EXT;
	*at++ = ext;
	return at;
}

void pt_burst_send(struct pt_unit *unit, struct pt_burst *burst)
{
	size_t nr_bytes = burst->at - burst->bytes;

	if (!nr_bytes)
		return;
	unit->nr_produced += nr_bytes;
	pt_output_write(&unit->out, burst->bytes, nr_bytes);
}

/* ---- time: section "Cycle-Accurate Mode", packets TSC, TMA, MTC, CYC, CBR ---- */

static u64 core_clock(const struct pt_unit *unit, u64 tsc)
{
	if (unit->config.core_bus_ratio == unit->config.max_nonturbo_ratio)
		return tsc;
	return tsc * unit->config.core_bus_ratio / unit->config.max_nonturbo_ratio;
}

/* Puts a CYC: the cycles from the last one to that TSC, if there are at least 'threshold'. */
static void put_cyc(struct pt_unit *unit, struct pt_burst *burst, u64 tsc, u64 threshold)
{
	u64 now, count;
	u8 *at = burst->at;

	if (!(unit->ctl & RTIT_CTL_CYCEN))
		return;
	now = core_clock(unit, tsc);
	if (unit->cyc_clock != CYC_NOT_COUNTING && now < unit->cyc_clock)
		return;
	count = now - unit->cyc_clock;
	if (unit->cyc_clock == CYC_NOT_COUNTING) {
		unit->cyc_clock = now;
		return;
	}
	if (!count || count < threshold)
		return;
	unit->cyc_clock = now;
	*at++ = 0x3 | (count & 0x1f) << 3 | (count >> 5 ? 0x4 : 0);
	for (count >>= 5; count; count >>= 7)
		*at++ = (u8)((count & 0x7f) << 1 | (count >> 7 ? 1 : 0));
	burst->at = at;
}

/* CycThresh n: at least 2^(n-1) cycles, 0: any number. */
static u64 cyc_threshold(const struct pt_unit *unit)
{
	unsigned int n = unit->ctl >> RTIT_CTL_CYC_THRESH_SHIFT & 0xf;

	return n ? 1ull << (n - 1) : 0;
}

/* Puts the CYC that precedes a CYC-eligible packet. */
static void put_cyc_before_packet(struct pt_unit *unit, struct pt_burst *burst)
{
	put_cyc(unit, burst, *unit->config.tsc, cyc_threshold(unit));
}

static unsigned int mtc_shift(const struct pt_unit *unit)
{
	return unit->ctl >> RTIT_CTL_MTC_RANGE_SHIFT & 0xf;
}

static u64 tsc_to_ctc(const struct pt_unit *unit, u64 tsc)
{
	u64 n = unit->config.tsc_ctc_n, d = unit->config.tsc_ctc_d;

	return tsc / n * d + tsc % n * d / n;
}

/* The first TSC at which the CTC has this value. */
static u64 ctc_to_tsc(const struct pt_unit *unit, u64 ctc)
{
	u64 n = unit->config.tsc_ctc_n, d = unit->config.tsc_ctc_d;

	return ctc / d * n + (ctc % d * n + d - 1) / d;
}

/* An MTC or TMA with this CTC has been put: computes when the next MTC is due. */
static void note_mtc(struct pt_unit *unit, u64 ctc)
{
	unit->last_mtc = ctc >> mtc_shift(unit);
	unit->next_mtc_tsc = ctc_to_tsc(unit, (unit->last_mtc + 1) << mtc_shift(unit));
}

/* Puts TSC, and if MTCEn also TMA: the current CTC, and the ticks since it changed. */
static u8 *put_tsc_tma(struct pt_unit *unit, u8 *at)
{
	u64 tsc = *unit->config.tsc, ctc, fast;

	*at++ = OP_TSC;
	at = put_le(at, tsc, 7);
	if (!(unit->ctl & RTIT_CTL_MTCEN))
		return at;
	ctc = tsc_to_ctc(unit, tsc);
	fast = tsc - ctc_to_tsc(unit, ctc);
	at = put_ext(at, EXT_TMA);
	at = put_le(at, ctc, 2);
	*at++ = 0;
	at = put_le(at, fast & 0x1ff, 2);
	note_mtc(unit, ctc);
	return at;
}

/*
 * Before a TSC a CYC is sent regardless of the threshold: decoders add the next CYC to the TSC.
 */
void pt_put_tsc(struct pt_unit *unit, struct pt_burst *burst)
{
	put_cyc(unit, burst, *unit->config.tsc, 0);
	burst->at = put_tsc_tma(unit, burst->at);
}

/* ---- branches ---- */

/*
 * From 43 bits on one long TNT (8 bytes) is not larger than several short ones (6 bits per byte).
 */
static bool tnt_is_long(const struct pt_unit *unit)
{
	return unit->nr_tnt > PT_TNT_SHORT * 7;
}

u32 pt_tnt_bytes(const struct pt_unit *unit)
{
	return tnt_is_long(unit) ? 8 : (unit->nr_tnt + PT_TNT_SHORT - 1) / PT_TNT_SHORT;
}

/*
 * Sections "Short TNT" and "Long TNT": a stop bit, then the branches, the oldest in the highest
 * bit. The CYC before them counts up to 'tsc'.
 */
static void put_tnt_at_tsc(struct pt_unit *unit, struct pt_burst *burst, u64 tsc)
{
	unsigned int nr = unit->nr_tnt;
	u64 bits = unit->tnt;
	u8 *at;

	if (!nr)
		return;
	put_cyc(unit, burst, tsc, cyc_threshold(unit));
	at = burst->at;
	if (tnt_is_long(unit)) {
		at = put_ext(at, EXT_LONG_TNT);
		at = put_le(at, bits | 1ull << nr, 6);
	} else {
		for (; nr > PT_TNT_SHORT; nr -= PT_TNT_SHORT)
			*at++ = (u8)((0x40 | (bits >> (nr - PT_TNT_SHORT) & 0x3f)) << 1);
		*at++ = (u8)((1u << nr | (bits & ((1u << nr) - 1))) << 1);
	}
	burst->at = at;
	unit->tnt = 0;
	unit->nr_tnt = 0;
}

void pt_put_tnt(struct pt_unit *unit, struct pt_burst *burst)
{
	put_tnt_at_tsc(unit, burst, *unit->config.tsc);
}

/*
 * Hardware sends an MTC at every change of the CTC bits. Here the unit is called when the engine
 * reports execution: of the changes since the last call only the newest is sent. If there were 256
 * or more, the MTC's 8 bits are ambiguous: TSC is sent instead, if TSCEn. The program may have run
 * past the newest change; CYC counts up to the change, as on hardware: otherwise decoders that
 * calibrate cycles by MTCs would compute a wrong rate.
 */
void pt_put_mtc(struct pt_unit *unit, struct pt_burst *burst)
{
	u64 ctc, tsc;

	if (*unit->config.tsc < unit->next_mtc_tsc)
		return;
	ctc = tsc_to_ctc(unit, *unit->config.tsc);
	if ((ctc >> mtc_shift(unit)) - unit->last_mtc >= MTC_MODULUS &&
	    unit->ctl & RTIT_CTL_TSCEN) {
		pt_put_tnt(unit, burst);
		pt_put_tsc(unit, burst);
		return;
	}
	tsc = ctc_to_tsc(unit, ctc >> mtc_shift(unit) << mtc_shift(unit));
	put_tnt_at_tsc(unit, burst, tsc);
	put_cyc(unit, burst, tsc, cyc_threshold(unit));
	*burst->at++ = OP_MTC;
	*burst->at++ = (u8)(ctc >> mtc_shift(unit));
	note_mtc(unit, ctc);
}

static bool fits_48_bits(u64 ip)
{
	return (u64)((s64)(ip << 16) >> 16) == ip;
}

/* Section "IP Compression", table of IPBytes: the low bytes that differ from the last IP. */
static void put_ip(struct pt_unit *unit, struct pt_burst *burst, u8 op, u64 ip)
{
	u64 diff = ip ^ unit->last_ip;
	u8 *at = burst->at;

	unit->last_ip = ip;
	if (!(diff >> 16)) {
		*at++ = op | 1 << 5;
		burst->at = put_le(at, ip, 2);
	} else if (!(diff >> 32)) {
		*at++ = op | 2 << 5;
		burst->at = put_le(at, ip, 4);
	} else if (fits_48_bits(ip)) {
		*at++ = op | 3 << 5;
		burst->at = put_le(at, ip, 6);
	} else if (!(diff >> 48)) {
		*at++ = op | 4 << 5;
		burst->at = put_le(at, ip, 6);
	} else {
		*at++ = op | 6 << 5;
		burst->at = put_le(at, ip, 8);
	}
}

/* Always the full IP, because perf keeps a stale last IP across PSB and OVF. */
static void put_full_fup(struct pt_unit *unit, struct pt_burst *burst, u64 ip)
{
	bool short_form = fits_48_bits(ip);

	*burst->at++ = OP_FUP | (short_form ? 3 : 6) << 5;
	burst->at = put_le(burst->at, ip, short_form ? 6 : 8);
	unit->last_ip = ip;
}

/* Puts MODE.Exec if the mode has changed; it applies to the TIP or TIP.PGE that follows. */
void pt_put_mode(struct pt_unit *unit, struct pt_burst *burst)
{
	if (unit->mode == unit->last_mode)
		return;
	put_cyc_before_packet(unit, burst);
	*burst->at++ = OP_MODE;
	*burst->at++ = unit->mode;
	unit->last_mode = unit->mode;
}

void pt_put_tip(struct pt_unit *unit, struct pt_burst *burst, u64 ip)
{
	pt_put_tnt(unit, burst);
	pt_put_mode(unit, burst);
	put_cyc_before_packet(unit, burst);
	put_ip(unit, burst, OP_TIP, ip);
}

void pt_put_tip_pge(struct pt_unit *unit, struct pt_burst *burst, u64 ip)
{
	pt_put_mode(unit, burst);
	put_cyc_before_packet(unit, burst);
	put_ip(unit, burst, OP_TIP_PGE, ip);
}

/* The target is outside the traced context, so the packet has no IP (IPBytes 0). */
void pt_put_tip_pgd(struct pt_unit *unit, struct pt_burst *burst)
{
	pt_put_tnt(unit, burst);
	put_cyc_before_packet(unit, burst);
	*burst->at++ = OP_TIP_PGD;
}

void pt_put_tip_pgd_to(struct pt_unit *unit, struct pt_burst *burst, u64 ip)
{
	pt_put_tnt(unit, burst);
	put_cyc_before_packet(unit, burst);
	put_ip(unit, burst, OP_TIP_PGD, ip);
}

void pt_put_trace_stop(struct pt_unit *unit, struct pt_burst *burst)
{
	put_cyc_before_packet(unit, burst);
	burst->at = put_ext(burst->at, EXT_TRACESTOP);
}

/* FUP and a following TIP.PGD are one compound event: the CYC precedes the FUP. */
void pt_put_fup(struct pt_unit *unit, struct pt_burst *burst, u64 ip)
{
	pt_put_tnt(unit, burst);
	put_cyc_before_packet(unit, burst);
	put_ip(unit, burst, OP_FUP, ip);
}

/*
 * Section "Packet Stream Boundary (PSB) Packet", PSB+. It has a FUP, with the full IP, only while
 * packets are enabled. Decoders start here with an empty return stack.
 */
void pt_put_psb(struct pt_unit *unit, struct pt_burst *burst)
{
	u8 *at;
	int i;

	pt_put_tnt(unit, burst);
	put_cyc(unit, burst, *unit->config.tsc, 0);
	unit->psb_at =
		unit->nr_produced + (2048ull << (unit->ctl >> RTIT_CTL_PSB_FREQ_SHIFT & 0xf));
	at = burst->at;
	for (i = 0; i < 8; i++)
		at = put_ext(at, EXT_PSB);
	if (unit->ctl & RTIT_CTL_TSCEN)
		at = put_tsc_tma(unit, at);
	at = put_ext(at, EXT_CBR);
	*at++ = unit->config.core_bus_ratio;
	*at++ = 0;
	*at++ = OP_MODE;
	*at++ = unit->mode;
	burst->at = at;
	unit->last_ip = 0;
	if (unit->packet_en)
		put_full_fup(unit, burst, unit->ip);
	burst->at = put_ext(burst->at, EXT_PSBEND);
	unit->ret_depth = 0;
	unit->pending_work &= ~PT_WORK_PSB;
}

/* Section "Overflow (OVF) Packet"; a PSB+ follows soon, because decoders lose the time here. */
void pt_put_overflow(struct pt_unit *unit, struct pt_burst *burst)
{
	put_cyc_before_packet(unit, burst);
	burst->at = put_ext(burst->at, EXT_OVF);
	unit->last_ip = 0;
	unit->ret_depth = 0;
	unit->psb_at = unit->nr_produced;
	unit->pending_work |= PT_WORK_PSB;
	if (unit->packet_en)
		put_full_fup(unit, burst, unit->ip);
}

void pt_unit_disable_ret_compression(struct pt_unit *unit)
{
	unit->ret_compression_off = true;
	unit->ret_compress = false;
	/*
	 * Calls from here on are not pushed here, but decoders push them: the top of our stack is
	 * no longer the top of theirs.
	 */
	unit->ret_depth = 0;
}

void pt_encoder_reset(struct pt_unit *unit)
{
	bool cyc = unit->ctl & RTIT_CTL_CYCEN;

	unit->packet_en = false;
	unit->ret_compress = !(unit->ctl & RTIT_CTL_DISRETC) && !unit->ret_compression_off;
	unit->pending_work = 0;
	unit->filter_en = true;
	unit->last_mode = PT_MODE_NONE;
	/* With CYC on, TNT packets stay short: one CYC for 47 branches would time them coarsely. */
	unit->tnt_limit = cyc ? PT_TNT_SHORT : PT_TNT_MAX;
	unit->nr_tnt = 0;
	unit->tnt = 0;
	unit->last_ip = 0;
	unit->ret_depth = 0;
	unit->psb_at = unit->nr_produced;
	unit->cyc_clock = CYC_NOT_COUNTING;
	if (unit->ctl & RTIT_CTL_MTCEN)
		note_mtc(unit, tsc_to_ctc(unit, *unit->config.tsc));
}
