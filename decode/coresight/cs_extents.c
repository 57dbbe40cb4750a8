// SPDX-License-Identifier: BSD-2-Clause
/* See cs_extents.h. */
#include "cs_extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AUXTRACE_ALIGN 8     /* perf pads a buffer to this */
#define FLAG_RAW       0x100 /* PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */
#define OVERLAP_KEY    64
#define OVERLAP_MAX    (64u << 20)
#define FLAG_LOSS      (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)

struct aux {
	uint64_t off, size, flags, time;
	int cpu;
	int32_t pid, tid;
	bool used;
};

struct auxes {
	struct aux *list; /* by offset after sorting */
	size_t nr, max;
};

static void *reserve(void **array, size_t nr, size_t *max, size_t elem)
{
	if (nr == *max) {
		size_t grown_max = *max ? *max * 2 : 16;
		void *grown = realloc(*array, grown_max * elem);

		if (!grown)
			return NULL;
		*array = grown;
		*max = grown_max;
	}
	return *array ? memset((char *)*array + nr * elem, 0, elem) : NULL;
}

struct cs_extent *cs_buffer_add(struct cs_buffer *buffer)
{
	struct cs_extent *extent =
		reserve((void **)&buffer->extents, buffer->nr, &buffer->max, sizeof(*extent));

	if (extent)
		buffer->nr++;
	return extent;
}

struct cs_buffer *cs_extents_add_buffer(struct cs_extents *extents)
{
	struct cs_buffer *buffer =
		reserve((void **)&extents->buffers, extents->nr, &extents->max, sizeof(*buffer));

	if (!buffer)
		return NULL;
	extents->nr++;
	buffer->cpu = -1;
	buffer->tid = -1;
	buffer->fd = -1;
	return buffer;
}

void cs_extents_free(struct cs_extents *extents)
{
	for (size_t i = 0; i < extents->nr; i++)
		free(extents->buffers[i].extents);
	free(extents->buffers);
	free(extents->missing);
	memset(extents, 0, sizeof(*extents));
}

/* ---- records ---- */

int cs_config_from_file(struct cs_config *config, struct auxtap_perfdata *pd,
			struct auxtap_error *err)
{
	struct auxtap_record rec;
	const uint64_t *priv;
	uint64_t hw_id;
	uint32_t type;
	size_t nr;
	int ret = auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr);

	if (ret)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(pd),
					"it has no AUXTRACE_INFO");
	ret = cs_config_from_info(config, priv, nr, err);
	if (ret)
		return ret;
	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1) {
		if (rec.header->type != PERF_RECORD_AUX_OUTPUT_HW_ID ||
		    rec.body_size < sizeof(hw_id) || !(rec.have & AUXTAP_REC_CPU))
			continue;
		memcpy(&hw_id, rec.header + 1, sizeof(hw_id));
		cs_config_hw_id(config, (int)rec.cpu, hw_id);
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct aux *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/*
 * Stock perf may save the newest records a second time (docs/audit.md): sorted, they are side by
 * side.
 */
static void drop_saved_twice(struct auxes *auxes)
{
	size_t kept = 0;

	for (size_t i = 0; i < auxes->nr; i++) {
		const struct aux *old = kept ? &auxes->list[kept - 1] : NULL,
				 *aux = &auxes->list[i];

		if (!old || !aux->time || old->time != aux->time || old->off != aux->off ||
		    old->size != aux->size || old->flags != aux->flags || old->cpu != aux->cpu ||
		    old->tid != aux->tid)
			auxes->list[kept++] = *aux;
	}
	auxes->nr = kept;
}

static int read_auxes(struct auxes *auxes, struct auxtap_perfdata *pd)
{
	struct auxtap_record rec;
	uint64_t v[3];

	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1) {
		struct aux *aux;

		if (rec.header->type != PERF_RECORD_AUX || rec.body_size < sizeof(v))
			continue;
		memcpy(v, rec.header + 1, sizeof(v));
		aux = reserve((void **)&auxes->list, auxes->nr, &auxes->max, sizeof(*aux));
		if (!aux)
			return -ENOMEM;
		*aux = (struct aux){.off = v[0],
				    .size = v[1],
				    .flags = v[2],
				    .cpu = -1,
				    .pid = -1,
				    .tid = -1};
		if (rec.have & AUXTAP_REC_CPU)
			aux->cpu = (int)rec.cpu;
		if (rec.have & AUXTAP_REC_TIME)
			aux->time = rec.time;
		if (rec.have & AUXTAP_REC_PID_TID) {
			aux->pid = (int32_t)rec.pid;
			aux->tid = (int32_t)rec.tid;
		}
		if (aux->size > UINT64_MAX - aux->off)
			aux->size = UINT64_MAX - aux->off;
		auxes->nr++;
	}
	if (auxes->nr)
		qsort(auxes->list, auxes->nr, sizeof(*auxes->list), by_offset);
	drop_saved_twice(auxes);
	return 0;
}

/* ---- pieces ---- */

static struct cs_buffer *get_buffer(struct cs_extents *extents, const struct auxtap_auxtrace *head)
{
	struct cs_buffer *buffer;

	for (size_t i = extents->nr; i--;)
		if (extents->buffers[i].cpu == (int32_t)head->cpu &&
		    extents->buffers[i].tid == (int32_t)head->tid)
			return &extents->buffers[i];
	buffer = cs_extents_add_buffer(extents);
	if (buffer) {
		buffer->format = CS_FORMAT_FRAMES;
		buffer->cpu = (int32_t)head->cpu;
		buffer->tid = (int32_t)head->tid;
	}
	return buffer;
}

static bool is_of(const struct aux *aux, const struct auxtap_auxtrace *head)
{
	if ((int32_t)head->cpu != -1)
		return aux->cpu == -1 || aux->cpu == (int32_t)head->cpu;
	return aux->tid == -1 || (int32_t)head->tid == -1 || aux->tid == (int32_t)head->tid;
}

static int add_missing(struct cs_extents *extents, const struct aux *aux, uint64_t nr_bytes,
		       const char *why)
{
	struct cs_missing *missing = reserve((void **)&extents->missing, extents->nr_missing,
					     &extents->max_missing, sizeof(*missing));

	if (!missing)
		return -ENOMEM;
	extents->nr_missing++;
	*missing = (struct cs_missing){.cpu = aux->cpu,
				       .pid = aux->pid,
				       .tid = aux->tid,
				       .time = aux->time,
				       .nr_bytes = nr_bytes,
				       .why = why};
	return 0;
}

/* How far [off, end) of the AUXTRACE record was seen. */
struct cover {
	struct auxtap_perfdata *pd;
	struct cs_extents *extents;
	struct cs_buffer *buffer;
	/* this record; after the file's last one */
	const struct auxtap_perfdata_aux *trace, *traces_end;
	int cpu;       /* where no record says */
	uint64_t end;  /* of what was added last */
	uint64_t lead; /* before the first AUX record or byte of the buffer */
	bool snapshot; /* what lies between two of a ring was overwritten */
	/* the ring has one record: it is of this snapshot, whatever the offsets count from */
	bool only;
};

/* Was the end of the trace written at the record's time, and not before? */
static bool ends_at_time(const struct cover *c, const struct aux *aux, uint64_t end)
{
	if (!aux->time)
		return false;
	if (!(aux->flags & PERF_AUX_FLAG_OVERWRITE))
		return aux->off + aux->size == end;
	/* of a snapshot the offset is where the unit stopped */
	return aux->off == end || (c->only && end == c->trace->head.offset + c->trace->trace_size);
}

/*
 * Adds the trace at [off, off + size) of the ring. It joins the extent before where its bytes
 * follow without a flagged loss in the same format, frames only at the end of a frame. Bytes
 * between the two are counted in nr_lost; after a record with a flag of loss, only in snapshots.
 */
static int add_extent(struct cover *c, const struct aux *aux, uint64_t off, uint64_t size, bool raw)
{
	const struct cs_extent *last =
		c->buffer->nr ? &c->buffer->extents[c->buffer->nr - 1] : NULL;
	uint64_t last_end = last ? last->off + last->size : off;
	struct cs_extent *extent;
	bool joins = last && last_end == off && last->raw == raw && !c->buffer->broken &&
		     (raw || last->size % CS_FRAME == 0);

	extent = cs_buffer_add(c->buffer);
	if (!extent)
		return -ENOMEM;
	*extent =
		(struct cs_extent){.off = off,
				   .size = size,
				   .raw = raw,
				   .joins = joins,
				   .file_off = c->trace->trace_off + (off - c->trace->head.offset),
				   .time = aux->time,
				   .cpu = aux->cpu,
				   .pid = aux->pid,
				   .tid = aux->tid};
	if (extent->cpu == -1)
		extent->cpu = c->buffer->cpu;
	if (extent->cpu == -1) {
		extent->cpu = c->cpu;
		c->buffer->cpu_unknown = true;
	}
	extent->overwritten = c->snapshot;
	extent->ends_at_time = ends_at_time(c, aux, off + size);
	extent->from_zero = !off && (!(aux->flags & PERF_AUX_FLAG_OVERWRITE) || aux->off == size);
	if (off > last_end && (!c->buffer->broken || c->snapshot))
		extent->nr_lost = off - last_end;
	c->buffer->broken = aux->flags & FLAG_LOSS;
	c->end = off + size;
	if (!last && c->lead && add_missing(c->extents, aux, c->lead, "not in the file"))
		return -ENOMEM;
	if (off < last_end)
		return add_missing(c->extents, aux, 0,
				   "a buffer begins before the end of the one before: "
				   "flow may come twice");
	return 0;
}

/*
 * The end of a buffer's last AUXTRACE record without the zeros that it may be padded with: its
 * bytes up to end are covered by no record, and so many zeros are no packet. In one that another
 * goes on from they may be the start of one.
 */
static uint64_t without_padding(const struct cover *c, uint64_t end)
{
	uint64_t max = end - c->end < AUXTRACE_ALIGN ? end - c->end : AUXTRACE_ALIGN - 1;
	uint8_t bytes[AUXTRACE_ALIGN];

	for (const struct auxtap_perfdata_aux *next = c->trace + 1; next < c->traces_end; next++)
		if (next->head.cpu == c->trace->head.cpu && next->head.tid == c->trace->head.tid)
			return end;
	if (auxtap_perfdata_pread(c->pd, bytes, max,
				  c->trace->trace_off + (end - max - c->trace->head.offset)) !=
	    (ssize_t)max)
		return end;
	for (; max && !bytes[max - 1]; max--)
		end--;
	return end;
}

/* Trace that no AUX record covers: what is known of this buffer stays valid. */
static int add_unreported(struct cover *c, const struct cs_config *config, uint64_t end)
{
	const struct cs_buffer *b = c->buffer;
	struct aux aux = {.cpu = b->cpu, .pid = -1, .tid = b->tid};
	bool at_end = end == c->trace->head.offset + c->trace->trace_size;
	bool raw = b->nr ? b->extents[b->nr - 1].raw :
			   config->nr && config->units[0].protocol == CS_PROTOCOL_ETE;

	if (end <= c->end || (end - c->end < AUXTRACE_ALIGN && at_end))
		return 0;
	if (raw && at_end) /* frames are padded by none: they have 16 bytes */
		end = without_padding(c, end);
	return end > c->end ? add_extent(c, &aux, c->end, end - c->end, raw) : 0;
}

/* What the older one has before its end is what the newer one has before 'at'. */
static bool same_past(const uint8_t *old, size_t old_size, const uint8_t *new, size_t at)
{
	size_t size = at < old_size ? at : old_size;

	return !memcmp(new + at - size, old + old_size - size, size);
}

/*
 * How many of the newer snapshot's first bytes, at file_off, the older one had, by what is in them:
 * a ring's offsets tell where to look first (not those of perfs before 5.15). 0: none, or not
 * surely.
 */
static uint64_t seen_before(const struct cover *c, const struct cs_extent *old, uint64_t off,
			    uint64_t file_off, uint64_t nr_bytes)
{
	size_t size = nr_bytes < OVERLAP_MAX ? (size_t)nr_bytes : OVERLAP_MAX;
	size_t old_size = old->size < size ? (size_t)old->size : size, key, seen = 0;
	uint64_t by_off = old->off + old->size - off;
	uint8_t *buf = old_size ? malloc(size + old_size) : NULL, *new = buf, *at, *twice;

	if (!buf)
		return 0;
	if (auxtap_perfdata_pread(c->pd, new, size, file_off) != (ssize_t)size ||
	    auxtap_perfdata_pread(c->pd, buf + size, old_size,
				  old->file_off + old->size - old_size) != (ssize_t)old_size)
		goto out;
	if (by_off <= size && same_past(buf + size, old_size, new, (size_t)by_off)) {
		seen = (size_t)by_off;
		goto out;
	}
	key = old_size < OVERLAP_KEY ? old_size : OVERLAP_KEY;
	at = memmem(new, size, buf + size + old_size - key, key);
	if (!at || !same_past(buf + size, old_size, new, (size_t)(at - new) + key))
		goto out;
	twice = memmem(at + 1, size - (size_t)(at + 1 - new), buf + size + old_size - key, key);
	if (!twice)
		seen = (size_t)(at - new) + key;
out:
	free(buf);
	return seen;
}

/* A snapshot's bytes, without what the one before has. */
static int add_snapshot_extent(struct cover *c, const struct aux *aux, uint64_t off, uint64_t size,
			       bool raw)
{
	const struct cs_extent *last =
		c->buffer->nr ? &c->buffer->extents[c->buffer->nr - 1] : NULL;
	uint64_t seen =
		last && last->raw == raw ? seen_before(c, last, off, c->trace->trace_off, size) : 0;
	struct cs_extent *extent;
	int ret;

	if (!raw && seen % CS_FRAME)
		seen = 0;
	if (last && off == last->off + last->size)
		c->buffer->broken = false; /* nothing was overwritten in between */
	if (!seen)
		return add_extent(c, aux, off, size, raw);
	if (seen == size)
		return 0;
	c->buffer->broken = false;
	/* it goes on from there, whatever its offset says */
	ret = add_extent(c, aux, last->off + last->size, size - seen, raw);
	if (ret)
		return ret;
	extent = &c->buffer->extents[c->buffer->nr - 1];
	extent->file_off = c->trace->trace_off + seen;
	extent->nr_seen = seen;
	return 0;
}

/* The record that ends where this one begins. */
static const struct aux *record_before(const struct auxes *auxes, const struct aux *aux,
				       const struct auxtap_auxtrace *head)
{
	for (size_t i = 0; i < auxes->nr; i++)
		if (auxes->list[i].off == aux->off - aux->size && is_of(&auxes->list[i], head))
			return &auxes->list[i];
	return NULL;
}

/*
 * The newest record covers only what came since the unit was enabled, or since the ring was full: a
 * TRBE stops there, and what its trace unit emitted until it ran again is lost.
 */
static int add_halves(struct cover *c, const struct aux *aux, uint64_t begin, uint64_t end)
{
	uint64_t split = end - aux->size;
	int ret = add_extent(c, aux, begin, split - begin, true);

	if (ret)
		return ret;
	c->buffer->broken = true;
	ret = add_extent(c, aux, split, end - split, true);
	if (!ret)
		c->buffer->extents[c->buffer->nr - 1].collided = true;
	return ret;
}

/*
 * A snapshot of a ring: AUX records say where the unit stopped (their offset is the end), and cover
 * more bytes than the ring has kept. The newest one within has the format, and shows where the
 * padding begins.
 */
static int add_snapshot(struct cover *c, struct auxes *auxes, const struct cs_config *config)
{
	uint64_t begin = c->trace->head.offset, end = begin + c->trace->trace_size;
	const struct aux *newest = NULL, *before;
	size_t nr = 0;

	for (size_t i = 0; i < auxes->nr; i++) {
		struct aux *aux = &auxes->list[i];

		if (!(aux->flags & PERF_AUX_FLAG_OVERWRITE) || !is_of(aux, &c->trace->head))
			continue;
		aux->used = true;
		nr++;
		if (!newest || aux->off <= end)
			newest = aux;
	}
	c->only = nr == 1;
	c->buffer->broken = c->snapshot = true;
	if (!newest)
		return add_unreported(c, config, end);
	if (newest->off > begin && newest->off < end && end - newest->off < AUXTRACE_ALIGN)
		end = newest->off;
	before = record_before(auxes, newest, &c->trace->head);
	if (newest->flags & FLAG_RAW && !c->buffer->nr && newest->size &&
	    newest->size < end - begin && (!before || before->flags & FLAG_LOSS))
		return add_halves(c, newest, begin, end);
	return add_snapshot_extent(c, newest, begin, end - begin, newest->flags & FLAG_RAW);
}

/*
 * A buffer counts its bytes from 0 on: those before the first AUX record of it that the file has.
 */
static uint64_t not_recorded(const struct auxes *auxes, const struct auxtap_auxtrace *head)
{
	for (size_t i = 0; i < auxes->nr && auxes->list[i].off < head->offset; i++)
		if (auxes->list[i].size && is_of(&auxes->list[i], head))
			return auxes->list[i].off;
	return head->offset;
}

static int add_trace(struct cs_extents *extents, struct auxtap_perfdata *pd, struct auxes *auxes,
		     const struct cs_config *config, const struct auxtap_perfdata_aux *trace,
		     const struct auxtap_perfdata_aux *traces_end)
{
	uint64_t begin = trace->head.offset, end = begin + trace->trace_size;
	struct cover c = {.pd = pd,
			  .extents = extents,
			  .trace = trace,
			  .traces_end = traces_end,
			  .end = begin,
			  .cpu = config->nr ? config->units[0].cpu : -1};
	size_t lo = 0, hi = auxes->nr;
	int ret = 0;

	if (!trace->trace_size || end < begin)
		return 0;
	c.buffer = get_buffer(extents, &trace->head);
	if (!c.buffer)
		return -ENOMEM;
	if (config->snapshot)
		return add_snapshot(&c, auxes, config);
	c.lead = c.buffer->nr ? 0 : not_recorded(auxes, &trace->head);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (auxes->list[mid].off < begin)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; !ret && lo < auxes->nr && auxes->list[lo].off < end; lo++) {
		struct aux *aux = &auxes->list[lo];
		uint64_t size = aux->size;

		if (aux->used || !is_of(aux, &trace->head))
			continue;
		/* where this one's padding is the next one's trace begins */
		if (size > end - aux->off && end - aux->off < AUXTRACE_ALIGN)
			continue;
		aux->used = true;
		if (!size) {
			c.buffer->broken = c.buffer->broken || aux->flags & FLAG_LOSS;
			continue;
		}
		if (size > end - aux->off) {
			ret = add_missing(extents, aux, size - (end - aux->off), "not in the file");
			size = end - aux->off;
		}
		if (!ret && aux->off > c.end)
			ret = add_unreported(&c, config, aux->off);
		if (!ret)
			ret = add_extent(&c, aux, aux->off, size, aux->flags & FLAG_RAW);
	}
	return ret ? ret : add_unreported(&c, config, end);
}

void cs_buffer_bound(struct cs_buffer *buffer, uint64_t started)
{
	uint64_t since = started, until = UINT64_MAX;

	for (size_t i = 0; i < buffer->nr; i++) {
		struct cs_extent *p = &buffer->extents[i];
		const struct cs_extent *last = i ? p - 1 : NULL;

		/* trace that comes twice is older than the end of what is before it */
		if (last && p->off < last->off + last->size)
			since = started;
		else if (last && last->time > since && last->time != p->time)
			since = last->time;
		p->since = since;
	}
	for (size_t i = buffer->nr; i--;) {
		struct cs_extent *p = &buffer->extents[i];

		if (p->time)
			until = p->time;
		p->until = until;
		if (p->since >= p->until) /* records that contradict each other */
			p->since = 0;
	}
}

int cs_extents_read(struct cs_extents *extents, struct auxtap_perfdata *pd,
		    const struct cs_config *config, struct auxtap_error *err)
{
	const struct auxtap_perfdata_aux *traces;
	struct auxes auxes = {NULL, 0, 0};
	size_t nr;
	int ret;

	memset(extents, 0, sizeof(*extents));
	ret = auxtap_perfdata_auxtraces(pd, &traces, &nr, err);
	if (ret)
		return ret;
	ret = read_auxes(&auxes, pd);
	for (size_t i = 0; !ret && i < nr; i++)
		ret = add_trace(extents, pd, &auxes, config, &traces[i], traces + nr);
	for (size_t i = 0; !ret && i < auxes.nr; i++)
		if (!auxes.list[i].used && auxes.list[i].size)
			ret = add_missing(extents, &auxes.list[i], auxes.list[i].size,
					  "not in the file");
	free(auxes.list);
	if (!ret)
		return 0;
	cs_extents_free(extents);
	return auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
}
