// SPDX-License-Identifier: BSD-2-Clause
/*
 * Turns the samples of Arm SPE into events. The buffers of each CPU or thread are one stream of
 * records; the streams are merged by time. A record of a load or store becomes a MEM event, one of
 * a branch a BRANCH event, and each record an INSN event if those are wanted.
 */
#include "decode/flow/decoder_private.h"
#include "spe_stream.h"
#include "util/heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRANCH_COND 0x01
#define BRANCH_IND  0x02
#define BRANCH_CR   0x18 /* call, return or neither, where the CPU reports it */
#define BRANCH_CALL 0x08
#define BRANCH_RET  0x10

/* A stream and its next event. */
struct spe_queue {
	struct spe_stream *stream;
	const struct trace_key *key;
	bool of_one_thread; /* all its records are of the thread key->tid */
	const struct spe_item *item;
	uint64_t time; /* of the last record with a time */
	uint32_t left; /* types of item's events that are still to be returned */
	/* a cache: the last record's context and its process; -1: it is no thread */
	uint32_t context;
	int32_t context_pid;
	bool context_known;
	struct flow_event ev;
};

struct spe_decoder {
	struct spe_streams streams;
	struct spe_queue *queues, **heap; /* by next event */
	size_t nr_queues, nr_heap;
	struct spe_queue *front; /* the queue of the event that was returned last */
	bool started;
	int error;
};

static struct spe_decoder *spe_of(const struct auxtap_decoder *dec)
{
	return dec->trace;
}

/* ---- streams ---- */

static bool of_one_thread(const struct auxtap_decoder *dec, const struct trace_queue *q)
{
	return decoder_is_one_thread(dec, &(struct auxtap_auxtrace){.cpu = (uint32_t)q->key.cpu,
								    .tid = (uint32_t)q->key.tid});
}

/* Adds a gap in the queue's records. nr_bytes 0: unknown. */
static int add_gap(struct auxtap_decoder *dec, const struct trace_queue *q, uint64_t nr_bytes,
		   const char *text)
{
	struct auxtap_gap gap = {
		.cause = AUXTAP_GAP_UNKNOWN,
		.cpu = q->key.cpu,
		.tid = of_one_thread(dec, q) ? q->key.tid : -1,
		.pid = -1,
		.nr_bytes = nr_bytes,
		.exact = nr_bytes > 0,
	};

	return decoder_add_unattributed(dec, &gap, text);
}

/* Adds a gap before the queue's newest extent, if trace is missing there or comes twice. */
static int add_gap_before(struct auxtap_decoder *dec, const struct trace_queue *q)
{
	const struct trace_extent *e = &q->extents[q->nr - 1];

	switch (e->border) {
	case TRACE_LACKS:
		if (q->nr > 1)
			return add_gap(dec, q, e->nr_lost, "not in the file");
		/* Offsets in linear mode start at 0; without AUX records it may be a snapshot. */
		if (dec->sideband.has_overwrite_aux)
			return 0;
		return add_gap(dec, q, dec->sideband.ring_keys.nr ? e->nr_lost : 0,
			       "not in the file");
	case TRACE_REPEATS:
		return add_gap(dec, q, 0,
			       "a buffer begins before the end of the one before: "
			       "samples may come twice");
	default:
		return 0;
	}
}

static int add_buffer(struct auxtap_decoder *dec, const struct auxtap_perfdata_aux *aux)
{
	struct trace_queues *queues = &spe_of(dec)->streams.queues;
	struct trace_queue *q = trace_queues_get(queues, &aux->auxtrace);
	int ret = q ? trace_queue_add(&queues->opts, q, aux) : -ENOMEM;

	return ret ? ret : add_gap_before(dec, q);
}

/* ---- perf.data ---- */

/*
 * Whether each CPU has a ring, by arm_spe's AUXTRACE_INFO: PMU type, PER_CPU_MMAPS; newer versions
 * of perf write a version and a size before them.
 */
static bool has_ring_per_cpu(const uint64_t *info, size_t nr)
{
	return nr == 2 ? info[1] : nr > 3 ? info[3] : true;
}

/* Adds the buffers of each CPU or thread, in order, and gaps that AUX records report. */
static int open_file(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	const struct auxtap_decode_opts *opts = &dec->opts;
	const struct auxtap_perfdata_aux *aux;
	size_t nr;
	int ret = auxtap_perfdata_auxtraces(dec->pd, &aux, &nr, err);

	if (ret)
		return ret;
	spe_of(dec)->streams.pread = decoder_read_file;
	for (size_t i = 0; !ret && i < nr; i++)
		if (aux[i].trace_size &&
		    flow_listed(opts->cpus, opts->nr_cpus, (int32_t)aux[i].auxtrace.cpu))
			ret = add_buffer(dec, &aux[i]);
	if (!ret)
		ret = decoder_add_queue_end_gaps(dec, &spe_of(dec)->streams.queues, true);
	if (!ret)
		ret = decoder_add_flagged_gaps(dec, "reported by the kernel");
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

/* The process of the thread whose TID is the context; -1: the sideband has no such thread. */
static int32_t pid_of_context(const struct sideband *sb, struct spe_queue *q, uint32_t context)
{
	if (!q->context_known || q->context != context) {
		q->context = context;
		q->context_pid = context <= INT32_MAX ? sideband_pid(sb, (int32_t)context) : -1;
		q->context_known = true;
	}
	return q->context_pid;
}

/*
 * Sets the thread of the record. On a kernel with CONFIG_PID_IN_CONTEXTIDR the record's context is
 * the TID, and the sideband has that thread.
 */
static void set_thread(const struct auxtap_decoder *dec, struct spe_queue *q, struct flow_event *ev)
{
	const struct trace_key *key = q->key;
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
	if (q->of_one_thread)
		ev->tid = key->tid;
	else if (key->cpu >= 0 && q->time &&
		 sideband_running(sb, key->cpu, q->time, &ev->pid, &ev->tid))
		return;
	else if (key->tid != -1)
		ev->tid = key->tid;
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
	const struct flow_event *ev = &q->ev;

	return flow_wanted(&dec->opts, ev->type, ev->time, ev->tid, q->key->cpu);
}

/* Makes q->ev the record's next event. */
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
	set_thread(dec, q, ev);
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
	struct flow_event *ev = &q->ev;

	dec->sum.gaps++;
	dec->sum.errors++;
	if (!(dec->opts.events & AUXTAP_EVENT_GAP))
		return false;
	memset(ev, 0, sizeof(*ev));
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = q->time;
	ev->tid = q->of_one_thread ? q->key->tid : -1;
	ev->pid = ev->tid == -1 ? -1 : sideband_pid(&dec->sideband, ev->tid);
	if (!wanted(dec, q))
		return false;
	ev->gap = calloc(1, sizeof(*ev->gap));
	if (!ev->gap) {
		spe_of(dec)->error = -ENOMEM; /* a gap must not be silent */
		return false;
	}
	ev->gap->gap = (struct auxtap_gap){
		.cause = AUXTAP_GAP_DECODE_ERROR,
		.cpu = q->key->cpu,
		.pid = ev->pid,
		.tid = ev->tid,
		.time_begin = q->time,
		.time_end = q->time,
		.nr_bytes = q->item->record.nr_bytes,
		.exact = true,
	};
	snprintf(ev->gap->text, sizeof(ev->gap->text), "at offset %llu of the trace: %s",
		 (unsigned long long)q->item->record.offset, q->item->record.error);
	return true;
}

/* Makes q->ev the queue's next event; false: there are no more. */
static bool refill(struct auxtap_decoder *dec, struct spe_queue *q)
{
	for (;;) {
		uint32_t types;

		while (q->left) {
			set_event(dec, q);
			if (wanted(dec, q))
				return true;
		}
		q->item = spe_streams_next(&spe_of(dec)->streams, q->stream, &spe_of(dec)->error);
		if (!q->item || spe_of(dec)->error)
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
		q->left = types & dec->opts.events;
	}
}

/* ---- the trace family ---- */

static bool comes_first(const struct spe_queue *a, const struct spe_queue *b)
{
	if (a->ev.time != b->ev.time)
		return a->ev.time < b->ev.time;
	return a->ev.tid != b->ev.tid ? a->ev.tid < b->ev.tid : a < b;
}

static int start(struct auxtap_decoder *dec, unsigned int nr_jobs)
{
	struct spe_decoder *spe = spe_of(dec);
	int ret = spe_streams_start(&spe->streams, nr_jobs);
	size_t nr = spe->streams.nr;

	if (ret || !nr)
		return ret;
	spe->queues = calloc(nr, sizeof(*spe->queues));
	spe->heap = calloc(nr, sizeof(struct spe_queue *));
	if (!spe->queues || !spe->heap)
		return -ENOMEM;
	spe->nr_queues = nr;
	for (size_t i = 0; i < nr; i++) {
		const struct trace_queue *q = spe->streams.streams[i].queue;

		spe->queues[i].stream = &spe->streams.streams[i];
		spe->queues[i].key = &q->key;
		spe->queues[i].of_one_thread = of_one_thread(dec, q);
	}
	return 0;
}

static void start_heap(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = spe_of(dec);

	spe->started = true;
	for (size_t i = 0; i < spe->nr_queues && !spe->error; i++)
		if (refill(dec, &spe->queues[i]))
			spe->heap[spe->nr_heap++] = &spe->queues[i];
	heap_build(spe->heap, spe->nr_heap, comes_first);
}

static struct flow_event *peek(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = spe_of(dec);

	if (!spe->started) {
		start_heap(dec);
	} else if (spe->front) { /* its event was returned */
		if (!refill(dec, spe->front))
			heap_pop(spe->heap, spe->nr_heap, comes_first);
		else
			heap_sift_down(spe->heap, spe->nr_heap, 0, comes_first);
		spe->front = NULL;
	}
	dec->sum.bytes = spe->streams.nr_bytes;
	return spe->nr_heap && !spe->error ? &spe->heap[0]->ev : NULL;
}

static struct flow_event *next(struct auxtap_decoder *dec, uint64_t until, int *cpu)
{
	struct spe_decoder *spe = spe_of(dec);
	struct flow_event *ev = peek(dec);

	if (!ev || ev->time > until)
		return NULL;
	spe->front = spe->heap[0];
	*cpu = spe->front->key->cpu;
	return ev;
}

static void fill_event(const struct auxtap_decoder *dec, struct auxtap_event *ev)
{
	const struct spe_queue *q = spe_of(dec)->front;
	const struct auxtap_spe_record *r = &q->item->record;

	if (ev->type == AUXTAP_EVENT_GAP)
		return;
	ev->isa = AUXTAP_ISA_A64; /* records do not contain it; A32 at EL0 is rare */
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
	return spe_of(dec)->error;
}

static void destroy(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = spe_of(dec);

	spe_streams_free(&spe->streams);
	for (size_t i = 0; i < spe->nr_queues; i++)
		free(spe->queues[i].ev.gap);
	free(spe->queues);
	free(spe->heap);
	free(spe);
	dec->trace = NULL;
}

static int create(struct auxtap_decoder *dec)
{
	struct spe_decoder *spe = calloc(1, sizeof(*spe));

	if (!spe)
		return -ENOMEM;
	spe_streams_init(&spe->streams, NULL, dec);
	dec->trace = spe;
	return 0;
}

static void configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr)
{
	decoder_time_conv(dec);
	dec->sideband.per_thread = !has_ring_per_cpu(info, nr);
}

static int open_raw(struct auxtap_decoder *dec, const char *path, const struct auxtap_raw_opts *raw,
		    int cpu, struct auxtap_error *err)
{
	struct auxtap_perfdata_aux whole = {
		.auxtrace.cpu = (uint32_t)cpu,
		.auxtrace.tid = (uint32_t)(cpu >= 0 ? -1 : dec->sideband.first_tid),
	};
	int ret = decoder_open_stream(dec, path, &whole.trace_size, err);

	(void)raw;
	if (ret)
		return ret;
	spe_of(dec)->streams.pread = decoder_read_raw;
	ret = add_buffer(dec, &whole);
	return ret ? auxtap_error_set(err, ret, path, "out of memory") : 0;
}

extern const struct trace_family spe_family;
const struct trace_family spe_family = {
	.info =
		{
			.size = sizeof(struct auxtap_trace_family),
			.name = "Arm SPE",
			.contents = "Arm SPE samples",
			.auxtrace_type = AUXTAP_AUXTRACE_ARM_SPE,
			.lacks = AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC |
				 AUXTAP_EVENT_TRACE,
			.lacks_text = "call, return, async and trace events",
			.raw_name = "spe",
			.samples = true,
		},
	.pmu = "arm_spe",
	.dump = &dump_family_spe,
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_file = open_file,
	.open_raw = open_raw,
	.start = start,
	.next = next,
	.fill_event = fill_event,
	.error = error_of,
};
