// SPDX-License-Identifier: BSD-2-Clause
/*
 * The perf.data writer: file, records, commits; writer_features.c writes what follows the data.
 *
 *	header | attributes | space for their ids | data | features | metadata
 *
 * After each commit the file is one that stock perf reads: if the writer is killed, only records
 * after the last commit are lost.
 */
#include "writer.h"
#include "sample_id.h"
#include "util/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUF_SIZE (1u << 20)
/* More bytes than this are written directly, which costs less than copying them to the buffer. */
#define COPY_MAX (32u << 10)

/* ---- bytes ---- */

static bool blob_reserve(struct pd_blob *blob, size_t size)
{
	if (!blob->failed && vector_grow_by(blob->data, blob->size, size, blob->capacity))
		blob->failed = true;
	return !blob->failed;
}

void pd_blob_append(struct pd_blob *blob, const void *data, size_t size)
{
	if (!size || !blob_reserve(blob, size))
		return;
	memcpy(blob->data + blob->size, data, size);
	blob->size += size;
}

void pd_blob_zeros(struct pd_blob *blob, size_t size)
{
	if (!size || !blob_reserve(blob, size))
		return;
	memset(blob->data + blob->size, 0, size);
	blob->size += size;
}

void pd_blob_free(struct pd_blob *blob)
{
	free(blob->data);
	memset(blob, 0, sizeof(*blob));
}

/* ---- the file ---- */

/* If there is no space: adds the hint what is kept and what to do. */
static void add_hint_kept(const struct auxtap_perfdata_writer *w, int code,
			  struct auxtap_error *err)
{
	const char *advice = code == -EFBIG ? "raise the limit of file sizes (ulimit -f)" :
					      "free some space, or write elsewhere with -o";

	if (code != -ENOSPC && code != -EDQUOT && code != -EFBIG)
		return;
	if (!w->regular)
		auxtap_error_hint(err, "%s", advice);
	else if (w->committed > w->data_off)
		auxtap_error_hint(err, "trace up to offset 0x%llx is kept; %s",
				  (unsigned long long)w->committed, advice);
	else
		auxtap_error_hint(err, "nothing is kept; %s", advice);
}

static int write_failed(struct auxtap_perfdata_writer *w, int code, uint64_t offset,
			struct auxtap_error *err)
{
	w->failed = code;
	snprintf(w->what_failed, sizeof(w->what_failed), "cannot write at offset %llu: %s",
		 (unsigned long long)offset, strerror(-code));
	auxtap_error_set_at(err, code, w->path, offset, "%s", w->what_failed);
	add_hint_kept(w, code, err);
	return code;
}

static int failed_before(const struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	auxtap_error_set(err, w->failed, w->path, "%s", w->what_failed);
	add_hint_kept(w, w->failed, err);
	return w->failed;
}

static int pwritev_all(struct auxtap_perfdata_writer *w, struct iovec *iov, int nr, uint64_t offset,
		       struct auxtap_error *err)
{
	while (nr) {
		ssize_t done;

		if (!iov->iov_len) {
			iov++;
			nr--;
			continue;
		}
		done = pwritev(w->fd, iov, nr, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return write_failed(w, done ? -errno : -EIO, offset, err);
		offset += (uint64_t)done;
		while (nr && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			nr--;
		}
		if (nr) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return 0;
}

int pd_writer_pwrite(struct auxtap_perfdata_writer *w, const void *data, size_t size,
		     uint64_t offset, struct auxtap_error *err)
{
	struct iovec iov = {(void *)data, size};

	return pwritev_all(w, &iov, 1, offset, err);
}

static int flush(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	int ret;

	if (w->failed)
		return failed_before(w, err);
	ret = pd_writer_pwrite(w, w->buf, w->buf_used, w->flushed, err);
	if (ret)
		return ret;
	w->flushed += w->buf_used;
	w->buf_used = 0;
	return 0;
}

static const unsigned char padding[8];

/* Appends up to four parts to the data; pad: also zeros up to a multiple of 8. */
static int append(struct auxtap_perfdata_writer *w, const struct iovec *parts, int nr, bool pad,
		  struct auxtap_error *err)
{
	struct iovec iov[6];
	size_t total = 0;
	int i, used, ret;

	if (w->failed)
		return failed_before(w, err);
	iov[0].iov_base = w->buf;
	iov[0].iov_len = w->buf_used;
	for (i = 0; i < nr; i++) {
		iov[i + 1] = parts[i];
		total += parts[i].iov_len;
	}
	used = nr + 1;
	if (pad && total % 8) {
		iov[used].iov_base = (void *)padding;
		iov[used++].iov_len = 8 - total % 8;
		total += 8 - total % 8;
	}
	if (total <= COPY_MAX && total <= BUF_SIZE - w->buf_used) {
		for (i = 1; i < used; i++) {
			if (iov[i].iov_len)
				memcpy(w->buf + w->buf_used, iov[i].iov_base, iov[i].iov_len);
			w->buf_used += iov[i].iov_len;
		}
	} else {
		size_t all = w->buf_used + total;

		ret = pwritev_all(w, iov, used, w->flushed, err);
		if (ret)
			return ret;
		w->flushed += all;
		w->buf_used = 0;
	}
	w->end += total;
	return 0;
}

void pd_writer_header(const struct auxtap_perfdata_writer *w, struct pd_file_header *header)
{
	memset(header, 0, sizeof(*header));
	header->magic = PD_MAGIC_V2;
	header->size = PD_HEADER_SIZE;
	header->attr_size = w->attr_bytes + sizeof(struct pd_section);
	header->attrs.offset = PD_HEADER_SIZE;
	header->attrs.size = header->attr_size * w->nr_attrs;
	header->data.offset = w->data_off;
	header->data.size = w->committed - w->data_off;
}

/* ---- attributes ---- */

/* Old perf reads attributes of 128 bytes (Linux 5.13); only newer fields need a larger one. */
static uint32_t attr_bytes_needed(const struct perf_event_attr *attr)
{
	const unsigned char *p = (const void *)attr;

	for (size_t i = 128; i < sizeof(*attr); i++)
		if (p[i])
			return sizeof(*attr);
	return 128;
}

static void append_attr(struct auxtap_perfdata_writer *w, struct pd_blob *out, unsigned int i,
			uint64_t ids_at, uint64_t nr_ids)
{
	struct perf_event_attr attr = w->attrs[i].attr;
	struct pd_section ids = {ids_at, nr_ids * 8};

	attr.size = w->attr_bytes;
	pd_blob_append(out, &attr, w->attr_bytes);
	pd_blob_append(out, &ids, sizeof(ids));
}

bool pd_writer_ids_fit(const struct auxtap_perfdata_writer *w)
{
	for (unsigned int i = 0; i < w->nr_attrs; i++)
		if (w->attrs[i].ids.size > PD_IDS_RESERVED * 8)
			return false;
	return true;
}

int pd_writer_front_attrs(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	struct pd_blob section = {0};
	int ret = 0;

	for (unsigned int i = 0; i < w->nr_attrs && !ret; i++) {
		struct pd_blob *ids = &w->attrs[i].ids;
		uint64_t at = w->ids_off + (uint64_t)i * PD_IDS_RESERVED * 8;
		size_t size = ids->size < PD_IDS_RESERVED * 8 ? ids->size : PD_IDS_RESERVED * 8;

		ret = pd_writer_pwrite(w, ids->data, size, at, err);
		append_attr(w, &section, i, at, size / 8);
	}
	if (!ret && section.failed)
		ret = auxtap_error_set(err, -ENOMEM, w->path, "no memory for attributes");
	if (!ret)
		ret = pd_writer_pwrite(w, section.data, section.size, PD_HEADER_SIZE, err);
	if (!ret)
		w->ids_dirty = false;
	pd_blob_free(&section);
	return ret;
}

void pd_writer_attr_section(struct auxtap_perfdata_writer *w, struct pd_blob *out, uint64_t at)
{
	uint64_t ids_at = at + (uint64_t)w->nr_attrs * (w->attr_bytes + sizeof(struct pd_section));
	uint64_t next = ids_at;

	for (unsigned int i = 0; i < w->nr_attrs; i++) {
		append_attr(w, out, i, next, w->attrs[i].ids.size / 8);
		next += w->attrs[i].ids.size;
	}
	for (unsigned int i = 0; i < w->nr_attrs; i++)
		pd_blob_append(out, w->attrs[i].ids.data, w->attrs[i].ids.size);
}

int auxtap_perfdata_writer_add_attr(struct auxtap_perfdata_writer *w,
				    const struct perf_event_attr *attr, const char *name)
{
	struct pd_writer_attr *added;
	uint32_t bytes = attr_bytes_needed(attr);
	char *copy;

	if (w->begun)
		return -EBUSY;
	if (vector_grow(w->attrs, w->nr_attrs, w->max_attrs))
		return -ENOMEM;
	copy = strdup(name ? name : "");
	if (!copy)
		return -ENOMEM;
	added = &w->attrs[w->nr_attrs];
	memset(added, 0, sizeof(*added));
	added->attr = *attr;
	added->name = copy;
	if (bytes > w->attr_bytes)
		w->attr_bytes = bytes;
	return (int)w->nr_attrs++;
}

int auxtap_perfdata_writer_add_id(struct auxtap_perfdata_writer *w, int attr_index, uint64_t id)
{
	if (attr_index < 0 || (unsigned int)attr_index >= w->nr_attrs)
		return -EINVAL;
	pd_blob_append(&w->attrs[attr_index].ids, &id, sizeof(id));
	w->ids_dirty = true;
	return w->attrs[attr_index].ids.failed ? -ENOMEM : 0;
}

/* ---- create, begin ---- */

/* Renames the old file to old_path and tmp to path; restores the old file on failure. */
static int rename_to_path(struct auxtap_perfdata_writer *w, const char *tmp,
			  struct auxtap_error *err)
{
	if (!rename(w->path, w->old_path)) {
		w->had_old = true;
	} else if (errno != ENOENT) {
		return auxtap_error_set(err, -errno, w->path, "cannot be kept as %s: %s",
					w->old_path, strerror(errno));
	}
	if (rename(tmp, w->path)) {
		int code = -errno;

		if (w->had_old && !rename(w->old_path, w->path))
			w->had_old = false;
		return auxtap_error_set(err, code, w->path, "cannot create: %s", strerror(-code));
	}
	return 0;
}

static int create_regular(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	char *tmp;
	int ret;

	if (asprintf(&w->old_path, "%s.old", w->path) < 0) {
		w->old_path = NULL;
		return auxtap_error_set(err, -ENOMEM, w->path, "no memory");
	}
	if (asprintf(&tmp, "%s.XXXXXX", w->path) < 0)
		return auxtap_error_set(err, -ENOMEM, w->path, "no memory");
	w->fd = mkostemp(tmp, O_CLOEXEC); /* O_EXCL, mode 0600 */
	if (w->fd < 0) {
		ret = auxtap_error_set(err, -errno, w->path, "cannot create: %s", strerror(errno));
		auxtap_error_hint(err, "name another file with -o");
		goto out;
	}
	ret = rename_to_path(w, tmp, err);
	if (ret)
		unlink(tmp);
	w->regular = !ret;
out:
	free(tmp);
	return ret;
}

int auxtap_perfdata_writer_create(struct auxtap_perfdata_writer **wp, const char *path,
				  struct auxtap_error *err)
{
	struct auxtap_perfdata_writer *w = calloc(1, sizeof(*w));
	struct stat st;
	int ret;

	*wp = NULL;
	if (!w)
		return auxtap_error_set(err, -ENOMEM, path, "no memory");
	w->fd = -1;
	w->time_first = UINT64_MAX;
	w->path = strdup(path);
	w->buf = malloc(BUF_SIZE);
	if (!w->path || !w->buf) {
		ret = auxtap_error_set(err, -ENOMEM, path, "no memory");
		goto fail;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)) {
			ret = auxtap_error_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE, path,
					       "is a %s, not a file",
					       S_ISDIR(st.st_mode) ? "directory" :
								     "pipe or socket");
			auxtap_error_hint(err, "name a file with -o");
			goto fail;
		}
		w->fd = open(path, O_WRONLY | O_CLOEXEC);
		ret = w->fd < 0 ? auxtap_error_set(err, -errno, path, "cannot open: %s",
						   strerror(errno)) :
				  0;
	} else {
		ret = create_regular(w, err);
	}
	if (ret)
		goto fail;
	*wp = w;
	return 0;
fail:
	auxtap_perfdata_writer_abort(w);
	return ret;
}

int auxtap_perfdata_writer_begin(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	struct pd_file_header header;
	uint64_t size;
	int ret;

	if (w->begun || !w->nr_attrs)
		return auxtap_error_set(err, -EINVAL, w->path, "begin needs attributes, once");
	w->ids_off = PD_HEADER_SIZE +
		     (uint64_t)w->nr_attrs * (w->attr_bytes + sizeof(struct pd_section));
	size = w->ids_off + (uint64_t)w->nr_attrs * PD_IDS_RESERVED * 8;
	w->data_off = (size + 4095) & ~4095ULL; /* unused space for ids is a hole in the file */
	w->end = w->flushed = w->committed = w->data_off;
	pd_writer_header(w, &header);
	ret = pd_writer_front_attrs(w, err);
	if (!ret && w->regular && ftruncate(w->fd, (off_t)w->data_off))
		ret = write_failed(w, -errno, w->data_off, err);
	if (!ret)
		ret = pd_writer_pwrite(w, &header, sizeof(header), 0, err);
	w->begun = !ret;
	return ret;
}

/* ---- records ---- */

static const struct perf_event_attr *attr_for_times(const struct auxtap_perfdata_writer *w)
{
	const struct perf_event_attr *attr = &w->attrs[0].attr;

	/* If layouts differ, it is not known here which one a record has. */
	for (unsigned int i = 1; i < w->nr_attrs; i++)
		if (w->attrs[i].attr.sample_type != attr->sample_type ||
		    w->attrs[i].attr.sample_id_all != attr->sample_id_all)
			return NULL;
	return attr;
}

static void note_time(struct auxtap_perfdata_writer *w, uint32_t type, const void *part1,
		      size_t size1, const void *part2, size_t size2)
{
	const struct perf_event_attr *attr = attr_for_times(w);
	unsigned char trailer[64];
	struct pd_sample_id sid;
	size_t want;

	if (!attr || type >= AUXTAP_RECORD_HEADER_ATTR || type == PERF_RECORD_SAMPLE)
		return;
	want = pd_trailer_size(attr);
	if (!want || want > size1 + size2 - sizeof(struct perf_event_header))
		return;
	if (want <= size2) {
		memcpy(trailer, (const char *)part2 + size2 - want, want);
	} else {
		memcpy(trailer, (const char *)part1 + size1 - (want - size2), want - size2);
		if (size2)
			memcpy(trailer + want - size2, part2, size2);
	}
	pd_sample_id_parse(attr, type, trailer, (uint32_t)want, &sid);
	if (!(sid.fields & AUXTAP_REC_TIME) || !sid.time)
		return;
	if (sid.time < w->time_first)
		w->time_first = sid.time;
	if (sid.time > w->time_last)
		w->time_last = sid.time;
}

static int out_of_order(const struct auxtap_perfdata_writer *w, const char *what,
			struct auxtap_error *err)
{
	if (w->failed)
		return failed_before(w, err);
	return auxtap_error_set(err, -EINVAL, w->path, "%s %s", what,
				w->begun ? "inside an unfinished auxtrace, or past its end" :
					   "before begin");
}

int auxtap_perfdata_writer_record(struct auxtap_perfdata_writer *w, const void *part1, size_t size1,
				  const void *part2, size_t size2, struct auxtap_error *err)
{
	struct iovec parts[2] = {{(void *)part1, size1}, {(void *)part2, size2}};
	struct perf_event_header header;
	size_t first = size1 < sizeof(header) ? size1 : sizeof(header);

	if (w->failed)
		return failed_before(w, err);
	if (!w->begun || w->auxtrace_left)
		return out_of_order(w, "a record", err);
	if (size1 + size2 < sizeof(header))
		return auxtap_error_set(err, -EINVAL, w->path, "a record is too short");
	if (first)
		memcpy(&header, part1, first);
	if (first < sizeof(header))
		memcpy((char *)&header + first, part2, sizeof(header) - first);
	if (header.size != size1 + size2)
		return auxtap_error_set(
			err, -EINVAL, w->path,
			"a record of type %u has size %u, but %zu bytes were passed", header.type,
			header.size, size1 + size2);
	note_time(w, header.type, part1, size1, part2, size2);
	return append(w, parts, 2, false, err);
}

static void complete_auxtrace(struct auxtap_perfdata_writer *w, const struct auxtap_auxtrace *head,
			      uint64_t nr_bytes, struct auxtap_auxtrace *full)
{
	*full = *head;
	full->header.type = AUXTAP_RECORD_AUXTRACE;
	full->header.misc = 0;
	full->header.size = sizeof(*full);
	full->size = pd_align8(nr_bytes);
	full->reserved = 0;
	w->auxtrace_at = w->end;
}

static void index_auxtrace(struct auxtap_perfdata_writer *w)
{
	struct pd_auxtrace_entry entry = {w->auxtrace_at, sizeof(struct auxtap_auxtrace)};

	pd_blob_append(&w->auxtraces, &entry, sizeof(entry));
}

int auxtap_perfdata_writer_auxtrace(struct auxtap_perfdata_writer *w,
				    const struct auxtap_auxtrace *head, const void *part1,
				    size_t size1, const void *part2, size_t size2,
				    struct auxtap_error *err)
{
	struct auxtap_auxtrace full;
	struct iovec parts[3] = {{&full, sizeof(full)},
				 {(void *)part1, size1},
				 {(void *)part2, size2}};
	int ret;

	if (!w->begun || w->auxtrace_left)
		return out_of_order(w, "auxtrace", err);
	complete_auxtrace(w, head, size1 + size2, &full);
	ret = append(w, parts, 3, true, err);
	if (!ret)
		index_auxtrace(w);
	return ret;
}

int auxtap_perfdata_writer_auxtrace_begin(struct auxtap_perfdata_writer *w,
					  const struct auxtap_auxtrace *head, uint64_t nr_bytes,
					  struct auxtap_error *err)
{
	struct auxtap_auxtrace full;
	struct iovec part = {&full, sizeof(full)};
	int ret;

	if (!w->begun || w->auxtrace_left)
		return out_of_order(w, "auxtrace", err);
	complete_auxtrace(w, head, nr_bytes, &full);
	ret = append(w, &part, 1, false, err);
	if (ret)
		return ret;
	w->auxtrace_left = nr_bytes;
	w->auxtrace_pad = (unsigned int)(pd_align8(nr_bytes) - nr_bytes);
	if (!nr_bytes)
		index_auxtrace(w);
	return 0;
}

int auxtap_perfdata_writer_auxtrace_bytes(struct auxtap_perfdata_writer *w, const void *bytes,
					  size_t size, struct auxtap_error *err)
{
	struct iovec parts[2] = {{(void *)bytes, size}, {(void *)padding, 0}};
	int ret;

	if (size > w->auxtrace_left)
		return out_of_order(w, "bytes of an auxtrace", err);
	if (!size)
		return 0;
	if (size == w->auxtrace_left)
		parts[1].iov_len = w->auxtrace_pad;
	ret = append(w, parts, 2, false, err);
	if (ret)
		return ret;
	w->auxtrace_left -= size;
	if (!w->auxtrace_left)
		index_auxtrace(w);
	return 0;
}

int auxtap_perfdata_writer_auxtrace_info(struct auxtap_perfdata_writer *w, uint32_t type,
					 const uint64_t *priv, size_t nr_priv,
					 struct auxtap_error *err)
{
	struct {
		struct perf_event_header header;
		uint32_t type;
		uint32_t reserved;
	} info = {.header.type = AUXTAP_RECORD_AUXTRACE_INFO, .type = type};
	struct iovec parts[2] = {{&info, sizeof(info)}, {(void *)priv, nr_priv * 8}};

	if (!w->begun || w->auxtrace_left)
		return out_of_order(w, "auxtrace info", err);
	if (nr_priv > (UINT16_MAX - sizeof(info)) / 8)
		return auxtap_error_set(err, -EINVAL, w->path, "auxtrace info of %zu words",
					nr_priv);
	info.header.size = (uint16_t)(sizeof(info) + nr_priv * 8);
	return append(w, parts, 2, false, err);
}

/* Writes the records before the size in the header: a kill in between hides only the new ones. */
static int commit(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	uint64_t size;
	int ret;

	ret = flush(w, err);
	if (ret)
		return ret;
	if (w->ids_dirty) {
		ret = pd_writer_front_attrs(w, err);
		if (ret)
			return ret;
	}
	size = w->flushed - w->data_off;
	ret = pd_writer_pwrite(w, &size, sizeof(size), offsetof(struct pd_file_header, data.size),
			       err);
	if (ret)
		return ret;
	w->committed = w->flushed;
	return 0;
}

int auxtap_perfdata_writer_round(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	struct perf_event_header round = {.type = AUXTAP_RECORD_FINISHED_ROUND,
					  .size = sizeof(round)};
	struct iovec part = {&round, sizeof(round)};
	int ret;

	if (!w->begun || w->auxtrace_left)
		return out_of_order(w, "round", err);
	ret = append(w, &part, 1, false, err);
	return ret ? ret : commit(w, err);
}

int auxtap_perfdata_writer_metadata(struct auxtap_perfdata_writer *w, uint32_t type,
				    const void *data, size_t size)
{
	struct pd_metadata head = {.type = type, .size = size};

	pd_blob_append(&w->metadata, &head, sizeof(head));
	pd_blob_append(&w->metadata, data, size);
	pd_blob_zeros(&w->metadata, pd_align8(size) - size);
	if (w->metadata.failed)
		return -ENOMEM;
	w->nr_metadata++;
	return 0;
}

uint64_t auxtap_perfdata_writer_size(const struct auxtap_perfdata_writer *w)
{
	return w->end;
}

/* ---- finish, abort ---- */

static void writer_free(struct auxtap_perfdata_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	for (unsigned int i = 0; i < w->nr_attrs; i++) {
		free(w->attrs[i].name);
		pd_blob_free(&w->attrs[i].ids);
	}
	pd_blob_free(&w->auxtraces);
	pd_blob_free(&w->build_ids);
	pd_blob_free(&w->cmdline);
	pd_blob_free(&w->metadata);
	free(w->attrs);
	free(w->buf);
	free(w->path);
	free(w->old_path);
	free(w);
}

/* After a failed write: truncates the file to the last commit, to make space for the features. */
static void truncate_to_commit(struct auxtap_perfdata_writer *w)
{
	size_t keep = 0;
	const struct pd_auxtrace_entry *entries = (const void *)w->auxtraces.data;

	w->failed = 0;
	w->buf_used = 0;
	w->auxtrace_left = 0;
	w->end = w->flushed = w->committed;
	while (keep < w->auxtraces.size / sizeof(*entries) && entries[keep].offset < w->end)
		keep++;
	w->auxtraces.size = keep * sizeof(*entries);
	if (w->regular && ftruncate(w->fd, (off_t)w->committed))
		w->failed = -errno;
}

bool auxtap_perfdata_writer_cut(struct auxtap_perfdata_writer *w)
{
	if (!w->begun || !w->regular || w->committed == w->data_off)
		return false;
	truncate_to_commit(w);
	return !w->failed;
}

int auxtap_perfdata_writer_finish(struct auxtap_perfdata_writer *w, struct auxtap_error *err)
{
	struct pd_file_header header;
	int ret, first;

	if (!w->begun) {
		ret = auxtap_error_set(err, -EINVAL, w->path, "finish before begin");
		goto out;
	}
	if (w->failed || w->auxtrace_left)
		first = out_of_order(w, "the end", err);
	else
		first = commit(w, err);
	if (first)
		truncate_to_commit(w);
	ret = pd_writer_tail(w, &header, first ? NULL : err);
	if (!ret)
		ret = pd_writer_pwrite(w, &header, sizeof(header), 0, first ? NULL : err);
	if (first)
		ret = first;
out:
	/* Without any commit the file has nothing that a reader could use. */
	if (ret && w->begun && w->committed == w->data_off) {
		auxtap_perfdata_writer_abort(w);
		return ret;
	}
	if (w->fd >= 0 && close(w->fd) && !ret)
		ret = auxtap_error_set(err, -errno, w->path, "cannot write: %s", strerror(errno));
	w->fd = -1;
	writer_free(w);
	return ret;
}

void auxtap_perfdata_writer_abort(struct auxtap_perfdata_writer *w)
{
	if (!w)
		return;
	if (w->regular) {
		if (w->had_old)
			(void)!rename(w->old_path, w->path);
		else
			unlink(w->path);
	}
	writer_free(w);
}
