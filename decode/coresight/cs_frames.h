/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight frames: which trace IDs have bytes in them. OpenCSD skips a trace ID that has no
 * decoder without reporting it.
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
	uint8_t id; /* of the next data byte; CS_ID_NONE: not known */
	uint64_t nr_bytes[CS_NR_IDS];
	uint64_t first[CS_NR_IDS]; /* offset of the frame with its first byte */
	struct cs_sync_scan syncs[CS_NR_IDS];
};

void cs_frames_init(struct cs_frames *frames, enum cs_format format);
/* Takes the next bytes of the stream; not for CS_FORMAT_SOURCE. */
void cs_frames_add(struct cs_frames *frames, uint64_t off, const uint8_t *data, size_t size);
/* Whether it is an ID of a trace unit; the others are reserved. */
static inline bool cs_id_is_trace(unsigned int id)
{
	return id > 0 && id < 0x70;
}

/* A range of trace in a file, read in fragments that cs_tree_feed() can take. */
struct cs_bytes {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	void *ctx;
	enum cs_format format;
	uint64_t file_off, size; /* in the file */
	uint64_t at;		 /* how many of the size bytes were read */
	size_t chunk;		 /* maximum at a time; at least CS_DSTREAM_BLOCK */
	uint8_t *buf;		 /* chunk bytes, owned by the caller */
};

/*
 * Reads the next bytes into buf, without the footers of DSTREAM blocks. Returns their number, 0 at
 * the end, or negative errno. *off: their offset in the range, footers not counted. Bytes at the
 * end that are no whole frame are not read: 'at' stays below size.
 */
ssize_t cs_bytes_next(struct cs_bytes *bytes, uint64_t *off);
/* Converts such an offset to the offset with the footers counted. */
uint64_t cs_bytes_offset(enum cs_format format, uint64_t off);

#endif
