// SPDX-License-Identifier: BSD-2-Clause
/* Reads sideband from a file of raw records, as copied from a perf data ring (--sideband). */
#include "sideband.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the sample_id trailer into rec. Returns its size; 0: the record is too short for it. */
static size_t read_sample_id(uint64_t type, const uint8_t *end, size_t avail,
			     struct auxtap_record *rec)
{
	static const uint64_t order[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					 PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					 PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
	size_t size = 0;

	for (size_t i = 0; i < 6; i++)
		size += type & order[i] ? 8 : 0;
	if (size > avail)
		return 0;
	end -= size;
	for (size_t i = 0; i < 6; i++) {
		if (!(type & order[i]))
			continue;
		if (order[i] == PERF_SAMPLE_TID) {
			memcpy(&rec->pid, end, 4);
			memcpy(&rec->tid, end + 4, 4);
			rec->fields |= AUXTAP_REC_PID_TID;
		} else if (order[i] == PERF_SAMPLE_TIME) {
			memcpy(&rec->time, end, 8);
			rec->fields |= AUXTAP_REC_TIME;
		} else if (order[i] == PERF_SAMPLE_CPU) {
			memcpy(&rec->cpu, end, 4);
			rec->fields |= AUXTAP_REC_CPU;
		}
		end += 8;
	}
	return size;
}

int sideband_each_raw(const char *path, uint64_t sample_type,
		      int (*fn)(void *ctx, const struct auxtap_record *rec), void *ctx,
		      struct auxtap_error *err)
{
	static const size_t max_record = 65536;
	uint64_t offset = 0;
	uint8_t *buf;
	size_t nr;
	FILE *file;
	int ret = 0;

	buf = malloc(max_record);
	if (!buf)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	file = fopen(path, "rbe");
	if (!file) {
		ret = auxtap_error_set(err, -errno, path, "cannot read the sideband: %s",
				       strerror(errno));
		goto out_buf;
	}
	while ((nr = fread(buf, 1, sizeof(struct perf_event_header), file))) {
		struct perf_event_header *header = (struct perf_event_header *)buf;
		struct auxtap_record rec = {.size = sizeof(rec),
					    .offset = offset,
					    .file_size = header->size,
					    .header = header};
		size_t body;

		if (nr < sizeof(*header)) {
			ret = auxtap_error_set_at(err, -EBADMSG, path, offset,
						  "cut off in the record at offset %llu",
						  (unsigned long long)offset);
			break;
		}
		if (header->size < sizeof(*header)) {
			ret = auxtap_error_set_at(err, -EBADMSG, path, offset,
						  "a record of %u bytes at offset %llu",
						  header->size, (unsigned long long)offset);
			break;
		}
		body = header->size - sizeof(*header);
		if (body && fread(header + 1, body, 1, file) != 1) {
			ret = auxtap_error_set_at(err, -EBADMSG, path, offset,
						  "cut off in the record at offset %llu",
						  (unsigned long long)offset);
			break;
		}
		offset += header->size;
		rec.body_size = (uint32_t)body;
		if (header->type < AUXTAP_RECORD_HEADER_ATTR)
			rec.body_size -= (uint32_t)read_sample_id(sample_type,
								  (uint8_t *)(header + 1) + body,
								  body, &rec);
		ret = fn(ctx, &rec);
		if (ret) {
			if (ret == -ENOMEM)
				auxtap_error_set(err, ret, path, "out of memory");
			break;
		}
	}
	if (!ret && ferror(file))
		ret = auxtap_error_set(err, -EIO, path, "cannot read the sideband");
	fclose(file);
out_buf:
	free(buf);
	return ret;
}

struct raw_reader {
	struct sideband *sb;
	int cpu;
};

static int add_record(void *ctx, const struct auxtap_record *rec)
{
	const struct raw_reader *raw_reader = ctx;
	struct auxtap_record copy = *rec;

	if (rec->header->type >= AUXTAP_RECORD_HEADER_ATTR)
		return 0; /* perf's own record types */
	if (!(rec->fields & AUXTAP_REC_CPU) && raw_reader->cpu >= 0) {
		copy.fields |= AUXTAP_REC_CPU;
		copy.cpu = (uint32_t)raw_reader->cpu;
	}
	return sideband_record(raw_reader->sb, &copy);
}

int sideband_read_raw(struct sideband *sb, const char *path, uint64_t sample_type, int cpu,
		      struct auxtap_error *err)
{
	struct raw_reader raw_reader = {sb, cpu};

	return sideband_each_raw(path, sample_type, add_record, &raw_reader, err);
}
