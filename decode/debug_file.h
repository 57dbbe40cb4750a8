/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the separate debug file of a module is: callbacks for libdwfl that, other than elfutils' own,
 * never ask debuginfod. Not public.
 */
#ifndef AUXTAP_DEBUG_FILE_H
#define AUXTAP_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/* The module's file is given when it is reported. */
int debug_file_no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		      Elf **elf);
/*
 * By build-id, then by .gnu_debuglink, whose checksum must be right; a dwz file by .gnu_debugaltlink.
 * *data is NULL or the sysroot, a string.
 */
int debug_file_find(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found);

#endif
