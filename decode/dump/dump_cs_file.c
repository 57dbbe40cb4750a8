// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lists CoreSight packets of perf.data files. Each buffer has a decode tree, which is kept from one
 * AUX record to the next if these continue each other.
 */
#include "decode/coresight/cs_extents.h"
#include "dump_cs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (64u << 10)

struct extent_ref {
	uint64_t file_off;
	uint32_t buffer;
	size_t extent;
};

struct buffer_state {
	struct cs_tree *tree;
	const struct cs_unit *units[CS_NR_IDS];
	size_t nr;
	bool raw;
	int cpu;
};

struct dump_cs_file {
	struct auxtap_perfdata *pd;
	struct cs_config config;
	struct cs_extents extents;
	struct extent_ref *refs; /* all extents, in the order of the file */
	size_t nr;
	struct buffer_state *states;
	uint8_t *buf;
	struct dump_cs dump;
};

static ssize_t read_file(void *ctx, void *buf, size_t size, uint64_t off)
{
	const struct dump_cs_file *file = ctx;

	return auxtap_perfdata_pread(file->pd, buf, size, off);
}

static int by_file_off(const void *a, const void *b)
{
	const struct extent_ref *x = a, *y = b;

	return x->file_off < y->file_off ? -1 : x->file_off > y->file_off;
}

static int find_extents(struct dump_cs_file *file)
{
	size_t nr = 0;

	for (size_t i = 0; i < file->extents.nr; i++)
		nr += file->extents.buffers[i].nr;
	file->refs = calloc(nr ? nr : 1, sizeof(*file->refs));
	file->states = calloc(file->extents.nr ? file->extents.nr : 1, sizeof(*file->states));
	file->buf = malloc(CHUNK);
	if (!file->refs || !file->states || !file->buf)
		return -ENOMEM;
	for (size_t i = 0; i < file->extents.nr; i++)
		for (size_t j = 0; j < file->extents.buffers[i].nr; j++)
			file->refs[file->nr++] = (struct extent_ref){
				.file_off = file->extents.buffers[i].extents[j].file_off,
				.buffer = (uint32_t)i,
				.extent = j};
	qsort(file->refs, file->nr, sizeof(*file->refs), by_file_off);
	return 0;
}

static void close_file(void *state)
{
	struct dump_cs_file *file = state;

	for (size_t i = 0; file->states && i < file->extents.nr; i++)
		cs_tree_free(file->states[i].tree);
	free(file->states);
	free(file->refs);
	free(file->buf);
	cs_extents_free(&file->extents);
	cs_config_free(&file->config);
	free(file);
}

static int open_file(void **out, struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	struct dump_cs_file *file = calloc(1, sizeof(*file));
	int ret;

	*out = NULL;
	if (!file)
		return auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(pd), "out of memory");
	file->pd = pd;
	ret = cs_config_from_file(&file->config, pd, err);
	if (!ret)
		ret = cs_extents_read(&file->extents, pd, &file->config, err);
	if (!ret && find_extents(file))
		ret = auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(pd), "out of memory");
	if (ret)
		close_file(file);
	else
		*out = file;
	return ret;
}

/* Makes a new tree for this extent, which does not continue the previous one. */
static int new_tree(struct dump_cs_file *file, struct buffer_state *state,
		    const struct cs_buffer *buffer, const struct cs_extent *p,
		    struct auxtap_error *err)
{
	const struct cs_tree_opts opts = {.format = p->raw ? CS_FORMAT_SOURCE : CS_FORMAT_FRAMES,
					  .packet = dump_cs_packet,
					  .ctx = &file->dump};

	cs_tree_free(state->tree);
	state->tree = NULL;
	state->raw = p->raw;
	state->cpu = p->cpu;
	state->nr =
		cs_config_units(&file->config, p->raw ? p->cpu : buffer->cpu, p->raw, state->units);
	return cs_tree_new(&state->tree, &opts, state->units, state->nr, err);
}

static int list_extent(struct dump_cs_file *file, const struct extent_ref *extent_ref,
		       struct auxtap_error *err)
{
	const struct cs_buffer *buffer = &file->extents.buffers[extent_ref->buffer];
	const struct cs_extent *p = &buffer->extents[extent_ref->extent];
	struct buffer_state *state = &file->states[extent_ref->buffer];
	struct cs_bytes bytes = {.pread = read_file,
				 .ctx = file,
				 .chunk = CHUNK,
				 .buf = file->buf,
				 .format = p->raw ? CS_FORMAT_SOURCE : CS_FORMAT_FRAMES,
				 .file_off = p->file_off,
				 .size = p->size};
	struct auxtap_error why_not = AUXTAP_ERROR_INIT;
	struct cs_frames *frames = NULL;
	char why[192];
	int ret = 0;

	file->dump.begin = p->off;
	file->dump.format = bytes.format;
	fprintf(file->dump.out, "  AUX 0x%" PRIx64 " +0x%" PRIx64 ", %s", p->off, p->size,
		p->raw ? "raw" : "frames");
	if (p->cpu >= 0)
		fprintf(file->dump.out, ", CPU %d", p->cpu);
	if (p->nr_seen)
		fprintf(file->dump.out,
			", 0x%" PRIx64 " bytes before it are the ones listed already", p->nr_seen);
	fputs(p->joins ? ", goes on\n" : "\n", file->dump.out);
	if (!state->tree || !p->joins || state->raw != p->raw || (p->raw && state->cpu != p->cpu))
		ret = new_tree(file, state, buffer, p, &why_not);
	if (ret == -ENOMEM)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(file->pd), "out of memory");
	if (ret) {
		file->dump.nr_errors++;
		fprintf(file->dump.out, "%08" PRIx64 "  error  %s\n", p->off, why_not.why);
		return 0;
	}
	if (!p->raw) {
		frames = malloc(sizeof(*frames));
		if (!frames)
			return auxtap_error_set(err, -ENOMEM, auxtap_perfdata_path(file->pd),
						"out of memory");
		cs_frames_init(frames, bytes.format);
	}
	ret = dump_cs_bytes(&file->dump, state->tree, &bytes, frames, err);
	if (!ret && (extent_ref->extent + 1 == buffer->nr || !p[1].joins) &&
	    cs_tree_end(state->tree, why, sizeof(why))) {
		file->dump.nr_errors++;
		fprintf(file->dump.out, "%08" PRIx64 "  error  %s\n", p->off + p->size, why);
	}
	if (!ret && frames)
		dump_cs_unknown_ids(&file->dump, frames, state->units, state->nr);
	free(frames);
	return ret;
}

/* Lists the extents whose trace is in this AUXTRACE record. */
static int list_record(void *state, const struct auxtap_perfdata_aux *aux, FILE *out,
		       struct auxtap_error *err)
{
	struct dump_cs_file *file = state;
	size_t lo = 0, hi = file->nr;
	int ret = 0;

	file->dump.out = out;
	file->dump.nr_errors = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (file->refs[mid].file_off < aux->trace_off)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; !ret && lo < file->nr && file->refs[lo].file_off - aux->trace_off < aux->trace_size;
	     lo++)
		ret = list_extent(file, &file->refs[lo], err);
	return ret ? ret : file->dump.nr_errors > 0;
}

const struct dump_family dump_family_cs = {
	.open = open_file,
	.record = list_record,
	.close = close_file,
	.raw = dump_cs_raw,
	.snapshot = dump_cs_snapshot,
};
