// SPDX-License-Identifier: BSD-2-Clause
/*
 * Intel PT packets as text, by libipt's packet decoder. What cannot be decoded is
 * reported as a packet named "error" up to the next PSB; bytes before the first PSB as
 * one named "skipped". The last IP is kept here (libipt's is private) so that compressed
 * addresses are shown whole.
 */
#include "pt_packets.h"

#include <errno.h>
#include <intel-pt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct packet_iter {
	struct pt_packet_stream *stream;
	struct pt_packet_decoder *decoder;
	const unsigned char *trace;
	size_t size;
	uint64_t offset;
	bool last;
	int (*fn)(void *ctx, const struct auxtap_packet *pkt);
	void *ctx;
};

/* name, a blank, the operands */
static void text(struct auxtap_packet *out, const char *name, const char *fmt, ...)
	AUXTAP_PRINTF(3, 4);

static void text(struct auxtap_packet *out, const char *name, const char *fmt, ...)
{
	int used = snprintf(out->text, sizeof(out->text), "%s ", name);
	va_list args;

	va_start(args, fmt);
	vsnprintf(out->text + used, sizeof(out->text) - (size_t)used, fmt, args);
	va_end(args);
	out->name = name;
}

static void bare(struct auxtap_packet *out, const char *name)
{
	snprintf(out->text, sizeof(out->text), "%s", name);
	out->name = name;
}

/* SDM: how many bytes of an IP a packet holds, and where the others come from. */
static void put_ip(struct pt_packet_stream *stream, struct auxtap_packet *out, const char *name,
		   const struct pt_packet_ip *ip)
{
	uint64_t last = stream->last_ip;

	switch (ip->ipc) {
	case pt_ipc_suppressed:
		text(out, name, "%x: ????????????????", ip->ipc);
		return;
	case pt_ipc_update_16:
		text(out, name, "%x: ????????????%04" PRIx64, ip->ipc, ip->ip & 0xffff);
		last = (last & ~0xffffULL) | (ip->ip & 0xffff);
		break;
	case pt_ipc_update_32:
		text(out, name, "%x: ????????%08" PRIx64, ip->ipc, ip->ip & 0xffffffff);
		last = (last & ~0xffffffffULL) | (ip->ip & 0xffffffff);
		break;
	case pt_ipc_update_48:
		text(out, name, "%x: ????%012" PRIx64, ip->ipc, ip->ip & 0xffffffffffff);
		last = (last & ~0xffffffffffffULL) | (ip->ip & 0xffffffffffff);
		break;
	case pt_ipc_sext_48:
		last = (uint64_t)((int64_t)(ip->ip << 16) >> 16);
		text(out, name, "%x: %016" PRIx64, ip->ipc, last);
		break;
	default:
		text(out, name, "%x: %016" PRIx64, ip->ipc, ip->ip);
		last = ip->ip;
		break;
	}
	stream->last_ip = last;
	stream->have_ip = true;
	out->has_ip = true;
	out->ip = last;
}

static void put_tnt(struct auxtap_packet *out, const char *name, const struct pt_packet_tnt *tnt)
{
	char bits[65];
	unsigned int nr = tnt->bit_size < 64 ? tnt->bit_size : 64, i;

	for (i = 0; i < nr; i++)
		bits[i] = tnt->payload >> (nr - 1 - i) & 1 ? '!' : '.';
	bits[i] = '\0';
	text(out, name, "%s", bits);
}

static void put_mode(struct auxtap_packet *out, const struct pt_packet_mode *mode)
{
	switch (mode->leaf) {
	case pt_mol_exec:
		text(out, "mode.exec", "%s%s%s", mode->bits.exec.csl ? "cs.l" : "",
		     mode->bits.exec.csl && mode->bits.exec.csd ? ", " : "",
		     mode->bits.exec.csd ? "cs.d" : "");
		break;
	case pt_mol_tsx:
		text(out, "mode.tsx", "%s%s%s", mode->bits.tsx.intx ? "intx" : "",
		     mode->bits.tsx.intx && mode->bits.tsx.abrt ? ", " : "",
		     mode->bits.tsx.abrt ? "abrt" : "");
		break;
	default:
		text(out, "mode", "leaf %x", mode->leaf);
		break;
	}
}

static void put_power(struct auxtap_packet *out, const struct pt_packet *pkt)
{
	switch (pkt->type) {
	case ppt_exstop:
		text(out, "exstop", "%s", pkt->payload.exstop.ip ? "ip" : "");
		break;
	case ppt_mwait:
		text(out, "mwait", "%08x, %08x", pkt->payload.mwait.hints, pkt->payload.mwait.ext);
		break;
	case ppt_pwre:
		text(out, "pwre", "c%u.%u%s", (pkt->payload.pwre.state + 1) & 0xfu,
		     (pkt->payload.pwre.sub_state + 1) & 0xfu, pkt->payload.pwre.hw ? ", hw" : "");
		break;
	default:
		text(out, "pwrx", "%s%s%sc%u, c%u", pkt->payload.pwrx.interrupt ? "int: " : "",
		     pkt->payload.pwrx.store ? "st: " : "",
		     pkt->payload.pwrx.autonomous ? "hw: " : "",
		     (pkt->payload.pwrx.last + 1) & 0xfu, (pkt->payload.pwrx.deepest + 1) & 0xfu);
		break;
	}
}

static void put_packet(struct pt_packet_stream *stream, const struct pt_packet *pkt,
		       struct auxtap_packet *out)
{
	switch (pkt->type) {
	case ppt_pad:
		bare(out, "pad");
		break;
	case ppt_psb:
		bare(out, "psb");
		/* From here on a decoder may start: nothing before counts. */
		stream->last_ip = 0;
		stream->have_ip = false;
		break;
	case ppt_psbend:
		bare(out, "psbend");
		break;
	case ppt_ovf:
		bare(out, "ovf");
		break;
	case ppt_stop:
		bare(out, "stop");
		break;
	case ppt_fup:
		put_ip(stream, out, "fup", &pkt->payload.ip);
		break;
	case ppt_tip:
		put_ip(stream, out, "tip", &pkt->payload.ip);
		break;
	case ppt_tip_pge:
		put_ip(stream, out, "tip.pge", &pkt->payload.ip);
		break;
	case ppt_tip_pgd:
		put_ip(stream, out, "tip.pgd", &pkt->payload.ip);
		break;
	case ppt_tnt_8:
		put_tnt(out, "tnt.8", &pkt->payload.tnt);
		break;
	case ppt_tnt_64:
		put_tnt(out, "tnt.64", &pkt->payload.tnt);
		break;
	case ppt_mode:
		put_mode(out, &pkt->payload.mode);
		break;
	case ppt_pip:
		text(out, "pip", "%" PRIx64 "%-17s cr3  %016" PRIx64, pkt->payload.pip.cr3,
		     pkt->payload.pip.nr ? ", nr" : "", pkt->payload.pip.cr3);
		break;
	case ppt_vmcs:
		text(out, "vmcs", "%" PRIx64 "%-17s vmcs %016" PRIx64, pkt->payload.vmcs.base, "",
		     pkt->payload.vmcs.base);
		break;
	case ppt_cbr:
		text(out, "cbr", "%x", pkt->payload.cbr.ratio);
		break;
	case ppt_tsc:
		text(out, "tsc", "%" PRIx64, pkt->payload.tsc.tsc);
		break;
	case ppt_tma:
		text(out, "tma", "%x, %x", pkt->payload.tma.ctc, pkt->payload.tma.fc);
		break;
	case ppt_mtc:
		text(out, "mtc", "%x", pkt->payload.mtc.ctc);
		break;
	case ppt_cyc:
		text(out, "cyc", "%" PRIx64, pkt->payload.cyc.value);
		break;
	case ppt_mnt:
		text(out, "mnt", "%" PRIx64, pkt->payload.mnt.payload);
		break;
	case ppt_ptw:
		text(out, "ptw", "%x: %" PRIx64 "%s", pkt->payload.ptw.plc,
		     pkt->payload.ptw.payload, pkt->payload.ptw.ip ? ", ip" : "");
		break;
	case ppt_exstop:
	case ppt_mwait:
	case ppt_pwre:
	case ppt_pwrx:
		put_power(out, pkt);
		break;
	default:
		bare(out, "unknown");
		break;
	}
}

static int report(struct packet_iter *w, struct auxtap_packet *out, uint64_t at, uint64_t size)
{
	size_t bytes = size < sizeof(out->bytes) ? (size_t)size : sizeof(out->bytes);

	out->offset = w->offset + at;
	out->size = (uint8_t)bytes;
	memcpy(out->bytes, w->trace + at, bytes);
	return w->fn(w->ctx, out);
}

static int report_error(struct packet_iter *w, uint64_t at, uint64_t size, const char *why)
{
	struct auxtap_packet out = {0};

	text(&out, "error", "%s, %" PRIu64 " bytes passed over", why, size);
	return report(w, &out, at, size);
}

/* Bytes that are no PAD, between two positions. */
static bool anything(const struct packet_iter *w, uint64_t from, uint64_t to)
{
	while (from < to && !w->trace[from])
		from++;
	return from < to;
}

/* To the next PSB. 1 found, 0 none; else fn's result. */
static int synchronise(struct packet_iter *w, uint64_t *at, const char *why)
{
	static const unsigned char psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					      2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	struct auxtap_packet out = {0};
	const unsigned char *found = NULL;
	uint64_t from = *at, keep = sizeof(psb) - 1;
	int ret = 0;

	/* What could not be decoded is never the next start. */
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
	} else if (anything(w, from, *at)) {
		text(&out, "skipped", "%" PRIu64 " bytes before a PSB", *at - from);
		ret = report(w, &out, from, *at - from);
	}
	if (ret)
		return ret;
	w->stream->synced = found != NULL;
	w->stream->have_ip = false;
	w->stream->last_ip = 0;
	return found && pt_pkt_sync_set(w->decoder, *at) >= 0;
}

/* The packet at 'at'. 1: taken; 0: incomplete at the end; negative libipt error or fn's
 * word in *word. */
static int one(struct packet_iter *w, uint64_t *at, int *word)
{
	struct auxtap_packet out = {0};
	struct pt_packet pkt;
	int size;

	size = pt_pkt_next(w->decoder, &pkt, sizeof(pkt));
	if (size == -pte_eos)
		return 0;
	if (size < 0)
		return size;
	if (!size || (uint64_t)size > w->size - *at)
		return -pte_internal;
	put_packet(w->stream, &pkt, &out);
	*word = report(w, &out, *at, (uint64_t)size);
	*at += (uint64_t)size;
	return 1;
}

static int report_chunk(struct packet_iter *w, uint64_t *at)
{
	int word = 0, ret;

	if (w->stream->synced) {
		if (pt_pkt_sync_set(w->decoder, 0) < 0)
			return -EINVAL;
	} else {
		ret = synchronise(w, at, NULL);
		if (ret != 1)
			return ret;
	}
	while (*at < w->size) {
		ret = one(w, at, &word);
		if (word)
			return word;
		if (ret > 0)
			continue;
		if (!ret && !w->last)
			return 0; /* the rest comes with the next fragment */
		ret = synchronise(w, at,
				  ret ? pt_errstr(pt_errcode(ret)) :
					"the trace ends inside a packet");
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
	struct pt_config config;
	uint64_t at = 0;
	int ret;

	*used = 0;
	if (!size)
		return 0;
	pt_config_init(&config);
	config.begin = (uint8_t *)trace;
	config.end = (uint8_t *)trace + size;
	w.decoder = pt_pkt_alloc_decoder(&config);
	if (!w.decoder)
		return auxtap_error_set(err, -ENOMEM, "packets", "no memory for a decoder");
	ret = report_chunk(&w, &at);
	pt_pkt_free_decoder(w.decoder);
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
