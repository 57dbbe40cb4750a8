// SPDX-License-Identifier: BSD-2-Clause
/* See slice_follow.h. What is neither a move nor the addition of a constant ends it. */
#include "decode/image/image_private.h"
#include "origin.h"
#include "slice_follow.h"

#include <string.h>

#define MAX_MOVES	256   /* instructions that a value is followed through */
#define MAX_BLOCKS	50000 /* blocks that are searched for one that writes a register */
#define NR_RT_SIGRETURN 15
#define MAX_COPIES	8	      /* of a register to another one */
#define MAX_OFFSET	0xffffffffull /* bytes; what is larger is no index */
#define MAX_INDEX	0xffffull     /* bytes; what is larger and no pointer is a wrong one */

/* ---- steps ---- */

/* Is it where a function begins, which saves its arguments in local variables there? */
static bool is_entry(const struct report_out *ro, uint64_t ip)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, ip, &loc) && loc.nr_frames &&
	       loc.frames[0].symbol &&
	       image_set_line_begin(ro->images, ro->pid, ro->time, ip) ==
		       ip - loc.frames[0].symbol_off;
}

static bool is_in_linker(const struct report_out *ro, uint64_t ip)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, ip, &loc) && loc.image &&
	       report_is_linker(loc.image);
}

/* Is the memory one of the runtime's own variables? */
static bool is_runtime_data(const struct report_facts *facts, uint64_t addr)
{
	const struct report_map *map = report_facts_map(facts, addr);

	/* variables without initial values follow those of the file */
	if (map && !map->name[0])
		map = report_facts_map(facts, map->start - 1);
	return map && map->name[0] && report_is_runtime(map->name);
}

/* Is the step of interest, or a compiler's or library's own? */
static bool is_shown(const struct slice *s, const struct report_slice_step *step)
{
	const struct report_out *ro = s->p.ro;

	if (step->kind == REPORT_SLICE_NEVER_SET || s->out->of == REPORT_SLICE_RETURN_ADDRESS ||
	    s->out->of == REPORT_SLICE_AFTER_BLOCK || s->out->of == REPORT_SLICE_PROTECTOR)
		return true;
	if (is_in_linker(ro, step->ip) || (step->addr && is_runtime_data(s->p.facts, step->addr)))
		return false;
	if (step->kind == REPORT_SLICE_READ)
		return !step->is_local && !origin_is_library(ro, step->ip);
	if (step->kind == REPORT_SLICE_COMPUTED)
		return !origin_is_library(ro, step->ip);
	return !past_uses_stack(&s->p) || !is_entry(ro, step->ip);
}

bool slice_add_step(struct slice *s, enum report_slice_kind kind, uint64_t ip, uint64_t addr)
{
	struct report_slice *out = s->out;
	struct report_slice_step step = {.kind = kind, .ip = ip, .addr = addr}, *last;
	struct unwind_frames frames;
	uint64_t slot;

	if (s->p.log->head.tid != s->p.facts->crash.tid)
		step.tid = s->p.log->head.tid;
	step.is_local = addr && past_frame_slot(&s->p, addr, &slot);
	if (!is_shown(s, &step))
		return true;
	past_unwind(&s->p, &frames);
	report_callers_add(s->p.ro, ip, false, &frames, &step.callers);
	last = out->nr ? &out->steps[out->nr - 1] : NULL;
	step.is_shifted = s->shift;
	step.is_summed = s->is_summed;
	if (last && kind != REPORT_SLICE_NEVER_SET &&
	    origin_same_line(s->p.ro, last->callers.at[0].pc, step.callers.at[0].pc)) {
		if (last->kind == REPORT_SLICE_WRITTEN && last->is_local) {
			step.is_shifted = step.is_shifted || last->is_shifted;
			step.is_summed = step.is_summed || last->is_summed;
			*last = step; /* a line that sets a local variable */
			s->shift = 0;
			s->is_summed = false;
		}
		return true;
	}
	/* a constant, or what is computed, for the call that is shown */
	if (last && (kind == REPORT_SLICE_SET || kind == REPORT_SLICE_COMPUTED) &&
	    last->callers.nr > 1 &&
	    origin_same_line(s->p.ro, last->callers.at[1].pc, step.callers.at[0].pc))
		return true;
	if (out->nr == REPORT_SLICE_STEPS)
		return false;
	out->steps[out->nr++] = step;
	s->shift = 0;
	s->is_summed = false;
	return true;
}

/* The instruction at ip, which was reached, is perhaps the origin: steps before it are older. */
static void note_origin(struct slice *s, uint64_t ip, uint64_t addr)
{
	if (ip != s->origin_ip || s->nr_newer >= 0)
		return;
	s->nr_newer = s->out->nr;
	s->out->origin_addr = addr;
}

/* ---- registers ---- */

static uint32_t written_regs(struct slice *s)
{
	struct cached_block *c = &s->cache[(s->p.ip ^ s->p.ip >> 12) % SLICE_CACHED];

	if (c->ip != s->p.ip || c->nr_insns != s->p.nr_insns)
		*c = (struct cached_block){.ip = s->p.ip,
					   .nr_insns = s->p.nr_insns,
					   .regs = past_written_regs(&s->p)};
	return c->regs;
}

static bool writes(const struct x86_insn *x, int reg, bool *is_first)
{
	*is_first = false;
	for (unsigned int i = 0; i < x->info.operand_count; i++)
		if (x->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    x->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    past_reg_index(x->op[i].reg.value) == reg) {
			*is_first = !i;
			return true;
		}
	return x->info.mnemonic == ZYDIS_MNEMONIC_SYSCALL && !reg; /* rax */
}

/* Did the block end with the system call that ends a signal handler, or an unknown one? */
static bool ends_handler(struct slice *s)
{
	struct past p = s->p;
	uint64_t nr;

	if (!(written_regs(s) & PAST_CALLS_KERNEL))
		return false;
	p.insn = p.nr_insns - 1;
	return !past_reg(&p, ZYDIS_REGISTER_RAX, &nr) || nr == NR_RT_SIGRETURN;
}

/* Does the block end with the return that is the origin? */
static void note_return(struct slice *s)
{
	struct x86_insn x;
	uint64_t ip;

	if (s->origin_ip - s->p.ip < 15ull * s->p.nr_insns && s->p.insn == s->p.nr_insns &&
	    past_insn(&s->p, s->p.nr_insns - 1, &x, &ip) && x.info.mnemonic == ZYDIS_MNEMONIC_RET)
		note_origin(s, ip, 0);
}

/* Moves to the instruction that last wrote the register before. False: unknown. */
static bool find_writer(struct slice *s, int reg, struct x86_insn *x, uint64_t *ip, bool *is_first)
{
	struct past *p = &s->p;

	for (unsigned int nr = 0; nr < MAX_BLOCKS; nr++) {
		const uint32_t regs = written_regs(s);

		if (regs == UINT32_MAX)
			return false;
		note_return(s);
		while (regs & 1u << reg && p->insn) {
			p->insn--;
			if (!past_insn(p, p->insn, x, ip))
				return false;
			if (writes(x, reg, is_first))
				return true;
		}
		if (!past_back(p) || p->by_kernel || ends_handler(s))
			return false;
	}
	return false;
}

/* ---- the slice ---- */

static void follow_memory(struct slice *s, uint64_t addr, unsigned int nr_bytes,
			  uint64_t frame_slot, uint64_t value);

bool slice_is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && past_reg_index(op->reg.value) >= 0 &&
	       (op->size == 64 || op->size == 32);
}

bool slice_is_memory(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

/* The instruction read the value from memory. */
void slice_follow_load(struct slice *s, uint64_t ip, uint64_t addr, unsigned int nr_bytes,
		       bool is_pop, uint64_t value)
{
	const uint64_t mask = nr_bytes < 8 ? (1ull << 8 * nr_bytes) - 1 : UINT64_MAX;
	uint64_t word, slot;

	if (past_word(&s->p, addr, nr_bytes, &word) && word != (value & mask))
		return; /* the log and the instructions do not fit */
	s->load = s->p;
	s->load_ip = ip;
	/* "pop" restores what the function has saved */
	if (!is_pop && !slice_add_step(s, REPORT_SLICE_READ, ip, addr))
		return;
	note_origin(s, ip, addr);
	follow_memory(s, addr, nr_bytes, past_frame_slot(&s->load, addr, &slot) ? slot : 0,
		      value & mask);
}

/* "lea register, [register + constant]": which one, and the value without the constant. */
static bool is_added(const struct x86_insn *x, int *reg, uint64_t *value)
{
	const ZydisDecodedOperand *from = &x->op[1];
	uint64_t added;

	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.index != ZYDIS_REGISTER_NONE ||
		    ZydisRegisterGetClass(from->mem.base) != ZYDIS_REGCLASS_GPR64)
			return false;
		*reg = past_reg_index(from->mem.base);
		added = (uint64_t)from->mem.disp.value;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		added = from->imm.value.u;
		if (x->info.mnemonic == ZYDIS_MNEMONIC_SUB)
			added = -added;
		break;
	default:
		return false;
	}
	*value -= added;
	return *reg != PAST_SP_INDEX && added + SLICE_MAX_ADDED <= 2 * SLICE_MAX_ADDED;
}

bool slice_is_small(uint64_t value)
{
	return value + MAX_INDEX <= 2 * MAX_INDEX;
}

bool slice_may_be_pointer(uint64_t value)
{
	return value + MAX_OFFSET > 2 * MAX_OFFSET;
}

static void follow_summand(struct slice *s, ZydisRegister reg, uint64_t sum, uint64_t value)
{
	s->is_summed = s->is_summed || value != sum;
	slice_follow_reg(s, past_reg_index(reg), value);
}

/* Does the instruction add a variable to a register? *reg: the register that it copies, or -1. */
static bool is_sum(const struct x86_insn *x, int *reg)
{
	const ZydisDecodedOperand *from = &x->op[1];

	*reg = -1;
	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_LEA:
		return from->mem.base != ZYDIS_REGISTER_NONE &&
		       from->mem.index != ZYDIS_REGISTER_NONE;
	case ZYDIS_MNEMONIC_MOV:
		if (slice_is_reg(from))
			*reg = past_reg_index(from->reg.value);
		return false;
	default:
		return false;
	}
}

bool slice_is_sum(struct slice *s, int reg)
{
	const struct past p = s->p;
	const uint64_t origin_addr = s->out->origin_addr;
	const int nr_newer = s->nr_newer;
	bool is_first, sum = false;
	struct x86_insn x;
	uint64_t ip;

	for (int nr = 0; nr < MAX_COPIES && reg >= 0 && !sum; nr++)
		if (find_writer(s, reg, &x, &ip, &is_first) && is_first)
			sum = is_sum(&x, &reg);
		else
			reg = -1;
	s->p = p;
	s->out->origin_addr = origin_addr;
	s->nr_newer = nr_newer;
	return sum;
}

/* Does the register have 32 bits that were extended: an index rather than a pointer? */
static bool is_extended(const struct x86_insn *x)
{
	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_CDQE:
		return true;
	case ZYDIS_MNEMONIC_MOV:
		return x->op[0].size == 32;
	default:
		return false;
	}
}

/* Was the register read from memory as a whole, as a pointer is? */
static bool is_whole_load(const struct x86_insn *x)
{
	return x->info.mnemonic == ZYDIS_MNEMONIC_MOV && slice_is_reg(&x->op[0]) &&
	       x->op[0].size == 64 && slice_is_memory(&x->op[1]);
}

bool slice_is_null_pointer(struct slice *s, int reg, int index)
{
	const struct past p = s->p;
	const uint64_t origin_addr = s->out->origin_addr;
	const int nr_newer = s->nr_newer;
	bool is_first, is_null;
	struct x86_insn x;
	uint64_t ip;

	is_null = find_writer(s, reg, &x, &ip, &is_first) && is_first && is_whole_load(&x);
	s->p = p;
	is_null =
		is_null && find_writer(s, index, &x, &ip, &is_first) && is_first && is_extended(&x);
	s->p = p;
	s->out->origin_addr = origin_addr;
	s->nr_newer = nr_newer;
	return is_null;
}

/* Of two small values whose sum was used as a pointer: the one that is a null pointer; -1. */
static int null_summand(struct slice *s, const ZydisRegister *regs, const uint64_t *values)
{
	for (int i = 0; i < 2; i++)
		if (!values[i] && values[!i] &&
		    slice_is_null_pointer(s, past_reg_index(regs[i]), past_reg_index(regs[!i])))
			return i;
	return -1;
}

/*
 * The sum of two registers: one of them is the pointer if it points to memory, the other an index.
 * False: which one is not clear. value: the sum.
 */
static bool follow_sum(struct slice *s, ZydisRegister base, ZydisRegister index, uint64_t value)
{
	const ZydisRegister regs[2] = {base, index};
	uint64_t values[2];
	bool is_pointer[2];
	int null;

	if (s->out->of != REPORT_SLICE_POINTER || s->out->nr ||
	    !past_reg(&s->p, base, &values[0]) || !past_reg(&s->p, index, &values[1]))
		return false;
	null = null_summand(s, regs, values);
	if (null >= 0) {
		s->out->value = 0;
		follow_summand(s, regs[null], value, 0);
		return true;
	}
	for (int i = 0; i < 2; i++)
		is_pointer[i] = report_facts_map(s->p.facts, values[i]);
	/* of a wrong pointer and an index, the index is small */
	if (!is_pointer[0] && !is_pointer[1] &&
	    slice_is_small(values[0]) != slice_is_small(values[1])) {
		follow_summand(s, slice_is_small(values[0]) ? index : base, value,
			       values[slice_is_small(values[0])]);
		return true;
	}
	if (is_pointer[0] == is_pointer[1])
		return false;
	if (report_facts_map(s->p.facts, value) ==
	    report_facts_map(s->p.facts, values[is_pointer[1]])) {
		follow_summand(s, is_pointer[0] ? base : index, value, values[is_pointer[1]]);
		return true; /* the sum points there, too */
	}
	if (slice_may_be_pointer(values[is_pointer[0]]) ||
	    slice_is_sum(s, past_reg_index(is_pointer[0] ? base : index)))
		return false;
	s->out->of = REPORT_SLICE_INDEX;
	s->out->value = values[is_pointer[0]];
	slice_follow_reg(s, past_reg_index(is_pointer[0] ? index : base), s->out->value);
	return true;
}

/* Multiplied by a constant: the register, and the value before, which 0 is, too. */
static bool is_scaled(const struct x86_insn *x, int *reg, uint64_t *value)
{
	const ZydisDecodedOperand *from = &x->op[1];
	unsigned int shift;

	if (x->info.mnemonic == ZYDIS_MNEMONIC_SHL && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		shift = from->imm.value.u & 63;
	} else if (x->info.mnemonic == ZYDIS_MNEMONIC_LEA &&
		   from->mem.base == ZYDIS_REGISTER_NONE && !from->mem.disp.value &&
		   ZydisRegisterGetClass(from->mem.index) == ZYDIS_REGCLASS_GPR64) {
		*reg = past_reg_index(from->mem.index);
		shift = (unsigned int)__builtin_ctz(from->mem.scale);
	} else {
		return false;
	}
	*value = (uint64_t)((int64_t)*value >> shift);
	return true;
}

/* Is the result of the instruction computed from its operands? */
static bool is_arithmetic(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_BSWAP:
		return true;
	default:
		return false;
	}
}

/* A constant: compilers move such instructions, and leave out their lines. */
static void add_constant(struct slice *s, uint64_t ip)
{
	if (origin_begins_line(s->p.ro, ip) && slice_add_step(s, REPORT_SLICE_SET, ip, 0))
		note_origin(s, ip, 0);
}

/*
 * Does the instruction, which adds to the value, decide what it is? It does if it is an index's,
 * or of a loop, in which it was reached before.
 */
static bool is_repeated(struct slice *s, uint64_t ip)
{
	if (s->out->of == REPORT_SLICE_INDEX)
		return true;
	for (int i = 0; i < s->nr_added; i++)
		if (s->added[i] == ip)
			return true;
	if (s->nr_added == SLICE_MAX_ADDITIONS)
		return true;
	s->added[s->nr_added++] = ip;
	return false;
}

static ZydisRegister whole_reg(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* The lowest 8 or 16 bits of a general register? */
static bool is_part_of_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && past_reg_index(op->reg.value) >= 0 &&
	       (op->size == 16 || (op->size == 8 && (op->reg.value < ZYDIS_REGISTER_AH ||
						     op->reg.value > ZYDIS_REGISTER_BH)));
}

/* Follows through one instruction that gave its first operand, a register, the value. */
static void follow_insn(struct slice *s, const struct x86_insn *x, uint64_t ip, int reg,
			uint64_t value)
{
	const ZydisDecodedOperand *from = &x->op[1];
	const uint64_t after = value;
	bool is_shift;
	uint64_t addr;

	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
		if (slice_is_reg(from) ||
		    (is_part_of_reg(from) && past_reg(&s->p, whole_reg(from->reg.value), &value)))
			slice_follow_reg(s, past_reg_index(from->reg.value), value);
		else if (slice_is_memory(from) && past_operand(&s->p, &addr))
			slice_follow_load(s, ip, addr, from->size / 8, false, value);
		else if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && from->imm.value.u == value)
			add_constant(s, ip);
		return;
	case ZYDIS_MNEMONIC_POP:
		if (past_reg(&s->p, ZYDIS_REGISTER_RSP, &addr))
			slice_follow_load(s, ip, addr, 8, true, value);
		return;
	case ZYDIS_MNEMONIC_XOR:
		if (slice_is_reg(from) && from->reg.value == x->op[0].reg.value && !value)
			add_constant(s, ip);
		return;
	case ZYDIS_MNEMONIC_CDQE:
		slice_follow_reg(s, 0, value);
		return;
	default:
		if (x->info.mnemonic == ZYDIS_MNEMONIC_ADD && slice_is_reg(from) &&
		    follow_sum(s, x->op[0].reg.value, from->reg.value, value))
			return;
		if (x->info.mnemonic == ZYDIS_MNEMONIC_LEA && !from->mem.disp.value &&
		    past_reg_index(from->mem.base) >= 0 && past_reg_index(from->mem.index) >= 0 &&
		    from->mem.scale == 1 && follow_sum(s, from->mem.base, from->mem.index, value))
			return;
		is_shift = !is_repeated(s, ip) && is_added(x, &reg, &value);
		if (is_shift ||
		    ((s->out->of == REPORT_SLICE_INDEX || !value) && is_scaled(x, &reg, &value))) {
			s->shift += is_shift ? after - value : 0;
			slice_follow_reg(s, reg, value);
			return;
		}
		if (is_arithmetic(x->info.mnemonic))
			slice_add_step(s, REPORT_SLICE_COMPUTED, ip, 0);
	}
}

void slice_follow_reg(struct slice *s, int reg, uint64_t value)
{
	struct x86_insn x;
	bool is_first;
	uint64_t ip;

	if (s->nr_moves++ == MAX_MOVES || !find_writer(s, reg, &x, &ip, &is_first))
		return;
	if (is_first && (x.op[0].size == 64 || x.op[0].size == 32) &&
	    !(x.op[0].actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
		follow_insn(s, &x, ip, reg, value);
}

/* A move of a whole vector register from or to memory. */
static bool is_vector_move(const struct x86_insn *x)
{
	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA:
		return true;
	default:
		return false;
	}
}

static bool is_same_vector(ZydisRegister a, ZydisRegister b)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, a) ==
	       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, b);
}

/* The vector register of a copy: where the instruction before, of the block, read it from. */
static bool find_copy(struct slice *s, ZydisRegister reg, uint64_t *addr)
{
	struct past *p = &s->p;
	struct x86_insn x;
	uint64_t ip;

	while (p->insn) {
		p->insn--;
		if (!past_insn(p, p->insn, &x, &ip) || x.info.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER)
			return false;
		for (unsigned int i = 0; i < x.info.operand_count; i++)
			if (x.op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    x.op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
			    is_same_vector(x.op[i].reg.value, reg))
				return !i && x.op[0].reg.value == reg && is_vector_move(&x) &&
				       slice_is_memory(&x.op[1]) && x.op[1].size == x.op[0].size &&
				       past_operand(p, addr);
	}
	return false;
}

/* Does the instruction add to memory, or subtract from it, what is not 0? */
static bool adds_not_zero(struct slice *s, const struct x86_insn *x)
{
	const ZydisDecodedOperand *from = &x->op[1];
	uint64_t value;

	if (x->info.mnemonic == ZYDIS_MNEMONIC_INC || x->info.mnemonic == ZYDIS_MNEMONIC_DEC)
		return true;
	if (x->info.mnemonic != ZYDIS_MNEMONIC_ADD && x->info.mnemonic != ZYDIS_MNEMONIC_SUB)
		return false;
	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return from->imm.value.u;
	return (slice_is_reg(from) || is_part_of_reg(from)) &&
	       past_reg(&s->p, whole_reg(from->reg.value), &value) &&
	       value & (UINT64_MAX >> (64 - from->size));
}

bool slice_is_change(struct slice *s, const struct x86_insn *x, uint64_t addr,
		     unsigned int nr_bytes, uint64_t value)
{
	uint64_t before;

	if (x->info.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		return true;
	for (unsigned int i = 0; i < x->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &x->op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (!(op->actions &
		      (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE)))
			return true;
		return adds_not_zero(s, x) ||
		       (past_word(&s->p, addr, nr_bytes, &before) && before != value);
	}
	return false;
}

/* The bytes of those at addr that the write does not touch: a bit each. */
static unsigned int other_bytes(uint64_t addr, unsigned int nr_bytes,
				const struct value_log_write *write)
{
	unsigned int others = 0;

	for (unsigned int i = 0; i < nr_bytes; i++)
		if (addr + i - write->addr >= write->nr_bytes)
			others |= 1u << i;
	return others;
}

/*
 * May the system call that the block ends with have written all the bytes? Of most calls the log
 * has the range that they fill, and only what they changed there.
 */
static bool may_fill(const struct past *p, uint64_t addr, unsigned int nr_bytes)
{
	struct value_log_entry entry;
	struct value_log_write write;
	size_t at = p->end;

	while (value_log_back(p->log, &at, &entry) && at > p->at)
		if (entry.insn == AUXTAP_VALUES_AFTER && value_log_void(&entry, &write) &&
		    addr - write.addr < write.nr_bytes &&
		    addr - write.addr + nr_bytes <= write.nr_bytes)
			return true;
	return false;
}

bool slice_wrote_all(const struct slice *s, uint64_t addr, unsigned int nr_bytes, uint64_t value,
		     const struct value_log_write *last)
{
	const struct report_slice_step *step = &s->out->steps[s->out->nr - 1];
	unsigned int others = other_bytes(addr, nr_bytes, last);
	struct value_log_write write;
	struct unwind_frames frames;
	struct x86_insn x;
	uint64_t ip;

	while (others) {
		struct report_callers callers = {.nr = 0};
		struct past p = s->p; /* the bytes were written in any order */
		unsigned int at = (unsigned int)__builtin_ctz(others);

		p.insn++; /* "rep stos" wrote them, too */
		if (past_find_write(&p, addr + at, 1, 0, value >> 8 * at & 0xff, &write) !=
			    PAST_WRITE_FOUND ||
		    p.log != s->p.log || !value_log_keeps(&write, addr + at, 1, value >> 8 * at) ||
		    !past_insn(&p, p.insn, &x, &ip))
			return false;
		past_unwind(&p, &frames);
		report_callers_add(p.ro, ip, false, &frames, &callers);
		if (!origin_same_line(p.ro, step->callers.at[0].pc, callers.at[0].pc))
			return false;
		others &= other_bytes(addr, nr_bytes, &write);
	}
	return true;
}

static void follow_memory(struct slice *s, uint64_t addr, unsigned int nr_bytes,
			  uint64_t frame_slot, uint64_t value)
{
	const ZydisDecodedOperand *from;
	struct value_log_write write;
	struct x86_insn x;
	uint64_t ip, copied;

	if (s->nr_moves++ == MAX_MOVES)
		return;
	switch (past_find_write(&s->p, addr, nr_bytes, frame_slot, value, &write)) {
	case PAST_WRITE_UNORDERED:
		s->lacks_order = true;
		return;
	case PAST_WRITE_UNKNOWN:
		return;
	case PAST_WRITE_NOT_SINCE:
		s->p = s->load;
		slice_add_step(s, REPORT_SLICE_NEVER_SET, s->load_ip, addr);
		return;
	case PAST_WRITE_FOUND:
		break;
	}
	if (!value_log_keeps(&write, addr, nr_bytes, value) ||
	    !past_insn(&s->p, s->p.insn, &x, &ip) || !slice_is_change(s, &x, addr, nr_bytes, value))
		return;
	if (x.info.mnemonic != ZYDIS_MNEMONIC_PUSH &&
	    !slice_add_step(s, REPORT_SLICE_WRITTEN, ip, addr))
		return;
	if (s->out->nr && s->out->steps[s->out->nr - 1].ip == ip)
		s->out->steps[s->out->nr - 1].is_part =
			!slice_wrote_all(s, addr, nr_bytes, value, &write) &&
			!(x.info.mnemonic == ZYDIS_MNEMONIC_SYSCALL &&
			  may_fill(&s->p, addr, nr_bytes));
	from = x.info.mnemonic == ZYDIS_MNEMONIC_PUSH ? &x.op[0] : &x.op[1];
	if (from->type != ZYDIS_OPERAND_TYPE_REGISTER || addr < write.addr ||
	    addr + nr_bytes > write.addr + write.nr_bytes)
		return;
	if (slice_is_reg(from) && addr == write.addr &&
	    (x.info.mnemonic == ZYDIS_MNEMONIC_PUSH || x.info.mnemonic == ZYDIS_MNEMONIC_MOV))
		slice_follow_reg(s, past_reg_index(from->reg.value), value);
	else if (is_vector_move(&x) && find_copy(s, from->reg.value, &copied))
		slice_follow_load(s, ip, copied + (addr - write.addr), nr_bytes, false, value);
}
