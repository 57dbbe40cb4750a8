// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds what may be the start of an array in the sum that an address is: whether it is one, the
 * symbols of the variables show (report_origin.c).
 */
#include "origin_x86.h"

static void add_start(struct report_element *element, uint64_t start)
{
	if (element->nr_starts < REPORT_STARTS)
		element->start[element->nr_starts++] = start;
}

/* The registers of a sum that may be the start of an array, and the constant of the sum. */
struct sum {
	ZydisRegister reg[2]; /* not one that is multiplied; ZYDIS_REGISTER_NONE: there is none */
	uint64_t constant;
};

static struct sum sum_of(const ZydisDecodedOperand *op)
{
	return (struct sum){
		.reg = {op->mem.base, op->mem.scale == 1 ? op->mem.index : ZYDIS_REGISTER_NONE},
		.constant = (uint64_t)op->mem.disp.value,
	};
}

/* The sum that the instruction wrote to a register. False: it is none. */
static bool written_sum(const struct executed *e, const ZydisDecodedOperand *to, struct sum *sum)
{
	const ZydisDecodedOperand *other = &e->insn.op[1];

	if (to != &e->insn.op[0] || !origin_is_reg64(to))
		return false;
	switch (e->insn.info.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		*sum = (struct sum){.reg = {to->reg.value, other->reg.value}};
		return origin_is_reg64(other);
	case ZYDIS_MNEMONIC_LEA:
		*sum = sum_of(other);
		return other->mem.index != ZYDIS_REGISTER_NONE;
	default:
		return false;
	}
}

void origin_find_starts(const struct trail *t, int index, const ZydisDecodedOperand *op,
			uint64_t addr, struct report_element *element)
{
	const int base = x86_reg_index(op->mem.base);
	struct sum sum = sum_of(op), written;
	uint64_t value;
	int by;

	*element = (struct report_element){.addr = addr, .nr_bytes = op->size / 8};
	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		return;
	if (!origin_is_small(sum.constant))
		add_start(element, sum.constant);
	if (op->mem.index == ZYDIS_REGISTER_NONE) {
		by = base < 0 ? -1 : origin_last_write(t, index, base);
		if (by < 0 ||
		    !written_sum(&t->at[by], origin_writes_reg(&t->at[by], base), &written))
			return;
		written.constant += sum.constant;
		sum = written;
		index = by;
	}
	for (int i = 0; i < 2; i++)
		if (ZydisRegisterGetClass(sum.reg[i]) == ZYDIS_REGCLASS_GPR64 &&
		    origin_value_before(t, index, x86_reg_index(sum.reg[i]), ORIGIN_DEPTH, &value))
			add_start(element, value + sum.constant);
}

void origin_find_accessed(const struct trail *t, const struct executed *e, uint64_t accessed,
			  struct report_element *element)
{
	for (unsigned int i = 0; i < e->insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &e->insn.op[i];
		uint64_t addr;

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    origin_address_before(t, e, -1, op, ORIGIN_DEPTH, &addr) && addr == accessed)
			origin_find_starts(t, -1, op, addr, element);
	}
}
