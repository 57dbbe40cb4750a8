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

/* Filled by auxtap_ring_init(); the mappings stay the caller's. */
struct auxtap_ring {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t data_size; /* power of two, may be 0 (B16) */
	const unsigned char *aux;
	uint64_t aux_size;	/* power of two, 0: no AUX area */
	bool aux_overwrite;	/* AUX mapped without PROT_WRITE: snapshot */
	uint64_t data_prev_abs; /* what was read up to */
	uint64_t data_next_abs; /* end of the record that data_next() gave last */
	uint64_t aux_prev_abs;
	uint64_t aux_overrun; /* bytes a head claimed beyond what the area can hold */
};

/*
 * A piece of a buffer: at most two parts because of the wrap. Never copied, points into the ring.
 */
struct auxtap_span {
	uint64_t offset_abs; /* of part1[0] */
	const void *part1;
	size_t size1;
	const void *part2;
	size_t size2;
};

/*
 * page: the mapping of control page + data; aux may be NULL. -EINVAL: sizes not a power of two, or
 * beyond the mapping.
 */
AUXTAP_API int auxtap_ring_init(struct auxtap_ring *ring, void *page, size_t page_mapping_size,
				const void *aux, size_t aux_size, bool aux_overwrite,
				struct auxtap_error *err);

/*
 * Where the writer is in the data ring. A reader that stops there is done, however fast the writer.
 */
AUXTAP_API uint64_t auxtap_ring_data_head(const struct auxtap_ring *ring);

/* Where the kernel says that the writer is in the AUX area. */
AUXTAP_API uint64_t auxtap_ring_aux_head(const struct auxtap_ring *ring);

/*
 * Next record of a forward data ring. 1: *span covers exactly one record (its 8-byte header
 * never wraps, E15); 0: none; -EBADMSG: the ring's content is damaged at err->offset.
 * Room is given back by auxtap_ring_data_consume().
 */
AUXTAP_API int auxtap_ring_data_next(struct auxtap_ring *ring, struct auxtap_span *span,
				     struct auxtap_error *err);
AUXTAP_API void auxtap_ring_data_consume(struct auxtap_ring *ring);

/* Linear mode: all unread AUX bytes (K1). consume() moves aux_tail behind them. */
AUXTAP_API bool auxtap_ring_aux_next(struct auxtap_ring *ring, struct auxtap_span *span);
AUXTAP_API void auxtap_ring_aux_consume(struct auxtap_ring *ring, const struct auxtap_span *span);

/*
 * Overwrite mode, writer stopped: the newest bytes of the area, oldest first, at most max
 * (0: all). Leading zero bytes are left out where the area never filled.
 */
AUXTAP_API void auxtap_ring_aux_snapshot(const struct auxtap_ring *ring, uint64_t max,
					 struct auxtap_span *span);
/* The same where it is known that nr bytes are there: exactly the newest nr (at most the area). */
AUXTAP_API void auxtap_ring_aux_newest(const struct auxtap_ring *ring, uint64_t nr,
				       struct auxtap_span *span);

#ifdef __cplusplus
}
#endif
#endif
