/* SPDX-License-Identifier: BSD-2-Clause */
/* Stretches of an AUX stream that records cover: which bytes of some are in none of others. */
#ifndef STREAM_TRACE_SPAN_H
#define STREAM_TRACE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_span {
	uint64_t off, end;
	const void *of; /* the caller's: whose span it is */
};

/* By their offsets, then by their ends. */
void trace_spans_sort(struct trace_span *spans, size_t nr);
/* nr bytes of span, from first on, are in no span of others; at_end: none of them comes after. */
typedef void trace_uncovered_fn(void *ctx, const struct trace_span *span, uint64_t first,
				uint64_t nr, bool at_end);
/* Calls fn for each of the spans that has such bytes. Both are sorted. */
void trace_spans_uncovered(const struct trace_span *spans, size_t nr_spans,
			   const struct trace_span *others, size_t nr_others,
			   trace_uncovered_fn *fn, void *ctx);

#endif
