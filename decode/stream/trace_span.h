/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of an AUX stream that records cover: finds bytes of some that are in none of others. */
#ifndef STREAM_TRACE_SPAN_H
#define STREAM_TRACE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_span {
	uint64_t off, end;
	const void *of; /* for the caller: the object that the span belongs to */
};

/* Sorts by offset, then by end. */
void trace_spans_sort(struct trace_span *spans, size_t nr);
/*
 * nr bytes of span, the first one at offset 'first', are in no span of others; at_end: no span of
 * others comes after them.
 */
typedef void trace_uncovered_fn(void *ctx, const struct trace_span *span, uint64_t first,
				uint64_t nr, bool at_end);
/* Calls fn for each span that has such bytes. Both arrays are sorted. */
void trace_spans_uncovered(const struct trace_span *spans, size_t nr_spans,
			   const struct trace_span *others, size_t nr_others,
			   trace_uncovered_fn *fn, void *ctx);

#endif
