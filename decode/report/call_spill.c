// SPDX-License-Identifier: BSD-2-Clause
/*
 * Open calls of a deep recursion: the outermost and the innermost ones are nodes, those between
 * are kept as they were, but without what they called, until they are needed again.
 *
 *      root - main - f - f ... f [ f f f f f f f f f f ] f ... f - f
 *                         outer         frames           inner nodes
 */
#include "call_nodes.h"
#include "util/vector.h"

#include <stdlib.h>
#include <string.h>

/* Nodes kept at either end; how many frames become nodes at a time. */
#define NR_OUTER 32
#define NR_INNER 2500
#define NR_BACK	 500
/* A stack of 8 MiB has at most so many frames. */
#define MAX_FRAMES (1u << 19)

static struct call_frame to_frame(const struct call_node *node)
{
	struct call_frame frame = {
		.addr = node->addr,
		.site = node->site,
		.last_ip = node->last_ip,
		.time = node->time,
		.nr_insns = node->nr_insns,
		.nr_dropped_insns = node->nr_dropped_insns,
		.nr_dropped = node->nr_dropped,
		.code = node->code,
		.counted_at = node->counted_at,
		.chain = (uint16_t)node->chain,
		.null = node->null,
		.known_caller = node->known_caller,
		.async = node->async,
		.handled = node->handled,
		.tail = node->tail,
		.by_return = node->by_return,
		.by_jump = node->by_jump,
		.by_fall = node->by_fall,
	};

	for (const struct call_node *c = node->first; c; c = c->next) {
		frame.nr_dropped += call_node_calls(c);
		frame.nr_dropped_insns += call_node_insns(c);
	}
	return frame;
}

static void to_node(const struct call_frame *frame, struct call_node *node)
{
	node->repeat = 1;
	node->addr = frame->addr;
	node->site = frame->site;
	node->last_ip = frame->last_ip;
	node->time = frame->time;
	node->nr_insns = frame->nr_insns;
	node->nr_dropped_insns = frame->nr_dropped_insns;
	node->nr_dropped = node->nr_children = frame->nr_dropped;
	node->code = frame->code;
	node->counted_at = frame->counted_at;
	node->chain = frame->chain;
	node->null = frame->null;
	node->known_caller = frame->known_caller;
	node->async = frame->async;
	node->handled = frame->handled;
	node->tail = frame->tail;
	node->by_return = frame->by_return;
	node->by_jump = frame->by_jump;
	node->by_fall = frame->by_fall;
}

/* The frames from 'first' on become nodes between 'above' and the first inner one. */
static bool to_nodes(struct call_tree *tree, struct call_node *above, size_t first, size_t nr)
{
	struct call_node *inner = above->last, *parent = above;

	call_node_unlink(inner);
	for (size_t i = first; i < first + nr; i++) {
		struct call_node *node = call_node_alloc(tree);

		if (!node)
			break;
		to_node(&tree->frames[i], node);
		if (tree->counts)
			call_counts_back(tree, node);
		call_node_put_last(parent, node);
		parent = node;
	}
	call_node_put_last(parent, inner);
	return parent != above;
}

/* More frames than are kept: the outer ones are forgotten, with the nodes farther out. */
static void forget_outer(struct call_tree *tree)
{
	size_t drop = tree->nr_frames / 2, most = tree->nr_frames - NR_OUTER - 1, keep;
	struct call_node *inner = tree->above->last;

	for (struct call_node *n = tree->above; n != &tree->root; n = n->parent)
		tree->nr_forgotten += !n->tail;
	call_node_unlink(inner);
	while (tree->root.first)
		call_node_drop_oldest(tree, &tree->root);
	call_node_put_last(&tree->root, inner);
	/* a function that was entered by a jump has the frame of the one that jumped */
	while (drop < most && tree->frames[drop].tail)
		drop++;
	tree->frames[drop].tail = false;
	for (size_t i = 0; i < drop; i++)
		tree->nr_forgotten += !tree->frames[i].tail;
	to_nodes(tree, &tree->root, drop, NR_OUTER);
	tree->above = inner->parent;
	keep = tree->nr_frames - drop - NR_OUTER;
	memmove(tree->frames, tree->frames + drop + NR_OUTER, keep * sizeof(*tree->frames));
	tree->nr_frames = keep;
}

void call_frames_spill(struct call_tree *tree)
{
	size_t nr = 0, skip;
	struct call_node *node, *next;

	for (node = tree->current; node != &tree->root && node != tree->above; node = node->parent)
		nr++;
	skip = tree->above ? 0 : NR_OUTER;
	if (nr <= NR_INNER + skip)
		return;
	nr -= NR_INNER + skip;
	if (!tree->above) {
		tree->above = &tree->root;
		for (; skip; skip--)
			tree->above = tree->above->last;
	}
	for (node = tree->above->last; nr; nr--, node = next) {
		next = node->last;
		if (vector_grow(tree->frames, tree->nr_frames, tree->max_frames))
			break;
		call_node_unlink(next);
		tree->frames[tree->nr_frames++] = to_frame(node);
		call_node_unlink(node);
		call_node_free(tree, node);
		call_node_put_last(tree->above, next);
	}
	if (!tree->nr_frames)
		tree->above = NULL;
	else if (tree->nr_frames > MAX_FRAMES)
		forget_outer(tree);
}

struct call_node *call_frames_back(struct call_tree *tree, const struct call_node *inner)
{
	size_t nr = tree->nr_frames < NR_BACK ? tree->nr_frames : NR_BACK;

	/* no memory: what is lost is as if it had been forgotten */
	if (!to_nodes(tree, tree->above, tree->nr_frames - nr, nr)) {
		tree->nr_forgotten += tree->nr_frames;
		tree->some_forgotten = true;
		nr = tree->nr_frames;
	}
	tree->nr_frames -= nr;
	if (!tree->nr_frames)
		tree->above = NULL;
	return inner->parent;
}

void call_frames_lost(struct call_tree *tree)
{
	if (tree->above)
		tree->above->last->nr_above = tree->nr_frames;
	tree->above = NULL;
	tree->nr_frames = 0;
}

static struct call_open of_frame(const struct call_frame *frame)
{
	return (struct call_open){
		.addr = frame->addr,
		.site = frame->site,
		.last_ip = frame->last_ip,
		.time = frame->time,
		.nr_insns = frame->nr_insns,
		.nr_inside = frame->nr_dropped,
		.known_caller = frame->known_caller,
		.async = frame->async,
		.tail = frame->tail,
	};
}

static struct call_open of_node(struct call_node *node)
{
	struct call_open open = {
		.node = node,
		.addr = node->addr,
		.site = node->site,
		.last_ip = node->last_ip,
		.time = node->time,
		.nr_insns = node->nr_insns,
		.nr_inside = node->nr_dropped,
		.known_caller = node->known_caller,
		.async = node->async,
		.tail = node->tail,
	};

	for (const struct call_node *c = node->first; c; c = c->next)
		open.nr_inside += c->returned ? call_node_calls(c) : 0;
	return open;
}

size_t call_tree_path(struct call_tree *tree, struct call_node *from, struct call_open **path)
{
	struct call_open *at;
	size_t nr = tree->nr_frames;

	for (struct call_node *n = from; n != &tree->root; n = n->parent)
		nr++;
	*path = at = calloc(nr + 1, sizeof(*at));
	if (!at)
		return 0;
	nr = 0;
	for (struct call_node *n = from; n != &tree->root; n = n->parent) {
		at[nr++] = of_node(n);
		if (!tree->above || n->parent != tree->above)
			continue;
		for (size_t i = tree->nr_frames; i; i--)
			at[nr++] = of_frame(&tree->frames[i - 1]);
	}
	return nr;
}

/* ---- recursions ---- */

/* So many functions may call each other, in a circle; so often at least. */
#define MAX_CIRCLE  8
#define MIN_CIRCLES 4

/* From 'at' on: how many calls are those of 'period' functions in a circle? */
static size_t circle(const struct call_open *path, size_t nr, size_t at, size_t period)
{
	size_t end = at + period;

	while (end < nr && path[end].addr && path[end].addr == path[end - period].addr)
		end++;
	return end - at;
}

size_t call_path_period(const struct call_open *path, size_t nr, size_t at, size_t *len)
{
	for (size_t period = 1; period <= MAX_CIRCLE; period++) {
		*len = circle(path, nr, at, period);
		if (*len >= MIN_CIRCLES * period)
			return period;
	}
	return 0;
}

/* An open call that is no node becomes one, below the next one farther out that is. */
static struct call_node *node_of(struct call_tree *tree, struct call_open *path, size_t at)
{
	struct call_node *node = path[at].node, *inner, *parent;
	size_t in = at;

	if (node)
		return node;
	while (!path[in].node)
		in--;
	inner = path[in].node;
	node = call_node_alloc(tree);
	if (!node)
		return NULL;
	parent = inner->parent;
	node->repeat = 1;
	node->addr = path[at].addr;
	node->site = path[at].site;
	node->last_ip = path[at].last_ip;
	node->time = path[at].time;
	node->nr_insns = path[at].nr_insns;
	node->nr_dropped = path[at].nr_inside;
	node->tail = path[at].tail;
	node->async = path[at].async;
	node->known_caller = path[at].known_caller;
	call_node_unlink(inner);
	call_node_put_last(parent, node);
	call_node_put_last(node, inner);
	path[at].node = node;
	return node;
}

/* The row of the call at 'at', and of the others every 'period' calls farther out, up to 'end'. */
static struct call_node *row_of(struct call_tree *tree, struct call_open *path, size_t at,
				size_t end, size_t period)
{
	struct call_node *node = node_of(tree, path, at);

	if (!node)
		return NULL;
	node->depth = 1;
	node->period = 0;
	node->deep_insns = node->calls_in_recursion = 0;
	for (size_t i = at + period; i < end; i += period) {
		node->depth++;
		node->deep_insns += path[i].nr_insns;
		node->calls_in_recursion += path[i].nr_inside;
	}
	return node;
}

size_t call_path_fold(struct call_tree *tree, struct call_open *path, size_t nr, bool fold,
		      struct call_node **rows)
{
	size_t nr_rows = 0, period, len;

	for (size_t i = 0; i < nr; i++)
		if (path[i].node)
			path[i].node->on_path = true;
	for (size_t at = 0; at < nr; at += len) {
		period = fold ? call_path_period(path, nr, at, &len) : 0;
		if (!period)
			period = len = 1;
		for (size_t i = at; i < at + period; i++) {
			struct call_node *node = row_of(tree, path, i, at + len, period);

			if (!node)
				continue;
			node->on_path = true;
			if (len > 1 && i == at + period - 1)
				node->period = (unsigned int)period;
			rows[nr_rows++] = node;
		}
	}
	return nr_rows;
}
