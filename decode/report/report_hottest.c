// SPDX-License-Identifier: BSD-2-Clause
/* The hottest calls of a tree: those that executed most, not those that led to its end. */
#include "call_tree.h"
#include "report_calls.h"

#include <stdlib.h>

/* A call that returned, or a group of such calls. */
struct hot_node {
	struct call_node *node;
	uint64_t insns;
	size_t order; /* position in the tree: callers come before their callees */
};

static struct call_node *next_node(struct call_node *root, struct call_node *n)
{
	if (n->first)
		return n->first;
	while (n != root && !n->next)
		n = n->parent;
	return n == root ? NULL : n->next;
}

/* Sets inclusive_insns of all nodes, the innermost first. */
static void sum_insns(struct call_node *root)
{
	struct call_node *n = root;

	while (n) {
		n->inclusive_insns = n->nr_insns + n->nr_dropped_insns;
		if (n->first) {
			n = n->first;
			continue;
		}
		while (n != root && !n->next) {
			n->parent->inclusive_insns += n->inclusive_insns;
			n = n->parent;
		}
		if (n == root)
			break;
		n->parent->inclusive_insns += n->inclusive_insns;
		n = n->next;
	}
}

static int hottest_first(const void *a, const void *b)
{
	const struct hot_node *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Folds too many calls in a node: a loop that calls varying functions gets a row for each. */
static void fold(struct call_tree *tree, struct call_node *root, unsigned int nr_rows)
{
	for (struct call_node *n = root; n; n = next_node(root, n)) {
		unsigned int nr = 0;

		for (const struct call_node *c = n->first; c && nr <= nr_rows / 2; c = c->next)
			nr++;
		if (n != root && nr > nr_rows / 2)
			call_node_fit(tree, n, nr_rows / 4);
	}
}

/* Functions that may call each other in a cycle. */
#define MAX_CYCLE 8

static bool is_recursion(const struct call_node *node)
{
	const struct call_node *up = node->parent;

	for (unsigned int i = 0; node->addr && i < MAX_CYCLE && up->parent; i++, up = up->parent)
		if (up->addr == node->addr && !up->is_open)
			return true;
	return false;
}

struct call_node **report_hottest(struct call_tree *tree, unsigned int nr_rows, size_t *nr)
{
	struct call_node *root = call_tree_root(tree);
	struct hot_node *hot;
	struct call_node **nodes;

	*nr = 0;
	fold(tree, root, nr_rows);
	sum_insns(root);
	hot = calloc(call_tree_size(tree) + 1, sizeof(*hot));
	nodes = calloc(call_tree_size(tree) + 1, sizeof(struct call_node *));
	for (struct call_node *n = root; hot && nodes && n; n = next_node(root, n)) {
		if (n == root || n->is_open)
			continue;
		n->in_recursion = is_recursion(n);
		hot[*nr] = (struct hot_node){.node = n, .insns = n->inclusive_insns, .order = *nr};
		++*nr;
	}
	if (!hot || !nodes) {
		free(hot);
		free(nodes);
		return NULL;
	}
	if (*nr)
		qsort(hot, *nr, sizeof(*hot), hottest_first);
	for (size_t i = 0; i < *nr; i++)
		nodes[i] = hot[i].node;
	free(hot);
	return nodes;
}
