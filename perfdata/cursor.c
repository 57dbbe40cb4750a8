// SPDX-License-Identifier: BSD-2-Clause
/*
 * One pass over the records in file order, with a window of bounded size. A compressed record is
 * returned first, then the records in it (cursor_zstd.c). The pass ends at the first damage.
 */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct pd_cursor *pd_cursor_new(struct auxtap_perfdata *pd, bool raw)
{
	struct pd_cursor *cur = calloc(1, sizeof(*cur));

	if (!cur)
		return NULL;
	cur->pd = pd;
	cur->raw = raw;
	cur->window = malloc(PD_WINDOW);
	if (!cur->window) {
		free(cur);
		return NULL;
	}
	return cur;
}

void pd_cursor_free(struct pd_cursor *cur)
{
	if (!cur)
		return;
	pd_zstd_free(cur);
	free(cur->window);
	free(cur);
}

void pd_cursor_rewind(struct pd_cursor *cur)
{
	cur->range = 0;
	cur->started = false;
	cur->damaged = 0;
	pd_zstd_reset(cur);
}

/* Returns size bytes at offset, in the window; NULL if the file does not have them. */
static const unsigned char *window_at(struct pd_cursor *cur, uint64_t offset, size_t size)
{
	ssize_t got;

	if (offset >= cur->window_off && offset - cur->window_off <= cur->window_size &&
	    size <= cur->window_size - (offset - cur->window_off))
		return cur->window + (offset - cur->window_off);
	got = pd_source_pread(&cur->pd->src, cur->window, PD_WINDOW, offset);
	cur->window_off = offset;
	cur->window_size = got > 0 ? (size_t)got : 0;
	return size <= cur->window_size ? cur->window : NULL;
}

static int set_damage(struct pd_cursor *cur, uint64_t offset, struct auxtap_error *err,
		      const char *fmt, ...) AUXTAP_PRINTF(4, 5);

static int set_damage(struct pd_cursor *cur, uint64_t offset, struct auxtap_error *err,
		      const char *fmt, ...)
{
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	auxtap_error_set_at(&cur->damage, -EBADMSG, cur->pd->path, offset, "%s", why);
	cur->damaged = -EBADMSG;
	if (err)
		*err = cur->damage;
	return -EBADMSG;
}

/* Sets how many bytes follow the record's header.size bytes, and where its trace is. */
static int set_trailing(struct pd_cursor *cur, struct auxtap_record *rec, uint32_t *size32,
			uint64_t *trailing, uint64_t end)
{
	uint32_t type = rec->header->type;

	*trailing = 0;
	if (type == AUXTAP_RECORD_AUXTRACE) {
		struct auxtap_auxtrace head;

		if (*size32 < sizeof(head))
			return -EBADMSG;
		memcpy(&head, rec->header, sizeof(head));
		rec->trace_off = cur->pos + *size32;
		rec->trace_size = head.size;
		if (rec->trace_size > end - rec->trace_off)
			rec->trace_size = end - rec->trace_off;
		*trailing = head.size;
	} else if (type == AUXTAP_RECORD_TRACING_DATA && *size32 == 12) {
		uint32_t bytes;

		memcpy(&bytes, rec->header + 1, sizeof(bytes));
		*trailing = pd_align8(bytes);
	}
	return 0;
}

/* Reads the record at cur->pos. Returns 1, or an error if it is damaged. */
static int read_record(struct pd_cursor *cur, const struct pd_range *range,
		       struct auxtap_record *rec, struct auxtap_error *err)
{
	struct perf_event_header header;
	uint64_t left = range->end - cur->pos, trailing;
	const unsigned char *p = window_at(cur, cur->pos, sizeof(header));
	uint32_t size32, size;

	if (!p || left < sizeof(header))
		return set_damage(cur, cur->pos, err,
				  "the file ends inside a record's header at offset %" PRIu64,
				  cur->pos);
	memcpy(&header, p, sizeof(header));
	size32 = header.size;
	if (header.type >= 32768) /* simpleperf: misc holds the upper half */
		size32 |= (uint32_t)header.misc << 16;
	if (size32 < sizeof(header))
		return set_damage(cur, cur->pos, err,
				  "a record of size %u (type %u) at offset %" PRIu64, size32,
				  header.type, cur->pos);
	if (size32 > left)
		return set_damage(cur, cur->pos, err,
				  "the last record (type %u) at offset %" PRIu64
				  " is incomplete: %u bytes, %" PRIu64 " there",
				  header.type, cur->pos, size32, left);
	size = size32 < PD_RECORD_MAX ? size32 : PD_RECORD_MAX - 8;
	p = window_at(cur, cur->pos, size);
	if (!p)
		return set_damage(cur, cur->pos, err, "cannot read %u bytes at offset %" PRIu64,
				  size, cur->pos);
	memcpy(cur->record, p, size);
	*rec = (struct auxtap_record){.size = sizeof(*rec)};
	rec->offset = cur->pos;
	rec->header = (const void *)cur->record;
	rec->file_size = size32;
	if (set_trailing(cur, rec, &size32, &trailing, range->end))
		return set_damage(cur, cur->pos, err,
				  "an AUXTRACE record of %u bytes at offset %" PRIu64
				  " is too short",
				  size32, cur->pos);
	pd_identify(cur->pd, rec, size);
	if (trailing > left - size32) {
		/* Return what the file has of it; the next call reports the damage. */
		set_damage(cur, cur->pos, NULL,
			   "the last record (%s) at offset %" PRIu64 " is incomplete: %" PRIu64
			   " bytes of data, %" PRIu64 " there",
			   auxtap_record_name(header.type), cur->pos, trailing, left - size32);
		return 1;
	}
	cur->pos += size32 + trailing;
	return 1;
}

static bool is_compressed(const struct auxtap_record *rec)
{
	return rec->header->type == AUXTAP_RECORD_COMPRESSED ||
	       rec->header->type == AUXTAP_RECORD_COMPRESSED2;
}

int pd_cursor_next(struct pd_cursor *cur, struct auxtap_record *rec, struct auxtap_error *err)
{
	const struct pd_range *range;
	struct auxtap_error found = AUXTAP_ERROR_INIT;
	int ret;

	if (cur->damaged) {
		if (err)
			*err = cur->damage;
		return cur->damaged;
	}
	ret = cur->raw ? 0 : pd_zstd_next(cur, rec, &found);
	if (ret)
		goto out;
	for (;;) {
		if (cur->range >= cur->pd->nr_ranges)
			return 0;
		range = &cur->pd->ranges[cur->range];
		if (!cur->started) {
			cur->pos = range->begin;
			cur->started = true;
			pd_zstd_reset(cur);
		}
		if (cur->pos < range->end)
			break;
		if (range->cut)
			return set_damage(cur, range->end, err,
					  "the file ends at offset %" PRIu64
					  ", its data should go on to %" PRIu64,
					  range->end,
					  cur->pd->info.data_off + cur->pd->info.data_size);
		if (pd_zstd_left(cur))
			return set_damage(cur, cur->zstd_record, err,
					  "the compressed data ends inside a record (%zu "
					  "bytes left over, "
					  "last compressed record at offset %" PRIu64 ")",
					  pd_zstd_left(cur), cur->zstd_record);
		cur->range++;
		cur->started = false;
	}
	ret = read_record(cur, range, rec, err);
	if (ret > 0 && !cur->raw && is_compressed(rec)) {
		ret = pd_zstd_feed(cur, rec, &found);
		if (!ret)
			return 1;
		/* The record itself is complete: return it; the next call reports the damage. */
		cur->damage = found;
		cur->damaged = ret;
		return 1;
	}
	return ret;
out:
	if (ret < 0) {
		cur->damage = found;
		cur->damaged = ret;
		if (err)
			*err = found;
	}
	return ret;
}
