// SPDX-License-Identifier: BSD-2-Clause
/*
 * The calls of a function, folded as they return: equal calls in a row become one node, and so do
 * repeated rounds of the same calls. Two calls are equal if they are of the same function and their
 * callees are equal; how often is not compared, as each node counts all its calls. Candidates are
 * found by their hashes, then compared.
 *
 *      lock unlock lock unlock lock unlock step step      calls, as they return
 *      (lock unlock) x 3                   step x 2       nodes: a group of two, a run
 */
#include "call_nodes.h"

#include <stdlib.h>
#include <string.h>

/* Nodes of a round; a group of one would be a run. */
#define MAX_PERIOD 8
/* Rounds in a row that make a group; calls that are rarer stay out of a [mixed] group. */
#define MIN_ROUNDS 3
/* Levels of groups within groups. */
#define MAX_NESTED 4
/* Nodes kept below a call that has returned. */
#define MAX_INSIDE 500
/* Functions whose calls may form one group in no order. */
#define MAX_KINDS 64

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The properties of a node that equal nodes share, besides the function and its code. */
static unsigned int kind_of(const struct call_node *n)
{
	return (unsigned int)n->group | (unsigned int)n->async << 1 |
	       (unsigned int)n->by_tail_call << 2 | (unsigned int)n->by_return << 3 |
	       (unsigned int)n->by_jump << 4 | (unsigned int)n->by_fallthrough << 5 |
	       (unsigned int)n->mixed << 6;
}

static bool may_fold(const struct call_node *n)
{
	return n->returned && !n->lost && !n->gap && (n->addr || n->group);
}

/*
 * Sets the hash of a node, from those of its callees, and the number of nodes below it. If only
 * functions are compared, the callees count for a group alone.
 */
static void set_hash(const struct call_tree *tree, struct call_node *node)
{
	uint64_t hash = mix(mix(kind_of(node), node->addr), node->code_generation);
	bool all = !tree->by_function || node->group;
	uint32_t nr = 0;

	for (const struct call_node *c = node->first; c; c = c->next) {
		if (all)
			hash = c->hash && hash ? mix(hash, c->hash) : 0;
		nr += 1 + c->nr_below;
	}
	node->hash = hash && may_fold(node) ? hash | 1 : 0;
	node->nr_below = nr;
}

/* The first of the nodes below node that are compared; NULL: none. */
static struct call_node *compared_below(const struct call_tree *tree, const struct call_node *node)
{
	return tree->by_function && !node->group ? NULL : node->first;
}

static bool same_node(const struct call_tree *tree, const struct call_node *a,
		      const struct call_node *b)
{
	return a->hash == b->hash && a->addr == b->addr &&
	       a->code_generation == b->code_generation && kind_of(a) == kind_of(b) &&
	       !compared_below(tree, a) == !compared_below(tree, b);
}

/*
 * The next pair of nodes of two trees, depth first; false: both end here. Where they differ one of
 * the two is NULL.
 */
static bool next_pair(const struct call_tree *tree, const struct call_node *a_root,
		      struct call_node **a, struct call_node **b)
{
	struct call_node *x = *a, *y = *b;

	if (compared_below(tree, x) && compared_below(tree, y)) {
		*a = x->first;
		*b = y->first;
		return true;
	}
	while (x != a_root && !x->next && !y->next) {
		x = x->parent;
		y = y->parent;
	}
	if (x == a_root)
		return false;
	*a = x->next;
	*b = y->next;
	return true;
}

/* Are the trees below two nodes with equal hashes the same? */
static bool same_below(const struct call_tree *tree, struct call_node *a, struct call_node *b)
{
	struct call_node *x = a, *y = b;

	while (next_pair(tree, a, &x, &y))
		if (!x || !y || !same_node(tree, x, y))
			return false;
	return true;
}

static inline bool equal(const struct call_tree *tree, struct call_node *a, struct call_node *b)
{
	return a->hash == b->hash && a->hash && same_node(tree, a, b) &&
	       (!compared_below(tree, a) || same_below(tree, a, b));
}

uint64_t call_node_calls(const struct call_node *node)
{
	uint64_t nr = 0;

	if (!node->group)
		return node->gap ? 0 : node->repeat;
	for (const struct call_node *c = node->first; c; c = c->next)
		nr += call_node_calls(c);
	return nr;
}

/* Drops what node, a call that has returned, called; the calls still count. */
static void drop_callees(struct call_tree *tree, struct call_node *node)
{
	while (node->first) {
		struct call_node *c = node->first;

		node->nr_dropped += call_node_calls(c);
		node->nr_dropped_insns += call_node_insns(c);
		call_node_unlink(c);
		call_node_free(tree, c);
	}
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Adds b, which equals a, to a. */
static void absorb(struct call_tree *tree, struct call_node *a, struct call_node *b)
{
	struct call_node *x = a, *y = b;

	do {
		if (tree->by_function && !x->group) {
			drop_callees(tree, x);
			drop_callees(tree, y);
		}
		x->repeat += x->mixed ? 0 : y->repeat;
		x->newest = later(call_node_newest(x), call_node_newest(y));
		x->nr_insns += y->nr_insns;
		x->nr_dropped_insns += y->nr_dropped_insns;
		x->nr_children += y->nr_children;
		x->nr_dropped += y->nr_dropped;
		x->varies |= y->varies;
	} while (next_pair(tree, a, &x, &y));
	call_node_unlink(b);
	call_node_free(tree, b);
}

/* Are the nodes from 'at' on one round of the group? */
static bool is_round(const struct call_tree *tree, const struct call_node *group,
		     struct call_node *at)
{
	struct call_node *b = at;

	/* hashes first: they rule out most candidates */
	for (struct call_node *m = group->first; m; m = m->next, b = b->next)
		if (!b || m->hash != b->hash)
			return false;
	for (struct call_node *m = group->first; m; m = m->next, at = at->next)
		if (!equal(tree, m, at))
			return false;
	return true;
}

/*
 * How often what is below a node was done: nodes below equal calls, and below rounds of a group,
 * are folded too, and count all of these.
 */
static uint64_t times_done(const struct call_node *parent)
{
	return parent->mixed || !parent->repeat ? 1 : parent->repeat;
}

/* Adds the nodes from 'at' on, which are one round of the group, to it. */
static void absorb_round(struct call_tree *tree, struct call_node *group, struct call_node *at)
{
	const uint64_t nr_rounds = times_done(at->parent); /* not always that of the group */

	for (struct call_node *m = group->first; m; m = m->next) {
		struct call_node *next = at->next;

		m->varies |= m->repeat != group->repeat || at->repeat != nr_rounds;
		absorb(tree, m, at);
		at = next;
	}
	group->repeat += nr_rounds;
}

/* The group of which the last 'period' nodes, from 'at' on, are one more round; NULL: none. */
static struct call_node *group_before(const struct call_tree *tree, struct call_node *at,
				      unsigned int period)
{
	for (struct call_node *g = at->prev; g && g->group && !g->mixed; g = g->last)
		if (g->nr_items == period && g->first->hash == at->hash && is_round(tree, g, at))
			return g;
	return NULL;
}

/*
 * Are there MIN_ROUNDS rounds of 'period' nodes at the end? 'at' is the first node of the newest
 * one. Hashes are compared first, as they rule out most candidates.
 */
static bool is_new_group(const struct call_tree *tree, struct call_node *at, unsigned int period)
{
	struct call_node *a = at->prev, *b = at->parent->last;
	unsigned int nr = period * (MIN_ROUNDS - 1);

	for (unsigned int i = 0; i < nr; i++, a = a->prev, b = b->prev)
		if (!a || a->hash != b->hash || !a->hash)
			return false;
	a = at->prev;
	b = at->parent->last;
	for (unsigned int i = 0; i < nr; i++, a = a->prev, b = b->prev)
		if (!equal(tree, a, b))
			return false;
	return true;
}

static unsigned int nesting_depth(const struct call_node *at)
{
	unsigned int most = 0;

	for (; at; at = at->next) {
		unsigned int deep = 0;

		for (const struct call_node *g = at; g && g->group; g = g->last)
			deep++;
		most = deep > most ? deep : most;
	}
	return most;
}

/* Makes a group of the MIN_ROUNDS rounds at the end; NULL: no memory. */
static struct call_node *new_group(struct call_tree *tree, struct call_node *at,
				   unsigned int period)
{
	struct call_node *group = call_node_alloc(tree), *parent = at->parent, *first = at;

	if (!group)
		return NULL;
	for (unsigned int i = 0; i < period * (MIN_ROUNDS - 1); i++)
		first = first->prev;
	group->group = group->returned = true;
	group->code_generation = first->code_generation;
	group->nr_items = period;
	group->repeat = times_done(parent);
	group->time = first->time;
	call_node_insert_before(first, group);
	for (unsigned int i = 0; i < period; i++) {
		struct call_node *next = first->next;

		call_node_unlink(first);
		call_node_put_last(group, first);
		first = next;
	}
	while (parent->last != group)
		absorb_round(tree, group, group->next);
	set_hash(tree, group);
	return group;
}

/* Adds rounds that come just before the group, and were not folded, to it. */
static void absorb_rounds_before(struct call_tree *tree, struct call_node *group)
{
	for (;;) {
		struct call_node *at = group;

		for (unsigned int i = 0; i < group->nr_items && at; i++)
			at = at->prev;
		if (!at || group->mixed || !is_round(tree, group, at))
			return;
		absorb_round(tree, group, at);
	}
}

/* Adds node, the last one, to the node before it if it is one more call, or round, of the same. */
static bool is_absorbed(struct call_tree *tree, struct call_node *node)
{
	struct call_node *prev = node->prev, *g = prev;

	if (!prev)
		return false;
	if (equal(tree, prev, node)) {
		absorb(tree, prev, node);
		return true;
	}
	/* one more call of a group's last function, unless that always had one call per round */
	while (g && g->group && !g->mixed)
		g = g->last;
	if (g && g != prev && g->varies && equal(tree, g, node)) {
		absorb(tree, g, node);
		return true;
	}
	return false;
}

void call_fold_last(struct call_tree *tree, struct call_node *parent)
{
	struct call_node *node = parent->last, *at, *group;
	unsigned int period;

	while (node && node->hash && !is_absorbed(tree, node)) {
		if (node->group)
			absorb_rounds_before(tree, node);
		at = node;
		for (period = 2; period <= MAX_PERIOD; period++) {
			at = at->prev;
			if (!at || !at->prev)
				return;
			if (at->prev->group) {
				group = group_before(tree, at, period);
				if (group) {
					absorb_round(tree, group, at);
					return;
				}
			}
			if (at->prev->hash == node->hash && is_new_group(tree, at, period) &&
			    nesting_depth(at) < MAX_NESTED)
				break;
		}
		if (period > MAX_PERIOD)
			return;
		/* the new node may itself be part of a run or a group */
		node = new_group(tree, at, period);
	}
}

/* As drop_callees(), for node or, if it is a group, for each call in it. */
static void drop_member_callees(struct call_tree *tree, struct call_node *node)
{
	if (!node->group) {
		drop_callees(tree, node);
	} else {
		for (struct call_node *c = node->first; c; c = c->next)
			drop_member_callees(tree, c);
		call_fold_again(tree, node);
	}
	set_hash(tree, node);
}

/* Adds a node to a group of calls in no order. */
static void put_in_mixed(struct call_tree *tree, struct call_node *group, struct call_node *node)
{
	call_node_put_last(group, node);
	for (struct call_node *m = group->first; m != node; m = m->next) {
		if (equal(tree, m, node)) {
			absorb(tree, m, node);
			return;
		}
	}
	group->nr_items++;
}

/* Replaces a group of which only one node is left by that node. */
static struct call_node *ungroup(struct call_tree *tree, struct call_node *group)
{
	struct call_node *only = group->first;

	if (!group->group || group->mixed || !only || only->next)
		return group;
	call_node_unlink(only);
	call_node_insert_before(group, only);
	call_node_unlink(group);
	call_node_free(tree, group);
	return only;
}

void call_fold_again(struct call_tree *tree, struct call_node *parent)
{
	struct call_node *c = parent->first, *next;

	parent->first = parent->last = NULL;
	parent->nr_items = 0;
	for (; c; c = next) {
		next = c->next;
		if (parent->mixed) {
			put_in_mixed(tree, parent, c);
			continue;
		}
		if (tree->by_function && c->group) {
			call_fold_again(tree, c);
			set_hash(tree, c);
		}
		call_node_put_last(parent, c);
		ungroup(tree, c);
		call_fold_last(tree, parent);
	}
	if (parent->group && !parent->mixed)
		for (c = parent->first; c; c = c->next)
			parent->nr_items++;
}

void call_fold_drop_callees(struct call_tree *tree, struct call_node *parent, unsigned int keep)
{
	struct call_node *end = parent->last;

	for (; end && keep; keep--)
		end = end->prev;
	if (!end)
		return;
	for (struct call_node *c = parent->first;; c = c->next) {
		if (c->returned && !c->gap)
			drop_member_callees(tree, c);
		if (c == end)
			break;
	}
	call_fold_again(tree, parent);
}

/*
 * True if the k nodes before the group equal its last ones, and the nodes after it its first ones:
 * together they are one more round.
 */
static bool is_rotated(const struct call_tree *tree, const struct call_node *group, unsigned int k)
{
	struct call_node *m = group->last, *at = group->prev;

	for (unsigned int i = 0; i < k; i++, m = m->prev, at = at->prev)
		if (!at || !equal(tree, m, at))
			return false;
	m = group->first;
	at = group->next;
	for (unsigned int i = k; i < group->nr_items; i++, m = m->next, at = at->next)
		if (!at || !equal(tree, m, at))
			return false;
	return true;
}

/* Adds that round; then rounds start k nodes earlier: a b (c a b) (c a b) c is (a b c) x 3. */
static void rotate(struct call_tree *tree, struct call_node *group, unsigned int k)
{
	struct call_node *m = group->last;

	for (unsigned int i = 0; i < k; i++, m = m->prev)
		absorb(tree, m, group->prev);
	m = group->first;
	for (unsigned int i = k; i < group->nr_items; i++) {
		struct call_node *next = m->next;

		absorb(tree, m, group->next);
		call_node_unlink(m);
		call_node_put_last(group, m);
		m = next;
	}
	group->repeat += times_done(group->parent);
	set_hash(tree, group);
}

/* To be called when no more calls follow: makes rounds start with the first call of all. */
static void align_rounds(struct call_tree *tree, struct call_node *node)
{
	for (struct call_node *c = node->first; c; c = c->next) {
		if (!c->group || c->mixed)
			continue;
		for (unsigned int k = 1; k < c->nr_items; k++) {
			if (is_rotated(tree, c, k)) {
				rotate(tree, c, k);
				break;
			}
		}
	}
}

/* Recomputes the hashes of the calls in node, and in its groups. */
static void hash_again(struct call_tree *tree, struct call_node *node)
{
	for (struct call_node *c = node->first; c; c = c->next) {
		if (c->group)
			hash_again(tree, c);
		if (c->returned)
			set_hash(tree, c);
	}
}

static unsigned int nr_rows(const struct call_node *node)
{
	unsigned int nr = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += 1 + (c->group ? nr_rows(c) : 0);
	return nr;
}

/* ---- calls in no order that repeats ---- */

struct frequency {
	uint64_t hash;
	uint64_t nr; /* of nodes; one in a mixed group counts as two, because it stands for several
		      */
};

static int by_hash(const void *a, const void *b)
{
	const struct frequency *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int by_frequency(const void *a, const void *b)
{
	const struct frequency *x = a, *y = b;

	return x->nr < y->nr ? -1 : x->nr > y->nr ? 1 : by_hash(a, b);
}

/* The number of nodes of calls in node and in its groups. */
static size_t count_call_nodes(const struct call_node *node)
{
	size_t nr = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += c->group ? count_call_nodes(c) : 1;
	return nr;
}

static size_t list_calls(const struct call_node *node, struct frequency *all)
{
	size_t nr = 0;

	for (const struct call_node *c = node->first; c; c = c->next) {
		if (c->group) {
			nr += list_calls(c, all + nr);
		} else if (c->hash) {
			all[nr] = (struct frequency){.hash = c->hash, .nr = 1 + node->mixed};
			nr++;
		}
	}
	return nr;
}

/*
 * Finds the calls that remain if the rarest ones, 'max_rare' nodes at most, are set aside. They are
 * in all[], which has space for all nodes, sorted by hash. Returns their number.
 */
static size_t find_common(const struct call_node *parent, struct frequency *all, size_t max_rare)
{
	size_t nr = list_calls(parent, all), kinds = 0, rare;

	qsort(all, nr, sizeof(*all), by_hash);
	for (size_t i = 0; i < nr; i++) {
		if (kinds && all[kinds - 1].hash == all[i].hash)
			all[kinds - 1].nr += all[i].nr;
		else
			all[kinds++] = all[i];
	}
	qsort(all, kinds, sizeof(*all), by_frequency);
	for (rare = 0; rare < kinds && (all[rare].nr < MIN_ROUNDS || all[rare].nr <= max_rare);
	     rare++)
		max_rare -= all[rare].nr < max_rare ? all[rare].nr : max_rare;
	if (kinds - rare > MAX_KINDS)
		rare = kinds - MAX_KINDS;
	memmove(all, all + rare, (kinds - rare) * sizeof(*all));
	qsort(all, kinds - rare, sizeof(*all), by_hash);
	return kinds - rare;
}

/* Moves a node into the group of calls in no order. */
static void move_to_mixed(struct call_tree *tree, struct call_node *group, struct call_node *node)
{
	call_node_unlink(node);
	if (node->group) {
		while (node->first)
			move_to_mixed(tree, group, node->first);
		call_node_free(tree, node);
		return;
	}
	put_in_mixed(tree, group, node);
}

static bool is_common(const struct call_node *node, const struct frequency *common, size_t nr)
{
	const struct frequency key = {.hash = node->hash};

	if (node->mixed)
		return true;
	for (const struct call_node *c = node->group ? node->first : NULL; c; c = c->next)
		if (!is_common(c, common, nr))
			return false;
	return node->group || (node->hash && bsearch(&key, common, nr, sizeof(key), by_hash));
}

/*
 * Makes a group of 'at' and the common nodes after it, unless there are few. Returns the node
 * after them.
 */
static struct call_node *mix_from(struct call_tree *tree, struct call_node *at,
				  const struct frequency *common, size_t nr)
{
	struct call_node *end = at, *group, *next;
	unsigned int run = 0;

	while (end && is_common(end, common, nr)) {
		end = end->next;
		run++;
	}
	if (run < MIN_ROUNDS)
		return end ? (run ? end : end->next) : NULL;
	group = call_node_alloc(tree);
	if (!group)
		return end;
	group->group = group->mixed = group->returned = true;
	group->repeat = 1;
	group->time = at->time;
	call_node_insert_before(at, group);
	for (; at != end; at = next) {
		next = at->next;
		move_to_mixed(tree, group, at);
	}
	set_hash(tree, group);
	return end;
}

void call_fold_mix(struct call_tree *tree, struct call_node *parent, size_t max_rare)
{
	struct frequency *common;
	size_t nr;

	common = calloc(count_call_nodes(parent) + 1, sizeof(*common));
	if (!common)
		return;
	nr = find_common(parent, common, max_rare);
	for (struct call_node *at = parent->first; at;)
		at = mix_from(tree, at, common, nr);
	free(common);
}

void call_node_fit(struct call_tree *tree, struct call_node *node, unsigned int max)
{
	align_rounds(tree, node);
	if (nr_rows(node) <= max)
		return;
	tree->by_function = true;
	hash_again(tree, node);
	call_fold_again(tree, node);
	align_rounds(tree, node);
	if (nr_rows(node) > max)
		call_fold_mix(tree, node, max / 3);
	tree->by_function = false;
}

/* ---- */

void call_node_close(struct call_tree *tree, struct call_node *node)
{
	node->returned = true;
	align_rounds(tree, node);
	set_hash(tree, node);
	if (node->nr_below > MAX_INSIDE) {
		call_fold_drop_callees(tree, node, 0);
		call_fold_mix(tree, node, MAX_INSIDE / 8);
		set_hash(tree, node);
	}
	if (node->nr_below > MAX_INSIDE) {
		drop_callees(tree, node);
		set_hash(tree, node);
	}
	call_fold_last(tree, node->parent);
}
