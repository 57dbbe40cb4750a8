// SPDX-License-Identifier: BSD-2-Clause
/*
 * Open calls of a deep recursion: the outermost and the innermost ones are nodes; those between
 * are stored compactly, without their callees, and become nodes again when they are needed.
 *
 *      root - main - f - f ... f [ f f f f f f f f f f ] f ... f - f
 *                         outer         spilled          inner nodes
 *
 * tree->spill_parent is the last of the outer ones; its child is the first of the inner ones.
 */
#include "call_nodes.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>

/* Nodes kept at either end; number of spilled calls that become nodes again at a time. */
#define NR_OUTER 32
#define NR_INNER 2500
#define NR_BACK	 500
/* The most frames that a stack of 8 MiB can hold. */
#define MAX_SPILLED (1u << 19)

static struct call_spilled spilled_of(const struct call_node *node)
{
	struct call_spilled spilled = {
		.addr = node->addr,
		.site = node->site,
		.last_ip = node->last_ip,
		.time = node->time,
		.nr_insns = node->nr_insns,
		.nr_dropped_insns = node->nr_dropped_insns,
		.nr_dropped = node->nr_dropped,
		.code_generation = node->code_generation,
		.counted_at = node->counted_at,
		.chain = (uint16_t)node->chain,
		.site_size = node->site_size,
		.null_target = node->null_target,
		.known_caller = node->known_caller,
		.async = node->async,
		.only_sigreturn_left = node->only_sigreturn_left,
		.by_tail_call = node->by_tail_call,
		.by_return = node->by_return,
		.by_jump = node->by_jump,
		.by_fallthrough = node->by_fallthrough,
	};

	for (const struct call_node *c = node->first; c; c = c->next) {
		spilled.nr_dropped += call_node_calls(c);
		spilled.nr_dropped_insns += call_node_insns(c);
	}
	return spilled;
}

static void unspill_one(const struct call_spilled *spilled, struct call_node *node)
{
	node->repeat = 1;
	node->addr = spilled->addr;
	node->site = spilled->site;
	node->last_ip = spilled->last_ip;
	node->time = spilled->time;
	node->nr_insns = spilled->nr_insns;
	node->nr_dropped_insns = spilled->nr_dropped_insns;
	node->nr_dropped = node->nr_children = spilled->nr_dropped;
	node->code_generation = spilled->code_generation;
	node->counted_at = spilled->counted_at;
	node->chain = spilled->chain;
	node->site_size = spilled->site_size;
	node->null_target = spilled->null_target;
	node->known_caller = spilled->known_caller;
	node->async = spilled->async;
	node->only_sigreturn_left = spilled->only_sigreturn_left;
	node->by_tail_call = spilled->by_tail_call;
	node->by_return = spilled->by_return;
	node->by_jump = spilled->by_jump;
	node->by_fallthrough = spilled->by_fallthrough;
}

/* Makes nodes of nr spilled calls, from 'first' on, between 'outer' and its newest child. */
static bool unspill(struct call_tree *tree, struct call_node *outer, size_t first, size_t nr)
{
	struct call_node *inner = outer->last, *parent = outer;

	call_node_unlink(inner);
	for (size_t i = first; i < first + nr; i++) {
		struct call_node *node = call_node_alloc(tree);

		if (!node)
			break;
		unspill_one(&tree->spilled[i], node);
		if (tree->counts)
			call_counts_unspilled(tree, node);
		call_node_put_last(parent, node);
		parent = node;
	}
	call_node_put_last(parent, inner);
	return parent != outer;
}

static void forget_call(struct call_tree *tree, bool by_tail_call)
{
	tree->nr_forgotten += !by_tail_call;
	tree->nr_forgotten_tails += by_tail_call;
}

/* Too many calls are spilled: forgets the outer half of them, and the nodes outside of them. */
static void forget_outer(struct call_tree *tree)
{
	size_t drop = tree->nr_spilled / 2, most = tree->nr_spilled - NR_OUTER - 1, keep;
	struct call_node *inner = tree->spill_parent->last;

	for (struct call_node *n = tree->spill_parent; n != &tree->root; n = n->parent)
		forget_call(tree, n->by_tail_call);
	call_node_unlink(inner);
	while (tree->root.first)
		call_node_drop_oldest(tree, &tree->root);
	call_node_put_last(&tree->root, inner);
	/* do not separate a tail call from the caller whose frame it uses */
	while (drop < most && tree->spilled[drop].by_tail_call)
		drop++;
	tree->spilled[drop].by_tail_call = false;
	for (size_t i = 0; i < drop; i++)
		forget_call(tree, tree->spilled[i].by_tail_call);
	unspill(tree, &tree->root, drop, NR_OUTER);
	tree->spill_parent = inner->parent;
	keep = tree->nr_spilled - drop - NR_OUTER;
	memmove(tree->spilled, tree->spilled + drop + NR_OUTER, keep * sizeof(*tree->spilled));
	tree->nr_spilled = keep;
}

void call_nodes_spill(struct call_tree *tree)
{
	size_t nr = 0, skip;
	struct call_node *node, *next;

	for (node = tree->current; node != &tree->root && node != tree->spill_parent;
	     node = node->parent)
		nr++;
	/* the first time, the outermost calls stay nodes */
	skip = tree->spill_parent ? 0 : NR_OUTER;
	if (nr <= NR_INNER + skip)
		return;
	nr -= NR_INNER + skip;
	if (!tree->spill_parent) {
		tree->spill_parent = &tree->root;
		for (; skip; skip--)
			tree->spill_parent = tree->spill_parent->last;
	}
	for (node = tree->spill_parent->last; nr; nr--, node = next) {
		next = node->last;
		if (vector_grow(tree->spilled, tree->nr_spilled, tree->max_spilled))
			break;
		call_node_unlink(next);
		tree->spilled[tree->nr_spilled++] = spilled_of(node);
		call_node_unlink(node);
		call_node_free(tree, node);
		call_node_put_last(tree->spill_parent, next);
	}
	if (!tree->nr_spilled)
		tree->spill_parent = NULL;
	else if (tree->nr_spilled > MAX_SPILLED)
		forget_outer(tree);
}

struct call_node *call_nodes_unspill(struct call_tree *tree, const struct call_node *inner)
{
	size_t nr = tree->nr_spilled < NR_BACK ? tree->nr_spilled : NR_BACK;

	/* no memory: treat the spilled calls as forgotten */
	if (!unspill(tree, tree->spill_parent, tree->nr_spilled - nr, nr)) {
		tree->nr_forgotten += tree->nr_spilled;
		tree->forgotten_is_max = true;
		nr = tree->nr_spilled;
	}
	tree->nr_spilled -= nr;
	if (!tree->nr_spilled)
		tree->spill_parent = NULL;
	return inner->parent;
}

void call_nodes_drop_spilled(struct call_tree *tree)
{
	if (tree->spill_parent)
		tree->spill_parent->last->nr_above = tree->nr_spilled;
	tree->spill_parent = NULL;
	tree->nr_spilled = 0;
}

static struct call_open open_of_spilled(const struct call_spilled *spilled)
{
	return (struct call_open){
		.addr = spilled->addr,
		.site = spilled->site,
		.last_ip = spilled->last_ip,
		.time = spilled->time,
		.nr_insns = spilled->nr_insns,
		.nr_inside = spilled->nr_dropped,
		.insns_inside = spilled->nr_dropped_insns,
		.known_caller = spilled->known_caller,
		.async = spilled->async,
		.by_tail_call = spilled->by_tail_call,
		.is_proven = spilled->by_tail_call && !spilled->by_jump && !spilled->by_fallthrough,
		.by_return = spilled->by_return,
		.by_jump = spilled->by_jump,
		.by_fallthrough = spilled->by_fallthrough,
		.null_target = spilled->null_target,
	};
}

static struct call_open open_of_node(struct call_node *node)
{
	struct call_open open = {
		.node = node,
		.addr = node->addr,
		.site = node->site,
		.last_ip = node->last_ip,
		.time = node->time,
		.nr_insns = node->nr_insns,
		.nr_inside = node->nr_dropped,
		.insns_inside = node->nr_dropped_insns,
		.known_caller = node->known_caller,
		.async = node->async,
		.by_tail_call = node->by_tail_call,
		.is_proven = node->by_tail_call && !node->by_jump && !node->by_fallthrough,
		.by_return = node->by_return,
		.by_jump = node->by_jump,
		.by_fallthrough = node->by_fallthrough,
		.null_target = node->null_target,
	};

	for (const struct call_node *c = node->first; c; c = c->next) {
		open.nr_inside += c->returned ? call_node_calls(c) : 0;
		open.insns_inside += c->returned ? call_node_insns(c) : 0;
	}
	return open;
}

size_t call_tree_open_calls(struct call_tree *tree, struct call_node *from, struct call_open **open)
{
	struct call_open *at;
	size_t nr = tree->nr_spilled;

	for (struct call_node *n = from; n != &tree->root; n = n->parent)
		nr++;
	*open = at = calloc(nr + 1, sizeof(*at));
	if (!at)
		return 0;
	nr = 0;
	for (struct call_node *n = from; n != &tree->root; n = n->parent) {
		at[nr++] = open_of_node(n);
		if (!tree->spill_parent || n->parent != tree->spill_parent)
			continue;
		for (size_t i = tree->nr_spilled; i; i--)
			at[nr++] = open_of_spilled(&tree->spilled[i - 1]);
	}
	return nr;
}

/* ---- recursions ---- */

/* Functions that may call each other in a cycle, and the least number of rounds. */
#define MAX_CYCLE  8
#define MIN_CYCLES 4

/* The number of calls from 'at' on in which 'period' functions call each other in a cycle. */
static size_t cycle_length(const struct call_open *open, size_t nr, size_t at, size_t period)
{
	size_t end = at + period;

	while (end < nr && open[end].addr && open[end].addr == open[end - period].addr)
		end++;
	return end - at;
}

size_t call_open_period(const struct call_open *open, size_t nr, size_t at, size_t *len)
{
	for (size_t period = 1; period <= MAX_CYCLE; period++) {
		*len = cycle_length(open, nr, at, period);
		if (*len >= MIN_CYCLES * period) {
			/* the outermost calls, which are less than a cycle, stay outside of it */
			*len -= *len % period;
			return period;
		}
	}
	return 0;
}

/* Makes a node of the open call at 'at', unless it has one, as the parent of the next inner one. */
static struct call_node *ensure_node(struct call_tree *tree, struct call_open *open, size_t at)
{
	struct call_node *node = open[at].node, *inner, *parent;
	size_t in = at;

	if (node)
		return node;
	while (!open[in].node)
		in--;
	inner = open[in].node;
	node = call_node_alloc(tree);
	if (!node)
		return NULL;
	parent = inner->parent;
	node->repeat = 1;
	node->addr = open[at].addr;
	node->site = open[at].site;
	node->last_ip = open[at].last_ip;
	node->time = open[at].time;
	node->nr_insns = open[at].nr_insns;
	node->nr_dropped = open[at].nr_inside;
	node->nr_dropped_insns = open[at].insns_inside;
	node->by_tail_call = open[at].by_tail_call;
	node->async = open[at].async;
	node->known_caller = open[at].known_caller;
	node->by_return = open[at].by_return;
	node->by_jump = open[at].by_jump;
	node->by_fallthrough = open[at].by_fallthrough;
	node->null_target = open[at].null_target;
	call_node_unlink(inner);
	call_node_put_last(parent, node);
	call_node_put_last(node, inner);
	open[at].node = node;
	return node;
}

/* The row of the call at 'at' and of every 'period'-th caller of it, up to 'end'. */
static struct call_node *ensure_row(struct call_tree *tree, struct call_open *open, size_t at,
				    size_t end, size_t period)
{
	struct call_node *node = ensure_node(tree, open, at);

	if (!node)
		return NULL;
	node->depth = 1;
	node->period = 0;
	node->insns_in_recursion = node->calls_in_recursion = node->insns_in_those = 0;
	for (size_t i = at + period; i < end; i += period) {
		node->depth++;
		node->insns_in_recursion += open[i].nr_insns;
		node->calls_in_recursion += open[i].nr_inside;
		node->insns_in_those += open[i].insns_inside;
	}
	return node;
}

size_t call_open_fold(struct call_tree *tree, struct call_open *open, size_t nr, bool fold,
		      struct call_node **rows)
{
	size_t nr_rows = 0, period, len;

	for (size_t i = 0; i < nr; i++)
		if (open[i].node)
			open[i].node->is_open = true;
	for (size_t at = 0; at < nr; at += len) {
		period = fold ? call_open_period(open, nr, at, &len) : 0;
		if (!period)
			period = len = 1;
		for (size_t i = at; i < at + period; i++) {
			struct call_node *node = ensure_row(tree, open, i, at + len, period);

			if (!node)
				continue;
			node->is_open = true;
			if (len > 1 && i == at + period - 1)
				node->period = (unsigned int)period;
			rows[nr_rows++] = node;
		}
	}
	return nr_rows;
}
