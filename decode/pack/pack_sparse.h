/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of which parts are kept at their offsets: what a packed image is made of. */
#ifndef AUXTAP_PACK_SPARSE_H
#define AUXTAP_PACK_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_SPARSE_EDGES 8

/* Readable bytes beside what was changed in the same granule. */
struct pack_sparse_edge {
	uint64_t off, end;
};

struct pack_sparse {
	uint64_t size;
	size_t capacity;
	uint8_t *bytes;		   /* holes are zeros, which take no memory */
	uint64_t *kept, *readable; /* a bit for each granule */
	struct pack_sparse_edge edges[PACK_SPARSE_EDGES];
	unsigned int nr_edges;
	bool failed;
};

/* capacity: the most that size can become. False: no memory. */
bool pack_sparse_init(struct pack_sparse *f, uint64_t size, uint64_t capacity);
void pack_sparse_free(struct pack_sparse *f);
/* Places size bytes at off; beyond the file nothing is kept. */
void pack_sparse_keep(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* The same for whole pages of the program's memory. */
void pack_sparse_keep_page(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* The same for what is not as in the file: nothing of it is readable. */
void pack_sparse_change(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size);
/* Space at the end for a section of that size; its offset. */
uint64_t pack_sparse_append(struct pack_sparse *f, uint64_t size);
/* Appends it in the form of packed.h to *out, which grows; false: no memory. */
bool pack_sparse_write(const struct pack_sparse *f, uint8_t **out, size_t *nr, size_t *max);

#endif
