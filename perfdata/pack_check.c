// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks whether a packed file is complete: its first metadata record has the file's size and
 * checksum. A truncated file has lost its trailer, but is recognised by that record.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

struct pack_record {
	struct pd_metadata metadata;
	struct auxtap_pack_header head;
};

static bool is_pack_record(const struct pack_record *rec)
{
	return rec->metadata.type == AUXTAP_METADATA_PACK &&
	       rec->metadata.size == sizeof(rec->head) && rec->head.magic == PD_PACK_MAGIC;
}

int pd_pack_checksum(int (*read)(void *ctx, void *buf, size_t size, uint64_t off), void *ctx,
		     uint64_t size, uint64_t checksum_at, uint64_t *checksum)
{
	unsigned char *buf = malloc(CHUNK);
	uint64_t sum = 0xcbf29ce484222325ull, word;
	int ret = buf ? 0 : -ENOMEM;

	for (uint64_t at = 0; !ret && at < size; at += CHUNK) {
		size_t part = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

		memset(buf, 0, CHUNK);
		ret = read(ctx, buf, part, at);
		for (uint64_t i = 0; i < sizeof(*checksum); i++)
			if (checksum_at + i >= at && checksum_at + i < at + part)
				buf[checksum_at + i - at] = 0;
		for (size_t i = 0; i < part; i += sizeof(word)) {
			memcpy(&word, buf + i, sizeof(word));
			sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
			sum ^= sum >> 29;
		}
	}
	free(buf);
	*checksum = sum;
	return ret;
}

static int read_source(void *ctx, void *buf, size_t size, uint64_t off)
{
	return pd_source_read(ctx, buf, size, off);
}

/* Whether a file without a trailer has the record of a packed file after its data. */
static bool has_lost_trailer(const struct auxtap_perfdata *pd)
{
	uint64_t at = pd_align8(pd->info.data_off + pd->info.data_size);
	struct pack_record rec;

	if (at < pd->info.data_off)
		return false;
	for (; !pd_source_read(&pd->src, &rec, sizeof(rec), at); at += 8)
		if (is_pack_record(&rec))
			return true;
	return false;
}

static int damaged(const struct auxtap_perfdata *pd, struct auxtap_error *err, uint64_t at,
		   const char *why)
{
	auxtap_error_set_at(err, -EBADMSG, pd->path, at, "%s", why);
	auxtap_error_hint(err, "copy or pack it again");
	return -EBADMSG;
}

static int check(struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	uint64_t at = pd_metadata_begin(pd), size = pd->src.nr_files ? pd->src.files[0].size : 0;
	struct pack_record rec;
	uint64_t checksum;
	int ret;

	if (pd->info.form != AUXTAP_PERFDATA_FILE)
		return 0;
	if (!at)
		return has_lost_trailer(pd) ?
			       damaged(pd, err, size,
				       "this packed file is cut or its end is damaged") :
			       0;
	if (pd_source_read(&pd->src, &rec, sizeof(rec), at) || !is_pack_record(&rec))
		return 0;
	if (rec.head.version != PD_PACK_VERSION)
		return auxtap_error_set_at(err, -ENOTSUP, pd->path, at,
					   "unsupported pack format %u; this version reads %u",
					   rec.head.version, PD_PACK_VERSION);
	if (rec.head.file_size != size)
		return damaged(pd, err, size, "the size of this packed file has changed");
	at += sizeof(rec.metadata) + offsetof(struct auxtap_pack_header, checksum);
	ret = pd_pack_checksum(read_source, &pd->src, size, at, &checksum);
	if (ret)
		return auxtap_error_set(err, ret, pd->path, "cannot read it: %s", strerror(-ret));
	if (checksum != rec.head.checksum)
		return damaged(pd, err, at, "this packed file is damaged: its checksum differs");
	pd->pack_head = rec.head;
	return 1;
}

int auxtap_perfdata_packed(struct auxtap_perfdata *pd, struct auxtap_pack_header *head,
			   struct auxtap_error *err)
{
	if (!pd->pack_checked) {
		pd->pack_checked = true;
		pd->pack_state = check(pd, &pd->pack_err);
	}
	if (pd->pack_state < 0 && err)
		*err = pd->pack_err;
	if (pd->pack_state == 1 && head)
		*head = pd->pack_head;
	return pd->pack_state;
}
