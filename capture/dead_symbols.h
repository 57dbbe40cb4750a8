/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory and symbols of a process that is stopped before its death. */
#ifndef AUXTAP_DEAD_SYMBOLS_H
#define AUXTAP_DEAD_SYMBOLS_H

#include "session.h"

struct dead {
	struct auxtap_session *s;
	pid_t pid;
	const struct map_list *maps;
};

/* All of it, or false. */
bool dead_read(const struct dead *d, uint64_t addr, void *buf, size_t size);
/* The first mapping of the program's own file, and of a library, by the start of its name; NULL. */
const struct map_entry *dead_program(const struct dead *d);
const struct map_entry *dead_library(const struct dead *d, const char *name);
/* The address of a symbol by the dynamic symbols of an image, at its first mapping; 0. */
uint64_t dead_dynamic_symbol(const struct dead *d, const struct map_entry *image, const char *name);
/* By the symbol table of the file, which strip removes; 0. */
uint64_t dead_file_symbol(const struct map_entry *image, const char *name);

#endif
