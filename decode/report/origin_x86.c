// SPDX-License-Identifier: BSD-2-Clause
/*
 * Follows a value backwards through the executed x86 instructions, from a register to what it was
 * computed from. Only moves, and additions of constants to a pointer, are followed; anything else
 * that may have changed the value makes it unknown.
 */
#include "origin_x86.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS  24 /* instructions that one pointer is followed through */
#define MAX_DEPTH  6  /* nested registers that an address is computed from */
#define MAX_OFFSET 0xffffull
#define MAX_WORK   100000 /* stores that are compared with an address */

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

const ZydisDecodedOperand *origin_writes_reg(const struct executed *e, int reg)
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

bool origin_adds_constant(const struct executed *e, const ZydisDecodedOperand *op, int *from,
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

enum touch { TOUCH_NOT, TOUCH_EXACTLY, TOUCH_UNKNOWN };

/* Does the instruction write to the bytes at addr? */
static enum touch touches(const struct trail *t, int index, uint64_t addr, unsigned int nr_bytes,
			  int depth)
{
	const struct executed *e = &t->at[index];

	if (!*t->work)
		return TOUCH_UNKNOWN;
	--*t->work;
	/* "pop" to memory: the address is that after it has changed the stack pointer */
	if (e->insn.info.attributes &
		    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE) ||
	    (e->insn.info.mnemonic == ZYDIS_MNEMONIC_POP &&
	     e->insn.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY))
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

/* Where a value was stored from. */
struct stored {
	int index;     /* of the store; -1: unknown, other threads may have written there since */
	int reg;       /* -1: it was no register */
	bool is_value; /* it was a constant: */
	uint64_t value;
};

/* Finds what was stored at addr before index. */
static struct stored stored_at(const struct trail *t, int index, uint64_t addr, int depth)
{
	struct stored stored = {.index = -1, .reg = -1};

	if (!is_own_stack(t, addr))
		return stored;
	for (int i = index + 1; i < t->nr; i++) {
		const struct executed *e = &t->at[i];
		const ZydisDecodedOperand *from = &e->insn.op[1];

		switch (touches(t, i, addr, 8, depth)) {
		case TOUCH_NOT:
			continue;
		case TOUCH_UNKNOWN:
			return stored;
		case TOUCH_EXACTLY:
			break;
		}
		if (e->insn.info.mnemonic == ZYDIS_MNEMONIC_PUSH)
			from = &e->insn.op[0];
		else if (e->insn.info.mnemonic != ZYDIS_MNEMONIC_MOV)
			return stored;
		stored.index = i;
		stored.is_value = from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		if (stored.is_value)
			stored.value = from->imm.value.u;
		else if (is_reg64(from))
			stored.reg = x86_reg_index(from->reg.value);
		return stored;
	}
	return stored;
}

/* The word that was stored at addr before an index. */
static bool stored_before(const struct trail *t, int index, uint64_t addr, int depth,
			  uint64_t *value)
{
	const struct stored stored = stored_at(t, index, addr, depth);

	*value = stored.value;
	return stored.is_value ||
	       (stored.reg >= 0 && value_before(t, stored.index, stored.reg, depth, value));
}

/* The bytes at addr as of an index: those at the fault, or what was stored there before. */
static bool memory_before(const struct trail *t, int index, uint64_t addr, unsigned int nr_bytes,
			  int depth, uint64_t *value)
{
	for (int i = 0; i < index; i++)
		if (touches(t, i, addr, nr_bytes, depth) != TOUCH_NOT)
			return nr_bytes == 8 && stored_before(t, index, addr, depth, value);
	return is_own_stack(t, addr) && report_facts_memory(t->flow->facts, addr, value, nr_bytes);
}

static int last_write(const struct trail *t, int index, int reg)
{
	for (index++; index < t->nr; index++)
		if (origin_writes_reg(&t->at[index], reg))
			return index;
	return -1;
}

static bool is_unchanged_since(const struct trail *t, int index, int reg)
{
	for (int i = 0; i <= index; i++)
		if (origin_writes_reg(&t->at[i], reg))
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
	case ZYDIS_MNEMONIC_XOR:
		*value = 0;
		return insn->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       insn->op[0].reg.value == insn->op[1].reg.value;
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

/* What pop or leave at an index restored, of what was pushed. */
static bool popped(const struct trail *t, int index, int depth, uint64_t *value)
{
	const bool leaves = t->at[index].insn.info.mnemonic == ZYDIS_MNEMONIC_LEAVE;
	uint64_t addr;

	if (!leaves && !origin_sp_before(t, index, &addr))
		return false;
	if (leaves && !origin_sp_after(t, index, &addr))
		return false;
	return stored_before(t, index, leaves ? addr - 8 : addr, depth, value);
}

static bool value_before(const struct trail *t, int index, int reg, int depth, uint64_t *value)
{
	const struct auxtap_regs *regs = t->flow->regs;
	const ZydisDecodedOperand *op;
	int by;

	if (reg < 0 || !depth--)
		return false;
	if (reg == AUXTAP_X86_SP)
		return origin_sp_before(t, index, value);
	if (is_unchanged_since(t, index, reg)) {
		*value = regs->reg[reg];
		return regs->valid >> reg & 1;
	}
	by = last_write(t, index, reg);
	if (by < 0)
		return false;
	op = origin_writes_reg(&t->at[by], reg);
	if (t->at[by].insn.info.mnemonic == ZYDIS_MNEMONIC_LEAVE ||
	    (t->at[by].insn.info.mnemonic == ZYDIS_MNEMONIC_POP && is_reg64(op)))
		return popped(t, by, depth, value);
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
 * Did the function that returned at an index write to rax? If its caller knows that it does not, it
 * may keep a value there.
 */
static bool wrote_result(const struct trail *t, int index)
{
	unsigned int depth = 0;

	for (int i = index; i < t->nr; i++) {
		const struct report_branch *b = t->at[i].branch;

		if (b && origin_is_call(b) && !--depth)
			return false;
		if (b && b->kind == AUXTAP_BRANCH_RETURN)
			depth++;
		if (origin_writes_reg(&t->at[i], AUXTAP_X86_AX))
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
		if (origin_writes_reg(&t->at[i], reg)) {
			*by = i;
			return NULL;
		}
	}
	*by = -1;
	return NULL;
}

/*
 * The address of the instruction, or of the call if it is in a function of a library's header, such
 * as the get() of a smart pointer.
 */
static uint64_t own_ip(const struct trail *t, int index, bool *in_call)
{
	const struct report_out *ro = t->flow->ro;
	const uint64_t ip = t->at[index].ip;
	uint64_t back;
	int i = index;

	*in_call = false;
	while (i >= 0 && origin_is_helper(ro, t->at[i].ip))
		i--;
	if (i == index)
		return ip;
	back = i < 0 ? t->flow->insn_ip : t->at[i].ip;
	if (i < 0 && origin_is_helper(ro, back))
		return ip;
	if (!t->at[i + 1].branch || t->at[i + 1].branch->kind != AUXTAP_BRANCH_RETURN)
		return ip;
	for (i = index + 1; i < t->nr; i++) {
		const struct executed *e = &t->at[i];

		if (e->branch && origin_is_call(e->branch) && e->ip + e->insn.info.length == back &&
		    origin_is_helper(ro, e->branch->to)) {
			*in_call = true;
			return e->ip;
		}
	}
	return ip;
}

/*
 * Is the line of the instruction at an index, which set a register to a constant, the one that did?
 * Compilers move such instructions to where they are needed, and leave out their lines: then the
 * line is that of other code before it.
 */
static bool is_line_sure(const struct trail *t, int index)
{
	const struct executed *e = &t->at[index];
	const int reg = x86_reg_index(e->insn.op[0].reg.value);
	const struct report_branch *b;
	int i = index;

	if (origin_begins_line(t->flow->ro, e->ip))
		return true;
	while (i >= 0 && !t->at[i].branch)
		i--;
	if (i < 0 || !origin_same_line(t->flow->ro, e->ip, t->at[i].ip))
		return false;
	/* it is for that call, or the result of that function */
	b = t->at[i].branch;
	if (b->kind == AUXTAP_BRANCH_RETURN)
		return reg == AUXTAP_X86_AX;
	return origin_is_call(b) &&
	       (reg == AUXTAP_X86_DI || reg == AUXTAP_X86_SI || reg == AUXTAP_X86_DX ||
		reg == AUXTAP_X86_CX || reg == AUXTAP_X86_R8 || reg == AUXTAP_X86_R9);
}

/* The instruction at an index set the pointer to a constant: if that is the value. */
static void set_constant(const struct trail *t, int index, uint64_t constant, uint64_t value,
			 struct report_origin *origin)
{
	if (!origin->has_value || constant != value)
		return;
	origin->kind = REPORT_ORIGIN_SET;
	origin->value = value;
	origin->ip = own_ip(t, index, &origin->in_call);
}

/* Is the result the same whenever the instruction is executed? */
static bool is_constant(const struct executed *e)
{
	const ZydisDecodedOperand *from = &e->insn.op[1];

	switch (e->insn.info.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_XOR:
		return from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       e->insn.op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       from->reg.value == e->insn.op[0].reg.value;
	case ZYDIS_MNEMONIC_LEA:
		return from->mem.base == ZYDIS_REGISTER_RIP;
	default:
		return false;
	}
}

/*
 * The instruction that set the constant which the one at an index wrote to op: itself, or one of 32
 * bits, as in "xorl %eax, %eax; movl %eax, %edi". -1: it wrote something else.
 */
static int constant_at(const struct trail *t, int index, const ZydisDecodedOperand *op,
		       uint64_t *value)
{
	const struct executed *e = &t->at[index];
	int from;

	if (op != &e->insn.op[0] || (op->size != 64 && op->size != 32))
		return -1;
	if (op->size == 32 && e->insn.info.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    e->insn.op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		from = x86_reg_index(e->insn.op[1].reg.value);
		index = from < 0 ? -1 : last_write(t, index, from);
	}
	if (index < 0 || !is_constant(&t->at[index]) || t->at[index].insn.op[0].size < op->size ||
	    !result_of(t, index, MAX_DEPTH, value))
		return -1;
	if (op->size == 32)
		*value = (uint32_t)*value;
	return index;
}

/* Has a library's function returned to the program after the instruction at an index? */
static bool library_ran(const struct trail *t, int index)
{
	for (int i = 0; i < index; i++) {
		const struct report_branch *b = t->at[i].branch;

		if (b && b->kind == AUXTAP_BRANCH_RETURN &&
		    origin_is_library(t->flow->ro, b->from) &&
		    !origin_is_library(t->flow->ro, b->to))
			return true;
	}
	return false;
}

/*
 * The pointer was read from memory by the instruction at *index, by its operand 'from' or (NULL) by
 * pop. Returns the register that it had been stored there from, by the instruction at *index; -1:
 * unknown.
 */
static int read_memory(const struct trail *t, int *index, const ZydisDecodedOperand *from,
		       uint64_t value, struct report_origin *origin)
{
	struct stored stored;

	if (from)
		origin->has_addr =
			address_before(t, &t->at[*index], *index, from, MAX_DEPTH, &origin->addr);
	else
		origin->has_addr = origin_sp_before(t, *index, &origin->addr);
	origin->kind = REPORT_ORIGIN_READ;
	origin->value = value;
	origin->library_ran = library_ran(t, *index);
	/* rbp may also be a pointer, rarely to what is after an object */
	origin->is_local =
		!from || from->mem.base == ZYDIS_REGISTER_RSP ||
		(from->mem.base == ZYDIS_REGISTER_RBP &&
		 (origin->has_addr ? is_own_stack(t, origin->addr) : from->mem.disp.value < 0));
	origin->ip = own_ip(t, *index, &origin->in_call);
	if (!origin->has_addr)
		return -1;
	stored = stored_at(t, *index, origin->addr, MAX_DEPTH);
	if (stored.is_value)
		set_constant(t, stored.index, stored.value, value, origin);
	*index = stored.index;
	return stored.reg;
}

/*
 * May a constant be the offset of a member? A larger one may be the address of an array: then what
 * it is added to is an index.
 */
static bool is_small(uint64_t constant)
{
	return constant + MAX_OFFSET <= 2 * MAX_OFFSET;
}

/* Follows the value of a register before the instruction at an index; -1: at the fault. */
static void follow(const struct trail *t, int index, int reg, struct report_origin *origin)
{
	uint64_t value = origin->value;

	origin->used = value;
	for (int steps = 0; steps < MAX_STEPS && reg >= 0; steps++) {
		const struct report_branch *returned = written_by(t, index, reg, &index);
		const ZydisDecodedOperand *op, *from;
		const struct executed *e;
		uint64_t added, constant;
		int by;

		if (returned) {
			origin->kind = REPORT_ORIGIN_RETURNED;
			origin->in_call = false;
			origin->value = value;
			origin->ip = returned->from;
			return;
		}
		if (index < 0)
			return;
		e = &t->at[index];
		op = origin_writes_reg(e, reg);
		from = &e->insn.op[1];
		by = constant_at(t, index, op, &constant);
		if (by >= 0) {
			if (is_line_sure(t, by))
				set_constant(t, by, constant, value, origin);
			return;
		}
		if (origin_adds_constant(e, op, &reg, &added)) {
			if (!is_small(added))
				return;
			value -= added;
			continue;
		}
		if (e->insn.info.mnemonic == ZYDIS_MNEMONIC_POP && op == &e->insn.op[0] &&
		    is_reg64(op) && reg != AUXTAP_X86_SP) {
			reg = read_memory(t, &index, NULL, value, origin);
			continue;
		}
		if (!is_move_to(e, op))
			return;
		if (is_reg64(from))
			reg = x86_reg_index(from->reg.value);
		else if (is_word(from))
			reg = read_memory(t, &index, from, value, origin);
		else
			return;
	}
}

/* The register that is the pointer of the access; -1: none, or perhaps an index. */
static int base_of_access(const struct executed *e, const struct fault_access *a)
{
	for (unsigned int i = 0; i < e->insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &e->insn.op[i];

		if (a->base_reg[0] && op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op->mem.index == ZYDIS_REGISTER_NONE &&
		    is_small((uint64_t)op->mem.disp.value) &&
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
	struct stored stored;

	origin->has_value = t->flow->is_branch;
	origin->value = t->flow->target;
	if (is_reg64(op)) {
		origin->has_value = true;
		origin->value = t->flow->regs->reg[x86_reg_index(op->reg.value)];
		follow(t, -1, x86_reg_index(op->reg.value), origin);
	} else if (is_word(op) && address_before(t, e, -1, op, MAX_DEPTH, &origin->addr)) {
		origin->kind = REPORT_ORIGIN_READ;
		origin->ip = e->ip;
		origin->has_addr = true;
		stored = stored_at(t, -1, origin->addr, MAX_DEPTH);
		if (stored.is_value)
			set_constant(t, stored.index, stored.value, origin->value, origin);
		follow(t, stored.index, stored.reg, origin);
	}
}

bool origin_x86_find(const struct origin_flow *flow, const struct fault *fault,
		     struct report_origin *origin)
{
	unsigned int work = MAX_WORK;
	struct trail t = {.flow = flow, .work = &work};
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
	origin_find_stack_pointers(&t);
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
