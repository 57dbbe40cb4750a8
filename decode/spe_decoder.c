// SPDX-License-Identifier: BSD-2-Clause
/*
 * Samples of Arm SPE as events: the buffers of each CPU or thread are one stream of records, the
 * streams are merged by time. A record of a load or store is a MEM event, one of a branch a BRANCH
 * event, and each of them an INSN event where these are wanted.
 */
#include "decoder_private.h"
#include "spe_packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	       (64u << 10)
#define AUXTRACE_ALIGN 8 /* perf pads a buffer to this */
#define BRANCH_COND  0x01
#define BRANCH_IND   0x02
#define BRANCH_CR    0x18 /* call, return or neither, where the CPU tells */
#define BRANCH_CALL  0x08
#define BRANCH_RET   0x10

struct spe_stream {
	struct spe_extent *extents;
	size_t nr, max;
	size_t at;	/* extent being read */
	uint64_t done;	/* bytes of it that are in buf or were */
	uint8_t *buf;
	struct auxtap_spe_reader reader;
	uint64_t time;	/* of the last record that told */
	struct auxtap_spe_record record;
	uint32_t left;	/* events of record still to come */
	struct flow_event ev;
	bool have, finished;
};

struct spe_decoder {
	ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off);
	struct spe_stream *streams;
	size_t nr, max;
	struct spe_stream *front; /* whose event was peeked at last */
	int error;
};

int spe_decoder_new(struct auxtap_decoder *dec,
		    ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off))
{
	dec->spe = calloc(1, sizeof(*dec->spe));
	if (!dec->spe)
		return -ENOMEM;
	dec->spe->pread = pread;
	return 0;
}

void spe_decoder_free(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = dec->spe;

	if (!spe)
		return;
	for (size_t i = 0; i < spe->nr; i++) {
		free(spe->streams[i].extents);
		free(spe->streams[i].buf);
		free(spe->streams[i].ev.gap);
	}
	free(spe->streams);
	free(spe);
	dec->spe = NULL;
}

int spe_decoder_error(const struct auxtap_decoder *dec)
{
	return dec->spe->error;
}

/* ---- streams ---- */

static struct spe_stream *stream_of(struct spe_decoder *spe, const struct spe_extent *extent)
{
	struct spe_stream *grown;

	for (size_t i = 0; i < spe->nr; i++) {
		const struct spe_extent *first = &spe->streams[i].extents[0];

		if (first->cpu == extent->cpu && first->tid == extent->tid)
			return &spe->streams[i];
	}
	if (spe->nr == spe->max) {
		size_t max = spe->max ? 2 * spe->max : 16;

		grown = realloc(spe->streams, max * sizeof(*grown));
		if (!grown)
			return NULL;
		spe->streams = grown;
		spe->max = max;
	}
	memset(&spe->streams[spe->nr], 0, sizeof(*grown));
	return &spe->streams[spe->nr++];
}

/* nr_bytes 0: nobody knows how many. */
static int broken(struct auxtap_decoder *dec, const struct spe_extent *extent, uint64_t nr_bytes,
		  const char *text)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_UNKNOWN,
		.cpu = extent->cpu,
		.tid = extent->of_one_thread ? extent->tid : -1,
		.pid = -1,
		.nr_bytes = nr_bytes,
		.exact = nr_bytes > 0,
	};

	return decoder_add_extra(dec, &gap, text);
}

int spe_decoder_add(struct auxtap_decoder *dec, const struct spe_extent *extent)
{
	struct spe_stream *s = stream_of(dec->spe, extent);
	struct spe_extent new = *extent, *grown;
	uint64_t end;
	int ret;

	if (!s)
		return -ENOMEM;
	if (s->nr) {
		end = s->extents[s->nr - 1].off + s->extents[s->nr - 1].size;
		ret = 0;
		if (new.off > end) {
			ret = broken(dec, &new, new.off - end, "not in the file");
		} else if (end - new.off < AUXTRACE_ALIGN && end - new.off < new.size) {
			new.file_off += end - new.off;
			new.size -= end - new.off;
			new.off = end;
		} else if (new.off < end) {
			ret = broken(dec, &new, 0, "a buffer begins before the end of the one before: "
						   "samples may come twice");
		}
		if (ret)
			return ret;
	}
	if (s->nr == s->max) {
		size_t max = s->max ? 2 * s->max : 16;

		grown = realloc(s->extents, max * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->extents = grown;
		s->max = max;
	}
	s->extents[s->nr++] = new;
	return 0;
}

/* ---- of a perf.data file ---- */

/* How the generic timer's ticks become perf's time stands in a record of its own. */
void spe_decoder_clock(struct auxtap_decoder *dec)
{
	struct time_conv *conv = &dec->sideband.conv;
	struct auxtap_record rec;
	uint64_t v[5] = {0};
	uint8_t cap[2] = {1, 0};

	auxtap_perfdata_rewind(dec->pd);
	while (auxtap_perfdata_next(dec->pd, &rec, NULL) == 1) {
		if (rec.header->type != AUXTAP_RECORD_TIME_CONV || rec.body_size < 24)
			continue;
		memcpy(v, rec.header + 1, rec.body_size < sizeof(v) ? 24 : sizeof(v));
		if (rec.body_size >= sizeof(v) + sizeof(cap))
			memcpy(cap, (const uint8_t *)(rec.header + 1) + sizeof(v), sizeof(cap));
		conv->valid = cap[0] && v[1] && v[0] < 64;
		conv->shift = (uint16_t)(v[0] & 63);
		conv->mult = v[1];
		conv->zero = v[2];
		conv->cycles = cap[1] ? v[3] : 0;
		conv->mask = cap[1] ? v[4] : 0;
		return;
	}
}

/* AUXTRACE_INFO of arm_spe: PMU type, PER_CPU_MMAPS; newer perfs write a version and a size first. */
bool spe_decoder_per_cpu(const uint64_t *info, size_t nr)
{
	return nr == 2 ? info[1] : nr > 3 ? info[3] : true;
}

/* Buffers of each CPU or thread, in order; gaps where AUX records tell of one. */
int spe_decoder_streams(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const struct auxtap_decode_opts *opts = &dec->shared.opts;
	const struct auxtap_perfdata_aux *aux;
	size_t nr;
	int ret = auxtap_perfdata_auxtraces(dec->pd, &aux, &nr, err);

	if (ret)
		return ret;
	ret = spe_decoder_new(dec, decoder_read_file);
	for (size_t i = 0; !ret && i < nr; i++) {
		struct spe_extent extent = {.off = aux[i].head.offset,
					    .file_off = aux[i].trace_off,
					    .size = aux[i].trace_size,
					    .cpu = (int32_t)aux[i].head.cpu,
					    .tid = (int32_t)aux[i].head.tid};

		extent.of_one_thread = decoder_of_one_thread(dec, &aux[i].head);
		if (extent.size && (opts->cpu < 0 || extent.cpu == opts->cpu))
			ret = spe_decoder_add(dec, &extent);
	}
	if (!ret)
		ret = decoder_add_flagged(dec, "told by the kernel");
	return ret ? auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory") : 0;
}

/* ---- reading ---- */

static bool joins_next(const struct spe_stream *s)
{
	return s->at + 1 < s->nr &&
	       s->extents[s->at].off + s->extents[s->at].size == s->extents[s->at + 1].off;
}

/* More bytes behind those that were not read yet; false: there are none that continue them. */
static bool fill(struct auxtap_decoder *dec, struct spe_stream *s)
{
	size_t keep = s->reader.size - s->reader.at, want;
	uint64_t offset = s->reader.offset + s->reader.at;
	const struct spe_extent *e;
	ssize_t got;

	if (!s->buf) {
		s->buf = malloc(CHUNK);
		if (!s->buf) {
			dec->spe->error = -ENOMEM;
			return false;
		}
		offset = s->extents[0].off;
	}
	if (keep)
		memmove(s->buf, s->buf + s->reader.at, keep);
	s->reader.trace = s->buf;
	s->reader.at = 0;
	s->reader.size = keep;
	s->reader.offset = offset;
	while (s->at < s->nr && s->done == s->extents[s->at].size && (joins_next(s) || !keep)) {
		bool joins = joins_next(s);

		s->at++;
		s->done = 0;
		if (!joins && s->at < s->nr) {
			s->reader.offset = s->extents[s->at].off;
			s->reader.align_to = 0;
		}
	}
	if (s->at == s->nr || s->done == s->extents[s->at].size || keep == CHUNK)
		return false;
	e = &s->extents[s->at];
	want = CHUNK - keep;
	if (want > e->size - s->done)
		want = (size_t)(e->size - s->done);
	got = dec->spe->pread(dec, s->buf + keep, want, e->file_off + s->done);
	if (got <= 0) {
		dec->spe->error = got ? (int)got : -EBADMSG;
		return false;
	}
	s->done += (uint64_t)got;
	s->reader.size += (size_t)got;
	dec->sum.bytes += (uint64_t)got;
	return true;
}

/* Is a piece that cannot be read perhaps one that goes on behind the buffer? */
static int next_record(struct auxtap_decoder *dec, struct spe_stream *s)
{
	int ret;

	for (;;) {
		struct auxtap_spe_reader before = s->reader;

		ret = s->buf ? auxtap_spe_next(&s->reader, &s->record) : 0;
		if (ret > 0 || (ret < 0 && s->reader.at < s->reader.size))
			return ret;
		if (ret < 0) /* look at it again, with more behind it */
			s->reader = before;
		if (fill(dec, s))
			continue;
		if (!ret || dec->spe->error)
			return dec->spe->error ? dec->spe->error : 0;
		/* fill() has moved the bytes to the front */
		return auxtap_spe_next(&s->reader, &s->record);
	}
}

/* ---- events ---- */

static enum auxtap_branch_kind kind_of(uint8_t op)
{
	switch (op & BRANCH_CR) {
	case BRANCH_CALL:
		return op & BRANCH_IND ? AUXTAP_BRANCH_CALL_INDIRECT : AUXTAP_BRANCH_CALL;
	case BRANCH_RET:
		return AUXTAP_BRANCH_RETURN;
	default:
		if (op & BRANCH_COND)
			return AUXTAP_BRANCH_COND;
		return op & BRANCH_IND ? AUXTAP_BRANCH_JUMP_INDIRECT : AUXTAP_BRANCH_JUMP;
	}
}

/* The context is a thread's number if the kernel was built so; then the sideband knows it. */
static void whose(const struct auxtap_decoder *dec, const struct spe_stream *s, struct flow_event *ev)
{
	const struct spe_extent *e = &s->extents[0];
	const struct sideband *sb = &dec->sideband;
	const struct auxtap_spe_record *r = &s->record;

	ev->pid = ev->tid = -1;
	if (r->has & AUXTAP_SPE_HAS_CONTEXT && r->context <= INT32_MAX &&
	    sideband_pid(sb, (int32_t)r->context) != -1)
		ev->tid = (int32_t)r->context;
	else if (e->of_one_thread)
		ev->tid = e->tid;
	else if (e->cpu >= 0 && s->time &&
		 sideband_running(sb, e->cpu, s->time, &ev->pid, &ev->tid))
		return;
	else if (e->tid != -1)
		ev->tid = e->tid;
	if (ev->tid == -1)
		return;
	ev->pid = sideband_pid(sb, ev->tid);
	if (ev->pid == -1)
		ev->pid = ev->tid;
}

static uint32_t types_of(const struct auxtap_spe_record *r)
{
	if (!(r->has & AUXTAP_SPE_HAS_OP))
		return AUXTAP_EVENT_INSN;
	return AUXTAP_EVENT_INSN | (r->op_class == AUXTAP_SPE_LDST     ? AUXTAP_EVENT_MEM
				    : r->op_class == AUXTAP_SPE_BRANCH ? AUXTAP_EVENT_BRANCH
								       : 0);
}

static bool wanted(const struct auxtap_decoder *dec, const struct spe_stream *s)
{
	const struct auxtap_decode_opts *opts = &dec->shared.opts;
	const struct flow_event *ev = &s->ev;

	if ((opts->tid >= 0 && ev->tid != opts->tid) ||
	    (opts->cpu >= 0 && s->extents[0].cpu != opts->cpu))
		return false;
	return !ev->time || (ev->time >= opts->time_start &&
			     (!opts->time_stop || ev->time < opts->time_stop));
}

/* The next one of the record's events. */
static void set_event(struct auxtap_decoder *dec, struct spe_stream *s)
{
	const struct auxtap_spe_record *r = &s->record;
	struct flow_event *ev = &s->ev;

	memset(ev, 0, sizeof(*ev));
	ev->type = s->left & -s->left;
	s->left &= ~ev->type;
	ev->time = s->time;
	ev->ip = r->pc;
	ev->has_ip = r->has & AUXTAP_SPE_HAS_PC;
	whose(dec, s, ev);
	if (ev->type == AUXTAP_EVENT_MEM) {
		ev->addr = r->virt;
		ev->has_addr = r->has & AUXTAP_SPE_HAS_VIRT;
	} else if (ev->type == AUXTAP_EVENT_BRANCH) {
		ev->addr = r->target;
		ev->has_addr = r->has & AUXTAP_SPE_HAS_TARGET;
		ev->kind = (uint8_t)kind_of(r->op);
	}
}

static bool set_gap(struct auxtap_decoder *dec, struct spe_stream *s)
{
	const struct spe_extent *e = &s->extents[0];
	struct flow_event *ev = &s->ev;

	dec->sum.gaps++;
	dec->sum.errors++;
	if (!(dec->shared.opts.events & AUXTAP_EVENT_GAP))
		return false;
	memset(ev, 0, sizeof(*ev));
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = s->time;
	ev->tid = e->of_one_thread ? e->tid : -1;
	ev->pid = ev->tid == -1 ? -1 : sideband_pid(&dec->sideband, ev->tid);
	if (!wanted(dec, s))
		return false;
	ev->gap = calloc(1, sizeof(*ev->gap));
	if (!ev->gap) {
		dec->spe->error = -ENOMEM; /* a gap must not be silent */
		return false;
	}
	ev->gap->gap = (struct auxtap_gap){
		.cause = AUXTAP_GAP_DECODE_ERROR,
		.cpu = e->cpu,
		.pid = ev->pid,
		.tid = ev->tid,
		.time_begin = s->time,
		.time_end = s->time,
		.nr_bytes = s->record.size,
		.exact = true,
	};
	snprintf(ev->gap->text, sizeof(ev->gap->text), "at offset %llu of the trace: %s",
		 (unsigned long long)s->record.offset, s->record.error);
	return true;
}

static void refill(struct auxtap_decoder *dec, struct spe_stream *s)
{
	while (!s->have && !s->finished) {
		int ret;

		if (s->left) {
			set_event(dec, s);
			s->have = wanted(dec, s);
			continue;
		}
		ret = next_record(dec, s);
		if (dec->spe->error || !ret) {
			s->finished = true;
		} else if (ret < 0) {
			s->have = set_gap(dec, s);
		} else {
			uint32_t types = types_of(&s->record);

			if (s->record.has & AUXTAP_SPE_HAS_TIMESTAMP) {
				uint64_t time = time_from_tsc(&dec->sideband.conv,
							      s->record.timestamp);

				if (time > s->time)
					s->time = time;
			}
			dec->sum.instructions++;
			dec->sum.branches += types & AUXTAP_EVENT_BRANCH ? 1 : 0;
			s->left = types & dec->shared.opts.events;
		}
	}
}

/* ---- what decoder.c calls ---- */

static bool comes_first(const struct spe_stream *a, const struct spe_stream *b)
{
	if (a->ev.time != b->ev.time)
		return a->ev.time < b->ev.time;
	return a->ev.tid != b->ev.tid ? a->ev.tid < b->ev.tid : a < b;
}

struct flow_event *spe_decoder_peek(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = dec->spe;

	spe->front = NULL;
	for (size_t i = 0; i < spe->nr; i++) {
		struct spe_stream *s = &spe->streams[i];

		if (!s->nr)
			continue;
		refill(dec, s);
		if (s->have && (!spe->front || comes_first(s, spe->front)))
			spe->front = s;
	}
	return spe->front ? &spe->front->ev : NULL;
}

void spe_decoder_pop(struct auxtap_decoder *dec)
{
	dec->spe->front->have = false;
}

void spe_decoder_facts(const struct auxtap_decoder *dec, struct auxtap_event *ev)
{
	const struct spe_stream *s = dec->spe->front;
	const struct auxtap_spe_record *r = &s->record;

	ev->cpu = s->extents[0].cpu;
	if (ev->type == AUXTAP_EVENT_GAP)
		return;
	ev->spe_has = r->has;
	ev->lat_total = r->lat_total;
	ev->lat_issue = r->lat_issue;
	ev->lat_xlat = r->lat_xlat;
	ev->op_class = r->op_class;
	ev->op = r->op;
	ev->phys = r->phys;
	ev->spe_events = r->events;
	ev->source = r->source;
}
