/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a ring's reader; each stream of a session contains one. Rules: kernel-rules.md. */
#ifndef AUXTAP_CAPTURE_RING_PRIVATE_H
#define AUXTAP_CAPTURE_RING_PRIVATE_H

#include <auxtap/ring.h>

struct auxtap_ring {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t data_size; /* power of two, may be 0 (B16) */
	const unsigned char *aux;
	uint64_t aux_size;	/* power of two, 0: no AUX area */
	bool aux_overwrite;	/* AUX mapped without PROT_WRITE: snapshot */
	uint64_t data_prev_abs; /* the reader has read up to here */
	uint64_t data_next_abs; /* end of the last record from auxtap_ring_data_next() */
	uint64_t aux_prev_abs;
	uint64_t aux_overrun; /* bytes by which heads exceeded the size of the area */
};

/* As auxtap_ring_open(), but in memory of the caller; nothing needs to be freed. */
int ring_init(struct auxtap_ring *ring, void *page, size_t page_mapping_size, const void *aux,
	      size_t aux_size, bool aux_overwrite, struct auxtap_error *err);

#endif
