// SPDX-License-Identifier: BSD-2-Clause
/* Lists Intel PT packets, without PAD packets. */
#include "dump_family.h"
#include "decode/pt/pt_packets.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(sizeof(struct pt_packet_stream) <= sizeof(struct dump_stream), "state of a stream");
_Static_assert(PT_PACKET_MAX <= DUMP_CARRY_MAX, "bytes that wait for the next fragment");

/* clang-format off */
static const char *const info_names[AUXTAP_PT_INFO_NR] = {
	"pmu_type",
	"time_shift",
	"time_mult",
	"time_zero",
	"cap_user_time_zero",
	"tsc_bit",
	"noretcomp_bit",
	"have_sched_switch",
	"snapshot_mode",
	"per_cpu_mmaps",
	"mtc_bit",
	"mtc_freq_bits",
	"tsc_ctc_n",
	"tsc_ctc_d",
	"cyc_bit",
	"max_nonturbo_ratio",
	"filter_str_len",
};
/* clang-format on */

static int pt_chunk(struct dump_stream *stream, const void *trace, size_t size, uint64_t offset,
		    bool last, size_t *used, int (*fn)(void *ctx, const struct auxtap_packet *pkt),
		    void *ctx, struct auxtap_error *err)
{
	struct pt_packet_stream state;
	int ret;

	memcpy(&state, stream->state, sizeof(state));
	ret = pt_packets_chunk(&state, trace, size, offset, last, used, fn, ctx, err);
	memcpy(stream->state, &state, sizeof(state));
	return ret;
}

static void pt_print(FILE *out, const struct auxtap_packet *pkt)
{
	char bytes[2 * sizeof(pkt->bytes) + 1];
	const char *operands = pkt->text + strlen(pkt->name);
	bool has_ip_payload = !strncmp(pkt->name, "tip", 3) || !strcmp(pkt->name, "fup");

	if (!strcmp(pkt->name, "pad"))
		return;
	for (unsigned int i = 0; i < pkt->nr_bytes; i++)
		sprintf(bytes + 2 * i, "%02x", pkt->bytes[i]);
	bytes[2 * pkt->nr_bytes] = '\0';
	while (*operands == ' ')
		operands++;
	fprintf(out, "%016" PRIx64 "  %-32s  ", pkt->offset, bytes);
	if (pkt->has_ip)
		fprintf(out, "%-9s  %-25s ip   %016" PRIx64 "\n", pkt->name, operands, pkt->ip);
	else if (has_ip_payload)
		fprintf(out, "%-9s  %-25s ip   <suppressed>\n", pkt->name, operands);
	else if (*operands)
		fprintf(out, "%-9s  %s\n", pkt->name, operands);
	else
		fprintf(out, "%s\n", pkt->name);
}

const struct dump_family dump_family_pt = {
	.info_names = info_names,
	.nr_info_names = AUXTAP_PT_INFO_NR,
	.chunk = pt_chunk,
	.print = pt_print,
};
