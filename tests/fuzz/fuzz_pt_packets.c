// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz target: any bytes as a raw Intel PT stream, whole and in two fragments: the same
 * packets. */
#include "fuzz.h"
#include "decode/pt/pt_packets.h"

#include <stdlib.h>
#include <string.h>

struct sum {
	uint64_t hash, last_end;
};

static int add(void *ctx, const struct auxtap_packet *pkt)
{
	struct sum *sum = ctx;

	if (pkt->offset < sum->last_end || !pkt->nr_bytes ||
	    !memchr(pkt->text, 0, sizeof(pkt->text)))
		abort();
	sum->last_end = pkt->offset + 1;
	/* An error may be reported in parts; the positions of packets must not change.
	 */
	if (strcmp(pkt->name, "error") && strcmp(pkt->name, "skipped"))
		for (const char *p = pkt->text; *p; p++)
			sum->hash =
				(sum->hash ^ (unsigned char)*p ^ pkt->offset) * 0x100000001b3ULL;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct pt_packet_stream stream = {0};
	struct sum whole = {0}, chunks = {0};
	size_t cut = size ? data[size / 2] * size / 256 : 0, used;

	auxtap_pt_packets(data, size, 0, add, &whole, &err);
	pt_packets_chunk(&stream, data, cut, 0, false, &used, add, &chunks, &err);
	if (used > cut || cut - used > PT_PACKET_MAX)
		abort();
	pt_packets_chunk(&stream, data + used, size - used, used, true, &cut, add, &chunks, &err);
	if (whole.hash != chunks.hash || cut != size - used)
		abort();
	return 0;
}
