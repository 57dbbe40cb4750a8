// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packing: makes the report and decodes the whole trace, while the image set records which parts of
 * images are used; then copies the recording and adds those parts.
 */
#include "pack_private.h"
#include "decode/report/report.h"
#include "decode/report/report_facts.h"
#include "util/sized.h"
#include "util/vector.h"

#include <auxtap/decode.h>
#include <auxtap/pack.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define MAX_INSN 16 /* bytes */
#define LEVEL	 19

struct pack {
	struct auxtap_perfdata *pd;
	struct auxtap_image_set *images;
	struct auxtap_pack_writer *writer;
	struct auxtap_pack_opts opts;
	struct auxtap_pack_result result;
};

/* ---- which parts of images are used ---- */

static void mark_event_used(const struct pack *p, const struct auxtap_event *ev)
{
	uint64_t size = MAX_INSN;

	if (ev->type == AUXTAP_EVENT_BLOCK && ev->addr >= ev->ip)
		size += ev->addr - ev->ip;
	if (ev->has_ip || ev->type == AUXTAP_EVENT_BLOCK)
		image_set_note_executed(p->images, ev->pid, ev->time, ev->ip, size);
	if (ev->has_addr && ev->type != AUXTAP_EVENT_BLOCK && ev->type != AUXTAP_EVENT_MEM)
		image_set_note_executed(p->images, ev->pid, ev->time, ev->addr, 1);
}

static int mark_flow_used(const struct pack *p, struct auxtap_error *err)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .events = (AUXTAP_EVENT_ALL & ~AUXTAP_EVENT_INSN) |
						    AUXTAP_EVENT_BLOCK};
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_decoder *dec;
	int ret = auxtap_decoder_open(&dec, p->pd, p->images, &opts, err);

	if (ret)
		return ret;
	while ((ret = auxtap_decoder_next(dec, &ev, err)) == 1)
		mark_event_used(p, &ev);
	auxtap_decoder_close(dec);
	return ret;
}

static int mark_report_used(const struct pack *p, struct auxtap_error *err)
{
	/* the maximum that the command line can ask for */
	const struct auxtap_report_opts opts = {.size = sizeof(opts),
						.nr_branches = 64,
						.nr_calls = 100000};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		return auxtap_error_set(err, -errno, auxtap_perfdata_path(p->pd), "%s",
					strerror(errno));
	ret = report_recording(p->pd, p->images, &opts, out, err);
	fclose(out);
	free(text);
	return ret;
}

/* ---- images ---- */

static int write_compressed(const struct pack *p, uint32_t type, const uint8_t *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size), nr;
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	void *out = malloc(bound);
	int ret = -ENOMEM;

	if (ctx && out) {
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
		nr = ZSTD_compress2(ctx, out, bound, data, size);
		if (!ZSTD_isError(nr))
			ret = auxtap_pack_writer_metadata(p->writer, type, out, nr);
	}
	ZSTD_freeCCtx(ctx);
	free(out);
	return ret;
}

/* Opens the separate debug file of the image; -1: it has none. */
static int open_debug(struct auxtap_image *image)
{
	char *path;
	int fd;

	if (image->packed)
		return image_open_packed_debug(image);
	path = image_debug_path(image);
	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	free(path);
	return fd;
}

static void fill_header(const struct auxtap_image *image, struct packed_header *head)
{
	memcpy(head->build_id, image->build_id, sizeof(head->build_id));
	memcpy(head->found_build_id, image->found_build_id, sizeof(head->found_build_id));
	head->build_id_size = image->build_id_size;
	head->found_build_id_size = image->found_build_id_size;
	head->state = AUXTAP_IMAGE_FOUND;
	head->maj = image->file.maj;
	head->min = image->file.min;
	head->ino = image->file.ino;
	head->name_size = (uint32_t)strlen(image->name) + 1;
	head->path_size = (uint32_t)strlen(image->path) + 1;
}

static int write_image(const struct pack *p, struct auxtap_image *image)
{
	struct pack_sparse file = {.size = 0}, debug = {.size = 0};
	struct packed_header head = {.nr_files = 1};
	size_t nr = 0, max = 0;
	uint8_t *record = NULL;
	int fd, ret;

	fill_header(image, &head);
	ret = pack_elf_image(image, p->opts.redact, &file);
	fd = ret || !image->use ? -1 : open_debug(image);
	if (fd >= 0) {
		head.nr_files = 2;
		ret = pack_elf_debug(image, fd, &debug);
		close(fd);
	}
	if (!ret && vector_reserve(record, sizeof(head) + head.name_size + head.path_size, max))
		ret = -ENOMEM;
	if (!ret) {
		memcpy(record, &head, sizeof(head));
		memcpy(record + sizeof(head), image->name, head.name_size);
		memcpy(record + sizeof(head) + head.name_size, image->path, head.path_size);
		nr = sizeof(head) + head.name_size + head.path_size;
		if (!pack_sparse_write(&file, &record, &nr, &max) ||
		    (head.nr_files == 2 && !pack_sparse_write(&debug, &record, &nr, &max)))
			ret = -ENOMEM;
	}
	if (!ret)
		ret = write_compressed(p, AUXTAP_METADATA_PACK_IMAGE, record, nr);
	free(record);
	pack_sparse_free(&file);
	pack_sparse_free(&debug);
	return ret;
}

static int write_images(struct pack *p)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < p->images->nr_images; i++) {
		struct auxtap_image *image = p->images->images[i];

		if (image->embedded)
			continue; /* the recording already contains it */
		if (image->state == AUXTAP_IMAGE_FOUND && image->data && image->path) {
			p->result.nr_images++;
			ret = write_image(p, image);
		} else if (image->nr_gaps && image->name[0] == '/' && image->name[1] != '/') {
			if (!p->result.nr_missing++)
				snprintf(p->result.missing, sizeof(p->result.missing), "%s",
					 image->name);
		}
	}
	return ret;
}

static int write_sources(const struct pack *p)
{
	size_t size;
	uint8_t *text = p->opts.redact ? NULL : image_source_pack(p->images, &size);
	int ret = text ? write_compressed(p, AUXTAP_METADATA_PACK_SOURCE, text, size) : 0;

	free(text);
	return ret;
}

/* ---- the recording's own metadata ---- */

static int copy_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	const struct pack *p = ctx;

	switch (type) {
	case AUXTAP_METADATA_PACK:
	case AUXTAP_METADATA_PACK_IMAGE:
	case AUXTAP_METADATA_PACK_SOURCE:
		return 0; /* written anew */
	case AUXTAP_METADATA_CAPTURE:
	case AUXTAP_METADATA_CRASH:
	case AUXTAP_METADATA_THREAD:
	case AUXTAP_METADATA_MAPS:
	case AUXTAP_METADATA_GAP:
	case AUXTAP_METADATA_IMAGE:
	case AUXTAP_METADATA_CODE: /* code, like pages of an image: not redacted */
	case AUXTAP_METADATA_CODE_NAMES:
	case AUXTAP_METADATA_CODE_DUMP:
	case AUXTAP_METADATA_HEAP_BLOCK:
	case AUXTAP_METADATA_WAKEUPS:
		break;
	default: /* the program's memory, and types unknown to this version */
		if (p->opts.redact)
			return 0;
		break;
	}
	return auxtap_pack_writer_metadata(p->writer, type, data, size);
}

static uint64_t trace_size(struct auxtap_perfdata *pd)
{
	const struct auxtap_perfdata_aux *aux;
	uint64_t sum = 0;
	size_t nr;

	if (auxtap_perfdata_auxtraces(pd, &aux, &nr, NULL))
		return 0;
	for (size_t i = 0; i < nr; i++)
		sum += aux[i].trace_size;
	return sum;
}

/* A recording that was redacted before stays marked as redacted. */
static int keep_redacted(struct pack *p, struct auxtap_error *err)
{
	struct report_facts facts;
	int ret = report_facts_read(&facts, p->pd, err);

	p->opts.redact |= facts.redacted;
	p->result.redacted = p->opts.redact;
	report_facts_free(&facts);
	return ret;
}

static int write_packed(struct pack *p, const char *path, struct auxtap_error *err)
{
	int ret = auxtap_pack_writer_create(&p->writer, p->pd, path,
					    p->opts.redact ? AUXTAP_PACK_REDACTED : 0, err);

	if (ret)
		return ret;
	ret = auxtap_perfdata_metadata(p->pd, copy_metadata, p, err);
	if (!ret)
		ret = write_images(p);
	if (!ret)
		ret = write_sources(p);
	if (ret) {
		auxtap_error_set(err, ret, path, "cannot be written: %s", strerror(-ret));
		auxtap_pack_writer_abort(p->writer);
		return ret;
	}
	return auxtap_pack_writer_finish(p->writer, &p->result.file_size, err);
}

int auxtap_pack(struct auxtap_perfdata *pd, const char *path, const struct auxtap_pack_opts *opts,
		struct auxtap_pack_result *result, struct auxtap_error *err)
{
	struct pack p = {.pd = pd, .result = {.size = sizeof(p.result)}};
	int ret =
		sized_copy_in(&p.opts, sizeof(p.opts), SIZED_UP_TO(struct auxtap_pack_opts, redact),
			      opts, "struct auxtap_pack_opts", err);

	if (!ret && result)
		ret = sized_check(result, sizeof(*result),
				  SIZED_UP_TO(struct auxtap_pack_result, missing),
				  "struct auxtap_pack_result", err);
	if (ret)
		return ret;
	ret = keep_redacted(&p, err);
	if (!ret)
		ret = auxtap_image_set_new(&p.images, p.opts.images, err);
	if (ret)
		return ret;
	image_set_track_use(p.images);
	ret = mark_report_used(&p, err);
	if (!ret)
		ret = mark_flow_used(&p, err);
	if (!ret && auxtap_image_set_no_memory(p.images))
		ret = auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(pd), "out of memory");
	if (!ret) {
		p.result.trace_size = trace_size(pd);
		ret = write_packed(&p, path, err);
	}
	auxtap_image_set_free(p.images);
	if (!ret && result)
		sized_copy_out(result, &p.result, sizeof(p.result));
	return ret;
}
