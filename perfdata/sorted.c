// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records in time order: builds an index with 16 bytes for each record, then reads each record
 * again at its offset. Decompressed records are kept in an unlinked temporary file, since a zstd
 * stream can be read only from its start.
 */
#include "reader.h"
#include "util/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written before each record in the temporary file. */
struct spooled {
	uint64_t offset, decompressed_off;
};

/* A file with more output for each byte of compressed input is malicious, not a recording. */
#define SPOOL_RATIO 1024

static int spool_record(struct auxtap_perfdata *pd, const struct auxtap_record *rec, uint64_t *pos)
{
	struct spooled head = {rec->offset, rec->decompressed_off};

	if (pd->spool_fd < 0) {
		pd->spool_fd = pd_spool_file();
		if (pd->spool_fd < 0)
			return pd->spool_fd;
	}
	if (pd->spool_size / SPOOL_RATIO > pd->src.size)
		return -EFBIG;
	*pos = pd->spool_size | PD_SORTED_SPOOLED;
	if (pwrite(pd->spool_fd, &head, sizeof(head), (off_t)pd->spool_size) !=
		    (ssize_t)sizeof(head) ||
	    pwrite(pd->spool_fd, rec->header, rec->file_size,
		   (off_t)(pd->spool_size + sizeof(head))) != (ssize_t)rec->file_size)
		return -ENOSPC;
	pd->spool_size += sizeof(head) + rec->file_size;
	return 0;
}

static int add_to_index(struct auxtap_perfdata *pd, const struct auxtap_record *rec)
{
	struct pd_sorted *entry;
	uint64_t pos = rec->offset;
	int ret;

	if (vector_grow(pd->index, pd->nr_index, pd->max_index))
		return -ENOMEM;
	if (rec->decompressed) {
		ret = spool_record(pd, rec, &pos);
		if (ret)
			return ret;
	}
	entry = &pd->index[pd->nr_index++];
	entry->time = rec->fields & AUXTAP_REC_TIME ? rec->time : 0;
	entry->pos = pos;
	return 0;
}

/* Orders records by time, those of equal time by position in the file or the spool file. */
static int by_time(const void *a, const void *b)
{
	const struct pd_sorted *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static int build_index(struct auxtap_perfdata *pd)
{
	struct pd_cursor *cur = pd_cursor_new(pd, false);
	struct auxtap_record rec;
	int ret;

	if (!cur)
		return -ENOMEM;
	pd->nr_index = 0;
	pd->spool_size = 0;
	while ((ret = pd_cursor_next(cur, &rec, &pd->index_err)) > 0) {
		if (rec.header->type >= AUXTAP_RECORD_HEADER_ATTR)
			continue;
		ret = add_to_index(pd, &rec);
		if (ret == -ENOMEM)
			break;
		if (ret) {
			auxtap_error_set_at(&pd->index_err, ret, pd->path, rec.offset,
					    "records from offset %" PRIu64
					    " on cannot be kept decompressed: %s",
					    rec.offset, strerror(-ret));
			break;
		}
	}
	pd_cursor_free(cur);
	if (ret == -ENOMEM)
		return ret;
	pd->index_ret = ret < 0 ? ret : 0;
	if (pd->nr_index)
		qsort(pd->index, pd->nr_index, sizeof(*pd->index), by_time);
	pd->indexed = true;
	return 0;
}

/* Most records fit into the first read. */
#define FIRST_READ 512

static int read_again(struct auxtap_perfdata *pd, const struct pd_sorted *entry,
		      struct auxtap_record *rec)
{
	struct perf_event_header *header = (void *)pd->sorted_record;
	struct spooled head = {entry->pos, 0};
	ssize_t got;

	*rec = (struct auxtap_record){.size = sizeof(*rec)};
	if (entry->pos & PD_SORTED_SPOOLED) {
		off_t at = (off_t)(entry->pos & ~PD_SORTED_SPOOLED);

		if (pread(pd->spool_fd, &head, sizeof(head), at) != (ssize_t)sizeof(head))
			return -EIO;
		at += sizeof(head);
		got = pread(pd->spool_fd, header, FIRST_READ, at);
		if (got >= (ssize_t)sizeof(*header) && header->size > got)
			got = pread(pd->spool_fd, header, header->size, at);
		rec->decompressed = true;
	} else {
		got = pd_source_pread(&pd->src, header, FIRST_READ, entry->pos);
		if (got >= (ssize_t)sizeof(*header) && header->size > got)
			got = pd_source_pread(&pd->src, header, header->size, entry->pos);
	}
	if (got < (ssize_t)sizeof(*header) || header->size > got || header->size < sizeof(*header))
		return -EIO;
	rec->offset = head.offset;
	rec->decompressed_off = head.decompressed_off;
	rec->header = header;
	rec->file_size = header->size;
	pd_identify(pd, rec, rec->file_size);
	return 0;
}

int pd_sorted_next(struct auxtap_perfdata *pd, struct auxtap_record *rec, struct auxtap_error *err)
{
	const struct pd_sorted *entry;
	int ret;

	if (!pd->sorted_record) {
		pd->sorted_record = malloc(PD_RECORD_MAX);
		if (!pd->sorted_record)
			return auxtap_error_set(err, -ENOMEM, pd->path, "no memory for records");
	}
	if (!pd->indexed) {
		ret = build_index(pd);
		if (ret)
			return auxtap_error_set(err, ret, pd->path,
						"no memory for an index of its records");
	}
	if (pd->index_at >= pd->nr_index) {
		if (pd->index_at > pd->nr_index || !pd->index_ret)
			return 0;
		pd->index_at++; /* report it only once */
		if (err)
			*err = pd->index_err;
		return pd->index_ret;
	}
	entry = &pd->index[pd->index_at];
	ret = read_again(pd, entry, rec);
	if (ret)
		return auxtap_error_set_at(err, ret, pd->path, entry->pos,
					   "changed while it was read: offset %" PRIu64,
					   entry->pos);
	pd->index_at++;
	return 1;
}

void auxtap_perfdata_rewind_sorted(struct auxtap_perfdata *pd)
{
	pd->index_at = 0;
}
