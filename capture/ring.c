// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader's side of a perf ring: data ring and AUX area of one mmapped event. The writer is the
 * kernel or another process: every number from it is checked. Rule numbers and the letters of the
 * barriers refer to docs/kernel-rules.md.
 */
#include "ring_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Acquire (C) pairs with the writer's (B): what was written before the head may be read now. */
static uint64_t load_data_head(const struct auxtap_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Release (D) pairs with the writer's (A): all reads of the records are complete. */
static void store_data_tail(struct auxtap_ring *ring, uint64_t tail_abs)
{
	__atomic_store_n(&ring->page->data_tail, tail_abs, __ATOMIC_RELEASE);
}

/* Acquire (C), for the AUX area: there the driver has the matching (B). */
static uint64_t load_aux_head(const struct auxtap_ring *ring)
{
	return __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
}

/* Release (D); the driver reads aux_tail before its unit may write on (rule D8). */
static void store_aux_tail(struct auxtap_ring *ring, uint64_t tail_abs)
{
	__atomic_store_n(&ring->page->aux_tail, tail_abs, __ATOMIC_RELEASE);
}

static bool power_of_two_or_0(uint64_t n)
{
	return (n & (n - 1)) == 0;
}

int ring_init(struct auxtap_ring *ring, void *page, size_t page_mapping_size, const void *aux,
	      size_t aux_size, bool aux_overwrite, struct auxtap_error *err)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t data_off = page_size, data_size;
	struct perf_event_mmap_page *pg = page;

	memset(ring, 0, sizeof(*ring));
	if (!page || page_mapping_size < page_size)
		return auxtap_error_set(err, -EINVAL, "data ring",
					"mapping of %zu bytes holds no control page",
					page_mapping_size);
	data_size = page_mapping_size - page_size;
	/*
	 * The page has data_offset and data_size since 4.1; they must be within the mapping.
	 */
	if (pg->data_size) {
		data_off = pg->data_offset;
		data_size = pg->data_size;
	}
	if (data_off < page_size || data_off > page_mapping_size ||
	    data_size > page_mapping_size - data_off || !power_of_two_or_0(data_size))
		return auxtap_error_set(
			err, -EINVAL, "data ring",
			"offset %llu and size %llu do not fit a mapping of %zu bytes",
			(unsigned long long)data_off, (unsigned long long)data_size,
			page_mapping_size);
	if (aux && (!aux_size || !power_of_two_or_0(aux_size)))
		return auxtap_error_set(err, -EINVAL, "AUX area", "size %zu is not a power of two",
					aux_size);
	ring->page = pg;
	ring->data = (const unsigned char *)page + data_off;
	ring->data_size = data_size;
	ring->aux = aux;
	ring->aux_size = aux ? aux_size : 0;
	ring->aux_overwrite = aux_overwrite;
	ring->data_prev_abs = ring->data_next_abs =
		__atomic_load_n(&pg->data_tail, __ATOMIC_RELAXED);
	ring->aux_prev_abs = aux_overwrite ? 0 : __atomic_load_n(&pg->aux_tail, __ATOMIC_RELAXED);
	return 0;
}

int auxtap_ring_open(struct auxtap_ring **ring, void *page, size_t page_mapping_size,
		     const void *aux, size_t aux_size, bool aux_overwrite, struct auxtap_error *err)
{
	struct auxtap_ring *new = malloc(sizeof(*new));
	int ret;

	*ring = NULL;
	if (!new)
		return auxtap_error_set(err, -ENOMEM, "ring", "out of memory");
	ret = ring_init(new, page, page_mapping_size, aux, aux_size, aux_overwrite, err);
	if (ret)
		free(new);
	else
		*ring = new;
	return ret;
}

void auxtap_ring_close(struct auxtap_ring *ring)
{
	free(ring);
}

/* Sets *span to [from_abs, from_abs + size) of a buffer of buf_size bytes, in one or two parts. */
static void make_span(struct auxtap_span *span, const unsigned char *buf, uint64_t buf_size,
		      uint64_t from_abs, uint64_t size)
{
	uint64_t from_off = from_abs & (buf_size - 1);
	uint64_t to_end = buf_size - from_off;

	span->offset_abs = from_abs;
	span->part1 = buf + from_off;
	span->size1 = size < to_end ? size : to_end;
	span->part2 = size > to_end ? buf : NULL;
	span->size2 = size > to_end ? size - to_end : 0;
}

uint64_t auxtap_ring_data_head(const struct auxtap_ring *ring)
{
	return ring->data_size ? load_data_head(ring) : ring->data_prev_abs;
}

uint64_t auxtap_ring_aux_head(const struct auxtap_ring *ring)
{
	return ring->aux_size ? load_aux_head(ring) : 0;
}

int auxtap_ring_data_next(struct auxtap_ring *ring, struct auxtap_span *span,
			  struct auxtap_error *err)
{
	uint64_t head_abs, nr_bytes, at_off;
	struct perf_event_header header;

	if (!ring->data_size)
		return 0; /* B16 */
	head_abs = load_data_head(ring);
	nr_bytes = head_abs - ring->data_prev_abs;
	if (!nr_bytes)
		return 0;
	if (nr_bytes > ring->data_size)
		return auxtap_error_set_at(err, -EBADMSG, "data ring", ring->data_prev_abs,
					   "head %llu is %llu bytes ahead in a ring of %llu",
					   (unsigned long long)head_abs,
					   (unsigned long long)nr_bytes,
					   (unsigned long long)ring->data_size);
	/* E15: the header never wraps, because all sizes are multiples of 8. */
	at_off = ring->data_prev_abs & (ring->data_size - 1);
	if (nr_bytes < sizeof(header) || ring->data_size - at_off < sizeof(header))
		return auxtap_error_set_at(err, -EBADMSG, "data ring", ring->data_prev_abs,
					   "no space for a record header at %llu",
					   (unsigned long long)ring->data_prev_abs);
	memcpy(&header, ring->data + at_off, sizeof(header));
	if (header.size < sizeof(header) || header.size % 8 || header.size > nr_bytes)
		return auxtap_error_set_at(err, -EBADMSG, "data ring", ring->data_prev_abs,
					   "record at %llu claims %u bytes of %llu",
					   (unsigned long long)ring->data_prev_abs, header.size,
					   (unsigned long long)nr_bytes);
	make_span(span, ring->data, ring->data_size, ring->data_prev_abs, header.size);
	ring->data_next_abs = ring->data_prev_abs + header.size;
	return 1;
}

void auxtap_ring_data_consume(struct auxtap_ring *ring)
{
	if (ring->data_next_abs == ring->data_prev_abs)
		return;
	ring->data_prev_abs = ring->data_next_abs;
	store_data_tail(ring, ring->data_prev_abs);
}

bool auxtap_ring_aux_next(struct auxtap_ring *ring, struct auxtap_span *span)
{
	uint64_t head_abs, nr_bytes;

	if (!ring->aux_size || ring->aux_overwrite)
		return false;
	head_abs = load_aux_head(ring);
	nr_bytes = head_abs - ring->aux_prev_abs;
	if (!nr_bytes)
		return false;
	if (nr_bytes > ring->aux_size) {
		/* A correct writer never does this unless it overwrites (D5): keep the newest
		 * bytes. */
		ring->aux_overrun += nr_bytes - ring->aux_size;
		ring->aux_prev_abs = head_abs - ring->aux_size;
		nr_bytes = ring->aux_size;
	}
	make_span(span, ring->aux, ring->aux_size, ring->aux_prev_abs, nr_bytes);
	return true;
}

void auxtap_ring_aux_consume(struct auxtap_ring *ring, const struct auxtap_span *span)
{
	if (ring->aux_overwrite)
		return;
	ring->aux_prev_abs = span->offset_abs + span->size1 + span->size2;
	store_aux_tail(ring, ring->aux_prev_abs);
}

uint64_t auxtap_ring_aux_overrun(const struct auxtap_ring *ring)
{
	return ring->aux_overrun;
}

static size_t leading_zeros(const unsigned char *p, size_t size)
{
	uint64_t word;
	size_t n = 0;

	for (; size - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, p + n, sizeof(word));
		if (word)
			break;
	}
	while (n < size && !p[n])
		n++;
	return n;
}

void auxtap_ring_aux_snapshot(const struct auxtap_ring *ring, uint64_t max,
			      struct auxtap_span *span)
{
	uint64_t head_abs, from_abs, nr_bytes, zeros;

	memset(span, 0, sizeof(*span));
	if (!ring->aux_size)
		return;
	/*
	 * The head may be an offset (PT, H11) or a growing count (J5): use its offset in the
	 * buffer. The oldest bytes start there. (K4: the head does not tell whether the area has
	 * been filled; its pages are zero at first, and zero is PAD.)
	 */
	head_abs = load_aux_head(ring);
	from_abs = head_abs & (ring->aux_size - 1);
	nr_bytes = ring->aux_size;
	make_span(span, ring->aux, ring->aux_size, from_abs, nr_bytes);
	zeros = leading_zeros(span->part1, span->size1);
	if (zeros == span->size1 && span->size2)
		zeros += leading_zeros(span->part2, span->size2);
	from_abs += zeros;
	nr_bytes -= zeros;
	if (max && nr_bytes > max) {
		from_abs += nr_bytes - max;
		nr_bytes = max;
	}
	make_span(span, ring->aux, ring->aux_size, from_abs, nr_bytes);
}

void auxtap_ring_aux_newest(const struct auxtap_ring *ring, uint64_t nr, struct auxtap_span *span)
{
	uint64_t head_abs;

	memset(span, 0, sizeof(*span));
	if (!ring->aux_size)
		return;
	if (nr > ring->aux_size)
		nr = ring->aux_size;
	head_abs = load_aux_head(ring);
	/* The head may be an offset: after a wrap it is smaller than nr. */
	make_span(span, ring->aux, ring->aux_size, head_abs + ring->aux_size - nr, nr);
}
