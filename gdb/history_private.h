/* SPDX-License-Identifier: BSD-2-Clause */
/* Interfaces between history.c (the sequence) and history_build.c (builds it from events). */
#ifndef GDB_HISTORY_PRIVATE_H
#define GDB_HISTORY_PRIVATE_H

#include "history.h"

#define ENTRY_NONE UINT32_MAX

/* The number of the entry with that content; ENTRY_NONE: out of memory. */
uint32_t history_intern(struct history *h, const struct history_entry *wanted);
/* Fills a chunk with nr entries, at most HISTORY_CHUNK. 0 or -ENOMEM. */
int chunk_pack(struct history *h, struct history_chunk *chunk, const uint32_t *ids, uint32_t nr);
/* Drops the oldest chunk of a thread that has one. */
void chunk_drop(struct history *h, struct history_thread *t);

#endif
