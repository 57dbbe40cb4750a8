// SPDX-License-Identifier: BSD-2-Clause
/*
 * Intel PT packets as text. Bytes that cannot be decoded, up to the next PSB, are reported as a
 * packet named "error", bytes before the first PSB as one named "skipped". The last IP is kept
 * here, so that compressed addresses are printed in full.
 */
#include "pt_packets.h"
#include "pt_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct packet_iter {
	struct pt_packet_stream *stream;
	struct pt_reader *reader;
	const unsigned char *trace;
	size_t size;
	uint64_t offset;
	bool last;
	int (*fn)(void *ctx, const struct auxtap_packet *pkt);
	void *ctx;
};

/* Writes the name, a blank, and the operands. */
static void put_text(struct auxtap_packet *out, const char *name, const char *fmt, ...)
	AUXTAP_PRINTF(3, 4);

static void put_text(struct auxtap_packet *out, const char *name, const char *fmt, ...)
{
	int used = snprintf(out->text, sizeof(out->text), "%s ", name);
	va_list args;

	va_start(args, fmt);
	vsnprintf(out->text + used, sizeof(out->text) - (size_t)used, fmt, args);
	va_end(args);
	out->name = name;
}

static void put_name(struct auxtap_packet *out, const char *name)
{
	snprintf(out->text, sizeof(out->text), "%s", name);
	out->name = name;
}

/* SDM, IPBytes: the packet has some low bytes of the IP; the others are those of the last IP. */
static void put_ip(struct pt_packet_stream *stream, struct auxtap_packet *out, const char *name,
		   const struct pt_pkt *pkt)
{
	uint64_t last = stream->last_ip, ip = pkt->ip.ip;
	unsigned int bytes = pkt->ip.bytes;

	switch (bytes) {
	case PT_IP_NONE:
		put_text(out, name, "%x: ????????????????", bytes);
		return;
	case PT_IP_16:
		put_text(out, name, "%x: ????????????%04" PRIx64, bytes, ip & 0xffff);
		last = (last & ~0xffffULL) | (ip & 0xffff);
		break;
	case PT_IP_32:
		put_text(out, name, "%x: ????????%08" PRIx64, bytes, ip & 0xffffffff);
		last = (last & ~0xffffffffULL) | (ip & 0xffffffff);
		break;
	case PT_IP_48:
		put_text(out, name, "%x: ????%012" PRIx64, bytes, ip & 0xffffffffffff);
		last = (last & ~0xffffffffffffULL) | (ip & 0xffffffffffff);
		break;
	case PT_IP_48_EXTENDED:
		last = (uint64_t)((int64_t)(ip << 16) >> 16);
		put_text(out, name, "%x: %016" PRIx64, bytes, last);
		break;
	default:
		put_text(out, name, "%x: %016" PRIx64, bytes, ip);
		last = ip;
		break;
	}
	stream->last_ip = last;
	stream->have_ip = true;
	out->has_ip = true;
	out->ip = last;
}

static void put_tnt(struct auxtap_packet *out, const char *name, const struct pt_pkt *pkt)
{
	char bits[65];
	unsigned int nr = pkt->tnt.nr < 64 ? pkt->tnt.nr : 64, i;

	for (i = 0; i < nr; i++)
		bits[i] = pkt->tnt.bits >> (nr - 1 - i) & 1 ? '!' : '.';
	bits[i] = '\0';
	put_text(out, name, "%s", bits);
}

static void put_mode(struct auxtap_packet *out, const struct pt_pkt *pkt)
{
	switch (pkt->mode.leaf) {
	case PT_MODE_EXEC:
		put_text(out, "mode.exec", "%s%s%s", pkt->mode.csl ? "cs.l" : "",
			 pkt->mode.csl && pkt->mode.csd ? ", " : "", pkt->mode.csd ? "cs.d" : "");
		break;
	case PT_MODE_TSX:
		put_text(out, "mode.tsx", "%s%s%s", pkt->mode.intx ? "intx" : "",
			 pkt->mode.intx && pkt->mode.abrt ? ", " : "",
			 pkt->mode.abrt ? "abrt" : "");
		break;
	default:
		put_text(out, "mode", "leaf %x", pkt->mode.number);
		break;
	}
}

static void put_power(struct auxtap_packet *out, const struct pt_pkt *pkt)
{
	switch (pkt->type) {
	case PT_PKT_EXSTOP:
		put_text(out, "exstop", "%s", pkt->exstop_ip ? "ip" : "");
		break;
	case PT_PKT_MWAIT:
		put_text(out, "mwait", "%08x, %08x", pkt->mwait.hints, pkt->mwait.ext);
		break;
	case PT_PKT_PWRE:
		put_text(out, "pwre", "c%u.%u%s", (pkt->pwre.state + 1) & 0xfu,
			 (pkt->pwre.sub_state + 1) & 0xfu, pkt->pwre.hw ? ", hw" : "");
		break;
	default:
		put_text(out, "pwrx", "%s%s%sc%u, c%u", pkt->pwrx.interrupt ? "int: " : "",
			 pkt->pwrx.store ? "st: " : "", pkt->pwrx.autonomous ? "hw: " : "",
			 (pkt->pwrx.last + 1) & 0xfu, (pkt->pwrx.deepest + 1) & 0xfu);
		break;
	}
}

static void put_packet(struct pt_packet_stream *stream, const struct pt_pkt *pkt,
		       struct auxtap_packet *out)
{
	switch (pkt->type) {
	case PT_PKT_PAD:
		put_name(out, "pad");
		break;
	case PT_PKT_PSB:
		put_name(out, "psb");
		/* A decoder may start here, so addresses after it do not depend on the last IP. */
		stream->last_ip = 0;
		stream->have_ip = false;
		break;
	case PT_PKT_PSBEND:
		put_name(out, "psbend");
		break;
	case PT_PKT_OVF:
		put_name(out, "ovf");
		break;
	case PT_PKT_STOP:
		put_name(out, "stop");
		break;
	case PT_PKT_FUP:
		put_ip(stream, out, "fup", pkt);
		break;
	case PT_PKT_TIP:
		put_ip(stream, out, "tip", pkt);
		break;
	case PT_PKT_TIP_PGE:
		put_ip(stream, out, "tip.pge", pkt);
		break;
	case PT_PKT_TIP_PGD:
		put_ip(stream, out, "tip.pgd", pkt);
		break;
	case PT_PKT_TNT_8:
		put_tnt(out, "tnt.8", pkt);
		break;
	case PT_PKT_TNT_64:
		put_tnt(out, "tnt.64", pkt);
		break;
	case PT_PKT_MODE:
		put_mode(out, pkt);
		break;
	case PT_PKT_PIP:
		put_text(out, "pip", "%" PRIx64 "%-17s cr3  %016" PRIx64, pkt->pip.cr3,
			 pkt->pip.nr ? ", nr" : "", pkt->pip.cr3);
		break;
	case PT_PKT_VMCS:
		put_text(out, "vmcs", "%" PRIx64 "%-17s vmcs %016" PRIx64, pkt->vmcs, "",
			 pkt->vmcs);
		break;
	case PT_PKT_CBR:
		put_text(out, "cbr", "%x", pkt->cbr);
		break;
	case PT_PKT_TSC:
		put_text(out, "tsc", "%" PRIx64, pkt->tsc);
		break;
	case PT_PKT_TMA:
		put_text(out, "tma", "%x, %x", pkt->tma.ctc, pkt->tma.fc);
		break;
	case PT_PKT_MTC:
		put_text(out, "mtc", "%x", pkt->mtc);
		break;
	case PT_PKT_CYC:
		put_text(out, "cyc", "%" PRIx64, pkt->cyc);
		break;
	case PT_PKT_MNT:
		put_text(out, "mnt", "%" PRIx64, pkt->mnt);
		break;
	case PT_PKT_PTW:
		put_text(out, "ptw", "%x: %" PRIx64 "%s", pkt->ptw.plc, pkt->ptw.payload,
			 pkt->ptw.ip ? ", ip" : "");
		break;
	case PT_PKT_EXSTOP:
	case PT_PKT_MWAIT:
	case PT_PKT_PWRE:
	case PT_PKT_PWRX:
		put_power(out, pkt);
		break;
	default:
		put_name(out, "unknown");
		break;
	}
}

static int report(struct packet_iter *w, struct auxtap_packet *out, uint64_t at, uint64_t size)
{
	size_t bytes = size < sizeof(out->bytes) ? (size_t)size : sizeof(out->bytes);

	out->offset = w->offset + at;
	out->size = sizeof(*out);
	out->nr_bytes = (uint8_t)bytes;
	memcpy(out->bytes, w->trace + at, bytes);
	return w->fn(w->ctx, out);
}

static int report_error(struct packet_iter *w, uint64_t at, uint64_t size, const char *why)
{
	struct auxtap_packet out = {0};

	put_text(&out, "error", "%s, %" PRIu64 " bytes skipped", why, size);
	return report(w, &out, at, size);
}

/* Whether there are bytes other than PADs between the two positions. */
static bool has_non_pad(const struct packet_iter *w, uint64_t from, uint64_t to)
{
	while (from < to && !w->trace[from])
		from++;
	return from < to;
}

/* Skips to the next PSB. 1: found; 0: there is none; else fn's result. */
static int synchronise(struct packet_iter *w, uint64_t *at, const char *why)
{
	static const unsigned char psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					      2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	struct auxtap_packet out = {0};
	const unsigned char *found = NULL;
	uint64_t from = *at, keep = sizeof(psb) - 1;
	int ret = 0;

	/* After an error, do not find the same PSB again. */
	*at += why != NULL;
	if (*at < w->size)
		found = memmem(w->trace + *at, w->size - *at, psb, sizeof(psb));
	/* A PSB may begin at the end of this fragment, and end in the next. */
	if (found)
		*at = (uint64_t)(found - w->trace);
	else if (w->last)
		*at = w->size;
	else if (w->size - *at > keep)
		*at = w->size - keep;
	if (why) {
		ret = report_error(w, from, *at - from, why);
	} else if (has_non_pad(w, from, *at)) {
		put_text(&out, "skipped", "%" PRIu64 " bytes before a PSB", *at - from);
		ret = report(w, &out, from, *at - from);
	}
	if (ret)
		return ret;
	w->stream->synced = found != NULL;
	w->stream->have_ip = false;
	w->stream->last_ip = 0;
	return found && pt_reader_seek(w->reader, *at);
}

/*
 * Reports the packet at 'at'. 1: done, *result is fn's result; 0: it is incomplete; -1: it is no
 * packet, and *why has the reason.
 */
static int report_next(struct packet_iter *w, uint64_t *at, int *result, const char **why)
{
	struct auxtap_packet out = {0};
	struct pt_pkt pkt;
	int size;

	size = pt_reader_next(w->reader, &pkt, why);
	if (size <= 0)
		return size;
	put_packet(w->stream, &pkt, &out);
	*result = report(w, &out, *at, (uint64_t)size);
	*at += (uint64_t)size;
	return 1;
}

static int report_chunk(struct packet_iter *w, uint64_t *at)
{
	int result = 0, ret;

	if (w->stream->synced) {
		if (!pt_reader_seek(w->reader, 0))
			return -EINVAL;
	} else {
		ret = synchronise(w, at, NULL);
		if (ret != 1)
			return ret;
	}
	while (*at < w->size) {
		const char *why = "the trace ends inside a packet";

		ret = report_next(w, at, &result, &why);
		if (result)
			return result;
		if (ret > 0)
			continue;
		if (!ret && !w->last)
			return 0; /* the rest comes with the next fragment */
		ret = synchronise(w, at, why);
		if (ret != 1)
			return ret;
	}
	return 0;
}

int pt_packets_chunk(struct pt_packet_stream *stream, const void *trace, size_t size,
		     uint64_t offset, bool last, size_t *used,
		     int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx,
		     struct auxtap_error *err)
{
	struct packet_iter w = {.stream = stream,
				.trace = trace,
				.size = size,
				.offset = offset,
				.last = last,
				.fn = fn,
				.ctx = ctx};
	uint64_t at = 0;
	int ret;

	*used = 0;
	if (!size)
		return 0;
	w.reader = pt_reader_open(trace, size);
	if (!w.reader)
		return auxtap_error_set(err, -ENOMEM, "packets", "no memory for a decoder");
	ret = report_chunk(&w, &at);
	pt_reader_close(w.reader);
	*used = (size_t)at;
	return ret;
}

int auxtap_pt_packets(const void *trace, size_t size, uint64_t offset,
		      int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx,
		      struct auxtap_error *err)
{
	struct pt_packet_stream stream = {0};
	size_t used;

	return pt_packets_chunk(&stream, trace, size, offset, true, &used, fn, ctx, err);
}
