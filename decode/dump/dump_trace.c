// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lists packets of raw files and of AUXTRACE records. The records of one AUX buffer may be split at
 * any byte, so the decoder's state and an incomplete packet are kept for the next record.
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

/* The queue and the extent of an AUXTRACE record. */
struct trace_record {
	size_t queue, extent;
};

struct dump_trace {
	struct auxtap_perfdata *pd;
	const struct dump_family *family; /* NULL: its packets cannot be listed */
	const struct auxtap_perfdata_aux *aux;
	struct trace_record *records;
	struct trace_queues extents;
	struct queue *queues; /* for each queue of 'extents' */
	size_t nr, next_record;
	unsigned char *buf;
	void *state; /* from family->open(); NULL: it has no open(), or that failed: error */
	struct auxtap_error error;
};

struct packet_printer {
	const struct dump_family *family;
	FILE *out;
	uint64_t errors;
};

static int print_and_count(void *ctx, const struct auxtap_packet *pkt)
{
	struct packet_printer *printer = ctx;

	printer->errors += !strcmp(pkt->name, "error");
	printer->family->print(printer->out, pkt);
	return dump_output_failed(printer->out);
}

/* ---- raw ---- */

/* Reads until buf is full or the file ends. Returns the number of bytes, or -errno. */
static ssize_t read_full(int fd, unsigned char *buf, size_t size)
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
	struct packet_printer printer = {opts->family->dump, opts->out, 0};
	struct dump_stream stream = {0};
	uint64_t offset = 0;
	size_t nr_buffered = 0, used;
	bool last;
	int ret;

	do {
		ssize_t got = read_full(fd, buf + nr_buffered, CHUNK - nr_buffered);

		if (got < 0)
			return auxtap_error_set(err, (int)got, path, "cannot read: %s",
						strerror((int)-got));
		last = (size_t)got < CHUNK - nr_buffered;
		nr_buffered += (size_t)got;
		ret = printer.family->chunk(&stream, buf, nr_buffered, offset, last, &used,
					    print_and_count, &printer, err);
		if (ret)
			return ret;
		nr_buffered -= used;
		offset += used;
		memmove(buf, buf + used, nr_buffered);
	} while (!last);
	if (!offset)
		return auxtap_error_set_at(err, -EBADMSG, path, 0, "is empty: no trace (offset 0)");
	if (printer.errors) {
		auxtap_error_set(err, -EBADMSG, path,
				 "%" PRIu64 " stretches of the trace cannot be decoded",
				 printer.errors);
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

/* Finds the queue of each record. perf's queue index is part of the key, since tids are reused. */
static int find_queues(struct dump_trace *trace)
{
	trace->extents.opts.by_idx = true;
	for (size_t i = 0; i < trace->nr; i++) {
		struct trace_queue *q = trace_queues_get(&trace->extents, &trace->aux[i].auxtrace);

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
		       const struct trace_record *record, struct packet_printer *printer,
		       struct auxtap_error *err)
{
	const struct trace_queue *extents = &trace->extents.queues[record->queue];
	const struct trace_extent *extent = &extents->extents[record->extent];
	bool continued = record->extent + 1 < extents->nr && extent[1].border == TRACE_JOINS;
	struct queue *q = &trace->queues[record->queue];
	uint64_t at = 0;
	size_t nr_buffered, used;
	bool last;
	int ret;

	if (extent->border != TRACE_JOINS)
		memset(q, 0, sizeof(*q));
	nr_buffered = q->nr_carry;
	memcpy(trace->buf, q->carry, nr_buffered);
	do {
		size_t want = CHUNK - nr_buffered;
		ssize_t got;

		if (want > extent->size - at)
			want = (size_t)(extent->size - at);
		got = auxtap_perfdata_pread(trace->pd, trace->buf + nr_buffered, want,
					    aux->trace_off + at);
		if (got != (ssize_t)want)
			return auxtap_error_set_at(err, -EBADMSG, auxtap_perfdata_path(trace->pd),
						   aux->trace_off + at,
						   "the trace at offset %" PRIu64 " cannot be read",
						   aux->trace_off + at);
		nr_buffered += want;
		at += want;
		last = at == extent->size;
		ret = printer->family->chunk(&q->stream, trace->buf, nr_buffered,
					     aux->auxtrace.offset + at - nr_buffered,
					     last && !continued, &used, print_and_count, printer,
					     err);
		if (ret)
			return ret;
		nr_buffered -= used;
		memmove(trace->buf, trace->buf + used, nr_buffered);
	} while (!last);
	q->nr_carry = nr_buffered < sizeof(q->carry) ? nr_buffered : sizeof(q->carry);
	memcpy(q->carry, trace->buf, q->nr_carry);
	return 0;
}

int dump_trace_next(struct dump_trace *trace, FILE *out, struct auxtap_error *err)
{
	struct packet_printer printer = {trace->family, out, 0};
	size_t index = trace->next_record++;
	int ret;

	if (index >= trace->nr)
		return 0;
	if (!trace->family) {
		fprintf(out, "  (packets of this trace family are not listed)\n");
		return 0;
	}
	if (trace->state)
		return trace->family->record(trace->state, &trace->aux[index], out, err);
	if (trace->family->open) {
		fprintf(out, "  error  %s: %s\n", trace->error.what, trace->error.why);
		return 1;
	}
	ret = dump_record(trace, &trace->aux[index], &trace->records[index], &printer, err);
	return ret ? ret : printer.errors > 0;
}
