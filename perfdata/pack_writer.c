// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes packed files: a byte-for-byte copy of a recording (header, data, features), then new
 * records of auxtap's own (the metadata, layout.h) instead of the recording's. Stock perf does not
 * read those, so the packed file is to it like the recording.
 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (1u << 20)
/* Fields of samples with memory or registers of the program, or data that tracepoints copied. */
#define PRIVATE_FIELDS \
	(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_RAW)

struct auxtap_pack_writer {
	int fd;
	int failed; /* negative errno of the first failed write, after which nothing is written */
	char *path, *temporary;
	bool in_place; /* path is the recording itself */
	uint32_t flags;
	uint64_t begin, end, nr; /* metadata: offsets in the file, number of records */
};

static void write_bytes(struct auxtap_pack_writer *w, const void *data, size_t size)
{
	const char *at = data;

	while (size && !w->failed) {
		ssize_t n = pwrite(w->fd, at, size, (off_t)w->end);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			w->failed = n ? -errno : -EIO;
			return;
		}
		at += n;
		size -= (size_t)n;
		w->end += (uint64_t)n;
	}
}

static void write_zeros(struct auxtap_pack_writer *w, size_t size)
{
	static const char zeros[8];

	write_bytes(w, zeros, size);
}

static int copy_up_to_metadata(struct auxtap_pack_writer *w, const struct auxtap_perfdata *pd,
			       uint64_t size)
{
	char *buf = malloc(CHUNK);
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && w->end < size) {
		size_t part = size - w->end < CHUNK ? (size_t)(size - w->end) : CHUNK;

		ret = pd_source_read(&pd->src, buf, part, w->end);
		if (!ret)
			write_bytes(w, buf, part);
		if (!ret)
			ret = w->failed;
	}
	free(buf);
	return ret;
}

/* Keeps only the first word of the command line: u32 number, then for each u32 length, text. */
static void redact_command(struct auxtap_pack_writer *w, const struct auxtap_perfdata *pd)
{
	const struct pd_feature_data *f = &pd->features[PD_FEAT_CMDLINE];
	uint32_t words[2] = {1, 0};
	uint64_t end = w->end;
	unsigned char *text;

	if (!f->present || f->size < sizeof(words) || f->size > 1u << 20 || f->offset > w->end ||
	    f->size > w->end - f->offset)
		return;
	text = calloc(1, f->size);
	if (!text || pd_source_read(&pd->src, text, f->size, f->offset)) {
		w->failed = text ? -EIO : -ENOMEM;
		free(text);
		return;
	}
	memcpy(words, text, sizeof(words));
	words[0] = words[0] ? 1 : 0;
	if (!words[0] || words[1] > f->size - sizeof(words))
		words[1] = 0;
	memcpy(text, words, sizeof(words));
	memset(text + sizeof(words) + words[1], 0, f->size - sizeof(words) - words[1]);
	w->end = f->offset;
	write_bytes(w, text, f->size);
	w->end = end;
	free(text);
}

static int may_pack(const struct auxtap_perfdata *pd, uint32_t flags, struct auxtap_error *err)
{
	const char *what = NULL;

	if (pd->info.form == AUXTAP_PERFDATA_PIPE)
		what = "what came through a pipe cannot be packed";
	else if (pd->info.form == AUXTAP_PERFDATA_DIRECTORY)
		what = "a directory cannot be packed";
	if (what) {
		auxtap_error_set(err, -ENOTSUP, pd->path, "%s", what);
		auxtap_error_hint(err, "record into a file");
		return -ENOTSUP;
	}
	if (pd->info.unfinished || pd->info.features_damaged)
		return auxtap_error_set(err, -ENOTSUP, pd->path,
					"the recording is not complete, and cannot be packed");
	for (uint32_t i = 0; flags & AUXTAP_PACK_REDACTED && i < pd->nr_attrs; i++)
		if (pd->attrs[i].pub.attr.sample_type & PRIVATE_FIELDS)
			return auxtap_error_set(
				err, -ENOTSUP, pd->path,
				"its samples contain memory or registers, which cannot be removed");
	return 0;
}

static bool is_source(const struct auxtap_perfdata *pd, const char *path)
{
	struct stat a, b;

	return !fstat(pd->src.files[0].fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int auxtap_pack_writer_create(struct auxtap_pack_writer **w_out, struct auxtap_perfdata *pd,
			      const char *path, uint32_t flags, struct auxtap_error *err)
{
	struct auxtap_pack_header head = {.magic = PD_PACK_MAGIC};
	uint64_t size = pd_metadata_begin(pd);
	struct auxtap_pack_writer *w;
	int ret = may_pack(pd, flags, err);

	*w_out = NULL;
	if (ret)
		return ret;
	w = calloc(1, sizeof(*w));
	if (!w)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	w->fd = -1;
	w->flags = flags;
	w->path = strdup(path);
	w->in_place = is_source(pd, path);
	if (!w->path || asprintf(&w->temporary, "%s.XXXXXX", path) < 0) {
		w->temporary = NULL;
		ret = -ENOMEM;
		goto fail;
	}
	w->fd = mkostemp(w->temporary, O_CLOEXEC); /* mode 0600 */
	if (w->fd < 0) {
		ret = -errno;
		free(w->temporary);
		w->temporary = NULL;
		goto fail;
	}
	ret = copy_up_to_metadata(w, pd, size ? size : pd->src.files[0].size);
	if (!ret && flags & AUXTAP_PACK_REDACTED)
		redact_command(w, pd);
	if (!ret)
		write_zeros(w, (size_t)(pd_align8(w->end) - w->end));
	w->begin = w->end;
	if (!ret)
		ret = auxtap_pack_writer_metadata(w, AUXTAP_METADATA_PACK, &head, sizeof(head));
	if (ret)
		goto fail;
	*w_out = w;
	return 0;
fail:
	auxtap_error_set(err, ret, path, "cannot be written: %s", strerror(-ret));
	auxtap_pack_writer_abort(w);
	return ret;
}

int auxtap_pack_writer_metadata(struct auxtap_pack_writer *w, uint32_t type, const void *data,
				size_t size)
{
	struct pd_metadata record = {.type = type, .size = size};

	write_bytes(w, &record, sizeof(record));
	write_bytes(w, data, size);
	write_zeros(w, (size_t)(pd_align8(size) - size));
	w->nr += !w->failed;
	return w->failed;
}

static int read_back(void *ctx, void *buf, size_t size, uint64_t off)
{
	const struct auxtap_pack_writer *w = ctx;
	ssize_t n;

	do
		n = pread(w->fd, buf, size, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* Writes the trailer, then the first record again, with the size and checksum of the file. */
static void write_trailer_and_head(struct auxtap_pack_writer *w)
{
	struct pd_metadata_trailer trailer = {.offset = w->begin,
					      .size = w->end - w->begin,
					      .nr = w->nr,
					      .magic = PD_METADATA_MAGIC};
	struct auxtap_pack_header head = {.magic = PD_PACK_MAGIC,
					  .version = PD_PACK_VERSION,
					  .flags = w->flags};
	uint64_t at = w->begin + sizeof(struct pd_metadata), end;

	write_bytes(w, &trailer, sizeof(trailer));
	end = w->end;
	head.file_size = end;
	w->end = at;
	write_bytes(w, &head, sizeof(head));
	if (!w->failed)
		w->failed = pd_pack_checksum(read_back, w, end,
					     at + offsetof(struct auxtap_pack_header, checksum),
					     &head.checksum);
	w->end = at;
	write_bytes(w, &head, sizeof(head));
	w->end = end;
}

int auxtap_pack_writer_finish(struct auxtap_pack_writer *w, uint64_t *file_size,
			      struct auxtap_error *err)
{
	char *old = NULL;
	int ret;

	write_trailer_and_head(w);
	ret = w->failed;
	if (!ret && !w->in_place && asprintf(&old, "%s.old", w->path) < 0) {
		old = NULL;
		ret = -ENOMEM;
	}
	if (!ret && old && rename(w->path, old) && errno != ENOENT)
		ret = -errno;
	if (!ret && rename(w->temporary, w->path))
		ret = -errno;
	if (!ret) {
		free(w->temporary);
		w->temporary = NULL;
	} else {
		auxtap_error_set(err, ret, w->path, "cannot be written: %s", strerror(-ret));
	}
	if (file_size)
		*file_size = w->end;
	free(old);
	auxtap_pack_writer_abort(w);
	return ret;
}

void auxtap_pack_writer_abort(struct auxtap_pack_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	if (w->temporary)
		unlink(w->temporary);
	free(w->temporary);
	free(w->path);
	free(w);
}
