// SPDX-License-Identifier: BSD-2-Clause
/* See cs_extents.h. */
#include "cs_extents.h"
#include "decode/stream/trace_queue.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_RAW 0x100 /* PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */

#define NO_BUFFER SIZE_MAX

/* The AUXTRACE records of one CPU or thread. */
struct ring {
	size_t buffer; /* NO_BUFFER: none yet */
	size_t last;   /* index of its newest record */
	/* snapshot mode: AUX records with PERF_AUX_FLAG_OVERWRITE, valid if snapshots_counted */
	size_t nr_snapshots;
	bool snapshots_counted;
};

/* State while a file is read. */
struct reading {
	struct auxtap_perfdata *pd;
	const struct cs_config *config;
	struct cs_extents *extents;
	struct trace_auxes auxes; /* by offset */
	struct trace_keys keys;
	struct ring *rings; /* by the index of their key */
	size_t max_rings;
};

struct cs_extent *cs_buffer_add(struct cs_buffer *buffer)
{
	struct cs_extent *extent;

	if (vector_grow(buffer->extents, buffer->nr, buffer->max))
		return NULL;
	extent = &buffer->extents[buffer->nr++];
	*extent = (struct cs_extent){0};
	return extent;
}

struct cs_buffer *cs_extents_add_buffer(struct cs_extents *extents)
{
	struct cs_buffer *buffer;

	if (vector_grow(extents->buffers, extents->nr, extents->max))
		return NULL;
	buffer = &extents->buffers[extents->nr++];
	*buffer = (struct cs_buffer){.cpu = -1, .tid = -1, .fd = -1};
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
	struct auxtap_record rec = {.size = sizeof(rec)};
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
		    rec.body_size < sizeof(hw_id) || !(rec.fields & AUXTAP_REC_CPU))
			continue;
		memcpy(&hw_id, rec.header + 1, sizeof(hw_id));
		cs_config_hw_id(config, (int)rec.cpu, hw_id);
	}
	return 0;
}

static int read_auxes(struct trace_auxes *auxes, struct auxtap_perfdata *pd)
{
	struct auxtap_record rec = {.size = sizeof(rec)};
	struct trace_aux aux;

	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1)
		if (rec.header->type == PERF_RECORD_AUX && trace_aux_read(&aux, &rec) &&
		    trace_auxes_add(auxes, &aux))
			return -ENOMEM;
	trace_auxes_sort(auxes);
	return trace_auxes_index(auxes);
}

static struct trace_key key_of(const struct auxtap_auxtrace *head)
{
	return (struct trace_key){.cpu = (int32_t)head->cpu, .tid = (int32_t)head->tid};
}

static int find_rings(struct reading *r, const struct auxtap_perfdata_aux *traces, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t number;

		/* grow the rings first, so that every key has a ring even if this fails */
		if (vector_grow(r->rings, r->keys.nr, r->max_rings))
			return -ENOMEM;
		r->rings[r->keys.nr] = (struct ring){.buffer = NO_BUFFER};
		if (trace_keys_add(&r->keys, key_of(&traces[i].auxtrace), &number))
			return -ENOMEM;
		r->rings[number].last = i;
	}
	return 0;
}

/* ---- extents ---- */

static struct cs_buffer *get_buffer(struct cs_extents *extents, struct ring *ring,
				    const struct auxtap_auxtrace *head)
{
	struct cs_buffer *buffer;

	if (ring->buffer != NO_BUFFER)
		return &extents->buffers[ring->buffer];
	buffer = cs_extents_add_buffer(extents);
	if (buffer) {
		ring->buffer = (size_t)(buffer - extents->buffers);
		buffer->format = CS_FORMAT_FRAMES;
		buffer->cpu = (int32_t)head->cpu;
		buffer->tid = (int32_t)head->tid;
	}
	return buffer;
}

static int add_missing(struct cs_extents *extents, const struct trace_aux *aux, uint64_t nr_bytes,
		       const char *why)
{
	if (vector_grow(extents->missing, extents->nr_missing, extents->max_missing))
		return -ENOMEM;
	extents->missing[extents->nr_missing++] = (struct cs_missing){.cpu = aux->cpu,
								      .pid = aux->pid,
								      .tid = aux->tid,
								      .time = aux->time,
								      .nr_bytes = nr_bytes,
								      .why = why};
	return 0;
}

/* The part of one AUXTRACE record for which extents were added. */
struct coverage {
	struct auxtap_perfdata *pd;
	struct cs_extents *extents;
	struct cs_buffer *buffer;
	struct trace_auxes *auxes;
	const struct auxtap_perfdata_aux *trace; /* the AUXTRACE record */
	bool newest;				 /* it is the last one of its ring */
	int cpu;				 /* for extents whose records name no CPU */
	uint64_t end;				 /* of the extent that was added last */
	uint64_t nr_before; /* bytes of the ring before its first AUX record or trace here */
	bool snapshot;	    /* snapshot mode: bytes between two AUXTRACE records were overwritten */
	/* the ring has one AUX record, so that belongs to this snapshot, whatever its offset is */
	bool has_one_record;
};

/* Whether the trace that ends at 'end' was still being written at the AUX record's time. */
static bool ends_at_time(const struct coverage *c, const struct trace_aux *aux, uint64_t end)
{
	if (!aux->time)
		return false;
	if (!(aux->flags & PERF_AUX_FLAG_OVERWRITE))
		return aux->off + aux->size == end;
	/* in snapshot mode aux_offset is the position where the unit stopped, not the start */
	return aux->off == end ||
	       (c->has_one_record && end == c->trace->auxtrace.offset + c->trace->trace_size);
}

/*
 * Adds the trace at [off, off + size) of the ring. It joins the previous extent if its bytes follow
 * directly, in the same format and without a loss flag; frames must also end at a frame boundary.
 * Bytes between the two extents are counted in nr_lost, except after a record with a loss flag,
 * which stands for them; in snapshot mode they are always counted.
 */
static int add_extent(struct coverage *c, const struct trace_aux *aux, uint64_t off, uint64_t size,
		      bool raw)
{
	const struct cs_extent *last =
		c->buffer->nr ? &c->buffer->extents[c->buffer->nr - 1] : NULL;
	uint64_t last_end = last ? last->off + last->size : off;
	struct cs_extent *extent;
	bool joins = last && last_end == off && last->raw == raw && !c->buffer->discontinuous &&
		     (raw || last->size % CS_FRAME == 0);

	extent = cs_buffer_add(c->buffer);
	if (!extent)
		return -ENOMEM;
	*extent = (struct cs_extent){.off = off,
				     .size = size,
				     .raw = raw,
				     .joins = joins,
				     .file_off = c->trace->trace_off +
						 (off - c->trace->auxtrace.offset),
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
	if (off > last_end && (!c->buffer->discontinuous || c->snapshot))
		extent->nr_lost = off - last_end;
	c->buffer->discontinuous = aux->flags & TRACE_AUX_LOSS;
	c->end = off + size;
	if (!last && c->nr_before && add_missing(c->extents, aux, c->nr_before, "not in the file"))
		return -ENOMEM;
	if (off < last_end)
		return add_missing(c->extents, aux, 0,
				   "a buffer begins before the end of the one before: "
				   "flow may come twice");
	return 0;
}

/*
 * Returns 'end' of the ring's last AUXTRACE record without trailing zeros, up to TRACE_ALIGN - 1:
 * perf pads the record with zeros, and so few of them are no packet. In a record that another one
 * continues they may be the first zeros of an A-Sync packet, so they are kept.
 */
static uint64_t without_padding(const struct coverage *c, uint64_t end)
{
	uint64_t max = end - c->end < TRACE_ALIGN ? end - c->end : TRACE_ALIGN - 1;
	uint8_t bytes[TRACE_ALIGN];

	if (!c->newest)
		return end;
	if (auxtap_perfdata_pread(c->pd, bytes, max,
				  c->trace->trace_off + (end - max - c->trace->auxtrace.offset)) !=
	    (ssize_t)max)
		return end;
	for (; max && !bytes[max - 1]; max--)
		end--;
	return end;
}

/* Adds trace up to 'end' that no AUX record covers, with the format of the previous extent. */
static int add_uncovered(struct coverage *c, const struct cs_config *config, uint64_t end)
{
	const struct cs_buffer *b = c->buffer;
	struct trace_aux aux = {.cpu = b->cpu, .pid = -1, .tid = b->tid};
	bool at_end = end == c->trace->auxtrace.offset + c->trace->trace_size;
	bool raw = b->nr ? b->extents[b->nr - 1].raw :
			   config->nr && config->units[0].protocol == CS_PROTOCOL_ETE;

	if (end <= c->end || (end - c->end < TRACE_ALIGN && at_end))
		return 0;
	if (raw && at_end) /* frames have 16 bytes and need no padding */
		end = without_padding(c, end);
	return end > c->end ? add_extent(c, &aux, c->end, end - c->end, raw) : 0;
}

static ssize_t read_file(void *ctx, void *buf, size_t size, uint64_t off)
{
	return auxtap_perfdata_pread(ctx, buf, size, off);
}

/*
 * How many of the newer snapshot's first bytes the older one already had; 0: none, or the match is
 * not unique. The recorded offset is where to look first; perf before 5.15 recorded another one.
 */
static uint64_t overlap_size(const struct coverage *c, const struct cs_extent *last, uint64_t off,
			     uint64_t size)
{
	const struct trace_queue_opts opts = {.pread = read_file, .ctx = c->pd};
	const struct trace_extent old = {.off = last->off,
					 .file_off = last->file_off,
					 .size = last->size};
	struct trace_overlap overlap =
		trace_overlap_find(&opts, &old, off, c->trace->trace_off, size, 0, false);

	return overlap.seen > 0 && overlap.unique ? (uint64_t)overlap.seen : 0;
}

/* Adds a snapshot's bytes without those that the previous snapshot already had. */
static int add_snapshot_extent(struct coverage *c, const struct trace_aux *aux, uint64_t off,
			       uint64_t size, bool raw)
{
	const struct cs_extent *last =
		c->buffer->nr ? &c->buffer->extents[c->buffer->nr - 1] : NULL;
	uint64_t seen = last && last->raw == raw ? overlap_size(c, last, off, size) : 0;
	struct cs_extent *extent;
	int ret;

	if (!raw && seen % CS_FRAME)
		seen = 0;
	if (last && off == last->off + last->size)
		c->buffer->discontinuous = false; /* nothing was overwritten in between */
	if (!seen)
		return add_extent(c, aux, off, size, raw);
	if (seen == size)
		return 0;
	c->buffer->discontinuous = false;
	/* the new bytes continue the previous snapshot, whatever their recorded offset is */
	ret = add_extent(c, aux, last->off + last->size, size - seen, raw);
	if (ret)
		return ret;
	extent = &c->buffer->extents[c->buffer->nr - 1];
	extent->file_off = c->trace->trace_off + seen;
	extent->nr_seen = seen;
	return 0;
}

static void start_records(struct trace_aux_cursor *cursor, const struct coverage *c, uint64_t off)
{
	const struct trace_key key = key_of(&c->trace->auxtrace);

	trace_auxes_first(cursor, c->auxes, key.cpu, key.tid, off);
}

/* The AUX record of the snapshot that ends where this record's bytes begin. */
static const struct trace_aux *record_before(const struct coverage *c, const struct trace_aux *aux)
{
	struct trace_aux_cursor cursor;
	const struct trace_aux *before;

	start_records(&cursor, c, aux->off - aux->size);
	before = trace_auxes_next(&cursor, false);
	return before && before->off == aux->off - aux->size ? before : NULL;
}

/* Marks the ring's snapshot records as used: each belongs to some snapshot in the file. */
static void mark_snapshot_records(const struct coverage *c, struct ring *ring)
{
	struct trace_aux_cursor cursor;
	struct trace_aux *aux;

	if (ring->snapshots_counted)
		return;
	ring->snapshots_counted = true;
	start_records(&cursor, c, 0);
	while ((aux = trace_auxes_next(&cursor, false))) {
		if (!(aux->flags & PERF_AUX_FLAG_OVERWRITE))
			continue;
		aux->used = true;
		ring->nr_snapshots++;
	}
}

/* The newest snapshot record at or before 'end', else the first one after it. */
static const struct trace_aux *newest_before(const struct coverage *c, uint64_t end)
{
	struct trace_aux_cursor cursor;
	const struct trace_aux *aux;

	start_records(&cursor, c, end == UINT64_MAX ? end : end + 1);
	while ((aux = trace_auxes_back(&cursor)))
		if (aux->flags & PERF_AUX_FLAG_OVERWRITE)
			return aux;
	while ((aux = trace_auxes_next(&cursor, false)))
		if (aux->flags & PERF_AUX_FLAG_OVERWRITE)
			return aux;
	return NULL;
}

/*
 * The newest record covers only the trace since the unit was last enabled. If a TRBE had stopped at
 * the end of its ring before, the trace that its ETE emitted until it was enabled again is lost: so
 * the snapshot is two extents, with a loss of unknown size between them.
 *
 *	begin              split                end
 *	  |  older trace     |  newest record    |
 */
static int add_split_snapshot(struct coverage *c, const struct trace_aux *aux, uint64_t begin,
			      uint64_t end)
{
	uint64_t split = end - aux->size;
	int ret = add_extent(c, aux, begin, split - begin, true);

	if (ret)
		return ret;
	c->buffer->discontinuous = true;
	ret = add_extent(c, aux, split, end - split, true);
	if (!ret)
		c->buffer->extents[c->buffer->nr - 1].collided = true;
	return ret;
}

/*
 * Adds a snapshot of a ring. In snapshot mode the offset of an AUX record is where the unit
 * stopped, and its size may exceed what the ring has kept. The newest record in the snapshot says
 * which format the trace has, and where the padding begins.
 */
static int add_snapshot(struct coverage *c, struct ring *ring, const struct cs_config *config)
{
	uint64_t begin = c->trace->auxtrace.offset, end = begin + c->trace->trace_size;
	const struct trace_aux *newest = newest_before(c, end), *before;

	mark_snapshot_records(c, ring);
	c->has_one_record = ring->nr_snapshots == 1;
	c->buffer->discontinuous = c->snapshot = true;
	if (!newest)
		return add_uncovered(c, config, end);
	if (newest->off > begin && newest->off < end && end - newest->off < TRACE_ALIGN)
		end = newest->off;
	before = record_before(c, newest);
	if (newest->flags & FLAG_RAW && !c->buffer->nr && newest->size &&
	    newest->size < end - begin && (!before || before->flags & TRACE_AUX_LOSS))
		return add_split_snapshot(c, newest, begin, end);
	return add_snapshot_extent(c, newest, begin, end - begin, newest->flags & FLAG_RAW);
}

/* How many bytes at the start of the ring, offset 0, have neither an AUX record nor trace here. */
static uint64_t nr_leading_bytes(const struct coverage *c)
{
	uint64_t off = c->trace->auxtrace.offset;
	struct trace_aux_cursor cursor;
	const struct trace_aux *aux;

	start_records(&cursor, c, 0);
	while ((aux = trace_auxes_next(&cursor, false)) && aux->off < off)
		if (aux->size)
			return aux->off;
	return off;
}

/* Adds what the AUX record covers of the AUXTRACE record, which ends at 'end'. */
static int add_covered(struct coverage *c, const struct cs_config *config, struct trace_aux *aux,
		       uint64_t end)
{
	uint64_t size = aux->size;
	int ret = 0;

	/* it begins in the padding of this AUXTRACE record: its trace is in the next one */
	if (size > end - aux->off && end - aux->off < TRACE_ALIGN)
		return 0;
	aux->used = true;
	if (!size) {
		c->buffer->discontinuous = c->buffer->discontinuous || aux->flags & TRACE_AUX_LOSS;
		return 0;
	}
	if (size > end - aux->off) {
		ret = add_missing(c->extents, aux, size - (end - aux->off), "not in the file");
		size = end - aux->off;
	}
	if (!ret && aux->off > c->end)
		ret = add_uncovered(c, config, aux->off);
	return ret ? ret : add_extent(c, aux, aux->off, size, aux->flags & FLAG_RAW);
}

static int add_trace(struct reading *r, const struct auxtap_perfdata_aux *traces, size_t number)
{
	const struct auxtap_perfdata_aux *trace = &traces[number];
	struct ring *ring = &r->rings[trace_keys_find(&r->keys, key_of(&trace->auxtrace))];
	uint64_t begin = trace->auxtrace.offset, end = begin + trace->trace_size;
	struct coverage c = {.pd = r->pd,
			     .extents = r->extents,
			     .auxes = &r->auxes,
			     .trace = trace,
			     .newest = ring->last == number,
			     .end = begin,
			     .cpu = r->config->nr ? r->config->units[0].cpu : -1};
	struct trace_aux_cursor cursor;
	struct trace_aux *aux;
	int ret = 0;

	if (!trace->trace_size || end < begin)
		return 0;
	c.buffer = get_buffer(r->extents, ring, &trace->auxtrace);
	if (!c.buffer)
		return -ENOMEM;
	if (r->config->snapshot_mode)
		return add_snapshot(&c, ring, r->config);
	c.nr_before = c.buffer->nr ? 0 : nr_leading_bytes(&c);
	start_records(&cursor, &c, begin);
	while (!ret && (aux = trace_auxes_next(&cursor, true)) && aux->off < end)
		ret = add_covered(&c, r->config, aux, end);
	return ret ? ret : add_uncovered(&c, r->config, end);
}

void cs_buffer_set_times(struct cs_buffer *buffer, uint64_t started)
{
	uint64_t since = started, until = UINT64_MAX;

	for (size_t i = 0; i < buffer->nr; i++) {
		struct cs_extent *p = &buffer->extents[i];
		const struct cs_extent *last = i ? p - 1 : NULL;

		/* trace that overlaps the previous extent may be older than that extent's end */
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
	struct reading r = {.pd = pd, .config = config, .extents = extents};
	const struct auxtap_perfdata_aux *traces;
	size_t nr;
	int ret;

	memset(extents, 0, sizeof(*extents));
	ret = auxtap_perfdata_auxtraces(pd, &traces, &nr, err);
	if (ret)
		return ret;
	ret = read_auxes(&r.auxes, pd);
	if (!ret)
		ret = find_rings(&r, traces, nr);
	for (size_t i = 0; !ret && i < nr; i++)
		ret = add_trace(&r, traces, i);
	for (size_t i = 0; !ret && i < r.auxes.nr; i++)
		if (!r.auxes.list[i].used && r.auxes.list[i].size)
			ret = add_missing(extents, &r.auxes.list[i], r.auxes.list[i].size,
					  "not in the file");
	trace_auxes_free(&r.auxes);
	trace_keys_free(&r.keys);
	free(r.rings);
	if (!ret)
		return 0;
	cs_extents_free(extents);
	return auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
}
