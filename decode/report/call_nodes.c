// SPDX-License-Identifier: BSD-2-Clause
/*
 * The nodes of a tree of calls, bounded in number: nodes that are kept count those that are
 * dropped.
 */
#include "call_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INITIAL_SEARCH_BUDGET 1000000
#define MAX_NODES	      20000
/* The newest calls in each function, whose callees are dropped last. */
#define NR_NEWEST_CALLS 64

struct call_tree *call_tree_new(const struct call_code_ops *ops, void *ctx)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	if (tree) {
		tree->budget = INITIAL_SEARCH_BUDGET;
		tree->current = &tree->root;
		tree->ops = ops;
		tree->ctx = ctx;
	}
	return tree;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	while (tree->root.first) {
		struct call_node *node = tree->root.first;

		call_node_unlink(node);
		call_node_free(tree, node);
	}
	while (tree->unused) {
		struct call_node *node = tree->unused;

		tree->unused = node->next;
		free(node);
	}
	call_counts_free(tree);
	free(tree->spilled);
	free(tree);
}

void call_tree_code_changed(struct call_tree *tree)
{
	memset(tree->cache, 0, sizeof(tree->cache));
	memset(tree->pads, 0, sizeof(tree->pads));
	tree->code_generation++;
}

struct call_node *call_node_alloc(struct call_tree *tree)
{
	struct call_node *node = tree->unused;

	if (node) {
		tree->unused = node->next;
		memset(node, 0, sizeof(*node));
	} else {
		node = calloc(1, sizeof(*node));
		if (!node)
			return NULL;
	}
	node->code_generation = tree->code_generation;
	tree->nr_nodes++;
	return node;
}

void call_node_free(struct call_tree *tree, struct call_node *node)
{
	/* iterative: depth is the traced program's recursion */
	struct call_node *at = node;

	while (at) {
		if (at->first) {
			struct call_node *child = at->first;

			at->first = child->next;
			child->parent = at;
			at = child;
			continue;
		}
		struct call_node *up = at == node ? NULL : at->parent;

		free(at->text);
		at->next = tree->unused;
		tree->unused = at;
		tree->nr_nodes--;
		at = up;
	}
}

/*
 * The node after n in the subtree of top, without those below n if 'below' is false; NULL: it was
 * the last one. Iterative: depth is the traced program's recursion.
 */
static const struct call_node *next_in(const struct call_node *top, const struct call_node *n,
				       bool below)
{
	if (below && n->first)
		return n->first;
	while (n != top && !n->next)
		n = n->parent;
	return n == top ? NULL : n->next;
}

uint64_t call_node_insns(const struct call_node *node)
{
	uint64_t sum = 0;
	const struct call_node *n = node;

	while (n) {
		sum += n->nr_insns + n->nr_dropped_insns;
		n = next_in(node, n, true);
	}
	return sum;
}

uint64_t call_node_hidden_calls(const struct call_node *node)
{
	uint64_t nr = node->nr_dropped;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += c->shown || c->is_open ? 0 : call_node_calls(c);
	return nr + node->calls_in_recursion;
}

uint64_t call_node_hidden_insns(const struct call_node *node)
{
	uint64_t nr = node->nr_dropped_insns + node->insns_in_those;
	const struct call_node *n = node->first;

	while (n) {
		const bool has_row = n->shown || n->is_open;

		nr += has_row ? 0 : n->nr_insns + n->nr_dropped_insns;
		n = next_in(node, n, !has_row);
	}
	return nr;
}

void call_node_put_last(struct call_node *parent, struct call_node *node)
{
	node->parent = parent;
	node->next = NULL;
	node->prev = parent->last;
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
}

void call_node_insert_before(struct call_node *at, struct call_node *node)
{
	node->parent = at->parent;
	node->next = at;
	node->prev = at->prev;
	if (at->prev)
		at->prev->next = node;
	else
		at->parent->first = node;
	at->prev = node;
}

void call_node_unlink(struct call_node *node)
{
	if (node->prev)
		node->prev->next = node->next;
	else
		node->parent->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		node->parent->last = node->prev;
}

void call_node_drop_oldest(struct call_tree *tree, struct call_node *node)
{
	struct call_node *oldest = node->first;

	node->first = oldest->next;
	if (node->first)
		node->first->prev = NULL;
	else
		node->last = NULL;
	node->nr_dropped += call_node_calls(oldest);
	node->nr_dropped_insns += call_node_insns(oldest);
	call_node_free(tree, oldest);
}

static bool has_signal_or_gap(const struct call_node *node)
{
	const struct call_node *n = node;

	while (n) {
		if (n != node && (n->async || n->gap))
			return true;
		n = next_in(node, n, true);
	}
	return false;
}

bool call_node_drop_linker_search(struct call_tree *tree, uint64_t time)
{
	struct call_node *node = tree->current, *caller = call_node_caller(tree, node);

	if (has_signal_or_gap(node))
		return false;
	while (node->first)
		call_node_drop_oldest(tree, node);
	caller->nr_dropped_insns += node->nr_insns + node->nr_dropped_insns;
	node->nr_children = node->nr_dropped = 0;
	node->nr_insns = node->nr_dropped_insns = 0;
	node->time = time;
	return true;
}

static void drop_oldest_calls(struct call_tree *tree, struct call_node *node)
{
	while (node->first && tree->nr_nodes > MAX_NODES / 2 && !node->first->is_open)
		call_node_drop_oldest(tree, node);
}

/* Drops what returned calls in node called, except in the newest of them. */
static void drop_older_callees(struct call_tree *tree, struct call_node *node)
{
	call_fold_drop_callees(tree, node, NR_NEWEST_CALLS);
}

static void drop_all_callees(struct call_tree *tree, struct call_node *node)
{
	call_fold_drop_callees(tree, node, 0);
}

static void mix_frequent(struct call_tree *tree, struct call_node *node)
{
	call_fold_mix(tree, node, MAX_NODES / 16);
}

static struct call_node *open_child(const struct call_node *node)
{
	struct call_node *child = node->last;

	while (child && !child->is_open)
		child = child->prev;
	return child;
}

/*
 * Reduces the number of nodes in steps, each for all open functions, the outermost first: drops
 * what returned calls called, groups frequent calls, drops the oldest calls.
 */
static void prune(struct call_tree *tree)
{
	static void (*const steps[])(struct call_tree *,
				     struct call_node *) = {drop_older_callees, drop_all_callees,
							    mix_frequent, drop_oldest_calls};

	call_nodes_spill(tree);
	for (struct call_node *n = tree->current; n; n = n->parent)
		n->is_open = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (struct call_node *n = &tree->root; n && tree->nr_nodes > MAX_NODES / 2;
		     n = open_child(n))
			steps[i](tree, n);
	}
	for (struct call_node *n = tree->current; n; n = n->parent)
		n->is_open = false;
}

struct call_node *call_node_add(struct call_tree *tree, struct call_node *parent)
{
	struct call_node *node = call_node_alloc(tree);

	if (!node)
		return NULL;
	node->repeat = 1;
	call_node_put_last(parent, node);
	parent->nr_children++;
	if (tree->nr_nodes > MAX_NODES) {
		tree->current = node; /* so that it is not pruned */
		prune(tree);
		node = tree->current;
		tree->current = node->parent;
	}
	return node;
}

struct call_node *call_node_current(struct call_tree *tree, uint64_t ip, uint64_t time)
{
	if (tree->current == &tree->root) {
		struct call_node *node = call_node_add(tree, &tree->root);

		if (!node)
			return NULL;
		node->last_ip = ip;
		node->time = time;
		tree->current = node;
	}
	return tree->current;
}

/* Moves the calls in root since the last gap, which were made by outer, into it. */
static void take_calls(struct call_node *root, struct call_node *outer)
{
	while (root->last && !root->last->loses_callers) {
		struct call_node *last = root->last;

		call_node_unlink(last);
		if (outer->first)
			call_node_insert_before(outer->first, last);
		else
			call_node_put_last(outer, last);
		last->parent = outer;
		outer->nr_children += last->repeat;
	}
	if (root->last)
		return;
	outer->nr_children = root->nr_children;
	outer->nr_dropped = root->nr_dropped;
	outer->nr_dropped_insns = root->nr_dropped_insns;
	root->nr_children = root->nr_dropped = root->nr_dropped_insns = 0;
}

int call_node_add_caller(struct call_tree *tree, uint64_t ip, uint64_t time)
{
	struct call_node *outer = call_node_alloc(tree);

	if (!outer)
		return -ENOMEM;
	outer->repeat = 1;
	take_calls(&tree->root, outer);
	outer->last_ip = ip;
	outer->time = time;
	call_node_put_last(&tree->root, outer);
	tree->root.nr_children++;
	tree->current = outer;
	if (tree->counts && tree->nr_forgotten)
		call_counts_add_caller(tree, outer->last, outer);
	if (tree->nr_forgotten)
		tree->nr_forgotten--;
	/* with its tail calls, of which the trace shows no return */
	tree->tails_is_max = tree->nr_forgotten && tree->nr_forgotten_tails;
	if (!tree->nr_forgotten)
		tree->nr_forgotten_tails = 0;
	return 0;
}

int call_node_replace_with_caller(struct call_tree *tree, struct call_node *node, uint64_t ip)
{
	struct call_node *inner = call_node_alloc(tree);

	if (!inner)
		return -ENOMEM;
	*inner = *node;
	inner->parent = node;
	inner->prev = inner->next = NULL;
	inner->by_return = inner->by_jump = inner->by_fallthrough = false;
	for (struct call_node *c = inner->first; c; c = c->next)
		c->parent = inner;
	node->first = node->last = inner;
	node->nr_children = 1;
	node->nr_dropped = 0;
	node->nr_insns = node->nr_dropped_insns = 0;
	node->chain = inner->chain = 0;
	node->addr = 0;
	node->last_ip = ip;
	node->returned = false;
	tree->current = node;
	return 0;
}

/*
 * A state machine or an interpreter may make tail calls for ever, in one frame. The oldest of a
 * long chain are dropped, and count as calls of the function that owns the frame.
 */
void call_node_limit_tail_chain(struct call_tree *tree)
{
	struct call_node *keep = tree->current, *dropped, *frame, *oldest;
	uint32_t nr = keep->parent->chain + 1;

	keep->chain = nr;
	if (nr < MAX_CHAIN)
		return;
	for (nr = MAX_CHAIN / 2; nr > 1; nr--, keep = call_node_caller(tree, keep))
		keep->chain = nr;
	keep->chain = 1;
	dropped = frame = call_node_caller(tree, keep);
	for (nr = dropped->chain; nr; nr--)
		frame = call_node_caller(tree, frame);
	nr = dropped->chain;
	if (tree->counts)
		call_counts_limit_tail_chain(tree, keep, nr);
	call_node_unlink(keep);
	oldest = frame->last;
	call_node_unlink(oldest);
	frame->nr_dropped += nr;
	frame->nr_dropped_insns += call_node_insns(oldest);
	call_node_free(tree, oldest);
	call_node_put_last(frame, keep);
}

struct call_node *call_tree_root(struct call_tree *tree)
{
	return tree->root.first ? &tree->root : NULL;
}

size_t call_tree_size(const struct call_tree *tree)
{
	return tree->nr_nodes;
}

size_t call_tree_forgotten(const struct call_tree *tree, bool *is_max)
{
	*is_max = tree->forgotten_is_max || tree->tails_is_max;
	return tree->nr_forgotten + tree->nr_forgotten_tails;
}

size_t call_tree_forgotten_min(const struct call_tree *tree)
{
	if (tree->forgotten_is_max)
		return 0;
	return tree->nr_forgotten + (tree->tails_is_max ? 0 : tree->nr_forgotten_tails);
}

const char *call_tree_gap(const struct call_tree *tree)
{
	return tree->gap[0] ? tree->gap : NULL;
}

struct call_node *call_tree_current(struct call_tree *tree)
{
	return tree->current == &tree->root ? NULL : tree->current;
}
