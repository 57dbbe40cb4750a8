// SPDX-License-Identifier: BSD-2-Clause
/* Arm SPE packets: parses a packet, and finds the next record after bytes that are no packet. */
#include "util/sized.h"
#include "spe_packets.h"
#include "spe_reader.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADER_END	 0x01
#define HEADER_TIMESTAMP 0x71
/* 0x20 to 0x23: the first of two header bytes; 0x20 to 0x2f before a second byte of 0: alignment */
#define HEADER_EXTENDED 0x20
#define PAD_RUN		16   /* PADs listed on one line */
#define RECORD_MAX	2048 /* the largest PMSIDR_EL1.MaxSize */

/* Reads a payload of 1 << log2 bytes; log2 is the size field of the header. */
static uint64_t little_endian(const unsigned char *at, unsigned int log2)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (log2) {
	case 0:
		return at[0];
	case 1:
		memcpy(&two, at, sizeof(two));
		return le16toh(two);
	case 2:
		memcpy(&four, at, sizeof(four));
		return le32toh(four);
	default:
		memcpy(&eight, at, sizeof(eight));
		return le64toh(eight);
	}
}

/* Address and counter packets have a 5-bit index; its upper two are in an extended header. */
static bool parse_indexed_header(unsigned int header, unsigned int high,
				 struct auxtap_spe_packet *pkt)
{
	switch (header & 0xf8) {
	case 0xb0:
		pkt->type = AUXTAP_SPE_ADDRESS;
		break;
	case 0x98:
		pkt->type = AUXTAP_SPE_COUNTER;
		break;
	default:
		return false;
	}
	pkt->index = (uint8_t)(high << 3 | (header & 7));
	return true;
}

static bool parse_header(unsigned int header, struct auxtap_spe_packet *pkt)
{
	if (header == HEADER_TIMESTAMP) {
		pkt->type = AUXTAP_SPE_TIMESTAMP;
	} else if ((header & 0xcf) == 0x42) {
		pkt->type = AUXTAP_SPE_EVENTS;
	} else if ((header & 0xcf) == 0x43) {
		pkt->type = AUXTAP_SPE_SOURCE;
	} else if ((header & 0xfc) == 0x64) {
		pkt->type = AUXTAP_SPE_CONTEXT;
		pkt->index = (uint8_t)((header & 3) + 1);
	} else if ((header & 0xfc) == 0x48) {
		pkt->type = AUXTAP_SPE_OPERATION;
		pkt->index = (uint8_t)(header & 3);
	} else {
		return parse_indexed_header(header, 0, pkt);
	}
	return true;
}

int spe_get_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt)
{
	const unsigned char *at = trace;
	unsigned int nr_header = 1, nr_payload, header;

	memset(pkt, 0, sizeof(*pkt));
	if (!size)
		return 0;
	header = at[0];
	if (!header || header == HEADER_END) {
		pkt->type = header ? AUXTAP_SPE_END : AUXTAP_SPE_PAD;
		pkt->nr_bytes = 1;
		return 1;
	}
	if ((header & 0xf0) == HEADER_EXTENDED) {
		if (size < 2)
			return 0;
		if (!at[1]) {
			pkt->type = AUXTAP_SPE_ALIGNMENT;
			pkt->payload = 2ull << (header & 0xf);
			pkt->nr_bytes = 2;
			return 2;
		}
		if (header & 0xc || !parse_indexed_header(at[1], header & 3, pkt))
			return -EBADMSG;
		header = at[1];
		nr_header = 2;
	} else if (!parse_header(header, pkt)) {
		return -EBADMSG;
	}
	nr_payload = 1u << (header >> 4 & 3);
	if (size < nr_header + nr_payload)
		return 0;
	pkt->payload = little_endian(at + nr_header, header >> 4 & 3);
	pkt->nr_bytes = (uint8_t)(nr_header + nr_payload);
	return pkt->nr_bytes;
}

int auxtap_spe_get_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt)
{
	struct auxtap_spe_packet known;
	int ret = sized_check(pkt, sizeof(known), SIZED_UP_TO(struct auxtap_spe_packet, payload),
			      "struct auxtap_spe_packet", NULL);

	if (ret)
		return ret;
	ret = spe_get_packet(trace, size, &known);
	sized_copy_out(pkt, &known, sizeof(known));
	return ret;
}

uint64_t auxtap_spe_get_address(const struct auxtap_spe_packet *pkt)
{
	uint64_t addr = pkt->payload & ((1ull << 56) - 1);

	if (pkt->index != AUXTAP_SPE_ADDR_PHYS && addr >> 55)
		addr |= 0xffull << 56;
	return addr;
}

/* ---- after bytes that are no packet ---- */

/*
 * Whether a record seems to begin here: packets up to END or a time stamp, none of them twice,
 * with the PC or the events of the sampled instruction. True also if the bytes end before that.
 */
static bool record_begins_at(const unsigned char *at, size_t size)
{
	uint64_t seen = 0; /* by type and index */
	bool has_pc_or_events = false;
	size_t done = 0;

	if (size && !at[0])
		return false; /* padding, which is no part of a record */
	while (done < RECORD_MAX) {
		struct auxtap_spe_packet pkt;
		int ret = spe_get_packet(at + done, size - done, &pkt);
		uint64_t kind = 1ull << ((pkt.type * 8u + pkt.index) % 64);

		if (ret < 0)
			return false;
		if (!ret)
			return true;
		done += (size_t)ret;
		if (pkt.type == AUXTAP_SPE_END || pkt.type == AUXTAP_SPE_TIMESTAMP)
			return has_pc_or_events;
		if (pkt.type != AUXTAP_SPE_PAD && pkt.type != AUXTAP_SPE_ALIGNMENT && seen & kind)
			return false;
		seen |= kind;
		has_pc_or_events |=
			pkt.type == AUXTAP_SPE_EVENTS ||
			(pkt.type == AUXTAP_SPE_ADDRESS && pkt.index == AUXTAP_SPE_ADDR_PC);
	}
	return false;
}

size_t spe_bytes_to_record(const void *trace, size_t size)
{
	const unsigned char *at = trace;
	size_t nr = 1;

	while (nr < size && !record_begins_at(at + nr, size - nr))
		nr++;
	return nr;
}

/* ---- a stream ---- */

struct packet_iter {
	struct spe_packet_stream *stream;
	const unsigned char *trace;
	size_t size, at;
	uint64_t offset; /* of trace */
	bool last;
	int (*fn)(void *ctx, const struct auxtap_packet *pkt);
	void *ctx;
};

static int report(struct packet_iter *w, struct auxtap_packet *out, size_t nr_bytes)
{
	out->offset = w->offset + w->at;
	out->size = sizeof(*out);
	out->nr_bytes = (uint8_t)(nr_bytes < sizeof(out->bytes) ? nr_bytes : sizeof(out->bytes));
	memcpy(out->bytes, w->trace + w->at, out->nr_bytes);
	w->at += nr_bytes;
	return w->fn(w->ctx, out);
}

static int report_pads(struct packet_iter *w, size_t nr_bytes)
{
	struct auxtap_packet out = {.name = "PAD", .text = "PAD"};

	return report(w, &out, nr_bytes);
}

static int report_error(struct packet_iter *w, size_t nr_bytes, const char *why)
{
	struct auxtap_packet out = {.name = "error"};

	snprintf(out.text, sizeof(out.text), "error     %s: %zu bytes", why, nr_bytes);
	return report(w, &out, nr_bytes);
}

static int report_packet(struct packet_iter *w, const struct auxtap_spe_packet *pkt)
{
	static const char *const names[] = {
		[AUXTAP_SPE_PAD] = "PAD",	  [AUXTAP_SPE_ALIGNMENT] = "ALIGNMENT",
		[AUXTAP_SPE_END] = "END",	  [AUXTAP_SPE_TIMESTAMP] = "TS",
		[AUXTAP_SPE_ADDRESS] = "ADDR",	  [AUXTAP_SPE_COUNTER] = "LAT",
		[AUXTAP_SPE_CONTEXT] = "CONTEXT", [AUXTAP_SPE_OPERATION] = "OP",
		[AUXTAP_SPE_EVENTS] = "EV",	  [AUXTAP_SPE_SOURCE] = "DATA-SOURCE",
	};
	struct auxtap_packet out = {.name = names[pkt->type]};

	out.has_ip = pkt->type == AUXTAP_SPE_ADDRESS && pkt->index == AUXTAP_SPE_ADDR_PC;
	if (out.has_ip)
		out.ip = auxtap_spe_get_address(pkt);
	spe_packet_text(pkt, out.text, sizeof(out.text));
	if (pkt->type == AUXTAP_SPE_ALIGNMENT) {
		uint64_t here = w->offset + w->at;

		/* the packet's two bytes are before the boundary that it aligns to */
		w->stream->align_to = (here | (pkt->payload - 1)) + 1;
	}
	return report(w, &out, pkt->nr_bytes);
}

/* How many bytes are padding here, at most PAD_RUN. */
static size_t nr_padding(const struct packet_iter *w)
{
	size_t nr = 0;

	while (nr < PAD_RUN && w->at + nr < w->size &&
	       (!w->trace[w->at + nr] || w->offset + w->at + nr < w->stream->align_to))
		nr++;
	return nr;
}

/*
 * This and report_next() return 1 if something was reported, 0 if the next fragment is needed.
 * *result: fn's result.
 */
static int skip_error(struct packet_iter *w, int *result)
{
	size_t nr = spe_bytes_to_record(w->trace + w->at, w->size - w->at);

	/* if the bytes end here, the next fragment continues with the search for a record */
	w->stream->lost = w->at + nr == w->size && !w->last;
	*result = report_error(w, nr, "no packet");
	return 1;
}

static int report_next(struct packet_iter *w, int *result)
{
	size_t left = w->size - w->at, nr_pads = nr_padding(w);
	struct auxtap_spe_packet pkt;
	int ret;

	if (nr_pads) {
		if (!w->last && nr_pads == left && nr_pads < PAD_RUN)
			return 0; /* the next fragment may have more PADs for this line */
		*result = report_pads(w, nr_pads);
		return 1;
	}
	if (w->stream->lost && !record_begins_at(w->trace + w->at, left))
		return skip_error(w, result);
	w->stream->lost = false;
	ret = spe_get_packet(w->trace + w->at, left, &pkt);
	if (ret > 0) {
		*result = report_packet(w, &pkt);
		return 1;
	}
	if (ret < 0)
		return skip_error(w, result);
	if (!w->last)
		return 0;
	*result = report_error(w, left, "the trace ends inside a packet");
	return 1;
}

int spe_packets_chunk(struct spe_packet_stream *stream, const void *trace, size_t size,
		      uint64_t offset, bool last, size_t *used,
		      int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx)
{
	struct packet_iter w = {.stream = stream,
				.trace = trace,
				.size = size,
				.offset = offset,
				.last = last,
				.fn = fn,
				.ctx = ctx};
	int result = 0;

	while (w.at < size && !result && report_next(&w, &result))
		;
	*used = w.at;
	return result;
}

int auxtap_spe_packets(const void *trace, size_t size, uint64_t offset,
		       int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx)
{
	struct spe_packet_stream stream = {0};
	size_t used;

	return spe_packets_chunk(&stream, trace, size, offset, true, &used, fn, ctx);
}
