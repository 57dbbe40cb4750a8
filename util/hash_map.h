/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map of structs that embed a node. The map owns its table only: the structs, and what makes
 *two of them equal, are the caller's. All zero is an empty map.
 *
 *	for (node = hash_map_find(&map, hash); node; node = hash_map_next(node))
 *		if (same_key(container(node), key))
 *			...
 */
#ifndef UTIL_HASH_MAP_H
#define UTIL_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

struct hash_map {
	struct hash_node **buckets; /* a power of two of them, or NULL */
	size_t nr_buckets, nr;
};

/* The struct of this type that embeds the node as this member. */
#define hash_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/* 0; or -ENOMEM, and the node is not in the map. The newest of equal hashes is found first. */
int hash_map_add(struct hash_map *map, struct hash_node *node, uint64_t hash);
/* The node is in the map. */
void hash_map_remove(struct hash_map *map, struct hash_node *node);
/* The first node with this hash, and the next one with the same; NULL: no more. */
struct hash_node *hash_map_find(const struct hash_map *map, uint64_t hash);
struct hash_node *hash_map_next(const struct hash_node *node);
/* Releases the table; nodes are left alone. The map is empty afterwards. */
void hash_map_free(struct hash_map *map);

static inline uint64_t hash_number(uint64_t v)
{
	/* multiplication mixes upwards only */
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ v >> 32;
}

uint64_t hash_text(const char *text);

#endif
