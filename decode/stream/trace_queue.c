// SPDX-License-Identifier: BSD-2-Clause
/* See trace_queue.h. */
#include "trace_queue.h"
#include "util/vector.h"

#define BY_OFFSET_MIN 64 /* fewer bytes that are the same prove nothing */

struct trace_queue *trace_queues_get(struct trace_queues *qs, const struct auxtap_auxtrace *head)
{
	struct trace_key key = {.cpu = (int32_t)head->cpu,
				.tid = (int32_t)head->tid,
				.idx = qs->opts.by_idx ? head->idx : 0};
	size_t number;

	/* before the key: each key has a queue */
	if (vector_grow(qs->queues, qs->keys.nr, qs->max))
		return NULL;
	qs->queues[qs->keys.nr] = (struct trace_queue){.key = key};
	return trace_keys_add(&qs->keys, key, &number) ? NULL : &qs->queues[number];
}

void trace_queues_free(struct trace_queues *qs)
{
	for (size_t i = 0; i < qs->keys.nr; i++)
		free(qs->queues[i].extents);
	free(qs->queues);
	trace_keys_free(&qs->keys);
	*qs = (struct trace_queues){0};
}

static int add(struct trace_queue *q, const struct trace_extent *extent)
{
	if (vector_grow(q->extents, q->nr, q->max))
		return -ENOMEM;
	q->extents[q->nr++] = *extent;
	return 0;
}

/* Linear recordings count from 0 on; of snapshots only our own recorder's offsets do. */
static int add_first(const struct trace_queue_opts *opts, struct trace_queue *q,
		     struct trace_extent *extent)
{
	if (extent->off && (!opts->snapshot || opts->by_auxtap)) {
		extent->border = TRACE_LACKS;
		extent->nr_lost = extent->off;
		extent->exact = !opts->snapshot;
	}
	return add(q, extent);
}

/* Removes the bytes that the extent before has, if they were found; offsets continue there. */
static bool take_off(struct trace_extent *last, struct trace_extent *extent,
		     const struct trace_overlap *overlap)
{
	if (overlap->seen < 0)
		return false;
	last->size -= overlap->pad;
	extent->file_off += (uint64_t)overlap->seen;
	extent->size -= (uint64_t)overlap->seen;
	extent->off = last->off + last->size;
	return true;
}

int trace_queue_add(const struct trace_queue_opts *opts, struct trace_queue *q,
		    const struct auxtap_perfdata_aux *aux)
{
	struct trace_extent extent = {.off = aux->head.offset,
				      .file_off = aux->trace_off,
				      .size = aux->trace_size,
				      .cause = opts->snapshot ? AUXTAP_GAP_OVERWRITTEN :
								AUXTAP_GAP_UNKNOWN};
	struct trace_extent *last = q->nr ? &q->extents[q->nr - 1] : NULL;
	struct trace_overlap overlap = {.seen = -1, .sure = true};
	uint64_t end = trace_queue_end(q);

	if (!last)
		return add_first(opts, q, &extent);
	if (opts->snapshot && extent.off != end) {
		overlap = trace_overlap_find(opts, last, extent.off, extent.file_off, extent.size,
					     BY_OFFSET_MIN, true);
		/* an empty extent would hide the older one from the next snapshot */
		if (take_off(last, &extent, &overlap) && !extent.size)
			return 0;
		end = trace_queue_end(q);
	}
	/* perf's padding, after the buffer before */
	if (extent.off < end && end - extent.off < TRACE_ALIGN && last->size >= end - extent.off) {
		last->size -= end - extent.off;
		end = extent.off;
	}
	if (extent.off == end) {
		extent.border = overlap.sure ? TRACE_JOINS : TRACE_UNSURE;
	} else if (extent.off < end) {
		extent.border = TRACE_REPEATS;
	} else {
		extent.border = TRACE_LACKS;
		extent.nr_lost = extent.off - end;
		extent.exact = !opts->snapshot || opts->by_auxtap;
	}
	return add(q, &extent);
}

/* It may begin with what the one before had; how much was traced in between is not known. */
int trace_queue_add_sample(const struct trace_queue_opts *opts, struct trace_queue *q,
			   uint64_t file_off, uint64_t size)
{
	struct trace_extent extent = {.file_off = file_off,
				      .size = size,
				      .border = TRACE_UNSURE,
				      .cause = AUXTAP_GAP_OVERWRITTEN};
	struct trace_extent *last = q->nr ? &q->extents[q->nr - 1] : NULL;

	if (last) {
		struct trace_overlap overlap;

		extent.off = trace_queue_end(q);
		/* with an offset after the end the bytes are found by their content alone */
		overlap = trace_overlap_find(opts, last, extent.off + 1, file_off, size,
					     BY_OFFSET_MIN, true);
		if (take_off(last, &extent, &overlap) && overlap.sure)
			extent.border = TRACE_JOINS;
	}
	return extent.size ? add(q, &extent) : 0;
}

/* ---- where rings end ---- */

/* One key for the queues of a CPU, one for those of a thread; idx keeps the two kinds apart. */
#define OF_CPU	  1
#define OF_THREAD 2

static int raise_end(struct trace_ends *ends, struct trace_key key, uint64_t end)
{
	size_t number;

	if (vector_grow(ends->ends, ends->keys.nr, ends->max))
		return -ENOMEM;
	ends->ends[ends->keys.nr] = 0; /* of the key, if it is new */
	if (trace_keys_add(&ends->keys, key, &number))
		return -ENOMEM;
	if (end > ends->ends[number])
		ends->ends[number] = end;
	return 0;
}

int trace_ends_add(struct trace_ends *ends, int cpu, int32_t tid, uint64_t end)
{
	int ret = raise_end(ends, (struct trace_key){cpu, -1, OF_CPU}, end);

	return ret ? ret : raise_end(ends, (struct trace_key){-1, tid, OF_THREAD}, end);
}

uint64_t trace_ends_find(const struct trace_ends *ends, int cpu, int32_t tid)
{
	size_t number =
		trace_keys_find(&ends->keys, tid >= 0 ? (struct trace_key){-1, tid, OF_THREAD} :
							(struct trace_key){cpu, -1, OF_CPU});

	return number == TRACE_KEYS_NONE ? 0 : ends->ends[number];
}

void trace_ends_free(struct trace_ends *ends)
{
	free(ends->ends);
	trace_keys_free(&ends->keys);
	*ends = (struct trace_ends){0};
}

/* ---- losses within the trace ---- */

/* only: as in trace_queue_split() */
static void flag(struct trace_extent *extent, const struct trace_aux *aux, bool only)
{
	extent->border = TRACE_FLAGGED;
	extent->cause = trace_aux_cause(aux->flags);
	extent->unsure = aux->tid < 0 && !only;
	extent->nr_lost = extent->unsure ? 0 : aux->nr_lost;
	extent->exact = !extent->unsure && aux->exact;
}

/* One more record that ends where the extent begins: what is sure replaces what is not. */
static void flag_again(struct trace_extent *extent, const struct trace_aux *aux, bool only)
{
	if (extent->unsure)
		flag(extent, aux, only);
	else if (aux->tid >= 0 || only)
		extent->nr_lost += aux->nr_lost;
}

/* Splits *rest at the ends of lossy records that lie in it; what is left of it stays in *rest. */
static int split_one(struct trace_queue *out, struct trace_extent *rest,
		     const struct trace_aux *const *lossy, size_t nr, bool only, size_t *at)
{
	uint64_t extent_end = trace_extent_end(rest);

	while (*at < nr && trace_aux_end(lossy[*at]) <= extent_end) {
		uint64_t end = trace_aux_end(lossy[*at]);
		struct trace_extent part = *rest;

		part.size = end > rest->off ? end - rest->off : 0;
		if (add(out, &part))
			return -ENOMEM;
		rest->off += part.size;
		rest->file_off += part.size;
		rest->size -= part.size;
		flag(rest, lossy[*at], only);
		/* several records end there: what each of them lost */
		for (++*at; *at < nr && trace_aux_end(lossy[*at]) == end; ++*at)
			flag_again(rest, lossy[*at], only);
	}
	return 0;
}

int trace_queue_split(struct trace_queue *q, const struct trace_aux *const *lossy, size_t nr,
		      bool only)
{
	struct trace_queue out = {.key = q->key};
	size_t at = 0;
	int ret = 0;

	if (!nr)
		return 0;
	for (size_t i = 0; !ret && i < q->nr; i++) {
		struct trace_extent rest = q->extents[i], *next;

		ret = split_one(&out, &rest, lossy, nr, only, &at);
		next = i + 1 < q->nr ? &q->extents[i + 1] : NULL;
		/* what follows the flagged record may be in the next buffer */
		if (!rest.size && rest.border != TRACE_JOINS && next &&
		    next->border == TRACE_JOINS) {
			next->border = rest.border;
			next->cause = rest.cause;
			next->nr_lost = rest.nr_lost;
			next->exact = rest.exact;
			next->unsure = rest.unsure;
		} else if (!ret) {
			ret = add(&out, &rest);
		}
	}
	for (; !ret && at < nr; at++) {
		struct trace_extent tail = {.off = trace_aux_end(lossy[at])};

		flag(&tail, lossy[at], only);
		ret = add(&out, &tail);
	}
	free(q->extents);
	*q = out;
	return ret;
}
