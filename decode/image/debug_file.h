/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the separate debug file of a module is: callbacks for libdwfl that, other than elfutils'
 * own, open regular files only, and ask debuginfod only where the user wants that. Not public.
 */
#ifndef AUXTAP_DEBUG_FILE_H
#define AUXTAP_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* The module's file is given when it is reported. */
int debug_file_no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		      Elf **elf);
/*
 * By build-id, then by .gnu_debuglink, whose checksum must be right; a dwz file by
 * .gnu_debugaltlink. *data is NULL or the sysroot, a string.
 */
int debug_file_find(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found);
/* The same; what is not found, debuginfod is asked for. */
int debug_file_find_or_ask(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found);
/* Was a file left out in this thread because there was no descriptor? The answer is given once. */
bool debug_file_no_descriptors(void);
/*
 * libdw itself opens the file that a skeleton unit names (split DWARF) and the one that
 * .gnu_debugaltlink names, and would wait for a FIFO. False: one of them is no regular file.
 */
bool debug_file_split_is_safe(Dwfl_Module *mod, Dwarf_Die *unit);
bool debug_file_alternate_is_safe(Dwfl_Module *mod, Dwarf *dw);

#endif
