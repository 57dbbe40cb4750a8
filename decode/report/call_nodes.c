// SPDX-License-Identifier: BSD-2-Clause
/*
 * The nodes of a tree of calls, bounded in number: what is forgotten is counted in what is kept.
 */
#include "call_nodes.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_NODES 20000
/* Tail calls in a row, within one frame, whose newest are kept. */
#define MAX_CHAIN 32

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
		free(at);
		tree->nr_nodes--;
		at = up;
	}
}

uint64_t call_node_insns(const struct call_node *node)
{
	/* iterative sum over the subtree */
	uint64_t sum = 0;
	const struct call_node *n = node;

	while (n) {
		sum += n->nr_insns + n->nr_dropped_insns;
		if (n->first) {
			n = n->first;
			continue;
		}
		while (n != node && !n->next)
			n = n->parent;
		n = n == node ? NULL : n->next;
	}
	return sum;
}

static void put_last(struct call_node *parent, struct call_node *node)
{
	node->parent = parent;
	node->next = NULL;
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
}

static struct call_node *take_last(struct call_node *parent)
{
	struct call_node *last = parent->last, *before = NULL;

	for (struct call_node *n = parent->first; n != last; n = n->next)
		before = n;
	if (before)
		before->next = NULL;
	else
		parent->first = NULL;
	parent->last = before;
	return last;
}

/* Forgets the oldest call within node; what it executed still counts. */
static void drop_oldest(struct call_tree *tree, struct call_node *node)
{
	struct call_node *oldest = node->first;

	node->first = oldest->next;
	if (!node->first)
		node->last = NULL;
	node->nr_dropped += !oldest->gap && !oldest->async;
	node->nr_dropped_insns += call_node_insns(oldest);
	call_node_free(tree, oldest);
}

/*
 * The outermost function is forgotten, not what it called. A function that it went on to by a jump
 * has its frame: no caller is forgotten then.
 */
static void forget_outermost(struct call_tree *tree, struct call_node *outer)
{
	tree->root.first = outer->first;
	tree->root.last = outer->last;
	for (struct call_node *c = outer->first; c; c = c->next)
		c->parent = &tree->root;
	if (outer->last && outer->last->tail) {
		uint32_t nr = 0;

		outer->last->tail = false;
		for (struct call_node *n = outer->last; n && n->chain; n = n->last)
			n->chain = nr++;
	} else {
		tree->nr_forgotten++;
	}
	outer->first = NULL;
	tree->root.nr_dropped++;
	call_node_free(tree, outer);
}

/* Too many: forget finished calls, oldest first, outermost first. */
static void prune(struct call_tree *tree)
{
	struct call_node *node = &tree->root;

	for (struct call_node *n = tree->current; n; n = n->parent)
		n->on_path = true;
	while (node && tree->nr_nodes > MAX_NODES / 2) {
		while (node->first && tree->nr_nodes > MAX_NODES / 2 && !node->first->on_path)
			drop_oldest(tree, node);
		/* down the path that leads to the current function */
		struct call_node *child = node->first;

		while (child && !child->on_path)
			child = child->next;
		node = child;
	}
	for (struct call_node *n = tree->current; n; n = n->parent)
		n->on_path = false;
	/* a recursion deeper than the bound: forget its outer half */
	while (tree->nr_nodes > MAX_NODES / 2) {
		struct call_node *outer = tree->root.first;

		if (!outer || outer == tree->current)
			break;
		forget_outermost(tree, outer);
	}
}

struct call_node *call_node_add(struct call_tree *tree, struct call_node *parent)
{
	struct call_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	put_last(parent, node);
	parent->nr_children++;
	if (++tree->nr_nodes > MAX_NODES) {
		tree->current = node; /* never pruned */
		prune(tree);
		node = tree->current;
		tree->current = node->parent;
	}
	return node;
}

/* The function that is running although the trace has no call of it. */
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

/* Returning out of the outermost known function: it gets a parent. */
int call_node_grow_outwards(struct call_tree *tree, uint64_t ip, uint64_t time)
{
	struct call_node *outer = calloc(1, sizeof(*outer));

	if (!outer)
		return -ENOMEM;
	outer->first = tree->root.first;
	outer->last = tree->root.last;
	outer->nr_children = tree->root.nr_children;
	outer->nr_dropped = tree->root.nr_dropped;
	for (struct call_node *c = outer->first; c; c = c->next)
		c->parent = outer;
	outer->parent = &tree->root;
	outer->last_ip = ip;
	outer->time = time;
	tree->root.first = tree->root.last = outer;
	tree->root.nr_children = 1;
	tree->root.nr_dropped = 0;
	tree->nr_nodes++;
	tree->current = outer;
	if (tree->nr_forgotten)
		tree->nr_forgotten--;
	return 0;
}

/* Returning out of a function that was entered by a return: its caller takes its place. */
int call_node_grow_inside(struct call_tree *tree, struct call_node *node, uint64_t ip)
{
	struct call_node *inner = malloc(sizeof(*inner));

	if (!inner)
		return -ENOMEM;
	*inner = *node;
	inner->parent = node;
	inner->next = NULL;
	inner->by_return = inner->by_jump = inner->by_fall = false;
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
	tree->nr_nodes++;
	tree->current = node;
	return 0;
}

/*
 * The current function was entered by a tail call. A state machine or an interpreter may go on so
 * for ever, in one frame: of a long chain the oldest are forgotten, as calls of the function that
 * has the frame.
 */
void call_node_chained(struct call_tree *tree)
{
	struct call_node *keep = tree->current, *dropped, *frame, *oldest;
	uint32_t nr = keep->parent->chain + 1;

	keep->chain = nr;
	if (nr < MAX_CHAIN)
		return;
	for (nr = MAX_CHAIN / 2; nr > 1; nr--, keep = keep->parent)
		keep->chain = nr;
	keep->chain = 1;
	dropped = frame = keep->parent;
	for (nr = dropped->chain; nr; nr--)
		frame = frame->parent;
	nr = dropped->chain;
	take_last(dropped);
	oldest = take_last(frame);
	frame->nr_dropped += nr;
	frame->nr_dropped_insns += call_node_insns(oldest);
	call_node_free(tree, oldest);
	put_last(frame, keep);
}
