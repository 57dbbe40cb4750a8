// SPDX-License-Identifier: BSD-2-Clause
/* See cs_stream.h. */
#include "cs_stream.h"
#include "decode/flow/decoder_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64u << 10)
/* Bytes decoded at a time: each may stand for two dozen blocks. */
#define FEED 256

static ssize_t read_buffer(void *ctx, void *buf, size_t size, uint64_t off)
{
	const struct cs_stream *s = ctx;
	size_t got = 0;

	if (s->buffer->fd < 0)
		return decoder_read_file(s->dec, buf, size, off);
	while (got < size) {
		ssize_t ret =
			pread(s->buffer->fd, (char *)buf + got, size - got, (off_t)(off + got));

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		if (!ret)
			break;
		got += (size_t)ret;
	}
	return (ssize_t)got;
}

int cs_stream_init(struct cs_stream *s, struct auxtap_decoder *dec, const struct cs_buffer *buffer,
		   const struct cs_unit *unit, const struct cs_memory_dumps *dumps)
{
	memset(s, 0, sizeof(*s));
	s->dec = dec;
	s->buffer = buffer;
	s->unit = unit;
	s->tid = s->read_tid = -1;
	s->read_mem.set = dec->images;
	s->read_mem.dumps = dumps;
	s->read_mem.pid = -1;
	s->read_mem.time = UINT64_MAX;
	cs_emit_init(&s->emit, &dec->opts, unit);
	s->emit.mem = s->read_mem;
	s->buf = malloc(CHUNK);
	return s->buf ? 0 : -ENOMEM;
}

void cs_stream_free(struct cs_stream *s)
{
	if (s->flow)
		s->dec->flow_ops->destroy(s->flow);
	cs_emit_free(&s->emit);
	free(s->execs);
	free(s->buf);
}

static size_t extent_at(const struct cs_stream *s, uint64_t off)
{
	size_t lo = s->first_extent, hi = s->first_extent + s->nr_extents;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->buffer->extents[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* ---- items ---- */

/* Adds an item of the stream itself, to be emitted before the next steps. */
static struct cs_item *add_item(struct cs_stream *s, uint64_t off)
{
	struct cs_item *item = &s->own[s->nr_own++];

	memset(item, 0, sizeof(*item));
	item->step.kind = FLOW_LOST;
	item->step.loss = FLOW_LOSS_ERROR;
	item->step.pos = off;
	return item;
}

static void add_error(struct cs_stream *s, uint64_t off, const char *why)
{
	struct cs_item *item = add_item(s, off);

	snprintf(item->why, sizeof(item->why), "offset 0x%llx: %.64s",
		 (unsigned long long)cs_bytes_offset(s->format, off), why);
	item->step.why = item->why;
}

/* Item i of the current ones, the stream's own ones first; NULL: there are fewer. */
static const struct flow_step *step_at(const struct cs_stream *s, size_t i)
{
	if (i < s->nr_own)
		return &s->own[i].step;
	i -= s->nr_own;
	return i < s->nr_steps ? &s->steps[i] : NULL;
}

/* ---- code ---- */

/* Sets whose code is read for the trace at off. Returns whether it differs from before. */
static bool update_read_mem(struct cs_stream *s, size_t extent, uint64_t off)
{
	int32_t pid, tid;

	cs_stream_owner(s, s->read_tid, extent, off, s->buffer->extents[extent].time, &pid, &tid);
	return cs_stream_set_memory(s, &s->read_mem, pid, tid, extent, off);
}

static void set_read_mem(struct cs_stream *s, size_t extent, uint64_t off)
{
	if (update_read_mem(s, extent, off))
		s->dec->flow_ops->set_code(s->flow, s->read_mem.pid, s->read_mem.time);
}

static bool on_context(void *ctx, uint64_t off, int32_t tid)
{
	struct cs_stream *s = ctx;

	s->read_tid = tid;
	return update_read_mem(s, extent_at(s, off), off);
}

static uint32_t on_read(void *ctx, uint64_t addr, uint32_t space, uint32_t size, void *buf)
{
	struct cs_stream *s = ctx;

	s->read_mem.space = space;
	return cs_memory_read(&s->read_mem, addr, size, buf);
}

/* ---- reading ---- */

/* Whether the extent may have trace of the unit: a raw extent is of one CPU, frames of several. */
static bool may_have_trace(const struct cs_stream *s, const struct cs_extent *p)
{
	if (p->raw)
		return p->cpu < 0 || s->unit->cpu < 0 || p->cpu == s->unit->cpu;
	if (s->buffer->format == CS_FORMAT_SOURCE)
		return true;
	return s->unit->id < CS_NR_IDS && s->buffer->nr_bytes[s->unit->id];
}

/* Whether the unit's trace in the previous extent continues in this one. */
static bool continues_previous(const struct cs_stream *s, size_t extent)
{
	const struct cs_extent *p = &s->buffer->extents[extent];

	return p->joins && p[-1].raw == p->raw && may_have_trace(s, p) && may_have_trace(s, p - 1);
}

static void open_decoder(struct cs_stream *s, enum cs_format format)
{
	const struct flow_ops *ops = s->dec->flow_ops;
	const struct cs_flow_source source = {.unit = s->unit,
					      .format = format,
					      .read = on_read,
					      .context = on_context,
					      .ctx = s};

	s->joins = false;
	if (s->flow && s->format == format)
		return;
	if (s->flow)
		ops->destroy(s->flow);
	s->format = format;
	s->flow = ops->create(s->shared, &source);
	if (!s->flow)
		s->error = -ENOMEM;
}

/* Starts the next run: extents that continue each other, also in the file. False: no more. */
static bool begin_run(struct cs_stream *s)
{
	const struct cs_buffer *b = s->buffer;
	const struct cs_extent *first;
	bool continues = s->nr_extents && s->first_extent + s->nr_extents < b->nr &&
			 continues_previous(s, s->first_extent + s->nr_extents);
	size_t nr = 1;

	s->first_extent += s->nr_extents;
	s->nr_extents = 0;
	while (s->first_extent < b->nr && !may_have_trace(s, &b->extents[s->first_extent]))
		s->first_extent++;
	if (s->first_extent >= b->nr)
		return false;
	first = &b->extents[s->first_extent];
	while (s->first_extent + nr < b->nr && continues_previous(s, s->first_extent + nr) &&
	       first[nr - 1].file_off + first[nr - 1].size == first[nr].file_off)
		nr++;
	s->nr_extents = nr;
	s->fed_extent = SIZE_MAX;
	s->have = s->done = 0;
	s->bytes = (struct cs_bytes){.pread = read_buffer,
				     .ctx = s,
				     .chunk = CHUNK,
				     .buf = s->buf,
				     .file_off = first->file_off};
	for (size_t i = 0; i < nr; i++)
		s->bytes.size += b->extents[s->first_extent + i].size;
	s->bytes.format = s->format;
	s->reading = true;
	if (continues && s->joins) {
		cs_stream_find_execs(s);
		return true;
	}
	s->nr_execs = 0;
	add_item(s, first->off)->is_break = true;
	open_decoder(s, first->raw ? CS_FORMAT_SOURCE : b->format);
	s->bytes.format = s->format;
	if (!s->error)
		cs_stream_find_execs(s);
	return true;
}

/* Gives bytes to the flow decoder; fetch_steps() then fetches the steps until there are no more. */
static void give_bytes(struct cs_stream *s, struct flow_bytes *bytes)
{
	bytes->total = bytes->size;
	bytes->joins = s->joins;
	s->dec->flow_ops->start(s->flow, bytes);
	s->joins = s->has_bytes = true;
}

static void end_run(struct cs_stream *s)
{
	uint64_t off = s->buffer->extents[s->first_extent].off;
	struct flow_bytes none = {.off = off + s->bytes.at, .last = true};
	char why[160];

	if (s->bytes.at < s->bytes.size) {
		snprintf(why, sizeof(why), "the last %llu bytes are an incomplete frame",
			 (unsigned long long)(s->bytes.size - s->bytes.at));
		add_error(s, off + s->bytes.at, why);
	}
	s->reading = false;
	if (s->first_extent + s->nr_extents < s->buffer->nr &&
	    continues_previous(s, s->first_extent + s->nr_extents))
		return; /* the next run continues this one, elsewhere in the file */
	give_bytes(s, &none);
}

static bool begins_exec(const struct cs_stream *s, uint64_t off)
{
	for (size_t i = 0; i < s->nr_execs; i++)
		if (s->execs[i].off == off)
			return true;
	return false;
}

static void feed_chunk(struct cs_stream *s)
{
	struct flow_bytes bytes = {.data = s->buf + s->done, .off = s->buf_off + s->done};
	uint64_t off = bytes.off;
	size_t extent = extent_at(s, off), size = s->have - s->done;

	if (size > FEED)
		size = FEED;
	if (extent != s->fed_extent || begins_exec(s, off)) {
		s->fed_extent = extent;
		set_read_mem(s, extent, off);
	}
	for (size_t i = 0; i < s->nr_execs; i++)
		if (s->execs[i].off > off && s->execs[i].off - off < size)
			size = (size_t)(s->execs[i].off - off);
	if (extent + 1 < s->first_extent + s->nr_extents && s->format != CS_FORMAT_DSTREAM) {
		uint64_t rest = s->buffer->extents[extent + 1].off - off;

		rest -= rest % cs_tree_granularity(s->format);
		if (rest && rest < size)
			size = (size_t)rest;
	}
	bytes.size = size;
	give_bytes(s, &bytes);
}

/* Fetches the next steps of the bytes that the flow decoder was given. */
static void fetch_steps(struct cs_stream *s)
{
	const struct flow_ops *ops = s->dec->flow_ops;
	const struct flow_step *last;
	uint64_t pos;

	s->nr_steps = ops->next(s->flow, &s->steps);
	if (!s->nr_steps) {
		s->has_bytes = false;
		if (!s->reading)
			return;
		pos = ops->position(s->flow);
		s->done = pos > s->buf_off ? (size_t)(pos - s->buf_off) : 0;
		if (s->done > s->have)
			s->done = s->have;
		return;
	}
	/* the steps report that the rest of the run is lost */
	last = &s->steps[s->nr_steps - 1];
	if (last->kind == FLOW_LOST && last->loss == FLOW_LOSS_BROKEN)
		s->reading = s->joins = false;
}

static void read_bytes(struct cs_stream *s)
{
	ssize_t got = cs_bytes_next(&s->bytes, &s->buf_off);

	s->done = 0;
	s->have = got > 0 ? (size_t)got : 0;
	s->buf_off += s->buffer->extents[s->first_extent].off;
	if (!got) {
		end_run(s);
	} else if (got < 0) {
		add_error(s, s->buffer->extents[s->first_extent].off + s->bytes.at,
			  "the file cannot be read here");
		s->reading = false;
	}
}

/* Fetches more items; false: the stream has ended. */
static bool read_more(struct cs_stream *s)
{
	s->nr_own = s->nr_steps = s->at_item = 0;
	while (!s->error) {
		if (s->has_bytes)
			fetch_steps(s);
		if (s->nr_own || s->nr_steps)
			return true;
		if (s->has_bytes)
			continue;
		if (!s->reading) {
			if (!begin_run(s))
				return false;
		} else if (s->done < s->have) {
			feed_chunk(s);
		} else {
			read_bytes(s);
		}
	}
	return false;
}

/* ---- events ---- */

/*
 * The item's time; 0: it has no new one. The first timestamp comes after the first instructions:
 * these get its time, as otherwise they would be sorted before the events of all other streams.
 */
static uint64_t time_of(const struct cs_stream *s, const struct flow_step *step, size_t item,
			size_t extent)
{
	const struct time_conv *conv = &s->dec->sideband.conv;

	if (!conv->valid || !cs_unit_has_timestamps(s->unit))
		return s->buffer->extents[extent].time; /* no better time is known */
	for (; step; step = step_at(s, ++item)) {
		if (step->kind == FLOW_TIME)
			return time_from_tsc(conv, step->tsc);
		if (s->emit.time)
			break;
	}
	return 0;
}

/* A new run of extents begins: opens a gap if trace was lost before it. */
static void emit_break(struct cs_emit *emit, const struct cs_extent *p)
{
	if (p->nr_lost)
		cs_emit_lost(emit, p->overwritten ? AUXTAP_GAP_OVERWRITTEN : AUXTAP_GAP_UNKNOWN,
			     p->nr_lost, true,
			     p->overwritten ? "between two snapshots" : "not in the file");
	else if (p->collided)
		cs_emit_lost(emit, AUXTAP_GAP_COLLISION, 0, false,
			     "the buffer was full, or tracing was restarted");
	else
		cs_emit_discontinuity(emit);
}

/* A branch or exception that the previous thread left pending becomes an event of that thread. */
static void set_thread(struct cs_stream *s, size_t extent, uint64_t off, uint64_t now)
{
	struct cs_emit *emit = &s->emit;
	int32_t pid, tid;

	cs_stream_owner(s, s->tid, extent, off, now, &pid, &tid);
	s->owner_known = true;
	s->owner_tid = s->tid;
	s->owner_extent = extent;
	s->owner_time = now;
	if (tid != emit->tid)
		cs_emit_discontinuity(emit);
	emit->pid = pid;
	emit->tid = tid;
}

static void emit_item(struct cs_stream *s, size_t item)
{
	const struct flow_step *step = step_at(s, item);
	size_t extent = s->nr_extents ? extent_at(s, step->pos) : s->first_extent;
	const struct cs_extent *p = &s->buffer->extents[extent];
	bool is_break = item < s->nr_own && s->own[item].is_break;
	uint64_t time = time_of(s, step, item, extent), since, until;
	struct cs_emit *emit = &s->emit;
	uint64_t now = emit->time;

	emit->nr_out = emit->at_out = 0;
	emit->range_left = 0;
	if (step->kind == FLOW_CONTEXT) {
		s->tid = step->tid;
		emit->mem.space = step->space;
	}
	/*
	 * An AUX record is written after its trace. Trace that does not continue that trace is
	 * later than the record, and so is the gap before it.
	 */
	if (is_break && extent && now && p[-1].time >= now && s->dec->sideband.conv.valid &&
	    cs_unit_has_timestamps(s->unit))
		now = p[-1].time + 1;
	/* symbols are looked up by this time: keep it on the same side of an exec as the code */
	cs_stream_time_bounds(s, extent, step->pos, &since, &until);
	if (s->nr_execs && time > until)
		time = until;
	if (s->nr_execs && time <= since && since > now)
		time = since + 1;
	if (time > now)
		now = time;
	if (!s->owner_known || s->owner_tid != s->tid || s->owner_extent != extent ||
	    s->owner_time != now)
		set_thread(s, extent, step->pos, now);
	emit->time = now;
	cs_stream_set_memory(s, &emit->mem, emit->pid, emit->tid, extent, step->pos);
	if (is_break)
		emit_break(emit, p);
	else
		cs_emit_step(emit, step);
}

struct flow_event *cs_stream_next(struct cs_stream *s)
{
	struct flow_event *ev;

	for (;;) {
		ev = cs_emit_event(&s->emit);
		if (!s->error)
			s->error = s->emit.error;
		if (ev || s->finished)
			return ev;
		if (s->at_item < s->nr_own + s->nr_steps) {
			emit_item(s, s->at_item++);
		} else if (s->error || !read_more(s)) {
			cs_emit_end(&s->emit);
			s->finished = true;
		}
	}
}
