/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the separate debug file of a module: callbacks for libdwfl that, unlike elfutils' own, open
 * regular files only, and ask debuginfod only if the user wants that.
 */
#ifndef AUXTAP_DEBUG_FILE_H
#define AUXTAP_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* A find_elf callback that finds nothing: the file is passed when the module is reported. */
int debug_file_no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		      Elf **elf);
/*
 * Searches by build-id, then by .gnu_debuglink, whose checksum must match; for a dwz file by
 * .gnu_debugaltlink. *data is the sysroot, a string, or NULL.
 */
int debug_file_find(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found);
/* The same; asks debuginfod for files that are not found. */
int debug_file_find_or_ask(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found);
/* Whether a file was not opened in this thread because of EMFILE or ENFILE; resets that state. */
bool debug_file_no_descriptors(void);
/*
 * libdw itself opens the file that a skeleton unit (split DWARF) or .gnu_debugaltlink names, and
 * would block on a FIFO. False: it is not a regular file.
 */
bool debug_file_split_is_safe(Dwfl_Module *mod, Dwarf_Die *unit);
bool debug_file_alternate_is_safe(Dwfl_Module *mod, Dwarf *dw);

#endif
