// SPDX-License-Identifier: BSD-2-Clause
/* See pt_scan.h. Addresses are decompressed here. */
#include "pt_scan.h"
#include "pt_reader.h"

#include <string.h>

/* Updates the last IP to the packet's address; false: the packet has none. */
static bool last_ip(uint64_t *last, const struct pt_pkt *pkt)
{
	uint64_t ip = pkt->ip.ip;

	switch (pkt->ip.bytes) {
	case PT_IP_16:
		*last = (*last & ~0xffffull) | (ip & 0xffff);
		return true;
	case PT_IP_32:
		*last = (*last & ~0xffffffffull) | (ip & 0xffffffff);
		return true;
	case PT_IP_48_EXTENDED:
		*last = (uint64_t)((int64_t)(ip << 16) >> 16);
		return true;
	case PT_IP_48:
		*last = (*last & ~0xffffffffffffull) | (ip & 0xffffffffffffull);
		return true;
	case PT_IP_FULL:
		*last = ip;
		return true;
	default:
		return false;
	}
}

size_t pt_psb_plus_size(const uint8_t *data, size_t size)
{
	struct pt_reader *reader = pt_reader_open(data, size);
	size_t end = 0, pos = 0;
	struct pt_pkt pkt;
	const char *why;
	int ret;

	if (!reader)
		return 0;
	if (pt_reader_seek(reader, 0)) {
		while ((ret = pt_reader_next(reader, &pkt, &why)) > 0) {
			pos += (size_t)ret;
			if (pkt.type == PT_PKT_PSBEND) {
				end = pos;
				break;
			}
		}
	}
	pt_reader_close(reader);
	return end;
}

void pt_psb_plus_read(const uint8_t *data, size_t size, struct pt_psb_plus *psb_plus)
{
	struct pt_reader *reader = pt_reader_open(data, size < 512 ? size : 512);
	struct pt_pkt pkt;
	const char *why;

	memset(psb_plus, 0, sizeof(*psb_plus));
	if (!reader)
		return;
	if (pt_reader_seek(reader, 0)) {
		while (pt_reader_next(reader, &pkt, &why) > 0) {
			if (pkt.type == PT_PKT_PSBEND)
				break;
			if (pkt.type == PT_PKT_TSC) {
				psb_plus->has_tsc = true;
				psb_plus->tsc = pkt.tsc;
			} else if (pkt.type == PT_PKT_FUP) {
				psb_plus->has_fup = last_ip(&psb_plus->fup, &pkt);
			} else if (pkt.type == PT_PKT_MODE || pkt.type == PT_PKT_PIP ||
				   pkt.type == PT_PKT_VMCS || pkt.type == PT_PKT_CBR ||
				   pkt.type == PT_PKT_MNT) {
				psb_plus->nr_status++;
			}
		}
	}
	pt_reader_close(reader);
}

/*
 * Reads all packets from the PSB on, as each may change the last IP, the execution mode or the
 * time, but stops only at one that ends after 'from'. A FUP is a restart position only after an
 * OVF: other FUPs have the source address of an event.
 */
bool pt_scan_restart(const uint8_t *data, size_t size, size_t from, struct pt_restart *r,
		     bool (*usable)(void *ctx, uint64_t ip), void *ctx)
{
	struct pt_reader *reader = pt_reader_open(data, size);
	bool found = false, after_ovf = false;
	struct pt_pkt pkt;
	uint64_t last = 0;
	const char *why;
	size_t pos = 0;
	int ret;

	if (!reader)
		return false;
	if (!pt_reader_seek(reader, 0))
		goto out;
	while (!found && (ret = pt_reader_next(reader, &pkt, &why)) > 0) {
		bool named;

		pos += (size_t)ret;
		switch (pkt.type) {
		case PT_PKT_PSB:
			last = 0;
			continue;
		case PT_PKT_TSC:
			if (pos > from)
				r->tsc = pkt.tsc;
			continue;
		case PT_PKT_MODE:
			if (pkt.mode.leaf == PT_MODE_EXEC)
				r->bits_32 = pt_mode_is_32(&pkt);
			continue;
		case PT_PKT_OVF:
			after_ovf = pos > from;
			continue;
		case PT_PKT_FUP:
			named = last_ip(&last, &pkt);
			found = named && after_ovf && pos > from;
			r->enable = false;
			break;
		case PT_PKT_TIP:
		case PT_PKT_TIP_PGE:
			found = last_ip(&last, &pkt) && pos > from;
			r->enable = pkt.type == PT_PKT_TIP_PGE;
			break;
		case PT_PKT_TIP_PGD:
			last_ip(&last, &pkt);
			continue;
		default:
			continue;
		}
		found = found && usable(ctx, last);
		r->overflow = after_ovf;
		r->ip = last;
		r->end = pos;
	}
out:
	pt_reader_close(reader);
	return found;
}

static uint8_t *put_ip(uint8_t *at, uint8_t opcode, uint64_t ip)
{
	*at++ = opcode | 6 << 5; /* IPBytes: the full address */
	memcpy(at, &ip, 8);
	return at + 8;
}

static uint8_t *put_mode(uint8_t *at, bool bits_32)
{
	*at++ = 0x99;
	*at++ = bits_32 ? 0x02 : 0x01;
	return at;
}

size_t pt_restart_header(const struct pt_restart *r, uint8_t out[PT_RESTART_HEADER_MAX])
{
	uint8_t *at = out;

	for (int i = 0; i < 8; i++) {
		*at++ = 0x02;
		*at++ = 0x82;
	}
	if (r->tsc) {
		*at++ = 0x19;
		memcpy(at, &r->tsc, 7);
		at += 7;
	}
	if (!r->enable) {
		at = put_mode(at, r->bits_32);
		at = put_ip(at, 0x1d, r->ip); /* FUP */
	}
	*at++ = 0x02;
	*at++ = 0x23; /* PSBEND */
	if (r->enable) {
		at = put_mode(at, r->bits_32);
		at = put_ip(at, 0x11, r->ip); /* TIP.PGE */
	}
	return (size_t)(at - out);
}

size_t pt_scan_move(struct flow_bytes *bytes, size_t from, struct pt_restart *r,
		    bool (*usable)(void *ctx, uint64_t ip), void *ctx)
{
	uint8_t header[PT_RESTART_HEADER_MAX];
	ptrdiff_t skip;
	size_t size;

	if (from > bytes->size)
		from = bytes->size;
	if (!pt_scan_restart(bytes->data, bytes->size, from, r, usable, ctx))
		return 0;
	size = pt_restart_header(r, header);
	memcpy(bytes->data + r->end - size, header, size);
	skip = (ptrdiff_t)r->end - (ptrdiff_t)size; /* may be negative */
	bytes->data += skip;
	bytes->off += (uint64_t)skip;
	bytes->size -= (size_t)skip;
	bytes->total -= (size_t)skip;
	return size;
}
