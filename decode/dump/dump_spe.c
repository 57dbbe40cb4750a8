// SPDX-License-Identifier: BSD-2-Clause
/* Lists Arm SPE packets. */
#include "dump_family.h"
#include "decode/spe/spe_packets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct spe_packet_stream) <= sizeof(struct dump_stream), "state of a stream");
_Static_assert(SPE_CARRY_MAX <= DUMP_CARRY_MAX, "bytes that wait for the next fragment");

static int spe_chunk(struct dump_stream *stream, const void *trace, size_t size, uint64_t offset,
		     bool last, size_t *used, int (*fn)(void *ctx, const struct auxtap_packet *pkt),
		     void *ctx, struct auxtap_error *err)
{
	struct spe_packet_stream state;
	int ret;

	(void)err;
	memcpy(&state, stream->state, sizeof(state));
	ret = spe_packets_chunk(&state, trace, size, offset, last, used, fn, ctx);
	memcpy(stream->state, &state, sizeof(state));
	return ret;
}

static void spe_print(FILE *out, const struct auxtap_packet *pkt)
{
	char bytes[3 * sizeof(pkt->bytes) + 1] = "";

	for (unsigned int i = 0; i < pkt->nr_bytes; i++)
		sprintf(bytes + 3 * i, "%02x ", pkt->bytes[i]);
	fprintf(out, "%08" PRIx64 "  %-49s%s\n", pkt->offset, bytes, pkt->text);
}

const struct dump_family dump_family_spe = {
	.chunk = spe_chunk,
	.print = spe_print,
};
