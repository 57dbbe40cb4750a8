// SPDX-License-Identifier: BSD-2-Clause
/* See flow_event.h. */
#include "flow_event.h"

#include <stdio.h>
#include <stdlib.h>

bool flow_in_list(const int32_t *list, size_t nr, int32_t id)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list[mid] == id)
			return true;
		if (list[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

bool flow_wanted(const struct auxtap_decode_opts *opts, uint32_t type, uint64_t time, int32_t tid,
		 int cpu)
{
	if (!(opts->events & type) || !flow_listed(opts->tids, opts->nr_tids, tid) ||
	    !flow_listed(opts->cpus, opts->nr_cpus, cpu))
		return false;
	if (!time)
		return true;
	return time >= opts->time_start && (!opts->time_stop || time < opts->time_stop);
}

struct flow_gap *flow_gap_new(enum auxtap_gap_cause cause, const char *fmt, va_list args)
{
	struct flow_gap *gap = calloc(1, sizeof(*gap));

	if (!gap)
		return NULL;
	gap->gap.cause = cause;
	vsnprintf(gap->text, sizeof(gap->text), fmt, args);
	return gap;
}

void flow_gap_add(struct flow_gap **list, struct flow_gap *gap)
{
	for (; *list; list = &(*list)->next) {
		struct auxtap_gap *existing = &(*list)->gap;

		if (existing->cause != gap->gap.cause)
			continue;
		existing->exact = existing->exact && gap->gap.exact;
		existing->nr_bytes += gap->gap.nr_bytes;
		free(gap);
		return;
	}
	*list = gap;
}

void flow_gap_free(struct flow_gap *list)
{
	while (list) {
		struct flow_gap *next = list->next;

		free(list);
		list = next;
	}
}
