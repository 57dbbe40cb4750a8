// SPDX-License-Identifier: BSD-2-Clause
/* See cs_stream.h. */
#include "cs_stream.h"
#include "cs_limits.h"
#include "decode/flow/decoder_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64u << 10)
/* bytes at a time: one may stand for two dozen runs of instructions */
#define FEED	   256
#define ITEMS_KEEP (1u << 14) /* capacity that is kept */

/*
 * How much code the library may read for a byte of trace: two dozen branches, each to another of
 * its 512-byte pages. Where an image is data, without a branch in megabytes, it would read on and
 * on.
 */
#define CODE_PER_BYTE (16u << 10)
#define CODE_FIRST    (4u << 20)
#define CODE_MOST     (64u << 20)

enum item_kind {
	ITEM_ELEMENT,
	ITEM_ERROR, /* reason: why */
	ITEM_BREAK, /* a new run of extents begins */
};

struct cs_item {
	enum item_kind kind;
	size_t extent;
	uint64_t off;
	ocsd_generic_trace_elem elem;
	char why[96];
};

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
		   const struct cs_unit *unit, const struct cs_dumps *dumps)
{
	memset(s, 0, sizeof(*s));
	s->dec = dec;
	s->buffer = buffer;
	s->unit = unit;
	s->tid = s->read_tid = -1;
	s->reads.set = dec->images;
	s->reads.dumps = dumps;
	s->reads.pid = -1;
	s->reads.time = UINT64_MAX;
	s->code_left = CODE_FIRST;
	s->version = cs_tree_version_number();
	s->generation = 1;
	cs_flow_init(&s->flow, &dec->opts, unit);
	s->flow.mem = s->reads;
	s->buf = malloc(CHUNK);
	return s->buf ? 0 : -ENOMEM;
}

void cs_stream_free(struct cs_stream *s)
{
	cs_tree_free(s->tree);
	cs_flow_free(&s->flow);
	free(s->items);
	free(s->execs);
	free(s->buf);
}

static size_t extent_at(const struct cs_stream *s, uint64_t off)
{
	size_t lo = s->at, hi = s->at + s->run;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->buffer->extents[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* ---- from the tree ---- */

static struct cs_item *add_item(struct cs_stream *s, enum item_kind kind, uint64_t off)
{
	struct cs_item *item;

	if (s->nr_items == s->max_items) {
		size_t max = s->max_items ? 2 * s->max_items : 64;
		struct cs_item *grown = realloc(s->items, max * sizeof(*grown));

		if (!grown) {
			s->error = -ENOMEM;
			return NULL;
		}
		s->items = grown;
		s->max_items = max;
	}
	item = &s->items[s->nr_items++];
	item->kind = kind;
	item->off = off;
	item->extent = s->run ? extent_at(s, off) : s->at;
	item->why[0] = '\0';
	return item;
}

static void memory_changed(struct cs_stream *s)
{
	s->generation++;
	cs_tree_memory_changed(s->tree);
}

static void set_reader(struct cs_stream *s, size_t extent, uint64_t off)
{
	int32_t pid, tid;

	cs_stream_whose(s, s->read_tid, extent, off, s->buffer->extents[extent].time, &pid, &tid);
	if (cs_stream_memory(s, &s->reads, pid, tid, extent, off))
		memory_changed(s);
}

/* ---- what the library does not know ---- */

/* Bytes at offset off and what follows are not to be believed until the next synchronisation. */
static void doubt(struct cs_stream *s, uint64_t off, const char *what, uint64_t addr)
{
	struct cs_item *item = add_item(s, ITEM_ERROR, off);

	s->doubt = true;
	s->doubt_off = off;
	if (item)
		snprintf(item->why, sizeof(item->why), "OpenCSD %s does not know %s at 0x%llx",
			 cs_tree_version(), what, (unsigned long long)addr);
}

/* Finds the first instruction of a range that the library takes for no branch, but is one. */
static bool find_unknown(struct cs_stream *s, const ocsd_generic_trace_elem *elem, uint64_t *at,
			 uint8_t *size, uint32_t *nr)
{
	bool t32 = elem->isa == ocsd_isa_thumb2;
	uint64_t addr = elem->st_addr;
	uint8_t code[256];

	*nr = 0;
	while (addr < elem->en_addr) {
		uint64_t left = elem->en_addr - addr;
		uint32_t want = left < sizeof(code) ? (uint32_t)left : sizeof(code);
		uint32_t got = cs_memory_read(&s->reads, addr, want, code), i = 0;

		while (i + (t32 ? 2 : 4) <= got) {
			uint16_t first = (uint16_t)(code[i] | code[i + 1] << 8), second;

			*size = t32 && first >> 11 < 0x1d ? 2 : 4;
			if (i + *size > got)
				break;
			(*nr)++;
			*at = addr + i;
			i += *size;
			if (*size == 2)
				continue;
			second = (uint16_t)(code[i - 2] | code[i - 1] << 8);
			if (t32 ? cs_limits_t32(s->version, first, second) :
				  cs_limits_a64(s->version, first | (uint32_t)second << 16))
				return true;
		}
		if (!i)
			return false; /* what cannot be read again was read by the library, once */
		addr += i;
	}
	return false;
}

/* Ranges repeat: most were looked at before. */
static bool range_is_known(struct cs_stream *s, const ocsd_generic_trace_elem *elem)
{
	uint64_t hash = (elem->st_addr >> 1) ^ (elem->en_addr << 7);
	struct cs_range *r = &s->ranges[(hash ^ hash >> 11) % CS_RANGES];

	if (r->generation == s->generation && r->start == elem->st_addr && r->end == elem->en_addr)
		return true;
	*r = (struct cs_range){elem->st_addr, elem->en_addr, s->generation};
	return false;
}

/*
 * A range up to and with an instruction that the library does not know: true, and the rest is a
 * gap.
 */
static bool range_has_unknown(struct cs_stream *s, uint64_t off,
			      const ocsd_generic_trace_elem *elem)
{
	uint64_t at;
	uint8_t size;
	uint32_t nr;
	struct cs_item *item;

	if ((elem->isa != ocsd_isa_aarch64 && elem->isa != ocsd_isa_thumb2) ||
	    (elem->isa == ocsd_isa_aarch64 && s->version >= CS_VERSION(1, 8, 0)) ||
	    range_is_known(s, elem) || !find_unknown(s, elem, &at, &size, &nr))
		return false;
	s->generation++; /* it must be found again */
	item = add_item(s, ITEM_ELEMENT, off);
	if (item) {
		item->elem = *elem;
		item->elem.en_addr = at + size;
		item->elem.num_instr_range = nr;
		item->elem.last_i_type = OCSD_INSTR_OTHER;
		item->elem.last_instr_exec = 0;
		item->elem.last_instr_sz = size;
	}
	doubt(s, off, "the instruction", at);
	return true;
}

#define M_PROFILE_CHAINED 0xfffffffe /* instead of the return address */

/*
 * Older versions look for an exception's address by walking on from where the flow is. Where that
 * does not lead there (after a Q element, where M-profile exceptions are chained), they walk
 * through whatever follows in memory: such a range comes right before, of the same packet.
 */
static void drop_range_before(struct cs_stream *s, uint64_t off,
			      const ocsd_generic_trace_elem *elem)
{
	size_t nr = s->nr_items;
	uint64_t start;

	while (nr && s->items[nr - 1].off == off &&
	       (s->items[nr - 1].kind == ITEM_ERROR ||
		s->items[nr - 1].elem.elem_type == OCSD_GEN_TRC_ELEM_ADDR_NACC))
		nr--;
	if (!nr || s->items[nr - 1].off != off || s->items[nr - 1].kind != ITEM_ELEMENT ||
	    s->items[nr - 1].elem.elem_type != OCSD_GEN_TRC_ELEM_INSTR_RANGE)
		return;
	start = s->items[nr - 1].elem.st_addr;
	if (start < elem->en_addr && elem->en_addr != M_PROFILE_CHAINED)
		return;
	s->nr_items = nr - 1;
	s->code_left = CODE_FIRST;
	s->starved = false;
	doubt(s, off, "the way to the exception", elem->en_addr);
	s->doubt = false; /* an address follows */
}

/* Goes on with the bytes after the packet that was in doubt, at the next synchronisation. */
static void resynchronise(struct cs_stream *s)
{
	size_t grain = cs_tree_grain(s->format), next = 0;
	char why[160];

	s->doubt = false;
	if (s->doubt_off >= s->buf_off)
		next = ((size_t)(s->doubt_off - s->buf_off) / grain + 1) * grain;
	s->done = next < s->have ? next : s->have;
	if (!s->tree)
		return;
	if (cs_tree_reset(s->tree, why, sizeof(why)) < 0) {
		cs_tree_free(s->tree);
		s->tree = NULL;
		s->reading = false;
	}
}

static void on_element(void *ctx, uint64_t off, uint8_t id, const ocsd_generic_trace_elem *elem)
{
	struct cs_stream *s = ctx;
	struct cs_item *item;

	(void)id; /* there is only one unit in this tree */
	if (s->doubt)
		return;
	switch (elem->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		if (range_has_unknown(s, off, elem))
			return;
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		if (cs_limits_exception(s->version) && elem->excep_ret_addr)
			drop_range_before(s, off, elem);
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
	case OCSD_GEN_TRC_ELEM_EVENT:
	case OCSD_GEN_TRC_ELEM_SWTRACE:
	case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
	case OCSD_GEN_TRC_ELEM_EO_TRACE:
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		return;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		s->read_tid = cs_stream_tid(s, &elem->context);
		set_reader(s, extent_at(s, off), off);
		if (s->el != (uint32_t)elem->context.exception_level ||
		    s->security != (uint32_t)elem->context.security_level)
			memory_changed(s);
		s->el = (uint32_t)elem->context.exception_level;
		s->security = (uint32_t)elem->context.security_level;
		break;
	default:
		break;
	}
	if (elem->elem_type == OCSD_GEN_TRC_ELEM_ADDR_NACC && s->starved) {
		s->starved = false;
		item = add_item(s, ITEM_ERROR, off);
		if (item)
			snprintf(item->why, sizeof(item->why),
				 "offset 0x%llx: no branch in all of the code at %llx",
				 (unsigned long long)cs_bytes_offset(s->format, off),
				 (unsigned long long)elem->st_addr);
		return;
	}
	item = add_item(s, ITEM_ELEMENT, off);
	if (item)
		item->elem = *elem;
}

static uint32_t on_read(void *ctx, uint64_t addr, uint32_t space, uint32_t size, uint8_t *buf)
{
	struct cs_stream *s = ctx;
	uint32_t got;

	s->reads.space = space;
	got = cs_memory_read(&s->reads, addr, size, buf);
	if (got > s->code_left) {
		s->starved = true;
		return 0;
	}
	s->code_left -= got;
	return got;
}

static void add_error(struct cs_stream *s, uint64_t off, const char *why)
{
	struct cs_item *item = add_item(s, ITEM_ERROR, off);

	if (item)
		snprintf(item->why, sizeof(item->why), "offset 0x%llx: %.64s",
			 (unsigned long long)cs_bytes_offset(s->format, off), why);
}

/* ---- reading ---- */

/* A raw piece is one CPU's; frames may hold trace of several. */
static bool concerns(const struct cs_stream *s, const struct cs_extent *p)
{
	if (p->raw)
		return p->cpu < 0 || s->unit->cpu < 0 || p->cpu == s->unit->cpu;
	if (s->buffer->format == CS_FORMAT_SOURCE)
		return true;
	return s->unit->id < CS_NR_IDS && s->buffer->nr_bytes[s->unit->id];
}

/* Does the trace before it go on in this piece? */
static bool joins(const struct cs_stream *s, size_t extent)
{
	const struct cs_extent *p = &s->buffer->extents[extent];

	return p->joins && p[-1].raw == p->raw && concerns(s, p) && concerns(s, p - 1);
}

static bool open_tree(struct cs_stream *s, enum cs_format format)
{
	const struct cs_tree_opts opts = {.format = format,
					  .element = on_element,
					  .read = on_read,
					  .ctx = s};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char why[160];

	if (s->tree && s->format == format) {
		if (cs_tree_reset(s->tree, why, sizeof(why)) >= 0)
			return true;
		add_error(s, s->buffer->extents[s->at].off, why);
	}
	cs_tree_free(s->tree);
	s->tree = NULL;
	s->format = format;
	if (!cs_tree_new(&s->tree, &opts, &s->unit, 1, &err))
		return true;
	add_error(s, s->buffer->extents[s->at].off, err.why);
	return false;
}

/* The next extents that belong together; false: no more. */
static bool begin_run(struct cs_stream *s)
{
	const struct cs_buffer *b = s->buffer;
	const struct cs_extent *first;
	bool continues = s->run && s->at + s->run < b->nr && joins(s, s->at + s->run);
	size_t nr = 1;

	s->at += s->run;
	s->run = 0;
	while (s->at < b->nr && !concerns(s, &b->extents[s->at]))
		s->at++;
	if (s->at >= b->nr)
		return false;
	first = &b->extents[s->at];
	while (s->at + nr < b->nr && joins(s, s->at + nr) &&
	       first[nr - 1].file_off + first[nr - 1].size == first[nr].file_off)
		nr++;
	s->run = nr;
	s->feeding = SIZE_MAX;
	s->have = s->done = 0;
	s->bytes = (struct cs_bytes){.pread = read_buffer,
				     .ctx = s,
				     .chunk = CHUNK,
				     .buf = s->buf,
				     .file_off = first->file_off};
	for (size_t i = 0; i < nr; i++)
		s->bytes.size += b->extents[s->at + i].size;
	s->bytes.format = s->format;
	if (continues && s->tree) {
		cs_stream_find_execs(s);
		return s->reading = true;
	}
	s->nr_execs = 0;
	add_item(s, ITEM_BREAK, first->off);
	s->reading = open_tree(s, first->raw ? CS_FORMAT_SOURCE : b->format);
	s->bytes.format = s->format;
	cs_stream_find_execs(s);
	return true;
}

static void end_run(struct cs_stream *s)
{
	uint64_t off = s->buffer->extents[s->at].off;
	char why[160];

	if (s->bytes.at < s->bytes.size) {
		snprintf(why, sizeof(why), "the last %llu bytes are no whole frame",
			 (unsigned long long)(s->bytes.size - s->bytes.at));
		add_error(s, off + s->bytes.at, why);
	}
	s->reading = false;
	if (s->at + s->run < s->buffer->nr && joins(s, s->at + s->run))
		return; /* elsewhere in the file */
	if (cs_tree_end(s->tree, why, sizeof(why)) && !s->doubt)
		add_error(s, off + s->bytes.at, why);
	s->doubt = false;
}

static bool begins_exec(const struct cs_stream *s, uint64_t off)
{
	for (size_t i = 0; i < s->nr_execs; i++)
		if (s->execs[i].off == off)
			return true;
	return false;
}

static void feed(struct cs_stream *s)
{
	uint64_t off = s->buf_off + s->done;
	size_t extent = extent_at(s, off), size = s->have - s->done, used;
	char why[192] = "";
	int ret;

	if (size > FEED)
		size = FEED;
	if (extent != s->feeding || begins_exec(s, off)) {
		s->feeding = extent;
		set_reader(s, extent, off);
	}
	for (size_t i = 0; i < s->nr_execs; i++)
		if (s->execs[i].off > off && s->execs[i].off - off < size)
			size = (size_t)(s->execs[i].off - off);
	if (extent + 1 < s->at + s->run && s->format != CS_FORMAT_DSTREAM) {
		uint64_t rest = s->buffer->extents[extent + 1].off - off;

		rest -= rest % cs_tree_grain(s->format);
		if (rest && rest < size)
			size = (size_t)rest;
	}
	s->code_left += size * CODE_PER_BYTE;
	if (s->code_left > CODE_MOST)
		s->code_left = CODE_MOST;
	ret = cs_tree_feed(s->tree, off, s->buf + s->done, size, &used, why, sizeof(why));
	s->done += used;
	if (ret && !s->doubt)
		add_error(s, off + used, why);
	if (ret && ret != -EBADMSG) {
		/* the tree is broken: what is left of the run is lost, and said */
		s->reading = false;
		cs_tree_free(s->tree);
		s->tree = NULL;
	}
	if (s->doubt)
		resynchronise(s);
}

/* More items; false: there will be none. */
static bool read_more(struct cs_stream *s)
{
	s->nr_items = s->at_item = 0;
	if (s->max_items > ITEMS_KEEP) {
		free(s->items);
		s->items = NULL;
		s->max_items = 0;
	}
	while (!s->nr_items && !s->error) {
		ssize_t got;

		if (!s->reading) {
			if (!begin_run(s))
				return s->nr_items > 0;
			continue;
		}
		if (s->done < s->have) {
			feed(s);
			continue;
		}
		got = cs_bytes_next(&s->bytes, &s->buf_off);
		s->done = 0;
		s->have = got > 0 ? (size_t)got : 0;
		s->buf_off += s->buffer->extents[s->at].off;
		if (!got) {
			end_run(s);
		} else if (got < 0) {
			add_error(s, s->buffer->extents[s->at].off + s->bytes.at,
				  "the file cannot be read here");
			s->reading = false;
		}
	}
	return !s->error;
}

/* ---- following ---- */

/* As the library asks for memory; 0: any. */
static uint32_t space_of(const ocsd_pe_context *context)
{
	bool secure = context->security_level == ocsd_sec_secure;

	if (!secure && context->security_level != ocsd_sec_nonsecure)
		return 0;
	if (!context->el_valid)
		return secure ? OCSD_MEM_SPACE_S : OCSD_MEM_SPACE_N;
	switch (context->exception_level) {
	case ocsd_EL0:
	case ocsd_EL1:
		return secure ? OCSD_MEM_SPACE_EL1S : OCSD_MEM_SPACE_EL1N;
	case ocsd_EL2:
		return secure ? OCSD_MEM_SPACE_EL2S : OCSD_MEM_SPACE_EL2;
	case ocsd_EL3:
		return OCSD_MEM_SPACE_EL3;
	default:
		return 0;
	}
}

/*
 * When item happened; 0: nothing new. The first timestamp comes after the first instructions:
 * they are not before all other events, but of that time.
 */
static uint64_t time_of(const struct cs_stream *s, const struct cs_item *item)
{
	const struct time_conv *conv = &s->dec->sideband.conv;
	const struct cs_item *end = s->items + s->nr_items;

	if (!conv->valid || !cs_unit_has_timestamps(s->unit))
		return s->buffer->extents[item->extent].time; /* no better time is known */
	for (const struct cs_item *i = item; i < end; i++) {
		if (i->kind == ITEM_ELEMENT && i->elem.elem_type == OCSD_GEN_TRC_ELEM_TIMESTAMP)
			return time_from_tsc(conv, i->elem.timestamp);
		if (s->flow.time)
			break;
	}
	return 0;
}

static void follow(struct cs_stream *s, const struct cs_item *item)
{
	const struct cs_extent *p = &s->buffer->extents[item->extent];
	uint64_t time = time_of(s, item), since, until;
	struct cs_flow *flow = &s->flow;
	int32_t tid = flow->tid;

	flow->nr_out = flow->at_out = 0;
	flow->range_left = 0;
	if (item->kind == ITEM_ELEMENT && item->elem.elem_type == OCSD_GEN_TRC_ELEM_PE_CONTEXT) {
		s->tid = cs_stream_tid(s, &item->elem.context);
		flow->mem.space = space_of(&item->elem.context);
	}
	/*
	 * a record is written when its trace ends: what does not go on from it is later, its gap is
	 * before
	 */
	if (item->kind == ITEM_BREAK && item->extent && flow->time && p[-1].time >= flow->time &&
	    s->dec->sideband.conv.valid && cs_unit_has_timestamps(s->unit))
		flow->time = p[-1].time + 1;
	/* names are looked up by it: it must lie on the same side of an exec as the code */
	cs_stream_bounds(s, item->extent, item->off, &since, &until);
	if (s->nr_execs && time > until)
		time = until;
	if (s->nr_execs && time <= since && since > flow->time)
		time = since + 1;
	if (time > flow->time)
		flow->time = time;
	if (!s->who_known || s->who_tid != s->tid || s->who_extent != item->extent ||
	    s->who_time != flow->time) {
		cs_stream_whose(s, s->tid, item->extent, item->off, flow->time, &flow->pid,
				&flow->tid);
		s->who_known = true;
		s->who_tid = s->tid;
		s->who_extent = item->extent;
		s->who_time = flow->time;
	}
	cs_stream_memory(s, &flow->mem, flow->pid, flow->tid, item->extent, item->off);
	if (flow->tid != tid)
		cs_flow_break(flow);
	switch (item->kind) {
	case ITEM_ELEMENT:
		cs_flow_element(flow, &item->elem);
		break;
	case ITEM_ERROR:
		cs_flow_lost(flow, AUXTAP_GAP_DECODE_ERROR, 0, false, item->why);
		break;
	case ITEM_BREAK:
		if (p->nr_lost)
			cs_flow_lost(flow,
				     p->overwritten ? AUXTAP_GAP_OVERWRITTEN : AUXTAP_GAP_UNKNOWN,
				     p->nr_lost, true,
				     p->overwritten ? "between two snapshots" : "not in the file");
		else if (p->collided)
			cs_flow_lost(flow, AUXTAP_GAP_COLLISION, 0, false,
				     "the buffer was full, or the trace began anew");
		else
			cs_flow_break(flow);
		break;
	}
}

struct flow_event *cs_stream_next(struct cs_stream *s)
{
	struct flow_event *ev;

	for (;;) {
		ev = cs_flow_event(&s->flow);
		if (!s->error)
			s->error = s->flow.error;
		if (ev || s->finished)
			return ev;
		if (s->at_item < s->nr_items) {
			follow(s, &s->items[s->at_item++]);
		} else if (s->error || !read_more(s)) {
			cs_flow_end(&s->flow);
			s->finished = true;
		}
	}
}
