// SPDX-License-Identifier: BSD-2-Clause
/* A queue's trace bytes, read in chunks and cut at PSBs: see pt_stream.h. */
#include "pt_stream.h"
#include "pt_scan.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	     (64u << 10)
#define PSB_SIZE     16
#define PSB_PLUS_MAX 256 /* more than the few packets of a PSB+ need */

static const uint8_t psb[PSB_SIZE] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
				      2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

size_t pt_find_psb(const uint8_t *data, size_t size, size_t from)
{
	const uint8_t *at;
	size_t pos;

	if (from >= size)
		return size;
	at = memmem(data + from, size - from, psb, PSB_SIZE);
	if (!at)
		return size;
	/*
	 * The payload of the packet before the PSB may end with the PSB's byte pattern: the PSB is
	 * the last position that matches.
	 */
	pos = (size_t)(at - data);
	while (size - pos >= PSB_SIZE + 2 && !memcmp(data + pos + 2, psb, PSB_SIZE))
		pos += 2;
	return pos;
}

int pt_stream_add(struct pt_stream *stream, const struct trace_extent *extent)
{
	if (vector_grow(stream->extents, stream->nr_extents, stream->max_extents))
		return -ENOMEM;
	stream->extents[stream->nr_extents++] = *extent;
	return 0;
}

void pt_stream_release(struct pt_stream *stream)
{
	free(stream->mem);
	stream->mem = NULL;
	stream->mem_size = stream->begin = stream->end = 0;
}

void pt_stream_free(struct pt_stream *stream)
{
	pt_stream_release(stream);
	free(stream->extents);
	memset(stream, 0, sizeof(*stream));
}

static int make_space(struct pt_stream *stream, size_t need)
{
	size_t used = stream->end - stream->begin;

	if (stream->begin > PT_STREAM_HEADROOM &&
	    (stream->begin > stream->mem_size / 2 || stream->end + need > stream->mem_size)) {
		memmove(stream->mem + PT_STREAM_HEADROOM, stream->mem + stream->begin, used);
		stream->begin = PT_STREAM_HEADROOM;
		stream->end = stream->begin + used;
	}
	if (!stream->mem)
		stream->begin = stream->end = PT_STREAM_HEADROOM;
	return vector_grow_by(stream->mem, stream->end, need, stream->mem_size);
}

/* Appends bytes of the current extent and of those that join it. 1: done; 0: there are no more. */
static int read_more(struct pt_stream *stream)
{
	for (;;) {
		struct trace_extent *extent;
		size_t want = CHUNK;
		ssize_t got;
		int ret;

		if (stream->extent >= stream->nr_extents)
			return 0;
		extent = &stream->extents[stream->extent];
		if (stream->extent_pos >= extent->size) {
			if (stream->extent + 1 >= stream->nr_extents ||
			    stream->extents[stream->extent + 1].border != TRACE_JOINS)
				return 0;
			stream->extent++;
			stream->extent_pos = 0;
			continue;
		}
		if (want > extent->size - stream->extent_pos)
			want = extent->size - stream->extent_pos;
		ret = make_space(stream, want);
		if (ret)
			return ret;
		got = stream->pread(stream->ctx, stream->mem + stream->end, want,
				    extent->file_off + stream->extent_pos);
		if (got < 0)
			return (int)got;
		if (!got) {
			stream->short_read = true;
			extent->size = stream->extent_pos;
			continue;
		}
		stream->end += (size_t)got;
		stream->extent_pos += (uint64_t)got;
		stream->nr_bytes += (uint64_t)got;
		return 1;
	}
}

/*
 * Finds the first PSB at or after 'from', reading more bytes up to 'limit'. *found: its offset from
 * stream->begin; SIZE_MAX: there is none.
 */
static int seek_psb(struct pt_stream *stream, size_t from, size_t limit, size_t *found)
{
	int ret;

	for (;;) {
		size_t have = stream->end - stream->begin;
		size_t pos = have ? pt_find_psb(stream->mem + stream->begin, have, from) : have;

		/* with two more bytes, pt_find_psb() has seen the last position that matches */
		if (pos < have && have - pos >= PSB_SIZE + 2) {
			*found = pos;
			return 0;
		}
		if (pos >= have && have >= limit) {
			*found = SIZE_MAX;
			return 0;
		}
		if (pos == have && have > from + PSB_SIZE)
			from = have - PSB_SIZE - 1;
		ret = read_more(stream);
		if (ret < 0)
			return ret;
		if (!ret) {
			*found = pos < have ? pos : SIZE_MAX;
			return 0;
		}
	}
}

static void consume(struct pt_stream *stream, size_t nr)
{
	stream->begin += nr;
	stream->begin_off += nr;
}

static bool next_extent(struct pt_stream *stream, struct pt_segment *seg)
{
	if (stream->in_extents)
		stream->extent++;
	stream->in_extents = true;
	if (stream->extent >= stream->nr_extents)
		return false;
	stream->extent_pos = 0;
	stream->begin = stream->end = PT_STREAM_HEADROOM;
	stream->begin_off = stream->extents[stream->extent].off;
	seg->starts_extent = true;
	seg->extent = &stream->extents[stream->extent];
	return true;
}

/* The size without leading zeros: these are PADs, so nothing is lost if they are skipped. */
static uint64_t size_without_pads(const uint8_t *data, size_t size)
{
	size_t i = 0;

	while (i < size && !data[i])
		i++;
	return size - i;
}

int pt_stream_next(struct pt_stream *stream, struct pt_segment *seg)
{
	size_t found;
	int ret;

	memset(seg, 0, sizeof(*seg));
	if (!stream->in_extents && !next_extent(stream, seg))
		return 0;
	for (;;) {
		size_t have;

		ret = seek_psb(stream, 0, CHUNK, &found);
		if (ret)
			return ret;
		if (found != SIZE_MAX)
			break;
		have = stream->end - stream->begin;
		if (have > PSB_SIZE + 2 && have >= CHUNK) {
			/* keep the last bytes, which may be the start of a PSB */
			seg->nr_skipped +=
				size_without_pads(stream->mem + stream->begin, have - PSB_SIZE - 2);
			consume(stream, have - PSB_SIZE - 2);
			continue;
		}
		seg->nr_skipped += size_without_pads(stream->mem + stream->begin, have);
		if (seg->nr_skipped || seg->starts_extent) {
			/* report the extent's gap and its skipped bytes before the next extent */
			stream->begin = stream->end;
			stream->in_extents = true;
			seg->data = NULL;
			seg->off = stream->begin_off;
			if (seg->nr_skipped || seg->extent)
				goto empty;
		}
		if (!next_extent(stream, seg))
			return 0;
	}
	seg->nr_skipped += size_without_pads(stream->mem + stream->begin, found);
	consume(stream, found);
	ret = seek_psb(stream, PSB_SIZE, PT_STREAM_MAX_SEGMENT, &found);
	if (ret)
		return ret;
	seg->off = stream->begin_off;
	if (found == SIZE_MAX) {
		seg->size = stream->end - stream->begin;
		seg->total = seg->size;
		seg->too_long = seg->size >= PT_STREAM_MAX_SEGMENT;
	} else {
		size_t have;

		while (stream->end - stream->begin < found + PSB_PLUS_MAX) {
			ret = read_more(stream);
			if (ret < 0)
				return ret;
			if (!ret)
				break;
		}
		have = stream->end - stream->begin - found;
		seg->size = found;
		seg->total = found + pt_psb_plus_size(stream->mem + stream->begin + found,
						      have < PSB_PLUS_MAX ? have : PSB_PLUS_MAX);
	}
	seg->data = stream->mem + stream->begin;
	consume(stream, seg->size);
	return 1;
empty:
	/* Joined extents without a PSB become an empty segment, which has their gap. */
	seg->size = seg->total = 0;
	return 1;
}
