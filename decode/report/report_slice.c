// SPDX-License-Identifier: BSD-2-Clause
/* Chooses where the slice begins: at the bad pointer, index, return address, or heap. */
#include "origin.h"
#include "slice_follow.h"
#include "report_headline.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CALL_OPCODE 0xe8 /* with an offset of 32 bits */
#define CALL_SIZE   5

/* ---- where it begins ---- */

/* The memory operand that faulted; NULL: it is not clear which. */
static const ZydisDecodedOperand *find_fault(const struct x86_insn *x,
					     const struct auxtap_regs *regs, uint64_t fault_addr)
{
	for (unsigned int i = 0; i < x->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &x->op[i];
		const int base = past_reg_index(op->mem.base),
			  index = past_reg_index(op->mem.index);
		uint64_t addr = (uint64_t)op->mem.disp.value;

		if (!slice_is_memory(op) || op->mem.segment == ZYDIS_REGISTER_FS ||
		    op->mem.segment == ZYDIS_REGISTER_GS)
			continue;
		if (base >= 0)
			addr += past_death_reg(regs, base);
		if (index >= 0)
			addr += past_death_reg(regs, index) * op->mem.scale;
		if (addr == fault_addr)
			return op;
	}
	return NULL;
}

/* Does an index lead out of memory that the address without it points to? */
static bool leads_out(const struct report_facts *facts, uint64_t base, uint64_t fault_addr)
{
	const struct report_map *map = report_facts_map(facts, base);

	return map && map != report_facts_map(facts, fault_addr);
}

/* Is an index less than the constant? The latter may be one, too, in a loop that was unrolled. */
static bool is_less(uint64_t index, uint64_t disp)
{
	return (index >> 63 ? -index : index) < (disp >> 63 ? -disp : disp);
}

/* The register of the operand that is bad: the other one, if any, is good. -1: it is not clear. */
static int bad_reg(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const ZydisDecodedOperand *op, uint64_t fault_addr, enum report_slice_of *of)
{
	const int base = past_reg_index(op->mem.base), index = past_reg_index(op->mem.index);
	const uint64_t disp = (uint64_t)op->mem.disp.value;
	uint64_t at, other;

	*of = REPORT_SLICE_POINTER;
	if (index < 0) {
		if (!report_facts_map(facts, disp))
			return base;
		*of = REPORT_SLICE_INDEX; /* the constant is the address of an array */
		return base >= 0 && slice_is_small(past_death_reg(regs, base)) ? base : -1;
	}
	if (base < 0) {
		*of = REPORT_SLICE_INDEX;
		return disp ? index : -1;
	}
	at = past_death_reg(regs, base);
	if (report_facts_map(facts, at) && !leads_out(facts, at, fault_addr))
		/* to memory that must not be accessed so, or, by the index, past the end of a file
		 */
		return facts->crash.signo == SIGBUS && past_death_reg(regs, index) ? -1 : base;
	/* a wrong pointer and an index */
	if (!report_facts_map(facts, at) && slice_is_small(past_death_reg(regs, index)) &&
	    !slice_is_small(at))
		return base;
	*of = REPORT_SLICE_INDEX;
	other = past_death_reg(regs, index);
	if (leads_out(facts, at + disp, fault_addr) && !slice_may_be_pointer(other) &&
	    !is_less(other * op->mem.scale, disp))
		return index;
	/* the compiler may have exchanged the two */
	if (op->mem.scale == 1 && leads_out(facts, other + disp, fault_addr) &&
	    !slice_may_be_pointer(at) && !is_less(at, disp))
		return base;
	return -1;
}

/* Of an operand with two registers: the one that is a null pointer; -1: neither, or not clear. */
static int null_reg(struct slice *s, const struct auxtap_regs *regs, const ZydisDecodedOperand *op)
{
	const int base = past_reg_index(op->mem.base), index = past_reg_index(op->mem.index);

	if (base < 0 || index < 0 || !past_death_reg(regs, base) == !past_death_reg(regs, index) ||
	    !slice_is_small((uint64_t)op->mem.disp.value)) /* the address of an array */
		return -1;
	if (!past_death_reg(regs, base))
		return slice_is_null_pointer(s, base, index) ? base : -1;
	/* the compiler may have exchanged the two */
	return op->mem.scale == 1 && slice_is_null_pointer(s, index, base) ? index : -1;
}

/* Is the other register of the operand a sum itself? */
static bool is_added_to_sum(struct slice *s, const ZydisDecodedOperand *op, int reg)
{
	const int base = past_reg_index(op->mem.base), index = past_reg_index(op->mem.index);

	return slice_is_sum(s, reg == base ? index : base);
}

/* From the memory operand of the instruction that faulted, or branched to no code. */
static void follow_fault(struct slice *s, const struct report_facts *facts,
			 const struct report_headline *head)
{
	const bool is_branch = head->fault->bad_ip;
	const uint64_t ip = is_branch && head->last ? head->last->from : head->ip;
	uint64_t at, addr;
	const ZydisDecodedOperand *op;
	struct x86_insn x;
	int reg;

	if ((is_branch && !head->last) || (!is_branch && !head->fault->access.known) ||
	    !past_find_insn(&s->p, ip, ip, true) || !past_insn(&s->p, s->p.insn, &x, &at))
		return;
	if (!is_branch) {
		op = find_fault(&x, head->regs, head->fault->access.addr);
		s->out->of = REPORT_SLICE_POINTER;
		reg = op ? null_reg(s, head->regs, op) : -1;
		if (op && reg < 0)
			reg = bad_reg(facts, head->regs, op, head->fault->access.addr, &s->out->of);
		if (reg >= 0 && s->out->of == REPORT_SLICE_INDEX && is_added_to_sum(s, op, reg))
			return;
		if (reg >= 0 && reg != PAST_SP_INDEX) {
			s->out->value = past_death_reg(head->regs, reg);
			slice_follow_reg(s, reg, s->out->value);
		}
		return;
	}
	s->out->of = REPORT_SLICE_POINTER;
	s->out->value = head->ip;
	if (slice_is_reg(&x.op[0]))
		slice_follow_reg(s, past_reg_index(x.op[0].reg.value), head->ip);
	else if (slice_is_memory(&x.op[0]) && past_operand(&s->p, &addr))
		slice_follow_load(s, ip, addr, 8, false, head->ip);
}

/* From the divisor, which was 0. */
static void follow_divisor(struct slice *s, const struct report_headline *head)
{
	const ZydisDecodedOperand *by;
	struct x86_insn x;
	uint64_t ip, addr;
	int reg;

	if (!past_find_insn(&s->p, head->ip, head->ip, true) ||
	    !past_insn(&s->p, s->p.insn, &x, &ip) ||
	    (x.info.mnemonic != ZYDIS_MNEMONIC_DIV && x.info.mnemonic != ZYDIS_MNEMONIC_IDIV))
		return;
	by = &x.op[0];
	reg = slice_is_reg(by) ? past_reg_index(by->reg.value) : -1;
	if (reg >= 0 && !(past_death_reg(head->regs, reg) & (UINT64_MAX >> (64 - by->size))))
		slice_follow_reg(s, reg, 0);
	else if (slice_is_memory(by) && past_operand(&s->p, &addr))
		slice_follow_load(s, head->ip, addr, by->size / 8, false, 0);
}

/* The word of malloc right after the first block that was written past its end. */
static bool find_after_block(const struct report_facts *facts, uint64_t *addr, uint64_t *word)
{
	const struct auxtap_crash_block *b = &facts->overruns[0].record;
	uint64_t own;

	if (!facts->nr_overruns || !(b->flags & AUXTAP_BLOCK_HAS_AFTER_END))
		return false;
	/* glibc's word before the block has the size of both, and three flags */
	if (!report_facts_memory(facts, b->addr - 8, &own, sizeof(own)))
		own = b->nr_bytes <= 24 ? 32 : b->nr_bytes + 8 + 15;
	own &= ~15ull;
	*addr = b->addr + own - 8;
	*word = b->after_end;
	return true;
}

/* The frame that called __stack_chk_fail(); 0: none. */
static int find_protected(const struct report_out *ro, const struct unwind_frames *frames)
{
	for (int i = 1; i < frames->nr; i++) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		if (!auxtap_image_set_symbol(ro->images, ro->pid, ro->time, frames->pcs[i - 1],
					     &loc) &&
		    loc.nr_frames && loc.frames[0].symbol &&
		    !strcmp(loc.frames[0].symbol, "__stack_chk_fail"))
			return frames->call_mask >> i & 1 && frames->frames[i].has_cfa ? i : 0;
	}
	return 0;
}

/* The address of that call, which all compilers make directly. */
static bool find_protector(const struct report_out *ro, const struct unwind_frames *frames,
			   uint64_t *call, uint64_t *frame_slot)
{
	const int nr = find_protected(ro, frames);
	uint8_t code;

	if (!nr)
		return false;
	*frame_slot = frames->frames[nr].cfa - 8;
	*call = frames->pcs[nr] + 1 - CALL_SIZE;
	return auxtap_image_set_read(ro->images, ro->pid, ro->time, *call, &code, 1) == 1 &&
	       code == CALL_OPCODE;
}

/* Does the report say the same of the step without a log of values? */
static bool is_known(const struct report_out *ro, const struct report_headline *head,
		     const struct report_slice_step *step)
{
	const uint64_t fault_ip = head->fault->bad_ip && head->last ? head->last->from : head->ip;
	const uint64_t ip = step->callers.at[0].pc;

	if (head->slice.of == REPORT_SLICE_RETURN_ADDRESS ||
	    head->slice.of == REPORT_SLICE_AFTER_BLOCK ||
	    head->slice.of == REPORT_SLICE_PROTECTOR || step->kind == REPORT_SLICE_NEVER_SET ||
	    (step->kind == REPORT_SLICE_WRITTEN && !step->is_local))
		return false;
	return origin_same_line(ro, ip, fault_ip);
}

/* The log knows where the origin was read from, also if that overwrote the register. */
static void take_address(struct report_headline *head)
{
	struct report_origin *origin = &head->origin;

	if (origin->kind != REPORT_ORIGIN_READ || origin->has_addr || !head->slice.origin_addr)
		return;
	origin->has_addr = true;
	origin->addr = head->slice.origin_addr;
}

void report_slice_find(const struct report_out *ro, const struct report_facts *facts,
		       struct report_headline *head)
{
	const uint64_t slot = head->fault->overwritten_return;
	struct report_slice *out = &head->slice;
	struct slice *s = calloc(1, sizeof(*s));
	uint64_t addr, word;

	*out = (struct report_slice){.of = REPORT_SLICE_NOTHING};
	out->lacks_order = past_has_threads(facts);
	if (s && past_begin(&s->p, ro, facts, &s->work)) {
		s->out = out;
		s->nr_newer = -1;
		s->origin_ip = head->origin.kind != REPORT_ORIGIN_UNKNOWN ? head->origin.ip : 0;
		if (slot && report_facts_memory(facts, slot, &word, sizeof(word)) &&
		    (!head->fault->bad_ip || word == head->ip)) {
			out->of = REPORT_SLICE_RETURN_ADDRESS;
			out->value = word;
			slice_follow_return(s, slot, word);
		} else if (find_protector(ro, head->frames, &addr, &word)) {
			out->of = REPORT_SLICE_PROTECTOR;
			slice_follow_protector(s, addr, word, head->ip);
		} else if (find_after_block(facts, &addr, &word)) {
			out->of = REPORT_SLICE_AFTER_BLOCK;
			out->value = word;
			slice_follow_overrun(s, addr, word);
		} else if (head->regs && facts->crash.signo == SIGFPE &&
			   facts->crash.si_code == FPE_INTDIV) {
			out->of = REPORT_SLICE_DIVISOR;
			follow_divisor(s, head);
		} else if (head->regs && facts->crash.si_code > 0 && !slot) {
			follow_fault(s, facts, head);
			out->nr_newer = s->nr_newer;
			take_address(head);
		}
		out->lacks_order = s->lacks_order;
	}
	out->lacks_order = out->lacks_order && head->is_wrong_value;
	free(s);
}

void report_slice_check(const struct report_out *ro, struct report_headline *head)
{
	struct report_slice *out = &head->slice;
	bool is_shifted = false, is_summed = false;
	int nr = 0, first = 0;

	if (out->of == REPORT_SLICE_POINTER && head->origin.kind != REPORT_ORIGIN_UNKNOWN)
		first = out->nr_newer < 0 ? out->nr : out->nr_newer;
	for (int i = first; i < out->nr; i++) {
		struct report_slice_step *step = &out->steps[i];

		/* the step before has what was added after one that is left out */
		is_shifted = step->is_shifted = step->is_shifted || is_shifted;
		is_summed = step->is_summed = step->is_summed || is_summed;
		if (is_known(ro, head, step))
			continue;
		out->steps[nr++] = *step;
		is_shifted = is_summed = false;
	}
	out->nr = nr;
	for (int i = 0; i < nr; i++)
		out->lacks_order = out->lacks_order && out->steps[i].kind == REPORT_SLICE_READ;
	if (!nr)
		out->of = REPORT_SLICE_NOTHING;
}
