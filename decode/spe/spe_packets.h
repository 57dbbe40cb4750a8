/* SPDX-License-Identifier: BSD-2-Clause */
/* SPE packets of a stream that is read in fragments. Used by the packet listing (dump_trace.c). */
#ifndef DECODE_SPE_PACKETS_H
#define DECODE_SPE_PACKETS_H

#include <auxtap/spe.h>

/* At most this many bytes are left for the next fragment: a packet, or a line of PADs. */
#define SPE_CARRY_MAX 16

/* Number of bytes from trace, which is no packet, to the next plausible record or the end. */
size_t spe_bytes_to_record(const void *trace, size_t size);

struct spe_packet_stream {
	uint64_t align_to; /* bytes before this offset are padding */
	bool lost;	   /* the last bytes were no packet: search for a record */
};

/*
 * Calls fn for each packet of one fragment, which begins at offset. Unless 'last' is set, fewer
 * than SPE_CARRY_MAX bytes may be left for the next fragment; *used is the number of bytes parsed.
 * A non-zero result of fn stops and is returned.
 */
int spe_packets_chunk(struct spe_packet_stream *stream, const void *trace, size_t size,
		      uint64_t offset, bool last, size_t *used,
		      int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx);

#endif
