// SPDX-License-Identifier: BSD-2-Clause
/* See cs_limits.h. Versions are those of OpenCSD's release notes. */
#include "cs_limits.h"
#include "cs_config.h"

#define VERSION_EXCEPTIONS  CS_VERSION(1, 4, 2)
#define VERSION_PAUTH_LR    CS_VERSION(1, 5, 1)
#define VERSION_CMPBR	    CS_VERSION(1, 6, 0)
#define VERSION_SPECULATION CS_VERSION(1, 6, 1)
#define VERSION_TEXIT	    CS_VERSION(1, 8, 0)
#define VERSION_V81M	    CS_VERSION(1, 8, 0)

/* ---- instructions ---- */

/* cb<cc>, cbb<cc>, cbh<cc> (FEAT_CMPBR) */
static bool is_compare_and_branch(uint32_t code)
{
	uint32_t size = code >> 14 & 3;
	bool wide = code >> 31;

	switch (code >> 24 & 0x7f) {
	case 0x74: /* two registers; words, doublewords, bytes, halfwords */
		return wide ? size == 0 : size != 1;
	case 0x75: /* register and immediate */
		return !(size & 1);
	default:
		return false;
	}
}

/* retaasppc, retabsppc; with a label or a register (FEAT_PAuth_LR) */
static bool is_return_by_pc(uint32_t code)
{
	if ((code & 0xffc0001f) == 0x5500001f)
		return true;
	return (code & 0xfffffbe0) == 0xd65f0be0 && (code & 0x1f) != 0x1f;
}

/* texit (FEAT_S1POE2) */
static bool is_texit(uint32_t code)
{
	return (code & 0xfffffbff) == 0xd6ff03e0;
}

bool cs_limits_misses_a64(uint32_t version, uint32_t code)
{
	return (version < VERSION_CMPBR && is_compare_and_branch(code)) ||
	       (version < VERSION_PAUTH_LR && is_return_by_pc(code)) ||
	       (version < VERSION_TEXIT && is_texit(code));
}

/*
 * Branches of Armv8.1-M: le, letp, wls, wlstp, and the branch-future instructions (bf, bfl, bfx,
 * …), which no version knows. Their encoding is that of a blx with an odd target.
 */
bool cs_limits_misses_t32(uint32_t version, uint16_t first, uint16_t second)
{
	bool future;

	if (first >> 11 != 0x1e || (second & 0xd001) != 0xc001)
		return false;
	future = first >> 7 & 0xf;
	if (future)
		return true;
	return version < VERSION_V81M && !(second & 0x2000);
}

bool cs_limits_overruns_exception(uint32_t version)
{
	return version < VERSION_EXCEPTIONS;
}

/* ---- speculation ---- */

bool cs_limits_miscounts_commits(uint32_t version, const struct cs_unit *unit, bool *cycle_counts)
{
	if (version >= VERSION_SPECULATION ||
	    (unit->protocol != CS_PROTOCOL_ETMV4 && unit->protocol != CS_PROTOCOL_ETE))
		return false;
	*cycle_counts = unit->regs.configr >> 4 & 1; /* TRCCONFIGR.CCI */
	return unit->regs.idr8 != 0;
}

/* A Trace Info packet has those sections, in a fixed order, that its PLCTL byte lists. */
enum { SCAN_SYNC, SCAN_HEADER, SCAN_PARTS, SCAN_FIELD };
enum { PART_INFO = 1, PART_KEY = 2, PART_SPEC = 4 };

static void next_part(struct cs_sync_scan *scan)
{
	scan->state = scan->parts ? SCAN_FIELD : SCAN_SYNC;
}

void cs_sync_scan(struct cs_sync_scan *scan, uint8_t byte)
{
	uint8_t part = scan->parts & -scan->parts;
	bool was_sync = byte == 0x80 && scan->nr_zeros >= 11;

	scan->nr_zeros = byte ? 0 : scan->nr_zeros < 11 ? scan->nr_zeros + 1 : 11;
	if (was_sync) { /* A-Sync, eleven zeros and 0x80, cannot occur inside another packet */
		scan->state = SCAN_HEADER;
		return;
	}
	switch (scan->state) {
	case SCAN_HEADER:
		scan->state = byte == 0x01 ? SCAN_PARTS : SCAN_SYNC;
		break;
	case SCAN_PARTS:
		scan->parts = byte & (PART_INFO | PART_KEY | PART_SPEC);
		next_part(scan);
		break;
	case SCAN_FIELD:
		if (part == PART_SPEC && byte & 0x7f)
			scan->speculated = true;
		if (byte & 0x80)
			break; /* the field continues */
		scan->parts &= (uint8_t)~part;
		next_part(scan);
		break;
	default:
		break;
	}
}
