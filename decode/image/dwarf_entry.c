// SPDX-License-Identifier: BSD-2-Clause
/* Registers at the entry of a function: see dwarf_entry.h. */
#include "dwarf_entry.h"

#include <dwarf.h>
#include <string.h>

#define MAX_CHILDREN 8192
#define MAX_BLOCKS   32
#define MAX_TAIL     16 /* functions that are searched for tail calls */

static bool is_site(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

static bool is_tail_call(Dwarf_Die *site)
{
	Dwarf_Attribute attr;
	bool tail = false;

	if (dwarf_attr(site, DW_AT_call_tail_call, &attr) ||
	    dwarf_attr(site, DW_AT_GNU_tail_call, &attr))
		dwarf_formflag(&attr, &tail);
	return tail;
}

/* GNU call sites have the return address as their low_pc. */
static bool returns_to(Dwarf_Die *site, Dwarf_Addr back)
{
	Dwarf_Attribute attr;
	Dwarf_Addr addr;

	if (dwarf_attr(site, DW_AT_call_return_pc, &attr))
		return !dwarf_formaddr(&attr, &addr) && addr == back;
	return dwarf_tag(site) == DW_TAG_GNU_call_site && !dwarf_lowpc(site, &addr) && addr == back;
}

/* Calls fn for each call site below parent until it returns true. */
static bool each_site(Dwarf_Die *parent, unsigned int depth, bool (*fn)(void *ctx, Dwarf_Die *site),
		      void *ctx)
{
	unsigned int nr = 0;
	Dwarf_Die die;

	if (depth == MAX_BLOCKS || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (is_site(&die) && fn(ctx, &die))
			return true;
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    each_site(&die, depth + 1, fn, ctx))
			return true;
	} while (++nr < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	return false;
}

/* The first declaration of a function. */
static Dwarf_Die declaration_of(const Dwarf_Die *function)
{
	Dwarf_Die at = *function, next;
	Dwarf_Attribute attr;

	for (int i = 0; i < 16; i++) {
		if (!dwarf_attr(&at, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(&at, DW_AT_specification, &attr))
			break;
		if (!dwarf_formref_die(&attr, &next))
			break;
		at = next;
	}
	return at;
}

static const char *linkage_name(Dwarf_Die *function)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attr) ||
	    dwarf_attr_integrate(function, DW_AT_name, &attr))
		return dwarf_formstring(&attr);
	return NULL;
}

/* Whether both DIEs are the same function: the same declaration, or the same external name. */
static bool same_function(Dwarf_Die *a, Dwarf_Die *b)
{
	Dwarf_Die first = declaration_of(a), second = declaration_of(b);
	Dwarf_Attribute attr;
	const char *x, *y;

	if (first.addr == second.addr)
		return true;
	if (!dwarf_attr_integrate(a, DW_AT_external, &attr) ||
	    !dwarf_attr_integrate(b, DW_AT_external, &attr))
		return false;
	x = linkage_name(a);
	y = linkage_name(b);
	return x && y && !strcmp(x, y);
}

static bool target_of(Dwarf_Die *site, Dwarf_Die *target)
{
	Dwarf_Attribute attr;

	return (dwarf_attr(site, DW_AT_call_origin, &attr) ||
		dwarf_attr(site, DW_AT_abstract_origin, &attr)) &&
	       dwarf_formref_die(&attr, target);
}

struct tail_calls {
	Dwarf_Die seen[MAX_TAIL];
	unsigned int nr;
	bool unknown; /* one has an unknown target, or there are too many */
	bool again;   /* one goes to the first function */
};

static bool on_tail(void *ctx, Dwarf_Die *site)
{
	struct tail_calls *calls = ctx;
	Dwarf_Addr entry;
	Dwarf_Die target;

	if (!is_tail_call(site))
		return false;
	if (!target_of(site, &target) || dwarf_entrypc(&target, &entry)) {
		/* a declaration: the function's own tail calls are unknown */
		calls->unknown = true;
		return true;
	}
	for (unsigned int i = 0; i < calls->nr; i++)
		if (same_function(&calls->seen[i], &target)) {
			calls->again = calls->again || !i;
			return calls->again;
		}
	if (calls->nr == MAX_TAIL)
		calls->unknown = true;
	else
		calls->seen[calls->nr++] = target;
	return calls->unknown;
}

/*
 * Whether tail calls may have entered the function again, with other arguments, within the same
 * call.
 */
static bool may_be_entered_again(Dwarf_Die *function)
{
	struct tail_calls calls = {.seen = {*function}, .nr = 1};

	for (unsigned int i = 0; i < calls.nr && !calls.unknown && !calls.again; i++)
		each_site(&calls.seen[i], 0, on_tail, &calls);
	return calls.unknown || calls.again;
}

struct site_search {
	Dwarf_Addr back;
	Dwarf_Die site;
};

static bool on_site(void *ctx, Dwarf_Die *site)
{
	struct site_search *search = ctx;

	if (!returns_to(site, search->back))
		return false;
	search->site = *site;
	return true;
}

/* Whether the call site calls the callee. */
static bool calls_callee(const struct dwarf_entry *entry, Dwarf_Die *site)
{
	Dwarf_Attribute attr;
	Dwarf_Addr first;
	Dwarf_Die target;
	Dwarf_Op *ops;
	uint64_t value;
	size_t nr;

	if (target_of(site, &target))
		return same_function(&target, entry->callee);
	if ((!dwarf_attr(site, DW_AT_call_target, &attr) &&
	     !dwarf_attr(site, DW_AT_GNU_call_site_target, &attr)) ||
	    dwarf_getlocation(&attr, &ops, &nr) ||
	    dwarf_compute(&entry->context, &attr, ops, nr, &value) != DWARF_KNOWN)
		return false;
	return !dwarf_entrypc(entry->callee, &first) && first + entry->callee_bias == value;
}

static bool find_site(struct dwarf_entry *entry)
{
	struct site_search search = {.back = entry->context.pc + 1};

	if (entry->looked_up)
		return entry->proved;
	entry->looked_up = true;
	if (!entry->nr_caller ||
	    !each_site(&entry->caller_chain[entry->nr_caller - 1], 0, on_site, &search) ||
	    !calls_callee(entry, &search.site) || may_be_entered_again(entry->callee))
		return false;
	entry->site = search.site;
	entry->proved = true;
	return true;
}

/* Whether the location of the call site's parameter is the register. */
static bool is_register(Dwarf_Attribute *attr, unsigned int reg)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_getlocation(attr, &ops, &nr) || nr != 1)
		return false;
	if (ops[0].atom == DW_OP_regx)
		return ops[0].number == reg;
	return ops[0].atom == DW_OP_reg0 + reg;
}

enum dwarf_status dwarf_entry_register(void *ctx, unsigned int reg, uint64_t *value)
{
	struct dwarf_entry *entry = ctx;
	Dwarf_Attribute attr;
	unsigned int nr_children = 0;
	enum dwarf_status status;
	Dwarf_Die die;
	Dwarf_Op *ops;
	size_t nr;

	if (entry->caller_missing)
		return DWARF_UNKNOWN; /* the missing caller may have the value */
	if (!find_site(entry) || dwarf_child(&entry->site, &die))
		return DWARF_OPTIMIZED_OUT;
	do {
		if (!dwarf_attr(&die, DW_AT_location, &attr) || !is_register(&attr, reg))
			continue;
		if ((!dwarf_attr(&die, DW_AT_call_value, &attr) &&
		     !dwarf_attr(&die, DW_AT_GNU_call_site_value, &attr)) ||
		    dwarf_getlocation(&attr, &ops, &nr))
			break;
		status = dwarf_compute(&entry->context, &attr, ops, nr, value);
		if (status == DWARF_KNOWN || status == DWARF_UNKNOWN)
			return status;
		break;
	} while (++nr_children < MAX_CHILDREN && !dwarf_siblingof(&die, &die));
	return DWARF_OPTIMIZED_OUT;
}

/* The register that holds the argument at the first instruction. */
static bool register_at_entry(Dwarf_Die *function, Dwarf_Die *argument, unsigned int *reg)
{
	Dwarf_Attribute attr;
	Dwarf_Addr first;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_entrypc(function, &first) ||
	    !dwarf_attr_integrate(argument, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, first, &ops, &nr, 1) != 1 || nr != 1)
		return false;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		*reg = ops[0].atom - DW_OP_reg0;
	else if (ops[0].atom == DW_OP_regx && ops[0].number < IMAGE_FRAME_REGS)
		*reg = (unsigned int)ops[0].number;
	else
		return false;
	return true;
}

bool dwarf_entry_argument(const struct dwarf_context *c, struct dwarf_entry *entry,
			  Dwarf_Die *argument, char *text, size_t size)
{
	struct dwarf_location location;
	unsigned int reg;
	uint64_t value;

	if (!register_at_entry(entry->callee, argument, &reg) ||
	    dwarf_entry_register(entry, reg, &value) != DWARF_KNOWN)
		return false;
	location.nr = 1;
	memset(&location.pieces[0], 0, sizeof(location.pieces[0]));
	location.pieces[0].where = DWARF_IS_VALUE;
	location.pieces[0].value = value;
	location.pieces[0].size = UINT64_MAX;
	return dwarf_value_text(c, argument, &location, text, size) == DWARF_KNOWN;
}
