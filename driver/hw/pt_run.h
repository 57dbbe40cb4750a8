/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encodes the branches of a run of blocks: the same packets as pt_unit_branch() generates, but
 * without a call for each branch, and with the pending TNT bits in a register. The return stack is
 * here because pt_unit.c uses it, too.
 */
#ifndef AUXTAP_PT_RUN_H
#define AUXTAP_PT_RUN_H

#include "pt_encoder.h"

static inline void pt_push_return(struct pt_unit *unit, u64 ip)
{
	if (!unit->ret_compress)
		return;
	unit->ret_top = (unit->ret_top + 1) & PT_RET_MASK;
	unit->ret_stack[unit->ret_top] = ip;
	if (unit->ret_depth <= PT_RET_MASK)
		unit->ret_depth++;
}

/*
 * Section "RET Compression". Keeps only return addresses that every decoder would predict: some
 * decoders pop on each RET, some only on compressed ones, so after a RET that went elsewhere older
 * entries are not used again (ret_depth 0).
 */
static inline bool pt_pop_return(struct pt_unit *unit, u64 target)
{
	if (!unit->ret_depth)
		return false;
	if (unit->ret_stack[unit->ret_top] != target) {
		unit->ret_depth = 0;
		return false;
	}
	unit->ret_top = (unit->ret_top - 1) & PT_RET_MASK;
	unit->ret_depth--;
	return true;
}

/*
 * Whether the unit has only branches to encode: packets are enabled, and there is no pending work
 * (overflow, MTCEn, address ranges). The result holds until the unit's registers are written or the
 * program leaves user mode.
 */
static inline bool pt_run_possible(const struct pt_unit *unit)
{
	return unit->packet_en && !unit->pending_work;
}

/*
 * The pending TNT bits as one number, which stays in a register: as in a packet, a stop bit and
 * then the branches, the oldest in the highest bit.
 */
static inline u64 pt_run_begin(const struct pt_unit *unit)
{
	return 1ull << unit->nr_tnt | unit->tnt;
}

/* When the number reaches this limit, call pt_unit_send_tnt(). */
static inline u64 pt_run_limit(const struct pt_unit *unit)
{
	return 1ull << unit->tnt_limit;
}

/* Writes the state back to the unit; the program is at ip. */
static inline void pt_run_end(struct pt_unit *unit, u64 bits, u64 ip)
{
	unit->nr_tnt = (u8)(63 - __builtin_clzll(bits));
	unit->tnt = bits ^ 1ull << unit->nr_tnt;
	unit->ip = ip;
}

/*
 * Adds a conditional branch, or does nothing for a direct jump or call (is_jcc 0): without a jump
 * in the code, because processors do not predict well which of the two it is.
 */
static inline u64 pt_run_direct(u64 bits, bool is_jcc, bool taken)
{
	return bits << is_jcc | (is_jcc & taken);
}

#endif
