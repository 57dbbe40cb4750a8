/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a queue as a stream of bytes, cut into segments, each of which begins with a PSB and
 * can be decoded independently. A segment's bytes are followed by the PSB+ of the next segment,
 * whose FUP shows how far the flow went after the segment's last packet.
 */
#ifndef AUXTAP_PT_STREAM_H
#define AUXTAP_PT_STREAM_H

#include "decode/flow/flow_ops.h"
#include "decode/stream/trace_queue.h"

/* Bytes before segment.data that the flow decoder may write to. */
#define PT_STREAM_HEADROOM FLOW_HEADROOM
/* Hardware writes a PSB at least every 64 MiB; a segment is cut after fewer bytes. */
#define PT_STREAM_MAX_SEGMENT (32u << 20)

struct pt_stream {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	void *ctx;
	struct trace_extent *extents;
	size_t nr_extents, max_extents;
	/* reading */
	size_t extent;
	uint64_t extent_pos;
	uint8_t *mem; /* PT_STREAM_HEADROOM, then the buffer */
	size_t mem_size;
	size_t begin, end;  /* of what is buffered, in mem */
	uint64_t begin_off; /* stream offset of mem[begin] */
	bool in_extents, short_read;
	uint64_t nr_bytes; /* read so far */
};

struct pt_segment {
	uint8_t *data;
	size_t size;			   /* of the segment */
	size_t total;			   /* with the next PSB+ */
	uint64_t off;			   /* in the stream */
	bool starts_extent;		   /* of an extent that does not join the previous one */
	const struct trace_extent *extent; /* if so: this extent, with its gap */
	uint64_t nr_skipped;		   /* bytes before the PSB that belong to no segment */
	bool too_long;			   /* cut at PT_STREAM_MAX_SEGMENT */
};

int pt_stream_add(struct pt_stream *stream, const struct trace_extent *extent);
/*
 * 1: *seg is set, and valid until the next call; size 0: joined extents without a PSB, and 'extent'
 * has the gap before them. 0: the stream has ended; else negative errno.
 */
int pt_stream_next(struct pt_stream *stream, struct pt_segment *seg);
void pt_stream_free(struct pt_stream *stream);
void pt_stream_release(struct pt_stream *stream); /* frees only the buffer */
/* Offset of the first PSB at or after 'from'; size: there is none. */
size_t pt_find_psb(const uint8_t *data, size_t size, size_t from);

#endif
