/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader's side of a perf ring: data ring and AUX area of one mmapped event.
 * head and tail ending in _abs grow without bound; _off are positions inside the buffer.
 *
 * Memory ordering (kernel-rules.md, E, barriers): loading a head is an acquire and pairs with
 * the writer's publish (B); storing a tail is a release after all reads of the data (D) and
 * pairs with the writer's control dependency (A). One reader thread per ring.
 */
#ifndef AUXTAP_RING_H
#define AUXTAP_RING_H

#include <auxtap/error.h>
#include <linux/perf_event.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_ring; /* opaque */

/*
 * A part of a buffer: two pieces if it wraps. Not copied, points into the ring.
 */
struct auxtap_span {
	uint64_t offset_abs; /* of part1[0] */
	const void *part1;
	size_t size1;
	const void *part2;
	size_t size2;
};

/*
 * page: the mapping of control page + data; aux may be NULL. Both mappings belong to the caller and
 * must outlive the ring. aux_overwrite: the AUX area is mapped without PROT_WRITE (snapshot).
 * -EINVAL: sizes not a power of two, or beyond the mapping; -ENOMEM.
 */
AUXTAP_API int auxtap_ring_open(struct auxtap_ring **ring, void *page, size_t page_mapping_size,
				const void *aux, size_t aux_size, bool aux_overwrite,
				struct auxtap_error *err);
AUXTAP_API void auxtap_ring_close(struct auxtap_ring *ring);

/*
 * The writer's position in the data ring. A reader that stops there ends, even if the writer is
 * faster.
 */
AUXTAP_API uint64_t auxtap_ring_data_head(const struct auxtap_ring *ring);

/* The writer's position in the AUX area, as the kernel has published it. */
AUXTAP_API uint64_t auxtap_ring_aux_head(const struct auxtap_ring *ring);

/*
 * Next record of a forward data ring. 1: *span covers exactly one record (its 8-byte header
 * never wraps, E15); 0: no record; -EBADMSG: the ring's content is damaged at err->offset.
 * auxtap_ring_data_consume() releases the space.
 */
AUXTAP_API int auxtap_ring_data_next(struct auxtap_ring *ring, struct auxtap_span *span,
				     struct auxtap_error *err);
AUXTAP_API void auxtap_ring_data_consume(struct auxtap_ring *ring);

/* Linear mode: all unread AUX bytes (K1). consume() moves aux_tail to their end. */
AUXTAP_API bool auxtap_ring_aux_next(struct auxtap_ring *ring, struct auxtap_span *span);
AUXTAP_API void auxtap_ring_aux_consume(struct auxtap_ring *ring, const struct auxtap_span *span);
/*
 * Linear mode: bytes that the writer wrote over before they were read, because a head was more than
 * the area ahead. No correct writer does that (D5).
 */
AUXTAP_API uint64_t auxtap_ring_aux_overrun(const struct auxtap_ring *ring);

/*
 * Overwrite mode, writer stopped: the newest bytes of the area, oldest first, at most max (0: all).
 * If the area was never filled, leading zero bytes are omitted.
 */
AUXTAP_API void auxtap_ring_aux_snapshot(const struct auxtap_ring *ring, uint64_t max,
					 struct auxtap_span *span);
/* The same if nr bytes are known to be there: exactly the newest nr (at most the area). */
AUXTAP_API void auxtap_ring_aux_newest(const struct auxtap_ring *ring, uint64_t nr,
				       struct auxtap_span *span);

#ifdef __cplusplus
}
#endif
#endif
