/* SPDX-License-Identifier: BSD-2-Clause */
/* SPE packets and records for use inside the library: the sizes of structs are not checked. */
#ifndef DECODE_SPE_READER_H
#define DECODE_SPE_READER_H

#include <auxtap/spe.h>

/* The position in the trace, which the caller owns. */
struct auxtap_spe_reader {
	const uint8_t *trace;
	size_t size, at;
	uint64_t offset;   /* of trace in its stream */
	uint64_t align_to; /* bytes before this offset are padding */
};

static inline void spe_reader_init(struct auxtap_spe_reader *reader, const void *trace, size_t size,
				   uint64_t offset)
{
	reader->trace = (const uint8_t *)trace;
	reader->size = size;
	reader->at = 0;
	reader->offset = offset;
	reader->align_to = 0;
}

/* Like the public functions, but they neither read nor set the member 'size' of the structs. */
int spe_get_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt);
size_t spe_packet_text(const struct auxtap_spe_packet *pkt, char *text, size_t size);
int spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *record);

#endif
