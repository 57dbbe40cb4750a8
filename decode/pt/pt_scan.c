// SPDX-License-Identifier: BSD-2-Clause
/* See pt_scan.h. Packets are taken apart by libipt; only their IP compression is undone here. */
#include "pt_scan.h"

#include <intel-pt.h>
#include <string.h>

static struct pt_packet_decoder *packets(const uint8_t *data, size_t size)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)data;
	config.end = config.begin + size;
	return pt_pkt_alloc_decoder(&config);
}

/* The address a packet means; false if it carries none. */
static bool last_ip(uint64_t *last, const struct pt_packet_ip *ip)
{
	switch (ip->ipc) {
	case pt_ipc_update_16:
		*last = (*last & ~0xffffull) | (ip->ip & 0xffff);
		return true;
	case pt_ipc_update_32:
		*last = (*last & ~0xffffffffull) | (ip->ip & 0xffffffff);
		return true;
	case pt_ipc_sext_48:
		*last = (uint64_t)((int64_t)(ip->ip << 16) >> 16);
		return true;
	case pt_ipc_update_48:
		*last = (*last & ~0xffffffffffffull) | (ip->ip & 0xffffffffffffull);
		return true;
	case pt_ipc_full:
		*last = ip->ip;
		return true;
	default:
		return false;
	}
}

size_t pt_scan_psb_plus(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *dec = packets(data, size);
	struct pt_packet packet;
	size_t end = 0, pos = 0;
	int ret;

	if (!dec)
		return 0;
	if (!pt_pkt_sync_set(dec, 0)) {
		while ((ret = pt_pkt_next(dec, &packet, sizeof(packet))) > 0) {
			pos += (size_t)ret;
			if (packet.type == ppt_psbend) {
				end = pos;
				break;
			}
		}
	}
	pt_pkt_free_decoder(dec);
	return end;
}

void pt_scan_head(const uint8_t *data, size_t size, struct pt_scan_head *head)
{
	struct pt_packet_decoder *dec = packets(data, size < 512 ? size : 512);
	struct pt_packet packet;

	memset(head, 0, sizeof(*head));
	if (!dec)
		return;
	if (!pt_pkt_sync_set(dec, 0)) {
		while (pt_pkt_next(dec, &packet, sizeof(packet)) > 0) {
			if (packet.type == ppt_psbend)
				break;
			if (packet.type == ppt_tsc) {
				head->has_tsc = true;
				head->tsc = packet.payload.tsc.tsc;
			} else if (packet.type == ppt_fup) {
				head->has_fup = last_ip(&head->fup, &packet.payload.ip);
			} else if (packet.type == ppt_mode || packet.type == ppt_pip ||
				   packet.type == ppt_vmcs || packet.type == ppt_cbr ||
				   packet.type == ppt_mnt) {
				head->nr_status++;
			}
		}
	}
	pt_pkt_free_decoder(dec);
}

/*
 * Every packet from the PSB on is read, as each may change the last IP, the execution mode or the
 * time; only one that ends after 'from' is taken. A FUP counts only after an OVF, as others give
 * the source of an event.
 */
bool pt_scan_restart(const uint8_t *data, size_t size, size_t from, struct pt_restart *r,
		     bool (*usable)(void *ctx, uint64_t ip), void *ctx)
{
	struct pt_packet_decoder *dec = packets(data, size);
	bool found = false, after_ovf = false;
	struct pt_packet packet;
	uint64_t last = 0;
	size_t pos = 0;
	int ret;

	if (!dec)
		return false;
	if (pt_pkt_sync_set(dec, 0))
		goto out;
	while (!found && (ret = pt_pkt_next(dec, &packet, sizeof(packet))) > 0) {
		bool named;

		pos += (size_t)ret;
		switch (packet.type) {
		case ppt_psb:
			last = 0;
			continue;
		case ppt_tsc:
			if (pos > from)
				r->tsc = packet.payload.tsc.tsc;
			continue;
		case ppt_mode:
			if (packet.payload.mode.leaf == pt_mol_exec)
				r->bits_32 = pt_get_exec_mode(&packet.payload.mode.bits.exec) ==
					     ptem_32bit;
			continue;
		case ppt_ovf:
			after_ovf = pos > from;
			continue;
		case ppt_fup:
			named = last_ip(&last, &packet.payload.ip);
			found = named && after_ovf && pos > from;
			r->enable = false;
			break;
		case ppt_tip:
		case ppt_tip_pge:
			found = last_ip(&last, &packet.payload.ip) && pos > from;
			r->enable = packet.type == ppt_tip_pge;
			break;
		case ppt_tip_pgd:
			last_ip(&last, &packet.payload.ip);
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
	pt_pkt_free_decoder(dec);
	return found;
}

static uint8_t *put_ip(uint8_t *at, uint8_t opcode, uint64_t ip)
{
	*at++ = opcode | 6 << 5; /* the address in full */
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
