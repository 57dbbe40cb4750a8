// SPDX-License-Identifier: BSD-2-Clause
/* See hash_map.h. */
#include "util/hash_map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 16

uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h ^ h >> 32;
}

static void insert(struct hash_map *map, const struct hash_slot *slot)
{
	size_t mask = map->nr_slots - 1, at = (size_t)slot->hash & mask;

	while (map->slots[at].index_plus_1)
		at = (at + 1) & mask;
	map->slots[at] = *slot;
}

/* Makes space for one more index. 0 or -ENOMEM. */
static int grow(struct hash_map *map)
{
	struct hash_map grown = {.nr = map->nr};
	size_t first = 0;

	/* at least half of the slots stay free, so that a search ends soon */
	if (map->nr < map->nr_slots / 2)
		return 0;
	if (__builtin_mul_overflow(map->nr_slots, 2, &grown.nr_slots))
		return -ENOMEM;
	if (!grown.nr_slots)
		grown.nr_slots = FIRST_SLOTS;
	grown.slots = calloc(grown.nr_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	/* start at a free slot, so that indices with one hash keep their order */
	while (first < map->nr_slots && map->slots[first].index_plus_1)
		first++;
	for (size_t i = 0; i < map->nr_slots; i++) {
		const struct hash_slot *slot = &map->slots[(first + i) & (map->nr_slots - 1)];

		if (slot->index_plus_1)
			insert(&grown, slot);
	}
	free(map->slots);
	*map = grown;
	return 0;
}

int hash_map_add(struct hash_map *map, uint64_t hash, size_t index)
{
	if (grow(map))
		return -ENOMEM;
	insert(map, &(struct hash_slot){hash, index + 1});
	map->nr++;
	return 0;
}

void hash_map_free(struct hash_map *map)
{
	free(map->slots);
	*map = (struct hash_map){0};
}
