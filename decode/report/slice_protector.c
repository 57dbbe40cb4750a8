// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who overwrote the value of the stack protector (the canary): the first write of something else to
 * where a function had put it, before its check failed.
 */
#include "slice_follow.h"

#include <string.h>

#define PROTECTOR_OFFSET 0x28 /* of the value from fs, by the ABI */
#define MAX_APART	 8 /* instructions between reading the value and comparing or storing it */
#define MAX_WRITES	 4096 /* to where it is kept */

static bool reads_protector(const struct x86_insn *x)
{
	for (unsigned int i = 0; i < x->info.operand_count; i++)
		if (slice_is_memory(&x->op[i]) && x->op[i].mem.segment == ZYDIS_REGISTER_FS &&
		    x->op[i].mem.disp.value == PROTECTOR_OFFSET &&
		    x->op[i].mem.base == ZYDIS_REGISTER_NONE &&
		    x->op[i].mem.index == ZYDIS_REGISTER_NONE)
			return true;
	return false;
}

/* Does the instruction read 8 bytes of the stack? */
static bool reads_stack(const struct x86_insn *x)
{
	for (unsigned int i = 0; i < x->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &x->op[i];

		if (slice_is_memory(op) && op->size == 64 &&
		    op->actions & ZYDIS_OPERAND_ACTION_MASK_READ &&
		    op->mem.index == ZYDIS_REGISTER_NONE &&
		    (op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_RBP))
			return true;
	}
	return false;
}

/* At the end of the basic block with the check: where the function keeps the value. */
static bool find_check(struct past *p, uint64_t *slot)
{
	bool is_check = false, found = false;
	struct x86_insn x;
	uint64_t ip;

	for (unsigned int i = 0; i < MAX_APART && p->insn; i++) {
		p->insn--;
		if (!past_insn(p, p->insn, &x, &ip))
			return false;
		is_check = is_check || reads_protector(&x);
		if (!found && reads_stack(&x))
			found = past_operand(p, slot);
		if (is_check && found)
			return true;
	}
	return false;
}

/* Is it the function's own write of the value, which it has just read? */
static bool is_own_write(const struct past *p, const struct value_log_write *write, uint64_t slot)
{
	struct x86_insn x, from;
	uint64_t ip;

	if (write->addr != slot || write->nr_bytes != 8 || !past_insn(p, p->insn, &x, &ip) ||
	    x.info.mnemonic != ZYDIS_MNEMONIC_MOV || !slice_is_reg(&x.op[1]))
		return false;
	for (uint32_t i = p->insn; i && p->insn - i < MAX_APART; i--)
		if (past_insn(p, i - 1, &from, &ip) && from.info.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    slice_is_reg(&from.op[0]) && from.op[0].reg.value == x.op[1].reg.value)
			return reads_protector(&from);
	return false;
}

/* The value that the function put there. */
static bool find_value(struct past p, uint64_t slot, uint64_t frame_slot, uint64_t *value)
{
	struct value_log_write write;

	for (unsigned int i = 0; i < MAX_WRITES; i++) {
		if (past_find_own_write(&p, slot, sizeof(*value), frame_slot, &write) !=
			    PAST_WRITE_FOUND ||
		    !write.bytes)
			return false;
		if (is_own_write(&p, &write, slot)) {
			if (!past_has_all_since(&p))
				return false;
			memcpy(value, write.bytes, sizeof(*value));
			return true;
		}
	}
	return false;
}

void slice_follow_protector(struct slice *s, uint64_t call, uint64_t frame_slot, uint64_t death_ip)
{
	struct value_log_write write;
	struct past first;
	bool found = false;
	uint64_t slot, value, ip;
	struct x86_insn x;

	if (!past_find_insn(&s->p, call, death_ip, true) || s->p.insn ||
	    !past_insn(&s->p, 0, &x, &ip) || x.info.mnemonic != ZYDIS_MNEMONIC_CALL ||
	    !past_back(&s->p) || !find_check(&s->p, &slot) ||
	    !find_value(s->p, slot, frame_slot, &value))
		return;
	s->lacks_order = !past_is_own(&s->p, slot, sizeof(value));
	if (s->lacks_order)
		return;
	while (past_find_own_write(&s->p, slot, sizeof(value), frame_slot, &write) ==
		       PAST_WRITE_FOUND &&
	       !is_own_write(&s->p, &write, slot)) {
		if (value_log_keeps(&write, slot, sizeof(value), value))
			continue;
		first = s->p;
		found = true;
	}
	if (!found || !past_insn(&first, first.insn, &x, &ip))
		return;
	s->p = first;
	s->out->value = value;
	slice_add_step(s, REPORT_SLICE_WRITTEN, ip, slot);
}
