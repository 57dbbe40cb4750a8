// SPDX-License-Identifier: BSD-2-Clause
/* See pt_reader.h. This is the only file that uses libipt's packet decoder. */
#include "pt_reader.h"

#include <intel-pt.h>
#include <string.h>

static struct pt_packet_decoder *packets_of(struct pt_reader *reader)
{
	return (struct pt_packet_decoder *)reader;
}

struct pt_reader *pt_reader_open(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)data;
	config.end = config.begin + size;
	decoder = pt_pkt_alloc_decoder(&config);
	return (struct pt_reader *)decoder;
}

void pt_reader_close(struct pt_reader *reader)
{
	pt_pkt_free_decoder(packets_of(reader));
}

bool pt_reader_seek(struct pt_reader *reader, size_t at)
{
	return pt_pkt_sync_set(packets_of(reader), at) >= 0;
}

static enum pt_pkt_type type_of(enum pt_packet_type type)
{
	static const enum pt_pkt_type types[] = {
		[ppt_pad] = PT_PKT_PAD,		[ppt_psb] = PT_PKT_PSB,
		[ppt_psbend] = PT_PKT_PSBEND,	[ppt_fup] = PT_PKT_FUP,
		[ppt_tip] = PT_PKT_TIP,		[ppt_tip_pge] = PT_PKT_TIP_PGE,
		[ppt_tip_pgd] = PT_PKT_TIP_PGD, [ppt_tnt_8] = PT_PKT_TNT_8,
		[ppt_tnt_64] = PT_PKT_TNT_64,	[ppt_mode] = PT_PKT_MODE,
		[ppt_pip] = PT_PKT_PIP,		[ppt_vmcs] = PT_PKT_VMCS,
		[ppt_cbr] = PT_PKT_CBR,		[ppt_tsc] = PT_PKT_TSC,
		[ppt_tma] = PT_PKT_TMA,		[ppt_mtc] = PT_PKT_MTC,
		[ppt_cyc] = PT_PKT_CYC,		[ppt_stop] = PT_PKT_STOP,
		[ppt_ovf] = PT_PKT_OVF,		[ppt_mnt] = PT_PKT_MNT,
		[ppt_exstop] = PT_PKT_EXSTOP,	[ppt_mwait] = PT_PKT_MWAIT,
		[ppt_pwre] = PT_PKT_PWRE,	[ppt_pwrx] = PT_PKT_PWRX,
		[ppt_ptw] = PT_PKT_PTW,
	};

	/* a newer libipt may know more types; unset entries are PT_PKT_UNKNOWN */
	return (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type] : PT_PKT_UNKNOWN;
}

static void read_mode(const struct pt_packet_mode *from, struct pt_pkt *to)
{
	to->mode.number = (uint8_t)from->leaf;
	switch (from->leaf) {
	case pt_mol_exec:
		to->mode.leaf = PT_MODE_EXEC;
		to->mode.csl = from->bits.exec.csl;
		to->mode.csd = from->bits.exec.csd;
		break;
	case pt_mol_tsx:
		to->mode.leaf = PT_MODE_TSX;
		to->mode.intx = from->bits.tsx.intx;
		to->mode.abrt = from->bits.tsx.abrt;
		break;
	default:
		to->mode.leaf = PT_MODE_OTHER;
		break;
	}
}

static void read_power(const struct pt_packet *from, struct pt_pkt *to)
{
	switch (from->type) {
	case ppt_exstop:
		to->exstop_ip = from->payload.exstop.ip;
		break;
	case ppt_mwait:
		to->mwait.hints = from->payload.mwait.hints;
		to->mwait.ext = from->payload.mwait.ext;
		break;
	case ppt_pwre:
		to->pwre.state = from->payload.pwre.state;
		to->pwre.sub_state = from->payload.pwre.sub_state;
		to->pwre.hw = from->payload.pwre.hw;
		break;
	case ppt_pwrx:
		to->pwrx.last = from->payload.pwrx.last;
		to->pwrx.deepest = from->payload.pwrx.deepest;
		to->pwrx.interrupt = from->payload.pwrx.interrupt;
		to->pwrx.store = from->payload.pwrx.store;
		to->pwrx.autonomous = from->payload.pwrx.autonomous;
		break;
	default:
		break;
	}
}

static void read_payload(const struct pt_packet *from, struct pt_pkt *to)
{
	switch (from->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		to->ip.bytes =
			(uint8_t)from->payload.ip
				.ipc; /* our enum has the encoding of the packet, as libipt's has */
		to->ip.ip = from->payload.ip.ip;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		to->tnt.nr = from->payload.tnt.bit_size;
		to->tnt.bits = from->payload.tnt.payload;
		break;
	case ppt_mode:
		read_mode(&from->payload.mode, to);
		break;
	case ppt_pip:
		to->pip.cr3 = from->payload.pip.cr3;
		to->pip.nr = from->payload.pip.nr;
		break;
	case ppt_vmcs:
		to->vmcs = from->payload.vmcs.base;
		break;
	case ppt_cbr:
		to->cbr = from->payload.cbr.ratio;
		break;
	case ppt_tsc:
		to->tsc = from->payload.tsc.tsc;
		break;
	case ppt_tma:
		to->tma.ctc = from->payload.tma.ctc;
		to->tma.fc = from->payload.tma.fc;
		break;
	case ppt_mtc:
		to->mtc = from->payload.mtc.ctc;
		break;
	case ppt_cyc:
		to->cyc = from->payload.cyc.value;
		break;
	case ppt_mnt:
		to->mnt = from->payload.mnt.payload;
		break;
	case ppt_ptw:
		to->ptw.plc = from->payload.ptw.plc;
		to->ptw.ip = from->payload.ptw.ip;
		to->ptw.payload = from->payload.ptw.payload;
		break;
	default:
		read_power(from, to);
		break;
	}
}

int pt_reader_next(struct pt_reader *reader, struct pt_pkt *pkt, const char **why)
{
	struct pt_packet packet;
	int size = pt_pkt_next(packets_of(reader), &packet, sizeof(packet));

	if (size == -pte_eos)
		return 0;
	if (size <= 0) {
		*why = pt_errstr(size ? pt_errcode(size) : pte_internal);
		return -1;
	}
	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type_of(packet.type);
	pkt->size = (uint8_t)size;
	read_payload(&packet, pkt);
	return size;
}
