/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for rings (a CPU, a thread, perf's own number of a queue), in the order they are added.
 */
#ifndef STREAM_TRACE_KEYS_H
#define STREAM_TRACE_KEYS_H

#include "util/hash_map.h"

#include <stddef.h>
#include <stdint.h>

/* -1: the ring is not of one CPU, not of one thread. */
struct trace_key {
	int cpu;
	int32_t tid;
	uint32_t idx; /* 0 where CPU and thread identify the ring */
};

/* All zero: empty. */
struct trace_keys {
	struct trace_key *keys;
	size_t nr, max;
	struct hash_map numbers; /* by hash of the key */
};

#define TRACE_KEYS_NONE HASH_MAP_NONE

/* The key's number; TRACE_KEYS_NONE if it was not added. */
size_t trace_keys_find(const struct trace_keys *keys, struct trace_key key);
/* The key's number, a new one if it was not added before. 0 or -ENOMEM. */
int trace_keys_add(struct trace_keys *keys, struct trace_key key, size_t *number);
void trace_keys_free(struct trace_keys *keys);

#endif
