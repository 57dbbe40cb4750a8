/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searches the packets of a PT segment: for the size and contents of a PSB+, and for positions
 * where the decode can restart after an error.
 */
#ifndef AUXTAP_PT_SCAN_H
#define AUXTAP_PT_SCAN_H

#include "decode/flow/flow_ops.h"

/* Size of the PSB+ at data, from PSB to PSBEND; 0 if there is no PSBEND within size. */
size_t pt_psb_plus_size(const uint8_t *data, size_t size);

struct pt_psb_plus {
	bool has_tsc, has_fup;
	uint64_t tsc, fup;
	unsigned int nr_status; /* packets that libipt reports as status-update events */
};
/* Reads the PSB+ at data. */
void pt_psb_plus_read(const uint8_t *data, size_t size, struct pt_psb_plus *psb_plus);

/* A position where the trace has the address of the next instruction. */
struct pt_restart {
	size_t end; /* of the packet with the address */
	uint64_t ip;
	bool enable;   /* TIP.PGE: tracing was off before */
	bool overflow; /* an OVF came right before */
	uint64_t tsc;  /* the newest TSC before it; 0: none */
	bool bits_32;  /* execution mode */
};

/*
 * Finds the first TIP, TIP.PGE, or FUP after OVF, that has an address for which usable() is true
 * and ends after 'from'. data is the start of the segment, as addresses are compressed against
 * earlier ones. r->tsc and r->bits_32 are input, too. False: there is none in [0, size).
 */
bool pt_scan_restart(const uint8_t *data, size_t size, size_t from, struct pt_restart *r,
		     bool (*usable)(void *ctx, uint64_t ip), void *ctx);

#define PT_RESTART_HEADER_MAX 48
/*
 * Writes a PSB+ that makes a decoder start at r, if the bytes after r->end follow it. Returns its
 * size.
 */
size_t pt_restart_header(const struct pt_restart *r, uint8_t out[PT_RESTART_HEADER_MAX]);
/*
 * Restarts at the first position after 'from': writes such a PSB+ over the bytes before r->end, or
 * into the headroom, and makes it the start of bytes. Returns the size of the PSB+, where the
 * following packets begin; 0: there is no such position.
 *
 *	before   PSB+ packets ... error ... TIP | packets ...
 *	after                     PSB+ at its ip | packets ...
 */
size_t pt_scan_move(struct flow_bytes *bytes, size_t from, struct pt_restart *r,
		    bool (*usable)(void *ctx, uint64_t ip), void *ctx);

#endif
