// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trace family of Intel BTS. The processor stores each taken branch, interrupt and exception as
 * a record of 24 bytes: from, to, flags. Records have no time stamps, and which kind of branch it
 * was follows only from the code at 'from'. An address of 0 means that tracing was off: the kernel
 * writes it when a thread is scheduled in or out.
 */
#include "decode/flow/branch_insn.h"
#include "decode/flow/callstack.h"
#include "decode/flow/decoder_private.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD	    24
#define CHUNK	    (RECORD * 2730u) /* about 64 KiB */
#define MAX_EVENTS  3		     /* of one record */
#define KERNEL_HALF (1ull << 63)

#define INFO_SNAPSHOT_MODE 5 /* index in AUXTRACE_INFO */

/* The records of one thread or CPU. */
struct bts_stream {
	const struct trace_queue *queue;
	int cpu;
	int32_t tid;
	bool of_one_thread;
	size_t at;	   /* extent being read */
	uint64_t done;	   /* bytes of it that were read */
	bool reported;	   /* the gap before it was reported */
	uint64_t next_off; /* of the next record */
	uint8_t *buf;
	size_t buf_at, buf_size;
	int32_t pid, owner; /* process and thread of the current record */
	struct callstack calls;
	struct flow_event out[MAX_EVENTS];
	unsigned int nr_out, at_out;
};

struct bts_decoder {
	struct trace_queues queues;
	struct bts_stream *streams; /* one for each queue, once started */
	size_t nr, at;
	struct auxtap_decode_summary sum;
	int error;
};

static struct bts_decoder *bts_of(const struct auxtap_decoder *dec)
{
	return dec->trace;
}

/* ---- streams ---- */

static int open_file(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	struct trace_queues *queues = &bts_of(dec)->queues;
	const struct auxtap_perfdata_aux *aux;
	size_t nr;
	int ret = auxtap_perfdata_auxtraces(dec->pd, &aux, &nr, err);

	if (ret)
		return ret;
	for (size_t i = 0; !ret && i < nr; i++) {
		struct trace_queue *q;

		if (!aux[i].trace_size || decoder_is_filtered_out(dec, &aux[i].auxtrace))
			continue;
		q = trace_queues_get(queues, &aux[i].auxtrace);
		ret = q ? trace_queue_add(&queues->opts, q, &aux[i]) : -ENOMEM;
	}
	if (!ret)
		ret = decoder_add_queue_end_gaps(dec, queues, false);
	if (!ret)
		ret = decoder_add_flagged_gaps(dec, "reported by the kernel");
	return ret ? auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory") : 0;
}

static void configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr)
{
	const struct auxtap_perfdata_aux *aux;
	size_t nr_aux;

	dec->sideband.aux_offsets_unusable = nr > INFO_SNAPSHOT_MODE && info[INFO_SNAPSHOT_MODE];
	dec->sideband.per_thread = true;
	if (auxtap_perfdata_auxtraces(dec->pd, &aux, &nr_aux, NULL))
		return;
	for (size_t i = 0; i < nr_aux; i++)
		if (aux[i].auxtrace.cpu != UINT32_MAX)
			dec->sideband.per_thread = false;
}

/* ---- records ---- */

/* A gap that comes before the next record. */
struct bts_gap {
	enum auxtap_gap_cause cause;
	uint64_t nr_bytes; /* 0: unknown */
	const char *text;  /* NULL: no gap */
};

/*
 * The gap between the extent and the previous one. Snapshots are not searched for overlaps, as the
 * same branches may be executed several times in a row.
 */
static struct bts_gap gap_before(const struct auxtap_decoder *dec, const struct bts_stream *s,
				 size_t at)
{
	const struct trace_extent *e = &s->queue->extents[at];

	if (dec->sideband.aux_offsets_unusable)
		return (struct bts_gap){
			.text = at ? "between two snapshots; branches of both may come twice" :
				     NULL};
	if (e->border == TRACE_LACKS)
		return (struct bts_gap){.nr_bytes = e->nr_lost, .text = "not in the file"};
	if (e->border == TRACE_REPEATS)
		return (struct bts_gap){.text = "a buffer begins before the end of the one before: "
						"branches may come twice"};
	return (struct bts_gap){0};
}

/*
 * The stream's next record. False: *gap comes first, or the stream is at its end. A record may
 * begin in one buffer and end in the next one; if that does not join, its bytes are a gap.
 */
static bool next_record(struct auxtap_decoder *dec, struct bts_stream *s, uint64_t record[3],
			struct bts_gap *gap)
{
	struct bts_decoder *bts = bts_of(dec);

	while (s->buf_size - s->buf_at < RECORD) {
		size_t keep = s->buf_size - s->buf_at, size = CHUNK;
		const struct trace_extent *e;
		struct bts_gap before = {0};
		ssize_t got;

		if (s->at < s->queue->nr && s->done == s->queue->extents[s->at].size) {
			s->at++;
			s->done = 0;
			s->reported = false;
		}
		e = s->at < s->queue->nr ? &s->queue->extents[s->at] : NULL;
		if (e && !s->reported)
			before = gap_before(dec, s, s->at);
		if (keep && (!e || before.text)) {
			*gap = (struct bts_gap){AUXTAP_GAP_DECODE_ERROR, keep, "incomplete record"};
			s->buf_at = s->buf_size;
			return false;
		}
		if (!e)
			return false;
		s->reported = true;
		if (before.text) {
			*gap = before;
			return false;
		}
		if (!s->buf)
			s->buf = malloc(CHUNK + RECORD);
		if (!s->buf) {
			bts->error = -ENOMEM;
			return false;
		}
		memmove(s->buf, s->buf + s->buf_at, keep);
		if (!keep)
			s->next_off = e->off + s->done;
		s->buf_at = 0;
		s->buf_size = keep;
		if (size > e->size - s->done)
			size = (size_t)(e->size - s->done);
		got = decoder_read_file(dec, s->buf + keep, size, e->file_off + s->done);
		if (got <= 0) {
			bts->error = got ? (int)got : -EBADMSG;
			return false;
		}
		s->buf_size += (size_t)got;
		s->done += (uint64_t)got;
		bts->sum.bytes += (uint64_t)got;
	}
	memcpy(record, s->buf + s->buf_at, RECORD);
	for (unsigned int i = 0; i < 3; i++)
		record[i] = le64toh(record[i]);
	s->buf_at += RECORD;
	return true;
}

/* ---- events ---- */

static struct flow_event *add_event(struct auxtap_decoder *dec, struct bts_stream *s, uint32_t type)
{
	struct flow_event *ev;

	if (!flow_wanted(&dec->opts, type, 0, s->owner, s->cpu))
		return NULL;
	ev = &s->out[s->nr_out++];
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->pid = s->pid;
	ev->tid = s->owner;
	return ev;
}

static void set_owner(struct auxtap_decoder *dec, struct bts_stream *s)
{
	s->pid = -1;
	s->owner = s->of_one_thread ? s->tid : -1;
	if (s->owner < 0 &&
	    !sideband_owner(&dec->sideband, s->cpu, s->next_off, &s->pid, &s->owner))
		s->pid = s->owner = -1;
	if (s->owner < 0)
		return;
	s->pid = sideband_pid(&dec->sideband, s->owner);
	if (s->pid == -1)
		s->pid = s->owner;
}

static void add_trace(struct auxtap_decoder *dec, struct bts_stream *s, bool on, uint64_t addr)
{
	struct flow_event *ev = add_event(dec, s, AUXTAP_EVENT_TRACE);

	if (!ev)
		return;
	ev->trace_on = on;
	if (on) {
		ev->addr = addr;
		ev->has_addr = true;
	} else {
		ev->ip = addr;
		ev->has_ip = true;
	}
}

static void add_branch(struct auxtap_decoder *dec, struct bts_stream *s, uint32_t type,
		       const struct flow_event *branch)
{
	struct flow_event *ev;
	uint32_t depth = 0;

	/* the call depth needs every call and return, also those that are not wanted */
	if (type == AUXTAP_EVENT_CALL)
		depth = callstack_call(&s->calls, branch->ip + branch->insn_size);
	else if (type == AUXTAP_EVENT_RETURN)
		depth = callstack_return(&s->calls, branch->addr);
	ev = add_event(dec, s, type);
	if (!ev)
		return;
	ev->kind = branch->kind;
	ev->ip = branch->ip;
	ev->addr = branch->addr;
	ev->has_ip = ev->has_addr = true;
	ev->insn_size = branch->insn_size;
	memcpy(ev->insn, branch->insn, sizeof(ev->insn));
	ev->depth = depth;
}

/* Decodes the instruction at the branch's ip; if the code is not known, the kind stays NONE. */
static void classify(struct auxtap_decoder *dec, const struct bts_stream *s,
		     struct flow_event *branch)
{
	struct branch_insn insn;
	ssize_t got = auxtap_image_set_read(dec->images, s->pid, UINT64_MAX, branch->ip,
					    branch->insn, sizeof(branch->insn));

	if (got > 0 && !branch_insn_decode(branch->insn, (size_t)got, false, &insn)) {
		branch->kind = (uint8_t)insn.kind;
		branch->insn_size = insn.size;
		memset(branch->insn + insn.size, 0, sizeof(branch->insn) - insn.size);
	} else {
		memset(branch->insn, 0, sizeof(branch->insn));
	}
}

static void branch_or_interrupt(struct auxtap_decoder *dec, struct bts_stream *s, uint64_t from,
				uint64_t to)
{
	struct flow_event branch = {.ip = from, .addr = to}, *ev;
	bool into_kernel = from < KERNEL_HALF && to >= KERNEL_HALF;

	classify(dec, s, &branch);
	if (into_kernel && !branch_enters_kernel(branch.kind)) {
		ev = add_event(dec, s, AUXTAP_EVENT_ASYNC);
		if (ev) {
			ev->ip = from;
			ev->addr = to;
			ev->has_ip = ev->has_addr = true;
		}
		return;
	}
	bts_of(dec)->sum.branches++;
	add_branch(dec, s, AUXTAP_EVENT_BRANCH, &branch);
	if (branch.kind == AUXTAP_BRANCH_CALL_INDIRECT ||
	    (branch.kind == AUXTAP_BRANCH_CALL && to != from + branch.insn_size))
		add_branch(dec, s, AUXTAP_EVENT_CALL, &branch);
	else if (branch.kind == AUXTAP_BRANCH_RETURN)
		add_branch(dec, s, AUXTAP_EVENT_RETURN, &branch);
}

static void add_gap(struct auxtap_decoder *dec, struct bts_stream *s, const struct bts_gap *gap)
{
	struct bts_decoder *bts = bts_of(dec);
	struct flow_event *ev;

	bts->sum.gaps++;
	bts->sum.errors += gap->cause == AUXTAP_GAP_DECODE_ERROR;
	callstack_gap(&s->calls);
	set_owner(dec, s);
	ev = add_event(dec, s, AUXTAP_EVENT_GAP);
	if (!ev)
		return;
	ev->gap = calloc(1, sizeof(*ev->gap));
	if (!ev->gap) {
		bts->error = -ENOMEM; /* a gap must not be silent */
		s->nr_out--;
		return;
	}
	ev->gap->gap = (struct auxtap_gap){.cause = gap->cause,
					   .cpu = s->cpu,
					   .pid = s->pid,
					   .tid = s->owner,
					   .nr_bytes = gap->nr_bytes,
					   .exact = gap->nr_bytes > 0};
	snprintf(ev->gap->text, sizeof(ev->gap->text), "%s", gap->text);
}

/* Fills s->out with the events of the next record that has one; false at the end. */
static bool refill(struct auxtap_decoder *dec, struct bts_stream *s)
{
	uint64_t record[3];

	s->nr_out = s->at_out = 0;
	while (!s->nr_out) {
		struct bts_gap gap = {0};

		if (next_record(dec, s, record, &gap)) {
			set_owner(dec, s);
			s->next_off += RECORD;
			if (record[0] && record[1])
				branch_or_interrupt(dec, s, record[0], record[1]);
			else if (record[0] || record[1])
				add_trace(dec, s, !record[0], record[0] + record[1]);
		} else if (gap.text) {
			add_gap(dec, s, &gap);
		} else {
			return false;
		}
		if (bts_of(dec)->error)
			return false;
	}
	return true;
}

/* Without times there is no order between streams: returns all events of one after the other. */
static struct flow_event *next(struct auxtap_decoder *dec, uint64_t until, int *cpu)
{
	struct bts_decoder *bts = bts_of(dec);

	(void)until;
	for (; bts->at < bts->nr && !bts->error; bts->at++) {
		struct bts_stream *s = &bts->streams[bts->at];

		if (s->at_out < s->nr_out || refill(dec, s)) {
			*cpu = s->cpu;
			return &s->out[s->at_out++];
		}
		free(s->buf);
		s->buf = NULL;
	}
	return NULL;
}

/* ---- the family ---- */

static int create(struct auxtap_decoder *dec)
{
	dec->trace = calloc(1, sizeof(struct bts_decoder));
	return dec->trace ? 0 : -ENOMEM;
}

static void destroy(struct auxtap_decoder *dec)
{
	struct bts_decoder *bts = bts_of(dec);

	for (size_t i = 0; i < bts->nr; i++) {
		struct bts_stream *s = &bts->streams[i];

		for (unsigned int k = s->at_out; k < s->nr_out; k++)
			flow_gap_free(s->out[k].gap);
		callstack_free(&s->calls);
		free(s->buf);
	}
	free(bts->streams);
	trace_queues_free(&bts->queues);
	free(bts);
	dec->trace = NULL;
}

/* Creates the streams; records are read when events are asked for. */
static int start(struct auxtap_decoder *dec, unsigned int nr_jobs)
{
	struct bts_decoder *bts = bts_of(dec);
	size_t nr = bts->queues.keys.nr;

	(void)nr_jobs;
	bts->streams = calloc(nr ? nr : 1, sizeof(*bts->streams));
	if (!bts->streams)
		return -ENOMEM;
	bts->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct bts_stream *s = &bts->streams[i];
		struct auxtap_auxtrace head = {0};

		s->queue = &bts->queues.queues[i];
		s->cpu = s->queue->key.cpu;
		s->tid = s->queue->key.tid;
		head.cpu = (uint32_t)s->cpu;
		head.tid = (uint32_t)s->tid;
		s->of_one_thread = decoder_is_one_thread(dec, &head);
	}
	return 0;
}

static int error_of(const struct auxtap_decoder *dec)
{
	return bts_of(dec)->error;
}

static void add_sums(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum)
{
	const struct auxtap_decode_summary *own = &bts_of(dec)->sum;

	sum->branches += own->branches;
	sum->gaps += own->gaps;
	sum->errors += own->errors;
	sum->bytes += own->bytes;
}

extern const struct trace_family bts_family;
const struct trace_family bts_family = {
	.info =
		{
			.size = sizeof(struct auxtap_trace_family),
			.name = "Intel BTS",
			.contents = "the branches of Intel BTS",
			.auxtrace_type = AUXTAP_AUXTRACE_INTEL_BTS,
			.lacks = AUXTAP_EVENT_INSN | AUXTAP_EVENT_BLOCK | AUXTAP_EVENT_MEM,
			.lacks_text = "insn, block and mem events",
		},
	.pmu = "intel_bts",
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_file = open_file,
	.start = start,
	.next = next,
	.error = error_of,
	.add_sums = add_sums,
};
