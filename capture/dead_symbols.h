/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads memory and symbols of a crashing process, which is stopped. */
#ifndef AUXTAP_DEAD_SYMBOLS_H
#define AUXTAP_DEAD_SYMBOLS_H

#include "session.h"

struct dead_process {
	struct auxtap_session *s;
	pid_t pid;
	const struct map_list *maps;
};

/* Reads all size bytes, or returns false. */
bool dead_read(const struct dead_process *d, uint64_t addr, void *buf, size_t size);
/* The first mapping of the program's file; of a library, by the start of its name. NULL: none. */
const struct map_entry *dead_program(const struct dead_process *d);
const struct map_entry *dead_library(const struct dead_process *d, const char *name);
/* The address of a dynamic symbol of the image with this first mapping; 0: not found. */
uint64_t dead_dynamic_symbol(const struct dead_process *d, const struct map_entry *image,
			     const char *name);
/* The same by the file's symbol table, which strip removes; 0: not found. */
uint64_t dead_file_symbol(const struct map_entry *image, const char *name);

#endif
