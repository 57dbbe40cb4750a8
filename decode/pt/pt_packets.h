/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packets of a stream that is read in fragments: a packet may begin in one fragment and
 * end in the next, and the last IP is kept. Used by the packet listing (dump_trace.c).
 */
#ifndef DECODE_PT_PACKETS_H
#define DECODE_PT_PACKETS_H

#include <auxtap/decode.h>

struct pt_packet_stream {
	bool synced; /* the next fragment begins at a packet boundary */
	bool have_ip;
	uint64_t last_ip;
};

/* A packet is at most this long. */
#define PT_PACKET_MAX 16

/*
 * Calls fn for each packet of one fragment. Unless 'last' is set, an incomplete packet at the end
 * is left for the next fragment; *used is the number of bytes that were read. A non-zero result of
 * fn stops and is returned.
 */
int pt_packets_chunk(struct pt_packet_stream *stream, const void *trace, size_t size,
		     uint64_t offset, bool last, size_t *used,
		     int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx,
		     struct auxtap_error *err);

#endif
