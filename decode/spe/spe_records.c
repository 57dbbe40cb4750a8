// SPDX-License-Identifier: BSD-2-Clause
/* SPE records: the packets of one sampled operation, up to its time stamp or END. */
#include "util/sized.h"
#include "spe_packets.h"
#include "spe_reader.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a packet contains, as a bit of has; 0: nothing that a record keeps. */
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
		return pkt->index < sizeof(addresses) / sizeof(addresses[0]) ?
			       addresses[pkt->index] :
			       0;
	case AUXTAP_SPE_COUNTER:
		return pkt->index < sizeof(counters) / sizeof(counters[0]) ? counters[pkt->index] :
									     0;
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
		r->pc = auxtap_spe_get_address(pkt);
		r->pc_el = level;
		r->pc_ns = pkt->payload >> 63;
		break;
	case AUXTAP_SPE_HAS_TARGET:
		r->target = auxtap_spe_get_address(pkt);
		r->target_el = level;
		break;
	case AUXTAP_SPE_HAS_PREV_TARGET:
		r->prev_target = auxtap_spe_get_address(pkt);
		break;
	case AUXTAP_SPE_HAS_VIRT:
		r->virt = auxtap_spe_get_address(pkt);
		r->tag = (uint8_t)(pkt->payload >> 56);
		break;
	case AUXTAP_SPE_HAS_PHYS:
		r->phys = auxtap_spe_get_address(pkt);
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
		reader->at += reader->align_to - here < reader->size - reader->at ?
				      (size_t)(reader->align_to - here) :
				      reader->size - reader->at;
	while (reader->at < reader->size && !reader->trace[reader->at])
		reader->at++;
}

/* Up to where the reader stands now. */
static int damaged(const struct auxtap_spe_reader *reader, struct auxtap_spe_record *r,
		   size_t begin, const char *why)
{
	memset(r, 0, sizeof(*r));
	r->offset = reader->offset + begin;
	r->nr_bytes = (uint32_t)(reader->at - begin);
	r->error = why;
	return -EBADMSG;
}

/* ---- the packets that nearly all records consist of ---- */

enum header_kind {
	HEADER_SLOW, /* all others: packet by packet */
	HEADER_PAD,
	HEADER_END,
	HEADER_TIMESTAMP,
	HEADER_PC,
	HEADER_TARGET,
	HEADER_VIRT,
	HEADER_PHYS,
	HEADER_PREV_TARGET,
	HEADER_LAT_TOTAL,
	HEADER_LAT_ISSUE,
	HEADER_LAT_XLAT,
	HEADER_CONTEXT,
	HEADER_OP,
	HEADER_EVENTS,
	HEADER_SOURCE,
	NR_HEADER_KINDS
};

struct header {
	uint64_t payload;   /* mask: of eight bytes after the header */
	uint8_t kind, size; /* of the packet */
	uint16_t fact;
};

#define HEADER(name, nr)                                                                 \
	{                                                                                \
		~0ull >> (64 - 8 * (nr)), HEADER_##name, (nr) + 1, AUXTAP_SPE_HAS_##name \
	}
#define ADDRESS(n, name) [0xb0 + (n)] = HEADER(name, 8)
#define COUNTER(n, name) [0x98 + (n)] = HEADER(name, 2)
#define OF_ANY_SIZE(n, name)                                            \
	[0x40 + (n)] = HEADER(name, 1), [0x50 + (n)] = HEADER(name, 2), \
		[0x60 + (n)] = HEADER(name, 4), [0x70 + (n)] = HEADER(name, 8)

static const struct header headers[256] = {
	[0x00] = {.kind = HEADER_PAD},
	[0x01] = {.kind = HEADER_END, .size = 1},
	[0x71] = HEADER(TIMESTAMP, 8),
	ADDRESS(AUXTAP_SPE_ADDR_PC, PC),
	ADDRESS(AUXTAP_SPE_ADDR_TARGET, TARGET),
	ADDRESS(AUXTAP_SPE_ADDR_VIRT, VIRT),
	ADDRESS(AUXTAP_SPE_ADDR_PHYS, PHYS),
	ADDRESS(AUXTAP_SPE_ADDR_PREV_TARGET, PREV_TARGET),
	COUNTER(AUXTAP_SPE_LAT_TOTAL, LAT_TOTAL),
	COUNTER(AUXTAP_SPE_LAT_ISSUE, LAT_ISSUE),
	COUNTER(AUXTAP_SPE_LAT_XLAT, LAT_XLAT),
	[0x64] = HEADER(CONTEXT, 4),
	[0x65] = HEADER(CONTEXT, 4),
	[0x48] = HEADER(OP, 1),
	[0x49] = HEADER(OP, 1),
	[0x4a] = HEADER(OP, 1),
	OF_ANY_SIZE(0x2, EVENTS),
	OF_ANY_SIZE(0x3, SOURCE),
};

#define FAST_PADS 64

static uint64_t load(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

/* As auxtap_spe_get_address() does. */
static uint64_t extended(uint64_t v)
{
	return (uint64_t)((int64_t)(v << 8) >> 8);
}

/* The pads at at, at most FAST_PADS; there are as many bytes and 8 more. */
static size_t nr_pads(const uint8_t *at)
{
	size_t nr = 0;

	while (nr < FAST_PADS) {
		uint64_t v = load(at + nr);

		if (v)
			return nr + (size_t)__builtin_ctzll(v) / 8;
		nr += 8;
	}
	return nr;
}

_Static_assert(NR_HEADER_KINDS == 16, "two_words of struct plain");
typedef uint64_t two_words __attribute__((vector_size(16)));

/* What packets said, by kind; what none said is 0. */
struct plain {
	union {
		uint64_t payload[NR_HEADER_KINDS];
		two_words words[8];
	};
	union {
		uint8_t header[NR_HEADER_KINDS];
		two_words header_words;
	};
};

/* Not by memset(): compilers make a string instruction of it that takes as long as all the rest. */
static inline void clear(struct plain *p)
{
	const two_words zero = {0, 0};

	p->words[0] = zero;
	p->words[1] = zero;
	p->words[2] = zero;
	p->words[3] = zero;
	p->words[4] = zero;
	p->words[5] = zero;
	p->words[6] = zero;
	p->words[7] = zero;
	p->header_words = zero;
}

static void set_facts(struct auxtap_spe_record *r, const struct plain *p)
{
	const uint64_t *v = p->payload;

	r->pc = extended(v[HEADER_PC]);
	r->pc_el = v[HEADER_PC] >> 61 & 3;
	r->pc_ns = v[HEADER_PC] >> 63;
	r->target = extended(v[HEADER_TARGET]);
	r->target_el = v[HEADER_TARGET] >> 61 & 3;
	r->prev_target = extended(v[HEADER_PREV_TARGET]);
	r->virt = extended(v[HEADER_VIRT]);
	r->tag = (uint8_t)(v[HEADER_VIRT] >> 56);
	r->phys = v[HEADER_PHYS] & ((1ull << 56) - 1);
	r->lat_total = (uint16_t)v[HEADER_LAT_TOTAL];
	r->lat_issue = (uint16_t)v[HEADER_LAT_ISSUE];
	r->lat_xlat = (uint16_t)v[HEADER_LAT_XLAT];
	r->context = (uint32_t)v[HEADER_CONTEXT];
	r->context_el = p->header[HEADER_CONTEXT] ? (p->header[HEADER_CONTEXT] & 3) + 1 : 0;
	r->op_class = p->header[HEADER_OP] & 3;
	r->op = (uint8_t)v[HEADER_OP];
	r->events = v[HEADER_EVENTS];
	r->source = v[HEADER_SOURCE];
	r->timestamp = v[HEADER_TIMESTAMP];
	r->error = NULL;
}

/*
 * Takes packets as spe_next() does, up to one that needs a closer look, whatever the
 * reason: the reader then stands before it. True: the record is complete.
 */
static bool take_plain(struct auxtap_spe_reader *reader, struct auxtap_spe_record *r)
{
	const uint8_t *at = reader->trace + reader->at, *limit;
	struct plain plain;
	bool done = false;
	uint32_t has = 0;

	clear(&plain);
	limit = reader->size - reader->at < FAST_PADS + 8 ?
			at :
			reader->trace + reader->size - FAST_PADS - 8;
	while (at < limit) {
		const struct header *h = &headers[*at];

		if (h->kind > HEADER_TIMESTAMP) {
			if (h->fact & has)
				break; /* two of a kind */
		} else if (h->kind == HEADER_PAD) {
			size_t nr = nr_pads(at);

			if (nr == FAST_PADS)
				break;
			at += nr;
			continue;
		} else {
			/* an END or a time stamp that comes alone ends what was lost */
			if (h->kind == HEADER_SLOW || !has)
				break;
			done = true;
		}
		has |= h->fact;
		plain.payload[h->kind] = load(at + 1) & h->payload;
		plain.header[h->kind] = *at;
		at += h->size;
		if (done)
			break;
	}
	set_facts(r, &plain);
	r->has = has;
	reader->at = (size_t)(at - reader->trace);
	return done;
}

int spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *r)
{
	size_t begin, left;

	skip_padding(reader);
	begin = reader->at;
	r->offset = reader->offset + begin;
	r->nr_bytes = 0;
	if (take_plain(reader, r)) {
		r->nr_bytes = (uint32_t)(reader->at - begin);
		return 1;
	}
	while ((left = reader->size - reader->at)) {
		const uint8_t *here = reader->trace + reader->at;
		struct auxtap_spe_packet pkt;
		int size = spe_get_packet(here, left, &pkt);
		uint32_t fact;

		if (size < 0) {
			/* a record's size is kept in 32 bits */
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
			reader->align_to =
				((reader->offset + reader->at - 2) | (pkt.payload - 1)) + 1;
		keep(r, fact, &pkt);
		if (pkt.type == AUXTAP_SPE_END || pkt.type == AUXTAP_SPE_TIMESTAMP) {
			/* one that comes alone ends what was lost */
			if (!(r->has & ~(uint32_t)AUXTAP_SPE_HAS_TIMESTAMP))
				return damaged(reader, r, begin,
					       "the end of a record without begin");
			r->nr_bytes = (uint32_t)(reader->at - begin);
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

int auxtap_spe_reader_open(struct auxtap_spe_reader **reader, const void *trace, size_t size,
			   uint64_t offset)
{
	*reader = malloc(sizeof(**reader));
	if (!*reader)
		return -ENOMEM;
	spe_reader_init(*reader, trace, size, offset);
	return 0;
}

void auxtap_spe_reader_close(struct auxtap_spe_reader *reader)
{
	free(reader);
}

int auxtap_spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *record)
{
	struct auxtap_spe_record known;
	int ret = sized_check(record, sizeof(known), SIZED_UP_TO(struct auxtap_spe_record, error),
			      "struct auxtap_spe_record", NULL);

	if (ret)
		return ret;
	memset(&known, 0, sizeof(known));
	ret = spe_next(reader, &known);
	if (ret)
		sized_give(record, &known, sizeof(known));
	return ret;
}
