// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decompresses COMPRESSED and COMPRESSED2 records. Together they are one zstd stream, so a record
 * may begin in one of them and end in another. Memory is bounded, as bytes are decompressed only
 * when they are read.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define OUT_SIZE (4 * PD_RECORD_MAX)

struct pd_zstd {
	ZSTD_DStream *stream;
	unsigned char in[PD_RECORD_MAX];
	size_t in_size, in_at;
	bool more; /* zstd may have more output although it has read all input */
	unsigned char *out;
	size_t out_at, out_size;
	uint64_t out_off; /* of out[0] in the stream of decompressed bytes */
};

static int zstd_new(struct pd_cursor *cur)
{
	struct pd_zstd *z = calloc(1, sizeof(*z));

	if (!z)
		return -ENOMEM;
	z->stream = ZSTD_createDStream();
	z->out = malloc(OUT_SIZE);
	if (!z->stream || !z->out) {
		ZSTD_freeDStream(z->stream);
		free(z->out);
		free(z);
		return -ENOMEM;
	}
	/* perf's compression levels need at most 8 MiB; a malicious frame may ask for 128 MiB. */
	ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, 25);
	cur->zstd = z;
	return 0;
}

void pd_zstd_reset(struct pd_cursor *cur)
{
	struct pd_zstd *z = cur->zstd;

	if (!z)
		return;
	ZSTD_DCtx_reset(z->stream, ZSTD_reset_session_only);
	z->in_size = z->in_at = z->out_at = z->out_size = 0;
	z->out_off = 0;
	z->more = false;
}

void pd_zstd_free(struct pd_cursor *cur)
{
	if (!cur->zstd)
		return;
	ZSTD_freeDStream(cur->zstd->stream);
	free(cur->zstd->out);
	free(cur->zstd);
	cur->zstd = NULL;
}

size_t pd_zstd_left(const struct pd_cursor *cur)
{
	return cur->zstd ? cur->zstd->out_size - cur->zstd->out_at : 0;
}

int pd_zstd_feed(struct pd_cursor *cur, const struct auxtap_record *rec, struct auxtap_error *err)
{
	const unsigned char *data = (const unsigned char *)(rec->header + 1);
	uint64_t size = rec->header->size - sizeof(*rec->header);
	struct pd_zstd *z;

	if (!cur->zstd && zstd_new(cur))
		return auxtap_error_set(err, -ENOMEM, cur->pd->path, "no memory to decompress");
	z = cur->zstd;
	if (rec->header->type == AUXTAP_RECORD_COMPRESSED2) {
		uint64_t data_size;

		if (size < sizeof(data_size))
			return auxtap_error_set_at(
				err, -EBADMSG, cur->pd->path, rec->offset,
				"a COMPRESSED2 record of %u bytes at offset %" PRIu64
				" is too short",
				rec->file_size, rec->offset);
		memcpy(&data_size, data, sizeof(data_size));
		data += sizeof(data_size);
		size -= sizeof(data_size);
		if (data_size > size)
			return auxtap_error_set_at(err, -EBADMSG, cur->pd->path, rec->offset,
						   "a COMPRESSED2 record at offset %" PRIu64
						   " says %" PRIu64 " bytes, has %" PRIu64,
						   rec->offset, data_size, size);
		size = data_size;
	}
	memcpy(z->in, data, size);
	z->in_size = size;
	z->in_at = 0;
	z->more = true;
	cur->zstd_record = rec->offset;
	return 0;
}

/* Decompresses more output. 1: there is some; 0: all input was read. */
static int decompress(struct pd_cursor *cur, struct auxtap_error *err)
{
	struct pd_zstd *z = cur->zstd;
	ZSTD_inBuffer in = {z->in, z->in_size, z->in_at};
	ZSTD_outBuffer out;
	size_t ret;

	if (z->out_at) {
		z->out_off += z->out_at;
		memmove(z->out, z->out + z->out_at, z->out_size - z->out_at);
		z->out_size -= z->out_at;
		z->out_at = 0;
	}
	while (z->in_at < z->in_size || z->more) {
		out.dst = z->out;
		out.size = OUT_SIZE;
		out.pos = z->out_size;
		in.pos = z->in_at;
		ret = ZSTD_decompressStream(z->stream, &out, &in);
		if (ZSTD_isError(ret))
			return auxtap_error_set_at(err, -EBADMSG, cur->pd->path, cur->zstd_record,
						   "the compressed record at offset %" PRIu64
						   " is damaged: %s",
						   cur->zstd_record, ZSTD_getErrorName(ret));
		/* zstd holds output back only if the output buffer is full. */
		z->more = out.pos == out.size;
		if (out.pos == z->out_size && in.pos == z->in_at) {
			z->more = false;
			z->in_at = z->in_size;
			return 0;
		}
		z->in_at = in.pos;
		if (out.pos > z->out_size) {
			z->out_size = out.pos;
			return 1;
		}
	}
	return 0;
}

int pd_zstd_next(struct pd_cursor *cur, struct auxtap_record *rec, struct auxtap_error *err)
{
	struct pd_zstd *z = cur->zstd;
	struct perf_event_header header;
	uint64_t at;
	int ret;

	if (!z)
		return 0;
	for (;;) {
		size_t left = z->out_size - z->out_at;

		if (left >= sizeof(header)) {
			memcpy(&header, z->out + z->out_at, sizeof(header));
			at = z->out_off + z->out_at;
			if (header.size < sizeof(header))
				return auxtap_error_set_at(
					err, -EBADMSG, cur->pd->path, cur->zstd_record,
					"a record of size %u (type %u) in the compressed "
					"record at "
					"offset %" PRIu64,
					header.size, header.type, cur->zstd_record);
			if (header.size <= left)
				break;
		}
		ret = decompress(cur, err);
		if (ret <= 0)
			return ret;
	}
	memcpy(cur->record, z->out + z->out_at, header.size);
	z->out_at += header.size;
	*rec = (struct auxtap_record){.size = sizeof(*rec)};
	rec->offset = cur->zstd_record;
	rec->decompressed_off = at;
	rec->decompressed = true;
	rec->header = (const void *)cur->record;
	rec->file_size = header.size;
	pd_identify(cur->pd, rec, header.size);
	return 1;
}
