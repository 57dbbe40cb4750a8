// SPDX-License-Identifier: BSD-2-Clause
/* The report of a file without a crash: chooses threads, and shows their trees of calls. */
#include "report_json.h"
#include "report_calls.h"

#include <stdio.h>

/* The thread that executed most; NULL: none executed anything. */
static const struct thread_view *busiest_thread(const struct report *r)
{
	const struct thread_view *found = NULL;

	for (const struct thread_view *v = r->threads; v; v = v->next)
		if (v->nr_insns > (found ? found->nr_insns : 0))
			found = v;
	return found;
}

/* The next thread after v, or the first one, that executed something; NULL: none. */
static const struct thread_view *next_thread(const struct report *r, const struct thread_view *v)
{
	for (v = v ? v->next : r->threads; v && !v->nr_insns;)
		v = v->next;
	return v;
}

/* With --calls: prints a tree for each of up to REPORT_THREADS_WITH_CALLS threads. */
void report_trees_print(const struct report *r)
{
	const struct thread_view *busiest = busiest_thread(r);
	unsigned int nr = 0;

	for (const struct thread_view *v = next_thread(r, NULL); v; v = next_thread(r, v)) {
		struct report_out ro = r->ro;

		if ((v != busiest && !r->nr_calls) || nr == REPORT_THREADS_WITH_CALLS)
			continue;
		nr++;
		ro.pid = v->pid;
		fprintf(ro.out, "\n%sThe calls of %s%sthread %d%s\n", ro.style->title,
			report_text(&ro, v->comm), v->comm[0] ? ", " : "", v->tid, ro.style->off);
		report_hot_calls_print(&ro, v->calls, r->nr_calls, "end of the trace");
	}
}

/* Without --calls the threads share the rows. */
void report_json_trees(struct report_json *json)
{
	const struct report *r = json->r;
	const struct thread_view *busiest = busiest_thread(r);
	unsigned int nr_rows = r->nr_calls, left = 0;

	for (const struct thread_view *v = next_thread(r, NULL);
	     v && left < REPORT_THREADS_WITH_CALLS; v = next_thread(r, v))
		left++;
	if (!nr_rows && left)
		nr_rows = REPORT_JSON_CALLS / left;
	json_out_open(&json->j, "call_trees", '[');
	for (const struct thread_view *v = next_thread(r, NULL); v && left; v = next_thread(r, v)) {
		struct report_out ro = r->ro;

		if (busiest && v != busiest && left == 1)
			continue; /* the last place is reserved for the busiest thread */
		if (v == busiest)
			busiest = NULL;
		left--;
		ro.pid = v->pid;
		json_out_open(&json->j, NULL, '{');
		json_out_i64(&json->j, "pid", v->pid);
		json_out_i64(&json->j, "tid", v->tid);
		json_out_text(&json->j, "name", v->comm);
		report_json_hot_calls(json, &ro, v->calls, nr_rows);
		json_out_close(&json->j, '}');
	}
	json_out_close(&json->j, ']');
}
