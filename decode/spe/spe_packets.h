/* SPDX-License-Identifier: BSD-2-Clause */
/* SPE packets out of a stream that comes in fragments. Used by the listing (dump_trace.c). */
#ifndef DECODE_SPE_PACKETS_H
#define DECODE_SPE_PACKETS_H

#include <auxtap/spe.h>

/* Bytes that may have to wait for the next fragment: a packet, a line of pads. */
#define SPE_CARRY_MAX 16

/* Bytes from the start of trace, which is no packet, to the next plausible record, or all. */
size_t spe_bytes_to_record(const void *trace, size_t size);

struct spe_packet_stream {
	uint64_t align_to; /* bytes before this offset are padding */
	bool lost;	   /* in the middle of something that is no packet */
};

/*
 * The packets of one fragment, which begins at offset. With last unset, what only the next fragment
 * can show is left for it: less than SPE_CARRY_MAX bytes; *used says how much was taken.
 */
int spe_packets_chunk(struct spe_packet_stream *stream, const void *trace, size_t size,
		      uint64_t offset, bool last, size_t *used,
		      int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx);

#endif
