// SPDX-License-Identifier: BSD-2-Clause
/* Units and functions of debug information by address: see dwarf_index.h. */
#include "dwarf_index.h"
#include "debug_file.h"
#include "util/vector.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Debug information is untrusted: limits for the nesting of scopes and the steps of a search. */
#define MAX_DEPTH (DWARF_MAX_FUNCTIONS - 1)
#define MAX_BACK  65536

/* [low, high) belongs to the unit or function with the index 'owner'. */
struct span {
	Dwarf_Addr low, high;
	Dwarf_Addr max_high; /* of this span and of those before it */
	size_t owner;
};

/* Sorted by low once it is complete; spans may overlap. */
struct span_list {
	struct span *at;
	size_t nr, max;
};

struct dwarf_unit {
	Dwarf_Die lines, tree;
	bool functions_read;
	Dwarf_Die *functions;
	size_t nr_functions, max_functions;
	struct span_list spans; /* of functions */
};

struct dwarf_index {
	bool code_at_zero;
	struct dwarf_unit *units;
	size_t nr_units, max_units;
	struct span_list spans; /* of units */
};

static bool span_add(struct span_list *list, Dwarf_Addr low, Dwarf_Addr high, size_t owner)
{
	if (vector_grow(list->at, list->nr, list->max))
		return false;
	list->at[list->nr++] = (struct span){low, high, 0, owner};
	return true;
}

static int by_low(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void span_sort(struct span_list *list)
{
	Dwarf_Addr high = 0;

	if (list->nr)
		qsort(list->at, list->nr, sizeof(*list->at), by_low);
	for (size_t i = 0; i < list->nr; i++) {
		if (list->at[i].high > high)
			high = list->at[i].high;
		list->at[i].max_high = high;
	}
}

/* The smallest span that covers addr; NULL: none. */
static const struct span *span_find(const struct span_list *list, Dwarf_Addr addr)
{
	const struct span *best = NULL;
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list->at[mid].low <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t back = 0; low && back < MAX_BACK; low--, back++) {
		const struct span *span = &list->at[low - 1];

		if (span->max_high <= addr)
			break;
		if (addr < span->high && (!best || span->high - span->low < best->high - best->low))
			best = span;
	}
	return best;
}

/* Adds the address ranges of die. Returns their number; -1: out of memory. */
static int add_ranges(const struct dwarf_index *index, struct span_list *list, Dwarf_Die *die,
		      size_t owner)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int nr = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high || (!low && !index->code_at_zero))
			continue;
		if (!span_add(list, low, high, owner))
			return -1;
		nr++;
	}
	return nr;
}

static bool may_contain_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_lexical_block:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

static bool read_functions(const struct dwarf_index *index, struct dwarf_unit *unit,
			   Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return true;
	do {
		int tag = dwarf_tag(&die), nr;

		if (!may_contain_functions(tag))
			continue;
		if (tag == DW_TAG_subprogram) {
			nr = add_ranges(index, &unit->spans, &die, unit->nr_functions);
			if (nr < 0)
				return false;
			if (nr) {
				if (vector_grow(unit->functions, unit->nr_functions,
						unit->max_functions))
					return false;
				unit->functions[unit->nr_functions++] = die;
			}
		}
		if (!read_functions(index, unit, &die, depth + 1))
			return false;
	} while (!dwarf_siblingof(&die, &die));
	return true;
}

/* Reads the unit's functions; out of memory it has only those read so far. */
static void unit_functions(const struct dwarf_index *index, struct dwarf_unit *unit)
{
	if (unit->functions_read)
		return;
	unit->functions_read = true;
	read_functions(index, unit, &unit->tree, 0);
	while (unit->spans.nr && unit->spans.at[unit->spans.nr - 1].owner >= unit->nr_functions)
		unit->spans.nr--;
	span_sort(&unit->spans);
}

static bool add_unit(struct dwarf_index *index, const Dwarf_Die *lines, const Dwarf_Die *tree)
{
	size_t nr = index->nr_units;
	struct dwarf_unit *unit;
	int nr_ranges;

	if (vector_grow(index->units, nr, index->max_units))
		return false;
	unit = &index->units[nr];
	memset(unit, 0, sizeof(*unit));
	unit->lines = *lines;
	unit->tree = *tree;
	index->nr_units++;
	nr_ranges = add_ranges(index, &index->spans, &unit->lines, nr);
	if (nr_ranges)
		return nr_ranges > 0;
	/* Some compilers write no ranges for units: use those of the unit's functions. */
	unit_functions(index, unit);
	for (size_t i = 0; i < unit->spans.nr; i++)
		if (!span_add(&index->spans, unit->spans.at[i].low, unit->spans.at[i].high, nr))
			return false;
	return true;
}

struct dwarf_index *dwarf_index_new(Dwfl_Module *mod, Dwarf *dw, bool code_at_zero)
{
	struct dwarf_index *index = calloc(1, sizeof(*index));
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;

	if (!index)
		return NULL;
	index->code_at_zero = code_at_zero;
	while (!dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL)) {
		const Dwarf_Die *tree = &die;

		/* dwarf_cu_info() opens the split unit's file */
		if (type == DW_UT_skeleton && debug_file_split_is_safe(mod, &die) &&
		    !dwarf_cu_info(cu, NULL, NULL, NULL, &sub, NULL, NULL, NULL) && sub.addr)
			tree = &sub;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!add_unit(index, &die, tree)) {
			dwarf_index_free(index);
			return NULL;
		}
	}
	span_sort(&index->spans);
	return index;
}

void dwarf_index_free(struct dwarf_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->nr_units; i++) {
		free(index->units[i].functions);
		free(index->units[i].spans.at);
	}
	free(index->units);
	free(index->spans.at);
	free(index);
}

struct dwarf_unit *dwarf_index_unit(struct dwarf_index *index, Dwarf_Addr addr)
{
	const struct span *span = span_find(&index->spans, addr);

	return span ? &index->units[span->owner] : NULL;
}

Dwarf_Die *dwarf_unit_lines(struct dwarf_unit *unit)
{
	return &unit->lines;
}

Dwarf_Die *dwarf_unit_tree(struct dwarf_unit *unit)
{
	return &unit->tree;
}

/* A lexical block without addresses (optimised code) may cover any: its children decide. */
static bool may_cover(Dwarf_Die *die, int tag, Dwarf_Addr addr)
{
	Dwarf_Addr base, low, high;

	if (tag == DW_TAG_lexical_block && dwarf_ranges(die, 0, &base, &low, &high) <= 0)
		return true;
	return dwarf_haspc(die, addr) > 0;
}

/* Appends the inlined functions below 'parent' that cover addr, outermost first. */
static unsigned int inlined_at(Dwarf_Die *parent, Dwarf_Addr addr, Dwarf_Die *found,
			       unsigned int nr, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return nr;
	do {
		int tag = dwarf_tag(&die);
		unsigned int now = nr;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		if (!may_cover(&die, tag, addr))
			continue;
		if (tag == DW_TAG_inlined_subroutine)
			found[now++] = die;
		now = inlined_at(&die, addr, found, now, depth + 1);
		if (now > nr)
			return now;
	} while (!dwarf_siblingof(&die, &die));
	return nr;
}

unsigned int dwarf_unit_functions(struct dwarf_index *index, struct dwarf_unit *unit,
				  Dwarf_Addr addr, Dwarf_Die chain[DWARF_MAX_FUNCTIONS])
{
	Dwarf_Die found[DWARF_MAX_FUNCTIONS];
	const struct span *span;
	unsigned int nr;

	unit_functions(index, unit);
	span = span_find(&unit->spans, addr);
	if (!span)
		return 0;
	found[0] = unit->functions[span->owner];
	nr = inlined_at(&found[0], addr, found, 1, 0);
	for (unsigned int i = 0; i < nr; i++)
		chain[i] = found[nr - 1 - i];
	return nr;
}
