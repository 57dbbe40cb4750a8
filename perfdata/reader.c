// SPDX-License-Identifier: BSD-2-Clause
/* The perf.data reader: opening, the header, attributes and their ids. See reader.h. */
#include "reader.h"
#include "sample_id.h"
#include "util/sized.h"
#include "util/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTR_MIN PERF_ATTR_SIZE_VER0

/* ---- attributes ---- */

int pd_attr_set_name(struct pd_attr *attr, const char *name, size_t size)
{
	size_t len = strnlen(name, size);
	char *copy;

	if (!len)
		return 0;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, name, len);
	copy[len] = '\0';
	free(attr->name);
	attr->name = copy;
	attr->pub.name = copy;
	return 0;
}

/* ids may be unaligned. */
int pd_attr_add(struct auxtap_perfdata *pd, const void *data, uint32_t attr_size, const void *ids,
		uint64_t nr_ids)
{
	struct pd_attr *attr;

	/* Sections of ids may overlap in a damaged file, but must not add up to more than it. */
	if (nr_ids > pd->src.size / 8 || pd->ids_total + nr_ids > pd->src.size / 8)
		return -EBADMSG;
	if (vector_grow(pd->attrs, pd->nr_attrs, pd->max_attrs))
		return -ENOMEM;
	attr = &pd->attrs[pd->nr_attrs];
	memset(attr, 0, sizeof(*attr));
	memcpy(&attr->pub.attr, data,
	       attr_size < sizeof(attr->pub.attr) ? attr_size : sizeof(attr->pub.attr));
	attr->pub.size = sizeof(attr->pub);
	attr->pub.file_size = attr_size;
	if (nr_ids) {
		attr->ids = malloc(nr_ids * 8);
		if (!attr->ids)
			return -ENOMEM;
		memcpy(attr->ids, ids, nr_ids * 8);
	}
	attr->pub.ids = attr->ids;
	attr->pub.nr_ids = (uint32_t)nr_ids;
	pd->ids_total += nr_ids;
	pd->nr_attrs++;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct pd_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->attr < y->attr ? -1 : x->attr > y->attr;
}

/* Sets what depends on all attributes. */
int pd_attrs_done(struct auxtap_perfdata *pd)
{
	size_t nr = 0;

	free(pd->ids);
	pd->nr_ids = 0;
	pd->ids = malloc((pd->ids_total + 1) * sizeof(*pd->ids));
	if (!pd->ids)
		return -ENOMEM;
	pd->same_layout = true;
	pd->sample_pos = pd->trailer_pos = -1;
	for (uint32_t i = 0; i < pd->nr_attrs; i++) {
		const struct perf_event_attr *attr = &pd->attrs[i].pub.attr;
		const struct perf_event_attr *first = &pd->attrs[0].pub.attr;

		for (uint32_t j = 0; j < pd->attrs[i].pub.nr_ids; j++) {
			pd->ids[nr].id = pd->attrs[i].ids[j];
			pd->ids[nr++].attr = i;
		}
		if (attr->sample_type != first->sample_type ||
		    attr->sample_id_all != first->sample_id_all)
			pd->same_layout = false;
		if (!i) {
			pd->sample_pos = pd_sample_id_pos(attr);
			pd->trailer_pos = pd_trailer_id_pos(attr);
			continue;
		}
		if (pd->sample_pos != pd_sample_id_pos(attr))
			pd->sample_pos = -1;
		if (pd->trailer_pos != pd_trailer_id_pos(attr))
			pd->trailer_pos = -1;
	}
	pd->nr_ids = nr;
	qsort(pd->ids, nr, sizeof(*pd->ids), by_id);
	pd->info.nr_attrs = pd->nr_attrs;
	return 0;
}

struct pd_attr *pd_attr_by_id(struct auxtap_perfdata *pd, uint64_t id)
{
	size_t low = 0, high = pd->nr_ids;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pd->ids[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == pd->nr_ids || pd->ids[low].id != id)
		return NULL;
	return &pd->attrs[pd->ids[low].attr];
}

/* Sets pid and tid, and for FORK and EXIT the time, if the sample id of a record lacks them. */
static void identify_by_body(struct auxtap_record *rec, const unsigned char *body)
{
	uint32_t word[4];

	switch (rec->header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_ITRACE_START:
		if (rec->body_size < 8)
			return;
		memcpy(word, body, 8);
		rec->pid = word[0];
		rec->tid = word[1];
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		if (rec->body_size < 16)
			return;
		memcpy(word, body, 16); /* pid, ppid, tid, ptid */
		rec->pid = word[0];
		rec->tid = word[2];
		if (!(rec->fields & AUXTAP_REC_TIME) && rec->body_size >= 24) {
			memcpy(&rec->time, body + 16, 8);
			rec->fields |= AUXTAP_REC_TIME;
		}
		break;
	default:
		return;
	}
	rec->fields |= AUXTAP_REC_PID_TID;
}

void pd_identify(const struct auxtap_perfdata *pd, struct auxtap_record *rec, uint32_t size)
{
	const unsigned char *body = (const unsigned char *)(rec->header + 1);
	uint32_t type = rec->header->type, trailer, rest = size - sizeof(*rec->header);
	const struct pd_attr *attr = NULL;
	struct pd_sample_id sid;
	uint64_t id;
	int pos;

	rec->body_size = rest;
	if (type >= AUXTAP_RECORD_HEADER_ATTR || !pd->nr_attrs)
		return;
	pos = type == PERF_RECORD_SAMPLE ? pd->sample_pos : pd->trailer_pos;
	if (pd->nr_attrs == 1) {
		attr = &pd->attrs[0];
	} else if (pos >= 0 &&
		   rest >= (type == PERF_RECORD_SAMPLE ? (uint32_t)pos + 8 : (uint32_t)pos)) {
		memcpy(&id, type == PERF_RECORD_SAMPLE ? body + pos : body + rest - pos, 8);
		attr = pd_attr_by_id((struct auxtap_perfdata *)pd, id);
		/* Records that perf synthesized have id 0 and belong to the first attribute. */
		if (!attr && !id)
			attr = &pd->attrs[0];
	} else if (pd->same_layout) {
		attr = &pd->attrs[0];
	}
	rec->attr = attr ? &attr->pub : NULL;
	if (!attr && pd->same_layout)
		attr = &pd->attrs[0]; /* all attributes have the same fields */
	if (attr) {
		pd_sample_id_parse(&attr->pub.attr, type, body, rest, &sid);
		rec->fields = sid.fields;
		rec->pid = sid.pid;
		rec->tid = sid.tid;
		rec->cpu = sid.cpu;
		rec->time = sid.time;
		rec->id = sid.id;
		trailer = type == PERF_RECORD_SAMPLE ? 0 : pd_trailer_size(&attr->pub.attr);
		if (trailer <= rest)
			rec->body_size = rest - trailer;
	}
	if (!(rec->fields & AUXTAP_REC_PID_TID))
		identify_by_body(rec, body);
}

/* ---- the header ---- */

static int damaged(struct auxtap_perfdata *pd, uint64_t offset, struct auxtap_error *err,
		   const char *why)
{
	return auxtap_error_set_at(err, -EBADMSG, pd->path, offset, "%s (offset %" PRIu64 ")", why,
				   offset);
}

static int read_attrs(struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	const struct pd_section *section = &pd->header.attrs;
	uint64_t stride = pd->header.attr_size, nr;
	unsigned char *entry = NULL, *ids = NULL;
	uint32_t attr_size;
	int ret = 0;

	if (stride < ATTR_MIN + sizeof(struct pd_section) || stride > 4096)
		return damaged(pd, offsetof(struct pd_file_header, attr_size), err,
			       "the size of an attribute is out of range");
	if (section->offset > pd->src.size || section->size > pd->src.size - section->offset)
		return damaged(pd, offsetof(struct pd_file_header, attrs), err,
			       "the attributes lie beyond the end of the file");
	nr = section->size / stride;
	attr_size = (uint32_t)(stride - sizeof(struct pd_section));
	entry = malloc(stride);
	if (!entry)
		return auxtap_error_set(err, -ENOMEM, pd->path, "no memory for attributes");
	for (uint64_t i = 0; i < nr && !ret; i++) {
		uint64_t at = section->offset + i * stride;
		struct pd_section where;

		ret = pd_source_read(&pd->src, entry, stride, at);
		if (ret) {
			damaged(pd, at, err, "an attribute cannot be read");
			break;
		}
		memcpy(&where, entry + attr_size, sizeof(where));
		if (where.offset > pd->src.size || where.size > pd->src.size - where.offset ||
		    pd->ids_total + where.size / 8 > pd->src.size / 8) {
			ret = damaged(pd, at + attr_size, err,
				      "the ids of an attribute lie beyond the end of the file");
			break;
		}
		ids = malloc(where.size + 1);
		if (!ids)
			ret = -ENOMEM;
		else if (pd_source_read(&pd->src, ids, where.size & ~7ULL, where.offset))
			ret = -EBADMSG;
		if (!ret)
			ret = pd_attr_add(pd, entry, attr_size, ids, where.size / 8);
		free(ids);
		if (ret)
			auxtap_error_set_at(err, ret, pd->path, at,
					    "the attribute at offset %" PRIu64
					    " cannot be read: %s",
					    at, strerror(-ret));
	}
	free(entry);
	return ret;
}

static int add_range(struct auxtap_perfdata *pd, uint64_t begin, uint64_t end, bool cut)
{
	struct pd_range *range;

	if (vector_grow(pd->ranges, pd->nr_ranges, pd->max_ranges))
		return -ENOMEM;
	range = &pd->ranges[pd->nr_ranges++];
	range->begin = begin;
	range->end = end;
	range->cut = cut;
	return 0;
}

static int open_pipe(struct auxtap_perfdata *pd)
{
	pd->info.form = AUXTAP_PERFDATA_PIPE;
	pd->info.data_off = PD_PIPE_HEADER_SIZE;
	pd->info.data_size = pd->src.size - PD_PIPE_HEADER_SIZE;
	return add_range(pd, PD_PIPE_HEADER_SIZE, pd->src.size, false);
}

static int open_file(struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	const struct pd_section *data = &pd->header.data;
	uint64_t first_size = pd->src.files[0].size, end;
	bool cut = false;
	int ret;

	ret = read_attrs(pd, err);
	if (ret)
		return ret;
	if (data->offset > first_size || data->offset < pd->header.size)
		return damaged(pd, offsetof(struct pd_file_header, data), err,
			       "the data section does not begin inside the file");
	pd->info.form = pd->src.directory ? AUXTAP_PERFDATA_DIRECTORY : AUXTAP_PERFDATA_FILE;
	pd->info.data_off = data->offset;
	pd->info.data_size = data->size;
	end = first_size;
	if (!data->size) {
		/* In a directory with data.0 and so on, the first file may have no records. */
		pd->info.unfinished = pd->src.nr_files == 1;
		if (!pd->info.unfinished)
			end = data->offset;
	} else if (data->size > first_size - data->offset) {
		cut = true;
	} else {
		end = data->offset + data->size;
	}
	if (!pd->info.unfinished && !cut)
		pd_features_open(pd, end);
	else if (cut)
		pd->info.features_damaged = true;
	/* a finished file has features: perf's are in word 0, simpleperf's in word 2 (128 on) */
	if (!pd->info.features[0] && !pd->info.features_damaged && !pd->info.features[2])
		pd->info.unfinished = true;
	if (pd->info.unfinished && !pd->src.directory)
		pd->info.uncommitted = first_size - end;
	ret = add_range(pd, data->offset, end, cut);
	for (unsigned int i = 1; i < pd->src.nr_files && !ret; i++)
		ret = add_range(pd, pd->src.files[i].base,
				pd->src.files[i].base + pd->src.files[i].size, false);
	return ret ? auxtap_error_set(err, ret, pd->path, "no memory") : 0;
}

static int open_header(struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	struct pd_file_header *header = &pd->header;
	ssize_t got = pd_source_pread(&pd->src, header, sizeof(*header), 0);

	if (got < 0)
		return auxtap_error_set(err, (int)got, pd->path, "cannot read: %s",
					strerror((int)-got));
	if (!got)
		return auxtap_error_set_at(err, -EINVAL, pd->path, 0,
					   "is empty, not a perf.data file (offset 0)");
	if (got < PD_PIPE_HEADER_SIZE)
		return auxtap_error_set_at(
			err, -EINVAL, pd->path, 0,
			"is only %zd bytes long, not a perf.data file (offset 0)", got);
	if (header->magic == __builtin_bswap64(PD_MAGIC_V2) ||
	    header->magic == __builtin_bswap64(PD_MAGIC_V1)) {
		auxtap_error_set_at(err, -ENOTSUP, pd->path, 0,
				    "was recorded on a machine of the other byte order (magic at "
				    "offset 0)");
		auxtap_error_hint(err, "read it with stock perf");
		return -ENOTSUP;
	}
	if (header->magic != PD_MAGIC_V2 && header->magic != PD_MAGIC_V1)
		return auxtap_error_set_at(err, -EINVAL, pd->path, 0,
					   "is not a perf.data file: magic 0x%016" PRIx64
					   " at offset 0",
					   header->magic);
	if (header->size == PD_PIPE_HEADER_SIZE)
		return open_pipe(pd) ? auxtap_error_set(err, -ENOMEM, pd->path, "no memory") : 0;
	if (header->size != PD_HEADER_SIZE && header->size != PD_OLD_HEADER_SIZE)
		return damaged(pd, offsetof(struct pd_file_header, size), err,
			       "unsupported header size; supported: 104, 72, 16");
	if ((uint64_t)got < header->size)
		return damaged(pd, (uint64_t)got, err, "the file ends inside its header");
	if (header->size == PD_OLD_HEADER_SIZE)
		memset(header->features, 0, sizeof(header->features));
	return open_file(pd, err);
}

static int open_source(struct auxtap_perfdata *pd, struct auxtap_error *err)
{
	int ret = open_header(pd, err);

	if (!ret && pd->info.form == AUXTAP_PERFDATA_PIPE) {
		/* Attributes and features come as records; next() reports damage in them. */
		ret = pd_scan(pd);
		if (ret == -ENOMEM)
			return auxtap_error_set(err, ret, pd->path, "no memory");
		ret = 0;
	}
	if (!ret) {
		pd_event_desc_names(pd);
		ret = pd_attrs_done(pd);
		if (ret)
			auxtap_error_set(err, ret, pd->path, "no memory");
	}
	if (ret)
		return ret;
	pd->cursor = pd_cursor_new(pd, false);
	return pd->cursor ? 0 : auxtap_error_set(err, -ENOMEM, pd->path, "no memory");
}

static struct auxtap_perfdata *reader_new(const char *path)
{
	struct auxtap_perfdata *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->info.size = sizeof(pd->info);
	pd->spool_fd = -1;
	pd->path = strdup(path);
	if (!pd->path) {
		free(pd);
		return NULL;
	}
	return pd;
}

static int finish_open(struct auxtap_perfdata *pd, int ret, struct auxtap_perfdata **pdp,
		       struct auxtap_error *err)
{
	if (!ret)
		ret = open_source(pd, err);
	if (ret)
		auxtap_perfdata_close(pd);
	else
		*pdp = pd;
	return ret;
}

int auxtap_perfdata_open(struct auxtap_perfdata **pdp, const char *path, struct auxtap_error *err)
{
	struct auxtap_perfdata *pd = reader_new(strcmp(path, "-") ? path : "standard input");

	*pdp = NULL;
	if (!pd)
		return auxtap_error_set(err, -ENOMEM, path, "no memory");
	return finish_open(pd, pd_source_open(&pd->src, path, err), pdp, err);
}

int pd_open_fd(struct auxtap_perfdata **pdp, int fd, const char *name, struct auxtap_error *err)
{
	struct auxtap_perfdata *pd = reader_new(name);

	*pdp = NULL;
	if (!pd) {
		close(fd);
		return auxtap_error_set(err, -ENOMEM, name, "no memory");
	}
	return finish_open(pd, pd_source_open_fd(&pd->src, fd, name, err), pdp, err);
}

void auxtap_perfdata_close(struct auxtap_perfdata *pd)
{
	if (!pd)
		return;
	for (uint32_t i = 0; i < pd->nr_attrs; i++) {
		free(pd->attrs[i].ids);
		free(pd->attrs[i].name);
	}
	for (unsigned int i = 0; i < PD_FEAT_END; i++)
		free(pd->features[i].data);
	for (size_t i = 0; i < pd->nr_build_ids; i++)
		free((char *)pd->build_ids[i].filename);
	pd_cursor_free(pd->cursor);
	pd_cursor_free(pd->scan);
	if (pd->spool_fd >= 0)
		close(pd->spool_fd);
	pd_source_close(&pd->src);
	free(pd->attrs);
	free(pd->ids);
	free(pd->ranges);
	free(pd->build_ids);
	free(pd->id_index);
	free(pd->auxtraces);
	free(pd->info_priv);
	free(pd->index);
	free(pd->sorted_record);
	free(pd->path);
	free(pd);
}

bool auxtap_perfdata_owner(const struct auxtap_perfdata *pd, uid_t *uid)
{
	*uid = pd->src.owner;
	return pd->src.has_owner;
}

const char *auxtap_perfdata_path(const struct auxtap_perfdata *pd)
{
	return pd->path;
}

const struct auxtap_perfdata_info *auxtap_perfdata_get_info(const struct auxtap_perfdata *pd)
{
	return &pd->info;
}

const struct auxtap_perfdata_attr *auxtap_perfdata_get_attr(const struct auxtap_perfdata *pd,
							    uint32_t index)
{
	return index < pd->nr_attrs ? &pd->attrs[index].pub : NULL;
}

ssize_t auxtap_perfdata_pread(struct auxtap_perfdata *pd, void *buf, size_t size, uint64_t offset)
{
	return pd_source_pread(&pd->src, buf, size, offset);
}

typedef int next_fn(struct auxtap_perfdata *pd, struct auxtap_record *rec,
		    struct auxtap_error *err);

/* Returns a record to a caller whose struct auxtap_record has another size. */
static int copy_record_out(struct auxtap_perfdata *pd, next_fn *next, struct auxtap_record *rec,
			   struct auxtap_error *err)
{
	struct auxtap_record known;
	int ret = sized_check(rec, sizeof(known), SIZED_UP_TO(struct auxtap_record, trace_size),
			      "struct auxtap_record", err);

	if (!ret)
		ret = next(pd, &known, err);
	if (ret > 0)
		sized_copy_out(rec, &known, sizeof(known));
	return ret;
}

static int next_in_file(struct auxtap_perfdata *pd, struct auxtap_record *rec,
			struct auxtap_error *err)
{
	return pd_cursor_next(pd->cursor, rec, err);
}

int auxtap_perfdata_next(struct auxtap_perfdata *pd, struct auxtap_record *rec,
			 struct auxtap_error *err)
{
	if (rec->size == sizeof(*rec))
		return pd_cursor_next(pd->cursor, rec, err);
	return copy_record_out(pd, next_in_file, rec, err);
}

int auxtap_perfdata_next_sorted(struct auxtap_perfdata *pd, struct auxtap_record *rec,
				struct auxtap_error *err)
{
	if (rec->size == sizeof(*rec))
		return pd_sorted_next(pd, rec, err);
	return copy_record_out(pd, pd_sorted_next, rec, err);
}

void auxtap_perfdata_rewind(struct auxtap_perfdata *pd)
{
	pd_cursor_rewind(pd->cursor);
}
