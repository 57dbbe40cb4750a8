/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet-level looks at a PT segment: the extent of a PSB+, and where flow can be taken up again
 * after an error.
 */
#ifndef AUXTAP_PT_SCAN_H
#define AUXTAP_PT_SCAN_H

#include "decode/flow/flow_ops.h"

/* Bytes from a PSB to the end of its PSBEND; 0 if there is none within size. */
size_t pt_scan_psb_plus(const uint8_t *data, size_t size);

struct pt_scan_head {
	bool has_tsc, has_fup;
	uint64_t tsc, fup;
	unsigned int nr_status; /* packets that libipt reports as status-update events */
};
/* What the PSB+ at data says. */
void pt_scan_head(const uint8_t *data, size_t size, struct pt_scan_head *head);

/* A position where the trace names the next instruction. */
struct pt_restart {
	size_t end; /* of the packet that names it */
	uint64_t ip;
	bool enable;   /* TIP.PGE: tracing was off before */
	bool overflow; /* bytes were lost in the unit just before (OVF) */
	uint64_t tsc;  /* last one seen on the way; 0: none */
	bool bits_32;  /* execution mode */
};

/*
 * The first TIP, TIP.PGE or FUP after OVF with an address, whose packet ends after
 * 'from'. Addresses are compressed against earlier ones, so the scan begins at the start
 * of the segment. r->tsc and r->bits_32 are input, too. Addresses that usable() refuses are
 * passed over. False: none in [0, size).
 */
bool pt_scan_restart(const uint8_t *data, size_t size, size_t from, struct pt_restart *r,
		     bool (*usable)(void *ctx, uint64_t ip), void *ctx);

#define PT_RESTART_HEADER_MAX 48
/* A PSB+ that starts a decoder at r, to be followed by the bytes after r->end. Its size. */
size_t pt_restart_header(const struct pt_restart *r, uint8_t out[PT_RESTART_HEADER_MAX]);
/*
 * Moves the start of the bytes to such a PSB+, written over packets that are done with (or to the
 * headroom), at the first position after 'from'. Where in the bytes the flow goes on; 0: nowhere.
 */
size_t pt_scan_move(struct flow_bytes *bytes, size_t from, struct pt_restart *r,
		    bool (*usable)(void *ctx, uint64_t ip), void *ctx);

#endif
