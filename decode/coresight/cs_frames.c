// SPDX-License-Identifier: BSD-2-Clause
/* See cs_frames.h. */
#include "cs_frames.h"

#include <errno.h>
#include <string.h>

#define FSYNC	     0x7fffffffu
#define HSYNC	     0x7fffu
#define DSTREAM_DATA (CS_DSTREAM_BLOCK - CS_DSTREAM_FOOTER)

void cs_frames_init(struct cs_frames *frames, enum cs_format format)
{
	memset(frames, 0, sizeof(*frames));
	frames->format = format;
	frames->id = CS_ID_NONE;
}

static void add_byte(struct cs_frames *frames, uint64_t off, unsigned int byte)
{
	if (frames->id >= CS_NR_IDS)
		return;
	cs_sync_scan(&frames->syncs[frames->id], (uint8_t)byte);
	if (!frames->nr_bytes[frames->id]++)
		frames->first[frames->id] = off;
}

/*
 * A frame has 16 bytes. An even byte is data, or with bit 0 set a new trace ID; an odd byte is
 * data. The last byte has one bit for each even byte: for data it is the data's bit 0, for an ID it
 * says that the next byte still belongs to the old ID.
 */
static void add_frame(struct cs_frames *frames, uint64_t off)
{
	const uint8_t *f = frames->frame;

	for (unsigned int i = 0; i < CS_FRAME; i += 2) {
		unsigned int low = f[CS_FRAME - 1] >> (i / 2) & 1;

		if (!(f[i] & 1)) {
			add_byte(frames, off, f[i] | low);
			if (i < CS_FRAME - 2)
				add_byte(frames, off, f[i + 1]);
			continue;
		}
		if (low && i < CS_FRAME - 2) {
			add_byte(frames, off, f[i + 1]);
			frames->id = f[i] >> 1;
			continue;
		}
		frames->id = f[i] >> 1;
		if (i < CS_FRAME - 2)
			add_byte(frames, off, f[i + 1]);
	}
}

static unsigned int read_u16(const uint8_t *data)
{
	return data[0] | (unsigned int)data[1] << 8;
}

static uint32_t read_u32(const uint8_t *data)
{
	return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
	       (uint32_t)data[3] << 24;
}

/* Whether it is the barrier packet, which a driver writes where its buffer lost bytes. */
static bool is_barrier(const uint8_t *frame)
{
	for (unsigned int i = 0; i < CS_FRAME; i += 4)
		if (read_u32(frame + i) != FSYNC)
			return false;
	return true;
}

void cs_frames_add(struct cs_frames *frames, uint64_t off, const uint8_t *data, size_t size)
{
	bool memory = frames->format == CS_FORMAT_FRAMES;
	size_t step = memory ? CS_FRAME : frames->format == CS_FORMAT_HSYNC ? 2 : 4;

	for (size_t at = 0; at + step <= size; at += step) {
		if (!memory && size - at >= 4 && read_u32(data + at) == FSYNC) {
			frames->have = 0;
			at += 4 - step;
			continue;
		}
		if (frames->format == CS_FORMAT_HSYNC && read_u16(data + at) == HSYNC)
			continue;
		memcpy(frames->frame + frames->have, data + at, step);
		frames->have += (unsigned int)step;
		if (frames->have < CS_FRAME)
			continue;
		frames->have = 0;
		if (memory && is_barrier(frames->frame))
			frames->id = CS_ID_NONE;
		else
			add_frame(frames, off + at + step - CS_FRAME);
	}
}

uint64_t cs_bytes_offset(enum cs_format format, uint64_t off)
{
	if (format != CS_FORMAT_DSTREAM)
		return off;
	return off / DSTREAM_DATA * CS_DSTREAM_BLOCK + off % DSTREAM_DATA;
}

ssize_t cs_bytes_next(struct cs_bytes *bytes, uint64_t *off)
{
	bool dstream = bytes->format == CS_FORMAT_DSTREAM;
	size_t grain = dstream ? CS_DSTREAM_BLOCK : cs_tree_granularity(bytes->format);
	size_t want = bytes->chunk - bytes->chunk % grain, kept = 0;
	ssize_t got;

	if (bytes->size - bytes->at < want)
		want = (size_t)(bytes->size - bytes->at);
	/* the last DSTREAM block may be short, with or without its footer */
	want -= dstream ? want % 4 : want % grain;
	if (!want)
		return 0;
	got = bytes->pread(bytes->ctx, bytes->buf, want, bytes->file_off + bytes->at);
	if (got != (ssize_t)want)
		return got < 0 ? got : -EBADMSG;
	*off = dstream ? bytes->at / CS_DSTREAM_BLOCK * DSTREAM_DATA : bytes->at;
	bytes->at += want;
	if (!dstream)
		return got;
	for (size_t from = 0; from < want; from += CS_DSTREAM_BLOCK) {
		size_t part = want - from < DSTREAM_DATA ? want - from : DSTREAM_DATA;

		memmove(bytes->buf + kept, bytes->buf + from, part);
		kept += part;
	}
	return (ssize_t)kept;
}
