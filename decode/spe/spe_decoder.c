// SPDX-License-Identifier: BSD-2-Clause
/*
 * Samples of Arm SPE as events: the buffers of each CPU or thread are one stream of records, the
 * streams are merged by time. A record of a load or store is a MEM event, one of a branch a BRANCH
 * event, and each of them an INSN event where these are wanted.
 */
#include "decode/flow/decoder_private.h"
#include "spe_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUXTRACE_ALIGN 8 /* perf pads a buffer to this */
#define BRANCH_COND    0x01
#define BRANCH_IND     0x02
#define BRANCH_CR      0x18 /* call, return or neither, where the CPU reports it */
#define BRANCH_CALL    0x08
#define BRANCH_RET     0x10

/* A stream and its next event. */
struct spe_queue {
	struct spe_stream *stream;
	const struct spe_item *item;
	uint64_t time; /* of the last record with a time */
	uint32_t left; /* events of item still to come */
	/* the context met last, and whose it is; of no thread: -1 */
	uint32_t context;
	int32_t context_pid;
	bool context_known;
	struct flow_event ev;
};

struct spe_decoder {
	struct spe_streams streams;
	struct spe_queue *queues, **heap; /* by next event */
	size_t nr_queues, nr_heap;
	struct spe_queue *front; /* whose event was peeked at last */
	bool started;
	int error;
};

/* ---- streams ---- */

/* nr_bytes 0: unknown. */
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

	return decoder_add_unattributed(dec, &gap, text);
}

int spe_decoder_add(struct auxtap_decoder *dec, const struct spe_extent *extent)
{
	struct spe_stream *s = spe_streams_of(&dec->spe->streams, extent);
	struct spe_extent new = *extent;
	uint64_t end;
	int ret = 0;

	if (!s)
		return -ENOMEM;
	if (s->nr) {
		end = s->extents[s->nr - 1].off + s->extents[s->nr - 1].size;
		if (new.off > end) {
			ret = broken(dec, &new, new.off - end, "not in the file");
		} else if (end - new.off < AUXTRACE_ALIGN &&
			   end - new.off <= s->extents[s->nr - 1].size) {
			/* the file's padding, after the buffer before */
			s->extents[s->nr - 1].size -= end - new.off;
		} else if (new.off < end) {
			ret = broken(dec, &new, 0,
				     "a buffer begins before the end of the one before: "
				     "samples may come twice");
		}
	} else if (new.off && !dec->sideband.overwritten) {
		/* Linear rings count from 0 on; without AUX records this may be a snapshot. */
		ret = broken(dec, &new, dec->sideband.nr_rings ? new.off : 0, "not in the file");
	}
	return ret ? ret : spe_stream_add(s, &new);
}

/* ---- of a perf.data file ---- */

/* How the generic timer's ticks become perf's time is in a record of its own. */
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

/*
 * AUXTRACE_INFO of arm_spe: PMU type, PER_CPU_MMAPS; newer perfs write a version and a size first.
 */
bool spe_decoder_per_cpu(const uint64_t *info, size_t nr)
{
	return nr == 2 ? info[1] : nr > 3 ? info[3] : true;
}

static uint64_t end_of_stream(const struct auxtap_decoder *dec, const struct sideband_ring *ring)
{
	const struct spe_streams *ss = &dec->spe->streams;
	uint64_t end = 0;

	for (size_t i = 0; i < ss->nr; i++) {
		const struct spe_stream *s = &ss->streams[i];
		const struct spe_extent *last = s->nr ? &s->extents[s->nr - 1] : NULL;

		if (last && (ring->tid >= 0 ? last->tid == ring->tid : last->cpu == ring->cpu) &&
		    last->off + last->size > end)
			end = last->off + last->size;
	}
	return end;
}

/* Buffers of each CPU or thread, in order; gaps where AUX records report one. */
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
		ret = decoder_add_missing(dec, true, end_of_stream);
	if (!ret)
		ret = decoder_add_flagged(dec, "reported by the kernel");
	return ret ? auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory") : 0;
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

/* The process of a record's context, -1: it is no thread that the file knows. */
static int32_t pid_of_context(const struct sideband *sb, struct spe_queue *q, uint32_t context)
{
	if (!q->context_known || q->context != context) {
		q->context = context;
		q->context_pid = context <= INT32_MAX ? sideband_pid(sb, (int32_t)context) : -1;
		q->context_known = true;
	}
	return q->context_pid;
}

/* The context is a thread's number if the kernel was built so; then the sideband knows it. */
static void whose(const struct auxtap_decoder *dec, struct spe_queue *q, struct flow_event *ev)
{
	const struct spe_extent *e = &q->stream->extents[0];
	const struct sideband *sb = &dec->sideband;
	const struct auxtap_spe_record *r = &q->item->record;

	ev->pid = ev->tid = -1;
	if (r->has & AUXTAP_SPE_HAS_CONTEXT) {
		ev->pid = pid_of_context(sb, q, r->context);
		if (ev->pid != -1) {
			ev->tid = (int32_t)r->context;
			return;
		}
	}
	if (e->of_one_thread)
		ev->tid = e->tid;
	else if (e->cpu >= 0 && q->time &&
		 sideband_running(sb, e->cpu, q->time, &ev->pid, &ev->tid))
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
	return AUXTAP_EVENT_INSN | (r->op_class == AUXTAP_SPE_LDST   ? AUXTAP_EVENT_MEM :
				    r->op_class == AUXTAP_SPE_BRANCH ? AUXTAP_EVENT_BRANCH :
								       0);
}

static bool wanted(const struct auxtap_decoder *dec, const struct spe_queue *q)
{
	const struct auxtap_decode_opts *opts = &dec->shared.opts;
	const struct flow_event *ev = &q->ev;

	if ((opts->tid >= 0 && ev->tid != opts->tid) ||
	    (opts->cpu >= 0 && q->stream->extents[0].cpu != opts->cpu))
		return false;
	return !ev->time ||
	       (ev->time >= opts->time_start && (!opts->time_stop || ev->time < opts->time_stop));
}

/* The next one of the record's events. */
static void set_event(struct auxtap_decoder *dec, struct spe_queue *q)
{
	const struct auxtap_spe_record *r = &q->item->record;
	struct flow_event *ev = &q->ev;

	memset(ev, 0, sizeof(*ev));
	ev->type = q->left & -q->left;
	q->left &= ~ev->type;
	ev->time = q->time;
	ev->ip = r->pc;
	ev->has_ip = r->has & AUXTAP_SPE_HAS_PC;
	whose(dec, q, ev);
	if (ev->type == AUXTAP_EVENT_MEM) {
		ev->addr = r->virt;
		ev->has_addr = r->has & AUXTAP_SPE_HAS_VIRT;
	} else if (ev->type == AUXTAP_EVENT_BRANCH) {
		ev->addr = r->target;
		ev->has_addr = r->has & AUXTAP_SPE_HAS_TARGET;
		ev->kind = (uint8_t)kind_of(r->op);
	}
}

static bool set_gap(struct auxtap_decoder *dec, struct spe_queue *q)
{
	const struct spe_extent *e = &q->stream->extents[0];
	struct flow_event *ev = &q->ev;

	dec->sum.gaps++;
	dec->sum.errors++;
	if (!(dec->shared.opts.events & AUXTAP_EVENT_GAP))
		return false;
	memset(ev, 0, sizeof(*ev));
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = q->time;
	ev->tid = e->of_one_thread ? e->tid : -1;
	ev->pid = ev->tid == -1 ? -1 : sideband_pid(&dec->sideband, ev->tid);
	if (!wanted(dec, q))
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
		.time_begin = q->time,
		.time_end = q->time,
		.nr_bytes = q->item->record.size,
		.exact = true,
	};
	snprintf(ev->gap->text, sizeof(ev->gap->text), "at offset %llu of the trace: %s",
		 (unsigned long long)q->item->record.offset, q->item->record.error);
	return true;
}

/* Makes the queue's next event; false: there is none any more. */
static bool refill(struct auxtap_decoder *dec, struct spe_queue *q)
{
	for (;;) {
		uint32_t types;

		while (q->left) {
			set_event(dec, q);
			if (wanted(dec, q))
				return true;
		}
		q->item = spe_streams_next(&dec->spe->streams, q->stream, &dec->spe->error);
		if (!q->item || dec->spe->error)
			return false;
		if (q->item->ret < 0) {
			if (set_gap(dec, q))
				return true;
			continue;
		}
		types = types_of(&q->item->record);
		if (q->item->record.has & AUXTAP_SPE_HAS_TIMESTAMP) {
			uint64_t time =
				time_from_tsc(&dec->sideband.conv, q->item->record.timestamp);

			if (time > q->time)
				q->time = time;
		}
		dec->sum.instructions++;
		dec->sum.branches += types & AUXTAP_EVENT_BRANCH ? 1 : 0;
		q->left = types & dec->shared.opts.events;
	}
}

/* ---- what decoder.c calls ---- */

static bool comes_first(const struct spe_queue *a, const struct spe_queue *b)
{
	if (a->ev.time != b->ev.time)
		return a->ev.time < b->ev.time;
	return a->ev.tid != b->ev.tid ? a->ev.tid < b->ev.tid : a < b;
}

/* heap[at] may come later than those below it. */
static void sift_down(struct spe_decoder *spe, size_t at)
{
	struct spe_queue *q = spe->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= spe->nr_heap)
			break;
		if (child + 1 < spe->nr_heap && comes_first(spe->heap[child + 1], spe->heap[child]))
			child++;
		if (!comes_first(spe->heap[child], q))
			break;
		spe->heap[at] = spe->heap[child];
		at = child;
	}
	spe->heap[at] = q;
}

static int start(struct auxtap_decoder *dec, unsigned int nr_jobs)
{
	struct spe_decoder *spe = dec->spe;
	size_t nr = spe->streams.nr;

	if (!nr)
		return 0;
	spe->queues = calloc(nr, sizeof(*spe->queues));
	spe->heap = calloc(nr, sizeof(struct spe_queue *));
	if (!spe->queues || !spe->heap)
		return -ENOMEM;
	spe->nr_queues = nr;
	for (size_t i = 0; i < nr; i++)
		spe->queues[i].stream = &spe->streams.streams[i];
	return spe_streams_start(&spe->streams, nr_jobs);
}

static void start_heap(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = dec->spe;

	spe->started = true;
	for (size_t i = 0; i < spe->nr_queues && !spe->error; i++)
		if (refill(dec, &spe->queues[i]))
			spe->heap[spe->nr_heap++] = &spe->queues[i];
	for (size_t i = spe->nr_heap / 2; i-- > 0;)
		sift_down(spe, i);
}

static struct flow_event *peek(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = dec->spe;

	if (!spe->started) {
		start_heap(dec);
	} else if (spe->front) { /* its event was taken */
		if (!refill(dec, spe->front))
			spe->heap[0] = spe->heap[--spe->nr_heap];
		if (spe->nr_heap)
			sift_down(spe, 0);
		spe->front = NULL;
	}
	dec->sum.bytes = spe->streams.nr_bytes;
	return spe->nr_heap && !spe->error ? &spe->heap[0]->ev : NULL;
}

static void pop(struct auxtap_decoder *dec)
{
	dec->spe->front = dec->spe->heap[0];
}

static void facts(const struct auxtap_decoder *dec, struct auxtap_event *ev)
{
	const struct spe_queue *q = dec->spe->front;
	const struct auxtap_spe_record *r = &q->item->record;

	ev->cpu = q->stream->extents[0].cpu;
	if (ev->type == AUXTAP_EVENT_GAP)
		return;
	ev->isa = AUXTAP_ISA_A64; /* records do not say; A32 in EL0 is rare */
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

static int error_of(const struct auxtap_decoder *dec)
{
	return dec->spe->error;
}

static void free_all(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = dec->spe;

	spe_streams_free(&spe->streams);
	for (size_t i = 0; i < spe->nr_queues; i++)
		free(spe->queues[i].ev.gap);
	free(spe->queues);
	free(spe->heap);
	free(spe);
	dec->spe = NULL;
}

static const struct decoder_source source = {.start = start,
					     .peek = peek,
					     .pop = pop,
					     .facts = facts,
					     .error = error_of,
					     .free = free_all};

int spe_decoder_new(struct auxtap_decoder *dec,
		    ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off))
{
	dec->spe = calloc(1, sizeof(*dec->spe));
	if (!dec->spe)
		return -ENOMEM;
	spe_streams_init(&dec->spe->streams, pread, dec);
	dec->source = &source;
	return 0;
}
