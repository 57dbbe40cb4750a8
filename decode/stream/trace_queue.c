// SPDX-License-Identifier: BSD-2-Clause
/* See trace_queue.h. */
#include "trace_queue.h"
#include "util/vector.h"

#define BY_OFFSET_MIN 64 /* fewer equal bytes prove nothing */

struct trace_queue *trace_queues_get(struct trace_queues *qs, const struct auxtap_auxtrace *head)
{
	struct trace_key key = {.cpu = (int32_t)head->cpu,
				.tid = (int32_t)head->tid,
				.idx = qs->opts.by_idx ? head->idx : 0};
	size_t index;

	/* grow first, so that every key has a queue even if adding the key fails */
	if (vector_grow(qs->queues, qs->keys.nr, qs->max))
		return NULL;
	qs->queues[qs->keys.nr] = (struct trace_queue){.key = key};
	return trace_keys_add(&qs->keys, key, &index) ? NULL : &qs->queues[index];
}

void trace_queues_free(struct trace_queues *qs)
{
	for (size_t i = 0; i < qs->keys.nr; i++)
		free(qs->queues[i].extents);
	free(qs->queues);
	trace_keys_free(&qs->keys);
	*qs = (struct trace_queues){0};
}

static int add_extent(struct trace_queue *q, const struct trace_extent *extent)
{
	if (vector_grow(q->extents, q->nr, q->max))
		return -ENOMEM;
	q->extents[q->nr++] = *extent;
	return 0;
}

/* Offsets count from 0 in linear recordings; in snapshots only those of auxtap's recorder do.
 */
static int add_first(const struct trace_queue_opts *opts, struct trace_queue *q,
		     struct trace_extent *extent)
{
	if (extent->off && (!opts->snapshot || opts->by_auxtap)) {
		extent->border = TRACE_LACKS;
		extent->nr_lost = extent->off;
		extent->exact = !opts->snapshot;
	}
	return add_extent(q, extent);
}

/*
 * Removes the bytes that 'last' contains, if an overlap was found; then the offset continues that
 * of 'last'.
 */
static bool drop_overlap(struct trace_extent *last, struct trace_extent *extent,
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
	struct trace_extent extent = {.off = aux->auxtrace.offset,
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
		/* with an empty extent the next snapshot could not be compared with 'last' */
		if (drop_overlap(last, &extent, &overlap) && !extent.size)
			return 0;
		end = trace_queue_end(q);
	}
	/* perf's padding at the end of the previous buffer */
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
	return add_extent(q, &extent);
}

/* A sample may begin with bytes of the previous one; how much was traced in between is unknown. */
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
		/* with an offset after the end the overlap is found by content only */
		overlap = trace_overlap_find(opts, last, extent.off + 1, file_off, size,
					     BY_OFFSET_MIN, true);
		if (drop_overlap(last, &extent, &overlap) && overlap.sure)
			extent.border = TRACE_JOINS;
	}
	return extent.size ? add_extent(q, &extent) : 0;
}

/* ---- where rings end ---- */

/* Values of idx: they distinguish the key of a CPU from that of a thread. */
#define OF_CPU	  1
#define OF_THREAD 2

static int raise_end(struct trace_ends *ends, struct trace_key key, uint64_t end)
{
	size_t index;

	if (vector_grow(ends->ends, ends->keys.nr, ends->max))
		return -ENOMEM;
	ends->ends[ends->keys.nr] = 0; /* the end of the key, if it is new */
	if (trace_keys_add(&ends->keys, key, &index))
		return -ENOMEM;
	if (end > ends->ends[index])
		ends->ends[index] = end;
	return 0;
}

int trace_ends_add(struct trace_ends *ends, int cpu, int32_t tid, uint64_t end)
{
	int ret = raise_end(ends, (struct trace_key){cpu, -1, OF_CPU}, end);

	return ret ? ret : raise_end(ends, (struct trace_key){-1, tid, OF_THREAD}, end);
}

uint64_t trace_ends_find(const struct trace_ends *ends, int cpu, int32_t tid)
{
	size_t index =
		trace_keys_find(&ends->keys, tid >= 0 ? (struct trace_key){-1, tid, OF_THREAD} :
							(struct trace_key){cpu, -1, OF_CPU});

	return index == TRACE_KEYS_NONE ? 0 : ends->ends[index];
}

void trace_ends_free(struct trace_ends *ends)
{
	free(ends->ends);
	trace_keys_free(&ends->keys);
	*ends = (struct trace_ends){0};
}

/* ---- losses within the trace ---- */

/* only_ring: as in trace_queue_split() */
static void mark_flagged(struct trace_extent *extent, const struct trace_aux *aux, bool only_ring)
{
	extent->border = TRACE_FLAGGED;
	extent->cause = trace_aux_cause(aux->flags);
	extent->unsure = aux->tid < 0 && !only_ring;
	extent->nr_lost = extent->unsure ? 0 : aux->nr_lost;
	extent->exact = !extent->unsure && aux->exact;
}

/* One more record ends where the extent begins: a record of this ring replaces an unsure one. */
static void merge_flagged(struct trace_extent *extent, const struct trace_aux *aux, bool only_ring)
{
	if (extent->unsure)
		mark_flagged(extent, aux, only_ring);
	else if (aux->tid >= 0 || only_ring)
		extent->nr_lost += aux->nr_lost;
}

/* Splits *rest at the ends of lossy records within it; the last part stays in *rest. */
static int split_extent(struct trace_queue *out, struct trace_extent *rest,
			const struct trace_aux *const *lossy, size_t nr, bool only_ring, size_t *at)
{
	uint64_t extent_end = trace_extent_end(rest);

	while (*at < nr && trace_aux_end(lossy[*at]) <= extent_end) {
		uint64_t end = trace_aux_end(lossy[*at]);
		struct trace_extent part = *rest;

		part.size = end > rest->off ? end - rest->off : 0;
		if (add_extent(out, &part))
			return -ENOMEM;
		rest->off += part.size;
		rest->file_off += part.size;
		rest->size -= part.size;
		mark_flagged(rest, lossy[*at], only_ring);
		/* add the losses of other records that end there */
		for (++*at; *at < nr && trace_aux_end(lossy[*at]) == end; ++*at)
			merge_flagged(rest, lossy[*at], only_ring);
	}
	return 0;
}

int trace_queue_split(struct trace_queue *q, const struct trace_aux *const *lossy, size_t nr,
		      bool only_ring)
{
	struct trace_queue out = {.key = q->key};
	size_t at = 0;
	int ret = 0;

	if (!nr)
		return 0;
	for (size_t i = 0; !ret && i < q->nr; i++) {
		struct trace_extent rest = q->extents[i], *next;

		ret = split_extent(&out, &rest, lossy, nr, only_ring, &at);
		next = i + 1 < q->nr ? &q->extents[i + 1] : NULL;
		/* the bytes after the flagged record may be in the next buffer */
		if (!rest.size && rest.border != TRACE_JOINS && next &&
		    next->border == TRACE_JOINS) {
			next->border = rest.border;
			next->cause = rest.cause;
			next->nr_lost = rest.nr_lost;
			next->exact = rest.exact;
			next->unsure = rest.unsure;
		} else if (!ret) {
			ret = add_extent(&out, &rest);
		}
	}
	for (; !ret && at < nr; at++) {
		struct trace_extent tail = {.off = trace_aux_end(lossy[at])};

		mark_flagged(&tail, lossy[at], only_ring);
		ret = add_extent(&out, &tail);
	}
	free(q->extents);
	*q = out;
	return ret;
}
