// SPDX-License-Identifier: BSD-2-Clause
/* Reads auxtap's metadata at the end of a file, after checking its trailer. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t pd_metadata_begin(const struct auxtap_perfdata *pd)
{
	uint64_t size = pd->src.nr_files ? pd->src.files[0].size : 0, end;
	struct pd_metadata_trailer trailer;

	if (pd->info.form == AUXTAP_PERFDATA_PIPE || size < PD_HEADER_SIZE + sizeof(trailer))
		return 0;
	end = size - sizeof(trailer);
	if (pd_source_read(&pd->src, &trailer, sizeof(trailer), end) ||
	    trailer.magic != PD_METADATA_MAGIC || trailer.offset < PD_HEADER_SIZE ||
	    trailer.offset > end || trailer.size != end - trailer.offset)
		return 0;
	return trailer.offset;
}

int auxtap_perfdata_metadata(struct auxtap_perfdata *pd,
			     int (*fn)(void *ctx, uint32_t type, const void *data, size_t size),
			     void *ctx, struct auxtap_error *err)
{
	uint64_t size = pd->src.nr_files ? pd->src.files[0].size : 0, at, end, nr = 0;
	struct pd_metadata_trailer trailer;
	int ret = auxtap_perfdata_packed(pd, NULL, err);

	if (ret < 0)
		return ret;
	ret = 0;
	if (pd->info.form == AUXTAP_PERFDATA_PIPE || size < PD_HEADER_SIZE + sizeof(trailer))
		return 0;
	end = size - sizeof(trailer);
	if (pd_source_read(&pd->src, &trailer, sizeof(trailer), end) ||
	    trailer.magic != PD_METADATA_MAGIC)
		return 0;
	if (trailer.offset < PD_HEADER_SIZE || trailer.offset > end ||
	    trailer.size != end - trailer.offset)
		return auxtap_error_set_at(err, -EBADMSG, pd->path, end,
					   "the metadata trailer at offset %" PRIu64
					   " does not lead to them",
					   end);
	for (at = trailer.offset; at < end && !ret; nr++) {
		struct pd_metadata record;
		void *data;

		if (end - at < sizeof(record) ||
		    pd_source_read(&pd->src, &record, sizeof(record), at) ||
		    record.size > end - at - sizeof(record))
			return auxtap_error_set_at(err, -EBADMSG, pd->path, at,
						   "the metadata at offset %" PRIu64 " is damaged",
						   at);
		data = malloc(record.size + 1);
		if (!data)
			return auxtap_error_set(err, -ENOMEM, pd->path, "no memory for metadata");
		ret = pd_source_read(&pd->src, data, record.size, at + sizeof(record));
		if (ret) {
			auxtap_error_set_at(err, ret, pd->path, at,
					    "the metadata at offset %" PRIu64 " cannot be read",
					    at);
		} else {
			((char *)data)[record.size] = '\0'; /* fn can use text without a copy */
			ret = fn(ctx, record.type, data, record.size);
		}
		free(data);
		at += sizeof(record) + pd_align8(record.size);
	}
	if (!ret && nr != trailer.nr)
		return auxtap_error_set_at(err, -EBADMSG, pd->path, end,
					   "the trailer at offset %" PRIu64 " counts %" PRIu64
					   " metadata records, and there are %" PRIu64,
					   end, trailer.nr, nr);
	return ret;
}
