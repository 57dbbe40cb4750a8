/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values that registers had at the entry of a function, from the caller's debug information: its
 * call site names the called function and the values of the arguments. Used by image_vars.c.
 */
#ifndef AUXTAP_DWARF_ENTRY_H
#define AUXTAP_DWARF_ENTRY_H

#include "dwarf_eval.h"
#include "dwarf_index.h"

struct dwarf_entry {
	Dwarf_Die *callee; /* the function of the frame */
	uint64_t callee_bias;
	struct dwarf_context context; /* of the caller; pc is in the call */
	Dwarf_Die caller_chain[DWARF_MAX_FUNCTIONS];
	unsigned int nr_caller; /* 0: the caller is not known */
	bool caller_missing;	/* the function was called, but the caller's frame is unknown */
	bool looked_up, proved; /* site is the call that entered the callee: searched, found */
	Dwarf_Die site;
};

/* For dwarf_context.entry_value; ctx: a struct dwarf_entry. */
enum dwarf_status dwarf_entry_register(void *ctx, unsigned int reg, uint64_t *value);
/* The value that an argument of the callee had at the entry, as text. False: unknown. */
bool dwarf_entry_argument(const struct dwarf_context *c, struct dwarf_entry *entry,
			  Dwarf_Die *argument, char *text, size_t size);

#endif
