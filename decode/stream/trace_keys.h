/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps ring keys (CPU, thread, perf's queue index) to indices, in the order of their addition. */
#ifndef STREAM_TRACE_KEYS_H
#define STREAM_TRACE_KEYS_H

#include "util/hash_map.h"

#include <stddef.h>
#include <stdint.h>

/* cpu -1: not the ring of one CPU; tid -1: not that of one thread. */
struct trace_key {
	int cpu;
	int32_t tid;
	uint32_t idx; /* perf's queue index; 0 if CPU and thread identify the ring */
};

/* All zero: empty. */
struct trace_keys {
	struct trace_key *keys;
	size_t nr, max;
	struct hash_map index; /* by hash of the key */
};

#define TRACE_KEYS_NONE HASH_MAP_NONE

/* The key's index; TRACE_KEYS_NONE: it was not added. */
size_t trace_keys_find(const struct trace_keys *keys, struct trace_key key);
/* *index: the key's index, a new one if it was not added before. 0 or -ENOMEM. */
int trace_keys_add(struct trace_keys *keys, struct trace_key key, size_t *index);
void trace_keys_free(struct trace_keys *keys);

#endif
