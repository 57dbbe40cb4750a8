/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight frames, as far as OpenCSD does not report them: whose bytes are in them. The library
 * skips a trace ID without a decoder and does not report it.
 */
#ifndef AUXTAP_CS_FRAMES_H
#define AUXTAP_CS_FRAMES_H

#include "cs_limits.h"
#include "cs_tree.h"

#include <sys/types.h>

struct cs_frames {
	enum cs_format format;
	uint8_t frame[CS_FRAME];
	unsigned int have;
	uint8_t id; /* CS_ID_NONE: none yet */
	uint64_t nr_bytes[CS_NR_IDS];
	uint64_t first[CS_NR_IDS]; /* offset of the frame with its first byte */
	struct cs_sync_scan syncs[CS_NR_IDS];
};

void cs_frames_init(struct cs_frames *frames, enum cs_format format);
/* Bytes in order; not for CS_FORMAT_SOURCE. */
void cs_frames_add(struct cs_frames *frames, uint64_t off, const uint8_t *data, size_t size);
/* An ID that trace can have, not one of those that the format keeps for itself. */
static inline bool cs_id_is_trace(unsigned int id)
{
	return id > 0 && id < 0x70;
}

/* A stretch of trace in a file, read in fragments that a tree takes. */
struct cs_bytes {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	void *ctx;
	enum cs_format format;
	uint64_t file_off, size; /* in the file */
	uint64_t at;		 /* of size, done with */
	size_t chunk;		 /* most bytes at a time; at least CS_DSTREAM_BLOCK */
	uint8_t *buf;		 /* chunk bytes; the caller's */
};

/*
 * The next bytes into buf: their number; 0 at the end; negative. *off: where in the stretch they
 * are, without a debugger's own bytes. Bytes at the end that are no whole frame are left in at.
 */
ssize_t cs_bytes_next(struct cs_bytes *bytes, uint64_t *off);
/* From there to where in the stretch it is with them. */
uint64_t cs_bytes_offset(enum cs_format format, uint64_t off);

#endif
