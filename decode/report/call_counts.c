// SPDX-License-Identifier: BSD-2-Clause
/*
 * Instructions by function, own and inclusive, exact for what the trace contains. The call stack
 * here mirrors that of the tree of calls, but no frames are dropped, because they are small.
 */
#include "call_nodes.h"
#include "util/hash_map.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_OPEN      (1u << 20)
#define MAX_FUNCTIONS (1u << 18)

struct counted {
	struct call_function sum; /* insns: without those since it was entered, if it is open */
	uint64_t since;		  /* open > 0: total when it was entered */
	uint64_t at_begin;	  /* sum.insns when this stretch of trace began */
	uint32_t stretch, open;
	uint32_t code_generation;
};

struct counted_call {
	const struct call_node *node; /* valid only if its counted_at is this entry */
	uint64_t addr;		      /* that of the node, which changes at the end of a PLT stub */
	uint32_t function;
};

/* A stretch is a part of the trace without a gap that loses the callers. */
struct call_counts {
	struct counted *functions; /* 0: all beyond the limit */
	uint32_t nr_functions, max_functions;
	struct hash_map by_addr;
	struct counted_call *open; /* the outermost first */
	uint32_t nr_open, max_open;
	uint64_t total, begin; /* number of instructions so far; total when this stretch began */
	uint32_t stretch;
	bool cut;
};

int call_tree_count(struct call_tree *tree)
{
	struct call_counts *c = calloc(1, sizeof(*c));

	if (!c || vector_grow(c->functions, c->nr_functions, c->max_functions)) {
		free(c);
		return -ENOMEM;
	}
	c->functions[c->nr_functions++] = (struct counted){.open = 0};
	tree->counts = c;
	return 0;
}

void call_counts_free(struct call_tree *tree)
{
	struct call_counts *c = tree->counts;

	if (!c)
		return;
	hash_map_free(&c->by_addr);
	free(c->functions);
	free(c->open);
	free(c);
	tree->counts = NULL;
}

/* Is f still the function at the node's address after code has been mapped? */
static bool is_same(struct call_tree *tree, struct counted *f, const struct call_node *node)
{
	if (f->code_generation != node->code_generation && tree->ops &&
	    (!tree->ops->same_code || !tree->ops->same_code(tree->ctx, f->sum.addr, f->sum.time)))
		return false;
	f->code_generation = node->code_generation;
	return true;
}

static int find_function(struct call_tree *tree, const struct call_node *node, uint32_t *found)
{
	struct call_counts *c = tree->counts;
	uint64_t addr = node->addr ? node->addr : node->last_ip, body, hash;
	size_t step = 0, i;

	/* if the code has changed since, the tree only knows the new code at the address */
	body = node->code_generation == tree->code_generation ?
		       call_tree_function_start(tree, addr) :
		       0;
	addr = body ? body : addr;
	hash = hash_number(addr);
	while ((i = hash_map_next(&c->by_addr, hash, &step)) != HASH_MAP_NONE) {
		*found = (uint32_t)i;
		if (is_same(tree, &c->functions[i], node))
			return 0;
	}
	*found = 0;
	if (c->nr_functions >= MAX_FUNCTIONS) {
		c->cut = true;
		return 0;
	}
	if (vector_grow(c->functions, c->nr_functions, c->max_functions) ||
	    hash_map_add(&c->by_addr, hash, c->nr_functions))
		return -ENOMEM;
	c->functions[c->nr_functions] = (struct counted){
		.sum = {.addr = addr, .time = node->time},
		.code_generation = node->code_generation,
	};
	*found = c->nr_functions++;
	return 0;
}

/* since: c->total when it was entered. */
static void open_function(struct call_counts *c, uint32_t nr, uint64_t since)
{
	struct counted *f = &c->functions[nr];

	if (f->stretch != c->stretch) {
		f->stretch = c->stretch;
		f->at_begin = f->sum.insns;
	}
	if (f->open++)
		return;
	f->since = since;
	/* it was open during the whole stretch: replaces what was counted in the stretch */
	if (since == c->begin)
		f->sum.insns = f->at_begin;
}

static void close_function(struct call_counts *c, uint32_t nr)
{
	struct counted *f = &c->functions[nr];

	if (!--f->open)
		f->sum.insns += c->total - f->since;
}

static void close_to(struct call_counts *c, uint32_t nr_open)
{
	while (c->nr_open > nr_open)
		close_function(c, c->open[--c->nr_open].function);
}

static int open_call(struct call_tree *tree, struct call_node *node, uint64_t since)
{
	struct call_counts *c = tree->counts;
	uint32_t function;

	if (c->nr_open >= MAX_OPEN) {
		c->cut = true;
		return 0;
	}
	if (vector_grow(c->open, c->nr_open, c->max_open) || find_function(tree, node, &function))
		return -ENOMEM;
	c->open[c->nr_open++] =
		(struct counted_call){.node = node, .addr = node->addr, .function = function};
	node->counted_at = c->nr_open;
	c->functions[function].sum.calls += node->known_caller;
	open_function(c, function, since);
	return 0;
}

static bool is_counted(const struct call_counts *c, const struct call_node *node)
{
	return node->counted_at && node->counted_at <= c->nr_open &&
	       c->open[node->counted_at - 1].node == node;
}

/* The entry, plus 1, of the innermost open call of the function; 0: none. */
static uint32_t find_open(const struct call_counts *c, uint32_t function)
{
	for (uint32_t i = c->nr_open; i; i--)
		if (c->open[i - 1].function == function)
			return i;
	return 0;
}

/* Counts a new outermost node: a caller that was returned to, or the first known function. */
static int update_outermost(struct call_tree *tree, struct call_node *node)
{
	struct call_counts *c = tree->counts;
	uint64_t since = c->total;
	uint32_t function, at;

	if (tree->forgotten_is_max && c->nr_open) {
		if (find_function(tree, node, &function))
			return -ENOMEM;
		/* a forgotten caller runs again, as node */
		at = find_open(c, function);
		if (at) {
			close_to(c, at);
			c->open[at - 1].node = node;
			c->open[at - 1].addr = node->addr;
			node->counted_at = at;
			return 0;
		}
	}
	/* the previous outermost function has returned to it: it was open all the time */
	if (node->first && !node->known_caller)
		since = c->begin;
	close_to(c, 0);
	return open_call(tree, node, since);
}

/* A call through a PLT stub has reached the function: counts that instead of the stub. */
static int update_target(struct call_tree *tree, struct call_node *node)
{
	struct call_counts *c = tree->counts;

	if (c->open[node->counted_at - 1].addr == node->addr)
		return 0;
	close_to(c, node->counted_at - 1);
	return open_call(tree, node, c->total);
}

int call_counts_update(struct call_tree *tree)
{
	struct call_node *node = tree->current, *missing;
	struct call_counts *c = tree->counts;
	int ret = 0;

	if (node == &tree->root) {
		close_to(c, 0);
		c->begin = c->total;
		c->stretch++;
		return 0;
	}
	/* an event opens two calls at most */
	if (c->nr_open >= MAX_OPEN && !is_counted(c, node) && !is_counted(c, node->parent) &&
	    !(node->parent->parent && is_counted(c, node->parent->parent)))
		return 0;
	while (!ret && !is_counted(c, node)) {
		/* the outermost node that has no entry; mostly node itself */
		missing = node;
		while (missing->parent != &tree->root && !is_counted(c, missing->parent))
			missing = missing->parent;
		if (missing->parent == &tree->root) {
			ret = update_outermost(tree, missing);
		} else {
			close_to(c, missing->parent->counted_at);
			ret = open_call(tree, missing, c->total);
		}
		if (c->cut && !is_counted(c, missing))
			return ret;
	}
	if (ret)
		return ret;
	close_to(c, node->counted_at);
	return update_target(tree, node);
}

void call_counts_add(struct call_tree *tree, uint64_t nr)
{
	struct call_counts *c = tree->counts;
	uint32_t function = 0;

	c->total += nr;
	if (is_counted(c, tree->current))
		function = c->open[c->nr_open - 1].function;
	else if (find_function(tree, tree->current, &function))
		function = 0;
	c->functions[function].sum.own += nr;
}

void call_counts_add_caller(struct call_tree *tree, const struct call_node *inner,
			    struct call_node *outer)
{
	struct call_counts *c = tree->counts;
	uint32_t at = is_counted(c, inner) ? inner->counted_at - 1 : 0, function, back;

	if (!at || find_function(tree, outer, &function))
		return;
	/* the frame that was returned from may have entries of tail calls: passes over them */
	for (back = 0; back < MAX_CHAIN && back < at; back++)
		if (c->open[at - back - 1].function == function)
			break;
	if (back < MAX_CHAIN && back < at)
		at -= back;
	outer->counted_at = at;
	c->open[at - 1].addr = outer->addr;
	c->open[at - 1].node = outer;
}

void call_counts_unspilled(struct call_tree *tree, struct call_node *node)
{
	struct call_counts *c = tree->counts;

	if (node->counted_at && node->counted_at <= c->nr_open)
		c->open[node->counted_at - 1].node = node;
}

/* All calls of the chain return at once: one entry per function is enough. */
void call_counts_limit_tail_chain(struct call_tree *tree, const struct call_node *keep, uint32_t nr)
{
	struct call_counts *c = tree->counts;
	struct call_node *n = tree->current;
	uint32_t kept, to;

	/* if there is no memory, the next update reports it */
	if (call_counts_update(tree) || !is_counted(c, n) || !is_counted(c, keep) ||
	    keep->counted_at <= nr)
		return;
	kept = keep->counted_at - 1;
	to = kept - nr;
	for (uint32_t from = to; from < c->nr_open; from++) {
		struct counted *f = &c->functions[c->open[from].function];

		if (from < kept && f->open > 1)
			f->open--;
		else
			c->open[to++] = c->open[from];
	}
	c->nr_open = to;
	for (; n != keep; n = n->parent)
		n->counted_at = to--;
	n->counted_at = to;
}

bool call_tree_function(const struct call_tree *tree, size_t i, struct call_function *function)
{
	const struct call_counts *c = tree->counts;

	if (!c || i >= c->nr_functions)
		return false;
	*function = c->functions[i].sum;
	if (c->functions[i].open)
		function->insns += c->total - c->functions[i].since;
	if (function->insns < function->own)
		function->insns = function->own; /* beyond the limits */
	return true;
}

bool call_tree_count_cut(const struct call_tree *tree)
{
	return tree->counts && tree->counts->cut;
}
