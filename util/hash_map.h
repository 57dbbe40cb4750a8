/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps hashes to indices, usually of elements in an array of the caller. Several indices may have
 * the same hash: the caller compares the elements. Nothing can be removed.
 */
#ifndef UTIL_HASH_MAP_H
#define UTIL_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t hash;
	size_t index_plus_1; /* 0: a free slot */
};

/* All zero: empty. */
struct hash_map {
	struct hash_slot *slots; /* open addressing; nr_slots is a power of two */
	size_t nr, nr_slots;
};

#define HASH_MAP_NONE SIZE_MAX

/* Different numbers have different hashes: with such keys the caller need not compare elements. */
static inline uint64_t hash_number(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15u;
	return v ^ v >> 32;
}

uint64_t hash_text(const char *text);

/*
 * Returns the indices with this hash one by one, in the order in which they were added, then
 * HASH_MAP_NONE. *step is 0 before the first call.
 */
static inline size_t hash_map_next(const struct hash_map *map, uint64_t hash, size_t *step)
{
	while (*step < map->nr_slots) {
		const struct hash_slot *slot =
			&map->slots[((size_t)hash + (*step)++) & (map->nr_slots - 1)];

		if (!slot->index_plus_1)
			break;
		if (slot->hash == hash)
			return slot->index_plus_1 - 1;
	}
	return HASH_MAP_NONE;
}

/* Returns the first index with this hash, or HASH_MAP_NONE. */
static inline size_t hash_map_find(const struct hash_map *map, uint64_t hash)
{
	size_t step = 0;

	return hash_map_next(map, hash, &step);
}

/* Adds an index, which is not HASH_MAP_NONE. 0; or -ENOMEM, and the map is unchanged. */
int hash_map_add(struct hash_map *map, uint64_t hash, size_t index);
void hash_map_free(struct hash_map *map);

#endif
