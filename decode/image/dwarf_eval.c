// SPDX-License-Identifier: BSD-2-Clause
/* Location expressions: see dwarf_eval.h. */
#include "dwarf_eval.h"

#include <dwarf.h>
#include <string.h>

#define MAX_STACK 64
#define MAX_STEPS 2000
#define MAX_DEPTH 3

/*
 * An integer. size 0: the generic type (of address size); signed only in division and comparison.
 */
struct operand {
	uint64_t value;
	unsigned int size;
	bool is_signed;
};

/* The stack machine that executes one expression. */
struct machine {
	const struct dwarf_context *c;
	Dwarf_Attribute *attr;
	struct operand stack[MAX_STACK];
	unsigned int nr;
	enum dwarf_status status; /* DWARF_KNOWN until the first failure */
	bool in_register;	  /* the value is the register's number */
	bool is_value, is_bytes;
	const uint8_t *bytes;
	uint64_t nr_bytes;
};

static bool fail(struct machine *m, enum dwarf_status status)
{
	if (m->status == DWARF_KNOWN)
		m->status = status;
	return false;
}

static uint64_t truncate_value(uint64_t value, unsigned int size, bool is_signed)
{
	unsigned int unused = size && size < 8 ? 64 - 8 * size : 0;

	if (is_signed)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	return value << unused >> unused;
}

static bool push_operand(struct machine *m, struct operand operand)
{
	if (m->nr == MAX_STACK)
		return fail(m, DWARF_UNKNOWN);
	operand.value = truncate_value(operand.value, operand.size, operand.is_signed);
	m->stack[m->nr++] = operand;
	return true;
}

static bool push(struct machine *m, uint64_t value)
{
	return push_operand(m, (struct operand){.value = value});
}

static bool pop(struct machine *m, struct operand *operand)
{
	if (!m->nr)
		return fail(m, DWARF_UNKNOWN);
	*operand = m->stack[--m->nr];
	return true;
}

static enum dwarf_status read_register(const struct dwarf_context *c, uint64_t nr, uint64_t *value)
{
	if (!c->frame || nr >= IMAGE_FRAME_REGS)
		return DWARF_NOT_IN_SNAPSHOT;
	if (!(c->frame->known_mask >> nr & 1))
		return c->frame->in_snapshot_mask >> nr & 1 ? DWARF_NOT_SAVED :
							      DWARF_NOT_IN_SNAPSHOT;
	*value = c->frame->reg[nr];
	return DWARF_KNOWN;
}

static bool push_register(struct machine *m, uint64_t nr, int64_t off)
{
	uint64_t value = 0;
	enum dwarf_status status = read_register(m->c, nr, &value);

	return status == DWARF_KNOWN ? push(m, value + (uint64_t)off) : fail(m, status);
}

static bool push_memory(struct machine *m, uint64_t addr, unsigned int size, struct operand type)
{
	type.value = 0;
	if (!size || size > 8)
		return fail(m, DWARF_UNKNOWN);
	if (!m->c->memory->read(m->c->memory->ctx, addr, &type.value, size))
		return fail(m, DWARF_NOT_IN_SNAPSHOT);
	return push_operand(m, type);
}

static void run_operations(struct machine *m, const Dwarf_Op *ops, size_t nr);

/* Pushes the function's frame base plus off. */
static bool push_frame_base(struct machine *m, int64_t off)
{
	struct dwarf_context inner = *m->c;
	struct machine base = {.c = &inner};
	struct operand result;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;
	uint64_t value;

	if (!m->c->function || inner.depth++ == MAX_DEPTH ||
	    !dwarf_attr_integrate(m->c->function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, inner.pc, &ops, &nr, 1) != 1)
		return fail(m, DWARF_UNKNOWN);
	base.attr = &attr;
	run_operations(&base, ops, nr);
	if (base.status != DWARF_KNOWN)
		return fail(m, base.status);
	if (base.is_bytes || !pop(&base, &result))
		return fail(m, DWARF_UNKNOWN);
	value = result.value;
	if (base.in_register) {
		enum dwarf_status status = read_register(&inner, result.value, &value);

		if (status != DWARF_KNOWN)
			return fail(m, status);
	}
	return push(m, value + (uint64_t)off);
}

/* Pushes the entry value of the register that the operation's inner expression names. */
static bool push_entry_value(struct machine *m, const Dwarf_Op *op)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	uint64_t value;
	size_t nr;
	unsigned int reg;
	enum dwarf_status status;

	if (dwarf_getlocation_attr(m->attr, op, &attr) || dwarf_getlocation(&attr, &ops, &nr) ||
	    nr != 1)
		return fail(m, DWARF_UNKNOWN);
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		reg = ops[0].atom - DW_OP_reg0;
	else if (ops[0].atom == DW_OP_regx && ops[0].number < IMAGE_FRAME_REGS)
		reg = (unsigned int)ops[0].number;
	else
		return fail(m, DWARF_UNKNOWN);
	if (!m->c->entry_value)
		return fail(m, DWARF_UNKNOWN); /* entry values of callers are not computed */
	status = m->c->entry_value(m->c->ctx, reg, &value);
	return status == DWARF_KNOWN ? push(m, value) : fail(m, status);
}

/* The base type that a typed operation names. Only integers of at most 8 bytes. */
static bool type_of(struct machine *m, const Dwarf_Op *op, uint64_t off, struct operand *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word size, encoding;
	Dwarf_Die die;

	memset(type, 0, sizeof(*type));
	if ((op->atom == DW_OP_convert || op->atom == DW_OP_GNU_convert ||
	     op->atom == DW_OP_reinterpret || op->atom == DW_OP_GNU_reinterpret) &&
	    !off)
		return true;
	if (dwarf_getlocation_die(m->attr, op, &die) ||
	    dwarf_formudata(dwarf_attr(&die, DW_AT_byte_size, &attr), &size) || !size || size > 8 ||
	    dwarf_formudata(dwarf_attr(&die, DW_AT_encoding, &attr), &encoding))
		return fail(m, DWARF_UNKNOWN);
	type->size = (unsigned int)size;
	switch (encoding) {
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		type->is_signed = true;
		return true;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_boolean:
	case DW_ATE_address:
	case DW_ATE_UTF:
		return true;
	default:
		return fail(m, DWARF_UNKNOWN);
	}
}

static bool convert(struct machine *m, const Dwarf_Op *op)
{
	struct operand type, operand;

	if (!type_of(m, op, op->number, &type) || !pop(m, &operand))
		return false;
	type.value = operand.value;
	return push_operand(m, type);
}

static bool arithmetic(struct machine *m, int atom, struct operand a, struct operand b)
{
	struct operand r = a;
	int64_t sa = (int64_t)a.value, sb = (int64_t)b.value;
	bool ordered = a.size && !a.is_signed ? a.value < b.value : sa < sb;

	if ((atom == DW_OP_div || atom == DW_OP_mod) && (!b.value || (sa == INT64_MIN && sb == -1)))
		return fail(m, DWARF_UNKNOWN);
	switch (atom) {
	case DW_OP_and:
		r.value = a.value & b.value;
		break;
	case DW_OP_or:
		r.value = a.value | b.value;
		break;
	case DW_OP_xor:
		r.value = a.value ^ b.value;
		break;
	case DW_OP_plus:
		r.value = a.value + b.value;
		break;
	case DW_OP_minus:
		r.value = a.value - b.value;
		break;
	case DW_OP_mul:
		r.value = a.value * b.value;
		break;
	case DW_OP_div:
		r.value = a.size && !a.is_signed ? a.value / b.value : (uint64_t)(sa / sb);
		break;
	case DW_OP_mod:
		r.value = a.is_signed ? (uint64_t)(sa % sb) : a.value % b.value;
		break;
	case DW_OP_shl:
		r.value = b.value < 64 ? a.value << b.value : 0;
		break;
	case DW_OP_shr:
		r.value = b.value < 64 ? truncate_value(a.value, a.size, false) >> b.value : 0;
		break;
	case DW_OP_shra:
		r.value = (uint64_t)(sa >> (b.value < 63 ? b.value : 63));
		break;
	case DW_OP_eq:
		return push(m, a.value == b.value);
	case DW_OP_ne:
		return push(m, a.value != b.value);
	case DW_OP_lt:
		return push(m, ordered);
	case DW_OP_ge:
		return push(m, !ordered);
	case DW_OP_le:
		return push(m, ordered || a.value == b.value);
	case DW_OP_gt:
		return push(m, !ordered && a.value != b.value);
	default:
		return fail(m, DWARF_UNKNOWN);
	}
	return push_operand(m, r);
}

static bool two_operands(struct machine *m, int atom)
{
	struct operand a, b;

	return pop(m, &b) && pop(m, &a) && arithmetic(m, atom, a, b);
}

static bool one_operand(struct machine *m, const Dwarf_Op *op)
{
	struct operand a;

	if (!pop(m, &a))
		return false;
	switch (op->atom) {
	case DW_OP_abs:
		a.value = (int64_t)a.value < 0 ? -a.value : a.value;
		break;
	case DW_OP_neg:
		a.value = -a.value;
		break;
	case DW_OP_not:
		a.value = ~a.value;
		break;
	case DW_OP_plus_uconst:
		a.value += op->number;
		break;
	case DW_OP_deref:
		return push_memory(m, a.value, 8, (struct operand){0});
	case DW_OP_deref_size:
		return push_memory(m, a.value, (unsigned int)op->number, (struct operand){0});
	default:
		return fail(m, DWARF_UNKNOWN);
	}
	return push_operand(m, a);
}

static bool stack_operation(struct machine *m, const Dwarf_Op *op)
{
	uint64_t index = op->atom == DW_OP_dup ? 0 : op->atom == DW_OP_over ? 1 : op->number;
	struct operand *top = m->nr ? &m->stack[m->nr - 1] : NULL, first;

	switch (op->atom) {
	case DW_OP_drop:
		return pop(m, &first);
	case DW_OP_swap:
	case DW_OP_rot:
		if (m->nr < (op->atom == DW_OP_rot ? 3 : 2))
			return fail(m, DWARF_UNKNOWN);
		first = top[0];
		top[0] = top[-1];
		top[-1] = op->atom == DW_OP_rot ? top[-2] : first;
		if (op->atom == DW_OP_rot)
			top[-2] = first;
		return true;
	default:
		if (index >= m->nr)
			return fail(m, DWARF_UNKNOWN);
		return push_operand(m, m->stack[m->nr - 1 - index]);
	}
}

static bool push_address(struct machine *m, const Dwarf_Op *op)
{
	Dwarf_Attribute attr;
	Dwarf_Addr addr = op->number;

	if (op->atom != DW_OP_addr &&
	    (dwarf_getlocation_attr(m->attr, op, &attr) || dwarf_formaddr(&attr, &addr)))
		return fail(m, DWARF_UNKNOWN);
	return push(m, addr + m->c->bias);
}

static bool push_typed(struct machine *m, const Dwarf_Op *op)
{
	struct operand type, addr;
	Dwarf_Attribute attr;
	Dwarf_Block block;

	if (!type_of(m, op, 1, &type))
		return false;
	switch (op->atom) {
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		if (!push_register(m, op->number, 0))
			return false;
		type.value = m->stack[--m->nr].value;
		return push_operand(m, type);
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		return pop(m, &addr) && push_memory(m, addr.value, (unsigned int)op->number, type);
	default: /* DW_OP_const_type */
		if (dwarf_getlocation_attr(m->attr, op, &attr) || dwarf_formblock(&attr, &block) ||
		    block.length != type.size)
			return fail(m, DWARF_UNKNOWN);
		memcpy(&type.value, block.data, block.length);
		return push_operand(m, type);
	}
}

/* Executes an operation that ends a location description: only a piece may follow. */
static bool set_location(struct machine *m, const Dwarf_Op *op)
{
	Dwarf_Block block;

	switch (op->atom) {
	case DW_OP_stack_value:
		m->is_value = true;
		return m->nr || fail(m, DWARF_UNKNOWN);
	case DW_OP_implicit_value:
		if (dwarf_getlocation_implicit_value(m->attr, op, &block))
			return fail(m, DWARF_UNKNOWN);
		m->is_bytes = true;
		m->bytes = block.data;
		m->nr_bytes = block.length;
		return true;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return fail(m, DWARF_SYNTHETIC);
	case DW_OP_regx:
		m->in_register = true;
		return push(m, op->number);
	default:
		m->in_register = true;
		return push(m, op->atom - DW_OP_reg0);
	}
}

static bool run_operation(struct machine *m, const Dwarf_Op *op)
{
	int atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, (uint64_t)(atom - DW_OP_lit0));
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, (uint64_t)(atom - DW_OP_breg0), (int64_t)op->number);
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		return set_location(m, op);
	switch (atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_addr:
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_address(m, op);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, (int64_t)op->number2);
	case DW_OP_fbreg:
		return push_frame_base(m, (int64_t)op->number);
	case DW_OP_call_frame_cfa:
		if (!m->c->frame || !m->c->frame->has_cfa)
			return fail(m, DWARF_NOT_IN_SNAPSHOT);
		return push(m, m->c->frame->cfa);
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_pick:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
		return stack_operation(m, op);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
	case DW_OP_deref:
	case DW_OP_deref_size:
		return one_operand(m, op);
	case DW_OP_convert:
	case DW_OP_GNU_convert:
	case DW_OP_reinterpret:
	case DW_OP_GNU_reinterpret:
		return convert(m, op);
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		return push_typed(m, op);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(m, op);
	case DW_OP_regx:
	case DW_OP_stack_value:
	case DW_OP_implicit_value:
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return set_location(m, op);
	default:
		return two_operands(m, atom);
	}
}

/* Index of the target operation of a branch; nr: the end; nr + 1: the target is invalid. */
static size_t branch_target(const Dwarf_Op *ops, size_t nr, size_t from)
{
	/* the operand counts from the next operation: 3 bytes from this one */
	uint64_t target = ops[from].offset + 3 + (uint64_t)(int64_t)(int16_t)ops[from].number;

	for (size_t i = 0; i < nr; i++)
		if (ops[i].offset == target)
			return i;
	return target > ops[nr - 1].offset ? nr : nr + 1;
}

/* Executes operations; there are no pieces among them. */
static void run_operations(struct machine *m, const Dwarf_Op *ops, size_t nr)
{
	unsigned int steps = 0;
	size_t i = 0;

	while (i < nr && m->status == DWARF_KNOWN) {
		struct operand condition = {.value = 1};

		if (steps++ == MAX_STEPS) {
			fail(m, DWARF_UNKNOWN);
		} else if (ops[i].atom != DW_OP_skip && ops[i].atom != DW_OP_bra) {
			run_operation(m, &ops[i++]);
		} else if (ops[i].atom == DW_OP_skip || pop(m, &condition)) {
			i = condition.value ? branch_target(ops, nr, i) : i + 1;
			if (i > nr)
				fail(m, DWARF_UNKNOWN);
		}
	}
}

enum dwarf_status dwarf_compute(const struct dwarf_context *c, Dwarf_Attribute *attr,
				const Dwarf_Op *ops, size_t nr, uint64_t *value)
{
	struct machine m = {.c = c, .attr = attr};
	struct operand result;

	run_operations(&m, ops, nr);
	if (m.status != DWARF_KNOWN)
		return m.status;
	if (m.is_bytes || !pop(&m, &result))
		return DWARF_UNKNOWN;
	*value = result.value;
	return m.in_register ? read_register(c, result.value, value) : DWARF_KNOWN;
}

static void add_piece(struct dwarf_location *location, const struct machine *m, uint64_t size)
{
	struct dwarf_piece *piece = &location->pieces[location->nr++];

	memset(piece, 0, sizeof(*piece));
	piece->size = size;
	piece->status = m->status;
	piece->where = DWARF_NOWHERE;
	if (m->status != DWARF_KNOWN)
		return;
	if (m->is_bytes) {
		piece->where = DWARF_IS_BYTES;
		piece->bytes = m->bytes;
		piece->value = m->nr_bytes;
	} else if (m->nr) {
		piece->where = m->in_register ? DWARF_IN_REGISTER :
			       m->is_value    ? DWARF_IS_VALUE :
						DWARF_IN_MEMORY;
		piece->value = m->stack[m->nr - 1].value;
	} else {
		piece->status = DWARF_OPTIMIZED_OUT;
	}
}

/* Evaluates a location description with or without pieces; an empty one means: optimized out. */
static void evaluate(const struct dwarf_context *c, Dwarf_Attribute *attr, const Dwarf_Op *ops,
		     size_t nr, struct dwarf_location *location)
{
	size_t begin = 0;

	for (size_t i = 0; i <= nr; i++) {
		struct machine m = {.c = c, .attr = attr};
		bool is_piece =
			i < nr && (ops[i].atom == DW_OP_piece || ops[i].atom == DW_OP_bit_piece);
		uint64_t size;

		if (i < nr && !is_piece)
			continue;
		if (i == nr && location->nr)
			break;
		run_operations(&m, ops + begin, i - begin);
		if (location->nr == DWARF_MAX_PIECES - 1) {
			fail(&m, DWARF_UNKNOWN);
			is_piece = false;
		}
		size = !is_piece		      ? UINT64_MAX :
		       ops[i].atom == DW_OP_bit_piece ? ops[i].number / 8 :
							ops[i].number;
		/* pieces of single bits are not supported */
		if (is_piece && ops[i].atom == DW_OP_bit_piece &&
		    (ops[i].number % 8 || ops[i].number2)) {
			fail(&m, DWARF_UNKNOWN);
			size = UINT64_MAX;
		}
		add_piece(location, &m, size);
		if (size == UINT64_MAX)
			break;
		begin = i + 1;
	}
}

static void constant_location(Dwarf_Attribute *attr, struct dwarf_location *location)
{
	struct dwarf_piece *piece = &location->pieces[0];
	const char *text;
	Dwarf_Block block;
	Dwarf_Word value;

	location->nr = 1;
	memset(piece, 0, sizeof(*piece));
	piece->size = UINT64_MAX;
	if (!dwarf_formudata(attr, &value)) {
		piece->where = DWARF_IS_VALUE;
		piece->value = value;
	} else if (!dwarf_formblock(attr, &block)) {
		piece->where = DWARF_IS_BYTES;
		piece->bytes = block.data;
		piece->value = block.length;
	} else {
		text = dwarf_formstring(attr);
		piece->where = text ? DWARF_IS_BYTES : DWARF_NOWHERE;
		piece->status = text ? DWARF_KNOWN : DWARF_UNKNOWN;
		piece->bytes = (const uint8_t *)text;
		piece->value = text ? strlen(text) + 1 : 0;
	}
}

void dwarf_location_of(const struct dwarf_context *c, Dwarf_Die *variable,
		       struct dwarf_location *location)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;
	int found;

	location->nr = 0;
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attr)) {
		if (dwarf_attr_integrate(variable, DW_AT_const_value, &attr)) {
			constant_location(&attr, location);
			return;
		}
		evaluate(c, NULL, NULL, 0, location);
		return;
	}
	found = dwarf_getlocation_addr(&attr, c->pc, &ops, &nr, 1);
	evaluate(c, &attr, ops, found == 1 ? nr : 0, location);
	if (found < 0)
		location->pieces[0].status = DWARF_UNKNOWN;
}

void dwarf_location_memory(struct dwarf_location *location, uint64_t addr)
{
	memset(&location->pieces[0], 0, sizeof(location->pieces[0]));
	location->nr = 1;
	location->pieces[0].where = DWARF_IN_MEMORY;
	location->pieces[0].value = addr;
	location->pieces[0].size = UINT64_MAX;
}

bool dwarf_location_address(const struct dwarf_location *location, uint64_t *addr)
{
	*addr = location->pieces[0].value;
	return location->nr == 1 && location->pieces[0].where == DWARF_IN_MEMORY;
}

static enum dwarf_status read_piece(const struct dwarf_context *c, const struct dwarf_piece *piece,
				    uint64_t off, void *buf, size_t size)
{
	uint64_t value = piece->value;
	enum dwarf_status status;

	switch (piece->where) {
	case DWARF_IN_MEMORY:
		return c->memory->read(c->memory->ctx, value + off, buf, size) ?
			       DWARF_KNOWN :
			       DWARF_NOT_IN_SNAPSHOT;
	case DWARF_IN_REGISTER:
		status = read_register(c, piece->value, &value);
		if (status != DWARF_KNOWN)
			return status;
		break;
	case DWARF_IS_VALUE:
		break;
	case DWARF_IS_BYTES:
		if (off > value || size > value - off)
			return DWARF_UNKNOWN;
		memcpy(buf, piece->bytes + off, size);
		return DWARF_KNOWN;
	default:
		return piece->status;
	}
	if (off > sizeof(value) || size > sizeof(value) - off)
		return DWARF_UNKNOWN;
	memcpy(buf, (const uint8_t *)&value + off, size);
	return DWARF_KNOWN;
}

enum dwarf_status dwarf_location_read(const struct dwarf_context *c,
				      const struct dwarf_location *location, uint64_t off,
				      void *buf, size_t size)
{
	uint8_t *to = buf;

	for (unsigned int i = 0; i < location->nr && size; i++) {
		const struct dwarf_piece *piece = &location->pieces[i];
		enum dwarf_status status;
		size_t part;

		if (off >= piece->size) {
			off -= piece->size;
			continue;
		}
		part = size < piece->size - off ? size : (size_t)(piece->size - off);
		status = read_piece(c, piece, off, to, part);
		if (status != DWARF_KNOWN)
			return status;
		to += part;
		size -= part;
		off = 0;
	}
	return size ? DWARF_UNKNOWN : DWARF_KNOWN;
}
