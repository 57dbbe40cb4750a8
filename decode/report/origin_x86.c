// SPDX-License-Identifier: BSD-2-Clause
/*
 * Follows a value backwards through the executed x86 instructions, from a register to what it was
 * computed from. Only moves, and additions of constants to a pointer, are followed; anything else
 * that may have changed the value makes it unknown.
 */
#include "origin.h"
#include "zydis_insn.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 24 /* instructions that one pointer is followed through */
#define MAX_DEPTH 6  /* nested registers that an address is computed from */

/* An executed instruction. The newest is the first; index -1 is the state at the fault. */
struct executed {
	struct x86_insn insn;
	uint64_t ip;
	const struct report_branch *branch; /* the taken branch that it is; NULL: none */
};

struct trail {
	const struct origin_flow *flow;
	struct executed *at;
	int nr;
	bool called; /* the stack pointer at the fault is that after the call at the fault */
};

/* ---- what was executed ---- */

static bool read_insn(const struct origin_flow *flow, uint64_t ip, struct executed *e)
{
	const struct report_out *ro = flow->ro;
	uint8_t code[15];
	ssize_t n = auxtap_image_set_read(ro->images, ro->pid, ro->time, ip, code, sizeof(code));

	*e = (struct executed){.ip = ip};
	return n > 0 && x86_disassemble(code, (size_t)n, &e->insn);
}

static void reverse(struct executed *at, int nr)
{
	for (int i = 0; i < nr / 2; i++) {
		struct executed e = at[i];

		at[i] = at[nr - 1 - i];
		at[nr - 1 - i] = e;
	}
}

/* Adds the instructions of a run. False: it is incomplete, so that nothing before it is known. */
static bool add_run(struct trail *t, const struct origin_run *run)
{
	const int first = t->nr;
	uint64_t ip = run->first;

	while (ip != run->end || run->branch) {
		struct executed *e = &t->at[t->nr];

		if (t->nr == ORIGIN_INSNS || ip > run->end || !read_insn(t->flow, ip, e))
			goto cut;
		t->nr++;
		if (ip == run->end) {
			e->branch = run->branch;
			break;
		}
		ip += e->insn.info.length;
	}
	reverse(t->at + first, t->nr - first);
	return true;
cut:
	t->nr = first;
	return false;
}

/* ---- operands ---- */

static int enclosing_reg(ZydisRegister reg)
{
	return x86_reg_index(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
}

/* The operand that changes the register; NULL: none does. */
static const ZydisDecodedOperand *writes_reg(const struct executed *e, int reg)
{
	for (unsigned int i = 0; i < e->insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &e->insn.op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    enclosing_reg(op->reg.value) == reg)
			return op;
	}
	return NULL;
}

static bool is_reg64(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_GPR64 &&
	       x86_reg_index(op->reg.value) >= 0;
}

static bool is_word(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
	       op->size == 64;
}

/* "mov register, ...", of all 64 bits. */
static bool is_move_to(const struct executed *e, const ZydisDecodedOperand *op)
{
	return e->insn.info.mnemonic == ZYDIS_MNEMONIC_MOV && op == &e->insn.op[0] && is_reg64(op);
}

/* "add register, constant", "sub", or "lea register, [register + constant]". */
static bool adds_constant(const struct executed *e, const ZydisDecodedOperand *op, int *from,
			  uint64_t *added)
{
	const ZydisDecodedOperand *other = &e->insn.op[1];

	if (op != &e->insn.op[0] || !is_reg64(op))
		return false;
	switch (e->insn.info.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (other->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*from = x86_reg_index(op->reg.value);
		*added = (uint64_t)other->imm.value.s;
		if (e->insn.info.mnemonic == ZYDIS_MNEMONIC_SUB)
			*added = -*added;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		*from = x86_reg_index(other->mem.base);
		*added = (uint64_t)other->mem.disp.value;
		return *from >= 0 && other->mem.index == ZYDIS_REGISTER_NONE &&
		       ZydisRegisterGetClass(other->mem.base) == ZYDIS_REGCLASS_GPR64;
	default:
		return false;
	}
}

/* ---- values: before the instruction of an index was executed; -1: at the fault ---- */

static bool value_before(const struct trail *t, int index, int reg, int depth, uint64_t *value);

/* Address of an operand of e, which is the instruction at index, or the one after all of them. */
static bool address_before(const struct trail *t, const struct executed *e, int index,
			   const ZydisDecodedOperand *op, int depth, uint64_t *addr)
{
	const struct auxtap_regs *regs = t->flow->regs;
	uint64_t base = 0, of_index = 0;

	if (op->mem.base == ZYDIS_REGISTER_RIP)
		base = e->ip + e->insn.info.length;
	else if (op->mem.base != ZYDIS_REGISTER_NONE &&
		 (ZydisRegisterGetClass(op->mem.base) != ZYDIS_REGCLASS_GPR64 ||
		  !value_before(t, index, x86_reg_index(op->mem.base), depth, &base)))
		return false;
	if (op->mem.index != ZYDIS_REGISTER_NONE &&
	    (ZydisRegisterGetClass(op->mem.index) != ZYDIS_REGCLASS_GPR64 ||
	     !value_before(t, index, x86_reg_index(op->mem.index), depth, &of_index)))
		return false;
	*addr = base + of_index * op->mem.scale + (uint64_t)op->mem.disp.value;
	/* push and call store below the current stack pointer */
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    op->mem.base == ZYDIS_REGISTER_RSP && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		*addr -= op->size / 8;
	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS) {
		int seg = op->mem.segment == ZYDIS_REGISTER_FS ? AUXTAP_X86_FS : AUXTAP_X86_GS;

		if (!(regs->valid & 1ull << seg))
			return false;
		*addr += regs->reg[seg];
	}
	return true;
}

/* The constant that the instruction adds to the stack pointer; false: unknown. */
static bool stack_moves(const struct executed *e, uint64_t *by)
{
	const ZydisDecodedOperand *op = writes_reg(e, AUXTAP_X86_SP);
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
		return adds_constant(e, op, &from, by) && from == AUXTAP_X86_SP;
	}
}

static bool stack_pointer_before(const struct trail *t, int index, uint64_t *value)
{
	uint64_t by;

	*value = t->flow->regs->reg[AUXTAP_X86_SP];
	if (!(t->flow->regs->valid & 1ull << AUXTAP_X86_SP))
		return false;
	if (t->called)
		*value += 8;
	for (int i = 0; i <= index; i++) {
		if (!stack_moves(&t->at[i], &by))
			return false;
		*value -= by;
	}
	return true;
}

enum touch { TOUCH_NOT, TOUCH_EXACTLY, TOUCH_UNKNOWN };

/* Does the instruction write to the bytes at addr? */
static enum touch touches(const struct trail *t, int index, uint64_t addr, unsigned int nr_bytes,
			  int depth)
{
	const struct executed *e = &t->at[index];

	if (e->insn.info.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return TOUCH_UNKNOWN;
	for (unsigned int i = 0; i < e->insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &e->insn.op[i];
		uint64_t to;

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
		    !address_before(t, e, index, op, depth, &to))
			return TOUCH_UNKNOWN;
		if (to == addr && op->size / 8 == nr_bytes)
			return TOUCH_EXACTLY;
		if (to < addr + nr_bytes && addr < to + op->size / 8)
			return TOUCH_UNKNOWN;
	}
	return TOUCH_NOT;
}

/* True if addr is in the stack of the thread, where other threads rarely write. */
static bool is_own_stack(const struct trail *t, uint64_t addr)
{
	const uint64_t sp = t->flow->regs->reg[AUXTAP_X86_SP];
	const struct report_map *map = report_facts_map(t->flow->facts, addr);

	return map && sp >= map->start && sp < map->end;
}

/* The bytes at addr as of an index, if nothing has written to them since. */
static bool memory_before(const struct trail *t, int index, uint64_t addr, unsigned int nr_bytes,
			  int depth, uint64_t *value)
{
	for (int i = 0; i < index; i++)
		if (touches(t, i, addr, nr_bytes, depth) != TOUCH_NOT)
			return false;
	return is_own_stack(t, addr) && report_facts_memory(t->flow->facts, addr, value, nr_bytes);
}

static int last_write(const struct trail *t, int index, int reg)
{
	for (index++; index < t->nr; index++)
		if (writes_reg(&t->at[index], reg))
			return index;
	return -1;
}

static bool is_unchanged_since(const struct trail *t, int index, int reg)
{
	for (int i = 0; i <= index; i++)
		if (writes_reg(&t->at[i], reg))
			return false;
	return true;
}

/* The value of a source operand of 64 bits, or of 32 bits, zero-extended. */
static bool source_before(const struct trail *t, int index, const ZydisDecodedOperand *op,
			  int depth, uint64_t *value)
{
	uint64_t addr;

	/* sign-extended as the instruction does it */
	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*value = op->imm.value.u;
		return true;
	}
	if (op->size != 64 && op->size != 32)
		return false;
	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (!value_before(t, index, x86_reg_index(op->reg.value), depth, value))
			return false;
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		*value = 0;
		if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
		    !address_before(t, &t->at[index], index, op, depth, &addr) ||
		    !memory_before(t, index, addr, op->size / 8, depth, value))
			return false;
		break;
	default:
		return false;
	}
	if (op->size == 32)
		*value = (uint32_t)*value;
	return true;
}

/* The result of the instruction in its first operand, a register. */
static bool result_of(const struct trail *t, int index, int depth, uint64_t *value)
{
	const struct x86_insn *insn = &t->at[index].insn;
	uint64_t other;

	switch (insn->info.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return source_before(t, index, &insn->op[1], depth, value);
	case ZYDIS_MNEMONIC_MOVSXD:
		if (insn->op[1].size != 32 || !source_before(t, index, &insn->op[1], depth, value))
			return false;
		*value = (uint64_t)(int64_t)(int32_t)*value;
		return true;
	case ZYDIS_MNEMONIC_CDQE:
		if (!value_before(t, index, AUXTAP_X86_AX, depth, value))
			return false;
		*value = (uint64_t)(int64_t)(int32_t)*value;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		return insn->info.address_width == 64 &&
		       address_before(t, &t->at[index], index, &insn->op[1], depth, value);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (insn->op[0].size != 64 ||
		    !source_before(t, index, &insn->op[0], depth, value) ||
		    !source_before(t, index, &insn->op[1], depth, &other))
			return false;
		*value += insn->info.mnemonic == ZYDIS_MNEMONIC_ADD ? other : -other;
		return true;
	case ZYDIS_MNEMONIC_SHL:
		if (insn->op[0].size != 64 || insn->op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    !source_before(t, index, &insn->op[0], depth, value))
			return false;
		*value <<= insn->op[1].imm.value.u & 63;
		return true;
	default:
		return false;
	}
}

static bool value_before(const struct trail *t, int index, int reg, int depth, uint64_t *value)
{
	const struct auxtap_regs *regs = t->flow->regs;
	const ZydisDecodedOperand *op;
	int by;

	if (reg < 0 || !depth--)
		return false;
	if (reg == AUXTAP_X86_SP)
		return stack_pointer_before(t, index, value);
	if (is_unchanged_since(t, index, reg)) {
		*value = regs->reg[reg];
		return regs->valid >> reg & 1;
	}
	by = last_write(t, index, reg);
	if (by < 0)
		return false;
	op = writes_reg(&t->at[by], reg);
	/* a result of 8 or 16 bits does not change the other bits */
	if (op->size != 64 && op->size != 32)
		return false;
	if (op != &t->at[by].insn.op[0] || !result_of(t, by, depth, value))
		return false;
	if (op->size == 32)
		*value = (uint32_t)*value;
	return true;
}

/* ---- the search ---- */

/*
 * The register that was stored at addr before *index, which becomes that of the store; -1: unknown,
 * for example if other threads may have written there since.
 */
static int stored_from(const struct trail *t, int *index, uint64_t addr)
{
	if (!is_own_stack(t, addr))
		return -1;
	for (int i = *index + 1; i < t->nr; i++) {
		const struct executed *e = &t->at[i];
		const ZydisDecodedOperand *from = &e->insn.op[1];

		switch (touches(t, i, addr, 8, MAX_DEPTH)) {
		case TOUCH_NOT:
			continue;
		case TOUCH_UNKNOWN:
			return -1;
		case TOUCH_EXACTLY:
			break;
		}
		if (e->insn.info.mnemonic != ZYDIS_MNEMONIC_MOV || !is_reg64(from))
			return -1;
		*index = i;
		return x86_reg_index(from->reg.value);
	}
	return -1;
}

static bool is_call(const struct report_branch *b)
{
	return b->kind == AUXTAP_BRANCH_CALL || b->kind == AUXTAP_BRANCH_CALL_INDIRECT;
}

/*
 * Did the function that returned at an index write to rax? If its caller knows that it does not, it
 * may keep a value there.
 */
static bool wrote_result(const struct trail *t, int index)
{
	unsigned int depth = 0;

	for (int i = index; i < t->nr; i++) {
		const struct report_branch *b = t->at[i].branch;

		if (b && is_call(b) && !--depth)
			return false;
		if (b && b->kind == AUXTAP_BRANCH_RETURN)
			depth++;
		if (writes_reg(&t->at[i], AUXTAP_X86_AX))
			return true;
	}
	return false;
}

/*
 * Finds the last write of the register before index: the instruction at *by, or -1 if it is
 * unknown. If the register is the result of a function, returns the branch that left that.
 */
static const struct report_branch *written_by(const struct trail *t, int index, int reg, int *by)
{
	for (int i = index + 1; i < t->nr; i++) {
		const struct report_branch *b = t->at[i].branch;

		if (b && b->kind == AUXTAP_BRANCH_RETURN && reg == AUXTAP_X86_AX &&
		    !origin_is_helper(t->flow->ro, b->from) && wrote_result(t, i))
			return b;
		if (writes_reg(&t->at[i], reg)) {
			*by = i;
			return NULL;
		}
	}
	*by = -1;
	return NULL;
}

static void follow(const struct trail *t, int index, int reg, struct report_origin *origin)
{
	for (int steps = 0; steps < MAX_STEPS && reg >= 0; steps++) {
		const struct report_branch *returned = written_by(t, index, reg, &index);
		const ZydisDecodedOperand *op, *from;
		uint64_t added, addr;

		if (returned) {
			origin->kind = REPORT_ORIGIN_RETURNED;
			origin->ip = returned->from;
			return;
		}
		if (index < 0)
			return;
		op = writes_reg(&t->at[index], reg);
		from = &t->at[index].insn.op[1];
		if (adds_constant(&t->at[index], op, &reg, &added)) {
			origin->value -= added;
			continue;
		}
		if (!is_move_to(&t->at[index], op))
			return;
		if (is_reg64(from)) {
			reg = x86_reg_index(from->reg.value);
			continue;
		}
		if (!is_word(from) ||
		    !address_before(t, &t->at[index], index, from, MAX_DEPTH, &addr))
			return;
		origin->kind = REPORT_ORIGIN_READ;
		origin->ip = t->at[index].ip;
		origin->addr = addr;
		reg = stored_from(t, &index, addr);
	}
}

/* The register that the address of the access was computed from; -1: none, or several. */
static int base_of_access(const struct executed *e, const struct fault_access *a)
{
	for (unsigned int i = 0; i < e->insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &e->insn.op[i];

		if (a->base_reg[0] && op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    ZydisRegisterGetClass(op->mem.base) == ZYDIS_REGCLASS_GPR64 &&
		    !strcmp(ZydisRegisterGetString(op->mem.base), a->base_reg))
			return x86_reg_index(op->mem.base);
	}
	return -1;
}

/* Follows the target of a call or jump. */
static void follow_target(const struct trail *t, const struct executed *e,
			  struct report_origin *origin)
{
	const ZydisDecodedOperand *op = &e->insn.op[0];
	int index = -1, base;
	uint64_t addr;

	origin->has_value = t->flow->is_branch;
	origin->value = t->flow->target;
	if (is_reg64(op)) {
		origin->has_value = true;
		origin->value = t->flow->regs->reg[x86_reg_index(op->reg.value)];
		follow(t, -1, x86_reg_index(op->reg.value), origin);
	} else if (is_word(op) && address_before(t, e, -1, op, MAX_DEPTH, &addr)) {
		origin->kind = REPORT_ORIGIN_READ;
		origin->ip = e->ip;
		origin->addr = addr;
		base = stored_from(t, &index, addr);
		follow(t, index, base, origin);
	}
}

bool origin_x86_find(const struct origin_flow *flow, const struct fault *fault,
		     struct report_origin *origin)
{
	struct trail t = {.flow = flow};
	struct executed e;
	int base;

	if (!read_insn(flow, flow->insn_ip, &e))
		return false;
	t.at = calloc(ORIGIN_INSNS + 1, sizeof(*t.at));
	if (!t.at)
		return false;
	t.called = flow->is_branch && e.insn.info.mnemonic == ZYDIS_MNEMONIC_CALL;
	for (int i = 0; i < flow->nr && add_run(&t, &flow->run[i]); i++)
		;
	base = base_of_access(&e, &fault->access);
	if (!flow->is_branch && fault->access.known && base >= 0) {
		origin->has_value = true;
		origin->value = flow->regs->reg[base];
		follow(&t, -1, base, origin);
	} else if (!fault->access.known && (e.insn.info.mnemonic == ZYDIS_MNEMONIC_CALL ||
					    e.insn.info.mnemonic == ZYDIS_MNEMONIC_JMP)) {
		follow_target(&t, &e, origin);
	}
	free(t.at);
	return origin->kind != REPORT_ORIGIN_UNKNOWN;
}
