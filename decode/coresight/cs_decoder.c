// SPDX-License-Identifier: BSD-2-Clause
/*
 * CoreSight counterpart of decode/stream/trace_queue.c: one stream for each trace unit in each
 * buffer, merged by time. Bytes of unknown or undecodable units become a gap.
 */
#include "cs_opencsd.h"
#include "cs_extents.h"
#include "decode/flow/decoder_private.h"
#include "util/heap.h"
#include "util/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_CHUNK	   (256u << 10)
#define INFO_SNAPSHOT_MODE 2 /* index in AUXTRACE_INFO */

struct cs_decoder {
	struct cs_config config;
	struct cs_snapshot ss;
	struct cs_memory_dumps dumps;
	struct cs_extents extents;
	struct cs_stream **streams; /* the first nr_heap have an event: a heap by the next event */
	size_t nr, max, nr_heap;
	bool begun;
	void *shared;		 /* returned by flow_ops.open */
	struct cs_stream *front; /* whose event was popped last; its next one is not known yet */
	int error;
};

static struct cs_decoder *cs_of(const struct auxtap_decoder *dec)
{
	return dec->trace;
}

static bool comes_first(const struct cs_stream *a, const struct cs_stream *b)
{
	if (a->ev->time != b->ev->time)
		return a->ev->time < b->ev->time;
	return a->ev->tid != b->ev->tid ? a->ev->tid < b->ev->tid : a->number < b->number;
}

static void swap(struct cs_decoder *cs, size_t a, size_t b)
{
	struct cs_stream *s = cs->streams[a];

	cs->streams[a] = cs->streams[b];
	cs->streams[b] = s;
}

static bool refill(struct cs_decoder *cs, struct cs_stream *s)
{
	s->ev = cs_stream_next(s);
	if (s->error && !cs->error)
		cs->error = s->error;
	return s->ev != NULL;
}

static struct flow_event *peek(struct auxtap_decoder *dec)
{
	struct cs_decoder *cs = cs_of(dec);

	if (!cs->begun) {
		cs->begun = true;
		for (size_t i = 0; i < cs->nr; i++)
			if (refill(cs, cs->streams[i]))
				swap(cs, i, cs->nr_heap++);
		heap_build(cs->streams, cs->nr_heap, comes_first);
	} else if (cs->front) {
		if (!refill(cs, cs->front))
			swap(cs, 0, --cs->nr_heap); /* it stays in the array, after the heap */
		if (cs->nr_heap)
			heap_sift_down(cs->streams, cs->nr_heap, 0, comes_first);
	}
	cs->front = NULL;
	return cs->nr_heap ? cs->streams[0]->ev : NULL;
}

static struct flow_event *next(struct auxtap_decoder *dec, uint64_t until, int *cpu)
{
	struct cs_decoder *cs = cs_of(dec);
	struct flow_event *ev = peek(dec);

	if (!ev || ev->time > until)
		return NULL;
	cs->front = cs->streams[0];
	*cpu = cs->front->buffer->cpu_unknown ? -1 : cs->front->unit->cpu;
	return ev;
}

static int error_of(const struct auxtap_decoder *dec)
{
	return cs_of(dec)->error;
}

static void destroy(struct auxtap_decoder *dec)
{
	struct cs_decoder *cs = cs_of(dec);

	for (size_t i = 0; i < cs->nr; i++) {
		cs_stream_free(cs->streams[i]);
		free(cs->streams[i]);
	}
	if (cs->shared)
		dec->flow_ops->close(cs->shared);
	for (size_t i = 0; i < cs->extents.nr; i++)
		if (cs->extents.buffers[i].fd >= 0)
			close(cs->extents.buffers[i].fd);
	free(cs->streams);
	cs_extents_free(&cs->extents);
	cs_memory_dumps_free(&cs->dumps);
	cs_snapshot_free(&cs->ss);
	cs_config_free(&cs->config);
	free(cs);
	dec->trace = NULL;
}

/*
 * Without timestamps an event has the time of its AUX record, which is written when the transaction
 * ends. The start of the trace is known only if each buffer begins with the first byte that its
 * units wrote, and the start of tracing of each thread is recorded.
 */
static uint64_t trace_start_time(const struct auxtap_decoder *dec)
{
	const struct cs_decoder *cs = cs_of(dec);
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < cs->nr; i++) {
		const struct cs_buffer *buffer = cs->streams[i]->buffer;

		if (!buffer->nr || !buffer->extents[0].from_zero || !buffer->extents[0].since)
			return 0;
		if (buffer->extents[0].since < begin)
			begin = buffer->extents[0].since;
	}
	return begin == UINT64_MAX ? 0 : begin;
}

static void add_sums(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum)
{
	const struct cs_decoder *cs = cs_of(dec);
	bool timed = dec->sideband.conv.valid;

	for (size_t i = 0; i < cs->nr && timed; i++)
		timed = cs_unit_has_timestamps(cs->streams[i]->unit);
	if (!timed)
		sum->time_begin = trace_start_time(dec);
	for (size_t i = 0; i < cs->nr; i++) {
		const struct auxtap_decode_summary *s = &cs->streams[i]->emit.sum;

		sum->instructions += s->instructions;
		sum->branches += s->branches;
		sum->gaps += s->gaps;
		sum->errors += s->errors;
	}
}

static int create(struct auxtap_decoder *dec)
{
	dec->trace = calloc(1, sizeof(struct cs_decoder));
	return dec->trace ? 0 : -ENOMEM;
}

/* Streams are decoded as they are read. */
static int start(struct auxtap_decoder *dec, unsigned int nr_jobs)
{
	struct cs_decoder *cs = cs_of(dec);

	(void)nr_jobs;
	cs->shared = dec->flow_ops->open(NULL);
	if (!cs->shared)
		return -ENOMEM;
	for (size_t i = 0; i < cs->nr; i++)
		cs->streams[i]->shared = cs->shared;
	return 0;
}

/* ---- streams ---- */

static int add_undecoded_gap(struct auxtap_decoder *dec, const struct cs_buffer *buffer,
			     uint64_t nr_bytes, const char *text)
{
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN,
				 .cpu = buffer->cpu,
				 .pid = -1,
				 .tid = buffer->of_one_thread ? buffer->tid : -1,
				 .nr_bytes = nr_bytes,
				 .exact = true};

	return decoder_add_unattributed(dec, &gap, text);
}

/* The unit's trace bytes in the buffer, without the overhead of frames. */
static uint64_t unit_bytes(const struct cs_buffer *buffer, const struct cs_unit *unit)
{
	uint64_t nr = unit->id < CS_NR_IDS ? buffer->nr_bytes[unit->id] : 0;

	for (size_t i = 0; i < buffer->nr; i++) {
		const struct cs_extent *p = &buffer->extents[i];

		if (buffer->format == CS_FORMAT_SOURCE ||
		    (p->raw && (p->cpu < 0 || p->cpu == unit->cpu)))
			nr += p->size;
	}
	return nr;
}

static enum flow_speculation speculation_of(const struct auxtap_decoder *dec,
					    const struct cs_unit *unit)
{
	const struct cs_flow_source source = {.unit = unit};

	return dec->flow_ops->speculation ? dec->flow_ops->speculation(&source) :
					    FLOW_SPECULATION_FOLLOWED;
}

/* Whether the flow decoder would decode some of the unit's trace wrongly; text then says why. */
static bool cannot_decode_speculation(const struct auxtap_decoder *dec,
				      const struct cs_buffer *buffer, const struct cs_unit *unit,
				      char *text, size_t size)
{
	const char *with = "cycle counts";
	char name[48];

	switch (speculation_of(dec, unit)) {
	case FLOW_SPECULATION_NOT_WITH_CYCLES:
		break;
	case FLOW_SPECULATION_NOT_ACROSS_SYNC:
		if (!buffer->raw_scan.speculated &&
		    !(unit->id < CS_NR_IDS && buffer->speculated[unit->id]))
			return false;
		with = "elements from before a synchronisation";
		break;
	default:
		return false;
	}
	dec->flow_ops->version(name, sizeof(name));
	snprintf(text, size, "%s cannot follow speculation with %s", name, with);
	return true;
}

static int add_stream(struct auxtap_decoder *dec, const struct cs_buffer *buffer,
		      const struct cs_unit *unit)
{
	struct cs_decoder *cs = cs_of(dec);
	struct cs_stream *s;
	char text[128];

	if (!flow_listed(dec->opts.cpus, dec->opts.nr_cpus, unit->cpu))
		return 0;
	/* STM, ITM: software instrumentation, no instruction trace */
	if (unit->protocol == CS_PROTOCOL_STM || unit->protocol == CS_PROTOCOL_ITM)
		return 0;
	if (cannot_decode_speculation(dec, buffer, unit, text, sizeof(text)))
		return add_undecoded_gap(dec, buffer, unit_bytes(buffer, unit), text);
	if (vector_grow(cs->streams, cs->nr, cs->max))
		return -ENOMEM;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (cs_stream_init(s, dec, buffer, unit, &cs->dumps)) {
		free(s);
		return -ENOMEM;
	}
	s->number = cs->nr;
	cs->streams[cs->nr++] = s;
	return 0;
}

static ssize_t read_fd(void *ctx, void *buf, size_t size, uint64_t off)
{
	const struct cs_buffer *buffer = ctx;
	ssize_t got;

	do {
		got = pread(buffer->fd, buf, size, (off_t)off);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Whether a unit may trace speculation that the flow decoder cannot decode. */
static bool may_speculate(const struct auxtap_decoder *dec)
{
	const struct cs_decoder *cs = cs_of(dec);
	bool found = false;

	for (size_t i = 0; i < cs->config.nr && !found; i++)
		found = speculation_of(dec, &cs->config.units[i]) != FLOW_SPECULATION_FOLLOWED;
	for (size_t i = 0; i < cs->ss.nr_units && !found; i++)
		found = speculation_of(dec, &cs->ss.units[i].unit) != FLOW_SPECULATION_FOLLOWED;
	return found;
}

/* Counts the bytes of each trace ID in the buffer's frames and looks for speculation. */
static int scan(struct auxtap_decoder *dec, struct cs_buffer *buffer)
{
	struct cs_frames *frames = malloc(sizeof(*frames));
	uint8_t *buf = malloc(SCAN_CHUNK);
	bool look_for_syncs = may_speculate(dec);
	int ret = frames && buf ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < buffer->nr; i++) {
		const struct cs_extent *p = &buffer->extents[i];
		struct cs_bytes bytes = {.pread = buffer->fd < 0 ? decoder_read_file : read_fd,
					 .ctx = buffer->fd < 0 ? (void *)dec : (void *)buffer,
					 .format = buffer->format,
					 .file_off = p->file_off,
					 .size = p->size,
					 .chunk = SCAN_CHUNK,
					 .buf = buf};
		uint64_t off;
		ssize_t got;

		dec->sum.bytes += p->size;
		if (p->raw || buffer->format == CS_FORMAT_SOURCE) {
			bytes.format = CS_FORMAT_SOURCE;
			while (look_for_syncs && (got = cs_bytes_next(&bytes, &off)) > 0)
				for (ssize_t b = 0; b < got; b++)
					cs_sync_scan(&buffer->raw_scan, buf[b]);
			continue;
		}
		cs_frames_init(frames, buffer->format);
		/* a read error is reported when the bytes are decoded */
		while ((got = cs_bytes_next(&bytes, &off)) > 0)
			cs_frames_add(frames, off, buf, (size_t)got);
		for (unsigned int id = 0; id < CS_NR_IDS; id++) {
			buffer->nr_bytes[id] += frames->nr_bytes[id];
			buffer->speculated[id] |= frames->syncs[id].speculated;
		}
	}
	free(buf);
	free(frames);
	return ret;
}

/* ---- perf.data ---- */

static bool has_raw_extent(const struct cs_buffer *buffer, const struct cs_unit *unit)
{
	for (size_t i = 0; i < buffer->nr; i++)
		if (buffer->extents[i].raw && buffer->extents[i].cpu == unit->cpu)
			return true;
	return false;
}

static int add_units(struct auxtap_decoder *dec, struct cs_buffer *buffer)
{
	const struct cs_config *config = &cs_of(dec)->config;
	const struct cs_unit *units[CS_NR_IDS];
	size_t nr = cs_config_units(config, buffer->cpu, false, units);
	char text[96];
	int ret = 0;

	for (unsigned int id = 1; !ret && id < CS_NR_IDS; id++) {
		const struct cs_unit *unit = NULL;

		for (size_t i = 0; i < nr && !unit; i++)
			if (units[i]->id == id)
				unit = units[i];
		if (!buffer->nr_bytes[id] || !cs_id_is_trace(id) ||
		    (unit && has_raw_extent(buffer, unit)))
			continue;
		snprintf(text, sizeof(text), "trace ID 0x%02x belongs to no known trace unit", id);
		ret = unit ? add_stream(dec, buffer, unit) :
			     add_undecoded_gap(dec, buffer, buffer->nr_bytes[id], text);
	}
	for (size_t i = 0; !ret && i < config->nr; i++)
		if (has_raw_extent(buffer, &config->units[i]))
			ret = add_stream(dec, buffer, &config->units[i]);
	for (size_t i = 0; !ret && i < buffer->nr; i++) {
		const struct cs_extent *p = &buffer->extents[i];
		bool known = !p->raw;

		for (size_t j = 0; j < config->nr && !known; j++)
			known = config->units[j].cpu == p->cpu;
		if (!known)
			ret = add_undecoded_gap(
				dec, buffer, p->size,
				"trace of a CPU whose trace-unit registers are unknown");
	}
	return ret;
}

/* info: [0] version; [1] PMU type << 32 | number of CPUs; [2] snapshot mode */
static void configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr)
{
	const struct auxtap_perfdata_attr *attr;
	const struct auxtap_perfdata_aux *aux;
	size_t nr_aux;

	decoder_time_conv(dec);
	/* with AUX samples the offsets of AUX records do not match either: as in snapshot mode */
	dec->sideband.aux_offsets_unusable =
		(nr > INFO_SNAPSHOT_MODE && info[INFO_SNAPSHOT_MODE]) ||
		decoder_has_samples(dec->pd);
	for (uint32_t i = 0; nr > 1 && (attr = auxtap_perfdata_get_attr(dec->pd, i)); i++)
		if (attr->attr.type == info[1] >> 32 &&
		    (attr->attr.enable_on_exec || attr->attr.inherit))
			dec->sideband.traces_some_tasks = true;
	if (auxtap_perfdata_auxtraces(dec->pd, &aux, &nr_aux, NULL) || !nr_aux)
		return;
	dec->sideband.per_thread = true;
	for (size_t i = 0; i < nr_aux; i++)
		if (aux[i].auxtrace.cpu != UINT32_MAX)
			dec->sideband.per_thread = false;
}

/* Gaps for trace missing at the ends of rings. For AUX records without trace: cs_extents.c. */
static int add_ring_end_gaps(struct auxtap_decoder *dec)
{
	const struct cs_extents *extents = &cs_of(dec)->extents;
	struct decoder_missing missing = {.pads = true, .reported = true};
	int ret = 0;

	for (size_t i = 0; !ret && i < extents->nr; i++) {
		const struct cs_buffer *b = &extents->buffers[i];
		const struct cs_extent *last = b->nr ? &b->extents[b->nr - 1] : NULL;

		if (last)
			ret = trace_ends_add(&missing.ends, b->cpu, b->tid, last->off + last->size);
	}
	if (!ret)
		ret = decoder_add_ring_end_gaps(dec, &missing);
	trace_ends_free(&missing.ends);
	return ret;
}

static int open_file(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const char *path = auxtap_perfdata_path(dec->pd);
	struct cs_decoder *cs = cs_of(dec);
	int ret;

	ret = cs_config_from_file(&cs->config, dec->pd, err);
	if (!ret)
		ret = cs_extents_read(&cs->extents, dec->pd, &cs->config, err);
	if (ret)
		return ret;
	for (size_t i = 0; !ret && i < cs->extents.nr; i++) {
		struct cs_buffer *buffer = &cs->extents.buffers[i];
		struct auxtap_auxtrace head = {.cpu = (uint32_t)buffer->cpu,
					       .tid = (uint32_t)buffer->tid};

		buffer->of_one_thread = decoder_is_one_thread(dec, &head);
		cs_buffer_set_times(buffer,
				    buffer->of_one_thread ?
					    sideband_trace_start(&dec->sideband, buffer->tid) :
					    0);
		ret = scan(dec, buffer);
	}
	for (size_t i = 0; !ret && i < cs->extents.nr; i++)
		ret = add_units(dec, &cs->extents.buffers[i]);
	for (size_t i = 0; !ret && i < cs->extents.nr_missing; i++) {
		const struct cs_missing *m = &cs->extents.missing[i];
		struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN,
					 .cpu = m->cpu,
					 .pid = m->pid,
					 .tid = m->tid,
					 .time_begin = m->time,
					 .time_end = m->time,
					 .nr_bytes = m->nr_bytes,
					 .exact = m->nr_bytes > 0};

		if (!decoder_was_discarded(dec, m->pid, m->tid))
			ret = decoder_add_unattributed(dec, &gap, m->why);
	}
	if (!ret)
		ret = add_ring_end_gaps(dec);
	if (!ret)
		ret = decoder_add_flagged_gaps(dec, "reported by the kernel");
	return ret ? auxtap_error_set(err, ret, path, "out of memory") : 0;
}

/* ---- snapshot directories (snapshot.ini) and raw files ---- */

static int open_buffer(struct cs_buffer *buffer, const struct cs_snapshot_buffer *from,
		       struct auxtap_error *err)
{
	struct cs_extent *extent;
	struct stat st;

	buffer->format = from->format;
	buffer->fd = open(from->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (buffer->fd < 0)
		return auxtap_error_set(err, -errno, from->path, "cannot open: %s",
					strerror(errno));
	if (fstat(buffer->fd, &st) || !S_ISREG(st.st_mode))
		return auxtap_error_set(err, -EBADMSG, from->path, "is not a regular file");
	extent = cs_buffer_add(buffer);
	if (!extent)
		return auxtap_error_set(err, -ENOMEM, from->path, "out of memory");
	*extent = (struct cs_extent){.size = (uint64_t)st.st_size, .cpu = -1, .pid = -1, .tid = -1};
	return 0;
}

/* Adds a stream for each unit of the buffer, and gaps for bytes of no unit or undecodable ones. */
static int add_snapshot_units(struct auxtap_decoder *dec, size_t number)
{
	struct cs_snapshot *ss = &cs_of(dec)->ss;
	struct cs_buffer *buffer = &cs_of(dec)->extents.buffers[number];
	uint64_t left[CS_NR_IDS];
	char text[192];
	bool any = false;
	int ret = 0;

	memcpy(left, buffer->nr_bytes, sizeof(left));
	for (size_t i = 0; !ret && i < ss->nr_units; i++) {
		const struct cs_snapshot_unit *u = &ss->units[i];

		if (u->buffer != number || (any && buffer->format == CS_FORMAT_SOURCE))
			continue;
		if (u->why[0]) {
			snprintf(text, sizeof(text), "%.32s: %s", u->name, u->why);
			if (buffer->format == CS_FORMAT_SOURCE)
				ret = add_undecoded_gap(dec, buffer, buffer->extents[0].size, text);
			any = any || buffer->format == CS_FORMAT_SOURCE;
			continue;
		}
		any = true;
		if (u->unit.id < CS_NR_IDS)
			left[u->unit.id] = 0;
		ret = add_stream(dec, buffer, &u->unit);
	}
	for (unsigned int id = 1; !ret && id < CS_NR_IDS; id++) {
		if (!left[id] || !cs_id_is_trace(id))
			continue;
		snprintf(text, sizeof(text), "trace ID 0x%02x belongs to no known trace unit", id);
		ret = add_undecoded_gap(dec, buffer, left[id], text);
	}
	if (!ret && !any && buffer->format == CS_FORMAT_SOURCE && buffer->extents[0].size)
		ret = add_undecoded_gap(dec, buffer, buffer->extents[0].size,
					"no trace unit is recorded for this buffer");
	return ret;
}

/* Opens the buffers and memory dumps that cs->ss lists. */
static int open_buffers(struct auxtap_decoder *dec, const char *dir, struct auxtap_error *err)
{
	struct cs_decoder *cs = cs_of(dec);
	int ret = cs_memory_dumps_load(&cs->dumps, dec->images, &cs->ss, err);
	for (size_t i = 0; !ret && i < cs->ss.nr_buffers; i++) {
		struct cs_buffer *buffer = cs_extents_add_buffer(&cs->extents);

		ret = buffer ? open_buffer(buffer, &cs->ss.buffers[i], err) :
			       auxtap_error_set(err, -ENOMEM, dir, "out of memory");
	}
	for (size_t i = 0; !ret && i < cs->extents.nr; i++) {
		ret = scan(dec, &cs->extents.buffers[i]);
		if (!ret)
			ret = add_snapshot_units(dec, i);
		if (ret)
			auxtap_error_set(err, ret, dir, "out of memory");
	}
	return ret;
}

static int open_snapshot(struct auxtap_decoder *dec, const char *dir, struct auxtap_error *err)
{
	int ret = cs_snapshot_read(&cs_of(dec)->ss, dir, err);

	return ret ? ret : open_buffers(dec, dir, err);
}

static int open_raw(struct auxtap_decoder *dec, const char *path, const struct auxtap_raw_opts *raw,
		    int cpu, struct auxtap_error *err)
{
	struct cs_snapshot *ss = &cs_of(dec)->ss;
	int ret = cs_snapshot_from_raw(ss, path, raw->etm_format, raw->etm_configs,
				       raw->nr_etm_configs, err);

	(void)cpu; /* each unit's configuration names its CPU */
	/* a caller that sets a clock conversion asserts that the timestamps are of that clock */
	for (size_t i = 0; !ret && dec->sideband.conv.valid && i < ss->nr_units; i++)
		ss->units[i].unit.ts_source = CS_TS_VIRTUAL;
	return ret ? ret : open_buffers(dec, path, err);
}

static const struct flow_ops *const flows[] = {&cs_opencsd_ops, NULL};

extern const struct trace_family cs_family;
const struct trace_family cs_family = {
	.info =
		{
			.size = sizeof(struct auxtap_trace_family),
			.name = "CoreSight",
			.contents = "CoreSight trace",
			.auxtrace_type = AUXTAP_AUXTRACE_CS_ETM,
			.lacks = AUXTAP_EVENT_MEM,
			.lacks_text = "memory samples",
			.raw_name = "etm",
			.raw_needs_units = true,
		},
	.pmu = "cs_etm",
	.info_snapshot = INFO_SNAPSHOT_MODE,
	.dump = &dump_family_cs,
	.flows = flows,
	.raw_has_cpus = true,
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_file = open_file,
	.open_raw = open_raw,
	.is_snapshot_directory = cs_snapshot_is_directory,
	.open_snapshot = open_snapshot,
	.start = start,
	.next = next,
	.error = error_of,
	.add_sums = add_sums,
};
