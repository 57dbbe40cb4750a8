// SPDX-License-Identifier: BSD-2-Clause
/* See trace_keys.h. */
#include "trace_keys.h"
#include "util/vector.h"

#define FIRST_SLOTS 64

static uint64_t mix(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15u;
	return v ^ v >> 32;
}

/* Where the key is, or the free slot for it. */
static size_t slot_of(const struct trace_keys *keys, struct trace_key key)
{
	uint64_t ring = (uint64_t)(uint32_t)key.cpu << 32 | (uint32_t)key.tid;
	size_t mask = keys->nr_slots - 1, at = (size_t)mix(mix(ring) ^ key.idx) & mask;

	for (; keys->slots[at]; at = (at + 1) & mask) {
		const struct trace_key *k = &keys->keys[keys->slots[at] - 1];

		if (k->cpu == key.cpu && k->tid == key.tid && k->idx == key.idx)
			break;
	}
	return at;
}

static int grow(struct trace_keys *keys)
{
	size_t nr = keys->nr_slots ? keys->nr_slots * 2 : FIRST_SLOTS;
	size_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(keys->slots);
	keys->slots = slots;
	keys->nr_slots = nr;
	for (size_t i = 0; i < keys->nr; i++)
		slots[slot_of(keys, keys->keys[i])] = i + 1;
	return 0;
}

size_t trace_keys_find(const struct trace_keys *keys, struct trace_key key)
{
	/* a free slot contains 0: one less is TRACE_KEYS_NONE */
	return keys->nr_slots ? keys->slots[slot_of(keys, key)] - 1 : TRACE_KEYS_NONE;
}

int trace_keys_add(struct trace_keys *keys, struct trace_key key, size_t *number)
{
	size_t *slot;

	/* at least half of the slots stay free, so that a search ends soon */
	if (keys->nr * 2 >= keys->nr_slots && grow(keys))
		return -ENOMEM;
	slot = &keys->slots[slot_of(keys, key)];
	if (!*slot) {
		if (vector_grow(keys->keys, keys->nr, keys->max))
			return -ENOMEM;
		keys->keys[keys->nr++] = key;
		*slot = keys->nr;
	}
	*number = *slot - 1;
	return 0;
}

void trace_keys_free(struct trace_keys *keys)
{
	free(keys->keys);
	free(keys->slots);
	*keys = (struct trace_keys){0};
}
