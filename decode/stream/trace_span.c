// SPDX-License-Identifier: BSD-2-Clause
/* See trace_span.h. */
#include "trace_span.h"

#include <stdlib.h>

static int by_off(const void *a, const void *b)
{
	const struct trace_span *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

void trace_spans_sort(struct trace_span *spans, size_t nr)
{
	if (nr)
		qsort(spans, nr, sizeof(*spans), by_off);
}

void trace_spans_uncovered(const struct trace_span *spans, size_t nr_spans,
			   const struct trace_span *others, size_t nr_others,
			   trace_uncovered_fn *fn, void *ctx)
{
	uint64_t covered = 0; /* highest end of others[0] to others[at - 1] */
	size_t at = 0;

	for (size_t i = 0; i < nr_spans; i++) {
		uint64_t pos = spans[i].off, nr = 0, first = 0;

		while (pos < spans[i].end) {
			while (at < nr_others && others[at].off <= pos) {
				if (others[at].end > covered)
					covered = others[at].end;
				at++;
			}
			if (covered > pos) {
				pos = covered;
				continue;
			}
			if (!nr)
				first = pos;
			if (at < nr_others && others[at].off < spans[i].end) {
				nr += others[at].off - pos;
				pos = others[at].off;
			} else {
				nr += spans[i].end - pos;
				pos = spans[i].end;
			}
		}
		if (nr)
			fn(ctx, &spans[i], first, nr, at == nr_others);
	}
}
