// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets of raw files and of AUXTRACE records. The records of one AUX buffer continue
 * each other at any byte, so the decoder's state and an unfinished packet go from one to
 * the next.
 */
#include "dump_family.h"
#include "decode/flow/trace_family.h"
#include "decode/stream/trace_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (1u << 20)

struct queue {
	struct dump_stream stream;
	unsigned char carry[DUMP_CARRY_MAX];
	size_t nr_carry;
};

/* Which extent of which queue an AUXTRACE record is. */
struct trace_record {
	size_t queue, extent;
};

struct dump_trace {
	struct auxtap_perfdata *pd;
	const struct dump_family *family; /* NULL: its packets are not listed */
	const struct auxtap_perfdata_aux *aux;
	struct trace_record *records;
	struct trace_queues extents;
	struct queue *queues; /* of each of them */
	size_t nr, at;
	unsigned char *buf;
	void *state; /* of family->open; NULL: it has none, or failed: error */
	struct auxtap_error error;
};

struct counted {
	const struct dump_family *family;
	FILE *out;
	uint64_t errors;
};

static int print_and_count(void *ctx, const struct auxtap_packet *pkt)
{
	struct counted *counted = ctx;

	counted->errors += !strcmp(pkt->name, "error");
	counted->family->print(counted->out, pkt);
	return dump_output_failed(counted->out);
}

/* ---- raw ---- */

/* Fills what is free in buf; 0 at the end, -errno. */
static ssize_t fill(int fd, unsigned char *buf, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t ret = read(fd, buf + got, size - got);

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

static int raw_stream(int fd, const char *path, const struct dump_opts *opts, unsigned char *buf,
		      struct auxtap_error *err)
{
	struct counted counted = {opts->family->dump, opts->out, 0};
	struct dump_stream stream = {0};
	uint64_t offset = 0;
	size_t have = 0, used;
	bool last;
	int ret;

	do {
		ssize_t got = fill(fd, buf + have, CHUNK - have);

		if (got < 0)
			return auxtap_error_set(err, (int)got, path, "cannot read: %s",
						strerror((int)-got));
		last = (size_t)got < CHUNK - have;
		have += (size_t)got;
		ret = counted.family->chunk(&stream, buf, have, offset, last, &used,
					    print_and_count, &counted, err);
		if (ret)
			return ret;
		have -= used;
		offset += used;
		memmove(buf, buf + used, have);
	} while (!last);
	if (!offset)
		return auxtap_error_set_at(err, -EBADMSG, path, 0, "is empty: no trace (offset 0)");
	if (counted.errors) {
		auxtap_error_set(err, -EBADMSG, path,
				 "%" PRIu64 " stretches of the trace cannot be decoded",
				 counted.errors);
		return 1;
	}
	return 0;
}

int dump_raw(const char *path, const struct dump_opts *opts, struct auxtap_error *err)
{
	unsigned char *buf = malloc(CHUNK);
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int ret;

	if (!buf)
		ret = auxtap_error_set(err, -ENOMEM, path, "no memory");
	else if (fd < 0)
		ret = auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	else
		ret = raw_stream(fd, path, opts, buf, err);
	if (fd > STDIN_FILENO)
		close(fd);
	free(buf);
	return ret;
}

/* ---- AUXTRACE records ---- */

/* Records of perf's queues with a number each: a thread's number is used again. */
static int find_queues(struct dump_trace *trace)
{
	trace->extents.opts.by_idx = true;
	for (size_t i = 0; i < trace->nr; i++) {
		struct trace_queue *q = trace_queues_get(&trace->extents, &trace->aux[i].head);

		if (!q || trace_queue_add(&trace->extents.opts, q, &trace->aux[i]))
			return -ENOMEM;
		trace->records[i].queue = (size_t)(q - trace->extents.queues);
		trace->records[i].extent = q->nr - 1;
	}
	trace->queues = calloc(trace->extents.keys.nr, sizeof(*trace->queues));
	return trace->queues ? 0 : -ENOMEM;
}

int dump_trace_open(struct dump_trace **tracep, struct auxtap_perfdata *pd,
		    struct auxtap_error *err)
{
	struct dump_trace *trace = calloc(1, sizeof(*trace));
	const struct trace_family *family = NULL;
	const uint64_t *priv;
	size_t nr_priv;
	uint32_t type;
	int ret = -ENOMEM;

	*tracep = NULL;
	if (!trace)
		goto fail;
	trace->pd = pd;
	trace->buf = malloc(CHUNK);
	if (!trace->buf)
		goto fail;
	ret = auxtap_perfdata_auxtraces(pd, &trace->aux, &trace->nr, err);
	if (ret)
		goto fail;
	if (!auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr_priv))
		family = trace_family_of_type(type);
	trace->family = family ? family->dump : NULL;
	if (trace->family && trace->family->open &&
	    trace->family->open(&trace->state, pd, &trace->error) == -ENOMEM) {
		ret = -ENOMEM;
		goto fail;
	}
	if (trace->nr) {
		trace->records = calloc(trace->nr, sizeof(*trace->records));
		ret = trace->records ? find_queues(trace) : -ENOMEM;
		if (ret)
			goto fail;
	}
	*tracep = trace;
	return 0;
fail:
	dump_trace_close(trace);
	return auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "no memory for its traces");
}

void dump_trace_close(struct dump_trace *trace)
{
	if (!trace)
		return;
	if (trace->family && trace->state)
		trace->family->close(trace->state);
	trace_queues_free(&trace->extents);
	free(trace->queues);
	free(trace->records);
	free(trace->buf);
	free(trace);
}

static int dump_record(struct dump_trace *trace, const struct auxtap_perfdata_aux *aux,
		       const struct trace_record *record, struct counted *counted,
		       struct auxtap_error *err)
{
	const struct trace_queue *extents = &trace->extents.queues[record->queue];
	const struct trace_extent *extent = &extents->extents[record->extent];
	bool continued = record->extent + 1 < extents->nr && extent[1].border == TRACE_JOINS;
	struct queue *q = &trace->queues[record->queue];
	uint64_t at = 0;
	size_t have, used;
	bool last;
	int ret;

	if (extent->border != TRACE_JOINS)
		memset(q, 0, sizeof(*q));
	have = q->nr_carry;
	memcpy(trace->buf, q->carry, have);
	do {
		size_t want = CHUNK - have;
		ssize_t got;

		if (want > extent->size - at)
			want = (size_t)(extent->size - at);
		got = auxtap_perfdata_pread(trace->pd, trace->buf + have, want,
					    aux->trace_off + at);
		if (got != (ssize_t)want)
			return auxtap_error_set_at(err, -EBADMSG, auxtap_perfdata_path(trace->pd),
						   aux->trace_off + at,
						   "the trace at offset %" PRIu64 " cannot be read",
						   aux->trace_off + at);
		have += want;
		at += want;
		last = at == extent->size;
		ret = counted->family->chunk(&q->stream, trace->buf, have,
					     aux->head.offset + at - have, last && !continued,
					     &used, print_and_count, counted, err);
		if (ret)
			return ret;
		have -= used;
		memmove(trace->buf, trace->buf + used, have);
	} while (!last);
	q->nr_carry = have < sizeof(q->carry) ? have : sizeof(q->carry);
	memcpy(q->carry, trace->buf, q->nr_carry);
	return 0;
}

int dump_trace_next(struct dump_trace *trace, FILE *out, struct auxtap_error *err)
{
	struct counted counted = {trace->family, out, 0};
	size_t number = trace->at++;
	int ret;

	if (number >= trace->nr)
		return 0;
	if (!trace->family) {
		fprintf(out, "  (packets of this trace family are not listed)\n");
		return 0;
	}
	if (trace->state)
		return trace->family->record(trace->state, &trace->aux[number], out, err);
	if (trace->family->open) {
		fprintf(out, "  error  %s: %s\n", trace->error.what, trace->error.why);
		return 1;
	}
	ret = dump_record(trace, &trace->aux[number], &trace->records[number], &counted, err);
	return ret ? ret : counted.errors > 0;
}
