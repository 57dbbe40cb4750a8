// SPDX-License-Identifier: BSD-2-Clause
/* See pack_sparse.h. */
#include "pack_sparse.h"
#include "decode/image/packed.h"
#include "util/vector.h"

#include <string.h>
#include <sys/mman.h>

#define GRANULE 64

bool pack_sparse_init(struct pack_sparse *f, uint64_t size, uint64_t capacity)
{
	size_t nr_words = capacity / GRANULE / 64 + 1;
	void *bytes;

	memset(f, 0, sizeof(*f));
	f->size = size;
	f->capacity = capacity + GRANULE;
	bytes = mmap(NULL, f->capacity, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	f->bytes = bytes == MAP_FAILED ? NULL : bytes;
	f->kept = calloc(nr_words, sizeof(uint64_t));
	f->readable = calloc(nr_words, sizeof(uint64_t));
	if (f->bytes && f->kept && f->readable)
		return true;
	pack_sparse_free(f);
	return false;
}

void pack_sparse_free(struct pack_sparse *f)
{
	if (f->bytes)
		munmap(f->bytes, f->capacity);
	free(f->kept);
	free(f->readable);
	memset(f, 0, sizeof(*f));
}

static void set_granules(uint64_t *bits, uint64_t off, uint64_t size)
{
	for (uint64_t i = off / GRANULE; i <= (off + size - 1) / GRANULE; i++)
		bits[i / 64] |= 1ull << (i % 64);
}

static bool has_granule(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

void pack_sparse_keep(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size)
{
	if (!data || off >= f->size || !size)
		return;
	if (size > f->size - off)
		size = f->size - off;
	memcpy(f->bytes + off, data, size);
	set_granules(f->kept, off, size);
}

void pack_sparse_keep_page(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size)
{
	pack_sparse_keep(f, off, data, size);
	if (off < f->size && size)
		set_granules(f->readable, off, size < f->size - off ? size : f->size - off);
}

static void note_edge(struct pack_sparse *f, uint64_t off, uint64_t end)
{
	if (off < end && f->nr_edges < PACK_SPARSE_EDGES && has_granule(f->readable, off / GRANULE))
		f->edges[f->nr_edges++] = (struct pack_sparse_edge){off, end};
}

void pack_sparse_change(struct pack_sparse *f, uint64_t off, const void *data, uint64_t size)
{
	uint64_t end = off + size, up = (end + GRANULE - 1) / GRANULE * GRANULE;

	pack_sparse_keep(f, off, data, size);
	if (!size || end > f->size)
		return;
	note_edge(f, off / GRANULE * GRANULE, off);
	note_edge(f, end, up < f->size ? up : f->size);
	for (uint64_t i = off / GRANULE; i <= (end - 1) / GRANULE; i++)
		f->readable[i / 64] &= ~(1ull << (i % 64));
}

uint64_t pack_sparse_append(struct pack_sparse *f, uint64_t size)
{
	uint64_t off = (f->size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1);

	if (off + size > f->capacity) {
		f->failed = true;
		return 0;
	}
	f->size = off + size;
	return off;
}

static bool append(uint8_t **out, size_t *nr, size_t *max, const void *data, size_t size)
{
	if (vector_reserve(*out, *nr + size, *max))
		return false;
	memcpy(*out + *nr, data, size);
	*nr += size;
	return true;
}

/* Shortens the extent so that readable edges and the changed bytes beside them are separate. */
static void split_extent(const struct pack_sparse *f, struct packed_extent *e)
{
	for (unsigned int i = 0; i < f->nr_edges; i++) {
		const struct pack_sparse_edge *edge = &f->edges[i];

		if (edge->off == e->off) {
			e->flags = PACKED_READABLE;
			if (e->size > edge->end - edge->off)
				e->size = edge->end - edge->off;
		} else if (edge->off > e->off && edge->off - e->off < e->size) {
			e->size = edge->off - e->off;
		}
	}
}

/* The next extent at or after *at: consecutive kept granules, all of them readable or none. */
static bool next_extent(const struct pack_sparse *f, uint64_t *at, struct packed_extent *e)
{
	uint64_t nr = (f->size + GRANULE - 1) / GRANULE, i = *at / GRANULE, end;
	bool readable;

	while (i < nr && !has_granule(f->kept, i))
		i += !(i % 64) && !f->kept[i / 64] ? 64 : 1;
	if (i >= nr || *at >= f->size)
		return false;
	e->off = i * GRANULE > *at ? i * GRANULE : *at;
	readable = has_granule(f->readable, i);
	while (i < nr && has_granule(f->kept, i) && has_granule(f->readable, i) == readable)
		i++;
	end = i * GRANULE < f->size ? i * GRANULE : f->size;
	e->size = end - e->off;
	e->flags = readable ? PACKED_READABLE : 0;
	if (!readable)
		split_extent(f, e);
	*at = e->off + e->size;
	return true;
}

bool pack_sparse_write(const struct pack_sparse *f, uint8_t **out, size_t *nr, size_t *max)
{
	static const uint8_t zeros[8];
	struct packed_file_header head = {.size = f->size};
	struct packed_extent e;
	uint64_t at = 0;

	while (next_extent(f, &at, &e)) {
		head.nr_extents++;
		head.nr_bytes += e.size;
	}
	/* align the 64-bit numbers */
	if (!append(out, nr, max, zeros, -*nr & 7) || !append(out, nr, max, &head, sizeof(head)))
		return false;
	for (at = 0; next_extent(f, &at, &e);)
		if (!append(out, nr, max, &e, sizeof(e)))
			return false;
	for (at = 0; next_extent(f, &at, &e);)
		if (!append(out, nr, max, f->bytes + e.off, e.size))
			return false;
	return true;
}
