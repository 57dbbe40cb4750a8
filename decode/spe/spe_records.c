// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arm SPE records: a record is the packets of one sampled operation, up to its time stamp or END.
 * parse_fast() parses the packets of common records quickly, by a table of header bytes. Whatever
 * it does not handle, and all errors, are left to spe_next(), which parses packet by packet.
 */
#include "util/sized.h"
#include "spe_packets.h"
#include "spe_reader.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The packet's bit in auxtap_spe_record.has; 0: it has no member in the record. */
static uint32_t has_bit_of(const struct auxtap_spe_packet *pkt)
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

static void set_member(struct auxtap_spe_record *r, uint32_t has_bit,
		       const struct auxtap_spe_packet *pkt)
{
	uint8_t level = (uint8_t)(pkt->payload >> 61 & 3);

	r->has |= has_bit;
	switch (has_bit) {
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

/* Makes *r an error for the bytes from begin to the reader's position. */
static int set_error(const struct auxtap_spe_reader *reader, struct auxtap_spe_record *r,
		     size_t begin, const char *why)
{
	memset(r, 0, sizeof(*r));
	r->offset = reader->offset + begin;
	r->nr_bytes = (uint32_t)(reader->at - begin);
	r->error = why;
	return -EBADMSG;
}

/* ---- the fast path: packets that nearly all records consist of ---- */

enum header_kind {
	HEADER_SLOW, /* left to spe_next() */
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
	uint64_t payload;   /* mask for the eight bytes after the header */
	uint8_t kind, size; /* of the packet */
	uint16_t has_bit;
};

#define HEADER(name, nr)                                                                 \
	{                                                                                \
		~0ull >> (64 - 8 * (nr)), HEADER_##name, (nr) + 1, AUXTAP_SPE_HAS_##name \
	}
#define ADDRESS(n, name) [0xb0 + (n)] = HEADER(name, 8)
#define COUNTER(n, name) [0x98 + (n)] = HEADER(name, 2)
#define ANY_SIZE(n, name)                                               \
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
	ANY_SIZE(0x2, EVENTS),
	ANY_SIZE(0x3, SOURCE),
};

#define FAST_PADS 64

static uint64_t load(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

/* Sign-extends an address, like auxtap_spe_get_address(). */
static uint64_t sign_extended(uint64_t v)
{
	return (uint64_t)((int64_t)(v << 8) >> 8);
}

/* Counts the PADs at 'at', at most FAST_PADS; FAST_PADS + 8 bytes must be readable. */
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

_Static_assert(NR_HEADER_KINDS == 16, "two_words of struct fast_record");
typedef uint64_t two_words __attribute__((vector_size(16)));

/* Payloads and headers of the packets by header_kind; 0 if there was no such packet. */
struct fast_record {
	union {
		uint64_t payload[NR_HEADER_KINDS];
		two_words words[8];
	};
	union {
		uint8_t header[NR_HEADER_KINDS];
		two_words header_words;
	};
};

/* Compilers turn memset() into a string instruction, as slow as all the rest of the parsing. */
static inline void clear_fast_record(struct fast_record *p)
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

static void set_members(struct auxtap_spe_record *r, const struct fast_record *p)
{
	const uint64_t *v = p->payload;

	r->pc = sign_extended(v[HEADER_PC]);
	r->pc_el = v[HEADER_PC] >> 61 & 3;
	r->pc_ns = v[HEADER_PC] >> 63;
	r->target = sign_extended(v[HEADER_TARGET]);
	r->target_el = v[HEADER_TARGET] >> 61 & 3;
	r->prev_target = sign_extended(v[HEADER_PREV_TARGET]);
	r->virt = sign_extended(v[HEADER_VIRT]);
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
 * Parses packets up to the end of the record, or up to a packet that is left to spe_next(). True:
 * the record is complete; false: the reader is at that packet, or the end of the buffer is near,
 * and *r has the values before it.
 */
static bool parse_fast(struct auxtap_spe_reader *reader, struct auxtap_spe_record *r)
{
	const uint8_t *at = reader->trace + reader->at, *limit;
	struct fast_record fast;
	bool done = false;
	uint32_t has = 0;

	clear_fast_record(&fast);
	limit = reader->size - reader->at < FAST_PADS + 8 ?
			at :
			reader->trace + reader->size - FAST_PADS - 8;
	while (at < limit) {
		const struct header *h = &headers[*at];

		if (h->kind > HEADER_TIMESTAMP) {
			if (h->has_bit & has)
				break; /* the record already has such a packet */
		} else if (h->kind == HEADER_PAD) {
			size_t nr = nr_pads(at);

			if (nr == FAST_PADS)
				break;
			at += nr;
			continue;
		} else {
			/* an END or time stamp alone is the rest of a lost record */
			if (h->kind == HEADER_SLOW || !has)
				break;
			done = true;
		}
		has |= h->has_bit;
		fast.payload[h->kind] = load(at + 1) & h->payload;
		fast.header[h->kind] = *at;
		at += h->size;
		if (done)
			break;
	}
	set_members(r, &fast);
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
	if (parse_fast(reader, r)) {
		r->nr_bytes = (uint32_t)(reader->at - begin);
		return 1;
	}
	while ((left = reader->size - reader->at)) {
		const uint8_t *here = reader->trace + reader->at;
		struct auxtap_spe_packet pkt;
		int size = spe_get_packet(here, left, &pkt);
		uint32_t has_bit;

		if (size < 0) {
			/* the size must fit into the 32 bits of nr_bytes */
			size_t bad = spe_bytes_to_record(here, left < 1u << 30 ? left : 1u << 30);

			reader->at += bad;
			return set_error(reader, r, begin, "no packet");
		}
		if (!size) {
			reader->at = reader->size;
			return set_error(reader, r, begin, "the trace ends inside a packet");
		}
		has_bit = has_bit_of(&pkt);
		if (has_bit & r->has)
			return set_error(reader, r, begin, "a record without an end");
		reader->at += (size_t)size;
		if (pkt.type == AUXTAP_SPE_ALIGNMENT)
			/* the packet's two bytes are before the boundary that it aligns to */
			reader->align_to =
				((reader->offset + reader->at - 2) | (pkt.payload - 1)) + 1;
		set_member(r, has_bit, &pkt);
		if (pkt.type == AUXTAP_SPE_END || pkt.type == AUXTAP_SPE_TIMESTAMP) {
			/* an END or time stamp alone is the rest of a lost record */
			if (!(r->has & ~(uint32_t)AUXTAP_SPE_HAS_TIMESTAMP))
				return set_error(reader, r, begin,
						 "the end of a record without its start");
			r->nr_bytes = (uint32_t)(reader->at - begin);
			return 1;
		}
		skip_padding(reader);
		if (reader->at - begin > 1u << 30)
			return set_error(reader, r, begin, "a record without an end");
	}
	if (reader->at == begin)
		return 0;
	return set_error(reader, r, begin, "the trace ends inside a record");
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
		sized_copy_out(record, &known, sizeof(known));
	return ret;
}
