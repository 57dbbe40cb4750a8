/* SPDX-License-Identifier: BSD-2-Clause */
/* A sparse file: parts of a file at their original offsets. Packed images consist of them. */
#ifndef AUXTAP_PACK_SPARSE_H
#define AUXTAP_PACK_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_SPARSE_EDGES 8

/* Readable, unchanged bytes of a granule that also has changed ones. */
struct pack_sparse_edge {
	uint64_t off, end;
};

struct pack_sparse {
	uint64_t size;
	size_t capacity;
	uint8_t *bytes;		   /* a mapping, in which holes take no memory */
	uint64_t *kept, *readable; /* a bit for each granule; readable: PACKED_READABLE */
	struct pack_sparse_edge edges[PACK_SPARSE_EDGES];
	unsigned int nr_edges;
	bool failed;
};

/* capacity: the maximum that size can grow to. False: out of memory. */
bool pack_sparse_init(struct pack_sparse *f, uint64_t size, uint64_t capacity);
void pack_sparse_free(struct pack_sparse *f);
/* Keeps size bytes at off; bytes after the end of the file are ignored. */
void pack_sparse_keep(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* The same for pages that the program could read: they become readable. */
void pack_sparse_keep_page(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* The same for bytes that differ from the original file: they are not readable. */
void pack_sparse_change(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* Makes space at the end for a section of that size; returns its offset. */
uint64_t pack_sparse_append(struct pack_sparse *f, uint64_t size);
/* Appends the file in the format of packed.h to *out, which grows. False: out of memory. */
bool pack_sparse_write(const struct pack_sparse *f, uint8_t **out, size_t *nr, size_t *max);

#endif
