/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows that show a tree of calls (report_tree.c), the last calls (report_last_calls.c), and
 * the hottest (report_hottest.c).
 */
#ifndef AUXTAP_REPORT_CALLS_H
#define AUXTAP_REPORT_CALLS_H

#include "call_tree.h"

struct report_out;

/* One row of the tree of calls: a call, or equal siblings. */
struct report_call_row {
	const struct call_node *node; /* the oldest of them */
	unsigned int depth;
	uint64_t repeat, hidden; /* hidden: calls made by all of them that have no row */
	uint64_t hidden_insns;	 /* in these, and in lazy binding by the dynamic linker */
	uint64_t own_insns;	 /* in the functions themselves */
	uint64_t insns;		 /* including their callees; 0: they have not returned */
	bool current;		 /* the function that ran last */
};
typedef void report_call_fn(void *ctx, const struct report_call_row *row);

/* The rows that show a tree of calls. */
struct report_calls {
	struct call_tree *tree;
	struct shown_calls *shown;
	size_t nr_outer;   /* open calls farther out than the rows */
	bool outer_is_max; /* nr_outer is a maximum: some of them may have returned */
	const char *gap;   /* unknown calls may have been open before this gap; NULL: none */
	bool gap_shown;	   /* the gap has a row */
};

/* Was node called through a PLT entry of that name, "f@plt"? Then f was called. */
bool report_call_through_stub(const struct report_out *ro, const struct call_node *node,
			      const char *name);
/*
 * Chooses nr_rows rows, or as many as there are; 0: at most 40, without the runtime's start-up.
 * hottest: the calls that executed most, instead of the newest. Folds the tree to that size. 0, or
 * -1 without memory; then there is nothing to free. calls->shown is NULL if no calls were traced.
 */
int report_calls_choose(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
			bool hottest, struct report_calls *calls);
void report_calls_each(const struct report_calls *calls, report_call_fn *fn, void *ctx);
void report_calls_free(struct report_calls *calls);

/* Prints the rows that report_calls_choose() chooses. */
void report_tree_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
		       const char *end);
/* The same for the hottest calls. */
void report_hot_calls_print(const struct report_out *ro, struct call_tree *tree,
			    unsigned int nr_rows, const char *end);
/*
 * report_hottest.c: folds the tree to nr_rows, and lists the nodes of calls that are not open,
 * hottest first, callers before their callees. The caller frees the list; NULL: no memory.
 */
struct call_node **report_hottest(struct call_tree *tree, unsigned int nr_rows, size_t *nr);

/* Calls fn for the last nr calls of the program's own functions (report_last_calls.c). */
typedef void report_last_call_fn(void *ctx, const struct call_node *node);
void report_last_calls_each(const struct report_out *ro, struct call_tree *tree, unsigned int nr,
			    report_last_call_fn *fn, void *ctx);
void report_last_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr);

#endif
