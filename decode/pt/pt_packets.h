/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packets out of a stream that comes in fragments: a packet, and the last IP, may
 * go over from one fragment to the next. Used by the packet listing (dump_trace.c).
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
 * The packets of one fragment. With last unset an incomplete packet at the end is left for
 * the next fragment; *used says how much was taken. fn's non-zero result ends it and is
 * returned.
 */
int pt_packets_chunk(struct pt_packet_stream *stream, const void *trace, size_t size,
		     uint64_t offset, bool last, size_t *used,
		     int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx,
		     struct auxtap_error *err);

#endif
