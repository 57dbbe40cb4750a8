// SPDX-License-Identifier: BSD-2-Clause
/* The stack pointer at each of the executed x86 instructions, also beyond frames of calls. */
#include "origin_x86.h"

/* The constant that the instruction adds to the stack pointer; false: unknown. */
static bool stack_moves(const struct executed *e, uint64_t *by)
{
	const ZydisDecodedOperand *op = origin_writes_reg(e, AUXTAP_X86_SP);
	int from;

	*by = 0;
	if (!op)
		return true;
	switch (e->insn.info.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_CALL:
		*by = -8ull;
		return e->insn.info.operand_width == 64;
	case ZYDIS_MNEMONIC_POP:
		*by = 8;
		return e->insn.info.operand_width == 64 &&
		       op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	case ZYDIS_MNEMONIC_RET:
		*by = 8;
		return e->insn.info.operand_count_visible == 0;
	default:
		return origin_adds_constant(e, op, &from, by) && from == AUXTAP_X86_SP;
	}
}

bool origin_is_call(const struct report_branch *b)
{
	return b->kind == AUXTAP_BRANCH_CALL || b->kind == AUXTAP_BRANCH_CALL_INDIRECT;
}

/*
 * The "mov rbp, rsp" of the function that leaves its frame by the instruction at an index, "leave";
 * -1: unknown.
 */
static int frame_made_at(const struct trail *t, int index)
{
	unsigned int depth = 0;
	uint64_t by;

	for (int i = index + 1; i < t->nr; i++) {
		const struct executed *e = &t->at[i];

		/* to another stack, perhaps */
		if (e->insn.info.mnemonic != ZYDIS_MNEMONIC_LEAVE && !stack_moves(e, &by))
			return -1;
		if (e->branch && e->branch->kind == AUXTAP_BRANCH_RETURN)
			depth++;
		if (e->branch && origin_is_call(e->branch) && !depth--)
			return -1;
		if (depth || !origin_writes_reg(e, AUXTAP_X86_BP))
			continue;
		return e->insn.info.mnemonic == ZYDIS_MNEMONIC_MOV &&
				       e->insn.op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       e->insn.op[1].reg.value == ZYDIS_REGISTER_RSP ?
			       i :
			       -1;
	}
	return -1;
}

bool origin_sp_after(const struct trail *t, int index, uint64_t *sp)
{
	const struct executed *e = &t->at[index];
	uint64_t by;
	int made;

	if (e->insn.info.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		made = frame_made_at(t, index);
		if (made < 0 || !t->at[made].has_sp)
			return false;
		*sp = t->at[made].sp + 8;
		return true;
	}
	*sp = e->sp;
	if (!e->has_sp || !stack_moves(e, &by))
		return false;
	*sp += by;
	return true;
}

void origin_find_stack_pointers(struct trail *t)
{
	const struct auxtap_regs *regs = t->flow->regs;
	uint64_t sp = regs->reg[AUXTAP_X86_SP], by;

	if (!(regs->valid & 1ull << AUXTAP_X86_SP))
		return;
	if (t->called)
		sp += 8;
	for (int i = 0; i < t->nr; i++) {
		struct executed *e = &t->at[i];
		int made;

		if (e->insn.info.mnemonic != ZYDIS_MNEMONIC_LEAVE) {
			if (!stack_moves(e, &by))
				return;
			sp -= by;
			e->sp = sp;
			e->has_sp = true;
			continue;
		}
		/* rsp = rbp + 8; rbp is still what rsp was when the frame was made */
		made = frame_made_at(t, i);
		if (made < 0)
			return;
		sp -= 8;
		t->at[made].sp = sp;
		t->at[made].has_sp = true;
		for (int inside = made; inside > i; inside--)
			t->at[inside - 1].has_sp =
				origin_sp_after(t, inside, &t->at[inside - 1].sp);
		i = made;
	}
}

bool origin_sp_before(const struct trail *t, int index, uint64_t *value)
{
	if (index >= 0) {
		*value = t->at[index].sp;
		return t->at[index].has_sp;
	}
	*value = t->flow->regs->reg[AUXTAP_X86_SP];
	if (t->called)
		*value += 8;
	return t->flow->regs->valid >> AUXTAP_X86_SP & 1;
}
