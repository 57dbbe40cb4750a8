// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arguments and local variables of a frame, also of the functions inlined there. The value that a
 * register had at the function's entry is known only if the caller's debug information contains it
 * (call site parameters) and the call is proved to be a call of this function.
 */
#include "dwarf_entry.h"
#include "dwarf_index.h"
#include "packed.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

#define MAX_VARIABLES 32 /* arguments, or local variables, of a function */
#define MAX_CHILDREN  4096
#define MAX_BLOCKS    16 /* nested blocks */
#define MAX_TEXT      161

/* One call of image_set_each_variable(). */
struct vars {
	struct auxtap_image_set *set;
	const struct image_vars_query *query;
	struct image_memory memory;
	struct dwarf_entry entry;
	Dwarf_Die chain[DWARF_MAX_FUNCTIONS];
	unsigned int nr_chain;
	struct dwarf_context context;
	bool in_prologue;
	bool has_left;	   /* its frame, so that what is found by the stack pointer has moved */
	unsigned int sp;   /* DWARF number */
	bool is_outermost; /* the function itself, not one that is inlined into it */
	void (*fn)(void *ctx, const struct image_variable *var);
	void *ctx;
};

struct die_list {
	Dwarf_Die at[MAX_VARIABLES];
	unsigned int nr;
};

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct vars *v = ctx;
	const struct image_vars_query *q = v->query;

	if (q->memory.read(q->memory.ctx, addr, buf, size))
		return true;
	return !q->memory.may_differ(q->memory.ctx, addr) &&
	       image_constant_read(v->set, q->pid, q->time, addr, buf, size) == (ssize_t)size;
}

static const char *function_at(void *ctx, uint64_t addr)
{
	struct vars *v = ctx;
	const struct image_map *map = image_find_map(v->set, v->query->pid, v->query->time, addr);
	const struct image_symbol *sym;
	uint64_t vaddr;

	if (!map || !map->image->data || map->image->is_rel)
		return NULL;
	vaddr = image_map_vaddr(map, addr);
	image_use_name(map->image, vaddr, 1);
	sym = image_symbol_find(map->image, vaddr);
	if (!sym || sym->start != vaddr)
		return NULL;
	return image_symbol_name_in(v->set, v->query->pid, v->query->time, map, sym);
}

/* The functions at a run-time address; *bias: run-time address minus address in the debug info. */
static unsigned int functions_at(const struct vars *v, uint64_t addr, Dwarf_Die *chain,
				 uint64_t *bias)
{
	const struct image_map *map = image_find_map(v->set, v->query->pid, v->query->time, addr);
	uint64_t vaddr, shift;
	unsigned int nr;

	if (!map || !map->image->path || !map->image->mapped || !map->image->is_elf ||
	    map->image->is_rel)
		return 0;
	vaddr = image_map_vaddr(map, addr);
	image_use_name(map->image, vaddr, 1);
	nr = image_lines_functions(map->image, vaddr, chain, &shift);
	*bias = addr - (vaddr - shift);
	return nr;
}

static void list_add(struct die_list *list, const Dwarf_Die *die)
{
	if (list->nr < MAX_VARIABLES)
		list->at[list->nr++] = *die;
}

/* The child of die that is an instance of 'abstract'. */
static bool instance_of(Dwarf_Die *die, const Dwarf_Die *abstract, Dwarf_Die *found)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	unsigned int nr = 0;

	if (dwarf_child(die, found))
		return false;
	do {
		if (dwarf_tag(found) == DW_TAG_formal_parameter &&
		    dwarf_attr(found, DW_AT_abstract_origin, &attr) &&
		    dwarf_formref_die(&attr, &origin) && origin.addr == abstract->addr)
			return true;
	} while (++nr < MAX_CHILDREN && !dwarf_siblingof(found, found));
	return false;
}

/* In the order of the declaration: an inlined instance may lack some, or have another order. */
static void list_arguments(Dwarf_Die *function, struct die_list *list)
{
	Dwarf_Die abstract, die, instance;
	Dwarf_Attribute attr;
	bool has_abstract = dwarf_attr(function, DW_AT_abstract_origin, &attr) &&
			    dwarf_formref_die(&attr, &abstract);
	unsigned int nr = 0;

	if (has_abstract && !dwarf_child(&abstract, &die)) {
		do {
			if (dwarf_tag(&die) != DW_TAG_formal_parameter)
				continue;
			list_add(list, instance_of(function, &die, &instance) ? &instance : &die);
		} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	}
	nr = 0;
	if (dwarf_child(function, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_formal_parameter &&
		    (!has_abstract || !dwarf_hasattr(&die, DW_AT_abstract_origin)))
			list_add(list, &die);
	} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
}

/* The variables of the innermost block come first, as in gdb. */
static void list_locals(const struct vars *v, Dwarf_Die *block, struct die_list *list,
			unsigned int depth)
{
	unsigned int nr = 0;
	Dwarf_Addr base, low, high;
	Dwarf_Die die;

	if (depth == MAX_BLOCKS || dwarf_child(block, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		if (dwarf_ranges(&die, 0, &base, &low, &high) <= 0 ||
		    dwarf_haspc(&die, v->context.pc) > 0)
			list_locals(v, &die, list, depth + 1);
	} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	nr = 0;
	if (dwarf_child(block, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_variable && !dwarf_hasattr(&die, DW_AT_declaration))
			list_add(list, &die);
	} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
}

/* Whether the variable has one location, in the frame: valid only while the function has that. */
static bool is_in_frame(Dwarf_Die *variable, const struct dwarf_location *location)
{
	Dwarf_Attribute attr;
	uint64_t addr;
	Dwarf_Op *ops;
	size_t nr;

	return dwarf_location_address(location, &addr) &&
	       dwarf_attr_integrate(variable, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &nr) && nr && ops[0].atom != DW_OP_addr &&
	       ops[0].atom != DW_OP_addrx;
}

/* As in gdb, the prologue ends where the second line of the function begins. */
static bool is_in_prologue(Dwarf_Die *function, Dwarf_Addr pc)
{
	Dwarf_Addr entry, addr;
	Dwarf_Lines *lines;
	Dwarf_Die cu;
	size_t nr;

	if (dwarf_entrypc(function, &entry) || pc < entry ||
	    !dwarf_diecu(function, &cu, NULL, NULL) || dwarf_getsrclines(&cu, &lines, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);

		if (!dwarf_lineaddr(line, &addr) && addr > entry && addr <= pc)
			return false;
	}
	return true;
}

/* The frame base is the stack pointer, as clang describes functions without a frame pointer. */
static bool is_based_on_sp(Dwarf_Die *function, unsigned int sp)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &nr) && nr == 1 && ops[0].atom == DW_OP_reg0 + sp;
}

/*
 * Whether only instructions that give back the function's stack are between pc and its end, by a
 * return or a jump. *size: the bytes that they give back, with the return address.
 */
static bool is_x86_end(struct vars *v, uint64_t pc, uint64_t *size)
{
	uint8_t code[7];
	int32_t imm;

	for (*size = 8; read_memory(v, pc, code, 1);) {
		if (code[0] == 0xf2 || code[0] == 0xf3 || code[0] == 0x41) { /* bnd, rep, rex.b */
			pc++;
		} else if ((code[0] & 0xf8) == 0x58) { /* pop */
			*size += 8;
			pc++;
		} else if (code[0] == 0xc3 || code[0] == 0xc2 || code[0] == 0xe9 ||
			   code[0] == 0xeb) {
			return true;
		} else if (code[0] == 0xff) {
			return read_memory(v, pc + 1, code, 1) &&
			       (code[0] & 0x38) == 0x20; /* jmp */
		} else if (code[0] == 0xc5) {
			if (!read_memory(v, pc, code, 3) || code[1] != 0xf8 || code[2] != 0x77)
				return false;
			pc += 3; /* vzeroupper */
		} else if (code[0] == 0x48 && read_memory(v, pc, code, 4) && code[2] == 0xc4 &&
			   code[1] == 0x83) { /* add $imm8, %rsp */
			*size += (uint64_t)(int8_t)code[3];
			pc += 4;
		} else if (code[0] == 0x48 && read_memory(v, pc, code, 7) && code[2] == 0xc4 &&
			   code[1] == 0x81) { /* add $imm32, %rsp */
			memcpy(&imm, code + 3, sizeof(imm));
			*size += (uint64_t)(int64_t)imm;
			pc += 7;
		} else {
			return false;
		}
	}
	return false;
}

/* The same, after the function's stack has been given back: "ret", "b", "br". */
static bool is_a64_end(struct vars *v, uint64_t pc)
{
	uint32_t insn;

	if (read_memory(v, pc, &insn, 4) && insn == 0xd50323bf) /* autiasp */
		pc += 4;
	return read_memory(v, pc, &insn, 4) &&
	       (insn == 0xd65f03c0 || insn == 0xd65f0bff || (insn & 0xfc000000) == 0x14000000 ||
		(insn & 0xfffffc1f) == 0xd61f0000);
}

/*
 * Whether the stack pointer is no longer that of the function's frame: the function is about to
 * end, and has given back some of its stack.
 */
static bool has_left_frame(struct vars *v, Dwarf_Die *function, uint64_t pc)
{
	const struct image_map *map = image_find_map(v->set, v->query->pid, v->query->time, pc);
	const struct image_frame *frame = v->query->frame;
	uint64_t size = 0;

	if (!map || !frame || !frame->has_cfa || !frame->shrinks)
		return false;
	switch (map->image->machine) {
	case EM_X86_64:
		v->sp = 7;
		return is_based_on_sp(function, v->sp) && is_x86_end(v, pc, &size) &&
		       frame->cfa - frame->reg[v->sp] == size;
	case EM_AARCH64:
		v->sp = 31;
		return is_based_on_sp(function, v->sp) && is_a64_end(v, pc) &&
		       frame->cfa == frame->reg[v->sp];
	default:
		return false;
	}
}

/* Whether the variable is, at this pc, in memory that is found by the stack pointer. */
static bool is_found_by_sp(const struct vars *v, Dwarf_Die *variable)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	return dwarf_attr_integrate(variable, DW_AT_location, &attr) &&
	       dwarf_getlocation_addr(&attr, v->context.pc, &ops, &nr, 1) == 1 && nr &&
	       (ops[0].atom == DW_OP_fbreg || ops[0].atom == DW_OP_breg0 + v->sp);
}

static void show_variable(struct vars *v, Dwarf_Die *die, bool is_argument)
{
	char text[MAX_TEXT], entry_name[256];
	struct image_variable var = {.value = text, .is_argument = is_argument};
	Dwarf_Attribute attr;
	struct dwarf_location location;
	enum dwarf_status status;

	if (dwarf_attr_integrate(die, DW_AT_name, &attr))
		var.name = dwarf_formstring(&attr);
	/* skip variables that the compiler made: "__func__", those of range-based for loops */
	if (!var.name || !*var.name ||
	    (!is_argument && !strncmp(var.name, "__", 2) &&
	     dwarf_attr_integrate(die, DW_AT_artificial, &attr)))
		return;
	dwarf_location_of(&v->context, die, &location);
	if (v->in_prologue ? is_in_frame(die, &location) : v->has_left && is_found_by_sp(v, die)) {
		location.nr = 1;
		location.pieces[0].where = DWARF_NOWHERE;
		location.pieces[0].status = v->in_prologue ? DWARF_NOT_STORED : DWARF_LEFT;
	}
	status = dwarf_value_text(&v->context, die, &location, text, sizeof(text));
	var.optimized_out = status == DWARF_OPTIMIZED_OUT;
	if (is_argument && v->is_outermost && status != DWARF_KNOWN &&
	    dwarf_entry_argument(&v->context, &v->entry, die, text, sizeof(text))) {
		snprintf(entry_name, sizeof(entry_name), "%s@entry", var.name);
		var.name = entry_name;
		var.optimized_out = false;
	}
	v->fn(v->ctx, &var);
}

static void show_variables(struct vars *v, Dwarf_Die *function)
{
	struct die_list list = {.nr = 0};

	list_arguments(function, &list);
	for (unsigned int i = 0; i < list.nr; i++)
		show_variable(v, &list.at[i], true);
	if (!v->query->locals)
		return;
	list.nr = 0;
	list_locals(v, function, &list, 0);
	for (unsigned int i = 0; i < list.nr; i++)
		show_variable(v, &list.at[i], false);
}

static void find_caller(struct vars *v)
{
	const struct image_vars_query *q = v->query;
	struct dwarf_entry *entry = &v->entry;

	entry->caller_missing = q->caller_missing;
	if (!q->caller)
		return;
	entry->nr_caller = functions_at(v, q->caller_pc, entry->caller_chain, &entry->context.bias);
	entry->context.frame = q->caller;
	entry->context.memory = &v->memory;
	entry->context.pc = q->caller_pc - entry->context.bias;
	if (entry->nr_caller)
		entry->context.function = &entry->caller_chain[entry->nr_caller - 1];
}

static void show_frame_variables(struct vars *v)
{
	const struct image_vars_query *q = v->query;
	Dwarf_Die *outermost;
	unsigned int level = q->level;

	v->memory.read = read_memory;
	v->memory.function = function_at;
	v->memory.ctx = v;
	v->nr_chain = functions_at(v, q->pc, v->chain, &v->context.bias);
	if (!v->nr_chain)
		return;
	outermost = &v->chain[v->nr_chain - 1];
	v->context.frame = q->frame;
	v->context.memory = &v->memory;
	v->context.pc = q->pc - v->context.bias;
	v->context.function = outermost;
	find_caller(v);
	v->entry.callee = outermost;
	v->entry.callee_bias = v->context.bias;
	v->context.entry_value = dwarf_entry_register;
	v->context.ctx = &v->entry;
	v->in_prologue = q->stopped && is_in_prologue(outermost, v->context.pc);
	v->has_left = q->stopped && has_left_frame(v, outermost, q->pc);
	v->is_outermost = level + 1 >= v->nr_chain;
	show_variables(v, level < v->nr_chain ? &v->chain[level] : outermost);
}

void image_set_each_variable(struct auxtap_image_set *set, const struct image_vars_query *query,
			     void (*fn)(void *ctx, const struct image_variable *var), void *ctx)
{
	struct vars v = {.set = set, .query = query, .fn = fn, .ctx = ctx};

	pthread_mutex_lock(&set->lock);
	show_frame_variables(&v);
	pthread_mutex_unlock(&set->lock);
}

/* May a value of the type be in a general register and be an address? */
static bool may_be_address(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0, size = 0;
	Dwarf_Die plain;

	if (dwarf_peel_type(type, &plain))
		return true;
	switch (dwarf_tag(&plain)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		break;
	case DW_TAG_structure_type: /* in memory, in vector registers, or in two registers */
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_array_type:
		return false;
	default:
		return true;
	}
	if (dwarf_attr(&plain, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	if (dwarf_attr_integrate(&plain, DW_AT_byte_size, &attr))
		dwarf_formudata(&attr, &size);
	return encoding != DW_ATE_float && encoding != DW_ATE_complex_float &&
	       encoding != DW_ATE_decimal_float && size >= sizeof(uint64_t);
}

static bool returns_address(const struct vars *v, uint64_t pc)
{
	Dwarf_Die chain[DWARF_MAX_FUNCTIONS], type, cu;
	unsigned int nr;
	Dwarf_Attribute attr;
	uint64_t bias;

	nr = functions_at(v, pc, chain, &bias);
	if (!nr || !dwarf_diecu(&chain[nr - 1], &cu, NULL, NULL) ||
	    dwarf_srclang(&cu) == DW_LANG_Mips_Assembler)
		return true;
	return dwarf_attr_integrate(&chain[nr - 1], DW_AT_type, &attr) &&
	       (!dwarf_formref_die(&attr, &type) || may_be_address(&type));
}

bool image_set_returns_address(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t pc)
{
	const struct image_vars_query query = {.pid = pid, .time = time};
	const struct vars v = {.set = set, .query = &query};
	bool returns;

	pthread_mutex_lock(&set->lock);
	returns = returns_address(&v, pc);
	pthread_mutex_unlock(&set->lock);
	return returns;
}
