/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of line tables that cover no code. Where a sequence of rows ends, its last rows may have the
 * address of that end, at which another sequence may begin. libdw sorts the rows of all sequences
 * by address, and then no longer knows which of them belong together. Used by srcline.c.
 */
#ifndef AUXTAP_DWARF_ROWS_H
#define AUXTAP_DWARF_ROWS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct dwarf_rows;

/* Reads the line table of the unit; NULL: it has no such rows, or cannot be read. */
struct dwarf_rows *dwarf_rows_new(Dwarf_Die *unit);
void dwarf_rows_free(struct dwarf_rows *rows);
/*
 * The row for the code at addr, which libdw found in the unit's table: that row, or another one of
 * the same address that covers code; NULL: no such row.
 */
Dwarf_Line *dwarf_rows_check(const struct dwarf_rows *rows, Dwarf_Die *unit, Dwarf_Line *line);
/* Does the row cover code? nr: its number among the rows of addr, without ends of sequences. */
bool dwarf_rows_cover(const struct dwarf_rows *rows, Dwarf_Addr addr, size_t nr);
/*
 * The first row of addr that is no end of a sequence, in a table that libdw has sorted; nr_table:
 * no such row.
 */
size_t dwarf_rows_first(Dwarf_Lines *table, size_t nr_table, Dwarf_Addr addr);

#endif
