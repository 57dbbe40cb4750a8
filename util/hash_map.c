// SPDX-License-Identifier: BSD-2-Clause
/* See hash_map.h. */
#include "util/hash_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

static struct hash_node **bucket(const struct hash_map *map, uint64_t hash)
{
	return &map->buckets[hash & (map->nr_buckets - 1)];
}

/* Keeps the order of equal hashes: they were in one bucket, and each is appended. */
static void move_nodes(const struct hash_map *from, struct hash_map *to)
{
	for (size_t i = 0; i < from->nr_buckets; i++) {
		struct hash_node *node = from->buckets[i], *next;

		for (; node; node = next) {
			struct hash_node **at = bucket(to, node->hash);

			next = node->next;
			while (*at)
				at = &(*at)->next;
			node->next = NULL;
			*at = node;
		}
	}
}

static int grow(struct hash_map *map)
{
	struct hash_map grown = {.nr_buckets =
					 map->nr_buckets ? 2 * map->nr_buckets : FIRST_BUCKETS,
				 .nr = map->nr};

	grown.buckets = calloc(grown.nr_buckets, sizeof(*grown.buckets));
	if (!grown.buckets)
		return -ENOMEM;
	move_nodes(map, &grown);
	free(map->buckets);
	*map = grown;
	return 0;
}

int hash_map_add(struct hash_map *map, struct hash_node *node, uint64_t hash)
{
	struct hash_node **at;

	/* a table that is too small is slow, not wrong */
	if (map->nr >= map->nr_buckets && grow(map) && !map->nr_buckets)
		return -ENOMEM;
	at = bucket(map, hash);
	node->hash = hash;
	node->next = *at;
	*at = node;
	map->nr++;
	return 0;
}

void hash_map_remove(struct hash_map *map, struct hash_node *node)
{
	struct hash_node **at = bucket(map, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->next = NULL;
	map->nr--;
}

struct hash_node *hash_map_find(const struct hash_map *map, uint64_t hash)
{
	struct hash_node *node = map->nr_buckets ? *bucket(map, hash) : NULL;

	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct hash_node *hash_map_next(const struct hash_node *node)
{
	struct hash_node *next = node->next;

	while (next && next->hash != node->hash)
		next = next->next;
	return next;
}

void hash_map_free(struct hash_map *map)
{
	free(map->buckets);
	memset(map, 0, sizeof(*map));
}

/* FNV-1a */
uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash_number(hash);
}
