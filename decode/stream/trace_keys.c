// SPDX-License-Identifier: BSD-2-Clause
/* See trace_keys.h. */
#include "trace_keys.h"
#include "util/vector.h"

static uint64_t hash_of(struct trace_key key)
{
	uint64_t ring = (uint64_t)(uint32_t)key.cpu << 32 | (uint32_t)key.tid;

	return hash_number(hash_number(ring) ^ key.idx);
}

static size_t find_key(const struct trace_keys *keys, struct trace_key key, uint64_t hash)
{
	size_t step = 0, index;

	while ((index = hash_map_next(&keys->index, hash, &step)) != HASH_MAP_NONE) {
		const struct trace_key *k = &keys->keys[index];

		if (k->cpu == key.cpu && k->tid == key.tid && k->idx == key.idx)
			break;
	}
	return index;
}

size_t trace_keys_find(const struct trace_keys *keys, struct trace_key key)
{
	return find_key(keys, key, hash_of(key));
}

int trace_keys_add(struct trace_keys *keys, struct trace_key key, size_t *index)
{
	uint64_t hash = hash_of(key);

	*index = find_key(keys, key, hash);
	if (*index != HASH_MAP_NONE)
		return 0;
	if (vector_grow(keys->keys, keys->nr, keys->max) ||
	    hash_map_add(&keys->index, hash, keys->nr))
		return -ENOMEM;
	*index = keys->nr;
	keys->keys[keys->nr++] = key;
	return 0;
}

void trace_keys_free(struct trace_keys *keys)
{
	free(keys->keys);
	hash_map_free(&keys->index);
	*keys = (struct trace_keys){0};
}
