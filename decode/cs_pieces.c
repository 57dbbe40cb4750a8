// SPDX-License-Identifier: BSD-2-Clause
/* See cs_pieces.h. */
#include "cs_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AUXTRACE_ALIGN 8 /* perf pads a buffer to this */
#define FLAG_RAW       0x100 /* PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */
#define FLAG_LOSS      (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)

struct aux {
	uint64_t off, size, flags, time;
	int cpu;
	int32_t pid, tid;
	bool used;
};

struct auxes {
	struct aux *list; /* by offset after sorting */
	size_t nr, max;
};

static void *room(void **array, size_t nr, size_t *max, size_t elem)
{
	if (nr == *max) {
		size_t grown_max = *max ? *max * 2 : 16;
		void *grown = realloc(*array, grown_max * elem);

		if (!grown)
			return NULL;
		*array = grown;
		*max = grown_max;
	}
	return *array ? memset((char *)*array + nr * elem, 0, elem) : NULL;
}

struct cs_piece *cs_buffer_add(struct cs_buffer *buffer)
{
	struct cs_piece *piece =
		room((void **)&buffer->pieces, buffer->nr, &buffer->max, sizeof(*piece));

	if (piece)
		buffer->nr++;
	return piece;
}

struct cs_buffer *cs_pieces_add_buffer(struct cs_pieces *pieces)
{
	struct cs_buffer *buffer =
		room((void **)&pieces->buffers, pieces->nr, &pieces->max, sizeof(*buffer));

	if (!buffer)
		return NULL;
	pieces->nr++;
	buffer->cpu = -1;
	buffer->tid = -1;
	buffer->fd = -1;
	return buffer;
}

void cs_pieces_free(struct cs_pieces *pieces)
{
	for (size_t i = 0; i < pieces->nr; i++)
		free(pieces->buffers[i].pieces);
	free(pieces->buffers);
	free(pieces->missing);
	memset(pieces, 0, sizeof(*pieces));
}

/* ---- records ---- */

int cs_config_from_file(struct cs_config *config, struct auxtap_perfdata *pd,
			struct auxtap_error *err)
{
	struct auxtap_record rec;
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
		    rec.body_size < sizeof(hw_id) || !(rec.have & AUXTAP_REC_CPU))
			continue;
		memcpy(&hw_id, rec.header + 1, sizeof(hw_id));
		cs_config_hw_id(config, (int)rec.cpu, hw_id);
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct aux *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

static int read_auxes(struct auxes *auxes, struct auxtap_perfdata *pd)
{
	struct auxtap_record rec;
	uint64_t v[3];

	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1) {
		struct aux *aux;

		if (rec.header->type != PERF_RECORD_AUX || rec.body_size < sizeof(v))
			continue;
		memcpy(v, rec.header + 1, sizeof(v));
		aux = room((void **)&auxes->list, auxes->nr, &auxes->max, sizeof(*aux));
		if (!aux)
			return -ENOMEM;
		*aux = (struct aux){.off = v[0], .size = v[1], .flags = v[2], .cpu = -1,
				    .pid = -1, .tid = -1};
		if (rec.have & AUXTAP_REC_CPU)
			aux->cpu = (int)rec.cpu;
		if (rec.have & AUXTAP_REC_TIME)
			aux->time = rec.time;
		if (rec.have & AUXTAP_REC_PID_TID) {
			aux->pid = (int32_t)rec.pid;
			aux->tid = (int32_t)rec.tid;
		}
		if (aux->size > UINT64_MAX - aux->off)
			aux->size = UINT64_MAX - aux->off;
		auxes->nr++;
	}
	if (auxes->nr)
		qsort(auxes->list, auxes->nr, sizeof(*auxes->list), by_offset);
	return 0;
}

/* ---- pieces ---- */

static struct cs_buffer *get_buffer(struct cs_pieces *pieces, const struct auxtap_auxtrace *head)
{
	struct cs_buffer *buffer;

	for (size_t i = pieces->nr; i--;)
		if (pieces->buffers[i].cpu == (int32_t)head->cpu &&
		    pieces->buffers[i].tid == (int32_t)head->tid)
			return &pieces->buffers[i];
	buffer = cs_pieces_add_buffer(pieces);
	if (buffer) {
		buffer->format = CS_FORMAT_FRAMES;
		buffer->cpu = (int32_t)head->cpu;
		buffer->tid = (int32_t)head->tid;
	}
	return buffer;
}

static bool is_of(const struct aux *aux, const struct auxtap_auxtrace *head)
{
	if ((int32_t)head->cpu != -1)
		return aux->cpu == -1 || aux->cpu == (int32_t)head->cpu;
	return aux->tid == -1 || (int32_t)head->tid == -1 || aux->tid == (int32_t)head->tid;
}

static int add_missing(struct cs_pieces *pieces, const struct aux *aux, uint64_t nr_bytes,
		       const char *why)
{
	struct cs_missing *missing = room((void **)&pieces->missing, pieces->nr_missing,
					  &pieces->max_missing, sizeof(*missing));

	if (!missing)
		return -ENOMEM;
	pieces->nr_missing++;
	*missing = (struct cs_missing){.cpu = aux->cpu, .pid = aux->pid, .tid = aux->tid,
				       .time = aux->time, .nr_bytes = nr_bytes, .why = why};
	return 0;
}

/* How far [off, end) of the AUXTRACE record was seen. */
struct cover {
	struct cs_pieces *pieces;
	struct cs_buffer *buffer;
	const struct auxtap_perfdata_aux *trace;
	int cpu;      /* where nothing tells */
	uint64_t end; /* of what was added last */
	bool broken;  /* what comes does not continue it */
};

static int add_piece(struct cover *c, const struct aux *aux, uint64_t off, uint64_t size, bool raw)
{
	const struct cs_piece *last = c->buffer->nr ? &c->buffer->pieces[c->buffer->nr - 1] : NULL;
	uint64_t last_end = last ? last->off + last->size : off;
	struct cs_piece *piece;
	bool joins = last && last_end == off && last->raw == raw && !c->broken &&
		     (raw || last->size % CS_FRAME == 0);

	piece = cs_buffer_add(c->buffer);
	if (!piece)
		return -ENOMEM;
	*piece = (struct cs_piece){.off = off, .size = size, .raw = raw, .joins = joins,
				   .file_off = c->trace->trace_off + (off - c->trace->head.offset),
				   .time = aux->time, .cpu = aux->cpu, .pid = aux->pid,
				   .tid = aux->tid};
	if (piece->cpu == -1)
		piece->cpu = c->buffer->cpu;
	if (piece->cpu == -1) {
		piece->cpu = c->cpu;
		c->buffer->cpu_unknown = true;
	}
	if (off > last_end && !c->broken)
		piece->nr_lost = off - last_end;
	c->broken = aux->flags & FLAG_LOSS;
	c->end = off + size;
	if (off < last_end)
		return add_missing(c->pieces, aux, 0,
				   "a buffer begins before the end of the one before: "
				   "flow may come twice");
	return 0;
}

/* Trace that no AUX record tells of: what was said before of this buffer holds on. */
static int add_untold(struct cover *c, const struct cs_config *config, uint64_t end)
{
	const struct cs_buffer *b = c->buffer;
	struct aux aux = {.cpu = b->cpu, .pid = -1, .tid = b->tid};
	uint64_t size = end - c->end;
	bool raw = b->nr ? b->pieces[b->nr - 1].raw
			 : config->nr && config->units[0].protocol == CS_PROTOCOL_ETE;

	if (end <= c->end || (size < AUXTRACE_ALIGN && end == c->trace->head.offset + c->trace->trace_size))
		return 0;
	return add_piece(c, &aux, c->end, size, raw);
}

/*
 * A snapshot of a ring: AUX records tell where the unit stopped (their offset is the end), and more
 * bytes than the ring has kept. The newest one within tells the format, and where the padding begins.
 */
static int add_snapshot(struct cover *c, struct auxes *auxes, const struct cs_config *config)
{
	uint64_t begin = c->trace->head.offset, end = begin + c->trace->trace_size;
	const struct aux *newest = NULL;

	for (size_t i = 0; i < auxes->nr; i++) {
		struct aux *aux = &auxes->list[i];

		if (!(aux->flags & PERF_AUX_FLAG_OVERWRITE) || !is_of(aux, &c->trace->head))
			continue;
		aux->used = true;
		if (!newest || aux->off <= end)
			newest = aux;
	}
	c->broken = true;
	if (!newest)
		return add_untold(c, config, end);
	if (newest->off > begin && newest->off < end && end - newest->off < AUXTRACE_ALIGN)
		end = newest->off;
	return add_piece(c, newest, begin, end - begin, newest->flags & FLAG_RAW);
}

static int add_trace(struct cs_pieces *pieces, struct auxes *auxes, const struct cs_config *config,
		     const struct auxtap_perfdata_aux *trace)
{
	uint64_t begin = trace->head.offset, end = begin + trace->trace_size;
	struct cover c = {.pieces = pieces, .trace = trace, .end = begin,
			  .cpu = config->nr ? config->units[0].cpu : -1};
	size_t lo = 0, hi = auxes->nr;
	int ret = 0;

	if (!trace->trace_size || end < begin)
		return 0;
	c.buffer = get_buffer(pieces, &trace->head);
	if (!c.buffer)
		return -ENOMEM;
	if (config->snapshot)
		return add_snapshot(&c, auxes, config);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (auxes->list[mid].off < begin)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; !ret && lo < auxes->nr && auxes->list[lo].off < end; lo++) {
		struct aux *aux = &auxes->list[lo];
		uint64_t size = aux->size;

		if (aux->used || !is_of(aux, &trace->head))
			continue;
		/* where this one's padding is the next one's trace begins */
		if (size > end - aux->off && end - aux->off < AUXTRACE_ALIGN)
			continue;
		aux->used = true;
		if (!size) {
			c.broken = c.broken || aux->flags & FLAG_LOSS;
			continue;
		}
		if (size > end - aux->off) {
			ret = add_missing(pieces, aux, size - (end - aux->off), "not in the file");
			size = end - aux->off;
		}
		if (!ret && aux->off > c.end)
			ret = add_untold(&c, config, aux->off);
		if (!ret)
			ret = add_piece(&c, aux, aux->off, size, aux->flags & FLAG_RAW);
	}
	return ret ? ret : add_untold(&c, config, end);
}

int cs_pieces_read(struct cs_pieces *pieces, struct auxtap_perfdata *pd,
		   const struct cs_config *config, struct auxtap_error *err)
{
	const struct auxtap_perfdata_aux *traces;
	struct auxes auxes = {NULL, 0, 0};
	size_t nr;
	int ret;

	memset(pieces, 0, sizeof(*pieces));
	ret = auxtap_perfdata_auxtraces(pd, &traces, &nr, err);
	if (ret)
		return ret;
	ret = read_auxes(&auxes, pd);
	for (size_t i = 0; !ret && i < nr; i++)
		ret = add_trace(pieces, &auxes, config, &traces[i]);
	for (size_t i = 0; !ret && i < auxes.nr; i++)
		if (!auxes.list[i].used && auxes.list[i].size)
			ret = add_missing(pieces, &auxes.list[i], auxes.list[i].size,
					  "not in the file");
	free(auxes.list);
	if (!ret)
		return 0;
	cs_pieces_free(pieces);
	return auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
}
