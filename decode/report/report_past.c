// SPDX-License-Identifier: BSD-2-Clause
/* See report_past.h. */
#include "report_past.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES 16384 /* of the stack that are unwound, at most */
#define STACK_PARTS 256	  /* known parts of it, at most */
#define MAX_DEPTH   24	  /* nested registers and words that an address is computed from */
#define MAX_INSNS   64	  /* of a block, before one whose registers are computed */
#define INSN_MAX    15
#define REG_WORK    100 /* a register that is computed counts as so many */
#define BLOCK_MAX   512 /* instructions that qemu translates together */
#define PAGE	    4096

/* ---- blocks ---- */

static bool read_insn(const struct past *p, uint64_t ip, struct x86_insn *insn)
{
	const struct report_out *ro = p->ro;
	uint8_t code[INSN_MAX];
	ssize_t nr = auxtap_image_set_read(ro->images, ro->pid, ro->time, ip, code, sizeof(code));

	return nr > 0 && x86_disassemble(code, (size_t)nr, insn);
}

bool past_insn(const struct past *p, uint32_t index, struct x86_insn *insn, uint64_t *ip)
{
	*ip = p->ip;
	if (index >= p->nr_insns)
		return false;
	for (uint32_t i = 0; i <= index; i++) {
		if (i)
			*ip += insn->info.length;
		if (!read_insn(p, *ip, insn))
			return false;
	}
	return true;
}

/* Which instruction of the block is at ip; UINT32_MAX: none. */
static uint32_t index_of(const struct past *p, uint64_t ip)
{
	struct x86_insn insn;
	uint64_t at = p->ip;

	if (ip - p->ip >= (uint64_t)p->nr_insns * INSN_MAX)
		return UINT32_MAX;
	for (uint32_t i = 0; i < p->nr_insns && at <= ip; i++) {
		if (at == ip)
			return i;
		if (!read_insn(p, at, &insn))
			return UINT32_MAX;
		at += insn.info.length;
	}
	return UINT32_MAX;
}

/* Is the block's code perhaps not what is there at the death? */
static bool is_replaced(const struct past *p)
{
	for (unsigned int i = 0; i < p->nr_mapped; i++)
		if (p->ip - p->mapped[i].addr < p->mapped[i].nr_bytes)
			return true;
	return false;
}

/* When the block whose entry is at 'at' began. False: that is not in the log. */
static bool take_time(struct past *p, size_t at)
{
	struct value_log_entry entry;

	p->time.begin = 0;
	if (!value_log_back(p->log, &at, &entry))
		return !(p->log->head.flags & AUXTAP_VALUES_THREADS) ||
		       p->log->head.flags & AUXTAP_VALUES_WHOLE;
	if (entry.kind == AUXTAP_VALUES_TIME && entry.nr_words)
		p->time.begin = entry.words[0];
	return true;
}

/* Moves to the block whose entry is at 'at', the one before. */
static bool take_block(struct past *p, const struct value_log_entry *entry, size_t at)
{
	memcpy(p->regs, p->older, sizeof(p->regs));
	p->end = p->at;
	p->at = at;
	p->insn = p->nr_insns = entry->insn;
	p->time.end = p->time.begin;
	return take_time(p, at) && p->nr_insns <= BLOCK_MAX &&
	       value_log_block(entry, p->older, &p->ip) && !is_replaced(p);
}

/* The kernel wrote there, or mapped something there, after the block. */
static void note_unknown(struct past *p, const struct value_log_write *write)
{
	struct past_range *last = p->nr_mapped ? &p->mapped[p->nr_mapped - 1] : NULL;

	/* a signal handler began, or the system call is not known */
	if (write->nr_bytes == UINT64_MAX) {
		p->by_kernel = true;
		return;
	}
	if (write->nr_bytes < PAGE)
		return;
	if (last && last->addr == write->addr && last->nr_bytes == write->nr_bytes)
		return;
	if (p->nr_mapped == PAST_MAPPED) {
		p->mapped[0] = (struct past_range){.nr_bytes = UINT64_MAX}; /* too many */
		return;
	}
	p->mapped[p->nr_mapped++] = (struct past_range){write->addr, write->nr_bytes};
}

bool past_back(struct past *p)
{
	struct value_log_entry entry;
	struct value_log_write write;
	uint64_t left_ip = 0;
	size_t at = p->at;

	p->by_kernel = false;
	while (value_log_back(p->log, &at, &entry)) {
		if (entry.kind == AUXTAP_VALUES_LOST || !past_has_work(p, 1))
			return false;
		if (entry.kind == AUXTAP_VALUES_LEFT && entry.nr_words)
			left_ip = entry.words[0];
		if (value_log_write(&entry, &write) && !write.bytes)
			note_unknown(p, &write);
		if (entry.kind != AUXTAP_VALUES_BLOCK)
			continue;
		if (!take_block(p, &entry, at))
			return false;
		if (left_ip) {
			uint32_t left = index_of(p, left_ip);

			p->by_kernel = true;
			/* after its last instruction: it was not left early */
			p->insn = left == UINT32_MAX ? p->nr_insns : left;
		}
		return true;
	}
	return false;
}

bool past_find_insn(struct past *p, uint64_t ip, uint64_t death_ip, bool is_executed)
{
	bool is_last = true;

	while (past_back(p)) {
		uint32_t index, end = is_last ? index_of(p, death_ip) : UINT32_MAX;

		if (end != UINT32_MAX)
			p->insn = end + is_executed;
		is_last = false;
		index = index_of(p, ip);
		if (index < p->insn) {
			p->insn = index;
			return true;
		}
	}
	return false;
}

/* ---- memory ---- */

bool past_is_shared(const struct past *p, uint64_t addr)
{
	const struct report_map *map = report_facts_map(p->facts, addr);

	return !map || map->perms[3] == 's';
}

enum byte_state { BYTE_OPEN, BYTE_KNOWN, BYTE_CHANGED };

struct past_memory {
	uint64_t addr;
	size_t size;
	uint8_t *bytes, *state, *later; /* later: written afterwards */
	size_t nr_open, nr_not_later;
};

/* The part of the memory that the write touches. False: none. */
static bool find_part(const struct past_memory *m, const struct value_log_write *w, size_t *first,
		      size_t *end)
{
	*first = 0;
	*end = m->size;
	if (w->nr_bytes == UINT64_MAX)
		return true;
	if (m->addr - w->addr >= w->nr_bytes && w->addr - m->addr >= m->size)
		return false;
	if (w->addr - m->addr < m->size)
		*first = (size_t)(w->addr - m->addr);
	if (w->addr + w->nr_bytes - m->addr < m->size)
		*end = (size_t)(w->addr + w->nr_bytes - m->addr);
	return true;
}

static void apply_later(struct past_memory *m, const struct value_log_write *w)
{
	size_t first, end;

	if (!m->nr_not_later || !find_part(m, w, &first, &end))
		return;
	for (size_t i = first; i < end; i++) {
		m->nr_not_later -= !m->later[i];
		m->later[i] = 1;
	}
}

static void apply_earlier(struct past_memory *m, const struct value_log_write *w)
{
	size_t first, end;

	if (!find_part(m, w, &first, &end))
		return;
	for (size_t i = first; i < end; i++) {
		if (m->state[i] != BYTE_OPEN)
			continue;
		m->nr_open--;
		m->state[i] = w->bytes ? BYTE_KNOWN : BYTE_CHANGED;
		if (w->bytes)
			m->bytes[i] = w->bytes[m->addr + i - w->addr];
	}
}

/* Another thread wrote there, perhaps before, perhaps after. */
static void apply_foreign(void *ctx, const struct value_log_write *w)
{
	struct past_memory *m = ctx;
	size_t first, end;

	if (!find_part(m, w, &first, &end))
		return;
	for (size_t i = first; i < end; i++) {
		m->state[i] = BYTE_CHANGED;
		m->later[i] = 1;
	}
}

/* What nothing wrote to since is as in the snapshot. */
static void take_final(struct past_memory *m, const struct report_memory *final)
{
	const struct value_log_write range = {.addr = final->addr, .nr_bytes = final->nr_bytes};
	size_t first, end;

	if (!find_part(m, &range, &first, &end))
		return;
	for (size_t i = first; i < end; i++)
		if (m->state[i] != BYTE_KNOWN && !m->later[i]) {
			m->bytes[i] = final->bytes[m->addr + i - final->addr];
			m->state[i] = BYTE_KNOWN;
		}
}

/*
 * Finds what was last written there until then; or, where nothing wrote to it afterwards, what is
 * there at the death. is_strict: what other threads may have written is unknown.
 */
static void read_memory(const struct past *p, struct past_memory *m, bool is_strict)
{
	size_t at = p->log->head.nr_words;
	struct value_log_entry entry;
	struct value_log_write write;

	m->nr_open = m->nr_not_later = m->size;
	while (m->nr_open && value_log_back(p->log, &at, &entry) &&
	       entry.kind != AUXTAP_VALUES_LOST) {
		if (!past_has_work(p, 1))
			return;
		if (!value_log_write(&entry, &write))
			continue;
		if (at >= p->end || (at > p->at && entry.insn >= p->insn))
			apply_later(m, &write);
		else
			apply_earlier(m, &write);
	}
	if (p->has_threads)
		past_each_foreign(p, m->addr, m->size, is_strict, apply_foreign, m);
	for (size_t i = 0; i < p->facts->nr_memory && past_has_all_since(p); i++)
		take_final(m, &p->facts->memory[i]);
}

/* May a thread of which there is no log have written there, to memory that is not p's stack? */
static bool may_be_lost(const struct past *p, uint64_t addr)
{
	return p->has_threads && p->log->head.lost_until &&
	       report_facts_map(p->facts, addr) !=
		       report_facts_map(p->facts, p->regs[PAST_SP_INDEX]);
}

bool past_word(const struct past *p, uint64_t addr, unsigned int nr_bytes, uint64_t *word)
{
	uint8_t bytes[8], state[8] = {BYTE_OPEN}, later[8] = {0};
	struct past_memory m = {.addr = addr,
				.size = nr_bytes,
				.bytes = bytes,
				.state = state,
				.later = later};

	if (nr_bytes > sizeof(bytes) || past_is_shared(p, addr) || may_be_lost(p, addr))
		return false;
	read_memory(p, &m, true);
	*word = 0;
	for (unsigned int i = 0; i < nr_bytes; i++) {
		if (state[i] != BYTE_KNOWN)
			return false;
		*word |= (uint64_t)bytes[i] << 8 * i;
	}
	return true;
}

/* ---- registers ---- */

uint64_t past_death_reg(const struct auxtap_regs *regs, int index)
{
	return regs->reg[value_log_regs[index]];
}

int past_reg_index(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole) :
								      -1;
}

static bool reg_before(struct past *p, uint32_t insn, ZydisRegister reg, int depth,
		       uint64_t *value);

static bool address_before(struct past *p, uint32_t insn, const struct x86_insn *x, uint64_t ip,
			   const ZydisDecodedOperand *op, int depth, uint64_t *addr)
{
	uint64_t base = 0, index = 0;

	if (x->info.address_width != 64)
		return false;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		base = ip + x->info.length;
	else if (op->mem.base != ZYDIS_REGISTER_NONE &&
		 !reg_before(p, insn, op->mem.base, depth, &base))
		return false;
	if (op->mem.index != ZYDIS_REGISTER_NONE &&
	    !reg_before(p, insn, op->mem.index, depth, &index))
		return false;
	*addr = base + index * op->mem.scale + (uint64_t)op->mem.disp.value;
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return true; /* lea */
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		*addr += p->regs[16];
	else if (op->mem.segment == ZYDIS_REGISTER_GS)
		*addr += p->regs[17];
	return true;
}

static bool word_before(struct past *p, uint32_t insn, uint64_t addr, unsigned int nr_bytes,
			uint64_t *value)
{
	struct past before = *p;

	before.insn = insn;
	return past_word(&before, addr, nr_bytes, value);
}

static bool operand_before(struct past *p, uint32_t insn, const struct x86_insn *x, uint64_t ip,
			   const ZydisDecodedOperand *op, int depth, uint64_t *value)
{
	uint64_t addr;

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return reg_before(p, insn, op->reg.value, depth, value);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		*value = op->imm.value.u;
		return true;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return op->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		       address_before(p, insn, x, ip, op, depth, &addr) &&
		       word_before(p, insn, addr, op->size / 8, value);
	default:
		return false;
	}
}

static uint64_t mask_of(unsigned int nr_bits)
{
	return nr_bits < 64 ? (1ull << nr_bits) - 1 : UINT64_MAX;
}

static uint64_t sign_extended(uint64_t value, unsigned int nr_bits)
{
	const unsigned int shift = nr_bits < 64 ? 64 - nr_bits : 0;

	return (uint64_t)((int64_t)(value << shift) >> shift);
}

/* The value that the instruction gave to its first operand, a register. */
static bool result_of(struct past *p, uint32_t insn, const struct x86_insn *x, uint64_t ip,
		      int depth, uint64_t *value)
{
	const ZydisDecodedOperand *to = &x->op[0], *from = &x->op[1];
	uint64_t other;

	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		return address_before(p, insn, x, ip, from, depth, value);
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		return operand_before(p, insn, x, ip, from, depth, value);
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		if (!operand_before(p, insn, x, ip, from, depth, value))
			return false;
		*value = sign_extended(*value, from->size);
		return true;
	case ZYDIS_MNEMONIC_POP:
		return reg_before(p, insn, ZYDIS_REGISTER_RSP, depth, &other) &&
		       word_before(p, insn, other, 8, value);
	case ZYDIS_MNEMONIC_CDQE:
		if (!reg_before(p, insn, ZYDIS_REGISTER_EAX, depth, value))
			return false;
		*value = sign_extended(*value, 32);
		return true;
	case ZYDIS_MNEMONIC_XOR:
		*value = 0;
		return from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       to->reg.value == from->reg.value;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_SHL:
		if (!operand_before(p, insn, x, ip, to, depth, value) ||
		    !operand_before(p, insn, x, ip, from, depth, &other))
			return false;
		if (x->info.mnemonic == ZYDIS_MNEMONIC_SHL)
			*value <<= other & (to->size == 64 ? 63 : 31);
		else if (x->info.mnemonic == ZYDIS_MNEMONIC_AND)
			*value &= other;
		else
			*value += x->info.mnemonic == ZYDIS_MNEMONIC_SUB ? -other : other;
		return true;
	default:
		return false;
	}
}

static bool writes_reg(const ZydisDecodedOperand *op, int reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
	       past_reg_index(op->reg.value) == reg;
}

/* How the instruction moves the stack pointer: added to it. False: otherwise. */
static bool moves_stack(const struct x86_insn *x, uint64_t *added)
{
	switch (x->info.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_CALL:
		*added = -(uint64_t)(x->info.operand_width / 8);
		return true;
	case ZYDIS_MNEMONIC_POP:
		*added = x->info.operand_width / 8;
		return !writes_reg(&x->op[0], PAST_SP_INDEX);
	default:
		return false;
	}
}

/* A general register, or its lower half, before an instruction of the block. */
static bool reg_before(struct past *p, uint32_t insn, ZydisRegister reg, int depth, uint64_t *value)
{
	const int index = past_reg_index(reg);
	const unsigned int width = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg);
	const bool is_high = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;

	if (!past_has_work(p, REG_WORK) || index < 0 || is_high || depth >= MAX_DEPTH ||
	    insn > MAX_INSNS)
		return false;
	while (insn--) {
		struct x86_insn x;
		uint64_t ip, added;
		bool is_written = false;

		if (!past_insn(p, insn, &x, &ip))
			return false;
		if (index == PAST_SP_INDEX && moves_stack(&x, &added)) {
			if (!reg_before(p, insn, ZYDIS_REGISTER_RSP, depth + 1, value))
				return false;
			*value += added;
			return true;
		}
		for (unsigned int i = 1; i < x.info.operand_count; i++)
			is_written |= writes_reg(&x.op[i], index);
		if (is_written)
			return false;
		if (!writes_reg(&x.op[0], index))
			continue;
		if ((x.op[0].size != 64 && x.op[0].size != 32) ||
		    !result_of(p, insn, &x, ip, depth + 1, value))
			return false;
		*value &= mask_of(x.op[0].size) & mask_of(width);
		return true;
	}
	*value = p->regs[index] & mask_of(width);
	return true;
}

bool past_reg(struct past *p, ZydisRegister reg, uint64_t *value)
{
	return reg_before(p, p->insn, reg, 0, value);
}

uint32_t past_written_regs(const struct past *p)
{
	uint64_t ip = p->ip;
	uint32_t mask = 0;
	struct x86_insn x;

	for (uint32_t i = 0; i < p->nr_insns; i++, ip += x.info.length) {
		if (!read_insn(p, ip, &x))
			return UINT32_MAX;
		if (x.info.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
			mask |= PAST_CALLS_KERNEL | 1; /* rax */
		for (unsigned int k = 0; k < x.info.operand_count; k++)
			for (int reg = 0; reg < 16; reg++)
				mask |= (uint32_t)writes_reg(&x.op[k], reg) << reg;
	}
	return mask;
}

static const ZydisDecodedOperand *find_operand(const struct x86_insn *x)
{
	for (unsigned int i = 0; i < x->info.operand_count; i++)
		if (x->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    x->op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    x->op[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
			return &x->op[i];
	return NULL;
}

/* The memory operand of the instruction p->insn, which is decoded to *x; NULL: it has none. */
static const ZydisDecodedOperand *operand_of(const struct past *p, struct x86_insn *x, uint64_t *ip)
{
	return past_insn(p, p->insn, x, ip) ? find_operand(x) : NULL;
}

bool past_operand(struct past *p, uint64_t *addr)
{
	struct x86_insn x;
	uint64_t ip;
	const ZydisDecodedOperand *op = operand_of(p, &x, &ip);

	return op && address_before(p, p->insn, &x, ip, op, 0, addr);
}

/* ---- writes ---- */

static bool is_call_at(const struct past *p, uint32_t index)
{
	struct x86_insn x;
	uint64_t ip;

	return past_insn(p, index, &x, &ip) && x.info.mnemonic == ZYDIS_MNEMONIC_CALL;
}

bool past_find_in_block(struct past *p, uint64_t addr, uint64_t nr_bytes, uint64_t frame_slot,
			uint32_t limit, enum past_write *result, struct value_log_write *write)
{
	struct value_log_entry entry;
	size_t at = p->end;

	while (value_log_back(p->log, &at, &entry) && at > p->at) {
		const bool is_void = value_log_void(&entry, write);

		if (!past_has_work(p, 1)) {
			*result = PAST_WRITE_UNKNOWN;
			return true;
		}
		if ((!is_void && !value_log_write(&entry, write)) || entry.insn >= limit)
			continue;
		if (frame_slot && !is_void && write->addr == frame_slot && write->nr_bytes == 8 &&
		    is_call_at(p, entry.insn)) {
			*result = PAST_WRITE_NOT_SINCE;
			return true;
		}
		if (!value_log_hits(write, addr, nr_bytes))
			continue;
		/* by a system call: it is the block's last instruction */
		p->insn = entry.insn == AUXTAP_VALUES_AFTER ? p->nr_insns - 1 : entry.insn;
		*result = write->bytes ? PAST_WRITE_FOUND : PAST_WRITE_UNKNOWN;
		return true;
	}
	return false;
}

/*
 * May the function with code at ip have been called where 'entered' was? Not if that is another
 * function of the same file: a jump has gone back into a function that had returned (longjmp()).
 */
static bool may_be_of_call(const struct past *p, uint64_t entered, uint64_t ip)
{
	struct auxtap_location at = {.size = sizeof(at)}, from = {.size = sizeof(from)};

	if (report_function_start(p->ro, entered) == report_function_start(p->ro, ip))
		return true;
	return !auxtap_image_set_symbol(p->ro->images, p->ro->pid, p->ro->time, entered, &at) &&
	       !auxtap_image_set_symbol(p->ro->images, p->ro->pid, p->ro->time, ip, &from) &&
	       at.image != from.image;
}

enum past_write past_find_own_write(struct past *p, uint64_t addr, uint64_t nr_bytes,
				    uint64_t frame_slot, struct value_log_write *write)
{
	uint32_t limit = p->at < p->end ? p->insn : UINT32_MAX;
	uint64_t from, later;
	enum past_write result;

	if (past_is_shared(p, addr) || (p->at == p->end && !past_back(p)))
		return PAST_WRITE_UNKNOWN;
	from = later = p->ip;
	while (!past_find_in_block(p, addr, nr_bytes, frame_slot, limit, &result, write)) {
		later = p->ip;
		if (!past_back(p))
			return PAST_WRITE_UNKNOWN;
		limit = UINT32_MAX;
	}
	return result == PAST_WRITE_NOT_SINCE && !may_be_of_call(p, later, from) ?
		       PAST_WRITE_UNKNOWN :
		       result;
}

/* ---- the stack ---- */

struct past_stack {
	uint8_t bytes[STACK_BYTES], state[STACK_BYTES], later[STACK_BYTES];
	struct report_memory parts[STACK_PARTS];
	size_t nr_parts;
};

static void list_parts(struct past_stack *s, uint64_t addr)
{
	for (size_t i = 0; i < STACK_BYTES && s->nr_parts < STACK_PARTS; i++) {
		size_t first = i;

		while (i < STACK_BYTES && s->state[i] == BYTE_KNOWN)
			i++;
		if (i > first)
			s->parts[s->nr_parts++] = (struct report_memory){
				.addr = addr + first,
				.nr_bytes = i - first,
				.bytes = s->bytes + first,
			};
	}
}

/* Was the word last written by a call, or before the log begins? */
static bool is_pushed(const struct past *p, uint64_t slot)
{
	struct value_log_write write;
	struct past q = *p;

	q.insn = 0;
	return past_find_own_write(&q, slot, 8, 0, &write) != PAST_WRITE_FOUND ||
	       (write.addr == slot && write.nr_bytes == 8 && is_call_at(&q, q.insn));
}

void past_unwind(const struct past *p, struct unwind_frames *frames)
{
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64};
	struct past_stack *s = calloc(1, sizeof(*s));
	struct report_facts then = *p->facts;
	struct past before = *p;

	frames->nr = 0;
	if (!s)
		return;
	for (size_t i = 0; i < sizeof(value_log_regs); i++) {
		regs.reg[value_log_regs[i]] = p->regs[i];
		regs.valid |= 1ull << value_log_regs[i];
	}
	regs.reg[AUXTAP_X86_IP] = p->ip;
	regs.valid |= 1ull << AUXTAP_X86_IP;
	before.insn = 0;
	read_memory(&before,
		    &(struct past_memory){.addr = regs.reg[AUXTAP_X86_SP],
					  .size = STACK_BYTES,
					  .bytes = s->bytes,
					  .state = s->state,
					  .later = s->later},
		    false);
	list_parts(s, regs.reg[AUXTAP_X86_SP]);
	then.memory = s->parts;
	then.nr_memory = s->nr_parts;
	unwind_backtrace(&then, p->ro->images, &regs, NULL, frames);
	free(s);
	for (int i = 0; i + 1 < frames->nr; i++)
		if (!frames->frames[i].has_cfa || !is_pushed(p, frames->frames[i].cfa - 8))
			frames->nr = i + 1;
}

bool past_uses_stack(const struct past *p)
{
	struct x86_insn x;
	uint64_t ip;
	const ZydisDecodedOperand *op = operand_of(p, &x, &ip);

	return op && (op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_RBP);
}

bool past_frame_slot(const struct past *p, uint64_t addr, uint64_t *slot)
{
	struct unwind_frames frames;
	struct past before = *p;
	uint64_t ip, rbp, word;
	struct x86_insn x;
	const ZydisDecodedOperand *op = operand_of(p, &x, &ip);

	if (!op || !past_uses_stack(p))
		return false;
	past_unwind(p, &frames);
	if (frames.nr < 2 || !frames.frames[0].has_cfa || !(frames.call_mask & 2))
		return false;
	*slot = frames.frames[0].cfa - 8;
	if (!past_word(p, *slot, sizeof(word), &word) || frames.pcs[1] + 1 != word)
		return false;
	/* rbp is the frame pointer if the return address is where it belongs */
	if (op->mem.base == ZYDIS_REGISTER_RBP &&
	    (!past_reg(&before, ZYDIS_REGISTER_RBP, &rbp) || rbp + 8 != *slot))
		return false;
	return *slot - addr < STACK_BYTES && addr != *slot;
}
