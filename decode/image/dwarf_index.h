/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the unit and the functions of the debug information for an address. libdw finds units by
 * .debug_aranges, which clang does not write, and follows an inlined function to its origin only
 * within one unit (not with LTO, nor in Rust). Used by srcline.c.
 */
#ifndef AUXTAP_DWARF_INDEX_H
#define AUXTAP_DWARF_INDEX_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#define DWARF_MAX_FUNCTIONS 65

struct dwarf_index;
struct dwarf_unit;

/*
 * Reads the address ranges of all units; NULL: out of memory. code_at_zero: an executable section
 * begins at address 0; if not, the linker has discarded code with that address.
 */
struct dwarf_index *dwarf_index_new(Dwfl_Module *mod, Dwarf *dw, bool code_at_zero);
void dwarf_index_free(struct dwarf_index *index);

/* The unit that covers addr; NULL: none. */
struct dwarf_unit *dwarf_index_unit(struct dwarf_index *index, Dwarf_Addr addr);
/* The unit's DIE with the line table, and that with the functions (they differ in split DWARF). */
Dwarf_Die *dwarf_unit_lines(struct dwarf_unit *unit);
Dwarf_Die *dwarf_unit_tree(struct dwarf_unit *unit);
/*
 * The functions at addr, innermost first: inlined ones, then the function that contains them.
 * Returns their number; 0: no function is known there.
 */
unsigned int dwarf_unit_functions(struct dwarf_index *index, struct dwarf_unit *unit,
				  Dwarf_Addr addr, Dwarf_Die chain[DWARF_MAX_FUNCTIONS]);

struct auxtap_image;
/*
 * srcline.c: the same for an image and an ELF address. *shift: ELF address minus address in the
 * debug information.
 */
unsigned int image_lines_functions(struct auxtap_image *image, uint64_t vaddr,
				   Dwarf_Die chain[DWARF_MAX_FUNCTIONS], uint64_t *shift);

#endif
