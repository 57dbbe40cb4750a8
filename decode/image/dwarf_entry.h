/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What registers had when a function was entered, by the caller's debug information: the call site
 * names the function called and the values of its arguments. Used by image_vars.c; not public.
 */
#ifndef AUXTAP_DWARF_ENTRY_H
#define AUXTAP_DWARF_ENTRY_H

#include "dwarf_eval.h"
#include "dwarf_index.h"

struct dwarf_entry {
	Dwarf_Die *callee; /* the function of the frame */
	uint64_t callee_move;
	struct dwarf_context context; /* of the caller; pc is in the call */
	Dwarf_Die caller_chain[DWARF_MAX_FUNCTIONS];
	unsigned int nr_caller; /* 0: the caller is not known */
	bool caller_missing;	/* it was called, but by which frame is not known */
	bool looked_up, proved;
	Dwarf_Die site;
};

/* A callback of struct dwarf_context; ctx: a struct dwarf_entry. */
enum dwarf_status dwarf_entry_register(void *ctx, unsigned int reg, uint64_t *value);
/* The value that an argument of the callee itself had at its entry, as text; false: not known. */
bool dwarf_entry_argument(const struct dwarf_context *c, struct dwarf_entry *entry,
			  Dwarf_Die *argument, char *text, size_t size);

#endif
