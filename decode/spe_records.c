// SPDX-License-Identifier: BSD-2-Clause
/* SPE records: the packets of one sampled operation, up to its time stamp or END. */
#include "spe_packets.h"

#include <errno.h>
#include <string.h>

/* What a packet tells of, as a bit of has; 0: nothing that a record keeps. */
static uint32_t fact_of(const struct auxtap_spe_packet *pkt)
{
	static const uint32_t addresses[] = {
		[AUXTAP_SPE_ADDR_PC] = AUXTAP_SPE_HAS_PC,
		[AUXTAP_SPE_ADDR_TARGET] = AUXTAP_SPE_HAS_TARGET,
		[AUXTAP_SPE_ADDR_VIRT] = AUXTAP_SPE_HAS_VIRT,
		[AUXTAP_SPE_ADDR_PHYS] = AUXTAP_SPE_HAS_PHYS,
		[AUXTAP_SPE_ADDR_PREV_TARGET] = AUXTAP_SPE_HAS_PREV_TARGET,
	};
	static const uint32_t counters[] = {
		[AUXTAP_SPE_LAT_TOTAL] = AUXTAP_SPE_HAS_LAT_TOTAL,
		[AUXTAP_SPE_LAT_ISSUE] = AUXTAP_SPE_HAS_LAT_ISSUE,
		[AUXTAP_SPE_LAT_XLAT] = AUXTAP_SPE_HAS_LAT_XLAT,
	};

	switch (pkt->type) {
	case AUXTAP_SPE_ADDRESS:
		return pkt->index < sizeof(addresses) / sizeof(addresses[0])
			       ? addresses[pkt->index]
			       : 0;
	case AUXTAP_SPE_COUNTER:
		return pkt->index < sizeof(counters) / sizeof(counters[0]) ? counters[pkt->index]
									   : 0;
	case AUXTAP_SPE_CONTEXT:
		return AUXTAP_SPE_HAS_CONTEXT;
	case AUXTAP_SPE_OPERATION:
		return AUXTAP_SPE_HAS_OP;
	case AUXTAP_SPE_EVENTS:
		return AUXTAP_SPE_HAS_EVENTS;
	case AUXTAP_SPE_SOURCE:
		return AUXTAP_SPE_HAS_SOURCE;
	case AUXTAP_SPE_TIMESTAMP:
		return AUXTAP_SPE_HAS_TIMESTAMP;
	default:
		return 0;
	}
}

static void keep(struct auxtap_spe_record *r, uint32_t fact, const struct auxtap_spe_packet *pkt)
{
	uint8_t level = (uint8_t)(pkt->payload >> 61 & 3);

	r->has |= fact;
	switch (fact) {
	case AUXTAP_SPE_HAS_PC:
		r->pc = auxtap_spe_address(pkt);
		r->pc_el = level;
		r->pc_ns = pkt->payload >> 63;
		break;
	case AUXTAP_SPE_HAS_TARGET:
		r->target = auxtap_spe_address(pkt);
		r->target_el = level;
		break;
	case AUXTAP_SPE_HAS_PREV_TARGET:
		r->prev_target = auxtap_spe_address(pkt);
		break;
	case AUXTAP_SPE_HAS_VIRT:
		r->virt = auxtap_spe_address(pkt);
		r->tag = (uint8_t)(pkt->payload >> 56);
		break;
	case AUXTAP_SPE_HAS_PHYS:
		r->phys = auxtap_spe_address(pkt);
		break;
	case AUXTAP_SPE_HAS_LAT_TOTAL:
		r->lat_total = (uint16_t)pkt->payload;
		break;
	case AUXTAP_SPE_HAS_LAT_ISSUE:
		r->lat_issue = (uint16_t)pkt->payload;
		break;
	case AUXTAP_SPE_HAS_LAT_XLAT:
		r->lat_xlat = (uint16_t)pkt->payload;
		break;
	case AUXTAP_SPE_HAS_CONTEXT:
		r->context = (uint32_t)pkt->payload;
		r->context_el = pkt->index;
		break;
	case AUXTAP_SPE_HAS_OP:
		r->op_class = pkt->index;
		r->op = (uint8_t)pkt->payload;
		break;
	case AUXTAP_SPE_HAS_EVENTS:
		r->events = pkt->payload;
		break;
	case AUXTAP_SPE_HAS_SOURCE:
		r->source = pkt->payload;
		break;
	case AUXTAP_SPE_HAS_TIMESTAMP:
		r->timestamp = pkt->payload;
		break;
	default:
		break;
	}
}

static void skip_padding(struct auxtap_spe_reader *reader)
{
	uint64_t here = reader->offset + reader->at;

	if (here < reader->align_to)
		reader->at += reader->align_to - here < reader->size - reader->at
				      ? (size_t)(reader->align_to - here)
				      : reader->size - reader->at;
	while (reader->at < reader->size && !reader->trace[reader->at])
		reader->at++;
}

/* Up to where the reader stands now. */
static int damaged(const struct auxtap_spe_reader *reader, struct auxtap_spe_record *r,
		   size_t begin, const char *why)
{
	memset(r, 0, sizeof(*r));
	r->offset = reader->offset + begin;
	r->size = (uint32_t)(reader->at - begin);
	r->error = why;
	return -EBADMSG;
}

int auxtap_spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *r)
{
	size_t begin, left;

	memset(r, 0, sizeof(*r));
	skip_padding(reader);
	begin = reader->at;
	r->offset = reader->offset + begin;
	while ((left = reader->size - reader->at)) {
		const uint8_t *here = reader->trace + reader->at;
		struct auxtap_spe_packet pkt;
		int size = auxtap_spe_packet(here, left, &pkt);
		uint32_t fact;

		if (size < 0) {
			/* a record's size is told in 32 bits */
			size_t bad = spe_bytes_to_record(here, left < 1u << 30 ? left : 1u << 30);

			reader->at += bad;
			return damaged(reader, r, begin, "no packet");
		}
		if (!size) {
			reader->at = reader->size;
			return damaged(reader, r, begin, "the trace ends inside a packet");
		}
		fact = fact_of(&pkt);
		if (fact & r->has)
			return damaged(reader, r, begin, "a record without end");
		reader->at += (size_t)size;
		if (pkt.type == AUXTAP_SPE_ALIGNMENT)
			reader->align_to = ((reader->offset + reader->at - 2) | (pkt.payload - 1)) + 1;
		keep(r, fact, &pkt);
		if (pkt.type == AUXTAP_SPE_END || pkt.type == AUXTAP_SPE_TIMESTAMP) {
			/* one that comes alone ends what was lost */
			if (!(r->has & ~(uint32_t)AUXTAP_SPE_HAS_TIMESTAMP))
				return damaged(reader, r, begin, "the end of a record without begin");
			r->size = (uint32_t)(reader->at - begin);
			return 1;
		}
		skip_padding(reader);
		if (reader->at - begin > 1u << 30)
			return damaged(reader, r, begin, "a record without end");
	}
	if (reader->at == begin)
		return 0;
	return damaged(reader, r, begin, "the trace ends inside a record");
}
