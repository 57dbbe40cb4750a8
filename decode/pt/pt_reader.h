/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Intel PT packets, one at a time, by means of libipt. Addresses are returned as they are in
 * the packet, not decompressed.
 */
#ifndef AUXTAP_PT_READER_H
#define AUXTAP_PT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pt_pkt_type {
	PT_PKT_UNKNOWN,
	PT_PKT_PAD,
	PT_PKT_PSB,
	PT_PKT_PSBEND,
	PT_PKT_OVF,
	PT_PKT_STOP,
	PT_PKT_FUP,
	PT_PKT_TIP,
	PT_PKT_TIP_PGE,
	PT_PKT_TIP_PGD,
	PT_PKT_TNT_8,
	PT_PKT_TNT_64,
	PT_PKT_MODE,
	PT_PKT_PIP,
	PT_PKT_VMCS,
	PT_PKT_CBR,
	PT_PKT_TSC,
	PT_PKT_TMA,
	PT_PKT_MTC,
	PT_PKT_CYC,
	PT_PKT_MNT,
	PT_PKT_PTW,
	PT_PKT_EXSTOP,
	PT_PKT_MWAIT,
	PT_PKT_PWRE,
	PT_PKT_PWRX,
};

/* SDM, IPBytes: the packet has some low bytes of the IP; the others are those of the last IP. */
enum pt_ip_bytes {
	PT_IP_NONE,
	PT_IP_16,
	PT_IP_32,
	PT_IP_48_EXTENDED, /* sign-extended */
	PT_IP_48,
	PT_IP_FULL = 6,
};

struct pt_pkt {
	enum pt_pkt_type type;
	uint8_t size;
	union {
		struct {	       /* FUP, TIP… */
			uint8_t bytes; /* enum pt_ip_bytes */
			uint64_t ip;
		} ip;
		struct {
			uint8_t nr;
			uint64_t bits; /* the oldest branch is bit nr - 1 */
		} tnt;
		struct {
			enum { PT_MODE_EXEC, PT_MODE_TSX, PT_MODE_OTHER } leaf;
			uint8_t number; /* of the leaf, as in the packet */
			bool csl, csd;
			bool intx, abrt;
		} mode;
		struct {
			uint64_t cr3;
			bool nr;
		} pip;
		uint64_t vmcs, tsc, cyc, mnt;
		uint8_t cbr, mtc;
		struct {
			uint16_t ctc, fc;
		} tma;
		struct {
			uint8_t plc;
			bool ip;
			uint64_t payload;
		} ptw;
		bool exstop_ip;
		struct {
			uint32_t hints, ext;
		} mwait;
		struct {
			uint8_t state, sub_state;
			bool hw;
		} pwre;
		struct {
			uint8_t last, deepest;
			bool interrupt, store, autonomous;
		} pwrx;
	};
};

struct pt_reader;

/* NULL: out of memory. The bytes must stay valid until the reader is closed. */
struct pt_reader *pt_reader_open(const uint8_t *data, size_t size);
void pt_reader_close(struct pt_reader *reader);
/* The next packet is read at 'at'; false: that is out of range. Call it before the first packet. */
bool pt_reader_seek(struct pt_reader *reader, size_t at);
/* Returns the packet's size; 0: it is incomplete; -1: it is no packet, and *why has the reason. */
int pt_reader_next(struct pt_reader *reader, struct pt_pkt *pkt, const char **why);

/* Whether code after this MODE.Exec is 32-bit code. */
static inline bool pt_mode_is_32(const struct pt_pkt *pkt)
{
	return pkt->mode.leaf == PT_MODE_EXEC && !pkt->mode.csl && pkt->mode.csd;
}

#endif
