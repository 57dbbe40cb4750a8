/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packet encoder of a PT unit, private to driver/hw: bursts of packets (Intel SDM vol. 3,
 * "Trace Packets and Data Types"), their compression state, their timestamps. pt_unit.c decides
 * when a packet is due; pt_encoder.c knows its layout.
 */
#ifndef AUXTAP_PT_ENCODER_H
#define AUXTAP_PT_ENCODER_H

#include "pt_unit.h"

/* Bits of pending_work: reasons to leave the fast path. */
#define PT_WORK_MTC	 0x1  /* MTCEn: an MTC may be due */
#define PT_WORK_OVERFLOW 0x2  /* OVF is pending */
#define PT_WORK_PSB	 0x4  /* PSB+ is pending until after the next branch */
#define PT_WORK_RANGES	 0x8  /* address ranges are set */
#define PT_WORK_TSC	 0x10 /* a TSC packet is due */

#define PT_MODE_NONE 0xff /* last_mode: no MODE.Exec since tracing was switched on */
#define PT_MODE_32   0x02 /* CS.D */
#define PT_MODE_64   0x01 /* CS.L */

#define PT_TNT_MAX   47 /* bits of a long TNT */
#define PT_TNT_SHORT 6
#define PT_RET_MASK  63

/*
 * Packets that go to the output stage as a whole (pt_burst_send()). The longest burst:
 * OVF with its FUP (11 bytes), TSC, TMA, PSB+ (50), MODE, TIP.PGE (9), a CYC (10) before each.
 */
struct pt_burst {
	u8 *at;
	u8 bytes[160];
};

static inline void pt_burst_begin(struct pt_burst *burst)
{
	burst->at = burst->bytes;
}
void pt_burst_send(struct pt_unit *unit, struct pt_burst *burst);

/* Functions with a burst append to it and update the unit's compression state. */
void pt_put_tnt(struct pt_unit *unit, struct pt_burst *burst);
void pt_put_tip(struct pt_unit *unit, struct pt_burst *burst, u64 ip);
void pt_put_tip_pge(struct pt_unit *unit, struct pt_burst *burst, u64 ip);
void pt_put_tip_pgd(struct pt_unit *unit, struct pt_burst *burst);
/* The same with an IP: the branch target outside the filter. */
void pt_put_tip_pgd_to(struct pt_unit *unit, struct pt_burst *burst, u64 ip);
void pt_put_trace_stop(struct pt_unit *unit, struct pt_burst *burst);
void pt_put_fup(struct pt_unit *unit, struct pt_burst *burst, u64 ip);
void pt_put_mode(struct pt_unit *unit, struct pt_burst *burst);
void pt_put_tsc(struct pt_unit *unit, struct pt_burst *burst);
void pt_put_psb(struct pt_unit *unit, struct pt_burst *burst);
void pt_put_overflow(struct pt_unit *unit, struct pt_burst *burst);
/* Puts an MTC if one is due; pending TNT bits are older and precede it. */
void pt_put_mtc(struct pt_unit *unit, struct pt_burst *burst);

/* Sends the pending TNT bits as a packet, with a PSB+ after it if one is due. pt_unit.c */
void pt_unit_send_tnt(struct pt_unit *unit);

/* Resets all state: TraceEn 0 -> 1. A PSB+ is due. */
void pt_encoder_reset(struct pt_unit *unit);
/* Bytes that the pending TNT bits would take. */
u32 pt_tnt_bytes(const struct pt_unit *unit);

#endif
